"""Threads: how many, safely, and stopped by Ctrl-C."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import joblib
import numpy as np
import pytest

from stbmta import (
    RBF,
    Bags,
    bag_statistics,
    get_num_threads,
    grid,
    known_means,
    neighbors,
    set_num_threads,
    threads,
)
from stbmta.jit import linear as jit_linear
from stbmta.jit import moments, paths


@pytest.fixture(autouse=True)
def _default_threads(monkeypatch):
    for name in ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    yield
    set_num_threads(None)


def test_the_number_asked_for_wins():
    assert get_num_threads(3) == 3
    set_num_threads(2)
    assert get_num_threads() == 2
    assert get_num_threads(1) == 1
    set_num_threads(None)
    assert get_num_threads() == threads.available_threads()
    assert get_num_threads(np.int64(2)) == 2
    for bad in (0, -1, 2.5, "2"):
        with pytest.raises(ValueError, match="n_threads must be an integer of at least 1, found"):
            set_num_threads(bad)
        with pytest.raises(ValueError, match="n_threads must be an integer of at least 1, found"):
            get_num_threads(bad)


def test_the_default_respects_the_environment(monkeypatch):
    monkeypatch.setattr(threads, "_affinity", lambda: 8)
    monkeypatch.setattr(threads, "_own_quota", lambda: None)
    assert threads.available_threads() == 8
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert threads.available_threads() == 3
    monkeypatch.setenv("OMP_NUM_THREADS", " 2,1")
    assert threads.available_threads() == 2
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert threads.available_threads() == 8
    monkeypatch.setattr(threads, "_own_quota", lambda: 1.5)
    assert threads.available_threads() == 1


def test_the_quota_of_the_process_is_read_once(monkeypatch):
    read = []
    monkeypatch.setattr(threads, "_cgroup_cpus", lambda root, own: read.append(own))
    threads._own_quota.cache_clear()
    for _ in range(3):
        assert threads.available_threads() >= 1
    assert len(read) == 2  # the trees of version 2 and 1
    threads._own_quota.cache_clear()


def test_the_limits_of_control_groups(tmp_path):
    assert threads._cgroup_cpus(tmp_path) is None
    (tmp_path / "cpu.cfs_quota_us").write_text("200000")
    (tmp_path / "cpu.cfs_period_us").write_text("100000")
    assert threads._cgroup_cpus(tmp_path) == 2.0
    (tmp_path / "cpu.cfs_quota_us").write_text("-1")
    assert threads._cgroup_cpus(tmp_path) is None
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    assert threads._cgroup_cpus(tmp_path) == 1.5
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert threads._cgroup_cpus(tmp_path) is None


def test_the_limits_of_control_groups_above(tmp_path):
    inner = tmp_path / "user" / "job"
    inner.mkdir(parents=True)
    (inner / "cpu.max").write_text("max 100000")
    (tmp_path / "user" / "cpu.max").write_text("300000 100000")
    (tmp_path.parent / "cpu.max").write_text("100000 100000")  # beyond the root: none of our business
    assert threads._cgroup_cpus(tmp_path, "user/job") == 3.0
    (inner / "cpu.max").write_text("200000 100000")
    assert threads._cgroup_cpus(tmp_path, "user/job") == 2.0
    membership = tmp_path / "cgroup"
    membership.write_text("4:memory:/elsewhere\n3:cpu,cpuacct:/batch\n1:name=systemd:/\n0::/user/job\n")
    assert threads._own_cgroup(membership) == "user/job"
    assert threads._own_cgroup(membership, "cpu") == "batch"
    membership.write_text("0::/\n")
    assert threads._own_cgroup(membership) == ""
    assert threads._own_cgroup(tmp_path / "missing") == ""


def test_affinity_falls_back_to_the_number_of_cores(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert threads._affinity() == os.cpu_count()


def test_one_thread_inside_a_pool():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(get_num_threads).result() == 1
        assert pool.submit(get_num_threads, 2).result() == 2


def test_one_thread_in_worker_processes():
    """Workers of multiprocessing and dask run one thread each; joblib's share the cores among them."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(get_num_threads).result() == 1
        assert pool.submit(get_num_threads, 2).result() == 2
    for backend in ("loky", "threading"):
        found = joblib.Parallel(n_jobs=2, backend=backend)(
            joblib.delayed(get_num_threads)() for _ in range(2)
        )
        assert max(found) <= max(1, threads.available_threads() // 2)


def test_the_first_error_stops_the_rest():
    ran = []

    def fail():
        raise RuntimeError("broken")

    def slow():
        time.sleep(0.05)
        ran.append(1)

    for n_threads in (1, 2):
        ran.clear()
        with pytest.raises(RuntimeError, match="broken"):
            threads.run([fail] + [slow] * 50, n_threads)
        assert len(ran) < 50


def test_tasks_that_still_run_are_told_that_they_may_stop():
    stopped, told = threading.Event(), []

    def fail():
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        threads.run([lambda: told.append(stopped.wait(10)), fail], 2, stopped)
    assert told == [True]


def test_ctrl_c_while_tasks_are_handed_out_stops_the_rest():
    ran = []

    def slow():
        time.sleep(0.05)
        ran.append(1)

    class Interrupted(list):
        def __iter__(self):
            yield from super().__iter__()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        threads.run(Interrupted([slow] * 50), 2)
    assert len(ran) < 50


def test_several_python_threads_at_once(rng):
    bags = Bags.from_list([rng.normal(size=(20, 2)) for _ in range(20)])
    expected = bag_statistics(bags, RBF(1.0)).gram
    found = [None] * 4

    def work(k):
        found[k] = bag_statistics(bags, RBF(1.0), n_threads=2).gram

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for gram in found:
        np.testing.assert_array_equal(gram, expected)


AFTER_FORK = """
import os, sys, warnings
import numpy as np
from stbmta import RBF, Bags, bag_statistics
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of any fork beside threads
bags = Bags.from_list([np.random.default_rng(0).normal(size=(20, 2)) for _ in range(20)])
expected = bag_statistics(bags, RBF(1.0), n_threads=2).gram
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(bag_statistics(bags, RBF(1.0), n_threads=2).gram, expected) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_after_a_fork():
    assert subprocess.run([sys.executable, "-c", AFTER_FORK], timeout=120, check=False).returncode == 0


def test_compiled_work_comes_in_parts(rng, monkeypatch):
    """Ctrl-C is heard between calls of compiled code, so no call may grow with the data."""
    calls = dict.fromkeys(("pair_distances", "settle_ties", "neighbor_paths"), 0)

    def count(module, name):
        function = getattr(module, name)

        def counted(*args):
            calls[name] += 1
            return function(*args)

        monkeypatch.setattr(module, name, counted)

    bags = Bags.from_list(list(rng.normal(size=(600, 2, 1))))
    expected = RBF("median").resolve(bags), neighbors(bag_statistics(bags), 1.0)
    for module, name in ((moments, "pair_distances"), (jit_linear, "settle_ties"), (paths, "neighbor_paths")):
        count(module, name)
    monkeypatch.setattr(threads, "_CHUNK", 600 * 100)
    monkeypatch.setattr(grid, "_TERMS", 600**2)
    assert RBF("median").resolve(bags) == expected[0]
    s = bag_statistics(bags)
    np.testing.assert_array_equal(neighbors(s, 1.0), expected[1])
    grid.neighbor_paths(s, known_means(s.means), [1.0])
    assert calls == {"pair_distances": 17, "settle_ties": 6, "neighbor_paths": 600}


INTERRUPTED = """
import numpy as np
from stbmta import RBF, Bags, bag_statistics
bags = Bags.from_offsets(np.random.default_rng(0).normal(size=(1_000_000, 8)), [0, 500_000, 1_000_000])
bag_statistics(bags.subsample(10), RBF(1.0))
print("started", flush=True)
try:
    bag_statistics(bags, RBF(1.0), n_threads={n_threads})
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ on Windows")
@pytest.mark.parametrize("n_threads", [1, 2])
def test_control_c_stops_minutes_of_work(n_threads):
    """The job takes many minutes; it must end long before that. (How fast exactly is a matter for benchmarks.)"""
    code = INTERRUPTED.format(n_threads=n_threads)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "started\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert out == "interrupted\n"
