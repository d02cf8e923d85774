"""The job of ``stbmta demo``: every method on real data, a table and a picture."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from stbmta.files import atomic_write

from .cases import CASES, KERNELS
from .heldout import HeldOut, compare

__all__ = ["DATASETS", "draw", "run_demo"]

DATASETS = {name: CASES[name] for name in ("fair", "randhie", "digits")}
"""Data that come with the dependencies."""


def run_demo(
    dataset: str = "fair", n_trials: int = 20, seed: int = 0, progress: Callable[[], None] = lambda: None
) -> dict[str, HeldOut]:
    """Compare all methods on a data set, for the means and for the kernel mean embeddings.

    Parameters
    ----------
    dataset : {"fair", "randhie", "digits"}
    n_trials : int, default=20
    seed : int, default=0
    progress : callable, optional
        Called twice a trial.

    Examples
    --------
    >>> list(run_demo(n_trials=2))
    ['means', 'kernel mean embeddings']
    """
    case = DATASETS[dataset]
    groups = case.load()
    return {
        what: compare(groups, case.bag_size, kernel, n_trials=n_trials, rng=seed, progress=progress)
        for what, kernel in KERNELS.items()
    }


def draw(results: Mapping[str, HeldOut], title: str, path: str | os.PathLike[str]) -> None:
    """Draw the errors over that of the naive means as points with standard errors, and save a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(results), figsize=(9, 3.6), sharex=True, layout="constrained")
    for ax, (what, result) in zip(axes, results.items(), strict=True):
        _panel(ax, what, result)
    figure.suptitle(title, fontsize=11)
    figure.supxlabel("squared error, naive mean = 100 %", fontsize=10)
    with atomic_write(path) as file:
        figure.savefig(file, format="png", dpi=150)
    plt.close(figure)


def _panel(ax: Any, what: str, result: HeldOut) -> None:
    names = list(result.errors)
    values = [100 * result.ratio(name)[0] for name in names]
    spread = [100 * result.ratio(name)[1] for name in names]
    places = range(len(names))[::-1]
    # Blue and gray differ in lightness too, so the picture reads without color.
    colors = ["#0072B2" if name.startswith("STB") else "#7f7f7f" for name in names]
    ax.barh(places, values, xerr=spread, color=colors, height=0.65, error_kw={"elinewidth": 1, "capsize": 2})
    for place, value, error in zip(places, values, spread, strict=True):
        ax.text(value + error + 2, place, f"{value:.0f}", va="center", fontsize=9)
    ax.set_yticks(list(places), names)
    ax.axvline(100, color="black", linewidth=0.8, linestyle=":")
    ax.set_xlim(0, 120)
    ax.set_title(f"{what} ({result.n_bags} bags of {result.bag_size})", fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)
