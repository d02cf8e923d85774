"""The command about size: ``stbmta plan-compute``."""

import json
from enum import StrEnum
from typing import Annotated, Any

import typer

__all__ = ["register"]


class _Kind(StrEnum):
    linear = "linear"
    kernel = "kernel"
    features = "features"


def register(app: typer.Typer) -> None:
    """Add the command to an app."""
    app.command("plan-compute")(plan_compute)


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
        if not value >= 1:
            raise ValueError(f"--{name} must be at least 1, found {value:g}.")
    n_points = 20 * bags if points is None else points
    if not n_points >= bags:
        raise ValueError(f"--points must be at least --bags ({bags:g}), found {n_points:g}.")
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
        print(json.dumps([plan.to_dict() for plan in plans]))
        return
    titles: dict[Any, str] = {
        "linear": "Means (linear kernel)",
        "kernel": "Exact kernel mean embeddings",
        "features": f"Kernel mean embeddings by {features:g} random Fourier features",
    }
    print("\n\n".join(f"{titles[plan.job.kind]}\n{plan.summary()}" for plan in plans))
    if not measure:
        print("\nRates are those of a 2-core machine with AVX-512; --measure takes those of this one.")
