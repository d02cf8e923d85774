"""What all estimators share: bags in, weights out, and everything that follows from the weights."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .bags import Bags
from .embedding import KernelMeans
from .inputs import factorize, refuse_masked
from .kernels import Kernel, Precomputed
from .labels import fitted_places
from .report import EstimatorReport
from .similarity import known_mse
from .statistics import BagStatistics, bag_statistics

__all__ = ["BagEstimator", "Base"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Base:
    """The bags whose naive means the weights combine, where they are not those that were fitted.

    Their statistics may be left to be computed when needed.
    """

    bags: Bags
    statistics: BagStatistics | None


class BagEstimator(EstimatorReport, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """What all estimators share: bags in, weights out."""

    kernel: Kernel | str
    n_threads: int | None
    client: Any = None
    _base: Base | None = None

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Estimate the mean of each bag.

        Parameters
        ----------
        X : Bags, list of arrays, or array or data frame of shape (n, d)
            A long table needs `groups`; without them it is one bag.
        y : ignored
            Not used; scikit-learn passes it.
        groups : array-like of shape (n,), optional
            The bag of each row of a long table.

        Returns
        -------
        self
            The fitted estimator.
        """
        bags = self._as_bags(X, groups, reset=True)
        self.bags_ = bags
        self.labels_ = bags.labels
        self.statistics_ = bag_statistics(bags, self.kernel, n_threads=self.n_threads, client=self.client)
        self.kernel_ = self.statistics_.kernel
        self.weights_ = self._find_weights(bags, self.statistics_)
        bags, base = self._base_bags(), self._base_statistics()
        self.embedding_ = KernelMeans(
            bags, self.kernel_, self.weights_, self.labels_, statistics=base, n_threads=self.n_threads
        )
        self.__dict__.pop("means_", None)  # of an earlier fit
        if self.statistics_.means is not None:
            means = base.means if base is not None else bags.means(n_threads=self.n_threads)
            self.means_ = self.weights_ @ means
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
        estimate of the squared error, up to a constant. For vectors (linear kernel) the constant
        :math:`|\hat\mu_i(X)|^2` is left in, the score is minus the average of
        :math:`|\tilde\mu_i - \hat\mu_i(X)|^2`: it ranks estimates in the same way, and a common offset of the data
        costs no digits. ``GridSearchCV`` uses it, with folds that keep some
        rows of each bag, e.g. ``StratifiedKFold`` on the groups.

        Parameters
        ----------
        X : Bags with the labels of fitted bags, or array or data frame of shape (n, d)
            A list of arrays has no labels, and is refused.
        y : ignored
            Not used; scikit-learn passes it.
        groups : array-like of shape (n,), optional
            The bag of each row of a long table.

        Returns
        -------
        float
            Minus an unbiased estimate of the average squared error, up to a constant.
        """
        check_is_fitted(self)
        held_out = self._held_out(X, groups)
        index = self._positions(held_out.labels)
        if "means_" in self.__dict__:
            away = self.means_[index] - held_out.means(n_threads=self.n_threads)
            return -float(np.einsum("ij,ij->i", away, away).mean())
        tested = KernelMeans(held_out, self.kernel_, n_threads=self.n_threads)
        cross = tested.inner(self.embedding_)
        norms = np.diagonal(self.gram_)[index]
        return float(np.mean(2 * cross[np.arange(len(index)), index] - norms))

    def _held_out(self, X: Any, groups: Any) -> Bags:
        """Return other points of the fitted bags, under their labels."""
        if _is_list_of_arrays(X):
            raise ValueError(
                "a list does not say which of the fitted bags its arrays belong to; give Bags with labels, or a table "
                "with groups. To cross-validate, leave out rows of every bag: StratifiedKFold on the groups."
            )
        return self._as_bags(X, groups, reset=False)

    @property
    def gram_(self) -> Array:
        """The inner products of the estimates, (B, B), for learners with a precomputed kernel."""
        check_is_fitted(self)
        return self.embedding_.gram

    def __getattr__(self, name: str) -> Any:
        # Only called for what is missing, also when a property fails: say why.
        if name in ("gram_", "means_"):
            check_is_fitted(self)
        if name == "means_" and "kernel_" in self.__dict__:
            raise AttributeError(
                f"with {self.kernel_!r} the estimates are functions, not vectors: see embedding_ and gram_."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_clone__(self) -> Self:
        client = self.client
        if client is None:
            return super().__sklearn_clone__()
        self.client = None  # a connection to a cluster is shared by copies, not copied
        try:
            copy = super().__sklearn_clone__()
        finally:
            self.client = client
        copy.client = client
        return copy

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        return state | {"client": None} if "client" in state else state

    def _base_bags(self) -> Bags:
        """Return the bags whose naive means the weights combine."""
        return self.bags_ if self._base is None else self._base.bags

    def _base_statistics(self) -> BagStatistics | None:
        return self.statistics_ if self._base is None else self._base.statistics

    def _naive_error(self) -> Array | None:
        """Return the squared errors of the naive means, known or estimated, or None."""
        variance = getattr(self, "variance", None)
        if variance is not None:
            return known_mse(self.statistics_, variance)
        return self.statistics_.naive_mse if (self.statistics_.sizes >= 2).all() else None

    def _as_bags(self, X: Any, groups: Any, *, reset: bool) -> Bags:
        bags = self._read_bags(X, groups, reset=reset)
        if reset and isinstance(self.kernel, Precomputed) and not isinstance(X, Bags):
            self.kernel.check_whole(len(bags.data))  # only Bags may be a part of something larger
        return bags

    def _read_bags(self, X: Any, groups: Any, *, reset: bool) -> Bags:
        if hasattr(X, "to_bags"):
            raise TypeError(
                f"{type(self).__name__} needs bags in memory here; pass stream.to_bags(). STB.fit takes streams."
            )
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
        refuse_masked(X, "X")
        table = validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_min_samples=1)
        labels = np.zeros(len(table), dtype=np.int64) if groups is None else groups
        names = getattr(self, "feature_names_in_", None)
        return Bags.from_groups(table, labels, None if names is None else list(names))

    def _bag_of_rows(self, X: Any, groups: Any) -> npt.NDArray[np.int64]:
        if isinstance(X, Bags) or _is_list_of_arrays(X) or hasattr(X, "to_bags"):
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
        return fitted_places(self.labels_, labels)


def _is_list_of_arrays(X: Any) -> bool:
    """Tell whether X is a list of arrays or data frames, one a bag; a list of numbers or of lists is not."""
    return (
        isinstance(X, (list, tuple))
        and len(X) > 0
        and all(hasattr(bag, "__array__") and len(getattr(bag, "shape", ())) > 0 for bag in X)
    )
