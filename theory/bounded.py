"""The bounded (kernel) setting (BS): thresholds and probabilities of prop:testkernel.

Bags of N points with norms at most L in a Hilbert space; sigma is sigma-bar, with
``d_eff |Sigma_i|_op <= tr(Sigma_i) <= N sigma-bar^2`` for every bag (eq:deffunif). A pair is declared
similar when the unbiased squared distance U_ij is below ``tau sigma-bar^2 / 2``.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _check as check
from ._bounded_q import inverse_ratios, q, q_bousquet, q_level, q_sigma, q_sigma_level
from ._check import Floats, Value
from ._levels import union_bound

__all__ = [
    "PROOF_CONSTANT",
    "PROOF_CONSTANT_CENTERED",
    "inner_error",
    "is_neighbor",
    "norm_error",
    "pair_error",
    "q",
    "q_bousquet",
    "q_level",
    "q_sigma",
    "q_sigma_level",
    "r",
    "similarity_error",
    "smallest_tau",
    "t",
    "tau_inner",
    "tau_min",
    "tau_norm",
    "tau_prime",
    "total_error",
]

PROOF_CONSTANT = 8 * 2**0.25
"""Constant in `r` (9.514) with which the printed proof's claim q <= sigma-bar r becomes true."""

PROOF_CONSTANT_CENTERED = 8 * 2**0.75
"""The same (13.454) if the centered points are bounded by 2 L, as they must be."""


def t(alpha: ArrayLike, n_bags: ArrayLike) -> Value:
    """Level ``t = log(14 B^2 / alpha)`` for a total error probability alpha (after prop:testkernel).

    Parameters
    ----------
    alpha : array_like
        Total error probability in (0, 1).
    n_bags : array_like
        Number of bags B.

    Returns
    -------
    float or ndarray
        Always at least log(14), so the proposition's t >= 1 holds.

    Examples
    --------
    >>> round(float(t(alpha=0.05, n_bags=100)), 4)
    14.8451
    """
    return np.log(14) + 2 * np.log(check.n_bags(n_bags)) - np.log(check.alpha(alpha))


def r(
    t: ArrayLike, d_eff: ArrayLike, L: ArrayLike, n: ArrayLike, sigma: ArrayLike, constant: ArrayLike = 5.0
) -> Value:
    """``r(t) = 5 (sqrt((1/d_eff + L/(N sigma-bar)) t) + L t / (N sigma-bar))`` (eq:defr).

    Parameters
    ----------
    t : array_like
        Level, at least 1.
    d_eff : array_like
        Effective dimension tr(Sigma) / |Sigma|_op; may be infinite.
    L : array_like
        Bound on the norm of a point.
    n : array_like
        Bag size N.
    sigma : array_like
        Length sigma-bar, whose square bounds the errors of all naive means; above 0.
    constant : array_like, default 5
        The paper's constant.

    Returns
    -------
    float or ndarray
        Plays the part of sqrt(delta) in the Gaussian setting (the text says of delta).

    Notes
    -----
    The printed proof claims that ``sigma-bar r(t)`` is an upper bound of `q`. That is false whenever
    ``L t / (N sigma-bar)`` is small and not negligible against t / d_eff, which is the regime of
    interest: the constant would have to be `PROOF_CONSTANT`, or `PROOF_CONSTANT_CENTERED` once the
    centered points are bounded by 2 L as they must be. prop:testkernel is true as printed all the same:
    replace Talagrand's inequality by those of Bousquet (upper deviations) and Klein and Rio (lower), see
    `q_bousquet`. So the printed constant is the default.

    Examples
    --------
    >>> float(r(t=4.0, d_eff=100.0, L=0.0, n=50, sigma=1.0))
    1.0
    """
    t = check.level(t, at_least=1)
    inverse_dim, crowding = inverse_ratios(d_eff, L, n, sigma)
    scale = check.size("constant", constant, positive=True)
    return scale * (np.sqrt((inverse_dim + crowding) * t) + crowding * t)


def tau_min(
    t: ArrayLike, d_eff: ArrayLike, L: ArrayLike, n: ArrayLike, sigma: ArrayLike, constant: ArrayLike = 5.0
) -> Value:
    """``tau_min(t) = r(t) max(sqrt(2), r(t))`` (eq:deftau1, eq:defxi).

    Parameters
    ----------
    t, d_eff, L, n, sigma, constant : array_like
        As in `r`.

    Returns
    -------
    float or ndarray
        The tests need 144 times this, see `smallest_tau`.

    Examples
    --------
    >>> round(float(tau_min(t=4.0, d_eff=100.0, L=0.0, n=50, sigma=1.0)), 6)
    1.414214
    """
    radius = r(t, d_eff, L, n, sigma, constant)
    return radius * np.maximum(np.sqrt(2), radius)


def smallest_tau(
    t: ArrayLike, d_eff: ArrayLike, L: ArrayLike, n: ArrayLike, sigma: ArrayLike, constant: ArrayLike = 5.0
) -> Value:
    """Smallest tau that prop:testkernel allows: ``144 tau_min(t)``.

    Parameters
    ----------
    t, d_eff, L, n, sigma, constant : array_like
        As in `r`.

    Returns
    -------
    float or ndarray
        The proof's quadratics need 124.7 only; 144 = 12^2 is the printed round figure.

    Examples
    --------
    >>> round(float(smallest_tau(t=4.0, d_eff=100.0, L=0.0, n=50, sigma=1.0)), 3)
    203.647
    """
    return 144 * tau_min(t, d_eff, L, n, sigma, constant)


def tau_prime(tau: ArrayLike) -> Value:
    """Squared radius within which no pair is missed: ``tau' = tau / 4`` (prop:testkernel).

    Parameters
    ----------
    tau : array_like
        At least `smallest_tau`.

    Returns
    -------
    float or ndarray
        Squared radius in units of sigma-bar^2.

    Examples
    --------
    >>> float(tau_prime(1.0))
    0.25
    """
    return check.tau(tau) / 4


def tau_inner(tau: ArrayLike) -> Value:
    """Size ``tau / 7`` of the inner products that C excludes (prop:testkernel).

    Parameters
    ----------
    tau : array_like
        At least `smallest_tau`.

    Returns
    -------
    float or ndarray
        With the constant 10 in place of 20 (eq:devscprod-kernel) it could be tau / 14.

    Examples
    --------
    >>> float(tau_inner(14.0))
    2.0
    """
    return check.tau(tau) / 7


def tau_norm(tau: ArrayLike) -> Value:
    """Excess ``tau / 48`` of the squared norms that C' excludes (prop:testkernel).

    Parameters
    ----------
    tau : array_like
        At least `smallest_tau`.

    Returns
    -------
    float or ndarray
        Excess in units of sigma-bar^2: outside C', squared errors are at most 1 + tau / 48.

    Examples
    --------
    >>> float(tau_norm(96.0))
    2.0
    """
    return check.tau(tau) / 48


def is_neighbor(u_statistic: ArrayLike, tau: ArrayLike, sigma: ArrayLike) -> NDArray[np.bool_]:
    """Similarity test ``U_ij < tau sigma-bar^2 / 2`` (eq:simtest_kme).

    Parameters
    ----------
    u_statistic : array_like
        Unbiased squared distance of two means; may be negative.
    tau : array_like
        Squared radius in units of sigma-bar^2.
    sigma : array_like
        Length sigma-bar, whose square bounds the errors of all naive means.

    Returns
    -------
    bool or ndarray of bool
        True where the pair is declared similar.

    Examples
    --------
    >>> bool(is_neighbor(-0.1, tau=0.5, sigma=1.0))
    True
    """
    limit = check.tau(tau) * check.size("sigma", sigma) ** 2 / 2
    return np.asarray(check.real("u_statistic", u_statistic) < limit)[()]


def pair_error(t: ArrayLike, *, printed: bool = False) -> Value:
    """Probability ``8 exp(-t)`` that the test of one pair errs (proof of prop:testkernel).

    Parameters
    ----------
    t : array_like
        Level, at least 1.
    printed : bool, default False
        The proof prints ``2 exp(-t)`` for a missed pair, but eq:updev-Ustat, which it uses, has 8. The
        union over all pairs is printed with 8 again, so nothing else changes.

    Returns
    -------
    float or ndarray
        A pair can be accepted wrongly or missed, never both: it lies in one region or the other.

    Examples
    --------
    >>> round(float(pair_error(5.0)), 4), round(float(pair_error(5.0, printed=True)), 4)
    (0.0539, 0.0135)
    """
    return union_bound(_level(t), 2 if printed else 8)


def similarity_error(t: ArrayLike, n_bags: ArrayLike) -> Value:
    """``P(A(tau) or B(tau/4)) <= 8 B^2 exp(-t)`` (proof of prop:testkernel).

    Parameters
    ----------
    t, n_bags : array_like
        Level, at least 1, and number of bags B.

    Returns
    -------
    float or ndarray
        Upper bound of the probability, cut at 1.

    Examples
    --------
    >>> round(float(similarity_error(15.0, n_bags=100)), 4)
    0.0245
    """
    bags = check.n_bags(n_bags)
    return union_bound(_level(t), 8, bags, bags)


def inner_error(t: ArrayLike, n_bags: ArrayLike) -> Value:
    """``P(C(tau/7)) <= 6 (B^2 - B) exp(-t)`` (proof of prop:testkernel).

    Parameters
    ----------
    t, n_bags : array_like
        Level, at least 1, and number of bags B.

    Returns
    -------
    float or ndarray
        Upper bound of the probability, cut at 1.

    Examples
    --------
    >>> round(float(inner_error(15.0, n_bags=100)), 4)
    0.0182
    """
    bags = check.n_bags(n_bags)
    return union_bound(_level(t), 6, bags, bags - 1)


def norm_error(t: ArrayLike, n_bags: ArrayLike) -> Value:
    """``P(C'(tau/48)) <= B exp(-t)`` (proof of prop:testkernel).

    Parameters
    ----------
    t, n_bags : array_like
        Level, at least 1, and number of bags B.

    Returns
    -------
    float or ndarray
        Upper bound of the probability, cut at 1.

    Examples
    --------
    >>> round(float(norm_error(5.0, n_bags=100)), 4)
    0.6738
    """
    return union_bound(_level(t), check.n_bags(n_bags))


def total_error(t: ArrayLike, n_bags: ArrayLike, *, simplified: bool = True) -> Value:
    """Probability ``14 B^2 exp(-t)`` that any of the four events happens (prop:testkernel).

    Parameters
    ----------
    t, n_bags : array_like
        Level, at least 1, and number of bags B.
    simplified : bool, default True
        False gives the sum in the proof, ``(14 B^2 - 5 B) exp(-t)``.

    Returns
    -------
    float or ndarray
        The inverse of `t`.

    Examples
    --------
    >>> round(float(total_error(t(alpha=0.05, n_bags=100), n_bags=100)), 9)
    0.05
    """
    bags = check.n_bags(n_bags)
    return union_bound(_level(t), bags, 14 * bags - (0 if simplified else 5))


def _level(t: ArrayLike) -> Floats:
    return check.level(t, at_least=1)
