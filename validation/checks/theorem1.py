"""Theorem 1: tests on other data than the means. The error given the tests is known exactly."""

from itertools import product
from typing import Any

import numpy as np

from stbmta.theory import covering, errors, events, sharp, theorems

from ..check import Check, Finding, Regime, Worst, at_most_one, exactly_one
from ..gaussian_runs import Setting, Thresholds, draw_naive, neighbors, sq_distances

__all__ = ["CHECKS"]

RNG = np.random.Generator

TAUS = (1e-3, 0.1, 0.5, 1.0, 3.0)
SIZES = (1, 2, 9, 49)


def _extremal(tau: float, others: int) -> tuple[Any, Any]:
    """One bag at 0, all its neighbors at one point at distance sqrt(tau): the worst case. Weights follow gamma."""
    means = np.zeros((others + 1, 1))
    means[1:] = np.sqrt(tau)
    return means, np.ones((others + 1, others + 1), bool)


def _worst(gamma: Any, tau: float, others: int) -> float:
    means, tests_ = _extremal(tau, others)
    return float(errors.exact_mse(errors.shrinkage_weights(tests_, gamma), means, 1.0)[0])


def mse_identity(rng: RNG, trials: int, n_bags: int) -> Finding:
    """Compare `exact_mse` with the expectation over all outcomes of noise that is -1 or 1 times a scale."""
    means, scales = rng.normal(size=(n_bags, 1)), rng.uniform(0.2, 2, n_bags)
    weights = errors.shrinkage_weights(rng.random((n_bags, n_bags)) < 0.6, rng.uniform(size=n_bags))
    signs = np.array(list(product((-1.0, 1.0), repeat=n_bags)))
    estimates = (means[:, 0] + signs * scales) @ weights.T
    truth = ((estimates - means[:, 0]) ** 2).mean(axis=0)
    return exactly_one(errors.exact_mse(weights, means, scales**2) / truth)


def rough(rng: RNG, trials: int, sharp_version: bool) -> Finding:
    """Largest ratio of the exact error of a plain average to eq:rough; the sharp version is attained."""
    ratios = [
        _worst(0.0, tau, others) / float(theorems.rough_bound(tau, others, sharp=sharp_version))
        for tau in TAUS
        for others in SIZES
    ]
    return exactly_one(ratios) if sharp_version else at_most_one(ratios)


def risk_attained(rng: RNG, trials: int, tau: float) -> Finding:
    """Ratio of the exact error to the risk bound in the worst case, over all gamma: exactly one."""
    ratios = [
        _worst(gamma, tau, others) / float(theorems.risk_independent(gamma, tau, others))
        for gamma in np.linspace(0, 1, 11)
        for others in SIZES
    ]
    return exactly_one(ratios)


def bound_attained(rng: RNG, trials: int, tau: float) -> Finding:
    """Ratio of the exact error at the paper's gamma to its bound in the worst case: exactly one."""
    ratios = [
        _worst(theorems.gamma_independent(tau, v), tau, v) / float(theorems.bound_independent(tau, v))
        for v in SIZES
    ]
    return exactly_one(ratios)


def best_gamma(rng: RNG, trials: int, tau: float) -> Finding:
    """Risk at the paper's gamma over the smallest risk on a fine grid of gammas."""
    grid = np.linspace(0, 1, 2001)
    ratios = []
    for others in SIZES:
        chosen = float(theorems.gamma_independent(tau, others))
        best = float(theorems.risk_independent(grid, tau, others).min())
        ratios.append(float(theorems.risk_independent(chosen, tau, others)) / best)
    return Finding(observed=float(np.max(ratios)), at_least=1 - 1e-4, at_most=1.0)


def random_means(rng: RNG, trials: int, tau: float, unequal: bool) -> Finding:
    """Largest ratio over random neighbors within the radius, with equal or smaller naive errors."""
    ratios = []
    for _ in range(trials):
        others = int(rng.integers(1, 40))
        directions = rng.normal(size=(others, int(rng.integers(1, 6))))
        lengths = np.sqrt(tau) * rng.random(others) ** rng.choice([0.05, 1.0])
        means = np.vstack([np.zeros(directions.shape[1]), directions])
        means[1:] *= (lengths / np.linalg.norm(directions, axis=1))[:, np.newaxis]
        mse = rng.uniform(0.1, 1, others + 1) if unequal else np.ones(others + 1)
        full = np.ones((others + 1, others + 1), bool)
        weights = errors.shrinkage_weights(full, theorems.gamma_independent(tau, others))
        found = errors.exact_mse(weights, means, mse)[0]
        ratios.append(found / theorems.bound_independent(tau, others))
    return at_most_one(ratios, trials=trials)


def individual(
    rng: RNG, trials: int, model: str, n_bags: int, dim: int, thresholds: Thresholds, bag_size: int = 1
) -> Finding:
    """Largest ratio of exact conditional error to bound, over bags and trials outside A(tau)."""
    setting = Setting.make(n_bags, dim, 0.05, thresholds, bag_size)
    tried = Worst()
    for _ in range(trials):
        means, found = _tested(rng, setting, model)
        if events.false_positive(found, sq_distances(means), setting.tau, setting.sigma):
            continue
        others = found.sum(axis=1) - 1
        weights = errors.shrinkage_weights(found, theorems.gamma_independent(setting.tau, others))
        bound = theorems.bound_independent(setting.tau, others)
        tried.add(errors.exact_mse(weights, means, setting.sigma**2) / setting.sigma**2, bound)
    return tried.finding()


def average(
    rng: RNG,
    trials: int,
    model: str,
    n_bags: int,
    dim: int,
    thresholds: Thresholds,
    simplified: bool = True,
) -> Finding:
    """Largest ratio of the exact average error to its bound, over trials outside A(tau) and B(tau')."""
    setting = Setting.make(n_bags, dim, 0.05, thresholds)
    tried = Worst()
    for _ in range(trials):
        means, found = _tested(rng, setting, model)
        distances = sq_distances(means)
        if events.false_positive(found, distances, setting.tau, setting.sigma):
            continue
        if events.false_negative(found, distances, setting.tau_prime, setting.sigma):
            continue
        gamma = theorems.gamma_independent(setting.tau, found.sum(axis=1) - 1)
        mse = errors.exact_mse(errors.shrinkage_weights(found, gamma), means, setting.sigma**2).mean()
        radius = float(theorems.covering_radius(setting.tau_prime, setting.sigma))
        balls = covering.covering_number(means, radius)
        bound = theorems.average_independent(setting.tau, balls.upper, n_bags, simplified=simplified)
        tried.add(mse / setting.sigma**2, bound)
    return tried.finding()


def star(rng: RNG, trials: int, n_bags: int, tau: float) -> Finding:
    """Means out of each other's reach around a common center: nobody has a neighbor, but a larger ball holds all."""
    prime = tau / 3
    means = np.sqrt(0.6 * prime) * np.eye(n_bags)  # pairs at 1.2 tau', the center at 0.6 tau'
    alone = np.eye(n_bags, dtype=bool)
    mse = errors.exact_mse(errors.shrinkage_weights(alone, theorems.gamma_independent(tau, 0)), means, 1.0)
    with_center = np.vstack([np.zeros(n_bags), means])
    balls = covering.covering_number(with_center, float(theorems.covering_radius(prime))).upper
    return at_most_one(mse.mean() / float(theorems.average_independent(tau, min(balls, n_bags), n_bags)))


def after_split(rng: RNG, trials: int, fraction: float) -> Finding:
    """Exact error of part of the bag over that of the whole bag's naive mean, against the bound: attained."""
    ratios = []
    for tau in TAUS:
        for others in SIZES:
            error = _worst(theorems.gamma_independent(tau, others), tau, others)  # sigma-bar of the part is 1
            whole = float(errors.naive_mse(1.0, 1.0)) * fraction
            ratios.append(error / whole / float(theorems.bound_after_split(tau, others, fraction)))
    return exactly_one(ratios)


def unequal_bags(rng: RNG, trials: int, n_bags: int) -> Finding:
    """Largest ratio of the exact error with the best weights to their bound, and of the bound to any rival's."""
    ratios = []
    for _ in range(trials):
        variances = rng.uniform(0.05, 3, n_bags)
        means = rng.normal(size=(n_bags, 3)) * rng.choice([0.1, 1.0, 3.0])
        distances = np.linalg.norm(means - means[0], axis=1)
        best = sharp.waterfill(distances, variances)
        bias = np.linalg.norm(best.weights @ means - means[0]) ** 2
        found = float(bias + (best.weights**2 * variances).sum())
        rivals = rng.dirichlet(np.full(n_bags, 0.3), 50)
        rivals[0] = np.eye(n_bags)[0]  # the naive mean
        rivals[1:25] = best.weights + 0.01 * (rivals[1:25] - best.weights)
        values = (rivals**2 * variances).sum(axis=1) + (rivals @ distances) ** 2
        ratios += [found / best.bound, best.bound / float(values.min())]
    return at_most_one(ratios, trials=trials)


def unequal_is_theorem(rng: RNG, trials: int, tau: float) -> Finding:
    """Ratio of the best weights' bound to Theorem 1 when all bags are equal: exactly one."""
    ratios = []
    for others in SIZES:
        distances = np.r_[0.0, np.full(others, np.sqrt(tau))]
        best = sharp.waterfill(distances, np.ones(others + 1))
        ratios.append(best.bound / float(theorems.bound_independent(tau, others)))
    return exactly_one(ratios)


def _tested(rng: RNG, setting: Setting, model: str) -> tuple[Any, Any]:
    """Means, and the tests on other bags with the same means."""
    naive, means = draw_naive(rng, setting, setting.means(model, rng))
    return means, neighbors(setting, naive)


def model_regimes(trials: int, **more: Any) -> tuple[Regime, ...]:
    """Regimes over models, dimensions and thresholds: few in a quick run, all in a longer one."""
    quick = [("unif", 10**6), ("cluster", 10**6), ("sphere", 10**6), ("sparse", 10**6), ("unif", 1000)]
    quick += [("one direction", 10**6), ("two clusters", 10**6), ("equal", 10**5), ("simplex at tau'", 10**6)]
    quick += [("simplex at tau", 10**6), ("imbalance", 10**6), ("apart", 10**6), ("equal", 10**8)]
    models = ("unif", "cluster", "sphere", "sparse", "one direction", "two clusters", "imbalance")
    rest = [(model, dim) for model in models for dim in (1000, 2 * 10**4, 10**5, 10**8)]
    return tuple(
        Regime(
            name=f"{model}, d = {dim:.0e}, {thresholds}".replace("e+0", "e"),
            values={"model": model, "n_bags": 60, "dim": dim, "thresholds": thresholds, **more},
            trials=trials,
            scale="quick" if (model, dim) in quick else "default",
        )
        for model, dim in dict.fromkeys(quick + rest)
        for thresholds in ("printed", "exact")
    )


def _over_tau(**values: Any) -> tuple[Regime, ...]:
    return tuple(Regime(name=f"tau = {tau:g}", values={"tau": tau, **values}) for tau in TAUS)


_FAMILY = "Theorem 1: tests on other data"

CHECKS = (
    Check(
        id="exact-error",
        family=_FAMILY,
        title="error of fixed weights is squared bias plus sum of w^2 sigma^2",
        labels=("th:indep", "eq:naivedef", "eq:gammaest"),
        functions=("errors.exact_mse", "errors.shrinkage_weights"),
        measure=mse_identity,
        regimes=tuple(Regime(name=f"{b} bags", values={"n_bags": b}) for b in (2, 5, 10)),
    ),
    Check(
        id="rough",
        family=_FAMILY,
        title="plain average of known neighbors; the sharp version is attained",
        labels=("eq:rough",),
        functions=("theorems.rough_bound",),
        measure=rough,
        regimes=(
            Regime(name="printed", values={"sharp_version": False}),
            Regime(name="sharp", values={"sharp_version": True}),
        ),
    ),
    Check(
        id="theorem-1-any-gamma",
        family=_FAMILY,
        title="bound for any shrinkage, attained",
        labels=("th:indep",),
        functions=("theorems.risk_independent",),
        measure=risk_attained,
        regimes=_over_tau(),
    ),
    Check(
        id="theorem-1-gamma",
        family=_FAMILY,
        title="the paper's gamma minimizes the bound",
        labels=("eq:optgamma",),
        functions=("theorems.gamma_independent",),
        measure=best_gamma,
        regimes=_over_tau(),
    ),
    Check(
        id="theorem-1-attained",
        family=_FAMILY,
        title="individual bound, attained when all neighbors stand at one point",
        labels=("eq:res-indep-single", "eq:optgamma"),
        functions=("theorems.bound_independent", "theorems.gamma_independent"),
        measure=bound_attained,
        regimes=_over_tau(),
    ),
    Check(
        id="theorem-1-random",
        family=_FAMILY,
        title="individual bound for random neighbors within the radius",
        labels=("eq:res-indep-single", "eq:bdsigma"),
        functions=("theorems.bound_independent",),
        measure=random_means,
        regimes=tuple(
            Regime(
                name=f"tau = {tau:g}, {'un' if unequal else ''}equal errors",
                values={"tau": tau, "unequal": unequal},
                trials=200,
            )
            for tau in TAUS
            for unequal in (False, True)
        ),
    ),
    Check(
        id="theorem-1-individual",
        family=_FAMILY,
        title="individual bound after real tests, outside A(tau)",
        labels=("eq:res-indep-single", "eq:neighborsA", "sec:theory"),
        functions=("theorems.bound_independent", "events.false_positive", "events.separated_pairs"),
        measure=individual,
        regimes=model_regimes(100),
    ),
    Check(
        id="theorem-1-average",
        family=_FAMILY,
        title="averaged bound after real tests, outside A(tau) and B(tau'), with the covering number of the means",
        labels=("eq:res-indep-ave", "th:indep", "sec:theory"),
        functions=(
            "theorems.average_independent",
            "theorems.covering_radius",
            "events.false_negative",
            "events.similar_pairs",
        ),
        measure=average,
        regimes=model_regimes(100),
    ),
    Check(
        id="theorem-1-average-sharp",
        family=_FAMILY,
        title="averaged bound before its last simplification",
        labels=("eq:res-indep-ave",),
        functions=("theorems.average_independent",),
        measure=average,
        regimes=model_regimes(50, simplified=False),
    ),
    Check(
        id="theorem-1-star",
        family=_FAMILY,
        title="averaged bound when nobody has a neighbor but one larger ball holds all means",
        labels=("eq:res-indep-ave", "th:indep"),
        functions=("theorems.covering_radius", "theorems.average_independent"),
        measure=star,
        regimes=tuple(
            Regime(name=f"{b} bags, tau = {tau:g}", values={"n_bags": b, "tau": tau})
            for b in (2, 10, 50)
            for tau in (0.01, 0.1, 1.0)
        ),
    ),
    Check(
        id="theorem-1-split",
        family=_FAMILY,
        title="price of splitting the bags",
        labels=("beyond", "eq:naivedef"),
        functions=("theorems.bound_after_split", "errors.naive_mse"),
        measure=after_split,
        regimes=tuple(Regime(name=f"part {f:g}", values={"fraction": f}) for f in (0.25, 0.5, 0.9)),
    ),
    Check(
        id="theorem-1-unequal-bags",
        family=_FAMILY,
        title="best weights for unequal bags: the bound holds, and no other weights have a smaller one",
        labels=("beyond",),
        functions=("sharp.waterfill",),
        measure=unequal_bags,
        regimes=tuple(Regime(name=f"{b} bags", values={"n_bags": b}, trials=200) for b in (2, 10, 50)),
    ),
    Check(
        id="theorem-1-unequal-is-theorem-1",
        family=_FAMILY,
        title="best weights give Theorem 1 when the bags are equal",
        labels=("beyond", "eq:res-indep-single"),
        functions=("sharp.waterfill", "theorems.bound_independent"),
        measure=unequal_is_theorem,
        regimes=_over_tau(),
    ),
)
