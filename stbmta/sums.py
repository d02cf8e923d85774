"""Sums of kernel values between bags, planned here and computed by :mod:`stbmta.jit.tiles`.

Bags are cut into pieces of at most PIECE points. The result is defined as a sum over pairs of pieces in
a fixed order; how pairs are grouped into tasks and who runs them is free. Bags are first put into an
order that depends only on their contents, so the order in which a user gives them is free as well.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from .jit import moments, tiles, vector
from .kernels import RBF, Kernel, Laplacian, Polynomial, Precomputed
from .threads import run

__all__ = ["PartSums", "canonical_order", "cross_sums", "data_center", "part_sums"]

Array = npt.NDArray[Any]

# Part of the definition of the sums: changing it changes the last bits.
PIECE = 4096
# Default cost of a task, in kernel values: some hundredths of a second.
TASK = 2**25
# Beyond this value of |x|^2 / (2 s^2) in bits, |x|^2 + |y|^2 - 2 <x, y> would lose more than about 1e-13.
NORM_FORM_LIMIT = 128.0
MANY_DIMENSIONS = 64
CACHED_ROWS = 2**17  # coordinates: a megabyte
# Values of a precomputed kernel looked at together.
MATRIX_BLOCK = 2**22


@dataclass(frozen=True, slots=True)
class PartSums:
    """Sums of kernel values between parts of bags and bags.

    Attributes
    ----------
    sums : ndarray of shape (parts, bags)
    own : ndarray of shape (parts,)
        The sum of each part with itself.
    """

    sums: npt.NDArray[np.float64]
    own: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a matrix of sums: points cut into pieces, and what each piece belongs to."""

    points: Array
    rows: Array  # the user's row of each point, for precomputed matrices
    pieces: npt.NDArray[np.int64]
    part: npt.NDArray[np.int64]
    bag: npt.NDArray[np.int64]

    @classmethod
    def cut(cls, points: Array, rows: Array, part_offsets: Array, part_bag: Array) -> "_Side":
        starts: list[int] = []
        parts: list[int] = []
        for a, (start, stop) in enumerate(pairwise(part_offsets)):
            cuts = range(int(start), int(stop), PIECE)
            starts.extend(cuts)
            parts.extend([a] * len(cuts))
        part = np.array(parts, dtype=np.int64)
        pieces = np.array([*starts, part_offsets[-1]], dtype=np.int64)
        return cls(points, rows, pieces, part, part_bag[part].astype(np.int64))

    @property
    def n_pieces(self) -> int:
        return len(self.part)


def canonical_order(points: Array, offsets: Array) -> npt.NDArray[np.int64]:
    """Return the order of the bags by their contents, large bags first.

    Equal bags are interchangeable, so any order of them gives the same sums.
    """
    prints = np.empty(len(offsets) - 1, dtype=np.uint64)
    words = points.view(np.uint32 if points.dtype == np.float32 else np.uint64)
    with np.errstate(over="ignore"):  # the products are meant to wrap around
        moments.fingerprints(words, offsets, prints)
    return np.lexsort((prints, -np.diff(offsets)))


def data_center(*collections: Array) -> npt.NDArray[np.float64]:
    """Return the middle of the range of each column: unlike a mean, the same in any order of the points."""
    dim = collections[0].shape[1]
    low, high = np.full(dim, np.inf), np.full(dim, -np.inf)
    for points in collections:
        a, b = np.empty(dim), np.empty(dim)
        moments.column_range(points, a, b)
        low, high = np.minimum(low, a), np.maximum(high, b)
    return low / 2 + high / 2


def part_sums(
    points: Array,
    rows: Array,
    part_offsets: Array,
    part_bag: Array,
    kernel: Kernel,
    n_threads: int | None = None,
    block_size: int | None = None,
) -> PartSums:
    """Return the sums of kernel values between all parts and all bags, by symmetry from half of them.

    Parameters
    ----------
    points : array of shape (n, d)
    rows : int64 array of shape (n,)
        The row of each point in a precomputed kernel matrix.
    part_offsets : int64 array
        Where each part starts; the parts of a bag are neighbors.
    part_bag : int64 array
        The bag of each part.
    kernel : Kernel
        Resolved: no parameter left to choose.
    n_threads, block_size : int, optional
        Neither changes the result. `block_size` is the number of kernel values of a task.

    Notes
    -----
    Time O(n^2 d / 2), memory O(n d + parts * bags).
    """
    n_bags = int(part_bag[-1]) + 1
    side = _Side.cut(points, rows, part_offsets, part_bag)
    result = PartSums(np.zeros((len(part_bag), n_bags)), np.zeros(len(part_bag)))
    first_piece = np.searchsorted(side.bag, np.arange(n_bags))  # of each bag
    first_column = first_piece[side.bag]

    def scatter(out: Array, corner: Array, p0: int, p1: int) -> None:
        tiles.scatter_symmetric(
            out, corner, p0, p1, side.part, side.bag, first_column, result.sums, result.own
        )

    _run_blocks(side, side, first_column, kernel, scatter, n_threads, block_size)
    return result


def cross_sums(
    points: Array,
    rows: Array,
    offsets: Array,
    other_points: Array,
    other_rows: Array,
    other_offsets: Array,
    kernel: Kernel,
    n_threads: int | None = None,
    block_size: int | None = None,
) -> npt.NDArray[np.float64]:
    """Return the sums of kernel values between two collections of bags."""
    left = _Side.cut(points, rows, offsets, np.arange(len(offsets) - 1))
    right = _Side.cut(other_points, other_rows, other_offsets, np.arange(len(other_offsets) - 1))
    sums = np.zeros((len(offsets) - 1, len(other_offsets) - 1))

    def scatter(out: Array, corner: Array, p0: int, p1: int) -> None:
        tiles.scatter_cross(out, corner, p0, p1, left.bag, right.bag, sums)

    _run_blocks(left, right, np.zeros(left.n_pieces, dtype=np.int64), kernel, scatter, n_threads, block_size)
    return sums


# ---------------------------------------------------------------------- tasks


Scatter = Callable[[Array, Array, int, int], None]
Block = Callable[[int, int, int, int, Array, Array], None]


class _RowGroup:
    """Whole bags of rows whose tasks share one table of piece sums; the last task adds it to the result."""

    def __init__(self, p0: int, p1: int, q0: int, n_columns: int, scatter: Scatter) -> None:
        self.p0, self.p1, self.q0, self.n_columns = p0, p1, q0, n_columns
        self.scatter = scatter
        self.lock = Lock()
        self.out: Array | None = None
        self.waiting = 0

    def run(self, block: Block, p0: int, p1: int, q0: int, q1: int) -> None:
        corner = np.array([self.p0, self.q0])
        with self.lock:
            if self.out is None:
                self.out = np.zeros((self.p1 - self.p0, self.n_columns - self.q0))
        block(p0, p1, q0, q1, self.out, corner)
        with self.lock:
            self.waiting -= 1
            last = self.waiting == 0
        if last:
            self.scatter(self.out, corner, self.p0, self.p1)
            self.out = None


def _run_blocks(
    left: _Side,
    right: _Side,
    first_column: Array,
    kernel: Kernel,
    scatter: Scatter,
    n_threads: int | None,
    block_size: int | None,
) -> None:
    if isinstance(kernel, Precomputed):
        block = _matrix_block(left, right, first_column, kernel)
    else:
        block = _tile_block(left, right, first_column, kernel)
    limit = TASK if block_size is None else block_size
    if limit < 1:
        raise ValueError(f"block_size must be at least 1, found {block_size}.")
    tasks = []
    for p0, p1 in _row_groups(left, right, first_column, limit):
        group = _RowGroup(p0, p1, int(first_column[p0]), right.n_pieces, scatter)
        for a0, a1, q0, q1 in _rectangles(left, right, p0, p1, int(first_column[p0]), limit):
            group.waiting += 1
            tasks.append(partial(group.run, block, a0, a1, q0, q1))
    run(tasks, n_threads)


def _row_groups(left: _Side, right: _Side, first_column: Array, limit: int) -> list[tuple[int, int]]:
    """Cut the row pieces into groups of whole bags that cost about `limit` kernel values each."""
    columns_left = right.pieces[-1] - right.pieces[first_column]
    cost = np.diff(left.pieces) * columns_left
    bag_start = np.flatnonzero(np.r_[True, np.diff(left.bag) != 0])
    bag_cost = np.add.reduceat(cost, bag_start)
    groups, start, total = [], 0, 0
    for k, value in enumerate(bag_cost):
        total += int(value)
        if total >= limit or k == len(bag_cost) - 1:
            stop = int(bag_start[k + 1]) if k + 1 < len(bag_start) else left.n_pieces
            groups.append((start, stop))
            start, total = stop, 0
    return groups


def _rectangles(
    left: _Side, right: _Side, p0: int, p1: int, q0: int, limit: int
) -> list[tuple[int, int, int, int]]:
    """Cut a group's table of piece sums into rectangles of at most about `limit` kernel values."""
    n_rows = int(left.pieces[p1] - left.pieces[p0])
    n_columns = int(right.pieces[-1] - right.pieces[q0])
    if n_rows * n_columns <= 2 * limit:
        return [(p0, p1, q0, right.n_pieces)]
    row_cuts = _cuts(left.pieces, p0, p1, max(1, math.isqrt(limit)))
    rectangles = []
    for a0, a1 in row_cuts:
        width = max(1, limit // int(left.pieces[a1] - left.pieces[a0]))
        rectangles += [(a0, a1, b0, b1) for b0, b1 in _cuts(right.pieces, q0, right.n_pieces, width)]
    return rectangles


def _cuts(pieces: Array, start: int, stop: int, size: int) -> list[tuple[int, int]]:
    """Cut a range of pieces into runs of about `size` points, at least one piece each."""
    cuts = []
    while start < stop:
        end = int(np.searchsorted(pieces, pieces[start] + size, side="right")) - 1
        end = min(max(end, start + 1), stop)
        cuts.append((start, end))
        start = end
    return cuts


# ---------------------------------------------------------------------- blocks


def _tile_block(left: _Side, right: _Side, first_column: Array, kernel: Kernel) -> Block:
    """Return a function that computes a block of piece sums with the compiled tiles."""
    dim = left.points.shape[1]
    code, parameters, center = _parameters(left, right, kernel)
    # 2 c <x, y> - c |x|^2 - c |y|^2 is the exponent of the RBF in bits, with c = parameters[0].
    factor = 2 * parameters[0] if code == tiles.RBF else 1.0
    padded = -(-np.diff(left.pieces) // tiles.ROWS) * tiles.ROWS
    packed = np.r_[0, np.cumsum(padded)].astype(np.int64)
    rows = vector.aligned_zeros(int(packed[-1]) * dim)
    bias = np.full(int(packed[-1]), np.nan)
    tiles.pack_rows(left.points, center, factor, left.pieces, packed, rows, bias)
    n_columns = -(-len(right.points) // vector.WIDTH) * vector.WIDTH
    panels = vector.aligned_zeros(n_columns * dim)
    column_weight = vector.aligned_zeros(n_columns)
    tiles.pack_columns(right.points, center, panels, column_weight)
    is_padding = np.isnan(bias)
    together = _pieces_together(dim, int(padded.max()))
    if code == tiles.RBF:
        bias = np.where(is_padding, vector.LOWEST, -parameters[0] * bias)
        np.exp2(-parameters[0] * column_weight, out=column_weight)
    elif code == tiles.POLYNOMIAL:
        bias = np.where(is_padding, 0.0, 1.0)
    else:
        bias = np.where(is_padding, vector.LOWEST, 0.0)

    def block(p0: int, p1: int, q0: int, q1: int, out: Array, corner: Array) -> None:
        room = (int(right.pieces[q1] - right.pieces[q0]) // vector.WIDTH + 2) * vector.WIDTH
        totals = vector.aligned_zeros(together * room).reshape(together, room)
        tiles.block_sums(
            code, parameters, dim, rows, bias, packed, panels, column_weight, right.pieces, first_column,
            p0, p1, q0, q1, together, totals, out, corner,
        )  # fmt: skip

    return block


def _pieces_together(dim: int, longest: int) -> int:
    """Return how many pieces should meet a panel at once.

    A panel of many dimensions comes from far away; it pays to meet as many rows as the second-level cache
    holds. A panel of few dimensions is at hand anyway, and fewer totals are then better.
    """
    if dim <= MANY_DIMENSIONS:
        return 1
    return max(1, min(16, CACHED_ROWS // (dim * longest)))


def _matrix_block(left: _Side, right: _Side, first_column: Array, kernel: Precomputed) -> Block:
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
                tiles.add_matrix(between(rows, columns), totals)
            tiles.sum_pieces(totals, right.pieces, q, q1, out[p - corner[0], q - corner[1] :])

    return block


def _parameters(left: _Side, right: _Side, kernel: Kernel) -> tuple[int, Array, Array]:
    """Return the code of a kernel, its parameters, and the center of the data that its tile wants."""
    dim = left.points.shape[1]
    log2_e = math.log2(math.e)
    match kernel:
        case RBF(bandwidth=float(width)):
            c = log2_e / 2 / width**2
            center = data_center(left.points, right.points)
            reach = max(moments.farthest(side.points, center) for side in (left, right))
            if c * reach <= NORM_FORM_LIMIT:
                return tiles.RBF, np.array([c, 0.0, 0.0]), center
            return tiles.RBF_DIRECT, np.array([-c, 0.0, 0.0]), np.zeros(dim)
        case Laplacian(bandwidth=float(width)):
            return tiles.LAPLACIAN, np.array([-log2_e / width, 0.0, 0.0]), np.zeros(dim)
        case Polynomial(degree=degree, gamma=float(gamma), coef0=coef0):
            return tiles.POLYNOMIAL, np.array([gamma, coef0, float(degree)]), np.zeros(dim)
    raise TypeError(f"no compiled sums for {kernel!r}.")
