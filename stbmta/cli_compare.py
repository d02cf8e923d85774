"""The commands ``stbmta compare gaussian | toy | sizes | real | cost | certificates``."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from .cli_errors import ClearErrors

__all__ = ["register"]

_Trials = Annotated[int | None, typer.Option(min=2, help="How often data are drawn.")]
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
    >>> app = typer.Typer()
    >>> register(app)
    >>> [group.name for group in app.registered_groups]
    ['compare']
    """
    group = typer.Typer(
        cls=ClearErrors,
        no_args_is_help=True,
        help="Compare all methods, none of which knows the truth, and check what they must show.",
    )
    group.command("gaussian")(gaussian)
    group.command("toy")(toy)
    group.command("sizes")(sizes)
    group.command("real")(real)
    group.command("cost")(cost)
    group.command("certificates")(certificates)
    app.add_typer(group, name="compare")


def gaussian(
    trials: _Trials = None,
    out: Annotated[Path, typer.Option(help="Folder for results.")] = Path("stbmta-compare-gaussian"),
    seed: _Seed = 0,
    resume: _Resume = False,
    jobs: _Jobs = None,
    as_json: _Json = False,
) -> None:
    """Run the Gaussian table without an oracle: 2000 bags of one point, four models.

    Example: stbmta compare gaussian --trials 2
    """
    from stbmta.validation.compare.gaussian import run

    _show(lambda: run(out, seed=seed, resume=resume, jobs=jobs, **_given(trials)), out, as_json)


def toy(
    trials: _Trials = None,
    out: Annotated[Path, typer.Option(help="Folder for results.")] = Path("stbmta-compare-toy"),
    seed: _Seed = 0,
    resume: _Resume = False,
    jobs: _Jobs = None,
    as_json: _Json = False,
) -> None:
    """Compare choices without the truth with the oracle's: toy settings (a), (b) and (d).

    Example: stbmta compare toy --trials 5
    """
    from stbmta.validation.compare.toy import run

    _show(lambda: run(out, seed=seed, resume=resume, jobs=jobs, **_given(trials)), out, as_json)


def sizes(
    trials: _Trials = None,
    out: Annotated[Path, typer.Option(help="Folder for results.")] = Path("stbmta-compare-sizes"),
    seed: _Seed = 0,
    resume: _Resume = False,
    jobs: _Jobs = None,
    as_json: _Json = False,
) -> None:
    """Compare methods on bags of unequal size, by size: toy setting (c).

    Example: stbmta compare sizes --trials 20
    """
    from stbmta.validation.compare.toy import run_sizes

    _show(lambda: run_sizes(out, seed=seed, resume=resume, jobs=jobs, **_given(trials)), out, as_json)


def real(
    trials: _Trials = None,
    dataset: Annotated[
        list[str] | None, typer.Option(help="One data set; may be repeated. All by default.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for results.")] = Path("stbmta-compare-real"),
    seed: _Seed = 0,
    resume: _Resume = False,
    jobs: _Jobs = None,
    as_json: _Json = False,
) -> None:
    """Compare the combination with the best single method on real data.

    Example: stbmta compare real --dataset fair --trials 10
    """
    from stbmta.validation.compare.real import run

    _show(
        lambda: run(out, seed=seed, datasets=dataset or None, resume=resume, jobs=jobs, **_given(trials)),
        out,
        as_json,
    )


def cost(
    bags: Annotated[int, typer.Option(min=2, help="Number of bags; only 2000 have limits.")] = 2000,
    rounds: Annotated[int, typer.Option(min=1, help="The best of so many counts.")] = 3,
    as_json: _Json = False,
) -> None:
    """Time a plain fit, one that chooses its parameters, aggregation, and Adaptive.

    Example: stbmta compare cost --bags 500
    """
    from stbmta.validation.compare.cost import run

    _show(lambda: run(n_bags=bags, rounds=rounds), None, as_json)


def certificates(
    trials: _Trials = None,
    alpha: Annotated[float, typer.Option(min=0.001, max=0.999, help="Allowed share of misses.")] = 0.2,
    out: Annotated[Path, typer.Option(help="Folder for results.")] = Path("stbmta-compare-certificates"),
    seed: _Seed = 0,
    resume: _Resume = False,
    jobs: _Jobs = None,
    as_json: _Json = False,
) -> None:
    """Count how often a squared error exceeds its certificate.

    Example: stbmta compare certificates --trials 50
    """
    from stbmta.validation.compare.coverage import run

    _show(lambda: run(out, alpha=alpha, seed=seed, resume=resume, jobs=jobs, **_given(trials)), out, as_json)


def _given(trials: int | None) -> dict[str, Any]:
    return {} if trials is None else {"n_trials": trials}


def _show(work: Callable[[], Any], out: Path | None, as_json: bool) -> None:
    """Do the work, keep table and checks in the folder, and print them; exit code 1 if a check failed."""
    import json

    from .files import atomic_write

    try:
        found = work()
    except KeyboardInterrupt:
        hint = "" if out is None else f" What is done is kept in {out}; go on with --resume."
        print(f"stbmta: interrupted.{hint}", file=sys.stderr)
        raise typer.Exit(130) from None
    text = found.summary()
    if out is not None:
        with atomic_write(out / "table.txt", "w") as file:
            file.write(text + "\n")
        for name, frame in (("table", found.to_frame()), ("checks", found.checks_frame())):
            with atomic_write(out / f"{name}.csv", "w") as file:
                frame.to_csv(file, index=False)
    if as_json:
        tables = {"rows": found.to_frame(), "checks": found.checks_frame()}
        content = {name: json.loads(frame.to_json(orient="records")) for name, frame in tables.items()}
        print(json.dumps({"title": found.title, "passed": found.passed, "seconds": found.seconds, **content}))
    else:
        print(text)
        if out is not None:
            print(f"\n{found.seconds:.0f} s of work. Saved in {out}: table.txt, table.csv, checks.csv.")
    if not found.passed:
        raise typer.Exit(1)
