r"""Convex aggregation: weights on the simplex that minimize a penalized unbiased estimate of the risk.

No tests and no threshold: the quadratic form :math:`|\sum_j w_j \hat\mu_j - \hat\mu_i|^2` sees biases that
cancel, which neighbors chosen pair by pair cannot.
"""

import math
from functools import partial

import numpy as np
import numpy.typing as npt

from .bags import Bags
from .jit import simplex as jit_simplex
from .kernels import Kernel, Linear, as_kernel
from .similarity import given_errors
from .statistics import BagStatistics, point_values
from .theory import traces
from .threads import run

__all__ = ["aggregation", "minimize_on_simplex", "noise_dimension", "penalties"]

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64] | slice

_MAX_STEPS = 20_000
# For the dimension of the noise: pairs of bags, and points of each.
_PAIRS = 64
_POINTS = 64


def aggregation(
    s: BagStatistics,
    kappa: float = 1.0,
    ridge: float = 1.0,
    *,
    mse: npt.ArrayLike | None = None,
    dimension: float | None = None,
    rows: Rows = slice(None),
    tolerance: float = 1e-3,
    n_threads: int | None = None,
) -> Array:
    r"""Return weights that minimize a penalized unbiased estimate of the squared error.

    .. math:: w_i = \arg\min_w \; \Bigl| \sum_j w_j \hat\mu_j - \hat\mu_i \Bigr|^2 + 2 w_i s_i^2
              + 2 \kappa \sum_{j \ne i} w_j c_{ij} + \rho s_i^2 |w|^2

    over the simplex, with :math:`s_i^2` the squared error of the naive mean, :math:`c_{ij}` the standard deviations of
    :func:`penalties`, and :math:`\rho` the ridge.

    Parameters
    ----------
    s : BagStatistics
    kappa : float, default=1.0
        How many standard deviations the penalty is.
    ridge : float, default=1.0
        Spreads the weights where the data do not care.
    mse : array-like of shape (B,), optional
        The squared errors of the naive means; their estimates by default.
    dimension : float, optional
        Effective dimension of the noise, for the penalties: see :func:`noise_dimension`. The number of features by
        default.
    rows : slice or array of int, optional
        Only these rows of the matrix.
    tolerance : float, default=1e-3
        Of the objective, as a fraction of :math:`s_i^2`.
    n_threads : int, optional

    Returns
    -------
    ndarray of shape (rows, B)

    Notes
    -----
    Proven under conditions. For any weights on the simplex and any distribution, the squared error less its
    estimate is :math:`G_i + 2 \sum_{j \ne i} w_j T_{ij}` with :math:`G_i` free of w; so on the event that
    :math:`|T_{ij}| \le \kappa c_{ij}` for all j, and without ridge,

    .. math:: L(\hat w) \le \min_w \Bigl\{ L(w) + 4 \kappa \sum_{j \ne i} w_j c_{ij} \Bigr\}.

    The event holds with high probability for kappa of about :math:`\sqrt{2 \log B}`; the default of 1 does better in
    practice and is a heuristic. Time O(B) a step, some hundred steps a bag; memory O(B^2).

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> rng = np.random.default_rng(0)
    >>> s = bag_statistics(Bags.from_list([rng.normal(size=(5, 50)) for _ in range(20)]))
    >>> W = aggregation(s)
    >>> bool(((W @ s.means) ** 2).sum() < 0.2 * (s.means**2).sum())
    True
    """
    error = given_errors(s, mse)
    for name, value in (("kappa", kappa), ("ridge", ridge)):
        if not (np.isfinite(value) and value >= 0):
            raise ValueError(f"{name} must be a number of at least 0, found {value!r}.")
    chosen = np.arange(len(s))[rows]
    G = np.ascontiguousarray(s.centered_gram)  # weights sum to 1: a common center changes nothing
    linear = 2 * kappa * penalties(s, dimension, mse=error, rows=chosen) - 2 * G[chosen]
    linear[np.arange(len(chosen)), chosen] = 2 * (error - np.diagonal(G))[chosen]
    scale = np.maximum(error[chosen], 1e-12 * max(float(np.diagonal(G).max()), np.finfo(float).tiny))
    return _solve(G, linear, ridge * error[chosen], chosen, tolerance * scale, n_threads)


def penalties(
    s: BagStatistics,
    dimension: float | None = None,
    *,
    mse: npt.ArrayLike | None = None,
    rows: Rows = slice(None),
) -> Array:
    r"""Return the standard deviation of what the unbiased risk gets wrong about each bag j as a neighbor of i.

    .. math:: c_{ij}^2 = \frac{s_i^2}{d} \bigl( \max(U_{ij}, 0) + s_j^2 + 2 s_i^2 \bigr)

    for noise that is spread evenly over d dimensions: the variance of
    :math:`\langle \mu_j - \mu_i, e_i \rangle + \langle e_j, e_i \rangle - (|e_i|^2 - s_i^2)`, e the errors of
    the naive means.

    Parameters
    ----------
    s : BagStatistics
    dimension : float, optional
        d, the number of features by default.
    mse : array-like of shape (B,), optional
    rows : slice or array of int, optional

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> penalties(bag_statistics(Bags.from_list([[0.0, 2.0], [1.0, 3.0]]))).round(3)
    array([[0.   , 1.732],
           [1.732, 0.   ]])
    """
    error = given_errors(s, mse)
    chosen = np.arange(len(s))[rows]
    norms = np.diagonal(s.centered_gram)
    own = error[chosen][:, None]
    apart = norms[chosen][:, None] + norms - 2 * s.centered_gram[chosen] - own - error
    d = float(s.dim) if dimension is None else dimension
    if not d > 0:
        raise ValueError(f"dimension must be a positive number, found {dimension!r}.")
    c = np.sqrt(own * (np.maximum(apart, 0.0) + error + 2 * own) / d)
    c[np.arange(len(chosen)), chosen] = 0.0
    return c


def noise_dimension(bags: Bags, kernel: Kernel | str = "linear") -> float:
    r"""Estimate the effective dimension of the noise, pooled over bags.

    :math:`(\mathrm{tr} \Sigma)^2 / \mathrm{tr}(\Sigma^2)`: the number of directions that noise is spread over.
    Numerator and denominator are unbiased for pairs of different bags (:func:`stbmta.theory.traces.trace_product`) and
    summed over up to 64 pairs, of up to 64 points each.

    Parameters
    ----------
    bags : Bags
    kernel : Kernel or str

    Returns
    -------
    float
        At least 1; infinity if no bag has any spread, the number of features if no two bags have two points.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bags = Bags.from_list([rng.normal(size=(20, 10)) for _ in range(20)])
    >>> round(noise_dimension(bags))
    10
    """
    kernel = as_kernel(kernel).resolve(bags)
    able = np.flatnonzero(bags.sizes >= 2)
    if len(able) < 2:
        return float(bags.dim)
    able = able[np.unique(np.linspace(0, len(able) - 1, _PAIRS + 1).astype(np.int64))]
    products = squares = 0.0
    for i, j in zip(able.tolist(), np.roll(able, -1).tolist(), strict=True):
        squares += traces.trace_product(_values(bags, i, j, kernel))
        products += math.prod(traces.trace_covariance(_values(bags, k, k, kernel)) for k in (i, j))
    return max(1.0, products / squares) if squares > 0 else np.inf


def _values(bags: Bags, i: int, j: int, kernel: Kernel) -> Array:
    """Return the kernel values between some points of two bags, as far as covariances need them."""
    if not isinstance(kernel, Linear):
        return point_values(bags, i, j, kernel, most=_POINTS)
    # Centered: a common offset of the points would cost all digits.
    x, y = (bags[int(k)][:_POINTS].astype(np.float64) for k in (i, j))
    return (x - x.mean(axis=0)) @ (y - y.mean(axis=0)).T


def minimize_on_simplex(Q: npt.ArrayLike, linear: npt.ArrayLike, *, tolerance: float | None = None) -> Array:
    r"""Return the weights on the simplex that minimize :math:`a' Q a + l' a`.

    Parameters
    ----------
    Q : array-like of shape (M, M)
        Positive semidefinite.
    linear : array-like of shape (M,)
    tolerance : float, optional
        Of the objective; a billionth of the largest number in it by default.

    Examples
    --------
    >>> minimize_on_simplex([[1.0, 0.0], [0.0, 3.0]], [0.0, 0.0]).round(6)
    array([0.75, 0.25])
    """
    q, slope = np.asarray(Q, dtype=np.float64), np.atleast_2d(np.asarray(linear, dtype=np.float64))
    if tolerance is None:
        tolerance = 1e-9 * max(float(np.abs(q).max()), float(np.abs(slope).max()))
    start = np.array([int(np.argmin(np.diagonal(q) + slope[0]))])
    return _solve((q + q.T) / 2, slope, np.zeros(1), start, np.array([tolerance]), 1)[0]


def _solve(
    G: Array,
    linear: Array,
    ridge: Array,
    start: npt.NDArray[np.int64],
    tolerance: Array,
    n_threads: int | None,
) -> Array:
    W, steps = np.empty_like(linear), np.empty(len(linear), dtype=np.int64)
    size = max(1, min(32, len(linear) // 8))
    run(
        [
            partial(
                jit_simplex.simplex_rows,
                G, linear, ridge, start, tolerance, _MAX_STEPS, k, min(k + size, len(linear)), W, steps,
            )
            for k in range(0, len(linear), size)
        ],
        n_threads,
    )  # fmt: skip
    return W
