"""What commands write: files that are never overwritten by accident, JSON that any program can read."""

import json
import math
import os
import warnings
from collections.abc import Container, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any

import numpy as np

from .cli_source import note
from .files import atomic_write

__all__ = [
    "check_targets",
    "free_name",
    "print_json",
    "print_table",
    "save_figure",
    "write_arrays",
    "write_figure",
    "write_table",
]

TABLES = (".csv", ".csv.gz", ".tsv", ".parquet", ".npz")
MATRICES = (".npz", ".parquet")
PICTURES = (".png", ".pdf", ".svg")
PAGES = (".html",)

# Labels longer than this may take several lines where other columns need the room.
_WIDEST = 24
# A wide table is cut into so many pieces, one under the other.
_MOST_PIECES = 3


def free_name(name: str, taken: Container[str]) -> str:
    """Return a name for a column of ours that none of the user's columns has.

    Examples
    --------
    >>> free_name("size", ["city", "size"]), free_name("size", ["city"])
    ('bag_size', 'size')
    """
    while name in taken:
        name = f"bag_{name}"
    return name


def check_targets(
    targets: Mapping[str, tuple[Path | None, tuple[str, ...]]],
    force: bool,
    source: str = "",
    *,
    as_json: bool = False,
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
    as_json : bool
        JSON goes to standard output, so nothing else may.
    """
    seen: dict[Path, str] = {}
    for option, (path, endings) in targets.items():
        if path is None:
            continue
        if str(path) == "-":
            if endings is not TABLES:
                raise ValueError(f"{option} needs a file; only a table can go to standard output (-).")
            if as_json:
                raise ValueError(f"--json and {option} - both want standard output; choose one.")
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
        save_figure(figure, file, path.suffix[1:].lower(), 150)


def save_figure(figure: Any, file: IO[bytes], kind: str, dpi: int) -> None:
    """Draw a figure into an open file; letters that the font lacks, drawn as boxes, are worth one remark."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.savefig(file, format=kind, dpi=dpi)
    missing = [one for one in caught if "missing from font" in str(one.message)]
    if missing:
        note("the font of pictures lacks some letters of the names; boxes stand for them")
    for one in caught:
        if one not in missing:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


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


def print_table(
    frame: Any, *, rows: int = 40, repeat: int = 0, pairs: int = 0, wrap_last: bool = False
) -> None:
    """Print a pandas data frame as a table, cut into pieces of columns that fit side by side.

    At most three pieces are shown; columns and rows beyond are counted.

    Parameters
    ----------
    frame : pandas.DataFrame
    rows : int, default=40
        Show so many.
    repeat : int, default=0
        The first columns, which say what a row is about, stand in front of each piece.
    pairs : int, default=0
        The last columns come in so many pairs, which stay together.
    wrap_last : bool, default=False
        The last column may be text of any length: one piece, with that column in several lines.
    """
    from rich.console import Console

    console = Console(width=None if os.isatty(1) else 120)
    shown = frame.iloc[:rows]
    cells = [[_cell(value) for value in shown.iloc[:, k].tolist()] for k in range(shown.shape[1])]
    widths = [
        max(len(str(name)), *map(len, column)) + 3 for name, column in zip(shown.columns, cells, strict=True)
    ]
    pieces = [list(range(len(widths)))] if wrap_last else _pieces(widths, repeat, pairs, console.width - 1)
    for piece in pieces[:_MOST_PIECES]:
        folding = {k for k in piece if widths[k] > _WIDEST and (wrap_last or k < repeat)}
        if sum(widths[k] for k in piece) < console.width:
            folding = set()
        console.print(_table(shown, cells, piece, folding | ({len(widths) - 1} if wrap_last else set())))
    left_out = []
    if len(frame) > rows:
        left_out.append(f"{len(frame) - rows} more rows")
    hidden = sum(len(piece) - repeat for piece in pieces[_MOST_PIECES:])
    if hidden:
        left_out.append(f"{hidden} more columns")
    if left_out:
        console.print(f"({' and '.join(left_out)}; --out FILE writes all)")


def _pieces(widths: list[int], repeat: int, pairs: int, room: int) -> list[list[int]]:
    """Share out columns among pieces, each with the first columns in front and at least one other, or pair of others.

    Examples
    --------
    >>> _pieces([5, 9, 9, 9, 9], 1, 0, 25), _pieces([5, 9, 9, 9], 1, 1, 25)
    ([[0, 1, 2], [0, 3, 4]], [[0, 1], [0, 2, 3]])
    """
    front, single = list(range(repeat)), len(widths) - 2 * pairs
    left = room - sum(min(widths[k], _WIDEST) for k in front)
    groups = [[k] for k in range(repeat, single)] + [[k, k + 1] for k in range(single, len(widths), 2)]
    pieces: list[list[int]] = []
    used = room
    for group in groups:
        width = sum(widths[k] for k in group)
        if used + width > left:
            pieces.append([*front])
            used = 0
        pieces[-1] += group
        used += width
    return pieces or [front]


def _table(shown: Any, cells: list[list[str]], piece: list[int], folding: set[int]) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text  # labels are the user's; square brackets in them are not markup

    table = Table(box=SIMPLE_HEAD)
    for k in piece:
        side: Any = "right" if shown.dtypes.iloc[k].kind in "fiub" else "left"
        table.add_column(Text(str(shown.columns[k])), justify=side, no_wrap=k not in folding, overflow="fold")
    for row in zip(*(cells[k] for k in piece), strict=True):
        table.add_row(*map(Text, row))
    return table


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
