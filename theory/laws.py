"""Exact tail probabilities of the two statistics of the Gaussian setting, in logarithms.

The squared distance of two naive means is noncentral chi-square; the inner product of two errors is
a symmetric variance-gamma variable. Both have a closed cumulant generating function K, so their tails
are one contour integral,

    P(X > x) = 1/(2 pi i)  integral of  exp(K(s) - s x) / s  ds,

taken along a parabola through the saddlepoint K'(s) = x, where the integrand falls off like a Gaussian.
After a sinh substitution the midpoint rule converges exponentially, and factoring out ``exp(K(s) - s x)``
keeps the relative accuracy however small the probability is. `scipy.stats` loses digits from dimension
1e9 on and underflows below 1e-308; this does neither.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, ndtri_exp

from . import _check as check
from ._check import Floats, Value

__all__ = [
    "chi_square_logcdf",
    "chi_square_logsf",
    "chi_square_quantile",
    "inner_product_isf",
    "inner_product_logsf",
]

Complex = NDArray[np.complex128]
Array = TypeVar("Array", Floats, Complex)

BLOCK = 256  # values that are integrated together: their nodes stay in the cache, and large arrays in memory
STEP = 0.08  # of the midpoint rule
NODES = np.sinh(STEP * (np.arange(180) + 0.5))  # dense near the saddlepoint, sparse far out
WEIGHTS = STEP * np.sqrt(1 + NODES**2)
OFF_POLE = 0.5  # keep the contour this many widths away from the pole of 1/s
TINY = 1e-17  # of x (1 + noncentrality): below, the first term of the series at 0 has all digits


def chi_square_logcdf(x: ArrayLike, dim: ArrayLike, noncentrality: ArrayLike = 0.0) -> Value:
    """Logarithm of ``P(X <= x)`` for a noncentral chi-square X.

    Parameters
    ----------
    x : array_like
        At least 0.
    dim : array_like
        Degrees of freedom d, at least 1.
    noncentrality : array_like, default 0
        Squared norm of the mean.

    Returns
    -------
    float or ndarray
        Relative accuracy: 1e-13 of the probability, or of the logarithm where that is large, up to d = 1e6;
        limited by the rounding of x - d beyond.

    Examples
    --------
    >>> round(float(chi_square_logcdf(2.0, dim=2)), 6)
    -0.458675
    """
    return _checked_logtail(x, dim, noncentrality, upper=False)


def chi_square_logsf(x: ArrayLike, dim: ArrayLike, noncentrality: ArrayLike = 0.0) -> Value:
    """Logarithm of ``P(X > x)`` for a noncentral chi-square X.

    Parameters
    ----------
    x, dim, noncentrality : array_like
        As in `chi_square_logcdf`.

    Returns
    -------
    float or ndarray
        Never underflows.

    Examples
    --------
    >>> round(float(chi_square_logsf(2000.0, dim=2)), 6)
    -1000.0
    """
    return _checked_logtail(x, dim, noncentrality, upper=True)


def chi_square_quantile(
    log_p: ArrayLike, dim: ArrayLike, noncentrality: ArrayLike = 0.0, *, upper: bool
) -> tuple[Value, Value]:
    """Quantile of the noncentral chi-square, and its excess over the mean d + noncentrality.

    Parameters
    ----------
    log_p : array_like
        Logarithm of the tail probability, below 0.
    dim, noncentrality : array_like
        As in `chi_square_logcdf`.
    upper : bool
        Whether ``log_p`` is the upper tail.

    Returns
    -------
    x, excess : float or ndarray
        ``x`` has the digits near zero, ``excess = x - mean`` those near the mean of a high dimension.

    Notes
    -----
    Newton's method: the log-probability is concave in x (upper tail) and in log x (lower tail), so
    the iteration converges from anywhere.

    Examples
    --------
    >>> x, excess = chi_square_quantile(-1000.0, dim=2, upper=True)
    >>> round(float(x), 9), round(float(excess), 9)
    (2000.0, 1998.0)
    """
    log_p, dim, lam = np.broadcast_arrays(
        check.real("log_p", log_p, below=0), check.dim(dim), check.size("noncentrality", noncentrality)
    )
    mean = dim + lam
    with np.errstate(over="ignore"):
        near_zero = 2 * np.exp(2 / dim * (log_p + gammaln(dim / 2 + 1) + lam / 2))
        tiny = (near_zero * (1 + lam) < TINY) & (not upper)
    wanted = np.where(tiny, -1.0, log_p)  # the search has nothing to do there
    # Start from the cube-root normal approximation to a scaled chi-square with the same two moments.
    spread = 2 / 9 * (dim + 2 * lam) / mean**2
    z = ndtri_exp(wanted) * (-1 if upper else 1)
    x = mean * np.maximum(1 - spread + z * np.sqrt(spread), 0.05) ** 3
    excess = x - mean
    for _ in range(100):
        log_tail, hazard = chi_square_logtail(x, excess, dim, lam, upper=upper)
        miss = log_tail - wanted
        growth = np.maximum(miss / (hazard * x), -0.9) if upper else np.expm1(-miss / (hazard * x))
        excess = excess + x * growth
        x = np.maximum(x * (1 + growth), 0.1 * TINY / (1 + lam))
        if np.all(np.abs(growth) < 1e-15) or np.all(np.abs(miss) < 1e-13):
            break
    return np.where(tiny, near_zero, x)[()], np.where(tiny, near_zero - mean, excess)[()]


def inner_product_logsf(x: ArrayLike, dim: ArrayLike) -> Value:
    """Logarithm of ``P(<G, H> > x)`` for independent standard Gaussian G and H in dimension d.

    Parameters
    ----------
    x : array_like
        At least 0; the law is symmetric.
    dim : array_like
        Dimension d, at least 1.

    Returns
    -------
    float or ndarray
        Never underflows; log(1/2) at 0.

    Examples
    --------
    >>> round(float(inner_product_logsf(3.0, dim=2)), 6)  # exp(-x) / 2 in the plane
    -3.693147
    """
    return _in_blocks(_inner_product_tail, check.size("x", x), check.dim(dim))[0][()]


def inner_product_isf(log_p: ArrayLike, dim: ArrayLike) -> Value:
    """Value that ``<G, H>`` exceeds with the given log-probability.

    Parameters
    ----------
    log_p : array_like
        At most log(1/2).
    dim : array_like
        Dimension d, at least 1.

    Returns
    -------
    float or ndarray
        The inverse of `inner_product_logsf`, at least 0.

    Examples
    --------
    >>> round(float(inner_product_isf(-3.693147, dim=2)), 5)
    3.0
    """
    half = float(np.log(0.5))
    log_p, dim = np.broadcast_arrays(check.real("log_p", log_p, at_most=half), check.dim(dim))
    x = -ndtri_exp(log_p) * np.sqrt(dim)
    for _ in range(100):
        log_tail, hazard = _in_blocks(_inner_product_tail, x, dim)
        miss = log_tail - log_p
        x = np.maximum(x + miss / hazard, 0)
        if np.all(np.abs(miss) < 1e-14 * np.abs(log_p)):
            break
    return x[()]


def _checked_logtail(x: ArrayLike, dim: ArrayLike, noncentrality: ArrayLike, *, upper: bool) -> Value:
    x, dim, lam = np.broadcast_arrays(
        check.size("x", x), check.dim(dim), check.size("noncentrality", noncentrality)
    )
    tiny = x * (1 + lam) < TINY
    inside = np.where(tiny, dim + lam, x)
    log_tail, _ = chi_square_logtail(inside, inside - dim - lam, dim, lam, upper=upper)
    with np.errstate(divide="ignore"):
        first = dim / 2 * np.log(np.where(tiny, x, 1.0) / 2) - gammaln(dim / 2 + 1) - lam / 2
    return np.where(tiny, np.log1p(-np.exp(first)) if upper else first, log_tail)[()]


def chi_square_logtail(
    x: Floats, excess: Floats, dim: Floats, lam: Floats, *, upper: bool
) -> tuple[Floats, Floats]:
    """Log-probability of a tail at x = mean + excess, and the ratio of density to probability.

    The caller passes x and the excess, for neither can be had from the other without cancellation: near zero, or near
    the mean of a high dimension.
    """
    return _in_blocks(partial(_chi_square_tail, upper=upper), x, excess, dim, lam)


def _chi_square_tail(
    x: Floats, excess: Floats, dim: Floats, lam: Floats, *, upper: bool
) -> tuple[Floats, Floats]:
    """`chi_square_logtail` of a few values.

    K(s) = lam s / (1 - 2 s) - (d / 2) log(1 - 2 s); with g = 1 - 2 s the saddlepoint solves
    x g^2 - d g - lam = 0.
    """
    right = excess > 0  # integrate the tail on whose side x lies; the other one is its complement
    root = np.sqrt(dim**2 + 4 * x * lam)
    g = (dim + root) / (2 * x)
    s = np.where(2 * x < dim, (1 - g) / 2, excess / np.maximum(2 * x - dim + root, x))
    width = np.sqrt(2 * dim + 4 * lam)
    off = np.abs(s) * width < OFF_POLE * np.maximum(g, 1)
    s = np.where(off, np.where(right, 1 / (width + 2), -1 / width), s)
    g = np.where(off, 1 - 2 * s, g)
    second = 2 * dim / g**2 + 4 * lam / g**3
    third = 8 * dim / g**3 + 24 * lam / g**4

    def exponent(step: Complex) -> Complex:
        d, noncentral, g0 = (a[..., np.newaxis] for a in (dim, lam, g))
        change = 2 * step / g0
        return noncentral * change**2 / (2 * g0 * (1 - change)) - d / 2 * _log1pmx(-change)

    ratio = s / g
    residual = np.where(off, dim / g + lam / g**2 - x, 0.0)
    near = np.abs(ratio) < 0.1  # 1 + 2 s/g is 1/g: take its logarithm in the way that does not cancel
    log1pmx = np.where(near, _log1pmx(np.where(near, 2 * ratio, 0.0)), -np.log(g) - 2 * ratio)
    log_factor = -2 * lam * ratio**2 + dim / 2 * log1pmx + s * residual
    tail, density = _contour(s, second, third, residual, exponent)
    log_tail = log_factor + np.log(np.abs(tail))
    log_density = log_factor + np.log(np.abs(density))
    wanted = np.where(right == upper, log_tail, np.log1p(-np.exp(np.minimum(log_tail, 0))))
    return wanted, np.exp(log_density - wanted)


def _in_blocks(tail: Callable[..., tuple[Floats, Floats]], *arguments: Floats) -> tuple[Floats, Floats]:
    """Call an elementwise function of broadcast arrays for one block of values after the other."""
    whole, arrays = np.broadcast(*arguments), np.broadcast_arrays(*arguments)
    if whole.size <= BLOCK:
        return tail(*arrays)
    flat = [array.ravel() for array in arrays]
    blocks = [tail(*(a[k : k + BLOCK] for a in flat)) for k in range(0, whole.size, BLOCK)]
    first, second = (np.concatenate(parts).reshape(whole.shape) for parts in zip(*blocks, strict=True))
    return first, second


def _inner_product_tail(x: Floats, dim: Floats) -> tuple[Floats, Floats]:
    """Log-probability that <G, H> exceeds x >= 0, and density over probability.

    K(s) = -(d / 2) log(1 - s^2), saddlepoint s = 2 x / (d + sqrt(d^2 + 4 x^2)).
    """
    saddle = 2 * x / (dim + np.sqrt(dim**2 + 4 * x**2))
    off = saddle * np.sqrt(dim) < OFF_POLE
    s = np.where(off, 1 / (1 + np.sqrt(dim)), saddle)
    g = 1 - s**2
    second = dim * (1 + s**2) / g**2
    third = 2 * dim * s * (3 + s**2) / g**3

    def exponent(step: Complex) -> Complex:
        d, s0 = dim[..., np.newaxis], s[..., np.newaxis]
        return -d / 2 * (_log1pmx(-step / (1 - s0)) + _log1pmx(step / (1 + s0)))

    residual = np.where(off, dim * s / g - x, 0.0)
    log_factor = -dim / 2 * (np.log1p(-(s**2)) + 2 * s**2 / g) + s * residual
    tail, density = _contour(s, second, third, residual, exponent)
    return log_factor + np.log(tail), density / tail


def _contour(
    s: Floats, second: Floats, third: Floats, residual: Floats, exponent: Callable[[Complex], Complex]
) -> tuple[Floats, Floats]:
    """Integrate ``exp(exponent + residual step)`` along s + step, with and without 1 / (s + step).

    The parabola has the curvature K''' / (6 K'') of the path of steepest descent.
    """
    width = 1 / np.sqrt(second)[..., np.newaxis]
    curvature = (third / (6 * second))[..., np.newaxis]
    y = width * NODES
    step = curvature * y**2 + 1j * y
    direction = 2 * curvature * y + 1j
    values = np.exp(exponent(step) + residual[..., np.newaxis] * step) * direction
    weights = WEIGHTS * width / np.pi
    tail = (weights * (values / (s[..., np.newaxis] + step)).imag).sum(axis=-1)
    return tail, (weights * values.imag).sum(axis=-1)


def _log1pmx(z: Array) -> Array:
    """``log(1 + z) - z`` without cancellation: a series in r = z / (2 + z) where z is small."""
    r = z / (2 + z)
    square = r**2
    series = np.zeros_like(square)
    for k in range(25, 1, -2):
        series = series * square + 1 / k
    return np.where(np.abs(z) < 0.4, 2 * r * square * series - z * r, np.log1p(z) - z)
