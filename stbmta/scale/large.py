"""STB for more bags, or more points, than B x B statistics allow: means or features, compared in tiles.

The same estimate as :class:`stbmta.STB` makes of B x B statistics, in memory O(B D). Weights are not kept: a hundred
thousand bags may have billions of neighbors.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..bags import Bags
from ..container import RNG
from ..inputs import as_matrix
from ..kernels import Kernel, Linear, as_kernel
from ..linear import neighbor_averages
from ..memory import available_memory, memory_limit, require_memory
from ..statistics import BagStatistics, bag_statistics
from ..theory import theorems
from .approximate import choose_features
from .features import FeatureMap
from .means import MeanStatistics, mean_statistics, row_blocks
from .stream import BagStream

__all__ = [
    "FeatureMeans",
    "LargeEstimate",
    "estimate_large",
    "exact_statistics",
    "large_statistics",
    "needs_tiles",
    "tuning_sample",
]

Array = npt.NDArray[np.float64]

# B x B numbers that an estimate of the usual kind holds at a time: statistics, distances, tests, weights.
_MATRICES = 6
# Bags on which parameters are chosen.
TUNING_BAGS = 1000


@dataclass(frozen=True)
class FeatureMeans:
    """Estimated mean embeddings in a space of finitely many features.

    Attributes
    ----------
    means : ndarray of shape (m, D)
    features : FeatureMap
    labels : ndarray of shape (m,)

    Examples
    --------
    >>> from stbmta import RBF
    >>> from stbmta.scale.features import RandomFourier
    >>> features = RandomFourier.draw(RBF(1.0), 1, 2048, rng=0)
    >>> embedding = FeatureMeans(features(np.array([[0.0], [3.0]])), features, np.array(["a", "b"]))
    >>> bool(np.abs(embedding.evaluate([[0.0]]) - [[1.0], [np.exp(-4.5)]]).max() < 0.05)
    True
    """

    means: Array
    features: FeatureMap
    labels: npt.NDArray[Any]

    def __len__(self) -> int:
        """Return the number of estimates."""
        return len(self.labels)

    @property
    def kernel(self) -> Kernel:
        """The kernel that the features approximate."""
        return self.features.kernel

    def evaluate(self, points: npt.ArrayLike) -> Array:
        """Return the value of each estimated embedding at each point, (m, number of points)."""
        return self.means @ self.features(as_matrix(points, "points").astype(np.float64)).T

    @cached_property
    def gram(self) -> Array:
        """The inner products of the estimates, (m, m), refused where they would not fit."""
        require_memory(
            8.0 * len(self) ** 2, memory_limit(), f"the Gram matrix of {len(self)} estimates", "Use `means`."
        )
        return self.means @ self.means.T


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeEstimate:
    """STB estimates made in tiles.

    Attributes
    ----------
    statistics : MeanStatistics
    counts : ndarray of shape (B,)
        Number of neighbors, the bag itself included.
    naive_mse : ndarray of shape (B,)
    means : ndarray of shape (B, D)
        The estimates: means of points, or of features.
    gamma : float or ndarray of shape (B,)
    approximation : str
        Exact or features, and why.
    """

    statistics: MeanStatistics
    counts: npt.NDArray[np.int64]
    naive_mse: Array
    means: Array
    gamma: Any
    approximation: str

    def estimated_error(self) -> Array:
        r"""Return the estimated squared error of each estimate, (B,), as :func:`stbmta.tuning.unbiased_risk` has it.

        It is taken as no less than the bag's own share of the variance.
        """
        own = self.gamma + (1 - self.gamma) / self.counts
        moved = np.empty(len(self.counts))
        for rows in row_blocks(self.means):
            difference = self.means[rows] - self.statistics.means[rows]
            moved[rows] = np.einsum("ij,ij->i", difference, difference)
        return np.maximum(moved + (2 * own - 1) * self.naive_mse, own**2 * self.naive_mse)


def needs_tiles(source: Bags | BagStream, kernel: Kernel, limit: int) -> bool:
    """Tell whether B x B matrices are out of the question: a stream, or too many bags for the memory allowed."""
    if isinstance(source, BagStream):
        return True
    return isinstance(kernel, Linear) and _MATRICES * 8.0 * len(source) ** 2 > limit


def large_statistics(
    source: Bags | BagStream,
    kernel: Kernel | str = "linear",
    *,
    approximation: Any = "auto",
    rng: RNG = 0,
    n_threads: int | None = None,
    max_memory: float | str | None = None,
    client: Any = None,
) -> tuple[MeanStatistics | None, str]:
    """Find the means of bags, of points or of features, where exact kernel values are not the better choice.

    Parameters
    ----------
    source : Bags or BagStream
    kernel : Kernel or str
        For a stream with every parameter a number.
    approximation : "auto", FeatureMap, int or None
        See :func:`stbmta.scale.approximate.choose_features`.
    rng : {None, int, numpy.random.Generator}, default=0
        Draws features.
    n_threads, max_memory, client
        As for :func:`stbmta.scale.means.mean_statistics`.

    Returns
    -------
    statistics : MeanStatistics or None
        None where exact kernel values were chosen.
    reason : str
    """
    kernel = _resolved(source, as_kernel(kernel))
    features, reason = None, "exact"
    if not isinstance(kernel, Linear):
        n_bags, n_points, dim, center = _shape(source)
        features, reason = choose_features(
            kernel,
            n_bags,
            n_points,
            dim,
            approximation=approximation,
            center=center,
            rng=rng,
            n_threads=n_threads,
        )
        if features is None:
            return None, reason
    options: dict[str, Any] = {"n_threads": n_threads, "max_memory": max_memory, "client": client}
    return mean_statistics(source, kernel, features=features, **options), reason


def exact_statistics(
    stream: BagStream, kernel: Kernel, *, dtype: npt.DTypeLike, n_threads: int | None, client: Any
) -> BagStatistics:
    """Compute the exact statistics of a stream: from its means, on a cluster, or sorted into memory."""
    kernel = _resolved(stream, kernel)
    if isinstance(kernel, Linear):
        return mean_statistics(stream, n_threads=n_threads, client=client).to_statistics(available_memory())
    if client is None:
        return bag_statistics(stream.to_bags(), kernel, n_threads=n_threads, dtype=dtype)
    from .shuffle import stream_statistics

    return stream_statistics(client, stream, kernel, dtype)


def _resolved(source: Bags | BagStream, kernel: Kernel) -> Kernel:
    if isinstance(source, Bags):
        return kernel.resolve(source)
    if isinstance(getattr(kernel, "bandwidth", None), str) or getattr(kernel, "gamma", 0) is None:
        raise ValueError(
            f"the parameters of {kernel!r} are chosen from data in memory; for a stream give numbers, "
            "for instance those of kernel.resolve(a sample of the data)."
        )
    return kernel


def _shape(source: Bags | BagStream) -> tuple[int, int, int, Array]:
    """Return the numbers of bags, points and columns, and a point to take as the center."""
    if isinstance(source, Bags):
        return len(source), len(source.data), source.dim, source.data[0].astype(np.float64)
    n_bags = n_points = 0
    first: Array | None = None
    for points, codes in source.blocks():
        first = points[0].copy() if first is None else first
        n_bags, n_points = max(n_bags, int(codes.max()) + 1), n_points + len(codes)
    if first is None:
        raise ValueError("there are no bags: the stream has 0 rows.")
    return n_bags, n_points, len(first), first


def estimate_large(
    s: MeanStatistics,
    zeta: float,
    gamma: Any,
    c: float | None,
    *,
    variance: float | None = None,
    n_threads: int | None = None,
    max_memory: float | str | None = None,
    client: Any = None,
    approximation: str = "exact",
) -> LargeEstimate:
    """Make STB estimates of means in tiles.

    Parameters
    ----------
    s : MeanStatistics
    zeta : float
    gamma : float or "theory"
    c : float or None
        The factor of "theory".
    variance, n_threads, max_memory, client
        As for :func:`stbmta.linear.neighbor_averages`.
    approximation : str
        What to say about it.
    """
    found = neighbor_averages(
        s, zeta, variance=variance, n_threads=n_threads, max_memory=max_memory, client=client
    )
    if isinstance(gamma, str):
        gamma = theorems.gamma_independent((1.0 if c is None else c) * zeta, found.counts - 1)
    kept = np.broadcast_to(np.asarray(gamma, dtype=np.float64), found.counts.shape)[:, None]
    means = found.averages
    for rows in row_blocks(means):  # in place: the tables may be most of the memory there is
        means[rows] *= 1 - kept[rows]
        means[rows] += kept[rows] * s.means[rows]
    return LargeEstimate(
        statistics=s,
        counts=found.counts,
        naive_mse=found.naive_mse,
        means=means,
        gamma=gamma,
        approximation=approximation,
    )


def tuning_sample(source: Bags | BagStream, rng: np.random.Generator) -> Bags:
    """Return at most TUNING_BAGS bags, drawn at random, to choose parameters on."""
    if isinstance(source, Bags):
        if len(source) <= TUNING_BAGS:
            return source
        return source[np.sort(rng.choice(len(source), TUNING_BAGS, replace=False))]
    n_bags = _shape(source)[0]
    wanted = np.zeros(n_bags, dtype=bool)
    wanted[rng.choice(n_bags, min(n_bags, TUNING_BAGS), replace=False)] = True
    kept = [(points[wanted[codes]], codes[wanted[codes]]) for points, codes in source.blocks()]
    return Bags.from_groups(np.concatenate([p for p, _ in kept]), np.concatenate([c for _, c in kept]))
