"""How time grows with the number of bags B, their size N and the dimension d."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stbmta import Bags, bag_statistics, neighbor_averages

from .workloads import RBFWork

__all__ = ["Growth", "draw", "measure"]

RBF_SUMS = "RBF statistics"
LINEAR = "averages over neighbors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Times of one job over one size, the others fixed.

    Attributes
    ----------
    job : str
    over : {"B", "N", "d"}
    fixed : str
        The other sizes.
    sizes : list of int
    seconds : list of float
        CPU seconds on one thread.
    """

    job: str
    over: str
    fixed: str
    sizes: list[int]
    seconds: list[float]

    def fit(self) -> tuple[float, float]:
        """Return exponent and factor of the power law through the larger half of the sizes."""
        start = min(len(self.sizes) // 2, len(self.sizes) - 2)
        x, y = np.log(self.sizes[start:]), np.log(self.seconds[start:])
        exponent, constant = np.polyfit(x, y, 1)
        return float(exponent), float(np.exp(constant))

    def to_dict(self) -> dict[str, Any]:
        """Return everything that a program may want to read."""
        return {
            "job": self.job, "over": self.over, "fixed": self.fixed, "sizes": self.sizes,
            "seconds": self.seconds, "exponent": self.fit()[0],
        }  # fmt: skip


def _doublings(first: int, count: int) -> list[int]:
    return [first * 2**k for k in range(count)]


def measure(doublings: int = 6, rounds: int = 3) -> list[Growth]:
    """Time both jobs over sizes that double so many times less one."""
    plans: list[tuple[str, str, str, list[int], Callable[[int], Callable[[], object]]]] = [
        (RBF_SUMS, "B", "N=20, d=5", _doublings(50, doublings), lambda size: _rbf(size, 20, 5)),
        (RBF_SUMS, "N", "B=50, d=5", _doublings(20, doublings), lambda size: _rbf(50, size, 5)),
        (RBF_SUMS, "d", "B=100, N=20", _doublings(16, doublings), lambda size: _rbf(100, 20, size)),
        (LINEAR, "B", "d=100", _doublings(500, doublings), lambda size: _linear(size, 100)),
        (LINEAR, "d", "B=2000", _doublings(32, doublings), lambda size: _linear(2000, size)),
    ]
    return [
        Growth(job=job, over=over, fixed=fixed, sizes=sizes, seconds=_times(sizes, make, rounds))
        for job, over, fixed, sizes, make in plans
    ]


def _times(sizes: Sequence[int], make: Callable[[int], Callable[[], object]], rounds: int) -> list[float]:
    make(2)()  # compile
    found = []
    for size in sizes:
        job = make(size)
        times = []
        for _ in range(rounds):
            start = time.process_time()
            job()
            times.append(time.process_time() - start)
        found.append(min(times))
    return found


def _rbf(n_bags: int, bag_size: int, dim: int) -> Callable[[], object]:
    work = RBFWork("growth", n_bags, bag_size, dim)
    bags = work.bags()
    return lambda: bag_statistics(bags, work.kernel, n_threads=1)


def _linear(n_bags: int, dim: int) -> Callable[[], object]:
    """Means in clusters of ten, so that the number of neighbors stays the same."""
    rng = np.random.default_rng(0)
    centers = 10 * rng.normal(size=(n_bags // 10 + 1, dim))
    means: npt.NDArray[np.float64] = centers[np.arange(n_bags) // 10] + rng.normal(size=(n_bags, dim))
    bags = Bags.from_offsets(means, np.arange(n_bags + 1))
    return lambda: neighbor_averages(bags, 2.5, variance=1.0, n_threads=1)


def draw(growths: Sequence[Growth]) -> Any:
    """Draw the times on log axes with the fitted power laws, one panel a size.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import ScalarFormatter

    names = {"B": "number of bags B", "N": "points in a bag N", "d": "dimension d"}
    styles = {RBF_SUMS: ("#0072B2", "o"), LINEAR: ("#D55E00", "s")}  # Okabe and Ito
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    for ax, (over, name) in zip(figure.subplots(1, 3, sharey=True), names.items(), strict=True):
        for growth in (growth for growth in growths if growth.over == over):
            color, marker = styles[growth.job]
            exponent, factor = growth.fit()
            label = f"{growth.job}, {growth.fixed}: exponent {exponent:.2f}"
            ax.plot(growth.sizes, growth.seconds, marker, color=color, label=label)
            ax.plot(growth.sizes, factor * np.array(growth.sizes) ** exponent, "--", color=color, lw=1)
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.xaxis.set_major_formatter(ScalarFormatter())
        ax.set_xlabel(name)
        ax.grid(alpha=0.3)
        ax.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.17), frameon=False)
    figure.axes[0].set_ylabel("CPU seconds, one thread")
    return figure
