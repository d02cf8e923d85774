"""Run the checks: one small file for each check and regime, then verdicts, tables and reports."""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from stbmta import __version__
from stbmta.files import atomic_write

from .catalog import CHECKS, TRIALS, cells, find, select
from .check import Check, Finding, Outcome, Scale, judge
from .exploration import Exploration, explore, explored
from .runner import Arrays, Part, Store, generator, run_parts

__all__ = ["ERROR", "Report", "Status", "outcome", "run_cell", "validate"]

ERROR = 1e-3
"""Probability that any of the confidence intervals of a run misses the truth (Bonferroni over all of them)."""

Status = Literal["holds", "violated", "undecided", "known erratum", "erratum not seen"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All verdicts of a run.

    Attributes
    ----------
    scale : {"quick", "default", "full"}
    seed : int
    outcomes : tuple of Outcome
        In the order of the catalog.
    exploration : tuple of Exploration
        What happens when assumptions are broken; empty if only some checks ran.
    """

    scale: Scale
    seed: int
    outcomes: tuple[Outcome, ...]
    exploration: tuple[Exploration, ...] = ()

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks that ran."""
        return tuple({o.check.id: o.check for o in self.outcomes}.values())

    def of(self, check: Check) -> tuple[Outcome, ...]:
        """Outcomes of one check.

        Returns
        -------
        tuple of Outcome
            One for each regime; empty if the check did not run.
        """
        return tuple(o for o in self.outcomes if o.check.id == check.id)

    def status(self, check: Check) -> Status:
        """Verdict over all regimes: one counterexample is enough, and a known erratum must have one.

        Returns
        -------
        str
            "holds", "violated", "undecided", "known erratum" or "erratum not seen".
        """
        verdicts = {o.verdict for o in self.of(check)}
        if check.erratum:
            return "known erratum" if "violated" in verdicts else "erratum not seen"
        if "violated" in verdicts:
            return "violated"
        return "undecided" if "undecided" in verdicts else "holds"

    @property
    def violated(self) -> tuple[Check, ...]:
        """Checks with an unexpected counterexample."""
        return tuple(check for check in self.checks if self.status(check) == "violated")

    @property
    def good(self) -> bool:
        """Whether no statement is violated and every known erratum shows."""
        return not any(self.status(check) in ("violated", "erratum not seen") for check in self.checks)

    def tightness(self, check: Check) -> float:
        """Largest observed / bound over the regimes where the statement says something.

        Returns
        -------
        float
            1 where a bound is attained; nan if the statement says nothing in any regime.
        """
        ratios = [
            o.finding.tightness for o in self.of(check) if not o.finding.vacuous and o.finding.bound > 0
        ]
        return max(ratios, default=float("nan"))

    def to_frame(self) -> Any:
        """Return a pandas data frame with one row for each check and regime.

        Returns
        -------
        pandas.DataFrame
            Columns as :meth:`stbmta.validation.check.Outcome.to_dict` names them.
        """
        import pandas as pd

        return pd.DataFrame([o.to_dict() for o in self.outcomes])

    def to_dict(self) -> dict[str, Any]:
        """Give everything as JSON has it. Times are left out: two runs with one seed give the same bytes.

        Returns
        -------
        dict of str to Any
            What ``results.json`` holds.
        """
        return {
            "scale": self.scale,
            "seed": self.seed,
            "version": __version__,
            "error_probability": ERROR,
            "violated": [check.id for check in self.violated],
            "checks": [
                {
                    "id": check.id,
                    "title": check.title,
                    "family": check.family,
                    "kind": check.kind,
                    "labels": check.labels,
                    "functions": check.functions,
                    "status": self.status(check),
                    "erratum": check.erratum,
                    "regimes": [o.to_dict() for o in self.of(check)],
                }
                for check in self.checks
            ],
            "exploration": [scenario.to_dict() for scenario in self.exploration],
        }

    def summary(self) -> str:
        """Count the checks of each status in one line.

        Returns
        -------
        str
            Such as "1 checks in 2 regimes: 1 holds".
        """
        counts: dict[str, int] = {}
        for check in self.checks:
            counts[self.status(check)] = counts.get(self.status(check), 0) + 1
        parts = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
        return f"{len(self.checks)} checks in {len(self.outcomes)} regimes: {parts}"


def validate(
    out: str | os.PathLike[str],
    *,
    scale: Scale = "default",
    seed: int = 0,
    only: Sequence[str] = (),
    jobs: int | None = None,
    resume: bool = False,
) -> Report:
    """Run the checks and write ``results.json``.

    Parameters
    ----------
    out : path-like
        Folder of the results. Work that was done is kept there.
    scale : {"quick", "default", "full"}
        About half a minute, ten minutes, hours.
    seed : int, default=0
        Seed of the random draws.
    only : sequence of str
        Ids of checks, or beginnings of ids; all by default. The report has these, and other checks that the folder
        has whole.
    jobs : int, optional
        Number of processes; as many as cores by default. It does not change the result.
    resume : bool, default=False
        Go on with what the folder holds.

    Returns
    -------
    Report
        The verdicts, and what broken assumptions do, as the file has them.

    Examples
    --------
    >>> print(validate("toy-validation", scale="quick", only=["rough"], jobs=1).summary())
    1 checks in 2 regimes: 1 holds
    """
    checks = select(tuple(only))
    settings = {"experiment": "validate", "scale": scale, "seed": seed, "version": __version__}
    store = Store(out, settings, resume=resume)
    run_parts(store, _parts(scale, seed, checks), what="checking", jobs=jobs, timed=False)
    whole = tuple(c for c in CHECKS if all(part.name in store for part in _parts(scale, seed, (c,))))
    level = ERROR / _random_cells(scale)
    outcomes = tuple(
        outcome(check, regime, Finding.from_arrays(store.load(part_name(check.id, regime.name))), level)
        for check, regime in cells(scale, whole)
    )
    wanted = not only or explored(store)
    exploration = explore(store, scale=scale, seed=seed, jobs=jobs) if wanted else ()
    report = Report(scale=scale, seed=seed, outcomes=outcomes, exploration=exploration)
    with atomic_write(store.folder / "results.json", "w") as file:
        json.dump(report.to_dict(), file, indent=1)
    return report


def _parts(scale: Scale, seed: int, checks: tuple[Check, ...]) -> list[Part]:
    return [
        Part(
            name=part_name(check.id, regime.name),
            work=run_cell,
            arguments=(check.id, regime.name, scale, seed),
        )
        for check, regime in cells(scale, checks)
    ]


def outcome(check: Check, regime: Any, finding: Finding, level: float) -> Outcome:
    """Judge a finding.

    Returns
    -------
    Outcome
        The finding with its confidence limits and the verdict.
    """
    judgment = judge(finding, level)
    return Outcome(
        check=check,
        regime=regime,
        finding=finding,
        lower=judgment.lower,
        upper=judgment.upper,
        verdict=judgment.verdict,
    )


def run_cell(check_id: str, regime_name: str, scale: Scale, seed: int) -> Arrays:
    """Try a check in one regime.

    Returns
    -------
    dict of str to ndarray
        The finding, as :meth:`stbmta.validation.check.Finding.from_arrays` reads it.

    Examples
    --------
    >>> round(float(run_cell("theorem-1-attained", "tau = 1", "quick", seed=0)["observed"]), 9)
    1.0
    """
    check = find(check_id)
    regime = next(regime for regime in check.regimes if regime.name == regime_name)
    rng = generator(seed, "validate", check_id, regime_name)
    return check.measure(rng, regime.trials * TRIALS[scale], **regime.values).to_arrays()


def part_name(*words: str) -> str:
    """Make a file name of words.

    Examples
    --------
    >>> part_name("gaussian-A", "d = 1e4, tau'")
    'gaussian-A--d=1e4,tau-'
    """
    return "--".join(re.sub(r"[^\w.,=+-]", "-", word.replace(" ", "")) for word in words)


def _random_cells(scale: Scale) -> int:
    """How many regimes share the error probability: all that a run of this length counts in, chosen or not."""
    return sum(regime.trials > 0 for _, regime in cells(scale, CHECKS))
