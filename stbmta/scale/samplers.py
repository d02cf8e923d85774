"""Samplers of scikit-learn as features: ``RBFSampler`` and a fitted ``Nystroem``."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..kernels import RBF, Kernel, Laplacian, Polynomial

__all__ = ["SklearnFeatures", "is_sampler"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SklearnFeatures:
    """The features of a sampler of scikit-learn.

    Attributes
    ----------
    kernel : Kernel
        The kernel that the sampler approximates.
    sampler : RBFSampler or Nystroem
        Fitted.

    Examples
    --------
    >>> from sklearn.kernel_approximation import RBFSampler
    >>> features = SklearnFeatures.of(RBFSampler(gamma=0.5, n_components=50, random_state=0), RBF(1.0), dim=2)
    >>> features.n_features, features(np.zeros((3, 2))).shape
    (50, (3, 50))
    """

    kernel: Kernel
    sampler: Any

    @classmethod
    def of(cls, sampler: Any, kernel: Kernel, dim: int) -> "SklearnFeatures":
        """Take a sampler for a kernel, refusing one of another kernel.

        Parameters
        ----------
        sampler : RBFSampler or Nystroem
            An RBFSampler is fitted here, if it is not yet; Nystroem needs points, so it comes fitted.
        kernel : Kernel
            With every parameter a number.
        dim : int
            Columns of the points.
        """
        name = type(sampler).__name__
        if name == "RBFSampler" and not hasattr(sampler, "random_weights_"):
            from sklearn.base import clone

            sampler = clone(sampler).fit(np.zeros((1, dim)))
        elif name == "Nystroem" and not hasattr(sampler, "components_"):
            raise ValueError(
                "fit the Nystroem sampler on a sample of the data first; it takes landmarks from it."
            )
        approximated = _kernel_of(sampler)
        if not _same(approximated, kernel):
            raise ValueError(
                f"this {name} approximates {approximated or 'another kernel'!r}, not {kernel!r}."
            )
        return cls(kernel, sampler)

    @property
    def n_features(self) -> int:
        """Number of features, D."""
        return int(self.sampler._n_features_out)

    @property
    def dim(self) -> int:
        """Number of columns of the points, d."""
        return int(self.sampler.n_features_in_)

    def __call__(self, X: Array) -> Array:
        return np.asarray(self.sampler.transform(X), dtype=np.float64)


def is_sampler(value: Any) -> bool:
    """Tell whether this is a sampler of scikit-learn whose kernel is known.

    Returns
    -------
    bool
        True for ``RBFSampler`` and ``Nystroem``, fitted or not.
    """
    return type(value).__module__ == "sklearn.kernel_approximation" and type(value).__name__ in (
        "Nystroem",
        "RBFSampler",
    )


def _kernel_of(sampler: Any) -> Kernel | None:
    """Return the kernel that a fitted sampler approximates, if it is one of ours."""
    if type(sampler).__name__ == "RBFSampler":
        gamma = getattr(sampler, "_gamma", sampler.gamma)
        return RBF(float(1 / np.sqrt(2 * gamma))) if np.ndim(gamma) == 0 else None
    gamma = 1 / sampler.n_features_in_ if sampler.gamma is None else sampler.gamma
    if sampler.kernel == "rbf":
        return RBF(float(1 / np.sqrt(2 * gamma)))
    if sampler.kernel == "laplacian":
        return Laplacian(1 / gamma)
    if sampler.kernel in ("poly", "polynomial"):
        coef0 = 1.0 if sampler.coef0 is None else sampler.coef0
        return Polynomial(3 if sampler.degree is None else sampler.degree, gamma, coef0)
    return None


def _same(found: Kernel | None, kernel: Kernel) -> bool:
    """Tell whether two kernels agree up to the rounding of a parameter that is written in another way."""
    return type(found) is type(kernel) and np.allclose(
        [*vars(found).values()], [*vars(kernel).values()], rtol=1e-12, atol=0.0
    )
