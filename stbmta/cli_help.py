"""Help as plain text: paragraphs are filled, square brackets stay, flags take no value."""

import inspect
from typing import Any

from typer.core import TyperCommand

__all__ = ["PlainFlags", "PlainHelp", "plain_help"]


class PlainFlags:
    """Options without a value are shown without one."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, ``--help`` among them."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class PlainHelp(PlainFlags, TyperCommand):
    """A command whose flags are shown without a value."""


def plain_help(docstring: str) -> str:
    """Turn a docstring into help: a paragraph is one line, indented lines stay, square brackets are no markup.

    Parameters
    ----------
    docstring : str

    Returns
    -------
    str
        In the markup of Rich, which fills paragraphs to the width of the terminal.

    Examples
    --------
    >>> print(plain_help("Do it.\\n\\n    Install\\n    peers[all].\\n\\n    Examples:\\n      a\\n      b"))
    Do it.
    <BLANKLINE>
    Install peers\\[all].
    <BLANKLINE>
    Examples:
      a
      b
    """
    lines: list[str] = []
    for line in inspect.cleandoc(docstring).splitlines():
        if lines and lines[-1] and line and not line.startswith(" ") and not lines[-1].startswith(" "):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return "\n".join(lines).replace("[", "\\[")
