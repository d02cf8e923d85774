"""The deviation lengths q(t) and q_Sigma(t) of means of bounded variables."""

import numpy as np
from numpy.typing import ArrayLike

from . import _check as check
from ._check import Floats, Value
from ._quadratic import level_of_root_sum

__all__ = ["q", "q_bousquet", "q_level", "q_sigma", "q_sigma_level"]


def q(t: ArrayLike, d_eff: ArrayLike, L: ArrayLike, n: ArrayLike, sigma: ArrayLike) -> Value:
    """Deviation of the difference of two means (eq:defq-kernel).

    ``2 sqrt((4 s^2 / d_eff + 16 sqrt(2) L s / N) t) + 2 L t / N`` with s = sigma-bar.

    Parameters
    ----------
    t : array_like
        Level, at least 0.
    d_eff, L, n, sigma : array_like
        As in `r`.

    Returns
    -------
    float or ndarray
        A length, in the units of sigma.

    Examples
    --------
    >>> float(q(t=4.0, d_eff=100.0, L=0.0, n=50, sigma=1.0))
    0.8
    """
    root_factor, factor = _q_factors(d_eff, L, n, sigma)
    t = check.level(t)
    return root_factor * np.sqrt(t) + factor * t


def q_level(value: ArrayLike, d_eff: ArrayLike, L: ArrayLike, n: ArrayLike, sigma: ArrayLike) -> Value:
    """Level t at which `q` has a given value.

    Parameters
    ----------
    value : array_like
        At least 0.
    d_eff, L, n, sigma : array_like
        As in `r`.

    Returns
    -------
    float or ndarray
        The level t; infinite if q is 0 at every level and the value is not.

    Examples
    --------
    >>> round(float(q_level(0.8, d_eff=100.0, L=0.0, n=50, sigma=1.0)), 12)
    4.0
    """
    value = check.size("value", value, finite=False)
    return level_of_root_sum(value, *_q_factors(d_eff, L, n, sigma))


def q_bousquet(t: ArrayLike, d_eff: ArrayLike, L: ArrayLike, n: ArrayLike, sigma: ArrayLike) -> Value:
    """Deviation of the difference of two means by Bousquet's inequality, always below sigma-bar `r`.

    ``sqrt((4 s^2 / d_eff + 16 sqrt(2) L s / N) t) + 4 L t / (3 N)``: the summands are the N independent
    pairs, centered, hence bounded by 4 L / N. This is what makes prop:testkernel true as printed.

    Parameters
    ----------
    t, d_eff, L, n, sigma : array_like
        As in `q`.

    Returns
    -------
    float or ndarray
        At most 0.952 sigma-bar r(t).

    Examples
    --------
    >>> float(q_bousquet(t=4.0, d_eff=100.0, L=0.0, n=50, sigma=1.0))
    0.4
    """
    root_factor, _ = _q_factors(d_eff, L, n, sigma)
    t = check.level(t)
    return root_factor / 2 * np.sqrt(t) + 4 / 3 * check.size("L", L) * t / check.bag_size(n)


def q_sigma(t: ArrayLike, op_norm: ArrayLike, trace: ArrayLike, L: ArrayLike, n: ArrayLike) -> Value:
    """Deviation of one mean (eq:defqsigma-kernel).

    ``2 sqrt((2 |Sigma|_op / N + 16 L sqrt(tr Sigma) / N^(3/2)) t) + 2 L t / N``.

    Parameters
    ----------
    t : array_like
        Level, at least 0.
    op_norm, trace : array_like
        Largest eigenvalue and trace of the covariance.
    L, n : array_like
        Bound on the norm of a point, and bag size N.

    Returns
    -------
    float or ndarray
        A length, in the units of L.

    Notes
    -----
    The proof bounds a centered point by L; it can be as long as 2 L. The formula is true all the same, by
    Bousquet's and Klein and Rio's inequalities with 2 L, so it stays as printed.

    Examples
    --------
    >>> float(q_sigma(t=1.0, op_norm=2.0, trace=0.0, L=0.0, n=4))
    2.0
    """
    root_factor, factor = _q_sigma_factors(op_norm, trace, L, n)
    t = check.level(t)
    return root_factor * np.sqrt(t) + factor * t


def q_sigma_level(
    value: ArrayLike, op_norm: ArrayLike, trace: ArrayLike, L: ArrayLike, n: ArrayLike
) -> Value:
    """Level t at which `q_sigma` has a given value.

    Parameters
    ----------
    value : array_like
        At least 0.
    op_norm, trace, L, n : array_like
        As in `q_sigma`.

    Returns
    -------
    float or ndarray
        The level t; infinite if q_Sigma is 0 at every level and the value is not.

    Examples
    --------
    >>> float(q_sigma_level(2.0, op_norm=2.0, trace=0.0, L=0.0, n=4))
    1.0
    """
    value = check.size("value", value, finite=False)
    return level_of_root_sum(value, *_q_sigma_factors(op_norm, trace, L, n))


def inverse_ratios(d_eff: ArrayLike, L: ArrayLike, n: ArrayLike, sigma: ArrayLike) -> tuple[Floats, Floats]:
    """1 / d_eff and L / (N sigma-bar)."""
    inverse_dim = 1 / check.size("d_eff", d_eff, positive=True, finite=False)
    crowding = check.size("L", L) / (check.bag_size(n) * check.size("sigma", sigma, positive=True))
    return inverse_dim, crowding


def _q_factors(d_eff: ArrayLike, L: ArrayLike, n: ArrayLike, sigma: ArrayLike) -> tuple[Floats, Floats]:
    inverse_dim, crowding = inverse_ratios(d_eff, L, n, sigma)
    sigma = np.asarray(sigma, float)
    root = 2 * np.sqrt(4 * inverse_dim + 16 * np.sqrt(2) * crowding)
    return sigma * root, 2 * sigma * crowding


def _q_sigma_factors(
    op_norm: ArrayLike, trace: ArrayLike, L: ArrayLike, n: ArrayLike
) -> tuple[Floats, Floats]:
    size, bound = check.bag_size(n), check.size("L", L)
    spread = 2 * check.size("op_norm", op_norm) / size
    spread = spread + 16 * bound * np.sqrt(check.size("trace", trace)) / size**1.5
    return 2 * np.sqrt(spread), 2 * bound / size
