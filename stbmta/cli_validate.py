"""The command ``stbmta validate``: does every statement hold, how tight is it, and could the check have failed?"""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .cli_output import print_json

if TYPE_CHECKING:
    from rich.console import Console

    from stbmta.validation.check import Check
    from stbmta.validation.mutations import MutationReport
    from stbmta.validation.run import Report

__all__ = ["register"]

_STYLES = {
    "holds": "green",
    "known erratum": "yellow",
    "undecided": "magenta",
    "erratum not seen": "magenta",
    "violated": "bold red",
}


def register(app: typer.Typer) -> None:
    """Add the command to an app.

    Parameters
    ----------
    app : typer.Typer
        The app of the command line.

    Examples
    --------
    >>> import typer
    >>> app = typer.Typer()
    >>> register(app)
    >>> [command.callback.__name__ for command in app.registered_commands]
    ['validate']
    """
    app.command()(validate)


def validate(
    quick: Annotated[bool, typer.Option("--quick", help="About half a minute.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Hours.")] = False,
    check: Annotated[
        list[str] | None,
        typer.Option(
            help="Run only the check with this id, or else those whose ids begin so; may be repeated."
        ),
    ] = None,
    mutate: Annotated[
        bool, typer.Option("--mutate", help="Run the checks against deliberately wrong formulas instead.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; as many as cores by default. Same result.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results and the report.")] = Path(
        "stbmta-validation"
    ),
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what the folder holds.")] = False,
    show_list: Annotated[bool, typer.Option("--list", help="List the checks and stop.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show every check.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Check every statement of the theory numerically, and write a report.

    Exit code 0 if every statement holds (known errata of the paper must show), 1 if one is violated, 2 for bad input,
    3 if a worker process was killed, 130 after Ctrl-C.

    Example: stbmta validate --quick
    """
    from rich.console import Console

    from stbmta.validation import report_html
    from stbmta.validation.runner import choose_scale

    console = Console()
    if show_list:
        _show_list(console, as_json)
        return
    start = time.perf_counter()
    try:
        if mutate:
            good = _mutate(console, out, seed, check, jobs, resume, as_json)
        else:
            good = _validate(
                console, out, choose_scale(quick, full), seed, check, jobs, resume, verbose, as_json
            )
    except KeyboardInterrupt:
        typer.echo(f"interrupted; what is done is kept: go on with --resume --out {out}", err=True)
        raise typer.Exit(130) from None
    except ChildProcessError as error:
        typer.echo(f"stbmta: {error}", err=True)
        raise typer.Exit(3) from None
    page = report_html.write(out)
    if not as_json:
        console.print(f"Took {time.perf_counter() - start:.0f} s. Report: {page}")
    if not good:
        raise typer.Exit(1)


def _validate(
    console: "Console",
    out: Path,
    scale: str,
    seed: int,
    check: list[str] | None,
    jobs: int | None,
    resume: bool,
    verbose: bool,
    as_json: bool,
) -> bool:
    from typing import cast

    from stbmta.validation.check import Scale
    from stbmta.validation.run import validate as run

    report = run(out, scale=cast(Scale, scale), seed=seed, only=check or (), jobs=jobs, resume=resume)
    if as_json:
        print_json(report.to_dict())
    else:
        _show(console, report, verbose)
    return report.good


def _mutate(
    console: "Console",
    out: Path,
    seed: int,
    names: list[str] | None,
    jobs: int | None,
    resume: bool,
    as_json: bool,
) -> bool:
    from stbmta.validation.mutations import mutate as run

    if names:
        raise ValueError("--check chooses checks; --mutate runs all mutations. Give one of them.")
    report = run(out / "mutations", seed=seed, jobs=jobs, resume=resume)
    if as_json:
        print_json(report.to_dict())
    else:
        _show_mutations(console, report)
    return report.good


def _show_list(console: "Console", as_json: bool) -> None:
    from rich.table import Table

    from stbmta.validation.catalog import CHECKS

    if as_json:
        print_json([{"id": c.id, "title": c.title, "labels": c.labels} for c in CHECKS])
        return
    table = Table("check", "claim", "label in the paper")
    for check in CHECKS:
        table.add_row(check.id, check.title, ", ".join(check.labels))
    console.print(table)


def _show(console: "Console", report: "Report", verbose: bool) -> None:
    from rich.table import Table

    statuses = ("holds", "known erratum", "undecided", "erratum not seen", "violated")
    families: dict[str, dict[str, int]] = {}
    for check in report.checks:
        counts = families.setdefault(check.family, dict.fromkeys(statuses, 0))
        counts[report.status(check)] += 1
    used = [status for status in statuses if any(counts[status] for counts in families.values())]
    table = Table("family", *used)
    for family, counts in families.items():
        table.add_row(family, *(str(counts[status] or "") for status in used))
    console.print(table)
    if verbose:
        table = Table("check", "status", "regimes", "observed / bound", "claim")
        for check in report.checks:
            status = f"[{_STYLES[report.status(check)]}]{report.status(check)}"
            numbers = (str(len(report.of(check))), f"{report.tightness(check):.3g}")
            table.add_row(check.id, status, *numbers, check.title)
        console.print(table)
    for check in report.checks:
        status = report.status(check)
        if status != "holds":
            console.print(f"[{_STYLES[status]}]{status}[/]: {check.title} ({', '.join(check.labels)})")
            console.print(f"    {check.id}: {check.erratum or _worst_regime(report, check)}", style="dim")
    console.print(f"{report.summary()}.")
    _show_other_errata(console, report)
    console.print(f"All intervals together are wrong with probability at most {_error():g}.", style="dim")


def _show_other_errata(console: "Console", report: "Report") -> None:
    """Name the errata that have no counterexample, if the run shows errata at all."""
    from stbmta.validation.errata import errata

    if any(check.erratum for check in report.checks):
        others = ", ".join(erratum.number for erratum in errata() if not erratum.refuted_by)
        console.print(
            f"Errata without a counterexample, for reasons that the report tells: {others}.", style="dim"
        )


def _worst_regime(report: "Report", check: "Check") -> str:
    """Tell where a check did not hold."""
    outcome = next(o for o in report.of(check) if o.verdict != "holds")
    found = outcome.finding
    seen = f"{found.observed:.4g}" if found.exact else f"{found.count} of {found.trials}"
    return f"{outcome.regime.name}: {seen}, claimed between {found.at_least:g} and {found.at_most:g}"


def _error() -> float:
    from stbmta.validation.run import ERROR

    return ERROR


def _show_mutations(console: "Console", report: "MutationReport") -> None:
    from rich.table import Table

    table = Table("mutation", "change", "caught by")
    for result in report.results:
        caught = [*result.statements, *result.algebra]
        more = f" and {len(caught) - 2} more" if len(caught) > 2 else ""
        how = f"{result.how} {', '.join(caught[:2])}{more}".strip()
        mutation = result.mutation
        style = "" if result.good else "bold red"
        table.add_row(mutation.id, f"{mutation.target}: {mutation.what}", how, style=style)
    console.print(table)
    console.print(f"{report.summary()}.")
