"""The two theorems: how far shrinking toward neighbors is guaranteed to lower the error.

All bounds are factors of sigma-bar^2, an upper bound of the errors of all naive means
(eq:bdsigma). ``n_neighbors = |V_i|`` counts the bag itself, ``n_others = |V_i| - 1`` does not.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _check as check
from ._check import Floats, Value
from .errors import exact_mse, gram_bound, gram_distance, naive_mse, shrinkage_weights, squared_error

__all__ = [
    "average_independent",
    "average_same_data",
    "bound_after_split",
    "bound_independent",
    "bound_same_data",
    "compatible",
    "covering_radius",
    "exact_mse",
    "gamma_independent",
    "gamma_same_data",
    "gram_bound",
    "gram_distance",
    "naive_mse",
    "risk_independent",
    "risk_same_data",
    "rough_bound",
    "shrinkage_weights",
    "squared_error",
    "useful_tau_same_data",
]


def rough_bound(tau: ArrayLike, n_others: ArrayLike, *, sharp: bool = False) -> Value:
    """Error of the plain average with V known neighbors (eq:rough).

    ``(1 + V tau) / (V + 1)`` as printed. It is below one exactly when ``tau < 1`` (and V > 0).

    Parameters
    ----------
    tau : array_like
        Squared distance of the neighbors in units of sigma-bar^2, at least 0.
    n_others : array_like
        V, the neighbors besides the bag itself.
    sharp : bool, default False
        Give ``(V / (V + 1))^2 tau + 1 / (V + 1)`` instead, which the same proof yields without
        the convexity step.

    Returns
    -------
    float or ndarray
        Factor of sigma-bar^2.

    Examples
    --------
    >>> float(rough_bound(tau=0.5, n_others=3)), float(rough_bound(0.5, 3, sharp=True))
    (0.625, 0.53125)
    """
    tau, others = check.tau(tau), check.size("n_others", n_others)
    share = others / (others + 1)
    return (share**2 if sharp else share) * tau + 1 / (others + 1)


def gamma_independent(tau: ArrayLike, n_others: ArrayLike) -> Value:
    """Shrinkage ``gamma_i = tau V / ((1 + tau) V + 1)`` of Theorem 1, V = |V_i| - 1 (eq:optgamma).

    Parameters
    ----------
    tau : array_like
        Squared radius of the tests in units of sigma-bar^2.
    n_others : array_like
        |V_i| - 1.

    Returns
    -------
    float or ndarray
        Weight of the naive mean itself. It minimizes `risk_independent`.

    Examples
    --------
    >>> float(gamma_independent(tau=1.0, n_others=2))
    0.4
    """
    tau, others = check.tau(tau), check.size("n_others", n_others)
    return tau * others / ((1 + tau) * others + 1)


def risk_independent(gamma: ArrayLike, tau: ArrayLike, n_others: ArrayLike) -> Value:
    """Bound of Theorem 1 for any gamma: ``e^2 u (u tau + 1) - 2 e u + 1``.

    Here ``e = 1 - gamma`` and ``u = 1 - 1/|V_i|`` (last display of the proof of th:indep).

    Parameters
    ----------
    gamma : array_like
        In [0, 1].
    tau, n_others : array_like
        As in `bound_independent`.

    Returns
    -------
    float or ndarray
        Factor of sigma-bar^2. Attained when all neighbors lie at one point, at distance
        ``sqrt(tau) sigma-bar``, and all naive errors equal sigma-bar^2.

    Examples
    --------
    >>> float(risk_independent(gamma=0.0, tau=0.5, n_others=3))
    0.53125
    """
    gamma = check.real("gamma", gamma, at_least=0, at_most=1)
    shrink = 1 - gamma
    tau, others = check.tau(tau), check.size("n_others", n_others)
    u = others / (others + 1)
    # e^2 u - 2 e u + 1 without subtraction: for many neighbors little is left of the 1
    return (shrink * u) ** 2 * tau + u * gamma**2 + 1 / (others + 1)


def bound_independent(tau: ArrayLike, n_others: ArrayLike) -> Value:
    """Individual bound ``(tau V + 1) / ((1 + tau) V + 1)`` of Theorem 1 (eq:res-indep-single).

    Parameters
    ----------
    tau : array_like
        Squared radius of the tests in units of sigma-bar^2.
    n_others : array_like
        V = |V_i| - 1.

    Returns
    -------
    float or ndarray
        Factor of sigma-bar^2: conditionally on the tests, on the complement of A(tau).

    Notes
    -----
    The tests must be independent of the bags that are averaged. The factor is relative to the
    *largest* naive error: a bag whose own error is far below it may gain nothing
    (`stbmta.theory.sharp.waterfill` repairs that). See `bound_after_split` for the price of splitting.

    Examples
    --------
    >>> float(bound_independent(tau=1.0, n_others=2))
    0.6
    """
    tau, others = check.tau(tau), check.size("n_others", n_others)
    return (tau * others + 1) / ((1 + tau) * others + 1)


def bound_after_split(tau: ArrayLike, n_others: ArrayLike, fraction: ArrayLike = 0.5) -> Value:
    """Theorem 1 against the naive mean of the *whole* bag, when part of it went to the tests.

    `bound_independent` divided by the fraction of the points that is left for averaging.

    Parameters
    ----------
    tau, n_others : array_like
        As in `bound_independent`; tau in units of the error of the part that is averaged.
    fraction : array_like, default 0.5
        In (0, 1].

    Returns
    -------
    float or ndarray
        Factor of the whole bag's naive error. With halves it is below one exactly when
        ``n_others (1 - tau) > 1``. The paper does not state this.

    Examples
    --------
    >>> float(bound_after_split(tau=0.5, n_others=2))
    1.0
    """
    return bound_independent(tau, n_others) / check.real("fraction", fraction, above=0, at_most=1)


def average_independent(
    tau: ArrayLike, covering: ArrayLike, n_bags: ArrayLike, *, simplified: bool = True
) -> Value:
    """Averaged bound ``(tau + N/B) / (1 + tau)`` of Theorem 1 (eq:res-indep-ave).

    Parameters
    ----------
    tau : array_like
        Squared radius of the tests in units of sigma-bar^2.
    covering : array_like
        Covering number N of the true means at radius `covering_radius`; an upper bound keeps the
        theorem valid.
    n_bags : array_like
        Number of bags B, at least ``covering``.
    simplified : bool, default True
        False gives the sharper line before it in the proof,
        ``(N + m^2 tau / (m (1 + tau) + 1)) / B`` with ``m = B - N``.

    Returns
    -------
    float or ndarray
        Factor of sigma-bar^2 for the average over the bags, outside A(tau) and B(tau').

    Examples
    --------
    >>> float(average_independent(tau=1.0, covering=10, n_bags=100))
    0.55
    >>> round(float(average_independent(1.0, 10, 100, simplified=False)), 4)
    0.5475
    """
    tau = check.tau(tau)
    covering, bags = _covering(covering, n_bags)
    if simplified:
        return (tau + covering / bags) / (1 + tau)
    rest = bags - covering
    return (covering + rest**2 * tau / (rest * (1 + tau) + 1)) / bags


def gamma_same_data(tau: ArrayLike) -> Value:
    """Shrinkage ``gamma = tau / (1 + tau)`` of Theorem 2 (eq:optgamma-onesample).

    Parameters
    ----------
    tau : array_like
        Squared radius of the tests in units of sigma-bar^2.

    Returns
    -------
    float or ndarray
        Weight of the naive mean itself. It minimizes `risk_same_data`.

    Examples
    --------
    >>> float(gamma_same_data(tau=0.25))
    0.2
    """
    tau = check.tau(tau)
    return tau / (1 + tau)


def risk_same_data(gamma: ArrayLike, tau: ArrayLike, n_neighbors: ArrayLike) -> Value:
    """Bound of Theorem 2 for any gamma: ``2 (tau + 1 - 2 u e + u (1 + tau) e^2)``.

    Here ``e = 1 - gamma`` and ``u = 1 - 1/|V_i|`` (last display before the average in the proof of
    th:onesample).

    Parameters
    ----------
    gamma : array_like
        In [0, 1].
    tau, n_neighbors : array_like
        As in `bound_same_data`.

    Returns
    -------
    float or ndarray
        Factor of sigma-bar^2.

    Examples
    --------
    >>> float(risk_same_data(gamma=0.0, tau=0.0, n_neighbors=4))
    0.5
    """
    gamma = check.real("gamma", gamma, at_least=0, at_most=1)
    shrink = 1 - gamma
    tau, neighbors = check.tau(tau), _neighbors(n_neighbors)
    u = 1 - 1 / neighbors
    # as in Theorem 1, without subtraction
    return 2 * (tau + 1 / neighbors + u * gamma**2 + u * tau * shrink**2)


def bound_same_data(tau: ArrayLike, n_neighbors: ArrayLike) -> Value:
    """Individual bound ``2 (tau + (tau + 1/|V_i|) / (1 + tau))`` of Theorem 2 (eq:res-onesample-single).

    Parameters
    ----------
    tau : array_like
        Squared radius of the tests in units of sigma-bar^2.
    n_neighbors : array_like
        Number |V_i| of neighbors, the bag itself included.

    Returns
    -------
    float or ndarray
        Factor of sigma-bar^2: for the squared error itself, outside A(tau), C(tau) and C'(tau).

    Notes
    -----
    B(tau') is not needed here, only for the average. The factor 2 cannot be lowered without a
    further event: `stbmta.theory.sharp.bound` has one.

    Examples
    --------
    >>> round(float(bound_same_data(tau=0.1, n_neighbors=20)), 4)
    0.4727
    """
    tau, neighbors = check.tau(tau), _neighbors(n_neighbors)
    return 2 * (tau + (tau + 1 / neighbors) / (1 + tau))


def average_same_data(tau: ArrayLike, covering: ArrayLike, n_bags: ArrayLike) -> Value:
    """Averaged bound ``2 (tau + (tau + N/B) / (1 + tau))`` of Theorem 2 (eq:res-onesample-ave).

    Parameters
    ----------
    tau, covering, n_bags : array_like
        As in `average_independent`.

    Returns
    -------
    float or ndarray
        Factor of sigma-bar^2, outside A(tau), B(tau'), C(tau) and C'(tau). See `compatible` for
        which tau' make sense.

    Examples
    --------
    >>> float(average_same_data(tau=0.25, covering=10, n_bags=100))
    1.06
    """
    tau = check.tau(tau)
    covering, bags = _covering(covering, n_bags)
    return 2 * (tau + (tau + covering / bags) / (1 + tau))


def useful_tau_same_data(n_neighbors: ArrayLike = np.inf) -> Value:
    """Largest tau at which `bound_same_data` does not exceed one: ``(sqrt(17 - 16/v) - 3) / 4``.

    Parameters
    ----------
    n_neighbors : array_like, default infinity
        Number v = |V_i| of neighbors, the bag itself included; at least 2.

    Returns
    -------
    float or ndarray
        0 for a pair of bags, at most 0.2808.

    Examples
    --------
    >>> round(float(useful_tau_same_data()), 4)
    0.2808
    """
    neighbors = check.real("n_neighbors", n_neighbors, at_least=2, finite=False)
    return (np.sqrt(17 - 16 / neighbors) - 3) / 4


def compatible(tau: ArrayLike, tau_prime: ArrayLike, *, printed: bool = False) -> NDArray[np.bool_]:
    """Whether Theorem 2 may be used with these radii of the two kinds of error.

    Parameters
    ----------
    tau, tau_prime : array_like
        Radii of A(tau), false positives, and B(tau'), false negatives.
    printed : bool, default False
        The paper prints ``tau' >= tau`` (th:onesample). That is the wrong way round: a pair of
        means with ``tau < Delta^2 / sigma-bar^2 < tau'`` must then be both rejected and accepted,
        so A or B happens with certainty. The condition is ``tau' <= tau``.

    Returns
    -------
    bool or ndarray of bool
        True where ``tau' <= tau``; with ``printed``, where ``tau' >= tau``.

    Examples
    --------
    >>> bool(compatible(tau=0.3, tau_prime=0.1)), bool(compatible(0.3, 0.1, printed=True))
    (True, False)
    """
    tau, tau_prime = check.tau(tau), check.tau(tau_prime, "tau_prime")
    return np.asarray(tau_prime >= tau if printed else tau_prime <= tau)[()]


def covering_radius(tau_prime: ArrayLike, sigma: ArrayLike = 1.0) -> Value:
    """Radius ``sqrt(tau') sigma-bar / 2`` at which both theorems cover the means (th:indep).

    Parameters
    ----------
    tau_prime : array_like
        Squared radius within which no neighbor is missed.
    sigma : array_like, default 1
        Length sigma-bar, whose square bounds the errors of all naive means.

    Returns
    -------
    float or ndarray
        Two means in one such ball are at most ``sqrt(tau') sigma-bar`` apart.

    Examples
    --------
    >>> float(covering_radius(tau_prime=0.25, sigma=2.0))
    0.5
    """
    return np.sqrt(check.tau(tau_prime, "tau_prime")) * check.size("sigma", sigma) / 2


def _neighbors(n_neighbors: ArrayLike) -> Floats:
    hint = "A bag is its own neighbor, so count it."
    return check.real("n_neighbors", n_neighbors, at_least=1, finite=False, hint=hint)


def _covering(covering: ArrayLike, n_bags: ArrayLike) -> tuple[Floats, Floats]:
    """Check a covering number against the number of bags."""
    bags = check.n_bags(n_bags)
    numbers = check.real("covering", covering, at_least=1)
    if np.any(numbers > bags):
        raise ValueError(
            f"covering must be at most n_bags; found {numbers.max():g} for {bags.min():g} bags. "
            "B balls always cover B means: pass min(covering, n_bags)."
        )
    return numbers, bags
