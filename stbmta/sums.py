"""Sums of kernel values between bags, cut into tasks here and computed by :mod:`stbmta.blocks`.

Bags are cut into pieces of at most :func:`longest_piece` points. The result is defined as a sum over pairs of pieces in
a fixed order; how pairs are grouped into tasks and who runs them is free. Bags are first put into an
order that depends only on their contents, so the order in which a user gives them is free as well.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from .blocks import Block, Side, block_function
from .jit import moments, packing
from .kernels import Kernel
from .threads import chunks, run

__all__ = [
    "PartSums",
    "canonical_order",
    "check_block_size",
    "content_prints",
    "cross_sums",
    "longest_piece",
    "order_by_contents",
    "part_sums",
]

Array = npt.NDArray[Any]

# Part of the definition of the sums: changing them changes the last bits.
PIECE = 4096
PAIR_OF_PIECES = 2**32  # multiply-adds: about a tenth of a second, the least a task can be
# Default cost of a task, in kernel values of few dimensions: some hundredths of a second at most, so that Ctrl-C
# is heard; less if that leaves too few tasks to share out evenly.
TASK = 2**25
FEW_DIMENSIONS = 32
SMALL_TASK = 2**20
TASKS = 16


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


def longest_piece(dim: int) -> int:
    """Return how many points a piece may have: fewer where points have many coordinates.

    A task is at least a pair of pieces, and Ctrl-C is heard between tasks.

    Examples
    --------
    >>> [longest_piece(dim) for dim in (2, 224, 225, 20_000)]
    [4096, 4096, 2048, 256]
    """
    limit = math.isqrt(PAIR_OF_PIECES // (dim + FEW_DIMENSIONS))
    return min(PIECE, 2 ** (limit.bit_length() - 1))


def canonical_order(points: Array, offsets: Array, n_threads: int | None = None) -> npt.NDArray[np.int64]:
    """Return the order of the bags by their contents, large bags first.

    Equal bags are interchangeable, so any order of them gives the same sums.
    """
    return order_by_contents(np.diff(offsets), content_prints(points, offsets, n_threads))


def order_by_contents(sizes: Array, prints: Array) -> npt.NDArray[np.int64]:
    """Return the order of bags with these sizes and numbers for their contents."""
    return np.lexsort((prints, -sizes))


def content_prints(points: Array, offsets: Array, n_threads: int | None = None) -> npt.NDArray[np.uint64]:
    """Return a number for the contents of each bag."""
    prints = np.empty(len(offsets) - 1, dtype=np.uint64)
    words = points.view(np.uint32 if points.dtype == np.float32 else np.uint64)

    def name(first: int, last: int) -> None:
        with np.errstate(over="ignore"):  # the products are meant to wrap around
            moments.fingerprints(words, offsets[first : last + 1], prints[first:last])

    bags = chunks(len(prints), points.size / max(1, len(prints)))
    run([partial(name, *some) for some in bags], n_threads)
    return prints


def whole_sums(values: Array, pieces: Array, bag: Array) -> npt.NDArray[np.float64]:
    """Return the sum of the values of all points of each bag, by pieces, so that it may be done piecewise elsewhere.

    Parameters
    ----------
    values : array of shape (n,)
    pieces, bag : int64 arrays
        Where each piece starts, and its bag, as :class:`stbmta.blocks.Side` has them.
    """
    starts = np.flatnonzero(np.r_[True, np.diff(bag) != 0])
    return np.add.reduceat(np.add.reduceat(values, pieces[:-1]), starts)


def part_sums(
    points: Array,
    rows: Array,
    part_offsets: Array,
    part_bag: Array,
    kernel: Kernel,
    n_threads: int | None = None,
    block_size: int | None = None,
    dtype: npt.DTypeLike = np.float64,
    client: Any = None,
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
    dtype : float64 or float32
        Precision of the kernel values; see :func:`stbmta.bag_statistics`.
    client : dask.distributed.Client, optional
        Do the work on its cluster; the result has the same bits.

    Notes
    -----
    Time O(n^2 d / 2), memory O(n d + parts * bags).
    """
    n_bags = int(part_bag[-1]) + 1
    side = Side.cut(points, rows, part_offsets, part_bag, longest_piece(points.shape[1]))
    result = PartSums(np.zeros((len(part_bag), n_bags)), np.zeros(len(part_bag)))
    first_piece = np.searchsorted(side.bag, np.arange(n_bags))  # of each bag
    first_column = first_piece[side.bag]

    def scatter(out: Array, corner: Array, p0: int, p1: int) -> None:
        packing.scatter_symmetric(
            out, corner, p0, p1, side.part, side.bag, first_column, result.sums, result.own
        )

    _run_blocks(side, side, first_column, kernel, scatter, n_threads, block_size, dtype, client)
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
    dtype: npt.DTypeLike = np.float64,
    client: Any = None,
) -> npt.NDArray[np.float64]:
    """Return the sums of kernel values between two collections of bags."""
    longest = longest_piece(points.shape[1])
    left = Side.cut(points, rows, offsets, np.arange(len(offsets) - 1), longest)
    right = Side.cut(other_points, other_rows, other_offsets, np.arange(len(other_offsets) - 1), longest)
    sums = np.zeros((len(offsets) - 1, len(other_offsets) - 1))

    def scatter(out: Array, corner: Array, p0: int, p1: int) -> None:
        packing.scatter_cross(out, corner, p0, p1, left.bag, right.bag, sums)

    everything = np.zeros(left.n_pieces, dtype=np.int64)
    _run_blocks(left, right, everything, kernel, scatter, n_threads, block_size, dtype, client)
    return sums


# ---------------------------------------------------------------------- tasks


Scatter = Callable[[Array, Array, int, int], None]


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


def check_block_size(block_size: int | None) -> None:
    """Refuse what is no number of kernel values."""
    whole = isinstance(block_size, (int, np.integer)) and not isinstance(block_size, bool)
    if block_size is not None and not (whole and block_size >= 1):
        raise ValueError(f"block_size must be an integer of at least 1, found {block_size!r}.")


def _run_blocks(
    left: Side,
    right: Side,
    first_column: Array,
    kernel: Kernel,
    scatter: Scatter,
    n_threads: int | None,
    block_size: int | None,
    dtype: npt.DTypeLike,
    client: Any,
) -> None:
    if client is not None:
        from .scale.distributed_sums import run_remotely

        run_remotely(client, left, right, first_column, kernel, scatter, dtype)
        return
    block = block_function(left, right, first_column, kernel, dtype, n_threads)
    cost = np.diff(left.pieces) * (right.pieces[-1] - right.pieces[first_column])  # of each row piece
    if block_size is None:
        longest = max(1, TASK * FEW_DIMENSIONS // (FEW_DIMENSIONS + left.points.shape[1]))
        limit = min(longest, max(SMALL_TASK, int(cost.sum()) // TASKS))
    else:
        limit = int(block_size)
    tasks = []
    for p0, p1 in _row_groups(left, cost, limit):
        group = _RowGroup(p0, p1, int(first_column[p0]), right.n_pieces, scatter)
        for a0, a1, q0, q1 in _rectangles(left, right, p0, p1, int(first_column[p0]), limit):
            group.waiting += 1
            tasks.append(partial(group.run, block, a0, a1, q0, q1))
    run(tasks, n_threads)


def _row_groups(left: Side, cost: Array, limit: int) -> list[tuple[int, int]]:
    """Cut the row pieces into groups of whole bags that cost about `limit` kernel values each."""
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
    left: Side, right: Side, p0: int, p1: int, q0: int, limit: int
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
