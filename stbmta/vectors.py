"""Means as vectors: the linear kernel needs nothing else.

Differences to a center of the data keep the digits that a common offset, a far bag or a far point would take.
"""

from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when first used

from .blocks import column_medians
from .container import BagsContainer
from .jit import moments
from .sums import canonical_order
from .threads import run

__all__ = [
    "centered_means",
    "cross_products",
    "inner_products",
    "measure_far",
    "power_of_two",
    "require_squares",
]

Array = npt.NDArray[np.float64]

# Squared distances of means are known to this share of the means' squared errors, or better.
_TOLERANCE = 1e-9
# Distances that are measured by differences are held so many at a time.
_DISTANCES_AT_ONCE = 2**22
# Multiply-adds of one matrix product: some tenths of a second.
_STRIP = 2**33
# Squares beyond these overflow when they are added up, or have lost digits.
_LARGEST_SQUARE, _SMALLEST_SQUARE = 1e300, 1e-290


def centered_means(bags: BagsContainer, n_threads: int | None = None) -> tuple[Array, Array, Array]:
    """Return a center of the data, the naive means less the center, and each bag's sum of squares.

    Returns
    -------
    center : ndarray of shape (d,)
        The median of the bags' first points, column by column.
    means : ndarray of shape (B, d)
    squares : ndarray of shape (B,)
        Sum of squared distances of the points to their mean.
    """
    # One far bag, or one far point, must not cost the others their digits.
    center = column_medians(bags.data, bags.offsets[:-1], n_threads)
    center[np.abs(center) > 1e300] = 0.0  # where a difference could overflow
    means, squares = np.empty((len(bags), bags.dim)), np.empty(len(bags))
    # Runs of bags with about the same number of points; each bag is summed by one thread.
    wanted = np.linspace(0, len(bags.data), 65)[1:-1]
    cuts = np.unique(np.r_[0, np.searchsorted(bags.offsets, wanted), len(bags)])
    run(
        [
            partial(moments.bag_moments, bags.data, bags.offsets, center, int(a), int(b), means, squares)
            for a, b in pairwise(cuts)
        ],
        n_threads,
    )
    return center, means, squares


def require_squares(largest: float, points: npt.NDArray[np.floating]) -> None:
    """Refuse points whose squared distances overflow, or vanish although the points differ.

    Parameters
    ----------
    largest : float
        The largest of the squares that were computed.
    points : array of shape (n, d)

    Examples
    --------
    >>> require_squares(np.inf, np.array([[0.0], [1e160]]))
    Traceback (most recent call last):
        ...
    ValueError: the points lie so far apart (beyond 1e150) that their squares overflow. Divide them by a constant.
    """
    if not largest <= _LARGEST_SQUARE:
        raise ValueError(
            "the points lie so far apart (beyond 1e150) that their squares overflow. Divide them by a constant."
        )
    if largest < _SMALLEST_SQUARE and (points != points[0]).any():
        raise ValueError(
            "the points lie so close together (within 1e-145) that their squares vanish. "
            "Multiply them by a constant."
        )


def inner_products(means: Array, n_threads: int | None = None) -> Array:
    """Return means @ means.T; BLAS may round by position, so the rows get an order of their own.

    Returns
    -------
    ndarray of shape (B, B)
        The same to the last bit in any order of the rows.
    """
    n_bags, dim = means.shape
    order = canonical_order(means, np.arange(n_bags + 1), n_threads)
    back = np.argsort(order)
    ordered = means[order]
    gram = np.empty((n_bags, n_bags))
    # Strips, so that Ctrl-C is heard in between; the other half is a mirror image.
    step = max(1, _STRIP // (n_bags * dim))
    for a in range(0, n_bags, step):
        strip, rest = ordered[a : a + step], ordered[a + step :]
        gram[a : a + step, a : a + step] = strip @ strip.T
        gram[a : a + step, a + step :] = strip @ rest.T
        gram[a + step :, a : a + step] = gram[a : a + step, a + step :].T
    return gram[np.ix_(back, back)]


def cross_products(means: Array, others: Array, n_threads: int | None = None) -> Array:
    """Return means @ others.T, both in orders of their own as in :func:`inner_products`."""
    left, right = (canonical_order(rows, np.arange(len(rows) + 1), n_threads) for rows in (means, others))
    ordered, columns = means[left], others[right].T
    found = np.empty((len(means), len(others)))
    step = max(1, _STRIP // columns.size)
    for a in range(0, len(means), step):
        found[left[a : a + step]] = (ordered[a : a + step] @ columns)[:, np.argsort(right)]
    return found


def power_of_two(values: npt.ArrayLike) -> Array:
    """Return powers of two that are near positive numbers: units that cost no digits, also where squares overflow.

    Parameters
    ----------
    values : array-like
        At least 0.

    Returns
    -------
    ndarray
        More than half of each value and no more than it; one half for 0.

    Examples
    --------
    >>> power_of_two([3.0, 0.3])
    array([2.  , 0.25])
    """
    return np.asarray(np.ldexp(1.0, np.frexp(values)[1] - 1))


def measure_far(
    means: Array,
    norms: Array,
    error: Array,
    distances: Array,
    chosen: npt.NDArray[np.int64] | slice = slice(None),
) -> None:
    """Measure anew, by differences, the squared distances among means whose norms would swallow them.

    Inner products know distances to about eps * |mean|^2. That is too little where the squared error of a mean
    is smaller still, and nowhere else: between a far mean and a near one the distance is as large.

    Parameters
    ----------
    means : ndarray of shape (B, d)
    norms, error : ndarray of shape (B,)
        Squared distances of the means to the center, and their squared errors, 0 where they are not known.
    distances : ndarray of shape (chosen, B)
        Overwritten in part.
    chosen : ndarray of int or slice, optional
        The bags that have a row of distances; all by default.
    """
    needed = _TOLERANCE * np.where(error > 0, error, np.median(norms))
    swallowed = np.finfo(np.float64).eps * norms > needed
    far, measured = np.flatnonzero(swallowed), np.flatnonzero(swallowed[chosen])
    own = np.arange(len(means))[chosen]
    step = max(1, _DISTANCES_AT_ONCE // max(len(far), 1))
    for start in range(0, len(measured), step):
        rows = measured[start : start + step]
        found = scipy.spatial.distance.cdist(means[own[rows]], means[far], "sqeuclidean")
        distances[np.ix_(rows, far)] = found
