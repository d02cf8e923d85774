"""Around the tiles: points laid out as rows and columns, and piece sums gathered into the result.

The tiles (:mod:`stbmta.jit.tiles`) read points in two layouts: as rows, and as panels of WIDTH columns in
which one dimension of neighboring points lies together. They write one sum for each pair of pieces; a
bag, or a fold of a bag, is made of several pieces, and their sums are added here in a fixed order.

The oracle is ``tests/naive.py: kernel_sums``.
"""

import numpy as np

from ..theory._jit import compiled
from .vector import WIDTH

__all__ = ["add_matrix", "pack_columns", "pack_rows", "scatter_cross", "scatter_symmetric"]

# Dimensions of a panel that are packed together: 64 * WIDTH doubles are 16 kB.
DEPTH = 64
# Columns that are gathered together, so that a line of the mirrored half is written once.
GATHERED = 16


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
    rows : array, zeros of shape (packed[-1] * d,)
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


@compiled
def add_matrix(block, totals):
    """Add the rows of a block of a kernel matrix to the totals of its columns, in order."""
    for r in range(block.shape[0]):
        for c in range(block.shape[1]):
            totals[c] += block[r, c]


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
    n_pieces = len(piece_part)
    for start in range(first_column[p0] // GATHERED * GATHERED, n_pieces, GATHERED):
        for p in range(p0, p1):
            part, bag = piece_part[p], piece_bag[p]
            for q in range(max(start, first_column[p]), min(start + GATHERED, n_pieces)):
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
