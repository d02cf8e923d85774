"""The methods as scikit-learn estimators.

Step 6 of the way of the data: ``fit`` goes from bags to weights, and keeps W and what follows from it.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from . import weights as _weights
from .bags import Bags
from .embedding import KernelMeans
from .inputs import describe_bag, factorize
from .kernels import Kernel
from .report import EstimatorReport
from .similarity import gaussian_neighbors, known_mse, neighbors
from .statistics import BagStatistics, bag_statistics
from .theory import theorems
from .tuning import Tuning, held_out_risk, tune_stb

__all__ = ["MTA", "RKMSE", "STB", "BagEstimator", "JamesStein", "NaiveMean"]

Array = npt.NDArray[np.float64]

# MTA stb is scale dependent: gamma multiplies the squared error. These are multiples of B / average error.
_MTA_STRENGTHS = np.geomspace(0.02, 200.0, 17)


@dataclass(frozen=True)
class _Base:
    """The bags whose naive means the weights combine, where they are not those that were fitted."""

    bags: Bags
    statistics: BagStatistics


class BagEstimator(EstimatorReport, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """What all estimators share: bags in, weights out."""

    kernel: Kernel | str
    n_threads: int | None
    _base: _Base | None = None

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Estimate the mean of each bag.

        Parameters
        ----------
        X : Bags, list of arrays, or array or data frame of shape (n, d)
            A long table needs `groups`; without them it is one bag.
        y : ignored
        groups : array-like of shape (n,), optional
            The bag of each row of a long table.

        Returns
        -------
        self
        """
        bags = self._as_bags(X, groups, reset=True)
        self.bags_ = bags
        self.labels_ = bags.labels
        self.statistics_ = bag_statistics(bags, self.kernel, n_threads=self.n_threads)
        self.kernel_ = self.statistics_.kernel
        self.weights_ = self._find_weights(bags, self.statistics_)
        base = self._base_statistics()
        self.embedding_ = KernelMeans(
            self._base_bags(), self.kernel_, self.weights_, self.labels_, statistics=base
        )
        self.__dict__.pop("means_", None)  # of an earlier fit
        if base.means is not None:
            self.means_ = self.weights_ @ base.means
        return self

    def _find_weights(self, bags: Bags, s: BagStatistics) -> Any:
        raise NotImplementedError

    def transform(self, X: Any, *, groups: Any = None) -> Array:
        """Give each row the estimated mean of its bag.

        Parameters
        ----------
        X : Bags, list of arrays, or array or data frame of shape (n, d)
        groups : array-like of shape (n,), optional
            The bag of each row; bags that were not fitted are refused.

        Returns
        -------
        ndarray of shape (n, d)
        """
        check_is_fitted(self)
        means = self.means_
        index = self._bag_of_rows(X, groups)
        return means[index]

    def fit_transform(self, X: Any, y: Any = None, *, groups: Any = None) -> Array:
        """Fit, and give each row the estimated mean of its bag."""
        return self.fit(X, y, groups=groups).transform(X, groups=groups)

    def score(self, X: Any, y: Any = None, *, groups: Any = None) -> float:
        r"""Return how well the estimates fit other points of the same bags; larger is better.

        Minus the average over bags of
        :math:`|\tilde\mu_i|^2 - 2 \langle \tilde\mu_i, \hat\mu_i(X) \rangle`: minus an unbiased
        estimate of the squared error, up to a constant. ``GridSearchCV`` uses it, with folds that keep some
        rows of each bag, e.g. ``StratifiedKFold`` on the groups.

        Parameters
        ----------
        X : as in :meth:`fit`
        y : ignored
        groups : array-like of shape (n,), optional
        """
        check_is_fitted(self)
        held_out = self._as_bags(X, groups, reset=False)
        index = self._positions(held_out.labels)
        tested = KernelMeans(held_out, self.kernel_)
        cross = tested.inner(self.embedding_)
        norms = np.diagonal(self.gram_)[index]
        return float(np.mean(2 * cross[np.arange(len(index)), index] - norms))

    @property
    def gram_(self) -> Array:
        """The inner products of the estimates, (B, B), for learners with a precomputed kernel."""
        check_is_fitted(self)
        return self.embedding_.gram

    def __getattr__(self, name: str) -> Any:
        # Only called for what is missing: say why the means are, with another kernel than the linear one.
        if name == "means_" and "kernel_" in self.__dict__:
            raise AttributeError(
                f"with {self.kernel_!r} the estimates are functions, not vectors: see embedding_ and gram_."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _base_bags(self) -> Bags:
        """Return the bags whose naive means the weights combine."""
        return self.bags_ if self._base is None else self._base.bags

    def _base_statistics(self) -> BagStatistics:
        return self.statistics_ if self._base is None else self._base.statistics

    def _naive_error(self) -> Array | None:
        """Return the squared errors of the naive means, known or estimated, or None."""
        variance = getattr(self, "variance", None)
        if variance is not None:
            return known_mse(self.statistics_, variance)
        return self.statistics_.naive_mse if (self.statistics_.sizes >= 2).all() else None

    def _as_bags(self, X: Any, groups: Any, *, reset: bool) -> Bags:
        if isinstance(X, Bags) or _is_list_of_arrays(X):
            if groups is not None:
                raise ValueError("groups belong to a long table; these are bags already.")
            bags = X if isinstance(X, Bags) else Bags.from_list(X)
            if reset:
                self.n_features_in_ = bags.dim
                if bags.columns is not None:
                    self.feature_names_in_ = np.array(bags.columns, dtype=object)
                else:
                    self.__dict__.pop("feature_names_in_", None)
            elif bags.dim != self.n_features_in_:
                raise ValueError(f"the bags have {bags.dim} columns, but {self.n_features_in_} were fitted.")
            return bags
        table = validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_min_samples=1)
        labels = np.zeros(len(table), dtype=np.int64) if groups is None else groups
        names = getattr(self, "feature_names_in_", None)
        return Bags.from_groups(table, labels, None if names is None else list(names))

    def _bag_of_rows(self, X: Any, groups: Any) -> npt.NDArray[np.int64]:
        if isinstance(X, Bags) or _is_list_of_arrays(X):
            bags = self._as_bags(X, groups, reset=False)
            return np.repeat(self._positions(bags.labels), bags.sizes)
        table = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        if groups is None:
            if len(self.labels_) > 1:
                raise ValueError(
                    f"{len(self.labels_)} bags were fitted; say which bag each row belongs to, with groups."
                )
            return np.zeros(len(table), dtype=np.int64)
        codes, labels = factorize(groups)
        if len(codes) != len(table):
            raise ValueError(f"X has {len(table)} rows, but groups has {len(codes)} labels; one label a row.")
        return self._positions(labels)[codes]

    def _positions(self, labels: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        known = {label: i for i, label in enumerate(self.labels_.tolist())}
        for i, label in enumerate(labels.tolist()):
            if label not in known:
                raise ValueError(f"{describe_bag(label, i)} was not fitted; there is no estimate for it.")
        return np.array([known[label] for label in labels.tolist()], dtype=np.int64)


def _is_list_of_arrays(X: Any) -> bool:
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(bag, np.ndarray) for bag in X)


class NaiveMean(BagEstimator):
    """NE: the empirical mean of each bag by itself (eq. naivedef).

    Parameters
    ----------
    kernel : Kernel or str, default="linear"
    n_threads : int, optional

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

    def __init__(self, kernel: Kernel | str = "linear", *, n_threads: int | None = None) -> None:
        self.kernel = kernel
        self.n_threads = n_threads

    def _find_weights(self, bags: Bags, s: BagStatistics) -> Array:
        return _weights.naive(s)


class RKMSE(BagEstimator):
    """R-KMSE: each mean shrunk toward 0 by itself (Muandet et al. 2016). See :func:`stbmta.weights.rkmse`.

    Parameters
    ----------
    kernel : Kernel or str, default="linear"
    n_threads : int, optional

    Examples
    --------
    >>> RKMSE().fit([np.array([[1.0], [3.0]])]).means_
    array([[1.2]])
    """

    def __init__(self, kernel: Kernel | str = "linear", *, n_threads: int | None = None) -> None:
        self.kernel = kernel
        self.n_threads = n_threads

    def _find_weights(self, bags: Bags, s: BagStatistics) -> Array:
        return _weights.rkmse(s)


class STB(BagEstimator):
    r"""The similarity-test based estimator: shrink each mean toward the average of its neighbors.

    Parameters
    ----------
    kernel : Kernel or str, default="linear"
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
        bags of one point.
    split : float, optional
        Use this share of each bag for the tests and only the rest for the estimates. Theorem 1 needs tests
        that are independent of the estimates; the price is smaller bags (at 0.5, twice the squared error to
        begin with), so it is off by default.
    cross_fit : bool, default=False
        With `split`, do it both ways round and average the two estimates.
    n_folds : int, default=5
        Folds of the K-fold choice.
    random_state : int, Generator or None
        Draws folds and splits.
    n_threads : int, optional

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

    Notes
    -----
    Proven: with `split`, `gamma="theory"` and thresholds from :mod:`stbmta.theory`, Theorem 1 holds. On the
    same data Theorem 2 holds under its conditions. A threshold chosen by K-fold is a heuristic.

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
        n_threads: int | None = None,
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
        self.n_threads = n_threads

    def _find_weights(self, bags: Bags, s: BagStatistics) -> Any:
        if self.cross_fit and self.split is None:
            raise ValueError("cross_fit averages over the two parts of a split; give split=0.5.")
        rng = np.random.default_rng(self.random_state)
        self._choose(bags, s.kernel, rng)
        self._base = None
        if self.split is None:
            W, self.neighbors_, self.gamma_ = self._weights_from(s)
            return W
        parts = bags.split(self.split, rng)
        first, second = (bag_statistics(part, s.kernel, n_threads=self.n_threads) for part in parts)
        W, self.neighbors_, self.gamma_ = self._weights_from(first)
        if not self.cross_fit:
            self._base = _Base(parts[1], second)
            return W
        W_swapped, *_ = self._weights_from(second)
        renamed = [
            part.relabel([(label, k) for label in part.labels.tolist()]) for k, part in enumerate(parts)
        ]
        both = Bags.concat(renamed)
        self._base = _Base(both, bag_statistics(both, s.kernel, n_threads=self.n_threads))
        return np.hstack([W_swapped, W]) / 2

    def _choose(self, bags: Bags, kernel: Kernel, rng: np.random.Generator) -> None:
        """Set zeta_, gamma and c_, by K-fold where they are None."""
        self.tuning_: Tuning | None = None
        theory = isinstance(self.gamma, str)
        if theory and self.gamma != "theory":
            raise ValueError(f"gamma must be a number, 'theory' or None, found {self.gamma!r}.")
        self.zeta_, self.c_ = self.zeta, self.c
        self._gamma: Any = self.gamma
        if self.zeta is None or self.gamma is None or (theory and self.c is None):
            self.tuning_ = tune_stb(
                bags,
                kernel,
                zeta=self.zeta,
                gamma=self.gamma,
                c=self.c if theory else None,
                variance=self.variance,
                n_folds=self.n_folds,
                rng=rng,
                n_threads=self.n_threads,
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


class MTA(BagEstimator):
    r"""Multi-task averaging (Feldman et al. 2014), with the similarity of tasks estimated (eq. mtaweight).

    Parameters
    ----------
    kernel : Kernel or str, default="linear"
    similarity : {"constant", "stb"}, default="constant"
        All pairs alike (MTA const), or the outcome of the similarity tests (MTA stb).
    zeta : float, optional
        The threshold of the tests, for "stb". None: the one that K-fold chooses for STB.
    gamma : float, optional
        How strongly tasks pull on each other. None: 1 for "constant", which needs no tuning; for "stb"
        chosen by K-fold.
    variance : float, optional
        The variance of each coordinate, if it is known (linear kernel).
    n_folds : int, default=5
    random_state : int, Generator or None
    n_threads : int, optional

    Attributes
    ----------
    gamma_, zeta_ : float
    neighbors_ : ndarray of bool, shape (B, B)
        For "stb".
    weights_, means_, embedding_, gram_, labels_, statistics_
        As for all estimators.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bags = [rng.normal(size=(5, 100)) for _ in range(30)]
    >>> bool(np.allclose(MTA().fit(bags).weights_.sum(axis=1), 1))
    True
    """

    def __init__(
        self,
        kernel: Kernel | str = "linear",
        similarity: str = "constant",
        zeta: float | None = None,
        gamma: float | None = None,
        *,
        variance: float | None = None,
        n_folds: int = 5,
        random_state: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.similarity = similarity
        self.zeta = zeta
        self.gamma = gamma
        self.variance = variance
        self.n_folds = n_folds
        self.random_state = random_state
        self.n_threads = n_threads

    def _find_weights(self, bags: Bags, s: BagStatistics) -> Array:
        mse = None if self.variance is None else known_mse(s, self.variance)
        if self.similarity == "constant":
            self.gamma_ = 1.0 if self.gamma is None else float(self.gamma)
            return _weights.mta_constant(s, self.gamma_, mse=mse)
        if self.similarity != "stb":
            raise ValueError(f"similarity must be 'constant' or 'stb', found {self.similarity!r}.")
        rng = np.random.default_rng(self.random_state)
        if self.zeta is None:
            tuning = tune_stb(
                bags,
                s.kernel,
                gamma=0.0,
                variance=self.variance,
                n_folds=self.n_folds,
                rng=rng,
                n_threads=self.n_threads,
            )
            self.zeta_ = tuning.zeta
        else:
            self.zeta_ = float(self.zeta)
        self.neighbors_ = self._tests(s)
        error = s.naive_mse if mse is None else mse
        if self.gamma is None:
            strengths = _MTA_STRENGTHS * len(s) / max(float(error.mean()), np.finfo(float).tiny)
            self.gamma_ = self._choose_gamma(bags, s.kernel, strengths, rng)
        else:
            self.gamma_ = float(self.gamma)
        return _weights.mta_stb(s, self.neighbors_, self.gamma_, mse=mse)

    def _tests(self, s: BagStatistics) -> npt.NDArray[np.bool_]:
        return (
            neighbors(s, self.zeta_)
            if self.variance is None
            else gaussian_neighbors(s, self.zeta_, self.variance)
        )

    def _choose_gamma(self, bags: Bags, kernel: Kernel, gammas: Array, rng: np.random.Generator) -> float:
        def candidates(s: BagStatistics) -> list[Array]:
            N = self._tests(s)
            mse = None if self.variance is None else known_mse(s, self.variance)
            return [_weights.mta_stb(s, N, gamma, mse=mse) for gamma in gammas]

        n_folds = int(min(self.n_folds, bags.sizes.min()))
        risk = held_out_risk(candidates, bags, kernel, n_folds=n_folds, rng=rng, n_threads=self.n_threads)
        return float(gammas[int(np.argmin(risk))])


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
        point = Bags.from_list([np.atleast_2d(np.asarray(self.target, dtype=np.float64))], labels=["target"])
        both = Bags.concat([bags.relabel(range(len(bags))), point])
        self._base = _Base(both, bag_statistics(both, s.kernel, n_threads=self.n_threads))
        return np.column_stack([W, 1 - np.diagonal(W)])
