"""The isotropic Gaussian setting (GI): thresholds as printed (prop:testgauss), and exact ones.

Bags of N points from N(mu_i, I_d); sigma-bar^2 = d / N. A pair is declared similar when
``|naive_i - naive_j|^2 <= zeta d / N``. The ``exact_*`` functions use the laws themselves and ask for a
tau that is smaller than the printed one: about 3 times in high dimension, 12 times or more in low.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _check as check
from . import concentration
from ._check import Value
from ._levels import union_bound
from .confidence import lower_tau, upper_tau
from .events import EventProbabilities
from .exact import (
    exact_dim,
    exact_event_probabilities,
    exact_inner,
    exact_log_level,
    exact_norm,
    exact_tau,
    exact_zeta,
    exact_zeta_power,
    number_of_tests,
    pair_log_level,
)

__all__ = [
    "controlled_tau",
    "covering_scale",
    "delta",
    "delta_max",
    "event_probabilities",
    "exact_dim",
    "exact_event_probabilities",
    "exact_inner",
    "exact_log_level",
    "exact_norm",
    "exact_tau",
    "exact_zeta",
    "exact_zeta_power",
    "inner_excess",
    "is_neighbor",
    "lower_tau",
    "norm_excess",
    "number_of_tests",
    "pair_log_level",
    "stated_probabilities",
    "tau_min",
    "tau_prime",
    "upper_tau",
    "zeta",
]


def delta(n_bags: ArrayLike, dim: ArrayLike, alpha: ArrayLike) -> Value:
    """``delta = (2 log B + log(1 / alpha)) / d`` (prop:testgauss).

    Parameters
    ----------
    n_bags, dim, alpha : array_like
        Number of bags B, dimension d, and error probability of each event.

    Returns
    -------
    float or ndarray
        The level of a single test is ``alpha / B^2 = exp(-d delta)``. The proof prints alpha B^2.

    Examples
    --------
    >>> round(float(delta(n_bags=100, dim=1000, alpha=0.05)), 6)
    0.012206
    """
    return (2 * np.log(check.n_bags(n_bags)) - np.log(check.alpha(alpha))) / check.dim(dim)


def delta_max(tau: ArrayLike, C: ArrayLike = 1000.0) -> Value:
    """Largest delta for which tau is allowed: ``min(tau, tau^2) / C``, the inverse of `tau_min`.

    Parameters
    ----------
    tau : array_like
        Squared radius in units of sigma-bar^2.
    C : array_like, default 1000
        The paper's constant.

    Returns
    -------
    float or ndarray
        The proposition allows tau where `delta` is at most this.

    Examples
    --------
    >>> float(delta_max(tau=0.5))
    0.00025
    """
    tau = check.tau(tau)
    return np.minimum(tau, tau**2) / check.size("C", C, positive=True)


def zeta(
    tau: ArrayLike, n_bags: ArrayLike, dim: ArrayLike, alpha: ArrayLike, *, printed: bool = False
) -> Value:
    """Threshold ``zeta = (sqrt(2 + tau) - 4 sqrt(delta))_+^2`` of the test (prop:testgauss).

    Parameters
    ----------
    tau : array_like
        Squared radius beyond which no pair may be accepted.
    n_bags, dim, alpha : array_like
        As in `delta`.
    printed : bool, default False
        Square the difference even where it is negative, which only happens below `tau_min`.

    Returns
    -------
    float or ndarray
        ``P(A(tau)) <= alpha`` for every tau.

    See Also
    --------
    exact_zeta : The largest threshold that controls A(tau).

    Notes
    -----
    Where ``tau`` is far below `tau_min` the difference turns negative, and its square would *accept*
    more pairs the less is known. The lower deviation bound says nothing there, so zeta is 0: accept none.
    The proposition itself asks for ``tau >= tau_min``, where both agree.

    Examples
    --------
    >>> round(float(zeta(tau=12.0, n_bags=100, dim=1000, alpha=0.05)), 4)
    10.8882
    """
    root = np.sqrt(2 + check.tau(tau)) - 4 * np.sqrt(delta(n_bags, dim, alpha))
    return (root if printed else np.maximum(root, 0.0)) ** 2


def controlled_tau(zeta: ArrayLike, n_bags: ArrayLike, dim: ArrayLike, alpha: ArrayLike) -> Value:
    """Smallest tau that a threshold controls: ``(sqrt(zeta) + 4 sqrt(delta))^2 - 2``.

    Parameters
    ----------
    zeta : array_like
        Threshold of the test.
    n_bags, dim, alpha : array_like
        As in `delta`.

    Returns
    -------
    float or ndarray
        The inverse of `zeta`: ``P(A(tau)) <= alpha`` for this tau. At least 0.

    Examples
    --------
    >>> round(float(controlled_tau(zeta(12.0, 100, 1000, 0.05), 100, 1000, 0.05)), 9)
    12.0
    """
    root = np.sqrt(check.size("zeta", zeta)) + 4 * np.sqrt(delta(n_bags, dim, alpha))
    return np.maximum(root**2 - 2, 0.0)


def tau_min(n_bags: ArrayLike, dim: ArrayLike, alpha: ArrayLike, C: ArrayLike = 1000.0) -> Value:
    """Smallest tau the paper allows: ``max(C delta, sqrt(C delta))`` (prop:testgauss).

    Parameters
    ----------
    n_bags, dim, alpha : array_like
        As in `delta`.
    C : array_like, default 1000
        The paper's constant. Its argument needs 972, or 860.3 if no term is dropped. By exact probabilities
        the paper's zeta needs 704 for a million bags at alpha = 0.05, and 728.6 whatever B and alpha; the best
        zeta 208.8 and 236.8. The dimension in which tau is 1 asks for most.

    Returns
    -------
    float or ndarray
        Squared radius in units of sigma-bar^2; it falls as 1 / sqrt(d) once it is below 1.

    See Also
    --------
    exact_tau : The smallest tau for which a test exists.

    Examples
    --------
    >>> round(float(tau_min(n_bags=100, dim=1000, alpha=0.05)), 2)
    12.21
    """
    scaled = check.size("C", C, positive=True) * delta(n_bags, dim, alpha)
    return np.maximum(scaled, np.sqrt(scaled))


def tau_prime(tau: ArrayLike) -> Value:
    """Squared radius within which no pair is missed: ``tau' = tau / 3`` (prop:testgauss).

    Parameters
    ----------
    tau : array_like
        At least `tau_min`.

    Returns
    -------
    float or ndarray
        Squared radius in units of sigma-bar^2.

    Examples
    --------
    >>> float(tau_prime(0.75))
    0.25
    """
    return check.tau(tau) / 3


def is_neighbor(sq_distance: ArrayLike, zeta: ArrayLike, dim: ArrayLike, n: ArrayLike) -> NDArray[np.bool_]:
    """Similarity test ``|naive_i - naive_j|^2 <= zeta d / N`` (eq:deftestsgaus).

    Parameters
    ----------
    sq_distance : array_like
        Squared distance of two naive means.
    zeta, dim, n : array_like
        Threshold of the test, dimension d, and common bag size N.

    Returns
    -------
    bool or ndarray of bool
        True where the pair is declared similar.

    Examples
    --------
    >>> bool(is_neighbor(sq_distance=0.5, zeta=2.5, dim=10, n=50))
    True
    """
    limit = check.size("zeta", zeta) * check.dim(dim) / check.bag_size(n)
    return np.asarray(check.size("sq_distance", sq_distance) <= limit)[()]


def stated_probabilities(alpha: ArrayLike) -> EventProbabilities:
    """Bounds that prop:testgauss states: alpha, alpha, 2 alpha, alpha for A(tau), B(tau/3), C, C'.

    Parameters
    ----------
    alpha : array_like
        Error probability in (0, 1).

    Returns
    -------
    EventProbabilities
        For tau at least `tau_min` and the threshold `zeta`.

    Examples
    --------
    >>> float(stated_probabilities(0.01).total)
    0.05
    """
    each = check.alpha(alpha)[()]
    return EventProbabilities(A=each, B=each, C=np.minimum(2 * each, 1.0), C_prime=each)


def event_probabilities(
    tau: ArrayLike, zeta: ArrayLike, n_bags: ArrayLike, dim: ArrayLike, *, ratio: ArrayLike = 1 / 3
) -> EventProbabilities:
    """Bounds on A(tau), B(ratio tau), C(tau), C'(tau) by the paper's concentration inequalities.

    The levels t that eq:gausbnd, eq:devscprod and eq:updev give for this threshold, and a union over
    B^2 pairs (twice for C, B bags for C').

    Parameters
    ----------
    tau, zeta : array_like
        Squared radius in units of sigma-bar^2, and threshold of the test.
    n_bags, dim : array_like
        Number of bags B, and dimension d.
    ratio : array_like, default 1/3
        Ratio tau' / tau in [0, 1].

    Returns
    -------
    EventProbabilities
        Each bound is 1 where its inequality says nothing.

    See Also
    --------
    exact_event_probabilities : The same from the exact laws.

    Examples
    --------
    >>> p = event_probabilities(tau=12.21, zeta=zeta(12.21, 100, 1000, 0.05), n_bags=100, dim=1000)
    >>> round(float(p.A), 6), float(p.B) < 1e-4
    (0.05, True)
    """
    tau, dim, bags = check.tau(tau), check.dim(dim), check.n_bags(n_bags)
    observed = np.sqrt(check.size("zeta", zeta))
    near = check.real("ratio", ratio, at_least=0, at_most=1) * tau
    level_a = concentration.pair_distance_lower_level(observed, tau, dim)
    level_b = concentration.pair_distance_upper_level(observed, near, dim)
    level_c = concentration.gaussian_inner_upper_level(tau * dim, dim)
    level_norm = concentration.gaussian_norm_upper_level(np.sqrt((1 + tau) * dim), dim)
    return EventProbabilities(
        A=union_bound(level_a, bags, bags),
        B=union_bound(level_b, bags, bags),
        C=union_bound(level_c, 2, bags, bags),
        C_prime=union_bound(level_norm, bags),
    )


def inner_excess(tau: ArrayLike, C: ArrayLike = 1000.0, *, printed: bool = False) -> Value:
    """What the proof of prop:testgauss shows for ``|<e_i, e_j>| / sigma-bar^2``, in terms of tau.

    Parameters
    ----------
    tau : array_like
        At least `tau_min` for the same C.
    C : array_like, default 1000
        At least 1.
    printed : bool, default False
        ``3 tau / sqrt(C)`` as printed, which is true; ``(sqrt(2) + 1) tau / sqrt(C)`` suffices.

    Returns
    -------
    float or ndarray
        So even C(tau / 10) has probability at most 2 alpha.

    Examples
    --------
    >>> round(float(inner_excess(1.0)), 4), round(float(inner_excess(1.0, printed=True)), 4)
    (0.0763, 0.0949)
    """
    factor = 3.0 if printed else 1 + np.sqrt(2)
    return factor * check.tau(tau) / np.sqrt(check.real("C", C, at_least=1))


def norm_excess(tau: ArrayLike, C: ArrayLike = 1000.0, *, printed: bool = False) -> Value:
    """What the proof of prop:testgauss shows for ``|e_i|^2 / sigma-bar^2 - 1``, in terms of tau.

    Parameters
    ----------
    tau : array_like
        At least `tau_min` for the same C.
    C : array_like, default 1000
        At least 1.
    printed : bool, default False
        ``2 tau / C`` as printed, which is false (sqrt(2 delta) is sqrt(2) tau / sqrt(C) when
        tau = sqrt(C delta), and the norm was not squared). The truth is
        ``tau (2 sqrt(2) / sqrt(C) + 2 / C)``.

    Returns
    -------
    float or ndarray
        The conclusion, that C'(tau) has probability at most alpha, is unaffected.

    Examples
    --------
    >>> round(float(norm_excess(1.0)), 4), round(float(norm_excess(1.0, printed=True)), 4)
    (0.0914, 0.002)
    """
    tau, C = check.tau(tau), check.real("C", C, at_least=1)
    if printed:
        return 2 * tau / C
    return tau * (np.sqrt(8 / C) + 2 / C)


def covering_scale(n_bags: ArrayLike, dim: ArrayLike, n: ArrayLike, *, printed: bool = False) -> Value:
    """Scale of the covering balls, up to constants: ``d^(1/4) (log B)^(1/4) / sqrt(N)``.

    Parameters
    ----------
    n_bags, dim, n : array_like
        Number of bags B, dimension d, and bag size N.
    printed : bool, default False
        The text after prop:testgauss has ``d^(1/4) sqrt(log B / N)``. But the radius is
        ``sqrt(tau') sigma-bar / 2`` with tau' of order sqrt(log B / d) and sigma-bar = sqrt(d / N), so
        the logarithm has the power 1/4.

    Returns
    -------
    float or ndarray
        A length, in units of the standard deviation of a coordinate.

    Examples
    --------
    >>> import math
    >>> round(float(covering_scale(n_bags=math.exp(16), dim=16, n=4)), 6)
    2.0
    """
    log_bags, dim = np.log(check.n_bags(n_bags)), check.dim(dim)
    power = 1 / 2 if printed else 1 / 4
    return dim ** (1 / 4) * log_bags**power / np.sqrt(check.bag_size(n))
