"""Neighbors of many means and the averages over them, without a B x B matrix.

The idea. A pair is a candidate unless an inner product in single precision proves that it is too far
apart: |x - y|^2 <= h exactly when 2 <x, y> >= |x|^2 + |y|^2 - h, and the limits on the right are lowered by
more than the rounding of the left (:func:`stbmta.neighbor_test.filter_limits` has the proof). In the same way it
proves of most neighbors that they are close enough. The few in between are looked at again in double
precision, from differences of coordinates. So the neighbors are those of double precision, at the price of
single precision.

The filter. Means stand in panels of WIDTH, ``panels[(p * d + k) * WIDTH + c]``, and serve as rows and as
columns: eight rows of one panel meet the WIDTH columns of another, with eight accumulators, a slice of the
dimensions at a time. The outcomes of WIDTH tests are two integers, ``masks[row, panel]``: who may be a
neighbor, and who is one for sure. Some hundred rows are filtered together, so that they stay in the cache
while all panels pass by.

The double precision is on the means as they are; only what is added up, and the panels, are taken less a common
center. So the B x B tests of :func:`stbmta.neighbors` settle their ties by the same numbers (``settle_ties``).

The order. A row belongs to one thread, and adds its neighbors in the order of the panels. The result is
the same to the last bit for any number of threads.

The oracle is ``tests/test_linear.py: slow_averages``.
"""

import numpy as np

from ..theory._jit import compiled
from .vector import WIDTH, add, at_least, broadcast, fma, load, store, subtract, zeros_like

__all__ = [
    "TILE_ROWS",
    "centered_norms",
    "filter_pairs",
    "list_candidates",
    "pack_panels",
    "settle_ties",
    "sum_candidates",
]

TILE_ROWS = 8
# This many dimensions are done for this many rows before the next: the slice of a panel and the accumulators then
# stay in the first-level cache.
DEPTH = 128
SOME_ROWS = 128


@compiled
def pack_panels(means, center, order, scale, panels):
    """Copy scale * (means[order] - center) into panels of single precision."""
    dim = means.shape[1]
    for i in range(len(order)):
        at = i // WIDTH * dim * WIDTH + i % WIDTH
        for k in range(dim):
            panels[at + k * WIDTH] = scale * (means[order[i], k] - center[k])


@compiled
def centered_norms(means, center, norms):
    """Write |means[i] - center|^2."""
    for i in range(len(means)):
        total = 0.0
        for k in range(means.shape[1]):
            total += (means[i, k] - center[k]) ** 2
        norms[i] = total


@compiled
def _outcome(products, possible, sure, row_limits, row, n_rows, masks, at):
    """Write which columns may be neighbors of a row, and which are so for sure."""
    masks[at] = at_least(subtract(products, possible), broadcast(row_limits, row))
    masks[at + 1] = at_least(subtract(products, sure), broadcast(row_limits, n_rows + row))


@compiled
def _meet(row_panels, first, last, panels, panel, dim, row_limits, column_limits, partial, masks, at, stride):
    """Test rows first..last against the columns of a panel: <x, y> - column_limit >= row_limit.

    Eight rows at a time, DEPTH dimensions at a time; the accumulators of the others wait in `partial`. The
    outcomes of row `first` go to masks[at], those of the next one to masks[at + stride].
    """
    n_rows, n_columns = len(row_limits) // 2, len(column_limits) // 2
    possible, sure = load(column_limits, panel * WIDTH), load(column_limits, n_columns + panel * WIDTH)
    nothing = zeros_like(possible)
    for start in range(0, dim, DEPTH):
        stop = min(start + DEPTH, dim)
        for row in range(first, last, TILE_ROWS):
            kept = (row - first) * WIDTH
            if start == 0:
                a0, a1, a2, a3 = nothing, nothing, nothing, nothing
                a4, a5, a6, a7 = nothing, nothing, nothing, nothing
            else:
                a0 = load(partial, kept)
                a1 = load(partial, kept + WIDTH)
                a2 = load(partial, kept + 2 * WIDTH)
                a3 = load(partial, kept + 3 * WIDTH)
                a4 = load(partial, kept + 4 * WIDTH)
                a5 = load(partial, kept + 5 * WIDTH)
                a6 = load(partial, kept + 6 * WIDTH)
                a7 = load(partial, kept + 7 * WIDTH)
            for k in range(start, stop):
                y = load(panels, (panel * dim + k) * WIDTH)
                x = (row // WIDTH * dim + k) * WIDTH + row % WIDTH
                a0 = fma(broadcast(row_panels, x), y, a0)
                a1 = fma(broadcast(row_panels, x + 1), y, a1)
                a2 = fma(broadcast(row_panels, x + 2), y, a2)
                a3 = fma(broadcast(row_panels, x + 3), y, a3)
                a4 = fma(broadcast(row_panels, x + 4), y, a4)
                a5 = fma(broadcast(row_panels, x + 5), y, a5)
                a6 = fma(broadcast(row_panels, x + 6), y, a6)
                a7 = fma(broadcast(row_panels, x + 7), y, a7)
            if stop < dim:
                store(partial, kept, a0)
                store(partial, kept + WIDTH, a1)
                store(partial, kept + 2 * WIDTH, a2)
                store(partial, kept + 3 * WIDTH, a3)
                store(partial, kept + 4 * WIDTH, a4)
                store(partial, kept + 5 * WIDTH, a5)
                store(partial, kept + 6 * WIDTH, a6)
                store(partial, kept + 7 * WIDTH, a7)
            else:
                out = at + (row - first) * stride
                _outcome(a0, possible, sure, row_limits, row, n_rows, masks, out)
                _outcome(a1, possible, sure, row_limits, row + 1, n_rows, masks, out + stride)
                _outcome(a2, possible, sure, row_limits, row + 2, n_rows, masks, out + 2 * stride)
                _outcome(a3, possible, sure, row_limits, row + 3, n_rows, masks, out + 3 * stride)
                _outcome(a4, possible, sure, row_limits, row + 4, n_rows, masks, out + 4 * stride)
                _outcome(a5, possible, sure, row_limits, row + 5, n_rows, masks, out + 5 * stride)
                _outcome(a6, possible, sure, row_limits, row + 6, n_rows, masks, out + 6 * stride)
                _outcome(a7, possible, sure, row_limits, row + 7, n_rows, masks, out + 7 * stride)


@compiled
def filter_pairs(row_panels, panels, dim, row_limits, column_limits, first, last, masks):
    """Mark the candidates of the rows of panels first..last, and those of them that need no second look.

    Parameters
    ----------
    row_panels, panels : float32 arrays
        The means as rows and as columns; the same array where all are compared with all.
    dim : int
    row_limits, column_limits : float32 arrays of shape (2, rows), (2, columns)
        For candidates, and for sure neighbors.
    first, last : int
        The panels of rows to do.
    masks : uint32 array of shape ((last - first) * WIDTH, panels, 2)
        Bit c of masks[row, p] gets the outcomes for column p * WIDTH + c.
    """
    n_panels = masks.shape[1]
    limits_of_rows, limits_of_columns = row_limits.reshape(-1), column_limits.reshape(-1)
    partial = np.empty(SOME_ROWS * WIDTH, np.float32)
    flat = masks.reshape(-1)
    for panel in range(n_panels):
        for row in range(first * WIDTH, last * WIDTH, SOME_ROWS):
            stop = min(row + SOME_ROWS, last * WIDTH)
            at = 2 * ((row - first * WIDTH) * n_panels + panel)
            _meet(
                row_panels, row, stop, panels, panel, dim,
                limits_of_rows, limits_of_columns, partial, flat, at, 2 * n_panels,
            )  # fmt: skip


@compiled
def _squared_distance(x, i, y, j):
    """Return |x[i] - y[j]|^2, in eight chains."""
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    dim = x.shape[1]
    k = 0
    while k + 8 <= dim:
        s0 += (x[i, k] - y[j, k]) ** 2
        s1 += (x[i, k + 1] - y[j, k + 1]) ** 2
        s2 += (x[i, k + 2] - y[j, k + 2]) ** 2
        s3 += (x[i, k + 3] - y[j, k + 3]) ** 2
        s4 += (x[i, k + 4] - y[j, k + 4]) ** 2
        s5 += (x[i, k + 5] - y[j, k + 5]) ** 2
        s6 += (x[i, k + 6] - y[j, k + 6]) ** 2
        s7 += (x[i, k + 7] - y[j, k + 7]) ** 2
        k += 8
    while k < dim:
        s0 += (x[i, k] - y[j, k]) ** 2
        k += 1
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@compiled
def _confirm(x, i, y, columns, error, errors, threshold, mask, sure, chosen):
    """Test the candidates of a panel again that are not sure; write the neighbors, and return them as bits too."""
    kept, n, c = np.uint32(0), 0, 0
    while mask != 0 and c < len(columns):
        if mask & np.uint32(1) != 0:
            j = columns[c]
            if sure & np.uint32(1) != 0 or _squared_distance(x, i, y, j) - (error + errors[j]) <= threshold:
                kept |= np.uint32(1) << np.uint32(c)
                chosen[n] = j
                n += 1
        mask, sure, c = mask >> np.uint32(1), sure >> np.uint32(1), c + 1
    return kept, n


@compiled
def _add_means(flat, center, dim, chosen, n, totals, at):
    """Add the chosen means less the center to a total, one after the other; a stretch stays in the registers."""
    k = 0
    while k + WIDTH <= dim:
        total, middle = load(totals, at + k), load(center, k)
        for m in range(n):
            total = add(total, subtract(load(flat, chosen[m] * dim + k), middle))
        store(totals, at + k, total)
        k += WIDTH
    while k < dim:
        for m in range(n):
            totals[at + k] += flat[chosen[m] * dim + k] - center[k]
        k += 1


@compiled
def sum_candidates(x, y, center, rows, columns, row_errors, errors, thresholds, masks, sums, counts):
    """Add up the neighbors of some rows, less the center, after a second look at those that need one.

    A panel of columns meets all rows while it is in the cache.

    Parameters
    ----------
    x, y : float64 arrays of shape (A, d), (B, d)
        The means of rows and of columns; the same array where all are compared with all.
    center : float64 array of shape (d,)
    rows, columns : int64 arrays
        The mean at each position of the rows and of the columns.
    row_errors, errors, thresholds : float64 arrays of shape (A,), (B,), (A,)
        i and j are neighbors if |x[i] - y[j]|^2 - (row_errors[i] + errors[j]) <= thresholds[i].
    masks : uint32 array of shape (rows, panels of columns, 2)
        The candidates, and who is sure; bits of candidates that are no neighbors are cleared.
    sums : float64 array of shape (A, d)
    counts : int64 array of shape (A,)
        Both are continued: columns may come in several runs.
    """
    dim = y.shape[1]
    flat, totals = y.reshape(-1), sums.reshape(-1)
    chosen = np.empty(WIDTH, np.int64)
    for p in range(masks.shape[1]):
        panel = columns[p * WIDTH : (p + 1) * WIDTH]
        for row in range(len(rows)):
            if masks[row, p, 0] != 0:
                i = rows[row]
                kept, n = _confirm(
                    x, i, y, panel, row_errors[i], errors, thresholds[i],
                    masks[row, p, 0], masks[row, p, 1], chosen,
                )  # fmt: skip
                masks[row, p, 0] = kept
                counts[i] += n
                _add_means(flat, center, dim, chosen, n, totals, i * dim)


@compiled
def list_candidates(masks, order, out):
    """Write order[position] for each bit that is set, row by row."""
    at = 0
    for row in range(masks.shape[0]):
        for p in range(masks.shape[1]):
            mask = masks[row, p, 0]
            c = 0
            while mask != 0:
                if mask & np.uint32(1) != 0:
                    out[at] = order[p * WIDTH + c]
                    at += 1
                mask = mask >> np.uint32(1)
                c += 1


@compiled
def settle_ties(means, distances, errors, thresholds, margins, first, last, tests):
    """Test pairs again whose distance lies on the threshold as far as rounding can tell, as sum_candidates does.

    Parameters
    ----------
    means : float64 array of shape (B, d)
    distances : float64 array of shape (B, B)
        Less the errors.
    errors, thresholds, margins : float64 arrays of shape (B,)
        Rounding of distances[i, j] is at most margins[i] + margins[j].
    first, last : int
        The rows to do.
    tests : bool array of shape (B, B)
        Corrected in place.
    """
    for i in range(first, last):
        for j in range(len(means)):
            if abs(distances[i, j] - thresholds[i]) <= margins[i] + margins[j]:
                tests[i, j] = _squared_distance(means, i, means, j) - (errors[i] + errors[j]) <= thresholds[i]
