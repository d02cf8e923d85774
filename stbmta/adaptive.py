"""The estimator that needs no choice: many methods, combined by how well they predict points left out."""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .aggregation import noise_dimension
from .bags import Bags
from .candidates import candidates
from .estimator_base import BagEstimator
from .kernels import Kernel
from .stacking import Candidates, Stacking, score
from .statistics import BagStatistics
from .views import held_out_views, naive_errors, noise_trace

__all__ = ["Adaptive"]

Array = npt.NDArray[np.float64]


class Adaptive(BagEstimator):
    r"""Combine many methods by held-out risk: similarity tests, averaging, aggregation, spectral shrinkage.

    ``W = sum_m a_m W_m`` with shares :math:`a_m \ge 0` that sum to 1 and minimize the squared error against
    points (or, for single points with Gaussian noise of known variance, against a part of the noise) that the
    methods did not see.

    Parameters
    ----------
    kernel : Kernel or str, default="linear"
        A kernel object, or the name of one: "linear", "rbf", "laplacian" or "polynomial".
    combine : {"stack", "select"}, default="stack"
        The best convex combination, or the single best method.
    variance : float, optional
        The variance of each coordinate, if it is known (linear kernel). Bags of one point need it.
    n_folds : int, default=5
        Folds of the K-fold choice.
    random_state : int, Generator or None
        Draws folds, or noise.
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Attributes
    ----------
    stacking_ : Stacking
        What each method would do and what was used: print ``stacking_.summary()`` or look at ``stacking_.to_frame()``.
    weights_, means_, embedding_, gram_, labels_, statistics_
        As for all estimators.

    Notes
    -----
    Heuristic, with a safety net: the naive means are among the methods, so the estimate is worse than them only by
    the noise of the held-out scores, on average over bags. Where most bags have two points, the errors of
    those are pooled (:func:`stbmta.views.noise_trace`). The shares are the same for all bags. Rows of `weights_` need
    not sum to 1, and weights can be negative, where spectral shrinkage takes part.

    Examples
    --------
    >>> from stbmta import datasets
    >>> sample = datasets.cluster(100, 200, n_clusters=4, rng=0)
    >>> est = Adaptive(variance=1.0, random_state=0).fit(sample.bags)
    >>> bool(((est.means_ - sample.means) ** 2).sum() < 0.1 * ((sample.bags.means() - sample.means) ** 2).sum())
    True
    """

    def __init__(
        self,
        kernel: Kernel | str = "linear",
        *,
        combine: str = "stack",
        variance: float | None = None,
        n_folds: int = 5,
        random_state: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.combine = combine
        self.variance = variance
        self.n_folds = n_folds
        self.random_state = random_state
        self.n_threads = n_threads

    def _find_weights(self, bags: Bags, s: BagStatistics) -> Array:
        if self.combine not in ("stack", "select"):
            raise ValueError(f"combine must be 'stack' or 'select', found {self.combine!r}.")
        mse = naive_errors(s, noise_trace(s, self.variance))
        dimension = float(s.dim) if self.variance is not None else noise_dimension(bags, s.kernel)
        methods = partial(candidates, dimension=dimension, n_threads=self.n_threads)
        rng = np.random.default_rng(self.random_state)
        views = held_out_views(
            bags, s, variance=self.variance, n_folds=self.n_folds, rng=rng, n_threads=self.n_threads
        )
        self.stacking_: Stacking = score(views, methods, select=self.combine == "select", rng=rng)
        return _combine(methods(s, mse), self.stacking_, len(s))


def _combine(methods: Candidates, found: Stacking, n_bags: int) -> Array:
    W, rows = np.zeros((n_bags, n_bags)), np.arange(n_bags)
    for name, share in zip(found.names, found.weights, strict=True):
        if share > 0:
            W += share * methods[name](rows)
    return W
