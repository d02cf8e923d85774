"""What a check is: a statement, the regimes it is tried in, and a verdict that noise cannot fake.

A regime ends with a `Finding`: a number that is known exactly, or a probability estimated by counting, and the
range in which the statement says it lies. The verdict compares ranges, never bare numbers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, isnan, nan
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

__all__ = [
    "Check",
    "Finding",
    "Outcome",
    "Regime",
    "Verdict",
    "Worst",
    "at_most_one",
    "exactly_one",
    "judge",
    "proportion",
]

Verdict = Literal["holds", "violated", "undecided"]
Kind = Literal["statement", "algebra"]
Scale = Literal["quick", "default", "full"]

ROUNDING = 1e-9
"""Relative rounding error that an exact comparison forgives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was seen in one regime, and what the statement says about it.

    Attributes
    ----------
    observed : float
        Exact value, or ``count / trials``. A nan is a formula gone wrong, unless there were no trials to count in.
    at_least, at_most : float
        The statement: the true value lies between.
    count : int
        How often an event was seen in ``trials`` independent trials; -1 if ``observed`` is exact.
    trials : int
    vacuous : bool
        The statement says nothing here: a probability of at most one, or an error no better than that of the naive
        means, or a bound that nothing can cross.
    factor : float
        For ratios of an error to its bound: the bound, as a fraction of the error of the naive means.
    """

    observed: float
    at_least: float = -inf
    at_most: float = inf
    count: int = -1
    trials: int = 0
    vacuous: bool = False
    factor: float = nan

    @property
    def exact(self) -> bool:
        """Whether the value is known without noise."""
        return self.count < 0

    @property
    def bound(self) -> float:
        """The end of the claim that is finite, the upper one first."""
        return self.at_least if self.at_most == inf else self.at_most

    @property
    def tightness(self) -> float:
        """Observed over bound."""
        return self.observed / self.bound if self.bound else np.nan

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Give the finding as arrays, for a file.

        Returns
        -------
        dict of str to ndarray
            The attributes by name, each an array without dimensions.
        """
        return {name: np.array(getattr(self, name)) for name in self.__slots__}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> "Finding":
        """Read what `to_arrays` gave."""
        return cls(**{name: arrays[name].item() for name in cls.__slots__})


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """One place at which a statement is tried.

    Attributes
    ----------
    name : str
        Distinct within a check; part of a file name.
    values : mapping
        Arguments of the check's ``measure``.
    trials : int
        Independent trials in a quick run; 0 where nothing is random. Longer runs have more.
    scale : {"quick", "default", "full"}
        The shortest run that has this regime.
    """

    name: str
    values: Mapping[str, Any] = field(default_factory=dict)
    trials: int = 0
    scale: Scale = "quick"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A statement and how it is tried.

    Attributes
    ----------
    id : str
    title : str
        What is claimed, in words.
    labels : tuple of str
        LaTeX labels of the paper; ``beyond`` for what the paper does not have.
    functions : tuple of str
        Functions that are put to the test: of :mod:`stbmta.theory`, or with their full name.
    measure : callable
        ``measure(rng, trials, **values)`` gives a `Finding`.
    regimes : tuple of Regime
    erratum : str
        If what is tried is a printed statement known to be false: why. It must turn out violated.
    kind : {"statement", "algebra"}
        Whether nature could refute it, or only arithmetic (formulas that must agree with each other).
    family : str
        Heading of the report.
    """

    id: str
    title: str
    labels: tuple[str, ...]
    functions: tuple[str, ...]
    measure: Callable[..., Finding]
    regimes: tuple[Regime, ...]
    family: str
    erratum: str = ""
    kind: Kind = "statement"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Verdict in one regime.

    Attributes
    ----------
    check : Check
    regime : Regime
    finding : Finding
    lower, upper : float
        Confidence limits of the true value; equal to it if it is exact.
    verdict : {"holds", "violated", "undecided"}
    """

    check: Check
    regime: Regime
    finding: Finding
    lower: float
    upper: float
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """Give everything as JSON has it; nan and infinite become None.

        Returns
        -------
        dict of str to Any
            Ids, verdict and numbers of the finding; ``count`` is None for an exact value.
        """
        finding = self.finding
        numbers = {"observed": finding.observed, "at_least": finding.at_least, "at_most": finding.at_most}
        numbers |= {"lower": self.lower, "upper": self.upper, "tightness": finding.tightness}
        numbers |= {"factor": finding.factor}
        return {
            "check": self.check.id,
            "regime": self.regime.name,
            "verdict": self.verdict,
            "vacuous": finding.vacuous,
            "exact": finding.exact,
            "count": None if finding.exact else finding.count,
            "trials": finding.trials,
            **{name: float(value) if np.isfinite(value) else None for name, value in numbers.items()},
        }


def proportion(count: int, trials: int, *, vacuous: bool = False, **claim: float) -> Finding:
    """Finding about a probability that was estimated by counting.

    Parameters
    ----------
    count, trials : int
        How often the event was seen, and in how many independent trials.
    vacuous : bool, default=False
        Also set if the claim is "at most one".
    **claim : float
        ``at_least`` and ``at_most``.

    Returns
    -------
    Finding
        Observed is count / trials, to be judged with a confidence interval.

    Examples
    --------
    >>> proportion(3, 100, at_most=0.2).tightness
    0.15
    """
    empty = claim.get("at_most", inf) >= 1 and claim.get("at_least", 0.0) <= 0  # not so for a nan
    return Finding(observed=count / trials, count=count, trials=trials, vacuous=vacuous or empty, **claim)


def at_most_one(
    ratios: npt.ArrayLike, *, trials: int = 0, vacuous: bool = False, factor: float = nan
) -> Finding:
    """Finding about exact ratios of a quantity to its bound: the largest of them, or nan if one is.

    Returns
    -------
    Finding
        An exact value, claimed to be at most 1.

    Examples
    --------
    >>> judge(at_most_one([0.5, 1.5]), level=0.01).verdict
    'violated'
    """
    return Finding(observed=float(np.max(ratios)), at_most=1.0, trials=trials, vacuous=vacuous, factor=factor)


def exactly_one(ratios: npt.ArrayLike, *, trials: int = 0, slack: float = 0.0) -> Finding:
    """Finding about exact ratios that must all be one: the one farthest from it, or nan if one is.

    Returns
    -------
    Finding
        An exact value, claimed to be 1 up to `slack`.

    Examples
    --------
    >>> exactly_one([1.0, 0.7, 1.2]).observed
    0.7
    """
    found = np.atleast_1d(np.asarray(ratios, float)).ravel()
    worst = found[np.argmax(np.abs(found - 1))]  # argmax stops at a nan
    return Finding(observed=float(worst), at_least=1 - slack, at_most=1 + slack, trials=trials)


class Worst:
    """The largest ratio of an error to its bound, over many bags and trials.

    Errors and bounds are fractions of the error of the naive means. Bags with a bound of one or more count only if they
    break it, or if there are no others: a bag without neighbors keeps its naive mean and attains its bound of one.

    Examples
    --------
    >>> tried = Worst()
    >>> tried.add([0.2, 0.1], [0.8, 0.2])
    >>> tried.finding().observed, tried.finding().factor
    (0.5, 0.2)
    """

    def __init__(self) -> None:
        self._ratio, self._factor, self._trials = -inf, nan, 0

    def add(self, error: npt.ArrayLike, bound: npt.ArrayLike) -> None:
        """Add a trial."""
        errors, bounds = np.broadcast_arrays(np.atleast_1d(error), np.asarray(bound, float))
        ratios = errors / bounds
        telling = (bounds < 1) | ~(ratios <= 1 + ROUNDING)  # a nan tells that something is wrong
        self._trials += 1
        if isnan(self._ratio) or (not telling.any() and self._factor < 1):
            return
        place = int(np.argmax(np.where(telling | ~telling.any(), ratios, -inf)))
        first = self._factor >= 1 and bounds[place] < 1 and not self._ratio > 1 + ROUNDING
        if first or not ratios[place] <= self._ratio:
            self._ratio, self._factor = float(ratios[place]), float(bounds[place])

    def finding(self) -> Finding:
        """Give the finding; vacuous if no bound was below one. Without trials there is nothing to judge.

        Returns
        -------
        Finding
            The largest ratio, the bound it belongs to, and the number of trials.
        """
        if not self._trials:
            return Finding(observed=nan, at_most=1.0, count=0)
        return at_most_one(self._ratio, trials=self._trials, vacuous=self._factor >= 1, factor=self._factor)


@dataclass(frozen=True, slots=True)
class Judgment:
    """Confidence limits and the verdict they allow."""

    lower: float
    upper: float
    verdict: Verdict


def judge(finding: Finding, level: float) -> Judgment:
    """Compare what was seen with what is claimed.

    Parameters
    ----------
    finding : Finding
        What was seen in one regime, and the range that is claimed.
    level : float
        Probability with which the Clopper-Pearson interval of a single finding may miss the truth.

    Returns
    -------
    Judgment
        "holds" if the whole interval lies in the claimed range, "violated" if it lies outside, else
        "undecided". Exact values are their own interval, widened by `ROUNDING`. A nan, seen or claimed, is
        "violated"; no trials at all are "undecided".

    Examples
    --------
    >>> judge(proportion(0, 1000, at_most=0.05), level=1e-5).verdict
    'holds'
    >>> judge(proportion(50, 1000, at_most=0.05), level=1e-5).verdict
    'undecided'
    """
    if finding.count == finding.trials == 0:
        return Judgment(-inf, inf, "undecided")
    if any(map(isnan, (finding.observed, finding.at_least, finding.at_most))):
        return Judgment(-inf, inf, "violated")
    if finding.exact:
        lower = upper = finding.observed
        slack = ROUNDING
    else:
        from statsmodels.stats.proportion import proportion_confint

        limits = proportion_confint(finding.count, finding.trials, alpha=level, method="beta")
        lower, upper = (float(limit) for limit in limits)
        slack = 0.0
    floor = finding.at_least - slack * abs(finding.at_least) if finding.at_least > -inf else -inf
    ceiling = finding.at_most + slack * abs(finding.at_most) if finding.at_most < inf else inf
    if lower > ceiling or upper < floor:
        return Judgment(lower, upper, "violated")
    return Judgment(lower, upper, "holds" if floor <= lower and upper <= ceiling else "undecided")
