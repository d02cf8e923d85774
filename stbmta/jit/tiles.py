"""Sums of kernel values between pieces of bags: the inner loops of every bag statistic.

The idea. All rows of one piece of a bag are added into one running total a column, for all columns at
once; the totals are then cut at the borders of the column pieces and summed. So there is no loop over
pairs of bags, no short tail for each pair, and ragged bags cost nothing extra.

The tile. Four rows meet one panel of WIDTH columns. The four accumulators fill the registers; for each
dimension one vector of the panel is loaded and used four times. When the dimensions are done, the
kernel function is applied to the accumulators without leaving the registers. A piece meets a whole run
of panels in one call: a call with this many arrays costs as much as a small tile.

The layout. Points are needed twice (:mod:`stbmta.jit.packing`). As rows: ``rows[r * d + k]``, pieces
padded to a multiple of ROWS with rows of weight 0. As columns: panels ``panels[(p * d + k) * WIDTH + c]``,
so that a vector load takes one dimension of WIDTH neighboring points.

The order. A total adds the rows of its piece in order; a piece adds its totals in an order that
depends only on their position in the piece. Threads and tasks only decide who computes which cell, so
the result is the same to the last bit whatever they are.

The precision is that of rows and panels. Totals are always double.

The oracle is ``tests/naive.py: kernel_sums``.
"""

from ..theory._jit import compiled
from .vector import (
    WIDTH,
    absolute,
    add,
    broadcast,
    exp2,
    exp2_clamped,
    fma,
    load,
    multiply,
    store,
    subtract,
    widen,
    zero,
    zeros_like,
)

__all__ = ["LAPLACIAN", "POLYNOMIAL", "RBF", "RBF_DIRECT", "ROWS", "block_sums", "sum_pieces"]

# The kernel functions, as codes: a function as an argument would defeat Numba's cache.
RBF = 0  # column_weight * 2**(row_bias + <row, column>): norms and scale are folded into weights, biases and rows
RBF_DIRECT = 1  # 2**(row_bias - scale * |row - column|^2): slower, exact for points far from the center
LAPLACIAN = 2  # 2**(row_bias - scale * |row - column|_1)
POLYNOMIAL = 3  # row_bias * (scale * <row, column> + shift)**degree

ROWS = 4
# With many dimensions, this many of them are done for this many rows before the next: the piece of a panel and the
# accumulators of the rows then stay in the first-level cache.
DEPTH = 96
SOME_ROWS = 64


@compiled
def _rbf(rows, row_bias, first, last, dim, panels, column_weight, panel, n_panels, partial, totals, at):
    """Write the sum over rows first..last of the RBF kernel with the columns of a run of panels.

    |x - y|^2 is expanded: 2**(2c <x, y> - c |x|^2) is summed over the rows, and each column's total is
    multiplied by 2**(-c |y|^2) in the end. Exponents stay between -3 and +1 times the limit on c |x|^2.
    """
    for j in range(panel, panel + n_panels):
        base = j * dim * WIDTH
        total = zero()
        for some in range(first, last, SOME_ROWS):
            for start in range(0, dim, DEPTH):
                stop = min(start + DEPTH, dim)
                for r in range(some, min(some + SOME_ROWS, last), ROWS):
                    kept = (r - some) * WIDTH
                    if start == 0:
                        a0 = broadcast(row_bias, r)
                        a1 = broadcast(row_bias, r + 1)
                        a2 = broadcast(row_bias, r + 2)
                        a3 = broadcast(row_bias, r + 3)
                    else:
                        a0 = load(partial, kept)
                        a1 = load(partial, kept + WIDTH)
                        a2 = load(partial, kept + 2 * WIDTH)
                        a3 = load(partial, kept + 3 * WIDTH)
                    row = r * dim
                    for k in range(start, stop):
                        column = load(panels, base + k * WIDTH)
                        a0 = fma(broadcast(rows, row + k), column, a0)
                        a1 = fma(broadcast(rows, row + dim + k), column, a1)
                        a2 = fma(broadcast(rows, row + 2 * dim + k), column, a2)
                        a3 = fma(broadcast(rows, row + 3 * dim + k), column, a3)
                    if stop < dim:
                        store(partial, kept, a0)
                        store(partial, kept + WIDTH, a1)
                        store(partial, kept + 2 * WIDTH, a2)
                        store(partial, kept + 3 * WIDTH, a3)
                    else:
                        total = add(total, widen(exp2(a0)))
                        total = add(total, widen(exp2(a1)))
                        total = add(total, widen(exp2(a2)))
                        total = add(total, widen(exp2(a3)))
        store(totals, at, multiply(total, load(column_weight, j * WIDTH)))
        at += WIDTH


@compiled
def _rbf_direct(rows, row_bias, first, last, dim, panels, parameters, panel, n_panels, partial, totals, at):
    """Write the sums of the RBF kernel, computed from differences of coordinates."""
    scale = broadcast(parameters, 0)
    nothing = zeros_like(scale)
    for j in range(panel, panel + n_panels):
        base = j * dim * WIDTH
        total = zero()
        for some in range(first, last, SOME_ROWS):
            for start in range(0, dim, DEPTH):
                stop = min(start + DEPTH, dim)
                for r in range(some, min(some + SOME_ROWS, last), ROWS):
                    kept = (r - some) * WIDTH
                    if start == 0:
                        a0, a1, a2, a3 = nothing, nothing, nothing, nothing
                    else:
                        a0 = load(partial, kept)
                        a1 = load(partial, kept + WIDTH)
                        a2 = load(partial, kept + 2 * WIDTH)
                        a3 = load(partial, kept + 3 * WIDTH)
                    row = r * dim
                    for k in range(start, stop):
                        column = load(panels, base + k * WIDTH)
                        d0 = subtract(broadcast(rows, row + k), column)
                        d1 = subtract(broadcast(rows, row + dim + k), column)
                        d2 = subtract(broadcast(rows, row + 2 * dim + k), column)
                        d3 = subtract(broadcast(rows, row + 3 * dim + k), column)
                        a0 = fma(d0, d0, a0)
                        a1 = fma(d1, d1, a1)
                        a2 = fma(d2, d2, a2)
                        a3 = fma(d3, d3, a3)
                    if stop < dim:
                        store(partial, kept, a0)
                        store(partial, kept + WIDTH, a1)
                        store(partial, kept + 2 * WIDTH, a2)
                        store(partial, kept + 3 * WIDTH, a3)
                    else:
                        total = add(total, widen(exp2_clamped(fma(scale, a0, broadcast(row_bias, r)))))
                        total = add(total, widen(exp2_clamped(fma(scale, a1, broadcast(row_bias, r + 1)))))
                        total = add(total, widen(exp2_clamped(fma(scale, a2, broadcast(row_bias, r + 2)))))
                        total = add(total, widen(exp2_clamped(fma(scale, a3, broadcast(row_bias, r + 3)))))
        store(totals, at, total)
        at += WIDTH


@compiled
def _laplacian(rows, row_bias, first, last, dim, panels, parameters, panel, n_panels, partial, totals, at):
    """Write the sums of the Laplacian kernel, computed from differences of coordinates."""
    scale = broadcast(parameters, 0)
    nothing = zeros_like(scale)
    for j in range(panel, panel + n_panels):
        base = j * dim * WIDTH
        total = zero()
        for some in range(first, last, SOME_ROWS):
            for start in range(0, dim, DEPTH):
                stop = min(start + DEPTH, dim)
                for r in range(some, min(some + SOME_ROWS, last), ROWS):
                    kept = (r - some) * WIDTH
                    if start == 0:
                        a0, a1, a2, a3 = nothing, nothing, nothing, nothing
                    else:
                        a0 = load(partial, kept)
                        a1 = load(partial, kept + WIDTH)
                        a2 = load(partial, kept + 2 * WIDTH)
                        a3 = load(partial, kept + 3 * WIDTH)
                    row = r * dim
                    for k in range(start, stop):
                        column = load(panels, base + k * WIDTH)
                        a0 = add(a0, absolute(subtract(broadcast(rows, row + k), column)))
                        a1 = add(a1, absolute(subtract(broadcast(rows, row + dim + k), column)))
                        a2 = add(a2, absolute(subtract(broadcast(rows, row + 2 * dim + k), column)))
                        a3 = add(a3, absolute(subtract(broadcast(rows, row + 3 * dim + k), column)))
                    if stop < dim:
                        store(partial, kept, a0)
                        store(partial, kept + WIDTH, a1)
                        store(partial, kept + 2 * WIDTH, a2)
                        store(partial, kept + 3 * WIDTH, a3)
                    else:
                        total = add(total, widen(exp2_clamped(fma(scale, a0, broadcast(row_bias, r)))))
                        total = add(total, widen(exp2_clamped(fma(scale, a1, broadcast(row_bias, r + 1)))))
                        total = add(total, widen(exp2_clamped(fma(scale, a2, broadcast(row_bias, r + 2)))))
                        total = add(total, widen(exp2_clamped(fma(scale, a3, broadcast(row_bias, r + 3)))))
        store(totals, at, total)
        at += WIDTH


@compiled
def _power(base, degree):
    result = base
    for _ in range(degree - 1):
        result = multiply(result, base)
    return result


@compiled
def _polynomial(rows, row_bias, first, last, dim, panels, parameters, panel, n_panels, partial, totals, at):
    """Write the sums of the polynomial kernel; the row bias is the weight of a row, 0 for padding."""
    scale = broadcast(parameters, 0)
    shift = broadcast(parameters, 1)
    degree = int(parameters[2])
    nothing = zeros_like(scale)
    for j in range(panel, panel + n_panels):
        base = j * dim * WIDTH
        total = zero()
        for some in range(first, last, SOME_ROWS):
            for start in range(0, dim, DEPTH):
                stop = min(start + DEPTH, dim)
                for r in range(some, min(some + SOME_ROWS, last), ROWS):
                    kept = (r - some) * WIDTH
                    if start == 0:
                        a0, a1, a2, a3 = nothing, nothing, nothing, nothing
                    else:
                        a0 = load(partial, kept)
                        a1 = load(partial, kept + WIDTH)
                        a2 = load(partial, kept + 2 * WIDTH)
                        a3 = load(partial, kept + 3 * WIDTH)
                    row = r * dim
                    for k in range(start, stop):
                        column = load(panels, base + k * WIDTH)
                        a0 = fma(broadcast(rows, row + k), column, a0)
                        a1 = fma(broadcast(rows, row + dim + k), column, a1)
                        a2 = fma(broadcast(rows, row + 2 * dim + k), column, a2)
                        a3 = fma(broadcast(rows, row + 3 * dim + k), column, a3)
                    if stop < dim:
                        store(partial, kept, a0)
                        store(partial, kept + WIDTH, a1)
                        store(partial, kept + 2 * WIDTH, a2)
                        store(partial, kept + 3 * WIDTH, a3)
                    else:
                        a0 = multiply(broadcast(row_bias, r), _power(fma(scale, a0, shift), degree))
                        a1 = multiply(broadcast(row_bias, r + 1), _power(fma(scale, a1, shift), degree))
                        a2 = multiply(broadcast(row_bias, r + 2), _power(fma(scale, a2, shift), degree))
                        a3 = multiply(broadcast(row_bias, r + 3), _power(fma(scale, a3, shift), degree))
                        total = add(add(add(add(total, widen(a0)), widen(a1)), widen(a2)), widen(a3))
        store(totals, at, total)
        at += WIDTH


@compiled
def _tiles(
    code,
    parameters,
    dim,
    rows,
    row_bias,
    first,
    last,
    panels,
    column_weight,
    panel,
    n_panels,
    partial,
    totals,
    at,
):
    """Write the sums over rows first..last of the kernel with the columns of a run of panels."""
    if code == RBF:
        _rbf(rows, row_bias, first, last, dim, panels, column_weight, panel, n_panels, partial, totals, at)
    elif code == RBF_DIRECT:
        _rbf_direct(
            rows, row_bias, first, last, dim, panels, parameters, panel, n_panels, partial, totals, at
        )
    elif code == LAPLACIAN:
        _laplacian(rows, row_bias, first, last, dim, panels, parameters, panel, n_panels, partial, totals, at)
    else:
        _polynomial(
            rows, row_bias, first, last, dim, panels, parameters, panel, n_panels, partial, totals, at
        )


@compiled
def sum_pieces(totals, shift, column_pieces, q0, q1, out, at):
    """Write the sums of the totals of column pieces q0..q1 to out[at], out[at + 1], ...

    The total of column c is totals[c + shift]. Each piece is summed in eight interleaved chains: quicker
    than one, and always in the same order.
    """
    for q in range(q0, q1):
        k, stop = column_pieces[q] + shift, column_pieces[q + 1] + shift
        s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        while k + 8 <= stop:
            s0 += totals[k]
            s1 += totals[k + 1]
            s2 += totals[k + 2]
            s3 += totals[k + 3]
            s4 += totals[k + 4]
            s5 += totals[k + 5]
            s6 += totals[k + 6]
            s7 += totals[k + 7]
            k += 8
        while k < stop:
            s0 += totals[k]
            k += 1
        out[at + q - q0] = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@compiled
def block_sums(
    code,
    parameters,
    dim,
    rows,
    row_bias,
    row_pieces,
    panels,
    column_weight,
    column_pieces,
    first_column,
    p0,
    p1,
    q0,
    q1,
    together,
    partial,
    totals,
    out,
    corner,
):
    """Write the sums of kernel values between row pieces p0..p1 and column pieces q0..q1 into out.

    Parameters
    ----------
    code : int
        Which kernel function.
    parameters : array
        (scale, shift, degree) as the kernel function needs them.
    dim : int
    rows, row_bias : arrays
        Packed rows and their biases; with `parameters` and `panels` all double or all single precision.
    row_pieces : int64 array
        Where each row piece starts among the packed rows; multiples of ROWS.
    panels : array
        Packed columns.
    column_weight : float64 array
    column_pieces : int64 array
        Where each column piece starts among the points.
    first_column : int64 array, not decreasing
        For each row piece the first column piece it needs: 0, or that of its own bag when the other half
        of the matrix follows by symmetry.
    p0, p1, q0, q1 : int
        The block of pieces to do.
    together : int
        How many row pieces meet a panel before the next panel is fetched.
    partial : array of shape (SOME_ROWS * WIDTH,)
        Room for accumulators that wait for their next dimensions, in the precision of rows and panels.
    totals : float64 array of shape (together, columns)
        Room for the totals of the columns of the block, whole panels.
    out : float64 array, two-dimensional
        Cell (p, q) of the block goes to out[p - corner[0], q - corner[1]].
    corner : int64 array of shape (2,)
    """
    room, width = totals.shape[1], out.shape[1]
    flat, cells = totals.reshape(-1), out.reshape(-1)
    last_panel = (column_pieces[q1] - 1) // WIDTH + 1
    for g in range(p0, p1, together):
        stop = min(g + together, p1)
        first_panel = column_pieces[max(q0, first_column[g])] // WIDTH
        run = max(1, last_panel - first_panel) if together == 1 else 1
        for panel in range(first_panel, last_panel, run):
            for p in range(g, stop):
                if column_pieces[first_column[p]] < (panel + run) * WIDTH:
                    _tiles(
                        code, parameters, dim, rows, row_bias, row_pieces[p], row_pieces[p + 1], panels,
                        column_weight, panel, run, partial, flat, (p - g) * room + (panel - first_panel) * WIDTH,
                    )  # fmt: skip
        for p in range(g, stop):
            q = max(q0, first_column[p])
            shift = (p - g) * room - first_panel * WIDTH
            sum_pieces(flat, shift, column_pieces, q, q1, cells, (p - corner[0]) * width + q - corner[1])
