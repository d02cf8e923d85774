r"""Averages over neighbors for very many bags: the linear kernel without a B x B matrix.

For the linear kernel the STB estimate needs only the naive means and, for each bag, the average of its
neighbors' means. :func:`neighbor_averages` finds both in memory O(B d), so that a hundred thousand bags are
no problem; ``bag_statistics`` would need a B x B matrix.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .bags import Bags, require_size
from .jit import linear as jit_linear
from .jit.vector import WIDTH, aligned_zeros
from .similarity import _thresholds
from .statistics import centered_means, labels_index
from .sums import canonical_order
from .threads import run

__all__ = ["NeighborAverages", "filter_limits", "neighbor_averages"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

# Rows that are filtered together: single precision coordinates that half a second-level cache holds.
CACHED = 2**17
# Half the distance of 1 to the next float32: the largest relative error of a rounding.
_ROUNDOFF = 2.0**-24


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
        """
        share = np.asarray(gamma, dtype=np.float64)
        if share.shape not in ((), (len(self.counts),)):
            raise ValueError(f"gamma must be a number or {len(self.counts)} numbers, found {share.shape}.")
        share = share[..., None]
        return share * self.means + (1 - share) * self.averages

    def summary(self) -> str:
        """Return the main figures as text."""
        few, middle, many = np.percentile(self.counts, [0, 50, 100])
        return (
            f"{len(self.counts)} bags in {self.means.shape[1]} dimensions\n"
            f"neighbors of a bag, itself included: {few:g} to {many:g}, median {middle:g}\n"
            f"average naive MSE: {self.naive_mse.mean():.6g}"
        )

    def to_frame(self) -> Any:
        """Return the number of neighbors and the naive MSE of each bag as a pandas data frame."""
        import pandas as pd

        columns = {"neighbors": self.counts, "naive_mse": self.naive_mse}
        return pd.DataFrame(columns, index=labels_index(self.labels))


def neighbor_averages(
    bags: Bags,
    zeta: npt.ArrayLike,
    *,
    variance: float | None = None,
    keep_neighbors: bool = False,
    n_threads: int | None = None,
) -> NeighborAverages:
    r"""Find each bag's neighbors and average their means, for the linear kernel and any number of bags.

    .. math:: |\hat\mu_i - \hat\mu_j|^2 - \widehat{\mathrm{MSE}}_i - \widehat{\mathrm{MSE}}_j
              \le \zeta \, \widehat{\mathrm{MSE}}_i

    as in :func:`stbmta.neighbors` (eq. simtest_kme), or with a known variance
    :math:`|\hat\mu_i - \hat\mu_j|^2 \le \zeta \, d \sigma^2 / N_i` as in :func:`stbmta.gaussian_neighbors`
    (eq. deftestsgaus).

    Parameters
    ----------
    bags : Bags
    zeta : float or array-like of shape (B,)
        The threshold, at least 0; one for all bags or one a bag.
    variance : float, optional
        The variance of each coordinate, if it is known; bags of one point are then welcome.
    keep_neighbors : bool, default=False
        Return the neighbors too, as a sparse matrix.
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Returns
    -------
    NeighborAverages

    Notes
    -----
    Time O(B^2 d) in single precision plus O(d) in double for each pair of neighbors, memory O(B d).
    The neighbors are exactly those of float64 arithmetic on differences of coordinates: single precision
    only rules out pairs that are provably too far apart (:func:`filter_limits`).

    Examples
    --------
    >>> found = neighbor_averages(Bags.from_list([[0.0, 2.0], [1.0, 3.0], [9.0, 9.5]]), 1.0)
    >>> found.counts
    array([2, 2, 1])
    >>> found.averages.ravel()
    array([1.5 , 1.5 , 9.25])
    """
    center, means, squares = centered_means(bags, n_threads)
    sizes = bags.sizes.astype(np.float64)
    if variance is None:
        require_size(bags.sizes, bags.labels, 2, "its variance")
        mse = squares / (sizes * (sizes - 1))
        subtracted = mse
    else:
        if not (np.ndim(variance) == 0 and np.isfinite(variance) and variance > 0):
            raise ValueError(f"variance must be a positive number, found {variance!r}.")
        mse = bags.dim * float(variance) / sizes
        subtracted = np.zeros(len(bags))
    averages, counts, pairs = _average(means, subtracted, _thresholds(zeta, mse), keep_neighbors, n_threads)
    for centered in (means, averages):  # in place: they may be most of the memory there is
        centered += center
    return NeighborAverages(
        means=means,
        averages=averages,
        counts=counts,
        naive_mse=mse,
        labels=bags.labels,
        neighbors=_sparse(pairs, counts) if keep_neighbors else None,
    )


def filter_limits(
    norms: Array, errors: Array, thresholds: Array, dim: int
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    r"""Return limits r, c in float32 with: i and j are no neighbors if fl(<x, y> - c_j) < r_i.

    Parameters
    ----------
    norms : ndarray of shape (B,)
        Squared norms of the means, at most 1.
    errors, thresholds : ndarray of shape (B,)
        i and j are neighbors if :math:`|x - y|^2 - (e_i + e_j) \le t_i`.
    dim : int

    Notes
    -----
    Neighbors have :math:`\langle x, y \rangle \ge r_i + c_j` with :math:`r = (|x|^2 - e - t)/2` and
    :math:`c = (|y|^2 - e)/2`. Rounding x and y to float32 and d multiply-adds change the inner product by at
    most :math:`\gamma_{d+2} |x| |y| \le \gamma_{d+2} (|x|^2 + |y|^2) / 2`, where
    :math:`\gamma_k = k u / (1 - k u)` and :math:`u = 2^{-24}` (Higham 2002, section 3.1), plus what underflows:
    less than :math:`2^{-140}` a dimension. So r is lowered by :math:`\gamma_{d+4} |x|^2 / 2` and that, c
    likewise; then both are rounded down to float32. The spare :math:`2u`, and the half unit by which a
    number is rounded down at least, are more than the float64 arithmetic on both sides can err. The final
    subtraction rounds, but rounding is monotone: if the exact difference is at least r_i, a float32, so is
    the rounded one.
    """
    slack = (dim + 4) * _ROUNDOFF
    if slack >= 0.5:  # half a million dimensions and more: nothing can be ruled out
        return np.full(len(norms), -np.inf, np.float32), np.full(len(norms), -np.inf, np.float32)
    margin = slack / (1 - slack) * norms / 2 + dim * 2.0**-140
    return (
        _round_down((norms - errors - thresholds) / 2 - margin),
        _round_down((norms - errors) / 2 - margin),
    )


def _round_down(values: Array) -> npt.NDArray[np.float32]:
    """Return float32 numbers below the values, by at least half a unit in the last place."""
    with np.errstate(over="ignore"):
        return np.nextafter(values.astype(np.float32), np.float32(-np.inf))


def _average(
    means: Array, errors: Array, thresholds: Array, keep: bool, n_threads: int | None
) -> tuple[Array, npt.NDArray[np.int64], list[tuple[Indices, Indices]]]:
    """Return averages over neighbors, numbers of neighbors, and the pairs (i, all j) if they are to be kept."""
    n_bags, dim = means.shape
    order = canonical_order(
        means, np.arange(n_bags + 1)
    )  # the order of the sums does not depend on the user's
    norms = np.einsum("ij,ij->i", means, means)
    scale = _power_of_two(norms.max())
    n_panels = -(-n_bags // WIDTH)
    panels = aligned_zeros(n_panels * WIDTH * dim, np.float32)
    jit_linear.pack_panels(means, order, scale, panels)
    limits = filter_limits(norms * scale**2, errors * scale**2, thresholds * scale**2, dim)
    row_limits, column_limits = (aligned_zeros(n_panels * WIDTH, np.float32) for _ in limits)
    row_limits[:n_bags], column_limits[:n_bags] = limits[0][order], limits[1][order]
    averages, counts = np.empty_like(means), np.empty(n_bags, np.int64)
    step = max(1, CACHED // (dim * WIDTH))
    found: list[tuple[Indices, Indices]] = [(order[:0], order[:0])] * -(-n_panels // step)

    def group(number: int) -> None:
        first, last = number * step, min((number + 1) * step, n_panels)
        masks = np.empty(((last - first) * WIDTH, n_panels), np.uint32)
        jit_linear.filter_pairs(panels, dim, row_limits, column_limits, first, last, masks)
        start = first * WIDTH
        jit_linear.average_candidates(means, order, errors, thresholds, masks, start, averages, counts)
        if keep:
            rows = order[start : last * WIDTH]
            columns = np.empty(counts[rows].sum(), np.int64)
            jit_linear.list_candidates(masks[: len(rows)], order, columns)
            found[number] = (rows, columns)

    run([partial(group, number) for number in range(len(found))], n_threads)
    return averages, counts, found


def _power_of_two(largest_norm: float) -> float:
    """Return the scale, a power of two, that brings the largest squared norm to between 1/16 and 1."""
    _, exponent = np.frexp(np.sqrt(largest_norm))
    return float(np.ldexp(1.0, -int(exponent)))


def _sparse(pairs: list[tuple[Indices, Indices]], counts: npt.NDArray[np.int64]) -> Any:
    """Return the neighbors as a sparse matrix."""
    from scipy.sparse import csr_array

    n_bags = len(counts)
    order = np.concatenate([rows for rows, _ in pairs])
    columns = np.concatenate([columns for _, columns in pairs])
    rows = np.repeat(order, counts[order])
    found = csr_array((np.ones(len(rows), dtype=bool), (rows, columns)), shape=(n_bags, n_bags))
    found.sort_indices()
    return found
