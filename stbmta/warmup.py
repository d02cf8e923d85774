"""Compiling everything ahead of the first estimate."""

import time

import numpy as np

from .aggregation import aggregation
from .bags import Bags
from .grid import neighbor_paths
from .kernels import RBF, Laplacian, Linear, Polynomial, Precomputed
from .linear import neighbor_averages
from .scale.features import RandomFourier
from .scale.means import mean_statistics
from .scale.stream import BagStream
from .similarity import neighbors
from .statistics import bag_statistics, cross_statistics
from .theory.covering import covering_number, covering_profile
from .truth import known_means
from .tuning import tune_stb
from .unequal import water_filling

__all__ = ["warmup"]


def warmup() -> float:
    """Compile all kernels, for every type of data and both precisions; return the seconds it took.

    Compiled code is kept on disk, so this is needed once for each installation and kind of processor.

    Returns
    -------
    float
        Seconds; few where compiled code is on disk already.

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
            RBF("median").resolve(bags)
            bag_statistics(bags, Precomputed(lambda X, Y: X @ Y.T))
            neighbor_averages(bags, 1.0, keep_neighbors=True)
            mean_statistics(BagStream.from_bags(bags))
            mean_statistics(bags, features=RandomFourier.draw(RBF(1.0), 2, 8, rng=0))
    s = bag_statistics(bags)
    aggregation(s)
    water_filling(s)
    neighbors(s, 1.0)
    neighbor_paths(s, known_means(points[:3]), [1.0])
    many = np.random.default_rng(0).normal(size=(200, 2))  # too many for an exact search
    covering_number(many, 1.0)
    covering_profile(many, [1.0])
    return time.perf_counter() - start
