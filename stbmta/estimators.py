"""The methods as scikit-learn estimators.

Step 6 of the way of the data: ``fit`` goes from bags to weights, and keeps W and what follows from it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from . import weights as _weights
from .bags import Bags
from .estimator_base import BagEstimator, Base
from .estimator_large import LargeFit
from .estimator_mta import MTA
from .fission import tune_stb_fission
from .grid import finite_thresholds
from .kernels import Kernel
from .similarity import gaussian_neighbors, neighbors
from .statistics import BagStatistics, bag_statistics
from .theory import theorems
from .tuning import Tuning, tune_stb

__all__ = ["MTA", "RKMSE", "STB", "JamesStein", "NaiveMean"]

Array = npt.NDArray[np.float64]


class NaiveMean(BagEstimator):
    """NE: the empirical mean of each bag by itself (eq. naivedef).

    Parameters
    ----------
    kernel : Kernel or str, default="linear"
        A kernel object, or the name of one: "linear", "rbf", "laplacian" or "polynomial".
    n_threads : int, optional
        All available cores by default. It does not change the result.
    client : dask.distributed.Client, optional
        Compute kernel values on its cluster; the result has the same bits.

    Attributes
    ----------
    weights_ : ndarray of shape (B, B)
        The identity.
    means_ : ndarray of shape (B, d)
        Linear kernel only.

    Examples
    --------
    >>> NaiveMean().fit([np.array([[1.0], [3.0]]), np.array([[5.0]])]).means_
    array([[2.],
           [5.]])
    """

    def __init__(
        self, kernel: Kernel | str = "linear", *, n_threads: int | None = None, client: Any = None
    ) -> None:
        self.kernel = kernel
        self.n_threads = n_threads
        self.client = client

    def _find_weights(self, bags: Bags, s: BagStatistics) -> Array:
        return _weights.naive(s)


class RKMSE(BagEstimator):
    """R-KMSE: each mean shrunk toward 0 by itself (Muandet et al. 2016). See :func:`stbmta.weights.rkmse`.

    Parameters
    ----------
    kernel : Kernel or str, default="linear"
        A kernel object, or the name of one: "linear", "rbf", "laplacian" or "polynomial".
    n_threads : int, optional
        All available cores by default. It does not change the result.
    client : dask.distributed.Client, optional
        Compute kernel values on its cluster; the result has the same bits.

    Examples
    --------
    >>> RKMSE().fit([np.array([[1.0], [3.0]])]).means_
    array([[1.2]])
    """

    def __init__(
        self, kernel: Kernel | str = "linear", *, n_threads: int | None = None, client: Any = None
    ) -> None:
        self.kernel = kernel
        self.n_threads = n_threads
        self.client = client

    def _find_weights(self, bags: Bags, s: BagStatistics) -> Array:
        return _weights.rkmse(s)


class STB(LargeFit):
    r"""The similarity-test based estimator: shrink each mean toward the average of its neighbors.

    Parameters
    ----------
    kernel : Kernel or str, default="linear"
        A kernel object, or the name of one: "linear", "rbf", "laplacian" or "polynomial".
    zeta : float, optional
        The threshold of the tests, :math:`U_{ij} \le \zeta \widehat{\mathrm{MSE}}_i`. None: choose it by
        K-fold inside the bags, without knowing the truth.
    gamma : float or "theory", optional
        What each mean keeps of itself: 0 is STB-0, a number STB weight, "theory" the value of Theorem 1 with
        c * zeta for tau (STB theory). None: choose a number by K-fold.
    c : float, optional
        The factor of "theory". None: choose it by K-fold.
    variance : float, optional
        The variance of each coordinate, if it is known (linear kernel): tests are then
        :math:`|\hat\mu_i - \hat\mu_j|^2 \le \zeta d \sigma^2 / N_i` (eq. deftestsgaus), also for
        bags of one point. Where there are any, parameters are chosen by fission
        (:func:`stbmta.tune_stb_fission`) in place of K-fold.
    split : float, optional
        Use this share of each bag for the tests and only the rest for the estimates. Theorem 1 needs tests
        that are independent of the estimates; the price is smaller bags (at 0.5, twice the squared error to
        begin with), so it is off by default. Parameters are chosen on the part for the tests. A bandwidth that
        is chosen from data sees all points; give a number to keep it out.
    cross_fit : bool, default=False
        With `split`, do it both ways round and average the two estimates. Each way chooses its own parameters;
        the attributes tell those of the first part, and its neighbors.
    n_folds : int, default=5
        Folds of the K-fold choice.
    random_state : int, Generator or None
        Draws features, bags to choose parameters on, folds and splits.
    approximation : "auto", int, FeatureMap or sampler of scikit-learn, optional
        Replace kernel values by inner products of features (:mod:`stbmta.scale.features`): so many random Fourier
        features, given ones, or "auto": where exact values would take long. Exact by default; "auto" for a stream.
    max_memory : float or str, optional
        Bytes to use, such as "4GB"; half of what is free by default. Where B x B matrices would need more, the linear
        kernel is done in tiles: the same parameters and neighbors, and the same estimates but for the last bits, as
        averages are then added up one by one and not by a matrix product. What cannot fit is refused.
    n_threads : int, optional
        All available cores by default. It does not change the result.
    client : dask.distributed.Client, optional
        Do the large computations on its cluster; the result has the same bits.

    Attributes
    ----------
    zeta_, gamma_, c_ : float
        The parameters used. `gamma_` is an array of shape (B,) for "theory".
    neighbors_ : ndarray of bool, shape (B, B)
    weights_ : ndarray of shape (B, B)
        Estimates are ``weights_ @ naive``. With `cross_fit`, of shape (B, 2 B): the columns are the naive
        means of the two parts of each bag.
    tuning_ : Tuning or None
        The K-fold risk over the grid, when something was chosen.
    means_, embedding_, gram_, labels_, statistics_
        As for all estimators.
    approximation_ : str
        Exact or features, and why; where `approximation` was given, and for streams.
    approximation_error_ : ApproximationError
        Error bar of the features, from exact kernel values between some bags drawn at random; where bags in memory
        have few points. See also :meth:`approximation_error`.
    large_ : LargeEstimate
        Where the estimate was made in tiles: for a :class:`stbmta.scale.stream.BagStream`, for features, and for more
        bags than `max_memory` allows to compare in full. There are no `weights_` and `neighbors_` then, and
        `embedding_` holds means of features.

    Notes
    -----
    Proven: with `split`, `gamma="theory"` and thresholds from :mod:`stbmta.theory`, Theorem 1 holds. On the
    same data Theorem 2 holds under its conditions. A threshold chosen by K-fold is a heuristic; of more than
    2000 bags (1000 with other kernels than the linear one) so many are drawn at random to choose it on.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bags = [rng.normal(size=(5, 100)) for _ in range(30)]
    >>> est = STB(random_state=0).fit(bags)
    >>> naive = NaiveMean().fit(bags)
    >>> bool((est.means_**2).mean() < 0.1 * (naive.means_**2).mean())
    True
    """

    def __init__(
        self,
        kernel: Kernel | str = "linear",
        zeta: float | None = None,
        gamma: Any = None,
        c: float | None = 1.0,
        *,
        variance: float | None = None,
        split: float | None = None,
        cross_fit: bool = False,
        n_folds: int = 5,
        random_state: Any = None,
        approximation: Any = None,
        max_memory: float | str | None = None,
        n_threads: int | None = None,
        client: Any = None,
    ) -> None:
        self.kernel = kernel
        self.zeta = zeta
        self.gamma = gamma
        self.c = c
        self.variance = variance
        self.split = split
        self.cross_fit = cross_fit
        self.n_folds = n_folds
        self.random_state = random_state
        self.approximation = approximation
        self.max_memory = max_memory
        self.n_threads = n_threads
        self.client = client

    def _find_weights(self, bags: Bags, s: BagStatistics) -> Any:
        if self.cross_fit and self.split is None:
            raise ValueError("cross_fit averages over the two parts of a split; give split=0.5.")
        rng = np.random.default_rng(self.random_state)
        limit = self._exact_limit() - 8 * len(s) ** 2
        self._base = None
        if self.split is None:
            self._choose(bags, s.kernel, rng, self._sampler(s, limit), statistics=s)
            W, self.neighbors_, self.gamma_ = self._weights_from(s)
            return W
        least = 2 if self.variance is None else 1
        bags.require_parts(
            self.split, least, least if self.cross_fit else 1, "a split for tests and estimates"
        )
        parts = bags.split(self.split, rng)
        tested = min(int(part.sizes.max()) for part in (parts if self.cross_fit else parts[:1]))
        if self._tunes() and self.variance is None and tested <= least:
            raise ValueError(
                f"the parts of the bags for the tests have {tested} rows at most; choosing parameters by folds needs "
                f"{least + 1} in one bag. Give zeta and gamma, or leave out split."
            )
        first, second = (bag_statistics(part, s.kernel, n_threads=self.n_threads) for part in parts)
        if self.cross_fit:
            self._choose(parts[1], s.kernel, rng, self._sampler(second, limit), statistics=second)
            W_swapped, *_ = self._weights_from(second)
        self._choose(parts[0], s.kernel, rng, self._sampler(first, limit), statistics=first)
        W, self.neighbors_, self.gamma_ = self._weights_from(first)
        if not self.cross_fit:
            self._base = Base(parts[1], second)
            return W
        B = len(bags)
        both = Bags.concat([parts[0].relabel(range(B)), parts[1].relabel(range(B, 2 * B))])
        self._base = Base(both, bag_statistics(both, s.kernel, n_threads=self.n_threads))
        return np.hstack([W_swapped, W]) / 2

    def _choose(
        self,
        bags: Any,
        kernel: Kernel,
        rng: np.random.Generator,
        sample: Callable[[Any, np.random.Generator], Bags],
        statistics: BagStatistics | None = None,
    ) -> None:
        """Set zeta_, gamma and c_, by K-fold on a sample of the bags where they are None.

        A single point has nothing to leave out; where a bag has no more, known noise is split instead, so that all
        bags are scored.
        """
        self.tuning_: Tuning | None = None
        theory = isinstance(self.gamma, str)
        if (theory and self.gamma != "theory") or np.ndim(self.gamma):
            raise ValueError(f"gamma must be a number, 'theory' or None, found {self.gamma!r}.")
        if theory and self.zeta is not None:
            finite_thresholds(np.atleast_1d(self.zeta))
        self.zeta_, self.c_ = self.zeta, self.c
        self._gamma: Any = self.gamma
        if self._tunes():
            scored = sample(bags, rng)
            common: dict[str, Any] = {
                "zeta": self.zeta,
                "gamma": self.gamma,
                "c": self.c if theory else None,
                "rng": rng,
                "n_threads": self.n_threads,
            }
            if self.variance is not None and scored.sizes.min() == 1:
                known = statistics if scored is bags else None
                self.tuning_ = tune_stb_fission(scored, self.variance, statistics=known, **common)
            else:
                self.tuning_ = tune_stb(
                    scored, kernel, variance=self.variance, n_folds=self.n_folds, client=self.client, **common
                )
            self.zeta_ = self.tuning_.zeta
            self.c_ = self.tuning_.c
            self._gamma = "theory" if theory else self.tuning_.gamma

    def _weights_from(self, s: BagStatistics) -> tuple[Any, Any, Any]:
        """Return weights, neighbors and gamma for tests on the bags with these statistics."""
        assert self.zeta_ is not None
        N = (
            neighbors(s, self.zeta_)
            if self.variance is None
            else gaussian_neighbors(s, self.zeta_, self.variance)
        )
        if self._gamma == "theory":
            assert self.c_ is not None
            gamma = theorems.gamma_independent(self.c_ * self.zeta_, N.sum(axis=1) - 1)
            return _weights.stb(N, gamma), N, gamma
        return _weights.stb(N, self._gamma), N, float(self._gamma)


class JamesStein(BagEstimator):
    r"""The positive-part James-Stein estimator of each bag by itself. See :func:`stbmta.weights.james_stein`.

    Parameters
    ----------
    target : "zero", "mean" or array-like of shape (d,), default="zero"
        Where to shrink. A vector becomes one more column of `weights_`, the last.
    variance : float, optional
        The variance of each coordinate, if it is known; estimated in each bag by default.
    constant : {"classical", "authors"}, default="classical"
        d - 2, or d - 3 as in the paper authors' code.
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Examples
    --------
    >>> JamesStein(variance=1.0).fit([np.full((1, 4), 1.0)]).means_
    array([[0.5, 0.5, 0.5, 0.5]])
    """

    kernel = "linear"

    def __init__(
        self,
        target: Any = "zero",
        *,
        variance: float | None = None,
        constant: str = "classical",
        n_threads: int | None = None,
    ) -> None:
        self.target = target
        self.variance = variance
        self.constant = constant
        self.n_threads = n_threads

    def _find_weights(self, bags: Bags, s: BagStatistics) -> Array:
        W = _weights.james_stein(s, target=self.target, variance=self.variance, constant=self.constant)  # type: ignore[arg-type]
        self._base = None
        if isinstance(self.target, str):
            return W
        # A given target takes part like a bag of one point, so the estimate stays a linear map.
        point = Bags.from_list([np.atleast_2d(np.asarray(self.target, dtype=np.float64))], labels=[len(bags)])
        both = Bags.concat([bags.relabel(range(len(bags))), point])
        self._base = Base(both, bag_statistics(both, s.kernel, n_threads=self.n_threads))
        return np.column_stack([W, 1 - np.diagonal(W)])
