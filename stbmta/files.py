"""Writing files so that nothing on disk is ever lost or half written."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

__all__ = ["atomic_write"]


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a temporary file that takes the place of `path` only when all went well.

    Parameters
    ----------
    path : path-like
        The file to write. Its folder must exist.
    mode : {"wb", "w"}, default="wb"
        As for :func:`open`.

    Yields
    ------
    file
        Open for writing, in the same folder, so that the final rename is atomic.

    Examples
    --------
    >>> with atomic_write("numbers.txt") as file:
    ...     _ = file.write(b"1 2 3")
    >>> Path("numbers.txt").read_text()
    '1 2 3'
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
    try:
        with open(temporary, mode.replace("w", "x"), encoding=None if "b" in mode else "utf-8") as file:
            yield file
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
