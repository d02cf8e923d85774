"""Figures of the validation report, as PNG images inside the page."""

import base64
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from io import BytesIO
from typing import Any

import numpy as np

__all__ = ["COLORS", "bounds_figure", "printed_figure", "rates_figure", "tightness_figure"]

COLORS = {
    "holds": "#0072B2",
    "vacuous": "#999999",
    "undecided": "#CC79A7",
    "known erratum": "#E69F00",
    "violated": "#D55E00",
}
"""Colors that the color-blind tell apart; the shapes differ too."""

MARKERS = {"holds": "o", "vacuous": "x", "undecided": "s", "known erratum": "D", "violated": "X"}
SMALLEST, LARGEST = 1e-8, 30.0

Check = Mapping[str, Any]


def _status(check: Check, regime: Mapping[str, Any]) -> str:
    if regime["verdict"] == "violated":
        return "known erratum" if check["erratum"] else "violated"
    if regime["verdict"] == "undecided":
        return "undecided"
    return "vacuous" if regime["vacuous"] else "holds"


def _png(figure: Any) -> str:
    file = BytesIO()
    figure.savefig(file, format="png", dpi=150, bbox_inches="tight", metadata={"Software": None})
    return base64.b64encode(file.getvalue()).decode()


def _small_letters(draw: Callable[..., str]) -> Callable[..., str]:
    @wraps(draw)
    def drawn(checks: Sequence[Check]) -> str:
        import matplotlib as mpl

        with mpl.rc_context({"font.size": 8.5, "axes.labelsize": 8.5, "legend.fontsize": 8}):
            return draw(checks)

    return drawn


def _rows(rows: int, height: float = 0.2, width: float = 8.0) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, max(rows * height + 0.9, 1.7)))
    axes = figure.subplots()
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return figure, axes


def _legend(axes: Any, used: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=COLORS[s], marker=MARKERS[s], linestyle="none", markersize=5, label=s)
        for s in COLORS
        if s in used
    ]
    axes.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=5, frameon=False)


@_small_letters
def tightness_figure(checks: Sequence[Check]) -> str:
    """Draw observed / bound of every regime, one row a check.

    Parameters
    ----------
    checks : sequence of mapping
        As in ``results.json``.

    Returns
    -------
    str
        A PNG image in base64.
    """
    figure, axes = _rows(len(checks))
    used = []
    for row, check in enumerate(checks):
        for regime in check["regimes"]:
            value, status = regime["tightness"], _status(check, regime)
            if value is None or (regime["at_most"] is None and status == "vacuous"):
                continue
            used.append(status)
            place = float(np.clip(value, SMALLEST, LARGEST))
            marker = "<" if value < SMALLEST else ">" if value > LARGEST else MARKERS[status]
            axes.plot(
                place,
                row,
                marker,
                color=COLORS[status],
                markersize=4.5,
                markeredgewidth=0.8,
                alpha=0.75,
                clip_on=False,
            )
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_xlim(SMALLEST, LARGEST)
    axes.set_ylim(len(checks) - 0.4, -0.6)
    axes.set_yticks(range(len(checks)), [check["id"] for check in checks])
    axes.grid(axis="x", color="0.92")
    axes.set_axisbelow(True)
    axes.set_xlabel("observed / bound (1 is the bound; triangles: beyond the axis)")
    _legend(axes, used)
    return _png(figure)


@_small_letters
def rates_figure(checks: Sequence[Check]) -> str:
    """Draw counted error rates with their confidence intervals on the range that is claimed.

    Parameters
    ----------
    checks : sequence of mapping
        As in ``results.json``; those without counted regimes are left out.

    Returns
    -------
    str
        A PNG image in base64.
    """
    rows = [(c, r) for c in checks for r in c["regimes"] if not r["exact"] and r["at_least"] is not None]
    figure, axes = _rows(len(rows), height=0.17)
    used = []
    for row, (check, regime) in enumerate(rows):
        status = _status(check, regime)
        used.append(status)
        span = regime["at_most"] - regime["at_least"]
        axes.barh(row, span, left=regime["at_least"], height=0.75, color="#CFE3F1")
        axes.plot([regime["lower"], regime["upper"]], [row, row], color=COLORS[status], linewidth=1.3)
        axes.plot(regime["observed"], row, MARKERS[status], color=COLORS[status], markersize=3.5)
    labels = [f"{check['id']}   {regime['regime']}" for check, regime in rows]
    axes.set_yticks(range(len(rows)), labels, fontsize=7)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, None)
    axes.set_xlabel("error rate: dot and interval as counted, band as claimed")
    _legend(axes, used)
    return _png(figure)


@_small_letters
def bounds_figure(checks: Sequence[Check]) -> str:
    """Draw the error against its bound in every regime of the theorems, as fractions of the naive error.

    Parameters
    ----------
    checks : sequence of mapping
        Checks with a ``factor``.

    Returns
    -------
    str
        A PNG image in base64.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    names = sorted({r["regime"] for check in checks for r in check["regimes"]}, key=_dimension_first)
    rows = {name: row for row, name in enumerate(names)}
    figure = Figure(figsize=(8.6, 0.16 * len(names) + 1.1))
    panels = figure.subplots(1, len(checks), sharey=True, squeeze=False)[0]
    for axes, check in zip(panels, checks, strict=True):
        for regime in check["regimes"]:
            if not regime["factor"]:
                continue
            row, bound = rows[regime["regime"]], regime["factor"]
            error, hollow = regime["observed"] * bound, regime["vacuous"]
            color = COLORS["vacuous" if hollow else "violated"]
            axes.plot([error, bound], [row, row], color="0.85", linewidth=1, zorder=0)
            axes.plot(bound, row, "D", color=color, fillstyle="none" if hollow else "full", markersize=3.5)
            axes.plot(error, row, "o", color=COLORS["holds"], markersize=3.5)
        axes.axvline(1, color="0.5", linewidth=0.8, linestyle=":")
        axes.set_xscale("log")
        axes.set_title(check["id"], fontsize=8.5)
        axes.grid(axis="y", color="0.95")
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("over the naive error")
    panels[0].set_yticks(range(len(names)), names, fontsize=7)
    panels[0].set_ylim(len(names) - 0.4, -0.6)
    marks = (("o", COLORS["holds"], "largest error"), ("D", COLORS["violated"], "bound"))
    handles = [
        Line2D([], [], marker=m, color=c, linestyle="none", markersize=4, label=text) for m, c, text in marks
    ]
    figure.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.0, 0.0), frameon=False)
    return _png(figure)


def _dimension_first(name: str) -> tuple[float, str, str]:
    """Order regimes named "model, d = 1e6, thresholds" by dimension, then by model."""
    model, dim, thresholds = name.rsplit(", ", 2)
    return float(dim.removeprefix("d = ")), thresholds, model


@_small_letters
def printed_figure(checks: Sequence[Check]) -> str:
    """Draw the exact probabilities of the events over the stated ones, against the dimension.

    Parameters
    ----------
    checks : sequence of mapping
        The checks ``gaussian-A`` to ``gaussian-Cprime``.

    Returns
    -------
    str
        A PNG image in base64.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 2.9))
    axes = figure.subplots()
    for check, marker, color in zip(
        checks, "os^D", ("#0072B2", "#E69F00", "#009E73", "#CC79A7"), strict=False
    ):
        dims = [float(r["regime"].removeprefix("d = ")) for r in check["regimes"]]
        values = [max(r["tightness"], 1e-20) for r in check["regimes"]]
        faces = ["white" if r["vacuous"] else color for r in check["regimes"]]
        axes.plot(dims, values, color=color, linewidth=1, zorder=1)
        axes.scatter(dims, values, marker=marker, facecolors=faces, edgecolors=color, s=18, zorder=2)
        axes.plot([], [], marker=marker, color=color, markersize=4, linewidth=1, label=check["id"])
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("dimension d, at the smallest tau that the paper allows")
    axes.set_ylabel("exact / stated probability")
    axes.set_ylim(3e-21, 10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, ncols=2)
    return _png(figure)
