"""The command ``stbmta bench``: this package and others side by side."""

from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .cli_output import PICTURES, check_targets, print_json, write_figure

if TYPE_CHECKING:
    from stbmta.benchmarks.report import Bench

__all__ = ["register"]


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
    ['bench']
    """
    app.command()(bench)


def bench(
    work: Annotated[
        list[str] | None,
        typer.Option(help="Race on this workload only: W1 to W5, L1 to L3. May be repeated, or W1,W2."),
    ] = None,
    threads: Annotated[str, typer.Option(help="Numbers of threads, as 1,2.")] = "1,2",
    quick: Annotated[bool, typer.Option("--quick", help="Small workloads, once: rough figures.")] = False,
    rounds: Annotated[int | None, typer.Option(min=1, help="The best of so many counts.")] = None,
    out: Annotated[
        Path, typer.Option(help="Where to save the picture of growth: .png, .pdf or .svg.")
    ] = Path("stbmta-bench.png"),
    force: Annotated[bool, typer.Option("--force", help="Replace a picture that exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Race this package against what one would use instead, and against the limits of the machine.

    All contenders take turns on the same data; their results must agree first. Peers that are not
    installed are left out; pip install "stbmta[bench]" installs them.

    Examples: stbmta bench --quick; stbmta bench --work W1,W3 --threads 1
    """
    import sys

    from stbmta.benchmarks import growth, report

    names = [name for text in work or [] for name in text.split(",")]
    if not names:  # single races leave no picture
        check_targets({"--out": (out, PICTURES)}, force)
    note = (lambda what: print(what, file=sys.stderr)) if sys.stderr.isatty() else (lambda what: None)
    with redirect_stdout(sys.stderr):  # some peers talk while they compile
        found = report.run(names, _numbers(threads), quick=quick, rounds=rounds, advance=note)
    if found.growth:
        write_figure(growth.draw(found.growth), out)
    if as_json:
        print_json(found.to_dict())
        return
    _show(found)
    if found.growth:
        print(f"Picture: {out}")


def _numbers(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.strip().isdigit() and int(part) > 0 for part in parts):
        raise ValueError(f"--threads takes numbers of threads such as 1,2; found {text!r}.")
    return [int(part) for part in parts]


def _show(found: "Bench") -> None:
    from stbmta.theory._table import format_table

    limits = ", ".join(
        f"{name.replace('_', ' ')} {value:.3g}" for name, value in found.limits.to_dict().items()
    )
    print(f"{found.machine['processor']}, {found.machine['cores']} cores, load {found.machine['load']:.1f}")
    print(f"Rates of one core, 1e9 a second: {limits}\n")
    for n_threads in dict.fromkeys(one.n_threads for one in found.races):
        clock = "CPU time" if n_threads == 1 else "elapsed time"
        print(f"How many times slower than stbmta, threads: {n_threads} ({clock})")
        print(format_table(found.ratio_table(n_threads)), end="\n\n")
    if found.growth:
        columns = {
            "job": [one.job for one in found.growth],
            "over": [one.over for one in found.growth],
            "fixed": [one.fixed for one in found.growth],
            "exponent": [f"{one.fit()[0]:.2f}" for one in found.growth],
        }
        print("Growth of time", format_table(columns), sep="\n", end="\n\n")
    if found.cold_start is not None:
        times = found.cold_start.to_dict()
        del times["import_ratio"]
        columns = {
            "fresh process": [name.replace("_", " ") for name in times],
            "CPU seconds": [f"{value:.2f}" for value in times.values()],
        }
        print("Cold start, everything cached", format_table(columns), sep="\n", end="\n\n")
    rows = found.requirements()
    if rows:
        columns = {
            "promise": [one.name for one in rows],
            "required": [f">= {one.least:g}" if one.most is None else f"<= {one.most:g}" for one in rows],
            "found": [f"{one.found:.3g}" for one in rows],
            "kept": ["yes" if one.met else "NO" for one in rows],
        }
        print("What the project promises", format_table(columns), sep="\n", end="\n\n")
    if found.not_raced():
        print(f"Not installed, so not raced: {', '.join(found.not_raced())}.")
    for name, why in found.failed().items():
        print(f"Installed, but does not run: {name} ({why}).")
