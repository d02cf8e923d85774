"""Squared error against the size of the bag."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ._style import BLUE, GREEN, ORANGE, PURPLE, VERMILION, axes, count_bags, plain_ticks

__all__ = ["ErrorBySizeDisplay"]

Array = npt.NDArray[np.float64]

_COLORS = (VERMILION, BLUE, GREEN, ORANGE, PURPLE)


class ErrorBySizeDisplay:
    """Squared errors of the means over the sizes of the bags: small bags gain most.

    Parameters
    ----------
    sizes : ndarray of shape (B,)
        Points of each bag.
    errors : mapping of str to ndarray of shape (B,)
        Squared errors of each method, the first one being that to compare with.
    estimated : bool
        Whether the errors are estimates, rather than known from the truth.

    Attributes
    ----------
    ax_, figure_
        After :meth:`plot`.

    Examples
    --------
    >>> from stbmta import STB
    >>> rng = np.random.default_rng(0)
    >>> est = STB(zeta=1.0, gamma=0.0).fit([rng.normal(size=(n, 5)) for n in (5, 10, 20, 40)])
    >>> ErrorBySizeDisplay.from_estimator(est).plot().ax_.get_ylabel()
    'estimated squared error'
    """

    def __init__(
        self, sizes: npt.NDArray[Any], errors: Mapping[str, Array], *, estimated: bool = False
    ) -> None:
        self.sizes = np.asarray(sizes)
        self.errors = dict(errors)
        self.estimated = estimated
        for name, values in self.errors.items():
            if np.shape(values) != self.sizes.shape:
                raise ValueError(
                    f"there are {len(self.sizes)} sizes, but errors of shape {np.shape(values)} for {name!r}."
                )

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Show the estimated errors of a fitted estimator and of the naive means.

        Parameters
        ----------
        estimator : any estimator of the package
            Fitted.
        """
        figures = estimator.bag_figures()
        if "estimated_error" not in figures:
            raise ValueError(
                "the errors of these estimates cannot be estimated (bags of one point, or a split)."
            )
        errors = {
            "naive": figures["naive_error"],
            type(estimator).__name__: figures["estimated_error"],
        }
        return cls(estimator.statistics_.sizes, errors, estimated=True)

    def plot(self, ax: Any = None) -> Self:
        """Draw one point a bag and method, and the average of each size class.

        Bags of equal size stand side by side, in the order of the first method's errors.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        self
            With ``ax_`` and ``figure_``.
        """
        self.figure_, self.ax_ = axes(ax, (5.2, 4.0))
        first = next(iter(self.errors))
        n_bags, equal = len(self.sizes), np.ptp(self.sizes) == 0
        if equal:
            places = np.empty(n_bags)
            places[np.argsort(self.errors[first], kind="stable")] = np.arange(1, n_bags + 1)
            # The average is a line from edge to edge.
            classes, centers = [np.ones(n_bags, dtype=bool)] * 2, [0.5, n_bags + 0.5]
        else:
            places, classes = self.sizes.astype(float), _size_classes(self.sizes)
            centers = [float(np.exp(np.log(self.sizes[part]).mean())) for part in classes]
        for k, (name, values) in enumerate(self.errors.items()):
            color, marker = _COLORS[k % len(_COLORS)], "os^Dv"[k % 5]
            self.ax_.scatter(places, values, s=14, color=color, alpha=0.4, marker=marker, linewidths=0)
            averages = [values[part].mean() for part in classes]
            line = self.ax_.plot(centers, averages, color=color, marker=marker, markersize=6, label=name)[0]
            line.set_markevery([] if equal else None)
        if equal:
            self.ax_.set_xlim(*centers)
            self.ax_.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
        else:
            self.ax_.set_xscale("log")
            plain_ticks(self.ax_.xaxis)
        if min(values.min() for values in self.errors.values()) > 0:
            self.ax_.set_yscale("log")
            plain_ticks(self.ax_.yaxis)
        points = f"{self.sizes[0]} point{'s' * bool(self.sizes[0] != 1)}"
        self.ax_.set_xlabel(f"bags of {points}, by the error of {first}" if equal else "points in the bag")
        self.ax_.set_ylabel("estimated squared error" if self.estimated else "squared error")
        self.ax_.legend(fontsize=8, frameon=False)
        title = f"errors of {count_bags(n_bags)} (line: average)" if equal else "error by bag size"
        self.ax_.set_title(title, fontsize=10)
        return self


def _size_classes(sizes: npt.NDArray[Any]) -> list[npt.NDArray[np.bool_]]:
    """Cut the bags into at most six classes of similar size."""
    distinct = np.unique(sizes)
    if len(distinct) <= 6:
        return [sizes == size for size in distinct]
    edges = np.unique(np.quantile(sizes, np.linspace(0, 1, 7)))
    number = np.clip(np.searchsorted(edges, sizes, side="right") - 1, 0, len(edges) - 2)
    return [number == k for k in np.unique(number)]
