"""Bags: many small data sets on one feature space, in one contiguous array.

Step 1 of the way of the data. Everything a user can get wrong about the data is found here, once.
"""

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from .container import RNG, BagsContainer, BagsDescription
from .files import atomic_write
from .inputs import (
    UNNAMED,
    as_matrix,
    check_finite,
    check_not_empty,
    common_columns,
    describe_bag,
    factorize,
    frame_columns,
    read_table,
    require_size,
)
from .labels import as_labels, check_labels, label_list, labels_from_arrays, labels_to_arrays

__all__ = ["RNG", "Bags", "BagsDescription", "require_size"]

Array = npt.NDArray[Any]


class Bags(BagsContainer):
    """Many data sets on one feature space.

    Make one with :meth:`from_list`, :meth:`from_groups`, :meth:`from_frame`, :meth:`from_offsets` or
    :meth:`read`. Bags do not change after that; every method returns new ones.

    Attributes
    ----------
    data : ndarray of shape (n, d)
        All points, bag after bag, float32 or float64, C-contiguous.
    offsets : ndarray of int64, shape (B + 1,)
        Bag i is ``data[offsets[i]:offsets[i + 1]]``.
    labels : ndarray of shape (B,)
        The name of each bag. They come back in every result.
    columns : tuple of str or None
        The names of the features, when they are known.
    rows : ndarray of int64, shape (n,)
        For each point, its row in the data as it was given.

    Examples
    --------
    >>> import numpy as np
    >>> bags = Bags.from_list([np.zeros((3, 2)), np.ones((2, 2))], labels=["a", "b"])
    >>> bags
    Bags(2 bags, 5 points, dim 2, sizes 2 to 3, float64, 80 B)
    >>> bags.means()
    array([[0., 0.],
           [1., 1.]])
    """

    __slots__ = ()

    @classmethod
    def from_offsets(
        cls,
        data: npt.ArrayLike,
        offsets: npt.ArrayLike,
        labels: Iterable[Hashable] | None = None,
        columns: Sequence[str] | None = None,
    ) -> Self:
        """Make bags from stacked points and the position where each bag starts.

        Memory maps are not copied.

        Parameters
        ----------
        data : array-like of shape (n, d)
            The points, bag after bag; float32 and float64 stay, other numbers become float64.
        offsets : array-like of int, shape (B + 1,)
            Bag i is ``data[offsets[i]:offsets[i + 1]]``; from 0 to n, strictly increasing.
        labels : iterable, optional
            The names of the bags; 0, 1, ... by default.
        columns : sequence of str, optional
            The names of the features.

        Examples
        --------
        >>> Bags.from_offsets([[0.0], [1.0], [5.0]], [0, 2, 3]).means()
        array([[0.5],
               [5. ]])
        """
        points = np.ascontiguousarray(as_matrix(data, "the data"))
        starts = np.asarray(offsets)
        if starts.ndim != 1 or starts.dtype.kind not in "iu" or len(starts) == 0:
            raise ValueError(
                "offsets must be a one-dimensional array of integers, one more than there are bags."
            )
        starts = starts.astype(np.int64)
        if len(starts) == 1 or (len(points) == 0 and len(starts) <= 2):
            raise ValueError("there are no bags: the data is empty.")
        names = np.arange(len(starts) - 1) if labels is None else as_labels(labels)
        check_labels(names, len(starts) - 1)
        falls = np.flatnonzero(np.diff(starts) < 0)
        if len(falls):
            raise ValueError(
                f"offsets must not fall; found {starts[falls[0]]} and then {starts[falls[0] + 1]}, at index {falls[0]}."
            )
        if starts[0] != 0 or starts[-1] != len(points):
            raise ValueError(
                f"offsets must run from 0 to {len(points)}, the number of points; found {starts}."
            )
        check_not_empty(np.diff(starts), names)
        if points.shape[1] == 0:
            raise ValueError("the data has 0 feature(s) (columns); a minimum of 1 is required.")
        columns = [columns] if isinstance(columns, str) else columns
        columns = None if columns is None else tuple(map(str, columns))
        if columns is not None and len(columns) != points.shape[1]:
            raise ValueError(f"{len(columns)} column names were given for {points.shape[1]} columns.")
        check_finite(points, starts, names, columns)
        return cls._make(points, starts, names, columns, np.arange(len(points)))

    @classmethod
    def from_list(
        cls,
        bags: Iterable[npt.ArrayLike],
        labels: Iterable[Hashable] | None = None,
        columns: Sequence[str] | None = None,
    ) -> Self:
        """Make bags from a list of arrays.

        Parameters
        ----------
        bags : iterable of array-like
            Each (N_i, d); a one-dimensional array is d = 1. Data frames must have the same columns.
        labels : iterable, optional
            The names of the bags; 0, 1, ... by default.
        columns : sequence of str, optional
            The names of the features; those of data frames by default.

        Examples
        --------
        >>> Bags.from_list([[1.0, 2.0], [3.0]]).sizes
        array([2, 1])
        """
        given = list(bags)
        if not given:
            raise ValueError("there are no bags: the list is empty.")
        names = np.arange(len(given)) if labels is None else as_labels(labels)
        check_labels(names, len(given))
        columns = common_columns(given, names) if columns is None else columns
        arrays = [as_matrix(bag, describe_bag(names[i], i)) for i, bag in enumerate(given)]
        sizes = np.array([len(a) for a in arrays], dtype=np.int64)
        check_not_empty(sizes, names)
        dim = arrays[0].shape[1]
        for i, array in enumerate(arrays):
            if array.shape[1] != dim:
                raise ValueError(
                    f"{describe_bag(names[i], i)} has {array.shape[1]} columns, "
                    f"but {describe_bag(names[0], 0)} has {dim}; all bags share one feature space."
                )
        return cls.from_offsets(np.concatenate(arrays), np.r_[0, np.cumsum(sizes)], names, columns)

    @classmethod
    def from_groups(cls, X: npt.ArrayLike, groups: Any, columns: Sequence[str] | None = None) -> Self:
        """Make bags from a long table and one label a row.

        Bags come in order of first appearance. Where the rows of each bag already stand together,
        the data is not copied.

        Parameters
        ----------
        X : array-like of shape (n, d)
            One point a row; the rows of a bag may stand anywhere.
        groups : array-like of shape (n,)
            The bag of each row: numbers, text, dates, tuples. Missing labels are refused.
        columns : sequence of str, optional
            The names of the features; those of a data frame by default.

        Examples
        --------
        >>> bags = Bags.from_groups([[1.0], [5.0], [3.0]], ["x", "y", "x"])
        >>> bags.labels, bags.means().ravel()
        (array(['x', 'y'], dtype='<U1'), array([2., 5.]))
        """
        points = as_matrix(X, "X")
        columns = getattr(X, "columns", None) if columns is None else columns
        codes, labels = factorize(groups)
        if len(codes) != len(points):
            raise ValueError(
                f"X has {len(points)} rows, but groups has {len(codes)} labels; one label a row."
            )
        if len(points) == 0:
            raise ValueError("there are no bags: X has 0 rows.")
        sizes = np.bincount(codes, minlength=len(labels))
        rows = np.argsort(codes, kind="stable")
        if (np.diff(codes) < 0).any():
            points = points[rows]
        bags = cls.from_offsets(points, np.r_[0, np.cumsum(sizes)], labels, columns)
        return bags._with_rows(rows)

    @classmethod
    def from_frame(cls, frame: Any, by: str | Sequence[str], columns: Sequence[str] | None = None) -> Self:
        """Make bags from a pandas or polars data frame.

        Parameters
        ----------
        frame : pandas.DataFrame or polars.DataFrame
            One point a row, with the label of its bag and its features.
        by : str or sequence of str
            The column that holds the label of each row's bag. Several columns give tuples as labels.
        columns : sequence of str, optional
            The features; all other columns by default.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"city": ["Rome", "Oslo", "Rome"], "temperature": [20.0, 8.0, 24.0]})
        >>> Bags.from_frame(frame, by="city").means().ravel()
        array([22.,  8.])
        """
        X, groups, names = frame_columns(frame, by, columns)
        if len(X) == 0:
            raise ValueError("there are no bags: the table has 0 rows.")
        return cls.from_groups(X, groups, names)

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        by: str | Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
    ) -> Self:
        """Read bags from a CSV, Parquet or NPZ file.

        Parameters
        ----------
        path : path-like
            ``.csv``, ``.tsv`` (also compressed, as ``.csv.gz``), ``.parquet`` or ``.npz``.
        by : str or sequence of str, optional
            The column with the bags' labels. Needed for tables. In an NPZ file, the name of the array of
            labels; a file made by :meth:`save` needs none.
        columns : sequence of str, optional
            The features; all other columns by default, without an index that pandas wrote (``Unnamed: 0``). In an
            NPZ file, the name of the data array.

        Examples
        --------
        >>> Bags.from_list([[1.0, 2.0], [3.0]], labels=["a", "b"]).save("bags.npz")
        >>> Bags.read("bags.npz").labels
        array(['a', 'b'], dtype='<U1')
        """
        path = Path(path)
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {str(path)!r}.")
        if path.suffix.lower() == ".npz":
            return cls._read_npz(path, by, columns)
        if by is None:
            raise ValueError(f"{path.name} is a table; say which column holds the bags' labels, with by=...")
        keys = [by] if isinstance(by, str) else list(by)
        table = read_table(path, keys)
        if columns is None:  # pandas wrote its index, which is no feature
            table = table.drop(
                columns=[name for name in table if UNNAMED.fullmatch(str(name)) and name not in keys]
            )
        return cls.from_frame(table, by, columns)

    @classmethod
    def _read_npz(cls, path: Path, by: Any, columns: Sequence[str] | None) -> Self:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        if by is None:
            if not {"data", "offsets"} <= arrays.keys():
                raise ValueError(
                    f"{path.name} holds {sorted(arrays)}; say which array holds the labels, with by=..., "
                    "or store 'data' and 'offsets' as Bags.save does."
                )
            return cls.from_arrays(arrays)
        if by not in arrays:
            raise KeyError(f"there is no array {by!r} in {path.name}; it holds {sorted(arrays)}.")
        others = (
            sorted(set(arrays) - {by})
            if columns is None
            else [columns]
            if isinstance(columns, str)
            else columns
        )
        if len(others) != 1 or others[0] not in arrays:
            raise ValueError(
                f"which array of {path.name} is the data? Name one of {sorted(arrays)} with columns=..."
            )
        return cls.from_groups(arrays[others[0]], arrays[by])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bags to an NPZ file without pickles; :meth:`read` reads it.

        Labels are numbers, text, dates or tuples of these; others are refused.
        """
        with atomic_write(path) as file:
            np.savez(file, **self.to_arrays())  # type: ignore[arg-type]

    def to_arrays(self) -> dict[str, Array]:
        """Return data, offsets, rows, labels and column names as arrays that need no pickle.

        Returns
        -------
        dict of str to ndarray
            What :meth:`save` writes and :meth:`from_arrays` reads.
        """
        named = {} if self.columns is None else {"columns": np.array(self.columns)}
        own = {"data": self.data, "offsets": self.offsets, "rows": self.rows}
        return {**own, **labels_to_arrays(self.labels, "labels"), **named}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """Make bags from what :meth:`to_arrays` returned."""
        columns = arrays.get("columns")
        names = None if columns is None else columns.tolist()
        bags = cls.from_offsets(
            arrays["data"], arrays["offsets"], labels_from_arrays(arrays, "labels"), names
        )
        return bags._with_rows(arrays["rows"]) if "rows" in arrays else bags

    def _with_rows(self, rows: Array) -> Self:
        """Return the same bags, told which rows of the data as it was given their points are."""
        if rows.shape != (len(self.data),) or rows.dtype.kind not in "iu" or (rows < 0).any():
            raise ValueError(
                f"rows must be {len(self.data)} positions, one a point; found shape {rows.shape}."
            )
        return self._make(self.data, self.offsets, self.labels, self.columns, rows.astype(np.int64))

    @classmethod
    def concat(cls, parts: Iterable["Bags"]) -> Self:
        """Put the bags of several collections into one; labels must stay distinct.

        Points keep their rows (``rows``) where these are distinct: the collections are then parts of one. Otherwise
        they are numbered anew, in the order of the result.

        Examples
        --------
        >>> a, b = Bags.from_list([[1.0]], labels=["a"]), Bags.from_list([[2.0]], labels=["b"])
        >>> len(Bags.concat([a, b]))
        2
        """
        given = list(parts)
        if not given:
            raise ValueError("there is nothing to put together.")
        columns = given[0].columns if all(part.columns == given[0].columns for part in given) else None
        bags = cls.from_list(
            [bag for part in given for bag in part],
            as_labels([label for part in given for label in label_list(part.labels)]),
            columns,
        )
        rows = np.concatenate([part.rows for part in given])
        return bags._with_rows(rows) if len(np.unique(rows)) == len(rows) else bags
