"""What becomes of a job on a cluster when something dies: the same result, or an error that says what happened."""

import os
import signal
import threading
import time
from functools import partial

import numpy as np
import pytest

from stbmta import (
    RBF,
    Bags,
    Precomputed,
    bag_statistics,
)

from .clusters import CLUSTER_MARKS, dask, dask_stream, start

pytestmark = CLUSTER_MARKS


def slow_kernel(X, Y, seconds=0.01):
    time.sleep(seconds)
    return RBF(1.5)(X, Y)


def kill_one_worker(client, after):
    """Kill a worker process in the middle of the work."""
    pids = list(client.run(os.getpid).values())

    def kill():
        time.sleep(after)
        os.kill(pids[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


@pytest.mark.parametrize("source", ["bags", "stream"])
def test_a_worker_killed_in_the_middle_changes_nothing(bags, frame, source, monkeypatch):
    monkeypatch.setattr("stbmta.scale.distributed_sums.MOST_POINTS", 600)
    data = bags if source == "bags" else dask_stream(frame, 4)
    expected = bag_statistics(
        bags if source == "bags" else Bags.from_frame(frame, by="who"), Precomputed(RBF(1.5))
    )
    cluster, client = start(2)
    with cluster, client:
        thread = kill_one_worker(client, after=0.5)
        found = bag_statistics(data, Precomputed(slow_kernel), client=client)
        thread.join()
    np.testing.assert_array_equal(found.gram, expected.gram)


def too_large(X, Y):
    """A kernel that kills its worker, as running out of memory does."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_workers_that_keep_dying_end_in_a_clear_error(bags, monkeypatch):
    monkeypatch.setattr("stbmta.scale.distributed.PATIENCE", 10.0)
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        cluster, client = start(1)
    with cluster, client, pytest.raises(RuntimeError, match="workers that ran a task died"):
        bag_statistics(bags, Precomputed(too_large), client=client)


def test_a_cluster_without_workers_is_given_up(bags, monkeypatch):
    monkeypatch.setattr("stbmta.scale.distributed.PATIENCE", 2.0)
    cluster, client = start(0)
    with cluster, client, pytest.raises(ConnectionError, match="no workers for"):
        bag_statistics(bags, RBF(1.5), client=client)


def test_workers_that_pause_are_given_up(monkeypatch):
    """A worker whose memory is nearly full takes no more tasks, and says nothing."""
    monkeypatch.setattr("stbmta.scale.distributed.PATIENCE", 4.0)
    with dask.config.set({"distributed.worker.memory.pause": 0.01}):  # the libraries take more than 20 MB
        cluster, client = start(1)
    bags = Bags.from_offsets(np.random.default_rng(0).normal(size=(6000, 6)), np.arange(0, 6001, 300))
    with cluster, client, pytest.raises(RuntimeError, match="paused.* memory is nearly full: give them more"):
        bag_statistics(bags, RBF(3.0), client=client)


def test_a_lost_cluster_ends_in_a_clear_error(bags):
    cluster, client = start(1)
    timer = threading.Timer(0.7, cluster.close)
    timer.start()
    try:
        with pytest.raises((ConnectionError, RuntimeError), match="lost|died"):
            bag_statistics(bags, Precomputed(partial(slow_kernel, seconds=0.5)), client=client)
    finally:
        timer.join()
        client.close()
