"""Means to estimate: the paper's models in any dimension, and configurations chosen to hurt.

Each function gives the means in the few coordinates they span, for bags of one point with standard normal noise, so
sigma-bar^2 = d. The paper's models are stretched with sqrt(d), so that they look the same in units of sigma-bar.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .wishart import compressed_noise

__all__ = ["MODELS", "PAPER_DIM", "draw_means", "simplex"]

Array = npt.NDArray[np.float64]

PAPER_DIM = {"unif": 1000, "cluster": 1000, "sphere": 1000, "sparse": 50}
"""Dimensions in the paper, at which nothing is stretched."""

FAR = 100.0
"""Squared distance, in units of sigma-bar^2, of what has nothing in common."""


def draw_means(
    model: str, rng: np.random.Generator, n_bags: int, dim: int, tau: float, tau_prime: float
) -> Array:
    """Draw the means of a model.

    Parameters
    ----------
    model : str
        A key of `MODELS`.
    rng : numpy.random.Generator
        Draws the means; the adversarial models are fixed.
    n_bags, dim : int
        B and d.
    tau, tau_prime : float
        Squared radii of the tests in units of sigma-bar^2; the adversarial models put their means there.

    Returns
    -------
    ndarray of shape (B, coordinates)
        In the few coordinates that the means span.

    Examples
    --------
    >>> draw_means("simplex at tau", np.random.default_rng(0), 2, 100, tau=0.5, tau_prime=0.1)
    array([[5., 0.],
           [0., 5.]])
    """
    if model not in MODELS:
        raise ValueError(f"there is no model {model!r}; choose one of {', '.join(MODELS)}.")
    return MODELS[model](rng, n_bags, dim, tau * dim, tau_prime * dim)


def simplex(n_bags: int, sq_distance: float) -> Array:
    """Means that are all at the same squared distance from each other.

    Returns
    -------
    ndarray of shape (B, B)
        Multiples of the unit vectors, one row a mean.

    Examples
    --------
    >>> simplex(2, 8.0)
    array([[2., 0.],
           [0., 2.]])
    """
    return np.sqrt(sq_distance / 2) * np.eye(n_bags)


def _unif(rng: np.random.Generator, n_bags: int, dim: int, tau2: float, prime2: float) -> Array:
    return np.sqrt(dim / PAPER_DIM["unif"]) * rng.uniform(-20, 20, (n_bags, 10))


def _cluster(rng: np.random.Generator, n_bags: int, dim: int, tau2: float, prime2: float) -> Array:
    # Centers and deviations fill the whole space; together they span n_clusters + B coordinates of it.
    n_clusters = min(20, max(n_bags // 5, 1))
    vectors = compressed_noise(rng, n_clusters + n_bags, dim)
    member = rng.integers(n_clusters, size=n_bags)
    return vectors[member] + 0.1 * vectors[n_clusters:]


def _sphere(rng: np.random.Generator, n_bags: int, dim: int, tau2: float, prime2: float) -> Array:
    directions = rng.standard_normal((n_bags, 6))
    radius = 50 * np.sqrt(dim / PAPER_DIM["sphere"])
    return radius * directions / np.linalg.norm(directions, axis=1, keepdims=True)


def _sparse(rng: np.random.Generator, n_bags: int, dim: int, tau2: float, prime2: float) -> Array:
    means = np.zeros((n_bags, PAPER_DIM["sparse"]))
    chosen = rng.random(means.shape).argsort(axis=1)[:, :2]
    np.put_along_axis(means, chosen, rng.uniform(0, 20, (n_bags, 2)), axis=1)
    return np.sqrt(dim / PAPER_DIM["sparse"]) * means


def _equal(rng: np.random.Generator, n_bags: int, dim: int, tau2: float, prime2: float) -> Array:
    return np.zeros((n_bags, 1))


def _apart(rng: np.random.Generator, n_bags: int, dim: int, tau2: float, prime2: float) -> Array:
    return simplex(n_bags, FAR * dim)


def _at_tau(rng: np.random.Generator, n_bags: int, dim: int, tau2: float, prime2: float) -> Array:
    return simplex(n_bags, tau2)


def _at_tau_prime(rng: np.random.Generator, n_bags: int, dim: int, tau2: float, prime2: float) -> Array:
    return simplex(n_bags, prime2)


def _one_direction(rng: np.random.Generator, n_bags: int, dim: int, tau2: float, prime2: float) -> Array:
    """One bag on one side, all others together on the other: every neighbor pulls the same way."""
    means = np.full((n_bags, 1), np.sqrt(0.999 * tau2))
    means[0] = 0.0
    return means


def _two_clusters(rng: np.random.Generator, n_bags: int, dim: int, tau2: float, prime2: float) -> Array:
    return np.sqrt(tau2) * (np.arange(n_bags) % 2)[:, np.newaxis].astype(float)


def _imbalance(rng: np.random.Generator, n_bags: int, dim: int, tau2: float, prime2: float) -> Array:
    """Most bags share one mean, some stand at the edge of being found, and the rest is alone far away."""
    crowd = int(0.8 * n_bags)
    lonely = n_bags - crowd
    means = np.zeros((n_bags, 1 + lonely))
    means[crowd:, 0] = np.sqrt(prime2)
    means[crowd + lonely // 2 :, 1 : 1 + lonely - lonely // 2] = simplex(lonely - lonely // 2, FAR * dim)
    return means


MODELS: dict[str, Callable[[np.random.Generator, int, int, float, float], Array]] = {
    "unif": _unif,
    "cluster": _cluster,
    "sphere": _sphere,
    "sparse": _sparse,
    "equal": _equal,
    "apart": _apart,
    "simplex at tau": _at_tau,
    "simplex at tau'": _at_tau_prime,
    "one direction": _one_direction,
    "two clusters": _two_clusters,
    "imbalance": _imbalance,
}
"""The paper's four models, then the adversarial ones."""
