"""Deviation bounds for Gaussian vectors: each as a threshold at level t, and inverted.

``something(t, ...)`` is a value that the quantity crosses with probability at most ``exp(-t)``;
``something_level(value, ...)`` is the level t of a given value.
"""

import numpy as np
from numpy.typing import ArrayLike

from . import _check as check
from ._check import Floats, Value
from ._quadratic import level_of_root_sum

__all__ = [
    "gaussian_inner_upper",
    "gaussian_inner_upper_level",
    "gaussian_norm_lower",
    "gaussian_norm_lower_level",
    "gaussian_norm_upper",
    "gaussian_norm_upper_level",
    "gaussian_sq_norm_lower",
    "gaussian_sq_norm_lower_level",
    "gaussian_sq_norm_upper",
    "gaussian_sq_norm_upper_level",
    "pair_distance_lower",
    "pair_distance_lower_level",
    "pair_distance_upper",
    "pair_distance_upper_level",
]


def gaussian_norm_upper(
    t: ArrayLike, dim: ArrayLike, mean_norm: ArrayLike = 0.0, scale: ArrayLike = 1.0
) -> Value:
    """Norm that ``|Z|`` exceeds with probability at most exp(-t) (eq:updev).

    ``sqrt(|mu|^2 + s^2 d) + s sqrt(2 t)`` for Z from N(mu, s^2 I_d).

    Parameters
    ----------
    t : array_like
        Level, at least 0.
    dim : array_like
        Dimension d, at least 1.
    mean_norm, scale : array_like
        Norm |mu| of the mean, and standard deviation s of a coordinate.

    Returns
    -------
    float or ndarray
        A length, in the units of s.

    Examples
    --------
    >>> float(gaussian_norm_upper(t=2.0, dim=9))
    5.0
    """
    t, (dim, mu, scale) = check.level(t), _law(dim, mean_norm, scale)
    return np.sqrt(mu**2 + scale**2 * dim) + scale * np.sqrt(2 * t)


def gaussian_norm_upper_level(
    value: ArrayLike, dim: ArrayLike, mean_norm: ArrayLike = 0.0, scale: ArrayLike = 1.0
) -> Value:
    """Level t of a value of the norm, the inverse of `gaussian_norm_upper`.

    Parameters
    ----------
    value : array_like
        A value of |Z|.
    dim, mean_norm, scale : array_like
        As in `gaussian_norm_upper`.

    Returns
    -------
    float or ndarray
        0 for values below the center.

    Examples
    --------
    >>> float(gaussian_norm_upper_level(5.0, dim=9))
    2.0
    """
    dim, mu, scale = _law(dim, mean_norm, scale)
    gap = check.size("value", value) - np.sqrt(mu**2 + scale**2 * dim)
    return (np.maximum(gap, 0.0) / scale) ** 2 / 2


def gaussian_norm_lower(
    t: ArrayLike,
    dim: ArrayLike,
    mean_norm: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    *,
    sharp: bool = False,
) -> Value:
    """Norm that ``|Z|`` stays below with probability at most exp(-t) (eq:lowdev).

    ``sqrt(|mu|^2 + s^2 d) - 2 s sqrt(2 t)``.

    Parameters
    ----------
    t, dim, mean_norm, scale : array_like
        As in `gaussian_norm_upper`.
    sharp : bool, default False
        Give ``sqrt(|mu|^2 + s^2 (d - 1)) - s sqrt(2 t)`` instead: Gaussian concentration of a
        1-Lipschitz function around its mean, whose variance is at most s^2.

    Returns
    -------
    float or ndarray
        May be negative, and then says nothing.

    Examples
    --------
    >>> float(gaussian_norm_lower(t=2.0, dim=25)), float(gaussian_norm_lower(2.0, 26, sharp=True))
    (1.0, 3.0)
    """
    t, (dim, mu, scale) = check.level(t), _law(dim, mean_norm, scale)
    if sharp:
        return np.sqrt(mu**2 + scale**2 * (dim - 1)) - scale * np.sqrt(2 * t)
    return np.sqrt(mu**2 + scale**2 * dim) - 2 * scale * np.sqrt(2 * t)


def gaussian_norm_lower_level(
    value: ArrayLike,
    dim: ArrayLike,
    mean_norm: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    *,
    sharp: bool = False,
) -> Value:
    """Level t of a value of the norm, the inverse of `gaussian_norm_lower`.

    Parameters
    ----------
    value : array_like
        A value of |Z|.
    dim, mean_norm, scale : array_like
        As in `gaussian_norm_lower`.
    sharp : bool, default False
        As in `gaussian_norm_lower`.

    Returns
    -------
    float or ndarray
        0 for values above the center.

    Examples
    --------
    >>> float(gaussian_norm_lower_level(1.0, dim=25))
    2.0
    """
    dim, mu, scale = _law(dim, mean_norm, scale)
    center = np.sqrt(mu**2 + scale**2 * (dim - 1 if sharp else dim))
    gap = np.maximum(center - check.size("value", value), 0.0) / scale
    return gap**2 / (2 if sharp else 8)


def gaussian_sq_norm_upper(
    t: ArrayLike, dim: ArrayLike, mean_norm: ArrayLike = 0.0, scale: ArrayLike = 1.0
) -> Value:
    """Squared norm exceeded with probability at most exp(-t) (Birge's lemma, proof of prop:chisqdev).

    ``|mu|^2 + s^2 d + 2 s sqrt((2 |mu|^2 + s^2 d) t) + 2 s^2 t``.

    Parameters
    ----------
    t, dim, mean_norm, scale : array_like
        As in `gaussian_norm_upper`.

    Returns
    -------
    float or ndarray
        At most the square of `gaussian_norm_upper`.

    Examples
    --------
    >>> float(gaussian_sq_norm_upper(t=1.0, dim=16))
    26.0
    """
    t, (dim, mu, scale) = check.level(t), _law(dim, mean_norm, scale)
    spread = scale * np.sqrt(2 * mu**2 + scale**2 * dim)
    return mu**2 + scale**2 * dim + 2 * spread * np.sqrt(t) + 2 * scale**2 * t


def gaussian_sq_norm_upper_level(
    value: ArrayLike, dim: ArrayLike, mean_norm: ArrayLike = 0.0, scale: ArrayLike = 1.0
) -> Value:
    """Level t of a value of the squared norm, the inverse of `gaussian_sq_norm_upper`.

    Parameters
    ----------
    value : array_like
        A value of |Z|^2.
    dim, mean_norm, scale : array_like
        As in `gaussian_norm_upper`.

    Returns
    -------
    float or ndarray
        The level t; 0 for values below the expectation |mu|^2 + s^2 d.

    Examples
    --------
    >>> float(gaussian_sq_norm_upper_level(26.0, dim=16))
    1.0
    """
    dim, mu, scale = _law(dim, mean_norm, scale)
    gap = check.size("value", value) - mu**2 - scale**2 * dim
    spread = scale * np.sqrt(2 * mu**2 + scale**2 * dim)
    return level_of_root_sum(gap, 2 * spread, 2 * scale**2)


def gaussian_sq_norm_lower(
    t: ArrayLike, dim: ArrayLike, mean_norm: ArrayLike = 0.0, scale: ArrayLike = 1.0
) -> Value:
    """Squared norm not reached with probability at most exp(-t) (Birge's lemma, prop:chisqdev).

    ``|mu|^2 + s^2 d - 2 s sqrt((2 |mu|^2 + s^2 d) t)``.

    Parameters
    ----------
    t, dim, mean_norm, scale : array_like
        As in `gaussian_norm_upper`.

    Returns
    -------
    float or ndarray
        May be negative, and then says nothing.

    Examples
    --------
    >>> float(gaussian_sq_norm_lower(t=1.0, dim=16))
    8.0
    """
    t, (dim, mu, scale) = check.level(t), _law(dim, mean_norm, scale)
    spread = scale * np.sqrt(2 * mu**2 + scale**2 * dim)
    return mu**2 + scale**2 * dim - 2 * spread * np.sqrt(t)


def gaussian_sq_norm_lower_level(
    value: ArrayLike, dim: ArrayLike, mean_norm: ArrayLike = 0.0, scale: ArrayLike = 1.0
) -> Value:
    """Level t of a value of the squared norm, the inverse of `gaussian_sq_norm_lower`.

    Parameters
    ----------
    value : array_like
        A value of |Z|^2.
    dim, mean_norm, scale : array_like
        As in `gaussian_norm_upper`.

    Returns
    -------
    float or ndarray
        The level t; 0 for values above the expectation |mu|^2 + s^2 d.

    Examples
    --------
    >>> float(gaussian_sq_norm_lower_level(8.0, dim=16))
    1.0
    """
    dim, mu, scale = _law(dim, mean_norm, scale)
    gap = np.maximum(mu**2 + scale**2 * dim - check.size("value", value), 0.0)
    return gap**2 / (4 * scale**2 * (2 * mu**2 + scale**2 * dim))


def gaussian_inner_upper(t: ArrayLike, dim: ArrayLike, scale: ArrayLike = 1.0) -> Value:
    """Inner product of two Gaussian vectors exceeded with probability at most exp(-t) (eq:devscprod).

    ``s^2 (sqrt(2 d t) + t)`` for independent vectors from N(0, s^2 I_d) (prop:scalarproddev).

    Parameters
    ----------
    t, dim, scale : array_like
        As in `gaussian_norm_upper`.

    Returns
    -------
    float or ndarray
        One-sided; both signs cost a factor 2 in the probability.

    Examples
    --------
    >>> float(gaussian_inner_upper(t=2.0, dim=4))
    6.0
    """
    t, dim, scale = check.level(t), check.dim(dim), check.size("scale", scale, positive=True)
    return scale**2 * (np.sqrt(2 * dim * t) + t)


def gaussian_inner_upper_level(value: ArrayLike, dim: ArrayLike, scale: ArrayLike = 1.0) -> Value:
    """Level t of a value of the inner product, the inverse of `gaussian_inner_upper`.

    Parameters
    ----------
    value : array_like
        A value of the inner product, at least 0.
    dim, scale : array_like
        As in `gaussian_norm_upper`.

    Returns
    -------
    float or ndarray
        The level t, for one sign of the inner product.

    Examples
    --------
    >>> round(float(gaussian_inner_upper_level(6.0, dim=4)), 12)
    2.0
    """
    dim, scale = check.dim(dim), check.size("scale", scale, positive=True)
    return level_of_root_sum(check.size("value", value) / scale**2, np.sqrt(2 * dim), 1.0)


def pair_distance_upper(t: ArrayLike, tau: ArrayLike, dim: ArrayLike) -> Value:
    """Distance of two naive means that is exceeded with probability at most exp(-t) (eq:gausbnd).

    ``sqrt(2 + tau) + 2 sqrt(t / d)`` in units of sigma-bar, when the true means are
    ``sqrt(tau) sigma-bar`` apart.

    Parameters
    ----------
    t : array_like
        Level, at least 0.
    tau : array_like
        Squared distance of the true means in units of sigma-bar^2.
    dim : array_like
        Dimension d, at least 1.

    Returns
    -------
    float or ndarray
        Distance in units of sigma-bar.

    Examples
    --------
    >>> float(pair_distance_upper(t=1.0, tau=2.0, dim=4))
    3.0
    """
    return np.sqrt(2 + check.tau(tau)) + 2 * np.sqrt(check.level(t) / check.dim(dim))


def pair_distance_upper_level(value: ArrayLike, tau: ArrayLike, dim: ArrayLike) -> Value:
    """Level t of an observed distance, the inverse of `pair_distance_upper`.

    Parameters
    ----------
    value : array_like
        Distance of two naive means in units of sigma-bar.
    tau, dim : array_like
        As in `pair_distance_upper`.

    Returns
    -------
    float or ndarray
        The level t; 0 for distances below sqrt(2 + tau).

    Examples
    --------
    >>> float(pair_distance_upper_level(3.0, tau=2.0, dim=4))
    1.0
    """
    gap = check.size("value", value) - np.sqrt(2 + check.tau(tau))
    return check.dim(dim) * (np.maximum(gap, 0.0) / 2) ** 2


def pair_distance_lower(t: ArrayLike, tau: ArrayLike, dim: ArrayLike) -> Value:
    """Distance of two naive means that is not reached with probability at most exp(-t) (eq:gausbnd).

    ``sqrt(2 + tau) - 4 sqrt(t / d)`` in units of sigma-bar.

    Parameters
    ----------
    t, tau, dim : array_like
        As in `pair_distance_upper`.

    Returns
    -------
    float or ndarray
        Distance in units of sigma-bar; may be negative, and then says nothing.

    Examples
    --------
    >>> float(pair_distance_lower(t=1.0, tau=2.0, dim=16))
    1.0
    """
    return np.sqrt(2 + check.tau(tau)) - 4 * np.sqrt(check.level(t) / check.dim(dim))


def pair_distance_lower_level(value: ArrayLike, tau: ArrayLike, dim: ArrayLike) -> Value:
    """Level t of an observed distance, the inverse of `pair_distance_lower`.

    Parameters
    ----------
    value : array_like
        Distance of two naive means in units of sigma-bar.
    tau, dim : array_like
        As in `pair_distance_upper`.

    Returns
    -------
    float or ndarray
        The level t; 0 for distances above sqrt(2 + tau).

    Examples
    --------
    >>> float(pair_distance_lower_level(1.0, tau=2.0, dim=16))
    1.0
    """
    gap = np.sqrt(2 + check.tau(tau)) - check.size("value", value)
    return check.dim(dim) * (np.maximum(gap, 0.0) / 4) ** 2


def _law(dim: ArrayLike, mean_norm: ArrayLike, scale: ArrayLike) -> tuple[Floats, Floats, Floats]:
    return check.dim(dim), check.size("mean_norm", mean_norm), check.size("scale", scale, positive=True)
