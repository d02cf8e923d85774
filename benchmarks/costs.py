"""What else costs time or memory: threads, the averages' memory, a cold start, estimation after the statistics."""

import os
import signal
import subprocess
import sys
import time
import tracemalloc
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from stbmta import Bags, bag_statistics, known_means, neighbor_averages, neighbors, squared_error, weights
from stbmta.grid import neighbor_paths
from stbmta.tuning import tune_stb

from .race import interleaved
from .workloads import LinearWork, RBFWork

__all__ = [
    "AfterStatistics",
    "ColdStart",
    "Threads",
    "after_statistics",
    "cold_start",
    "interrupt_delay",
    "peak_memory",
    "threads",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """Elapsed seconds of one workload over the number of threads.

    Attributes
    ----------
    work : str
    seconds : dict
        Number of threads -> best elapsed time.
    identical : bool
        Whether the results are the same to the last bit.
    """

    work: str
    seconds: dict[int, float]
    identical: bool

    def speedup(self, n_threads: int) -> float:
        """Return how many times quicker it is than one thread."""
        return self.seconds[1] / self.seconds[n_threads]

    def to_dict(self) -> dict[str, Any]:
        """Return everything that a program may want to read."""
        return {**asdict(self), "speedup": {n: self.speedup(n) for n in self.seconds}}


def threads(work: RBFWork, counts: list[int], rounds: int = 3) -> Threads:
    """Time this package on one thread and on more, in turns."""
    bags, kernel = work.bags(), work.kernel
    grams = {n: bag_statistics(bags, kernel, n_threads=n).gram for n in sorted({1, *counts})}
    jobs: dict[str, Any] = {str(n): lambda n=n: bag_statistics(bags, kernel, n_threads=n) for n in grams}
    found = interleaved(jobs, rounds, time.perf_counter)
    return Threads(
        work=work.name,
        seconds={int(n): seconds for n, seconds in found.items()},
        identical=all(np.array_equal(gram, grams[1]) for gram in grams.values()),
    )


_INTERRUPTED = """
import numpy as np, stbmta, time
bags = stbmta.Bags.from_offsets(np.random.default_rng(0).normal(size=({n}, {dim})), [0, {n} // 2, {n}])
stbmta.bag_statistics(bags.subsample(10), stbmta.RBF(1.0))
print("started", flush=True)
try:
    stbmta.bag_statistics(bags, stbmta.RBF({dim} ** 0.5), n_threads={n_threads})
except KeyboardInterrupt:
    print(time.time(), flush=True)
"""


def interrupt_delay(
    n_threads: int,
    n_points: int = 200_000,
    dims: tuple[int, ...] = (8, 784, 5000),
    moments: tuple[float, ...] = (0.3, 1.0, 3.0),
) -> float:
    """Return the seconds from Ctrl-C to its effect in the middle of long work, the longest of several.

    It is sent at several moments: points are copied and laid out before kernel values are computed. With many
    coordinates fewer points are enough for long work; all together have at most 1.6e8 coordinates. Work that ends
    before the moment comes counts for nothing.
    """
    delays = []
    for dim, moment in product(dims, moments):
        n = min(n_points, 160_000_000 // dim)
        code = _INTERRUPTED.format(n=n, dim=dim, n_threads=n_threads)
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(moment)
            sent = time.time()
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            answer = process.stdout.readline()
            if answer:
                delays.append(float(answer) - sent)
    if not delays:
        raise RuntimeError("all work had ended before Ctrl-C was sent; more points are needed.")
    return max(delays)


def peak_memory(work: LinearWork) -> float:
    """Return the peak memory of Job L beyond its input, in bytes; results are included."""
    means = work.means()
    bags = Bags.from_offsets(means, np.arange(len(means) + 1))
    neighbor_averages(bags[:2], work.zeta, variance=1.0)  # compile
    tracemalloc.start()
    try:
        neighbor_averages(bags, work.zeta, variance=1.0)
        return float(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdStart:
    """CPU seconds of fresh processes, start of Python excluded, compiled code cached.

    Attributes
    ----------
    import_numba, import_stbmta : float
    numba_alone : float
        Import of Numba, and the call of a function of one line that it has in its cache: no package of
        compiled functions can answer earlier.
    first_statistics : float
        Import, statistics of small bags with the RBF kernel, neighbors, weights.
    import_sklearn : float
        After the import of stbmta: what a first use of the estimator classes waits for.
    first_estimator : float
        Import, and `STB(kernel="rbf").fit`, scikit-learn included.
    """

    import_numba: float
    import_stbmta: float
    numba_alone: float
    first_statistics: float
    import_sklearn: float
    first_estimator: float

    def to_dict(self) -> dict[str, float]:
        """Return the times, and the ratio of the two imports."""
        return {**asdict(self), "import_ratio": self.import_stbmta / self.import_numba}


_ALONE = """
import numba
@numba.njit(cache=True)
def twice(x):
    return 2 * x
twice(1.0)
"""
_BAGS = (
    "import numpy as np; "
    "bags = stbmta.Bags.from_list(list(np.random.default_rng(0).normal(size=(20, 10, 5)))); "
)
_FRESH = {
    "import_numba": "import numba",
    "import_stbmta": "import stbmta",
    "numba_alone": "import alone",
    "first_statistics": "import stbmta; "
    + _BAGS
    + "s = stbmta.bag_statistics(bags, 'rbf'); W = stbmta.weights.stb(stbmta.neighbors(s, 1.0))",
    "import_sklearn": "import stbmta; start = time.process_time(); import sklearn.base",
    "first_estimator": "import stbmta; " + _BAGS + "stbmta.STB(kernel='rbf', random_state=0).fit(bags)",
}


def cold_start(rounds: int = 5) -> ColdStart:
    """Time fresh processes in turns; the best of several rounds counts."""
    best = dict.fromkeys(_FRESH, float("inf"))
    # Where Python may not keep its byte code, it compiles what was not installed by pip at each start.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with TemporaryDirectory() as folder:
        (Path(folder) / "alone.py").write_text(_ALONE)
        for turn in range(rounds + 1):
            for name, code in _FRESH.items():
                program = (
                    f"import sys, time; sys.path.append({folder!r}); start = time.process_time(); "
                    f"{code}; print(time.process_time() - start)"
                )
                done = subprocess.run(
                    [sys.executable, "-c", program],
                    capture_output=True,
                    text=True,
                    check=True,
                    env=environment,
                )
                if turn:  # the first turn fills the caches
                    best[name] = min(best[name], float(done.stdout))
    return ColdStart(**best)


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterStatistics:
    """CPU seconds of what follows the statistics, one thread, linear kernel.

    Attributes
    ----------
    n_bags, n_zetas, n_gammas : int
    grid : float
        Squared errors over the whole grid of (zeta, gamma), up to thresholds that let everybody in.
    tuning : float
        Choice of (zeta, gamma) by K-fold.
    weights : float
        Neighbors and the weights of STB, MTA const and MTA stb.
    error_and_gram : float
        Squared errors and the Gram matrix of the estimates.
    """

    n_bags: int
    n_zetas: int
    n_gammas: int
    grid: float
    tuning: float
    weights: float
    error_and_gram: float

    def to_dict(self) -> dict[str, float]:
        """Return the times."""
        return asdict(self)


def after_statistics(n_bags: int = 2000, dim: int = 50, bag_size: int = 10) -> AfterStatistics:
    """Time grid search, tuning, weights, errors and Gram matrix of the estimates."""
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(0)
    truth = rng.normal(size=(20, dim))[rng.integers(20, size=n_bags)]
    bags = Bags.from_list(list(truth[:, None, :] + rng.normal(size=(n_bags, bag_size, dim))))
    s, known = bag_statistics(bags, n_threads=1), known_means(truth)
    zetas, gammas = np.r_[np.geomspace(0.5, 2000, 30), np.inf], np.linspace(0, 1, 21)
    N = neighbors(s, 1.0)
    W = weights.stb(N, 0.1)

    def all_weights() -> None:
        weights.stb(neighbors(s, 1.0), 0.1)
        weights.mta_constant(s, 1.0)
        weights.mta_stb(s, N, 1.0)

    jobs: dict[str, Any] = {
        "grid": lambda: neighbor_paths(s, known, zetas, n_threads=1).weight(gammas),
        "tuning": lambda: tune_stb(bags, rng=0, n_threads=1),
        "weights": all_weights,
        "error_and_gram": lambda: (squared_error(W, s, known), W @ s.gram @ W.T),
    }
    with threadpool_limits(1):
        neighbor_paths(s, known, zetas[:2], n_threads=1)  # compile
        tune_stb(bags[:20], rng=0, n_threads=1)
        found = interleaved(jobs, 1, time.process_time)
    return AfterStatistics(n_bags=n_bags, n_zetas=len(zetas), n_gammas=len(gammas), **found)
