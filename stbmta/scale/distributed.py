"""The same work on many machines, with Dask.

Every statistic is a sum over parts of the data, so tasks map over parts and the caller adds up what they return, in
order: the number of workers changes no bit. Only a few tasks are under way at a time. A task that dies with its worker
is run again by Dask; when that fails too, the run ends with an error that says so. It never ends with a wrong number.
"""

import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .readers import Once, Partition, Rows, frame_blocks
from .stream import BagStream

__all__ = ["cluster_threads", "map_parts", "ordered_results", "release", "send", "submit_part"]

Array = npt.NDArray[Any]

# Numbers of a message at most: messages pass through the scheduler.
MOST_NUMBERS = 10**6
# Tasks under way for each thread of the cluster: enough to keep it busy, few enough to stay small.
_AHEAD = 3
# Seconds without a single worker that runs, or without an answer, after which a run is given up, and between looks.
PATIENCE = 120.0
_POLL = 2.0
_LOST = "the connection to the Dask cluster was lost before the result was complete."


def ordered_results(client: Any, tasks: Iterable[Callable[[], Any]]) -> Generator[Any, None, None]:
    """Run tasks on a cluster and yield their results in order, a few under way at a time.

    Parameters
    ----------
    client : dask.distributed.Client
        Runs the tasks on its cluster.
    tasks : iterable of callables
        Each submits one task and returns its future.

    Yields
    ------
    object
        The result of each task.

    Notes
    -----
    When the caller stops early (an error, Ctrl-C), tasks under way are cancelled.
    """
    window: deque[Any] = deque()
    threads, asked = cluster_threads(client), time.monotonic()  # a cluster, or an error that says what it is
    try:
        for submit in tasks:
            window.append(_submit(client, submit))
            if time.monotonic() > asked + _POLL:  # workers come and go
                threads, asked = cluster_threads(client), time.monotonic()
            if len(window) >= _AHEAD * max(1, threads):
                yield _result(client, window.popleft())
        while window:
            yield _result(client, window.popleft())
    finally:
        release(window)


def release(futures: Iterable[Any]) -> None:
    """Give up results that nobody needs anymore: what is under way is cancelled, what is there is forgotten.

    Dropping a future does the same, but the traceback of an error may hold it for long.
    """
    for future in futures:
        future.release()


def send(client: Any, table: Array) -> Any:
    """Send a table to the cluster in small messages; return the future of the whole table."""
    step = max(1, 8 * MOST_NUMBERS // max(1, table[:1].nbytes))
    rows = [np.ascontiguousarray(table[k : k + step]) for k in range(0, max(1, len(table)), step)]
    parts = [client.submit(_same, some, pure=False) for some in rows]
    return parts[0] if len(parts) == 1 else client.submit(np.concatenate, parts, pure=False)


def _same(table: Array) -> Array:
    return table


def cluster_threads(client: Any) -> int:
    """Return the number of threads of all workers."""
    if not hasattr(client, "nthreads"):
        raise TypeError(f"client must be a dask.distributed.Client, found {client!r}.")
    if client.asynchronous:
        raise TypeError("client is asynchronous; make one with Client(..., asynchronous=False).")
    return sum(_ask(client, "ncores").values())


def _ask(client: Any, question: str) -> Any:
    """Ask the scheduler, which may be gone, or may not answer."""
    if client.status in ("closing", "closed"):
        raise ConnectionError(_LOST)
    try:
        return client.sync(getattr(client.scheduler, question), callback_timeout=PATIENCE)
    except OSError as error:  # closed connections and timeouts are among them
        raise ConnectionError(_LOST) from error


def _submit(client: Any, submit: Callable[[], Any]) -> Any:
    try:
        return submit()
    except Exception as error:
        if client.status == "running":
            raise
        raise ConnectionError(_LOST) from error


def _result(client: Any, future: Any) -> Any:
    """Wait for a result; say clearly what went wrong with the cluster."""
    from dask.distributed import CancelledError, KilledWorker
    from distributed.comm.core import CommClosedError

    try:
        return _patient_result(client, future)
    except KilledWorker as error:
        raise RuntimeError(
            "the workers that ran a task died, several times: most likely they ran out of memory. "
            "Give them more, or make the task smaller."
        ) from error
    except (CancelledError, CommClosedError) as error:
        raise ConnectionError(_LOST) from error
    finally:
        release([future])  # an error has these frames in its traceback, and the future has the error


def _patient_result(client: Any, future: Any) -> Any:
    """Wait for a result, looking now and then whether somebody works on it."""
    deserted = 0.0
    while True:
        done = future.done()
        try:
            return future.result(
                timeout=PATIENCE if done else _POLL
            )  # a large result takes long to come here
        except TimeoutError as error:
            if future.status == "error":  # the task ran out of time, not we
                raise
            if done:
                raise ConnectionError(_LOST) from error
        workers = _worker_states(client)
        deserted = 0.0 if "running" in workers else deserted + _POLL
        if deserted >= PATIENCE:
            raise _desertion(workers, deserted)


def _worker_states(client: Any) -> list[str]:
    """Return the status of each worker."""
    return [worker["status"] for worker in _ask(client, "identity")["workers"].values()]


def _desertion(workers: list[str], seconds: float) -> Exception:
    """Say why nobody works: there are no workers, or they stopped because their memory is full."""
    if not workers:
        return ConnectionError(
            f"the Dask cluster has had no workers for {seconds:.0f} s: they died, or were never started."
        )
    return RuntimeError(
        f"none of the {len(workers)} workers of the Dask cluster has run for {seconds:.0f} s "
        f"(status: {', '.join(sorted(set(workers)))}). Workers pause when their memory is nearly full: "
        "give them more (memory_limit), or start more of them."
    )


def submit_part(client: Any, function: Callable[..., Any], part: Any, *arguments: Any) -> Any:
    """Submit function(part, ...) to a worker; a partition of a Dask collection stays on the worker that has it."""
    if isinstance(part, Partition):
        rows = client.compute(part.partition)
        return client.submit(_with_frame, function, rows, part.by, part.features, *arguments, pure=False)
    if isinstance(part, Once):
        raise ValueError(
            "an iterator cannot be sent to a cluster: give BagStream functions that start it, or leave out client."
        )
    if isinstance(part, Rows):
        tables = [send(client, table) if _is_large(table) else table for table in part.tables]
        return client.submit(_with_tables, function, replace(part, tables=()), tables, *arguments, pure=False)
    return client.submit(function, part, *arguments, pure=False)


def _is_large(table: Any) -> bool:
    return isinstance(table, np.ndarray) and table.nbytes > 8 * MOST_NUMBERS


def _with_tables(function: Callable[..., Any], part: Rows, tables: list[Any], *arguments: Any) -> Any:
    return function(replace(part, tables=tuple(tables)), *arguments)


def _with_frame(
    function: Callable[..., Any], frame: Any, by: list[str], features: list[str], *arguments: Any
) -> Any:
    return function(partial(frame_blocks, frame, by, features), *arguments)


def map_parts(client: Any, stream: BagStream, function: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
    """Yield function(part, columns, ...) for each part of a stream in order: here, or where the parts are."""
    if client is None:
        return (function(part, stream.columns, *arguments) for part in stream.parts)
    return ordered_results(
        client,
        (partial(submit_part, client, function, part, stream.columns, *arguments) for part in stream.parts),
    )
