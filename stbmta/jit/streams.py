"""Means of bags from rows that come by once, in any order.

The idea. Only a table of one mean a bag is kept; each row is added to the row of its bag and forgotten. Bags are
owned by threads: a thread goes through all rows and takes those of its own bags, so every bag adds its rows
in the order in which they come, whatever the number of threads.

Plain rows follow Welford: the mean moves by its share of the difference, and the sum of squares grows by the
squared difference times 1 - 1/n. Nothing cancels, however far the data lie from the origin.

Fourier features are never stored either. A row meets the frequencies in panels of WIDTH; the phase, in cycles, is
reduced to |r| <= 1/2, sine and cosine of half the angle come from two polynomials, and those of the whole angle
from them. Both are added to the sums of the row's bag without leaving the registers.

The oracle is ``tests/naive.py: means`` and ``fourier_sums``.
"""

import numpy as np

from ..theory._jit import compiled
from .vector import WIDTH, add, broadcast, fma, load, multiply, store, subtract, zero

__all__ = ["CONSTANTS", "COSINE", "SINE", "add_fourier", "add_rows"]

# sin(pi r) = r S(r^2) and cos(pi r) = C(r^2) on |r| <= 1/2; tools/sincos_coefficients.py makes them.
SINE = (
    3.141592653589793,
    -5.167712780049969,
    2.5501640398773007,
    -0.5992645293189447,
    0.0821458865731029,
    -0.007370430505916944,
    0.0004662998161898394,
    -2.1903497074626018e-05,
    7.697826768224191e-07,
)
COSINE = (
    1.0,
    -4.934802200544676,
    4.058712126416497,
    -1.335262768843447,
    0.23533063012953284,
    -0.025806888737002202,
    0.0019295562724817132,
    -0.00010456655338748738,
    4.149564353942586e-06,
)
TERMS = len(SINE)
# Adding this to a number below 2**51 rounds it to an integer.
_ROUND = 1.5 * 2.0**52
# Passed to the compiled code, which reads its constants from memory: S, C, rounding, 1 and 2.
CONSTANTS = np.array([*SINE, *COSINE, _ROUND, 1.0, 2.0])


@compiled
def add_rows(points, codes, first, last, counts, means, squares):
    """Add rows to the means and sums of squares of their bags.

    Parameters
    ----------
    points : float64 array of shape (n, d)
    codes : int64 array of shape (n,)
        The bag of each row.
    first, last : int
        The bags to do.
    counts : float64 array of shape (B,)
    means : float64 array of shape (B, d)
    squares : float64 array of shape (B,)
        Sum of squared distances to the mean.
    """
    dim = points.shape[1]
    whole = dim // WIDTH * WIDTH
    lanes = np.empty(WIDTH)
    flat_points, flat_means = points.reshape(-1), means.reshape(-1)
    share = np.empty(1)
    for i in range(len(codes)):
        bag = codes[i]
        if first <= bag < last:
            counts[bag] += 1.0
            share[0] = 1.0 / counts[bag]
            part = broadcast(share, 0)
            total = zero()
            for k in range(0, whole, WIDTH):
                mean = load(flat_means, bag * dim + k)
                difference = subtract(load(flat_points, i * dim + k), mean)
                total = fma(difference, difference, total)
                store(flat_means, bag * dim + k, fma(difference, part, mean))
            store(lanes, 0, total)
            square = 0.0
            for k in range(WIDTH):
                square += lanes[k]
            for k in range(whole, dim):
                rest = points[i, k] - means[bag, k]
                means[bag, k] += rest * share[0]
                square += rest * rest
            squares[bag] += square * (1.0 - share[0])


@compiled
def _polynomial(u, constants, start):
    """Return the sum of constants[start + k] * u**k."""
    value = broadcast(constants, start + TERMS - 1)
    for k in range(start + TERMS - 2, start - 1, -1):
        value = fma(value, u, broadcast(constants, k))
    return value


@compiled
def add_fourier(points, codes, center, frequencies, constants, first, last, counts, sums):
    """Add cos and sin of 2 pi <w, x - center> to the sums of the bags, for all frequencies w.

    Parameters
    ----------
    points : float64 array of shape (n, d)
    codes : int64 array of shape (n,)
        The bag of each row.
    center : float64 array of shape (d,)
    frequencies : float64 array of shape (panels * d * WIDTH,)
        Panels of WIDTH frequencies in cycles, one dimension after another.
    constants : float64 array
        CONSTANTS.
    first, last : int
        The bags to do.
    counts : float64 array of shape (B,)
    sums : float64 array of shape (B, 2 * panels * WIDTH)
        All cosines, then all sines.
    """
    dim = points.shape[1]
    half = sums.shape[1] // 2
    row = np.empty(dim)
    flat = sums.reshape(-1)
    rounding = broadcast(constants, 2 * TERMS)
    one, two = broadcast(constants, 2 * TERMS + 1), broadcast(constants, 2 * TERMS + 2)
    for i in range(len(codes)):
        bag = codes[i]
        if first <= bag < last:
            counts[bag] += 1.0
            for k in range(dim):
                row[k] = points[i, k] - center[k]
            for panel in range(half // WIDTH):
                cycles = zero()
                for k in range(dim):
                    cycles = fma(broadcast(row, k), load(frequencies, (panel * dim + k) * WIDTH), cycles)
                r = subtract(cycles, subtract(add(cycles, rounding), rounding))
                u = multiply(r, r)
                sine = multiply(r, _polynomial(u, constants, 0))
                cosine = _polynomial(u, constants, TERMS)
                twice = multiply(two, sine)
                at = bag * 2 * half + panel * WIDTH
                store(flat, at, add(load(flat, at), subtract(one, multiply(twice, sine))))
                store(flat, at + half, fma(twice, cosine, load(flat, at + half)))
