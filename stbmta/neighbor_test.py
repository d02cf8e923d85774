r"""Who is a neighbor, for the linear kernel: a filter in single precision with a proof, and what it needs.

Pairs on which single precision cannot decide are looked at again in double precision, so the neighbors are those of
double precision.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .jit import linear as jit_linear
from .jit.vector import WIDTH, aligned_zeros
from .sums import canonical_order
from .vectors import power_of_two, require_squares

__all__ = ["NeighborTest", "filter_limits", "pack"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

# Means whose median, column by column, is the center of all.
_SAMPLE = 63
# Half the distance of 1 to the next float32: the largest relative error of a rounding.
_ROUNDOFF = 2.0**-24


def filter_limits(
    norms: Array, errors: Array, thresholds: Array, dim: int
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    r"""Return limits r, c in float32, each of shape (2, B), by which an inner product in float32 decides.

    i and j are no neighbors if :math:`\mathrm{fl}(\langle x, y \rangle - c_{0j}) < r_{0i}`, and neighbors if
    :math:`\mathrm{fl}(\langle x, y \rangle - c_{1j}) \ge r_{1i}`. In between it cannot tell.

    Parameters
    ----------
    norms : ndarray of shape (B,)
        Squared norms of the means, at most 1.
    errors, thresholds : ndarray of shape (B,)
        Bags i and j are neighbors if :math:`|x - y|^2 - (e_i + e_j) \le t_i`.
    dim : int
        Number of coordinates of the means, d.

    Returns
    -------
    r, c : ndarray of float32, shape (2, B)
        Limits for the first and for the second of two bags; those in row 0 rule pairs out, those in row 1 make
        sure.

    Notes
    -----
    Neighbors have :math:`\langle x, y \rangle \ge r_i + c_j` with :math:`r = (|x|^2 - e - t)/2` and
    :math:`c = (|y|^2 - e)/2`, and nobody else. Rounding x and y to float32 and d multiply-adds change the inner
    product by at most :math:`\gamma_{d+2} |x| |y| \le \gamma_{d+2} (|x|^2 + |y|^2) / 2`, where
    :math:`\gamma_k = k u / (1 - k u)` and :math:`u = 2^{-24}` (Higham 2002, section 3.1), plus what underflows:
    less than :math:`2^{-140}` a dimension. So r is lowered by :math:`\gamma_{d+4} |x|^2 / 2` and that, c
    likewise; then both are rounded down to float32. The spare :math:`2u`, and the half unit by which a
    number is rounded down at least, are more than the float64 arithmetic on both sides can err, the subtraction of
    the center included. The final subtraction rounds, but rounding is monotone: if the exact difference is at
    least r_i, a float32, so is the rounded one. The limits for sure neighbors are raised instead, and r by one
    float32 more: a rounded difference above a float32 means an exact one above it.
    """
    slack = (dim + 4) * _ROUNDOFF
    if slack >= 0.5:  # half a million dimensions and more: nothing can be ruled out, and nobody is sure
        nothing = np.repeat(np.array([[-np.inf], [np.inf]], np.float32), len(norms), axis=1)
        return nothing, nothing
    margin = slack / (1 - slack) * norms / 2 + dim * 2.0**-140
    rows, columns = (norms - errors - thresholds) / 2, (norms - errors) / 2
    above = np.nextafter(_beyond(rows + margin, np.inf), np.float32(np.inf))
    return (
        np.array([_beyond(rows - margin, -np.inf), above]),
        np.array([_beyond(columns - margin, -np.inf), _beyond(columns + margin, np.inf)]),
    )


def _beyond(values: Array, direction: float) -> npt.NDArray[np.float32]:
    """Return float32 numbers beyond the values, by at least half a unit in the last place."""
    with np.errstate(over="ignore"):
        return np.nextafter(values.astype(np.float32), np.float32(direction))


@dataclass(frozen=True, slots=True)
class NeighborTest:
    """All that decides who is a neighbor, and in which order neighbors are added up."""

    means: Array
    center: Array
    errors: Array
    thresholds: Array
    order: Indices  # of the sums: it depends on the means alone, not on the user's order
    scale: float
    limits: tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]

    @classmethod
    def of(cls, means: Array, errors: Array, thresholds: Array) -> "NeighborTest":
        """Prepare the tests of these means."""
        order = canonical_order(means, np.arange(len(means) + 1))
        # Margins grow with the distance to the center: one far mean must not make all others doubtful.
        some = means[order[:_SAMPLE]]
        center, norms = np.partition(some, len(some) // 2, axis=0)[len(some) // 2], np.empty(len(means))
        jit_linear.centered_norms(means, center, norms)
        require_squares(max(norms.max(), errors.max()), means)
        scale = 0.5 / float(power_of_two(np.sqrt(norms.max())))  # the largest squared norm is then 1/4 to 1
        limits = filter_limits(norms * scale**2, errors * scale**2, thresholds * scale**2, means.shape[1])
        return cls(means, center, errors, thresholds, order, scale, limits)


def pack(
    means: Array, center: Array, order: Indices, scale: float, limits: npt.NDArray[np.float32]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return means[order] less the center as panels of single precision, and limits[:, order], padded alike.

    Returns
    -------
    panels : ndarray of float32
        The means less the center, scaled, in blocks of a fixed number of rows.
    limits : ndarray of float32, shape (2, rows)
        The limits, with zeros up to the end of the last block.
    """
    n_panels = -(-len(order) // WIDTH)
    panels = aligned_zeros(n_panels * WIDTH * means.shape[1], np.float32)
    jit_linear.pack_panels(means, center, order, scale, panels)
    padded = aligned_zeros(2 * n_panels * WIDTH, np.float32).reshape(2, -1)
    padded[:, : len(order)] = limits[:, order]
    return panels, padded
