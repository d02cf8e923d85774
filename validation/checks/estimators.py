"""Estimators of distances and traces: their expectations over *all* samples of a small law, so nothing is noisy."""

from itertools import product
from typing import Any

import numpy as np

from stbmta import Bags, bag_statistics, tuning
from stbmta.theory import dimension, errors

from ..check import Check, Finding, Regime, at_most_one, exactly_one

__all__ = ["CHECKS"]

RNG = np.random.Generator

ATOMS = np.array([[1.0, 0.2], [-0.4, 1.1], [0.3, -0.8]])
PROBABILITIES = np.array([0.6, 0.3, 0.1])
OTHER = np.array([0.2, 0.5, 0.3])


def _samples(n: int, probabilities: Any) -> Any:
    """All samples of n atoms, and their probabilities."""
    for chosen in product(range(len(ATOMS)), repeat=n):
        yield ATOMS[list(chosen)], float(np.prod(probabilities[list(chosen)]))


def _moments(probabilities: Any) -> tuple[Any, Any]:
    mean = probabilities @ ATOMS
    centered = ATOMS - mean
    return mean, centered.T @ (probabilities[:, np.newaxis] * centered)


def _unbiased(expected: float, truth: float) -> Finding:
    return exactly_one(expected / truth)


def trace(rng: RNG, trials: int, name: str, n: int, power: int) -> Finding:
    """Expectation of an estimated trace of a power of the covariance over the truth (over N for the naive error)."""
    estimate = getattr(dimension, name)
    expected = sum(p * estimate(x @ x.T) for x, p in _samples(n, PROBABILITIES))
    truth = float(np.trace(np.linalg.matrix_power(_moments(PROBABILITIES)[1], power)))
    return _unbiased(expected, truth / n if name == "naive_mse" else truth)


def cross_trace(rng: RNG, trials: int, n: int, m: int) -> Finding:
    """Expectation of the estimate of tr(Sx Sy) over the truth."""
    expected = sum(
        p * q * dimension.trace_product(x @ y.T)
        for x, p in _samples(n, PROBABILITIES)
        for y, q in _samples(m, OTHER)
    )
    truth = float(np.trace(_moments(PROBABILITIES)[1] @ _moments(OTHER)[1]))
    return _unbiased(expected, truth)


def _u_moments(n: int, m: int) -> tuple[float, float]:
    """Expectation and variance of U over all pairs of samples."""
    values, weights = [], []
    for x, p in _samples(n, PROBABILITIES):
        for y, q in _samples(m, OTHER):
            values.append(dimension.u_statistic(x @ x.T, y @ y.T, x @ y.T))
            weights.append(p * q)
    u, w = np.array(values), np.array(weights)
    mean = float(w @ u)
    return mean, float(w @ (u - mean) ** 2)


def distance(rng: RNG, trials: int, n: int, m: int) -> Finding:
    """Expectation of U over the squared distance of the means."""
    gap = _moments(PROBABILITIES)[0] - _moments(OTHER)[0]
    return _unbiased(_u_moments(n, m)[0], float(gap @ gap))


def variance(rng: RNG, trials: int, n: int, m: int) -> Finding:
    """Variance of U over its formula."""
    (mean_x, x), (mean_y, y) = _moments(PROBABILITIES), _moments(OTHER)
    gap = mean_x - mean_y
    claimed = dimension.u_variance(
        np.trace(x @ x), np.trace(y @ y), np.trace(x @ y), n, m, gap @ x @ gap, gap @ y @ gap
    )
    return _unbiased(_u_moments(n, m)[1], float(claimed))


def effective(rng: RNG, trials: int, dim: int) -> Finding:
    """Effective dimension times the variance in the worst direction, over the trace: exactly one."""
    factor = rng.normal(size=(dim, dim))
    covariance = factor @ factor.T
    direction = rng.normal(size=dim)
    for _ in range(5000):  # power iteration
        direction = covariance @ direction
        direction /= np.linalg.norm(direction)
    largest = float(direction @ covariance @ direction)
    ratio = dimension.effective_dimension(covariance=covariance) * largest / np.trace(covariance)
    return exactly_one(ratio, slack=1e-6)


def frobenius(rng: RNG, trials: int, dim: int) -> Finding:
    """Squared trace over trace of the square, from all entries, over the function: exactly one."""
    factor = rng.normal(size=(dim, dim))
    covariance = factor @ factor.T
    direct = float(np.trace(covariance) ** 2 / (covariance**2).sum())
    return _unbiased(dimension.frobenius_dimension(covariance=covariance), direct)


def gram_random(rng: RNG, trials: int, n_bags: int) -> Finding:
    """Largest ratio of the distance of two Gram matrices to its bound, over random vectors in a ball."""
    ratios = []
    for _ in range(trials):
        means, guesses = rng.normal(size=(2, n_bags, 3))
        guesses = means + rng.choice([1e-3, 0.1, 1.0]) * guesses
        longest = float(np.sqrt(max((means**2).sum(axis=1).max(), (guesses**2).sum(axis=1).max())))
        bound = float(errors.gram_bound(((means - guesses) ** 2).sum(axis=1), longest))
        ratios.append(errors.gram_distance(means, guesses) / bound)
    return at_most_one(ratios, trials=trials)


def gram_attained(rng: RNG, trials: int, n_bags: int) -> Finding:
    """The same ratio for equal means that are all estimated slightly too short: one in the limit."""
    means = np.tile([[0.6, 0.8]], (n_bags, 1))
    guesses = (1 - 1e-5) * means
    bound = float(errors.gram_bound(((means - guesses) ** 2).sum(axis=1), 1.0))
    return Finding(observed=errors.gram_distance(means, guesses) / bound, at_least=0.9999, at_most=1.0)


def _risks(naive: Any, weights: Any, mse: Any) -> Any:
    """Estimated risks of weights, bags being single points."""
    s = bag_statistics(Bags.from_list([point[np.newaxis] for point in naive]))
    return tuning.unbiased_risk(weights, s, mse=mse)


def risk_identity(rng: RNG, trials: int, n_bags: int) -> Finding:
    """Largest gap of an identity between loss and estimated risk, L(w) - R(w) = G_i + 2 sum_j w_j T_ij.

    G_i = |e_i|^2 - s_i^2 and T_ij = <mu_j - mu_i, e_i> + <e_j, e_i> - G_i, for any weights that add up to one.
    """
    means, noise = rng.normal(size=(2, n_bags, 3))
    mse, weights = rng.uniform(0.5, 2, n_bags), rng.dirichlet(np.ones(n_bags), n_bags)
    naive = means + noise
    loss = ((weights @ naive - means) ** 2).sum(axis=1)
    excess = (noise**2).sum(axis=1) - mse
    cross = (means[np.newaxis] - means[:, np.newaxis] + noise) @ noise[:, :, np.newaxis]
    others = np.where(np.eye(n_bags, dtype=bool), 0.0, weights)
    claimed = excess + 2 * (others * (cross[:, :, 0] - excess[:, np.newaxis])).sum(axis=1)
    gap = np.abs(loss - _risks(naive, weights, mse) - claimed).max()
    return Finding(observed=float(gap), at_most=1e-12)


def risk_unbiased(rng: RNG, trials: int, n_bags: int) -> Finding:
    """Expectation of the estimated risk, over all outcomes of noise that is -1 or 1 times a scale, over the risk."""
    means, scales = rng.normal(size=(n_bags, 1)), rng.uniform(0.2, 2, n_bags)
    weights = rng.dirichlet(np.ones(n_bags), n_bags)
    signs = np.array(list(product((-1.0, 1.0), repeat=n_bags)))
    found = [_risks(means + (sign * scales)[:, np.newaxis], weights, scales**2) for sign in signs]
    return exactly_one(np.mean(found, axis=0) / errors.exact_mse(weights, means, scales**2))


_FAMILY = "Estimators and Gram matrices"
_TRACES = (
    ("naive_mse", "naive-error", "eq:esttaskvar", "error of the naive mean", (2, 3, 5), 1),
    ("trace_covariance", "trace", "beyond", "tr(Sigma)", (2, 3, 5), 1),
    ("trace_squared", "trace-squared", "beyond", "tr(Sigma^2)", (4, 5), 2),
    ("trace_cubed", "trace-cubed", "beyond", "tr(Sigma^3)", (6,), 3),
)

CHECKS = (
    *(
        Check(
            id=f"unbiased-{id_}",
            family=_FAMILY,
            title=f"estimate of {what} is unbiased",
            labels=(label,),
            functions=(f"dimension.{name}",),
            measure=trace,
            regimes=tuple(
                Regime(name=f"{n} points", values={"name": name, "n": n, "power": power}) for n in sizes
            ),
        )
        for name, id_, label, what, sizes, power in _TRACES
    ),
    Check(
        id="unbiased-cross-trace",
        family=_FAMILY,
        title="estimate of tr(Sx Sy) is unbiased",
        labels=("beyond",),
        functions=("dimension.trace_product",),
        measure=cross_trace,
        regimes=tuple(
            Regime(name=f"{n} and {m} points", values={"n": n, "m": m}) for n, m in ((2, 3), (4, 2))
        ),
    ),
    Check(
        id="unbiased-distance",
        family=_FAMILY,
        title="U is unbiased for the squared distance of the means",
        labels=("eq:Ustat",),
        functions=("dimension.u_statistic",),
        measure=distance,
        regimes=tuple(
            Regime(name=f"{n} and {m} points", values={"n": n, "m": m}) for n, m in ((2, 2), (4, 3))
        ),
    ),
    Check(
        id="variance-of-distance",
        family=_FAMILY,
        title="variance of U",
        labels=("beyond",),
        functions=("dimension.u_variance",),
        measure=variance,
        regimes=tuple(
            Regime(name=f"{n} and {m} points", values={"n": n, "m": m}) for n, m in ((2, 2), (4, 3))
        ),
    ),
    Check(
        id="risk-identity",
        family=_FAMILY,
        title="loss minus estimated risk of weights is linear in the weights",
        labels=("beyond",),
        functions=("stbmta.tuning.unbiased_risk",),
        measure=risk_identity,
        regimes=tuple(Regime(name=f"{b} bags", values={"n_bags": b}) for b in (2, 10)),
    ),
    Check(
        id="unbiased-risk",
        family=_FAMILY,
        title="estimated risk of fixed weights is unbiased",
        labels=("beyond",),
        functions=("stbmta.tuning.unbiased_risk",),
        measure=risk_unbiased,
        regimes=tuple(Regime(name=f"{b} bags", values={"n_bags": b}) for b in (2, 6)),
    ),
    Check(
        id="effective-dimension",
        family=_FAMILY,
        title="trace over largest eigenvalue",
        labels=("eq:deffunif",),
        functions=("dimension.effective_dimension",),
        measure=effective,
        regimes=tuple(Regime(name=f"d = {d}", values={"dim": d}) for d in (2, 5)),
    ),
    Check(
        id="frobenius-dimension",
        family=_FAMILY,
        title="squared trace over trace of the square",
        labels=("beyond",),
        functions=("dimension.frobenius_dimension",),
        measure=frobenius,
        regimes=tuple(Regime(name=f"d = {d}", values={"dim": d}) for d in (2, 5)),
    ),
    Check(
        id="gram-frobenius",
        family=_FAMILY,
        title="Gram matrices of the means, random vectors",
        labels=("prop:gramfrineq",),
        functions=("errors.gram_bound", "errors.gram_distance"),
        measure=gram_random,
        regimes=tuple(Regime(name=f"{b} bags", values={"n_bags": b}, trials=500) for b in (1, 5, 50)),
    ),
    Check(
        id="gram-frobenius-attained",
        family=_FAMILY,
        title="Gram matrices of the means: the constant 4 is attained in the limit",
        labels=("prop:gramfrineq",),
        functions=("errors.gram_bound", "errors.gram_distance"),
        measure=gram_attained,
        regimes=tuple(Regime(name=f"{b} bags", values={"n_bags": b}) for b in (1, 20)),
    ),
)
