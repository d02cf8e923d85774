r"""Estimates of the squared error of any weights, without knowing the truth."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .bags import RNG, Bags
from .kernels import Kernel, as_kernel
from .similarity import given_errors
from .statistics import BagStatistics, bag_statistics, cross_statistics
from .truth import Truth, squared_error

__all__ = ["held_out_risk", "unbiased_risk"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


def held_out_risk(
    weights: Callable[[BagStatistics], list[Any]],
    bags: Bags,
    kernel: Kernel | str = "linear",
    *,
    n_folds: int = 5,
    least_left: int = 1,
    rng: RNG = None,
    n_threads: int | None = None,
) -> Array:
    r"""Estimate the risk of any methods by K-fold, leaving out a fold of every bag at once.

    Parameters
    ----------
    weights : callable
        Takes the statistics of the bags without a fold, and returns the weight matrices to compare.
    bags : Bags
        The bags from which folds are left out.
    kernel : Kernel or str
        A kernel object, or the name of one: "linear", "rbf", "laplacian" or "polynomial".
    n_folds : int, default=5
        At most; a bag of N points has at most N folds.
    least_left : int, default=1
        Points of a bag that must be left, such as 2 for an estimated variance. A bag without so many stays whole: it
        is not scored, but serves the others.
    rng : {None, int, numpy.random.Generator}, optional
        Draws the folds.
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Returns
    -------
    ndarray
        For each weight matrix, the estimated squared error less that of the naive means, averaged over folds.

    Notes
    -----
    Slower than :func:`tune_stb`, which only STB allows: the statistics are computed anew for each fold. All
    bags shrink by a fold, so thresholds come out for slightly smaller bags.

    Examples
    --------
    >>> from stbmta import weights
    >>> rng = np.random.default_rng(0)
    >>> bags = Bags.from_list([rng.normal(size=(10, 50)) for _ in range(20)])
    >>> risk = held_out_risk(lambda s: [weights.naive(s), weights.mta_constant(s)], bags, rng=0)
    >>> float(risk[0]), bool(risk[1] < -4)
    (0.0, True)
    """
    kernel = as_kernel(kernel).resolve(bags)
    shuffled, offsets, bag_of = bags.folds(n_folds, rng)
    fold_of = np.arange(len(bag_of)) - np.searchsorted(bag_of, bag_of)
    left = bags.sizes[bag_of] - np.diff(offsets)
    fold_of[left < least_left] = -1  # never left out
    point_fold = np.repeat(fold_of, np.diff(offsets))
    losses = []
    for k in range(fold_of.max() + 1):
        scored = bag_of[fold_of == k]
        rest = shuffled.take_points(point_fold != k)
        fold = shuffled.select(scored).take_points((point_fold == k)[_of_bags(shuffled, scored)])
        losses.append(_fold_losses(weights, rest, fold, scored, kernel, n_threads))
    if not losses:
        raise ValueError(
            f"no bag has the {least_left + 1} rows that leaving out a fold needs (n_samples={bags.sizes.max()})."
        )
    return np.concatenate(losses, axis=1).mean(axis=1)


def _of_bags(bags: Bags, chosen: Indices) -> npt.NDArray[np.bool_]:
    """Tell which points belong to the chosen bags."""
    return np.repeat(np.isin(np.arange(len(bags)), chosen), bags.sizes)


def _fold_losses(
    weights: Callable[[BagStatistics], list[Any]],
    rest: Bags,
    fold: Bags,
    scored: Indices,
    kernel: Kernel,
    n_threads: int | None,
) -> Array:
    """Return, for each weight matrix and scored bag, the loss on the fold less that of the naive mean."""
    s = bag_statistics(rest, kernel, n_threads=n_threads)
    rows = [W[scored] for W in weights(s)]
    if s.means is not None:
        targets = fold.means(n_threads=n_threads)
        naive = _squared_distances(s.means[scored], targets)
        return np.array([_squared_distances(W @ s.means, targets) - naive for W in rows])
    cross = cross_statistics(rest, fold, kernel, n_threads=n_threads)
    truth = Truth(cross=cross, norms=np.zeros(len(fold)))
    naive = np.diagonal(s.gram)[scored] - 2 * cross[scored, np.arange(len(fold))]
    return np.array([squared_error(W, s, truth) - naive for W in rows])


def unbiased_risk(W: Any, s: BagStatistics, *, mse: npt.ArrayLike | None = None) -> Array:
    r"""Return an unbiased estimate of the squared error of fixed weights, (B,).

    .. math:: \hat R_i(w) = \Bigl| \sum_j w_j \hat\mu_j - \hat\mu_i \Bigr|^2 + 2 w_i s_i^2 - s_i^2

    Parameters
    ----------
    W : array or scipy.sparse matrix of shape (B, B)
        Row i holds the weights of the naive means in estimate i.
    s : BagStatistics
        Statistics of the bags.
    mse : array-like of shape (B,), optional
        The squared errors :math:`s_i^2` of the naive means; their estimates by default.

    Returns
    -------
    ndarray of shape (B,)
        One estimate a bag; it can be negative.

    Notes
    -----
    Unbiased when W does not depend on the data. When neighbors were chosen on the same data it is
    optimistic, sometimes very much so; use it to look, and :func:`tune_stb` to choose. It can be negative.

    Examples
    --------
    >>> s = bag_statistics(Bags.from_list([[0.0, 2.0], [1.0, 3.0]]))
    >>> unbiased_risk(np.eye(2), s)
    array([1., 1.])
    """
    error = given_errors(s, mse)
    if s.means is not None:
        moved = _squared_distances(W @ s.means, s.means)
    else:
        moved = squared_error(W, s, Truth(cross=s.gram, norms=np.diagonal(s.gram)))
    return moved + (2 * W.diagonal() - 1) * error


def _squared_distances(a: Array, b: Array) -> Array:
    return np.einsum("ij,ij->i", a - b, a - b)
