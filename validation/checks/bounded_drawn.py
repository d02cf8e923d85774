"""Concentration of bounded variables in many dimensions: laws that are drawn."""

from typing import Any

import numpy as np

from stbmta.theory import concentration

from ..bounded_laws import LAWS, WIDE, BoundedLaw, rademacher_norm, u_statistics
from ..check import Check, Finding, Regime, proportion
from .bounded import concentration_check

__all__ = ["CHECKS"]

RNG = np.random.Generator


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


CHECKS: tuple[Check, ...] = (
    concentration_check(
        "bounded_norm_lower",
        ("eq:devlowVc",),
        "distance of a mean from the truth, lower tail, expected norm known",
        drawn,
        _wide("bounded_norm_lower", known=True),
        ("bounded.q_sigma",),
    ),
    *(
        concentration_check(name, labels, f"{title}, drawn", drawn, _drawn(name), suffix="-drawn")
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
)
