"""The options that say where the data are and what of it to take; every command on data has them."""

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer

from .bags import Bags
from .cli_columns import bags_of, check_magnitudes, chosen_columns
from .cli_read import column_names, file_of, is_npz, read_frame
from .inputs import describe_bag

__all__ = ["Source", "Table", "note", "reads_data"]

_PANEL = "Data"


def note(text: str) -> None:
    """Tell the user something about the data, on standard error."""
    print(f"note: {text}.", file=sys.stderr)


def _complete_column(ctx: typer.Context, incomplete: str) -> list[str]:
    """Offer the columns of the file that is named on the command line."""
    # An option that still waits for its value stops the parser; the file is then left among the arguments.
    data = ctx.params.get("data") or next(iter(ctx.args), "-")
    if not Path(data).is_file():  # a pipe can be read only once
        return []
    try:
        with file_of(data) as path:
            return [name for name in column_names(path) if name.startswith(incomplete)]
    except (OSError, ValueError, ImportError):
        return []


@dataclass(frozen=True, kw_only=True)
class Table:
    """Bags, and how they came out of the user's file.

    Attributes
    ----------
    bags : Bags
        Standardized, if that was asked for.
    keys : tuple of str
        The names of the columns that hold the labels.
    center, scale : ndarray of shape (d,)
        ``center + scale * x`` is a point in the user's units.
    name : str
        Of the file.
    notes : tuple of str
        What the user was told on the way.
    """

    bags: Bags
    keys: tuple[str, ...]
    center: npt.NDArray[np.float64]
    scale: npt.NDArray[np.float64]
    name: str
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the features."""
        return self.bags.columns or tuple(f"x{k}" for k in range(self.bags.dim))

    @property
    def standardized(self) -> bool:
        """Whether the bags are in other units than the user's."""
        return bool((self.scale != 1).any() or (self.center != 0).any())

    def label_columns(self, labels: npt.NDArray[Any], suffix: str = "") -> dict[str, list[Any]]:
        """Return labels as columns under their names, one a key."""
        if len(self.keys) == 1:
            return {self.keys[0] + suffix: labels.tolist()}
        return {key + suffix: [label[k] for label in labels.tolist()] for k, key in enumerate(self.keys)}


@dataclass(frozen=True, kw_only=True)
class Source:
    """What the user says about the data."""

    data: Annotated[
        str,
        typer.Argument(
            help="CSV or TSV (also compressed), Parquet or NPZ file; - for standard input.",
            show_default=False,
        ),
    ]
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            "-b",
            help="Column that says which bag a row belongs to; several, repeated or with commas, make bags of pairs.",
            rich_help_panel=_PANEL,
            autocompletion=_complete_column,
            show_default=False,
        ),
    ] = None
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            "-c",
            help="Features: names, repeated or with commas, or patterns ('bill_*'). All columns of numbers by default.",
            rich_help_panel=_PANEL,
            autocompletion=_complete_column,
            show_default=False,
        ),
    ] = None
    one_hot: Annotated[
        list[str] | None,
        typer.Option(
            help="Categories to turn into columns of 0 and 1; their means are shares.",
            rich_help_panel=_PANEL,
            autocompletion=_complete_column,
            show_default=False,
        ),
    ] = None
    drop_missing: Annotated[
        bool,
        typer.Option("--drop-missing", help="Leave out rows with missing values.", rich_help_panel=_PANEL),
    ] = False
    min_size: Annotated[
        int, typer.Option(min=1, help="Leave out bags with fewer rows.", rich_help_panel=_PANEL)
    ] = 1
    standardize: Annotated[
        bool,
        typer.Option(
            "--standardize",
            help="Give each feature standard deviation 1, so that all count alike; means come back in your units.",
            rich_help_panel=_PANEL,
        ),
    ] = False
    separator: Annotated[
        str | None, typer.Option(help="What separates columns of text.", rich_help_panel=_PANEL)
    ] = None
    decimal: Annotated[str, typer.Option(help="The decimal point.", rich_help_panel=_PANEL)] = "."
    encoding: Annotated[str, typer.Option(help="How text is stored.", rich_help_panel=_PANEL)] = "utf-8"

    def read(self) -> Table:
        """Read the bags."""
        notes: list[str] = []

        def tell(text: str) -> None:
            notes.append(text)
            note(text)

        with file_of(self.data) as path:
            bags, keys = self._read_npz(path) if is_npz(path) else self._read_table(path, tell)
        small = int((bags.sizes < self.min_size).sum())
        if small == len(bags):
            raise ValueError(f"no bag has {self.min_size} rows; the largest has {bags.sizes.max()}.")
        if small:
            tell(f"left out {small} of {len(bags)} bags with fewer than {self.min_size} rows")
            bags = bags.drop_small(self.min_size)
        center, scale = np.zeros(bags.dim), np.ones(bags.dim)
        if self.standardize:
            center = bags.data.mean(axis=0, dtype=np.float64)
            spread = bags.data.std(axis=0, dtype=np.float64)
            scale = np.where(spread > 0, spread, 1.0)
            bags = Bags.from_offsets((bags.data - center) / scale, bags.offsets, bags.labels, bags.columns)
        name = "standard input" if self.data == "-" else Path(self.data).name
        return Table(bags=bags, keys=keys, center=center, scale=scale, name=name, notes=tuple(notes))

    def _read_npz(self, path: Path) -> tuple[Bags, tuple[str, ...]]:
        if self.one_hot or self.drop_missing:
            raise ValueError("--one-hot and --drop-missing are for tables; an NPZ file holds numbers.")
        if self.by is not None and len(self.by) > 1:
            raise ValueError(f"one array of an NPZ file holds the labels; found --by {', '.join(self.by)}.")
        by = None if self.by is None else self.by[0]
        if by is None:
            with np.load(path) as arrays:
                names = sorted(arrays)
            if not {"data", "offsets"} <= set(names):
                raise ValueError(
                    f"the file holds the arrays {', '.join(names)}; say which array holds the labels, with --by."
                )
        bags = Bags.read(path, by, self.columns)
        columns = bags.columns or tuple(f"x{k}" for k in range(bags.dim))
        check_magnitudes(bags.data, columns, lambda row: _bag_of_row(bags, row))
        return bags, (by or "bag",)

    def _read_table(self, path: Path, tell: Callable[[str], None]) -> tuple[Bags, tuple[str, ...]]:
        keys_given = [part for text in self.by or () for part in (text, *text.split(","))]
        frame = read_frame(
            path,
            keys_given,
            separator=_escaped(self.separator),
            encoding=self.encoding,
            decimal=self.decimal,
            note=tell,
        )
        frame.columns = [str(name) for name in frame.columns]
        if len(frame) == 0:
            raise ValueError("there are column names, but 0 rows.")
        if self.by is None:
            raise ValueError(
                f"say which column holds the bags, with --by. Columns: {', '.join(frame.columns)}."
            )
        keys = chosen_columns(self.by, list(frame.columns))
        bags = bags_of(
            frame, keys, self.columns, one_hot=self.one_hot, drop_missing=self.drop_missing, tell=tell
        )
        return bags, tuple(keys)


def _bag_of_row(bags: Bags, row: int) -> str:
    index = int(np.searchsorted(bags.offsets, row, side="right")) - 1
    return describe_bag(bags.labels[index], index)


def _escaped(separator: str | None) -> str | None:
    """Understand \\t as a shell passes it on."""
    return None if separator is None else separator.replace("\\t", "\t")


def require_rows(table: Table, least: int, purpose: str, *, or_else: str = "") -> None:
    """Refuse bags with too few rows, in the words of the command line."""
    for i in np.flatnonzero(table.bags.sizes < least)[:1]:
        rows = int(table.bags.sizes[i])
        raise ValueError(
            f"{describe_bag(table.bags.labels[i], int(i))} has {rows} row{'s' * (rows > 1)}; {purpose} needs at "
            f"least {least}. Leave out such bags with --min-size {least}{or_else}."
        )


def reads_data(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of :class:`Source`; it receives the source as its first argument."""
    own = list(inspect.signature(command).parameters.values())[1:]
    given = inspect.signature(Source).parameters

    @wraps(command)
    def with_source(**options: Any) -> None:
        source = Source(**{name: options.pop(name) for name in given})
        command(source, **options)

    every = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in [*given.values(), *own]]
    with_source.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
    with_source.__annotations__ = {p.name: p.annotation for p in every}
    return with_source
