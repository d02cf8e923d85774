"""Exact kernel statistics of a stream on a Dask cluster: rows go from worker to worker, never to the caller.

The parts are read where they are and sorted by bag. What the caller learns of them is small: labels, sizes, a number
for the contents of each bag, and how far the points reach. From that it decides the order of the bags, as on one
machine, and which block each belongs to; the workers put the blocks together and compute with them.

Many parts are first sorted into few, bag by bag. Then a block takes a piece of each, in few runs of rows: tasks are
bounded in number, and what the caller holds does not grow with the number of points.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..blocks import Extent, Side, choose_tile
from ..inputs import as_labels
from ..jit import moments, packing
from ..kernels import Kernel, Precomputed
from ..labels import label_list
from ..rounding import too_close
from ..statistics import BagStatistics, require_matrices, statistics_from_sums
from ..sums import content_prints, longest_piece, order_by_contents
from .distributed import cluster_threads, ordered_results, release, submit_part
from .distributed_sums import RemoteSide, block_rows, cut_blocks, run_rectangles
from .stream import BagStream, Blocks

__all__ = ["MOST_PARTS", "shuffle_tasks", "stream_statistics"]

Array = npt.NDArray[Any]

# Sorted parts that blocks are made from at most: a task for each piece, and a few numbers a bag of each part here.
MOST_PARTS = 32


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
        Runs the tasks on its cluster.
    stream : BagStream
        Its parts are read by the workers.
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
    with _released_after() as points:
        with _released_after() as parts:  # the workers keep them until the blocks are made
            indexes = _sort_parts(client, stream, parts)
            labels, sizes, prints, places = _merge(indexes)
            require_matrices(f"{len(sizes)} bags of {sizes.sum()} points", float(len(sizes)) ** 2)
            dim = max(len(index.low) for index in indexes)  # 0 in a part without rows
            order = order_by_contents(sizes, prints)
            offsets = np.r_[0, np.cumsum(sizes[order])]
            bags = np.arange(len(sizes))
            side = Side.cut(np.empty((0, dim)), np.empty(0), offsets, bags, longest_piece(dim))
            blocks, groups = cut_blocks(side.pieces, side.bag, block_rows(int(offsets[-1]), dim, threads))
            # A bag that is longer than a block has its rows cut among several.
            ends = np.array([side.pieces[b] for _, b in blocks])
            runs = _Runs.find(indexes, places, offsets[np.argsort(order)], ends)
            extent = _make_blocks(client, parts, runs.split(ends), _center(indexes), points)
        remote = RemoteSide(side.pieces, side.bag, blocks, groups, points)
        diagonals = _diagonals(client, remote, kernel)
        diagonal = np.add.reduceat(diagonals, np.searchsorted(side.bag, bags))[np.argsort(order)]

        def statistics(precision: np.dtype[Any]) -> BagStatistics:
            work = kernel if isinstance(kernel, Precomputed) else choose_tile(kernel, extent, precision)
            sums = _sums(client, remote, work, len(sizes))
            return statistics_from_sums(sums, diagonal, order, sizes, as_labels(labels), kernel, dim)

        s, single = statistics(np.dtype(dtype)), np.dtype(dtype) == np.float32
        again = single and not isinstance(kernel, Precomputed) and too_close(s, dtype).any()
        return statistics(np.dtype(np.float64)) if again else s


def shuffle_tasks(n_parts: int, n_blocks: int) -> int:
    """Return how many tasks it takes at most to sort parts into blocks, and to find how far their points reach.

    Examples
    --------
    >>> [shuffle_tasks(n, 400) for n in (1, 1000, 10_000)]
    [1603, 15064, 24064]
    """
    few = min(n_parts, MOST_PARTS)
    return n_parts + 2 * few + (few + 3) * n_blocks


@contextmanager
def _released_after() -> Iterator[list[Any]]:
    """Give a list for futures that are released in the end, also of an error."""
    futures: list[Any] = []
    try:
        yield futures
    finally:
        release(futures)


def _sums(client: Any, side: RemoteSide, work: Any, n_bags: int) -> Array:
    """Return the sums of kernel values between bags, in the order of the blocks."""
    first_column = np.searchsorted(side.bag, side.bag)
    sums, own = np.zeros((n_bags, n_bags)), np.zeros(n_bags)

    def scatter(out: Array, corner: Array, p0: int, p1: int) -> None:
        packing.scatter_symmetric(out, corner, p0, p1, side.bag, side.bag, first_column, sums, own)

    run_rectangles(client, side, side, first_column, work, scatter)
    return sums


def _sort_parts(client: Any, stream: BagStream, parts: list[Any]) -> list[_Index]:
    """Sort the parts of a stream into few, which are added to `parts`; return what is in them."""
    few = min(MOST_PARTS, len(stream.parts))
    cuts = (np.arange(few + 1) * len(stream.parts) // few).tolist()
    gather = partial(_gather, client, parts, stream.columns)
    tasks = (partial(gather, stream.parts[a:b]) for a, b in pairwise(cuts))
    return list(ordered_results(client, tasks))


def _gather(client: Any, parts: list[Any], columns: tuple[str, ...] | None, some: Sequence[Blocks]) -> Any:
    """Submit the tasks that sort some parts of the stream into one; return the future of what the caller learns."""
    found = [submit_part(client, _sort, part, columns) for part in some]
    parts.append(found[0] if len(found) == 1 else client.submit(_join, found, pure=False))
    return client.submit(_index, parts[-1], pure=False)


def _sort(part: Any, columns: tuple[str, ...] | None) -> _SortedPart:
    try:
        bags = BagStream([part], columns).to_bags()
    except ValueError as error:
        if "0 rows" not in str(error):
            raise
        return _SortedPart(np.empty((0, 0)), np.zeros(1, np.int64), [])
    return _SortedPart(np.ascontiguousarray(bags.data), bags.offsets, label_list(bags.labels))


def _join(parts: list[_SortedPart]) -> _SortedPart:
    """Sort the rows of several parts together; rows of a bag stay in the order of the parts."""
    held = [part for part in parts if part.labels]
    if not held:
        return parts[0]
    labels, places = _number([part.labels for part in held])
    sizes = [np.diff(part.offsets) for part in held]
    rows = np.concatenate([np.repeat(*some) for some in zip(places, sizes, strict=True)])
    points = np.concatenate([part.points for part in held])[np.argsort(rows, kind="stable")]
    return _SortedPart(points, np.r_[0, np.cumsum(np.bincount(rows))], labels)


def _number(labels: list[list[Any]]) -> tuple[list[Any], list[npt.NDArray[np.int64]]]:
    """Number the bags of all parts by first appearance; return their labels, and the numbers of each part's bags."""
    numbers: dict[Any, int] = {}
    places = [np.array([numbers.setdefault(x, len(numbers)) for x in some], np.int64) for some in labels]
    return list(numbers), places


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
) -> tuple[list[Any], npt.NDArray[np.int64], npt.NDArray[np.uint64], list[npt.NDArray[np.int64]]]:
    """Number the bags of all parts by first appearance; add up sizes, continue the numbers for contents."""
    labels, places = _number([index.labels for index in indexes])
    if not labels:
        raise ValueError("there are no bags: the stream has 0 rows.")
    sizes, prints = np.zeros(len(labels), np.int64), np.zeros(len(labels), np.uint64)
    for index, place in zip(indexes, places, strict=True):
        prints[place] = moments.append_prints(prints[place], index.prints, index.sizes)
        sizes[place] += index.sizes
    return labels, sizes, prints, places


@dataclass(frozen=True, slots=True)
class _Runs:
    """Rows that lie together in a part and come together to a block, in the order of their goals."""

    part: npt.NDArray[np.int64]
    row: npt.NDArray[np.int64]  # the first, in its part
    goal: npt.NDArray[np.int64]  # where it goes, in the order of the bags
    length: npt.NDArray[np.int64]

    @classmethod
    def find(cls, indexes: list[_Index], places: list[Array], first: Array, ends: Array) -> "_Runs":
        """Find where the rows of each bag of each part go: to their bag's place, behind the rows of earlier parts.

        Parameters
        ----------
        indexes, places
            What is in the parts, and the number of each bag.
        first : int64 array
            Where each bag goes.
        ends : int64 array
            Where blocks end; a run that goes to several is cut.
        """
        filled = first.copy()
        found = []
        for number, (index, place) in enumerate(zip(indexes, places, strict=True)):
            rows = np.cumsum(index.sizes) - index.sizes
            found.append(np.array([np.full_like(place, number), rows, filled[place]]))
            filled[place] += index.sizes
        part, row, goal = np.concatenate(found, axis=1)
        order = np.argsort(goal)
        goals = np.union1d(goal, ends[:-1])
        run = order[np.searchsorted(goal, goals, side="right", sorter=order) - 1]
        return cls(part[run], row[run] + goals - goal[run], goals, np.diff(np.r_[goals, ends[-1]]))

    def split(self, ends: Array) -> Iterator["_Runs"]:
        """Give the runs of each block, with goals in the block."""
        starts: Array = np.concatenate([[0], ends])
        cuts = np.searchsorted(self.goal, starts).tolist()
        for a, b in pairwise(cuts):
            goal = self.goal[a:b] - self.goal[a]
            yield _Runs(self.part[a:b], self.row[a:b], goal, self.length[a:b])


def _make_blocks(
    client: Any, parts: list[Any], blocks: Iterator[_Runs], center: Array, points: list[Any]
) -> Extent:
    """Put blocks together, which are added to `points`; return how far they reach, as :meth:`Extent.of` does."""
    submit = partial(_submit_block, client, parts, points, center)
    reaches = list(ordered_results(client, (partial(submit, runs) for runs in blocks)))
    return Extent(center, *np.max(reaches, axis=0).tolist())


def _submit_block(client: Any, parts: list[Any], points: list[Any], center: Array, runs: _Runs) -> Any:
    """Submit the tasks that put the points of a block together; return the future of how far they reach."""
    some = [np.flatnonzero(runs.part == k) for k in np.unique(runs.part)]
    pieces = [
        client.submit(_take, parts[runs.part[k[0]]], runs.row[k], runs.length[k], pure=False) for k in some
    ]
    k = np.concatenate(some)
    points.append(client.submit(_put_together, pieces, runs.goal[k], runs.length[k], pure=False))
    return client.submit(_reach, points[-1], center, pure=False)


def _take(part: _SortedPart, first: Array, length: Array) -> Array:
    return part.points[_rows(first, length)]


def _put_together(pieces: list[Array], goal: Array, length: Array) -> Array:
    points = np.empty((length.sum(), pieces[0].shape[1]))
    points[_rows(goal, length)] = np.concatenate(pieces)
    return points


def _rows(first: Array, length: Array) -> Array:
    """Return the rows of runs, given where they start."""
    return np.arange(length.sum()) + np.repeat(first - (np.cumsum(length) - length), length)


def _center(indexes: list[_Index]) -> Array:
    """Return the middle of the range of each column, as :func:`stbmta.blocks.data_center` does."""
    held = [index for index in indexes if index.labels]
    low, high = np.min([i.low for i in held], axis=0), np.max([i.high for i in held], axis=0)
    return np.asarray(low / 2 + high / 2)


def _reach(points: Array, center: Array) -> tuple[float, float]:
    return moments.farthest(points, center), moments.farthest(points, np.zeros_like(center))


def _diagonals(client: Any, side: RemoteSide, kernel: Kernel) -> Array:
    """Return the sum of k(x, x) over each piece."""
    tasks = (
        partial(client.submit, _diagonal, points, kernel, side.pieces[a:b] - side.pieces[a], pure=False)
        for points, (a, b) in zip(side.points, side.blocks, strict=True)
    )
    return np.concatenate(list(ordered_results(client, tasks)))


def _diagonal(points: Array, kernel: Kernel, pieces: Array) -> Array:
    return np.add.reduceat(kernel.diagonal(points), pieces)
