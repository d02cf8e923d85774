r"""Statistics of very many bags, or of very many points: means only, never B x B and never n x n.

Step 3 of the way of the data, for data too large for :func:`stbmta.bag_statistics`. A bag is known by its size, the
mean of its points (or of their features, :mod:`stbmta.scale.features`) and their scatter; one pass over the points
finds them. Memory O(B D), whatever the number of points.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..bags import Bags, require_size
from ..inputs import as_labels
from ..jit import streams
from ..kernels import Kernel, Linear
from ..memory import memory_limit, require_memory
from ..progress import progress_bar
from ..statistics import BagStatistics
from ..threads import get_num_threads, run
from ..vectors import centered_means, inner_products
from .distributed import map_parts
from .features import FeatureMap, RandomFourier, one_blas_thread
from .readers import reading_memory
from .stream import BagStream, Blocks, LabelCoder

__all__ = ["MeanStatistics", "MeanSums", "mean_statistics", "part_sums", "row_blocks"]

Array = npt.NDArray[np.float64]

# Rows whose features are computed together: part of the definition of the sums, as BLAS rounds by shape.
_CHUNK = 4096
# Bytes of a label: the object, and its places in a list and in a dictionary.
_LABEL = 200
# The part of the memory allowed that a block of rows may take; reading one takes several copies of it.
_SHARE = 16


@dataclass(frozen=True)
class MeanStatistics:
    r"""What bags say about their means, without comparing them yet.

    Attributes
    ----------
    sizes : ndarray of shape (B,)
    means : ndarray of shape (B, D)
        Mean points, or mean features.
    scatter : ndarray of shape (B,)
        Mean squared distance of the points (features) to the bag's mean.
    labels : ndarray of shape (B,)
    kernel : Kernel
        With every parameter a number.
    dim : int
        Columns of the points, d.
    features : FeatureMap or None
        None for the linear kernel, where means are exact.
    """

    sizes: npt.NDArray[np.int64]
    means: Array
    scatter: Array
    labels: npt.NDArray[Any]
    kernel: Kernel
    dim: int
    features: FeatureMap | None = None

    def __len__(self) -> int:
        """Return the number of bags, B."""
        return len(self.sizes)

    def __repr__(self) -> str:
        how = (
            "" if self.features is None else f", {type(self.features).__name__} of {self.features.n_features}"
        )
        return f"MeanStatistics({len(self)} bags, {int(self.sizes.sum())} points, {self.kernel!r}{how})"

    @property
    def nbytes(self) -> int:
        """Bytes that the table of means and the numbers of each bag take."""
        return self.means.nbytes + 40 * len(self)

    @cached_property
    def naive_mse(self) -> Array:
        """Unbiased estimate of the squared error of each naive mean (eq. esttaskvar); needs two points a bag."""
        self.require_variance()
        return self.scatter / (self.sizes.astype(np.float64) - 1)

    def require_variance(self) -> None:
        """Refuse a bag of one point, whose variance nobody can tell."""
        remedy = "Drop it with bags.drop_small({0}), in a stream with stream.to_bags().drop_small({0})."
        require_size(self.sizes, self.labels, 2, "its variance", remedy)

    def to_statistics(self, max_memory: float | str | None = None) -> BagStatistics:
        """Return the statistics with all inner products, B x B, refused where they would not fit.

        Features take the place of vectors: `dim` is then their number.
        """
        require_memory(
            3 * 8.0 * len(self) ** 2,
            memory_limit(max_memory),
            f"comparing {len(self)} bags in full",
            "Use neighbors() and neighbor averages in tiles, or fewer bags.",
        )
        center = self.means.mean(axis=0)
        return BagStatistics(
            sizes=self.sizes,
            centered_gram=inner_products(self.means - center),
            scatter=self.scatter,
            labels=self.labels,
            kernel=self.kernel,
            dim=self.means.shape[1],
            means=self.means,
        )


def mean_statistics(
    source: Bags | BagStream,
    kernel: Kernel | None = None,
    *,
    features: FeatureMap | None = None,
    n_threads: int | None = None,
    max_memory: float | str | None = None,
    client: Any = None,
    progress: Callable[[], None] = lambda: None,
) -> MeanStatistics:
    """Find the mean and scatter of each bag in one pass.

    Parameters
    ----------
    source : Bags or BagStream
        Bags in memory, or rows that are read in blocks.
    kernel : Kernel, optional
        The kernel that `features` approximate; the linear kernel by default.
    features : FeatureMap, optional
        :class:`stbmta.scale.features.RandomFourier` or :class:`stbmta.scale.features.Nystroem`: means are then those
        of features.
    n_threads : int, optional
        All available cores by default. It does not change the result.
    max_memory : float or str, optional
        Bytes that this may take: the table of means, for a stream of several parts that of a part beside it, and
        blocks of rows. Half of what is free by default; more is refused.
    client : dask.distributed.Client, optional
        Read and sum the parts of a stream on its workers; the result has the same bits. Means of points that are in
        memory are found here.
    progress : callable, optional
        Called after each part.

    Notes
    -----
    Time O(n d) for the linear kernel, O(n d D) for features; memory O(B D), and a block of rows. The parts of a
    stream are summed one by one, row after row, and added up in order: the size of blocks, the number of threads and
    the number of workers change no bit.

    Examples
    --------
    >>> stream = BagStream.from_arrays(np.array([[1.0], [5.0], [3.0]]), ["a", "b", "a"])
    >>> s = mean_statistics(stream)
    >>> s.labels, s.means.ravel(), s.scatter
    (array(['a', 'b'], dtype='<U1'), array([2., 5.]), array([1., 0.]))
    """
    if kernel is None:
        kernel = Linear() if features is None else features.kernel
    if features is None and not isinstance(kernel, Linear):
        raise ValueError(f"means of {kernel!r} are functions; give features that approximate it.")
    if features is not None and features.kernel != kernel:
        raise ValueError(f"these features approximate {features.kernel!r}, not {kernel!r}.")
    limit = memory_limit(max_memory)
    if isinstance(source, Bags) and features is None:
        return _linear_means(source, limit, n_threads)
    stream = BagStream.from_bags(source) if isinstance(source, Bags) else source
    total = _sum_all(stream.within(limit // _SHARE), features, limit, n_threads, client, progress)
    if len(total.labels) == 0:
        raise ValueError("there are no bags: the stream has 0 rows.")
    return total.statistics(kernel, features)


def _linear_means(bags: Bags, limit: int, n_threads: int | None) -> MeanStatistics:
    """Find the means of bags that are in memory, with the bits of :func:`stbmta.bag_statistics`."""
    require_memory(
        8.0 * len(bags) * bags.dim,
        limit,
        f"a table of {len(bags)} means with {bags.dim} columns",
        "Allow more with max_memory.",
    )
    center, means, squares = centered_means(bags, n_threads)
    means += center
    return MeanStatistics(
        sizes=bags.sizes,
        means=means,
        scatter=squares / bags.sizes,
        labels=bags.labels,
        kernel=Linear(),
        dim=bags.dim,
    )


def _sum_all(
    stream: BagStream,
    features: FeatureMap | None,
    limit: int,
    n_threads: int | None,
    client: Any,
    progress: Callable[[], None],
) -> "MeanSums":
    """Sum the parts of a stream, and add them up in order."""
    total = MeanSums(0, 0, False)
    parts: Iterable[MeanSums]
    if client is not None:
        parts = map_parts(client, stream, part_sums, features, limit, 1)
    else:
        parts = (
            part_sums(part, stream.columns, features, limit, n_threads, held=total.nbytes)
            for part in stream.parts
        )
    with progress_bar("reading", len(stream.parts)) as advance:
        for part in parts:
            total.merge(part, limit)
            advance()
            progress()
    return total


def part_sums(
    part: Blocks,
    columns: tuple[str, ...] | None,
    features: FeatureMap | None,
    limit: int,
    n_threads: int | None = None,
    held: int = 0,
) -> "MeanSums":
    """Sum one part of a stream, where `held` bytes of the limit are taken already."""
    coder = LabelCoder()
    sums: MeanSums | None = None
    held += reading_memory(part, limit - held)
    blocks: Iterator[tuple[Array, npt.NDArray[np.int64]]] = coder.blocks(part, columns)
    by_chunk = features is not None and not isinstance(features, RandomFourier)
    if by_chunk:
        blocks = _rechunk(blocks)
    with one_blas_thread if by_chunk else nullcontext():
        for points, codes in blocks:
            if sums is None:
                width = points.shape[1] if features is None else features.n_features
                sums = MeanSums(points.shape[1], width, isinstance(features, RandomFourier))
                if features is not None and features.dim != sums.dim:
                    raise ValueError(
                        f"the points have {sums.dim} columns, but the features are made for {features.dim}."
                    )
            made = 16 * len(points) * sums.table.shape[1] if by_chunk else 0  # kernel values, and features
            sums.reserve(len(coder.labels), limit, held + points.nbytes + made)
            sums.add(
                points if features is None or sums.fourier else features(points), codes, features, n_threads
            )
    if sums is None:
        sums = MeanSums(0, 0, False)
    sums.labels = coder.labels
    sums.trim()
    return sums


def _rechunk(
    blocks: Iterator[tuple[Array, npt.NDArray[np.int64]]],
) -> Iterator[tuple[Array, npt.NDArray[np.int64]]]:
    """Cut rows into chunks of _CHUNK, wherever the blocks ended."""
    held: list[tuple[Array, npt.NDArray[np.int64]]] = []
    count = 0
    for block in blocks:
        held.append(block)
        count += len(block[1])
        if count >= _CHUNK:
            points, codes = (np.concatenate(side) for side in zip(*held, strict=True))
            whole = count // _CHUNK * _CHUNK
            for start in range(0, whole, _CHUNK):
                yield points[start : start + _CHUNK], codes[start : start + _CHUNK]
            held, count = [(points[whole:], codes[whole:])], count - whole
    if count:
        points, codes = (np.concatenate(side) for side in zip(*held, strict=True))
        yield points, codes


class MeanSums:
    """Running means of bags whose number grows: counts, means (or sums of Fourier features), squares.

    Parameters
    ----------
    dim : int
        Columns of the points.
    width : int
        Columns of the table.
    fourier : bool
        The table holds sums of sines and cosines, whose squares add up to 1 in each row.
    """

    def __init__(self, dim: int, width: int, fourier: bool) -> None:
        self.dim, self.fourier = dim, fourier
        self.labels: list[Any] = []
        self.counts, self.squares = np.zeros(0), np.zeros(0)
        self.table = np.zeros((0, width))
        self._places: dict[Any, int] = {}

    @property
    def nbytes(self) -> int:
        """Bytes that the sums of all bags take."""
        return len(self.counts) * self._bag_bytes()

    def _bag_bytes(self) -> int:
        return 8 * (self.table.shape[1] + 2) + _LABEL

    def reserve(self, n_bags: int, limit: int, held: int = 0) -> None:
        """Make room for more bags, refusing a table that would not fit beside the bytes that are held."""
        have = len(self.counts)
        if n_bags <= have:
            return
        require_memory(
            n_bags * self._bag_bytes() + held,
            limit,
            f"a table of at least {n_bags} means with {self.table.shape[1]} columns, with what is beside it,",
            "Use fewer features, or allow more with max_memory.",
        )
        self._resize(max(n_bags, min(have + have // 2, (limit - held) // self._bag_bytes())))

    def trim(self) -> None:
        """Give back what was reserved and not used."""
        self._resize(len(self.labels))

    def _resize(self, n_bags: int) -> None:
        self.counts = _resized(self.counts, (n_bags,))
        self.squares = _resized(self.squares, (n_bags,))
        self.table = _resized(self.table, (n_bags, self.table.shape[1]))

    def add(
        self, points: Array, codes: npt.NDArray[np.int64], features: FeatureMap | None, n_threads: int | None
    ) -> None:
        """Add rows to their bags; bags are shared out among threads."""
        rows = np.cumsum(np.bincount(codes, minlength=len(self.counts)))
        shares = np.linspace(0, rows[-1], get_num_threads(n_threads) + 1)[1:-1]
        cuts = np.unique(np.r_[0, np.searchsorted(rows, shares), len(self.counts)])
        if self.fourier:
            assert isinstance(features, RandomFourier)
            add = partial(
                streams.add_fourier, points, codes, features.center, features.panels(), streams.CONSTANTS
            )
            tables: tuple[Array, ...] = (self.counts, self.table)
        else:
            add = partial(streams.add_rows, np.ascontiguousarray(points), codes)
            tables = (self.counts, self.table, self.squares)
        run([partial(add, int(a), int(b), *tables) for a, b in pairwise(cuts)], n_threads)

    def merge(self, other: "MeanSums", limit: int) -> None:
        """Add the sums of a later part (Chan, Golub and LeVeque's update of means and squares)."""
        if len(other.labels) == 0:
            return
        if len(self.labels) == 0:
            self.__dict__.update(other.__dict__)
            self._places = {label: k for k, label in enumerate(self.labels)}
            return
        if other.dim != self.dim:
            raise ValueError(f"a part has {other.dim} columns, but the first one has {self.dim}.")
        for label in other.labels:
            if self._places.setdefault(label, len(self.labels)) == len(self.labels):
                self.labels.append(label)
        self.reserve(len(self.labels), limit, other.nbytes)
        to = np.array([self._places[label] for label in other.labels])
        for rows in row_blocks(other.table):  # the tables may be most of the memory there is
            self._merge_rows(to[rows], other, rows)

    def _merge_rows(self, to: npt.NDArray[np.int64], other: "MeanSums", rows: slice) -> None:
        old_counts, counts = self.counts[to], other.counts[rows]
        if self.fourier:
            self.table[to] += other.table[rows]
        else:
            difference = other.table[rows] - self.table[to]
            share = counts / (old_counts + counts)
            self.table[to] += share[:, None] * difference
            between = np.einsum("ij,ij->i", difference, difference)
            self.squares[to] += other.squares[rows] + old_counts * share * between
        self.counts[to] += counts

    def statistics(self, kernel: Kernel, features: FeatureMap | None) -> MeanStatistics:
        """Return what was found."""
        self.trim()
        counts, table = self.counts, self.table
        if self.fourier:
            # cos^2 + sin^2 = 1 for each frequency: the squared norm of every feature vector is 1.
            table /= counts[:, None] * np.sqrt(table.shape[1] // 2)
            scatter = np.maximum(1.0 - np.einsum("ij,ij->i", table, table), 0.0)
        else:
            scatter = self.squares / counts
        return MeanStatistics(
            sizes=counts.astype(np.int64),
            means=table,
            scatter=scatter,
            labels=as_labels(self.labels),
            kernel=kernel,
            dim=self.dim,
            features=features,
        )


def _resized(array: Array, shape: tuple[int, ...]) -> Array:
    """Return an array with more or fewer rows: in place, unless it came from another process and has no memory."""
    if shape == array.shape:
        return array
    if not array.flags.owndata:
        array = array.copy()
    array.resize(shape, refcheck=False)
    return array


def row_blocks(table: Array) -> list[slice]:
    """Cut a table into runs of rows of half a megabyte: whatever is made of one is small."""
    step = max(1, 2**16 // max(1, table.shape[1]))
    return [slice(k, k + step) for k in range(0, len(table), step)]
