"""What commands write: files that are never overwritten by accident, JSON that any program can read."""

import json
import math
import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from .files import atomic_write

__all__ = ["check_targets", "print_json", "print_table", "write_arrays", "write_figure", "write_table"]

TABLES = (".csv", ".csv.gz", ".tsv", ".parquet", ".npz")
MATRICES = (".npz", ".parquet")
PICTURES = (".png", ".pdf", ".svg")
PAGES = (".html",)

# Labels longer than this may take several lines where other columns need the room.
_WIDEST = 24


def check_targets(
    targets: Mapping[str, tuple[Path | None, tuple[str, ...]]], force: bool, source: str = ""
) -> None:
    """Refuse, before any work, files that cannot or must not be written.

    Parameters
    ----------
    targets : mapping of str to (Path or None, tuple of str)
        For each option the file, and the endings it may have. The path ``-`` is standard output.
    force : bool
        Existing files may be replaced.
    source : str
        The file the data come from, which stays.
    """
    seen: dict[Path, str] = {}
    for option, (path, endings) in targets.items():
        if path is None:
            continue
        if str(path) == "-":
            if option != "--out":
                raise ValueError(f"{option} needs a file; only --out can go to standard output (-).")
            continue
        if not path.name.lower().endswith(endings):
            close = get_close_matches(path.suffix.lower(), endings, n=1)
            hint = f" Did you mean {close[0]}?" if close else ""
            raise ValueError(f"{option} {path}: the name must end in {', '.join(endings)}.{hint}")
        if path.is_dir():
            raise IsADirectoryError(f"{option} {path} is a folder; give a file.")
        if not path.parent.is_dir():
            raise FileNotFoundError(
                f"{option} {path}: there is no folder {str(path.parent)!r}; make it first."
            )
        whole = path.resolve()
        if source not in ("", "-") and whole == Path(source).resolve():
            raise ValueError(f"{option} {path} is the data itself; choose another name.")
        if whole in seen:
            raise ValueError(f"{seen[whole]} and {option} both name {path}; give each a file of its own.")
        seen[whole] = option
        if path.exists() and not force:
            raise FileExistsError(f"{option} {path} exists already; --force replaces it.")


def write_table(frame: Any, path: Path) -> None:
    """Write a pandas data frame in the format of the file's name; ``-`` is CSV on standard output."""
    name = path.name.lower()
    if str(path) == "-":
        print(frame.to_csv(index=False), end="")
    elif name.endswith(".parquet"):
        with atomic_write(path) as file:
            frame.to_parquet(file, index=False)
    elif name.endswith(".gz"):
        import gzip

        with atomic_write(path) as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
            packed.write(frame.to_csv(index=False).encode())
    else:
        with atomic_write(path, "w") as file:
            file.write(frame.to_csv(index=False, sep="\t" if name.endswith(".tsv") else ","))


def write_arrays(arrays: Mapping[str, Any], path: Path) -> None:
    """Write named arrays to an NPZ file without pickles."""
    with atomic_write(path) as file:
        np.savez(file, **arrays)


def write_figure(figure: Any, path: Path) -> None:
    """Save a matplotlib figure in the format of the file's name."""
    with atomic_write(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower(), dpi=150)


def print_json(content: Any) -> None:
    """Print strict JSON: nan is null, infinity a string, NumPy's numbers are numbers.

    Examples
    --------
    >>> print_json({"a": np.float64(1.5), "b": [float("nan"), float("inf")]})
    {"a": 1.5, "b": [null, "inf"]}
    """
    print(json.dumps(_plain(content), allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def print_table(frame: Any, *, rows: int = 40, wrap_last: bool = False) -> None:
    """Print a pandas data frame as a table; columns that do not fit, and later rows, are left out and counted.

    The last column may be text of any length: with `wrap_last` it is shown in several lines.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text  # labels are the user's; square brackets in them are not markup

    console = Console(width=None if os.isatty(1) else 120)
    shown = frame.iloc[:rows]
    cells = [[_cell(value) for value in shown[name].tolist()] for name in shown.columns]
    widths = [
        max(len(str(name)), *map(len, column)) + 3 for name, column in zip(shown.columns, cells, strict=True)
    ]
    fitting = max(1, int(np.searchsorted(np.cumsum(widths), console.width - 1)))
    if wrap_last:
        fitting = len(widths)
    table = Table(box=SIMPLE_HEAD)
    for k, (name, kind) in enumerate(list(zip(shown.columns, shown.dtypes, strict=True))[:fitting]):
        folds = wrap_last and (k == len(widths) - 1 or widths[k] > _WIDEST)
        side: Any = "right" if kind.kind in "fiub" else "left"
        table.add_column(Text(str(name)), justify=side, no_wrap=not folds, overflow="fold")
    for row in zip(*cells[:fitting], strict=True):
        table.add_row(*map(Text, row))
    console.print(table)
    left_out = []
    if len(frame) > rows:
        left_out.append(f"{len(frame) - rows} more rows")
    if len(widths) > fitting:
        left_out.append(f"{len(widths) - fitting} more columns")
    if left_out:
        console.print(f"({' and '.join(left_out)}; --out FILE writes all)")


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
