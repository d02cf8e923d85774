"""Estimators that go beyond the paper: unequal bags, convex aggregation, low-rank structure.

What :class:`stbmta.Adaptive` combines, each one by itself.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .aggregation import aggregation, noise_dimension
from .bags import Bags
from .candidates import RANKS, SCALES
from .estimator_base import BagEstimator
from .kernels import Kernel
from .spectral import denoised_distances, optimal_filter, rank_filter, spectral, spectrum
from .stacking import Candidates, Stacking, score
from .statistics import BagStatistics
from .unequal import water_filling
from .views import held_out_views, naive_errors, noise_trace

__all__ = ["ConvexAggregation", "SpectralShrinkage", "WaterFilling"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


class _WithErrors(BagEstimator):
    """What these estimators share: errors that are known or estimated, and a choice by held-out points."""

    variance: float | None
    n_folds: int
    random_state: Any

    def _errors(self, s: BagStatistics) -> Array:
        return naive_errors(s, noise_trace(s, self.variance))

    def _dimension(self, bags: Bags, s: BagStatistics) -> float:
        return float(s.dim) if self.variance is not None else noise_dimension(bags, s.kernel)

    def _choose(
        self, bags: Bags, s: BagStatistics, methods: Callable[[BagStatistics, Array], Candidates]
    ) -> Stacking:
        rng = np.random.default_rng(self.random_state)
        views = held_out_views(
            bags, s, variance=self.variance, n_folds=self.n_folds, rng=rng, n_threads=self.n_threads
        )
        return score(views, methods, select=True, rng=rng)


# Infinity, each mean by itself, is what keeps the choice from doing harm.
_CHOICES = (*SCALES, np.inf)


class WaterFilling(_WithErrors):
    r"""Weights that minimize a bound on the squared error with each bag's own variance: for unequal bags.

    :math:`w_j \propto (\theta - D_{ij})_+ / s_j^2`, see :func:`stbmta.unequal.water_filling`. A large bag is
    never dragged by a small one.

    Parameters
    ----------
    kernel : Kernel or str, default="linear"
        A kernel object, or the name of one: "linear", "rbf", "laplacian" or "polynomial".
    scale : float, optional
        Of the squared distances: 1 is the bound, less counts on biases to cancel, infinity leaves each mean by itself.
        None: chosen by held-out points.
    geometry : {"naive", "spectral"}, default="naive"
        Distances of the naive means, freed of their noise on average; or of the means after spectral shrinkage.
    variance : float, optional
        The variance of each coordinate, if it is known (linear kernel).
    n_folds : int, default=5
        Folds of the K-fold choice.
    random_state : int, Generator or None
        Draws folds, or noise.
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Attributes
    ----------
    scale_ : float
    stacking_ : Stacking or None
        The held-out risk of each scale, where one was chosen.
    weights_, means_, embedding_, gram_, labels_, statistics_
        As for all estimators.

    Notes
    -----
    Proven under conditions: with scale 1 and distances that are upper bounds and independent of the naive means the
    squared error is at most that of the naive mean, in each bag. With estimated distances it is a heuristic.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bags = [rng.normal(size=(n, 20)) for n in [5] * 20 + [200]]
    >>> W = WaterFilling(random_state=0).fit(bags).weights_
    >>> bool(W[-1, -1] > 0.5), bool(W[0, -1] > 0.5)  # everybody listens to the large bag
    (True, True)
    """

    def __init__(
        self,
        kernel: Kernel | str = "linear",
        scale: float | None = None,
        *,
        geometry: str = "naive",
        variance: float | None = None,
        n_folds: int = 5,
        random_state: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.scale = scale
        self.geometry = geometry
        self.variance = variance
        self.n_folds = n_folds
        self.random_state = random_state
        self.n_threads = n_threads

    def _find_weights(self, bags: Bags, s: BagStatistics) -> Array:
        if self.geometry not in ("naive", "spectral"):
            raise ValueError(f"geometry must be 'naive' or 'spectral', found {self.geometry!r}.")
        mse = self._errors(s)
        dimension = self._dimension(bags, s) if self.geometry == "spectral" else None
        self.stacking_: Stacking | None = None
        if self.scale is not None:
            self.scale_ = float(self.scale)
        else:
            self.stacking_ = self._choose(bags, s, partial(_scaled, dimension, self.n_threads))
            self.scale_ = _CHOICES[int(np.argmax(self.stacking_.weights))]
        apart = _geometry(s, mse, dimension)
        return water_filling(s, self.scale_, mse=mse, squared_distances=apart, n_threads=self.n_threads)


def _geometry(s: BagStatistics, mse: Array, dimension: float | None) -> Array | None:
    return None if dimension is None else denoised_distances(s, spectral(s, mse=mse, dimension=dimension))


def _scaled(dimension: float | None, n_threads: int | None, s: BagStatistics, mse: Array) -> Candidates:
    apart = _geometry(s, mse, dimension)
    return {f"scale {scale:g}": partial(_filled, s, scale, mse, apart, n_threads) for scale in _CHOICES}


def _filled(
    s: BagStatistics, scale: float, mse: Array, apart: Array | None, n_threads: int | None, rows: Indices
) -> Array:
    return water_filling(s, scale, mse=mse, squared_distances=apart, rows=rows, n_threads=n_threads)


class ConvexAggregation(_WithErrors):
    r"""Weights on the simplex that minimize a penalized unbiased estimate of the squared error.

    See :func:`stbmta.aggregation.aggregation` for the formula and the oracle inequality.

    Parameters
    ----------
    kernel : Kernel or str, default="linear"
        A kernel object, or the name of one: "linear", "rbf", "laplacian" or "polynomial".
    kappa : float, default=1.0
        The penalty in standard deviations.
    ridge : float, default=1.0
        Spreads the weights where the data do not care.
    variance : float, optional
        The variance of each coordinate, if it is known (linear kernel).
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Attributes
    ----------
    dimension_ : float
        The effective dimension of the noise, for the penalties.
    weights_, means_, embedding_, gram_, labels_, statistics_
        As for all estimators.

    Notes
    -----
    Proven under conditions: an oracle inequality holds where kappa is large enough for its event; kappa = 1 is a
    heuristic.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> W = ConvexAggregation().fit([rng.normal(size=(5, 100)) for _ in range(30)]).weights_
    >>> bool((W >= 0).all()), bool(np.allclose(W.sum(axis=1), 1))
    (True, True)
    """

    def __init__(
        self,
        kernel: Kernel | str = "linear",
        kappa: float = 1.0,
        ridge: float = 1.0,
        *,
        variance: float | None = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.kappa = kappa
        self.ridge = ridge
        self.variance = variance
        self.n_threads = n_threads

    def _find_weights(self, bags: Bags, s: BagStatistics) -> Array:
        self.dimension_ = self._dimension(bags, s)
        return aggregation(
            s,
            self.kappa,
            self.ridge,
            mse=self._errors(s),
            dimension=self.dimension_,
            n_threads=self.n_threads,
        )


class SpectralShrinkage(_WithErrors):
    r"""Shrink the spectrum of the matrix of means: for means in or near a subspace.

    :math:`W = S^{1/2} U f(\Lambda) U' S^{-1/2}`, see :func:`stbmta.spectral.spectral`.

    Parameters
    ----------
    kernel : Kernel or str, default="linear"
        A kernel object, or the name of one: "linear", "rbf", "laplacian" or "polynomial".
    rank : int or "optimal", optional
        So many components, or the optimal shrinkage of singular values for evenly spread noise. None: "optimal" if the
        variance is known, otherwise chosen by held-out points, from among both and the naive means.
    variance : float, optional
        The variance of each coordinate, if it is known (linear kernel).
    n_folds : int, default=5
        Folds of the K-fold choice.
    random_state : int, Generator or None
        Draws folds, or noise.
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Attributes
    ----------
    kept_ : ndarray
        The share kept of each component, largest component first; all of each where the naive means were chosen.
    spectrum_ : Spectrum
    stacking_ : Stacking or None
        The held-out risk of the naive means and of each rank, where one was chosen.
    weights_, means_, embedding_, gram_, labels_, statistics_
        As for all estimators.

    Notes
    -----
    Proven under conditions: optimal in the limit for isotropic Gaussian noise of known variance and means of low
    rank. Otherwise a heuristic.

    Examples
    --------
    >>> from stbmta import datasets
    >>> sample = datasets.sphere(200, 300, rng=0)
    >>> est = SpectralShrinkage(variance=1.0).fit(sample.bags)
    >>> int((est.kept_ > 0).sum())
    6
    """

    def __init__(
        self,
        kernel: Kernel | str = "linear",
        rank: Any = None,
        *,
        variance: float | None = None,
        n_folds: int = 5,
        random_state: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.rank = rank
        self.variance = variance
        self.n_folds = n_folds
        self.random_state = random_state
        self.n_threads = n_threads

    def _find_weights(self, bags: Bags, s: BagStatistics) -> Array:
        mse, dimension = self._errors(s), self._dimension(bags, s)
        self.spectrum_ = spectrum(s, mse=mse)
        self.stacking_: Stacking | None = None
        rank = self.rank
        if rank is None and self.variance is None:
            self.stacking_ = self._choose(bags, s, partial(_ranks, dimension))
            chosen = int(np.argmax(self.stacking_.weights))
            if chosen == 0:
                self.kept_ = np.ones_like(self.spectrum_.values)
                return np.eye(len(s))
            rank = ("optimal", *RANKS)[chosen - 1]
        if rank in (None, "optimal"):
            self.kept_ = optimal_filter(self.spectrum_.values, len(s), dimension)
        elif isinstance(rank, (int, np.integer)) and rank >= 0:
            self.kept_ = rank_filter(self.spectrum_.values, int(rank))
        else:
            raise ValueError(f"rank must be a number of components, 'optimal' or None, found {rank!r}.")
        return self.spectrum_.weights(self.kept_)


def _ranks(dimension: float, s: BagStatistics, mse: Array) -> Candidates:
    found = spectrum(s, mse=mse)
    # Each mean by itself comes first: it is what keeps the choice from doing harm.
    methods: dict[str, Callable[[Indices], Array]] = {"naive": np.eye(len(s)).__getitem__}
    methods["optimal"] = partial(found.weights, optimal_filter(found.values, len(s), dimension))
    for rank in RANKS:
        methods[f"rank {rank}"] = partial(found.weights, rank_filter(found.values, rank))
    return methods
