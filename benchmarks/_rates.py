"""Loops that do nothing but multiply-adds, or exponentials: how fast a core can go.

Both keep everything in registers, and enough independent work in flight that only the number of operations
a cycle counts.
"""

from stbmta.jit.vector import WIDTH, add, exp2, fma, load, store
from stbmta.theory._jit import compiled

__all__ = ["CHAINS", "exponentials", "multiply_adds"]

# Wide vectors in flight: as many as the tiles have rows.
CHAINS = 4


@compiled
def multiply_adds(x, count):
    """Do four independent chains of wide multiply-adds."""
    a, b = load(x, 0), load(x, WIDTH)
    c0, c1, c2, c3 = a, a, a, a
    for _ in range(count):
        c0 = fma(a, b, c0)
        c1 = fma(a, b, c1)
        c2 = fma(a, b, c2)
        c3 = fma(a, b, c3)
    store(x, 0, add(add(c0, c1), add(c2, c3)))


@compiled
def exponentials(x, count):
    """Add up exponentials of different vectors; equal numbers would be computed once."""
    total = load(x, 0)
    for k in range(count):
        total = add(total, exp2(load(x, (k & 7) * WIDTH)))
    store(x, 8 * WIDTH, total)
