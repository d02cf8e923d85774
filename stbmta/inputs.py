"""What users have, turned into clean arrays; every complaint about user data is made here.

Each error names the bag, the column, what was found and what to do.
"""

import re
from collections.abc import Hashable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .labels import as_labels, is_missing, plain_label, written_type

__all__ = [
    "UNNAMED",
    "as_labels",
    "as_matrix",
    "check_column",
    "check_finite",
    "check_folds",
    "check_not_empty",
    "common_columns",
    "describe_bag",
    "factorize",
    "frame_columns",
    "read_table",
    "refuse_masked",
    "require_size",
]

Array = npt.NDArray[Any]
FloatArray = npt.NDArray[np.floating[Any]]

# Rows looked at together when searching for NaN: bounds the memory of the check.
_ROWS_AT_ONCE = 65_536
# What a column of row numbers is called; pandas names a column without a name "Unnamed: 0".
UNNAMED = re.compile(r"Unnamed: \d+|")
# Packages whose tables look like data frames, and what to do with those.
_OTHER_FRAMES = {
    "dask": " stbmta.scale.stream.BagStream.from_dask reads it.",
    "pyarrow": " Pass table.to_pandas().",
}


def describe_bag(label: Hashable, index: int) -> str:
    """Name a bag in an error message.

    Examples
    --------
    >>> describe_bag("JFK", 7)
    "bag 'JFK' (index 7)"
    """
    return f"bag {plain_label(label)!r} (index {index})"


def as_matrix(values: Any, what: str) -> FloatArray:
    """Turn one bag, or one long table, into a two-dimensional float array.

    float32 and float64 stay as they are, without a copy; integers and booleans become float64.
    One-dimensional input is one feature.

    Parameters
    ----------
    values : array-like
        Numbers, (n, d) or (n,).
    what : str
        How error messages call it.

    Returns
    -------
    ndarray of shape (n, d)
    """
    if hasattr(values, "tocsr"):
        raise TypeError(f"{what} is a sparse matrix; stbmta works on dense arrays. Pass values.toarray().")
    refuse_masked(values, what)
    if hasattr(values, "columns") and hasattr(values, "__getitem__"):
        return _frame_matrix(values, list(values.columns), what)
    if hasattr(getattr(values, "dtype", None), "na_value") and _is_numeric(values):
        values = _numbers(values)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{what} is not a rectangular array of numbers: {error}.") from error
    if array.dtype == object:
        raise TypeError(
            f"{what} has dtype object, not numbers; convert it first, e.g. with values.astype(float)."
            f"{_first_text(array)}"
        )
    if array.dtype.kind == "c":
        raise TypeError(
            f"{what} is complex; means are compared by real inner products. "
            "Stack the real and imaginary parts as separate columns."
        )
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{what} has dtype {array.dtype}, which is not numeric; encode it as numbers.")
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise ValueError(
            f"{what} has {array.ndim} dimensions (shape {array.shape}); a bag is a table of rows and columns."
        )
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    return array


def refuse_masked(values: Any, what: str) -> None:
    """Refuse masked values: without their mask they would count as numbers."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise ValueError(
            f"{what} has {np.ma.count_masked(values)} masked value(s); remove or impute them before making bags."
        )


def _first_text(array: Array) -> str:
    for value in array.ravel()[:1000]:
        if not isinstance(value, (int, float, np.number)):
            return f" Found {value!r}."
    return ""


def check_finite(data: FloatArray, offsets: Array, labels: Array, columns: Sequence[str] | None) -> None:
    """Refuse NaN and infinity, naming the first bag, row and column that has one."""
    for start in range(0, len(data), _ROWS_AT_ONCE):
        finite = np.isfinite(data[start : start + _ROWS_AT_ONCE])
        if finite.all():
            continue
        row, column = (int(k) for k in np.argwhere(~finite)[0])
        row += start
        bag = int(np.searchsorted(offsets, row, side="right")) - 1
        name = repr(columns[column]) if columns is not None else str(column)
        raise ValueError(
            f"{describe_bag(labels[bag], bag)} contains {data[row, column]} in column {name}, "
            f"row {row - int(offsets[bag])} of the bag. Remove or impute missing values before making bags."
        )


def require_size(
    sizes: Array, labels: Array, least: int, purpose: str, remedy: str = "Drop it with bags.drop_small({})."
) -> None:
    """Refuse bags with fewer than `least` rows, naming the first one and the remedy."""
    for i in np.flatnonzero(sizes < least)[:1]:
        rows = "1 row" if sizes[i] == 1 else f"{sizes[i]} rows"
        raise ValueError(
            f"{describe_bag(labels[i], int(i))} has {rows} (n_samples={sizes[i]}); "
            f"{purpose} needs at least {least}. {remedy.format(least)}"
        )


def check_folds(n_folds: Any) -> None:
    """Refuse numbers of folds that cannot be cut, or would leave nothing."""
    if not (isinstance(n_folds, (int, np.integer)) and n_folds >= 2):
        raise ValueError(f"n_folds must be an integer of at least 2, found {n_folds!r}.")


def check_not_empty(sizes: Array, labels: Array) -> None:
    """Refuse a bag without rows."""
    for i in np.flatnonzero(sizes <= 0)[:1]:
        raise ValueError(
            f"{describe_bag(labels[i], int(i))} has 0 rows; leave it out, its mean is not defined."
        )


def common_columns(bags: Sequence[Any], labels: Array) -> list[str] | None:
    """Return the column names of bags that are data frames, None for others; refuse differing names."""
    found = [getattr(bag, "columns", None) for bag in bags]
    if found[0] is None:
        return None
    first = [str(name) for name in found[0]]
    for i, columns in enumerate(found):
        if columns is None or [str(name) for name in columns] != first:
            raise ValueError(
                f"{describe_bag(labels[i], i)} does not have the columns {first} of "
                f"{describe_bag(labels[0], 0)}, in this order; all bags share one feature space."
            )
    return first


def factorize(groups: Any) -> tuple[npt.NDArray[np.int64], Array]:
    """Number the groups in order of first appearance.

    Parameters
    ----------
    groups : array-like of shape (n,)
        One label a row. Missing labels (None, NaN, NaT) are refused.

    Returns
    -------
    codes : ndarray of int64, shape (n,)
    labels : ndarray of shape (n_groups,)

    Examples
    --------
    >>> factorize(["b", "a", "b"])
    (array([0, 1, 0]), array(['b', 'a'], dtype='<U1'))
    """
    if hasattr(groups, "to_numpy"):
        groups = groups.to_numpy()
    keys = groups if isinstance(groups, np.ndarray) else as_labels(groups)
    if keys.ndim != 1:
        raise ValueError(f"groups must be one-dimensional, one label a row; found shape {keys.shape}.")
    _check_present(keys, "groups")
    if keys.dtype == object:
        codes_of: dict[Any, int] = {}
        codes = np.fromiter((codes_of.setdefault(key, len(codes_of)) for key in keys), np.int64, len(keys))
        return codes, as_labels(codes_of)
    labels, first, sorted_codes = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[sorted_codes].astype(np.int64, copy=False), labels[order]


def _check_present(keys: Array, what: str) -> None:
    rows = np.flatnonzero(_missing(keys))
    if len(rows):
        raise ValueError(
            f"{what} has {len(rows)} missing label(s), the first in row {rows[0]}. "
            "Drop those rows or give them a label of their own."
        )


def _missing(keys: Array) -> npt.NDArray[np.bool_]:
    if keys.dtype.kind in "fcmM":
        return np.isnan(keys) if keys.dtype.kind in "fc" else np.isnat(keys)
    if keys.dtype == object:
        return np.fromiter((is_missing(key) for key in keys), bool, len(keys))
    return np.zeros(len(keys), dtype=bool)


def frame_columns(
    frame: Any, by: str | Sequence[str] | None, columns: Sequence[str] | None
) -> tuple[FloatArray, Any, tuple[str, ...]]:
    """Take the features and the group labels out of a pandas or polars data frame.

    Returns
    -------
    X : ndarray of shape (n, d)
    groups : array of shape (n,); tuples when `by` names several columns
    names : tuple of str
    """
    package = type(frame).__module__.partition(".")[0]
    if package in _OTHER_FRAMES or not (hasattr(frame, "columns") and hasattr(frame, "__getitem__")):
        name = f"{package} {type(frame).__name__}" if package in _OTHER_FRAMES else type(frame).__name__
        raise TypeError(
            f"expected a pandas or polars data frame, found {name}.{_OTHER_FRAMES.get(package, '')}"
        )
    present = list(frame.columns)
    if by is None:
        raise ValueError("say which column holds the bags' labels, with by=...")
    keys = [by] if isinstance(by, str) or by in present else list(by)
    chosen = [columns] if isinstance(columns, str) else columns
    for name in [*keys, *(chosen if chosen is not None else ())]:
        check_column(name, present)
    names = [name for name in present if name not in keys] if chosen is None else list(chosen)
    if not names:
        raise ValueError(f"no feature columns are left beside {keys}; there is nothing to average.")
    _check_distinct(present, keys, "the table")
    X = _frame_matrix(frame, names, "the table")
    labels = [frame[key].to_numpy() for key in keys]
    for key, values in zip(keys, labels, strict=True):
        _check_present(values, f"column {key!r}")
    if len(keys) == 1:
        return X, labels[0], tuple(map(str, names))
    groups = np.empty(len(frame), dtype=object)
    groups[:] = list(zip(*(values.tolist() for values in labels), strict=True))
    return X, groups, tuple(map(str, names))


def _frame_matrix(frame: Any, names: list[Any], what: str) -> FloatArray:
    """Return some columns of a data frame as an array, (n, d); columns that are not numbers are named."""
    _check_distinct(list(frame.columns), names, what)
    if len(frame) == 0:  # types cannot be told, and do not matter
        return np.empty((0, len(names)))
    wrong = [name for name in names if not _is_numeric(frame[name])]
    if wrong:
        raise TypeError(
            f"column {wrong[0]!r} of {what} has dtype {frame[wrong[0]].dtype}, which is not numeric"
            + (f" (and {len(wrong) - 1} more: {wrong[1:]})" if len(wrong) > 1 else "")
            + ". Encode it as numbers, or choose the features with columns=[...]."
        )
    series = [_numbers(frame[name]) for name in names]
    kind = np.float32 if series and all(s.dtype == np.float32 for s in series) else np.float64
    X = np.empty((len(frame), len(names)), dtype=kind)
    for k, values in enumerate(series):
        X[:, k] = values
    return X


def _check_distinct(present: list[Any], names: list[Any], what: str) -> None:
    for name in names:
        if present.count(name) > 1:
            raise ValueError(f"{what} has {present.count(name)} columns {name!r}; give them different names.")


def _numbers(series: Any) -> FloatArray:
    # Nullable pandas columns turn into objects unless told how to write a missing value.
    if hasattr(series.dtype, "na_value"):
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    return series.to_numpy()


def _is_numeric(series: Any) -> bool:
    dtype = series.dtype
    if hasattr(dtype, "is_numeric"):  # polars
        return bool(dtype.is_numeric() or str(dtype) == "Boolean")
    from pandas.api.types import is_bool_dtype, is_complex_dtype, is_numeric_dtype

    return bool((is_numeric_dtype(dtype) or is_bool_dtype(dtype)) and not is_complex_dtype(dtype))


def check_column(name: str, present: Sequence[str]) -> None:
    """Refuse the name of a column that is not there, and say which one may be meant.

    Examples
    --------
    >>> check_column("Species", ["species", "island"])
    Traceback (most recent call last):
        ...
    KeyError: "there is no column 'Species'. Did you mean 'species'? Columns: 'species', 'island'."
    """
    if name in present:
        return
    folded = {str(p).casefold(): str(p) for p in present}
    close = get_close_matches(str(name).casefold(), folded, n=1)
    hint = f" Did you mean {folded[close[0]]!r}?" if close else ""
    raise KeyError(f"there is no column {name!r}.{hint} Columns: {', '.join(map(repr, present))}.")


def _as_written(labels: Any) -> Any:
    """Turn a column of text into what `written_type` says; with missing labels, which are refused, it stays text."""
    kind, _ = ("str", set()) if labels.isna().any() else written_type(labels.unique())
    return labels == "True" if kind == "bool" else labels.astype(kind)


def read_table(path: Path, keys: Sequence[str]) -> Any:
    """Read CSV (also compressed, also tab separated) or Parquet into a pandas data frame, labels by `written_type`."""
    import pandas as pd

    suffixes = [suffix.lower() for suffix in path.suffixes]
    if ".parquet" in suffixes or ".pq" in suffixes:
        return pd.read_parquet(path)
    for suffix, separator in ((".csv", ","), (".tsv", "\t")):
        if suffix in suffixes:
            table = pd.read_csv(path, sep=separator, dtype=dict.fromkeys(keys, str))
            for key in set(keys) & set(table):
                table[key] = _as_written(table[key])
            return table
    raise ValueError(f"cannot tell the format of {path.name!r}; use .csv, .tsv, .parquet or .npz.")
