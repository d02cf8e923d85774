"""Data beyond memory and beyond one process: how long, in how much memory, and how close to the limit.

Each measurement runs in a process of its own, so that its peak memory is its own. Data are made block by block, as if
they were read from a file.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from stbmta import RBF, Bags, bag_statistics
from stbmta.benchmarks.faults import FAULTS, FaultRun, fault_run
from stbmta.scale.approximate import approximation_error
from stbmta.scale.features import RandomFourier
from stbmta.scale.means import mean_statistics
from stbmta.scale.stream import BagStream
from stbmta.validation.compare.outcome import Check

__all__ = [
    "CHECKS",
    "DaskRun",
    "FeatureRun",
    "LinearRun",
    "dask_overhead",
    "exponent",
    "faults",
    "feature_growth",
    "linear_growth",
]

CLUSTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearRun:
    """An STB estimate of many means in tiles.

    Attributes
    ----------
    n_bags, dim : int
    seconds : float
        Elapsed, of the comparison and the averages.
    peak : int
        Largest memory of the process, in bytes.
    rate, blas : float
        1e9 operations a second: of the comparison (2 B^2 d), and of a single-precision matrix product of BLAS in
        the same process.
    error : float
        Squared error of the estimates over that of the naive means.
    """

    n_bags: int
    dim: int
    seconds: float
    peak: int
    rate: float
    blas: float
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureRun:
    """Kernel mean embeddings of many points by random features.

    Attributes
    ----------
    n_points, n_bags : int
    seconds : float
        Elapsed, of the pass over the points, without making them.
    peak : int
    stated : float
        Error bar of an inner product: root mean square on some bags drawn at random.
    checked : float
        The same on other bags: it should agree with what is stated.
    bound : float
        The standard error that theory allows, (2 m)^(-1/2).
    """

    n_points: int
    n_bags: int
    seconds: float
    peak: int
    stated: float
    checked: float
    bound: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DaskRun:
    """Exact kernel statistics here and on a cluster of local processes.

    Attributes
    ----------
    workers : int
    here, there : float
        Seconds with as many threads as workers, and on the cluster.
    same_bits : bool
    """

    workers: int
    here: float
    there: float
    same_bits: bool

    @property
    def overhead(self) -> float:
        """Share of time that the cluster adds."""
        return self.there / self.here - 1


def _peak() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


# ---------------------------------------------------------------------- linear


def _clustered(n_bags: int, dim: int, seed: int) -> Iterator[tuple[Any, Any]]:
    """Make two points a bag, around means in clusters, some hundred bags at a time."""
    centers = np.random.default_rng(seed).standard_normal((CLUSTERS, dim))
    rng = np.random.default_rng(seed + 1)
    for start in range(0, n_bags, 1000):
        bags = np.repeat(np.arange(start, min(start + 1000, n_bags)), 2)
        yield centers[bags % CLUSTERS] + rng.standard_normal((len(bags), dim)), bags


def _sgemm(dim: int) -> float:
    """Measure the rate of a single-precision product of the shape of the comparison, on all threads."""
    a, b = np.random.default_rng(0).standard_normal((2, 4096, dim)).astype(np.float32)
    best = np.inf
    for _ in range(5):
        start = time.perf_counter()
        a @ b.T  # of two matrices: for a @ a.T NumPy computes a half and copies it
        best = min(best, time.perf_counter() - start)
    return 2 * 4096**2 * dim / best / 1e9


def linear_run(n_bags: int, dim: int) -> LinearRun:
    """Estimate many means by STB, from a stream, in tiles."""
    from stbmta.linear import neighbor_averages

    warm = Bags.from_offsets(np.random.default_rng(0).standard_normal((400, dim)), np.arange(0, 401, 2))
    neighbor_averages(warm, 1.0)
    blas = _sgemm(dim)
    stream = BagStream([partial(_clustered, n_bags, dim, 0)])
    s = mean_statistics(stream)
    start = time.perf_counter()
    found = neighbor_averages(s, 1.0)
    seconds = time.perf_counter() - start
    estimate = found.averages
    truth = np.random.default_rng(0).standard_normal((CLUSTERS, dim))
    some = np.random.default_rng(1).choice(n_bags, 2000, replace=False)
    target = truth[s.labels[some] % CLUSTERS]
    error = ((estimate[some] - target) ** 2).sum() / ((s.means[some] - target) ** 2).sum()
    rate = 2.0 * n_bags**2 * dim / seconds / 1e9
    return LinearRun(
        n_bags=n_bags, dim=dim, seconds=seconds, peak=_peak(), rate=rate, blas=blas, error=float(error)
    )


def linear_growth(n_bags: int = 100_000, dim: int = 1000) -> list[LinearRun]:
    """Run a quarter, a half and all of the bags: the time should grow by 4 each time."""
    return [_apart("linear_run", LinearRun, n_bags // k, dim) for k in (4, 2, 1)]


# ---------------------------------------------------------------------- features


def _points(n_points: int, n_bags: int, dim: int, seed: int, clock: list[float]) -> Iterator[tuple[Any, Any]]:
    """Make points in random order, a hundred thousand at a time; the time that takes is not counted."""
    centers = np.random.default_rng(seed).standard_normal((n_bags, dim))
    for k, start in enumerate(range(0, n_points, 100_000)):
        before = time.perf_counter()
        rng = np.random.default_rng([seed, k])
        bags = rng.integers(0, n_bags, min(100_000, n_points - start))
        block = centers[bags] + rng.standard_normal((len(bags), dim))
        clock[0] += time.perf_counter() - before
        yield block, bags


def feature_run(n_points: int, n_bags: int, dim: int, n_features: int) -> FeatureRun:
    """Average random Fourier features of many points, and compare with exact kernel means on some bags."""
    features = RandomFourier.draw(RBF(float(np.sqrt(dim))), dim, n_features, rng=0)
    mean_statistics(BagStream([partial(_points, 1000, 10, dim, 1, [0.0])]), features=features)  # compile
    clock = [0.0]
    stream = BagStream([partial(_points, n_points, n_bags, dim, 0, clock)])
    start = time.perf_counter()
    s = mean_statistics(stream, features=features)
    seconds = time.perf_counter() - start - clock[0]
    peak = _peak()
    drawn = np.random.default_rng(3).choice(s.labels, 80, replace=False)
    kept = [(X[np.isin(g, drawn)], g[np.isin(g, drawn)]) for X, g in stream.parts[0]()]
    bags = Bags.from_groups(np.concatenate([X for X, _ in kept]), np.concatenate([g for _, g in kept]))
    stated = approximation_error(s, bags[:40], n_bags=40)
    checked = approximation_error(s, bags[40:], n_bags=40)
    return FeatureRun(
        n_points=n_points,
        n_bags=len(s),
        seconds=seconds,
        peak=peak,
        stated=stated.deviation,
        checked=checked.deviation,
        bound=1 / np.sqrt(n_features),
    )


def feature_growth(
    n_points: int = 10_000_000, n_bags: int = 100_000, dim: int = 12, n_features: int = 1024
) -> list[FeatureRun]:
    """Run a quarter, a half and all of the points: the time should double each time."""
    return [_apart("feature_run", FeatureRun, n_points // k, n_bags, dim, n_features) for k in (4, 2, 1)]


# ---------------------------------------------------------------------- clusters


def dask_run(workers: int, n_points: int, dim: int) -> DaskRun:
    """Compute the same exact statistics with threads here and with processes of a local cluster."""
    from dask.distributed import Client, LocalCluster

    rng = np.random.default_rng(0)
    bags = Bags.from_offsets(rng.standard_normal((n_points, dim)), np.arange(0, n_points + 1, 100))
    small, kernel = bags[:200], RBF(3.0)
    options = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        bag_statistics(small, kernel, n_threads=workers)  # compile, here and there
        bag_statistics(small, kernel, client=client)
        start = time.perf_counter()
        here = bag_statistics(bags, kernel, n_threads=workers)
        middle = time.perf_counter()
        there = bag_statistics(bags, kernel, client=client)
        end = time.perf_counter()
    return DaskRun(
        workers=workers,
        here=middle - start,
        there=end - middle,
        same_bits=bool((here.gram == there.gram).all()),
    )


def dask_overhead(n_points: int = 600_000, dim: int = 12) -> list[DaskRun]:
    """Compare one machine with a cluster of one and of two processes, on a job of about a minute."""
    return [_apart("dask_run", DaskRun, workers, n_points, dim) for workers in (1, 2)]


def faults(n_points: int = 300_000) -> list[FaultRun]:
    """Let workers die in the middle of the work, run out of memory, and be gone."""
    return [_apart("fault_run", FaultRun, number, n_points) for number in range(len(FAULTS))]


# ---------------------------------------------------------------------- what must be reached


def exponent(sizes: list[float], seconds: list[float]) -> float:
    """Return the power of the size with which the time grows.

    Examples
    --------
    >>> round(exponent([1, 2, 4], [1.0, 4.0, 16.0]), 6)
    2.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def linear_checks(runs: list[LinearRun]) -> list[Check]:
    """Check memory and speed of the largest run, and that the time grows with the square of the bags."""
    last = runs[-1]
    growth = exponent([run.n_bags for run in runs], [run.seconds for run in runs])
    return [
        _check("peak memory, GiB", last.peak / 2**30, most=4.0),
        _check("share of the rate of BLAS", last.rate / last.blas, least=0.5),
        _check("time grows as B to the power of", growth, least=1.8, most=2.2),
    ]


def feature_checks(runs: list[FeatureRun]) -> list[Check]:
    """Check memory, that the time is linear in the points, and that the stated error holds for other bags."""
    last = runs[-1]
    growth = exponent([run.n_points for run in runs], [run.seconds for run in runs])
    return [
        _check("peak memory, GiB", last.peak / 2**30, most=4.0),
        _check("time grows as n to the power of", growth, least=0.8, most=1.2),
        _check("error on other bags over the stated one", last.checked / last.stated, most=1.5),
        _check("stated error over what theory allows", last.stated / last.bound, most=1.0),
    ]


def dask_checks(runs: list[DaskRun]) -> list[Check]:
    """Check that a cluster gives the same bits, and what it adds to the time."""
    return [
        check
        for run in runs
        for check in (
            _check(f"overhead of {run.workers} processes", run.overhead, most=0.2),
            _check(f"same bits on {run.workers} processes (1: yes)", float(run.same_bits), least=1.0),
        )
    ]


def fault_checks(runs: list[FaultRun]) -> list[Check]:
    """Check that every fault ends in the same result or in a clear error."""
    return [_check(f"{run.fault} (1: as it should)", float(run.good), least=1.0) for run in runs]


def _check(name: str, found: float, *, least: float | None = None, most: float | None = None) -> Check:
    return Check(name=name, found=found, standard_error=float("nan"), least=least, most=most)


CHECKS: dict[str, Callable[[Any], list[Check]]] = {
    "linear": linear_checks,
    "features": feature_checks,
    "dask": dask_checks,
    "faults": fault_checks,
}


# ---------------------------------------------------------------------- processes


def _apart(job: str, kind: Callable[..., Any], *arguments: int) -> Any:
    """Run one measurement in a process of its own."""
    command = [sys.executable, "-m", __name__, job, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{job} {arguments} failed:\n{done.stderr[-2000:]}")
    return kind(**json.loads(done.stdout.splitlines()[-1]))


JOBS: dict[str, Callable[..., Any]] = {
    "linear_run": linear_run,
    "feature_run": feature_run,
    "dask_run": dask_run,
    "fault_run": fault_run,
}

if __name__ == "__main__":
    print(json.dumps(asdict(JOBS[sys.argv[1]](*map(int, sys.argv[2:])))))
