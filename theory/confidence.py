"""Simultaneous confidence bounds for the distances of all pairs of means (Gaussian setting)."""

import numpy as np
from numpy.typing import ArrayLike

from . import _check as check
from . import laws
from ._check import Floats, Value
from ._levels import Correction, Family, pair_log_level
from ._roots import Indices, positive_roots

__all__ = ["lower_tau", "upper_tau"]


_AT_ONCE = 4096  # the laws hold some hundred numbers for each


def upper_tau(
    zeta: ArrayLike,
    n_bags: ArrayLike,
    dim: ArrayLike,
    alpha: ArrayLike,
    *,
    family: Family = "all",
    correction: Correction = "bonferroni",
) -> Value:
    """Upper confidence bound tau+ of ``Delta^2 / sigma-bar^2`` for a pair observed at zeta.

    Parameters
    ----------
    zeta : array_like
        Observed squared distance of the naive means in units of sigma-bar^2 = d / N.
    n_bags, dim, alpha : array_like
        As in `exact_zeta`.
    family : {"all", "task"}
        Control all pairs at once, or only the pairs of one bag.
    correction : {"bonferroni", "sidak"}
        See `pair_log_level`.

    Returns
    -------
    float or ndarray
        Largest tau with ``F(zeta d / 2; d, tau d / 2) >= alpha / M``, or 0 if there is none. With
        probability 1 - alpha it is above the truth for *all* pairs at once, so every threshold may
        be used, chosen from the data or not. It inverts `exact_zeta`.

    Examples
    --------
    >>> round(float(upper_tau(zeta=2.0596, n_bags=100, dim=1000, alpha=0.05)), 3)
    0.5
    """
    log_p = pair_log_level(n_bags, alpha, family=family, correction=correction)
    return _confidence_tau(check.size("zeta", zeta), check.dim(dim), log_p, False)[()]


def lower_tau(
    zeta: ArrayLike,
    n_bags: ArrayLike,
    dim: ArrayLike,
    alpha: ArrayLike,
    *,
    family: Family = "all",
    correction: Correction = "bonferroni",
) -> Value:
    """Lower confidence bound of ``Delta^2 / sigma-bar^2`` for a pair observed at zeta.

    Parameters
    ----------
    zeta, n_bags, dim, alpha : array_like
        As in `upper_tau`.
    family : {"all", "task"}
        Control all pairs at once, or only the pairs of one bag.
    correction : {"bonferroni", "sidak"}
        See `pair_log_level`.

    Returns
    -------
    float or ndarray
        Smallest tau with ``P(S > zeta d / 2) >= alpha / M``; 0 if the pair may have equal means. With
        probability 1 - alpha it is below the truth for all pairs at once. It inverts
        `exact_zeta_power`.

    Examples
    --------
    >>> round(float(lower_tau(zeta=2.4044, n_bags=100, dim=1000, alpha=0.05)), 4)
    0.0
    """
    log_p = pair_log_level(n_bags, alpha, family=family, correction=correction)
    return _confidence_tau(check.size("zeta", zeta), check.dim(dim), log_p, True)[()]


def _confidence_tau(zeta: Value, dim: Value, log_p: Value, upper: bool) -> Floats:
    """Where the tail beyond an observed zeta has the log-probability log_p, as a function of tau."""
    zeta, dim, log_p = np.broadcast_arrays(zeta, dim, log_p)
    tail = laws.chi_square_logsf if upper else laws.chi_square_logcdf
    tau = np.zeros(zeta.shape)
    positive = np.flatnonzero((tail(zeta * dim / 2, dim) >= log_p) != upper)
    for start in range(0, len(positive), _AT_ONCE):
        some = positive[start : start + _AT_ONCE]
        tau.flat[some] = _positive_tau(zeta.flat[some], dim.flat[some], log_p.flat[some], upper)
    return tau


def _positive_tau(zeta: Floats, dim: Floats, log_p: Floats, upper: bool) -> Floats:
    tail = laws.chi_square_logsf if upper else laws.chi_square_logcdf

    def excess(k: Indices, tau: Floats) -> Floats:
        return np.asarray(tail(zeta[k] * dim[k] / 2, dim[k], tau * dim[k] / 2)) - log_p[k]

    guess = np.abs(zeta - 2) + 1 / np.sqrt(dim)
    return positive_roots(excess, guess)
