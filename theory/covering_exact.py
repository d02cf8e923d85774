"""Exact covering numbers of a few points, by integer programming."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from . import _check as check
from ._check import Floats

__all__ = [
    "exact_covering_number",
    "exponent_of",
    "fewest_balls",
    "fewest_centers",
    "pair_squares",
    "rescaled",
]

_TIES = 1 + 1e-9  # points on the surface belong to a ball, whatever the rounding of the systems
_MOST_BALLS = 200_000
_ORDINARY = 256  # powers of two up to this one have squares far from the ends of all numbers
_LARGEST = 1e307  # four of them still are a number


def exact_covering_number(points: ArrayLike, radius: float, *, anywhere: bool = True) -> int:
    """Smallest number of closed balls of one radius that hold all points.

    Parameters
    ----------
    points : array_like, shape (B, d)
        A few dozen points at most.
    radius : float
        Radius of the balls, above 0.
    anywhere : bool, default True
        Whether a ball may be centered anywhere, as in the theorems, or only at one of the points.

    Returns
    -------
    int
        Points on the surface of a ball, up to 1e-9 of its squared radius, count as inside.

    Notes
    -----
    A smallest ball around some points is the circumscribed ball of at most d + 1 of them. So the candidates are
    the circumscribed balls of all subsets up to that size with a radius within the limit; an integer program
    chooses among them.

    Examples
    --------
    >>> triangle = [[0.0, 0.0], [2.0, 0.0], [1.0, 1.7]]
    >>> exact_covering_number(triangle, 1.2), exact_covering_number(triangle, 1.2, anywhere=False)
    (1, 3)
    """
    x, size = check.points(points), check.radius(radius)
    if exponent := exponent_of(size):
        return exact_covering_number(
            rescaled("points", x, exponent), math.ldexp(size, -exponent), anywhere=anywhere
        )
    squares = pair_squares(x)
    if not anywhere:
        return len(fewest_centers(squares, size**2 * _TIES))
    number = fewest_balls(squares, size, x.shape[1])
    if number is None:
        raise ValueError(
            f"points and radius give more than {_MOST_BALLS:,} candidate balls. "
            "Use covering_number for so many points."
        )
    return number


def exponent_of(radius: float) -> int:
    """Exponent of the power of two above a radius whose square might overflow or vanish; 0 for any other.

    Returns
    -------
    int
        Division by two to this power brings the radius into [0.5, 1); 0 leaves it as it is.
    """
    _, exponent = math.frexp(radius)
    return exponent * (abs(exponent) > _ORDINARY)


def rescaled(name: str, values: Floats, exponent: int, unit: str = "radius") -> Floats:
    """Divide values by ``2**exponent``, about a unit, without rounding.

    Returns
    -------
    ndarray
        Array of the same shape; a result above 1e307 is refused.
    """
    with np.errstate(over="ignore"):
        scaled = np.ldexp(values, -exponent)
    largest = np.abs(scaled).max()
    if largest > _LARGEST:
        raise ValueError(
            f"{name} must be at most {_LARGEST:g} in units of the {unit}; found about {largest:g}."
        )
    return scaled


@np.errstate(over="ignore")
def pair_squares(points: Floats) -> Floats:
    """Squared distances of all pairs; infinite beyond all numbers.

    Returns
    -------
    ndarray, shape (B, B)
        Symmetric, with zeros on the diagonal.
    """
    return ((points[:, np.newaxis] - points) ** 2).sum(axis=2)


def fewest_centers(squares: Floats, limit: float) -> NDArray[np.int64]:
    """Fewest points whose balls hold all points; ``squares`` are squared distances, ``limit`` the squared radius.

    Returns
    -------
    ndarray of int
        Increasing indices of the chosen points.
    """
    return np.sort(_fewest_sets(squares <= limit))


@np.errstate(invalid="ignore")  # of points beyond all numbers
def fewest_balls(squares: Floats, radius: float, dim: int, most: int = _MOST_BALLS) -> int | None:
    """Fewest balls, centered anywhere, that hold all points; None if there are too many candidates.

    Returns
    -------
    int or None
        How many balls; None if more than ``most`` candidates would have to be compared.
    """
    sets = _circumscribed(squares / radius**2, min(len(squares), dim + 1), most)
    return None if sets is None else len(_fewest_sets(np.unique(sets, axis=0)))


def _circumscribed(squares: Floats, largest: int, most: int) -> NDArray[np.bool_] | None:
    """Which points each circumscribed ball of radius 1 or less holds, one row for each ball; None for too many.

    Distances are in units of the radius, so that the systems are well conditioned whatever the units of the points. The
    center sum_i w_i x_i of the points S has ``D_S w = m 1`` with weights that sum to one, where D holds
    squared distances; its squared radius is m / 2. A ball through more points is never smaller, so a subset
    grows only while its ball is small enough.
    """
    rows = squares <= _TIES  # a larger ball around each point
    subsets = np.arange(len(squares))[:, np.newaxis]
    for size in range(2, largest + 1):
        later = np.arange(len(squares)) > subsets[:, -1:]
        owners, added = np.nonzero(later & np.all(squares[subsets] <= 4 * _TIES, axis=1))
        if len(rows) + len(owners) > most:
            return None
        subsets = np.column_stack([subsets[owners], added])
        systems = np.ones((len(subsets), size + 1, size + 1))
        systems[:, -1, -1] = 0.0
        systems[:, :-1, :-1] = squares[subsets[:, :, np.newaxis], subsets[:, np.newaxis]]
        # Points in one subspace are left out: fewer of them determine the ball.
        apart = np.linalg.cond(systems) < 1e12
        subsets, systems = subsets[apart], systems[apart]
        right = np.zeros((len(subsets), size + 1))
        right[:, -1] = 1.0
        weights = np.linalg.solve(systems, right[..., np.newaxis])[..., 0]
        square = -weights[:, -1] / 2
        within = square <= _TIES
        subsets, weights, square = subsets[within], weights[within, :-1], square[within]
        reach = np.einsum("kij,ki->kj", squares[subsets], weights) - square[:, np.newaxis]
        rows = np.vstack([rows, reach <= _TIES])
    return rows


def _fewest_sets(sets: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Fewest rows that together hold every column."""
    n_sets, n_points = sets.shape
    every = LinearConstraint(sets.T.astype(float), lb=np.ones(n_points))
    solution = milp(np.ones(n_sets), integrality=np.ones(n_sets), bounds=Bounds(0, 1), constraints=every)
    if solution.x is None:
        raise RuntimeError(f"integer program failed: {solution.message}")
    return np.flatnonzero(solution.x > 0.5)
