"""What a user would write instead, for Job L: each returns the averages over the neighbors of B means.

All work on blocks of rows, so that no B x B matrix is held.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from stbmta import Bags, neighbor_averages

__all__ = ["PEERS", "Averages", "ours"]

Array = npt.NDArray[np.float64]
# (means, squared distance up to which means are neighbors, threads) -> averages
Averages = Callable[[Array, float, int], Array]

BLOCK_ROWS = 500


def ours(means: Array, threshold: float, n_threads: int) -> Array:
    """Run this package."""
    bags = Bags.from_offsets(means, np.arange(len(means) + 1))
    zeta = threshold / means.shape[1]
    return neighbor_averages(bags, zeta, variance=1.0, n_threads=n_threads).averages


def numpy_chunks(means: Array, threshold: float, n_threads: int) -> Array:
    """Matrix products: distances of a block, threshold, average."""
    averages = np.empty_like(means)
    norms = np.einsum("ij,ij->i", means, means)
    for start in range(0, len(means), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        D = means[rows] @ means.T
        D *= -2
        D += norms
        D += norms[rows, None]
        N = (threshold >= D).astype(np.float64)
        np.matmul(N, means, out=averages[rows])
        averages[rows] /= N.sum(axis=1, keepdims=True)
    return averages


def scikit_learn(means: Array, threshold: float, n_threads: int) -> Array:
    """Neighbors within a radius, brute force, as a sparse matrix times the means."""
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(radius=float(np.sqrt(threshold)), algorithm="brute", n_jobs=n_threads)
    N = search.fit(means).radius_neighbors_graph(means)
    return np.asarray((N @ means) / np.asarray(N.sum(axis=1)).reshape(-1, 1))


def torch_cdist(means: Array, threshold: float, n_threads: int) -> Array:
    """cdist of a block, threshold, average."""
    import torch

    torch.set_num_threads(n_threads)
    x = torch.from_numpy(means)
    averages = torch.empty_like(x)
    for start in range(0, len(means), BLOCK_ROWS):
        N = (torch.cdist(x[start : start + BLOCK_ROWS], x) <= float(np.sqrt(threshold))).double()
        averages[start : start + BLOCK_ROWS] = (N @ x) / N.sum(dim=1, keepdim=True)
    return averages.numpy()


PEERS: dict[str, tuple[Any, str]] = {
    "numpy in chunks": (numpy_chunks, "numpy"),
    "scikit-learn": (scikit_learn, "sklearn"),
    "torch cdist": (torch_cdist, "torch"),
}
