"""The one decorator of all compiled code."""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba

__all__ = ["compiled"]


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function with Numba, lazily, cached on disk where that is possible.

    Parameters
    ----------
    function : callable
        A module-level function of arrays and numbers. Not a closure, and without functions as
        arguments: either would defeat the cache.

    Returns
    -------
    callable
        The dispatcher. Nothing is compiled before the first call.

    Notes
    -----
    ``nogil`` lets Python threads run it side by side. ``error_model="numpy"`` divides without a
    branch on zero. ``fastmath`` stays off: it breaks NaN and infinity and folds the rounding trick
    of the exponential.

    Numba refuses to cache when no cache directory can be written, and fails when the directory is lost or
    full later on; neither is a reason to refuse to run. It also takes no notice when a function changes
    that this one calls and that lives in another file; here the whole folder counts.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        dispatcher = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no writable cache directory
        return numba.njit(**options)(function)
    if hasattr(dispatcher, "_cache"):  # not with NUMBA_DISABLE_JIT
        dispatcher._cache._guard_against_spurious_io_errors = lambda: suppress(OSError)
        dispatcher._cache._cache_file._source_stamp = _stamp(Path(function.__code__.co_filename).parent)
    return dispatcher


@cache
def _stamp(folder: Path) -> tuple[tuple[str, float, int], ...]:
    """Return what changes when a source file of the folder does."""
    facts = ((path.name, path.stat()) for path in sorted(folder.glob("*.py")))
    return tuple((name, stat.st_mtime, stat.st_size) for name, stat in facts)
