"""Small quadratic programs on the simplex, one for each bag.

Minimizes ``w' G w + ridge |w|^2 + linear' w`` over weights w of at least 0 that sum to 1. Each step moves weight
from one place to another: to the place with the smallest slope, from the place where the move gains most, as far as
it helps. The gradient is kept up to date by two rows of G, so a step costs O(B). It stops when the duality gap, an
upper bound on what is left to gain, is small enough.

The oracle is ``tests/beyond/slow.py``: simplex_program, by projected gradient.
"""

import numpy as np

from ..theory._jit import compiled

__all__ = ["simplex_rows"]

_TINY = 1e-300


@compiled
def _best_move(G, diagonal, ridge, w, slope):
    """Return where to move weight, from where (-1: nowhere), and the duality gap."""
    to = 0
    for j in range(1, len(w)):
        if slope[j] < slope[to]:
            to = j
    gap = 0.0
    most = 0.0
    source = -1
    for j in range(len(w)):
        if w[j] > 0:
            drop = slope[j] - slope[to]
            gap += w[j] * drop
            curve = max(diagonal[j] + diagonal[to] - 2 * G[to, j] + 2 * ridge, _TINY)
            step = min(drop / (2 * curve), w[j])
            gain = step * (drop - curve * step)
            if gain > most:
                most = gain
                source = j
    return to, source, gap


@compiled
def _minimize(G, diagonal, linear, ridge, tolerance, max_steps, w, slope):
    """Improve w, which holds a start, and return the number of steps."""
    for j in range(len(w)):
        slope[j] = linear[j] + 2 * ridge * w[j]
    for k in range(len(w)):
        if w[k] > 0:
            for j in range(len(w)):
                slope[j] += 2 * w[k] * G[k, j]
    for step in range(max_steps):
        to, source, gap = _best_move(G, diagonal, ridge, w, slope)
        if gap <= tolerance or source < 0:
            return step
        curve = max(diagonal[source] + diagonal[to] - 2 * G[to, source] + 2 * ridge, _TINY)
        moved = (slope[source] - slope[to]) / (2 * curve)
        if moved >= w[source]:
            moved = w[source]
            w[source] = 0.0
        else:
            w[source] -= moved
        w[to] += moved
        for j in range(len(w)):
            slope[j] += 2 * moved * (G[to, j] - G[source, j])
        slope[to] += 2 * ridge * moved
        slope[source] -= 2 * ridge * moved
    return max_steps


@compiled
def simplex_rows(G, linear, ridge, start, tolerance, max_steps, first, last, W, steps):
    """Solve some of the programs.

    Parameters
    ----------
    G : float64 array of shape (B, B)
        Symmetric, positive semidefinite.
    linear : float64 array of shape (R, B)
        One program a row.
    ridge, tolerance : float64 arrays of shape (R,)
        The tolerance is for the duality gap.
    start : int64 array of shape (R,)
        Where all weight is at first.
    max_steps : int
    first, last : int
        Which rows.
    W : float64 array of shape (R, B)
        Receives the weights.
    steps : int64 array of shape (R,)
        Receives the numbers of steps; `max_steps` where the tolerance was not reached.
    """
    n = len(G)
    diagonal = np.empty(n)
    for j in range(n):
        diagonal[j] = G[j, j]
    slope = np.empty(n)
    for i in range(first, last):
        W[i] = 0.0
        W[i, start[i]] = 1.0
        steps[i] = _minimize(G, diagonal, linear[i], ridge[i], tolerance[i], max_steps, W[i], slope)
