"""What a comparison found: a table, and checks with their standard errors."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from stbmta.theory._table import format_table

__all__ = ["Check", "Comparison", "Measured"]


class Measured(NamedTuple):
    """A figure of a table with its standard error."""

    value: float
    standard_error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A figure, and what it must be.

    Attributes
    ----------
    name : str
    found, standard_error : float
        The standard error is nan where there is none.
    least, most : float or None
        What the figure must reach, or must not exceed.
    """

    name: str
    found: float
    standard_error: float
    least: float | None = None
    most: float | None = None

    @property
    def passed(self) -> bool:
        """Whether the figure itself, without regard to its standard error, is on the right side."""
        return (self.least is None or self.found >= self.least) and (
            self.most is None or self.found <= self.most
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a comparison found.

    Attributes
    ----------
    title : str
    table : mapping of str to list
        Columns of text, numbers, or figures with standard errors; None where there is nothing.
    digits : int
        Decimal places of the figures with standard errors, in the summary.
    checks : tuple of Check
    seconds : float
        Of all processes together.
    notes : str
        What else a reader must know, such as what could not be done.
    """

    title: str
    table: Mapping[str, list[Any]]
    checks: tuple[Check, ...]
    seconds: float
    digits: int = 1
    notes: str = ""

    @property
    def passed(self) -> bool:
        """Whether all checks passed."""
        return all(check.passed for check in self.checks)

    def to_frame(self) -> Any:
        """Return the table as a pandas data frame; standard errors have columns of their own.

        Returns
        -------
        pandas.DataFrame
            One column for each of the table, and for each standard error.
        """
        import pandas as pd

        columns: dict[str, list[Any]] = {}
        for name, cells in self.table.items():
            if any(isinstance(cell, Measured) for cell in cells):
                found = [Measured(*(cell or (None, None))) for cell in cells]
                columns[name] = [cell.value for cell in found]
                columns[f"{name}, standard error"] = [cell.standard_error for cell in found]
            else:
                columns[name] = list(cells)
        return pd.DataFrame(columns)

    def checks_frame(self) -> Any:
        """Return the checks as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            One row a check: what was found, its limits, and whether it passed.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "check": [check.name for check in self.checks],
                "found": [check.found for check in self.checks],
                "standard_error": [check.standard_error for check in self.checks],
                "least": [check.least for check in self.checks],
                "most": [check.most for check in self.checks],
                "passed": [check.passed for check in self.checks],
            }
        )

    def summary(self) -> str:
        """Return table and checks as text.

        Returns
        -------
        str
            Title, table, checks marked "ok" or "MISSED", and notes.
        """
        shown = {name: [self._as_text(cell) for cell in cells] for name, cells in self.table.items()}
        checks = {
            "check": [check.name for check in self.checks],
            "found": [_with_error(check) for check in self.checks],
            "must be": [
                f">= {check.least:g}" if check.most is None else f"<= {check.most:g}" for check in self.checks
            ],
            "": ["ok" if check.passed else "MISSED" for check in self.checks],
        }
        lines = [self.title, format_table(shown), *(["", format_table(checks)] if self.checks else [])]
        return "\n".join([*lines, *([self.notes] if self.notes else [])])

    def _as_text(self, cell: Any) -> str:
        if isinstance(cell, Measured):
            return " +- ".join(f"{number:.{self.digits}f}" for number in cell)
        if isinstance(cell, float):
            return f"{cell:.4g}"
        return "" if cell is None else str(cell)


def _with_error(check: Check) -> str:
    error = "" if check.standard_error != check.standard_error else f" +- {check.standard_error:.2g}"
    return f"{check.found:.4g}{error}"
