"""The work that is timed.

Job R: the B x B sums of the RBF kernel between bags. Job L: pairwise distances of B naive means, threshold,
average of the neighbors, without a B x B matrix.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stbmta import RBF, Bags

__all__ = ["JOB_L", "JOB_R", "LinearWork", "RBFWork", "chosen"]


@dataclass(frozen=True)
class RBFWork:
    """Bags for Job R: B bags of N points in d dimensions.

    Examples
    --------
    >>> print(JOB_R["W1"])
    W1 (B=300, N=50, d=2)
    """

    name: str
    n_bags: int
    bag_size: int
    dim: int

    @property
    def pairs(self) -> float:
        """Kernel values in the symmetric half."""
        return (self.n_bags * self.bag_size) ** 2 / 2

    @property
    def width(self) -> float:
        """A width of the kernel that fits standard normal points."""
        return float(np.sqrt(self.dim))

    @property
    def kernel(self) -> RBF:
        """The kernel."""
        return RBF(self.width)

    def bags(self) -> Bags:
        """Draw the data."""
        points = np.random.default_rng(0).normal(size=(self.n_bags * self.bag_size, self.dim))
        return Bags.from_offsets(points, np.arange(self.n_bags + 1) * self.bag_size)

    def __str__(self) -> str:
        return f"{self.name} (B={self.n_bags}, N={self.bag_size}, d={self.dim})"


@dataclass(frozen=True)
class LinearWork:
    """Means for Job L: B means in d dimensions, in 200 clusters, one observation each.

    Examples
    --------
    >>> print(JOB_L["L1"])
    L1 (B=2000, d=1000)
    """

    name: str
    n_bags: int
    dim: int
    zeta: float = 2.5
    n_clusters: int = 200

    @property
    def pairs(self) -> float:
        """Pairs of bags; neighbors are not symmetric in general."""
        return float(self.n_bags) ** 2

    @property
    def threshold(self) -> float:
        """The squared distance up to which means are neighbors (eq. deftestsgaus with variance 1)."""
        return self.zeta * self.dim

    def means(self) -> npt.NDArray[np.float64]:
        """Draw the naive means."""
        rng = np.random.default_rng(0)
        centers = rng.normal(size=(self.n_clusters, self.dim))
        cluster = rng.integers(self.n_clusters, size=self.n_bags)
        return centers[cluster] + rng.normal(size=(self.n_bags, self.dim))

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
JOB_L = {
    work.name: work
    for work in (
        LinearWork("L1", 2000, 1000),
        LinearWork("L2", 20_000, 1000),
        LinearWork("L3", 2000, 1000, n_clusters=2),  # half of all bags are neighbors
    )
}


def chosen(names: list[str]) -> list[Any]:
    """Return the workloads with these names.

    Examples
    --------
    >>> [str(work) for work in chosen(["W2", "L1"])]
    ['W2 (B=50, N=300, d=2)', 'L1 (B=2000, d=1000)']
    """
    known = JOB_R | JOB_L
    for name in names:
        if name not in known:
            raise ValueError(f"there is no workload {name!r}; choose from {', '.join(known)}.")
    return [known[name] for name in names]
