"""Concentration of bounded variables: exact binomial laws on the line, and drawn laws in many dimensions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stbmta.theory import concentration

from ..bounded_laws import LAWS, WIDE, BoundedLaw, TwoPoint, rademacher_norm, u_statistics
from ..check import Check, Finding, Regime, at_most_one, proportion

__all__ = ["CHECKS"]

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


def _draw_statistic(name: str, law: BoundedLaw, rng: RNG, trials: int, n: int) -> Any:
    """Draws of what a bound is about."""
    if name.startswith("u_statistic"):
        return u_statistics(law, rng, trials, n)
    means = law.draw(rng, trials, n)[0]
    centered = means - law.mean
    if name == "bounded_inner_upper":
        return (centered * (law.draw(rng, trials, n)[0] - law.mean)).sum(axis=1)
    if name == "linear_term_upper":
        return centered @ law.mean
    return (means**2).sum(axis=1) if name.startswith("bounded_sq_norm") else np.linalg.norm(centered, axis=1)


def _limit(name: str, law: BoundedLaw, n: int, t: float, expected: float | None) -> tuple[float, float]:
    """Give the bound, and the value that the statistic can never pass."""
    bound, upper, L = getattr(concentration, name), name.endswith("upper"), law.L
    sigma, length = np.sqrt(max(law.trace, 1e-6) / n), float(np.linalg.norm(law.mean))
    if name.startswith("u_statistic"):
        return float(bound(t, 0.0, law.d_eff, L, n, sigma)), 4 * L**2 if upper else -2 * L**2 / (n - 1)
    if name == "bounded_inner_upper":
        return float(bound(t, law.d_eff, 2 * L, n, sigma)), 4 * L**2
    if name == "linear_term_upper":
        return float(bound(t, length, law.op_norm, L, n)), 2 * L * length
    spread = (law.op_norm, law.trace, L, n, expected)
    if name.startswith("bounded_sq_norm"):
        return float(bound(t, length, *spread)), L**2 if upper else 0.0
    return float(bound(t, *spread)), 2 * L if upper else 0.0


BLOCK = 10**6
"""Numbers that are drawn at once."""


def drawn(rng: RNG, trials: int, name: str, law: str, n: int, t: float, known: bool = False) -> Finding:
    """How often a bound is crossed by a drawn law, t being fixed."""
    common = {**LAWS, **WIDE}[law]()
    limit, extreme = _limit(name, common, n, t, rademacher_norm(len(common.mean), n) if known else None)
    upper = name.endswith("upper")
    slack = 1e-12 * abs(limit) + 1e-15 * common.L
    crossed, block = 0, max(BLOCK // len(common.mean), 1)
    for done in range(0, trials, block):
        values = _draw_statistic(name, common, rng, min(block, trials - done), n)
        within = values <= limit + slack if upper else values >= limit - slack
        crossed += int((~within).sum())
    vacuous = limit >= extreme if upper else limit <= extreme
    allowed = float(concentration.probability(name, t))
    return proportion(crossed, trials, vacuous=bool(vacuous), at_most=allowed)


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


def _wide(name: str, **more: Any) -> tuple[Regime, ...]:
    """Regimes in which the bound lies within what can happen."""
    return tuple(
        Regime(
            name=f"{law}, N = 1e10, t = 3",
            values={"name": name, "law": law, "n": 10**10, "t": 3.0, **more},
            trials=400,
        )
        for law in WIDE
    )


def _drawn(name: str) -> tuple[Regime, ...]:
    return _wide(name) + tuple(
        Regime(
            name=f"{law}, N = {n}, t = {t:g}",
            values={"name": name, "law": law, "n": n, "t": t},
            trials=2000,
            scale="quick" if t == 3.0 and n == 20 else "default",
        )
        for law in LAWS
        for n in (20, 200)
        for t in (3.0, 4.0)
    )


def _concentration(
    name: str,
    label: tuple[str, ...],
    title: str,
    measure: Callable[..., Finding],
    regimes: tuple[Regime, ...],
    more: tuple[str, ...] = (),
    suffix: str = "",
    erratum: str = "",
) -> Check:
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
        _concentration(name, (label,), title, supremum, _two_points(TWO_POINTS, name=name))
        for name, (label, title) in _SUPREMA.items()
    ),
    *(
        _concentration(
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
        _concentration(
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
    _concentration(
        "linear_term_upper",
        ("eq:bernsteinlinterm",),
        "linear term (Bernstein)",
        linear_term,
        _two_points(TWO_POINTS, name="linear_term_upper"),
    ),
    _concentration(
        "bounded_norm_lower",
        ("eq:devlowVc",),
        "distance of a mean from the truth, lower tail, expected norm known",
        drawn,
        _wide("bounded_norm_lower", known=True),
        ("bounded.q_sigma",),
    ),
    _concentration(
        "expected_norm_bounds",
        ("cor:meanbounds",),
        "expected distance of a mean from the truth, upper bound",
        expectation_upper,
        _two_points(TWO_POINTS),
        suffix="-upper",
    ),
    _concentration(
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
    _concentration(
        "mean_sq_norm_lower",
        ("prop:ustatdev",),
        "mean squared norm in the proof, corrected",
        mean_square,
        _two_points(SMOOTH, name="mean_sq_norm_lower", printed=False),
    ),
    _concentration(
        "mean_sq_norm_lower",
        ("prop:ustatdev",),
        "mean squared norm in the proof, as printed",
        mean_square,
        _two_points(SMOOTH, name="mean_sq_norm_lower", printed=True),
        suffix="-printed",
        erratum="the variance of |X|^2 can be 4 L^2 tr(Sigma), not L^2 tr(Sigma); the bounds on U survive",
    ),
    _concentration(
        "bounded_inner_upper",
        ("eq:devscprod-kernel", "prop:scalarproddev-kernel"),
        "inner product of centered means",
        inner_product,
        _two_points(JOINT, name="bounded_inner_upper"),
    ),
    *(
        _concentration(
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
        _concentration(name, labels, f"{title}, drawn", drawn, _drawn(name), suffix="-drawn")
        for name, labels, title in (
            ("bounded_norm_upper", ("eq:devVc",), "distance of a mean from the truth"),
            (
                "bounded_norm_lower",
                ("eq:devlowVc", "eq:defqsigma-kernel"),
                "distance of a mean from the truth, lower tail, trace known",
            ),
            ("bounded_sq_norm_upper", ("eq:updev_kernel2",), "squared norm of a mean"),
            ("bounded_sq_norm_lower", ("eq:lowdev_kernel2",), "squared norm of a mean, lower tail"),
            ("linear_term_upper", ("eq:bernsteinlinterm",), "linear term"),
            ("bounded_inner_upper", ("eq:devscprod-kernel",), "inner product of centered means"),
            ("u_statistic_upper", ("eq:updev-Ustat",), "unbiased squared distance"),
            ("u_statistic_lower", ("eq:lowdev-Ustat",), "unbiased squared distance, lower tail"),
        )
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
