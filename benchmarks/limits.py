"""How fast this machine can go: rates measured in the same run as everything else.

An RBF value in d dimensions takes d multiply-adds and an exponential of about fifteen operations, ten of
them multiply-adds. Where all share the same ports of a core (most Intel CPUs), the limit of Job R is the
rate of multiply-adds divided by 15 + d; that is "the port limit". Where additions and integer operations
have ports of their own (AMD since Zen), only the multiply-adds count, 10 + d of them; that is "the
multiply-add limit", and a good kernel can be above the port limit.

Job L is limited by its B^2 d multiply-adds in single precision.
"""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from stbmta.jit.vector import WIDTH, aligned_zeros

from ._rates import CHAINS, exponentials, multiply_adds

__all__ = ["Limits", "measure"]

EXP_OPERATIONS = 15
EXP_MULTIPLY_ADDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Rates of one core, in 1e9 a second.

    Attributes
    ----------
    multiply_add, multiply_add_single : float
        Multiply-adds in double and single precision.
    dgemm, sgemm : float
        Floating-point operations of NumPy's matrix products.
    exp, numpy_exp : float
        Exponentials: this package's, and NumPy's.
    """

    multiply_add: float
    multiply_add_single: float
    dgemm: float
    sgemm: float
    exp: float
    numpy_exp: float

    def rbf(self, dim: int) -> float:
        """Return the port limit of Job R, in 1e9 kernel values a second and core."""
        return self.multiply_add / (EXP_OPERATIONS + dim)

    def rbf_multiply_adds(self, dim: int) -> float:
        """Return the multiply-add limit of Job R."""
        return self.multiply_add / (EXP_MULTIPLY_ADDS + dim)

    def linear(self, dim: int) -> float:
        """Return the limit of Job L, in 1e9 pairs a second and core."""
        return self.multiply_add_single / dim

    def to_dict(self) -> dict[str, float]:
        """Return the rates."""
        return asdict(self)


def _best(job: Callable[[], object], rounds: int = 5) -> float:
    job()
    times = []
    for _ in range(rounds):
        start = time.process_time()
        job()
        times.append(time.process_time() - start)
    return min(times)


def measure(size: int = 1200, count: int = 400_000) -> Limits:
    """Measure the limits of one core.

    Parameters
    ----------
    size : int, default=1200
        Of the matrices.
    count : int, default=400_000
        How many vectors the loops work on.
    """
    from threadpoolctl import threadpool_limits

    x, y = aligned_zeros(9 * WIDTH), aligned_zeros(2 * WIDTH, np.float32)
    x[:] = np.linspace(-3, 0, len(x))
    a = np.ones((size, size))
    b = a.astype(np.float32)
    many = np.linspace(-3, 0, count)
    with threadpool_limits(1):
        return Limits(
            multiply_add=CHAINS * WIDTH * count / _best(lambda: multiply_adds(x, count)) / 1e9,
            multiply_add_single=CHAINS * WIDTH * count / _best(lambda: multiply_adds(y, count)) / 1e9,
            dgemm=2 * size**3 / _best(lambda: a @ a) / 1e9,
            sgemm=2 * size**3 / _best(lambda: b @ b) / 1e9,
            exp=WIDTH * count / _best(lambda: exponentials(x, count)) / 1e9,
            numpy_exp=count / _best(lambda: np.exp(many)) / 1e9,
        )
