"""The commands on pairs of bags: ``stbmta neighbors`` and ``stbmta mmd``."""

from enum import StrEnum
from typing import Annotated, Any

import numpy as np
import typer

from . import cli_output as output
from .cli_options import (
    METHOD,
    BandwidthOption,
    DegreeOption,
    ForceOption,
    JsonOption,
    KernelName,
    KernelOption,
    OutOption,
    PlotOption,
    SeedOption,
    ZetaOption,
    label_text,
    look_at,
    make_kernel,
    written_labels,
)
from .cli_source import Source, Table, note, reads_data, require_rows
from .kernels import Kernel
from .progress import working
from .statistics import bag_statistics

__all__ = ["register"]


class PValues(StrEnum):
    """How p-values are computed."""

    chi_square = "chi-square"
    normal = "normal"
    permutation = "permutation"
    none = "none"


class Correction(StrEnum):
    """How they are corrected for the number of pairs."""

    holm = "holm"
    bonferroni = "bonferroni"
    sidak = "sidak"
    fdr_bh = "fdr_bh"
    fdr_by = "fdr_by"


def register(app: typer.Typer) -> None:
    """Add the commands to an app.

    Parameters
    ----------
    app : typer.Typer
        The app of the command line.

    Examples
    --------
    >>> app = typer.Typer()
    >>> register(app)
    >>> [command.callback.__name__ for command in app.registered_commands]
    ['neighbors', 'mmd']
    """
    app.command()(neighbors)
    app.command()(mmd)


@reads_data
def neighbors(
    source: Source,
    kernel: KernelOption = KernelName.linear,
    bandwidth: BandwidthOption = None,
    degree: DegreeOption = None,
    zeta: ZetaOption = None,
    seed: SeedOption = 0,
    out: OutOption = None,
    plot: PlotOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Tell which bags are similar: the neighbors of each bag, nearest first.

    Bag j is a neighbor of bag i if their squared distance, made unbiased, is at most zeta times the squared
    error of the naive mean of i. Without --zeta, the threshold is the one for which the plain average over neighbors
    predicts points held out best, as in estimate --method stb-0.

    Examples:
      stbmta neighbors penguins.csv --by species,island --drop-missing
      stbmta neighbors data.csv --by sensor --zeta 1 -o pairs.csv --plot graph.png
    """
    targets = {"--out": (out, output.TABLES), "--plot": (plot, output.PICTURES)}
    output.check_targets(targets, force, source.data, as_json=as_json)
    chosen = make_kernel(kernel, bandwidth, degree)
    with working("reading"):
        table = source.read()
    look_at(table, chosen)
    require_rows(table, 2, "its variance")
    from .similarity import neighbors as similar
    from .tuning import tune_stb

    with working(f"comparing {len(table.bags)} bags"):
        s = bag_statistics(table.bags, chosen)
        # Neighbors with full weight: a gamma chosen along with zeta could make any threshold do.
        threshold = tune_stb(table.bags, s.kernel, gamma=0.0, rng=seed).zeta if zeta is None else zeta
        tests = similar(s, threshold)
    frame = _neighbor_pairs(table, s, tests, threshold)
    if out is not None:
        if out.name.lower().endswith(".npz"):
            arrays = {
                "neighbors": tests,
                "mmd2": s.mmd2(),
                "naive_mse": s.naive_mse,
                "zeta": np.array(threshold),
            }
            output.write_arrays({"labels": written_labels(table), **arrays}, out)
        else:
            output.write_table(frame, out)
    if plot is not None:
        from .plotting import NeighborsDisplay

        display = NeighborsDisplay.from_statistics(s, tests)
        output.write_figure(display.plot().figure_, plot)
    if as_json:
        facts = {"kernel": str(s.kernel), "zeta": threshold, "notes": table.notes}
        output.print_json({**facts, "pairs": frame.to_dict("records")})
    elif out is None or str(out) != "-":
        how = "chosen by K-fold" if zeta is None else "as given"
        counts = tests.sum(axis=1) - 1
        print(f"zeta = {threshold:.4g} ({how}); {counts.mean():.3g} neighbors a bag besides itself")
        output.print_table(_neighbor_lists(table, s, tests), wrap_last=True)


@reads_data
def mmd(
    source: Source,
    kernel: KernelOption = KernelName.rbf,
    bandwidth: BandwidthOption = None,
    degree: DegreeOption = None,
    pvalues: Annotated[
        PValues, typer.Option(help="How to compute p-values of equal embeddings.", rich_help_panel=METHOD)
    ] = PValues.chi_square,
    permutations: Annotated[
        int, typer.Option(min=1, help="Shuffles of each pair, for permutation.", rich_help_panel=METHOD)
    ] = 999,
    correction: Annotated[
        Correction, typer.Option(help="Correction for the number of pairs.", rich_help_panel=METHOD)
    ] = Correction.holm,
    alpha: Annotated[float, typer.Option(help="Level of the tests.", rich_help_panel=METHOD)] = 0.05,
    seed: SeedOption = 0,
    out: OutOption = None,
    plot: PlotOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare the distributions of all pairs of bags: squared MMD, p-value, corrected p-value.

    The squared MMD is the unbiased estimate, which may be negative for equal distributions. A small p-value says
    that two bags differ. --out FILE.npz writes square matrices, other formats one row a pair.

    Examples:
      stbmta mmd penguins.csv --by species,island --drop-missing --standardize
      stbmta mmd data.csv --by city --correction fdr_bh -o pairs.csv --plot mmd.png
      stbmta mmd data.csv --by city --pvalues permutation --permutations 9999
    """
    targets = {"--out": (out, output.TABLES), "--plot": (plot, output.PICTURES)}
    output.check_targets(targets, force, source.data, as_json=as_json)
    if not 0 < alpha < 1:
        raise ValueError(f"--alpha must be above 0 and below 1; found {alpha:g}.")
    chosen = make_kernel(kernel, bandwidth, degree)
    with working("reading"):
        table = source.read()
    look_at(table, chosen)
    if len(table.bags) < 2:
        raise ValueError("there is only one bag; a comparison needs two.")
    if pvalues in (PValues.chi_square, PValues.normal):
        require_rows(table, 4, f"a p-value by {pvalues.value}", or_else="; or use --pvalues permutation")
        if pvalues is PValues.chi_square and table.bags.sizes.max() < 6:
            raise ValueError("chi-square needs a bag of 6 rows; use --pvalues normal or permutation.")
    require_rows(table, 2, "its variance")
    n_pairs = len(table.bags) * (len(table.bags) - 1) // 2
    if pvalues is PValues.permutation and n_pairs > alpha * (permutations + 1):
        note(
            f"with {permutations} permutations a p-value is at least {1 / (permutations + 1):.2g}, too much for "
            f"{n_pairs} pairs at level {alpha:g}; --permutations {int(n_pairs / alpha)} would do"
        )
    pairs = _pairs(table, chosen, pvalues, permutations, seed)
    frame = _pair_rows(table, pairs, pvalues, correction.value, alpha)
    if out is not None:
        if out.name.lower().endswith(".npz"):
            arrays = {"labels": written_labels(table), "mmd2": pairs.distances}
            if pvalues is not PValues.none:
                arrays |= {"pvalue": pairs.pvalues, "corrected": pairs.corrected(correction.value)}
            output.write_arrays(arrays, out)
        else:
            output.write_table(frame, out)
    if plot is not None:
        from .plotting import PairsDisplay

        tested = None if pvalues is PValues.none else pairs.corrected(correction.value)
        display = PairsDisplay(pairs.distances, table.bags.labels, tested, alpha)
        output.write_figure(display.plot().figure_, plot)
    if as_json:
        facts = {
            "kernel": repr(chosen.resolve(table.bags)),
            "pvalues": pvalues.value,
            "correction": correction.value,
        }
        output.print_json({**facts, "alpha": alpha, "notes": table.notes, "pairs": frame.to_dict("records")})
    elif out is None or str(out) != "-":
        if pvalues is not PValues.none:
            print(
                f"{_differing(pairs, correction.value, alpha)} of {len(frame)} pairs differ at level {alpha:g} "
                f"({pvalues.value}, corrected by {correction.value})"
            )
        output.print_table(frame, repeat=2 * len(table.keys))


def _pairs(table: Table, kernel: Kernel, how: PValues, permutations: int, seed: int) -> Any:
    from .pairs import PairPValues, pair_pvalues

    if how is PValues.none:
        with working(f"comparing {len(table.bags)} bags"):
            s = bag_statistics(table.bags, kernel)
        nothing = np.full_like(s.gram, np.nan)
        return PairPValues(
            pvalues=nothing, distances=s.mmd2(), labels=table.bags.labels, method="normal", tau=None
        )
    method: Any = how.value
    return pair_pvalues(table.bags, kernel, method=method, n_permutations=permutations, rng=seed)


def _differing(pairs: Any, correction: str, alpha: float) -> int:
    corrected = pairs.corrected(correction)
    return int((corrected[np.triu_indices(len(corrected), 1)] <= alpha).sum())


def _pair_rows(table: Table, pairs: Any, how: PValues, correction: str, alpha: float) -> Any:
    """Return one row a pair, the most different first."""
    import pandas as pd

    i, j = np.triu_indices(len(table.bags), 1)
    figures = {"mmd2": pairs.distances[i, j]}
    order = np.argsort(-figures["mmd2"], kind="stable")
    if how is not PValues.none:
        corrected = pairs.corrected(correction)[i, j]
        figures |= {"pvalue": pairs.pvalues[i, j], "corrected": corrected, "differ": corrected <= alpha}
        order = np.lexsort((-figures["mmd2"], figures["pvalue"]))
    columns = _labels_of_pairs(table, i[order], j[order], "_other")
    return pd.DataFrame(
        columns | {output.free_name(name, columns): values[order] for name, values in figures.items()}
    )


def _labels_of_pairs(table: Table, i: Any, j: Any, suffix: str) -> dict[str, list[Any]]:
    """Return the labels of both bags; the suffix of the second ones is repeated until their names are free."""
    ending = suffix
    while any(key + ending in table.keys for key in table.keys):
        ending += suffix
    return table.label_columns(table.bags.labels[i]) | table.label_columns(table.bags.labels[j], ending)


def _neighbor_pairs(table: Table, s: Any, tests: Any, zeta: float) -> Any:
    """Return one row for each pair of a bag and another that is its neighbor."""
    import pandas as pd

    i, j = np.nonzero(tests & ~np.eye(len(tests), dtype=bool))
    distances = s.mmd2()[i, j]
    order = np.lexsort((distances, i))
    i, j = i[order], j[order]
    columns = _labels_of_pairs(table, i, j, "_neighbor")
    figures = {"mmd2": distances[order], "threshold": zeta * s.naive_mse[i]}
    return pd.DataFrame(
        columns | {output.free_name(name, columns): values for name, values in figures.items()}
    )


def _neighbor_lists(table: Table, s: Any, tests: Any) -> Any:
    """Return one row a bag with the names of its neighbors, nearest first."""
    import pandas as pd

    distances = s.mmd2()
    names = [label_text(label) for label in table.bags.labels.tolist()]
    lists = []
    for i in range(len(names)):
        near = [j for j in np.argsort(distances[i], kind="stable") if tests[i, j] and j != i]
        lists.append(
            ", ".join(names[j] for j in near[:8]) + (f", and {len(near) - 8} more" if len(near) > 8 else "")
        )
    columns = table.label_columns(table.bags.labels)
    figures = {"size": table.bags.sizes, "neighbors": tests.sum(axis=1) - 1, "nearest first": lists}
    return pd.DataFrame(
        columns | {output.free_name(name, columns): values for name, values in figures.items()}
    )
