"""Could the checks have failed? Deliberately wrong formulas, and what caught each.

A mutation takes the place of one function while checks run. Those that make a statement false must be caught by a check
of that statement. Those that stay within the slack of a loose bound leave it true: nature cannot refute them, and no
check of a statement may claim to. Algebra notices that the formula was changed, and the report says so.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import numpy as np

from stbmta import __version__
from stbmta.files import atomic_write

from .catalog import CHECKS, cells, find, locate
from .check import Check, judge
from .mutation_list import MUTATIONS, Mutation
from .run import ERROR, part_name
from .runner import Arrays, Part, Store, generator, run_parts

__all__ = ["MutationReport", "MutationResult", "applied", "checks_of", "mutate"]

MutationStatus = Literal[
    "caught",
    "caught by algebra",
    "true, caught by algebra",
    "missed",
    "true, unnoticed",
    "caught, though true",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationResult:
    """What happened to one mutation.

    Attributes
    ----------
    mutation : Mutation
    statements, algebra : tuple of str
        Ids of the checks that were violated, of statements and between formulas.
    """

    mutation: Mutation
    statements: tuple[str, ...]
    algebra: tuple[str, ...]

    @property
    def status(self) -> MutationStatus:
        """Whether the mutation was treated as it should be."""
        if self.mutation.harmless and self.statements:
            return "caught, though true"
        if self.mutation.harmless:
            return "true, caught by algebra" if self.algebra else "true, unnoticed"
        if self.statements:
            return "caught"
        return "caught by algebra" if self.algebra else "missed"

    @property
    def good(self) -> bool:
        """Caught, and true statements by algebra alone."""
        return self.status not in ("missed", "true, unnoticed", "caught, though true")

    @property
    def how(self) -> str:
        """Say in words what caught it."""
        return {
            "caught": "refuted by",
            "caught by algebra": "no experiment refutes it; differs from the formula:",
            "true, caught by algebra": "true, so nothing can refute it; differs from the formula:",
            "missed": "caught by nothing",
            "true, unnoticed": "true, and differs from the formula unnoticed",
            "caught, though true": "true, but refuted by",
        }[self.status]


@dataclass(frozen=True, slots=True, kw_only=True)
class MutationReport:
    """What happened to all mutations.

    Attributes
    ----------
    results : tuple of MutationResult
    seed : int
    """

    results: tuple[MutationResult, ...]
    seed: int

    @property
    def good(self) -> bool:
        """Whether every mutation was treated as it should be."""
        return all(result.good for result in self.results)

    def to_dict(self) -> dict[str, Any]:
        """Give everything as JSON has it.

        Returns
        -------
        dict of str to Any
            Seed, version, and for each mutation its change, its status and what caught it.
        """
        return {
            "seed": self.seed,
            "version": __version__,
            "mutations": [
                {
                    "id": r.mutation.id,
                    "function": r.mutation.target,
                    "change": r.mutation.what,
                    "status": r.status,
                    "how": r.how,
                    "caught_by": [*r.statements, *r.algebra],
                }
                for r in self.results
            ],
        }

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row for each mutation.

        Returns
        -------
        pandas.DataFrame
            Columns id, function, change, status, how and caught_by.
        """
        import pandas as pd

        return pd.DataFrame(self.to_dict()["mutations"])

    def summary(self) -> str:
        """Count the mutations of each status in one line.

        Returns
        -------
        str
            Such as "1 mutations: 1 caught".
        """
        counts: dict[str, int] = {}
        for result in self.results:
            counts[result.status] = counts.get(result.status, 0) + 1
        return f"{len(self.results)} mutations: " + "; ".join(f"{n} {s}" for s, n in sorted(counts.items()))


def mutate(
    out: str | os.PathLike[str],
    *,
    seed: int = 0,
    only: Sequence[str] = (),
    jobs: int | None = None,
    resume: bool = False,
) -> MutationReport:
    """Run the quick checks against every mutation, and write ``mutations.json``.

    Parameters
    ----------
    out : path-like
        Folder of the results.
    seed : int, default=0
        Seed of the random draws.
    only : sequence of str
        Ids of mutations; all by default.
    jobs : int, optional
        Number of processes; as many as cores by default. It does not change the result.
    resume : bool, default=False
        Go on with what the folder holds.

    Returns
    -------
    MutationReport
        What caught each mutation, as the file has it.

    Examples
    --------
    >>> print(mutate("toy-mutations", only=["rough-no-variance"], jobs=1).summary())
    1 mutations: 1 caught
    """
    known = {mutation.id: mutation for mutation in MUTATIONS}
    for name in only:
        if name not in known:
            raise ValueError(f"there is no mutation {name!r}; known are {', '.join(known)}.")
    chosen = [known[name] for name in only] if only else list(MUTATIONS)
    store = Store(out, {"experiment": "mutate", "seed": seed, "version": __version__}, resume=resume)
    pairs = [(mutation, check) for mutation in chosen for check in checks_of(mutation)]
    parts = [
        Part(name=part_name(m.id, check.id), work=try_check, arguments=(m.id, check.id, seed))
        for m, check in pairs
    ]
    found = run_parts(store, parts, what="mutating", jobs=jobs, timed=False)
    caught = [pair for pair, arrays in zip(pairs, found, strict=True) if arrays["violated"]]
    results = tuple(
        MutationResult(
            mutation=mutation,
            statements=tuple(c.id for m, c in caught if m is mutation and c.kind == "statement"),
            algebra=tuple(c.id for m, c in caught if m is mutation and c.kind == "algebra"),
        )
        for mutation in chosen
    )
    report = MutationReport(results=results, seed=seed)
    with atomic_write(store.folder / "mutations.json", "w") as file:
        json.dump(report.to_dict(), file, indent=1)
    return report


def checks_of(mutation: Mutation) -> tuple[Check, ...]:
    """Find the checks that a mutation can reach: those of its function, or of functions that call it.

    Returns
    -------
    tuple of Check
        In the order of the report, without those of known errata.

    Examples
    --------
    >>> rough = next(m for m in MUTATIONS if m.id == "rough-no-variance")
    >>> [check.id for check in checks_of(rough)]
    ['rough', 'algebra-theorems-rough-bound']
    """
    functions = {mutation.target, *mutation.through}
    return tuple(check for check in CHECKS if not check.erratum and functions & set(check.functions))


def try_check(mutation_id: str, check_id: str, seed: int) -> Arrays:
    """Tell whether a check is violated in some quick regime while a mutation is applied."""
    mutation = next(m for m in MUTATIONS if m.id == mutation_id)
    check = find(check_id)
    level = ERROR / sum(regime.trials > 0 for _, regime in cells("quick"))
    violated = False
    with applied(mutation), np.errstate(all="ignore"):
        for _, regime in cells("quick", (check,)):
            rng = generator(seed, "validate", check.id, regime.name)  # the draws of the honest run
            finding = check.measure(rng, regime.trials, **regime.values)
            if judge(finding, level).verdict == "violated":
                violated = True
                break
    return {"violated": np.array(violated)}


@contextmanager
def applied(mutation: Mutation) -> Iterator[None]:
    """Put a wrong function in the place of a right one, wherever the theory refers to it.

    Yields
    ------
    None
        While the wrong function is in place; the right one comes back at the end.

    Examples
    --------
    >>> from stbmta.theory import theorems
    >>> rough = next(m for m in MUTATIONS if m.id == "rough-no-variance")
    >>> with applied(rough):
    ...     float(theorems.rough_bound(0.5, 3))
    0.375
    >>> float(theorems.rough_bound(0.5, 3))
    0.625
    """
    module, name = locate(mutation.target)
    right = getattr(import_module(module), name)
    wrong: Callable[..., Any] = mutation.change(right)
    # Modules import functions from each other by name: each of them has its own reference.
    holders = [
        holder
        for key, holder in list(sys.modules.items())
        if key.startswith("stbmta.") and vars(holder).get(name) is right
    ]
    for holder in holders:
        setattr(holder, name, wrong)
    try:
        yield
    finally:
        for holder in holders:
            setattr(holder, name, right)
