"""Deviations of inner products and U-statistics of bounded variables: thresholds, and inverted."""

import numpy as np
from numpy.typing import ArrayLike

from . import _check as check
from ._bounded_q import q, q_level
from ._check import Floats, Value
from ._quadratic import level_of_root_sum, quadratic_root

__all__ = [
    "bounded_inner_upper",
    "bounded_inner_upper_level",
    "mean_sq_norm_lower",
    "mean_sq_norm_lower_level",
    "u_statistic_lower",
    "u_statistic_lower_level",
    "u_statistic_upper",
    "u_statistic_upper_level",
]


def mean_sq_norm_lower(
    t: ArrayLike,
    mean_norm: ArrayLike,
    trace: ArrayLike,
    L: ArrayLike,
    n: ArrayLike,
    *,
    printed: bool = False,
) -> Value:
    """Value that the mean of ``|X_k|^2`` stays below with probability at most exp(-t).

    ``tr Sigma + |mu|^2 - sqrt(8 L^2 tr(Sigma) t / N) - 2 L^2 t / (3 N)``: Bernstein's inequality in the proof
    of prop:ustatdev.

    Parameters
    ----------
    t : array_like
        Level, at least 0.
    mean_norm, trace, L, n : array_like
        Norm |mu| of the mean, trace of the covariance, bound on the norm of a point, bag size N.
    printed : bool, default False
        Use the printed variance L^2 tr Sigma of |X|^2. It is false: squaring is 2 L-Lipschitz on
        [0, L], so the variance can be up to 4 L^2 tr Sigma (norms 1 and 1 - h reach it as h tends to 0).
        The bounds on U that use it survive.

    Returns
    -------
    float or ndarray
        May be negative, and then says nothing.

    Examples
    --------
    >>> float(mean_sq_norm_lower(0.5, mean_norm=0.0, trace=1.0, L=0.0, n=100))
    1.0
    """
    mu, total, bound, size, factor = _sq_norm_terms(mean_norm, trace, L, n, printed)
    t = check.level(t)
    return total + mu**2 - np.sqrt(factor * bound**2 * total * t / size) - 2 * bound**2 * t / (3 * size)


def mean_sq_norm_lower_level(
    value: ArrayLike,
    mean_norm: ArrayLike,
    trace: ArrayLike,
    L: ArrayLike,
    n: ArrayLike,
    *,
    printed: bool = False,
) -> Value:
    """Level t of a value of the mean squared norm, the inverse of `mean_sq_norm_lower`.

    Parameters
    ----------
    value : array_like
        Any real number.
    mean_norm, trace, L, n : array_like
        As in `mean_sq_norm_lower`.
    printed : bool, default False
        As in `mean_sq_norm_lower`.

    Returns
    -------
    float or ndarray
        The level t; 0 for values above the expectation tr Sigma + |mu|^2.

    Examples
    --------
    >>> x = mean_sq_norm_lower(3.0, mean_norm=0.5, trace=0.5, L=1.0, n=100)
    >>> round(float(mean_sq_norm_lower_level(x, mean_norm=0.5, trace=0.5, L=1.0, n=100)), 12)
    3.0
    """
    mu, total, bound, size, factor = _sq_norm_terms(mean_norm, trace, L, n, printed)
    gap = total + mu**2 - check.real("value", value)
    root = np.sqrt(factor * bound**2 * total / size)
    return level_of_root_sum(gap, root, 2 * bound**2 / (3 * size))


def bounded_inner_upper(
    t: ArrayLike,
    d_eff: ArrayLike,
    L: ArrayLike,
    n: ArrayLike,
    sigma: ArrayLike,
    constant: ArrayLike = 20.0,
) -> Value:
    """Value ``20 q max(sigma-bar, q)`` that ``<mean X, mean Y>`` exceeds at most with 6 exp(-t) (eq:devscprod-kernel).

    Parameters
    ----------
    t : array_like
        Level, at least 0 (the proof has t >= 1; below log 6 the bound is empty anyway).
    d_eff, L, n, sigma : array_like
        As in `stbmta.theory.bounded.q`; X and Y are centered (prop:scalarproddev-kernel).
    constant : array_like, default 20
        As printed. The proof bounds *twice* the inner product, so 10 is enough
        (9.92 = (2 sqrt(2) + 16 + 1) / 2).

    Returns
    -------
    float or ndarray
        In the units of sigma^2. One-sided; both signs cost a factor 2 in the probability.

    Examples
    --------
    >>> round(float(bounded_inner_upper(4.0, d_eff=100.0, L=0.0, n=50, sigma=1.0)), 9)
    16.0
    """
    deviation, sigma = q(t, d_eff, L, n, sigma), check.size("sigma", sigma)
    return check.size("constant", constant, positive=True) * deviation * np.maximum(sigma, deviation)


def bounded_inner_upper_level(
    value: ArrayLike,
    d_eff: ArrayLike,
    L: ArrayLike,
    n: ArrayLike,
    sigma: ArrayLike,
    constant: ArrayLike = 20.0,
) -> Value:
    """Level t of a value of the inner product, the inverse of `bounded_inner_upper`.

    Parameters
    ----------
    value : array_like
        At least 0.
    d_eff, L, n, sigma, constant : array_like
        As in `bounded_inner_upper`.

    Returns
    -------
    float or ndarray
        The level t; below log 6 the bound is empty.

    Examples
    --------
    >>> round(float(bounded_inner_upper_level(16.0, d_eff=100.0, L=0.0, n=50, sigma=1.0)), 9)
    4.0
    """
    scaled = check.size("value", value) / check.size("constant", constant, positive=True)
    sigma = check.size("sigma", sigma, positive=True)
    return q_level(np.minimum(scaled / sigma, np.sqrt(scaled)), d_eff, L, n, sigma)


def u_statistic_upper(
    t: ArrayLike, distance: ArrayLike, d_eff: ArrayLike, L: ArrayLike, n: ArrayLike, sigma: ArrayLike
) -> Value:
    """Value of U exceeded with probability at most 8 exp(-t) (eq:updev-Ustat).

    ``D^2 + 2 D q + 2 sqrt(2) s q + 11 q^2`` with q = q(t), s = sigma-bar, for the statistic of eq:Ustat.

    Parameters
    ----------
    t : array_like
        Level, at least 1.
    distance : array_like
        Distance D of the true means.
    d_eff, L, n, sigma : array_like
        As in `stbmta.theory.bounded.q`; bags of at least 2 points.

    Returns
    -------
    float or ndarray
        In the units of sigma^2, at least D^2.

    Examples
    --------
    >>> round(float(u_statistic_upper(4.0, 1.0, d_eff=100.0, L=0.0, n=50, sigma=1.0)), 4)
    11.9027
    """
    t, distance, n = check.level(t, at_least=1), check.size("distance", distance), check.bag_size(n, 2)
    deviation, sigma = q(t, d_eff, L, n, sigma), check.size("sigma", sigma)
    return distance**2 + (2 * distance + np.sqrt(8) * sigma) * deviation + 11 * deviation**2


def u_statistic_upper_level(
    value: ArrayLike, distance: ArrayLike, d_eff: ArrayLike, L: ArrayLike, n: ArrayLike, sigma: ArrayLike
) -> Value:
    """Level t of a value of U, the inverse of `u_statistic_upper`.

    Parameters
    ----------
    value : array_like
        Any real number.
    distance, d_eff, L, n, sigma : array_like
        As in `u_statistic_upper`.

    Returns
    -------
    float or ndarray
        Levels below 1 are not certified.

    Examples
    --------
    >>> x = u_statistic_upper(4.0, 1.0, d_eff=100.0, L=0.0, n=50, sigma=1.0)
    >>> round(float(u_statistic_upper_level(x, 1.0, d_eff=100.0, L=0.0, n=50, sigma=1.0)), 9)
    4.0
    """
    distance, n = check.size("distance", distance), check.bag_size(n, 2)
    gap = check.real("value", value) - distance**2
    linear = 2 * distance + np.sqrt(8) * check.size("sigma", sigma)
    return q_level(quadratic_root(gap, linear, 11.0), d_eff, L, n, sigma)


def u_statistic_lower(
    t: ArrayLike, distance: ArrayLike, d_eff: ArrayLike, L: ArrayLike, n: ArrayLike, sigma: ArrayLike
) -> Value:
    """Value of U not reached with probability at most 8 exp(-t) (eq:lowdev-Ustat).

    ``D^2 - 2 D q - 8 sqrt(2) s q - 32 q^2``.

    Parameters
    ----------
    t, distance, d_eff, L, n, sigma : array_like
        As in `u_statistic_upper`.

    Returns
    -------
    float or ndarray
        The proof has an intermediate 16 q^2 that must be 16 N / (N - 1) q^2, which is the printed 32 at
        N = 2.

    Examples
    --------
    >>> round(float(u_statistic_lower(4.0, 1.0, d_eff=100.0, L=0.0, n=50, sigma=1.0)), 4)
    -30.131
    """
    t, distance, n = check.level(t, at_least=1), check.size("distance", distance), check.bag_size(n, 2)
    deviation, sigma = q(t, d_eff, L, n, sigma), check.size("sigma", sigma)
    return distance**2 - (2 * distance + 8 * np.sqrt(2) * sigma) * deviation - 32 * deviation**2


def u_statistic_lower_level(
    value: ArrayLike, distance: ArrayLike, d_eff: ArrayLike, L: ArrayLike, n: ArrayLike, sigma: ArrayLike
) -> Value:
    """Level t of a value of U, the inverse of `u_statistic_lower`.

    Parameters
    ----------
    value : array_like
        Any real number.
    distance, d_eff, L, n, sigma : array_like
        As in `u_statistic_upper`.

    Returns
    -------
    float or ndarray
        Levels below 1 are not certified.

    Examples
    --------
    >>> x = u_statistic_lower(4.0, 1.0, d_eff=100.0, L=0.0, n=50, sigma=1.0)
    >>> round(float(u_statistic_lower_level(x, 1.0, d_eff=100.0, L=0.0, n=50, sigma=1.0)), 9)
    4.0
    """
    distance, n = check.size("distance", distance), check.bag_size(n, 2)
    gap = distance**2 - check.real("value", value)
    linear = 2 * distance + 8 * np.sqrt(2) * check.size("sigma", sigma)
    return q_level(quadratic_root(gap, linear, 32.0), d_eff, L, n, sigma)


def _sq_norm_terms(
    mean_norm: ArrayLike, trace: ArrayLike, L: ArrayLike, n: ArrayLike, printed: bool
) -> tuple[Floats, Floats, Floats, Floats, float]:
    checked = check.size("mean_norm", mean_norm), check.size("trace", trace), check.size("L", L)
    return (*checked, check.bag_size(n), 2.0 if printed else 8.0)
