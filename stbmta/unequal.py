r"""Bags of unequal size: tests with both variances, and weights by water-filling.

The paper's guarantee is relative to the largest error of all bags, so a large bag may be dragged away by small ones.
Water-filling minimizes a bound with each bag's own error, which is never above the error of the naive mean.
"""

from functools import partial

import numpy as np
import numpy.typing as npt

from .jit import levels as jit_levels
from .similarity import given_errors
from .statistics import BagStatistics
from .threads import chunks, run
from .vectors import measure_far

__all__ = ["distances", "fill", "naive_distances", "pair_neighbors", "water_filling"]

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64] | slice


def pair_neighbors(
    s: BagStatistics, zeta: float, *, mse: npt.ArrayLike | None = None
) -> npt.NDArray[np.bool_]:
    r"""Find neighbors by tests that use the variances of both bags.

    .. math:: T_{ij} = 1 \iff U_{ij} \le \zeta \, \frac{s_i^2 + s_j^2}{2}

    Symmetric. With equal errors it is :func:`stbmta.neighbors`.

    Parameters
    ----------
    s : BagStatistics
        Statistics of the bags.
    zeta : float
        At least 0; infinity lets everybody in.
    mse : array-like of shape (B,), optional
        The squared errors of the naive means; their estimates by default.

    Returns
    -------
    ndarray of bool, shape (B, B)
        Symmetric, the diagonal True.

    Notes
    -----
    Heuristic. It lets more small bags into the neighborhood of a large one, so it goes with weights that know
    how good each bag is, such as :func:`water_filling`.

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> s = bag_statistics(Bags.from_list([[0.0, 2.0], [1.0, 3.0], [9.0, 9.5]]))
    >>> pair_neighbors(s, 1.0).astype(int)
    array([[1, 1, 0],
           [1, 1, 0],
           [0, 0, 1]])
    """
    if not zeta >= 0:
        raise ValueError(f"zeta must be at least 0, found {zeta!r}.")
    error = given_errors(s, mse)
    if np.isinf(zeta):
        return np.ones((len(s), len(s)), dtype=bool)
    tests = distances(s, mse=error) <= zeta * (error[:, None] + error) / 2
    np.fill_diagonal(tests, True)
    return tests


def water_filling(
    s: BagStatistics,
    scale: float = 1.0,
    *,
    mse: npt.ArrayLike | None = None,
    squared_distances: npt.ArrayLike | None = None,
    rows: Rows = slice(None),
    n_threads: int | None = None,
) -> Array:
    r"""Return the weights on the simplex with the smallest bound on the squared error.

    .. math:: \min_w \; \sum_j w_j^2 s_j^2 + \Bigl( \sum_{j \ne i} w_j D_{ij} \Bigr)^2
              \quad \Rightarrow \quad w_j \propto (\theta - D_{ij})_+ / s_j^2

    with :math:`\theta` the root of :math:`\sum_j D_{ij} (\theta - D_{ij})_+ / s_j^2 = 1`.

    Parameters
    ----------
    s : BagStatistics
        Statistics of the bags.
    scale : float, default=1.0
        :math:`D_{ij}^2` is scale times the squared distance. Below 1 counts on biases of several neighbors to
        cancel in part; infinity leaves each mean by itself.
    mse : array-like of shape (B,), optional
        The squared errors of the naive means; their estimates by default.
    squared_distances : array-like of shape (B, B), optional
        Of the true means, or upper bounds of them, infinite where a bag must not count; by default the unbiased
        estimates. Negative ones count as 0.
    rows : slice or array of int, optional
        Only these rows of the matrix.
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Returns
    -------
    ndarray of shape (rows, B)
        Each row sums to 1, and no weight is negative.

    Notes
    -----
    Proven under conditions: with upper bounds of the distances that are independent of the naive means, and scale 1,
    the minimum bounds the squared error, and it is at most :math:`s_i^2`. With equal errors and distances it is
    Theorem 1. With estimated distances it is a heuristic. Time O(B^2).

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> s = bag_statistics(Bags.from_list([[0.0, 2.0], [1.0, 3.0], [3.0, 5.0]]))
    >>> water_filling(s).round(3)
    array([[0.471, 0.471, 0.059],
           [0.429, 0.429, 0.143],
           [0.   , 0.25 , 0.75 ]])
    """
    if not scale >= 0:
        raise ValueError(f"scale must be a number of at least 0, found {scale!r}.")
    error = given_errors(s, mse)
    chosen = np.arange(len(s))[rows]
    if np.isinf(scale):
        return np.eye(len(s))[chosen]
    if squared_distances is None:
        apart = distances(s, mse=error, rows=chosen)
    else:
        given = np.asarray(squared_distances, dtype=np.float64)
        if given.shape != (len(s), len(s)) or np.isnan(given[chosen]).any():
            raise ValueError(
                f"squared_distances must be a matrix of {len(s)} x {len(s)} numbers; infinity keeps a pair apart."
            )
        apart = given[chosen]
    return fill(np.sqrt(scale * np.maximum(apart, 0.0)), error, chosen, n_threads=n_threads)


def distances(s: BagStatistics, *, mse: npt.ArrayLike | None = None, rows: Rows = slice(None)) -> Array:
    """Return unbiased estimates of the squared distances of the means, :meth:`stbmta.BagStatistics.mmd2`.

    With errors that may be known, and for some rows only.

    Parameters
    ----------
    s : BagStatistics
        Statistics of the bags.
    mse : array-like of shape (B,), optional
        The squared errors of the naive means; their estimates by default.
    rows : slice or array of int, optional
        Only these rows of the matrix.

    Returns
    -------
    ndarray of shape (rows, B)
        Can be negative; from a bag to itself 0.

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> distances(bag_statistics(Bags.from_list([[0.0, 2.0], [4.0, 6.0]])), rows=slice(1))
    array([[ 0., 14.]])
    """
    error = given_errors(s, mse)
    chosen = np.arange(len(s))[rows]
    apart = naive_distances(s, error, chosen)
    apart -= error[chosen][:, None]
    apart -= error
    apart[np.arange(len(chosen)), chosen] = 0.0
    return apart


def naive_distances(s: BagStatistics, error: Array, rows: Rows = slice(None)) -> Array:
    """Return the squared distances of the naive means, as exact as their errors ask for.

    Parameters
    ----------
    s : BagStatistics
        Statistics of the bags.
    error : ndarray of shape (B,)
        The squared errors of the naive means.
    rows : slice or array of int, optional
        Only these rows of the matrix.

    Returns
    -------
    ndarray of shape (rows, B)
        Below 0 only by rounding.

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> s = bag_statistics(Bags.from_list([[0.0, 2.0], [4.0, 6.0]]))
    >>> naive_distances(s, s.naive_mse)
    array([[ 0., 16.],
           [16.,  0.]])
    """
    norms = np.diagonal(s.centered_gram)
    apart = norms[rows][:, None] + norms - 2 * s.centered_gram[rows]
    if s.means is not None:
        measure_far(s.means, norms, error, apart, rows)
    return apart


def fill(D: Array, error: Array, own: npt.NDArray[np.int64], *, n_threads: int | None = None) -> Array:
    """Fill several rows at once: :func:`stbmta.theory.sharp.waterfill` for each.

    Parameters
    ----------
    D : ndarray of shape (rows, B)
        Distances; that of a bag to itself is taken as 0.
    error : ndarray of shape (B,)
        Squared errors of the naive means.
    own : ndarray of int, shape (rows,)
        Which bag each row is for.
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Returns
    -------
    ndarray of shape (rows, B)
        Each row sums to 1, and no weight is negative.

    Notes
    -----
    Time O(B) a step, some five steps a row.

    Examples
    --------
    >>> fill(np.array([[0.0, 1.0, 1.0]]), np.ones(3), np.array([0]))  # Theorem 1 with tau = 1, two others
    array([[0.6, 0.2, 0.2]])
    """
    W = np.empty_like(D)
    if not error.max() > 0:  # nothing to gain
        W[:] = 0.0
        W[np.arange(len(own)), own] = 1.0
        return W
    # A bag without any error would get infinite weight: let it be very good instead.
    precision = 1 / np.maximum(error, 1e-12 * error.max())
    rows = chunks(len(own), 10 * D.shape[1])
    run([partial(jit_levels.fill_rows, D, precision, own, *some, W) for some in rows], n_threads)
    return W
