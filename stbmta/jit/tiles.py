"""Sums of kernel values between pieces of bags: the inner loops of every bag statistic.

The idea. All rows of one piece of a bag are added into one running total a column, for all columns at
once; the totals are then cut at the borders of the column pieces and summed. So there is no loop over
pairs of bags, no short tail for each pair, and ragged bags cost nothing extra.

The tile. Four rows meet one panel of WIDTH columns. The four accumulators fill the registers; for each
dimension one vector of the panel is loaded and used four times. When the dimensions are done, the
kernel function is applied to the accumulators without leaving the registers.

The layout. Points are needed twice. As rows: ``rows[r * d + k]``, pieces padded to a multiple of ROWS
with rows of weight 0. As columns: panels ``panels[(p * d + k) * WIDTH + c]``, so that a vector load
takes one dimension of WIDTH neighboring points.

The order. A total adds the rows of its piece in order; a piece adds its totals in an order that
depends only on their position in the piece. Threads and tasks only decide who computes which cell, so
the result is the same to the last bit whatever they are.

The oracle is ``tests/naive.py: kernel_sums``.
"""

import numpy as np

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
    zero,
)

__all__ = [
    "LAPLACIAN",
    "POLYNOMIAL",
    "RBF",
    "RBF_DIRECT",
    "ROWS",
    "add_matrix",
    "block_sums",
    "pack_columns",
    "pack_rows",
    "scatter_cross",
    "scatter_symmetric",
    "sum_pieces",
]

# The kernel functions, as codes: a function as an argument would defeat Numba's cache.
RBF = 0  # column_weight * 2**(row_bias + <row, column>): norms and scale are folded into weights, biases and rows
RBF_DIRECT = 1  # 2**(row_bias - scale * |row - column|^2): slower, exact for points far from the center
LAPLACIAN = 2  # 2**(row_bias - scale * |row - column|_1)
POLYNOMIAL = 3  # row_bias * (scale * <row, column> + shift)**degree

ROWS = 4
# Dimensions of a panel that are packed together: 64 * WIDTH doubles are 16 kB.
DEPTH = 64


@compiled
def _rbf(rows, row_bias, first, last, dim, panels, column_weight, panel, totals, at):
    """Write the sum over rows first..last of the RBF kernel with the columns of one panel.

    |x - y|^2 is expanded: 2**(2c <x, y> - c |x|^2) is summed over the rows, and each column's total is
    multiplied by 2**(-c |y|^2) in the end. Exponents stay between -3 and +1 times the limit on c |x|^2.
    """
    base = panel * dim * WIDTH
    total = zero()
    for r in range(first, last, ROWS):
        a0 = broadcast(row_bias, r)
        a1 = broadcast(row_bias, r + 1)
        a2 = broadcast(row_bias, r + 2)
        a3 = broadcast(row_bias, r + 3)
        row = r * dim
        for k in range(dim):
            column = load(panels, base + k * WIDTH)
            a0 = fma(broadcast(rows, row + k), column, a0)
            a1 = fma(broadcast(rows, row + dim + k), column, a1)
            a2 = fma(broadcast(rows, row + 2 * dim + k), column, a2)
            a3 = fma(broadcast(rows, row + 3 * dim + k), column, a3)
        total = add(add(add(add(total, exp2(a0)), exp2(a1)), exp2(a2)), exp2(a3))
    store(totals, at, multiply(total, load(column_weight, panel * WIDTH)))


@compiled
def _rbf_direct(rows, row_bias, first, last, dim, panels, parameters, panel, totals, at):
    """Write the sums of the RBF kernel, computed from differences of coordinates."""
    base = panel * dim * WIDTH
    scale = broadcast(parameters, 0)
    total = zero()
    for r in range(first, last, ROWS):
        a0, a1, a2, a3 = zero(), zero(), zero(), zero()
        row = r * dim
        for k in range(dim):
            column = load(panels, base + k * WIDTH)
            d0 = subtract(broadcast(rows, row + k), column)
            d1 = subtract(broadcast(rows, row + dim + k), column)
            d2 = subtract(broadcast(rows, row + 2 * dim + k), column)
            d3 = subtract(broadcast(rows, row + 3 * dim + k), column)
            a0 = fma(d0, d0, a0)
            a1 = fma(d1, d1, a1)
            a2 = fma(d2, d2, a2)
            a3 = fma(d3, d3, a3)
        total = add(total, exp2_clamped(fma(scale, a0, broadcast(row_bias, r))))
        total = add(total, exp2_clamped(fma(scale, a1, broadcast(row_bias, r + 1))))
        total = add(total, exp2_clamped(fma(scale, a2, broadcast(row_bias, r + 2))))
        total = add(total, exp2_clamped(fma(scale, a3, broadcast(row_bias, r + 3))))
    store(totals, at, total)


@compiled
def _laplacian(rows, row_bias, first, last, dim, panels, parameters, panel, totals, at):
    """Write the sums of the Laplacian kernel, computed from differences of coordinates."""
    base = panel * dim * WIDTH
    scale = broadcast(parameters, 0)
    total = zero()
    for r in range(first, last, ROWS):
        a0, a1, a2, a3 = zero(), zero(), zero(), zero()
        row = r * dim
        for k in range(dim):
            column = load(panels, base + k * WIDTH)
            a0 = add(a0, absolute(subtract(broadcast(rows, row + k), column)))
            a1 = add(a1, absolute(subtract(broadcast(rows, row + dim + k), column)))
            a2 = add(a2, absolute(subtract(broadcast(rows, row + 2 * dim + k), column)))
            a3 = add(a3, absolute(subtract(broadcast(rows, row + 3 * dim + k), column)))
        total = add(total, exp2_clamped(fma(scale, a0, broadcast(row_bias, r))))
        total = add(total, exp2_clamped(fma(scale, a1, broadcast(row_bias, r + 1))))
        total = add(total, exp2_clamped(fma(scale, a2, broadcast(row_bias, r + 2))))
        total = add(total, exp2_clamped(fma(scale, a3, broadcast(row_bias, r + 3))))
    store(totals, at, total)


@compiled
def _power(base, degree):
    result = base
    for _ in range(degree - 1):
        result = multiply(result, base)
    return result


@compiled
def _polynomial(rows, row_bias, first, last, dim, panels, parameters, panel, totals, at):
    """Write the sums of the polynomial kernel; the row bias is the weight of a row, 0 for padding."""
    base = panel * dim * WIDTH
    scale = broadcast(parameters, 0)
    shift = broadcast(parameters, 1)
    degree = int(parameters[2])
    total = zero()
    for r in range(first, last, ROWS):
        a0, a1, a2, a3 = zero(), zero(), zero(), zero()
        row = r * dim
        for k in range(dim):
            column = load(panels, base + k * WIDTH)
            a0 = fma(broadcast(rows, row + k), column, a0)
            a1 = fma(broadcast(rows, row + dim + k), column, a1)
            a2 = fma(broadcast(rows, row + 2 * dim + k), column, a2)
            a3 = fma(broadcast(rows, row + 3 * dim + k), column, a3)
        total = fma(broadcast(row_bias, r), _power(fma(scale, a0, shift), degree), total)
        total = fma(broadcast(row_bias, r + 1), _power(fma(scale, a1, shift), degree), total)
        total = fma(broadcast(row_bias, r + 2), _power(fma(scale, a2, shift), degree), total)
        total = fma(broadcast(row_bias, r + 3), _power(fma(scale, a3, shift), degree), total)
    store(totals, at, total)


@compiled
def _piece_sum(totals, start, stop):
    """Sum totals[start:stop] in eight interleaved chains: quicker than one, and always in the same order."""
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    k = start
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
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@compiled
def _tile(code, parameters, dim, rows, row_bias, first, last, panels, column_weight, panel, totals, at):
    """Write the sums over rows first..last of the kernel with the columns of one panel."""
    if code == RBF:
        _rbf(rows, row_bias, first, last, dim, panels, column_weight, panel, totals, at)
    elif code == RBF_DIRECT:
        _rbf_direct(rows, row_bias, first, last, dim, panels, parameters, panel, totals, at)
    elif code == LAPLACIAN:
        _laplacian(rows, row_bias, first, last, dim, panels, parameters, panel, totals, at)
    else:
        _polynomial(rows, row_bias, first, last, dim, panels, parameters, panel, totals, at)


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
    totals,
    out,
    corner,
):
    """Write the sums of kernel values between row pieces p0..p1 and column pieces q0..q1 into out.

    Parameters
    ----------
    code : int
        Which kernel function.
    parameters : float64 array
        (scale, shift, degree) as the kernel function needs them.
    dim : int
    rows, row_bias : float64 arrays
        Packed rows and their biases.
    row_pieces : int64 array
        Where each row piece starts among the packed rows; multiples of ROWS.
    panels, column_weight : float64 arrays
        Packed columns and their weights.
    column_pieces : int64 array
        Where each column piece starts among the points.
    first_column : int64 array, not decreasing
        For each row piece the first column piece it needs: 0, or that of its own bag when the other half
        of the matrix follows by symmetry.
    p0, p1, q0, q1 : int
        The block of pieces to do.
    together : int
        How many row pieces meet a panel before the next panel is fetched.
    totals : float64 array of shape (together, columns)
        Room for the totals of the columns of the block, whole panels.
    out : float64 array, two-dimensional
        Cell (p, q) of the block goes to out[p - corner[0], q - corner[1]].
    corner : int64 array of shape (2,)
    """
    last_panel = (column_pieces[q1] - 1) // WIDTH + 1
    flat = totals.reshape(-1)
    for g in range(p0, p1, together):
        stop = min(g + together, p1)
        origin = column_pieces[max(q0, first_column[g])] // WIDTH * WIDTH
        for panel in range(origin // WIDTH, last_panel):
            for p in range(g, stop):
                if column_pieces[first_column[p]] < (panel + 1) * WIDTH:
                    at = (p - g) * totals.shape[1] + panel * WIDTH - origin
                    _tile(
                        code, parameters, dim, rows, row_bias, row_pieces[p], row_pieces[p + 1],
                        panels, column_weight, panel, flat, at,
                    )  # fmt: skip
        for p in range(g, stop):
            for q in range(max(q0, first_column[p]), q1):
                out[p - corner[0], q - corner[1]] = _piece_sum(
                    totals[p - g], column_pieces[q] - origin, column_pieces[q + 1] - origin
                )


@compiled
def add_matrix(block, totals):
    """Add the rows of a block of a kernel matrix to the totals of its columns, in order."""
    for r in range(block.shape[0]):
        for c in range(block.shape[1]):
            totals[c] += block[r, c]


@compiled
def sum_pieces(totals, column_pieces, q0, q1, out):
    """Write the sums of the totals of column pieces q0..q1 into out; totals start at piece q0."""
    origin = column_pieces[q0]
    for q in range(q0, q1):
        out[q - q0] = _piece_sum(totals, column_pieces[q] - origin, column_pieces[q + 1] - origin)


@compiled
def scatter_symmetric(out, corner, p0, p1, piece_part, piece_bag, first_column, sums, own):
    """Add the piece sums of row pieces p0..p1, all pieces of whole bags, to both halves of the result.

    Parameters
    ----------
    out, corner : arrays
        As written by block_sums.
    p0, p1 : int
    piece_part, piece_bag : int64 arrays
        The part (a fold of a bag, or the bag) and the bag that each piece belongs to.
    first_column : int64 array
    sums : float64 array of shape (parts, bags)
        sums[a, j] gets the sum between part a and bag j.
    own : float64 array of shape (parts,)
        own[a] gets the sum of part a with itself.
    """
    for p in range(p0, p1):
        part, bag = piece_part[p], piece_bag[p]
        for q in range(first_column[p], len(piece_part)):
            value = out[p - corner[0], q - corner[1]]
            sums[part, piece_bag[q]] += value
            if piece_bag[q] != bag:
                sums[piece_part[q], bag] += value
            elif piece_part[q] == part:
                own[part] += value


@compiled
def scatter_cross(out, corner, p0, p1, row_bag, column_bag, sums):
    """Add the piece sums of row pieces p0..p1 to the sums between two collections of bags."""
    for p in range(p0, p1):
        for q in range(len(column_bag)):
            sums[row_bag[p], column_bag[q]] += out[p - corner[0], q - corner[1]]


@compiled
def pack_rows(points, center, factor, pieces, packed, rows, norms):
    """Copy the points as rows, less the center and times a factor, each piece padded; norms are squared.

    Parameters
    ----------
    points : array of shape (n, d)
    center : float64 array of shape (d,)
    factor : float
    pieces : int64 array
        Where each piece starts among the points.
    packed : int64 array
        Where each piece starts among the packed rows.
    rows : float64 array, zeros of shape (packed[-1] * d,)
    norms : float64 array of shape (packed[-1],)
        Gets the squared norm of the centered row; padding keeps what it has.
    """
    dim = points.shape[1]
    for p in range(len(pieces) - 1):
        for i in range(pieces[p], pieces[p + 1]):
            r = packed[p] + i - pieces[p]
            norm = 0.0
            for k in range(dim):
                x = np.float64(points[i, k]) - center[k]
                rows[r * dim + k] = factor * x
                norm += x * x
            norms[r] = norm


@compiled
def pack_columns(points, center, panels, norms):
    """Copy the points as panels of columns, less the center; norms gets their squared norms."""
    n, dim = points.shape
    norms[:n] = 0.0
    for panel in range((n - 1) // WIDTH + 1):
        first = panel * WIDTH
        for start in range(0, dim, DEPTH):  # a slice of the panel at a time: it is written column by column
            for i in range(first, min(first + WIDTH, n)):
                at = first * dim + i - first
                norm = norms[i]
                for k in range(start, min(start + DEPTH, dim)):
                    x = np.float64(points[i, k]) - center[k]
                    panels[at + k * WIDTH] = x
                    norm += x * x
                norms[i] = norm
