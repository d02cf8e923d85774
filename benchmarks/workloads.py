"""The work that is timed.

Job R: the B x B sums of the RBF kernel between bags. Job L: pairwise distances of B naive means, threshold,
average of the neighbors, without a B x B matrix.
"""

from dataclasses import dataclass

import numpy as np

from stbmta import RBF, Bags

__all__ = ["JOB_L", "JOB_R", "LinearWork", "RBFWork"]


@dataclass(frozen=True)
class RBFWork:
    """Bags for Job R: B bags of N points in d dimensions."""

    name: str
    n_bags: int
    bag_size: int
    dim: int

    @property
    def pairs(self) -> float:
        """Kernel values in the symmetric half."""
        return (self.n_bags * self.bag_size) ** 2 / 2

    @property
    def kernel(self) -> RBF:
        """An RBF kernel whose width fits standard normal points."""
        return RBF(float(np.sqrt(self.dim)))

    def bags(self) -> Bags:
        """Draw the data."""
        points = np.random.default_rng(0).normal(size=(self.n_bags * self.bag_size, self.dim))
        return Bags.from_offsets(points, np.arange(self.n_bags + 1) * self.bag_size)

    def __str__(self) -> str:
        return f"{self.name} (B={self.n_bags}, N={self.bag_size}, d={self.dim})"


@dataclass(frozen=True)
class LinearWork:
    """Means for Job L: B means in d dimensions, in clusters, one observation each."""

    name: str
    n_bags: int
    dim: int
    zeta: float = 2.5

    def means(self) -> np.ndarray:
        """Draw the naive means: 200 clusters of the model CLUSTER."""
        rng = np.random.default_rng(0)
        centers = rng.normal(size=(200, self.dim))
        return centers[rng.integers(200, size=self.n_bags)] + rng.normal(size=(self.n_bags, self.dim))

    def __str__(self) -> str:
        return f"{self.name} (B={self.n_bags}, d={self.dim})"


JOB_R = {
    work.name: work
    for work in (
        RBFWork("W1", 300, 50, 2),
        RBFWork("W2", 50, 300, 2),
        RBFWork("W3", 800, 20, 12),
        RBFWork("W4", 800, 100, 12),
        RBFWork("W5", 200, 50, 784),
    )
}
JOB_L = {work.name: work for work in (LinearWork("L1", 2000, 1000), LinearWork("L2", 20_000, 1000))}
