"""The container of bags: one contiguous array of points, looked at and cut in every way.

:class:`stbmta.Bags` adds the doors by which data come in.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self, overload

import numpy as np
import numpy.typing as npt

from .inputs import check_folds, check_not_empty, describe_bag, require_size
from .labels import as_labels, check_labels, place_of
from .threads import chunks

__all__ = ["RNG", "BagsContainer", "BagsDescription", "format_bytes"]

Array = npt.NDArray[Any]
RNG = np.random.Generator | int | None


class BagsContainer:
    """Points of many bags, and what can be asked of them."""

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
        >>> from stbmta import Bags
        >>> Bags.from_list([[1.0], [2.0]], labels=["a", "b"]).bag("b")
        array([[2.]])
        """
        place = place_of(self.labels, label)
        return self.data[self.offsets[place] : self.offsets[place + 1]]

    def __eq__(self, other: object) -> bool:
        """Tell whether data, bags and labels are the same."""
        if not isinstance(other, BagsContainer):
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
        return f"Bags({d.n_bags} bags, {d.n_points} points, dim {d.dim}, {sizes}, {d.dtype}, {format_bytes(d.memory)})"

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
        >>> from stbmta import Bags
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

    def means(self, *, n_threads: int | None = None) -> npt.NDArray[np.float64]:
        r"""Return the naive mean of each bag, :math:`\hat\mu_i = N_i^{-1} \sum_k X_k^{(i)}` (eq. naivedef).

        Sums run over differences to the middle of the data, so a common offset costs no accuracy.

        Parameters
        ----------
        n_threads : int, optional
            All available cores by default. It does not change the result.

        Returns
        -------
        ndarray of shape (B, d)
            One row a bag.
        """
        from .vectors import centered_means

        center, means, _ = centered_means(self, n_threads)
        return center + means

    def select(self, which: slice | Array | Sequence[int]) -> Self:
        """Return the chosen bags: a slice, distinct positions, or a mask of B booleans."""
        if not isinstance(which, slice) and np.size(which) == 0:
            raise ValueError("no bags are left.")
        index = np.arange(len(self))[which if isinstance(which, slice) else np.asarray(which)]
        index = np.atleast_1d(index)
        if len(index) == 0:
            raise ValueError("no bags are left.")
        if len(np.unique(index)) < len(index):
            raise ValueError("a bag was chosen twice; labels must stay distinct.")
        return self._take(
            [np.arange(self.offsets[i], self.offsets[i + 1]) for i in index], self.labels[index]
        )

    def relabel(self, labels: Iterable[Hashable]) -> Self:
        """Return the same bags under other names.

        Examples
        --------
        >>> from stbmta import Bags
        >>> Bags.from_list([[1.0], [2.0]]).relabel(["a", "b"]).labels
        array(['a', 'b'], dtype='<U1')
        """
        names = as_labels(labels)
        check_labels(names, len(self))
        return self._make(self.data, self.offsets, names, self.columns, self.rows)

    def drop_small(self, min_size: int) -> Self:
        """Return the bags with at least `min_size` points.

        Examples
        --------
        >>> from stbmta import Bags
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
            Draws the points of the first part.

        Returns
        -------
        first, second : Bags
            The two parts of all bags, under the same labels.
        """
        self.require_parts(fraction, 1, 1, "a split")
        first = _first_sizes(fraction, self.sizes)
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
            One number for all bags or one a bag; at most the size of the bag.
        rng : {None, int, numpy.random.Generator}, optional
            Draws the points.
        """
        given = np.asarray(size)
        if given.dtype.kind not in "iu" or (given < 1).any():
            raise ValueError(f"size must be an integer of at least 1, found {size!r}.")
        wanted = np.broadcast_to(given.astype(np.int64), (len(self),))
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
            Draws the folds.

        Returns
        -------
        shuffled : Bags
            The same bags, each in a random order.
        offsets : ndarray of int64
            Where each fold starts among the points of `shuffled`.
        bag_of : ndarray of int64
            The bag of each fold.
        """
        check_folds(n_folds)
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
        check_not_empty(np.diff(ends), self.labels)
        return self._take([kept[a:b] for a, b in pairwise(ends)], self.labels)

    def require_size(self, least: int, purpose: str) -> None:
        """Refuse bags with fewer than `least` rows, naming the first one."""
        require_size(self.sizes, self.labels, least, purpose)

    def require_parts(self, fraction: float, first: int, second: int, purpose: str) -> None:
        """Refuse bags that are too small for parts of these sizes when :meth:`split` cuts them."""
        if not 0 < fraction < 1:
            raise ValueError(f"fraction must be between 0 and 1, found {fraction}.")
        least = first + second
        while _first_sizes(fraction, least) < first or least - _first_sizes(fraction, least) < second:
            least += 1
        self.require_size(least, purpose)

    def _shuffled(self, rng: RNG) -> list[Array]:
        generator = np.random.default_rng(rng)
        return [generator.permutation(np.arange(a, b)) for a, b in pairwise(self.offsets)]

    def _take(self, rows_of_bags: list[Array], labels: Array) -> Self:
        sizes = [len(rows) for rows in rows_of_bags]
        rows = np.concatenate(rows_of_bags)
        points = np.empty((len(rows), self.dim), dtype=self.data.dtype)
        for first, last in chunks(len(rows), self.dim):  # Ctrl-C is not heard inside one large copy
            points[first:last] = self.data[rows[first:last]]
        return self._make(
            points,
            np.r_[0, np.cumsum(sizes)].astype(np.int64),
            labels,
            self.columns,
            self.rows[rows],
        )


def _first_sizes(fraction: float, sizes: Any) -> Any:
    """Return how many of these numbers of points go to the first part of a split; both get at least one."""
    return np.clip(np.rint(fraction * sizes).astype(np.int64), 1, sizes - 1)


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
            ("memory", format_bytes(self.memory)),
        ]

    def summary(self) -> str:
        """Return a small table as text.

        Returns
        -------
        str
            One figure a line.
        """
        return "\n".join(f"{name:<18}{value}" for name, value in self._rows())

    def to_frame(self) -> Any:
        """Return the same as a pandas data frame of one row.

        Returns
        -------
        pandas.DataFrame
            One column a figure; the memory is in bytes.
        """
        import pandas as pd

        return pd.DataFrame([{name: getattr(self, name) for name in self.__slots__}])


def format_bytes(count: int) -> str:
    """Write a number of bytes to three digits.

    Examples
    --------
    >>> format_bytes(326_000)
    '326 kB'
    """
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
