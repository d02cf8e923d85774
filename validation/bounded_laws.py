"""Points of bounded norm whose mean, covariance and bound are known exactly.

One-dimensional two-point laws have an exact distribution of everything (binomial); the others are drawn.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

__all__ = [
    "LAWS",
    "WIDE",
    "BoundedLaw",
    "TwoPoint",
    "off_diagonal",
    "rademacher",
    "rademacher_norm",
    "u_statistics",
]

Array = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator, int, int], tuple[Array, Array]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoPoint:
    """Points on the line: `high` with probability 1 - p, else `low`; N of them.

    Attributes
    ----------
    n : int
    p : float
    low, high : float

    Examples
    --------
    >>> law = TwoPoint(n=2, p=0.5, low=-1.0, high=1.0)
    >>> law.means, law.probabilities
    (array([ 1.,  0., -1.]), array([0.25, 0.5 , 0.25]))
    """

    n: int
    p: float
    low: float
    high: float

    @property
    def counts(self) -> Array:
        """How often `low` may be drawn; beyond these counts the probability is below 1e-40."""
        middle, width = self.n * self.p, 15 * np.sqrt(self.n * self.p * (1 - self.p)) + 100
        return np.arange(max(0, np.floor(middle - width)), min(self.n, np.ceil(middle + width)) + 1)

    @property
    def probabilities(self) -> Array:
        """Of the counts."""
        return np.asarray(binom.pmf(self.counts, self.n, self.p))

    @property
    def means(self) -> Array:
        """Naive means that belong to the counts."""
        return self.high + (self.low - self.high) * self.counts / self.n

    @property
    def mean_squares(self) -> Array:
        """Mean squared norms that belong to the counts."""
        return self.high**2 + (self.low**2 - self.high**2) * self.counts / self.n

    @property
    def mean(self) -> float:
        """True mean."""
        return self.high + (self.low - self.high) * self.p

    @property
    def variance(self) -> float:
        """Of one point: trace and largest eigenvalue of the covariance."""
        return (self.high - self.low) ** 2 * self.p * (1 - self.p)

    @property
    def L(self) -> float:
        """Largest norm."""
        return max(abs(self.low), abs(self.high))


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedLaw:
    """A law in R^m.

    Attributes
    ----------
    mean : ndarray of shape (m,)
    trace, op_norm : float
        Of the covariance of one point.
    L : float
    draw : callable
        ``draw(rng, trials, n)`` gives the naive means of bags of n, (trials, m), and their mean squared norms.
    """

    mean: Array
    trace: float
    op_norm: float
    L: float
    draw: Draw

    @property
    def d_eff(self) -> float:
        """Effective dimension."""
        return self.trace / self.op_norm if self.op_norm > 0 else np.inf


def rademacher(features: int, tilt: float = 0.0) -> BoundedLaw:
    """Give coordinates -1 or 1, each 1 with probability (1 + tilt) / 2, divided by sqrt(features).

    Returns
    -------
    BoundedLaw
        All points have norm 1; the mean has norm ``abs(tilt)``.

    Examples
    --------
    >>> law = rademacher(100, tilt=0.6)
    >>> round(law.trace, 9), round(law.d_eff, 9)
    (0.64, 100.0)
    """
    root = np.sqrt(features)

    def draw(rng: np.random.Generator, trials: int, n: int) -> tuple[Array, Array]:
        ones = rng.binomial(n, (1 + tilt) / 2, (trials, features))
        return (2 * ones / n - 1) / root, np.ones(trials)

    mean = np.full(features, tilt / root)
    each = (1 - tilt**2) / features
    return BoundedLaw(mean=mean, trace=each * features, op_norm=each, L=1.0, draw=draw)


def rademacher_norm(features: int, n: int) -> float:
    """Give E V_c of n points with coordinates -1 or 1 over sqrt(features), from below by a share of 1 / features.

    By Hoelder's inequality it is at least (E V_c^2)^(3/2) / (E V_c^4)^(1/2), and both moments are known.

    Returns
    -------
    float
        A lower bound, close to the root of 1 / n for many features.

    Examples
    --------
    >>> 0.9999 < rademacher_norm(10**4, n=100) * 10 < 1
    True
    """
    fourth = (3 - 2 / n + (features - 1)) / features  # in units of 1 / n^2
    return float(1 / np.sqrt(n * fourth))


def _sphere(dim: int) -> BoundedLaw:
    """Uniform on the unit sphere."""

    def draw(rng: np.random.Generator, trials: int, n: int) -> tuple[Array, Array]:
        x = rng.standard_normal((trials, n, dim))
        x /= np.linalg.norm(x, axis=2, keepdims=True)
        return x.mean(axis=1), np.ones(trials)

    return BoundedLaw(mean=np.zeros(dim), trace=1.0, op_norm=1 / dim, L=1.0, draw=draw)


def _atoms(features: Array, probabilities: Array) -> BoundedLaw:
    """Finitely many points."""
    norms = (features**2).sum(axis=1)
    mean = probabilities @ features
    centered = np.sqrt(probabilities)[:, np.newaxis] * (features - mean)
    values = np.linalg.svd(centered, compute_uv=False) ** 2

    def draw(rng: np.random.Generator, trials: int, n: int) -> tuple[Array, Array]:
        shares = rng.multinomial(n, probabilities, trials) / n
        return shares @ features, shares @ norms

    L = float(np.sqrt(norms.max()))
    return BoundedLaw(mean=mean, trace=float(values.sum()), op_norm=float(values.max()), L=L, draw=draw)


def _rbf_bags(places: int, bandwidth: float) -> BoundedLaw:
    """Gaussian-kernel features of a finite population on the line: everything about the embedding is exact."""
    x = np.linspace(-3, 3, places)
    weights = np.exp(-(x**2) / 2)
    kernel = np.exp(-((x[:, np.newaxis] - x) ** 2) / (2 * bandwidth**2))
    values, vectors = np.linalg.eigh(kernel)
    features = vectors * np.sqrt(np.maximum(values, 0.0))
    return _atoms(features, weights / weights.sum())


LAWS: dict[str, Callable[[], BoundedLaw]] = {
    "Rademacher features": lambda: rademacher(200),
    "tilted Rademacher features": lambda: rademacher(50, 0.6),
    "sphere": lambda: _sphere(20),
    "Gaussian kernel": lambda: _rbf_bags(40, 0.5),
    "unit vectors": lambda: _atoms(np.eye(30), np.full(30, 1 / 30)),
    "rare point": lambda: _atoms(np.array([[-1.0, 0.0], [1.0, 0.0]]), np.array([0.01, 0.99])),
    "point mass": lambda: _atoms(np.array([[1.0, 0.0]]), np.array([1.0])),
}
"""Laws by name; made when asked for."""


WIDE = {"many Rademacher features": lambda: rademacher(10**4)}
"""A law with so many dimensions that bounds on huge bags lie within what can happen, at the price of slow draws."""


def u_statistics(law: BoundedLaw, rng: np.random.Generator, trials: int, n: int) -> Array:
    """Squared distances U (eq:Ustat) of two independent bags of n points, trials times.

    Returns
    -------
    ndarray of shape (trials,)
        Of mean 0, as both bags have the same law; negative values occur.

    Examples
    --------
    >>> u = u_statistics(LAWS["sphere"](), np.random.default_rng(0), 1000, n=10)
    >>> bool(abs(u.mean()) < 0.01)
    True
    """
    (x, x2), (y, y2) = law.draw(rng, trials, n), law.draw(rng, trials, n)
    products: Array = (x * y).sum(axis=1)
    return off_diagonal(x, x2, n) + off_diagonal(y, y2, n) - 2 * products


def off_diagonal(means: Array, mean_squares: Array, n: int) -> Array:
    """Mean of ``<x_k, x_l>`` over distinct points, from naive means and mean squared norms.

    Returns
    -------
    ndarray of shape (trials,)
        Unbiased for the squared norm of the true mean.

    Examples
    --------
    >>> off_diagonal(np.array([[0.0]]), np.array([1.0]), n=2)  # the points -1 and 1
    array([-1.])
    """
    return np.asarray((n * (means**2).sum(axis=-1) - mean_squares) / (n - 1))
