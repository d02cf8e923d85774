r"""Averages over neighbors for very many bags: the linear kernel without a B x B matrix.

For the linear kernel the STB estimate needs only the naive means and, for each bag, the average of its
neighbors' means. :func:`neighbor_averages` finds both in memory O(B d), so that a hundred thousand bags are
no problem; ``bag_statistics`` would need a B x B matrix.
"""

from dataclasses import dataclass
from functools import partial
from threading import Event, Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from .bags import Bags, require_size
from .jit import linear as jit_linear
from .jit.vector import WIDTH
from .labels import labels_index
from .memory import memory_limit, require_memory
from .neighbor_test import NeighborTest, pack
from .progress import progress_bar
from .scale.means import MeanStatistics
from .similarity import _thresholds
from .statistics import require_bags
from .threads import get_num_threads, run
from .vectors import centered_means

__all__ = ["NeighborAverages", "neighbor_averages", "sum_neighbors"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

# Rows that are filtered together: single precision coordinates that half a second-level cache holds.
CACHED = 2**17
# Coordinates of pairs that are looked at in one task: some hundredths of a second, so that Ctrl-C is heard.
TASK = 2**32
# A second look, in double precision, is slower by far, and some data need many: so many at a time.
LOOK = 2**28
# Groups of rows for each thread at least, so that all end together.
_GROUPS = 4
# Bytes of a bag beside its coordinates (order, errors, limits), and of a pair of neighbors that is kept.
_BAG = 150
_PAIR = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighborAverages:
    r"""The naive means of bags, and the averages over their neighbors.

    Attributes
    ----------
    means : ndarray of shape (B, d)
        The naive means.
    averages : ndarray of shape (B, d)
        The average of the naive means of each bag's neighbors, the bag itself among them.
    counts : ndarray of shape (B,)
        Number of neighbors, :math:`|V_i|`.
    naive_mse : ndarray of shape (B,)
        Squared errors of the naive means, estimated (eq. esttaskvar) or known.
    labels : ndarray of shape (B,)
    neighbors : scipy.sparse.csr_array of bool, shape (B, B), or None
        Row i holds the neighbors of bag i, if they were asked for.
    """

    means: Array
    averages: Array
    counts: npt.NDArray[np.int64]
    naive_mse: Array
    labels: npt.NDArray[Any]
    neighbors: Any = None

    def estimate(self, gamma: npt.ArrayLike = 0.0) -> Array:
        r"""Return the STB estimates :math:`\gamma \hat\mu_i + (1 - \gamma) \, \mathrm{average}_i`, (B, d).

        Parameters
        ----------
        gamma : float or array-like of shape (B,), default=0.0
            The share of the naive mean.

        Returns
        -------
        ndarray of shape (B, d)
            Row i is the estimate of mean i.
        """
        share = np.asarray(gamma, dtype=np.float64)
        if share.shape not in ((), (len(self.counts),)):
            raise ValueError(f"gamma must be a number or {len(self.counts)} numbers, found {share.shape}.")
        share = share[..., None]
        return share * self.means + (1 - share) * self.averages

    def summary(self) -> str:
        """Return the main figures as text.

        Returns
        -------
        str
            Number of bags, numbers of neighbors and average error of the naive means.
        """
        few, middle, many = np.percentile(self.counts, [0, 50, 100])
        return (
            f"{len(self.counts)} bags in {self.means.shape[1]} dimensions\n"
            f"neighbors of a bag, itself included: {few:g} to {many:g}, median {middle:g}\n"
            f"average naive MSE: {self.naive_mse.mean():.6g}"
        )

    def to_frame(self) -> Any:
        """Return the number of neighbors and the naive MSE of each bag as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            One row a bag, by label.
        """
        import pandas as pd

        columns = {"neighbors": self.counts, "naive_mse": self.naive_mse}
        return pd.DataFrame(columns, index=labels_index(self.labels))


def neighbor_averages(
    bags: Bags | MeanStatistics,
    zeta: npt.ArrayLike,
    *,
    variance: float | None = None,
    keep_neighbors: bool = False,
    n_threads: int | None = None,
    max_memory: float | str | None = None,
    client: Any = None,
) -> NeighborAverages:
    r"""Find each bag's neighbors and average their means, for the linear kernel and any number of bags.

    .. math:: |\hat\mu_i - \hat\mu_j|^2 - \widehat{\mathrm{MSE}}_i - \widehat{\mathrm{MSE}}_j
              \le \zeta \, \widehat{\mathrm{MSE}}_i

    as in :func:`stbmta.neighbors` (eq. simtest_kme), or with a known variance
    :math:`|\hat\mu_i - \hat\mu_j|^2 \le \zeta \, d \sigma^2 / N_i` as in :func:`stbmta.gaussian_neighbors`
    (eq. deftestsgaus).

    Parameters
    ----------
    bags : Bags or MeanStatistics
        Means of features (:func:`stbmta.scale.means.mean_statistics`) do for other kernels than the linear one.
    zeta : float or array-like of shape (B,)
        The threshold, at least 0; one for all bags or one a bag.
    variance : float, optional
        The variance of each coordinate, if it is known; bags of one point are then welcome.
    keep_neighbors : bool, default=False
        Return the neighbors too, as a sparse matrix.
    n_threads : int, optional
        All available cores by default. It does not change the result.
    max_memory : float or str, optional
        Bytes that this may take beyond its input, half of what is free by default; more is refused.
    client : dask.distributed.Client, optional
        Compare the means on its cluster; the result has the same bits.

    Returns
    -------
    NeighborAverages
        Naive means, averages and numbers of neighbors, in the order of the bags.

    Notes
    -----
    Time O(B^2 d) in single precision plus O(d) in double for each pair of neighbors, memory O(B d).
    The neighbors are exactly those of float64 arithmetic on differences of coordinates: single precision
    only rules out pairs that are provably too far apart (:func:`filter_limits`). For bags in memory they are those
    of :func:`stbmta.neighbors`, ties included.

    Examples
    --------
    >>> found = neighbor_averages(Bags.from_list([[0.0, 2.0], [1.0, 3.0], [9.0, 9.5]]), 1.0)
    >>> found.counts
    array([2, 2, 1])
    >>> found.averages.ravel()
    array([1.5 , 1.5 , 9.25])
    """
    if not isinstance(bags, MeanStatistics):
        require_bags(bags)
    B, width = len(bags), bags.means.shape[1] if isinstance(bags, MeanStatistics) else bags.dim
    threads = get_num_threads(n_threads)
    made = 12.0 if isinstance(bags, MeanStatistics) else 20.0  # bytes of a coordinate: panels, sums, means
    needed = made * B * width + (_BAG + 8.0 * threads) * B
    limit = memory_limit(max_memory)
    require_memory(
        needed,
        limit,
        f"comparing {B} means with {width} columns",
        "Use fewer features, or allow more with max_memory.",
    )
    if isinstance(bags, MeanStatistics):
        means, scatter = bags.means, bags.scatter
    else:
        center, means, squares = centered_means(bags, n_threads)
        means += center
        scatter = squares / bags.sizes
    if variance is None:
        require_size(bags.sizes, bags.labels, 2, "its variance")
        mse = scatter / (bags.sizes - 1.0)
        subtracted = mse
    else:
        if isinstance(bags, MeanStatistics) and bags.features is not None:
            raise ValueError("a known variance of the coordinates needs the linear kernel.")
        if not (np.ndim(variance) == 0 and np.isfinite(variance) and variance > 0):
            raise ValueError(f"variance must be a positive number, found {variance!r}.")
        mse = bags.dim * float(variance) / bags.sizes
        subtracted = np.zeros(B)
    test = NeighborTest.of(means, subtracted, _thresholds(zeta, mse))
    kept = None
    if client is not None:
        if keep_neighbors:
            raise ValueError("neighbors are kept on one machine only; leave out client or keep_neighbors.")
        from .scale.distributed_linear import distributed_sums

        sums, counts = distributed_sums(client, test)
    else:
        spare = int(limit - needed)
        kept = KeptPairs(B, 3 * spare // 4) if keep_neighbors else None
        sums, counts = sum_neighbors(test, kept, threads, spare // 4 if keep_neighbors else spare)
    sums /= counts[:, None]
    sums += test.center
    return NeighborAverages(
        means=means,
        averages=sums,
        counts=counts,
        naive_mse=mse,
        labels=bags.labels,
        neighbors=None if kept is None else kept.matrix(counts),
    )


def sum_neighbors(
    test: NeighborTest, kept: "KeptPairs | None", n_threads: int, spare: int
) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return sums over neighbors less the center, and numbers of neighbors.

    Parameters
    ----------
    test : NeighborTest
        The means, and what decides who is a neighbor.
    kept : KeptPairs or None
        Where to keep the neighbors themselves.
    n_threads : int
        Number of threads. It does not change the result.
    spare : int
        Bytes that the outcomes of tests may take; a panel of rows for each thread is allowed in any case.

    Returns
    -------
    sums : ndarray of shape (B, d)
        Over the neighbors of each bag, the bag itself among them.
    counts : ndarray of int64, shape (B,)
        How many neighbors each bag has, itself included.
    """
    order, means = test.order, test.means
    n_bags, dim = means.shape
    panels, row_limits = pack(means, test.center, order, test.scale, test.limits[0])
    column_limits = np.zeros_like(row_limits)
    column_limits[:, :n_bags] = test.limits[1][:, order]
    n_panels = row_limits.shape[1] // WIDTH
    sums, counts = np.zeros_like(means), np.zeros(n_bags, np.int64)
    step = min(CACHED, TASK // n_bags) // (dim * WIDTH)
    step = min(step, spare // (8 * WIDTH * n_panels * n_threads), n_panels // (_GROUPS * n_threads))
    starts = range(0, n_panels, max(1, step))
    look = max(1, LOOK // (n_bags * dim))
    stopped = Event()

    def group(number: int) -> None:
        first = starts[number]
        last = min(first + starts.step, n_panels)
        masks = np.empty(((last - first) * WIDTH, n_panels, 2), np.uint32)
        jit_linear.filter_pairs(panels, panels, dim, row_limits, column_limits, first, last, masks)
        rows = order[first * WIDTH : last * WIDTH]
        for start in range(0, len(rows), look):
            if stopped.is_set():
                return
            some = slice(start, start + look)
            jit_linear.sum_candidates(
                means, means, test.center, rows[some], order,
                test.errors, test.errors, test.thresholds, masks[some], sums, counts,
            )  # fmt: skip
        if kept is not None:
            kept.add(rows, masks[: len(rows)], order, int(counts[rows].sum()))
        advance()

    with progress_bar("comparing means", len(starts)) as advance:
        run([partial(group, number) for number in range(len(starts))], n_threads, stopped)
    return sums, counts


class KeptPairs:
    """The neighbors themselves, group by group as they are found; refused when they become too many.

    Parameters
    ----------
    n_bags : int
    limit : int
        Bytes that they may take.
    """

    def __init__(self, n_bags: int, limit: int) -> None:
        self.n_bags, self.limit = n_bags, limit
        self.n_rows = self.n_pairs = 0
        self.groups: list[tuple[Indices, npt.NDArray[np.int32]]] = []
        self._lock = Lock()

    def add(self, rows: Indices, masks: npt.NDArray[np.uint32], order: Indices, n_pairs: int) -> None:
        """Keep the neighbors of some rows."""
        with self._lock:
            self.n_rows, self.n_pairs = self.n_rows + len(rows), self.n_pairs + n_pairs
            if _PAIR * self.n_pairs > self.limit:
                require_memory(
                    _PAIR * self.n_pairs * (self.n_bags / self.n_rows),
                    self.limit,
                    f"keeping the neighbors of {self.n_bags} bags, judging by {self.n_rows} of them,",
                    "Leave out keep_neighbors, lower zeta, or allow more with max_memory.",
                )
            columns = np.empty(n_pairs, np.int32)
        jit_linear.list_candidates(masks, order, columns)
        with self._lock:
            self.groups.append((rows, columns))

    def matrix(self, counts: npt.NDArray[np.int64]) -> Any:
        """Return the neighbors as a sparse matrix; the groups are given up one by one."""
        from scipy.sparse import csr_array

        kind = np.int32 if self.n_pairs < 2**31 else np.int64
        starts = np.r_[0, np.cumsum(counts)].astype(kind)
        indices = np.empty(self.n_pairs, kind)
        while self.groups:
            rows, columns = self.groups.pop()
            at = 0
            for i in rows.tolist():
                found = columns[at : at + counts[i]]
                found.sort()
                indices[starts[i] : starts[i + 1]] = found
                at += len(found)
        return csr_array(
            (np.ones(self.n_pairs, dtype=bool), indices, starts), shape=(self.n_bags, self.n_bags)
        )
