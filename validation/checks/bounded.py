"""Concentration of bounded variables: exact binomial laws on the line."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stbmta.theory import bounded, concentration

from ..bounded_laws import TwoPoint, rademacher_norm
from ..check import Check, Finding, Regime, at_most_one

__all__ = ["CHECKS", "concentration_check"]

RNG = np.random.Generator

LEVELS = np.geomspace(0.05, 100.0, 4000)
"""So dense that hardly anything is lost between the atoms of a law."""
CERTIFIED = LEVELS[LEVELS >= 1]
"""Levels from 1 on, where a statement asks for that."""

RARE = ((10**5, 1e-6), (10**5, 1e-4), (100, 0.01), (50, 0.1), (2, 0.1))
COMMON = ((1, 0.5), (10, 0.5), (1000, 0.5), (10**5, 0.1), (10**6, 0.5))
TWO_POINTS = RARE + COMMON
"""Bag size N and probability p of the rarer point."""
SMOOTH = ((1000, 0.5), (10**5, 0.5), (10**6, 0.1), (50, 0.1))
APART = ((1000, 0.05, 0.95), (10**4, 0.02, 0.98))
"""Two laws with means so far apart that both bounds on U lie within what can happen."""
JOINT = ((2, 0.5), (10, 0.5), (50, 0.1), (300, 0.02), (1000, 0.5))


def _exceedance(values: Any, probabilities: Any, thresholds: Any, upper: bool, ties: bool = True) -> Any:
    """Probability to reach each threshold, or to pass it if ties do not count."""
    order = np.argsort(values if upper else -values)[::-1]
    tail = np.r_[0.0, np.cumsum(probabilities[order])]
    ordered = values[order] if upper else -values[order]
    limits = thresholds if upper else -thresholds
    slack = 1e-12 * np.abs(limits) if ties else -1e-12 * np.abs(limits)
    return tail[np.searchsorted(-ordered, -limits + slack, side="right" if ties else "left")]


def _worst(
    values: Any, probabilities: Any, thresholds: Any, name: str, levels: Any, ties: bool = True
) -> Finding:
    upper = name.endswith("upper")
    found = _exceedance(values, probabilities, thresholds, upper, ties)
    allowed = concentration.probability(name, levels)
    extreme = values.max() if upper else values.min()
    inside = (thresholds < extreme) if upper else (thresholds > extreme)
    inside |= ties & (thresholds == extreme)
    ratio = np.where(np.isnan(thresholds), np.nan, found / allowed)
    return at_most_one(ratio, vacuous=not (inside & (allowed < 1)).any())


def supremum(rng: RNG, trials: int, name: str, n: int, p: float) -> Finding:
    """Sums on the line: probability to deviate, over exp(-t).

    The supremum is over both signs; for lower deviations over one sum alone, which can fall far below.
    """
    law = TwoPoint(n=n, p=p, low=-1.0, high=1.0)
    z = n * (law.means - law.mean)
    z = np.abs(z) if name.endswith("upper") else z
    expectation = max(float(z @ law.probabilities), 0.0)
    largest = max(law.high - law.mean, law.mean - law.low)
    deviation = getattr(concentration, name)(LEVELS, n * law.variance, largest, expectation)
    thresholds = expectation + deviation if name.endswith("upper") else expectation - deviation
    return _worst(z, law.probabilities, thresholds, name, LEVELS)


def needed(rng: RNG, trials: int, name: str, n: int, p: float) -> Finding:
    """Deviation that a law needs at each level over the one that is given: how much of the constants is used.

    A value that is reached with probability exp(-t) lies within the deviation at t.
    """
    law = TwoPoint(n=n, p=p, low=-1.0, high=1.0)
    distance = np.abs(law.means - law.mean)
    expected = float(distance @ law.probabilities)
    reached = _exceedance(distance, law.probabilities, distance, upper=True)
    beyond = (distance > expected) & (reached > 1e-30) & (reached < 1)
    levels, excess = -np.log(reached[beyond]), distance[beyond] - expected
    if name == "q_sigma":
        given = bounded.q_sigma(levels, law.variance, law.variance, law.L, n)
    else:
        largest = max(law.high - law.mean, law.mean - law.low)
        given = getattr(concentration, name)(levels, n * law.variance, largest, n * expected) / n
    return at_most_one(excess / given)


def centered_norm(rng: RNG, trials: int, name: str, n: int, p: float, known: bool) -> Finding:
    """Distance of the naive mean from the truth: probability to cross the bound, over exp(-t)."""
    law = TwoPoint(n=n, p=p, low=-1.0, high=1.0)
    distance = np.abs(law.means - law.mean)
    expected = float(distance @ law.probabilities) if known else None
    levels = LEVELS if known or name.endswith("upper") else CERTIFIED
    limits = getattr(concentration, name)(levels, law.variance, law.variance, law.L, n, expected)
    return _worst(distance, law.probabilities, limits, name, levels)


def squared_norm(
    rng: RNG, trials: int, name: str, n: int, p: float, known: bool, ties: bool | None = None
) -> Finding:
    """Squared norm of the naive mean: probability to cross the bound, over 2 exp(-t)."""
    law = TwoPoint(n=n, p=p, low=-1.0, high=1.0)
    expected = float(np.abs(law.means - law.mean) @ law.probabilities) if known else None
    levels = LEVELS if known or name.endswith("upper") else CERTIFIED
    spread = (law.variance, law.variance, law.L, n, expected)
    limits = getattr(concentration, name)(levels, abs(law.mean), *spread)
    return _worst(
        law.means**2,
        law.probabilities,
        limits,
        name,
        levels,
        name.endswith("upper") if ties is None else ties,
    )


def linear_term(rng: RNG, trials: int, name: str, n: int, p: float) -> Finding:
    """Mean of <X - mu, mu>, both signs: probability to cross Bernstein's bound, over exp(-t)."""
    law = TwoPoint(n=n, p=p, low=-1.0, high=1.0)
    products = (law.means - law.mean) * law.mean
    limits = concentration.linear_term_upper(LEVELS, abs(law.mean), law.variance, law.L, n)
    if law.mean == 0:
        return at_most_one(0.0, vacuous=True)  # the term is always 0
    sides = [_worst(sign * products, law.probabilities, limits, name, LEVELS) for sign in (1, -1)]
    return at_most_one([s.observed for s in sides], vacuous=all(s.vacuous for s in sides))


def mean_square(rng: RNG, trials: int, name: str, n: int, p: float, printed: bool) -> Finding:
    """Mean squared norm of points of norm 1 or 0.9: probability to cross the lower bound, over exp(-t)."""
    law = TwoPoint(n=n, p=p, low=0.9, high=1.0)
    limits = concentration.mean_sq_norm_lower(LEVELS, law.mean, law.variance, law.L, n, printed=printed)
    return _worst(law.mean_squares, law.probabilities, limits, name, LEVELS)


def expectation_upper(rng: RNG, trials: int, n: int, p: float) -> Finding:
    """Expected distance of the naive mean, exact, over its upper bound."""
    law = TwoPoint(n=n, p=p, low=-1.0, high=1.0)
    truth = np.abs(law.means - law.mean) @ law.probabilities
    return at_most_one(truth / concentration.expected_norm_bounds(law.variance, law.variance, law.L, n)[1])


def expectation_lower(rng: RNG, trials: int, features: int, n: int) -> Finding:
    """Expected distance of the naive mean of Rademacher features against its lower bound.

    On the line the bound is always negative: it needs many dimensions.
    """
    lower = float(concentration.expected_norm_bounds(1 / features, 1.0, 1.0, n)[0])
    return Finding(observed=rademacher_norm(features, n), at_least=lower, vacuous=lower <= 0)


def inner_product(rng: RNG, trials: int, name: str, n: int, p: float) -> Finding:
    """Inner product of two centered means: probability to cross the bound, over 6 exp(-t)."""
    law = TwoPoint(n=n, p=p, low=-1.0, high=1.0)
    centered = law.means - law.mean
    products = np.multiply.outer(centered, centered).ravel()
    joint = np.multiply.outer(law.probabilities, law.probabilities).ravel()
    largest = max(law.high - law.mean, law.mean - law.low)
    limits = concentration.bounded_inner_upper(LEVELS, 1.0, largest, n, np.sqrt(law.variance / n))
    return _worst(products, joint, limits, name, LEVELS)


def u_statistic(rng: RNG, trials: int, name: str, n: int, p: float, other: float) -> Finding:
    """Unbiased squared distance of two bags: probability to cross the bound, over 8 exp(-t)."""
    x, y = (TwoPoint(n=n, p=q, low=-1.0, high=1.0) for q in (p, other))
    within_x, within_y = ((n * law.means**2 - law.mean_squares) / (n - 1) for law in (x, y))
    u = within_x[:, np.newaxis] + within_y - 2 * np.multiply.outer(x.means, y.means)
    joint = np.multiply.outer(x.probabilities, y.probabilities)
    sigma = np.sqrt(max(x.variance, y.variance) / n)
    limits = getattr(concentration, name)(CERTIFIED, abs(x.mean - y.mean), 1.0, 1.0, n, sigma)
    return _worst(u.ravel(), joint.ravel(), limits, name, CERTIFIED)


def centered_length(rng: RNG, trials: int, multiple: float) -> Finding:
    """Length of a centered point over a multiple of L: a rare point sits almost two L from the mean."""
    law = TwoPoint(n=1, p=0.01, low=-1.0, high=1.0)
    return at_most_one(max(law.high - law.mean, law.mean - law.low) / (multiple * law.L))


_FAMILY = "Bounded setting: concentration"
_SUPREMA = {
    "talagrand_upper": ("th:talagrand", "suprema of sums, upper tail"),
    "talagrand_lower": ("th:talagrand", "suprema of sums, lower tail"),
    "bousquet_upper": ("beyond", "suprema of sums, upper tail (Bousquet)"),
    "klein_rio_lower": ("beyond", "suprema of sums, lower tail (Klein and Rio)"),
}


def _two_points(places: tuple[tuple[int, float], ...], **values: Any) -> tuple[Regime, ...]:
    return tuple(
        Regime(name=f"two points, N = {n:g}, p = {p:g}", values={"n": n, "p": p, **values}) for n, p in places
    )


def concentration_check(
    name: str,
    label: tuple[str, ...],
    title: str,
    measure: Callable[..., Finding],
    regimes: tuple[Regime, ...],
    more: tuple[str, ...] = (),
    suffix: str = "",
    erratum: str = "",
) -> Check:
    """Make a check of an inequality of :mod:`stbmta.theory.concentration`, named after it.

    Parameters
    ----------
    name : str
        Of the function.
    label : tuple of str
        LaTeX labels of the paper.
    title : str
        What is claimed, in words.
    measure : callable
        ``measure(rng, trials, **values)`` gives a `Finding`.
    regimes : tuple of Regime
        Where the inequality is tried.
    more : tuple of str
        Functions that are tested along with it.
    suffix : str
        Of the id.
    erratum : str
        Why a printed statement is false; empty if what is tried is true.

    Returns
    -------
    Check
        Its id is the name with hyphens, and the suffix.
    """
    return Check(
        id=name.replace("_", "-") + suffix,
        family=_FAMILY,
        title=title,
        labels=label,
        functions=(f"concentration.{name}", *more),
        measure=measure,
        regimes=regimes,
        erratum=erratum,
    )


_NORM_LABELS = {
    ("bounded_norm_upper", True): ("eq:devVc",),
    ("bounded_norm_upper", False): ("eq:devVc", "eq:defqsigma-kernel"),
    ("bounded_sq_norm_upper", True): ("eq:updev_kernel", "prop:chisqdev-kernel", "eq:devlopv2"),
    ("bounded_sq_norm_lower", True): ("eq:lowdev_kernel", "prop:chisqdev-kernel"),
    ("bounded_sq_norm_upper", False): ("eq:updev_kernel2",),
    ("bounded_sq_norm_lower", False): ("eq:lowdev_kernel2",),
}

CHECKS = (
    *(
        concentration_check(name, (label,), title, supremum, _two_points(TWO_POINTS, name=name))
        for name, (label, title) in _SUPREMA.items()
    ),
    *(
        concentration_check(
            name,
            labels,
            f"{'squared norm of a mean' if 'sq' in name else 'distance of a mean from the truth'}, "
            f"{name[-5:]} tail, {'expected norm' if known else 'trace'} known",
            squared_norm if "sq" in name else centered_norm,
            _two_points(TWO_POINTS, name=name, known=known),
            ("bounded.q_sigma",),
            "" if known else "-trace",
        )
        for (name, known), labels in _NORM_LABELS.items()
    ),
    *(
        concentration_check(
            "bounded_sq_norm_lower",
            labels,
            f"squared norm of a mean, lower tail with the printed <=, {'expected norm' if known else 'trace'} known",
            squared_norm,
            _two_points(((2, 0.5), (10, 0.5)), name="bounded_sq_norm_lower", known=known, ties=True),
            suffix=f"{'' if known else '-trace'}-printed",
            erratum="for mu = 0 and an empty bracket it excludes V = 0, which can be likely; it must read <",
        )
        for known, labels in ((True, ("eq:lowdev_kernel",)), (False, ("eq:lowdev_kernel2",)))
    ),
    *(
        Check(
            id=f"needed-{function.rsplit('.', 1)[1].replace('_', '-')}",
            family=_FAMILY,
            title=f"deviations that means of two points need, over {what}",
            labels=labels,
            functions=(function,),
            measure=needed,
            regimes=_two_points(tuple(p for p in TWO_POINTS if p[0] > 1), name=function.rsplit(".", 1)[1]),
        )
        for function, what, labels in (
            ("bounded.q_sigma", "q_Sigma", ("eq:defqsigma-kernel",)),
            ("concentration.talagrand_upper", "Talagrand's", ("th:talagrand",)),
            ("concentration.bousquet_upper", "Bousquet's", ("beyond",)),
        )
    ),
    concentration_check(
        "linear_term_upper",
        ("eq:bernsteinlinterm",),
        "linear term (Bernstein)",
        linear_term,
        _two_points(TWO_POINTS, name="linear_term_upper"),
    ),
    concentration_check(
        "expected_norm_bounds",
        ("cor:meanbounds",),
        "expected distance of a mean from the truth, upper bound",
        expectation_upper,
        _two_points(TWO_POINTS),
        suffix="-upper",
    ),
    concentration_check(
        "expected_norm_bounds",
        ("cor:meanbounds",),
        "expected distance of a mean from the truth, lower bound",
        expectation_lower,
        tuple(
            Regime(name=f"{m:g} features, N = {n:g}", values={"features": m, "n": n})
            for m, n in ((100, 10**3), (10**3, 10**7), (10**4, 10**8), (10**4, 10**10), (10**6, 10**14))
        ),
        ("bounded.q_sigma",),
        "-lower",
    ),
    concentration_check(
        "mean_sq_norm_lower",
        ("prop:ustatdev",),
        "mean squared norm in the proof, corrected",
        mean_square,
        _two_points(SMOOTH, name="mean_sq_norm_lower", printed=False),
    ),
    concentration_check(
        "mean_sq_norm_lower",
        ("prop:ustatdev",),
        "mean squared norm in the proof, as printed",
        mean_square,
        _two_points(SMOOTH, name="mean_sq_norm_lower", printed=True),
        suffix="-printed",
        erratum="the variance of |X|^2 can be 4 L^2 tr(Sigma), not L^2 tr(Sigma); the bounds on U survive",
    ),
    concentration_check(
        "bounded_inner_upper",
        ("eq:devscprod-kernel", "prop:scalarproddev-kernel"),
        "inner product of centered means",
        inner_product,
        _two_points(JOINT, name="bounded_inner_upper"),
    ),
    *(
        concentration_check(
            f"u_statistic_{side}",
            (f"eq:{label}-Ustat",),
            f"unbiased squared distance, {side} tail",
            u_statistic,
            tuple(
                Regime(
                    name=f"two points, N = {n:g}, p = {p:g} and {other:g}",
                    values={"name": f"u_statistic_{side}", "n": n, "p": p, "other": other},
                )
                for n, p, other in (*((n, p, other) for other in (0.3, 0.5) for n, p in JOINT), *APART)
            ),
            ("bounded.q",),
        )
        for side, label in (("upper", "updev"), ("lower", "lowdev"))
    ),
    *(
        Check(
            id=f"centered-length{'-printed' if multiple == 1 else ''}",
            family=_FAMILY,
            title=f"centered points are no longer than {'L, as the proof has it' if multiple == 1 else '2 L'}",
            labels=("prop:chisqdev-kernel",),
            functions=(),
            measure=centered_length,
            regimes=(Regime(name="rare point", values={"multiple": multiple}),),
            erratum="a centered point can be almost 2 L long; the statement is saved by Bousquet's inequality"
            if multiple == 1
            else "",
        )
        for multiple in (1.0, 2.0)
    ),
)
