"""What becomes of a job on a cluster when something dies: the same result, or an error that says what happened."""

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stbmta import RBF, Bags, Precomputed, bag_statistics
from stbmta.linear import neighbor_averages

__all__ = ["FAULTS", "FaultRun", "fault_run"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRun:
    """A job that met a fault.

    Attributes
    ----------
    fault : str
        What happened in the middle of the work.
    outcome : str
        The error, or whether the result has the bits of one machine.
    good : bool
        Whether this is how it should end.
    """

    fault: str
    outcome: str
    good: bool


def _killed_in_sums(n_points: int) -> FaultRun:
    bags = Bags.from_offsets(
        np.random.default_rng(0).standard_normal((n_points, 12)), np.arange(0, n_points + 1, 100)
    )
    here = bag_statistics(bags, RBF(3.0)).gram
    return _strike(
        "a worker killed, kernel values", here, lambda c: bag_statistics(bags, RBF(3.0), client=c).gram
    )


def _killed_in_averages(n_points: int) -> FaultRun:
    bags = Bags.from_offsets(
        np.random.default_rng(0).standard_normal((n_points // 4, 400)), np.arange(0, n_points // 4 + 1, 2)
    )
    here = neighbor_averages(bags, 1.0).averages
    return _strike(
        "a worker killed, averages of means", here, lambda c: neighbor_averages(bags, 1.0, client=c).averages
    )


def _strike(fault: str, here: Array, work: Callable[[Any], Array]) -> FaultRun:
    """Kill a worker as soon as both compute, and compare the bits."""
    with _cluster(2) as cluster, cluster.get_client() as client:
        victim = min(client.run(os.getpid).values())
        struck = threading.Event()

        def kill() -> None:
            while not all(client.processing().values()):
                time.sleep(0.01)
            os.kill(victim, signal.SIGKILL)
            struck.set()

        threading.Thread(target=kill, daemon=True).start()
        there = work(client)
    same = struck.is_set() and bool((here == there).all())
    outcome = "same bits" if same else "other bits" if struck.is_set() else "done before it was struck"
    return FaultRun(fault=fault, outcome=outcome, good=same)


def _hungry(X: Array, Y: Array) -> Array:
    """Take memory until the cluster ends the worker: a kernel whose values do not fit."""
    taken: list[Array] = []
    while len(taken) < 100:
        taken.append(np.ones(10**7))
        time.sleep(0.02)
    raise AssertionError("nobody watches the memory")


def _out_of_memory(n_points: int) -> FaultRun:
    bags = Bags.from_offsets(np.random.default_rng(0).standard_normal((200, 2)), np.arange(0, 201, 50))
    with _cluster(1, memory_limit="700MB") as cluster, cluster.get_client() as client:
        return _refused(
            "workers out of memory",
            RuntimeError,
            lambda: bag_statistics(bags, Precomputed(_hungry), client=client),
        )


def _lost(n_points: int) -> FaultRun:
    bags = Bags.from_offsets(
        np.random.default_rng(0).standard_normal((n_points, 12)), np.arange(0, n_points + 1, 100)
    )
    with _cluster(1) as cluster, cluster.get_client() as client:

        def close() -> None:
            while not any(client.processing().values()):
                time.sleep(0.01)
            cluster.close()

        threading.Thread(target=close, daemon=True).start()
        return _refused(
            "the cluster gone",
            (ConnectionError, RuntimeError),
            lambda: bag_statistics(bags, RBF(3.0), client=client),
        )


def _refused(fault: str, errors: Any, work: Callable[[], Any]) -> FaultRun:
    try:
        work()
    except errors as error:
        return FaultRun(fault=fault, outcome=f"{type(error).__name__}: {error}", good=True)
    return FaultRun(fault=fault, outcome="no error", good=False)


def _cluster(n_workers: int, **more: Any) -> Any:
    from dask.distributed import LocalCluster

    return LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0", **more
    )


FAULTS = (_killed_in_sums, _killed_in_averages, _out_of_memory, _lost)


def fault_run(number: int, n_points: int) -> FaultRun:
    """Run a job of so many points into a fault.

    Parameters
    ----------
    number : int
        Index into `FAULTS`.
    n_points : int
        Points of the job; it must take a few seconds.
    """
    return FAULTS[number](n_points)
