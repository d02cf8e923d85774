"""Fitting where B x B matrices are out of the question: streams, features, very many bags."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from .estimator_base import BagEstimator
from .kernels import Linear, as_kernel
from .memory import memory_limit
from .scale.large import (
    FeatureMeans,
    LargeEstimate,
    estimate_large,
    large_statistics,
    needs_tiles,
    tuning_sample,
)
from .scale.stream import BagStream

__all__ = ["LargeFit"]

Array = npt.NDArray[np.float64]


class LargeFit(BagEstimator):
    """What :class:`stbmta.STB` does with data that are too large for statistics of all pairs of bags."""

    zeta_: float | None
    c_: float | None
    gamma_: Any
    _gamma: Any
    approximation: Any
    max_memory: float | str | None
    split: float | None
    variance: float | None
    random_state: Any
    large_: LargeEstimate

    def _choose(self, bags: Any, kernel: Any, rng: np.random.Generator, sample: Any) -> None:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, *, groups: Any = None) -> Self:
        """Estimate the mean of each bag.

        Parameters
        ----------
        X : Bags, BagStream, list of arrays, or array or data frame of shape (n, d)
            A long table needs `groups`; without them it is one bag.
        y : ignored
        groups : array-like of shape (n,), optional
            The bag of each row of a long table.

        Returns
        -------
        self
        """
        source: Any = X if isinstance(X, BagStream) else self._as_bags(X, groups, reset=True)
        kernel = as_kernel(self.kernel)
        self.__dict__.pop("large_", None)  # of an earlier fit
        approximate = self.approximation is not None and not isinstance(kernel, Linear)
        if (approximate or needs_tiles(source, kernel, memory_limit(self.max_memory))) and self._fit_large(
            source
        ):
            return self
        return super().fit(source.to_bags() if isinstance(source, BagStream) else source)

    def _fit_large(self, source: Any) -> bool:
        """Estimate from means or features in tiles; False where exact kernel values are the better choice."""
        if self.split is not None:
            raise ValueError(
                "a split needs bags in memory and all pairs of them; leave it out for data this large."
            )
        where: dict[str, Any] = {
            "n_threads": self.n_threads, "max_memory": self.max_memory, "client": self.client,
        }  # fmt: skip
        approximation = "auto" if self.approximation is None else self.approximation
        s, reason = large_statistics(source, self.kernel, approximation=approximation, **where)
        if s is None:
            return False
        rng = np.random.default_rng(self.random_state)
        self.statistics_, self.labels_, self.kernel_ = s, s.labels, s.kernel  # type: ignore[assignment]
        self.n_features_in_ = s.dim
        self._choose(source, s.kernel, rng, tuning_sample)
        assert self.zeta_ is not None
        self.large_ = estimate_large(
            s, self.zeta_, self._gamma, self.c_, variance=self.variance, approximation=reason, **where
        )
        self.gamma_ = self.large_.gamma
        for name in ("means_", "embedding_", "weights_", "neighbors_", "bags_"):
            self.__dict__.pop(name, None)
        if s.features is None:
            self.means_ = self.large_.means
        else:
            self.embedding_ = FeatureMeans(self.large_.means, s.features, s.labels)  # type: ignore[assignment]
        return True

    def _neighbor_counts(self) -> Any:
        return self.large_.counts if "large_" in self.__dict__ else super()._neighbor_counts()

    def _estimated_error(self, mse: Array) -> Array | None:
        if "large_" not in self.__dict__:
            return super()._estimated_error(mse)
        return self.large_.estimated_error()
