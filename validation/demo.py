"""The job of ``stbmta demo``: every method on real data, a table and a picture."""

from collections.abc import Callable, Mapping
from typing import Any

from .cases import CASES, KERNELS
from .heldout import ADAPTIVE, HeldOut, compare

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
        Which data.
    n_trials : int, default=20
        How often small bags are drawn.
    seed : int, default=0
        Seed of the random draws.
    progress : callable, optional
        Called twice a trial.

    Returns
    -------
    dict of str to HeldOut
        For the means, and for the kernel mean embeddings.

    Examples
    --------
    >>> list(run_demo(n_trials=2))
    ['means', 'kernel mean embeddings']
    """
    case = DATASETS[dataset]
    groups = case.load()
    return {
        what: compare(
            groups, case.bag_size, kernel, n_trials=n_trials, beyond=True, rng=seed, progress=progress
        )
        for what, kernel in KERNELS.items()
    }


def draw(results: Mapping[str, HeldOut], title: str) -> Any:
    """Draw the errors over that of the naive means, with standard errors.

    Parameters
    ----------
    results : mapping of str to HeldOut
        One panel each.
    title : str
        Of the picture.

    Returns
    -------
    matplotlib.figure.Figure
        To be saved or shown.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.4), layout="constrained")
    axes = figure.subplots(1, len(results), sharex=True)
    for ax, (what, result) in zip(axes, results.items(), strict=True):
        _panel(ax, what, result)
    figure.suptitle(title, fontsize=11)
    figure.supxlabel("squared error, naive mean = 100 %", fontsize=10)
    return figure


def _panel(ax: Any, what: str, result: HeldOut) -> None:
    names = list(result.errors)
    values = [100 * result.ratio(name)[0] for name in names]
    spread = [100 * result.ratio(name)[1] for name in names]
    places = range(len(names))[::-1]
    # Blue and gray differ in lightness too, so the picture reads without color.
    colors = ["#0072B2" if name.startswith("STB") or name == ADAPTIVE else "#7f7f7f" for name in names]
    ax.barh(places, values, xerr=spread, color=colors, height=0.65, error_kw={"elinewidth": 1, "capsize": 2})
    for place, value, error in zip(places, values, spread, strict=True):
        ax.text(value + error + 2, place, f"{value:.0f}", va="center", fontsize=9)
    ax.set_yticks(list(places), names)
    ax.axvline(100, color="black", linewidth=0.8, linestyle=":")
    ax.set_xlim(0, 120)
    ax.set_title(f"{what} ({result.n_bags} bags of {result.bag_size})", fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)
