"""Means and spreads of bags.

Sums run over differences to a center of all data, and the spread over differences to the bag's own
mean, so that data with a large common offset lose no accuracy. Each bag is summed by one thread, row
after row.

The oracles are ``tests/naive.py: means`` and ``scatter``, and SciPy for distances.
"""

import numpy as np

from ..theory._jit import compiled

__all__ = ["append_prints", "bag_moments", "column_range", "farthest", "fingerprints", "pair_distances"]

# Base of the numbers that name the contents of bags: odd, so that nothing is shifted out.
ROLL = 0xD1342543DE82EF95


@compiled
def column_range(points, low, high):
    """Write the smallest and largest value of each column."""
    for k in range(points.shape[1]):
        low[k] = points[0, k]
        high[k] = points[0, k]
    for i in range(1, points.shape[0]):
        for k in range(points.shape[1]):
            low[k] = min(low[k], np.float64(points[i, k]))
            high[k] = max(high[k], np.float64(points[i, k]))


@compiled
def farthest(points, center):
    """Return the largest squared distance of a point to the center."""
    largest = 0.0
    for i in range(points.shape[0]):
        norm = 0.0
        for k in range(points.shape[1]):
            x = np.float64(points[i, k]) - center[k]
            norm += x * x
        largest = max(largest, norm)
    return largest


@compiled
def pair_distances(columns, city_block, first, last, distances):
    """Write the distances of points first..last to all points after them, as scipy.spatial.distance.pdist does.

    SciPy's module takes half as long to import as Numba, and the first estimate of a process has to wait for it.

    Parameters
    ----------
    columns : float64 array of shape (d, n)
        The points, one a column: independent additions, so they are vectorised.
    city_block : bool
        Sums of absolute differences in place of Euclidean distances.
    first, last : int
    distances : float64 array of shape (n (n - 1) / 2,)
        Of all pairs, point after point.
    """
    n = columns.shape[1]
    for i in range(first, last):
        start = i * n - i * (i + 1) // 2
        some = distances[start : start + n - 1 - i]
        some[:] = 0.0
        for k in range(columns.shape[0]):
            others = columns[k, i + 1 :]
            for j in range(len(some)):
                x = others[j] - columns[k, i]
                some[j] += abs(x) if city_block else x * x
        if not city_block:
            for j in range(len(some)):
                some[j] = np.sqrt(some[j])


@compiled
def bag_moments(points, offsets, center, first, last, means, scatter):
    """Write each bag's mean less the center, and its sum of squared distances to its mean.

    Parameters
    ----------
    points : array of shape (n, d)
    offsets : int64 array of shape (B + 1,)
    center : float64 array of shape (d,)
    first, last : int
        The bags to do.
    means : float64 array of shape (B, d)
    scatter : float64 array of shape (B,)
    """
    dim = points.shape[1]
    squares = np.zeros(dim)  # a sum a column: independent additions, so they are vectorised
    for bag in range(first, last):
        start, stop = offsets[bag], offsets[bag + 1]
        mean = means[bag]
        mean[:] = 0.0
        for i in range(start, stop):
            for k in range(dim):
                mean[k] += np.float64(points[i, k]) - center[k]
        for k in range(dim):
            mean[k] /= np.float64(stop - start)
        squares[:] = 0.0
        for i in range(start, stop):
            for k in range(dim):
                x = np.float64(points[i, k]) - center[k] - mean[k]
                squares[k] += x * x
        total = 0.0
        for k in range(dim):
            total += squares[k]
        scatter[bag] = total


@compiled
def fingerprints(words, offsets, prints):
    """Write a 64-bit number that depends on every bit of a bag and on the order of its points.

    Parameters
    ----------
    words : uint32 or uint64 array of shape (n, d)
        The points' bits.
    offsets : int64 array of shape (B + 1,)
    prints : uint64 array of shape (B,)

    Notes
    -----
    A point's bits are mixed by multiplication with an odd constant and a shifted exclusive-or, in four chains (after
    FNV and splitmix64). The numbers of the points are the digits of the bag's number to the base ROLL, so the
    number of a bag follows from those of its parts: ``append_prints``. Two different bags with the same number would
    do no harm beyond a last digit.
    """
    odd = np.uint64(0x9E3779B97F4A7C15)
    shift = np.uint64(29)
    roll = np.uint64(ROLL)
    chain = np.zeros(4, np.uint64)
    for bag in range(len(offsets) - 1):
        total = np.uint64(0)
        for i in range(offsets[bag], offsets[bag + 1]):
            chain[:] = odd
            for k in range(words.shape[1]):
                value = (chain[k % 4] ^ np.uint64(words[i, k])) * odd
                chain[k % 4] = value ^ (value >> shift)
            value = odd
            for k in range(4):
                value = (value ^ chain[k]) * odd
                value = value ^ (value >> shift)
            total = total * roll + value
        prints[bag] = total


def append_prints(first, second, sizes):
    """Return the numbers of bags that continue: `second` are those of what follows, of these sizes.

    Examples
    --------
    >>> words = np.arange(6, dtype=np.uint64).reshape(3, 2)
    >>> whole, parts = np.empty(1, np.uint64), np.empty(2, np.uint64)
    >>> fingerprints(words, np.array([0, 3]), whole)
    >>> fingerprints(words, np.array([0, 1, 3]), parts)
    >>> bool(append_prints(parts[:1], parts[1:], np.array([2])) == whole)
    True
    """
    power, base, exponent = np.ones_like(first), np.uint64(ROLL), sizes.astype(np.uint64)
    with np.errstate(over="ignore"):  # the products are meant to wrap around
        while exponent.any():
            power = np.where(exponent & np.uint64(1), power * base, power)
            base, exponent = base * base, exponent >> np.uint64(1)
        return first * power + second
