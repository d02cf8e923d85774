"""All checks, and what each row of the registry of statements is checked by."""

from collections.abc import Iterator
from dataclasses import dataclass

from stbmta import theory
from stbmta.theory.registry import Statement

from .check import Check, Regime, Scale
from .checks import (
    bounded,
    bounded_drawn,
    certificates,
    coverings,
    deviations,
    estimators,
    exact,
    fission,
    gaussian,
    kernel,
    printed,
    sharp,
    theorem1,
    theorem2,
)

__all__ = ["CHECKS", "TRIALS", "Coverage", "cells", "coverage", "erratum_number", "find", "locate", "select"]

CHECKS: tuple[Check, ...] = (
    *theorem1.CHECKS,
    *fission.CHECKS,
    *theorem2.CHECKS,
    *sharp.CHECKS,
    *gaussian.CHECKS,
    *exact.CHECKS,
    *deviations.CHECKS,
    *kernel.CHECKS,
    *bounded.CHECKS,
    *bounded_drawn.CHECKS,
    *estimators.CHECKS,
    *coverings.CHECKS,
    *certificates.CHECKS,
    *printed.CHECKS,
)
"""In the order of the report."""

TRIALS: dict[Scale, int] = {"quick": 1, "default": 10, "full": 100}
"""How many times the trials of a quick run."""

_ORDER: tuple[Scale, ...] = ("quick", "default", "full")

EXPLAINED = {
    "definition": "a definition: nothing to refute",
    "section": "a heading",
    "elsewhere": "an estimator or an experiment: tests of the estimators and `stbmta reproduce`",
}
"""Why rows of these kinds have no check."""


def find(check_id: str) -> Check:
    """Return the check with this id.

    Returns
    -------
    Check
        An id that nothing has is refused, with a hint at similar ones.

    Examples
    --------
    >>> find("gaussian-A").labels
    ('prop:testgauss',)
    """
    for check in CHECKS:
        if check.id == check_id:
            return check
    from difflib import get_close_matches

    near = get_close_matches(check_id, [check.id for check in CHECKS], n=3, cutoff=0.3)
    hint = f" Did you mean {', '.join(near)}?" if near else ""
    raise ValueError(f"there is no check {check_id!r}.{hint} `stbmta validate --list` shows all.")


def locate(function: str) -> tuple[str, str]:
    """Return the module and the name of a function that a check or a mutation names.

    Returns
    -------
    module : str
        The full name; a short one belongs to :mod:`stbmta.theory`.
    name : str
        Of the function in that module.

    Examples
    --------
    >>> locate("gaussian.zeta"), locate("stbmta.tuning.unbiased_risk")
    (('stbmta.theory.gaussian', 'zeta'), ('stbmta.tuning', 'unbiased_risk'))
    """
    module, name = function.rsplit(".", 1)
    return (module if module.startswith("stbmta.") else f"stbmta.theory.{module}"), name


def select(names: tuple[str, ...]) -> tuple[Check, ...]:
    """Return the checks that are named, by id, or else by the beginning of ids; all if none is.

    Returns
    -------
    tuple of Check
        In the order of the report, each once; a name that fits none is refused.

    Examples
    --------
    >>> [check.id for check in select(("theorem-1-st", "rough"))]
    ['rough', 'theorem-1-star']
    """
    ids = [check.id for check in CHECKS]
    chosen = set() if names else set(ids)
    for name in names:
        begun = [other for other in ids if name and other.startswith(name)]
        chosen.update([name] if name in ids else begun or [find(name).id])
    return tuple(check for check in CHECKS if check.id in chosen)


def cells(scale: Scale, checks: tuple[Check, ...] = CHECKS) -> Iterator[tuple[Check, Regime]]:
    """Go through the regimes that a run of this length has.

    Returns
    -------
    iterator of (Check, Regime)
        In the order of the checks; longer runs have the regimes of shorter ones, too.

    Examples
    --------
    >>> sum(1 for _ in cells("quick")) < sum(1 for _ in cells("default"))
    True
    """
    known = _ORDER[: _ORDER.index(scale) + 1]
    return ((check, regime) for check in checks for regime in check.regimes if regime.scale in known)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What checks one row of the registry.

    Attributes
    ----------
    statement : Statement
    checks : tuple of str
        Ids.
    reason : str
        Why there is none, if so.
    """

    statement: Statement
    checks: tuple[str, ...]
    reason: str


def coverage() -> tuple[Coverage, ...]:
    """Find for each row of the registry the checks of its label and function, or the reason why there is none.

    Returns
    -------
    tuple of Coverage
        In the order of the registry.

    Examples
    --------
    >>> {row.checks for row in coverage() if row.statement.label == "eq:rough"}
    {('rough', 'algebra-theorems-rough-bound')}
    """
    rows = []
    for statement in theory.statements():
        function = statement.function.removeprefix("stbmta.theory.")
        found = tuple(
            check.id
            for check in CHECKS
            if statement.label in check.labels and (not function or function in check.functions)
        )
        reason = "" if found else EXPLAINED.get(statement.status, "")
        rows.append(Coverage(statement=statement, checks=found, reason=reason))
    return tuple(rows)


def erratum_number(check: Check) -> str:
    """Return the number on the page of errata of the printed statement that a check tries; empty if it has none.

    Returns
    -------
    str
        Such as "E1".

    Examples
    --------
    >>> erratum_number(find("theorem-2-condition-printed"))
    'E1'
    """
    for statement in theory.statements():
        function = statement.function.removeprefix("stbmta.theory.")
        known = not check.functions or function in check.functions
        if check.erratum and statement.erratum and known and statement.label in check.labels:
            return statement.erratum
    return ""
