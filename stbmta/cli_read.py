"""From what a user has on disk, or sends down a pipe, to a data frame.

The format is found from the content, not from the name. What can be understood is understood, and said.
"""

import lzma
import os
import re
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from .labels import written_type

__all__ = ["column_names", "file_of", "is_npz", "read_frame", "text_columns"]

# What people have besides tables, by how it begins, and what to do with it.
_TO_CSV = "write it as CSV or Parquet first"
_OTHERS = {
    rb"\x93NUMPY": "a single NumPy array (.npy), without labels; store data and labels together with numpy.savez",
    rb"\x80[\x02-\x05]": f"a pickle, which can run code when it is read; {_TO_CSV}",
    rb"\xd0\xcf\x11\xe0": "an Excel workbook; save the sheet as CSV",
    rb"\x89HDF": f"an HDF5 file; {_TO_CSV}",
    rb"SQLite format 3": f"an SQLite database; {_TO_CSV}",
    rb"%PDF": f"a PDF document; {_TO_CSV}",
    rb"PK\x05\x06": "an archive with nothing in it",
    rb'\s*[\[{]\s*["\[{\d-]': f"JSON; {_TO_CSV}, e.g. with pandas.read_json",
    rb"(?i)\s*<(!doctype|html|\?xml|table)": "a web page or XML; get the table itself, as CSV",
}

_PARQUET = b"PAR1"
_COMPRESSION = {
    b"PK\x03\x04": "zip",
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
# What counts as missing among the features. Among labels only an empty cell does.
_MISSING = ["", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None", "<NA>"]
_DAMAGED = "the file cannot be read; it seems to be damaged"
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


@contextmanager
def file_of(data: str) -> Iterator[Path]:
    """Give the path of the data; what can be read only once is put into a temporary file first.

    Parameters
    ----------
    data : str
        A path, which may be that of a pipe, or ``-`` for standard input.

    Yields
    ------
    Path
        Of a file that is there and is not empty.
    """
    if data != "-":
        path = Path(data)
        if path.is_dir():
            raise IsADirectoryError(f"{data!r} is a folder; give a file.")
        if not path.exists():
            raise FileNotFoundError(f"there is no file {data!r}.")
        if path.is_file():
            yield _not_empty(path, path.name)
            return
    handle, name = tempfile.mkstemp(prefix="stbmta-")
    try:
        with (
            os.fdopen(handle, "wb") as file,
            nullcontext(sys.stdin.buffer) if data == "-" else open(data, "rb") as pipe,
        ):
            shutil.copyfileobj(pipe, file)
        if is_npz(Path(name)):
            name = str(Path(name).rename(name + ".npz"))
        yield _not_empty(Path(name), "standard input" if data == "-" else data)
    finally:
        Path(name).unlink(missing_ok=True)


def _not_empty(path: Path, name: str) -> Path:
    with open(path, "rb") as file:
        if not file.read(1):
            raise ValueError(f"{name} is empty.")
    return path


def _start(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(64)


def _refuse_others(path: Path) -> None:
    """Say what a file is that holds no table."""
    start = _start(path)
    what = next((what for sign, what in _OTHERS.items() if re.match(sign, start)), None)
    if what is None and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if "[Content_Types].xml" in archive.namelist():
                what = "an Excel workbook; save the sheet as CSV"
    if what is not None:
        raise ValueError(f"this is not a table but {what}.")


def is_npz(path: Path) -> bool:
    """Tell whether a file holds NumPy arrays."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    return bool(names) and all(name.endswith(".npy") for name in names)


def read_frame(
    path: Path,
    keys: Sequence[str],
    *,
    separator: str | None,
    encoding: str,
    decimal: str,
    note: Callable[[str], None],
) -> Any:
    """Read a table: Parquet, or text with a line of column names, compressed or not.

    Parameters
    ----------
    path : Path
    keys : sequence of str
        Columns that hold labels. They stay text: ``007`` keeps its zeros, and a country called NA its name.
    separator : str or None
        One character. None: commas, unless the line of names holds none.
    encoding, decimal : str
    note : callable
        Told what was understood.

    Returns
    -------
    pandas.DataFrame
    """
    import pandas as pd

    if _start(path).startswith(_PARQUET):
        try:
            frame = pd.read_parquet(path)
            return frame.reset_index(drop=frame.index.names == [None])
        except ImportError:
            raise ModuleNotFoundError('Parquet files need pyarrow: pip install "stbmta[parquet]".') from None
        except (ValueError, OSError) as error:
            raise ValueError(f"{_DAMAGED}: {error}") from None
    _refuse_others(path)
    for option, sign in (("--separator", separator), ("--decimal", decimal)):
        if sign is not None and len(sign) != 1:
            raise ValueError(f"{option} must be one character; found {sign!r}.")
    options: dict[str, Any] = {
        "compression": _compression(path),
        "encoding": encoding,
        "decimal": decimal,
        "low_memory": False,
    }
    try:
        options["skiprows"] = _remarks(path, options, note)
        options["sep"], names = _header(path, separator, options, note)
        labels = [name for name in names if name in keys]
        missing = {name: _MISSING for name in names if name not in labels}
        options |= {
            "dtype": dict.fromkeys(labels, str),
            "keep_default_na": False,
            "na_values": missing,
        }
        frame = _named(pd.read_csv(path, **options), names, path, options, note)
    except UnicodeDecodeError:
        wide = _start(path).startswith((b"\xff\xfe", b"\xfe\xff"))
        raise ValueError(
            f"the text is not {encoding}; save it as UTF-8, or give its encoding, "
            f"{'--encoding utf-16' if wide else 'e.g. --encoding latin-1'}."
        ) from None
    except LookupError as error:
        raise ValueError(f"{error}.") from None
    except pd.errors.ParserError as error:
        raise ValueError(f"this is not a clean table: {_last_sentence(error)}.") from None
    except (EOFError, OSError, zipfile.BadZipFile, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{_DAMAGED}: {error}.") from None
    return frame


def _named(
    frame: Any, names: list[str], path: Path, options: dict[str, Any], note: Callable[[str], None]
) -> Any:
    """Give back a table whose columns stand under their names, where rows have more fields than there are names.

    pandas takes the fields in front for an index. R writes one such field, the name of the row; some programs
    end each row with a separator. More than one field too many is a mistake that cannot be undone here.
    """
    import pandas as pd

    if isinstance(frame.index, pd.RangeIndex):
        return frame
    if frame.index.nlevels > 1:
        raise ValueError(
            f"there are {len(names)} column names ({', '.join(names[:3])}{', ...' * (len(names) > 3)}), but the rows "
            f"have {len(names) + frame.index.nlevels} fields; name every column in the first line."
        )
    last = frame.iloc[:, -1]
    if (last.isna() | (last == "")).all():
        note("each row ends with a separator")
        return pd.read_csv(path, index_col=False, usecols=names, **options)
    note("the rows have one more field than there are column names; the first is left out as a row name")
    return frame.reset_index(drop=True)


def column_names(path: Path) -> list[str]:
    """Return the names of the columns of a table without reading the rest."""
    if _start(path).startswith(_PARQUET):
        from pyarrow.parquet import read_schema

        return [str(name) for name in read_schema(path).names]
    options = {"compression": _compression(path)}
    options["skiprows"] = _remarks(path, options, lambda text: None)
    return _header(path, None, options, lambda text: None)[1]


def _compression(path: Path) -> Any:
    return next((how for magic, how in _COMPRESSION.items() if _start(path).startswith(magic)), None)


def _remarks(path: Path, options: dict[str, Any], note: Callable[[str], None]) -> int:
    """Count the lines with # on top that are remarks: the last may be the names, if it has as many fields as data."""
    import pandas as pd

    whole = {"sep": "\x1f", "header": None, "dtype": str, "keep_default_na": False, "quoting": 3}
    try:
        lines = pd.read_csv(path, nrows=50, **(options | whole))[0].tolist()
    except (pd.errors.EmptyDataError, pd.errors.ParserError):
        return 0
    count = next((k for k, line in enumerate(lines) if not line.startswith("#")), 0)
    signs = (",", *_SEPARATORS)
    if count and max(map(lines[count - 1].count, signs)) == max(map(lines[count].count, signs)):
        count -= 1
    if count:
        note(f"skipped {count} line{'s' * (count > 1)} of remarks (#) on top")
    return count


def _header(
    path: Path, separator: str | None, options: dict[str, Any], note: Callable[[str], None]
) -> tuple[str, list[str]]:
    """Find the separator and the column names."""
    import pandas as pd

    def names(sep: str) -> list[str]:
        try:
            return [str(name) for name in pd.read_csv(path, sep=sep, nrows=0, **options).columns]
        except pd.errors.EmptyDataError:
            raise ValueError("there is nothing but empty lines.") from None

    found = names(separator or ",")
    if separator is None and len(found) == 1:
        for sep, what in _SEPARATORS.items():
            if sep in found[0]:
                note(f"columns are separated by {what}")
                separator, found = sep, names(sep)
                break
    if all(_is_number(name) for name in found):
        raise ValueError(
            f"the first line holds numbers ({', '.join(found[:3])}), not names; put a line of column names on top."
        )
    return separator or ",", found


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _last_sentence(error: Exception) -> str:
    """Leave out what pandas says before the point: 'Error tokenizing data. C error: Expected 3 fields ...'."""
    return str(error).strip().rsplit("C error: ", 1)[-1].rstrip(".")


def text_columns(values: Any) -> Any:
    """Turn labels that were read as text into what they are: whole numbers, numbers, or text.

    Examples
    --------
    >>> import pandas as pd
    >>> text_columns(pd.Series(["3", "12"])).tolist(), text_columns(pd.Series(["03", "12"])).tolist()
    ([3, 12], ['03', '12'])
    """
    import pandas as pd

    if not pd.api.types.is_string_dtype(values.dtype) and values.dtype != object:
        return values
    text = values.astype(str)
    kind, _ = written_type(text.unique())
    return values if kind in ("bool", "str") else text.astype(kind)
