"""Sums of kernel values between bags, on the workers of a Dask cluster.

Points are cut into blocks of whole pieces. A task takes two blocks and returns the table of their piece sums; the
caller puts tables together and adds them up exactly as it does on one machine, so the bits are the same. Blocks are
the results of small tasks: Dask hands them to the workers that need them, and makes them again when a worker dies.
"""

import math
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..blocks import Extent, Side, Tile, choose_tile, matrix_block, tile_block
from ..kernels import Kernel, Precomputed
from ..progress import progress_bar
from ..sums import longest_piece
from .distributed import MOST_NUMBERS, cluster_threads, ordered_results, release, send

__all__ = [
    "RemoteSide",
    "block_rows",
    "cut_blocks",
    "most_blocks",
    "run_rectangles",
    "run_remotely",
    "send_blocks",
]

Array = npt.NDArray[Any]
Work = Tile | Precomputed
Scatter = Callable[[Array, Array, int, int], None]

# Points that a block should have at most, some tenths of a second of kernel values a task, unless there would be more
# blocks than this: a task takes two, so tasks stay bounded in number. Pieces of a block at most, to keep tables small.
MOST_POINTS = 20_000
MOST_BLOCKS = 300
MOST_PIECES = 1000
# Tasks for each thread of the cluster at least, so that all end together.
_TASKS_A_THREAD = 16


@dataclass(frozen=True, slots=True)
class RemoteSide:
    """One side of a matrix of sums, its points on the cluster.

    Attributes
    ----------
    pieces, bag : ndarray
        As for :class:`stbmta.blocks.Side`.
    blocks : list of (int, int)
        The pieces of each block.
    groups : list of (int, int)
        The blocks of each group of whole bags.
    points : list of futures
        The points of each block.
    """

    pieces: npt.NDArray[np.int64]
    bag: npt.NDArray[np.int64]
    blocks: list[tuple[int, int]]
    groups: list[tuple[int, int]]
    points: list[Any]


def block_rows(n_points: int, dim: int, threads: int) -> int:
    """Return how many points a block should have, for a cluster with so many threads.

    Examples
    --------
    >>> [block_rows(n, 12, threads=2) for n in (800, 600_000, 10**8)]
    [100, 20000, 333334]
    """
    wanted = math.ceil(math.sqrt(2 * _TASKS_A_THREAD * max(1, threads)))
    small = min(MOST_POINTS, MOST_NUMBERS // dim, -(-n_points // wanted))
    return max(1, small, -(-n_points // MOST_BLOCKS))


def most_blocks(n_points: int, n_bags: int, dim: int, threads: int) -> int:
    """Return how many blocks there are at most, whatever the sizes of the bags, where large bags come first.

    Examples
    --------
    >>> most_blocks(8_000_000, 800, 12, threads=2)
    403
    """
    n_pieces = n_bags + n_points // max(1, longest_piece(dim))
    wanted = -(-n_points // block_rows(n_points, dim, threads))
    # Half a block too much makes two of three quarters; many small pieces make a block of their own.
    return 4 * wanted // 3 + n_pieces // MOST_PIECES + 1


def cut_blocks(pieces: Array, bag: Array, rows: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Cut pieces into blocks of about `rows` points and not too many pieces, and blocks into groups of whole bags.

    The blocks of a group are as equal as whole pieces allow: a small rest would cost as many tasks as a full block.

    Examples
    --------
    >>> cut_blocks(np.array([0, 4, 8, 10, 13]), np.array([0, 0, 1, 2]), 5)
    ([(0, 1), (1, 2), (2, 4)], [(0, 2), (2, 3)])
    """
    starts = np.flatnonzero(np.r_[True, np.diff(bag) != 0, True])
    middles = (
        pieces[:-1] / 2 + pieces[1:] / 2
    )  # as many lie below a row as pieces start up to its nearest start
    blocks: list[tuple[int, int]] = []
    groups: list[tuple[int, int]] = []
    start = 0
    for stop in starts[1:].tolist():
        size = pieces[stop] - pieces[start]
        if size < rows and stop - start < MOST_PIECES and stop != len(bag):
            continue
        first = len(blocks)
        left = math.floor(size / rows + 0.5)
        while start < stop:
            goal = pieces[start] + (pieces[stop] - pieces[start]) / max(1, left)
            end = int(np.searchsorted(middles, goal))
            end = min(max(end, start + 1), start + MOST_PIECES, stop)
            blocks.append((start, end))
            start, left = end, left - 1
        groups.append((first, len(blocks)))
    return blocks, groups


def send_blocks(client: Any, side: Side, rows: int) -> RemoteSide:
    """Send the points of one side to the cluster, block by block."""
    blocks, groups = cut_blocks(side.pieces, side.bag, rows)
    points = [send(client, side.points[side.pieces[a] : side.pieces[b]]) for a, b in blocks]
    return RemoteSide(side.pieces, side.bag, blocks, groups, points)


def run_remotely(
    client: Any,
    left: Side,
    right: Side,
    first_column: Array,
    kernel: Kernel,
    scatter: Scatter,
    dtype: npt.DTypeLike,
) -> None:
    """Send points that are here to the cluster, and compute all piece sums there."""
    if isinstance(kernel, Precomputed):
        if not callable(kernel.values):
            raise ValueError("a precomputed matrix is here already; leave out client, or give a function.")
        work: Work = kernel
    else:
        points = (left.points,) if left is right else (left.points, right.points)
        work = choose_tile(kernel, Extent.of(*points), np.dtype(dtype))
    n_points, dim = max(len(left.points), len(right.points)), left.points.shape[1]
    rows = block_rows(n_points, dim, cluster_threads(client))
    remote = send_blocks(client, left, rows)
    other = remote if left is right else send_blocks(client, right, rows)
    try:
        run_rectangles(client, remote, other, first_column, work, scatter)
    finally:
        release([*remote.points, *other.points])


def run_rectangles(
    client: Any, left: RemoteSide, right: RemoteSide, first_column: Array, work: Work, scatter: Scatter
) -> None:
    """Compute all piece sums on the cluster, and scatter them group by group.

    Parameters
    ----------
    client : dask.distributed.Client
        Runs the tasks on its cluster.
    left, right : RemoteSide
        The same object where half of the matrix follows by symmetry.
    first_column : int64 array
        For each row piece the first column piece it needs.
    work : Tile or Precomputed
        What a task computes.
    scatter : callable
        Adds the table of a group to the result.
    """
    symmetric = left is right

    def pairs(first: int, last: int) -> list[tuple[int, int]]:
        """Return the tasks of a group: a block of rows and a block of columns."""
        return [(a, b) for a in range(first, last) for b in range(first * symmetric, len(right.blocks))]

    everything = [pair for group in left.groups for pair in pairs(*group)]
    submit = partial(_submit, client, left, right, first_column, work)
    tables = ordered_results(client, (partial(submit, *pair) for pair in everything))
    with closing(tables), progress_bar("kernel values", len(everything)) as advance:
        for first, last in left.groups:
            p0, p1 = left.blocks[first][0], left.blocks[last - 1][1]
            q0 = p0 * symmetric
            out = np.zeros((p1 - p0, right.blocks[-1][1] - q0))
            for a, b in pairs(first, last):
                (r0, r1), (c0, c1) = left.blocks[a], right.blocks[b]
                out[r0 - p0 : r1 - p0, c0 - q0 : c1 - q0] = next(tables)
                advance()
            scatter(out, np.array([p0, q0]), p0, p1)


def _submit(
    client: Any, left: RemoteSide, right: RemoteSide, first_column: Array, work: Work, a: int, b: int
) -> Any:
    (p0, p1), (q0, q1) = left.blocks[a], right.blocks[b]
    rows, columns = left.pieces[p0 : p1 + 1] - left.pieces[p0], right.pieces[q0 : q1 + 1] - right.pieces[q0]
    first = np.clip(first_column[p0:p1] - q0, 0, q1 - q0)
    return client.submit(_table, left.points[a], right.points[b], rows, columns, first, work, pure=False)


def _table(left: Array, right: Array, rows: Array, columns: Array, first_column: Array, work: Work) -> Array:
    """Return the piece sums of two blocks."""
    sides = (_side(left, rows), _side(right, columns))
    if isinstance(work, Tile):
        block = tile_block(*sides, first_column, work)
    else:
        block = matrix_block(*sides, first_column, work)
    out = np.zeros((len(rows) - 1, len(columns) - 1))
    block(0, len(rows) - 1, 0, len(columns) - 1, out, np.array([0, 0]))
    return out


def _side(points: Array, pieces: Array) -> Side:
    nothing = np.zeros(len(pieces) - 1, dtype=np.int64)
    return Side(points, np.arange(len(points)), pieces, nothing, nothing)
