"""Sharper than the paper: the one-sample theorem without its factor 2, and weights for unequal bags.

The sharp theorem holds on four events, each with its own exact radius: distances of neighbors at most tau, inner
products of errors at most c, squared errors at most 1 + c', and products of an error with a difference of means at
most ell, all in units of sigma-bar^2.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri_exp

from . import _check as check
from . import exact
from ._check import Floats, Value
from ._table import Tabular

__all__ = ["WaterFilling", "bound", "cross_term", "gamma", "gaussian_bound", "risk", "waterfill"]


def cross_term(tau: ArrayLike, n_bags: ArrayLike, dim: ArrayLike, alpha: ArrayLike) -> Value:
    """Bound ell on ``|<e_j, mu_k - mu_i>| / sigma-bar^2`` for all triples with ``|mu_k - mu_i|^2 <= tau sigma-bar^2``.

    ``sqrt(tau / d) z``, z being the normal quantile of ``alpha / (2 B M)``, M = B (B - 1) / 2: the product is
    Gaussian with standard deviation ``|mu_k - mu_i| / sqrt(N)``.

    Parameters
    ----------
    tau : array_like
        Squared radius of the neighbors.
    n_bags, dim, alpha : array_like
        Number of bags B, dimension d, and probability that any triple exceeds its bound.

    Returns
    -------
    float or ndarray
        In units of sigma-bar^2.

    Examples
    --------
    >>> round(float(cross_term(tau=0.12, n_bags=100, dim=1e5, alpha=0.0125)), 5)
    0.0061
    """
    tau, dim = check.tau(tau), check.dim(dim)
    log_p = exact.pair_log_level(n_bags, alpha) - np.log(2 * check.n_bags(n_bags))
    return -ndtri_exp(log_p) * np.sqrt(tau / dim)


def risk(
    gamma: ArrayLike,
    tau: ArrayLike,
    c: ArrayLike,
    c_prime: ArrayLike,
    ell: ArrayLike,
    n_neighbors: ArrayLike,
) -> Value:
    """Sharp bound on the squared error for any gamma, on the four events.

    ``(1 - 2 e u + e^2 u) D + c + e^2 u^2 tau + 2 e u ell`` with ``e = 1 - gamma``, ``u = 1 - 1/|V_i|``,
    ``D = 1 + c' - c``.

    Parameters
    ----------
    gamma : array_like
        In [0, 1].
    tau, c, c_prime, ell : array_like
        Radii of the four events.
    n_neighbors : array_like
        Number |V_i| of neighbors, the bag itself included.

    Returns
    -------
    float or ndarray
        Factor of sigma-bar^2.

    Notes
    -----
    The weights w are convex with ``sum w^2 = 1 - 2 e u + e^2 u``. The noise part is at most
    ``(1 + c') sum w^2 + c (1 - sum w^2)``, the bias ``(e u)^2 tau``, and twice their product ``2 e u ell``.
    Nothing is lost: vectors exist that reach it.

    Examples
    --------
    >>> float(risk(gamma=0.0, tau=0.0, c=0.0, c_prime=0.0, ell=0.0, n_neighbors=4))
    0.25
    """
    gamma = check.real("gamma", gamma, at_least=0, at_most=1)
    shrink = 1 - gamma
    tau, c, spread, ell, share = _events(tau, c, c_prime, ell, n_neighbors)
    u = 1 - share
    squares = share + u * gamma**2  # 1 - 2 e u + e^2 u without subtraction
    return squares * spread + c + (shrink * u) ** 2 * tau + 2 * shrink * u * ell


def gamma(tau: ArrayLike, c: ArrayLike, c_prime: ArrayLike, ell: ArrayLike, n_neighbors: ArrayLike) -> Value:
    """Shrinkage that minimizes `risk`: ``1 - (D - ell)_+ / (D + u tau)``.

    Parameters
    ----------
    tau, c, c_prime, ell, n_neighbors : array_like
        As in `risk`.

    Returns
    -------
    float or ndarray
        Weight of the naive mean itself, in [0, 1]; it is 1 where ell reaches D.

    Examples
    --------
    >>> float(gamma(tau=1.0, c=0.0, c_prime=0.0, ell=0.0, n_neighbors=2))  # 1 - 1 / 1.5
    0.3333333333333333
    """
    tau, _, spread, ell, share = _events(tau, c, c_prime, ell, n_neighbors)
    bias = (1 - share) * tau
    return np.minimum((ell + bias) / (spread + bias), 1.0)


def bound(tau: ArrayLike, c: ArrayLike, c_prime: ArrayLike, ell: ArrayLike, n_neighbors: ArrayLike) -> Value:
    """Sharp one-sample bound: `risk` at the best `gamma`.

    Parameters
    ----------
    tau, c, c_prime, ell, n_neighbors : array_like
        As in `risk`.

    Returns
    -------
    float or ndarray
        Factor of sigma-bar^2, at most 1 + c' (no shrinkage at all).

    Examples
    --------
    >>> round(float(bound(tau=0.1, c=0.01, c_prime=0.01, ell=0.01, n_neighbors=50)), 4)
    0.1352
    """
    return risk(gamma(tau, c, c_prime, ell, n_neighbors), tau, c, c_prime, ell, n_neighbors)


def gaussian_bound(
    n_neighbors: ArrayLike, n_bags: ArrayLike, dim: ArrayLike, alpha: ArrayLike, tau: ArrayLike | None = None
) -> Value:
    """Sharp bound in the Gaussian setting with the exact radius of each event.

    Parameters
    ----------
    n_neighbors : array_like
        Number |V_i| of neighbors, the bag itself included.
    n_bags, dim : array_like
        Number of bags B, and dimension d.
    alpha : array_like
        Total error probability, a quarter of it for each of A, C, C' and the cross terms.
    tau : array_like, optional
        Squared radius of the neighbors, such as `stbmta.theory.gaussian.upper_tau` of the largest accepted
        distance at a quarter of alpha. By default the smallest at which neighbors within tau / 3 are also found,
        with a quarter of alpha for a miss; the bound itself does not need that.

    Returns
    -------
    float or ndarray
        Factor of sigma-bar^2 for the squared error of every bag with that many neighbors.

    Examples
    --------
    >>> round(float(gaussian_bound(n_neighbors=100, n_bags=100, dim=1e5, alpha=0.05)), 3)
    0.147
    """
    share = check.alpha(alpha) / 4
    radius = exact.exact_tau(n_bags, dim, share) if tau is None else check.tau(tau)
    c, c_prime = exact.exact_inner(n_bags, dim, share), exact.exact_norm(n_bags, dim, share)
    return bound(radius, c, c_prime, cross_term(radius, n_bags, dim, share), n_neighbors)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaterFilling(Tabular):
    """Weights on the simplex with the smallest bound on the error, and that bound.

    Attributes
    ----------
    weights : ndarray
        One for each bag.
    bound : float
        ``sum_j w_j^2 s_j^2 + (sum_j w_j D_j)^2`` at these weights.
    level : float
        The water level theta; bags at distance theta or more get no weight.
    """

    weights: Floats
    bound: float
    level: float

    def _columns(self) -> dict[str, list[float]]:
        used = int(np.count_nonzero(self.weights))
        return {"bags used": [used], "water level": [self.level], "bound": [self.bound]}


def waterfill(distances: ArrayLike, variances: ArrayLike) -> WaterFilling:
    """Minimize ``sum_j w_j^2 s_j^2 + (sum_j w_j D_j)^2`` over weights on the simplex.

    Theorem 1 for unequal bags: a bound on the error of ``sum_j w_j naive_j`` as an estimate of mu_i.

    Parameters
    ----------
    distances : array_like, shape (B,)
        D_j, upper bounds of ``|mu_j - mu_i|``; 0 for the bag itself.
    variances : array_like, shape (B,)
        Errors s_j^2 of the naive means, above 0.

    Returns
    -------
    WaterFilling
        Weights proportional to ``(theta - D_j)_+ / s_j^2``, theta the root of
        ``sum_j D_j (theta - D_j)_+ / s_j^2 = 1``. The bound is never above s_i^2. With equal variances and distances
        ``sqrt(tau) s`` it is eq:res-indep-single. Time O(B log B).

    Examples
    --------
    >>> w = waterfill([0.0, 1.0, 1.0], [1.0, 1.0, 1.0])
    >>> w.weights, round(w.bound, 6)  # Theorem 1 with tau = 1, two others: 3/5
    (array([0.6, 0.2, 0.2]), 0.6)
    """
    d, s2 = check.size("distances", distances), check.size("variances", variances, positive=True)
    if d.ndim != 1 or d.shape != s2.shape or not np.any(d == 0):
        raise ValueError(
            "distances and variances must be vectors of one length with distance 0 at the bag itself; "
            f"found shapes {d.shape} and {s2.shape} and a smallest distance of {d.min(initial=np.inf):g}."
        )
    order = np.argsort(d, kind="stable")
    near, precision = d[order], 1 / s2[order]
    first, second = np.cumsum(near * precision), np.cumsum(near**2 * precision)
    with np.errstate(divide="ignore"):
        levels = np.where(first > 0, (1 + second) / first, np.inf)  # if exactly the nearest k were used
    # The right k is the first whose level does not reach the next bag.
    reached = levels <= np.append(near[1:], np.inf)
    theta = float(levels[np.argmax(reached)])
    heights = precision if np.isinf(theta) else np.maximum(theta - near, 0.0) * precision
    weights = np.empty_like(d)
    weights[order] = heights / heights.sum()
    value = float((weights**2 * s2).sum() + (weights @ d) ** 2)
    return WaterFilling(weights=weights, bound=value, level=theta)


def _events(
    tau: ArrayLike, c: ArrayLike, c_prime: ArrayLike, ell: ArrayLike, n_neighbors: ArrayLike
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Checked radii: tau, c, D = 1 + c' - c, ell, and 1/|V|."""
    inner = check.size("c", c)
    spread = 1 + check.size("c_prime", c_prime) - inner
    if np.any(spread <= 0):
        raise ValueError(
            f"c must be below 1 + c_prime; found c = {inner.max():g}. No bound is possible then."
        )
    neighbors = check.real("n_neighbors", n_neighbors, at_least=1, finite=False)
    return check.tau(tau), inner, spread, check.size("ell", ell), 1 / neighbors
