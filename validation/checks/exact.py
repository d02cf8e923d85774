"""Exact thresholds: they hold, and they are used up. A wrong constant shows as a rate that is too low or too high."""

from typing import Any

import numpy as np

from stbmta.theory import dimension, events, gaussian, pvalues

from ..check import Check, Finding, Regime, exactly_one, proportion
from ..gaussian_runs import Setting, draw_naive, neighbors, sq_distances
from ..models import simplex

__all__ = ["CHECKS"]

RNG = np.random.Generator

ALPHA = 0.5
"""Error probability of a family of tests: so large that a few thousand trials tell alpha from alpha / 2."""

USED = 0.5
"""Share of alpha that must be used up: a union over dependent pairs loses about a third at this alpha."""


def _setting(n_bags: int, dim: int, tau: float, zeta: float, bag_size: int = 1) -> Setting:
    return Setting(
        n_bags=n_bags, dim=dim, bag_size=bag_size, alpha=ALPHA, tau=tau, tau_prime=tau, zeta=float(zeta)
    )


def _at_radius(rng: RNG, setting: Setting, trials: int, event: str) -> int:
    """How often a pair is accepted (or missed) when all pairs stand exactly at tau."""
    means = simplex(setting.n_bags, setting.tau * setting.sigma**2)
    distances = np.where(np.eye(setting.n_bags, dtype=bool), 0.0, setting.tau * setting.sigma**2)
    happened = events.false_positive if event == "A" else events.false_negative
    return sum(
        happened(
            neighbors(setting, draw_naive(rng, setting, means)[0]), distances, setting.tau, setting.sigma
        )
        for _ in range(trials)
    )


def zeta(rng: RNG, trials: int, event: str, tau: float, n_bags: int, dim: int, bag_size: int) -> Finding:
    """Rate of A at `exact_zeta`, or of B at `exact_zeta_power`, all pairs at the radius."""
    threshold = gaussian.exact_zeta if event == "A" else gaussian.exact_zeta_power
    setting = _setting(n_bags, dim, tau, float(threshold(tau, n_bags, dim, ALPHA)), bag_size)
    return proportion(_at_radius(rng, setting, trials, event), trials, at_least=USED * ALPHA, at_most=ALPHA)


def smallest_tau(rng: RNG, trials: int, event: str, n_bags: int, dim: int) -> Finding:
    """Rate of A(tau) or B(tau/3) at the smallest tau: both are used up."""
    tau = float(gaussian.exact_tau(n_bags, dim, ALPHA))
    threshold = float(gaussian.exact_zeta(tau, n_bags, dim, ALPHA))
    setting = _setting(n_bags, dim, tau if event == "A" else tau / 3, threshold)
    return proportion(_at_radius(rng, setting, trials, event), trials, at_least=USED * ALPHA, at_most=ALPHA)


def smallest_dim(rng: RNG, trials: int, tau: float, n_bags: int) -> Finding:
    """At the smallest dimension both errors are alpha: their larger distance from it, by exact laws."""
    alpha = 0.05
    dim = float(gaussian.exact_dim(tau, n_bags, alpha))
    threshold = float(gaussian.exact_zeta(tau, n_bags, dim, alpha))
    chances = gaussian.exact_event_probabilities(tau, threshold, n_bags, dim)
    return exactly_one(np.array([float(chances.A), float(chances.B)]) / alpha, slack=1e-6)


def radius(rng: RNG, trials: int, event: str, n_bags: int, dim: int) -> Finding:
    """Rate of C at `exact_inner` (a union), or of C' at `exact_norm` (exact)."""
    setting = _setting(n_bags, dim, 0.0, 0.0)
    limit = float((gaussian.exact_inner if event == "C" else gaussian.exact_norm)(n_bags, dim, ALPHA))
    happened = events.large_inner_product if event == "C" else events.large_norm
    count = 0
    for _ in range(trials):
        naive, means = draw_naive(rng, setting, np.zeros((n_bags, 1)))
        count += happened(naive - means, limit, setting.sigma)
    if event == "C":
        return proportion(count, trials, at_least=USED * ALPHA, at_most=ALPHA)
    return proportion(count, trials, at_least=0.85 * ALPHA, at_most=1.15 * ALPHA)


def event_probability(rng: RNG, trials: int, event: str, n_bags: int, dim: int) -> Finding:
    """Rate of an event at a threshold between the radii, against `exact_event_probabilities`."""
    tau = 0.97 * float(gaussian.exact_tau(n_bags, dim, ALPHA))
    threshold = 2 + 2 / 3 * tau
    inner = float(gaussian.exact_inner(n_bags, dim, ALPHA)) if event == "C" else tau
    inner = float(gaussian.exact_norm(n_bags, dim, ALPHA)) if event == "C_prime" else inner
    claimed = float(getattr(gaussian.exact_event_probabilities(inner, threshold, n_bags, dim), event))
    setting = _setting(n_bags, dim, tau if event != "B" else tau / 3, threshold)
    if event in ("A", "B"):
        count = _at_radius(rng, setting, trials, event)
    else:
        happened = events.large_inner_product if event == "C" else events.large_norm
        noise = (draw_naive(rng, setting, np.zeros((n_bags, 1))) for _ in range(trials))
        count = sum(happened(naive - means, inner, setting.sigma) for naive, means in noise)
    slack = 1.15 if event == "C_prime" else 1.0  # a union is above, an exact probability is hit
    return proportion(count, trials, at_least=USED * claimed, at_most=slack * claimed)


def confidence(rng: RNG, trials: int, side: str, tau: float, n_bags: int, dim: int) -> Finding:
    """How often a simultaneous confidence bound misses some pair's distance."""
    setting = _setting(n_bags, dim, tau, 0.0)
    means = simplex(n_bags, tau * dim)
    upper = np.triu_indices(n_bags, 1)
    extreme = np.empty(trials)  # the bound is monotone, so the extreme pair decides
    for k in range(trials):
        observed = sq_distances(draw_naive(rng, setting, means)[0])[upper] / dim
        extreme[k] = observed.min() if side == "upper" else observed.max()
    # And it crosses the truth at one observed value, so bisection over the sorted trials finds how many miss.
    missed = _count_missed(np.sort(extreme), side, tau, n_bags, dim)
    return proportion(missed, trials, at_least=USED * ALPHA, at_most=ALPHA)


def _count_missed(ordered: Any, side: str, tau: float, n_bags: int, dim: int) -> int:
    low, high = 0, len(ordered)
    while low < high:
        middle = (low + high) // 2
        bound = gaussian.upper_tau if side == "upper" else gaussian.lower_tau
        value = float(bound(ordered[middle], n_bags, dim, ALPHA))
        beyond = value < tau if side == "upper" else value <= tau
        low, high = (middle + 1, high) if beyond else (low, middle)
    return low if side == "upper" else len(ordered) - low


def pvalue(rng: RNG, trials: int, side: str, level: float, dim: int, inside: bool) -> Finding:
    """How often an exact p-value is at most a level: the level itself at the edge of its hypothesis, less inside."""
    sizes = np.array([3.0, 7.0])  # bags of different sizes
    variance, sq_radius = (1 / sizes).sum(), 0.4 * dim
    deeper = (1.5 if side == "similarity" else 0.5) if inside else 1.0
    observed = rng.noncentral_chisquare(dim, deeper * sq_radius / variance, trials) * variance
    p = getattr(pvalues, f"gaussian_{side}")(observed, dim, variance, sq_radius)
    count = trials - int((p > level).sum())
    if inside:
        return proportion(count, trials, at_most=level)
    return proportion(count, trials, at_least=0.75 * level, at_most=1.25 * level)


def kernel_pvalue(rng: RNG, trials: int, level: float, n_x: int, n_y: int) -> Finding:
    """How often the calibrated p-value of equal means is at most a level: half to twice the level."""
    u = _distances(rng, trials, n_x, n_y, 0.0)
    squares, cubes = (SPECTRUM**2).sum(), (SPECTRUM**3).sum()
    variance = dimension.u_variance(squares, squares, squares, n_x, n_y)
    p = pvalues.kernel_difference(u, variance, pvalues.chi_square_degrees(squares, cubes))
    return proportion(trials - int((p > level).sum()), trials, at_least=level / 2, at_most=2 * level)


def kernel_radius_pvalue(rng: RNG, trials: int, level: float, n_x: int, n_y: int) -> Finding:
    """How often the p-value of means a radius apart is at most a small level: less than the level.

    The lower tail of U is shorter than the normal one, but only the tail: at the level 0.2 it is not cautious.
    """
    sq_radius = 2.0
    u = _distances(rng, trials, n_x, n_y, sq_radius)
    squares, along = (SPECTRUM**2).sum(), sq_radius * SPECTRUM[0]
    variance = dimension.u_variance(squares, squares, squares, n_x, n_y, along, along)
    p = pvalues.kernel_similarity(u, variance, sq_radius)
    return proportion(trials - int((p > level).sum()), trials, at_most=level)


SPECTRUM = 1 / np.arange(1, 31)
"""Eigenvalues of a covariance with a small effective dimension."""


def _distances(rng: RNG, trials: int, n_x: int, n_y: int, sq_distance: float) -> Any:
    """Unbiased squared distances of bags of Gaussian points, the means apart in the noisiest direction."""
    x = rng.standard_normal((trials, n_x, len(SPECTRUM))) * np.sqrt(SPECTRUM)
    y = rng.standard_normal((trials, n_y, len(SPECTRUM))) * np.sqrt(SPECTRUM)
    x[:, :, 0] += np.sqrt(sq_distance)
    u = ((x.mean(axis=1) - y.mean(axis=1)) ** 2).sum(axis=1)
    return u - x.var(axis=1, ddof=1).sum(axis=1) / n_x - y.var(axis=1, ddof=1).sum(axis=1) / n_y


def permutation_pvalue(rng: RNG, trials: int, resamples: int, level: float) -> Finding:
    """How often a permutation p-value is at most a level: the level itself where it can be attained, else less."""
    draws = rng.standard_normal((trials, resamples + 1))
    p = pvalues.permutation(draws[:, 0], draws[:, 1:])
    count = trials - int((p > level + 1e-12).sum())
    if level * (resamples + 1) < 1:
        return proportion(count, trials, at_most=level)
    return proportion(count, trials, at_least=0.75 * level, at_most=1.25 * level)


def _places(
    places: tuple[tuple[int, int], ...], trials: int, long: int = 3, **values: Any
) -> tuple[Regime, ...]:
    """Regimes over (B, d); all but the first few only in a longer run."""
    return tuple(
        Regime(
            name=f"{b} bags, d = {d:.0e}".replace("e+0", "e"),
            values={"n_bags": b, "dim": d, **values},
            trials=trials,
            scale="quick" if k < long else "default",
        )
        for k, (b, d) in enumerate(places)
    )


PLACES = ((8, 50), (20, 10**5), (30, 10**8), (20, 1000), (100, 10**6), (60, 10**8))
_FAMILY = "Exact versions"

CHECKS = (
    *(
        Check(
            id=f"exact-zeta{'' if event == 'A' else '-power'}{suffix}",
            family=_FAMILY,
            title=f"exact threshold: rate of {event}, all pairs at the radius{' (bags of 4)' if suffix else ''}",
            labels=("beyond",),
            functions=(f"gaussian.exact_zeta{'' if event == 'A' else '_power'}", "gaussian.is_neighbor"),
            measure=zeta,
            regimes=_places(PLACES, 4000, event=event, tau=tau, bag_size=4 if suffix else 1),
        )
        for event, tau in (("A", 0.5), ("B", 0.2))
        for suffix in ("", "-size-4")
    ),
    *(
        Check(
            id=f"exact-tau-{event}",
            family=_FAMILY,
            title=f"smallest tau: rate of {'A(tau)' if event == 'A' else 'B(tau/3)'}",
            labels=("beyond",),
            functions=("gaussian.exact_tau", "gaussian.exact_zeta"),
            measure=smallest_tau,
            regimes=_places(PLACES, 4000, event=event),
        )
        for event in ("A", "B")
    ),
    Check(
        id="exact-dim",
        family=_FAMILY,
        title="smallest dimension: both errors are alpha",
        labels=("beyond",),
        functions=("gaussian.exact_dim", "gaussian.exact_event_probabilities"),
        measure=smallest_dim,
        regimes=tuple(
            Regime(name=f"{b:g} bags, tau = {tau:g}", values={"n_bags": b, "tau": tau})
            for b in (10, 1000, 10**6)
            for tau in (0.1, 1.0)
        ),
        kind="algebra",
    ),
    *(
        Check(
            id=f"exact-{name}",
            family=_FAMILY,
            title=f"exact radius: rate of {event}",
            labels=("beyond",),
            functions=(f"gaussian.exact_{name}",),
            measure=radius,
            regimes=_places(PLACES, 4000, event=event),
        )
        for event, name in (("C", "inner"), ("C_prime", "norm"))
    ),
    *(
        Check(
            id=f"exact-probability-{event.replace('_p', 'p')}",
            family=_FAMILY,
            title=f"exact probability: rate of {event.replace('_prime', chr(39))}",
            labels=("beyond",),
            functions=("gaussian.exact_event_probabilities",),
            measure=event_probability,
            regimes=_places(((8, 1000), (20, 10**5), (30, 10**8)), 4000, long=2, event=event),
        )
        for event in ("A", "B", "C", "C_prime")
    ),
    *(
        Check(
            id=f"exact-{side}-tau",
            family=_FAMILY,
            title=f"simultaneous {side} confidence bounds of all distances",
            labels=("beyond",),
            functions=(f"gaussian.{side}_tau",),
            measure=confidence,
            regimes=_places(((8, 50), (20, 10**5), (30, 10**8)), 4000, long=2, side=side, tau=0.3),
        )
        for side in ("upper", "lower")
    ),
    *(
        Check(
            id=f"pvalue-{side}",
            family=_FAMILY,
            title=f"exact p-value of {side}, bags of unequal size: uniform at the edge of its hypothesis",
            labels=("beyond",),
            functions=(f"pvalues.gaussian_{side}",),
            measure=pvalue,
            regimes=tuple(
                Regime(
                    name=f"level {level:g}, d = {d:g}, {'inside' if inside else 'edge'}",
                    values={"side": side, "level": level, "dim": d, "inside": inside},
                    trials=5000,
                )
                for level in (0.2, 0.5)
                for d in (3, 1000)
                for inside in (False, True)
            ),
        )
        for side in ("similarity", "difference")
    ),
    *(
        Check(
            id=f"pvalue-kernel{suffix}",
            family=_FAMILY,
            title=title,
            labels=("beyond",),
            functions=(f"pvalues.{function}", "dimension.u_variance"),
            measure=measure,
            regimes=tuple(
                Regime(
                    name=f"level {level:g}, bags of 20 and 30",
                    values={"level": level, "n_x": 20, "n_y": 30},
                    trials=8000,
                )
                for level in levels
            ),
        )
        for suffix, levels, title, function, measure in (
            (
                "",
                (0.05, 0.2),
                "calibrated p-value of equal means: half to twice its level",
                "kernel_difference",
                kernel_pvalue,
            ),
            (
                "-radius",
                (0.02, 0.05),
                "p-value of means a radius apart: cautious at small levels",
                "kernel_similarity",
                kernel_radius_pvalue,
            ),
        )
    ),
    Check(
        id="pvalue-permutation",
        family=_FAMILY,
        title="permutation p-value: uniform on its grid",
        labels=("beyond",),
        functions=("pvalues.permutation",),
        measure=permutation_pvalue,
        regimes=(
            Regime(name="19 permutations, level 0.05", values={"resamples": 19, "level": 0.05}, trials=20000),
            Regime(name="9 permutations, level 0.05", values={"resamples": 9, "level": 0.05}, trials=5000),
            Regime(name="99 permutations, level 0.2", values={"resamples": 99, "level": 0.2}, trials=5000),
        ),
    ),
)
