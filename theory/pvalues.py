"""P-values of pairs of bags: exact in the Gaussian setting, calibrated for kernels.

A small *similarity* p-value is evidence that two means are within a radius (it rejects "they are farther
apart"), which is how the paper's tests accept neighbors. A small *difference* p-value is evidence that they
are farther apart than a radius.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, chdtri, ndtr, ndtri

from . import _check as check
from . import laws
from ._check import Floats, Value

__all__ = [
    "chi_square_degrees",
    "gaussian_difference",
    "gaussian_similarity",
    "kernel_difference",
    "kernel_similarity",
    "kernel_threshold",
    "permutation",
]


def gaussian_similarity(
    sq_distance: ArrayLike, dim: ArrayLike, variance: ArrayLike, sq_radius: ArrayLike
) -> Value:
    """Exact p-value of "the means are at least a radius apart" (isotropic Gaussian setting).

    ``F(|naive_i - naive_j|^2 / v; d, radius^2 / v)`` with the noncentral chi-square distribution function F.

    Parameters
    ----------
    sq_distance : array_like
        Squared distance of two naive means.
    dim : array_like
        Dimension d, at least 1.
    variance : array_like
        Variance v of a coordinate of their difference: ``1/N_i + 1/N_j`` for unit noise. Bags may differ
        in size.
    sq_radius : array_like
        Squared radius, ``tau sigma-bar^2``.

    Returns
    -------
    float or ndarray
        Feed all pairs to ``statsmodels.stats.multitest.multipletests``: Bonferroni at alpha gives the neighbors of
        `stbmta.theory.gaussian.exact_zeta`.

    Examples
    --------
    >>> round(float(gaussian_similarity(sq_distance=28.0, dim=1000, variance=0.02, sq_radius=10.0)), 4)
    0.0546
    """
    s, dim, lam = _chi_square_arguments(sq_distance, dim, variance, sq_radius)
    return np.exp(laws.chi_square_logcdf(s, dim, lam))


def gaussian_difference(
    sq_distance: ArrayLike, dim: ArrayLike, variance: ArrayLike, sq_radius: ArrayLike = 0.0
) -> Value:
    """Exact p-value of "the means are within a radius" (isotropic Gaussian setting).

    Parameters
    ----------
    sq_distance, dim, variance, sq_radius : array_like
        As in `gaussian_similarity`; radius 0 tests equality of the means.

    Returns
    -------
    float or ndarray
        Uniform for means exactly a radius apart; too large, hence cautious, for closer ones.

    Examples
    --------
    >>> round(float(gaussian_difference(sq_distance=4.0, dim=2, variance=1.0)), 6)  # exp(-2)
    0.135335
    """
    s, dim, lam = _chi_square_arguments(sq_distance, dim, variance, sq_radius)
    return np.exp(laws.chi_square_logsf(s, dim, lam))


def chi_square_degrees(trace_squared: ArrayLike, trace_cubed: ArrayLike) -> Value:
    """Degrees of freedom ``tr(Sigma^2)^3 / tr(Sigma^3)^2`` that give a chi-square the skewness of U.

    Parameters
    ----------
    trace_squared, trace_cubed : array_like
        Estimates, best pooled over bags; see `stbmta.theory.dimension`.

    Returns
    -------
    float or ndarray
        Infinite, which means normal, where the estimate of tr(Sigma^3) is not positive.

    Examples
    --------
    >>> float(chi_square_degrees(10.0, 10.0))  # identity covariance in dimension 10
    10.0
    """
    square, cube = check.size("trace_squared", trace_squared), check.real("trace_cubed", trace_cubed)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(cube > 0, square**3 / cube**2, np.inf)[()]


def kernel_difference(u: ArrayLike, variance: ArrayLike, degrees: ArrayLike = np.inf) -> Value:
    """Approximate p-value of "the means are equal" for the unbiased squared distance U.

    ``U / sd`` is taken as ``(chi2_f - f) / sqrt(2 f)``, which matches three cumulants; f infinite is the normal law.

    Parameters
    ----------
    u : array_like
        Unbiased squared distance (squared MMD).
    variance : array_like
        Its variance for equal means, see `stbmta.theory.dimension.u_variance`; above 0.
    degrees : array_like, default infinity
        Degrees of freedom f, see `chi_square_degrees`.

    Returns
    -------
    float or ndarray
        Upper tail probability: small values speak for different means.

    Notes
    -----
    The normal law is too optimistic in the tail when the dimension tr(Sigma)^2 / tr(Sigma^2) is small.

    Examples
    --------
    >>> p_normal, p_skew = kernel_difference(3.0, variance=1.0), kernel_difference(3.0, 1.0, degrees=10)
    >>> round(float(p_normal), 4), round(float(p_skew), 4)
    (0.0013, 0.0093)
    """
    z = check.real("u", u) / np.sqrt(check.size("variance", variance, positive=True))
    f = check.size("degrees", degrees, positive=True, finite=False)
    finite = np.isfinite(f)
    safe = np.where(finite, f, 1.0)
    skewed = chdtrc(safe, np.maximum(safe + z * np.sqrt(2 * safe), 0.0))
    return np.where(finite, skewed, ndtr(-z))[()]


def kernel_similarity(u: ArrayLike, variance: ArrayLike, sq_radius: ArrayLike) -> Value:
    """Approximate p-value of "the means are at least a radius apart" for U, by the normal law.

    Parameters
    ----------
    u : array_like
        Unbiased squared distance.
    variance : array_like
        Its variance at that distance: that for equal means plus ``4 radius^2 (op_i / N + op_j / M)``.
    sq_radius : array_like
        Squared radius, ``tau sigma-bar^2``.

    Returns
    -------
    float or ndarray
        The lower tail of U is shorter than the normal one, so this is cautious.

    Examples
    --------
    >>> round(float(kernel_similarity(0.0, variance=1.0, sq_radius=1.959964)), 4)
    0.025
    """
    sd = np.sqrt(check.size("variance", variance, positive=True))
    return ndtr((check.real("u", u) - check.size("sq_radius", sq_radius)) / sd)


def kernel_threshold(level: ArrayLike, variance: ArrayLike, degrees: ArrayLike = np.inf) -> Value:
    """Value that U exceeds with a given probability when the means are equal.

    Parameters
    ----------
    level : array_like
        Probability in (0, 1) to miss a pair of equal means, such as alpha over the number of pairs.
    variance, degrees : array_like
        As in `kernel_difference`, which this inverts.

    Returns
    -------
    float or ndarray
        Keep a pair when U is at most this.

    Examples
    --------
    >>> round(float(kernel_threshold(0.05, variance=4.0)), 4)
    3.2897
    """
    level = check.real("level", level, above=0, below=1)
    sd = np.sqrt(check.size("variance", variance, positive=True))
    f = check.size("degrees", degrees, positive=True, finite=False)
    finite = np.isfinite(f)
    safe = np.where(finite, f, 1.0)
    skewed = (chdtri(safe, level) - safe) / np.sqrt(2 * safe)
    return sd * np.where(finite, skewed, -ndtri(level))


def permutation(observed: ArrayLike, resampled: ArrayLike, *, scale: ArrayLike = 0.0) -> Value:
    """P-value ``(1 + #{T* >= T}) / (1 + R)`` of a permutation test; ties count, and it is never 0.

    Parameters
    ----------
    observed : array_like, shape (...)
        The statistics T; large values speak against the hypothesis.
    resampled : array_like, shape (..., R)
        The same statistic on R permuted data sets.
    scale : array_like, shape (...), default 0
        Size of the terms whose difference T is, if they cancel: rounding is relative to them.

    Returns
    -------
    float or ndarray, shape (...)
        A resampled value within 100 roundings of T, or of the scale, counts as a tie.

    Examples
    --------
    >>> float(permutation(2.0, [1.0, 2.0, 3.0]))
    0.75
    """
    t, draws = check.real("observed", observed), check.real("resampled", resampled)
    if draws.ndim == 0 or draws.shape[-1] == 0:
        raise ValueError("resampled must hold at least one permuted statistic along its last axis.")
    tolerance = 100 * np.finfo(float).eps * np.maximum(np.abs(t), check.size("scale", scale))
    reached = draws >= (t - tolerance)[..., np.newaxis]
    return (1 + reached.sum(axis=-1)) / (1 + draws.shape[-1])


def _chi_square_arguments(
    sq_distance: ArrayLike, dim: ArrayLike, variance: ArrayLike, sq_radius: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    v = check.size("variance", variance, positive=True)
    scaled = check.size("sq_distance", sq_distance) / v
    return scaled, check.dim(dim), check.size("sq_radius", sq_radius) / v
