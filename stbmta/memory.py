"""How much memory there is, and refusing what cannot fit before it is allocated."""

import os
import re
import sys
from numbers import Real
from pathlib import Path
from typing import Any

from .container import format_bytes
from .threads import _own_cgroup

__all__ = ["available_memory", "memory_limit", "require_memory"]

# Of the memory that is free, what a call takes if it is not told otherwise.
_SHARE = 0.5
_UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}


def available_memory() -> int:
    """Return how many bytes this process may still use: free memory, and the limit of its control group.

    Examples
    --------
    >>> available_memory() > 0
    True
    """
    root, membership = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
    # Version 2 has one tree of groups, version 1 one for each controller.
    trees = ((root, ""), (root / "memory", "memory"))
    left = [_control_group(tree, _own_cgroup(membership, controller)) for tree, controller in trees]
    return min([_free(Path("/proc/meminfo")), *left[0], *left[1]])


def _free(meminfo: Path) -> int:
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", meminfo.read_text(), re.MULTILINE)
        if found:
            return 1024 * int(found[1])
    except OSError:
        pass
    names = os.sysconf_names if hasattr(os, "sysconf_names") else {}
    if "SC_PHYS_PAGES" in names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return 4 * 2**30  # nothing to ask: a small machine


def _control_group(root: Path, own: str = "") -> list[int]:
    """Return what is left to a control group, and to each one above it; an empty list where there is no limit."""
    left = [_left(folder) for folder in (root / own, *(root / own).parents) if folder.is_relative_to(root)]
    return [most for most in left if most is not None]


def _left(folder: Path) -> int | None:
    """Return what is left to one group, of version 2 or 1. Files in the cache are counted, but they make room."""
    for limit, used in (
        ("memory.max", "memory.current"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        try:
            most, taken = int((folder / limit).read_text()), int((folder / used).read_text())
        except (OSError, ValueError):
            continue
        return min(most, max(0, most - taken + _cached_files(folder)))
    return None


def _cached_files(folder: Path) -> int:
    try:
        found = re.findall(r"^(?:in)?active_file (\d+)$", (folder / "memory.stat").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return sum(map(int, found))


def memory_limit(max_memory: float | str | None = None) -> int:
    """Return how many bytes a call may take.

    Parameters
    ----------
    max_memory : float or str, optional
        Bytes, or text such as "4GB" or "500 MiB". None: half of what is free.

    Examples
    --------
    >>> memory_limit("1.5 GB"), memory_limit("2GiB"), memory_limit(1e6)
    (1500000000, 2147483648, 1000000)
    """
    limit: Any = max_memory
    if limit is None:
        return int(_SHARE * available_memory())
    if isinstance(limit, str):
        found = re.fullmatch(
            r"((?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:e[0-9]+)?)\s*([kmgt]?i?)b?", limit.strip().lower()
        )
        limit = None if found is None or found[2] not in _UNITS else float(found[1]) * _UNITS[found[2]]
    if isinstance(limit, bool) or not isinstance(limit, Real):
        raise ValueError(f"max_memory must be a number of bytes or text such as '4GB', found {max_memory!r}.")
    if not float(limit) > 0:
        raise ValueError(f"max_memory must be above 0, found {max_memory!r}.")
    return int(min(float(limit), sys.maxsize))  # infinity: all there is


def require_memory(needed: float, limit: int, what: str, remedy: str) -> None:
    """Refuse what does not fit, before anything is allocated.

    Parameters
    ----------
    needed : float
        Estimated bytes.
    limit : int
        From :func:`memory_limit`, less what is held already.
    what : str
        What would be made, a sentence without its end.
    remedy : str
        What to do instead, a sentence.

    Examples
    --------
    >>> require_memory(8e10, 4 * 10**9, "the 100000 x 100000 matrix", "Use tiles.")
    Traceback (most recent call last):
        ...
    MemoryError: the 100000 x 100000 matrix needs about 80 GB, but max_memory leaves 4 GB. Use tiles.
    """
    if needed > limit:
        left = format_bytes(max(0, limit))
        raise MemoryError(
            f"{what} needs about {format_bytes(int(needed))}, but max_memory leaves {left}. {remedy}"
        )
