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
from ..embedding import KernelMeans
from ..inputs import as_matrix
from ..kernels import Kernel, Linear, as_kernel
from ..linear import neighbor_averages
from ..memory import available_memory, memory_limit, require_memory
from ..statistics import BagStatistics, bag_statistics
from ..theory import theorems
from .approximate import choose_features
from .cost import matrix_bytes
from .features import FeatureMap
from .means import MeanStatistics, mean_statistics, row_blocks
from .sample import Shape, first_point, source_shape
from .shuffle import MOST_PARTS
from .stream import BagStream

__all__ = [
    "Choice",
    "DistantMeans",
    "FeatureMeans",
    "LargeEstimate",
    "choose",
    "estimate_large",
    "exact_memory",
    "exact_statistics",
    "large_statistics",
]

Array = npt.NDArray[np.float64]

# Copies of the points that kernel values need: in order, as rows, as columns.
_COPIES = 3.5
# Bytes that are held here for each bag of a part on a cluster: label, size, where its rows go.
_PLACE_BYTES = 200


@dataclass(frozen=True)
class FeatureMeans:
    """Estimated means as vectors: of points, or of finitely many features in place of a kernel.

    Attributes
    ----------
    means : ndarray of shape (m, D)
    features : FeatureMap or None
        None for the linear kernel.
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
    features: FeatureMap | None
    labels: npt.NDArray[Any]

    def __len__(self) -> int:
        """Return the number of estimates."""
        return len(self.labels)

    @property
    def kernel(self) -> Kernel:
        """The kernel that the features approximate."""
        return Linear() if self.features is None else self.features.kernel

    def evaluate(self, points: npt.ArrayLike) -> Array:
        """Return the value of each estimated embedding at each point, (m, number of points).

        Returns
        -------
        ndarray of shape (m, number of points)
            Row i holds inner products with estimate i: of the points for the linear kernel, else of their features.
        """
        z = as_matrix(points, "points").astype(np.float64)
        return self.means @ (z if self.features is None else self.features(z)).T

    @cached_property
    def gram(self) -> Array:
        """The inner products of the estimates, (m, m), refused where they would not fit."""
        require_memory(
            8.0 * len(self) ** 2, memory_limit(), f"the Gram matrix of {len(self)} estimates", "Use `means`."
        )
        return self.means @ self.means.T


class DistantMeans(KernelMeans):
    """Estimates whose points stayed on a cluster: inner products of the estimates, and no values at points.

    Parameters
    ----------
    statistics : BagStatistics
        Of the naive means, as the cluster found them.
    weights : ndarray of shape (B, B)
        Row i holds the weights of estimate i.
    """

    def __init__(self, statistics: BagStatistics, weights: Any) -> None:
        self.kernel, self.weights, self.labels = statistics.kernel, weights, statistics.labels
        self.__dict__["statistics"] = statistics

    def __repr__(self) -> str:
        return f"DistantMeans({len(self)} means, {self.kernel!r})"

    @property
    def bags(self) -> Bags:  # type: ignore[override]
        """Refused: the points are not here."""
        raise ValueError(
            "the points of this stream stayed on the cluster; only gram and mmd2() of the estimates are known. "
            "Fit stream.to_bags() to look at points, or use features."
        )


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

        Returns
        -------
        ndarray of shape (B,)
            Never negative; `naive_mse` for a bag without neighbors.
        """
        own = self.gamma + (1 - self.gamma) / self.counts
        moved = np.empty(len(self.counts))
        for rows in row_blocks(self.means):
            difference = self.means[rows] - self.statistics.means[rows]
            moved[rows] = np.einsum("ij,ij->i", difference, difference)
        return np.maximum(moved + (2 * own - 1) * self.naive_mse, own**2 * self.naive_mse)


def exact_memory(n_bags: int, n_points: int, dim: int, kernel: Kernel) -> float:
    """Return how many bytes an estimate from statistics of all pairs of bags takes beyond its input.

    Without points, they stay on a cluster, which tells what is in each part.

    Returns
    -------
    float
        Bytes of B x B matrices, and of copies of the points, or of the means for the linear kernel.
    """
    if n_points == 0:
        return matrix_bytes(n_bags) + _PLACE_BYTES * MOST_PARTS * n_bags
    points = 3.0 * n_bags if isinstance(kernel, Linear) else _COPIES * n_points
    return matrix_bytes(n_bags) + 8.0 * points * dim


@dataclass(frozen=True, slots=True)
class Choice:
    """Exact kernel values or features.

    Attributes
    ----------
    kernel : Kernel
        With every parameter a number.
    features : FeatureMap or None
        None means exact.
    reason : str
    shape : Shape or None
        Of the data, where it had to be known.
    """

    kernel: Kernel
    features: FeatureMap | None
    reason: str
    shape: Shape | None = None


def choose(
    source: Bags | BagStream,
    kernel: Kernel | str,
    approximation: Any,
    *,
    rng: RNG = 0,
    client: Any = None,
) -> Choice:
    """Choose between exact kernel values and features; only "auto" reads a stream for that.

    Returns
    -------
    Choice
        What was chosen and why, with the shape of the data where it was looked at.
    """
    kernel = _resolved(source, as_kernel(kernel))
    if isinstance(kernel, Linear) or approximation is None:
        return Choice(kernel, None, "exact")
    shape = source_shape(source, client) if isinstance(approximation, str) else None
    if shape is not None:
        sizes, first = (shape.n_bags, shape.n_points, shape.dim), shape.first
    else:
        first = np.zeros(approximation.dim) if _has_dim(approximation) else first_point(source, client)
        sizes = (0, 0, len(first))
    features, reason = choose_features(kernel, *sizes, approximation=approximation, center=first, rng=rng)
    return Choice(kernel, features, reason, shape)


def _has_dim(approximation: Any) -> bool:
    """Tell whether features know the dimension of their points, so that no point has to be looked at."""
    return isinstance(getattr(approximation, "dim", None), int)


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
        Bags in memory, or rows that are read in blocks.
    kernel : Kernel or str
        For a stream with every parameter a number.
    approximation : "auto", FeatureMap, int, sampler or None
        See :func:`stbmta.scale.approximate.choose_features`.
    rng : {None, int, numpy.random.Generator}, default=0
        Draws features.
    n_threads : int, optional
        All available cores by default. It does not change the result.
    max_memory : float or str, optional
        Bytes that finding the means may take, half of what is free by default; more is refused.
    client : dask.distributed.Client, optional
        Read and sum the parts of a stream on its workers; the result has the same bits.

    Returns
    -------
    statistics : MeanStatistics or None
        None where exact kernel values were chosen.
    reason : str
        What was chosen and why.
    """
    found = choose(source, kernel, approximation, rng=rng, client=client)
    if found.features is None and not isinstance(found.kernel, Linear):
        return None, found.reason
    options: dict[str, Any] = {"n_threads": n_threads, "max_memory": max_memory, "client": client}
    return mean_statistics(source, found.kernel, features=found.features, **options), found.reason


def exact_statistics(
    stream: BagStream, kernel: Kernel, *, dtype: npt.DTypeLike, n_threads: int | None, client: Any
) -> BagStatistics:
    """Compute the exact statistics of a stream: from its means, on a cluster, or sorted into memory.

    Returns
    -------
    BagStatistics
        Bags in order of first appearance. For the linear kernel in double precision, whatever `dtype` says.
    """
    if not isinstance(stream, BagStream):
        raise TypeError(
            f"expected Bags or a BagStream, found {type(stream).__name__}. "
            "Make one with Bags.from_list or Bags.from_frame, or BagStream.from_dask for a Dask data frame."
        )
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
        Of the bags: means of points, or of features.
    zeta : float
        The threshold, at least 0.
    gamma : float or "theory"
        What each mean keeps of itself: 0 is STB-0, a number STB weight, "theory" the value of Theorem 1 with c * zeta.
    c : float or None
        The factor of "theory"; None means 1.
    variance : float, optional
        The variance of each coordinate, if it is known; bags of one point are then welcome.
    n_threads : int, optional
        All available cores by default. It does not change the result.
    max_memory : float or str, optional
        Bytes that this may take beyond its input, half of what is free by default; more is refused.
    client : dask.distributed.Client, optional
        Compare the means on its cluster; the result has the same bits.
    approximation : str
        What to say about it.

    Returns
    -------
    LargeEstimate
        The estimates, and the neighbors and naive error of each bag.
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
