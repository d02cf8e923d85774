"""Parquet and Arrow files in batches, and the memory that reading them takes however small the batches are."""

import struct
from collections.abc import Iterator, Sequence
from typing import Any

from ..inputs import check_column

__all__ = ["batches", "least_memory"]

# Bytes of a Parquet file that are read together, for each column.
_BUFFER = 2**16
# Bytes of a page of a column: writers make none that are larger, unless they are told to.
_PAGE = 2**20
# What the footer of a Parquet file takes in memory, relative to its bytes in the file.
_FOOTER = 8


def batches(fragment: Any, columns: list[str], rows: int) -> Iterator[Any]:
    """Read some columns of a file of a dataset in batches, as little ahead as it can be.

    Parameters
    ----------
    fragment : pyarrow.dataset.Fragment
        A file, or a table in memory.
    columns : list of str
        The columns to read; a name that is not there is refused.
    rows : int
        Of a batch, at most.

    Returns
    -------
    iterator of pyarrow.RecordBatch
        Over all rows of the file, with these columns only.
    """
    kind = _kind(fragment)
    if kind == "parquet":
        file = _parquet_file(fragment)
        _check_columns(fragment, columns, file.schema_arrow.names)
        return file.iter_batches(batch_size=rows, columns=columns, use_threads=False)
    _check_columns(fragment, columns, fragment.physical_schema.names)
    if kind == "arrow":
        return _arrow_batches(fragment.path, columns, rows)
    return fragment.to_batches(
        columns=columns, batch_size=rows, batch_readahead=0, fragment_readahead=0, use_threads=False
    )


def least_memory(fragment: Any, columns: Sequence[str]) -> int:
    """Estimate the bytes that reading a file takes beside its batches, from what it says of itself.

    Returns
    -------
    int
        0 for an Arrow file without compression or not on a local disk, and for other formats.
    """
    kind = _kind(fragment)
    if kind == "parquet":
        return _parquet_memory(_parquet_file(fragment).metadata, columns)
    return _arrow_memory(fragment, columns) if kind == "arrow" else 0


def _kind(fragment: Any) -> str:
    """Return "parquet", "arrow" for an Arrow file that can be mapped, and "other" for the rest, such as tables."""
    from pyarrow.fs import LocalFileSystem

    kind = fragment.format.default_extname if hasattr(fragment, "format") else "other"
    mapped = kind == "arrow" and isinstance(fragment.filesystem, LocalFileSystem)
    return kind if kind == "parquet" or mapped else "other"


def _check_columns(fragment: Any, columns: list[str], present: list[str]) -> None:
    """Refuse a file that lacks a column; the first file of a stream has them all."""
    try:
        for name in columns:
            check_column(name, present)
    except KeyError as error:
        raise KeyError(f"{getattr(fragment, 'path', 'a table')}: {error.args[0]}") from None


# ---------------------------------------------------------------------- Parquet


def _parquet_file(fragment: Any) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetFile(
        fragment.filesystem.open_input_file(fragment.path), pre_buffer=False, buffer_size=_BUFFER
    )


def _parquet_memory(metadata: Any, columns: Sequence[str]) -> int:
    """Estimate the footer and, of each column of the largest row group, dictionary, page and compressed page."""
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    largest = max(groups, key=lambda group: group.total_byte_size, default=None)
    chunks = [] if largest is None else map(largest.column, range(largest.num_columns))
    sizes = [
        chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema.split(".")[0] in columns
    ]
    return _FOOTER * metadata.serialized_size + sum(
        3 * min(size, _PAGE) + min(size, _BUFFER) for size in sizes
    )


# ---------------------------------------------------------------------- Arrow


def _arrow_batches(path: str, columns: list[str], rows: int) -> Iterator[Any]:
    """Map a file; of what is compressed, only the columns that are wanted are unpacked, batch by batch."""
    import pyarrow as pa

    with pa.memory_map(path) as file:
        reader = pa.ipc.open_file(file)
        if _selects(reader.schema, columns) and _packed_rows(path):
            places = [reader.schema.get_field_index(name) for name in columns]
            options = pa.ipc.IpcReadOptions(included_fields=places, use_threads=False)
            reader = pa.ipc.open_file(file, options=options)
        for k in range(reader.num_record_batches):
            yield from _slices(reader.get_batch(k).select(columns), rows)


def _slices(batch: Any, rows: int) -> Iterator[Any]:
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def _arrow_memory(fragment: Any, columns: Sequence[str]) -> int:
    """Estimate the bytes of the largest batch that is compressed; what is not compressed stays in the file."""
    # As measured: the allocator keeps more than is in use, and of a selection the packed bytes are copied as well.
    copies = 2.5 if _selects(fragment.physical_schema, columns) else 1.4
    return int(8 * copies * len(columns) * _packed_rows(fragment.path))


def _selects(schema: Any, columns: Sequence[str]) -> bool:
    return len(columns) < len(schema.names)


def _packed_rows(path: str) -> int:
    """Return the rows of the largest batch that is compressed, 0 if none is."""
    import pyarrow as pa

    with pa.memory_map(path) as file:
        file.seek(8)  # behind the mark of the format
        messages = pa.ipc.MessageReader.open_stream(file)
        headers = [_batch_header(message.metadata) for message in messages if message.type == "record batch"]
    return max((rows for rows, compressed in headers if compressed), default=0)


def _batch_header(message: Any) -> tuple[int, bool]:
    """Return the number of rows of a record batch, and whether it is compressed, without unpacking it.

    The message is a flatbuffer: a table begins with the way back to the list of its fields. The header is field 2 of
    the message; rows and compression are fields 0 and 3 of the header.
    """
    data = bytes(message)

    def value(kind: str, place: int) -> int:
        return int(struct.unpack_from(kind, data, place)[0])

    def field(table: int, number: int) -> int:
        fields = table - value("<i", table)
        there = 4 + 2 * number < value("<H", fields)
        found = value("<H", fields + 4 + 2 * number) if there else 0
        return table + found if found else 0  # 0: the field has its default

    header = field(value("<I", 0), 2)
    header += value("<I", header)
    rows = field(header, 0)
    return value("<q", rows) if rows else 0, field(header, 3) > 0
