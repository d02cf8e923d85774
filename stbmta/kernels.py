"""Kernels: a name and parameters for the compiled code, and a plain NumPy call.

Step 2 of the way of the data. A kernel object says what to compute; :mod:`stbmta.sums` computes it
without ever holding an n x n matrix.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when first used

from .jit import moments
from .threads import chunks

if TYPE_CHECKING:
    from .bags import Bags

__all__ = ["RBF", "Kernel", "Laplacian", "Linear", "Polynomial", "Precomputed", "as_kernel"]

Array = npt.NDArray[Any]
Bandwidth = float | Literal["median", "std"]

# The median of pairwise distances is taken over at most this many points, drawn with a fixed seed.
_MEDIAN_POINTS = 1000
# The squares of narrower bandwidths, and of distances divided by them, would leave the range of numbers.
_NARROWEST = 1e-150


class Kernel:
    """What all kernels can do."""

    def __call__(self, X: Array, Y: Array) -> Array:
        """Return the matrix of kernel values between the rows of X and the rows of Y."""
        raise NotImplementedError

    def diagonal(self, X: Array) -> Array:
        """Return k(x, x) for each row of X."""
        raise NotImplementedError

    def resolve(self, bags: "Bags") -> "Kernel":
        """Return the same kernel with every parameter a number, chosen from the data where asked to.

        Returns
        -------
        Kernel
            The kernel itself if it has nothing to choose.
        """
        return self


@dataclass(frozen=True)
class Linear(Kernel):
    """The inner product of two points; its embedding of a bag is the mean.

    Examples
    --------
    >>> Linear()(np.eye(2), np.eye(2))
    array([[1., 0.],
           [0., 1.]])
    """

    def __call__(self, X: Array, Y: Array) -> Array:
        return np.asarray(X, dtype=np.float64) @ np.asarray(Y, dtype=np.float64).T

    def diagonal(self, X: Array) -> Array:
        return np.einsum("ij,ij->i", X, X, dtype=np.float64)


@dataclass(frozen=True)
class RBF(Kernel):
    r"""The Gaussian kernel :math:`\exp(-|x-y|^2 / (2 s^2))`.

    Parameters
    ----------
    bandwidth : float, "median" or "std"
        The width s. "median": the median distance between points, over a sample of at most 1000 with a
        fixed seed. "std": the average standard deviation of the features, as in the paper's experiments.
        The value used is ``statistics.kernel.bandwidth``.

    Examples
    --------
    >>> RBF(1.0)(np.array([[0.0]]), np.array([[0.0], [2.0]])).round(4)
    array([[1.    , 0.1353]])
    """

    bandwidth: Bandwidth

    def __post_init__(self) -> None:
        _check_bandwidth(self.bandwidth)

    def __call__(self, X: Array, Y: Array) -> Array:
        return np.exp(scipy.spatial.distance.cdist(X, Y, "sqeuclidean") / (-2 * _number(self.bandwidth) ** 2))

    def diagonal(self, X: Array) -> Array:
        return np.ones(len(X))

    def resolve(self, bags: "Bags") -> "RBF":
        return replace(self, bandwidth=_choose(self.bandwidth, bags, "euclidean"))


@dataclass(frozen=True)
class Laplacian(Kernel):
    r"""The Laplacian kernel :math:`\exp(-|x-y|_1 / s)`.

    Parameters
    ----------
    bandwidth : float, "median" or "std"
        The width s. "median" is the median of the L1 distances, "std" the average standard deviation of
        the features times their number.

    Examples
    --------
    >>> Laplacian(1.0)(np.array([[0.0, 0.0]]), np.array([[1.0, 1.0]])).round(4)
    array([[0.1353]])
    """

    bandwidth: Bandwidth

    def __post_init__(self) -> None:
        _check_bandwidth(self.bandwidth)

    def __call__(self, X: Array, Y: Array) -> Array:
        return np.exp(scipy.spatial.distance.cdist(X, Y, "cityblock") / -_number(self.bandwidth))

    def diagonal(self, X: Array) -> Array:
        return np.ones(len(X))

    def resolve(self, bags: "Bags") -> "Laplacian":
        return replace(self, bandwidth=_choose(self.bandwidth, bags, "cityblock"))


@dataclass(frozen=True)
class Polynomial(Kernel):
    r"""The polynomial kernel :math:`(g \langle x, y \rangle + c)^p`.

    Parameters
    ----------
    degree : int, default=3
        The power p, at least 1.
    gamma : float, optional
        The factor g; 1 / d by default.
    coef0 : float, default=1.0
        The constant c, not negative (otherwise it is not a kernel).

    Examples
    --------
    >>> Polynomial(degree=2, gamma=1.0, coef0=0.0)(np.array([[2.0]]), np.array([[3.0]]))
    array([[36.]])
    """

    degree: int = 3
    gamma: float | None = None
    coef0: float = 1.0

    def __post_init__(self) -> None:
        if not (isinstance(self.degree, (int, np.integer)) and self.degree >= 1):
            raise ValueError(f"degree must be an integer of at least 1, found {self.degree!r}.")
        if self.gamma is not None and not (math.isfinite(self.gamma) and self.gamma > 0):
            raise ValueError(f"gamma must be a positive number, found {self.gamma!r}.")
        if not (math.isfinite(self.coef0) and self.coef0 >= 0):
            raise ValueError(f"coef0 must be a number of at least 0, found {self.coef0!r}.")
        # Plain numbers: the compiled code and files know no others.
        object.__setattr__(self, "degree", int(self.degree))
        object.__setattr__(self, "coef0", float(self.coef0))
        if self.gamma is not None:
            object.__setattr__(self, "gamma", float(self.gamma))

    def __call__(self, X: Array, Y: Array) -> Array:
        gamma = 1 / X.shape[1] if self.gamma is None else self.gamma
        return (gamma * Linear()(X, Y) + self.coef0) ** self.degree

    def diagonal(self, X: Array) -> Array:
        gamma = 1 / X.shape[1] if self.gamma is None else self.gamma
        return (gamma * Linear().diagonal(X) + self.coef0) ** self.degree

    def resolve(self, bags: "Bags") -> "Polynomial":
        return replace(self, gamma=1 / bags.dim) if self.gamma is None else self


@dataclass(frozen=True, eq=False)
class Precomputed(Kernel):
    """A kernel given by its values.

    Parameters
    ----------
    values : array of shape (n, n) or callable
        The kernel matrix of all points, in the order of the data the bags were made from (``bags.rows``),
        or a function of two arrays of points that returns the matrix between their rows. The function is
        called block by block; the whole matrix is never held. For :func:`stbmta.cross_statistics` the
        matrix has a row for each point of the first bags and a column for each point of the second.

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> bags = Bags.from_list([[1.0, 3.0], [5.0]])
    >>> bag_statistics(bags, Precomputed(np.outer([1, 3, 5], [1, 3, 5]))).gram
    array([[ 4., 10.],
           [10., 25.]])
    >>> bag_statistics(bags, Precomputed(lambda X, Y: X @ Y.T)).gram
    array([[ 4., 10.],
           [10., 25.]])
    """

    values: Array | Callable[[Array, Array], Array]

    def __post_init__(self) -> None:
        if callable(self.values):
            return
        matrix = np.asarray(self.values)
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
            raise ValueError(
                "a precomputed kernel is a two-dimensional array of real numbers, or a function."
            )
        object.__setattr__(self, "values", matrix)

    def check_shape(self, rows: Array, columns: Array) -> None:
        """Refuse a matrix that is too small for these rows and columns of it."""
        if callable(self.values):
            return
        needed = (int(rows.max()) + 1, int(columns.max()) + 1)
        if self.values.shape[0] < needed[0] or self.values.shape[1] < needed[1]:
            raise ValueError(
                f"the kernel matrix has shape {self.values.shape}, but the bags need at least {needed}."
            )

    def check_symmetric(self, rows: Array) -> None:
        """Refuse a matrix that is too small for these rows, not square or not symmetric."""
        self.check_shape(rows, rows)
        if callable(self.values):
            return
        matrix = self.values
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"the kernel matrix has shape {matrix.shape}; one row and one column a point.")
        for start in range(0, len(matrix), 1024):
            part, mirror = matrix[start : start + 1024], matrix[:, start : start + 1024]
            if not np.allclose(part, mirror.T, rtol=1e-8, atol=0.0, equal_nan=True):
                raise ValueError("the kernel matrix is not symmetric; a kernel has k(x, y) = k(y, x).")

    def check_whole(self, n_points: int) -> None:
        """Refuse a matrix that has more or fewer rows than the data it is about."""
        if not callable(self.values) and self.values.shape != (n_points, n_points):
            raise ValueError(
                f"the kernel matrix has shape {self.values.shape}, but the data has {n_points} rows; give the "
                "matrix of these rows in this order, a function, or Bags that were cut out of the whole data."
            )

    def __call__(self, X: Array, Y: Array) -> Array:
        if not callable(self.values):
            raise TypeError("a precomputed kernel matrix cannot be evaluated at new points; give a function.")
        return np.asarray(self.values(X, Y), dtype=np.float64)

    def diagonal(self, X: Array) -> Array:
        # A function of blocks has no cheaper way to its diagonal than small square blocks.
        blocks = [self(X[k : k + 64], X[k : k + 64]).diagonal() for k in range(0, len(X), 64)]
        return np.concatenate(blocks)


def as_kernel(kernel: Kernel | str) -> Kernel:
    """Return the kernel that is meant: an object, or the name of one.

    Returns
    -------
    Kernel
        An object as it is; "rbf" and "laplacian" choose the median distance as bandwidth.

    Examples
    --------
    >>> as_kernel("linear")
    Linear()
    >>> as_kernel("rbf")
    RBF(bandwidth='median')
    """
    if isinstance(kernel, Kernel):
        return kernel
    named: dict[str, Kernel] = {
        "linear": Linear(),
        "rbf": RBF("median"),
        "laplacian": Laplacian("median"),
        "polynomial": Polynomial(),
    }
    if isinstance(kernel, str) and kernel in named:
        return named[kernel]
    raise ValueError(
        f"kernel must be a kernel object or one of {', '.join(map(repr, named))}; found {kernel!r}."
    )


def _check_bandwidth(bandwidth: Any) -> None:
    if isinstance(bandwidth, str):
        if bandwidth not in ("median", "std"):
            raise ValueError(f"bandwidth must be a positive number, 'median' or 'std'; found {bandwidth!r}.")
        return
    if not (isinstance(bandwidth, (int, float, np.number)) and math.isfinite(bandwidth) and bandwidth > 0):
        raise ValueError(f"bandwidth must be a positive number, 'median' or 'std'; found {bandwidth!r}.")
    if not _NARROWEST <= float(bandwidth) <= 1 / _NARROWEST:
        raise ValueError(
            f"the bandwidth {bandwidth!r} is beyond what can be squared; scale the data so that it lies between "
            f"{_NARROWEST:g} and {1 / _NARROWEST:g}."
        )


def _number(bandwidth: Bandwidth) -> float:
    if isinstance(bandwidth, str):
        raise ValueError(f"the bandwidth {bandwidth!r} is chosen from data; call kernel.resolve(bags) first.")
    return float(bandwidth)


def _choose(bandwidth: Bandwidth, bags: "Bags", metric: Literal["euclidean", "cityblock"]) -> float:
    """Choose a bandwidth from the data."""
    if not isinstance(bandwidth, str):
        return float(bandwidth)
    from .sums import canonical_order  # which imports the kernels
    from .vectors import require_squares

    with np.errstate(over="ignore"):  # plain Python warns, compiled code does not
        largest = moments.farthest(bags.data, bags.data[0].astype(np.float64))
    require_squares(largest, bags.data)
    order = canonical_order(bags.data, bags.offsets)  # the bags may come in any order
    if bandwidth == "std":
        value = _average_spread(bags, order) * (bags.dim if metric == "cityblock" else 1)
    else:
        count = min(_MEDIAN_POINTS, len(bags.data))
        chosen = np.sort(np.random.default_rng(0).choice(len(bags.data), count, replace=False))
        ends = np.cumsum(bags.sizes[order])
        bag = np.searchsorted(ends, chosen, side="right")
        rows = bags.offsets[order[bag] + 1] - (ends[bag] - chosen)
        distances = np.empty(count * (count - 1) // 2)
        columns = np.empty((bags.dim, count))
        # Both in parts, so that Ctrl-C is heard.
        for first, last in chunks(bags.dim, count):
            columns[first:last] = bags.data[rows, first:last].T
        for first, last in chunks(count, columns.size):
            moments.pair_distances(columns, metric == "cityblock", first, last, distances)
        value = float(np.median(distances)) if count > 1 else 0.0
    if value <= 0:
        raise ValueError(f"the {bandwidth} rule gives bandwidth 0 on these data; give a number instead.")
    return value


def _average_spread(bags: "Bags", order: Array) -> float:
    """Return the average standard deviation of the features, with the bags added up in a given order."""
    starts, count = bags.offsets[:-1], len(bags.data)
    mean = np.add.reduceat(bags.data, starts, axis=0, dtype=np.float64)[order].sum(axis=0) / count
    squares = np.add.reduceat((bags.data - mean) ** 2, starts, axis=0)[order].sum(axis=0)
    return float(np.sqrt(squares / count).mean())
