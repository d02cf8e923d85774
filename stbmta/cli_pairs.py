"""The commands on pairs of bags: ``stbmta neighbors`` and ``stbmta mmd``."""

from typing import Any

import numpy as np
import typer

from . import cli_output as output
from .cli_options import (
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
from .cli_source import Source, Table, reads_data, require_variance
from .progress import working
from .statistics import bag_statistics

__all__ = ["register"]


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
    ['neighbors']
    """
    app.command()(neighbors)


@reads_data
def neighbors(
    source: Source,
    kernel: KernelOption = KernelName.linear,
    bandwidth: BandwidthOption = "median",
    degree: DegreeOption = 3,
    zeta: ZetaOption = None,
    seed: SeedOption = 0,
    out: OutOption = None,
    plot: PlotOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Tell which bags are similar: the neighbors of each bag, nearest first.

    Bag j is a neighbor of bag i if their squared distance, made unbiased, is at most zeta times the squared
    error of the naive mean of i.

    Examples:
      stbmta neighbors penguins.csv --by species,island --drop-missing
      stbmta neighbors data.csv --by sensor --zeta 1 -o pairs.csv --plot graph.png
    """
    targets = {"--out": (out, output.TABLES), "--plot": (plot, output.PICTURES)}
    output.check_targets(targets, force, source.data)
    chosen = make_kernel(kernel, bandwidth, degree)
    with working("reading"):
        table = source.read()
    look_at(table, chosen)
    require_variance(table, "its variance")
    from .similarity import neighbors as similar
    from .tuning import tune_stb

    with working(f"comparing {len(table.bags)} bags"):
        s = bag_statistics(table.bags, chosen)
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
        output.print_table(_neighbor_lists(table, s, tests))


def _neighbor_pairs(table: Table, s: Any, tests: Any, zeta: float) -> Any:
    """Return one row for each pair of a bag and another that is its neighbor."""
    import pandas as pd

    i, j = np.nonzero(tests & ~np.eye(len(tests), dtype=bool))
    distances = s.mmd2()[i, j]
    order = np.lexsort((distances, i))
    i, j = i[order], j[order]
    columns = {
        **table.label_columns(table.bags.labels[i]),
        **table.label_columns(table.bags.labels[j], "_neighbor"),
    }
    return pd.DataFrame({**columns, "mmd2": distances[order], "threshold": zeta * s.naive_mse[i]})


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
    return pd.DataFrame(
        {**columns, "size": table.bags.sizes, "neighbors": tests.sum(axis=1) - 1, "nearest first": lists}
    )
