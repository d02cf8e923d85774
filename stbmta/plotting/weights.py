"""Who has how much weight in whose estimate."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse

from ._style import axes, count_bags, some_bags, tick_names
from .neighbors import similarity_order, squared_distances

__all__ = ["WeightsDisplay"]

Array = npt.NDArray[np.float64]


class WeightsDisplay:
    """The weight matrix of an estimate, similar bags side by side: for methods without yes-or-no tests.

    Parameters
    ----------
    weights : ndarray of shape (B, B)
        Row i: how estimate i is made of the naive means.
    distances : ndarray of shape (B, B)
        Squared distances of the naive means; they order the bags.
    labels : ndarray of shape (B,)
        Names of the bags.

    Attributes
    ----------
    ax_, figure_
        After :meth:`plot`.
    order_ : ndarray of int, shape (B,)

    Examples
    --------
    >>> from stbmta import MTA
    >>> rng = np.random.default_rng(0)
    >>> est = MTA().fit([rng.normal(size=(9, 5)) for _ in range(6)])
    >>> WeightsDisplay.from_estimator(est).plot().ax_.get_title()
    'weights of 6 bags'
    """

    def __init__(self, weights: Array, distances: Array, labels: npt.NDArray[Any]) -> None:
        self.weights = weights
        self.distances = distances
        self.labels = labels

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Show the weights of a fitted estimator; of more than 1000 bags, 1000 are shown.

        Parameters
        ----------
        estimator : any estimator of the package
            Fitted.
        """
        s, W = estimator.statistics_, estimator.weights_
        if W.shape[1] != len(s):
            raise ValueError("the estimates combine other means than the naive ones (cross_fit or a target).")
        shown = some_bags(len(s))
        dense = W.tocsr()[shown][:, shown].toarray() if scipy.sparse.issparse(W) else W[np.ix_(shown, shown)]
        return cls(dense, squared_distances(s, shown), s.labels[shown])

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
        self.order_ = order = similarity_order(self.distances)
        shown = self.weights[np.ix_(order, order)]
        others = np.abs(shown[~np.eye(len(order), dtype=bool)])
        largest, own = float(others.max(initial=0.0)) or 1.0, float(np.abs(np.diagonal(shown)).max())
        # The weight of a bag in its own estimate may outshine all others; then it leaves the scale.
        beyond = own > 2 * largest
        if not beyond:
            largest = max(largest, own)
        image = self.ax_.imshow(shown, cmap="RdBu", vmin=-largest, vmax=largest, interpolation="nearest")
        bar = self.figure_.colorbar(
            image, ax=self.ax_, ticks=[-largest, 0, largest], format="%.2g", fraction=0.046, pad=0.03
        )
        bar.set_label("weight (own weight: off the scale)" if beyond else "weight")
        tick_names(self.ax_, self.labels[order])
        self.ax_.tick_params(length=0)
        self.ax_.set_xlabel("naive mean")
        self.ax_.set_ylabel("in the estimate of")
        self.ax_.set_title(f"weights of {count_bags(len(order))}", fontsize=10)
        return self
