"""The names of bags: kept as they are, distinct, and written to files without pickles."""

import json
import math
import re
from collections.abc import Hashable, Iterable, Mapping
from datetime import date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "as_labels",
    "check_labels",
    "fitted_places",
    "is_missing",
    "label_list",
    "labels_from_arrays",
    "labels_index",
    "labels_to_arrays",
    "place_of",
    "plain_label",
    "written_type",
]

Array = npt.NDArray[Any]


def as_labels(labels: Iterable[Hashable]) -> Array:
    """Keep labels as a one-dimensional array without changing what they are.

    Mixed types and tuples would be turned into text or into a second dimension by NumPy; those are
    kept as Python objects.

    Examples
    --------
    >>> as_labels(["a", 1])
    array(['a', 1], dtype=object)
    """
    if isinstance(labels, np.ndarray) and labels.ndim == 1:
        return labels
    values: list[Any] = list(labels)
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and not isinstance(values[0], tuple):
        array = np.array(values)
        if kinds == {int} and array.dtype.kind == "f":  # what NumPy makes of integers on both sides of 2**63
            array = np.array(values, dtype=np.uint64 if min(values) >= 0 else object)
        if array.ndim == 1:
            return array
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def label_list(labels: Array) -> list[Any]:
    """Return labels as hashable objects that make the same array again; dates stay dates of NumPy.

    Examples
    --------
    >>> label_list(np.array(["2024-01-01"], dtype="datetime64[ns]"))
    [np.datetime64('2024-01-01T00:00:00.000000000')]
    """
    return list(labels) if labels.dtype.kind in "mM" else labels.tolist()


def plain_label(label: Any) -> Any:
    """Return a label as Python shows it; dates and times of NumPy as text.

    Examples
    --------
    >>> plain_label(np.int64(3)), plain_label(np.datetime64("2024-01-01T00:00:00.000000000"))
    (3, '2024-01-01')
    """
    if isinstance(label, np.datetime64):
        return str(np.datetime_as_string(label, unit="auto"))
    if isinstance(label, np.timedelta64):
        return str(label)
    return label.item() if isinstance(label, np.generic) else label


def place_of(labels: Array, label: Any) -> int:
    """Return the place of one label; dates may have another unit, or be those of Python, pandas, or text.

    Examples
    --------
    >>> place_of(np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[ns]"), date(2024, 1, 2))
    1
    """
    found: Any = [k for k, known in enumerate(labels.tolist()) if known == label]
    if labels.dtype.kind in "mM":
        try:
            found = np.flatnonzero(labels == labels.dtype.type(label))
        except (TypeError, ValueError):  # no date at all
            found = []
    if len(found) == 0:
        raise KeyError(f"there is no bag {plain_label(label)!r}.")
    return int(found[0])


def check_labels(labels: Array, n_bags: int) -> None:
    """Refuse labels that are too many, too few, missing or not distinct."""
    if len(labels) != n_bags:
        raise ValueError(f"there are {n_bags} bags, but {len(labels)} labels.")
    seen: set[Any] = set()
    for i, label in enumerate(label_list(labels)):
        if is_missing(label):
            raise ValueError(f"the label at index {i} is missing ({label}); give the bag a name.")
        if label in seen:
            raise ValueError(
                f"the label {plain_label(label)!r} is used twice (again at index {i}); labels must be distinct."
            )
        seen.add(label)


def is_missing(label: Any) -> bool:
    """Tell whether a label, or a part of it, is None, NaN, NaT or pandas.NA.

    Examples
    --------
    >>> is_missing(("a", None)), is_missing(0)
    (True, False)
    """
    if isinstance(label, tuple):
        return any(is_missing(part) for part in label)
    if label is None:
        return True
    equal = label == label
    # pandas.NA answers with itself, which is neither true nor false.
    return not (isinstance(equal, (bool, np.bool_)) and equal)


def fitted_places(fitted: Array, labels: Array) -> npt.NDArray[np.int64]:
    """Return the place of each label among those of a fit, naming the first that is not there.

    Dates are the same whatever their units.

    Examples
    --------
    >>> dates = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[ns]")
    >>> fitted_places(dates, np.array(["2024-01-02"], dtype="datetime64[s]"))
    array([1])
    """
    known, wanted = fitted, labels
    if known.dtype.kind == wanted.dtype.kind and known.dtype.kind in "mM":
        unit = np.promote_types(known.dtype, wanted.dtype)
        known, wanted = known.astype(unit), wanted.astype(unit)
    places = {label: k for k, label in enumerate(known.tolist())}
    for i, label in enumerate(wanted.tolist()):
        if label not in places:
            raise ValueError(
                f"bag {plain_label(labels[i])!r} (index {i}) was not fitted; there is no estimate for it."
            )
    return np.array([places[label] for label in wanted.tolist()], dtype=np.int64)


def labels_to_arrays(labels: Array, name: str) -> dict[str, Array]:
    """Return labels as one named array that needs no pickle: themselves, or text that tells their types.

    Examples
    --------
    >>> labels_to_arrays(as_labels([("a", 1), "b"]), "labels")
    {'labels_json': array(['{"tuple": ["a", 1]}', '"b"'], dtype='<U19')}
    """
    if labels.dtype != object:
        return {name: labels}
    if all(isinstance(label, str) for label in labels):
        return {name: labels.astype(str)}
    return {f"{name}_json": np.array([json.dumps(_encode(label)) for label in labels])}


def labels_from_arrays(arrays: Mapping[str, Array], name: str) -> Array | None:
    """Return the labels that :func:`labels_to_arrays` stored under this name, None if there are none.

    Examples
    --------
    >>> labels_from_arrays(labels_to_arrays(as_labels([("a", 1), "b"]), "labels"), "labels")
    array([('a', 1), 'b'], dtype=object)
    """
    if f"{name}_json" in arrays:
        return as_labels([_decode(json.loads(text)) for text in arrays[f"{name}_json"].tolist()])
    return arrays.get(name)


def _encode(label: Any) -> Any:
    """Turn a label into what JSON can hold; a type that JSON does not know becomes the key of an object."""
    if isinstance(label, np.datetime64):
        return {"datetime64": str(label)}
    label = label.item() if isinstance(label, np.generic) else label
    if isinstance(label, (str, int, float)):
        return label
    if isinstance(label, tuple):
        return {"tuple": [_encode(part) for part in label]}
    if isinstance(label, date):  # also datetime and pandas.Timestamp, which are dates by inheritance
        return {type(label).__name__.lower(): label.isoformat()}
    raise TypeError(
        f"the label {label!r} is a {type(label).__name__}; only labels that are numbers, text, dates or tuples of "
        "these can be saved. Give the bags other labels."
    )


def _decode(found: Any) -> Any:
    if not isinstance(found, dict):
        return found
    ((kind, value),) = found.items()
    if kind == "timestamp":
        import pandas as pd

        return pd.Timestamp(value)
    readers: dict[str, Any] = {
        "tuple": lambda parts: tuple(_decode(part) for part in parts),
        "date": date.fromisoformat,
        "datetime": datetime.fromisoformat,
        "datetime64": np.datetime64,
    }
    return readers[kind](value)


def labels_index(labels: Array) -> Any:
    """Return labels as a pandas index; tuples stay tuples.

    Returns
    -------
    pandas.Index
        The labels in their order, under the name "bag".
    """
    import pandas as pd

    values = labels if labels.dtype.kind in "mM" else labels.tolist()
    return pd.Index(values, name="bag", tupleize_cols=False)


def written_type(texts: Iterable[str], found: Iterable[str] = ()) -> tuple[str, set[str]]:
    """Return the type of labels that are written in a text file: one that tells apart what is written differently.

    Leading zeros, and more digits than a number has, are part of a name: such labels stay text.

    Parameters
    ----------
    texts : iterable of str
        The labels, or some of them.
    found : iterable of str, optional
        What was found in others of the same column.

    Returns
    -------
    type : {"bool", "int64", "uint64", "float64", "str"}
        For all labels that were looked at.
    found : set of str
        The kinds of numbers among them, for the next call.

    Examples
    --------
    >>> [written_type(labels)[0] for labels in (["3", "12"], ["03", "12"], ["1", "2.5"], ["1", "1.0"])]
    ['int64', 'str', 'float64', 'str']
    """
    kinds = {*found, *map(_written_kind, texts)}
    for some, name in _WRITTEN.items():
        if kinds and kinds <= set(some):
            return name, kinds
    return "str", kinds


# Kinds of labels: whole numbers, negative (n) or not (i), long ones that float64 cannot hold (N, l), or int64 neither
# (u); other numbers (f), and whole ones with a point (w). And the type of columns that have no others.
_WRITTEN = {"b": "bool", "inlN": "int64", "ilu": "uint64", "inf": "float64", "fw": "float64"}
_WHOLE = re.compile("0|-?[1-9][0-9]*")


def _written_kind(text: str) -> str:
    if text in ("True", "False"):
        return "b"
    if _WHOLE.fullmatch(text):
        number = int(text) if len(text) <= 20 else 2**64
        if number < 0:
            return "n" if number >= -(2**53) else "N" if number >= -(2**63) else "s"
        return "i" if number <= 2**53 else "l" if number < 2**63 else "u" if number < 2**64 else "s"
    try:
        value = float(text)
    except ValueError:
        return "s"
    if not math.isfinite(value) or repr(value) != text:
        return "s"
    return "w" if value.is_integer() else "f"
