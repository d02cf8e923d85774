"""Plain-text tables, and what all results have in common."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

GAP = "  "  # between columns


class Tabular:
    """A result that is a table: its columns give both the text and the data frame.

    Examples
    --------
    >>> class Squares(Tabular):
    ...     def _columns(self):
    ...         return {"x": [1, 2], "x^2": [1, 4]}
    >>> print(Squares().summary())
    x  x^2
    -  ---
    1    1
    2    4
    """

    __slots__ = ()

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Name and values of each column, all of one length."""
        raise NotImplementedError

    def summary(self) -> str:
        """Give the table as text."""
        return format_table(self._columns())

    def to_frame(self) -> "pd.DataFrame":
        """Give the table as a data frame."""
        import pandas as pd

        return pd.DataFrame(dict(self._columns()))


def format_value(value: Any) -> str:
    """Show numbers with four significant digits, those above a thousand in full, the rest as they are.

    Examples
    --------
    >>> format_value(0.123456), format_value(12345.67), format_value(None)
    ('0.1235', '12,345.7', '')
    """
    if value is None:
        return ""
    if isinstance(value, bool | np.bool_ | str):
        return str(value)
    number = float(value)
    if not np.isfinite(number) or not 1e3 <= abs(number) < 1e9:
        return f"{number:.4g}"
    return f"{number:,.0f}" if number == round(number) else f"{number:,.1f}"


def format_table(columns: Mapping[str, Sequence[Any]], width: int | None = None) -> str:
    """Align columns: text to the left, numbers to the right.

    Parameters
    ----------
    columns : mapping of str to sequence
        All of one length.
    width : int, optional
        Columns that do not fit into lines of so many characters follow below, behind the first column once more.

    Returns
    -------
    str
        Lines without trailing blanks.

    Examples
    --------
    >>> print(format_table({"name": ["a", "bb"], "value": [1.0, 0.25]}))
    name  value
    ----  -----
    a         1
    bb     0.25
    >>> print(format_table({"name": ["a"], "x": [1.0], "y": [2.0]}, width=7))
    name  x
    ----  -
    a     1
    <BLANKLINE>
    name  y
    ----  -
    a     2
    """
    cells = {name: [format_value(v) for v in values] for name, values in columns.items()}
    widths = {name: max(map(len, [name, *column])) for name, column in cells.items()}
    left = {name: any(isinstance(v, str) for v in values) for name, values in columns.items()}

    def table(names: Sequence[str]) -> str:
        rows = zip(*(cells[k] for k in names), strict=True)
        lines = [names, ["-" * widths[k] for k in names], *rows]
        return "\n".join(GAP.join(map(aligned, names, texts)).rstrip() for texts in lines)

    def aligned(name: str, text: str) -> str:
        return text.ljust(widths[name]) if left[name] else text.rjust(widths[name])

    pieces = [list(cells)] if width is None else _pieces(widths, width)
    return "\n\n".join(map(table, pieces))


def _pieces(widths: Mapping[str, int], room: int) -> list[list[str]]:
    """Share out columns among tables that are not too wide, each with the first column in front."""
    first, *others = widths
    pieces = [[first]]
    for name in others:
        line = GAP.join("-" * widths[k] for k in (*pieces[-1], name))
        if len(pieces[-1]) > 1 and len(line) > room:
            pieces.append([first])
        pieces[-1].append(name)
    return pieces
