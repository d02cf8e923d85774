"""Deviations of suprema of sums of bounded variables: Talagrand's inequality and sharper successors.

Z is the supremum over s of ``sum_k X_k^s``, the X_k^s are centered and bounded by L, v is the largest
variance of a sum. All functions give a deviation of Z from its expectation that is exceeded with
probability at most ``exp(-t)``, or the level t of a deviation.
"""

import numpy as np
from numpy.typing import ArrayLike

from . import _check as check
from ._check import Floats, Value
from ._quadratic import level_of_root_sum

__all__ = [
    "bousquet_upper",
    "bousquet_upper_level",
    "klein_rio_lower",
    "klein_rio_lower_level",
    "talagrand_lower",
    "talagrand_lower_level",
    "talagrand_upper",
    "talagrand_upper_level",
]


def talagrand_upper(t: ArrayLike, variance: ArrayLike, L: ArrayLike, expectation: ArrayLike) -> Value:
    """Upper deviation ``2 sqrt((2 v + 16 L E Z) t) + 2 L t`` (th:talagrand).

    Parameters
    ----------
    t : array_like
        Level, at least 0.
    variance : array_like
        Supremum v of the variances of the sums.
    L : array_like
        Bound on the absolute values of the summands.
    expectation : array_like
        E Z, or an upper bound of it.

    Returns
    -------
    float or ndarray
        Z is above E Z by more than this with probability at most exp(-t).

    Examples
    --------
    >>> float(talagrand_upper(t=1.0, variance=2.0, L=0.0, expectation=1.0))
    4.0
    """
    v, bound, mean = _suprema(variance, L, expectation)
    t = check.level(t)
    return 2 * np.sqrt((2 * v + 16 * bound * mean) * t) + 2 * bound * t


def talagrand_upper_level(
    deviation: ArrayLike, variance: ArrayLike, L: ArrayLike, expectation: ArrayLike
) -> Value:
    """Level t of an upper deviation, the inverse of `talagrand_upper`.

    Parameters
    ----------
    deviation : array_like
        At least 0.
    variance, L, expectation : array_like
        As in `talagrand_upper`.

    Returns
    -------
    float or ndarray
        The level t; infinite for a deviation above 0 of sums that cannot vary (v = L = 0).

    Examples
    --------
    >>> float(talagrand_upper_level(4.0, variance=2.0, L=0.0, expectation=1.0))
    1.0
    """
    v, bound, mean = _suprema(variance, L, expectation)
    root = 2 * np.sqrt(2 * v + 16 * bound * mean)
    return level_of_root_sum(check.size("deviation", deviation), root, 2 * bound)


def talagrand_lower(t: ArrayLike, variance: ArrayLike, L: ArrayLike, expectation: ArrayLike) -> Value:
    """Lower deviation ``2 sqrt((4 v + 32 L E Z) t) + 4 L t`` (th:talagrand).

    Parameters
    ----------
    t, variance, L, expectation : array_like
        As in `talagrand_upper`.

    Returns
    -------
    float or ndarray
        Z is below E Z by more than this with probability at most exp(-t).

    Notes
    -----
    The paper knows of no better constants for lower deviations; `klein_rio_lower` has them.

    Examples
    --------
    >>> float(talagrand_lower(t=1.0, variance=1.0, L=0.0, expectation=1.0))
    4.0
    """
    v, bound, mean = _suprema(variance, L, expectation)
    t = check.level(t)
    return 2 * np.sqrt((4 * v + 32 * bound * mean) * t) + 4 * bound * t


def talagrand_lower_level(
    deviation: ArrayLike, variance: ArrayLike, L: ArrayLike, expectation: ArrayLike
) -> Value:
    """Level t of a lower deviation, the inverse of `talagrand_lower`.

    Parameters
    ----------
    deviation : array_like
        At least 0.
    variance, L, expectation : array_like
        As in `talagrand_upper`.

    Returns
    -------
    float or ndarray
        The level t; infinite for a deviation above 0 of sums that cannot vary (v = L = 0).

    Examples
    --------
    >>> float(talagrand_lower_level(4.0, variance=1.0, L=0.0, expectation=1.0))
    1.0
    """
    v, bound, mean = _suprema(variance, L, expectation)
    root = 2 * np.sqrt(4 * v + 32 * bound * mean)
    return level_of_root_sum(check.size("deviation", deviation), root, 4 * bound)


def bousquet_upper(t: ArrayLike, variance: ArrayLike, L: ArrayLike, expectation: ArrayLike) -> Value:
    """Upper deviation ``sqrt(2 (v + 2 L E Z) t) + L t / 3``: Bousquet's constants.

    Parameters
    ----------
    t, variance, L, expectation : array_like
        As in `talagrand_upper`; the summands are identically distributed.

    Returns
    -------
    float or ndarray
        At most half of `talagrand_upper`.

    Examples
    --------
    >>> float(bousquet_upper(t=1.0, variance=2.0, L=0.0, expectation=1.0))
    2.0
    """
    v, bound, mean = _suprema(variance, L, expectation)
    t = check.level(t)
    return np.sqrt(2 * (v + 2 * bound * mean) * t) + bound * t / 3


def bousquet_upper_level(
    deviation: ArrayLike, variance: ArrayLike, L: ArrayLike, expectation: ArrayLike
) -> Value:
    """Level t of an upper deviation, the inverse of `bousquet_upper`.

    Parameters
    ----------
    deviation : array_like
        At least 0.
    variance, L, expectation : array_like
        As in `bousquet_upper`.

    Returns
    -------
    float or ndarray
        The level t; infinite for a deviation above 0 of sums that cannot vary (v = L = 0).

    Examples
    --------
    >>> float(bousquet_upper_level(2.0, variance=2.0, L=0.0, expectation=1.0))
    1.0
    """
    v, bound, mean = _suprema(variance, L, expectation)
    root = np.sqrt(2 * (v + 2 * bound * mean))
    return level_of_root_sum(check.size("deviation", deviation), root, bound / 3)


def klein_rio_lower(t: ArrayLike, variance: ArrayLike, L: ArrayLike, expectation: ArrayLike) -> Value:
    """Lower deviation ``L t + sqrt(2 (v + 2 L E Z) t + L^2 t^2)``: Klein and Rio's constants.

    Parameters
    ----------
    t, variance, L, expectation : array_like
        As in `talagrand_upper`.

    Returns
    -------
    float or ndarray
        Solves ``x^2 = t (2 (v + 2 L E Z) + 2 L x)``; at most half of `talagrand_lower`.

    Examples
    --------
    >>> float(klein_rio_lower(t=1.0, variance=2.0, L=0.0, expectation=1.0))
    2.0
    """
    v, bound, mean = _suprema(variance, L, expectation)
    t = check.level(t)
    return bound * t + np.sqrt(2 * (v + 2 * bound * mean) * t + (bound * t) ** 2)


def klein_rio_lower_level(
    deviation: ArrayLike, variance: ArrayLike, L: ArrayLike, expectation: ArrayLike
) -> Value:
    """Level ``t = x^2 / (2 (v + 2 L E Z) + 2 L x)`` of a lower deviation x.

    Parameters
    ----------
    deviation : array_like
        At least 0.
    variance, L, expectation : array_like
        As in `klein_rio_lower`.

    Returns
    -------
    float or ndarray
        The level t; infinite for a deviation above 0 of sums that cannot vary (v = L = 0).

    Examples
    --------
    >>> float(klein_rio_lower_level(2.0, variance=2.0, L=0.0, expectation=1.0))
    1.0
    """
    v, bound, mean = _suprema(variance, L, expectation)
    x = check.size("deviation", deviation)
    with np.errstate(divide="ignore", invalid="ignore"):  # sums that never vary stay at their expectation
        return np.where(x > 0, x * (x / (2 * (v + 2 * bound * mean) + 2 * bound * x)), 0.0)[()]


def _suprema(variance: ArrayLike, L: ArrayLike, expectation: ArrayLike) -> tuple[Floats, Floats, Floats]:
    return check.size("variance", variance), check.size("L", L), check.size("expectation", expectation)
