"""How many threads, and running tasks on them.

Compiled kernels release the GIL, so plain Python threads do the work side by side. Unlike Numba's own
thread pools they may be used from several threads at once and after a fork, and Ctrl-C reaches the main
thread. Tasks are small, so an interrupt takes effect within a fraction of a second. Matrix products of
NumPy and SciPy run on the threads of their BLAS: OPENBLAS_NUM_THREADS or threadpoolctl limits those, and
joblib and dask do so in their worker processes. A single call of LAPACK, as MTA with tests makes for
many bags, is not interrupted.
"""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import cache
from multiprocessing import parent_process
from pathlib import Path

import numpy as np

__all__ = ["available_threads", "chunks", "get_num_threads", "run", "set_num_threads"]

_chosen: int | None = None
# Numbers that are read in some milliseconds.
_CHUNK = 2**22


def available_threads() -> int:
    """Return the number of cores this process may use.

    Counts the process's CPU affinity, the limits of its control group, and the usual environment
    variables (OMP_NUM_THREADS, NUMBA_NUM_THREADS), which joblib and dask set in their workers.

    Returns
    -------
    int
        At least 1.

    Examples
    --------
    >>> available_threads() >= 1
    True
    """
    limits = [_affinity()]
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        # OpenMP takes a list, one number for each level of nested loops.
        value = os.environ.get(name, "").split(",")[0].strip()
        if value.isdigit() and int(value) > 0:
            limits.append(int(value))
    quota = _own_quota()
    if quota is not None:
        limits.append(max(1, int(quota)))
    return min(limits)


@cache
def _own_quota() -> float | None:
    """Return the CPU quota of this process. It is read once: a small fit asks a thousand times."""
    root, membership = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
    # Version 2 has one tree of groups, version 1 one for each controller; both may be there.
    trees = ((root, ""), (root / "cpu", "cpu"))
    quotas = [_cgroup_cpus(tree, _own_cgroup(membership, controller)) for tree, controller in trees]
    return min((quota for quota in quotas if quota is not None), default=None)


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _own_cgroup(path: Path, controller: str = "") -> str:
    """Return the control group of this process below the root of its tree, "" if it is the root or unknown."""
    try:
        lines = [line.split(":", 2) for line in path.read_text().splitlines()]
    except OSError:
        return ""
    return next((own.strip("/") for _, names, own in lines if controller in names.split(",")), "")


def _cgroup_cpus(root: Path, own: str = "") -> float | None:
    """Return the smallest CPU quota of a control group and those above it, or None."""
    quotas = [_quota(folder) for folder in (root / own, *(root / own).parents) if folder.is_relative_to(root)]
    return min((quota for quota in quotas if quota is not None), default=None)


def _quota(folder: Path) -> float | None:
    """Return the quota that a folder of version 2 or 1 sets."""
    try:
        quota, period = (folder / "cpu.max").read_text().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        pass
    try:
        quota_us = int((folder / "cpu.cfs_quota_us").read_text())
        period_us = int((folder / "cpu.cfs_period_us").read_text())
        return quota_us / period_us if quota_us > 0 else None
    except (OSError, ValueError):
        return None


def set_num_threads(n_threads: int | None) -> None:
    """Choose the number of threads for the whole process; None goes back to the default.

    Examples
    --------
    >>> set_num_threads(1)
    >>> get_num_threads()
    1
    >>> set_num_threads(None)
    """
    global _chosen
    _chosen = None if n_threads is None else _checked(n_threads)


def get_num_threads(n_threads: int | None = None) -> int:
    """Return the number of threads that a call will use.

    Parameters
    ----------
    n_threads : int, optional
        What the caller asked for.

    Returns
    -------
    int
        What was asked for; otherwise what :func:`set_num_threads` chose; otherwise all available cores.
        In a thread other than the main one, and in a worker process of `multiprocessing`, the default is
        1: a pool (joblib, dask) is then at work, and its workers times our threads would be too many.
    """
    if n_threads is not None:
        return _checked(n_threads)
    if _chosen is not None:
        return _chosen
    in_pool = threading.current_thread() is not threading.main_thread() or parent_process() is not None
    return 1 if in_pool else available_threads()


def _checked(n_threads: int) -> int:
    whole = isinstance(n_threads, (int, np.integer)) and not isinstance(n_threads, bool)
    count = int(n_threads) if whole else 0
    if count < 1:
        raise ValueError(f"n_threads must be an integer of at least 1, found {n_threads!r}.")
    return count


def chunks(count: int, cost: float, multiple: int = 1) -> list[tuple[int, int]]:
    """Cut a range of items into runs that each take some milliseconds: enough to share out, and to hear Ctrl-C.

    Parameters
    ----------
    count : int
        Number of items.
    cost : float
        Of an item, in numbers that are read.
    multiple : int, default=1
        Runs start at multiples of this.

    Returns
    -------
    list of tuple of int
        Start and end of each run.

    Examples
    --------
    >>> chunks(10, 2**20)
    [(0, 4), (4, 8), (8, 10)]
    >>> chunks(10, 1.0)
    [(0, 10)]
    """
    step = max(1, int(_CHUNK / max(cost, 1.0)) // multiple) * multiple
    return [(start, min(start + step, count)) for start in range(0, count, step)]


def run(
    tasks: Sequence[Callable[[], None]],
    n_threads: int | None = None,
    stopped: threading.Event | None = None,
) -> None:
    """Run tasks, in order, on a number of threads; the first error or Ctrl-C stops them.

    Parameters
    ----------
    tasks : sequence of callables
        Each writes to places of its own. The most expensive should come first.
    n_threads : int, optional
        As for :func:`get_num_threads`; all available cores by default.
    stopped : threading.Event, optional
        Set when the tasks that still run may end early, because nobody wants their results.
    """
    workers = min(get_num_threads(n_threads), len(tasks))
    if workers <= 1:
        for task in tasks:
            task()
        return
    with ThreadPoolExecutor(workers, thread_name_prefix="stbmta") as pool:
        try:  # Ctrl-C may come while tasks are still being handed out
            futures = [pool.submit(task) for task in tasks]
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
        except BaseException:
            if stopped is not None:
                stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
