r"""The methods that :class:`stbmta.Adaptive` combines, as rows of weight matrices.

Whatever the truth looks like, one of them should be good: clusters (similarity tests), a cloud around a common mean
(multi-task averaging), unequal bags and smooth families (water-filling), curved or sparse structure (convex
aggregation), a subspace (spectral shrinkage), nothing in common (each mean by itself). Their parameters lie on
coarse grids: neighbors on a grid combine to what lies between them.
"""

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from .aggregation import aggregation
from .spectral import Spectrum, moved_means, optimal_filter, rank_filter, spectrum, vector_distances
from .stacking import Candidates
from .statistics import BagStatistics
from .unequal import distances, fill
from .weights import mta_constant

__all__ = ["RANKS", "SCALES", "candidates"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

SCALES = (0.05, 0.1, 0.25, 0.5, 1.0)
"""Of the squared distances in water-filling."""

RANKS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Numbers of components in spectral shrinkage."""

_ZETAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 6.0, np.inf)
_AGAIN = (0.25, 1.0)
_AGGREGATIONS = ((0.5, 1.0), (0.5, 4.0), (1.0, 1.0), (2.0, 1.0))


def candidates(s: BagStatistics, mse: Array, dimension: float, *, n_threads: int | None = None) -> Candidates:
    """Return the methods to combine; the first are the naive means.

    Parameters
    ----------
    s : BagStatistics
        Statistics of the bags.
    mse : ndarray of shape (B,)
        Squared errors of the naive means, known or estimated.
    dimension : float
        The effective dimension of the noise, see :func:`stbmta.aggregation.noise_dimension`.
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Returns
    -------
    mapping of str to callable
        The functions take the numbers of some bags and return their rows of the weight matrix.

    Examples
    --------
    >>> from stbmta import Bags, bag_statistics
    >>> s = bag_statistics(Bags.from_list([[0.0, 2.0], [1.0, 3.0], [3.0, 5.0]]))
    >>> methods = candidates(s, s.naive_mse, dimension=1.0)
    >>> methods["STB, zeta = 1"](np.array([0]))
    array([[0.5, 0.5, 0. ]])
    """
    B = len(s)
    methods: dict[str, Callable[[Indices], Array]] = {
        "naive": partial(_diagonal, np.ones(B)),
        "toward 0": partial(_diagonal, _kept(mse, np.diagonal(s.gram))),
    }
    if B == 1:
        return methods
    mean = s.centered_gram.mean(axis=1)
    away = np.diagonal(s.centered_gram) - 2 * mean + mean.mean()
    methods["toward the mean"] = partial(_toward_mean, _kept(mse, away))
    methods["MTA const"] = mta_constant(s, mse=mse).__getitem__
    methods["MTA minimax"] = mta_constant(s, constant="minimax", mse=mse).__getitem__
    apart = _Kept(lambda rows: np.maximum(distances(s, mse=mse, rows=rows), 0.0))
    for zeta in _ZETAS:
        methods[f"STB, zeta = {zeta:g}"] = partial(_stb, apart, mse, zeta)
    for scale in SCALES:
        methods[f"water-filling, scale {scale:g}"] = partial(_fill, apart, mse, scale, n_threads)
    # Once more, with the distances of first estimates.
    first = cache(lambda: moved_means(s, _fill(apart, mse, 0.5, n_threads, np.arange(B))))
    again = _Kept(lambda rows: vector_distances(first(), rows))
    for scale in _AGAIN:
        methods[f"water-filling twice, scale {scale:g}"] = partial(_fill, again, mse, scale, n_threads)
    for kappa, ridge in _AGGREGATIONS:
        methods[f"aggregation, kappa = {kappa:g}, ridge = {ridge:g}"] = partial(
            _aggregate, s, mse, dimension, kappa, ridge, n_threads
        )
    found = cache(lambda: spectrum(s, mse=mse))
    methods["spectral, optimal"] = lambda rows: found().weights(
        optimal_filter(found().values, B, dimension), rows
    )
    for rank in RANKS:
        if rank < B:
            methods[f"spectral, rank {rank}"] = partial(_ranked, found, rank)
    return methods


def _kept(mse: Array, squared: Array) -> Array:
    """Return what is left of vectors with these squared norms when their errors are taken off."""
    return np.maximum(1 - np.divide(mse, squared, out=np.ones(len(mse)), where=squared > 0), 0.0)


def _diagonal(kept: Array, rows: Indices) -> Array:
    W = np.zeros((len(rows), len(kept)))
    W[np.arange(len(rows)), rows] = kept[rows]
    return W


def _toward_mean(kept: Array, rows: Indices) -> Array:
    return _diagonal(kept, rows) + (1 - kept[rows])[:, None] / len(kept)


class _Kept:
    """Distances of some bags to all, kept until other bags are asked for: many methods need the same ones."""

    def __init__(self, find: Callable[[Indices], Array]) -> None:
        self.find = find
        self.rows: Indices | None = None

    def __call__(self, rows: Indices) -> Array:
        if self.rows is not rows:
            self.rows, self.found = rows, self.find(rows)
        return self.found


def _stb(apart: _Kept, mse: Array, zeta: float, rows: Indices) -> Array:
    limits = np.full(len(rows), np.inf) if zeta == np.inf else zeta * mse[rows]  # also where an error is 0
    tests = apart(rows) <= limits[:, None]
    return tests / tests.sum(axis=1, keepdims=True)


def _fill(apart: _Kept, mse: Array, scale: float, n_threads: int | None, rows: Indices) -> Array:
    return fill(np.sqrt(scale * apart(rows)), mse, rows, n_threads=n_threads)


def _aggregate(
    s: BagStatistics,
    mse: Array,
    dimension: float,
    kappa: float,
    ridge: float,
    n_threads: int | None,
    rows: Indices,
) -> Array:
    return aggregation(s, kappa, ridge, mse=mse, dimension=dimension, rows=rows, n_threads=n_threads)


def _ranked(found: Callable[[], Spectrum], rank: int, rows: Indices) -> Array:
    return found().weights(rank_filter(found().values, rank), rows)
