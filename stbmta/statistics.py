"""Bag statistics: all that any estimator needs to know about the bags, B x B.

Step 3 of the way of the data. The n x n Gram matrix is never built.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .bags import Bags, require_size
from .blocks import Side
from .jit import moments
from .kernels import Kernel, Linear, Precomputed, as_kernel
from .labels import labels_index
from .memory import available_memory, require_memory
from .points import point_diagonal
from .rounding import too_close, warn_of_close_points
from .sums import canonical_order, check_block_size, cross_sums, longest_piece, part_sums, whole_sums
from .threads import chunks
from .vectors import centered_means, cross_products, inner_products, measure_far, require_squares

if TYPE_CHECKING:
    from .scale.stream import BagStream

__all__ = [
    "BagStatistics",
    "bag_statistics",
    "cross_statistics",
    "inner_products",
    "require_bags",
    "require_matrices",
    "statistics_from_sums",
]

Array = npt.NDArray[np.float64]

# Runs of rows that are worked on in the cache, as a share of the usual run.
_IN_CACHE = 32


@dataclass(frozen=True)
class BagStatistics:
    r"""What the bags say about their means and each other.

    Attributes
    ----------
    sizes : ndarray of shape (B,)
    centered_gram : ndarray of shape (B, B)
        Inner products of the naive means; for the linear kernel, of the means less a common center.
        Distances between means are computed from it.
    scatter : ndarray of shape (B,)
        Mean squared distance of the points to the bag's mean, ``diagonal - diag(gram)``; for the linear kernel
        without its cancellation.
    labels : ndarray of shape (B,)
    kernel : Kernel
        With every parameter a number.
    dim : int
        Number of features of the points.
    means : ndarray of shape (B, d) or None
        The naive means, for the linear kernel.
    """

    sizes: npt.NDArray[np.int64]
    centered_gram: Array
    scatter: Array
    labels: npt.NDArray[Any]
    kernel: Kernel
    dim: int
    means: Array | None = None

    def __len__(self) -> int:
        """Return the number of bags, B."""
        return len(self.sizes)

    def __repr__(self) -> str:
        return f"BagStatistics({len(self)} bags, {int(self.sizes.sum())} points, {self.kernel!r})"

    @cached_property
    def gram(self) -> Array:
        r"""Mean kernel value between bags, :math:`\langle \hat\mu_i, \hat\mu_j \rangle`, (B, B).

        Pairs of a point with itself are included.
        """
        return self.centered_gram if self.means is None else inner_products(self.means)

    @cached_property
    def diagonal(self) -> Array:
        """Mean of k(x, x) over each bag, (B,)."""
        return self.scatter + np.diagonal(self.gram)

    @cached_property
    def naive_mse(self) -> Array:
        r"""Unbiased estimate of the squared error of each naive mean (eq. esttaskvar).

        .. math:: \widehat{\mathrm{MSE}}_i = \frac{1}{N_i - 1} \Bigl( \frac1{N_i} \sum_k k(x_k, x_k)
                  - \frac1{N_i^2} \sum_{k,l} k(x_k, x_l) \Bigr)

        It needs at least two points a bag.
        """
        require_size(self.sizes, self.labels, 2, "its variance")
        return self.scatter / (self.sizes.astype(np.float64) - 1)

    def mmd2(self, unbiased: bool = True, clip: bool = False) -> Array:
        r"""Return the squared MMD of each pair of bags, (B, B).

        Parameters
        ----------
        unbiased : bool, default=True
            The U-statistic of eq. Ustat, for any bag sizes:
            :math:`|\hat\mu_i - \hat\mu_j|^2 - \widehat{\mathrm{MSE}}_i - \widehat{\mathrm{MSE}}_j`. It can be
            negative, and needs at least two points a bag. Otherwise :math:`|\hat\mu_i - \hat\mu_j|^2`.
        clip : bool, default=False
            Replace negative values by 0.

        Returns
        -------
        ndarray
            Symmetric, with 0 on the diagonal: a bag does not differ from itself.

        Examples
        --------
        >>> s = bag_statistics(Bags.from_list([[0.0, 2.0], [4.0, 6.0]]), "linear")
        >>> s.mmd2()
        array([[ 0., 14.],
               [14.,  0.]])
        """
        norms = np.diagonal(self.centered_gram)
        distances = norms[:, None] + norms[None, :] - 2 * self.centered_gram
        if self.means is not None:
            error = self.scatter / np.maximum(self.sizes - 1.0, 1.0)
            measure_far(self.means, norms, error, distances)
        if unbiased:
            distances -= self.naive_mse[:, None] + self.naive_mse[None, :]
        elif clip is False:
            np.maximum(distances, 0.0, out=distances)  # a squared distance; below 0 only by rounding
        if clip:
            np.maximum(distances, 0.0, out=distances)
        np.fill_diagonal(distances, 0.0)
        return distances

    def summary(self) -> str:
        """Return the main figures as text.

        Returns
        -------
        str
            Averages of k(x, x) and, if all bags have two points, of the naive errors and of the squared distances.
        """
        lines = [repr(self), f"kernel mean of k(x, x): {self.diagonal.mean():.6g}"]
        if (self.sizes >= 2).all():
            lines.append(f"average naive MSE:      {self.naive_mse.mean():.6g}")
            between = self.mmd2()[~np.eye(len(self), dtype=bool)]
            if len(between):
                lines.append(f"average squared MMD:    {between.mean():.6g}")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """Return size, mean k(x, x), squared norm and naive MSE of each bag as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            One row a bag, by label; without `naive_mse` where a bag has a single point.
        """
        import pandas as pd

        columns = {"size": self.sizes, "diagonal": self.diagonal, "squared_norm": np.diagonal(self.gram)}
        if (self.sizes >= 2).all():
            columns["naive_mse"] = self.naive_mse
        return pd.DataFrame(columns, index=labels_index(self.labels))


def bag_statistics(
    bags: "Bags | BagStream",
    kernel: Kernel | str = "linear",
    *,
    n_threads: int | None = None,
    block_size: int | None = None,
    dtype: npt.DTypeLike = np.float64,
    client: Any = None,
) -> BagStatistics:
    """Compute the pairwise statistics of bags.

    Parameters
    ----------
    bags : Bags or BagStream
        A stream is sorted into memory first, unless the kernel is linear or a `client` does the work.
    kernel : Kernel or str, default="linear"
        A kernel object, or the name of one: "linear", "rbf", "laplacian" or "polynomial".
    n_threads : int, optional
        All available cores by default. It does not change the result.
    block_size : int, optional
        How many kernel values make a task. It does not change the result.
    dtype : float64 or float32, default=float64
        Precision of the kernel values; they are always added up in float64. In float32 they take about
        0.6 of the time. Each RBF or Laplacian value is then accurate to about 3e-5 relative, and means over
        bags of well-scaled points to 1e-7; polynomial values to 2e-5 of the largest. Where points lie so far
        apart, or have such a unit, that float32 could not keep that, or so close together for the kernel that less
        than three digits of the naive errors were left, the values are computed in float64 after all. The linear
        and precomputed kernels take no notice.
    client : dask.distributed.Client, optional
        Compute kernel values on its cluster; the result has the same bits. The linear kernel needs means only, and
        stays here.

    Returns
    -------
    BagStatistics
        All that estimators need to know about the bags, in their order.

    Notes
    -----
    Linear kernel: time O(n d + B^2 d), from the means. Other kernels: O(n^2 d / 2). Memory O(n d + B^2);
    the n x n Gram matrix is never built. The result is the same to the last bit for any number of
    threads, block size and order of the bags (a function as a precomputed kernel may spoil that, if its
    values depend on how many points it is given at once).

    Data with a common offset lose no accuracy: the linear kernel works on differences to a center of the data
    that no far bag or point can move, the RBF kernel on centered points, or on differences of coordinates
    where points lie too far from the center for their width. Errors and distances are differences of kernel values, so
    a kernel that hardly tells points apart (a bandwidth of a hundred thousand times their spread, as the median rule
    chooses where some bags are that far away) leaves them few digits; a RuntimeWarning says so.

    Examples
    --------
    >>> s = bag_statistics(Bags.from_list([[0.0, 2.0], [4.0, 6.0]]), "linear")
    >>> s.gram
    array([[ 1.,  5.],
           [ 5., 25.]])
    >>> s.naive_mse
    array([1., 1.])
    """
    kernel, precision = as_kernel(kernel), _precision(dtype)
    check_block_size(block_size)
    if not isinstance(bags, Bags):
        from .scale.large import exact_statistics

        return exact_statistics(bags, kernel, dtype=precision, n_threads=n_threads, client=client)
    kernel = kernel.resolve(bags)
    copied = 0 if isinstance(kernel, Linear) else bags.data.size
    require_matrices(f"{len(bags)} bags of {len(bags.data)} points", float(len(bags)) ** 2, copied)
    if isinstance(kernel, Linear):
        return _linear_statistics(bags, n_threads)
    order = canonical_order(bags.data, bags.offsets, n_threads)
    ordered = bags.select(order)
    if isinstance(kernel, Precomputed):
        kernel.check_symmetric(bags.rows)
    found = part_sums(
        ordered.data, ordered.rows, ordered.offsets, np.arange(len(bags)), kernel,
        n_threads, block_size, precision, client,
    )  # fmt: skip
    side = Side.cut(bags.data, bags.rows, bags.offsets, np.arange(len(bags)), longest_piece(bags.dim))
    diagonal = whole_sums(point_diagonal(bags, kernel), side.pieces, side.bag)
    s = statistics_from_sums(found.sums, diagonal, order, bags.sizes, bags.labels, kernel, bags.dim)
    if isinstance(kernel, Precomputed):
        return s
    if precision == np.float32 and too_close(s, precision).any():
        return bag_statistics(bags, kernel, n_threads=n_threads, block_size=block_size, client=client)
    warn_of_close_points(bags, s)
    return s


def require_bags(*collections: object) -> None:
    """Refuse what is not bags, and say how to make them."""
    for found in collections:
        if not isinstance(found, Bags):
            raise TypeError(
                f"expected Bags, found {type(found).__name__}. Make them with Bags.from_list, Bags.from_groups or "
                "Bags.from_frame."
            )


def require_matrices(what: str, pairs: float, copied: float = 0.0) -> None:
    """Refuse statistics of so many pairs of bags that would not fit, with copies of points of so many numbers."""
    require_memory(
        4 * 8.0 * (pairs + copied),
        available_memory(),
        f"comparing {what} in full",
        "Use stbmta.linear.neighbor_averages, or features (stbmta.scale.large.large_statistics).",
    )


def statistics_from_sums(
    sums: Array,
    diagonal: Array,
    order: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
    labels: npt.NDArray[Any],
    kernel: Kernel,
    dim: int,
) -> BagStatistics:
    """Return the statistics, given sums of kernel values between bags in another order, and sums of k(x, x).

    Returns
    -------
    BagStatistics
        Of the bags in the order of `sizes` and `labels`.
    """
    back = np.argsort(order)
    counts = sizes.astype(np.float64)
    gram = _mean_values(sums, back, back, counts, counts)
    return BagStatistics(
        sizes=sizes,
        centered_gram=gram,
        scatter=np.maximum(diagonal / counts - np.diagonal(gram), 0.0),
        labels=labels,
        kernel=kernel,
        dim=dim,
    )


def cross_statistics(
    bags: Bags,
    other: Bags,
    kernel: Kernel | str = "linear",
    *,
    n_threads: int | None = None,
    block_size: int | None = None,
    dtype: npt.DTypeLike = np.float64,
    client: Any = None,
) -> Array:
    r"""Return the mean kernel values between two collections of bags, (B, B').

    Parameters
    ----------
    bags, other : Bags
        On the same feature space.
    kernel : Kernel or str
        A bandwidth that is chosen from data is chosen from `bags`.
    n_threads, block_size : int, optional
        Neither changes the result.
    dtype : float64 or float32, default=float64
        Precision of the kernel values, as in :func:`bag_statistics`.
    client : dask.distributed.Client, optional
        As in :func:`bag_statistics`.

    Returns
    -------
    ndarray of shape (B, B')
        Row i, column j: the mean of k(x, y) over the points x of bag i of `bags` and y of bag j of `other`.

    Examples
    --------
    >>> a, b = Bags.from_list([[1.0, 3.0]]), Bags.from_list([[5.0], [7.0]])
    >>> cross_statistics(a, b)
    array([[10., 14.]])
    """
    require_bags(bags, other)
    if bags.dim != other.dim:
        raise ValueError(
            f"the bags have {bags.dim} columns, the others {other.dim}; they must be the same features."
        )
    precision = _precision(dtype)
    check_block_size(block_size)
    kernel = as_kernel(kernel).resolve(bags)
    copied = 0 if isinstance(kernel, Linear) else bags.data.size + other.data.size
    require_matrices(f"{len(bags)} bags with {len(other)} others", float(len(bags)) * len(other), copied)
    if isinstance(kernel, Linear):
        means = bags.means(n_threads=n_threads)
        return cross_products(means, other.means(n_threads=n_threads), n_threads)
    if isinstance(kernel, Precomputed):
        kernel.check_shape(bags.rows, other.rows)
    left = canonical_order(bags.data, bags.offsets, n_threads)
    right = canonical_order(other.data, other.offsets, n_threads)
    a, b = bags.select(left), other.select(right)
    sums = cross_sums(
        a.data, a.rows, a.offsets, b.data, b.rows, b.offsets, kernel,
        n_threads, block_size, precision, client,
    )  # fmt: skip
    counts = bags.sizes.astype(np.float64), other.sizes.astype(np.float64)
    return _mean_values(sums, np.argsort(left), np.argsort(right), *counts)


def _mean_values(
    sums: Array,
    rows: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int64],
    counts: Array,
    other_counts: Array,
) -> Array:
    """Return sums[rows][:, columns] divided by the numbers of pairs, some rows at a time: they stay in the cache."""
    means = np.empty_like(sums)
    for first, last in chunks(len(rows), _IN_CACHE * sums.shape[1]):
        some = sums[rows[first:last]].take(columns, axis=1)
        means[first:last] = some / np.outer(counts[first:last], other_counts)
    return means


def _linear_statistics(bags: Bags, n_threads: int | None) -> BagStatistics:
    """Compute the statistics of the linear kernel from the means, by BLAS."""
    center, means, squares = centered_means(bags, n_threads)
    require_squares(max(moments.farthest(means, np.zeros(bags.dim)), squares.max()), bags.data)
    return BagStatistics(
        sizes=bags.sizes,
        centered_gram=inner_products(means, n_threads),
        scatter=squares / bags.sizes,
        labels=bags.labels,
        kernel=Linear(),
        dim=bags.dim,
        means=center + means,
    )


def _precision(dtype: npt.DTypeLike) -> np.dtype[Any]:
    if dtype not in (np.float64, np.float32, "float64", "float32"):
        raise ValueError(f"dtype must be float64 or float32, found {dtype!r}.")
    return np.dtype(dtype)
