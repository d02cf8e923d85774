"""Theorem 2: tests and means from the same data."""

from typing import Any

import numpy as np

from stbmta.theory import covering, errors, events, gaussian, theorems

from ..check import Check, Finding, Regime, Worst, at_most_one, exactly_one, proportion
from ..gaussian_runs import Setting, Thresholds, draw_naive, neighbors, sq_distances
from ..models import simplex
from .theorem1 import TAUS, model_regimes

__all__ = ["CHECKS", "run_once"]

RNG = np.random.Generator

SMALL_TAUS = ((0.1, 20), (0.01, 100), (0.001, 2000))


def realized_identity(rng: RNG, trials: int, n_bags: int) -> Finding:
    """Compare `squared_error` with sums written out."""
    naive, means = rng.normal(size=(n_bags, 4)), rng.normal(size=(n_bags, 4))
    weights = rng.dirichlet(np.ones(n_bags), n_bags)
    slow = [
        sum((sum(weights[i, j] * naive[j, k] for j in range(n_bags)) - means[i, k]) ** 2 for k in range(4))
        for i in range(n_bags)
    ]
    return exactly_one(errors.squared_error(weights, naive, means) / np.array(slow))


def _aligned(tau: float, v: int, shift: float) -> tuple[Any, Any]:
    """Naive and true means, on the edge of A, C and C', where all that can go wrong points the same way.

    Noise vectors sqrt(tau) f_0 + f_j have inner products tau and squared norms 1 + tau. The neighbors' means are
    moved by sqrt(shift) along the averaged noise of the first bag.
    """
    noise = np.hstack([np.full((v, 1), np.sqrt(tau)), np.eye(v)])
    gamma = float(theorems.gamma_same_data(tau))
    weights = np.full(v, (1 - gamma) / v)
    weights[0] += gamma
    averaged = weights @ noise
    means = np.zeros_like(noise)
    means[1:] = np.sqrt(shift) * averaged / np.linalg.norm(averaged)
    return means + noise, means


def aligned(rng: RNG, trials: int, tau: float, n_neighbors: int) -> Finding:
    """Ratio of error to bound for vectors that conspire: nearly one."""
    naive, means = _aligned(tau, n_neighbors, tau * (1 - 1e-9))
    first = np.zeros((n_neighbors, n_neighbors), bool)
    first[0] = True
    weights = errors.shrinkage_weights(first, theorems.gamma_same_data(tau))
    error = errors.squared_error(weights, naive, means)[0]
    ratio = float(error / theorems.bound_same_data(tau, n_neighbors))
    floor = {20: 0.85, 100: 0.96, 2000: 0.985}[n_neighbors]
    return Finding(observed=ratio, at_least=floor, at_most=1.0)


def risk_consistent(rng: RNG, trials: int, tau: float) -> Finding:
    """Bound at the paper's gamma over the smallest bound for any gamma."""
    grid = np.linspace(0, 1, 2001)
    ratios = []
    for v in (2, 3, 10, 50):
        best = float(theorems.risk_same_data(grid, tau, v).min())
        chosen = float(theorems.risk_same_data(theorems.gamma_same_data(tau), tau, v))
        ratios += [chosen / best, float(theorems.bound_same_data(tau, v)) / best]
    return exactly_one(ratios, slack=1e-4)


def any_gamma(rng: RNG, trials: int, tau: float) -> Finding:
    """Largest ratio of error to bound for any gamma, with aligned vectors and random shifts of the means."""
    ratios = []
    for _ in range(trials):
        v = int(rng.integers(2, 60))
        naive, means = _aligned(tau, v, tau * rng.random())
        first = np.zeros((v, v), bool)
        first[0] = True
        gamma = rng.random()
        error = errors.squared_error(errors.shrinkage_weights(first, gamma), naive, means)[0]
        ratios.append(error / theorems.risk_same_data(gamma, tau, v))
    return at_most_one(ratios, trials=trials)


def run_once(rng: RNG, setting: Setting, model: str) -> tuple[Any, Any, Any]:
    """Draw naive means, and give the true ones and the tests.

    Returns
    -------
    naive, means : ndarray of shape (B, coordinates)
        Naive and true means.
    tests : ndarray of bool, shape (B, B)
        Row i marks the neighbors of bag i, the bag itself included.
    """
    naive, means = draw_naive(rng, setting, setting.means(model, rng))
    return naive, means, neighbors(setting, naive)


def _excluded(setting: Setting, naive: Any, means: Any, found: Any, *, misses: bool) -> bool:
    """Whether one of the events that the theorem excludes happened."""
    distances, noise = sq_distances(means), naive - means
    radii = (setting.tau, setting.sigma)
    return (
        events.false_positive(found, distances, *radii)
        or events.large_inner_product(noise, *radii)
        or events.large_norm(noise, *radii)
        or (misses and events.false_negative(found, distances, setting.tau_prime, setting.sigma))
    )


def _individual(setting: Setting, naive: Any, means: Any, found: Any) -> tuple[Any, Any]:
    """Errors and bounds of all bags, as fractions of sigma-bar^2."""
    weights = errors.shrinkage_weights(found, theorems.gamma_same_data(setting.tau))
    bound = theorems.bound_same_data(setting.tau, found.sum(axis=1))
    return errors.squared_error(weights, naive, means) / setting.sigma**2, bound


def _average(setting: Setting, naive: Any, means: Any, found: Any) -> tuple[Any, Any]:
    """Average error and its bound, as fractions of sigma-bar^2."""
    weights = errors.shrinkage_weights(found, theorems.gamma_same_data(setting.tau))
    radius = float(theorems.covering_radius(setting.tau_prime, setting.sigma))
    balls = covering.covering_number(means, radius)
    error = errors.squared_error(weights, naive, means).mean() / setting.sigma**2
    return error, theorems.average_same_data(setting.tau, balls.upper, setting.n_bags)


def on_the_event(
    rng: RNG, trials: int, model: str, n_bags: int, dim: int, thresholds: Thresholds, averaged: bool
) -> Finding:
    """Largest ratio of error to bound, over bags and the trials in which no excluded event happened."""
    setting = Setting.make(n_bags, dim, 0.01, thresholds)
    tried = Worst()
    for _ in range(trials):
        naive, means, found = run_once(rng, setting, model)
        if not _excluded(setting, naive, means, found, misses=averaged):
            tried.add(*(_average if averaged else _individual)(setting, naive, means, found))
    return tried.finding()


def with_probability(
    rng: RNG, trials: int, model: str, n_bags: int, dim: int, alpha: float, averaged: bool
) -> Finding:
    """How often the printed bound fails for some bag (or on average): at most the sum of the events' bounds."""
    setting = Setting.make(n_bags, dim, alpha, "printed")
    stated = gaussian.stated_probabilities(alpha)
    allowed = float(stated.total if averaged else stated.A + stated.C + stated.C_prime)
    failed = 0
    for _ in range(trials):
        error, bound = (_average if averaged else _individual)(setting, *run_once(rng, setting, model))
        failed += not np.all(error <= bound)
    return proportion(failed, trials, at_most=allowed)


def condition(rng: RNG, trials: int, share: float, printed: bool) -> Finding:
    """Pairs between tau and tau', a share of it: how often A or B happens, if the condition admits the two radii."""
    n_bags, dim, alpha = 10, 10**5, 0.05
    setting = Setting.make(n_bags, dim, alpha, "exact")
    near = share * setting.tau
    if not theorems.compatible(setting.tau, near, printed=printed):
        return Finding(observed=0.0, at_most=2 * alpha, vacuous=True)
    means = simplex(n_bags, (setting.tau + near) / 2 * dim)
    distances = sq_distances(means)
    happened = 0
    for _ in range(trials):
        found = neighbors(setting, draw_naive(rng, setting, means)[0])
        happened += events.false_positive(found, distances, setting.tau, setting.sigma) or (
            events.false_negative(found, distances, near, setting.sigma)
        )
    return proportion(happened, trials, at_most=2 * alpha)


def _averaged(averaged: bool, trials: int) -> tuple[Regime, ...]:
    return model_regimes(trials, averaged=averaged)


def _probability_regimes(averaged: bool) -> tuple[Regime, ...]:
    return tuple(
        Regime(
            name=f"{model}, d = {dim:.0e}".replace("e+0", "e"),
            values={"model": model, "n_bags": 40, "dim": dim, "alpha": 0.01, "averaged": averaged},
            trials=600,
        )
        for model in ("equal", "one direction", "unif", "cluster")
        for dim in (10**6, 10**8)
    )


def _condition_regimes(*, printed: bool) -> tuple[Regime, ...]:
    return tuple(
        Regime(name=f"tau' = {share:.2g} tau", values={"share": share, "printed": printed}, trials=400)
        for share in (0.0, 1 / 3, 2.0)
    )


_FAMILY = "Theorem 2: tests on the same data"

CHECKS = (
    Check(
        id="realized-error",
        family=_FAMILY,
        title="squared error of weighted means",
        labels=("th:onesample",),
        functions=("errors.squared_error",),
        measure=realized_identity,
        regimes=(Regime(name="6 bags", values={"n_bags": 6}),),
    ),
    Check(
        id="theorem-2-any-gamma",
        family=_FAMILY,
        title="bound for any shrinkage, with vectors that point the same way",
        labels=("th:onesample",),
        functions=("theorems.risk_same_data",),
        measure=any_gamma,
        regimes=tuple(Regime(name=f"tau = {tau:g}", values={"tau": tau}, trials=300) for tau in TAUS),
    ),
    Check(
        id="theorem-2-gamma",
        family=_FAMILY,
        title="the paper's gamma minimizes the bound",
        labels=("eq:optgamma-onesample", "eq:res-onesample-single"),
        functions=("theorems.gamma_same_data", "theorems.risk_same_data", "theorems.bound_same_data"),
        measure=risk_consistent,
        regimes=tuple(Regime(name=f"tau = {tau:g}", values={"tau": tau}) for tau in TAUS),
    ),
    Check(
        id="theorem-2-aligned",
        family=_FAMILY,
        title="individual bound, nearly attained by vectors that point the same way",
        labels=("eq:res-onesample-single",),
        functions=("theorems.bound_same_data", "theorems.gamma_same_data"),
        measure=aligned,
        regimes=tuple(
            Regime(name=f"tau = {tau:g}, {v} neighbors", values={"tau": tau, "n_neighbors": v})
            for tau, v in SMALL_TAUS
        ),
    ),
    Check(
        id="theorem-2-individual",
        family=_FAMILY,
        title="individual bound outside A(tau), C(tau) and C'(tau)",
        labels=("eq:res-onesample-single", "sec:theory", "eq:neighborsA"),
        functions=(
            "theorems.bound_same_data",
            "events.false_positive",
            "events.large_inner_product",
            "events.large_norm",
        ),
        measure=on_the_event,
        regimes=_averaged(False, 60),
    ),
    Check(
        id="theorem-2-average",
        family=_FAMILY,
        title="averaged bound outside A(tau), B(tau'), C(tau) and C'(tau)",
        labels=("eq:res-onesample-ave", "sec:theory"),
        functions=("theorems.average_same_data", "theorems.covering_radius", "events.false_negative"),
        measure=on_the_event,
        regimes=_averaged(True, 60),
    ),
    Check(
        id="theorem-2-individual-probability",
        family=_FAMILY,
        title="how often the individual bound fails for any bag, tests and estimates together",
        labels=("eq:res-onesample-single", "prop:testgauss"),
        functions=("theorems.bound_same_data", "gaussian.stated_probabilities"),
        measure=with_probability,
        regimes=_probability_regimes(False),
    ),
    Check(
        id="theorem-2-average-probability",
        family=_FAMILY,
        title="how often the averaged bound fails, tests and estimates together",
        labels=("eq:res-onesample-ave", "prop:testgauss"),
        functions=("theorems.average_same_data", "gaussian.stated_probabilities"),
        measure=with_probability,
        regimes=_probability_regimes(True),
    ),
    Check(
        id="theorem-2-condition",
        family=_FAMILY,
        title="with tau' <= tau the tests can be right about every pair",
        labels=("th:onesample",),
        functions=("theorems.compatible",),
        measure=condition,
        regimes=_condition_regimes(printed=False),
    ),
    Check(
        id="theorem-2-condition-printed",
        family=_FAMILY,
        title="with tau' >= tau, as printed, the tests can be right about every pair",
        labels=("th:onesample",),
        functions=("theorems.compatible",),
        measure=condition,
        regimes=_condition_regimes(printed=True),
        erratum="pairs between the two radii would have to be accepted and rejected; it must read tau' <= tau",
    ),
)
