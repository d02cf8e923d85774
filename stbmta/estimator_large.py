"""Fitting where B x B matrices are out of the question: streams, features, very many bags."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from .bags import Bags
from .estimator_base import BagEstimator
from .kernels import Kernel, Linear, as_kernel
from .labels import label_list
from .memory import available_memory, memory_limit, require_memory
from .scale.approximate import ApproximationError, approximation_error
from .scale.large import (
    Choice,
    DistantMeans,
    FeatureMeans,
    LargeEstimate,
    choose,
    estimate_large,
    exact_memory,
)
from .scale.means import mean_statistics
from .scale.sample import source_shape, stream_sample
from .scale.stream import BagStream
from .statistics import bag_statistics
from .tuning_sample import require_tuning_memory, tuning_choice, tuning_memory

__all__ = ["LargeFit"]

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

# Bags on which features are compared with exact kernel values, and their points where that is done without asking.
_CHECKED_BAGS = 24
_CHECKED_POINTS = 10_000
_FITTED = (
    "approximation_", "approximation_error_", "bags_", "embedding_", "feature_names_in_", "large_", "means_",
    "neighbors_", "weights_",
)  # fmt: skip


class LargeFit(BagEstimator):
    """What :class:`stbmta.STB` does with data that are too large for statistics of all pairs of bags."""

    zeta: float | None
    gamma: Any
    c: float | None
    zeta_: float | None
    c_: float | None
    gamma_: Any
    _gamma: Any
    approximation: Any
    max_memory: float | str | None
    n_folds: int
    split: float | None
    variance: float | None
    random_state: Any
    approximation_: str
    approximation_error_: ApproximationError
    large_: LargeEstimate

    def _choose(self, bags: Any, kernel: Any, rng: np.random.Generator, sample: Any) -> None:
        raise NotImplementedError

    def _weights_from(self, s: Any) -> tuple[Any, Any, Any]:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Estimate the mean of each bag.

        Parameters
        ----------
        X : Bags, BagStream, list of arrays, or array or data frame of shape (n, d)
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
        for name in _FITTED:  # of an earlier fit
            self.__dict__.pop(name, None)
        source: Any = X if isinstance(X, BagStream) else self._as_bags(X, groups, reset=True)
        kernel, stream = as_kernel(self.kernel), isinstance(source, BagStream)
        rng = np.random.default_rng(self.random_state)
        choice = None
        if isinstance(kernel, Linear):
            if self.approximation is not None:
                self.approximation_ = "exact: the linear kernel needs means only"
            if stream or self._full_memory(source, kernel) > memory_limit(self.max_memory):
                return self._fit_means(source, Choice(kernel, None, "exact"), rng)
        elif stream or self.approximation is not None:
            approximation = "auto" if self.approximation is None else self.approximation
            choice = choose(source, kernel, approximation, rng=rng, client=self.client)
            self.approximation_ = choice.reason
            if choice.features is not None:
                return self._fit_means(source, choice, rng)
        return self._fit_exact(source, kernel if choice is None else choice.kernel, choice)

    def _fit_exact(self, source: Any, kernel: Kernel, choice: Choice | None) -> Self:
        """Estimate from statistics of all pairs of bags; those of a stream are made on the cluster, if there is one."""
        shape = source_shape(source) if choice is None or choice.shape is None else choice.shape
        needed = exact_memory(shape.n_bags, shape.n_points, shape.dim, kernel)
        distant = isinstance(source, BagStream) and self.client is not None
        if distant:
            needed = exact_memory(shape.n_bags, 0, shape.dim, kernel)
        elif isinstance(source, BagStream):
            needed += 8.0 * shape.n_points * shape.dim
        limit = self._exact_limit()
        require_memory(
            needed,
            limit,
            f"comparing {shape.n_bags} bags of {shape.n_points} points in full",
            "Give approximation=..., a number of features, or allow more with max_memory.",
        )
        if distant:
            return self._fit_distant(source, kernel, limit)
        bags = source.to_bags() if isinstance(source, BagStream) else source
        return super().fit(bags)

    def _fit_distant(self, stream: BagStream, kernel: Kernel, limit: int) -> Self:
        """Estimate from statistics that the workers made of a stream; the points stay there."""
        self._refuse_split()
        s = bag_statistics(stream, kernel, n_threads=self.n_threads, client=self.client)
        self._remember(stream, s)
        sample = self._sampler(s, limit - 8 * len(s) ** 2)
        self._choose(stream, kernel, np.random.default_rng(self.random_state), sample)
        self.weights_, self.neighbors_, self.gamma_ = self._weights_from(s)
        self.embedding_ = DistantMeans(s, self.weights_)
        return self

    def _fit_means(self, source: Any, choice: Choice, rng: np.random.Generator) -> Self:
        """Estimate from means, of points or of features, in tiles."""
        self._refuse_split()
        limit = memory_limit(self.max_memory)
        where: dict[str, Any] = {"n_threads": self.n_threads, "client": self.client}
        s = mean_statistics(source, choice.kernel, features=choice.features, max_memory=limit, **where)
        if self.variance is None:
            s.require_variance()
        self._remember(source, s)
        left = max(1, limit - s.nbytes)
        self._choose(source, s.kernel, rng, self._sampler(s, left))
        assert self.zeta_ is not None
        options: dict[str, Any] = {"variance": self.variance, "max_memory": left, **where}
        self.large_ = estimate_large(
            s, self.zeta_, self._gamma, self.c_, approximation=choice.reason, **options
        )
        self.gamma_ = self.large_.gamma
        self.embedding_ = FeatureMeans(self.large_.means, s.features, s.labels)  # type: ignore[assignment]
        if s.features is None:
            self.means_ = self.large_.means
        elif isinstance(source, Bags):
            some = source[_drawn(len(source), _CHECKED_BAGS)]
            if len(some) > 1 and len(some.data) <= _CHECKED_POINTS:
                self.approximation_error_ = approximation_error(s, some, n_threads=self.n_threads)
        return self

    def _remember(self, source: Any, s: Any) -> None:
        self.statistics_, self.labels_, self.kernel_ = s, s.labels, s.kernel
        if isinstance(source, BagStream):
            self.n_features_in_ = s.dim
            if source.columns is not None:
                self.feature_names_in_ = np.array(source.columns, dtype=object)

    def _refuse_split(self) -> None:
        if self.split is not None:
            raise ValueError(
                "a split needs bags in memory and all pairs of them; leave it out for data this large."
            )

    def _tunes(self) -> bool:
        """Tell whether a parameter is to be chosen from the data."""
        return self.zeta is None or self.gamma is None or (isinstance(self.gamma, str) and self.c is None)

    def _full_memory(self, bags: Bags, kernel: Kernel) -> float:
        """Return how many bytes a fit by matrices of all pairs takes: to choose parameters, or to estimate."""
        needed = exact_memory(len(bags), len(bags.data), bags.dim, kernel)
        if not self._tunes():
            return needed
        most = len(tuning_choice(len(bags), kernel, np.random.default_rng(0)))
        largest = np.sort(bags.sizes)[len(bags) - most :]
        return max(needed, 8.0 * len(bags) ** 2 + tuning_memory(largest, bags.dim, kernel, self.n_folds))

    def _exact_limit(self) -> int:
        """Return how many bytes statistics of all pairs may take: all that is free, if nobody says less."""
        return available_memory() if self.max_memory is None else memory_limit(self.max_memory)

    def _sampler(self, s: Any, limit: int) -> Callable[[Any, np.random.Generator], Bags]:
        """Return a function that draws the bags on which parameters are chosen, where that fits into memory."""

        def sample(source: Bags | BagStream, rng: np.random.Generator) -> Bags:
            chosen = tuning_choice(len(s), s.kernel, rng)
            everything = isinstance(source, Bags) and len(chosen) == len(source)
            copies = 0 if everything else 1 if isinstance(source, Bags) else 2
            require_tuning_memory(s.sizes[chosen], s.dim, s.kernel, self.n_folds, copies, limit)
            if isinstance(source, Bags):
                return source if everything else source[chosen]
            return stream_sample(source, label_list(s.labels[chosen]), self.client)

        return sample

    def approximation_error(
        self, X: Any, *, groups: Any = None, n_bags: int = _CHECKED_BAGS
    ) -> ApproximationError:
        """Compare the features of the fit with exact kernel values on bags drawn at random.

        Parameters
        ----------
        X : Bags, BagStream, list of arrays, or array or data frame of shape (n, d)
            The data that were fitted. Of a stream only the bags that are drawn are kept.
        groups : array-like of shape (n,), optional
            The bag of each row of a long table.
        n_bags : int, default=24
            How many bags are drawn.

        Returns
        -------
        ApproximationError
            Mean, root mean square and largest of the differences.
        """
        check_is_fitted(self)
        s: Any = self.statistics_
        if getattr(s, "features", None) is None:
            raise ValueError("the estimates are exact; only features approximate.")
        if isinstance(X, BagStream):
            bags = stream_sample(X, label_list(s.labels[_drawn(len(s), n_bags)]), self.client)
        else:
            bags = self._as_bags(X, groups, reset=False)
        return approximation_error(s, bags, n_bags=n_bags, n_threads=self.n_threads)

    def score(self, X: Any, y: Any = None, *, groups: Any = None) -> float:
        r"""Return how well the estimates fit other points of the same bags; larger is better.

        As for bags in memory, with features in place of points where the fit used them.

        Parameters
        ----------
        X : Bags, BagStream, or array or data frame of shape (n, d)
            Other points of bags that were fitted, under the same labels; a stream only after a fit in tiles or by
            features.
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
        if "large_" not in self.__dict__:
            return super().score(X, y, groups=groups)
        held_out = X if isinstance(X, BagStream) else self._held_out(X, groups)
        tested = mean_statistics(held_out, features=self.large_.statistics.features, n_threads=self.n_threads)
        found = self.large_.means[self._positions(tested.labels)]
        away = found - tested.means
        squares = np.einsum("ij,ij->i", away, away)
        if tested.features is not None:  # less the norms of the held-out means, as kernels do without them
            squares -= np.einsum("ij,ij->i", tested.means, tested.means)
        return -float(squares.mean())

    def __getattr__(self, name: str) -> Any:
        if name in ("weights_", "neighbors_") and "large_" in self.__dict__:
            raise AttributeError(
                f"{name} is not kept where estimates are made in tiles or from features; large_.counts has the numbers "
                "of neighbors, and stbmta.neighbor_averages(..., keep_neighbors=True) finds them."
            )
        return super().__getattr__(name)

    def _neighbor_counts(self) -> Any:
        return self.large_.counts if "large_" in self.__dict__ else super()._neighbor_counts()

    def _estimated_error(self, mse: Array) -> Array | None:
        if "large_" not in self.__dict__:
            return super()._estimated_error(mse)
        return self.large_.estimated_error()


def _drawn(n_bags: int, most: int) -> Indices:
    """Draw bags for a comparison; the seed is one that no features are drawn with."""
    return np.sort(np.random.default_rng(0).spawn(1)[0].choice(n_bags, min(most, n_bags), replace=False))
