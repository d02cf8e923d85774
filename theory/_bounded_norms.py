"""Deviations of the norm of a mean of bounded variables: thresholds at level t, and inverted.

X_1 ... X_N are independent with norms at most L, mean mu and covariance Sigma; ``V = |mean of X|`` and
``V_c = |mean of X - mu|`` (prop:chisqdev-kernel). `stbmta.theory.concentration.probability` tells the multiple of
exp(-t).
"""

import numpy as np
from numpy.typing import ArrayLike

from . import _check as check
from ._bounded_q import q_sigma, q_sigma_level
from ._check import Floats, Value
from ._quadratic import level_of_root_sum, quadratic_root

__all__ = [
    "bounded_norm_lower",
    "bounded_norm_lower_level",
    "bounded_norm_upper",
    "bounded_norm_upper_level",
    "bounded_sq_norm_lower",
    "bounded_sq_norm_lower_level",
    "bounded_sq_norm_upper",
    "bounded_sq_norm_upper_level",
    "expected_norm_bounds",
    "linear_term_upper",
    "linear_term_upper_level",
]


def expected_norm_bounds(
    op_norm: ArrayLike, trace: ArrayLike, L: ArrayLike, n: ArrayLike
) -> tuple[Value, Value]:
    """Bounds ``sqrt(tr Sigma / N) - 2 q_Sigma(1) <= E V_c <= sqrt(tr Sigma / N)`` (cor:meanbounds).

    Parameters
    ----------
    op_norm, trace, L, n : array_like
        As in `stbmta.theory.bounded.q_sigma`.

    Returns
    -------
    lower, upper : float or ndarray
        The lower one is negative, hence empty, for small bags.

    Examples
    --------
    >>> lower, upper = expected_norm_bounds(op_norm=1.0, trace=400.0, L=0.0, n=100)
    >>> round(float(lower), 4), float(upper)
    (1.4343, 2.0)
    """
    upper = np.sqrt(check.size("trace", trace) / check.bag_size(n))
    return check.together(upper - 2 * q_sigma(1.0, op_norm, trace, L, n), upper)


def bounded_norm_upper(
    t: ArrayLike,
    op_norm: ArrayLike,
    trace: ArrayLike,
    L: ArrayLike,
    n: ArrayLike,
    expected_norm: ArrayLike | None = None,
) -> Value:
    """Value ``E V_c + q_Sigma(t)`` that V_c exceeds with probability at most exp(-t) (eq:devVc).

    Parameters
    ----------
    t : array_like
        Level, at least 0.
    op_norm, trace, L, n : array_like
        As in `stbmta.theory.bounded.q_sigma`.
    expected_norm : array_like, optional
        E V_c, if known; else its upper bound sqrt(tr Sigma / N).

    Returns
    -------
    float or ndarray
        A length, in the units of L.

    Examples
    --------
    >>> float(bounded_norm_upper(1.0, op_norm=2.0, trace=100.0, L=0.0, n=4))
    7.0
    """
    return _center(expected_norm, trace, n) + q_sigma(t, op_norm, trace, L, n)


def bounded_norm_upper_level(
    value: ArrayLike,
    op_norm: ArrayLike,
    trace: ArrayLike,
    L: ArrayLike,
    n: ArrayLike,
    expected_norm: ArrayLike | None = None,
) -> Value:
    """Level t of a value of V_c, the inverse of `bounded_norm_upper`.

    Parameters
    ----------
    value : array_like
        A value of V_c.
    op_norm, trace, L, n : array_like
        As in `bounded_norm_upper`.
    expected_norm : array_like, optional
        E V_c, if known; else its upper bound sqrt(tr Sigma / N).

    Returns
    -------
    float or ndarray
        The level t; 0 for values below E V_c, or below its bound.

    Examples
    --------
    >>> float(bounded_norm_upper_level(7.0, op_norm=2.0, trace=100.0, L=0.0, n=4))
    1.0
    """
    gap = check.size("value", value) - _center(expected_norm, trace, n)
    return q_sigma_level(np.maximum(gap, 0.0), op_norm, trace, L, n)


def bounded_norm_lower(
    t: ArrayLike,
    op_norm: ArrayLike,
    trace: ArrayLike,
    L: ArrayLike,
    n: ArrayLike,
    expected_norm: ArrayLike | None = None,
) -> Value:
    """Value that V_c stays below with probability at most exp(-t) (eq:devlowVc).

    ``E V_c - 2 q_Sigma(t)`` if E V_c is given; else ``sqrt(tr Sigma / N) - 4 q_Sigma(t)``, for t >= 1.

    Parameters
    ----------
    t, op_norm, trace, L, n : array_like
        As in `bounded_norm_upper`.
    expected_norm : array_like, optional
        E V_c, if known; else its upper bound sqrt(tr Sigma / N).

    Returns
    -------
    float or ndarray
        May be negative, and then says nothing.

    Examples
    --------
    >>> float(bounded_norm_lower(1.0, op_norm=2.0, trace=100.0, L=0.0, n=4, expected_norm=5.0))
    1.0
    """
    _check_lower_level(t, expected_norm)
    multiple = _lower_multiple(expected_norm)
    return _center(expected_norm, trace, n) - multiple * q_sigma(t, op_norm, trace, L, n)


def bounded_norm_lower_level(
    value: ArrayLike,
    op_norm: ArrayLike,
    trace: ArrayLike,
    L: ArrayLike,
    n: ArrayLike,
    expected_norm: ArrayLike | None = None,
) -> Value:
    """Level t of a value of V_c, the inverse of `bounded_norm_lower`.

    Parameters
    ----------
    value : array_like
        A value of V_c.
    op_norm, trace, L, n : array_like
        As in `bounded_norm_upper`.
    expected_norm : array_like, optional
        E V_c, if known; else its upper bound sqrt(tr Sigma / N).

    Returns
    -------
    float or ndarray
        Levels below 1 are not certified unless E V_c is given.

    Examples
    --------
    >>> float(bounded_norm_lower_level(1.0, op_norm=2.0, trace=100.0, L=0.0, n=4, expected_norm=5.0))
    1.0
    """
    gap = np.maximum(_center(expected_norm, trace, n) - check.size("value", value), 0.0)
    return q_sigma_level(gap / _lower_multiple(expected_norm), op_norm, trace, L, n)


def linear_term_upper(
    t: ArrayLike, mean_norm: ArrayLike, op_norm: ArrayLike, L: ArrayLike, n: ArrayLike
) -> Value:
    """Bernstein's bound for the mean of ``<X_k - mu, mu>`` (eq:bernsteinlinterm).

    ``|mu| (sqrt(2 |Sigma|_op t / N) + 4 L t / (3 N))``, with probability 1 - exp(-t).

    Parameters
    ----------
    t : array_like
        Level, at least 0.
    mean_norm, op_norm, L, n : array_like
        Norm |mu| of the mean, largest eigenvalue of the covariance, bound on the norm of a point, bag size N.

    Returns
    -------
    float or ndarray
        At most ``|mu| q_Sigma(t)``. The proof has a summand bounded by L |mu|; it is 2 L |mu|, which
        Bernstein's L t / 3 with 4 in place of 1 covers.

    Examples
    --------
    >>> float(linear_term_upper(2.0, mean_norm=1.0, op_norm=1.0, L=0.0, n=4))
    1.0
    """
    mu, size = check.size("mean_norm", mean_norm), check.bag_size(n)
    t, op, bound = check.level(t), check.size("op_norm", op_norm), check.size("L", L)
    return mu * (np.sqrt(2 * op * t / size) + 4 * bound * t / (3 * size))


def linear_term_upper_level(
    value: ArrayLike, mean_norm: ArrayLike, op_norm: ArrayLike, L: ArrayLike, n: ArrayLike
) -> Value:
    """Level t of a value of the linear term, the inverse of `linear_term_upper`.

    Parameters
    ----------
    value : array_like
        At least 0.
    mean_norm, op_norm, L, n : array_like
        As in `linear_term_upper`; ``mean_norm`` above 0.

    Returns
    -------
    float or ndarray
        The level t; infinite if the term is always 0 and the value is not.

    Examples
    --------
    >>> round(float(linear_term_upper_level(1.0, mean_norm=1.0, op_norm=1.0, L=0.0, n=4)), 12)
    2.0
    """
    mu, size = check.size("mean_norm", mean_norm, positive=True), check.bag_size(n)
    root = np.sqrt(2 * check.size("op_norm", op_norm) / size)
    factor = 4 * check.size("L", L) / (3 * size)
    return level_of_root_sum(check.size("value", value) / mu, root, factor)


def bounded_sq_norm_upper(
    t: ArrayLike,
    mean_norm: ArrayLike,
    op_norm: ArrayLike,
    trace: ArrayLike,
    L: ArrayLike,
    n: ArrayLike,
    expected_norm: ArrayLike | None = None,
) -> Value:
    """Value of ``V^2`` exceeded with probability at most 2 exp(-t) (eq:updev_kernel, eq:updev_kernel2).

    ``|mu|^2 + (E V_c + q)^2 + 2 |mu| q`` with q = q_Sigma(t).

    Parameters
    ----------
    t : array_like
        Level, at least 0.
    mean_norm : array_like
        Norm |mu| of the mean.
    op_norm, trace, L, n : array_like
        As in `stbmta.theory.bounded.q_sigma`.
    expected_norm : array_like, optional
        E V_c, if known (eq:updev_kernel); else its upper bound sqrt(tr Sigma / N) (eq:updev_kernel2).

    Returns
    -------
    float or ndarray
        A squared length, in the units of L^2.

    Examples
    --------
    >>> float(bounded_sq_norm_upper(1.0, mean_norm=1.0, op_norm=2.0, trace=100.0, L=0.0, n=4))
    54.0
    """
    mu, center = check.size("mean_norm", mean_norm), _center(expected_norm, trace, n)
    deviation = q_sigma(t, op_norm, trace, L, n)
    return mu**2 + (center + deviation) ** 2 + 2 * mu * deviation


def bounded_sq_norm_upper_level(
    value: ArrayLike,
    mean_norm: ArrayLike,
    op_norm: ArrayLike,
    trace: ArrayLike,
    L: ArrayLike,
    n: ArrayLike,
    expected_norm: ArrayLike | None = None,
) -> Value:
    """Level t of a value of V^2, the inverse of `bounded_sq_norm_upper`.

    Parameters
    ----------
    value : array_like
        A value of V^2.
    mean_norm, op_norm, trace, L, n : array_like
        As in `bounded_sq_norm_upper`.
    expected_norm : array_like, optional
        E V_c, if known; else its upper bound sqrt(tr Sigma / N).

    Returns
    -------
    float or ndarray
        The level t; 0 for values below the bound at level 0, |mu|^2 + (E V_c)^2.

    Examples
    --------
    >>> float(bounded_sq_norm_upper_level(54.0, mean_norm=1.0, op_norm=2.0, trace=100.0, L=0.0, n=4))
    1.0
    """
    mu, center = check.size("mean_norm", mean_norm), _center(expected_norm, trace, n)
    gap = check.size("value", value) - mu**2 - center**2
    deviation = quadratic_root(gap, 2 * (center + mu), 1.0)
    return q_sigma_level(deviation, op_norm, trace, L, n)


def bounded_sq_norm_lower(
    t: ArrayLike,
    mean_norm: ArrayLike,
    op_norm: ArrayLike,
    trace: ArrayLike,
    L: ArrayLike,
    n: ArrayLike,
    expected_norm: ArrayLike | None = None,
) -> Value:
    """Value of ``V^2`` not reached with probability at most 2 exp(-t) (eq:lowdev_kernel, eq:lowdev_kernel2).

    ``|mu|^2 + (E V_c - 2 q)_+^2 - 2 |mu| q`` if E V_c is given; else, for t >= 1, with
    ``sqrt(tr Sigma / N) - 4 q`` in the bracket.

    Parameters
    ----------
    t, mean_norm, op_norm, trace, L, n : array_like
        As in `bounded_sq_norm_upper`.
    expected_norm : array_like, optional
        E V_c, if known; else its upper bound sqrt(tr Sigma / N).

    Returns
    -------
    float or ndarray
        May be negative or 0, and then says nothing: V^2 is *below* it with that probability. The paper prints
        "at most", which is false where the value is 0 and V = 0 is likely (E20).

    Examples
    --------
    >>> float(bounded_sq_norm_lower(1.0, 1.0, op_norm=2.0, trace=400.0, L=0.0, n=4))
    1.0
    """
    mu, center = check.size("mean_norm", mean_norm), _center(expected_norm, trace, n)
    deviation = q_sigma(t, op_norm, trace, L, n)
    _check_lower_level(t, expected_norm)
    multiple = _lower_multiple(expected_norm)
    return mu**2 + np.maximum(center - multiple * deviation, 0.0) ** 2 - 2 * mu * deviation


def bounded_sq_norm_lower_level(
    value: ArrayLike,
    mean_norm: ArrayLike,
    op_norm: ArrayLike,
    trace: ArrayLike,
    L: ArrayLike,
    n: ArrayLike,
    expected_norm: ArrayLike | None = None,
) -> Value:
    """Level t of a value of V^2, the inverse of `bounded_sq_norm_lower`.

    Parameters
    ----------
    value : array_like
        Any real number.
    mean_norm, op_norm, trace, L, n : array_like
        As in `bounded_sq_norm_upper`.
    expected_norm : array_like, optional
        E V_c, if known; else its upper bound sqrt(tr Sigma / N).

    Returns
    -------
    float or ndarray
        Infinite where the value cannot be reached at any level.

    Examples
    --------
    >>> float(bounded_sq_norm_lower_level(1.0, 1.0, op_norm=2.0, trace=400.0, L=0.0, n=4))
    1.0
    """
    mu, center = check.size("mean_norm", mean_norm), _center(expected_norm, trace, n)
    multiple = _lower_multiple(expected_norm)
    value = check.real("value", value)
    gap = np.maximum(mu**2 + center**2 - value, 0.0)
    slope = multiple * center + mu
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = gap / (slope + np.sqrt(np.maximum(slope**2 - multiple**2 * gap, 0.0)))
        outside = (mu**2 - value) / (2 * mu)  # where the bracket is 0
        beyond = (slope**2 < multiple**2 * gap) | (multiple * inside > center)
        deviation = np.where(beyond, outside, inside)
    deviation = np.where(gap > 0, deviation, 0.0)
    return q_sigma_level(deviation, op_norm, trace, L, n)


def _center(expected_norm: ArrayLike | None, trace: ArrayLike, n: ArrayLike) -> Floats:
    """Give E V_c, or its upper bound."""
    if expected_norm is not None:
        return check.size("expected_norm", expected_norm)
    return np.sqrt(check.size("trace", trace) / check.bag_size(n))


def _lower_multiple(expected_norm: ArrayLike | None) -> int:
    """How often q_Sigma is subtracted: twice more if E V_c is replaced by its bound."""
    return 4 if expected_norm is None else 2


def _check_lower_level(t: ArrayLike, expected_norm: ArrayLike | None) -> None:
    """Replacing E V_c by its bound needs t >= 1."""
    if expected_norm is None:
        check.level(t, at_least=1)
