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
from .points import point_values
from .similarity import given_errors
from .statistics import BagStatistics
from .threads import run
from .unequal import distances, naive_distances
from .vectors import centered_means

__all__ = ["aggregation", "minimize_on_simplex", "noise_dimension", "penalties"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Rows = Indices | slice

_MAX_STEPS = 20_000
# Bags farther than a million standard errors do not count: rounding hides what they could say.
_FARTHEST = 1e12
# For the dimension of the noise: points among which all kernel values are computed, points of a bag at least, and
# numbers in vectors, which have no need of their Gram matrix.
_POINTS = 1024
_LEAST = 16
_NUMBERS = 2**20


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
        Statistics of the bags.
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
        All available cores by default. It does not change the result.

    Returns
    -------
    ndarray of shape (rows, B)
        Each row sums to 1, and no weight is negative.

    Notes
    -----
    Proven under conditions. For any weights on the simplex and any distribution, the squared error less its
    estimate is :math:`G_i + 2 \sum_{j \ne i} w_j T_{ij}` with :math:`G_i` free of w; so on the event that
    :math:`|T_{ij}| \le \kappa c_{ij}` for all j, and without ridge,

    .. math:: L(\hat w) \le \min_w \Bigl\{ L(w) + 4 \kappa \sum_{j \ne i} w_j c_{ij} \Bigr\}.

    The event holds with high probability for kappa of about :math:`\sqrt{2 \log B}`; the default of 1 does better in
    practice and is a heuristic. Bags farther than a million standard errors from bag i get no weight: rounding hides
    what they could say. Time O(B) a step, some hundred steps a bag; memory O(B^2).

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
    # Weights sum to 1, so |sum w_j m_j - m_i|^2 = sum w_j D_ij - sum w_j w_k D_jk / 2: distances keep digits that
    # inner products of far means have lost.
    D = naive_distances(s, error)
    np.fill_diagonal(D, 0.0)
    linear = D[chosen] + 2 * kappa * penalties(s, dimension, mse=error, rows=chosen)
    linear[D[chosen] / _FARTHEST > error[chosen][:, None]] = np.inf
    linear[np.arange(len(chosen)), chosen] = 2 * error[chosen]
    scale = error[chosen]
    if s.means is None:  # nothing to measure far distances by
        scale = np.maximum(scale, 1e-12 * np.diagonal(s.centered_gram)[chosen])
    return _solve(-D / 2, linear, ridge * error[chosen], chosen, tolerance * scale, n_threads)


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
        Statistics of the bags.
    dimension : float, optional
        Effective dimension d of the noise; the number of features by default.
    mse : array-like of shape (B,), optional
        The squared errors of the naive means; their estimates by default.
    rows : slice or array of int, optional
        Only these rows of the matrix.

    Returns
    -------
    ndarray of shape (rows, B)
        The values :math:`c_{ij}`; 0 for a bag and itself.

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> penalties(bag_statistics(Bags.from_list([[0.0, 2.0], [1.0, 3.0]]))).round(3)
    array([[0.   , 1.732],
           [1.732, 0.   ]])
    """
    error = given_errors(s, mse)
    chosen = np.arange(len(s))[rows]
    own = error[chosen][:, None]
    apart = distances(s, mse=error, rows=chosen)
    d = float(s.dim) if dimension is None else dimension
    if not d > 0:
        raise ValueError(f"dimension must be a positive number, found {dimension!r}.")
    # The product of two roots: that of two squares could overflow, or vanish.
    c = np.sqrt(own) * np.sqrt((np.maximum(apart, 0.0) + error + 2 * own) / d)
    c[np.arange(len(chosen)), chosen] = 0.0
    return c


def noise_dimension(bags: Bags, kernel: Kernel | str = "linear") -> float:
    r"""Estimate the effective dimension of the noise, pooled over bags.

    :math:`(\mathrm{tr} \Sigma)^2 / \mathrm{tr}(\Sigma^2)`: the number of directions that noise is spread over.
    Numerator and denominator are summed over all pairs of different bags, where both are unbiased.

    Parameters
    ----------
    bags : Bags
        Those of at least two points show noise; the others do not count.
    kernel : Kernel or str
        A kernel object, or the name of one: "linear", "rbf", "laplacian" or "polynomial".

    Returns
    -------
    float
        At least 1; infinity if no bag has any spread, the number of features if no two bags have two points.

    Notes
    -----
    The order of bags and points does not matter as long as all count: up to 1024 points, or a million numbers for the
    linear kernel. Of more, points are drawn from each bag, always those in the same places, but not less than 16; of
    too many bags (for other kernels, more than 64 with 16 points) some are drawn, by places in the order of their
    spread in the space of the data.

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
    most = max(_POINTS, _NUMBERS // bags.dim) if isinstance(kernel, Linear) else _POINTS
    most_bags = most // min(_LEAST, int(bags.sizes[able].mean()))
    if len(able) > most_bags:
        spread = centered_means(bags)[2][able] / (bags.sizes[able] - 1.0)
        able = able[np.argsort(spread, kind="stable")][_some(len(able), most_bags)]
    rows = [bags.offsets[k] + _some(bags.sizes[k], most // len(able)) for k in able]
    sizes = np.array([len(some) for some in rows])
    if not isinstance(kernel, Linear):
        every = np.concatenate(rows)
        one_bag = np.array([0, len(every)]), np.zeros(1, dtype=np.int64)
        points = Bags._make(bags.data[every], *one_bag, bags.columns, bags.rows[every])
        traces, shared = _by_values(point_values(points, 0, 0, kernel), sizes)
    else:
        # Less their mean: a common offset would cost all digits.
        noise = [x - x.mean(axis=0) for x in (bags.data[some].astype(np.float64) for some in rows)]
        if sizes.sum() <= 4 * bags.dim:
            together = np.concatenate(noise)
            traces, shared = _by_values(together @ together.T, sizes)
        else:
            traces, shared = _by_covariances(noise)
    products = 2 * float(traces[1:] @ np.cumsum(traces)[:-1])
    return max(1.0, products / shared) if shared > 0 else np.inf


def _some(size: int, most: int) -> Indices:
    """Return so many numbers below size at most, drawn with a fixed seed: points may be sorted, or periodic."""
    return np.arange(size) if size <= most else np.random.default_rng(0).choice(size, most, replace=False)


def _by_values(values: Array, sizes: Indices) -> tuple[Array, float]:
    """Return tr(Si) of each bag, and the sum of tr(Si Sj) over pairs of different bags, if the average trace is 1.

    From the kernel values among the points of all bags.
    """
    first = np.r_[0, np.cumsum(sizes)[:-1]]
    for _ in range(2):  # columns less their means over each bag, then rows
        values = (values - np.repeat(np.add.reduceat(values, first) / sizes[:, None], sizes, axis=0)).T
    traces = np.add.reduceat(np.diagonal(values), first) / (sizes - 1)
    unit = traces.mean()
    if not unit > 0:
        return traces, 0.0
    squares = (values / unit) ** 2  # divided first: squares could overflow, or vanish
    sums = np.add.reduceat(np.add.reduceat(squares, first), first, axis=1) / np.outer(sizes - 1, sizes - 1)
    np.fill_diagonal(sums, 0.0)
    return traces / unit, float(sums.sum())


def _by_covariances(noise: list[Array]) -> tuple[Array, float]:
    """Do the same from the points of each bag less their mean."""
    noise = [x / math.sqrt(len(x) - 1) for x in noise]
    traces = np.array([(x**2).sum() for x in noise])
    unit = traces.mean()
    if not unit > 0:
        return traces, 0.0
    shared, before = 0.0, np.zeros((noise[0].shape[1],) * 2)
    for x in noise:
        x = x / math.sqrt(unit)
        shared += 2 * float(((x @ before) * x).sum())
        before += x.T @ x
    return traces / unit, shared


def minimize_on_simplex(Q: npt.ArrayLike, linear: npt.ArrayLike, *, tolerance: float | None = None) -> Array:
    r"""Return the weights on the simplex that minimize :math:`a' Q a + l' a`.

    Parameters
    ----------
    Q : array-like of shape (M, M)
        Positive semidefinite.
    linear : array-like of shape (M,)
        The vector l.
    tolerance : float, optional
        Of the objective; a billionth of the largest number in it by default.

    Returns
    -------
    ndarray of shape (M,)
        At least 0, and with sum 1.

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
    start: Indices,
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
