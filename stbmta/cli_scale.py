"""The commands about size: ``stbmta plan-compute`` and ``stbmta bench-scale``."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from .cli_output import print_json

__all__ = ["register"]

# More of anything than there can be; products of such numbers are still finite.
_MOST = 1e30


class _Job(StrEnum):
    linear = "linear"
    features = "features"
    dask = "dask"
    faults = "faults"


class _Kind(StrEnum):
    linear = "linear"
    kernel = "kernel"
    features = "features"


def register(app: typer.Typer) -> None:
    """Add the commands to an app."""
    app.command("plan-compute")(plan_compute)
    app.command("bench-scale")(bench_scale)


def plan_compute(
    bags: Annotated[float, typer.Option("--bags", "-B", help="Number of bags.")],
    dim: Annotated[float, typer.Option("--dim", "-d", help="Columns of the points.")],
    points: Annotated[
        float | None, typer.Option("--points", "-n", help="Points of all bags together; 20 a bag by default.")
    ] = None,
    kind: Annotated[
        list[_Kind] | None,
        typer.Option(help="Means, exact kernel values, or random features; all three by default."),
    ] = None,
    features: Annotated[float, typer.Option(help="Number of random features.")] = 1024,
    neighbors: Annotated[float, typer.Option(help="Neighbors of a bag, on average.")] = 100,
    workers: Annotated[int, typer.Option(min=1, help="Machines of a cluster.")] = 1,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Cores of each machine; those of this one by default.")
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure the rates of this machine first, some seconds.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell what an estimate will cost: arithmetic, time, memory, and what goes between machines.

    Examples: stbmta plan-compute --bags 100000 --dim 1000;
    stbmta plan-compute --bags 1e6 --dim 1e4 --workers 50 --threads 32
    """
    from .scale import cost

    for name, value in (("bags", bags), ("dim", dim), ("features", features), ("neighbors", neighbors)):
        if not 1 <= value <= _MOST:
            raise ValueError(f"--{name} must be a number from 1 to {_MOST:g}, found {value:g}.")
    n_points = 20 * bags if points is None else points
    if not bags <= n_points <= _MOST:
        raise ValueError(
            f"--points must be a number from --bags ({bags:g}) to {_MOST:g}, found {n_points:g}."
        )
    rates = cost.measure_rates() if measure else None
    plans = [
        cost.plan_compute(
            cost.Job(
                kind=one.value,
                n_bags=bags,
                n_points=n_points,
                dim=dim,
                n_features=features,
                neighbors=min(neighbors, bags),
            ),
            workers=workers,
            threads=threads,
            rates=rates,
        )
        for one in (list(_Kind) if kind is None else kind)
    ]
    if as_json:
        print_json([plan.to_dict() for plan in plans])
        return
    titles: dict[Any, str] = {
        "linear": "Means (linear kernel)",
        "kernel": "Exact kernel mean embeddings",
        "features": f"Kernel mean embeddings by {features:g} random Fourier features",
    }
    print("\n\n".join(f"{titles[plan.job.kind]}\n{plan.summary()}" for plan in plans))
    if not measure:
        print("\nRates are those of a 2-core machine with AVX-512; --measure takes those of this one.")


def bench_scale(
    job: Annotated[
        list[_Job] | None, typer.Argument(help="linear, features, dask or faults; all by default.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A hundredth of the work: rough figures.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure data beyond memory: time, peak memory, growth, and what a cluster of processes adds.

    Figures that must be reached are marked ok or MISSED, and the exit code is 1 if one is missed; --quick measures
    too little for that.

    linear: STB estimates of 100,000 means in 1000 dimensions. features: embeddings of ten million points by random
    features. dask: exact kernel statistics on local clusters of one and two processes, against threads. faults: what
    becomes of a job whose workers are killed, run out of memory, or are gone.

    Example: stbmta bench-scale linear --quick
    """
    from dataclasses import asdict

    from stbmta.benchmarks import scale

    found: dict[str, list[Any]] = {}
    for one in job or list(_Job):
        if one is _Job.linear:
            found[one.value] = scale.linear_growth(*((10_000, 1000) if quick else ()))
        elif one is _Job.features:
            found[one.value] = scale.feature_growth(*((100_000, 1000) if quick else ()))
        elif one is _Job.dask:
            found[one.value] = scale.dask_overhead(*((40_000,) if quick else ()))
        else:
            found[one.value] = scale.faults(*((50_000,) if quick else ()))
    checks = {} if quick else {name: scale.CHECKS[name](runs) for name, runs in found.items()}
    if as_json:
        print_json(
            {name: [asdict(run) for run in runs] for name, runs in found.items()}
            | {
                "checks": [
                    asdict(check) | {"passed": check.passed} for part in checks.values() for check in part
                ]
            }
        )
    else:
        tables = {
            "linear": _linear_table,
            "features": _feature_table,
            "dask": _dask_table,
            "faults": _fault_table,
        }
        for name, runs in found.items():
            print(tables[name](runs), end="\n\n")
            if name in checks:
                print(_check_table(checks[name]), end="\n\n")
    if not all(check.passed for part in checks.values() for check in part):
        raise typer.Exit(1)


def _check_table(checks: list[Any]) -> str:
    from stbmta.theory._table import format_table

    limits = [
        f"{check.least:g} to {check.most:g}"
        if None not in (check.least, check.most)
        else (f">= {check.least:g}" if check.most is None else f"<= {check.most:g}")
        for check in checks
    ]
    columns = {
        "check": [check.name for check in checks],
        "found": [f"{check.found:.3g}" for check in checks],
        "must be": limits,
        "": ["ok" if check.passed else "MISSED" for check in checks],
    }
    return format_table(columns)


def _linear_table(runs: list[Any]) -> str:
    from stbmta.benchmarks.scale import exponent
    from stbmta.theory._table import format_table

    columns = {
        "bags": [run.n_bags for run in runs],
        "dim": [run.dim for run in runs],
        "seconds": [round(run.seconds, 2) for run in runs],
        "peak GiB": [round(run.peak / 2**30, 2) for run in runs],
        "GFLOP/s": [round(run.rate, 1) for run in runs],
        "sgemm": [round(run.blas, 1) for run in runs],
        "share": [f"{run.rate / run.blas:.0%}" for run in runs],
        "error / naive": [round(run.error, 4) for run in runs],
    }
    growth = exponent([run.n_bags for run in runs], [run.seconds for run in runs])
    return f"STB estimates in tiles\n{format_table(columns)}\ntime grows as B^{growth:.2f}"


def _feature_table(runs: list[Any]) -> str:
    from stbmta.benchmarks.scale import exponent
    from stbmta.theory._table import format_table

    columns = {
        "points": [run.n_points for run in runs],
        "bags": [run.n_bags for run in runs],
        "seconds": [round(run.seconds, 2) for run in runs],
        "peak GiB": [round(run.peak / 2**30, 2) for run in runs],
        "stated error": [f"{run.stated:.2e}" for run in runs],
        "on other bags": [f"{run.checked:.2e}" for run in runs],
        "theory allows": [f"{run.bound:.2e}" for run in runs],
    }
    growth = exponent([run.n_points for run in runs], [run.seconds for run in runs])
    return f"Embeddings by random features\n{format_table(columns)}\ntime grows as n^{growth:.2f}"


def _dask_table(runs: list[Any]) -> str:
    from stbmta.theory._table import format_table

    columns = {
        "processes": [run.workers for run in runs],
        "threads here, s": [round(run.here, 2) for run in runs],
        "Dask, s": [round(run.there, 2) for run in runs],
        "overhead": [f"{run.overhead:.0%}" for run in runs],
        "same bits": ["yes" if run.same_bits else "NO" for run in runs],
    }
    return f"Exact kernel statistics on a local Dask cluster\n{format_table(columns)}"


def _fault_table(runs: list[Any]) -> str:
    from stbmta.theory._table import format_table

    columns = {"fault": [run.fault for run in runs], "outcome": [run.outcome for run in runs]}
    return f"Faults on a local Dask cluster\n{format_table(columns)}"
