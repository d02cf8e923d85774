"""The command ``stbmta estimate``."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from . import cli_output as output
from .cli_options import (
    METHOD,
    OUTPUT,
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
from .cli_source import Source, Table, reads_data, require_rows
from .kernels import Kernel, Linear
from .progress import working

__all__ = ["register"]


class Method(StrEnum):
    """The estimators, under the names of the command line."""

    auto = "auto"
    stb = "stb"
    stb_0 = "stb-0"
    stb_theory = "stb-theory"
    mta = "mta"
    mta_stb = "mta-stb"
    mta_minimax = "mta-minimax"
    mta_clusters = "mta-clusters"
    rkmse = "rkmse"
    skmse = "skmse"
    james_stein = "james-stein"
    water_filling = "water-filling"
    aggregation = "aggregation"
    spectral = "spectral"
    naive = "naive"


def register(app: typer.Typer) -> None:
    """Add the command to an app.

    Parameters
    ----------
    app : typer.Typer
        The app of the command line.

    Examples
    --------
    >>> app = typer.Typer()
    >>> register(app)
    >>> [command.callback.__name__ for command in app.registered_commands]
    ['estimate']
    """
    app.command()(estimate)


@reads_data
def estimate(
    source: Source,
    kernel: KernelOption = KernelName.linear,
    bandwidth: BandwidthOption = "median",
    degree: DegreeOption = 3,
    method: Annotated[
        Method, typer.Option("--method", "-m", help="auto needs no parameter.", rich_help_panel=METHOD)
    ] = Method.auto,
    zeta: ZetaOption = None,
    gamma: Annotated[
        float | None,
        typer.Option(
            help="What each mean keeps of itself, 0 to 1; chosen if left out.",
            show_default=False,
            rich_help_panel=METHOD,
        ),
    ] = None,
    seed: SeedOption = 0,
    out: OutOption = None,
    gram: Annotated[
        Path | None,
        typer.Option(
            help="Write the Gram matrix of the estimates: .npz or .parquet.",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    plot: PlotOption = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Write a page that explains the result: .html.", show_default=False, rich_help_panel=OUTPUT
        ),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Estimate the mean of each bag, or with a kernel its mean embedding, with the help of similar bags.

    Gives one row a bag: label, size, neighbors, squared error before and after, naive mean, estimate.

    Examples:
      stbmta estimate penguins.csv --by species,island --drop-missing
      stbmta estimate data.parquet --by patient --columns 'gene_*' -o means.csv
      stbmta estimate data.csv.gz --by sensor --standardize --report report.html
      stbmta estimate data.csv --by city --kernel rbf --gram gram.npz
      cat data.csv | stbmta estimate - --by city --json
    """
    output.check_targets(
        {
            "--out": (out, output.TABLES),
            "--gram": (gram, output.MATRICES),
            "--plot": (plot, output.PICTURES),
            "--report": (report, output.PAGES),
        },
        force,
        source.data,
    )
    if as_json and out is not None and str(out) == "-":
        raise ValueError("--json and --out - both want standard output; choose one.")
    chosen = make_kernel(kernel, bandwidth, degree)
    estimator = make_estimator(method, chosen, zeta, gamma, seed)
    with working("reading"):
        table = source.read()
    look_at(table, chosen)
    if method is not Method.naive:
        require_rows(table, 2, "its variance")
    with working(f"estimating {len(table.bags)} bags of {len(table.bags.data)} points"):
        estimator.fit(table.bags)
    result = Result(table, estimator, method)
    frame = result.to_frame()
    if out is not None:
        with working("writing"):
            if out.name.lower().endswith(".npz"):
                output.write_arrays(result.arrays(), out)
            else:
                output.write_table(frame, out)
    if gram is not None:
        with working("inner products of the estimates"):
            result.write_gram(gram)
    if plot is not None:
        from .plotting import estimate_figure

        with working("drawing"):
            output.write_figure(estimate_figure(estimator), plot)
    if report is not None:
        from .files import atomic_write
        from .report_html import estimate_page

        with working("writing the report"), atomic_write(report, "w") as file:
            file.write(estimate_page(table, estimator, frame, result.facts()))
    if as_json:
        output.print_json({**result.facts(), "notes": table.notes, "bags": frame.to_dict("records")})
    elif out is None or str(out) != "-":
        result.show(frame)
        for what, path in (("table", out), ("Gram matrix", gram), ("picture", plot), ("report", report)):
            if path is not None:
                print(f"{what}: {path}")


def make_estimator(method: Method, kernel: Kernel, zeta: float | None, gamma: float | None, seed: int) -> Any:
    """Return the estimator that the options describe."""
    from . import (
        MTA,
        RKMSE,
        STB,
        Adaptive,
        ClusteredMTA,
        ConvexAggregation,
        JamesStein,
        NaiveMean,
        SpectralKMSE,
        SpectralShrinkage,
        WaterFilling,
    )

    takes = {
        Method.stb: ("zeta", "gamma"),
        Method.stb_0: ("zeta",),
        Method.stb_theory: ("zeta",),
        Method.mta: ("gamma",),
        Method.mta_stb: ("zeta", "gamma"),
    }.get(method, ())
    given = {name: value for name, value in (("zeta", zeta), ("gamma", gamma)) if value is not None}
    for name in given:
        if name not in takes:
            raise ValueError(f"--{name} has no meaning for the method {method.value}; it is for stb and mta.")
    if method in (Method.stb, Method.stb_0, Method.stb_theory) and gamma is not None and not 0 <= gamma <= 1:
        raise ValueError(f"--gamma must be between 0 and 1 for {method.value}; found {gamma:g}.")
    if method is Method.james_stein and not isinstance(kernel, Linear):
        raise ValueError("james-stein needs vectors: use --kernel linear, or the method rkmse.")
    if method is Method.auto:
        return Adaptive(kernel, random_state=seed)
    if method is Method.water_filling:
        return WaterFilling(kernel, random_state=seed)
    if method is Method.aggregation:
        return ConvexAggregation(kernel)
    if method is Method.spectral:
        return SpectralShrinkage(kernel, random_state=seed)
    if method is Method.stb:
        return STB(kernel, **given, random_state=seed)
    if method is Method.stb_0:
        return STB(kernel, gamma=0.0, **given, random_state=seed)
    if method is Method.stb_theory:
        return STB(kernel, gamma="theory", c=None, **given, random_state=seed)
    if method is Method.mta:
        return MTA(kernel, **given)
    if method is Method.mta_stb:
        return MTA(kernel, similarity="stb", **given, random_state=seed)
    if method is Method.mta_minimax:
        return MTA(kernel, similarity="minimax")
    if method is Method.mta_clusters:
        return ClusteredMTA(kernel, random_state=seed)
    if method is Method.skmse:
        return SpectralKMSE(kernel, random_state=seed)
    if method is Method.james_stein:
        return JamesStein(target="mean")
    return RKMSE(kernel) if method is Method.rkmse else NaiveMean(kernel)


@dataclass(frozen=True)
class Result:
    """An estimate in the units and under the names of the user."""

    table: Table
    estimator: Any
    method: Method

    def to_frame(self) -> Any:
        """Return one row a bag."""
        import pandas as pd

        found = self.estimator.to_frame()
        kept = [name for name in ("size", "neighbors", "naive_error", "estimated_error") if name in found]
        columns: dict[str, Any] = self.table.label_columns(self.estimator.labels_)
        if "neighbors" not in found:
            found["effective_neighbors"] = effective_neighbors(self.estimator.weights_)
            kept.insert(1, "effective_neighbors")
        columns |= {_free(name, columns): found[name].to_numpy() for name in kept}
        if hasattr(self.estimator, "means_"):
            naive, means = (
                self.table.center + self.table.scale * values
                for values in (self.estimator.statistics_.means, self.estimator.means_)
            )
            for k, name in enumerate(self.table.columns):
                columns |= {f"naive_{name}": naive[:, k], f"estimate_{name}": means[:, k]}
        return pd.DataFrame(columns)

    def arrays(self) -> dict[str, Any]:
        """Return everything as arrays: weights, Gram matrix, and the columns of the table."""
        found = self.estimator.to_frame()
        arrays = {
            "labels": written_labels(self.table),
            "weights": self.estimator.weights_,
            "gram": self.estimator.gram_,
        }
        if hasattr(self.estimator, "neighbors_"):
            arrays["neighbor_matrix"] = self.estimator.neighbors_
        for name in ("size", "neighbors", "naive_error", "estimated_error"):
            if name in found:
                arrays[name] = found[name].to_numpy()
        if hasattr(self.estimator, "means_"):
            arrays["naive"] = self.table.center + self.table.scale * self.estimator.statistics_.means
            arrays["estimate"] = self.table.center + self.table.scale * self.estimator.means_
            arrays["columns"] = np.array(self.table.columns)
        return arrays

    def write_gram(self, path: Path) -> None:
        """Write the inner products of the estimates, with labels."""
        import pandas as pd

        matrix = self.estimator.gram_
        if path.suffix.lower() == ".npz":
            output.write_arrays({"gram": matrix, "labels": written_labels(self.table)}, path)
            return
        names = [label_text(label) for label in self.estimator.labels_.tolist()]
        output.write_table(
            pd.concat([pd.Series(names, name="bag"), pd.DataFrame(matrix, columns=names)], axis=1), path
        )

    def facts(self) -> dict[str, Any]:
        """Return what was done, and how much it should help."""
        est, bags = self.estimator, self.table.bags
        facts: dict[str, Any] = {
            "method": self.method.value,
            "estimator": type(est).__name__,
            "kernel": repr(est.kernel_),
            "bags": len(bags),
            "points": len(bags.data),
            "dimension": bags.dim,
            "standardized": self.table.standardized,
        }
        for name in ("zeta", "gamma", "c"):
            value = getattr(est, f"{name}_", None)
            if value is not None:
                facts[name] = float(np.mean(value))
        stacking = getattr(est, "stacking_", None)
        if stacking is not None:
            facts["shares"] = stacking.shares()
        frame = est.to_frame()
        for column, name in (
            ("neighbors", "average_neighbors"),
            ("naive_error", "naive_error"),
            ("estimated_error", "estimated_error"),
        ):
            if column in frame:
                facts[name] = float(frame[column].mean())
        if "neighbors" not in frame:
            facts["average_effective_neighbors"] = float(effective_neighbors(est.weights_).mean())
        change = held_out_change(est)
        if change is not None:
            facts["held_out_change"] = change
        return facts

    def show(self, frame: Any) -> None:
        """Print the main figures and the table."""
        facts = self.facts()
        print(
            f"{facts['estimator']} with {facts['kernel']}: {facts['bags']} bags, {facts['points']} rows, "
            f"{facts['dimension']} columns{', standardized' if facts['standardized'] else ''}"
        )
        chosen = [f"{name} = {facts[name]:.4g}" for name in ("zeta", "gamma", "c") if name in facts]
        if "average_neighbors" in facts:
            chosen.append(f"{facts['average_neighbors']:.3g} neighbors a bag")
        elif facts["average_effective_neighbors"] > 1:
            chosen.append(
                f"an estimate is made of {facts['average_effective_neighbors']:.3g} bags, in effect"
            )
        if chosen:
            print("; ".join(chosen))
        if "shares" in facts:
            used = [f"{share:.0%} {name}" for name, share in facts["shares"].items()]
            print("methods: " + "; ".join(used[:5]) + (f"; {len(used) - 5} more" if len(used) > 5 else ""))
        if "held_out_change" in facts:
            print(
                f"squared error of the means, on points held out: {100 * facts['held_out_change']:+.1f} % against naive"
            )
        output.print_table(frame)


def effective_neighbors(W: Any) -> Any:
    r"""Return how many bags an estimate is made of, :math:`(\sum_j |w_j|)^2 / \sum_j w_j^2`, for each row.

    It is the number of neighbors where they have equal weights, itself included.

    Examples
    --------
    >>> effective_neighbors(np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]))
    array([1., 2.])
    """
    total, squares = np.asarray(abs(W).sum(axis=1)).ravel(), np.asarray((W * W).sum(axis=1)).ravel()
    return np.divide(total**2, squares, out=np.zeros_like(total), where=squares > 0)


def held_out_change(estimator: Any) -> float | None:
    """Return the change of the squared error that K-fold found, as a share of the naive error, or None.

    Both errors are those of bags that are smaller by a fold. With few bags the scores are noisy; the variance of
    the weighted averages, which no error can fall below, limits what is reported.
    """
    stacking = getattr(estimator, "stacking_", None)
    if stacking is not None and stacking.naive > 0:
        return float(stacking.combined / stacking.naive)
    tuning = getattr(estimator, "tuning_", None)
    error = estimator._naive_error()
    if tuning is None or error is None or error.mean() == 0:
        return None
    sizes = estimator.statistics_.sizes
    folds = np.minimum(estimator.n_folds, sizes)
    scored = sizes >= min(3, sizes.max())
    change = tuning.risk.min() / (error * folds / (folds - 1))[scored].mean()
    W = estimator.weights_
    if W.shape[1] != len(error):  # halves of bags were averaged
        return float(max(change, -1.0))
    return float(max(change, ((W * W) @ error).mean() / error.mean() - 1))


def _free(name: str, taken: dict[str, Any]) -> str:
    return name if name not in taken else f"bag_{name}"
