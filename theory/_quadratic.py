"""One root that every inverted deviation bound needs."""

import numpy as np
from numpy.typing import ArrayLike

from ._check import Floats, Value


def quadratic_root(gap: ArrayLike, linear: ArrayLike, square: ArrayLike) -> Floats:
    """Solve ``linear x + square x^2 = gap`` for x >= 0, without cancellation.

    Negative gaps give 0, an infinite gap infinity.

    Examples
    --------
    >>> float(quadratic_root(10.0, linear=3.0, square=1.0))
    2.0
    """
    gap, linear, square = np.maximum(gap, 0.0), np.asarray(linear, float), np.asarray(square, float)
    denominator = linear + np.sqrt(linear**2 + 4 * square * gap)
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.where(gap > 0, 2 * gap / denominator, 0.0)
    return np.where(np.isinf(gap), np.inf, root)


def level_of_root_sum(value: ArrayLike, root_factor: ArrayLike, factor: ArrayLike) -> Value:
    """Solve ``root_factor sqrt(t) + factor t = value`` for t.

    Examples
    --------
    >>> float(level_of_root_sum(10.0, root_factor=3.0, factor=1.0))
    4.0
    """
    return (quadratic_root(value, root_factor, factor) ** 2)[()]
