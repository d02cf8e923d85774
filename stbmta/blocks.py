"""A block of sums of kernel values: which compiled tile computes it, and how its points are laid out.

:mod:`stbmta.sums` cuts the work into blocks and hands them to threads; here a block becomes a call of
:mod:`stbmta.jit.tiles`, or a look at a matrix that the user gave.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .jit import moments, packing, tiles, vector
from .kernels import RBF, Kernel, Laplacian, Polynomial, Precomputed
from .threads import chunks, run

__all__ = [
    "Block",
    "Extent",
    "Side",
    "Tile",
    "block_function",
    "choose_tile",
    "column_medians",
    "data_center",
    "matrix_block",
    "tile_block",
]

Array = npt.NDArray[Any]
# Computes piece sums p0..p1 x q0..q1 into a table whose first cell is the corner.
Block = Callable[[int, int, int, int, Array, Array], None]

# Beyond this value of |x|^2 / (2 s^2) in bits, |x|^2 + |y|^2 - 2 <x, y> would lose more than about 1e-13.
NORM_FORM_LIMIT = 128.0
# Beyond this value in bits, single precision would lose more than about 3e-5.
SINGLE_LIMIT = 16.0
# Between this and one over it, numbers keep their digits in single precision.
SINGLE_LARGEST = 1e30
# Values of a kernel may grow this large; their sums must be numbers too.
LARGEST_VALUE = 1e280
MANY_DIMENSIONS = 64
CACHED_ROWS = 2**17  # coordinates: a megabyte
# Values of a precomputed kernel looked at together.
MATRIX_BLOCK = 2**22


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a matrix of sums: points cut into pieces, and what each piece belongs to."""

    points: Array
    rows: Array  # the user's row of each point, for precomputed matrices
    pieces: npt.NDArray[np.int64]
    part: npt.NDArray[np.int64]
    bag: npt.NDArray[np.int64]

    @classmethod
    def cut(cls, points: Array, rows: Array, part_offsets: Array, part_bag: Array, longest: int) -> "Side":
        """Cut each part into pieces of at most `longest` points."""
        counts = -(-np.diff(part_offsets) // longest)
        part = np.repeat(np.arange(len(counts)), counts)
        number = np.arange(len(part)) - np.repeat(np.cumsum(counts) - counts, counts)
        pieces = np.r_[part_offsets[part] + number * longest, part_offsets[-1]].astype(np.int64)
        return cls(points, rows, pieces, part, part_bag[part].astype(np.int64))

    @property
    def n_pieces(self) -> int:
        """Number of pieces."""
        return len(self.part)


@dataclass(frozen=True, slots=True)
class Extent:
    """How far points reach: squared distances from the middle of their range, and from the origin."""

    center: npt.NDArray[np.float64]
    reach: float
    from_origin: float

    @classmethod
    def of(cls, *collections: Array, n_threads: int | None = None) -> "Extent":
        """Measure one or several collections of points together."""
        center = data_center(*collections, n_threads=n_threads)
        origin = np.zeros_like(center)
        parts = _parts(collections)
        reach = np.empty((len(parts), 2))

        def measure(number: int) -> None:
            for k, place in enumerate((center, origin)):
                reach[number, k] = moments.farthest(parts[number], place)

        run([partial(measure, number) for number in range(len(parts))], n_threads)
        return cls(center, *reach.max(axis=0).tolist())


def data_center(*collections: Array, n_threads: int | None = None) -> npt.NDArray[np.float64]:
    """Return the middle of the range of each column: unlike a mean, the same in any order of the points."""
    parts = _parts(collections)
    low, high = np.empty((2, len(parts), collections[0].shape[1]))
    jobs = [partial(moments.column_range, *each) for each in zip(parts, low, high, strict=True)]
    run(jobs, n_threads)
    return low.min(axis=0) / 2 + high.max(axis=0) / 2


def column_medians(
    points: Array, rows: npt.NDArray[np.int64], n_threads: int | None = None
) -> npt.NDArray[np.float64]:
    """Return the lower median of each column over some rows: the same in any order, and no outlier moves it."""
    middle = (len(rows) - 1) // 2
    found = np.empty(points.shape[1])

    def measure(first: int, last: int) -> None:
        for k in range(first, last):
            found[k] = np.partition(points[rows, k], middle)[middle]

    run([partial(measure, *columns) for columns in chunks(points.shape[1], len(rows))], n_threads)
    return found


def _parts(collections: tuple[Array, ...]) -> list[Array]:
    """Cut points into parts of rows for the threads."""
    return [points[a:b] for points in collections for a, b in chunks(len(points), points.shape[1])]


# ---------------------------------------------------------------------- compiled kernels


@dataclass(frozen=True, slots=True)
class Tile:
    """Which tile computes a kernel, with which parameters, center of the data and precision."""

    code: int
    parameters: Array
    center: Array
    dtype: np.dtype[Any]


def block_function(
    left: Side,
    right: Side,
    first_column: Array,
    kernel: Kernel,
    dtype: npt.DTypeLike = np.float64,
    n_threads: int | None = None,
) -> Block:
    """Return a function that computes a block of piece sums; it is prepared on threads."""
    if isinstance(kernel, Precomputed):
        return matrix_block(left, right, first_column, kernel)
    points = (left.points,) if left is right else (left.points, right.points)
    tile = choose_tile(kernel, Extent.of(*points, n_threads=n_threads), np.dtype(dtype))
    return tile_block(left, right, first_column, tile, n_threads)


def tile_block(
    left: Side, right: Side, first_column: Array, tile: Tile, n_threads: int | None = None
) -> Block:
    """Return a function that computes a block of piece sums with the compiled tiles."""
    dim = left.points.shape[1]
    padded = -(-np.diff(left.pieces) // tiles.ROWS) * tiles.ROWS
    packed = np.r_[0, np.cumsum(padded)].astype(np.int64)
    rows, bias = _as_rows(left, packed, tile, n_threads)
    panels, column_weight = _as_columns(right, tile, n_threads)
    parameters = tile.parameters.astype(tile.dtype)
    together = _pieces_together(dim, int(padded.max()))

    def block(p0: int, p1: int, q0: int, q1: int, out: Array, corner: Array) -> None:
        room = (int(right.pieces[q1] - right.pieces[q0]) // vector.WIDTH + 2) * vector.WIDTH
        totals = vector.aligned_zeros(together * room).reshape(together, room)
        partial = vector.aligned_zeros(tiles.SOME_ROWS * vector.WIDTH, tile.dtype)
        tiles.block_sums(
            tile.code, parameters, dim, rows, bias, packed, panels, column_weight, right.pieces, first_column,
            p0, p1, q0, q1, together, partial, totals, out, corner,
        )  # fmt: skip

    return block


def _as_rows(left: Side, packed: Array, tile: Tile, n_threads: int | None) -> tuple[Array, Array]:
    """Return the points as rows, and what a tile starts from for each row; padding adds nothing."""
    dim, scale = left.points.shape[1], float(tile.parameters[0])
    rows = vector.aligned_zeros(int(packed[-1]) * dim, tile.dtype)
    norms = np.full(int(packed[-1]), np.nan)
    # 2 c <x, y> - c |x|^2 - c |y|^2 is the exponent of the RBF in bits, with c the scale.
    factor = 2 * scale if tile.code == tiles.RBF else 1.0

    def pack(p0: int, p1: int) -> None:
        pieces, places = left.pieces[p0 : p1 + 1], packed[p0 : p1 + 1]
        packing.pack_rows(left.points, tile.center, factor, pieces, places, rows, norms)

    run([partial(pack, *pieces) for pieces in chunks(left.n_pieces, len(rows) / left.n_pieces)], n_threads)
    if tile.code == tiles.POLYNOMIAL:
        nothing, bias = 0.0, np.ones(len(norms))
    else:
        nothing, bias = vector.LOWEST[tile.dtype], np.zeros(len(norms))
    if tile.code == tiles.RBF:
        bias = -scale * norms
    return rows, np.where(np.isnan(norms), nothing, bias).astype(tile.dtype)


def _as_columns(right: Side, tile: Tile, n_threads: int | None) -> tuple[Array, Array]:
    """Return the points as panels of columns, and the weight of each column in the RBF."""
    n_points, dim = right.points.shape
    n_columns = -(-n_points // vector.WIDTH) * vector.WIDTH
    panels = vector.aligned_zeros(n_columns * dim, tile.dtype)
    weight = vector.aligned_zeros(n_columns)

    def pack(start: int, stop: int) -> None:
        packing.pack_columns(right.points[start:stop], tile.center, panels[start * dim :], weight[start:stop])

    run([partial(pack, *columns) for columns in chunks(n_points, dim, vector.WIDTH)], n_threads)
    if tile.code == tiles.RBF:
        np.exp2(-tile.parameters[0] * weight, out=weight)
    return panels, weight


def _pieces_together(dim: int, longest: int) -> int:
    """Return how many pieces should meet a panel at once.

    A panel of many dimensions comes from far away; it pays to meet as many rows as the second-level cache
    holds. A panel of few dimensions is at hand anyway, and fewer totals are then better.
    """
    if dim <= MANY_DIMENSIONS:
        return 1
    return max(1, min(16, CACHED_ROWS // (dim * longest)))


def choose_tile(kernel: Kernel, extent: Extent, dtype: np.dtype[Any]) -> Tile:
    """Choose the tile of a kernel: as precise as was asked for, more precise where the data need it."""
    center, reach = extent.center, extent.reach
    origin = np.zeros_like(center)
    single = dtype == np.float32
    double = np.dtype(np.float64)
    log2_e = math.log2(math.e)
    # Long inner products lose more, as the square root of their length; so much less is allowed.
    rounding = math.sqrt(max(1.0, len(center) / MANY_DIMENSIONS))
    match kernel:
        case RBF(bandwidth=float(width)):
            c = log2_e / 2 / width**2
            if single and _fits_single(c, reach) and rounding * c * reach <= SINGLE_LIMIT:
                return Tile(tiles.RBF, np.array([c, 0.0, 0.0]), center, dtype)
            if rounding * c * reach <= NORM_FORM_LIMIT:
                return Tile(tiles.RBF, np.array([c, 0.0, 0.0]), center, double)
            return Tile(tiles.RBF_DIRECT, np.array([-c, 0.0, 0.0]), origin, double)
        case Laplacian(bandwidth=float(width)):
            c = log2_e / width
            parameters = np.array([-c, 0.0, 0.0])
            # The L1 norm is at most sqrt(d) times the Euclidean one.
            exponent = rounding * c * math.sqrt(len(center) * reach)
            if single and _fits_single(c, reach) and exponent <= SINGLE_LIMIT:
                return Tile(tiles.LAPLACIAN, parameters, center, dtype)
            return Tile(tiles.LAPLACIAN, parameters, origin, double)
        case Polynomial(degree=degree, gamma=float(gamma), coef0=coef0):
            largest = gamma * extent.from_origin + coef0
            power = degree * math.log(largest) if largest > 0 else -math.inf
            if power > math.log(LARGEST_VALUE):
                raise ValueError(
                    f"values of {kernel} overflow on these points. Divide the points by a constant, or choose a "
                    "smaller gamma or degree."
                )
            safe = single and _fits_single(gamma, extent.from_origin, math.exp(power))
            parameters = np.array([gamma, coef0, float(degree)])
            return Tile(tiles.POLYNOMIAL, parameters, origin, dtype if safe else double)
    raise TypeError(f"no compiled sums for {kernel!r}.")


def _fits_single(*sizes: float) -> bool:
    """Tell whether numbers of these sizes keep their digits in single precision, whatever the unit of the data."""
    return all(1 / SINGLE_LARGEST <= size <= SINGLE_LARGEST for size in sizes)


# ---------------------------------------------------------------------- values that are given


def matrix_block(left: Side, right: Side, first_column: Array, kernel: Precomputed) -> Block:
    """Return a function that computes a block of piece sums from kernel values that are given."""
    values = kernel.values

    def between(rows: slice, columns: slice) -> Array:
        if callable(values):
            found = kernel(left.points[rows], right.points[columns])
        else:
            found = values[np.ix_(left.rows[rows], right.rows[columns])].astype(np.float64, copy=False)
        if found.shape != (rows.stop - rows.start, columns.stop - columns.start):
            raise ValueError(f"the kernel function returned shape {found.shape}; one row and column a point.")
        if not np.isfinite(found).all():
            raise ValueError("the kernel has values that are NaN or infinite.")
        return np.ascontiguousarray(found)

    def block(p0: int, p1: int, q0: int, q1: int, out: Array, corner: Array) -> None:
        for p in range(p0, p1):
            q = max(q0, int(first_column[p]))
            if q >= q1:
                continue
            columns = slice(int(right.pieces[q]), int(right.pieces[q1]))
            totals = np.zeros(columns.stop - columns.start)
            step = max(1, MATRIX_BLOCK // len(totals))
            for start in range(int(left.pieces[p]), int(left.pieces[p + 1]), step):
                rows = slice(start, min(start + step, int(left.pieces[p + 1])))
                packing.add_matrix(between(rows, columns), totals)
            row, first = out[p - corner[0]], q - int(corner[1])
            tiles.sum_pieces(totals, -columns.start, right.pieces, q, q1, row, first)

    return block
