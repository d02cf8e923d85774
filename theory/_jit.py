"""The one decorator of all compiled code."""

from collections.abc import Callable
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
    of the exponential. Numba refuses to cache when no cache directory can be written; that is no
    reason to refuse to run.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no writable cache directory
        return numba.njit(**options)(function)
