"""Job R side by side: who needs how long for the sums of kernel values between bags."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from . import limits, peers
from .workloads import JOB_R, RBFWork

__all__ = ["Race", "race"]

OURS = "stbmta"
# Kernel values of the sample that slow peers are timed on.
_SLOW_PAIRS = 5e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """Times of all contenders on one workload.

    Attributes
    ----------
    work : str
    n_threads : int
    seconds : dict
        Best time of each contender; CPU seconds for one thread, elapsed for more.
    disagreement : dict
        Largest relative difference of each peer's sums from ours.
    rate : float
        Our 1e9 kernel values a second and core.
    limit : float
        What the ports of a core allow (see :mod:`benchmarks.limits`).
    """

    work: str
    n_threads: int
    seconds: dict[str, float]
    disagreement: dict[str, float]
    rate: float
    limit: float

    def ratio(self, peer: str) -> float:
        """Return how many times slower a peer is."""
        return self.seconds[peer] / self.seconds[OURS]

    def to_dict(self) -> dict[str, Any]:
        """Return everything that a program may want to read."""
        return {
            "work": self.work,
            "n_threads": self.n_threads,
            "seconds": self.seconds,
            "ratio": {peer: self.ratio(peer) for peer in self.seconds},
            "disagreement": self.disagreement,
            "rate": self.rate,
            "limit": self.limit,
            "share_of_limit": self.rate / self.limit,
        }


def interleaved(
    jobs: dict[str, Callable[[], object]], rounds: int, clock: Callable[[], float]
) -> dict[str, float]:
    """Run the jobs in turns and return the best time of each."""
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(rounds):
        for name, job in jobs.items():
            start = clock()
            job()
            best[name] = min(best[name], clock() - start)
    return best


def race(
    work: RBFWork,
    n_threads: int,
    *,
    rounds: int = 3,
    limit: limits.Limits | None = None,
    only: Iterable[str] | None = None,
) -> Race:
    """Let everybody do one workload.

    Parameters
    ----------
    work : RBFWork
    n_threads : int
    rounds : int, default=3
        The best of them counts.
    limit : Limits, optional
        Measured now by default.
    only : iterable of str, optional
        The peers to run; all that are installed by default.
    """
    from threadpoolctl import threadpool_limits

    bags, width = work.bags(), float(work.kernel.bandwidth)
    found = peers.available()
    if only is not None:
        found = {name: peer for name, peer in found.items() if name in only}
    with threadpool_limits(n_threads):
        reference = peers.ours(bags, width, n_threads)
        jobs: dict[str, Callable[[], object]] = {OURS: lambda: peers.ours(bags, width, n_threads)}
        disagreement = {}
        scale = dict.fromkeys(found, 1.0)
        for name, peer in found.items():
            if name in peers.SLOW and work.pairs > _SLOW_PAIRS:
                rows = max(1, int(work.n_bags * _SLOW_PAIRS / work.pairs))
                scale[name] = (work.n_bags + 1) / 2 / rows
                jobs[name] = partial(peers.SLOW[name], bags, rows, width)
            else:
                jobs[name] = partial(peer, bags, width, n_threads)
            sums = jobs[name]()  # also compiles
            disagreement[name] = float(np.max(np.abs(sums / reference[: len(sums)] - 1)))
        worst = max(disagreement.values(), default=0.0)
        if worst > 1e-8:
            raise RuntimeError(f"the contenders disagree: {disagreement}.")
        rates = limits.measure() if limit is None else limit
        clock = time.process_time if n_threads == 1 else time.perf_counter
        seconds = interleaved(jobs, rounds, clock)
    for name, factor in scale.items():
        seconds[name] *= factor
    return Race(
        work=work.name,
        n_threads=n_threads,
        seconds=seconds,
        disagreement=disagreement,
        rate=work.pairs / seconds[OURS] / n_threads / 1e9,
        limit=rates.rbf(work.dim),
    )


def main() -> None:
    """Run W1 to W3 quickly."""
    for name in ("W1", "W2", "W3", "W5"):
        result = race(JOB_R[name], 1)
        print(
            name,
            {k: round(result.ratio(k), 2) for k in result.seconds},
            result.rate,
            result.rate / result.limit,
        )


if __name__ == "__main__":
    main()
