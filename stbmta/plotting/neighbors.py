"""Who is similar to whom."""

from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import scipy.cluster.hierarchy
import scipy.linalg
import scipy.sparse
from scipy.spatial.distance import squareform

from ..statistics import BagStatistics
from ._style import BLUE, GRAY, ORANGE, axes, count_bags, name_points, some_bags, tick_names

__all__ = ["NeighborsDisplay", "principal_directions", "similarity_order", "squared_distances"]

Array = npt.NDArray[np.float64]

_MOST_LABELS = 40
# With more lines than this for each bag a graph is a blot; then each bag shows its nearest neighbors only.
_MOST_LINES = 20
_NEAREST = 5


class NeighborsDisplay:
    """The outcome of the similarity tests, as a matrix or a graph.

    Parameters
    ----------
    distances : ndarray of shape (B, B)
        Squared distances of the means; they order the bags.
    neighbors : ndarray of bool, shape (B, B)
        Row i: the neighbors of bag i.
    labels : ndarray of shape (B,)
        Names of the bags.
    sizes : ndarray of shape (B,)
        Points of each bag.

    Attributes
    ----------
    ax_, figure_
        After :meth:`plot`.
    order_ : ndarray of int, shape (B,)
        The order of the bags in the matrix.

    Examples
    --------
    >>> from stbmta import STB
    >>> rng = np.random.default_rng(0)
    >>> est = STB(zeta=1.0, gamma=0.0).fit([rng.normal(k // 3, size=(9, 5)) for k in range(6)])
    >>> NeighborsDisplay.from_estimator(est).plot().ax_.get_title()
    'neighbors of 6 bags, 3 on average'
    """

    def __init__(
        self,
        distances: Array,
        neighbors: Any,
        labels: npt.NDArray[Any],
        sizes: npt.NDArray[np.int64],
    ) -> None:
        self.distances = distances
        self.neighbors = neighbors.toarray() if scipy.sparse.issparse(neighbors) else np.asarray(neighbors)
        self.labels = labels
        self.sizes = sizes

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Show the tests of a fitted estimator.

        Parameters
        ----------
        estimator : STB or MTA
            With ``neighbors_``.
        """
        if getattr(estimator, "neighbors_", None) is None:
            raise ValueError(
                f"{type(estimator).__name__} runs no similarity tests; use STB, or MTA with 'stb'."
            )
        return cls.from_statistics(estimator.statistics_, estimator.neighbors_)

    @classmethod
    def from_statistics(cls, s: BagStatistics, neighbors: npt.NDArray[np.bool_]) -> Self:
        """Show tests on the bags with these statistics; of more than 1000 bags, 1000 are shown.

        Parameters
        ----------
        s : BagStatistics
            Statistics of the bags.
        neighbors : ndarray of bool, shape (B, B)
            Row i: the neighbors of bag i.
        """
        shown = some_bags(len(s))
        distances, tests = squared_distances(s, shown), neighbors[np.ix_(shown, shown)]
        return cls(distances, tests, s.labels[shown], s.sizes[shown])

    def plot(self, ax: Any = None, *, kind: Literal["matrix", "graph"] = "matrix") -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure by default.
        kind : {"matrix", "graph"}, default="matrix"
            A matrix with similar bags side by side (row i: who helps bag i), or a graph whose nodes lie as
            the means do in their first two principal directions. Where a graph would have more than 20 lines a bag,
            only those to the 5 nearest neighbors are drawn.

        Returns
        -------
        self
            With ``ax_`` and ``figure_``.
        """
        if kind not in ("matrix", "graph"):
            raise ValueError(f"kind must be 'matrix' or 'graph', found {kind!r}.")
        self.figure_, self.ax_ = axes(ax, (5.2, 4.6))
        remark = ""
        if kind == "matrix":
            self._plot_matrix()
        else:
            edges = self._edges()
            remark = "" if edges is self.neighbors else f" ({_NEAREST} nearest shown)"
            self._plot_graph(edges)
        average = self.neighbors.sum(axis=1).mean()
        title = f"neighbors of {count_bags(len(self.labels))}, {average:.3g} on average{remark}"
        self.ax_.set_title(title, fontsize=10)
        return self

    def _plot_matrix(self) -> None:
        from matplotlib.colors import ListedColormap

        self.order_ = order = similarity_order(self.distances)
        shown = self.neighbors[np.ix_(order, order)].astype(int)
        np.fill_diagonal(shown, 2)
        colors = ListedColormap(["#F2F2F2", BLUE, ORANGE])
        self.ax_.imshow(shown, cmap=colors, vmin=0, vmax=2, interpolation="nearest")
        tick_names(self.ax_, self.labels[order])
        self.ax_.tick_params(length=0)
        self.ax_.set_xlabel("is a neighbor (blue)")
        self.ax_.set_ylabel("of bag")

    def _edges(self) -> npt.NDArray[np.bool_]:
        """Return which neighbors are joined by lines: all, or the nearest of each bag."""
        if self.neighbors.sum() <= (_MOST_LINES + 1) * len(self.labels):
            return self.neighbors
        others = self.neighbors & ~np.eye(len(self.labels), dtype=bool)
        order = np.argsort(np.where(others, self.distances, np.inf), axis=1, kind="stable")[:, :_NEAREST]
        nearest = np.zeros_like(others)
        np.put_along_axis(nearest, order, True, axis=1)
        return nearest & others

    def _plot_graph(self, joined: npt.NDArray[np.bool_]) -> None:
        from matplotlib.collections import LineCollection

        places = principal_directions(-self.distances / 2)
        joined = joined | (joined.T & self.neighbors)
        mutual = joined & joined.T
        for edges, style in ((mutual, "-"), (joined & ~joined.T, ":")):
            pairs = [places[[i, j]] for i, j in zip(*np.nonzero(edges), strict=True) if i < j or style == ":"]
            self.ax_.add_collection(
                LineCollection(pairs, colors=GRAY, linewidths=0.7, linestyles=style, zorder=1)
            )
        area = (20 + 80 * self.sizes / self.sizes.max()) * min(1.0, 100 / len(self.sizes))
        self.ax_.scatter(*places.T, s=area, color=BLUE, edgecolor="white", zorder=2)
        if len(self.labels) <= _MOST_LABELS:
            name_points(self.ax_, places, self.labels)
        self.ax_.set_xlabel("first principal direction")
        self.ax_.set_ylabel("second principal direction")


def squared_distances(s: BagStatistics, shown: npt.NDArray[np.int64]) -> Array:
    """Return the squared distances of some of the naive means."""
    gram = s.centered_gram[np.ix_(shown, shown)]
    norms = np.diagonal(gram)
    return np.maximum(norms[:, None] + norms[None, :] - 2 * gram, 0.0)


def similarity_order(distances: Array) -> npt.NDArray[np.int64]:
    """Return an order in which similar bags stand together: the leaves of average linkage.

    Examples
    --------
    >>> similarity_order(np.array([[0.0, 9.0, 1.0], [9.0, 0.0, 8.0], [1.0, 8.0, 0.0]])).tolist()
    [1, 2, 0]
    """
    if len(distances) < 3:
        return np.arange(len(distances))
    condensed = squareform(np.sqrt(np.maximum(distances, 0.0)), checks=False)
    # The best order of the leaves takes O(B^3) time; beyond some hundred bags any order will do.
    tree = scipy.cluster.hierarchy.linkage(condensed, "average", optimal_ordering=len(distances) <= 300)
    return scipy.cluster.hierarchy.leaves_list(tree).astype(np.int64)


def principal_directions(gram: Array) -> Array:
    """Return the coordinates of points in their first two principal directions, from inner products, (B, 2).

    Inner products may be off by functions of one of the two points (as minus half the squared distances are).

    Examples
    --------
    >>> x = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 2.0]])
    >>> np.linalg.norm(principal_directions(x @ x.T)[1] - principal_directions(x @ x.T)[0]).round(6)
    np.float64(4.0)
    """
    means = gram.mean(axis=0)
    centered = gram - means - means[:, None] + means.mean()
    B = len(gram)
    values, vectors = scipy.linalg.eigh((centered + centered.T) / 2, subset_by_index=[max(0, B - 2), B - 1])
    places = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0.0))
    return np.column_stack([places, np.zeros((B, 2 - places.shape[1]))])
