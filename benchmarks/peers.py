"""What a user would write instead, for Job R: each returns the B x B sums of an RBF kernel between bags.

All are written to be good at it: blocks that fit the cache, symmetric half only, buffers reused, exponents
computed in place. Bags have equal sizes, which only helps the peers.
"""

import importlib.util
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from stbmta import RBF, Bags, bag_statistics

__all__ = ["PEERS", "SLOW", "Sums", "available", "ours", "ours_single"]

Array = npt.NDArray[np.float64]
Sums = Callable[[Bags, float, int], Array]

# Kernel values of a block: enough for the libraries' inner loops, few enough for the cache. Of 20 to 1000 rows
# these were the best on W1 to W3.
BLOCK = 1_500_000
JAX_BLOCK = 3_000_000


def ours(bags: Bags, width: float, n_threads: int) -> Array:
    """Run this package."""
    s = bag_statistics(bags, RBF(width), n_threads=n_threads)
    return s.gram * np.outer(s.sizes, s.sizes)


def ours_single(bags: Bags, width: float, n_threads: int) -> Array:
    """Run this package in single precision."""
    s = bag_statistics(bags, RBF(width), n_threads=n_threads, dtype=np.float32)
    return s.gram * np.outer(s.sizes, s.sizes)


def pair_loop(bags: Bags, width: float, n_threads: int) -> Array:
    """Loop over pairs of bags in Python, one small kernel matrix each, as research scripts do."""
    sums = np.zeros((len(bags), len(bags)))
    for i in range(len(bags)):
        for j in range(i, len(bags)):
            sums[i, j] = sums[j, i] = _one_pair(bags[i], bags[j], width)
    return sums


def pair_loop_rows(bags: Bags, n_rows: int, width: float) -> Array:
    """Do the first rows of bags only."""
    return np.array([[_one_pair(bags[i], bags[j], width) for j in range(len(bags))] for i in range(n_rows)])


def _one_pair(x: Any, y: Any, width: float) -> float:
    squared = np.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=-1)
    return float(np.sum(np.exp(-squared / (2 * width**2))))


def _row_blocks(bags: Bags, values: int = BLOCK) -> list[tuple[int, int]]:
    """Whole bags that make up about so many kernel values with all points."""
    step = max(1, values // (len(bags.data) * int(bags.sizes[0])))
    return [(i, min(i + step, len(bags))) for i in range(0, len(bags), step)]


def _blockwise(bags: Bags, kernel_block: Callable[[Any, Any], Any]) -> Array:
    sums = np.zeros((len(bags), len(bags)))
    for i, j in _row_blocks(bags):
        start = bags.offsets[i]
        K = kernel_block(bags.data[start : bags.offsets[j]], bags.data[start:])
        by_rows = np.add.reduceat(K, bags.offsets[i:j] - start, axis=0)
        sums[i:j, i:] = np.add.reduceat(by_rows, bags.offsets[i:-1] - start, axis=1)
    return _mirrored(sums)


def _mirrored(sums: Array) -> Array:
    return np.triu(sums) + np.triu(sums, 1).T


def scipy_cdist(bags: Bags, width: float, n_threads: int) -> Array:
    """Squared distances by scipy, exponential in place, sums by reduceat."""
    from scipy.spatial.distance import cdist

    def block(x: Any, y: Any) -> Any:
        D = cdist(x, y, "sqeuclidean")
        D *= -1 / (2 * width**2)
        return np.exp(D, out=D)

    return _blockwise(bags, block)


def scikit_learn(bags: Bags, width: float, n_threads: int) -> Array:
    """rbf_kernel of scikit-learn, block by block."""
    from sklearn.metrics.pairwise import rbf_kernel

    return _blockwise(bags, lambda x, y: rbf_kernel(x, y, gamma=1 / (2 * width**2)))


def torch_tuned(bags: Bags, width: float, n_threads: int) -> Array:
    """Matrix product into a buffer that already holds the norms, exponential in place."""
    import torch

    torch.set_num_threads(n_threads)
    B, N = len(bags), int(bags.sizes[0])
    c = 1 / (2 * width**2)
    x = torch.from_numpy(np.ascontiguousarray(bags.data))
    x = x - x.mean(dim=0)
    norms = (x * x).sum(dim=1, keepdim=True) * -c
    ones = torch.ones_like(norms)
    left = torch.cat([2 * c * x, norms, ones], dim=1)
    right = torch.cat([x, ones, norms], dim=1).T.contiguous()
    sums = torch.zeros((B, B), dtype=torch.float64)
    blocks = _row_blocks(bags)
    buffer = _torch_buffer((blocks[0][1] - blocks[0][0]) * N * B * N)
    for i, j in blocks:
        rows, columns = (j - i) * N, (B - i) * N
        K = buffer[: rows * columns].view(rows, columns)
        torch.mm(left[i * N : j * N], right[:, i * N :], out=K).exp_()
        sums[i:j, i:] = K.view(j - i, N, columns).sum(dim=1).view(j - i, B - i, N).sum(dim=2)
    return _mirrored(sums.numpy())


@lru_cache(maxsize=1)
def _torch_buffer(size: int) -> Any:
    """Return room that is kept for the next round: fresh memory would cost as much as the sums."""
    import torch

    return torch.empty(size, dtype=torch.float64)


def jax_jit(bags: Bags, width: float, n_threads: int) -> Array:
    """Compiled blocks of whole bags against all points."""
    import jax

    jax.config.update("jax_enable_x64", True)
    N = int(bags.sizes[0])
    block = _jax_block(N, float(width))
    x = jax.numpy.asarray(bags.data)
    sums = np.zeros((len(bags), len(bags)))
    step = -(-len(bags) // 16)  # columns start at one of 16 places: 16 shapes to compile, little done twice
    for i, j in _row_blocks(bags, JAX_BLOCK):
        first = i // step * step
        sums[i:j, first:] = np.asarray(block(x[i * N : j * N], x[first * N :]))
    return _mirrored(sums)


@lru_cache
def _jax_block(bag_size: int, width: float) -> Callable[..., Any]:
    """Return the compiled block; kept, so that compilation is not timed."""
    import jax

    @jax.jit
    def block(x: Any, y: Any) -> Any:
        norms = (x * x).sum(axis=1)[:, None] + (y * y).sum(axis=1)[None, :]
        K = jax.numpy.exp((2 * x @ y.T - norms) / (2 * width**2))
        rows = K.reshape(-1, bag_size, y.shape[0]).sum(axis=1)
        return rows.reshape(rows.shape[0], -1, bag_size).sum(axis=2)

    return block


def keops(bags: Bags, width: float, n_threads: int) -> Array:
    """Symbolic Gaussian kernel of KeOps, one small reduction for each pair of bags."""
    return keops_rows(bags, len(bags), width)


def keops_rows(bags: Bags, n_rows: int, width: float) -> Array:
    """Do the first rows of bags only."""
    from pykeops.numpy import LazyTensor

    N, d = int(bags.sizes[0]), bags.dim
    points = bags.data.reshape(len(bags), N, d) / (math.sqrt(2) * width)
    x = LazyTensor(np.ascontiguousarray(points[:n_rows, None, :, None, :]))
    y = LazyTensor(np.ascontiguousarray(points[None, :, None, :, :]))
    return np.asarray((-((x - y) ** 2).sum(-1)).exp().sum(dim=3)).reshape(n_rows, len(bags), N).sum(axis=2)


# Peers so slow that large workloads are timed on some rows of the matrix, and scaled up.
SLOW: dict[str, Callable[[Bags, int, float], Array]] = {
    "loop over pairs of bags": pair_loop_rows,
    "KeOps": keops_rows,
}

# Name -> (function, the package it needs)
PEERS: dict[str, tuple[Sums, str]] = {
    "loop over pairs of bags": (pair_loop, "numpy"),
    "scipy cdist": (scipy_cdist, "scipy"),
    "scikit-learn": (scikit_learn, "sklearn"),
    "JAX": (jax_jit, "jax"),
    "torch, hand-tuned": (torch_tuned, "torch"),
    "KeOps": (keops, "pykeops"),
}


def available(peers: Mapping[str, tuple[Any, str]]) -> dict[str, Any]:
    """Return the peers whose packages are installed."""
    return {name: peer for name, (peer, package) in peers.items() if importlib.util.find_spec(package)}
