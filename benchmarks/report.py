"""The whole benchmark in one run, and what it is measured against."""

import importlib.metadata
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from stbmta.jit.vector import WIDTH

from . import accuracy, costs, growth, limits
from .accuracy import Accuracy
from .growth import Growth
from .limits import Limits
from .race import OURS, Race, race
from .workloads import JOB_L, JOB_R, chosen

__all__ = ["Bench", "Requirement", "run"]

# Job R: how many times slower each peer must be at least.
_RATIOS = {
    "loop over pairs of bags": 60.0,
    "scipy cdist": 6.0,
    "scikit-learn": 5.0,
    "JAX": 3.0,
    "torch, hand-tuned": 2.0,
}
_PACKAGES = ("stbmta", "numpy", "scipy", "numba", "scikit-learn", "torch", "jax", "pykeops")


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A promise of the project, and what was found."""

    name: str
    found: float
    least: float | None = None
    most: float | None = None

    @property
    def met(self) -> bool:
        """Whether the promise is kept."""
        return (self.least is None or self.found >= self.least) and (
            self.most is None or self.found <= self.most
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything that a program may want to read."""
        bound = {"at_least": self.least} if self.most is None else {"at_most": self.most}
        return {"name": self.name, **bound, "found": self.found, "met": self.met}


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Everything that one run found; parts that did not run are None or empty."""

    machine: dict[str, Any]
    limits: Limits
    races: list[Race]
    threads: costs.Threads | None = None
    memory: dict[str, float] = field(default_factory=dict)
    interrupt_delay: float | None = None
    accuracy: Accuracy | None = None
    after_statistics: costs.AfterStatistics | None = None
    cold_start: costs.ColdStart | None = None
    growth: list[Growth] = field(default_factory=list)

    def not_raced(self) -> list[str]:
        """Return the peers that promises name and that took no part, because they are not installed."""
        tried = {name for found in self.races for name in (*found.seconds, *found.failed)}
        needed = any(found.work in JOB_R for found in self.races)
        return [name for name in _RATIOS if name not in tried] if needed else []

    def failed(self) -> dict[str, str]:
        """Return the peers that are installed but do not run, and why."""
        return {name: why for found in self.races for name, why in found.failed.items()}

    def requirements(self) -> list[Requirement]:
        """Return the promises that this run can check."""
        return [*self._of_races(), *self._of_costs()]

    def _of_races(self) -> Iterator[Requirement]:
        for found in self.races:
            where = f"{found.work}, {found.n_threads} thread{'s' if found.n_threads > 1 else ''}"
            if found.work in ("W1", "W2", "W3", "W4"):
                bounds = _RATIOS | ({"torch, hand-tuned": 1.6} if found.work == "W3" else {})
                for peer, least in bounds.items():
                    if peer in found.seconds:
                        yield Requirement(name=f"{where}: times {peer}", found=found.ratio(peer), least=least)
                if found.n_threads == 1:
                    share = found.rate / found.limit
                    yield Requirement(name=f"{where}: share of the port limit", found=share, least=0.6)
            elif found.work == "W5" and "scikit-learn" in found.seconds:
                yield Requirement(
                    name=f"{where}: times scikit-learn", found=found.ratio("scikit-learn"), least=1.0
                )
            elif found.work == "L2":
                yield Requirement(
                    name=f"{where}: times numpy in chunks", found=found.ratio("numpy in chunks"), least=2.5
                )

    def _of_costs(self) -> Iterator[Requirement]:
        if self.threads is not None and self.threads.work == "W4" and 2 in self.threads.seconds:
            speedup = self.threads.speedup(2)
            yield Requirement(name="W4: speed of two threads (idle machine)", found=speedup, least=1.8)
            yield Requirement(
                name="W4: same bits on any number of threads", found=float(self.threads.identical), least=1.0
            )
        if "L2" in self.memory:
            yield Requirement(
                name="L2: peak memory beyond the input, GB", found=self.memory["L2"] / 1e9, most=1.0
            )
        if self.interrupt_delay is not None:
            yield Requirement(name="Ctrl-C takes effect, seconds", found=self.interrupt_delay, most=1.0)
        if self.accuracy is not None:
            yield Requirement(name="error, well-scaled data", found=self.accuracy.well_scaled, most=1e-13)
            yield Requirement(name="error, offset and far clusters", found=self.accuracy.hard, most=1e-10)
        if self.cold_start is not None:
            times = self.cold_start.to_dict()
            yield Requirement(name="import, times that of numba", found=times["import_ratio"], most=1.3)
            yield Requirement(
                name="first statistics and weights, CPU seconds", found=times["first_statistics"], most=1.0
            )
            yield Requirement(name="first estimator, CPU seconds", found=times["first_estimator"], most=1.0)
        if self.after_statistics is not None and self.after_statistics.n_bags == 2000:
            yield Requirement(
                name="B = 2000, 31 x 21 grid, CPU seconds", found=self.after_statistics.grid, most=10.0
            )

    def to_dict(self) -> dict[str, Any]:
        """Return everything that a program may want to read."""
        parts = {
            "threads": self.threads,
            "accuracy": self.accuracy,
            "after_statistics": self.after_statistics,
            "cold_start": self.cold_start,
        }
        return {
            "machine": self.machine,
            "limits": self.limits.to_dict(),
            "races": [found.to_dict() for found in self.races],
            **{name: None if part is None else part.to_dict() for name, part in parts.items()},
            "memory": self.memory,
            "interrupt_delay": self.interrupt_delay,
            "growth": [found.to_dict() for found in self.growth],
            "not_raced": self.not_raced(),
            "requirements": [requirement.to_dict() for requirement in self.requirements()],
        }

    def ratio_table(self, n_threads: int) -> dict[str, list[Any]]:
        """Return how many times slower everybody is, and our rate and share of the limits, as columns."""
        races = [found for found in self.races if found.n_threads == n_threads]
        names = list(dict.fromkeys(name for found in races for name in found.seconds))
        columns: dict[str, list[Any]] = {
            "": [*names, "seconds of stbmta", "1e9 pairs/s and core", "% of port limit", "% of multiply-adds"]
        }
        for found in races:
            cells: list[Any] = [f"{found.ratio(n):.3g}" if n in found.seconds else "" for n in names]
            cells += [f"{found.seconds[OURS]:.3g}", f"{found.rate:.3g}"]
            shares = (found.rate / found.limit, found.rate / found.multiply_add_limit)
            columns[found.work] = cells + [f"{100 * share:.0f}" for share in shares]
        return columns


def machine() -> dict[str, Any]:
    """Return what the figures depend on."""
    versions: dict[str, str | None] = {}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "vector_width": WIDTH,
        "python": platform.python_version(),
        "versions": versions,
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def run(
    works: Sequence[str] = (),
    n_threads: Sequence[int] = (1, 2),
    *,
    quick: bool = False,
    rounds: int | None = None,
    advance: Callable[[str], None] = lambda what: None,
) -> Bench:
    """Run the benchmark.

    Parameters
    ----------
    works : sequence of str
        Race on these workloads only, and do nothing else; everything by default.
    n_threads : sequence of int
    quick : bool, default=False
        Small workloads, one round: in about a minute, with rough figures.
    rounds : int, optional
        The best of them counts; 3 by default, 1 for the longest work, L2.
    advance : callable
        Called with the name of each step before it starts.

    Returns
    -------
    Bench
    """
    longest_rounds = rounds or 1
    rounds = rounds or (1 if quick else 3)
    everything = not works
    names = list(works) or (["W1", "W2", "W3", "L1"] if quick else [*JOB_R, *JOB_L])
    facts = machine()
    advance("limits of this machine")
    rates = limits.measure()
    races = []
    for work in chosen(names):
        for count in n_threads:
            advance(f"{work}, threads: {count}")
            races.append(race(work, count, rates, rounds=longest_rounds if work.name == "L2" else rounds))
    if not everything:
        return Bench(machine=facts, limits=rates, races=races)
    return Bench(machine=facts, limits=rates, races=races, **_costs(n_threads, quick, rounds, advance))


def _costs(
    n_threads: Sequence[int], quick: bool, rounds: int, advance: Callable[[str], None]
) -> dict[str, Any]:
    """Measure all that is not a race."""
    threaded, memory = (JOB_R["W3"], JOB_L["L1"]) if quick else (JOB_R["W4"], JOB_L["L2"])
    steps: dict[str, Callable[[], Any]] = {
        "threads": lambda: costs.threads(threaded, list(n_threads), rounds),
        "memory": lambda: {memory.name: costs.peak_memory(memory)},
        "interrupt_delay": lambda: costs.interrupt_delay(max(n_threads), 20_000 if quick else 200_000),
        "accuracy": accuracy.measure,
        "after_statistics": lambda: costs.after_statistics(500 if quick else 2000),
        "cold_start": lambda: costs.cold_start(rounds),
        "growth": lambda: growth.measure(4 if quick else 6, rounds),
    }
    found = {}
    for name, step in steps.items():
        advance(name.replace("_", " "))
        found[name] = step()
    return found
