"""Bags: many small data sets on one feature space, in one contiguous array.

Step 1 of the way of the data. Everything a user can get wrong about the data is found here, once.
"""

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Self, overload

import numpy as np
import numpy.typing as npt

from .files import atomic_write
from .inputs import (
    as_labels,
    as_matrix,
    check_finite,
    describe_bag,
    factorize,
    frame_columns,
    plain_labels,
    read_table,
)

__all__ = ["Bags", "BagsDescription"]

Array = npt.NDArray[Any]
RNG = np.random.Generator | int | None


class Bags:
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

    __slots__ = ("columns", "data", "labels", "offsets", "rows")

    data: npt.NDArray[np.floating[Any]]
    offsets: npt.NDArray[np.int64]
    labels: Array
    columns: tuple[str, ...] | None
    rows: npt.NDArray[np.int64]

    def __init__(self, *_: Any, **__: Any) -> None:
        raise TypeError("make bags with Bags.from_list, .from_groups, .from_frame, .from_offsets or .read.")

    @classmethod
    def _make(
        cls,
        data: npt.NDArray[np.floating[Any]],
        offsets: npt.NDArray[np.int64],
        labels: Array,
        columns: tuple[str, ...] | None,
        rows: npt.NDArray[np.int64],
    ) -> Self:
        """Put together parts that are known to be valid."""
        bags = object.__new__(cls)
        for name, part in zip(
            ("data", "offsets", "labels", "columns", "rows"),
            (data, offsets, labels, columns, rows),
            strict=True,
        ):
            object.__setattr__(bags, name, part)
        return bags

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("bags do not change; make new ones.")

    def __reduce__(self) -> tuple[Any, ...]:
        return self._make, (self.data, self.offsets, self.labels, self.columns, self.rows)

    # ------------------------------------------------------------------ making bags

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
        _check_labels(names, len(starts) - 1)
        if starts[0] != 0 or starts[-1] != len(points):
            raise ValueError(
                f"offsets must run from 0 to {len(points)}, the number of points; found {starts}."
            )
        _check_not_empty(np.diff(starts), names)
        if points.shape[1] == 0:
            raise ValueError("the data has 0 feature(s) (columns); a minimum of 1 is required.")
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
            Each (N_i, d); a one-dimensional array is d = 1.
        labels : iterable, optional
            The names of the bags; 0, 1, ... by default.
        columns : sequence of str, optional
            The names of the features.

        Examples
        --------
        >>> Bags.from_list([[1.0, 2.0], [3.0]]).sizes
        array([2, 1])
        """
        given = list(bags)
        if not given:
            raise ValueError("there are no bags: the list is empty.")
        names = np.arange(len(given)) if labels is None else as_labels(labels)
        _check_labels(names, len(given))
        arrays = [as_matrix(bag, describe_bag(names[i], i)) for i, bag in enumerate(given)]
        sizes = np.array([len(a) for a in arrays], dtype=np.int64)
        _check_not_empty(sizes, names)
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
        groups : array-like of shape (n,)
            The bag of each row: numbers, text, dates, tuples. Missing labels are refused.
        columns : sequence of str, optional
            The names of the features.

        Examples
        --------
        >>> bags = Bags.from_groups([[1.0], [5.0], [3.0]], ["x", "y", "x"])
        >>> bags.labels, bags.means().ravel()
        (array(['x', 'y'], dtype='<U1'), array([2., 5.]))
        """
        points = as_matrix(X, "X")
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
        return cls._make(bags.data, bags.offsets, bags.labels, bags.columns, rows)

    @classmethod
    def from_frame(cls, frame: Any, by: str | Sequence[str], columns: Sequence[str] | None = None) -> Self:
        """Make bags from a pandas or polars data frame.

        Parameters
        ----------
        frame : pandas.DataFrame or polars.DataFrame
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
            The features; all other columns by default. In an NPZ file, the name of the data array.

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
        return cls.from_frame(read_table(path), by, columns)

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

        Labels that are neither numbers, text nor dates are refused.
        """
        with atomic_write(path) as file:
            np.savez(file, **self.to_arrays())  # type: ignore[arg-type]

    def to_arrays(self) -> dict[str, Array]:
        """Return data, offsets, labels and column names as arrays that need no pickle."""
        named = {} if self.columns is None else {"columns": np.array(self.columns)}
        return {"data": self.data, "offsets": self.offsets, "labels": plain_labels(self.labels), **named}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """Make bags from what :meth:`to_arrays` returned."""
        columns = arrays.get("columns")
        names = None if columns is None else columns.tolist()
        return cls.from_offsets(arrays["data"], arrays["offsets"], arrays.get("labels"), names)

    @classmethod
    def concat(cls, parts: Iterable["Bags"]) -> Self:
        """Put the bags of several collections into one; labels must stay distinct.

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
        return cls.from_list(
            [bag for part in given for bag in part],
            as_labels([label for part in given for label in part.labels.tolist()]),
            columns,
        )

    # ------------------------------------------------------------------ looking at bags

    def __len__(self) -> int:
        """Return the number of bags, B."""
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Array]:
        """Go through the bags, each an (N_i, d) array."""
        return (self[i] for i in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> Array: ...
    @overload
    def __getitem__(self, index: slice | Array | Sequence[int]) -> Self: ...
    def __getitem__(self, index: int | slice | Array | Sequence[int]) -> Array | Self:
        """Return one bag as an array (a view), or several as Bags."""
        if isinstance(index, (int, np.integer)):
            if not -len(self) <= index < len(self):
                raise IndexError(f"there are {len(self)} bags; index {index} is out of range.")
            i = int(index) % len(self)
            return self.data[self.offsets[i] : self.offsets[i + 1]]
        return self.select(index)

    def bag(self, label: Hashable) -> Array:
        """Return the bag with this label, an (N_i, d) array.

        Examples
        --------
        >>> Bags.from_list([[1.0], [2.0]], labels=["a", "b"]).bag("b")
        array([[2.]])
        """
        for i, name in enumerate(self.labels.tolist()):
            if name == label:
                return self[i]
        raise KeyError(f"there is no bag {label!r}.")

    def __eq__(self, other: object) -> bool:
        """Tell whether data, bags and labels are the same."""
        if not isinstance(other, Bags):
            return NotImplemented
        return (
            np.array_equal(self.offsets, other.offsets)
            and self.labels.tolist() == other.labels.tolist()
            and np.array_equal(self.data, other.data)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        d = self.describe()
        sizes = f"size {d.smallest}" if d.smallest == d.largest else f"sizes {d.smallest} to {d.largest}"
        return (
            f"Bags({d.n_bags} bags, {d.n_points} points, dim {d.dim}, {sizes}, {d.dtype}, {_bytes(d.memory)})"
        )

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Number of points of each bag, (B,)."""
        return np.diff(self.offsets)

    @property
    def dim(self) -> int:
        """Number of features, d."""
        return self.data.shape[1]

    def describe(self) -> "BagsDescription":
        """Tell sizes, dimension and memory.

        Examples
        --------
        >>> print(Bags.from_list([[1.0, 2.0], [3.0]]).describe().summary())
        bags              2
        points            3
        dimension         1
        smallest bag      1
        median bag        1.5
        largest bag       2
        dtype             float64
        memory            24 B
        """
        sizes = self.sizes
        return BagsDescription(
            n_bags=len(self),
            n_points=len(self.data),
            dim=self.dim,
            smallest=int(sizes.min()),
            median=float(np.median(sizes)),
            largest=int(sizes.max()),
            dtype=str(self.data.dtype),
            memory=self.data.nbytes,
        )

    # ------------------------------------------------------------------ computing with bags

    def means(self) -> npt.NDArray[np.float64]:
        r"""Return the naive mean of each bag, :math:`\hat\mu_i = N_i^{-1} \sum_k X_k^{(i)}` (eq. naivedef).

        Sums run over differences to the middle of the data, so a common offset costs no accuracy.
        """
        from .statistics import centered_means

        center, means, _ = centered_means(self)
        return center + means

    def select(self, which: slice | Array | Sequence[int]) -> Self:
        """Return the chosen bags: a slice, positions, or a mask of B booleans."""
        index = np.arange(len(self))[which if isinstance(which, slice) else np.asarray(which)]
        index = np.atleast_1d(index)
        if len(index) == 0:
            raise ValueError("no bags are left.")
        return self._take(
            [np.arange(self.offsets[i], self.offsets[i + 1]) for i in index], self.labels[index]
        )

    def relabel(self, labels: Iterable[Hashable]) -> Self:
        """Return the same bags under other names.

        Examples
        --------
        >>> Bags.from_list([[1.0], [2.0]]).relabel(["a", "b"]).labels
        array(['a', 'b'], dtype='<U1')
        """
        names = as_labels(labels)
        _check_labels(names, len(self))
        return self._make(self.data, self.offsets, names, self.columns, self.rows)

    def drop_small(self, min_size: int) -> Self:
        """Return the bags with at least `min_size` points.

        Examples
        --------
        >>> Bags.from_list([[1.0, 2.0], [3.0]]).drop_small(2).labels
        array([0])
        """
        return self.select(self.sizes >= min_size)

    def split(self, fraction: float = 0.5, rng: RNG = None) -> tuple[Self, Self]:
        """Split each bag at random into two, as Theorem 1 needs for tests independent of estimates.

        Parameters
        ----------
        fraction : float
            The share of each bag that goes to the first part; both parts get at least one point.
        rng : {None, int, numpy.random.Generator}, optional

        Returns
        -------
        first, second : Bags
        """
        if not 0 < fraction < 1:
            raise ValueError(f"fraction must be between 0 and 1, found {fraction}.")
        self.require_size(2, "a split")
        first = np.clip(np.rint(fraction * self.sizes).astype(np.int64), 1, self.sizes - 1)
        shuffled = self._shuffled(rng)
        return (
            self._take([order[:k] for order, k in zip(shuffled, first, strict=True)], self.labels),
            self._take([order[k:] for order, k in zip(shuffled, first, strict=True)], self.labels),
        )

    def subsample(self, size: int | Array, rng: RNG = None) -> Self:
        """Draw `size` points of each bag without replacement.

        Parameters
        ----------
        size : int or array of int, shape (B,)
        rng : {None, int, numpy.random.Generator}, optional
        """
        wanted = np.broadcast_to(np.asarray(size, dtype=np.int64), (len(self),))
        if (wanted < 1).any():
            raise ValueError("size must be at least 1.")
        for i in np.flatnonzero(wanted > self.sizes)[:1]:
            raise ValueError(
                f"{describe_bag(self.labels[i], int(i))} has {self.sizes[i]} rows, fewer than {wanted[i]}. "
                f"Drop it with bags.drop_small({wanted[i]})."
            )
        return self._take(
            [order[:k] for order, k in zip(self._shuffled(rng), wanted, strict=True)], self.labels
        )

    def folds(
        self, n_folds: int, rng: RNG = None
    ) -> tuple[Self, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Shuffle each bag and cut it into folds of nearly equal size.

        Parameters
        ----------
        n_folds : int
            At most; a bag of N points has at most N folds.
        rng : {None, int, numpy.random.Generator}, optional

        Returns
        -------
        shuffled : Bags
            The same bags, each in a random order.
        offsets : ndarray of int64
            Where each fold starts among the points of `shuffled`.
        bag_of : ndarray of int64
            The bag of each fold.
        """
        shuffled = self._take(self._shuffled(rng), self.labels)
        counts = np.minimum(n_folds, self.sizes)
        bag_of = np.repeat(np.arange(len(self)), counts)
        number = np.arange(len(bag_of)) - np.repeat(np.cumsum(counts) - counts, counts)
        starts = self.offsets[bag_of] + number * self.sizes[bag_of] // counts[bag_of]
        return shuffled, np.r_[starts, len(self.data)].astype(np.int64), bag_of

    def take_points(self, mask: npt.NDArray[np.bool_]) -> Self:
        """Return the bags with only some of their points; each must keep at least one."""
        kept = np.flatnonzero(mask)
        ends = np.searchsorted(kept, self.offsets)
        _check_not_empty(np.diff(ends), self.labels)
        return self._take([kept[a:b] for a, b in pairwise(ends)], self.labels)

    def require_size(self, least: int, purpose: str) -> None:
        """Refuse bags with fewer than `least` rows, naming the first one."""
        require_size(self.sizes, self.labels, least, purpose)

    def _shuffled(self, rng: RNG) -> list[Array]:
        generator = np.random.default_rng(rng)
        return [generator.permutation(np.arange(a, b)) for a, b in pairwise(self.offsets)]

    def _take(self, rows_of_bags: list[Array], labels: Array) -> Self:
        sizes = [len(rows) for rows in rows_of_bags]
        rows = np.concatenate(rows_of_bags)
        return self._make(
            self.data[rows],
            np.r_[0, np.cumsum(sizes)].astype(np.int64),
            labels,
            self.columns,
            self.rows[rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BagsDescription:
    """Sizes, dimension and memory of bags."""

    n_bags: int
    n_points: int
    dim: int
    smallest: int
    median: float
    largest: int
    dtype: str
    memory: int

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("bags", f"{self.n_bags}"),
            ("points", f"{self.n_points}"),
            ("dimension", f"{self.dim}"),
            ("smallest bag", f"{self.smallest}"),
            ("median bag", f"{self.median:g}"),
            ("largest bag", f"{self.largest}"),
            ("dtype", self.dtype),
            ("memory", _bytes(self.memory)),
        ]

    def summary(self) -> str:
        """Return a small table as text."""
        return "\n".join(f"{name:<18}{value}" for name, value in self._rows())

    def to_frame(self) -> Any:
        """Return the same as a pandas data frame of one row."""
        import pandas as pd

        return pd.DataFrame([{name: getattr(self, name) for name in self.__slots__}])


def require_size(sizes: Array, labels: Array, least: int, purpose: str) -> None:
    """Refuse bags with fewer than `least` rows, naming the first one and the remedy."""
    for i in np.flatnonzero(sizes < least)[:1]:
        rows = "1 row" if sizes[i] == 1 else f"{sizes[i]} rows"
        raise ValueError(
            f"{describe_bag(labels[i], int(i))} has {rows} (n_samples={sizes[i]}); "
            f"{purpose} needs at least {least}. Drop it with bags.drop_small({least})."
        )


def _check_labels(labels: Array, n_bags: int) -> None:
    if len(labels) != n_bags:
        raise ValueError(f"there are {n_bags} bags, but {len(labels)} labels.")
    seen: set[Any] = set()
    for i, label in enumerate(labels.tolist()):
        if label in seen:
            raise ValueError(
                f"the label {label!r} is used twice (again at index {i}); labels must be distinct."
            )
        seen.add(label)


def _check_not_empty(sizes: Array, labels: Array) -> None:
    for i in np.flatnonzero(sizes <= 0)[:1]:
        raise ValueError(
            f"{describe_bag(labels[i], int(i))} has 0 rows; leave it out, its mean is not defined."
        )


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
