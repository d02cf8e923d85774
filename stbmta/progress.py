"""Progress of long work: on standard error, only on a terminal, and one display at a time."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["progress_bar", "working"]

# What is done sooner does not need to be announced.
_PATIENCE = 1.0
# Held by the display that is on the screen.
_screen = threading.Lock()


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a progress bar, once the work has taken a second; yields a function to call after each of `total` steps.

    Examples
    --------
    >>> with progress_bar("counting", 3) as advance:
    ...     for _ in range(3):
    ...         advance()
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    task = progress.add_task(what, total=total)
    with _shown(progress):
        yield lambda: progress.advance(task)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show what is being done and for how long, once it has taken a second.

    Examples
    --------
    >>> with working("thinking"):
    ...     pass
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with_clock = Progress(*columns, console=Console(stderr=True), transient=True)
    with_clock.add_task(what, total=None)
    with _shown(with_clock):
        yield


@contextmanager
def _shown(display: Any) -> Iterator[None]:
    """Start a display after a second, unless another one is on the screen; work within work stays quiet."""
    started = threading.Event()

    def start() -> None:
        if _screen.acquire(blocking=False):
            started.set()
            display.start()

    timer = threading.Timer(_PATIENCE, start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # a start that is under way comes first
        if started.is_set():
            display.stop()
            _screen.release()
