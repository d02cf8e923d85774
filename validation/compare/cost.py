"""What choosing costs: seconds of a plain fit, of one that chooses its parameters, and of everything combined."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from stbmta import datasets
from stbmta.adaptive import Adaptive
from stbmta.bags import Bags
from stbmta.estimators import STB
from stbmta.estimators_beyond import ConvexAggregation
from stbmta.kernels import RBF, Linear

from .outcome import Check, Comparison

__all__ = ["run"]

_ADDED = "(choosing - plain) / plain"
_LIMITS_FOR = 2000
_NO_LIMITS = f"The limits are for {_LIMITS_FOR} bags; here nothing is checked."


def run(*, n_bags: int = 2000, rounds: int = 3, seed: int = 0) -> Comparison:
    """Time the fits; the best of several rounds counts, and compiling is not timed.

    "Tuning adds at most a factor 3 to the plain fit" is read as (tuned - plain) / plain <= 3. Adaptive, which fits some
    thirty methods, has no limit; its time over that of the plain fit is in the table.

    Parameters
    ----------
    n_bags : int, default=2000
        The limits are for 2000; other numbers are timed without.
    rounds : int, default=3
        How often each fit is timed.
    seed : int, default=0
        Seed of the random draws.

    Returns
    -------
    Comparison
        Seconds of each fit; for 2000 bags also checks against the limits.

    Examples
    --------
    >>> found = run(n_bags=30, rounds=1)
    >>> found.notes, len(found.checks)
    ('The limits are for 2000 bags; here nothing is checked.', 0)
    """
    started = time.perf_counter()
    cases: dict[str, tuple[Bags, dict[str, Any], dict[str, Any]]] = {
        "RBF, 2 dimensions, 50 points": (
            datasets.rotated_gaussians(n_bags, 50, rng=seed).bags,
            {"kernel": RBF(2.25)},
            {"zeta": 1.0, "gamma": 0.0},
        ),
        "linear, 100 dimensions, 10 points": (
            datasets.cluster(n_bags, 100, bag_size=10, rng=seed).bags,
            {"kernel": Linear()},
            {"zeta": 1.0, "gamma": 0.0},
        ),
        "linear, 1000 dimensions, 1 point": (
            datasets.cluster(n_bags, 1000, rng=seed).bags,
            {"variance": 1.0},
            {"zeta": 2.9, "gamma": 0.0},
        ),
    }
    names = ("plain STB", "STB that chooses", "aggregation", "Adaptive")
    table: dict[str, list[Any]] = {
        "bags": list(cases),
        **{f"{name}, s": [] for name in names},
        _ADDED: [],
        "Adaptive / plain": [],
    }
    checks = []
    for case, (bags, common, fixed) in cases.items():
        estimators = (
            STB(**common, **fixed),
            STB(**common, random_state=seed),
            ConvexAggregation(**common),
            Adaptive(**common, random_state=seed),
        )
        for estimator in estimators:  # compiles
            estimator.fit(bags.select(range(min(20, n_bags))))
        seconds = [_best(partial(estimator.fit, bags), rounds) for estimator in estimators]
        for name, value in zip(names, seconds, strict=True):
            table[f"{name}, s"].append(value)
        table["Adaptive / plain"].append(seconds[3] / seconds[0])
        added = (seconds[1] - seconds[0]) / seconds[0]
        table[_ADDED].append(added)
        nothing = float("nan")
        checks += [
            Check(name=f"{case}, {_ADDED}", found=added, standard_error=nothing, most=3.0),
            Check(name=f"{case}, aggregation", found=seconds[2], standard_error=nothing, most=10.0),
        ]
    return Comparison(
        title=f"Seconds to fit {n_bags} bags, best of {rounds}",
        table=table,
        checks=tuple(checks) if n_bags == _LIMITS_FOR else (),
        notes="" if n_bags == _LIMITS_FOR else _NO_LIMITS,
        seconds=time.perf_counter() - started,
    )


def _best(work: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
