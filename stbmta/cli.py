"""The command line: ``stbmta``. A command lives in a module of its own and is added here."""

from typing import Annotated

import typer

from . import (
    __version__,
    cli_about,
    cli_bench,
    cli_compare,
    cli_estimate,
    cli_pairs,
    cli_reproduce,
    cli_scale,
    cli_theory,
    cli_validate,
)
from .cli_errors import ClearErrors
from .cli_help import PlainHelp, plain_help

__all__ = ["app", "main"]

app = typer.Typer(
    name="stbmta",
    cls=ClearErrors,
    help="Estimate many means at once: test which bags are similar, shrink each mean toward its neighbors.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        print(f"stbmta {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error. Works with every command.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and exit.", callback=_tell_version, is_eager=True),
    ] = False,
) -> None:
    """Estimate many means at once: test which bags are similar, shrink each mean toward its neighbors."""


# The groups of ``stbmta --help``, and the order of the commands in them.
_GROUPS = {
    "On your data": ("estimate", "neighbors", "mmd"),
    "From theory": ("threshold", "bound", "plan", "plan-compute"),
    "See for yourself": ("demo", "validate", "reproduce", "compare", "bench", "bench-scale"),
    "On this package": ("info", "warmup"),
}

for module in (
    cli_estimate,
    cli_pairs,
    cli_theory,
    cli_scale,
    cli_validate,
    cli_reproduce,
    cli_compare,
    cli_bench,
    cli_about,
):
    module.register(app)


def _arrange() -> None:
    """Put every command into its group, and make its help plain."""
    panel = {name: group for group, names in _GROUPS.items() for name in names}
    place = {name: k for k, name in enumerate(panel)}

    def name_of(command: typer.models.CommandInfo) -> str:
        assert command.callback is not None
        return command.name or command.callback.__name__

    commands = list(app.registered_commands)
    for command in app.registered_commands:
        command.rich_help_panel = panel.get(name_of(command))
    for group in app.registered_groups:
        group.rich_help_panel = panel.get(str(group.name))
        assert group.typer_instance is not None
        commands += group.typer_instance.registered_commands
    for command in commands:
        command.cls = PlainHelp
        command.help = plain_help(command.help or command.callback.__doc__ or "")
    app.registered_commands.sort(key=lambda command: place.get(name_of(command), len(place)))


_arrange()


def main() -> None:
    """Run the command line."""
    app()
