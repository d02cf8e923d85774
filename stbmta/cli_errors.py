"""One way for every command to fail: a line that says what is wrong, and an exit code."""

import errno
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from .cli_help import PlainFlags

__all__ = ["ClearErrors"]

# What the package raises when it is given something it cannot use.
_BAD_INPUT = (ValueError, KeyError, TypeError, OSError, ModuleNotFoundError)


class ClearErrors(PlainFlags, TyperGroup):
    """Commands whose errors are one line on standard error: exit code 2 for bad input, 1 for our mistakes.

    ``--debug``, anywhere on the command line, shows the traceback instead.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take ``--debug`` out of the arguments, wherever it stands."""
        end = args.index("--") if "--" in args else len(args)
        ctx.meta["debug"] = "--debug" in args[:end]
        return super().parse_args(ctx, [a for a in args[:end] if a != "--debug"] + args[end:])

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except Exception as error:
            if ctx.meta["debug"] or _is_for_typer(error):
                raise
            bad_input = isinstance(error, _BAD_INPUT)
            print(_message(error, bad_input), file=sys.stderr)
            raise typer.Exit(2 if bad_input else 1) from error


def _is_for_typer(error: Exception) -> bool:
    """Tell whether typer itself handles the error: usage, exit, a closed pipe."""
    if isinstance(error, OSError) and error.errno == errno.EPIPE:
        return True
    return isinstance(error, (typer.Exit, typer.Abort)) or hasattr(error, "exit_code")


def _message(error: Exception, bad_input: bool) -> str:
    # str() of a KeyError is the repr of its message.
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    if bad_input:
        return f"stbmta: {text}"
    return f"stbmta: {type(error).__name__}: {text}\nThis should not happen; --debug shows where it did."
