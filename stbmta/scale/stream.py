"""Bags that do not fit into memory: rows that come by in blocks, in any order, from files or from anything.

A stream has parts (files, row groups, partitions); a part is a function that starts an iterator of blocks; a block
is a table and the label of each of its rows. Rows may come in any order, and a bag may be spread over parts.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..bags import Bags
from ..inputs import as_labels, as_matrix, factorize
from ..labels import label_list
from .readers import Once, Partition, Rows, choose_columns, read_arrays, read_bags, read_csv, read_dataset

__all__ = ["BagStream", "Blocks", "LabelCoder"]

Array = npt.NDArray[Any]
Blocks = Callable[[], Iterator[tuple[Any, Any]]]


class BagStream:
    """Rows of bags, read in blocks and never held together.

    Parameters
    ----------
    parts : sequence of callables
        Each starts an iterator of blocks ``(X, groups)``: a table of shape (n, d) and one label a row. It is called
        anew for every pass. On several machines it runs where the work runs, so it must be picklable there.
    columns : sequence of str, optional
        The names of the features.

    Examples
    --------
    >>> stream = BagStream.from_arrays(np.arange(6.0)[:, None], ["a", "b", "a", "b", "a", "c"], rows=2)
    >>> for points, codes in stream.blocks():
    ...     print(points.ravel(), codes)
    [0. 1.] [0 1]
    [2. 3.] [0 1]
    [4. 5.] [0 2]
    >>> stream.to_bags().labels
    array(['a', 'b', 'c'], dtype='<U1')
    """

    def __init__(self, parts: Sequence[Blocks], columns: Sequence[str] | None = None) -> None:
        self.parts = list(parts)
        self.columns = None if columns is None else tuple(map(str, columns))
        if not self.parts:
            raise ValueError("there are no bags: the stream has no parts.")
        for part in self.parts:
            if not callable(part):
                raise TypeError(f"a part is a function that starts an iterator of blocks, found {part!r}.")

    def __repr__(self) -> str:
        return f"BagStream({len(self.parts)} part{'s' if len(self.parts) > 1 else ''})"

    @classmethod
    def from_arrays(cls, X: Array, groups: Array, *, rows: int | None = None) -> "BagStream":
        """Read a long array, for instance a memory map, block by block.

        Parameters
        ----------
        X : array of shape (n, d)
            A memory map is read as it is needed.
        groups : array of shape (n,)
            The label of each row's bag.
        rows : int, optional
            Rows of a block; by default so many that a block takes at most 4 MB. It changes no result.
        """
        if len(X) != len(groups):
            raise ValueError(f"X has {len(X)} rows, but groups has {len(groups)} labels; one label a row.")
        return cls([read_arrays(X, groups, rows)])

    @classmethod
    def from_bags(cls, bags: Bags, *, rows: int | None = None) -> "BagStream":
        """Read bags that are in memory, or memory maps, block by block; a part has whole bags of some megabytes."""
        return cls(read_bags(bags, rows), bags.columns)

    @classmethod
    def from_iterable(
        cls, blocks: Iterable[tuple[Any, Any]], columns: Sequence[str] | None = None
    ) -> "BagStream":
        """Read blocks from any iterable; a plain iterator (a generator) can be read only once."""
        return cls([Once(blocks) if isinstance(blocks, Iterator) else partial(iter, blocks)], columns)

    @classmethod
    def from_parquet(
        cls,
        path: Any,
        by: str | Sequence[str],
        columns: Sequence[str] | None = None,
        *,
        rows: int | None = None,
    ) -> "BagStream":
        """Read Parquet or Arrow files: one, several, all of a folder, or a ``pyarrow.dataset``; each file is a part.

        Parameters
        ----------
        path : path-like, sequence of path-like, or pyarrow.dataset.Dataset
            A folder may be partitioned by columns (``dest=JFK/``), also by those of the labels.
        by : str or sequence of str
            The column with the label of each row's bag; several give tuples.
        columns : sequence of str, optional
            The features; all other columns by default, without those of a pandas index.
        rows : int, optional
            Rows of a block; by default so many that a block takes at most 4 MB. It changes no result.
        """
        return cls(*read_dataset(path, by, columns, rows))

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        by: str | Sequence[str],
        columns: Sequence[str] | None = None,
        *,
        rows: int | None = None,
    ) -> "BagStream":
        """Read a CSV file, also compressed, block by block. Parameters as for :meth:`from_parquet`.

        The labels are looked at once before, so that they have one type in all blocks.
        """
        part, features = read_csv(path, by, columns, rows)
        return cls([part], features)

    @classmethod
    def from_dask(
        cls, frame: Any, by: str | Sequence[str], columns: Sequence[str] | None = None
    ) -> "BagStream":
        """Read a Dask data frame; each partition is a part, and stays where it is when the work runs there.

        Parameters
        ----------
        frame : dask.dataframe.DataFrame
            Computed partition by partition, never as a whole.
        by : str or sequence of str
            The column with the label of each row's bag; several give tuples.
        columns : sequence of str, optional
            The features; all other columns by default.
        """
        if not hasattr(frame, "to_delayed"):
            raise TypeError(
                f"expected a Dask data frame, found {type(frame).__name__}. "
                "Bags.from_frame takes data frames in memory."
            )
        keys, features = choose_columns(by, columns, list(frame.columns))
        wanted = frame[list(dict.fromkeys([*features, *keys]))].to_delayed()
        return cls([Partition(partition, keys, features) for partition in wanted], features)

    def within(self, nbytes: int) -> "BagStream":
        """Return the same stream in blocks of at most so many bytes, where its parts can be read so.

        Returns
        -------
        BagStream
            Parts other than arrays, bags and files keep their blocks.
        """
        parts = [part.within(nbytes) if isinstance(part, Rows) else part for part in self.parts]
        return BagStream(parts, self.columns)

    def blocks(self) -> Iterator[tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]]:
        """Go through all blocks: points as float64, and the number of each row's bag by first appearance.

        Yields
        ------
        points : ndarray of shape (n, d)
            The rows of a block; empty blocks are left out.
        codes : ndarray of int64, shape (n,)
            The number of each row's bag, the same in all blocks.
        """
        coder = LabelCoder()
        for part in self.parts:
            yield from coder.blocks(part, self.columns)

    def to_bags(self, path: str | os.PathLike[str] | None = None) -> Bags:
        """Sort the rows by bag, in two passes.

        Parameters
        ----------
        path : path-like, optional
            Write the points to this file (``.npy``) and map it, instead of holding them in memory. It must not exist.

        Returns
        -------
        Bags
            In order of first appearance.
        """
        coder, sizes, dim = LabelCoder(), np.zeros(0, np.int64), 0
        for part in self.parts:
            for points, codes in coder.blocks(part, self.columns):
                found = np.bincount(codes, minlength=len(coder.labels))
                found[: len(sizes)] += sizes
                sizes, dim = found, points.shape[1]
        if len(sizes) == 0:
            raise ValueError("there are no bags: the stream has 0 rows.")
        offsets = np.r_[0, np.cumsum(sizes)]
        if path is None:
            data: Array = np.empty((offsets[-1], dim))
        else:
            if Path(path).exists():
                raise FileExistsError(f"{str(path)!r} exists; choose another file.")
            data = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(int(offsets[-1]), dim))
        place = offsets[:-1].copy()
        for points, codes in self.blocks():
            order = np.argsort(codes, kind="stable")
            present, starts, counts = np.unique(codes[order], return_index=True, return_counts=True)
            within = np.arange(len(codes)) - np.repeat(starts, counts)
            data[np.repeat(place[present], counts) + within] = points[order]
            place[present] += counts
        if isinstance(data, np.memmap):
            data.flush()
        return Bags.from_offsets(data, offsets, coder.labels_array(), self.columns)


class LabelCoder:
    """Numbers labels in order of first appearance, block after block."""

    def __init__(self) -> None:
        self.codes: dict[Any, int] = {}
        self.labels: list[Any] = []
        self._dim: int | None = None

    def encode(self, groups: Any) -> npt.NDArray[np.int64]:
        """Return the number of each row's bag.

        Returns
        -------
        ndarray of int64, shape (n,)
            From 0; a label that is new takes the next number.
        """
        local, labels = factorize(groups)
        return np.array([self.number(label) for label in label_list(labels)], np.int64)[local]

    def number(self, label: Any) -> int:
        """Return the number of a bag, a new one where it has none.

        Returns
        -------
        int
            From 0, in order of first appearance.
        """
        number = self.codes.setdefault(label, len(self.labels))
        if number == len(self.labels):
            self.labels.append(label)
        return number

    def labels_array(self) -> Array:
        """Return the labels in order.

        Returns
        -------
        ndarray of shape (B,)
            Entry k is the label with number k.
        """
        return as_labels(self.labels)

    def blocks(
        self, part: Blocks, columns: Sequence[str] | None
    ) -> Iterator[tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]]:
        """Read one part, checking each block.

        Yields
        ------
        points : ndarray of shape (n, d)
            The rows of a block as float64; empty blocks are left out.
        codes : ndarray of int64, shape (n,)
            The number of each row's bag, counted on from earlier parts.
        """
        for block in part():
            if not (isinstance(block, (tuple, list)) and len(block) == 2):
                raise TypeError(
                    f"a block of a stream is a pair, a table and one label a row; found {type(block).__name__}."
                )
            X, groups = block
            points = as_matrix(X, "a block of the stream")
            codes = self.encode(groups)
            if len(points) != len(codes):
                raise ValueError(f"a block has {len(points)} rows, but {len(codes)} labels; one label a row.")
            if self._dim not in (None, points.shape[1]):
                raise ValueError(
                    f"a block has {points.shape[1]} columns, but the first one has {self._dim}; "
                    "all bags share one feature space."
                )
            if len(points) == 0:
                continue
            self._dim = points.shape[1]
            if not np.isfinite(points).all():
                _complain(points, codes, self.labels, columns)
            yield np.ascontiguousarray(points, dtype=np.float64), codes


def _complain(points: Array, codes: Array, labels: list[Any], columns: Sequence[str] | None) -> None:
    """Name the first bag and column of a block that is not finite; where in the bag that is, a block cannot tell."""
    row, column = (int(k) for k in np.argwhere(~np.isfinite(points))[0])
    name = column if columns is None else repr(columns[column])
    raise ValueError(
        f"bag {labels[codes[row]]!r} contains {points[row, column]} in column {name}. "
        "Remove or impute missing values before making bags."
    )
