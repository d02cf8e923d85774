"""Exact kernel values or features: choosing, and saying how far off the features are."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..bags import Bags
from ..container import RNG, format_bytes
from ..kernels import RBF, Kernel, Laplacian, Linear
from ..labels import fitted_places
from ..statistics import bag_statistics
from .cost import Job, matrix_bytes, plan_compute
from .features import FeatureMap, RandomFourier
from .means import MeanStatistics
from .samplers import SklearnFeatures, is_sampler

__all__ = ["ApproximationError", "approximation_error", "choose_features"]

# Exact kernel values are preferred as long as they take one core no more than this many seconds, and matrices of all
# pairs of bags no more than this many bytes: fixed numbers, so that the cores and memory of a machine change no result.
_PATIENCE = 40.0
_MATRICES = 4e9


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproximationError:
    """How far inner products of features are from exact kernel means, on blocks of bags drawn at random.

    Attributes
    ----------
    bias, deviation : float
        Mean and root mean square of the differences over pairs of different bags.
    largest : float
    n_pairs : int
        Pairs of bags that were compared.
    """

    bias: float
    deviation: float
    largest: float
    n_pairs: int

    def summary(self) -> str:
        """Return the error as text.

        Returns
        -------
        str
            Root mean square, largest and mean difference, and the number of pairs, in one line.
        """
        return (
            f"inner products of features are off by {self.deviation:.2g} (root mean square of {self.n_pairs} pairs of "
            f"bags drawn at random; largest {self.largest:.2g}, mean {self.bias:.1g})"
        )


def approximation_error(
    s: MeanStatistics, bags: Bags, *, n_bags: int = 24, rng: RNG = 0, n_threads: int | None = None
) -> ApproximationError:
    """Compare the statistics of features with exact ones on some bags.

    Parameters
    ----------
    s : MeanStatistics
        Of features.
    bags : Bags
        The points of all bags, or of some; their labels say which.
    n_bags : int, default=24
        How many bags are drawn; all pairs of them are compared.
    rng : {None, int, numpy.random.Generator}, default=0
        Draws the bags.
    n_threads : int, optional
        All available cores by default. It does not change the result.

    Returns
    -------
    ApproximationError
        Of inner products of features less the exact ones, over all pairs of the drawn bags.

    Notes
    -----
    The bags are drawn independently of the features, so the root mean square is an error bar for every other pair.

    Examples
    --------
    >>> from stbmta.scale.means import mean_statistics
    >>> bags = Bags.from_list([np.random.default_rng(k).normal(size=(30, 2)) for k in range(10)])
    >>> s = mean_statistics(bags, features=RandomFourier.draw(RBF(1.0), 2, 4096, rng=0))
    >>> approximation_error(s, bags).deviation < 0.02
    True
    """
    if s.features is None:
        raise ValueError("means of points are exact; only features approximate.")
    own = np.random.default_rng(rng).spawn(1)[0]  # the same seed may have drawn the features
    drawn = np.sort(own.choice(len(bags), min(n_bags, len(bags)), replace=False))
    some = bags[drawn]
    rows = s.means[fitted_places(s.labels, some.labels)]
    exact = bag_statistics(some, s.kernel, n_threads=n_threads).gram
    difference = (rows @ rows.T - exact)[np.triu_indices(len(some), 1)]
    if len(difference) == 0:
        raise ValueError("at least two bags are needed to compare inner products.")
    return ApproximationError(
        bias=float(difference.mean()),
        deviation=float(np.sqrt(np.mean(difference**2))),
        largest=float(np.abs(difference).max()),
        n_pairs=len(difference),
    )


def choose_features(
    kernel: Kernel,
    n_bags: int,
    n_points: int,
    dim: int,
    *,
    approximation: Any,
    center: npt.ArrayLike | None = None,
    rng: RNG = 0,
) -> tuple[FeatureMap | None, str]:
    """Choose between exact kernel values and features.

    Parameters
    ----------
    kernel : Kernel
        With every parameter a number.
    n_bags, n_points, dim : int
        Number of bags, of all their points, and of columns; only "auto" needs the first two.
    approximation : "auto", FeatureMap, int, sampler or None
        None: exact. A number: so many random Fourier features. An ``RBFSampler`` or a fitted ``Nystroem`` of
        scikit-learn: its features. "auto": exact where it takes one core no more than 40 seconds, or than features
        would take, and no more than 4 GB for matrices of all pairs of bags; otherwise 1024 random Fourier features. A
        kernel that has none is computed exactly, with a warning where that takes more.
    center : array-like of shape (d,), optional
        Of the data.
    rng : {None, int, numpy.random.Generator}, default=0
        Draws the frequencies.

    Returns
    -------
    features : FeatureMap or None
        None means exact.
    reason : str
        What was chosen and why.

    Examples
    --------
    >>> choose_features(RBF(1.0), 100, 5000, 2, approximation="auto")[0] is None
    True
    >>> features, reason = choose_features(RBF(1.0), 100_000, 10**8, 2, approximation="auto")
    >>> features.n_features
    1024
    """
    if approximation is None or isinstance(kernel, Linear):
        return None, "exact"
    if not (isinstance(approximation, str) and approximation == "auto"):
        features = _given(kernel, dim, approximation, center, rng)
        return features, f"{features.n_features} features ({type(features).__name__}), as asked for"
    common: dict[str, Any] = {"n_bags": n_bags, "n_points": n_points, "dim": dim}
    exact = plan_compute(Job(kind="kernel", **common), threads=1)
    rough = plan_compute(Job(kind="features", **common), threads=1)
    price = f"about {exact.seconds:.2g} s of one core"
    matrices = matrix_bytes(n_bags)
    if matrices > _MATRICES:
        price += f" and {format_bytes(int(matrices))} for all pairs of bags"
    elif exact.seconds <= max(_PATIENCE, rough.seconds):
        return None, f"exact: {price}"
    if not isinstance(kernel, (RBF, Laplacian)):
        reason = f"exact: {price}; {kernel!r} has no random Fourier features"
        warnings.warn(
            f"{reason}. stbmta.scale.features.Nystroem.draw(kernel, sample) would take less.", stacklevel=2
        )
        return None, reason
    features = _fourier(kernel, dim, 1024, center, rng)
    return features, (
        f"{features.n_features} random Fourier features: about {rough.seconds:.2g} s of one core, "
        f"exact kernel values would take {price}"
    )


def _given(
    kernel: Kernel, dim: int, approximation: Any, center: npt.ArrayLike | None, rng: RNG
) -> FeatureMap:
    """Return the features that were asked for, refusing those of another kernel and what are no features."""
    if isinstance(approximation, (int, np.integer)) and not isinstance(approximation, bool):
        return _fourier(kernel, dim, int(approximation), center, rng)
    if is_sampler(approximation):
        return SklearnFeatures.of(approximation, kernel, dim)
    if not (callable(approximation) and hasattr(approximation, "n_features")):
        raise ValueError(
            "approximation must be 'auto', features, their number (an integer), an RBFSampler or a fitted Nystroem of "
            f"scikit-learn, or None; found {approximation!r}."
        )
    if approximation.kernel != kernel:
        raise ValueError(f"these features approximate {approximation.kernel!r}, not {kernel!r}.")
    return approximation


def _fourier(kernel: Kernel, dim: int, count: int, center: npt.ArrayLike | None, rng: RNG) -> RandomFourier:
    if not isinstance(kernel, (RBF, Laplacian)):
        raise ValueError(
            f"{kernel!r} has no random Fourier features; give stbmta.scale.features.Nystroem.draw(...)."
        )
    return RandomFourier.draw(kernel, dim, count, center=center, rng=rng)
