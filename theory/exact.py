"""Exact thresholds of the Gaussian setting: the laws themselves instead of concentration bounds.

For Delta^2 = tau sigma-bar^2 the statistic ``S = (N / 2) |naive_i - naive_j|^2`` is noncentral chi-square
with d degrees of freedom and noncentrality ``tau d / 2``; the test accepts when ``S <= zeta d / 2``. Its
distribution function falls with tau, so the worst pairs are those on the boundary.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri_exp

from . import _check as check
from . import laws
from ._check import Value
from ._levels import (
    Correction,
    Family,
    log_number_of_tests,
    number_of_tests,
    pair_log_level,
    sidak_log_level,
)
from ._roots import positive_root
from .events import EventProbabilities

__all__ = [
    "Correction",
    "Family",
    "exact_dim",
    "exact_event_probabilities",
    "exact_inner",
    "exact_log_level",
    "exact_norm",
    "exact_tau",
    "exact_zeta",
    "exact_zeta_power",
    "number_of_tests",
    "pair_log_level",
]

NORMAL_LIMIT = 1e22  # in higher dimension the normal limit has more digits than the laws


def exact_zeta(
    tau: ArrayLike,
    n_bags: ArrayLike,
    dim: ArrayLike,
    alpha: ArrayLike,
    *,
    family: Family = "all",
    correction: Correction = "bonferroni",
) -> Value:
    """Largest threshold zeta with ``P(A(tau)) <= alpha``: ``(2 / d) F^-1(alpha / M; d, tau d / 2)``.

    Parameters
    ----------
    tau : array_like
        Squared radius beyond which no pair may be accepted, in units of sigma-bar^2.
    n_bags, dim, alpha : array_like
        Number of bags B, dimension d, and error probability.
    family : {"all", "task"}
        Control all pairs at once, or only the pairs of one bag.
    correction : {"bonferroni", "sidak"}
        See `pair_log_level`.

    Returns
    -------
    float or ndarray
        Accept a pair when ``|naive_i - naive_j|^2 <= zeta d / N``.

    Notes
    -----
    The paper's `stbmta.theory.gaussian.zeta` replaces the quantile by a concentration bound.

    Examples
    --------
    >>> round(float(exact_zeta(tau=0.5, n_bags=100, dim=1000, alpha=0.05)), 4)
    2.0596
    """
    tau, dim = check.tau(tau), check.dim(dim)
    log_p = pair_log_level(n_bags, alpha, family=family, correction=correction)
    return 2 / dim * laws.chi_square_quantile(log_p, dim, tau * dim / 2, upper=False)[0]


def exact_zeta_power(
    tau_prime: ArrayLike,
    n_bags: ArrayLike,
    dim: ArrayLike,
    alpha: ArrayLike,
    *,
    family: Family = "all",
    correction: Correction = "bonferroni",
) -> Value:
    """Smallest threshold zeta with ``P(B(tau')) <= alpha``: no similar pair is missed.

    Parameters
    ----------
    tau_prime : array_like
        Squared radius within which every pair must be accepted.
    n_bags, dim, alpha : array_like
        As in `exact_zeta`.
    family : {"all", "task"}
        Control all pairs at once, or only the pairs of one bag.
    correction : {"bonferroni", "sidak"}
        See `pair_log_level`.

    Returns
    -------
    float or ndarray
        ``(2 / d)`` times the upper quantile of the noncentral chi-square.

    Examples
    --------
    >>> round(float(exact_zeta_power(tau_prime=0.0, n_bags=100, dim=1000, alpha=0.05)), 4)
    2.4044
    """
    tau_prime, dim = check.tau(tau_prime, "tau_prime"), check.dim(dim)
    log_p = pair_log_level(n_bags, alpha, family=family, correction=correction)
    return 2 / dim * laws.chi_square_quantile(log_p, dim, tau_prime * dim / 2, upper=True)[0]


def exact_tau(
    n_bags: ArrayLike,
    dim: ArrayLike,
    alpha: ArrayLike,
    ratio: ArrayLike = 1 / 3,
    *,
    same_data: bool = False,
    family: Family = "all",
    correction: Correction = "bonferroni",
) -> Value:
    """Smallest tau for which one threshold gives ``P(A(tau)) <= alpha`` and ``P(B(ratio tau)) <= alpha``.

    Parameters
    ----------
    n_bags, dim, alpha : array_like
        Number of bags B, dimension d, and error probability of each event.
    ratio : array_like, default 1/3
        Ratio tau' / tau in [0, 1); the paper has 1/3. At 0 only pairs of equal means must be found.
    same_data : bool, default False
        Ask for ``P(C(tau)) <= alpha`` and ``P(C'(tau)) <= alpha`` too, as Theorem 2 does.
    family : {"all", "task"}
        Control all pairs at once, or only the pairs of one bag.
    correction : {"bonferroni", "sidak"}
        See `pair_log_level`.

    Returns
    -------
    float or ndarray
        The threshold is ``exact_zeta(tau, ...)``. For small tau it is about
        ``4 sqrt(2) z / ((1 - ratio) sqrt(d))``, z the normal quantile of alpha / M.

    See Also
    --------
    stbmta.theory.gaussian.tau_min : What the paper asks for; about 3 times larger in high dimension, 12 or more in low.

    Examples
    --------
    >>> round(float(exact_tau(n_bags=100, dim=1000, alpha=0.05)), 3)
    1.635
    """
    log_p = pair_log_level(n_bags, alpha, family=family, correction=correction)
    ratio = check.real("ratio", ratio, at_least=0, below=1, hint="It is tau' / tau.")
    tau = _smallest_tau(log_p, check.dim(dim), ratio)
    if same_data:
        tau = np.maximum(tau, exact_inner(n_bags, dim, alpha))
        tau = np.maximum(tau, exact_norm(n_bags, dim, alpha))
    return tau[()]


def exact_log_level(tau: ArrayLike, dim: ArrayLike, ratio: ArrayLike = 1 / 3) -> Value:
    """Smallest level of a single test at which tau and ratio tau can be told apart, as a logarithm.

    Parameters
    ----------
    tau, dim, ratio : array_like
        As in `exact_tau`, whose inverse this is: ``exact_tau`` equals tau exactly when
        `pair_log_level` equals this.

    Returns
    -------
    float or ndarray
        The common value of both error probabilities at the best threshold.

    Examples
    --------
    >>> level = pair_log_level(n_bags=100, alpha=0.05)
    >>> tau = exact_tau(n_bags=100, dim=1000, alpha=0.05)
    >>> round(float(exact_log_level(tau, dim=1000) / level), 9)
    1.0
    """
    tau = check.tau(tau)
    ratio = check.real("ratio", ratio, at_least=0, below=1, hint="It is tau' / tau.")
    return _smallest_log_level(tau, check.dim(dim), ratio)[()]


def exact_dim(
    tau: ArrayLike,
    n_bags: ArrayLike,
    alpha: ArrayLike,
    ratio: ArrayLike = 1 / 3,
    *,
    family: Family = "all",
    correction: Correction = "bonferroni",
) -> Value:
    """Smallest dimension, a real number, in which `exact_tau` does not exceed tau.

    Parameters
    ----------
    tau : array_like
        Squared radius in units of sigma-bar^2.
    n_bags, alpha, ratio : array_like
        As in `exact_tau`.
    family : {"all", "task"}
        Control all pairs at once, or only the pairs of one bag.
    correction : {"bonferroni", "sidak"}
        See `pair_log_level`.

    Returns
    -------
    float or ndarray
        About ``32 z^2 / ((1 - ratio) tau)^2`` for small tau. At least 1; infinite for tau = 0 and beyond the
        largest double.

    Examples
    --------
    >>> int(np.ceil(exact_dim(tau=1.0, n_bags=100, alpha=0.05)))
    2151
    """
    ratio = check.real("ratio", ratio, at_least=0, below=1, hint="It is tau' / tau.")
    log_p = pair_log_level(n_bags, alpha, family=family, correction=correction)
    return _smallest_dim(check.tau(tau), log_p, ratio)[()]


def exact_inner(n_bags: ArrayLike, dim: ArrayLike, alpha: ArrayLike) -> Value:
    """Smallest c with ``P(C(c)) <= alpha``, from the exact law of ``<e_i, e_j>``.

    Parameters
    ----------
    n_bags, dim, alpha : array_like
        Number of bags B, dimension d, and error probability; Bonferroni over pairs and both signs.

    Returns
    -------
    float or ndarray
        About ``z / sqrt(d)`` for large d.

    Examples
    --------
    >>> round(float(exact_inner(n_bags=100, dim=1e5, alpha=0.05)), 4)
    0.014
    """
    dim = check.dim(dim)
    log_p = pair_log_level(n_bags, alpha) - np.log(2)
    return laws.inner_product_isf(log_p, dim) / dim


def exact_norm(n_bags: ArrayLike, dim: ArrayLike, alpha: ArrayLike) -> Value:
    """Smallest c' with ``P(C'(c')) <= alpha``, with equality if it is above 0: the bags are independent.

    Parameters
    ----------
    n_bags, dim, alpha : array_like
        Number of bags B, dimension d, and error probability.

    Returns
    -------
    float or ndarray
        ``chi2.isf(1 - (1 - alpha)^(1/B), d) / d - 1``, at least 0.

    Examples
    --------
    >>> round(float(exact_norm(n_bags=100, dim=1e5, alpha=0.05)), 4)
    0.0147
    """
    alpha, bags, dim = check.alpha(alpha), check.n_bags(n_bags), check.dim(dim)
    log_p = sidak_log_level(alpha, np.log(bags))
    return np.maximum(laws.chi_square_quantile(log_p, dim, upper=True)[1], 0.0) / dim


def exact_event_probabilities(
    tau: ArrayLike, zeta: ArrayLike, n_bags: ArrayLike, dim: ArrayLike, *, ratio: ArrayLike = 1 / 3
) -> EventProbabilities:
    """Probabilities of A(tau), B(ratio tau), C(tau), C'(tau) at the threshold zeta.

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
        Exact for each pair in the worst configuration, summed over the pairs (Bonferroni); C' is
        exact for all bags together.

    Examples
    --------
    >>> p = exact_event_probabilities(tau=0.5, zeta=2.0596, n_bags=100, dim=1000)
    >>> round(float(p.A), 3), float(p.B)
    (0.05, 1.0)
    """
    tau, dim = check.tau(tau), check.dim(dim)
    zeta = check.size("zeta", zeta)
    ratio = check.real("ratio", ratio, at_least=0, at_most=1)
    log_pairs, bags = log_number_of_tests(n_bags), check.n_bags(n_bags)
    threshold = zeta * dim / 2
    no_excess = np.log1p(-np.exp(laws.chi_square_logsf(dim * (1 + tau), dim)))
    return EventProbabilities(
        A=_union(log_pairs, laws.chi_square_logcdf(threshold, dim, tau * dim / 2)),
        B=_union(log_pairs, laws.chi_square_logsf(threshold, dim, ratio * tau * dim / 2)),
        C=_union(np.log(2) + log_pairs, laws.inner_product_logsf(tau * dim, dim)),
        C_prime=-np.expm1(bags * no_excess),
    )


def _union(log_count: Value, log_p: Value) -> Value:
    return np.exp(np.minimum(log_count + log_p, 0.0))


def _miss(tau: float, dim: float, log_p: float, ratio: float) -> float:
    """Log-probability to miss a pair at ratio tau, at the threshold that accepts tau with log_p."""
    d, lam = np.asarray(dim), np.asarray(tau * dim / 2)
    x, excess = laws.chi_square_quantile(log_p, d, lam, upper=False)
    if x == 0:
        return 0.0  # nothing is accepted, everything missed
    closer = np.asarray(excess + (1 - ratio) * lam)
    return float(laws.chi_square_logtail(np.asarray(x), closer, d, ratio * lam, upper=True)[0])


@np.vectorize(otypes=[float])
def _smallest_tau(log_p: float, dim: float, ratio: float) -> float:
    if log_p >= np.log(0.5):  # then the median is a threshold that errs seldom enough on both sides
        return 0.0
    z = -float(ndtri_exp(log_p))
    guess = 4 * np.sqrt(2) * z / ((1 - ratio) * np.sqrt(dim))
    if dim > NORMAL_LIMIT:
        return float(guess)
    return positive_root(lambda tau: _miss(tau, dim, log_p, ratio) - log_p, guess + guess**2)


@np.vectorize(otypes=[float])
def _smallest_dim(tau: float, log_p: float, ratio: float) -> float:
    def excess(dim: float) -> float:
        return _miss(tau, dim, log_p, ratio) - log_p

    if excess(1.0) <= 0:
        return 1.0
    z = float(ndtri_exp(log_p))
    with np.errstate(over="ignore", divide="ignore"):
        guess = 8 * (z * (np.sqrt(1 + tau) + np.sqrt(1 + ratio * tau)) / ((1 - ratio) * tau)) ** 2
    if guess > NORMAL_LIMIT:
        return float(guess)
    return positive_root(lambda dim: excess(max(dim, 1.0)), guess)


@np.vectorize(otypes=[float])
def _smallest_log_level(tau: float, dim: float, ratio: float) -> float:
    z = (1 - ratio) * tau * np.sqrt(dim / 8) / (np.sqrt(1 + tau) + np.sqrt(1 + ratio * tau))
    return -positive_root(lambda level: _miss(tau, dim, -level, ratio) + level, z**2 / 2 + 0.7)
