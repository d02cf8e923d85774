"""Side by side: who needs how long for the same work."""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from . import peers, peers_linear
from .limits import Limits
from .workloads import LinearWork, RBFWork

__all__ = ["OURS", "SINGLE", "Race", "interleaved", "race"]

OURS = "stbmta"
SINGLE = "stbmta, float32"
# Kernel values of the sample that slow peers are timed on.
_SLOW_PAIRS = 5e6
# How far results may be apart, relative: rounding, and single precision where it was asked for.
_AGREEMENT = 1e-8
_AGREEMENT_SINGLE = 1e-5

Job = Callable[[], npt.NDArray[np.float64]]


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
        Largest relative difference of each contender's result from ours.
    failed : dict
        Contenders that are installed but do not run, and why.
    rate : float
        Our 1e9 pairs a second and core.
    limit : float
        What the machine allows (see `limits`): for Job R the port limit.
    multiply_add_limit : float
        The same if only multiply-adds count.
    """

    work: str
    n_threads: int
    seconds: dict[str, float]
    disagreement: dict[str, float]
    failed: dict[str, str]
    rate: float
    limit: float
    multiply_add_limit: float

    def ratio(self, name: str) -> float:
        """Return how many times slower a contender is than this package."""
        return self.seconds[name] / self.seconds[OURS]

    def to_dict(self) -> dict[str, Any]:
        """Return everything that a program may want to read."""
        return {
            "work": self.work,
            "n_threads": self.n_threads,
            "seconds": self.seconds,
            "ratio": {name: self.ratio(name) for name in self.seconds},
            "disagreement": self.disagreement,
            "failed": self.failed,
            "rate": self.rate,
            "limit": self.limit,
            "share_of_limit": self.rate / self.limit,
            "share_of_multiply_add_limit": self.rate / self.multiply_add_limit,
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
    work: RBFWork | LinearWork,
    n_threads: int,
    limits: Limits,
    *,
    rounds: int = 3,
    only: Collection[str] | None = None,
) -> Race:
    """Let everybody do one workload.

    Parameters
    ----------
    work : RBFWork or LinearWork
    n_threads : int
    limits : Limits
        Measured in the same run.
    rounds : int, default=3
        The best of them counts.
    only : collection of str, optional
        The peers to run; all that are installed by default.
    """
    from threadpoolctl import threadpool_limits

    jobs, scale = _job_r(work, n_threads) if isinstance(work, RBFWork) else _job_l(work, n_threads)
    if only is not None:
        jobs = {name: job for name, job in jobs.items() if name == OURS or name in only}
    with threadpool_limits(n_threads):
        disagreement, failed = _first_runs(jobs)  # they also compile
        jobs = {name: job for name, job in jobs.items() if name not in failed}
        clock = time.process_time if n_threads == 1 else time.perf_counter
        seconds = interleaved(dict(jobs), rounds, clock)
    seconds = {name: value * scale.get(name, 1.0) for name, value in seconds.items()}
    if isinstance(work, RBFWork):
        limit, multiply_adds = limits.rbf(work.dim), limits.rbf_multiply_adds(work.dim)
    else:
        limit = multiply_adds = limits.linear(work.dim)
    return Race(
        work=work.name,
        n_threads=n_threads,
        seconds=seconds,
        disagreement=disagreement,
        failed=failed,
        rate=work.pairs / seconds[OURS] / n_threads / 1e9,
        limit=limit,
        multiply_add_limit=multiply_adds,
    )


def _job_r(work: RBFWork, n_threads: int) -> tuple[dict[str, Job], dict[str, float]]:
    """Return the contenders, and by how much to scale the times of those that do only a part."""
    bags, width = work.bags(), work.width
    everybody = {OURS: peers.ours, SINGLE: peers.ours_single} | peers.available(peers.PEERS)
    jobs: dict[str, Job] = {}
    scale = {}
    for name, contender in everybody.items():
        if name in peers.SLOW and work.pairs > _SLOW_PAIRS:
            rows = max(1, int(work.n_bags * _SLOW_PAIRS / work.pairs / 2))
            scale[name] = (work.n_bags + 1) / 2 / rows
            jobs[name] = partial(peers.SLOW[name], bags, rows, width)
        else:
            jobs[name] = partial(contender, bags, width, n_threads)
    return jobs, scale


def _job_l(work: LinearWork, n_threads: int) -> tuple[dict[str, Job], dict[str, float]]:
    means = work.means()
    everybody = {OURS: peers_linear.ours} | peers.available(peers_linear.PEERS)
    return {name: partial(job, means, work.threshold, n_threads) for name, job in everybody.items()}, {}


def _first_runs(jobs: dict[str, Job]) -> tuple[dict[str, float], dict[str, str]]:
    """Return how far each result is from ours, and which peers fail; refuse contenders that do different things."""
    reference = jobs[OURS]()
    size = np.abs(reference).max()
    found, failed = {}, {}
    for name, job in jobs.items():
        if name == OURS:
            continue
        try:
            result = job()
        except Exception as error:  # a package that is installed and broken must not cost the whole run
            if name == SINGLE:
                raise
            failed[name] = f"{type(error).__name__}: {error}"
            continue
        part = reference[: len(result)]
        found[name] = float(np.max(np.abs(result - part) / np.maximum(np.abs(part), 1e-3 * size)))
        if not found[name] <= (_AGREEMENT_SINGLE if name == SINGLE else _AGREEMENT):
            raise RuntimeError(f"{name} disagrees with {OURS}: relative difference {found[name]:.3g}.")
    return found, failed
