r"""Data to try things on: the paper's models, and real data (:mod:`stbmta.realdata`).

The models return bags together with what is true of them. Real data are returned whole; take small bags
of them with ``bags.subsample`` and use the whole bags as the truth.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .bags import RNG, Bags
from .realdata import (
    load_digits_blocks,
    load_elnino,
    load_fair,
    load_flights,
    load_misr1,
    load_randhie,
)

__all__ = [
    "MeansSample",
    "RotatedGaussians",
    "cluster",
    "load_digits_blocks",
    "load_elnino",
    "load_fair",
    "load_flights",
    "load_misr1",
    "load_randhie",
    "rotated_gaussians",
    "sparse",
    "sphere",
    "unif",
]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeansSample:
    """Bags drawn around known means.

    Attributes
    ----------
    bags : Bags
    means : ndarray of shape (B, d)
        The true means.
    """

    bags: Bags
    means: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class RotatedGaussians:
    """Bags drawn from two-dimensional Gaussians.

    Attributes
    ----------
    bags : Bags
    means : ndarray of shape (B, 2)
    covariances : ndarray of shape (B, 2, 2)
    """

    bags: Bags
    means: Array
    covariances: Array

    def draw(self, bag_size: int, rng: RNG = None) -> Bags:
        """Draw independent bags of the same distributions, all of one size.

        Parameters
        ----------
        bag_size : int
            Points of each bag.
        rng : {None, int, numpy.random.Generator}, optional
            Draws the points.

        Returns
        -------
        Bags
            One bag for each Gaussian, in the same order.

        Examples
        --------
        >>> rotated_gaussians(3, 10, rng=0).draw(1000, rng=1).sizes
        array([1000, 1000, 1000])
        """
        n_bags, dim = self.means.shape
        noise = np.random.default_rng(rng).standard_normal((n_bags, bag_size, dim))
        points = self.means[:, None] + noise @ np.linalg.cholesky(self.covariances).swapaxes(1, 2)
        return Bags.from_offsets(points.reshape(-1, dim), np.arange(n_bags + 1) * bag_size)


def _gaussian_bags(means: Array, bag_size: int, rng: np.random.Generator) -> MeansSample:
    """Draw bags of N(mean, I) around each mean (the paper's setting GI)."""
    n_bags, dim = means.shape
    points = np.repeat(means, bag_size, axis=0) + rng.standard_normal((n_bags * bag_size, dim))
    return MeansSample(bags=Bags.from_offsets(points, np.arange(n_bags + 1) * bag_size), means=means)


def _check_count(name: str, count: int, dim: int) -> None:
    """Refuse more coordinates than there are, and none."""
    if not 1 <= count <= dim:
        raise ValueError(f"{name}={count} must lie between 1 and dim={dim}.")


def unif(
    n_bags: int = 2000, dim: int = 1000, *, bag_size: int = 1, active: int = 10, rng: RNG = None
) -> MeansSample:
    """Draw from the model UNIF: means uniform on the cube [-20, 20]^10 of a 1000-dimensional space.

    Parameters
    ----------
    n_bags, dim, bag_size : int
        Number of bags, dimension of the points, and points of each bag.
    active : int, default=10
        Dimension of the cube; the other coordinates of the means are 0.
    rng : {None, int, numpy.random.Generator}, optional
        Draws means and points.

    Returns
    -------
    MeansSample
        The bags, with their true means.

    Examples
    --------
    >>> unif(5, 20, rng=0).bags
    Bags(5 bags, 5 points, dim 20, size 1, float64, 800 B)
    """
    _check_count("active", active, dim)
    generator = np.random.default_rng(rng)
    means = np.zeros((n_bags, dim))
    means[:, :active] = generator.uniform(-20, 20, (n_bags, active))
    return _gaussian_bags(means, bag_size, generator)


def cluster(
    n_bags: int = 2000,
    dim: int = 1000,
    *,
    bag_size: int = 1,
    n_clusters: int = 20,
    spread: float = 0.1,
    rng: RNG = None,
) -> MeansSample:
    """Draw from the model CLUSTER: means close to 20 centers drawn from N(0, I).

    Parameters
    ----------
    n_bags, dim, bag_size, n_clusters : int
        Number of bags, dimension of the points, points of each bag, and number of centers.
    spread : float, default=0.1
        Standard deviation of the coordinates of the means around their center. The paper's text says
        variance 0.1; its table needs standard deviation 0.1, and so does the authors' code.
    rng : {None, int, numpy.random.Generator}, optional
        Draws means and points.

    Returns
    -------
    MeansSample
        The bags, with their true means.

    Examples
    --------
    >>> cluster(5, 20, n_clusters=2, rng=0).means.shape
    (5, 20)
    """
    if n_clusters < 1:
        raise ValueError(f"n_clusters={n_clusters}: there must be a cluster.")
    generator = np.random.default_rng(rng)
    centers = generator.standard_normal((n_clusters, dim))
    member = generator.integers(n_clusters, size=n_bags)
    means = centers[member] + spread * generator.standard_normal((n_bags, dim))
    return _gaussian_bags(means, bag_size, generator)


def sphere(
    n_bags: int = 2000,
    dim: int = 1000,
    *,
    bag_size: int = 1,
    active: int = 6,
    radius: float = 50.0,
    rng: RNG = None,
) -> MeansSample:
    """Draw from the model SPHERE: means uniform on a sphere of radius 50 in six of 1000 coordinates.

    Parameters
    ----------
    n_bags, dim, bag_size : int
        Number of bags, dimension of the points, and points of each bag.
    active : int, default=6
        Dimension of the space that holds the sphere.
    radius : float, default=50.0
        Distance of the means from 0.
    rng : {None, int, numpy.random.Generator}, optional
        Draws means and points.

    Returns
    -------
    MeansSample
        The bags, with their true means.

    Examples
    --------
    >>> np.linalg.norm(sphere(3, 20, rng=0).means, axis=1)
    array([50., 50., 50.])
    """
    _check_count("active", active, dim)
    generator = np.random.default_rng(rng)
    directions = generator.standard_normal((n_bags, active))
    means = np.zeros((n_bags, dim))
    means[:, :active] = radius * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    return _gaussian_bags(means, bag_size, generator)


def sparse(
    n_bags: int = 2000,
    dim: int = 50,
    *,
    bag_size: int = 1,
    n_nonzero: int = 2,
    largest: float = 20.0,
    rng: RNG = None,
) -> MeansSample:
    """Draw from the model SPARSE: two random coordinates of each mean are uniform on [0, 20], the others 0.

    Parameters
    ----------
    n_bags, dim, bag_size, n_nonzero : int
        Number of bags, dimension of the points, points of each bag, and coordinates of each mean that are not 0.
    largest : float, default=20.0
        Upper end of the interval of the uniform coordinates.
    rng : {None, int, numpy.random.Generator}, optional
        Draws means and points.

    Returns
    -------
    MeansSample
        The bags, with their true means.

    Examples
    --------
    >>> (sparse(3, 50, rng=0).means > 0).sum(axis=1)
    array([2, 2, 2])
    """
    _check_count("n_nonzero", n_nonzero, dim)
    generator = np.random.default_rng(rng)
    means = np.zeros((n_bags, dim))
    chosen = generator.random((n_bags, dim)).argsort(axis=1)[:, :n_nonzero]
    np.put_along_axis(means, chosen, generator.uniform(0, largest, (n_bags, n_nonzero)), axis=1)
    return _gaussian_bags(means, bag_size, generator)


def rotated_gaussians(
    n_bags: int = 50,
    bag_size: int | npt.ArrayLike = 50,
    *,
    radius: float = 0.0,
    n_clusters: int = 5,
    rng: RNG = None,
) -> RotatedGaussians:
    """Draw the paper's toy data: Gaussians in the plane with covariance diag(1, 10) turned by a random angle.

    Parameters
    ----------
    n_bags : int, default=50
        Number of bags.
    bag_size : int or array-like of shape (n_bags,), default=50
        Points of a bag: one number for all or one a bag.
    radius : float, default=0.0
        Clusters of bags are centered at equal distances on a circle of this radius (setting d).
    n_clusters : int, default=5
        Number of clusters, nearly equal in size; the bags of a cluster follow each other.
    rng : {None, int, numpy.random.Generator}, optional
        Angles are uniform between -pi/4 and pi/4.

    Returns
    -------
    RotatedGaussians
        The bags, with mean and covariance of each Gaussian.

    Examples
    --------
    >>> rotated_gaussians(3, [10, 20, 30], rng=0).bags.sizes
    array([10, 20, 30])
    """
    found = np.asarray(bag_size)
    if found.dtype.kind not in "iu" or found.shape not in ((), (n_bags,)):
        raise ValueError(f"bag_size={bag_size!r} must be an integer, or {n_bags} of them, one for each bag.")
    if n_clusters < 1:
        raise ValueError(f"n_clusters={n_clusters}: there must be a cluster.")
    generator = np.random.default_rng(rng)
    sizes = np.broadcast_to(found.astype(np.int64), (n_bags,))
    angles = generator.uniform(-np.pi / 4, np.pi / 4, n_bags)
    rotations = np.moveaxis(
        np.array([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]]), 2, 0
    )
    covariances = rotations @ np.diag([1.0, 10.0]) @ rotations.swapaxes(1, 2)
    place = 2 * np.pi * (np.arange(n_bags) * n_clusters // n_bags) / n_clusters
    means = radius * np.column_stack([np.cos(place), np.sin(place)])
    bag_of = np.repeat(np.arange(n_bags), sizes)
    noise = generator.standard_normal((len(bag_of), 2)) * np.sqrt([1.0, 10.0])
    points = means[bag_of] + np.einsum("nij,nj->ni", rotations[bag_of], noise)
    bags = Bags.from_offsets(points, np.r_[0, np.cumsum(sizes)])
    return RotatedGaussians(bags=bags, means=means, covariances=covariances)
