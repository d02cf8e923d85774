"""Unbiased traces of covariances from kernel Gram matrices.

``Sigma = M - mu mu'`` with the second moment M, so traces of powers of Sigma expand into means over distinct
points: cycles and paths of the Gram matrix without its diagonal. Sums over distinct points come from sums over all
points by inclusion and exclusion. The Gram matrix is centered first; that changes no estimate, but rounding much.
"""

import numpy as np
from numpy.typing import ArrayLike

from . import _check as check
from ._check import Floats

__all__ = ["center_gram", "square_gram", "trace_covariance", "trace_cubed", "trace_product", "trace_squared"]


def square_gram(gram: ArrayLike, at_least: int = 2) -> Floats:
    """Check the Gram matrix of one bag.

    Parameters
    ----------
    gram : array_like, shape (N, N)
        Kernel values within a bag, diagonal included.
    at_least : int, default 2
        Fewest points.

    Returns
    -------
    ndarray, shape (N, N)
        The matrix as floats.

    Examples
    --------
    >>> square_gram([[1.0, 0.0], [0.0, 1.0]], at_least=4)
    Traceback (most recent call last):
        ...
    ValueError: gram must be a square matrix of at least 4 rows; found shape (2, 2).
    """
    bag = check.real("gram", gram)
    if bag.ndim != 2 or bag.shape[0] != bag.shape[1] or len(bag) < at_least:
        raise ValueError(
            f"gram must be a square matrix of at least {at_least} rows; found shape {bag.shape}."
        )
    check.symmetric("gram", bag)
    return bag


def center_gram(gram: ArrayLike) -> Floats:
    """Gram matrix of the points minus their mean; also for the values between two bags.

    Parameters
    ----------
    gram : array_like, shape (N, M)
        Kernel values.

    Returns
    -------
    ndarray, shape (N, M)
        Rows and columns sum to zero.

    Examples
    --------
    >>> center_gram([[1.0, 0.0], [0.0, 1.0]])
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    k = check.real("gram", gram)
    return k - k.mean(axis=1, keepdims=True) - k.mean(axis=0, keepdims=True) + k.mean()


def trace_covariance(gram: ArrayLike) -> float:
    """Unbiased estimate of tr(Sigma): trace of the centered Gram matrix over N - 1.

    Parameters
    ----------
    gram : array_like, shape (N, N)
        Kernel values within a bag of at least two points.

    Returns
    -------
    float
        Sum of the sample variances of all coordinates, in the units of the Gram matrix.

    Examples
    --------
    >>> trace_covariance([[1.0, -1.0], [-1.0, 1.0]])
    2.0
    """
    bag = square_gram(gram)
    check.inner_products(bag)
    return float(np.trace(center_gram(bag)) / (len(bag) - 1))


def trace_product(gram_xy: ArrayLike) -> float:
    """Unbiased estimate of tr(Sx Sy) from the kernel values between two bags.

    ``|H K H|_F^2 / ((N - 1) (M - 1))``.

    Parameters
    ----------
    gram_xy : array_like, shape (N, M)
        At least two points in each bag.

    Returns
    -------
    float
        Never negative.

    Examples
    --------
    >>> trace_product([[1.0, -1.0], [-1.0, 1.0]])
    4.0
    """
    k = check.real("gram_xy", gram_xy)
    if k.ndim != 2 or min(k.shape) < 2:
        raise ValueError(f"gram_xy must be a matrix of at least 2 rows and columns; found shape {k.shape}.")
    return float((center_gram(k) ** 2).sum() / ((k.shape[0] - 1) * (k.shape[1] - 1)))


def trace_squared(gram: ArrayLike) -> float:
    """Unbiased estimate of tr(Sigma^2) = tr(M^2) - 2 mu'M mu + |mu|^4.

    Means of a_ij^2, a_ij a_jk and a_ij a_kl over distinct points, a being the Gram matrix.

    Parameters
    ----------
    gram : array_like, shape (N, N)
        Kernel values within a bag of at least four points.

    Returns
    -------
    float
        May be negative for small bags. Cost O(N^2).

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(400, 3))
    >>> round(trace_squared(x @ x.T))
    3
    """
    a, n = _off_diagonal(gram, 4)
    pairs = (a**2).sum()
    paths = (a.sum(axis=1) ** 2).sum() - pairs
    disjoint = a.sum() ** 2 - 4 * paths - 2 * pairs
    return float(pairs / _falling(n, 2) - 2 * paths / _falling(n, 3) + disjoint / _falling(n, 4))


def trace_cubed(gram: ArrayLike) -> float:
    """Unbiased estimate of tr(Sigma^3) = tr(M^3) - 3 mu'M^2 mu + 3 |mu|^2 mu'M mu - |mu|^6.

    Means over distinct points of triangles, paths of three edges, an edge beside a path of two, and three
    disjoint edges.

    Parameters
    ----------
    gram : array_like, shape (N, N)
        Kernel values within a bag of at least six points.

    Returns
    -------
    float
        May be negative for small bags: average over bags. Cost O(N^3).

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(400, 3))
    >>> round(trace_cubed(x @ x.T))
    3
    """
    a, n = _off_diagonal(gram, 6)
    rows, squares = a.sum(axis=1), (a**2).sum(axis=1)
    total, pairs, cubes = rows.sum(), squares.sum(), (a**3).sum()
    triangles = ((a @ a) * a).sum()
    bent = (rows * squares).sum()  # an edge there and back, then one more
    long = rows @ a @ rows
    stars = (rows**3).sum()

    paths2 = (rows**2).sum() - pairs
    disjoint2 = total**2 - 4 * paths2 - 2 * pairs
    paths3 = long - 2 * bent - triangles + cubes
    edge_and_path = total * paths2 - 4 * long - 2 * stars + 10 * bent - 4 * cubes + 2 * triangles
    ends = total * (rows**2).sum() - 2 * (stars + long) + 2 * bent
    doubled = total * pairs - 4 * bent + 2 * cubes
    disjoint3 = total * disjoint2 - 8 * ends + 4 * doubled + 8 * paths3
    return float(
        triangles / _falling(n, 3)
        - 3 * paths3 / _falling(n, 4)
        + 3 * edge_and_path / _falling(n, 5)
        - disjoint3 / _falling(n, 6)
    )


def _off_diagonal(gram: ArrayLike, at_least: int) -> tuple[Floats, float]:
    """Centered Gram matrix with a zero diagonal, and the number of points as a float."""
    a = center_gram(square_gram(gram, at_least))
    np.fill_diagonal(a, 0.0)
    return a, float(len(a))


def _falling(n: float, k: int) -> float:
    """``n (n - 1) ... (n - k + 1)``, the number of ordered choices of k distinct points."""
    return float(np.prod(n - np.arange(k)))
