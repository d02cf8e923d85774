"""Compiling everything ahead of the first estimate."""

import time

import numpy as np

from .aggregation import aggregation
from .bags import Bags
from .kernels import RBF, Laplacian, Linear, Polynomial, Precomputed
from .linear import neighbor_averages
from .statistics import bag_statistics, cross_statistics
from .tuning import tune_stb
from .unequal import water_filling

__all__ = ["warmup"]


def warmup() -> float:
    """Compile all kernels, for every type of data and both precisions; return the seconds it took.

    Compiled code is kept on disk, so this is needed once for each installation and kind of processor.

    Examples
    --------
    >>> warmup() >= 0
    True
    """
    start = time.perf_counter()
    points = np.random.default_rng(0).normal(size=(12, 2))
    for dtype in (np.float64, np.float32):
        for writable in (True, False):
            data = points.astype(dtype)
            data.setflags(write=writable)
            bags = Bags.from_offsets(data, [0, 4, 8, 12])
            for kernel in (Linear(), RBF(1.0), Laplacian(1.0), Polynomial()):
                bag_statistics(bags, kernel)
                bag_statistics(bags, kernel, dtype=np.float32)
                cross_statistics(bags, bags, kernel)
                tune_stb(bags, kernel, rng=0)
            bag_statistics(bags, Precomputed(lambda X, Y: X @ Y.T))
            neighbor_averages(bags, 1.0, keep_neighbors=True)
    s = bag_statistics(bags)
    aggregation(s)
    water_filling(s)
    return time.perf_counter() - start
