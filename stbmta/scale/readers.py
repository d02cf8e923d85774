"""Where the rows of a stream come from: arrays, bags, Parquet and Arrow files, CSV, partitions of a Dask collection.

Each reader is a part of a :class:`stbmta.scale.stream.BagStream`: calling it starts an iterator of blocks.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..bags import Bags
from ..inputs import UNNAMED, check_column, frame_columns
from ..labels import written_type
from ..memory import require_memory
from .arrow import batches, least_memory

__all__ = [
    "Once",
    "Partition",
    "Rows",
    "choose_columns",
    "frame_blocks",
    "read_arrays",
    "read_bags",
    "read_csv",
    "read_dataset",
    "reading_memory",
]

Array = npt.NDArray[Any]
Block = tuple[Any, Any]
Blocks = Callable[[], Iterator[Block]]

# Bytes of a block, if nobody says how many rows it has.
BLOCK = 2**22
# Numbers of a part of bags that are in memory: what goes to a worker together.
PART = 2**19
_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".ipc": "ipc", ".feather": "ipc"}


@dataclass(frozen=True, slots=True)
class Rows:
    """A part that can be read in blocks of any size.

    Attributes
    ----------
    read : callable
        Takes the tables and the number of rows of a block, and starts an iterator of blocks.
    width : int
        Numbers of a row.
    rows : int or None
        Rows of a block; by default those of 4 MB.
    tables : tuple of arrays
        What is read, where it is in memory: a cluster is sent it by itself.
    beside : callable, optional
        Returns the bytes that reading takes beside the blocks, however small they are.
    name : str
        Of the file.
    """

    read: Callable[..., Iterator[Block]]
    width: int
    rows: int | None = None
    tables: tuple[Any, ...] = ()
    beside: Callable[[], int] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if self.rows is not None and self.rows < 1:
            raise ValueError(f"rows must be at least 1, found {self.rows}.")

    def __call__(self) -> Iterator[Block]:
        return self.read(*self.tables, self._fitting(BLOCK) if self.rows is None else self.rows)

    def within(self, nbytes: int) -> "Rows":
        """Return the same part in blocks of no more than so many bytes.

        Returns
        -------
        Rows
            A block has at least one row, however large that is.
        """
        fitting = self._fitting(min(nbytes, BLOCK))
        return replace(self, rows=fitting if self.rows is None else min(self.rows, self._fitting(nbytes)))

    def _fitting(self, nbytes: int) -> int:
        return max(1, nbytes // (8 * max(1, self.width)))


def reading_memory(part: Blocks, limit: int) -> int:
    """Return the bytes that reading a part takes beside its blocks, refusing more than there are.

    Returns
    -------
    int
        0 for a part that holds nothing but its blocks.
    """
    if not isinstance(part, Rows) or part.beside is None:
        return 0
    needed = part.beside()
    require_memory(
        needed,
        limit,
        f"reading {part.name!r}",
        "Choose fewer columns, write the file anew (Parquet with a smaller row_group_size, Arrow without compression), "
        "or allow more with max_memory.",
    )
    return needed


# ---------------------------------------------------------------------- memory


def read_arrays(X: Array, groups: Any, rows: int | None) -> Rows:
    """Return a long array, for instance a memory map, as a part.

    Returns
    -------
    Rows
        Its blocks are slices of `rows` rows; None means blocks of 4 MB.
    """
    table = X if hasattr(X, "shape") else np.asarray(X)
    return Rows(_array_blocks, 1 if len(table.shape) < 2 else table.shape[1], rows, (table, groups))


def _array_blocks(X: Array, groups: Any, rows: int) -> Iterator[Block]:
    for start in range(0, len(X), rows):
        yield X[start : start + rows], groups[start : start + rows]


def read_bags(bags: Bags, rows: int | None) -> list[Rows]:
    """Return bags that are in memory as parts of whole bags, so that no bag is added up from two parts.

    Returns
    -------
    list of Rows
        In the order of the bags, each of about 4 MB, or more where a bag is larger.
    """
    wanted = np.arange(0, len(bags.data), max(1, PART // bags.dim))
    cuts = np.unique(np.r_[np.searchsorted(bags.offsets, wanted), len(bags)])
    return [
        Rows(
            _bag_blocks,
            bags.dim,
            rows,
            (
                bags.data[bags.offsets[a] : bags.offsets[b]],
                bags.labels[a:b],
                bags.offsets[a : b + 1] - bags.offsets[a],
            ),
        )
        for a, b in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
    ]


def _bag_blocks(X: Array, labels: Array, offsets: Array, rows: int) -> Iterator[Block]:
    for start in range(0, len(X), rows):
        block = X[start : start + rows]
        bag = np.searchsorted(offsets, np.arange(start, start + len(block)), side="right") - 1
        yield block, labels[bag]


class Once:
    """An iterator that says so when it is started again."""

    def __init__(self, iterator: Iterator[Block]) -> None:
        self._iterator: Iterator[Block] | None = iterator

    def __call__(self) -> Iterator[Block]:
        iterator, self._iterator = self._iterator, None
        if iterator is None:
            raise RuntimeError(
                "this stream is an iterator and was read once; pass BagStream a function that starts it anew."
            )
        return iterator

    def peek(self) -> Iterator[Block]:
        """Return the first block, if there is one, and leave the iterator as it was.

        Returns
        -------
        iterator of (X, groups)
            Over the first block alone; empty if there is none.
        """
        iterator = self()
        first = list(next(zip(iterator, strict=False), ()))
        self._iterator = chain(first, iterator)
        return iter(first)


def choose_columns(
    by: str | Sequence[str], columns: str | Sequence[str] | None, present: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the columns of the labels and those of the features, refusing names that are not there.

    Returns
    -------
    labels : list of str
        The names in `by`.
    features : list of str
        The names in `columns`; all but those of the labels if it is None.

    Examples
    --------
    >>> choose_columns("who", None, ["a", "who", "b"])
    (['who'], ['a', 'b'])
    """
    keys = [by] if isinstance(by, str) else list(by)
    chosen = [columns] if isinstance(columns, str) else columns
    for name in [*keys, *(chosen or ())]:
        check_column(name, present)
    return keys, [name for name in present if name not in keys] if chosen is None else list(chosen)


# ---------------------------------------------------------------------- Parquet and Arrow


def read_dataset(
    path: Any, by: str | Sequence[str], columns: Sequence[str] | None, rows: int | None
) -> tuple[list[Rows], list[str]]:
    """Return the files of an Arrow dataset as parts, and the names of the features.

    Returns
    -------
    parts : list of Rows
        One for each file.
    features : list of str
        Without those of a pandas index, unless `columns` names them.
    """
    datasets = _datasets(path)
    schema = datasets[0].schema
    keys, features = choose_columns(by, columns, schema.names)
    if columns is None:
        index = set(_index_columns(schema))
        features = [name for name in features if name not in index]
    wanted = list(dict.fromkeys([*features, *keys]))
    parts = [
        Rows(
            partial(_fragment_blocks, fragment, keys, features),
            len(features),
            rows,
            beside=partial(least_memory, fragment, wanted),
            name=getattr(fragment, "path", ""),
        )
        for dataset in datasets
        for fragment in dataset.get_fragments()
    ]
    return parts, features


def _datasets(path: Any) -> list[Any]:
    """Return Arrow datasets of a path, of several, or of a dataset; folders may be partitioned as Hive does it."""
    import pyarrow.dataset as ds

    if isinstance(path, ds.Dataset):
        return [path]
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    found = []
    for each in map(Path, paths):
        if each.is_dir():
            files = sorted(
                file
                for file in each.rglob("*")
                if file.suffix in _FORMATS
                and not any(part.startswith((".", "_")) for part in file.relative_to(each).parts)
            )
        elif each.is_file():
            files = [each]
        else:
            raise FileNotFoundError(f"there is no file {str(each)!r}.")
        kinds = {_FORMATS.get(file.suffix, "parquet") for file in files}
        found += [
            ds.dataset(
                [str(file) for file in files if _FORMATS.get(file.suffix, "parquet") == kind],
                format=kind,
                # Only folders below the one that was given are columns.
                **({"partitioning": "hive", "partition_base_dir": str(each)} if each.is_dir() else {}),
            )
            for kind in sorted(kinds, reverse=True)
        ]
    if not found:
        raise FileNotFoundError(f"there are no .parquet files in {', '.join(map(str, paths))}.")
    return found


def _index_columns(schema: Any) -> list[str]:
    """Return the columns that hold the index of a pandas data frame: they are no features."""
    return [name for name in (schema.pandas_metadata or {}).get("index_columns", []) if isinstance(name, str)]


def _fragment_blocks(fragment: Any, by: list[str], features: list[str], rows: int) -> Iterator[Block]:
    import pyarrow.dataset as ds

    folder = ds.get_partition_keys(fragment.partition_expression)
    wanted = [name for name in dict.fromkeys([*features, *by]) if name not in folder]
    # A loop would hold the last batch while the next one is read.
    return map(partial(_batch_block, by, features, folder), batches(fragment, wanted, rows))


def _batch_block(by: list[str], features: list[str], folder: dict[str, Any], batch: Any) -> Block:
    import pyarrow as pa

    # Without the notes of pandas: an index would take its columns away.
    frame = pa.Table.from_batches([batch]).replace_schema_metadata(None).to_pandas()
    X, groups, _ = frame_columns(frame.assign(**folder), by, features)
    return X, groups


# ---------------------------------------------------------------------- CSV


def read_csv(
    path: str | os.PathLike[str], by: str | Sequence[str], columns: Sequence[str] | None, rows: int | None
) -> tuple[Rows, list[str]]:
    """Return a CSV file as a part, and the names of the features.

    Returns
    -------
    part : Rows
        The whole file; None for `rows` means blocks of 4 MB.
    features : list of str
        Without an index that pandas wrote, unless `columns` names it.
    """
    import pandas as pd

    file = str(path)
    if not Path(file).is_file():
        raise FileNotFoundError(f"there is no file {file!r}.")
    present = list(pd.read_csv(file, nrows=0).columns)
    keys, features = choose_columns(by, columns, present)
    if columns is None:  # pandas wrote its index
        features = [name for name in features if not UNNAMED.fullmatch(name)]
    # pandas holds the text of all columns.
    kinds = _label_types(file, keys, max(1, BLOCK // (8 * len(present))))
    return Rows(partial(_csv_blocks, file, keys, features, kinds), len(features), rows), features


def _label_types(file: str, keys: list[str], rows: int) -> dict[str, str]:
    """Find one type for all labels of a file: a block by itself may hold numbers where another holds text."""
    import pandas as pd

    types, kinds = dict.fromkeys(keys, "str"), {key: set[str]() for key in keys}
    missing = set()
    with pd.read_csv(file, usecols=keys, chunksize=rows, dtype=dict.fromkeys(keys, str)) as reader:
        for frame in reader:
            for key in keys:
                if frame[key].isna().any():
                    missing.add(key)
                types[key], kinds[key] = written_type(frame[key].dropna().unique(), kinds[key])
    return {key: "str" if key in missing else name for key, name in types.items()}


def _csv_blocks(
    file: str, by: list[str], features: list[str], kinds: dict[str, str], rows: int
) -> Iterator[Block]:
    import pandas as pd

    columns = list(dict.fromkeys([*features, *by]))
    with pd.read_csv(file, chunksize=rows, usecols=columns, dtype=kinds) as reader:
        for frame in reader:
            X, groups, _ = frame_columns(frame, by, features)
            yield X, groups


# ---------------------------------------------------------------------- Dask


class Partition:
    """A partition of a Dask collection: computed where it is needed."""

    def __init__(self, partition: Any, by: list[str], features: list[str]) -> None:
        self.partition, self.by, self.features = partition, by, features

    def __call__(self) -> Iterator[Block]:
        return frame_blocks(self.partition.compute(), self.by, self.features)


def frame_blocks(frame: Any, by: list[str], features: list[str]) -> Iterator[Block]:
    """Return a data frame as a single block.

    Yields
    ------
    X : ndarray of shape (n, d)
        All rows of the data frame.
    groups : array of shape (n,)
        The label of each row's bag; tuples if `by` names several columns.
    """
    X, groups, _ = frame_columns(frame, by, features)
    yield X, groups
