"""Averages over neighbors on a Dask cluster.

Means are cut into blocks of whole panels, in the order in which neighbors are added up. For each block of rows a
chain of tasks goes through the blocks of columns; each continues the sums of the one before, so the bits are those of
one machine. Chains of different rows run side by side.
"""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..jit import linear as jit_linear
from ..jit.vector import WIDTH
from ..linear import NeighborTest, pack
from ..progress import progress_bar
from .distributed import ordered_results

__all__ = ["distributed_sums"]

Array = npt.NDArray[Any]

# Numbers and rows of a block: messages stay small.
MOST_NUMBERS = 10**6
MOST_ROWS = 4096
# Tasks of the whole comparison: where there are more pairs of blocks, a task takes several blocks of columns.
MOST_TASKS = 20_000


def distributed_sums(client: Any, test: NeighborTest) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return sums over neighbors and numbers of neighbors, as :func:`stbmta.linear.neighbor_averages` needs them."""
    n_bags, dim = test.means.shape
    step = max(1, min(MOST_ROWS, MOST_NUMBERS // dim) // WIDTH) * WIDTH
    runs = [test.order[k : k + step] for k in range(0, n_bags, step)]
    blocks = [
        client.submit(
            _Block, test.means[run], test.errors[run], test.thresholds[run],
            test.limits[0][:, run], test.limits[1][:, run], pure=False,
        )
        for run in runs
    ]  # fmt: skip
    together = -(-(len(blocks) ** 2) // MOST_TASKS)

    def chain(rows: Any) -> Any:
        state = None
        for k in range(0, len(blocks), together):
            some = blocks[k : k + together]
            state = client.submit(_continue, state, rows, some, test.center, test.scale, pure=False)
        return state

    sums, counts = np.empty_like(test.means), np.empty(n_bags, np.int64)
    found = ordered_results(client, (partial(chain, rows) for rows in blocks))
    with progress_bar("comparing means", len(runs)) as advance:
        for run, (part, count) in zip(runs, found, strict=True):
            sums[run], counts[run] = part, count
            advance()
    return sums, counts


class _Block:
    """Means in the order of the sums, and what the tests need to know of them."""

    def __init__(
        self, means: Array, errors: Array, thresholds: Array, row_limits: Array, column_limits: Array
    ) -> None:
        self.means, self.errors, self.thresholds = means, errors, thresholds
        self.row_limits, self.column_limits = row_limits, column_limits


def _continue(
    state: tuple[Array, Array] | None, rows: _Block, columns: list[_Block], center: Array, scale: float
) -> tuple[Array, Array]:
    """Add the neighbors among some columns to the sums of some rows."""
    n = len(rows.means)
    sums, counts = (np.zeros_like(rows.means), np.zeros(n, np.int64)) if state is None else state
    panels = pack(rows.means, center, np.arange(n), scale, rows.row_limits)
    for block in columns:
        sums, counts = _add(sums, counts, panels, rows, block, center, scale)
    return sums, counts


def _add(
    sums: Array,
    counts: Array,
    row_panels: tuple[Array, Array],
    rows: _Block,
    columns: _Block,
    center: Array,
    scale: float,
) -> tuple[Array, Array]:
    """Add the neighbors among one block of columns."""
    (n, dim), m = rows.means.shape, len(columns.means)
    panels, limits = pack(columns.means, center, np.arange(m), scale, columns.column_limits)
    last = row_panels[1].shape[1] // WIDTH
    masks = np.empty((last * WIDTH, limits.shape[1] // WIDTH, 2), np.uint32)
    jit_linear.filter_pairs(row_panels[0], panels, dim, row_panels[1], limits, 0, last, masks)
    both = np.concatenate([rows.means, columns.means])
    errors = np.concatenate([rows.errors, columns.errors])
    thresholds = np.concatenate([rows.thresholds, columns.thresholds])
    totals = np.concatenate([sums, np.empty_like(columns.means)])
    numbers = np.concatenate([counts, np.zeros(m, np.int64)])
    jit_linear.sum_candidates(
        both, center, np.arange(n), np.arange(n, n + m), errors, thresholds, masks, totals, numbers
    )
    return totals[:n], numbers[:n]
