r"""Held-out risk of any methods at once, and the best convex combination of them.

A :class:`View` holds statistics to fit on and independent means to score against: a fold of every bag left out, or
Gaussian noise split in two (:mod:`stbmta.fission`). With :math:`\Delta_m` the change that method m makes to the
naive means and r the held-out means less the naive ones, a combination a of methods has held-out risk

.. math:: a' Q a - 2 a' l, \qquad Q_{mn} = \langle \Delta_m, \Delta_n \rangle, \quad l_m = \langle \Delta_m, r \rangle,

less that of the naive means: a small quadratic program. The scores are noisy where bags are few, so a method is
charged for the standard error of its score: what is not clearly better than the naive means gets little.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .aggregation import minimize_on_simplex
from .bags import RNG, Bags
from .fission import fission
from .kernels import Kernel, Linear
from .similarity import known_mse
from .statistics import BagStatistics, bag_statistics, point_diagonal
from .sums import part_sums
from .truth import Truth

__all__ = ["Candidates", "Stacking", "View", "fission_views", "fold_views", "held_out_views", "score"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

Candidates = Mapping[str, Callable[[Indices], Array]]
"""Names of methods, and functions that return some rows of their weight matrices."""

# Numbers of weights held at once while scoring.
_BLOCK = 2**24
# Bags times views to score: beyond it the choice hardly improves.
_SCORES = 1000
_MAX_DRAWS = 10
# Standard errors that a method is charged for.
_CAUTION = 1.5


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Stacking:
    """What the held-out means say about each method, and how they were combined.

    Attributes
    ----------
    names : tuple of str
    weights : ndarray of shape (M,)
        The share of each method, at least 0, summing to 1.
    risk, standard_errors : ndarray of shape (M,)
        Held-out squared error less that of the naive means, averaged over bags, and the standard error over bags.
    combined : float
        The same for the combination; it was chosen to be small, so it is optimistic.
    naive : float
        The estimated squared error of the naive means, for scale.
    n_scored, n_views : int
        How many bags were scored, and in how many views.
    """

    names: tuple[str, ...]
    weights: Array
    risk: Array
    standard_errors: Array
    combined: float
    naive: float
    n_scored: int
    n_views: int

    def to_frame(self) -> Any:
        """Return one row a method, those with the largest shares first, as a pandas data frame."""
        import pandas as pd

        columns = {"share": self.weights, "risk": self.risk, "standard_error": self.standard_errors}
        frame = pd.DataFrame(columns, index=pd.Index(self.names, name="method"))
        return frame.sort_values(["share", "risk"], ascending=[False, True])

    def shares(self) -> dict[str, float]:
        """Return the methods that were used, largest share first; those below half a percent are left out."""
        used = np.argsort(-self.weights, kind="stable")
        return {self.names[m]: float(self.weights[m]) for m in used if self.weights[m] >= 0.005}

    def summary(self) -> str:
        """Return what was used and why."""
        shares = ", ".join(f"{share:.0%} {name}" for name, share in self.shares().items())
        best = int(np.argmin(self.risk))
        return (
            f"{shares}\n"
            f"held-out change of the squared error: {self.combined:.4g} together, "
            f"{self.risk[best]:.4g} +- {self.standard_errors[best]:.2g} by {self.names[best]} alone; "
            f"the naive means' error is about {self.naive:.4g} "
            f"({self.n_scored} bags scored, {self.n_views} times)"
        )


def fold_views(
    bags: Bags,
    kernel: Kernel,
    *,
    n_views: int,
    n_folds: int = 5,
    variance: float | None = None,
    rng: RNG = None,
    n_threads: int | None = None,
) -> Iterator[View]:
    """Leave out a fold of every bag at a time.

    Parameters
    ----------
    bags : Bags
        A bag that a fold would leave with too few points for its error (two, or one if the variance is known) stays
        whole and is not scored.
    kernel : Kernel
        Resolved.
    n_views : int
        How many; folds are drawn anew after `n_folds` of them.
    n_folds : int, default=5
    variance : float, optional
        The known variance of each coordinate (linear kernel).
    rng : {None, int, numpy.random.Generator}, optional
    n_threads : int, optional

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
    least = 2 if variance is None else 1
    for done in range(0, n_views, n_folds):
        shuffled, offsets, bag_of = bags.folds(n_folds, generator)
        number = np.arange(len(bag_of)) - np.searchsorted(bag_of, bag_of)
        sizes = np.diff(offsets)
        # -1: points that are never left out.
        number = np.where(bags.sizes[bag_of] - sizes >= least, number, -1)
        folds = _Folds(shuffled, offsets, bag_of, number, kernel, variance, n_threads)
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
        variance: float | None,
        n_threads: int | None,
    ) -> None:
        self.bags, self.offsets, self.bag_of, self.number = shuffled, offsets, bag_of, number
        self.kernel, self.variance, self.n_threads = kernel, variance, n_threads
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
            means[scored] = fold.means()
            truth = Truth(cross=None, norms=None, means=means)
        else:
            s, truth = self._from_sums(out, scored, fold)
        mse = s.naive_mse if self.variance is None else known_mse(s, self.variance)
        return View(statistics=s, mse=mse, truth=truth, scored=scored)

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
) -> Iterator[View] | None:
    """Return as many views as a choice needs: folds, or split noise where a bag has one point.

    Few bags are scored many times, many bags once.

    Parameters
    ----------
    bags : Bags
    s : BagStatistics
        Of the bags.
    variance : float, optional
        The known variance of each coordinate (linear kernel).
    n_folds : int, default=5
    rng : {None, int, numpy.random.Generator}, optional
    n_threads : int, optional

    Returns
    -------
    iterator of View, or None
        None if no bag can spare a point: all have two points (one, if the variance is known) or fewer.

    Examples
    --------
    >>> bags = Bags.from_list([[0.0, 1.0], [2.0, 3.0]])
    >>> held_out_views(bags, bag_statistics(bags)) is None
    True
    """
    if n_folds < 2:
        raise ValueError(f"n_folds must be at least 2, found {n_folds}.")
    n_views = -(-_SCORES // len(bags))
    if variance is not None and bags.sizes.min() == 1:
        return fission_views(s, variance, n_views=min(n_views, _MAX_DRAWS), rng=rng)
    if bags.sizes.max() < (3 if variance is None else 2):
        return None
    return fold_views(
        bags,
        s.kernel,
        n_views=min(n_views, _MAX_DRAWS * n_folds),
        n_folds=n_folds,
        variance=variance,
        rng=rng,
        n_threads=n_threads,
    )


def score(
    views: Iterable[View],
    candidates: Callable[[BagStatistics, Array], Candidates],
    *,
    select: bool = False,
    max_scored: int = 512,
    rng: RNG = None,
) -> Stacking:
    r"""Score methods against held-out means, and find the best convex combination of them.

    Parameters
    ----------
    views : iterable of View
    candidates : callable
        Takes statistics and squared errors, and returns the methods; the first must be the naive means.
    select : bool, default=False
        Use the single best method instead of a combination.
    max_scored : int, default=512
        Score so many bags of a view at most, drawn at random; more would only cost time.
    rng : {None, int, numpy.random.Generator}, optional

    Notes
    -----
    The combination minimizes :math:`a' Q a - 2 a' l + \sum_m e_m (1.5 a_m + a_m^2)` with :math:`e_m` the
    standard error of the score of method m. Heuristic in that the minimum of noisy scores is optimistic; the scores
    themselves are unbiased for bags smaller by a fold. Time a view that of the methods on the scored rows and
    O(M B^2 rows) for Q.

    Examples
    --------
    >>> bags = Bags.from_list([np.random.default_rng(k).normal(size=(10, 50)) for k in range(20)])
    >>> methods = {"naive": lambda rows: np.eye(20)[rows], "all": lambda rows: np.full((len(rows), 20), 0.05)}
    >>> found = score(fold_views(bags, Linear(), n_views=5, rng=0), lambda s, mse: methods)
    >>> found.names[int(found.weights.argmax())]
    'all'
    """
    generator = np.random.default_rng(rng)
    names: tuple[str, ...] = ()
    Q, gain, losses, seen, naive, n_views = 0.0, 0.0, None, None, 0.0, 0
    for view in views:
        methods = candidates(view.statistics, view.mse)
        names = tuple(methods)
        chosen = view.scored
        if len(chosen) > max_scored:
            chosen = np.sort(generator.choice(chosen, max_scored, replace=False))
        if losses is None or seen is None:
            losses, seen = np.zeros((len(names), len(view.mse))), np.zeros(len(view.mse))
        step = max(1, _BLOCK // (len(names) * len(view.mse)))
        for k in range(0, len(chosen), step):
            rows = chosen[k : k + step]
            squares, products = _changes(view, methods, rows)
            Q = Q + squares.sum(axis=0)
            gain = gain + products.sum(axis=0)
            losses[:, rows] += np.diagonal(squares, axis1=1, axis2=2).T - 2 * products.T
        seen[chosen] += 1
        naive += float(view.mse[chosen].mean())
        n_views += 1
    if losses is None or seen is None:
        raise ValueError("there is nothing to score: no bag has points to leave out.")
    total = seen.sum()
    by_bag = losses[:, seen > 0] / seen[seen > 0]
    # The scores of a single bag have no spread; be cautious.
    spread = by_bag.std(axis=1, ddof=1) if by_bag.shape[1] > 1 else np.abs(by_bag[:, 0])
    errors = spread / np.sqrt(by_bag.shape[1])
    risk = losses.sum(axis=1) / total
    if select:
        a = np.eye(len(names))[int(np.argmin(risk + _CAUTION * errors))]
    else:
        a = _shares(np.asarray(Q) / total, np.asarray(gain) / total, errors)
    return Stacking(
        names=names,
        weights=a,
        risk=risk,
        standard_errors=errors,
        combined=float(a @ np.asarray(Q) @ a - 2 * a @ np.asarray(gain)) / total,
        naive=naive / n_views,
        n_scored=int((seen > 0).sum()),
        n_views=n_views,
    )


def _shares(Q: Array, gain: Array, errors: Array) -> Array:
    # The square of the shares spreads them over methods which do alike.
    a = minimize_on_simplex(Q + np.diag(errors), _CAUTION * errors - 2 * gain)
    a[a < 1e-3] = 0.0  # not worth the time of computing them
    return a / a.sum()


def _changes(view: View, methods: Candidates, rows: Indices) -> tuple[Array, Array]:
    r"""Return :math:`\langle \Delta_m, \Delta_n \rangle` and :math:`\langle \Delta_m, r \rangle` for each row."""
    s = view.statistics
    changes = np.array([weights(rows) for weights in methods.values()])
    changes[:, np.arange(len(rows)), rows] -= 1
    if s.means is not None:
        assert view.truth.means is not None
        moved = changes @ s.means
        left = view.truth.means[rows] - s.means[rows]
        return np.matmul(moved.swapaxes(0, 1), moved.transpose(1, 2, 0)), np.einsum("mid,id->im", moved, left)
    assert view.truth.cross is not None
    left = view.truth.cross[:, rows].T - s.gram[rows]
    squares = np.matmul((changes @ s.gram).swapaxes(0, 1), changes.transpose(1, 2, 0))
    return squares, np.einsum("mij,ij->im", changes, left)
