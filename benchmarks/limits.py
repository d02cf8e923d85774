"""How fast this machine can go: rates measured in the same run as everything else.

Multiply-adds and the operations of an exponential share the same ports of a core, two a cycle. An RBF value in d
dimensions takes d multiply-adds and about fifteen operations for the exponential, so the limit of Job R is
the rate of multiply-adds divided by 15 + d.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stbmta.jit.vector import WIDTH, add, aligned_zeros, broadcast, exp2, fma, load, store
from stbmta.theory._jit import compiled

__all__ = ["Limits", "measure"]

EXP_OPERATIONS = 15


@compiled
def _multiply_add(x, count):
    """Do 4 independent chains of `count` wide multiply-adds: as many registers as the tiles use."""
    a, b = load(x, 0), load(x, WIDTH)
    c0, c1, c2, c3 = a, a, a, a
    for _ in range(count):
        c0 = fma(a, b, c0)
        c1 = fma(a, b, c1)
        c2 = fma(a, b, c2)
        c3 = fma(a, b, c3)
    store(x, 0, add(add(c0, c1), add(c2, c3)))


@compiled
def _exponentials(x, count):
    total = load(x, 0)
    for k in range(count):
        total = add(total, exp2(broadcast(x, k % WIDTH)))
    store(x, 0, total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Rates of one core, in 1e9 a second.

    Attributes
    ----------
    multiply_add : float
        Multiply-adds on doubles.
    dgemm, sgemm : float
        Floating-point operations of matrix products.
    exp, numpy_exp : float
        Exponentials: this package's, and numpy's.
    """

    multiply_add: float
    dgemm: float
    sgemm: float
    exp: float
    numpy_exp: float

    def rbf(self, dim: int) -> float:
        """Return the limit of Job R in 1e9 kernel values a second and core."""
        return self.multiply_add / (EXP_OPERATIONS + dim)


def _best(job: Callable[[], object], rounds: int = 5) -> float:
    job()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        job()
        times.append(time.process_time() - start)
    return min(times)


def measure() -> Limits:
    """Measure the limits of one core."""
    from threadpoolctl import threadpool_limits

    x = aligned_zeros(2 * WIDTH)
    count = 400_000
    many = np.zeros(1_000_000)
    with threadpool_limits(1):
        a = np.ones((1200, 1200))
        b = a.astype(np.float32)
        return Limits(
            multiply_add=4 * WIDTH * count / _best(lambda: _multiply_add(x, count)) / 1e9,
            dgemm=2 * 1200**3 / _best(lambda: a @ a) / 1e9,
            sgemm=2 * 1200**3 / _best(lambda: b @ b) / 1e9,
            exp=WIDTH * count / _best(lambda: _exponentials(x, count)) / 1e9,
            numpy_exp=len(many) / _best(lambda: np.exp(many)) / 1e9,
        )
