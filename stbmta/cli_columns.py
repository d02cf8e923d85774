"""Which columns of a user's table are features, which rows can be used, and the bags they make."""

import re
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt

from .bags import Bags
from .cli_read import text_columns
from .inputs import UNNAMED, check_column

__all__ = ["bags_of", "check_magnitudes", "chosen_columns", "numeric_columns"]

_INDEX = re.compile(r"(?i)index|level_0|id|rows?|row[ _]?(id|names?|numbers?)|rownames?")


def chosen_columns(wanted: list[str], present: list[str]) -> list[str]:
    """Find the columns that are meant: names, names with commas between them, patterns.

    Examples
    --------
    >>> chosen_columns(["a,c_*"], ["a", "b", "c_1", "c_2"])
    ['a', 'c_1', 'c_2']
    """
    found: list[str] = []
    for name in wanted:
        if name in present:
            found.append(name)
        elif "," in name:
            found += chosen_columns([part.strip() for part in name.split(",") if part.strip()], present)
        elif any(sign in name for sign in "*?["):
            fitting = [column for column in present if fnmatchcase(column, name)]
            if not fitting:
                raise KeyError(f"no column fits {name!r}. Columns: {', '.join(map(repr, present))}.")
            found += fitting
        else:
            check_column(name, present)
    if wanted and not found:
        raise KeyError(f"{', '.join(wanted)!r} names no column. Columns: {', '.join(map(repr, present))}.")
    return list(dict.fromkeys(found))


def bags_of(
    frame: Any,
    keys: list[str],
    columns: list[str] | None,
    *,
    one_hot: list[str] | None,
    drop_missing: bool,
    tell: Callable[[str], None],
) -> Bags:
    """Choose features, deal with missing values, and make bags.

    Parameters
    ----------
    frame : pandas.DataFrame
    keys : list of str
        The columns that hold labels.
    columns : list of str or None
        The features, as the user wrote them; None: every column of numbers.
    one_hot : list of str or None
        Categories to turn into columns of 0 and 1.
    drop_missing : bool
    tell : callable
        Told what was left out.
    """
    import pandas as pd

    present = list(frame.columns)
    categories = chosen_columns(one_hot or [], present)
    wanted = None if columns is None else chosen_columns(columns, present)
    if wanted is None and categories:
        wanted = []
    for name in [*categories, *(wanted or ())]:
        if name in keys:
            raise ValueError(f"column {name!r} holds the labels (--by); it cannot be a feature as well.")
    frame = _decimals_as_floats(frame, [*keys, *categories])
    names = numeric_columns(frame, wanted, [*keys, *categories], tell)
    if not names and not categories:
        raise ValueError(
            "no column of numbers is left; there is nothing to average. Choose features with --columns."
        )
    frame = frame.loc[_complete_rows(frame, keys, [*names, *categories], drop_missing, tell)]
    features = frame[names].astype(np.float64)
    check_magnitudes(
        features.to_numpy(),
        names,
        lambda row: f"row {frame.index[row] + 1} (rows count from 1 below the names)",
    )
    if categories:
        shares = pd.get_dummies(frame[categories], columns=categories, dtype=np.float64)
        features = pd.concat([features, shares], axis=1)
    groups = [_labels(frame[key]) for key in keys]
    for key, group in zip(keys, groups, strict=True):
        count = int((group == "NA").sum()) if group.dtype.kind not in "fiub" else 0
        if count:
            tell(
                f"{count} rows have the label NA in {key}; that is taken for a name, not for a missing label"
            )
    labels: Any = groups[0].to_numpy()
    if len(keys) > 1:
        labels = np.empty(len(frame), dtype=object)
        labels[:] = list(zip(*(group.tolist() for group in groups), strict=True))
    return Bags.from_groups(features.to_numpy(), labels, list(features.columns))


def _decimals_as_floats(frame: Any, taken: list[str]) -> Any:
    """Turn columns of decimal.Decimal, as Parquet files of databases give, into floating point numbers."""
    import pandas as pd

    decimals = [
        name
        for name in frame.columns
        if name not in taken
        and frame[name].dtype == object
        and pd.api.types.infer_dtype(frame[name], skipna=True) == "decimal"
    ]
    return frame.astype(dict.fromkeys(decimals, np.float64)) if decimals else frame


def check_magnitudes(
    values: npt.NDArray[Any], columns: Sequence[str], name_row: Callable[[int], str]
) -> None:
    """Refuse infinite numbers, and numbers so large that the sum of their squares is not finite.

    Parameters
    ----------
    values : ndarray of shape (n, d)
    columns : sequence of str
    name_row : callable
        Turns the number of a row into words.

    Examples
    --------
    >>> check_magnitudes(np.array([[1.0, 1e200]]), ["a", "b"], lambda row: f"row {row + 1}")
    Traceback (most recent call last):
    ...
    ValueError: row 1 holds 1e+200 in column 'b'; beyond 9.5e+153 squares overflow. Correct it, ...
    """
    limit = np.sqrt(np.finfo(np.float64).max / max(values.size, 1))
    beyond = np.abs(values) > limit
    if beyond.any():
        row, column = (int(k) for k in np.argwhere(beyond)[0])
        found = values[row, column]
        why = f"; beyond {limit:.2g} squares overflow" if np.isfinite(found) else ", which has no mean"
        raise ValueError(
            f"{name_row(row)} holds {found:g} in column {columns[column]!r}{why}. Correct it, or take another unit; "
            "an empty cell counts as missing."
        )


def _labels(values: Any) -> Any:
    """Return labels that print well and can be written to any file."""
    import pandas as pd

    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(values.cat.categories.dtype)
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        whole_days = (values.dt.normalize() == values).all()
        return values.dt.strftime("%Y-%m-%d" if whole_days else "%Y-%m-%d %H:%M:%S")
    return text_columns(values)


def numeric_columns(
    frame: Any, wanted: list[str] | None, taken: list[str], tell: Callable[[str], None]
) -> list[str]:
    """Find the features among the columns, and say which were left out.

    Parameters
    ----------
    frame : pandas.DataFrame
    wanted : list of str or None
        Chosen by the user: each must hold numbers. None: all that hold numbers and are not row numbers.
    taken : list of str
        Columns that are something else.
    tell : callable
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    found: list[str] = []
    text, counters, empty = [], [], []
    for name in [column for column in frame.columns if column not in taken] if wanted is None else wanted:
        column = frame[name]
        if not (is_numeric_dtype(column.dtype) or is_bool_dtype(column.dtype)):
            _check_stray_text(name, column)
            if wanted is not None:
                raise TypeError(_not_numbers(name, column))
            text.append(name)
        elif wanted is None and column.isna().all():
            empty.append(name)
        elif wanted is None and _counts_rows(column, first=name == frame.columns[0]):
            counters.append(name)
        else:
            found.append(name)
    if not found:  # what counts may be what is measured
        found = [name for name in counters if not UNNAMED.fullmatch(name)]
        counters = [name for name in counters if name not in found]
    for names, why in ((text, "not numbers"), (counters, "row numbers"), (empty, "no values")):
        if names:
            tell(f"left out {', '.join(names)} ({why})")
    return found


def _counts_rows(column: Any, *, first: bool) -> bool:
    """Tell whether a column only numbers the rows, as an index written to a file does.

    It stands first, or is named like an index, and counts 0, 1, 2, ... or 1, 2, 3, ...; a first column without a name
    may hold the numbers in any order, since rows may have been sorted or drawn before they were written.
    """
    values = column.to_numpy()
    if values.dtype.kind not in "iu" or len(values) < 3:
        return False
    unnamed = UNNAMED.fullmatch(column.name)
    if first and unnamed:
        return len(np.unique(values)) == len(values)
    in_order = values[0] in (0, 1) and bool((np.diff(values) == 1).all())
    return in_order and bool(first or unnamed or _INDEX.fullmatch(column.name))


def _check_stray_text(name: str, column: Any) -> None:
    """Refuse a column of numbers with a few cells that are none, naming the first, and one with decimal commas."""
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return
    cells = column.astype(str)
    if column.notna().any() and cells[column.notna()].str.fullmatch(r"\s*[-+]?\d+,\d+\s*").all():
        raise ValueError(
            f"column {name!r} holds numbers with commas ({next(iter(column.dropna()))!r}). If the comma is the decimal "
            "point, say so with --decimal ,; if it groups digits, take it out; or choose other --columns."
        )
    numbers = pd.to_numeric(cells, errors="coerce")
    stray = numbers.isna() & column.notna()
    if 0 < stray.sum() < numbers.notna().sum():
        row = int(np.flatnonzero(stray)[0])
        raise ValueError(
            f"row {row + 1} of column {name!r} holds {column.iloc[row]!r}, not a number (as do {int(stray.sum()) - 1} "
            f"others); rows count from 1 below the names. Correct it, or leave the column out with --columns."
        )


def _not_numbers(name: str, column: Any) -> str:
    import pandas as pd

    first = next(iter(column.dropna()), "")
    if pd.api.types.is_datetime64_any_dtype(column.dtype) or _is_date(str(first)):
        return f"column {name!r} holds dates ({str(first)!r}), not numbers; use it with --by, or turn it into numbers."
    return (
        f"column {name!r} holds text ({str(first)!r}), not numbers; count its categories with --one-hot {name}, "
        "or leave it out."
    )


def _is_date(text: str) -> bool:
    from datetime import datetime

    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return not text.isdigit()


def _complete_rows(
    frame: Any, keys: list[str], names: list[str], drop: bool, tell: Callable[[str], None]
) -> npt.NDArray[np.bool_]:
    """Return which rows have a label and all values; refuse others, unless they may be dropped."""
    missing = frame[[*keys, *names]].isna().to_numpy()
    missing[:, : len(keys)] |= (frame[keys] == "").to_numpy()
    bad = missing.any(axis=1)
    if not bad.any():
        return ~bad
    if drop:
        if bad.all():
            column = [*keys, *names][int(missing.sum(axis=0).argmax())]
            raise ValueError(
                f"no row is complete; {column!r} has the most missing values. Choose other --columns."
            )
        tell(f"dropped {int(bad.sum())} of {len(bad)} rows with missing values")
        lost = set(map(tuple, frame.loc[bad, keys].dropna().values)) - set(
            map(tuple, frame.loc[~bad, keys].values)
        )
        if lost:
            shown = ", ".join(" ".join(map(str, label)) for label in sorted(lost, key=str)[:5])
            bags = "1 bag lost all its rows" if len(lost) == 1 else f"{len(lost)} bags lost all their rows"
            tell(f"{bags}: {shown}{', ...' if len(lost) > 5 else ''}")
        return ~bad
    row, place = (int(k) for k in np.argwhere(missing)[0])
    counts = {name: int(n) for name, n in zip([*keys, *names], missing.sum(axis=0), strict=True) if n}
    raise ValueError(
        f"row {row + 1} has no value in column {[*keys, *names][place]!r} (rows count from 1 below the names). "
        f"{int(bad.sum())} of {len(bad)} rows have missing values: "
        + ", ".join(f"{name} {count}" for name, count in counts.items())
        + ". Fill them in, or leave out those rows with --drop-missing."
    )
