"""One run of the Gaussian setting: thresholds, means, tests."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from stbmta.theory import gaussian

from .models import draw_means
from .wishart import compressed_noise

__all__ = ["Setting", "Thresholds", "draw_naive", "neighbors", "sq_distances"]

Array = npt.NDArray[np.float64]
Thresholds = Literal["printed", "exact"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """B bags of N points in R^d, and the thresholds of their tests.

    Attributes
    ----------
    n_bags, dim, bag_size : int
    alpha : float
        Error probability of each event.
    tau, tau_prime, zeta : float
    """

    n_bags: int
    dim: int
    bag_size: int
    alpha: float
    tau: float
    tau_prime: float
    zeta: float

    @classmethod
    def make(
        cls, n_bags: int, dim: int, alpha: float, thresholds: Thresholds, bag_size: int = 1
    ) -> "Setting":
        """Take the paper's thresholds (prop:testgauss), or the exact ones.

        Examples
        --------
        >>> s = Setting.make(100, 10**6, 0.05, "printed")
        >>> round(s.tau, 4), round(s.tau_prime, 4)
        (0.1105, 0.0368)
        """
        if thresholds == "printed":
            tau = gaussian.tau_min(n_bags, dim, alpha)
            zeta, near = gaussian.zeta(tau, n_bags, dim, alpha), gaussian.tau_prime(tau)
        else:
            tau = gaussian.exact_tau(n_bags, dim, alpha)
            zeta, near = gaussian.exact_zeta(tau, n_bags, dim, alpha), tau / 3
        return cls(
            n_bags=n_bags,
            dim=dim,
            bag_size=bag_size,
            alpha=alpha,
            tau=float(tau),
            tau_prime=float(near),
            zeta=float(zeta),
        )

    @property
    def sigma(self) -> float:
        """sigma-bar, the root of d / N."""
        return float(np.sqrt(self.dim / self.bag_size))

    def means(self, model: str, rng: np.random.Generator) -> Array:
        """Draw the means of a model, in the coordinates they span.

        Returns
        -------
        ndarray of shape (B, coordinates)
            In units of `sigma` they look the same for any bag size.
        """
        unit = draw_means(model, rng, self.n_bags, self.dim, self.tau, self.tau_prime)
        return unit / np.sqrt(self.bag_size)


def draw_naive(rng: np.random.Generator, setting: Setting, means: Array) -> tuple[Array, Array]:
    """Draw the naive means, and give the true ones in the same coordinates.

    Returns
    -------
    naive, means : ndarray of shape (B, coordinates)
        Their inner products have the law they have in R^d.

    Examples
    --------
    >>> s = Setting.make(3, 10**6, 0.05, "exact")
    >>> naive, means = draw_naive(np.random.default_rng(0), s, np.zeros((3, 1)))
    >>> naive.shape == means.shape, np.round((naive**2).sum(axis=1) / 10**6, 2).tolist()
    (True, [1.0, 1.0, 1.0])
    """
    noise = compressed_noise(rng, setting.n_bags, setting.dim, means.shape[1]) / np.sqrt(setting.bag_size)
    padded = np.zeros_like(noise)
    padded[:, : means.shape[1]] = means
    return padded + noise, padded


def sq_distances(points: Array) -> Array:
    """Squared distances of all pairs.

    Returns
    -------
    ndarray of shape (B, B)
        Not negative, with zeros on the diagonal.

    Examples
    --------
    >>> sq_distances(np.array([[0.0], [2.0]]))
    array([[0., 4.],
           [4., 0.]])
    """
    return np.asarray(cdist(points, points, "sqeuclidean"))


def neighbors(setting: Setting, naive: Array) -> npt.NDArray[np.bool_]:
    """Run the similarity test on all pairs (eq:deftestsgaus).

    Returns
    -------
    ndarray of bool, shape (B, B)
        Row i marks the neighbors of bag i, the bag itself included.

    Examples
    --------
    >>> neighbors(Setting.make(2, 10**6, 0.05, "exact"), np.zeros((2, 5)))
    array([[ True,  True],
           [ True,  True]])
    """
    found = gaussian.is_neighbor(sq_distances(naive), setting.zeta, setting.dim, setting.bag_size)
    return np.asarray(found) | np.eye(len(naive), dtype=bool)
