"""Closed-form bounds of covering numbers: balls, spheres, cubes, sparse vectors, clusters.

Each function returns ``(lower, upper)`` for the whole set, with balls centered anywhere. The upper end holds
for any finite set of means inside; the lower end only for the set itself. Both are whole numbers; large ones may
be infinite.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, binom, gammaln

from . import _check as check
from ._check import Floats, Value

__all__ = ["ball_covering", "cluster_covering", "cube_covering", "sparse_covering", "sphere_covering"]

_ROUNDING = 1e-12


def ball_covering(size: ArrayLike, dim: ArrayLike, radius: ArrayLike) -> tuple[Value, Value]:
    """Ball of radius R in dimension m: ``(R/r)^m <= N <= (1 + 2 R/r)^m``, and 1 if r >= R.

    Parameters
    ----------
    size : array_like
        Radius R of the ball, above 0.
    dim : array_like
        Dimension m, at least 1.
    radius : array_like
        Radius r of the covering balls, above 0.

    Returns
    -------
    lower, upper : float or ndarray
        By volumes: of the ball, and of the disjoint half-size balls of a largest packing.

    Examples
    --------
    >>> lower, upper = ball_covering(size=2.0, dim=3, radius=1.0)
    >>> float(lower), float(upper)
    (8.0, 125.0)
    """
    scaled, dim = _ratio(size, dim, radius)
    one = scaled <= 1
    return _at_least(one, dim * np.log(scaled)), _at_most(one, dim * np.log1p(2 * scaled))


def sphere_covering(size: ArrayLike, dim: ArrayLike, radius: ArrayLike) -> tuple[Value, Value]:
    """Sphere of radius R in dimension m: between surface and shell volume.

    ``1 / cap <= N <= (2 R/r + 1)^m - (2 R/r - 1)_+^m``, cap being the part of the sphere that a ball of radius
    r can hold; 1 if r >= R.

    Parameters
    ----------
    size, dim, radius : array_like
        Radius R of the sphere, dimension m of the space around it (at least 2), and radius r of the covering balls.

    Returns
    -------
    lower, upper : float or ndarray
        By the areas of caps, and by the volume of a shell around the sphere that holds a largest packing.

    Examples
    --------
    >>> lower, upper = sphere_covering(size=1.0, dim=2, radius=0.5)
    >>> float(lower), float(upper)
    (6.0, 16.0)
    """
    scaled, dim = _ratio(size, check.real("dim", dim, at_least=2), radius)
    one = scaled <= 1
    inside = np.minimum(1 / scaled, 1.0) ** 2
    cap = betainc((dim - 1) / 2, 0.5, inside) / 2
    with np.errstate(divide="ignore"):
        log_lower = -np.log(cap)
    # The outer ball over the inner one, as a logarithm: thin shells are not a difference of large numbers.
    shell = dim * np.log1p(2 / np.where(one, 1.0, 2 * scaled - 1))
    log_upper = dim * np.log1p(2 * scaled) + np.log(-np.expm1(-shell))
    return _at_least(one, log_lower), _at_most(one, log_upper)


def cube_covering(side: ArrayLike, dim: ArrayLike, radius: ArrayLike) -> tuple[Value, Value]:
    """Cube of side a in dimension m: ``a^m / vol(ball of radius r) <= N <= ceil(a sqrt(m) / (2 r))^m``.

    Parameters
    ----------
    side, dim, radius : array_like
        Side a of the cube, dimension m, and radius r of the covering balls.

    Returns
    -------
    lower, upper : float or ndarray
        The upper end is a grid of cubes inside the balls.

    Examples
    --------
    >>> lower, upper = cube_covering(side=2.0, dim=1, radius=0.25)
    >>> float(lower), float(upper)
    (4.0, 4.0)
    """
    scaled, dim = _ratio(side, dim, radius, "side")
    log_unit_ball = dim / 2 * np.log(np.pi) - gammaln(dim / 2 + 1)
    half_diagonal = scaled * np.sqrt(dim) / 2
    lower = _at_least(half_diagonal <= 1, dim * np.log(scaled) - log_unit_ball)
    per_side = np.ceil(half_diagonal * (1 - _ROUNDING))  # an exact fit is not one more
    with np.errstate(over="ignore"):
        return lower, per_side**dim


def sparse_covering(
    side: ArrayLike, dim: ArrayLike, sparsity: ArrayLike, radius: ArrayLike
) -> tuple[Value, Value]:
    """Vectors in dimension d with s nonzero entries in [0, a]: at most ``C(d, s)`` cubes of dimension s.

    Parameters
    ----------
    side : array_like
        Upper end a of the nonzero entries, above 0.
    dim, sparsity : array_like
        Dimension d and number s of nonzero entries, with s at most d.
    radius : array_like
        Radius r of the covering balls, above 0.

    Returns
    -------
    lower, upper : float or ndarray
        The lower end is that of one cube.

    Examples
    --------
    >>> lower, upper = sparse_covering(side=20.0, dim=50, sparsity=2, radius=10.0)
    >>> float(upper)  # 1225 pairs of coordinates, 4 squares each
    4900.0
    """
    dim, sparsity = check.dim(dim), check.real("sparsity", sparsity, at_least=1)
    if np.any(sparsity > dim):
        found, most = (float(v[sparsity > dim].flat[0]) for v in np.broadcast_arrays(sparsity, dim))
        raise ValueError(f"sparsity must be at most dim; found {found:g} in dimension {most:g}.")
    one, cubes = cube_covering(side, sparsity, radius)
    return check.together(one, np.rint(binom(dim, sparsity)) * cubes)


def cluster_covering(
    n_clusters: ArrayLike, size: ArrayLike, dim: ArrayLike, radius: ArrayLike
) -> tuple[Value, Value]:
    """Clusters, each inside a ball of radius R in dimension m: at most their number times `ball_covering`.

    Parameters
    ----------
    n_clusters : array_like
        How many, at least 1.
    size, dim, radius : array_like
        R, m and r as in `ball_covering`.

    Returns
    -------
    lower, upper : float or ndarray
        ``upper`` is the number of clusters once r >= R. The lower end is that of one cluster, since clusters
        may overlap.

    Examples
    --------
    >>> lower, upper = cluster_covering(n_clusters=20, size=0.5, dim=1000, radius=1.0)
    >>> float(lower), float(upper)
    (1.0, 20.0)
    """
    one, balls = ball_covering(size, dim, radius)
    return check.together(one, check.real("n_clusters", n_clusters, at_least=1) * balls)


def _ratio(size: ArrayLike, dim: ArrayLike, radius: ArrayLike, name: str = "size") -> tuple[Floats, Floats]:
    """Size over radius, and dimension."""
    scaled = check.size(name, size, positive=True) / check.size("radius", radius, positive=True)
    return scaled, check.dim(dim)


def _at_least(one_ball: NDArray[np.bool_], log_number: Floats) -> Value:
    """Round a lower end up, but not for the last digits of the exponential; 1 where one ball is enough."""
    return np.ceil(_number(one_ball, np.maximum(log_number, 0.0)) * (1 - _ROUNDING))[()]


def _at_most(one_ball: NDArray[np.bool_], log_number: Floats) -> Value:
    """Round an upper end down, but not for the last digits of the exponential; 1 where one ball is enough."""
    return np.floor(_number(one_ball, log_number) * (1 + _ROUNDING))[()]


def _number(one_ball: NDArray[np.bool_], log_number: Floats) -> Floats:
    """Exponential; too large a number is infinite."""
    with np.errstate(over="ignore"):
        return np.exp(np.where(one_ball, 0.0, log_number))
