"""Long experiments in small parts: each one a file, so that nothing is computed twice.

A part draws its random numbers from a seed of its own and runs with one BLAS thread. So the results are the
same to the last bit however many processes work on them, and however often the work was interrupted.
"""

import json
import os
import signal
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from stbmta.files import atomic_write
from stbmta.progress import progress_bar
from stbmta.threads import available_threads, set_num_threads

__all__ = ["Part", "Scale", "Store", "choose_scale", "generator", "run_parts"]

Arrays = dict[str, npt.NDArray[Any]]
Scale = str  # "quick", "default" or "full"


def choose_scale(quick: bool, full: bool) -> Scale:
    """Return which of the three sizes of an experiment is meant.

    Returns
    -------
    str
        "quick", "default" or "full".

    Examples
    --------
    >>> choose_scale(quick=False, full=False)
    'default'
    """
    if quick and full:
        raise ValueError("give --quick or --full, not both.")
    return "quick" if quick else "full" if full else "default"


def generator(seed: int, *key: str | int) -> np.random.Generator:
    """Return the random numbers of one part of an experiment: a function of the seed and the part's key.

    Returns
    -------
    numpy.random.Generator
        At its beginning; other seeds and keys give independent numbers.

    Examples
    --------
    >>> bool(generator(0, "toy", 3).random() == generator(0, "toy", 3).random())
    True
    """
    words = [zlib.crc32(word.encode()) if isinstance(word, str) else word for word in key]
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=words))


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A piece of work that ends with a file.

    Attributes
    ----------
    name : str
        Of the file; distinct within an experiment.
    work : callable
        A function of a module, so that other processes find it. Returns arrays by name.
    arguments : tuple
    """

    name: str
    work: Callable[..., Arrays]
    arguments: tuple[Any, ...]


class Store:
    """The folder of an experiment: what it was asked for, and the parts that are done.

    Parameters
    ----------
    folder : path-like
        Made if it does not exist.
    settings : mapping
        Everything the results depend on, as JSON has it. A folder belongs to one collection of settings.
    resume : bool
        Go on with what the folder holds. Otherwise it must not hold any results.
    """

    def __init__(
        self, folder: str | os.PathLike[str], settings: Mapping[str, Any], *, resume: bool = False
    ) -> None:
        self.folder = Path(folder)
        self._parts = self.folder / "parts"
        wanted = json.loads(json.dumps(settings))
        file = self.folder / "settings.json"
        if file.exists():
            if not resume:
                raise FileExistsError(
                    f"{str(folder)!r} holds results already; go on with --resume, or choose another --out."
                )
            found = _read_settings(file)
            if found != wanted:
                names = sorted(key for key in {*found, *wanted} if found.get(key) != wanted.get(key))
                raise ValueError(
                    f"{str(folder)!r} holds results of other settings ({', '.join(names)} differ from its "
                    "settings.json); choose another --out."
                )
        try:
            self._parts.mkdir(parents=True, exist_ok=True)
            with atomic_write(file, "w") as out:
                json.dump(wanted, out, indent=1)
        except OSError as error:
            raise OSError(
                f"{str(folder)!r} cannot hold results ({error.strerror}); choose another --out."
            ) from error

    def __contains__(self, name: str) -> bool:
        return self._path(name).exists()

    def _path(self, name: str) -> Path:
        return self._parts / f"{name}.npz"

    def save(self, name: str, arrays: Arrays) -> None:
        """Write the arrays of a part, all or nothing."""
        with atomic_write(self._path(name)) as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]

    def load(self, name: str) -> Arrays:
        """Read the arrays of a part.

        Returns
        -------
        dict of str to ndarray
            Under the names they were saved with; a damaged file is refused.
        """
        path = self._path(name)
        try:
            with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                return dict(file)
        except (BadZipFile, EOFError, ValueError) as error:
            raise ValueError(
                f"{str(path)!r} is damaged ({error}); delete it and go on with --resume."
            ) from error


def _read_settings(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text())
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"{str(file)!r} is damaged, or from somewhere else; choose another --out.")
    return found


def run_parts(
    store: Store, parts: Sequence[Part], *, what: str, jobs: int | None = None, timed: bool = True
) -> list[Arrays]:
    """Do the parts that are not done yet, and return the arrays of all, in their order.

    Parameters
    ----------
    store : Store
        Where the parts are kept.
    parts : sequence of Part
        The whole experiment, each part with a name of its own.
    what : str
        For the progress bar.
    jobs : int, optional
        Number of processes; as many as cores by default. It does not change the result.
    timed : bool, default=True
        Keep the seconds that each part took, as "seconds". Without them two runs leave the same bytes.

    Returns
    -------
    list of dict
        The arrays of each part.
    """
    missing = [part for part in parts if part.name not in store]
    workers = min(available_threads() if jobs is None else jobs, len(missing))
    with progress_bar(what, len(parts)) as advance:
        for _ in range(len(parts) - len(missing)):
            advance()
        if workers > 1:
            _run_processes(store, missing, workers, timed, advance)
        else:
            for part in missing:
                store.save(part.name, _do(part, timed))
                advance()
    return [store.load(part.name) for part in parts]


def _run_processes(
    store: Store, parts: Sequence[Part], workers: int, timed: bool, advance: Callable[[], None]
) -> None:
    others = active_children()
    # A fresh interpreter each: forking a process with running threads is not safe.
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_prepare_worker)
    running: dict[Future[Arrays], Part] = {}
    try:
        with _without_ctrl_c():
            running |= {pool.submit(_do, part, timed): part for part in parts}
        for future in as_completed(running):
            store.save(running[future].name, future.result())
            advance()
        pool.shutdown()
    except BrokenProcessPool as error:
        raise ChildProcessError(
            "a worker process was killed, perhaps for want of memory. What is done is kept: go on with --resume, and "
            "with fewer --jobs."
        ) from error
    except BaseException:
        # Waiting for the parts in flight could take minutes: keep what is done, and end the workers.
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in active_children():
            if worker not in others:
                worker.terminate()
        _keep_done(store, running)
        raise


@contextmanager
def _without_ctrl_c() -> Iterator[None]:
    """Let Ctrl-C wait. Processes started meanwhile never hear it, not even while they import: the parent ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _keep_done(store: Store, running: Mapping[Future[Arrays], Part]) -> None:
    """Save what came in while something else was going on."""
    for future, part in running.items():
        if future.done() and not future.cancelled() and not future.exception() and part.name not in store:
            store.save(part.name, future.result())


def _prepare_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears Ctrl-C and stops the others
    Thread(target=_end_with_parent, daemon=True).start()
    set_num_threads(1)


def _end_with_parent() -> None:
    """Leave when the parent is gone: killed, it cannot tell the others, who would wait for work forever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do(part: Part, timed: bool) -> Arrays:
    start = time.perf_counter()
    with threadpool_limits(1):
        arrays = part.work(*part.arguments)
    return arrays | ({"seconds": np.array(time.perf_counter() - start)} if timed else {})
