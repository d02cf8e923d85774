"""Weights by water-filling, one row for each bag, without sorting.

The level theta solves ``sum_j D_j (theta - D_j)_+ p_j = 1``, p the precisions: a convex function of theta. Newton's
method from above goes down and stops after a few steps, when nobody more falls out.

The oracle is ``stbmta.theory.sharp.waterfill``, by sorting.
"""

import numpy as np

from ..theory._jit import compiled

__all__ = ["fill_rows"]


@compiled
def _level(D, precision, own):
    """Return theta; infinity where all distances are 0 or infinite."""
    theta = np.inf
    for j in range(len(D)):
        # What one bag by itself would say is above the level, so far bags cannot overflow the sums.
        slope = D[j] * precision[j]
        if j != own and slope > 0:
            theta = min(theta, D[j] + 1 / slope)
    if np.isinf(theta):
        return theta
    count = len(D) + 1
    while True:
        used = 0
        first = 0.0
        second = 0.0
        for j in range(len(D)):
            if j != own and D[j] < theta:
                used += 1
                first += D[j] * precision[j]
                second += D[j] * D[j] * precision[j]
        if used >= count or first == 0:
            return theta
        count = used
        theta = min(theta, (1 + second) / first)


@compiled
def fill_rows(D, precision, own, first, last, W):
    """Fill some of the rows.

    Parameters
    ----------
    D : float64 array of shape (R, B)
        Distances; that of a bag to itself is taken as 0.
    precision : float64 array of shape (B,)
    own : int64 array of shape (R,)
        Which bag each row is for.
    first, last : int
        Which rows.
    W : float64 array of shape (R, B)
        Receives the weights.
    """
    for i in range(first, last):
        theta = _level(D[i], precision, own[i])
        total = 0.0
        for j in range(len(precision)):
            apart = 0.0 if j == own[i] else D[i, j]
            # A bag at an infinite distance does not count, also where there is no level.
            height = 0.0 if np.isinf(apart) else 1.0 if np.isinf(theta) else max(theta - apart, 0.0)
            W[i, j] = height * precision[j]
            total += W[i, j]
        for j in range(len(precision)):
            W[i, j] /= total
