"""Progress of long work: on standard error, and only on a terminal."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar", "working"]

# What is done sooner does not need to be announced.
_PATIENCE = 1.0


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show a progress bar; yields a function to call after each of `total` steps.

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
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total)
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
    timer = threading.Timer(_PATIENCE, with_clock.start)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with_clock.stop()
