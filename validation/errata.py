"""Every erratum of docs/errata.md: the checks that show it, or the reason why there is no counterexample to show."""

from dataclasses import dataclass

from stbmta import theory

from .catalog import CHECKS, erratum_number

__all__ = ["Erratum", "errata"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Erratum:
    """An erratum and what validation has to say about it.

    Attributes
    ----------
    number : str
        On the page of errata.
    labels : tuple of str
        LaTeX labels of the paper.
    what : str
        What is wrong.
    refuted_by : tuple of str
        Ids of the checks that try what is printed, and must fail.
    reason : str
        Why there is none of these, if so.
    see : tuple of str
        Ids of checks of what is right instead.
    """

    number: str
    labels: tuple[str, ...]
    what: str
    refuted_by: tuple[str, ...]
    reason: str
    see: tuple[str, ...]


_PROOF = "in a proof: the statement is true as printed"

WITHOUT: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "E2": ("the cell of i in place of the cell of b", _PROOF, ("theorem-1-average",)),
    "E3": (
        "alpha B^2 in place of alpha / B^2",
        "in a proof: the printed delta is right",
        ("gaussian-level",),
    ),
    "E8": ("summands bounded by L |mu| in place of 2 L |mu|", _PROOF, ("linear-term-upper",)),
    "E9": ("identical laws asked for, two laws used", _PROOF, ("u-statistic-upper",)),
    "E10": (
        "no better constants known for lower deviations",
        "a remark: the better ones hold",
        ("klein-rio-lower",),
    ),
    "E11": (
        "20 in place of 10",
        "loose, not false: the proof gives 10",
        ("bounded-inner-upper", "kernel-C-step"),
    ),
    "E13": ("16 in place of 16 N / (N - 1)", "in a proof: the final 32 is right", ("u-statistic-lower",)),
    "E16": ("r likened to delta in place of its root", "a remark in words", ("kernel-tau-min",)),
    "E17": ("description of the model CLUSTER", "an experiment: `stbmta reproduce gaussian-table`", ()),
    "E18": ("constant similarity without its inverse", "an experiment: `stbmta reproduce toy`", ()),
    "E19": ("zeta in place of tau", "an experiment: `stbmta reproduce gaussian-table`", ()),
}
"""Errata that no counterexample can show: what is wrong, the reason, and checks of what is right."""


def errata() -> tuple[Erratum, ...]:
    """List all errata in the order of their numbers.

    Returns
    -------
    tuple of Erratum
        Each with the checks that refute it, or the reason why none can.

    Examples
    --------
    >>> first = errata()[0]
    >>> first.number, first.refuted_by
    ('E1', ('theorem-2-condition-printed',))
    """
    labels: dict[str, list[str]] = {}
    for statement in theory.statements():
        if statement.erratum:
            labels.setdefault(statement.erratum, []).append(statement.label)
    return tuple(_erratum(number, tuple(labels[number])) for number in sorted(labels, key=_order))


def _order(number: str) -> int:
    return int(number.removeprefix("E"))


def _erratum(number: str, labels: tuple[str, ...]) -> Erratum:
    shown = [check for check in CHECKS if check.erratum and erratum_number(check) == number]
    what, reason, see = (shown[0].erratum, "", ()) if shown else WITHOUT[number]
    refuted_by = tuple(check.id for check in shown)
    return Erratum(number=number, labels=labels, what=what, refuted_by=refuted_by, reason=reason, see=see)
