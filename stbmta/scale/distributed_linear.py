"""Averages over neighbors on a Dask cluster.

Means are cut into blocks, in the order in which neighbors are added up. For each run of rows a
chain of tasks goes through the blocks of columns; each continues the sums of the one before, so the bits are those of
one machine. Chains of different rows run side by side.
"""

from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..jit import linear as jit_linear
from ..jit.vector import WIDTH
from ..linear import CACHED
from ..neighbor_test import NeighborTest, pack
from ..progress import progress_bar
from .distributed import MOST_NUMBERS, cluster_threads, ordered_results, release, send

__all__ = ["Layout", "distributed_sums"]

Array = npt.NDArray[Any]

# Rows of blocks and of runs are multiples of this, on every machine: vectors of any width fit.
PANEL = 32
# Rows of a block at most, unless there would be more blocks than this: a task is told where each of its blocks is.
MOST_ROWS = 4096
MOST_BLOCKS = 256
# Runs of rows for each thread of the cluster at least, so that all end together.
_RUNS_A_THREAD = 4
# Coordinates of pairs that a task looks at at least: some tenths of a second. Tasks of all chains at most.
TASK = 2**34
MOST_TASKS = 20_000


@dataclass(frozen=True, slots=True)
class Layout:
    """How a comparison is cut into tasks.

    Attributes
    ----------
    block : int
        Rows of a block.
    run : int
        Rows of a chain of tasks.
    together : int
        Blocks of columns that a task takes.
    n_blocks, n_tasks : int
    """

    block: int
    run: int
    together: int
    n_blocks: int
    n_tasks: int

    @classmethod
    def of(cls, n_bags: int, dim: int, threads: int) -> "Layout":
        """Cut the comparison of so many means for a cluster with so many threads.

        Examples
        --------
        >>> Layout.of(100_000, 1000, threads=2)
        Layout(block=992, run=992, together=21, n_blocks=101, n_tasks=505)
        """
        panels = -(-n_bags // PANEL)
        size = max(
            min(MOST_ROWS // PANEL, MOST_NUMBERS // (PANEL * dim), panels), -(-panels // MOST_BLOCKS), 1
        )
        n_blocks = -(-panels // size)
        shares = min(size, -(-_RUNS_A_THREAD * max(1, threads) // n_blocks))  # of each block
        run = -(-size // shares)
        n_runs = n_blocks * -(-size // run)
        work = PANEL * run * n_bags * dim
        links = max(1, min(n_blocks, work // TASK, MOST_TASKS // n_runs))  # of a chain
        together = -(-n_blocks // links)
        return cls(size * PANEL, run * PANEL, together, n_blocks, n_runs * -(-n_blocks // together))


def distributed_sums(client: Any, test: NeighborTest) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return sums over neighbors and numbers of neighbors, as :func:`stbmta.linear.neighbor_averages` needs them."""
    n_bags, dim = test.means.shape
    layout = Layout.of(n_bags, dim, cluster_threads(client))
    places = [test.order[k : k + layout.block] for k in range(0, n_bags, layout.block)]
    blocks = [_send_block(client, test, place) for place in places]
    runs = [
        (block, place[k : k + layout.run], k)
        for block, place in zip(blocks, places, strict=True)
        for k in range(0, len(place), layout.run)
    ]

    def chain(block: Any, rows: Array, start: int) -> Any:
        state = None
        for k in range(0, len(blocks), layout.together):
            some = blocks[k : k + layout.together]
            state = client.submit(_continue, state, block, start, len(rows), some, test.center, pure=False)
        return state

    sums, counts = np.empty_like(test.means), np.empty(n_bags, np.int64)
    found = ordered_results(client, (partial(chain, *run) for run in runs))
    try:
        with closing(found), progress_bar("comparing means", len(runs)) as advance:
            for (_, rows, _), (part, count) in zip(runs, found, strict=True):
                sums[rows], counts[rows] = part, count
                advance()
    finally:
        release(blocks)
    return sums, counts


@dataclass(frozen=True, slots=True)
class _Block:
    """Means in the order of the sums, also as panels, and what the tests need to know of them.

    Panels are packed once, for vectors of some width, and read by many workers: where vectors have another width
    they are packed again.
    """

    means: Array
    errors: Array
    thresholds: Array
    scale: float
    width: int
    panels: npt.NDArray[np.float32]
    row_limits: npt.NDArray[np.float32]
    column_limits: npt.NDArray[np.float32]


def _send_block(client: Any, test: NeighborTest, rows: Array) -> Any:
    """Send some means to the cluster; a worker makes a block of them."""
    limits = [some[:, rows] for some in test.limits]
    means = send(client, test.means[rows])
    others = (test.errors[rows], test.thresholds[rows], *limits, test.center, test.scale)
    return client.submit(_make_block, means, *others, pure=False)


def _make_block(
    means: Array,
    errors: Array,
    thresholds: Array,
    row_limits: Array,
    column_limits: Array,
    center: Array,
    scale: float,
) -> _Block:
    panels, row_limits = pack(means, center, np.arange(len(means)), scale, row_limits)
    padded = np.zeros_like(row_limits)
    padded[:, : len(means)] = column_limits
    return _Block(means, errors, thresholds, scale, WIDTH, panels, row_limits, padded)


def _readable(block: _Block, center: Array) -> _Block:
    """Return a block with panels for the vectors of this machine."""
    if block.width == WIDTH:
        return block
    row_limits, column_limits = (
        some[:, : len(block.means)] for some in (block.row_limits, block.column_limits)
    )
    return _make_block(
        block.means, block.errors, block.thresholds, row_limits, column_limits, center, block.scale
    )


def _continue(
    state: tuple[Array, Array] | None,
    block: _Block,
    start: int,
    n_rows: int,
    columns: list[_Block],
    center: Array,
) -> tuple[Array, Array]:
    """Add the neighbors among some columns to the sums of a run of rows."""
    if state is None:
        sums, counts = np.zeros((n_rows, len(center))), np.zeros(n_rows, np.int64)
    else:
        sums, counts = (part.copy() for part in state)  # the task before may be asked for its result again
    step = max(1, CACHED // (len(center) * WIDTH)) * WIDTH
    block = _readable(block, center)
    for other in columns:
        other = _readable(other, center)
        for k in range(0, n_rows, step):
            _add(block, start + k, min(step, n_rows - k), other, center, sums[k:], counts[k:])
    return sums, counts


def _add(
    block: _Block, start: int, n_rows: int, columns: _Block, center: Array, sums: Array, counts: Array
) -> None:
    """Add the neighbors among one block of columns to the sums of rows that are filtered together."""
    first, last = start // WIDTH, -(-(start + n_rows) // WIDTH)
    masks = np.empty(((last - first) * WIDTH, columns.column_limits.shape[1] // WIDTH, 2), np.uint32)
    jit_linear.filter_pairs(
        block.panels, columns.panels, len(center), block.row_limits, columns.column_limits, first, last, masks
    )
    rows = slice(start, start + n_rows)
    jit_linear.sum_candidates(
        block.means[rows], columns.means, center, np.arange(n_rows), np.arange(len(columns.means)),
        block.errors[rows], columns.errors, block.thresholds[rows], masks, sums, counts,
    )  # fmt: skip
