"""Work in small parts: what is done is kept, whatever happens to the rest."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future

import numpy as np
import pytest

from stbmta.validation.runner import Part, Store, _keep_done, run_parts

SLEEPY = """
import sys, time
from stbmta.validation.runner import Part, Store, run_parts
if __name__ == "__main__":
    short = [Part(name=f"short{k}", work=dict, arguments=()) for k in range(3)]
    long = [Part(name=f"long{k}", work=time.sleep, arguments=(600,)) for k in range(4)]
    try:
        run_parts(Store(sys.argv[1], {}), short + long, what="sleeping", jobs=2, timed=False)
    except KeyboardInterrupt:
        sys.exit(130)
"""


def children(pid):
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return found.stdout.split()


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_ctrl_c_does_not_wait_for_long_parts(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", SLEEPY, str(tmp_path / "out")])
    done = tmp_path / "out" / "parts"
    while len(list(done.glob("*.npz"))) < 3:
        assert process.poll() is None
        time.sleep(0.05)
    workers = children(process.pid)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 130  # the parts take ten minutes
    assert sorted(f.stem for f in done.glob("*.npz")) == ["short0", "short1", "short2"]
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(os.path.exists(f"/proc/{pid}") for pid in workers):
        time.sleep(0.05)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in workers)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_workers_that_are_starting_do_not_hear_ctrl_c(tmp_path):
    """A terminal sends it to all processes; workers need seconds for their imports."""
    process = subprocess.Popen(
        [sys.executable, "-c", SLEEPY, str(tmp_path / "out")],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    while len(children(process.pid)) < 3:  # two workers, and what keeps track of their semaphores
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.3)  # in the middle of their imports
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "")


def test_results_that_came_in_during_an_interruption_are_kept(tmp_path):
    store = Store(tmp_path, {})
    done, failed, waiting = Future(), Future(), Future()
    done.set_result({"x": np.arange(3)})
    failed.set_exception(RuntimeError())
    parts = [Part(name=name, work=dict, arguments=()) for name in ("done", "failed", "waiting")]
    _keep_done(store, dict(zip((done, failed, waiting), parts, strict=True)))
    assert [part.name in store for part in parts] == [True, False, False]
    np.testing.assert_array_equal(store.load("done")["x"], [0, 1, 2])


def test_a_killed_worker_is_told_from_a_result(tmp_path):
    parts = [Part(name="a", work=os._exit, arguments=(9,)), Part(name="b", work=dict, arguments=())]
    with pytest.raises(ChildProcessError, match=r"killed, perhaps for want of memory.*--resume"):
        run_parts(Store(tmp_path, {}), parts, what="dying", jobs=2)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"nonsense"])
def test_a_damaged_file_is_named(tmp_path, content):
    store = Store(tmp_path, {})
    (tmp_path / "parts" / "cell.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"cell\.npz' is damaged .*; delete it and go on with --resume"):
        store.load("cell")


@pytest.mark.parametrize("content", ["", "cut {", "[1]"])
def test_settings_from_elsewhere_are_told_from_ours(tmp_path, content):
    (tmp_path / "settings.json").write_text(content)
    with pytest.raises(
        ValueError, match=r"settings\.json' is damaged, or from somewhere else; choose another"
    ):
        Store(tmp_path, {}, resume=True)
    assert (tmp_path / "settings.json").read_text() == content


def test_a_folder_that_cannot_be_is_named(tmp_path):
    (tmp_path / "file").write_text("results of my life")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OSError, match=r"cannot hold results \(Not a directory\); choose another --out"):
            Store(folder, {})
    assert (tmp_path / "file").read_text() == "results of my life"
