"""Where each mean went."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.linalg

from ._style import BLUE, GRAY, VERMILION, axes, name_points, some_bags

__all__ = ["ShrinkageDisplay"]

Array = npt.NDArray[np.float64]

_MOST_LABELS = 25


class ShrinkageDisplay:
    """Arrows from the naive means to the estimates, in the first two principal directions of the naive means.

    With a kernel these are the directions of kernel PCA on the mean embeddings.

    Parameters
    ----------
    naive, estimate : ndarray of shape (B, 2)
        Places of both in the picture.
    labels : ndarray of shape (B,)
        Names of the bags.
    explained : float
        The share of the variance of the naive means that the two directions carry; nan if they are all equal.

    Attributes
    ----------
    ax_, figure_
        After :meth:`plot`.

    Examples
    --------
    >>> from stbmta import STB
    >>> rng = np.random.default_rng(0)
    >>> est = STB(zeta=1.0, gamma=0.0).fit([rng.normal(k // 3, size=(9, 5)) for k in range(6)])
    >>> ShrinkageDisplay.from_estimator(est).plot().ax_.get_xlabel()
    'first principal direction'
    """

    def __init__(self, naive: Array, estimate: Array, labels: npt.NDArray[Any], explained: float) -> None:
        self.naive = naive
        self.estimate = estimate
        self.labels = labels
        self.explained = explained

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Show what a fitted estimator did to the naive means.

        Parameters
        ----------
        estimator : any estimator of the package
            Fitted.
        """
        s = estimator.statistics_
        if s.means is not None:
            places = _project_vectors(s.means, estimator.means_)
        elif estimator.weights_.shape[1] == len(s):
            places = _project_embeddings(s.gram, estimator.weights_)
        else:
            raise ValueError("the estimates combine halves of bags (cross_fit), not the naive means.")
        shown = some_bags(len(s))
        return cls(places[0][shown], places[1][shown], estimator.labels_[shown], places[2])

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
        from matplotlib.ticker import MaxNLocator

        self.figure_, self.ax_ = axes(ax, (5.2, 4.4))
        moved = self.estimate - self.naive
        self.ax_.quiver(
            *self.naive.T, *moved.T, angles="xy", scale_units="xy", scale=1, color=GRAY, width=0.003, zorder=1
        )
        self.ax_.scatter(
            *self.naive.T, s=22, facecolor="white", edgecolor=VERMILION, label="naive mean", zorder=2
        )
        self.ax_.scatter(*self.estimate.T, s=22, color=BLUE, label="estimate", zorder=3)
        if len(self.labels) <= _MOST_LABELS:
            name_points(self.ax_, self.naive, self.labels)
        self.ax_.margins(0.08)
        self.ax_.xaxis.set_major_locator(MaxNLocator(5, steps=(1, 2, 5, 10)))
        self.ax_.set_xlabel("first principal direction")
        self.ax_.set_ylabel("second principal direction")
        self.ax_.set_title(self._title(), fontsize=10)
        self.ax_.legend(fontsize=8, frameon=False)
        return self

    def _title(self) -> str:
        if len(self.labels) == 1:
            return "naive mean to estimate"
        share = f"{100 * self.explained:.0f} % of the variance"
        return f"naive means to estimates ({'all equal' if np.isnan(self.explained) else share})"


def _project_vectors(naive: Array, estimate: Array) -> tuple[Array, Array, float]:
    """Return naive means and estimates in the first two principal directions, and the share of variance there."""
    average = naive.mean(axis=0)
    _, spread, directions = scipy.linalg.svd(naive - average, full_matrices=False)
    directions = directions[:2]
    directions[1:][spread[1:2] <= 1e-12 * spread[0]] = 0.0  # rounding is no direction
    return (
        _two_columns((naive - average) @ directions.T),
        _two_columns((estimate - average) @ directions.T),
        _share(spread[:2] ** 2, (spread**2).sum()),
    )


def _project_embeddings(gram: Array, W: Any) -> tuple[Array, Array, float]:
    """Do the same from inner products.

    With v the eigenvectors of the centered Gram matrix, direction k is the sum of v_ik naive_i over the root of
    its eigenvalue (v sums to 0); inner products with it are linear in the naive means.
    """
    shown = some_bags(len(gram))  # the directions are those of the bags that are shown
    B, part = len(shown), gram[np.ix_(shown, shown)]
    means = part.mean(axis=0)
    centered = part - means - means[:, None] + means.mean()
    values, vectors = scipy.linalg.eigh((centered + centered.T) / 2, subset_by_index=[max(0, B - 2), B - 1])
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    flat = values <= 1e-12 * max(values[0], np.finfo(float).tiny)
    along = gram[:, shown] @ (vectors - vectors.mean(axis=0)) / np.where(flat, np.inf, np.sqrt(values))
    return (
        _two_columns(along - along.mean(axis=0)),
        _two_columns(np.asarray(W @ along) - along.mean(axis=0)),
        _share(values, float(np.trace(centered))),
    )


def _two_columns(places: Array) -> Array:
    return np.column_stack([places, np.zeros((len(places), 2 - places.shape[1]))])


def _share(part: Array, whole: float) -> float:
    return float(min(part.sum() / whole, 1.0)) if whole > 0 else float("nan")
