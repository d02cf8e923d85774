"""The options that the commands on data share: kernel, threshold, what to write."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .cli_source import Table, note
from .kernels import RBF, Kernel, Laplacian, Linear, Polynomial

__all__ = ["KernelName", "label_text", "look_at", "make_kernel", "written_labels"]

METHOD, OUTPUT = "Method", "Output"

# Columns whose standard deviations differ by more than this do not count alike; say so.
_SCALES = 10.0
# Larger factors are shown with three digits and a power of ten.
_LONGEST_FACTOR = 1e6
# Beyond this width, and its inverse, squares of bandwidths leave the range of floating point numbers.
_LEAST_WIDTH = 1e-150
# Up to so many points kernel values take seconds; a wait of so many seconds is announced.
_MANY_POINTS = 20_000
_LONG = 10.0


class KernelName(StrEnum):
    """Kernels that a name and a number describe."""

    linear = "linear"
    rbf = "rbf"
    laplacian = "laplacian"
    polynomial = "polynomial"


KernelOption = Annotated[
    KernelName,
    typer.Option(
        "--kernel",
        "-k",
        help="linear compares means; the others compare whole distributions.",
        rich_help_panel=METHOD,
    ),
]
BandwidthOption = Annotated[
    str | None,
    typer.Option(
        help="Width of rbf and laplacian: a number, 'median' (the default) or 'std'.",
        show_default=False,
        rich_help_panel=METHOD,
    ),
]
DegreeOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Power of the polynomial kernel; 3 by default.",
        show_default=False,
        rich_help_panel=METHOD,
    ),
]
ZetaOption = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        help="Threshold of the similarity tests; chosen by K-fold if left out.",
        show_default=False,
        rich_help_panel=METHOD,
    ),
]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of what is drawn.", rich_help_panel=METHOD)]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="Write all: .csv, .csv.gz, .tsv, .parquet, .npz, or - (CSV on standard output).",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
PlotOption = Annotated[
    Path | None,
    typer.Option(help="Draw a picture: .png, .pdf or .svg.", show_default=False, rich_help_panel=OUTPUT),
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Replace files that exist.", rich_help_panel=OUTPUT)
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print JSON, and nothing else, on standard output.", rich_help_panel=OUTPUT),
]


def make_kernel(name: KernelName, bandwidth: str | None, degree: int | None) -> Kernel:
    """Return the kernel that the options describe."""
    has_width = name in (KernelName.rbf, KernelName.laplacian)
    if bandwidth is not None and not has_width:
        raise ValueError(
            f"--bandwidth has no meaning for the kernel {name.value}; it is for rbf and laplacian."
        )
    if degree is not None and name is not KernelName.polynomial:
        raise ValueError(f"--degree has no meaning for the kernel {name.value}; it is for polynomial.")
    if name is KernelName.linear:
        return Linear()
    if name is KernelName.polynomial:
        return Polynomial(3 if degree is None else degree)
    width = _width("median" if bandwidth is None else bandwidth)
    return RBF(width) if name is KernelName.rbf else Laplacian(width)


def _width(text: str) -> Any:
    if text in ("median", "std"):
        return text
    try:
        width = float(text)
    except ValueError:
        raise ValueError(
            f"--bandwidth must be a positive number, 'median' or 'std'; found {text!r}."
        ) from None
    if 0 < width < _LEAST_WIDTH or 1 / _LEAST_WIDTH < width < np.inf:
        raise ValueError(
            f"--bandwidth {width:g} is out of reach: its square is not an ordinary floating point number. Take one "
            f"between {_LEAST_WIDTH:g} and {1 / _LEAST_WIDTH:g}."
        )
    return width


def look_at(table: Table, kernel: Kernel) -> None:
    """Say what in the data may surprise; refuse a kernel that overflows on them."""
    if len(table.bags) == 1:
        note("there is only one bag, so there is nothing to learn from others")
    spread = table.bags.data.std(axis=0, dtype=np.float64)
    if (spread > 0).sum() > 1 and not table.standardized:
        largest, smallest = int(spread.argmax()), int(np.where(spread > 0, spread, np.inf).argmin())
        if spread[largest] > _SCALES * spread[smallest]:
            ratio = spread[largest] / spread[smallest]
            times = f"{ratio:.0f}" if ratio < _LONGEST_FACTOR else f"{ratio:.3g}"
            note(
                f"{table.columns[largest]} varies {times} times as much as "
                f"{table.columns[smallest]} and decides who is similar; --standardize makes all columns count alike"
            )
    if isinstance(kernel, Polynomial):
        _check_powers(table, kernel)
    if not isinstance(kernel, Linear) and len(table.bags.data) > _MANY_POINTS:
        _tell_cost(table)


def _check_powers(table: Table, kernel: Polynomial) -> None:
    data = table.bags.data
    longest = data[[int(np.argmax(Linear().diagonal(data)))]].astype(np.float64)
    with np.errstate(over="ignore"):
        value = np.square(kernel.diagonal(longest)[0]) * len(data) ** 2
    if not np.isfinite(value):
        raise ValueError(
            f"the polynomial kernel of degree {kernel.degree} overflows on these data; take a smaller --degree, "
            "or --standardize."
        )


def _tell_cost(table: Table) -> None:
    """Warn of a long wait: kernel values between all points grow with the square of their number."""
    from .scale.cost import Job, plan_compute

    bags = table.bags
    job = Job(kind="kernel", n_bags=len(bags), n_points=len(bags.data), dim=bags.dim)
    seconds = plan_compute(job).seconds
    if seconds > _LONG:
        time = f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"
        note(
            f"kernel values between all {len(bags.data)} rows take about {time}, and choosing "
            f"parameters takes them several times; stbmta plan-compute --bags {len(bags)} --points "
            f"{len(bags.data)} --dim {bags.dim} tells what random features (stbmta.scale, from Python) or the linear "
            "kernel would cost"
        )


def label_text(label: Any) -> str:
    return " / ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def written_labels(table: Table) -> Any:
    """Return labels that an NPZ file can hold: text where they are several or mixed."""
    labels = table.bags.labels
    return labels if labels.dtype != object else np.array([label_text(label) for label in labels.tolist()])
