"""The Gaussian proposition as printed: probabilities of its four events, and the steps of its proof."""

from typing import Any

import numpy as np

from stbmta.theory import events, gaussian, laws, theorems

from ..check import Check, Finding, Regime, at_most_one, exactly_one, proportion
from ..gaussian_runs import Setting, draw_naive, neighbors
from ..models import simplex

__all__ = ["CHECKS"]

RNG = np.random.Generator

BAGS = (2, 10, 100, 10**4, 10**6)
DIMS = (5, 50, 10**3, 10**4, 10**5, 10**6, 10**8)
ALPHAS = (0.05, 0.5)
EVENTS = ("A", "B", "C", "C_prime")


def exact_probability(rng: RNG, trials: int, event: str, dim: int) -> Finding:
    """Largest ratio of an event's probability (exact law, union over pairs) to the stated one, over B and alpha."""
    bags, alpha = np.array(BAGS, float)[:, np.newaxis], np.array(ALPHAS)
    tau = gaussian.tau_min(bags, dim, alpha)
    zeta = gaussian.zeta(tau, bags, dim, alpha)
    ratio = float(np.max(np.asarray(gaussian.tau_prime(tau)) / tau))
    found = getattr(gaussian.exact_event_probabilities(tau, zeta, bags, dim, ratio=ratio), event)
    stated = np.broadcast_to(getattr(gaussian.stated_probabilities(alpha), event), found.shape)
    useful = ~(stated >= 1)  # 2 alpha can be 1, and then nothing is stated
    return at_most_one((found / stated)[useful], vacuous=float(tau.min()) > 4)


def any_tau(rng: RNG, trials: int, dim: int, printed: bool) -> Finding:
    """Largest ratio of P(A(tau)) (exact law, union over pairs) to alpha, for tau far below and above the smallest."""
    bags, alpha = np.array(BAGS, float)[:, np.newaxis], 0.05
    tau = gaussian.tau_min(bags, dim, alpha) * np.geomspace(1e-5, 1.0, 16)
    zeta = gaussian.zeta(tau, bags, dim, alpha, printed=printed)
    return at_most_one(gaussian.exact_event_probabilities(tau, zeta, bags, dim).A / alpha)


def counted(rng: RNG, trials: int, event: str, n_bags: int, dim: int, bag_size: int) -> Finding:
    """How often an event happens, all pairs of means being just at its radius."""
    alpha = 0.05
    setting = Setting.make(n_bags, dim, alpha, "printed", bag_size)
    radius = setting.tau if event == "A" else setting.tau_prime
    means = simplex(n_bags, radius * setting.sigma**2)
    distances = np.where(np.eye(n_bags, dtype=bool), 0.0, radius * setting.sigma**2)
    happened = 0
    for _ in range(trials):
        naive, padded = draw_naive(rng, setting, means)
        happened += _happened(event, setting, naive, padded, distances)
    return proportion(happened, trials, at_most=float(getattr(gaussian.stated_probabilities(alpha), event)))


def _happened(event: str, setting: Setting, naive: Any, means: Any, distances: Any) -> bool:
    if event == "A":
        return events.false_positive(neighbors(setting, naive), distances, setting.tau, setting.sigma)
    if event == "B":
        return events.false_negative(neighbors(setting, naive), distances, setting.tau_prime, setting.sigma)
    happened = events.large_inner_product if event == "C" else events.large_norm
    return happened(naive - means, setting.tau, setting.sigma)


def any_threshold(rng: RNG, trials: int, event: str, dim: int) -> Finding:
    """Largest ratio of exact to printed probability over many thresholds."""
    bags = np.array([2.0, 30.0, 1000.0])[:, np.newaxis, np.newaxis]
    tau = np.array([0.05, 0.3, 1.0, 5.0])[:, np.newaxis]
    zeta = 2 + tau * np.linspace(0.1, 0.9, 9)
    exact = getattr(gaussian.exact_event_probabilities(tau, zeta, bags, dim), event)
    bound = getattr(gaussian.event_probabilities(tau, zeta, bags, dim), event)
    exact, bound = np.broadcast_arrays(exact, bound)
    useful = ~(bound >= 1)
    if not useful.any():
        return at_most_one(0.0, vacuous=True)
    underflow = (exact == 0) & (bound == 0)
    return at_most_one((exact / np.where(underflow, 1.0, bound))[useful])


def inner_step(rng: RNG, trials: int, dim: int, printed: bool) -> Finding:
    """Probability that inner products exceed what the proof shows, over 2 alpha."""
    bags, alpha = np.array(BAGS, float)[:, np.newaxis], np.array([0.05, 0.4])
    limit = gaussian.inner_excess(gaussian.tau_min(bags, dim, alpha), printed=printed)
    log_p = laws.inner_product_logsf(limit * dim, dim) + np.log(2 * gaussian.number_of_tests(bags))
    return at_most_one(np.exp(log_p - np.log(2 * alpha)))


def norm_step(rng: RNG, trials: int, dim: int, printed: bool) -> Finding:
    """Probability that squared norms exceed what the proof shows, over alpha."""
    bags, alpha = np.array(BAGS, float)[:, np.newaxis], np.array(ALPHAS)
    limit = gaussian.norm_excess(gaussian.tau_min(bags, dim, alpha), printed=printed)
    inside = np.log(-np.expm1(laws.chi_square_logsf(dim * (1 + limit), dim)))
    return at_most_one(-np.expm1(bags * inside) / alpha)


def scale(rng: RNG, trials: int, printed: bool) -> Finding:
    """Covering radius over its claimed order, for 1e60 bags and for 10: the ratio must stay put."""
    dim, alpha = 10**8, 0.05

    def ratio(n_bags: float) -> float:
        near = gaussian.tau_prime(gaussian.tau_min(n_bags, dim, alpha))
        radius = theorems.covering_radius(near, np.sqrt(dim))
        return float(radius / gaussian.covering_scale(n_bags, dim, 1, printed=printed))

    return Finding(observed=ratio(1e60) / ratio(10.0), at_least=0.8, at_most=1.25)


def level(rng: RNG, trials: int, n_bags: int) -> Finding:
    """Level of a single test times B^2 over alpha: exactly one."""
    dims, alpha = np.array(DIMS, float), 0.05
    ratio = n_bags**2 * np.exp(-dims * gaussian.delta(n_bags, dims, alpha)) / alpha
    return exactly_one(ratio)


def _dims(**values: Any) -> tuple[Regime, ...]:
    return tuple(Regime(name=f"d = {d:.0e}".replace("e+0", "e"), values={"dim": d, **values}) for d in DIMS)


_FAMILY = "Gaussian setting, as printed"
_TITLES = {
    "A": "no pair beyond tau is accepted",
    "B": "no pair within tau/3 is missed",
    "C": "inner products of errors stay below tau",
    "C_prime": "squared errors stay below 1 + tau",
}
_IDS = {"A": "A", "B": "B", "C": "C", "C_prime": "Cprime"}
_COMMON = ("gaussian.tau_min", "gaussian.delta", "gaussian.stated_probabilities")
_FUNCTIONS = {
    "A": (*_COMMON, "gaussian.zeta"),
    "B": (*_COMMON, "gaussian.zeta", "gaussian.tau_prime"),
    "C": _COMMON,
    "C_prime": _COMMON,
}
_EVENT_FUNCTIONS = {
    "A": ("events.false_positive", "gaussian.is_neighbor"),
    "B": ("events.false_negative", "gaussian.is_neighbor"),
    "C": ("events.large_inner_product",),
    "C_prime": ("events.large_norm",),
}

CHECKS = (
    *(
        Check(
            id=f"gaussian-{_IDS[event]}",
            family=_FAMILY,
            title=f"{_TITLES[event]}: exact probability against the stated one, 2 to 1e6 bags",
            labels=("prop:testgauss",),
            functions=_FUNCTIONS[event],
            measure=exact_probability,
            regimes=_dims(event=event),
        )
        for event in EVENTS
    ),
    *(
        Check(
            id=f"gaussian-{_IDS[event]}-counted",
            family=_FAMILY,
            title=f"{_TITLES[event]}: counted, all pairs at the edge",
            labels=("prop:testgauss", "eq:deftestsgaus", "sec:theory", "eq:neighborsA"),
            functions=(*_FUNCTIONS[event], *_EVENT_FUNCTIONS[event]),
            measure=counted,
            regimes=tuple(
                Regime(
                    name=f"{b} bags of {n}, d = {d:.0e}".replace("e+0", "e"),
                    values={"event": event, "n_bags": b, "dim": d, "bag_size": n},
                    trials=600,
                )
                for b, d, n in ((10, 10**4, 1), (20, 10**5, 5), (40, 10**8, 1))
            ),
        )
        for event in EVENTS
    ),
    *(
        Check(
            id=f"gaussian-{_IDS[event]}-any-threshold",
            family=_FAMILY,
            title=f"{_TITLES[event]}: printed probability for any threshold",
            labels=("prop:testgauss",),
            functions=("gaussian.event_probabilities",),
            measure=any_threshold,
            regimes=_dims(event=event),
        )
        for event in EVENTS
    ),
    Check(
        id="gaussian-A-any-tau",
        family=_FAMILY,
        title="no pair beyond tau is accepted, for every tau: zeta is 0 where its root is negative",
        labels=("prop:testgauss",),
        functions=("gaussian.zeta",),
        measure=any_tau,
        regimes=_dims(printed=False),
    ),
    Check(
        id="gaussian-A-any-tau-printed",
        family=_FAMILY,
        title="no pair beyond tau is accepted, for every tau, with the printed zeta",
        labels=("prop:testgauss",),
        functions=("gaussian.zeta",),
        measure=any_tau,
        regimes=_dims(printed=True),
        erratum="far below the smallest tau the printed zeta squares a negative number; the proposition stays above",
    ),
    Check(
        id="gaussian-level",
        family=_FAMILY,
        title="level of a single test is alpha / B^2",
        labels=("prop:testgauss",),
        functions=("gaussian.delta",),
        measure=level,
        regimes=tuple(Regime(name=f"{b:g} bags", values={"n_bags": b}) for b in BAGS),
        kind="algebra",
    ),
    Check(
        id="gaussian-proof-inner",
        family=_FAMILY,
        title="inner products in the proof, 1 + sqrt(2) in place of 3",
        labels=("prop:testgauss",),
        functions=("gaussian.inner_excess",),
        measure=inner_step,
        regimes=_dims(printed=False),
    ),
    Check(
        id="gaussian-proof-inner-printed",
        family=_FAMILY,
        title="inner products in the proof, as printed",
        labels=("prop:testgauss",),
        functions=("gaussian.inner_excess",),
        measure=inner_step,
        regimes=_dims(printed=True),
    ),
    Check(
        id="gaussian-proof-norm",
        family=_FAMILY,
        title="norms in the proof, corrected",
        labels=("prop:testgauss",),
        functions=("gaussian.norm_excess",),
        measure=norm_step,
        regimes=_dims(printed=False),
    ),
    Check(
        id="gaussian-proof-norm-printed",
        family=_FAMILY,
        title="norms in the proof, as printed",
        labels=("prop:testgauss",),
        functions=("gaussian.norm_excess",),
        measure=norm_step,
        regimes=_dims(printed=True),
        erratum="2 tau / C is far too small; tau (2 sqrt(2 / C) + 2 / C) is right, and C'(tau) is unaffected",
    ),
    Check(
        id="gaussian-scale",
        family=_FAMILY,
        title="covering radius is of order d^(1/4) (log B)^(1/4) / sqrt(N)",
        labels=("prop:testgauss",),
        functions=("gaussian.covering_scale",),
        measure=scale,
        regimes=(Regime(name="1e60 bags against 10", values={"printed": False}),),
    ),
    Check(
        id="gaussian-scale-printed",
        family=_FAMILY,
        title="covering radius is of order d^(1/4) sqrt(log B / N), as printed",
        labels=("prop:testgauss",),
        functions=("gaussian.covering_scale",),
        measure=scale,
        regimes=(Regime(name="1e60 bags against 10", values={"printed": True}),),
        erratum="the logarithm has the power 1/4, not 1/2",
    ),
)
