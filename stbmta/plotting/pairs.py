"""The distances of all pairs of bags."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ._style import axes, count_bags, tick_names
from .neighbors import similarity_order

__all__ = ["PairsDisplay"]

Array = npt.NDArray[np.float64]


class PairsDisplay:
    """A map of the distances of all pairs of bags, similar bags side by side; a dot: no difference was found.

    Parameters
    ----------
    distances : ndarray of shape (B, B)
        Squared MMD; negative estimates count as 0.
    labels : ndarray of shape (B,)
        Names of the bags.
    pvalues : ndarray of shape (B, B), optional
        Corrected for the number of pairs.
    alpha : float, default=0.05
        The level at which a pair differs.

    Attributes
    ----------
    ax_, figure_
        After :meth:`plot`.
    order_ : ndarray of int, shape (B,)

    Examples
    --------
    >>> distances = np.array([[0.0, 0.1, 4.0], [0.1, 0.0, 4.0], [4.0, 4.0, 0.0]])
    >>> PairsDisplay(distances, np.array(["a", "b", "c"])).plot().ax_.get_title()
    'distances of 3 bags'
    """

    def __init__(
        self, distances: Array, labels: npt.NDArray[Any], pvalues: Array | None = None, alpha: float = 0.05
    ) -> None:
        self.distances = distances
        self.labels = labels
        self.pvalues = pvalues
        self.alpha = alpha

    @classmethod
    def from_pvalues(cls, pairs: Any, *, correction: str = "holm", alpha: float = 0.05) -> Self:
        """Show the pairs that :func:`stbmta.pairs.pair_pvalues` tested.

        Parameters
        ----------
        pairs : stbmta.pairs.PairPValues
            Tests of equal means.
        correction : str, default="holm"
            How p-values are corrected for the number of pairs.
        alpha : float, default=0.05
            Level of the tests.
        """
        return cls(pairs.distances, pairs.labels, pairs.corrected(correction), alpha)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        self
            With ``ax_`` and ``figure_``.
        """
        self.figure_, self.ax_ = axes(ax, (5.6, 4.6))
        clipped = np.maximum(self.distances, 0.0)
        self.order_ = order = similarity_order(clipped)
        shown = np.sqrt(clipped[np.ix_(order, order)])
        image = self.ax_.imshow(shown, cmap="cividis", interpolation="nearest")
        self.figure_.colorbar(image, ax=self.ax_, fraction=0.046, pad=0.03).set_label("MMD")
        if self.pvalues is not None:
            alike = self.pvalues[np.ix_(order, order)] > self.alpha
            rows, columns = np.nonzero(alike)
            size = min(30.0, 2000.0 / len(order) ** 1.5)
            self.ax_.scatter(columns, rows, s=size, color="white", edgecolor="black", linewidths=0.4)
        tick_names(self.ax_, self.labels[order])
        self.ax_.tick_params(length=0)
        dots = "" if self.pvalues is None else f" (dot: no difference at level {self.alpha:g})"
        self.ax_.set_title(f"distances of {count_bags(len(order))}{dots}", fontsize=10)
        return self
