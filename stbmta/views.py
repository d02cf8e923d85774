r"""Views of bags for held-out scores: statistics to fit on, and independent means to score against.

A fold of every bag is left out, or Gaussian noise is split in two (:mod:`stbmta.fission`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .bags import RNG, Bags
from .fission import fission
from .inputs import check_folds
from .kernels import Kernel, Linear
from .points import point_diagonal
from .similarity import known_mse
from .statistics import BagStatistics, bag_statistics
from .sums import part_sums
from .truth import Truth

__all__ = ["View", "fission_views", "fold_views", "held_out_views", "naive_errors", "noise_trace"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

# Bags times views to score: beyond it the choice hardly improves.
_SCORES = 1000
_MAX_DRAWS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Statistics to fit on, and independent means to score against.

    Attributes
    ----------
    statistics : BagStatistics
    mse : ndarray of shape (B,)
        Squared errors of the naive means of `statistics`, known or estimated.
    truth : Truth
        The held-out means in place of the truth, without their norms.
    scored : ndarray of int
        The bags that have a held-out mean.
    """

    statistics: BagStatistics
    mse: Array
    truth: Truth
    scored: Indices


def noise_trace(s: BagStatistics, variance: float | None = None) -> float | Array | None:
    r"""Return the traces of the covariances of the points, where folds are too small to tell them.

    Parameters
    ----------
    s : BagStatistics
        Statistics of the bags.
    variance : float, optional
        The known variance of each coordinate (linear kernel).

    Returns
    -------
    float, ndarray of shape (B,) or None
        :math:`d \sigma^2` if the variance is known. Where more than half of the bags have two points, one trace a bag,
        the average over such bags in place of theirs: two points say little about it, and the single one that a fold
        leaves says nothing. None: each bag has its own, and those of two points serve the others unscored.

    Examples
    --------
    >>> noise_trace(bag_statistics(Bags.from_list([[0.0, 2.0], [4.0, 4.0], [0.0, 3.0, 6.0]])))
    array([1., 1., 9.])
    """
    if variance is not None:
        return float(known_mse(s, variance)[0] * s.sizes[0])
    traces, pairs = s.naive_mse * s.sizes, s.sizes <= 2
    return np.where(pairs, traces[pairs].mean(), traces) if pairs.mean() > 0.5 else None


def naive_errors(s: BagStatistics, trace: float | Array | None = None) -> Array:
    """Return the squared errors of the naive means: from the traces, or each estimated by itself.

    Returns
    -------
    ndarray of shape (B,)
        Each trace over the number of points, or the estimates of the statistics.

    Examples
    --------
    >>> naive_errors(bag_statistics(Bags.from_list([[0.0, 2.0], [4.0]])), trace=2.0)
    array([1., 2.])
    """
    return s.naive_mse if trace is None else trace / s.sizes


def fold_views(
    bags: Bags,
    kernel: Kernel,
    *,
    n_views: int,
    n_folds: int = 5,
    trace: float | Array | None = None,
    rng: RNG = None,
    n_threads: int | None = None,
) -> Iterator[View]:
    """Leave out a fold of every bag at a time.

    Parameters
    ----------
    bags : Bags
        A bag that a fold would leave with too few points for its error (two, or one if the trace is given) stays
        whole and is not scored.
    kernel : Kernel
        Resolved.
    n_views : int
        How many; folds are drawn anew after `n_folds` of them.
    n_folds : int, default=5
        At most; a bag of N points has at most N folds.
    trace : float or array, optional
        Of the covariances of the points, where folds are too small to tell; see :func:`noise_trace`.
    rng : {None, int, numpy.random.Generator}, optional
        Draws the folds.
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Yields
    ------
    View
        Statistics of the bags without their fold, and the means of the folds. Views that score no bag are left out.

    Notes
    -----
    For other kernels than the linear one, all folds of a draw come from one pass over the sums between folds and bags,
    and one over the pairs of points in the same fold: 1 + 1 / n_folds times the time of the statistics.

    Examples
    --------
    >>> bags = Bags.from_list([np.arange(10.0), np.arange(10.0)])
    >>> [len(view.scored) for view in fold_views(bags, Linear(), n_views=3, rng=0)]
    [2, 2, 2]
    """
    generator = np.random.default_rng(rng)
    least = 2 if trace is None else 1
    for done in range(0, n_views, n_folds):
        shuffled, offsets, bag_of = bags.folds(n_folds, generator)
        number = np.arange(len(bag_of)) - np.searchsorted(bag_of, bag_of)
        sizes = np.diff(offsets)
        # -1: points that are never left out.
        number = np.where(bags.sizes[bag_of] - sizes >= least, number, -1)
        folds = _Folds(shuffled, offsets, bag_of, number, kernel, trace, n_threads)
        yield from (folds.view(k) for k in range(min(n_folds, n_views - done)) if (number == k).any())


class _Folds:
    """Bags cut into folds, and the sums between folds and bags where means are not vectors."""

    def __init__(
        self,
        shuffled: Bags,
        offsets: Indices,
        bag_of: Indices,
        number: Indices,
        kernel: Kernel,
        trace: float | Array | None,
        n_threads: int | None,
    ) -> None:
        self.bags, self.offsets, self.bag_of, self.number = shuffled, offsets, bag_of, number
        self.kernel, self.trace, self.n_threads = kernel, trace, n_threads
        if not isinstance(kernel, Linear):
            self.sums = part_sums(shuffled.data, shuffled.rows, offsets, bag_of, kernel, n_threads).sums
            self.diagonal = np.add.reduceat(point_diagonal(shuffled, kernel), offsets[:-1])
            first = np.searchsorted(bag_of, np.arange(len(shuffled)))
            self.bag_sums = np.add.reduceat(self.sums, first, axis=0)
            self.bag_diagonal = np.add.reduceat(self.diagonal, first)

    def view(self, k: int) -> View:
        out = self.number == k
        scored = self.bag_of[out]
        fold = self.bags.select(scored).take_points(self._in_fold(out, scored))
        if isinstance(self.kernel, Linear):
            rest = self.bags.take_points(~np.repeat(out, np.diff(self.offsets)))
            s = bag_statistics(rest, n_threads=self.n_threads)
            means = np.full((len(s), s.dim), np.nan)
            means[scored] = fold.means(n_threads=self.n_threads)
            truth = Truth(cross=None, norms=None, means=means)
        else:
            s, truth = self._from_sums(out, scored, fold)
        return View(statistics=s, mse=naive_errors(s, self.trace), truth=truth, scored=scored)

    def _in_fold(self, out: npt.NDArray[np.bool_], scored: Indices) -> npt.NDArray[np.bool_]:
        """Return which points of the scored bags, taken together, are in their fold."""
        point = np.repeat(out, np.diff(self.offsets))
        chosen = np.zeros(len(self.bags), dtype=bool)
        chosen[scored] = True
        return point[np.repeat(chosen, self.bags.sizes)]

    def _from_sums(
        self, out: npt.NDArray[np.bool_], scored: Indices, fold: Bags
    ) -> tuple[BagStatistics, Truth]:
        n_bags = len(self.bags)
        in_fold = np.zeros(n_bags)
        in_fold[scored] = fold.sizes
        in_rest = self.bags.sizes - in_fold
        # Sums of the left-out folds with bags, and with each other.
        left_out, among = np.zeros((n_bags, n_bags)), np.zeros((n_bags, n_bags))
        left_out[scored] = self.sums[out]
        counts = fold.sizes.astype(np.float64)
        inner = bag_statistics(fold, self.kernel, n_threads=self.n_threads)
        among[np.ix_(scored, scored)] = inner.gram * np.outer(counts, counts)
        gram = (self.bag_sums - left_out - left_out.T + among) / np.outer(in_rest, in_rest)
        cross = np.zeros((n_bags, n_bags))
        cross[:, scored] = (left_out[scored] - among[scored]).T / np.outer(in_rest, in_fold[scored])
        diagonal = self.bag_diagonal.copy()
        diagonal[scored] -= self.diagonal[out]
        s = BagStatistics(
            sizes=in_rest.astype(np.int64),
            centered_gram=gram,
            scatter=np.maximum(diagonal / in_rest - np.diagonal(gram), 0.0),
            labels=self.bags.labels,
            kernel=self.kernel,
            dim=self.bags.dim,
        )
        return s, Truth(cross=cross, norms=np.zeros(n_bags))


def fission_views(
    s: BagStatistics, variance: float, *, n_views: int, amount: float = 0.3, rng: RNG = None
) -> Iterator[View]:
    """Split Gaussian noise of known variance in two, also for bags of one point; see :func:`stbmta.fission.fission`.

    Yields
    ------
    View
        Statistics of the noisier means, and the other part of the split to score all bags against.

    Examples
    --------
    >>> s = bag_statistics(Bags.from_list([[[0.0, 1.0]], [[1.0, 0.0]]]))
    >>> [view.mse.round(2).tolist() for view in fission_views(s, 1.0, n_views=1, rng=0)]
    [[2.18, 2.18]]
    """
    generator = np.random.default_rng(rng)
    for _ in range(n_views):
        parts = fission(s, variance, amount=amount, rng=generator)
        mse = known_mse(parts.statistics, parts.variance)
        yield View(statistics=parts.statistics, mse=mse, truth=parts.truth, scored=np.arange(len(s)))


def held_out_views(
    bags: Bags,
    s: BagStatistics,
    *,
    variance: float | None = None,
    n_folds: int = 5,
    rng: RNG = None,
    n_threads: int | None = None,
) -> Iterator[View]:
    """Return as many views as a choice needs: folds, or split noise where a bag has one point.

    Few bags are scored many times, many bags once.

    Parameters
    ----------
    bags : Bags
        The bags that folds are left out of.
    s : BagStatistics
        Of the bags.
    variance : float, optional
        The known variance of each coordinate (linear kernel).
    n_folds : int, default=5
        At most; a bag of N points has at most N folds.
    rng : {None, int, numpy.random.Generator}, optional
        Draws folds, or noise.
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Returns
    -------
    iterator of View
        Each view is computed when its turn comes.

    Notes
    -----
    Bags of two points are left with one, whose error is unknown: if most bags are so small, it is pooled over them, see
    :func:`noise_trace`. The methods should then be fitted with pooled errors, too.

    Examples
    --------
    >>> bags = Bags.from_list([[0.0, 1.0], [2.0, 3.0]])
    >>> [view.mse.tolist() for view in held_out_views(bags, bag_statistics(bags), rng=0)][:2]
    [[0.5, 0.5], [0.5, 0.5]]
    """
    check_folds(n_folds)
    n_views = -(-_SCORES // len(bags))
    if variance is not None and bags.sizes.min() == 1:
        return fission_views(s, variance, n_views=min(n_views, _MAX_DRAWS), rng=rng)
    return fold_views(
        bags,
        s.kernel,
        n_views=min(n_views, _MAX_DRAWS * n_folds),
        n_folds=n_folds,
        trace=noise_trace(s, variance),
        rng=rng,
        n_threads=n_threads,
    )
