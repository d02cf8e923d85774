"""The figures of the experiments, colors and marks chosen to be told apart without color."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from stbmta.files import atomic_write

from ..heldout import OVERALL
from .aod import METHODS as AOD_ROWS
from .aod import AodTable
from .gaussian_table import GaussianTable
from .methods import FREE
from .published import AOD, GAUSSIAN_METHODS, TOY, TOY_BY_SIZE, TOY_METHODS
from .real import RealData
from .toy import FIGURES, Toy

__all__ = ["draw_aod", "draw_gaussian", "draw_real", "draw_toy"]

Path = str | os.PathLike[str]

# Okabe and Ito's palette; each method keeps color and mark in every figure.
_STYLES: dict[str, tuple[str, str]] = {
    "NE": ("#000000", "|"),
    "PPJS": ("#000000", "x"),
    "James-Stein": ("#000000", "x"),
    "R-KMSE": ("#999999", "v"),
    "MTA const": ("#E69F00", "D"),
    "MTA stb": ("#CC79A7", "P"),
    "STB-0": ("#56B4E9", "s"),
    "STB theory": ("#009E73", "^"),
    "STB weight": ("#0072B2", "o"),
    FREE: ("#D55E00", "*"),
    OVERALL: ("#999999", "d"),
    "water-filling": ("#117733", "<"),
    "aggregation": ("#882255", ">"),
    "spectral": ("#661100", "h"),
    "Adaptive": ("#D55E00", "*"),
}
_REACH = 150.0  # how far the axis of the real data goes, naive mean = 100
_REFERENCE = "the authors' procedure re-run"


@contextmanager
def _figure(path: Path, rows: int, columns: int, size: tuple[float, float]) -> Iterator[tuple[Any, Any]]:
    """Yield a figure and its axes, and save them as a PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    yield figure, figure.subplots(rows, columns, squeeze=False)
    with atomic_write(path) as file:
        figure.savefig(file, format="png", dpi=150)


def draw_toy(found: Toy, path: Path) -> None:
    """Draw figures (a) to (d) in the paper's layout, with standard errors and the reference as open marks.

    Parameters
    ----------
    found : Toy
        What :func:`stbmta.validation.reproduce.toy.run` found.
    path : path-like
        The PNG to write.
    """
    with _figure(path, 2, 2, (10.5, 8)) as (figure, axes):
        for ax, (name, (title, x)) in zip(axes.flat, FIGURES.items(), strict=True):
            _toy_panel(ax, found, name)
            ax.set(title=f"({name}) {title}", xlabel=x, ylabel="decrease of the error in %")
            ax.axhline(0, color="black", linewidth=0.6)
            ax.spines[["top", "right"]].set_visible(False)
        pairs = [pair for ax in axes.flat for pair in zip(*ax.get_legend_handles_labels(), strict=True)]
        named = {label: handle for handle, label in sorted(pairs, key=lambda pair: pair[1] == _REFERENCE)}
        figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=4, frameon=False)


def _toy_panel(ax: Any, found: Toy, name: str) -> None:
    settings = [setting for setting in found.settings if setting.figure == name]
    if not settings:
        return
    for method in (*TOY_METHODS, FREE):
        color, mark = _STYLES[method]
        line = {"color": color, "marker": mark, "markersize": 5, "linewidth": 1.2, "capsize": 2}
        if method == FREE:
            line["linestyle"] = ":"
        if name == "c":
            sizes = np.unique(settings[0].sizes).tolist()
            values = [found.decrease(settings[0], method, size) for size in sizes]
        else:
            sizes = [setting.value for setting in settings]
            values = [found.decrease(setting, method) for setting in settings]
        places = np.array(values).reshape(-1, 2)
        ax.errorbar(sizes, places[:, 0], yerr=places[:, 1], label=method, **line)
        if method in TOY_METHODS:
            k = TOY_METHODS.index(method)
            known = [(s.value, TOY[name, s.value][k][0]) for s in settings if s.known]
            if name == "c":
                known = [(size, values[k]) for size, values in TOY_BY_SIZE.items()]
            ax.plot(*np.transpose(known), "o", ms=9, mfc="none", mec=color, mew=0.8)
    ax.plot([], [], "o", ms=9, mfc="none", mec="black", mew=0.8, label=_REFERENCE)


def draw_gaussian(table: GaussianTable, path: Path) -> None:
    """Draw each model's decreases: the paper's, ours with its tuning, ours without an oracle.

    Parameters
    ----------
    table : GaussianTable
        What :func:`stbmta.validation.reproduce.gaussian_table.run` found.
    path : path-like
        The PNG to write.
    """
    with _figure(path, 1, len(table.models), (2.9 * len(table.models) + 0.6, 3.4)) as (figure, axes):
        places = np.arange(len(GAUSSIAN_METHODS))[::-1]
        for m, (ax, model) in enumerate(zip(axes.flat, table.models, strict=True)):
            known = table.found[m] - table.differences()[m]
            ax.plot(known, places, "o", ms=11, mfc="none", mec="black", label="paper")
            ax.plot(table.found[m], places, "o", ms=5, color="#0072B2", label="ours, the paper's tuning")
            ax.plot(table.free[m], places, "^", ms=6, color="#D55E00", label="ours, no oracle")
            ax.set_yticks(places, GAUSSIAN_METHODS if m == 0 else [""] * len(places))
            ax.set(title=model, xlim=(0, 1.03), xlabel="decrease of the error")
            ax.grid(axis="x", color="#dddddd")
            ax.spines[["top", "right"]].set_visible(False)
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)


def draw_aod(table: AodTable, path: Path) -> None:
    """Draw the decreases with standard errors beside the paper's.

    Parameters
    ----------
    table : AodTable
        What :func:`stbmta.validation.reproduce.aod.run` found.
    path : path-like
        The PNG to write.
    """
    with _figure(path, 1, 1, (6, 3.6)) as (figure, axes):
        ax, methods = axes[0, 0], AOD_ROWS[1:]
        places = np.arange(len(methods))[::-1]
        values = np.array([table.decrease(method) for method in methods])
        ax.errorbar(
            values[:, 0], places, xerr=values[:, 1], fmt="o", color="#0072B2", capsize=2, label="ours"
        )
        known = [(AOD[method], place) for method, place in zip(methods, places, strict=True) if method in AOD]
        ax.plot(*zip(*known, strict=True), "o", ms=11, mfc="none", mec="black", label="paper")
        ax.set_yticks(places, methods)
        ax.set(title="AOD-MISR1", xlabel="decrease of the error in %")
        ax.grid(axis="x", color="#dddddd")
        ax.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside lower center", ncols=2, frameon=False)


def draw_real(found: RealData, path: Path) -> None:
    """Draw the error of every method on every data set, naive mean = 100.

    Parameters
    ----------
    found : RealData
        What :func:`stbmta.validation.reproduce.real.run` found.
    path : path-like
        The PNG to write.
    """
    kinds = list(dict.fromkeys(what for _, what in found.errors))
    names = list(dict.fromkeys(dataset for dataset, _ in found.errors))
    with _figure(path, 1, len(kinds), (4.2 * len(kinds) + 1.5, 0.8 * len(names) + 1.8)) as (figure, axes):
        for k, (ax, what) in enumerate(zip(axes.flat, kinds, strict=True)):
            _real_panel(ax, found, what, names)
            ax.set_yticks(range(len(names)), names if k == 0 else [""] * len(names))
            ax.set(title=what, xlabel="squared error, naive mean = 100")
        named = dict(zip(*reversed(axes.flat[0].get_legend_handles_labels()), strict=True))
        figure.legend(named.values(), named.keys(), loc="outside lower center", ncols=5, frameon=False)


def _real_panel(ax: Any, found: RealData, what: str, names: list[str]) -> None:
    ax.axvline(100, color="black", linewidth=0.8, linestyle=":")
    for row, name in enumerate(names):
        methods = [method for method in found.errors[name, what] if method != "NE"]
        if row % 2:
            ax.axhspan(row - 0.5, row + 0.5, color="#f3f3f3", zorder=0)
        for k, method in enumerate(methods):
            ratio, error = found.ratio(name, what, method)
            color, mark = _STYLES[method]
            place = row + 0.7 * (k / (len(methods) - 1) - 0.5)
            style = {"fmt": mark, "color": color, "markersize": 5, "label": method}
            if 100 * ratio < _REACH:
                ax.errorbar(100 * ratio, place, xerr=100 * error, **style)
            else:  # too far away to be drawn in place
                ax.errorbar([], [], xerr=[], **style)
                ax.plot(_REACH, place, mark, color=color, markersize=5, clip_on=False)
                label = f"   \N{RIGHTWARDS ARROW} {100 * ratio:.0f}"
                ax.text(_REACH, place, label, color=color, fontsize=7, va="center")
    ax.set(xlim=(0, _REACH), ylim=(len(names) - 0.5, -0.5))
    ax.spines[["top", "right"]].set_visible(False)
