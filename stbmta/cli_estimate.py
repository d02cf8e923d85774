"""The command ``stbmta estimate``."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

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
    look_at,
    make_kernel,
)
from .cli_result import Result
from .cli_source import Source, reads_data, require_rows
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


# Options that only some methods take.
_TAKEN_BY = {
    "zeta": (Method.stb, Method.stb_0, Method.stb_theory, Method.mta_stb),
    "gamma": (Method.stb, Method.mta, Method.mta_stb),
}


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
    bandwidth: BandwidthOption = None,
    degree: DegreeOption = None,
    method: Annotated[
        Method, typer.Option("--method", "-m", help="auto needs no parameter.", rich_help_panel=METHOD)
    ] = Method.auto,
    zeta: ZetaOption = None,
    gamma: Annotated[
        float | None,
        typer.Option(
            help="stb: what each mean keeps of itself, 0 to 1. mta, mta-stb: how strongly the others pull, at least 0. "
            "If left out, 1 for mta; chosen for stb and mta-stb.",
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

    Gives one row a bag: label, size, number of neighbors, squared error before and after, naive mean, estimate.
    Neighbors count the bag itself. They are the bags that passed the similarity tests; for methods without tests, such
    as auto, the bags whose weight in the estimate is at least a tenth of the largest.

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
        as_json=as_json,
    )
    chosen = make_kernel(kernel, bandwidth, degree)
    estimator = make_estimator(method, chosen, zeta, gamma, seed)
    with working("reading"):
        table = source.read()
    look_at(table, chosen)
    if method is not Method.naive:
        require_rows(table, 2, "its variance")
    with working(f"estimating {len(table.bags)} bags of {len(table.bags.data)} points"):
        estimator.fit(table.bags)
    result = Result(table, estimator, method.value)
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

    given = {name: value for name, value in (("zeta", zeta), ("gamma", gamma)) if value is not None}
    for name in given:
        *others, last = (taker.value for taker in _TAKEN_BY[name])
        if method not in _TAKEN_BY[name]:
            raise ValueError(
                f"--{name} has no meaning for the method {method.value}; it is for {', '.join(others)} and {last}."
            )
    if method is Method.stb and gamma is not None and not 0 <= gamma <= 1:
        raise ValueError(f"--gamma must be between 0 and 1 for stb; found {gamma:g}.")
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
