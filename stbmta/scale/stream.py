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
from ..inputs import as_labels, as_matrix, check_finite, factorize, frame_columns

__all__ = ["BagStream", "Blocks", "LabelCoder", "Partition", "frame_blocks"]

Array = npt.NDArray[Any]
Blocks = Callable[[], Iterator[tuple[Any, Any]]]

# Rows read together. It bounds memory and changes no result.
ROWS = 65_536


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
    def from_arrays(cls, X: Array, groups: Array, *, rows: int = ROWS) -> "BagStream":
        """Read a long array, for instance a memory map, block by block.

        Parameters
        ----------
        X : array of shape (n, d)
            A memory map is read as it is needed.
        groups : array of shape (n,)
        rows : int
            Rows of a block. It changes no result.
        """
        if len(X) != len(groups):
            raise ValueError(f"X has {len(X)} rows, but groups has {len(groups)} labels; one label a row.")
        return cls([partial(_array_blocks, X, groups, rows)])

    @classmethod
    def from_bags(cls, bags: Bags, *, rows: int = ROWS) -> "BagStream":
        """Read bags that are in memory, or memory maps, block by block."""
        positions = np.repeat(np.arange(len(bags)), bags.sizes)
        return cls([partial(_bag_blocks, bags.data, bags.labels, positions, rows)], bags.columns)

    @classmethod
    def from_iterable(
        cls, blocks: Iterable[tuple[Any, Any]], columns: Sequence[str] | None = None
    ) -> "BagStream":
        """Read blocks from any iterable; a plain iterator (a generator) can be read only once."""
        return cls([_Once(blocks) if isinstance(blocks, Iterator) else partial(iter, blocks)], columns)

    @classmethod
    def from_parquet(
        cls,
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        by: str | Sequence[str],
        columns: Sequence[str] | None = None,
        *,
        rows: int = ROWS,
    ) -> "BagStream":
        """Read Parquet files: one, several, or all of a folder; each file is a part.

        Parameters
        ----------
        path : path-like or sequence of path-like
        by : str or sequence of str
            The column with the label of each row's bag; several give tuples.
        columns : sequence of str, optional
            The features; all other columns by default.
        rows : int
            Rows of a block. It changes no result.
        """
        files = _files([path] if isinstance(path, (str, os.PathLike)) else path, ".parquet")
        names = _parquet_columns(files[0]) if columns is None else list(columns)
        keys = [by] if isinstance(by, str) else list(by)
        features = [name for name in names if name not in keys]
        return cls([partial(_parquet_blocks, str(file), keys, features, rows) for file in files], features)

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        by: str | Sequence[str],
        columns: Sequence[str] | None = None,
        *,
        rows: int = ROWS,
    ) -> "BagStream":
        """Read a CSV file, also compressed, block by block. Parameters as for :meth:`from_parquet`."""
        return cls([partial(_csv_blocks, str(path), by, columns, rows)], columns)

    @classmethod
    def from_dask(
        cls, frame: Any, by: str | Sequence[str], columns: Sequence[str] | None = None
    ) -> "BagStream":
        """Read a Dask data frame; each partition is a part, and stays where it is when the work runs there.

        Parameters
        ----------
        frame : dask.dataframe.DataFrame
        by : str or sequence of str
            The column with the label of each row's bag; several give tuples.
        columns : sequence of str, optional
            The features; all other columns by default.
        """
        keys = [by] if isinstance(by, str) else list(by)
        features = [name for name in frame.columns if name not in keys] if columns is None else list(columns)
        wanted = frame[[*features, *keys]].to_delayed()
        return cls([Partition(partition, keys, features) for partition in wanted], features)

    def blocks(self) -> Iterator[tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]]:
        """Go through all blocks: points as float64, and the number of each row's bag by first appearance."""
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
        """Return the number of each row's bag."""
        local, labels = factorize(groups)
        return np.array([self._number(label) for label in labels.tolist()], np.int64)[local]

    def _number(self, label: Any) -> int:
        number = self.codes.setdefault(label, len(self.labels))
        if number == len(self.labels):
            self.labels.append(label)
        return number

    def labels_array(self) -> Array:
        """Return the labels in order."""
        return as_labels(self.labels)

    def blocks(
        self, part: Blocks, columns: Sequence[str] | None
    ) -> Iterator[tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]]:
        """Read one part, checking each block."""
        for X, groups in part():
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
    """Name the first bag and column of a block that is not finite."""
    row = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
    label = np.empty(1, dtype=object)
    label[0] = labels[codes[row]]
    check_finite(points[row : row + 1], np.array([0, 1]), label, columns)


class _Once:
    """An iterator that says so when it is started again."""

    def __init__(self, iterator: Iterator[tuple[Any, Any]]) -> None:
        self._iterator: Iterator[tuple[Any, Any]] | None = iterator

    def __call__(self) -> Iterator[tuple[Any, Any]]:
        iterator, self._iterator = self._iterator, None
        if iterator is None:
            raise RuntimeError(
                "this stream is an iterator and was read once; pass BagStream a function that starts it anew."
            )
        return iterator


class Partition:
    """A partition of a Dask collection: computed where it is needed."""

    def __init__(self, partition: Any, by: list[str], features: list[str]) -> None:
        self.partition, self.by, self.features = partition, by, features

    def __call__(self) -> Iterator[tuple[Any, Any]]:
        return frame_blocks(self.partition.compute(), self.by, self.features)


def frame_blocks(frame: Any, by: list[str], features: list[str]) -> Iterator[tuple[Any, Any]]:
    """Return a data frame as a single block."""
    X, groups, _ = frame_columns(frame, by, features)
    yield X, groups


def _array_blocks(X: Array, groups: Any, rows: int) -> Iterator[tuple[Any, Any]]:
    for start in range(0, len(X), rows):
        yield X[start : start + rows], groups[start : start + rows]


def _bag_blocks(X: Array, labels: Array, positions: Array, rows: int) -> Iterator[tuple[Any, Any]]:
    for start in range(0, len(X), rows):
        yield X[start : start + rows], labels[positions[start : start + rows]]


def _files(paths: Sequence[str | os.PathLike[str]], suffix: str) -> list[Path]:
    found: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            found += sorted(file for file in path.rglob(f"*{suffix}") if not file.name.startswith((".", "_")))
        elif path.is_file():
            found.append(path)
        else:
            raise FileNotFoundError(f"there is no file {str(path)!r}.")
    if not found:
        raise FileNotFoundError(f"there are no {suffix} files in {', '.join(map(str, paths))}.")
    return found


def _parquet_columns(file: Path) -> list[str]:
    import pyarrow.parquet as pq

    return list(pq.ParquetFile(file).schema_arrow.names)


def _parquet_blocks(file: str, by: list[str], features: list[str], rows: int) -> Iterator[tuple[Any, Any]]:
    import pyarrow.parquet as pq

    for batch in pq.ParquetFile(file).iter_batches(batch_size=rows, columns=[*features, *by]):
        X, groups, _ = frame_columns(batch.to_pandas(), by, features)
        yield X, groups


def _csv_blocks(
    file: str, by: str | Sequence[str], columns: Sequence[str] | None, rows: int
) -> Iterator[tuple[Any, Any]]:
    import pandas as pd

    if not Path(file).is_file():
        raise FileNotFoundError(f"there is no file {file!r}.")
    with pd.read_csv(file, chunksize=rows) as reader:
        for frame in reader:
            X, groups, _ = frame_columns(frame, by, columns)
            yield X, groups
