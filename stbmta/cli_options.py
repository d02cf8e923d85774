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
    str,
    typer.Option(help="Width of rbf and laplacian: a number, 'median' or 'std'.", rich_help_panel=METHOD),
]
DegreeOption = Annotated[
    int, typer.Option(min=1, help="Power of the polynomial kernel.", rich_help_panel=METHOD)
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


def make_kernel(name: KernelName, bandwidth: str, degree: int) -> Kernel:
    """Return the kernel that the options describe."""
    width: Any = bandwidth
    if bandwidth not in ("median", "std"):
        try:
            width = float(bandwidth)
        except ValueError:
            raise ValueError(
                f"--bandwidth must be a positive number, 'median' or 'std'; found {bandwidth!r}."
            ) from None
    if name is KernelName.linear:
        return Linear()
    if name is KernelName.polynomial:
        return Polynomial(degree)
    return RBF(width) if name is KernelName.rbf else Laplacian(width)


def look_at(table: Table, kernel: Kernel) -> None:
    """Say what in the data may surprise."""
    if len(table.bags) == 1:
        note("there is only one bag, so there is nothing to learn from others")
    spread = table.bags.data.std(axis=0, dtype=np.float64)
    if (spread > 0).sum() > 1 and not table.standardized:
        largest, smallest = int(spread.argmax()), int(np.where(spread > 0, spread, np.inf).argmin())
        if spread[largest] > _SCALES * spread[smallest]:
            note(
                f"{table.columns[largest]} varies {spread[largest] / spread[smallest]:.0f} times as much as "
                f"{table.columns[smallest]} and decides who is similar; --standardize makes all columns count alike"
            )


def label_text(label: Any) -> str:
    return " / ".join(map(str, label)) if isinstance(label, tuple) else str(label)


def written_labels(table: Table) -> Any:
    """Return labels that an NPZ file can hold: text where they are several or mixed."""
    labels = table.bags.labels
    return labels if labels.dtype != object else np.array([label_text(label) for label in labels.tolist()])
