"""Exact kernel statistics of a stream on a Dask cluster: rows go from worker to worker, never to the caller.

The parts are read where they are and sorted by bag. What the caller learns of them is small: labels, sizes, a number
for the contents of each bag, and how far the points reach. From that it decides the order of the bags, as on one
machine, and which block each belongs to; the workers put the blocks together and compute with them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..blocks import Extent, Side, choose_tile
from ..inputs import as_labels
from ..jit import moments, packing
from ..kernels import Kernel, Precomputed
from ..statistics import BagStatistics, require_matrices, statistics_from_sums
from ..sums import content_prints, longest_piece, order_by_contents
from .distributed import cluster_threads, release, results, submit_part
from .distributed_sums import RemoteSide, block_rows, cut_blocks, run_rectangles
from .stream import BagStream, label_list

__all__ = ["stream_statistics"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class _SortedPart:
    """The rows of a part, bag by bag; it stays on the worker that read it."""

    points: Array
    offsets: Array
    labels: list[Any]


@dataclass(frozen=True, slots=True)
class _Index:
    """What the caller learns of a part."""

    labels: list[Any]
    sizes: npt.NDArray[np.int64]
    prints: npt.NDArray[np.uint64]
    low: Array
    high: Array


def stream_statistics(
    client: Any, stream: BagStream, kernel: Kernel, dtype: npt.DTypeLike = np.float64
) -> BagStatistics:
    """Compute the pairwise statistics of a stream on a cluster, without collecting its rows.

    Parameters
    ----------
    client : dask.distributed.Client
    stream : BagStream
    kernel : Kernel
        With every parameter a number. Not linear, which needs means only.
    dtype : float64 or float32
        Precision of the kernel values.

    Returns
    -------
    BagStatistics
        With the same bits as ``bag_statistics(stream.to_bags(), kernel)``.
    """
    if isinstance(kernel, Precomputed) and not callable(kernel.values):
        raise ValueError("rows of a stream have no place in a precomputed matrix; give a function.")
    threads = cluster_threads(client)  # or an error that says what is no cluster
    parts = [submit_part(client, _sort, part, stream.columns) for part in stream.parts]
    try:
        indexes = list(results(client, [client.submit(_index, part, pure=False) for part in parts]))
        labels, sizes, prints, places = _merge(indexes)
        require_matrices(f"{len(sizes)} bags of {sizes.sum()} points", float(len(sizes)) ** 2)
        dim = max(len(index.low) for index in indexes)  # 0 in a part without rows
        order = order_by_contents(sizes, prints)
        offsets = np.r_[0, np.cumsum(sizes[order])]
        side = Side.cut(np.empty((0, dim)), np.empty(0), offsets, np.arange(len(sizes)), longest_piece(dim))
        blocks, groups = cut_blocks(side.pieces, side.bag, block_rows(int(offsets[-1]), dim, threads))
        # A bag that is longer than a block has its rows cut among several.
        rows = np.array([side.pieces[b] for _, b in blocks])
        points = _assemble_blocks(client, parts, indexes, places, np.argsort(order), offsets, rows)
    finally:
        release(parts)  # the workers keep them until the blocks are made
    remote = RemoteSide(side.pieces, side.bag, blocks, groups, points)
    try:
        work: Any = kernel
        if not isinstance(kernel, Precomputed):
            work = choose_tile(kernel, _extent(client, indexes, points), np.dtype(dtype))
        sums = _sums(client, remote, work, len(sizes))
        diagonals = _diagonals(client, remote, kernel)
    finally:
        release(points)
    diagonal = np.add.reduceat(diagonals, np.searchsorted(side.bag, np.arange(len(sizes))))
    return statistics_from_sums(
        sums, diagonal[np.argsort(order)], order, sizes, as_labels(labels), kernel, dim
    )


def _sums(client: Any, side: RemoteSide, work: Any, n_bags: int) -> Array:
    """Return the sums of kernel values between bags, in the order of the blocks."""
    first_column = np.searchsorted(side.bag, side.bag)
    sums, own = np.zeros((n_bags, n_bags)), np.zeros(n_bags)

    def scatter(out: Array, corner: Array, p0: int, p1: int) -> None:
        packing.scatter_symmetric(out, corner, p0, p1, side.bag, side.bag, first_column, sums, own)

    run_rectangles(client, side, side, first_column, work, scatter)
    return sums


def _sort(part: Any, columns: tuple[str, ...] | None) -> _SortedPart:
    try:
        bags = BagStream([part], columns).to_bags()
    except ValueError as error:
        if "0 rows" not in str(error):
            raise
        return _SortedPart(np.empty((0, 0)), np.zeros(1, np.int64), [])
    return _SortedPart(np.ascontiguousarray(bags.data), bags.offsets, label_list(bags.labels))


def _index(part: _SortedPart) -> _Index:
    if not part.labels:
        nothing = np.empty(0)
        return _Index([], np.empty(0, np.int64), np.empty(0, np.uint64), nothing, nothing)
    low, high = np.empty(part.points.shape[1]), np.empty(part.points.shape[1])
    moments.column_range(part.points, low, high)
    prints = content_prints(part.points, part.offsets)
    return _Index(part.labels, np.diff(part.offsets), prints, low, high)


def _merge(
    indexes: list[_Index],
) -> tuple[list[Any], npt.NDArray[np.int64], npt.NDArray[np.uint64], list[Array]]:
    """Number the bags of all parts by first appearance; add up sizes, continue the numbers for contents."""
    numbers: dict[Any, int] = {}
    places = [
        np.array([numbers.setdefault(x, len(numbers)) for x in index.labels], np.int64) for index in indexes
    ]
    if not numbers:
        raise ValueError("there are no bags: the stream has 0 rows.")
    sizes, prints = np.zeros(len(numbers), np.int64), np.zeros(len(numbers), np.uint64)
    for index, place in zip(indexes, places, strict=True):
        prints[place] = moments.append_prints(prints[place], index.prints, index.sizes)
        sizes[place] += index.sizes
    return list(numbers), sizes, prints, places


def _assemble_blocks(
    client: Any,
    parts: list[Any],
    indexes: list[_Index],
    places: list[Array],
    rank: Array,
    offsets: Array,
    block_ends: Array,
) -> list[Any]:
    """Submit the tasks that put the points of each block together."""
    filled = np.zeros(len(rank), np.int64)  # rows of each bag that earlier parts hold
    pieces: list[list[Any]] = [[] for _ in block_ends]
    goals: list[list[Array]] = [[] for _ in block_ends]
    starts = np.r_[0, block_ends[:-1]]
    for part, index, place in zip(parts, indexes, places, strict=True):
        # Where each row of the part goes: to its bag's place in the order, behind the rows of earlier parts.
        first = offsets[:-1][rank[place]] + filled[place]
        within = np.arange(index.sizes.sum()) - np.repeat(np.cumsum(index.sizes) - index.sizes, index.sizes)
        goal = np.repeat(first, index.sizes) + within
        filled[place] += index.sizes
        block_of = np.searchsorted(block_ends, goal, side="right")
        by_block = np.argsort(block_of, kind="stable")
        present, first_rows = np.unique(block_of[by_block], return_index=True)
        for k, rows in zip(present.tolist(), np.split(by_block, first_rows)[1:], strict=True):
            pieces[k].append(client.submit(_take, part, rows, pure=False))
            goals[k].append(goal[rows] - starts[k])
    return [
        client.submit(_put_together, found, np.concatenate(where), pure=False)
        for found, where in zip(pieces, goals, strict=True)
    ]


def _take(part: _SortedPart, rows: Array) -> Array:
    return part.points[rows]


def _put_together(pieces: list[Array], goal: Array) -> Array:
    points = np.empty((len(goal), pieces[0].shape[1]))
    points[goal] = np.concatenate(pieces)
    return points


def _extent(client: Any, indexes: list[_Index], points: list[Any]) -> Extent:
    """Find how far the points reach, as :meth:`Extent.of` does where they are together."""
    held = [index for index in indexes if index.labels]
    low, high = np.min([i.low for i in held], axis=0), np.max([i.high for i in held], axis=0)
    center = low / 2 + high / 2
    reaches = results(client, [client.submit(_reach, block, center, pure=False) for block in points])
    return Extent(center, *(float(reach) for reach in np.max(list(reaches), axis=0)))


def _reach(points: Array, center: Array) -> tuple[float, float]:
    return moments.farthest(points, center), moments.farthest(points, np.zeros_like(center))


def _diagonals(client: Any, side: RemoteSide, kernel: Kernel) -> Array:
    """Return the sum of k(x, x) over each piece."""
    tasks = [
        client.submit(_diagonal, points, kernel, side.pieces[a:b] - side.pieces[a], pure=False)
        for points, (a, b) in zip(side.points, side.blocks, strict=True)
    ]
    return np.concatenate(list(results(client, tasks)))


def _diagonal(points: Array, kernel: Kernel, pieces: Array) -> Array:
    return np.add.reduceat(kernel.diagonal(points), pieces)
