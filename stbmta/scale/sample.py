"""What has to be known of data before the work: their shape, a point of them, the bags to choose parameters on.

For a stream with a client the workers look at their parts; only what is asked for comes to the caller.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..bags import Bags
from .distributed import map_parts
from .readers import Once
from .stream import BagStream, Blocks, LabelCoder

__all__ = ["Shape", "first_point", "source_shape", "stream_sample"]

Array = npt.NDArray[np.float64]
Columns = tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Shape:
    """How many bags, points and columns, and the first point, to take as a center."""

    n_bags: int
    n_points: int
    dim: int
    first: Array


def source_shape(source: Bags | BagStream, client: Any = None) -> Shape:
    """Return the shape of bags, or of a stream, which is read for it.

    Returns
    -------
    Shape
        Of all parts together; a stream without rows is refused.

    Examples
    --------
    >>> shape = source_shape(BagStream.from_arrays(np.ones((5, 2)), ["a", "b", "a", "a", "b"]))
    >>> shape.n_bags, shape.n_points, shape.dim
    (2, 5, 2)
    """
    if isinstance(source, Bags):
        return Shape(len(source), len(source.data), source.dim, source.data[0].astype(np.float64))
    labels: set[Any] = set()
    n_points, first = 0, None
    for found, count, point in map_parts(client, source, _part_shape):
        labels.update(found)
        n_points += count
        first = point if first is None else first
    if first is None:
        raise ValueError("there are no bags: the stream has 0 rows.")
    return Shape(len(labels), n_points, len(first), first)


def _part_shape(part: Blocks, columns: Columns) -> tuple[list[Any], int, Array | None]:
    coder, count, first = LabelCoder(), 0, None
    for points, _ in coder.blocks(part, columns):
        count += len(points)
        first = points[0].copy() if first is None else first
    return coder.labels, count, first


def first_point(source: Bags | BagStream, client: Any = None) -> Array:
    """Return the first point; an iterator stays as it was.

    Returns
    -------
    ndarray of shape (d,)
        In double precision; a stream without rows is refused.
    """
    if isinstance(source, Bags):
        return source.data[0].astype(np.float64)
    for point in map_parts(client, source, _first_of_part):
        if point is not None:
            return point
    raise ValueError("there are no bags: the stream has 0 rows.")


def _first_of_part(part: Blocks, columns: Columns) -> Array | None:
    for points, _ in LabelCoder().blocks(part.peek if isinstance(part, Once) else part, columns):
        return points[0].copy()
    return None


def stream_sample(stream: BagStream, labels: Sequence[Any], client: Any = None) -> Bags:
    """Return some bags of a stream, named by their labels, in the order in which they appear.

    Returns
    -------
    Bags
        Without the bags that the stream lacks; if it has none of them, it is refused.

    Examples
    --------
    >>> stream = BagStream.from_arrays(np.arange(4.0), ["a", "b", "a", "c"])
    >>> [bag.ravel().tolist() for bag in stream_sample(stream, ["c", "a"])]
    [[0.0, 2.0], [3.0]]
    """
    wanted = set(labels)
    coder = LabelCoder()
    points: list[Array] = []
    codes: list[npt.NDArray[np.int64]] = []
    for rows, found, local in map_parts(client, stream, _part_sample, wanted):
        if found:
            points.append(rows)
            codes.append(np.array([coder.number(label) for label in found])[local])
    if not points:
        raise ValueError(
            f"the stream has none of the {len(labels)} bags that were drawn, such as bag {labels[0]!r}; "
            "give the data that were fitted."
        )
    bags = Bags.from_groups(np.concatenate(points), np.concatenate(codes), stream.columns)
    return bags.relabel(coder.labels)


def _part_sample(
    part: Blocks, columns: Columns, wanted: set[Any]
) -> tuple[Array, list[Any], npt.NDArray[np.int64]]:
    """Return the rows of the wanted bags, the labels of those that are there, and the number of each row's bag."""
    coder, chosen = LabelCoder(), LabelCoder()
    number: list[int] = []  # of each label among the chosen ones, or -1
    points, codes = [], []
    for rows, local in coder.blocks(part, columns):
        number += [chosen.number(label) if label in wanted else -1 for label in coder.labels[len(number) :]]
        of_rows = np.array(number)[local]
        points.append(rows[of_rows >= 0])
        codes.append(of_rows[of_rows >= 0])
    if not chosen.labels:
        return np.empty((0, 0)), [], np.empty(0, np.int64)
    return np.concatenate(points), chosen.labels, np.concatenate(codes)
