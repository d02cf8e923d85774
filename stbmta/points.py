"""Kernel values of single points of bags."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .bags import Bags
from .kernels import Kernel, Precomputed
from .threads import chunks

__all__ = ["point_diagonal", "point_values"]

Array = npt.NDArray[Any]


def point_diagonal(bags: Bags, kernel: Kernel) -> Array:
    """Return k(x, x) for every point of the bags, (n,).

    Returns
    -------
    ndarray of shape (n,)
        One value a point, in the order of ``bags.data``.
    """
    if isinstance(kernel, Precomputed) and not callable(kernel.values):
        return kernel.values[bags.rows, bags.rows].astype(np.float64)
    values = np.empty(len(bags.data))
    for first, last in chunks(len(values), bags.dim):
        values[first:last] = kernel.diagonal(bags.data[first:last].astype(np.float64, copy=False))
    return values


def point_values(bags: Bags, i: int, j: int, kernel: Kernel) -> Array:
    """Return k(x, y) for the points x of bag i and y of bag j.

    Returns
    -------
    ndarray of shape (sizes[i], sizes[j])
        One row a point of bag i, one column a point of bag j.
    """
    rows, columns = (slice(bags.offsets[k], bags.offsets[k + 1]) for k in (i, j))
    if isinstance(kernel, Precomputed) and not callable(kernel.values):
        return kernel.values[np.ix_(bags.rows[rows], bags.rows[columns])].astype(np.float64)
    x, y = (bags.data[part].astype(np.float64, copy=False) for part in (rows, columns))
    return np.asarray(kernel(x, y), dtype=np.float64)
