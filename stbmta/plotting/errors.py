"""Squared error against the size of the bag."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ._style import BLUE, GREEN, ORANGE, PURPLE, VERMILION, axes

__all__ = ["ErrorBySizeDisplay"]

Array = npt.NDArray[np.float64]


class ErrorBySizeDisplay:
    """Squared errors of the means over the sizes of the bags: small bags gain most.

    Parameters
    ----------
    sizes : ndarray of shape (B,)
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

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        self
        """
        self.figure_, self.ax_ = axes(ax, (5.2, 4.0))
        colors = (VERMILION, BLUE, GREEN, ORANGE, PURPLE)
        classes = _size_classes(self.sizes)
        for k, (name, values) in enumerate(self.errors.items()):
            color, marker = colors[k % len(colors)], "os^Dv"[k % 5]
            self.ax_.scatter(self.sizes, values, s=14, color=color, alpha=0.35, marker=marker, linewidths=0)
            centers = [np.exp(np.log(self.sizes[part]).mean()) for part in classes]
            averages = [values[part].mean() for part in classes]
            self.ax_.plot(centers, averages, color=color, marker=marker, markersize=6, label=name)
        if np.ptp(self.sizes) == 0:
            self.ax_.set_xlim(self.sizes[0] / 2, self.sizes[0] * 2)
        self.ax_.set_xscale("log")
        if min(values.min() for values in self.errors.values()) > 0:
            self.ax_.set_yscale("log")
        self.ax_.set_xlabel("points in the bag")
        self.ax_.set_ylabel("estimated squared error" if self.estimated else "squared error")
        self.ax_.legend(fontsize=8, frameon=False)
        self.ax_.set_title("error by bag size", fontsize=10)
        return self


def _size_classes(sizes: npt.NDArray[Any]) -> list[npt.NDArray[np.bool_]]:
    """Cut the bags into at most six classes of similar size."""
    distinct = np.unique(sizes)
    if len(distinct) <= 6:
        return [sizes == size for size in distinct]
    edges = np.unique(np.quantile(sizes, np.linspace(0, 1, 7)))
    number = np.clip(np.searchsorted(edges, sizes, side="right") - 1, 0, len(edges) - 2)
    return [number == k for k in np.unique(number)]
