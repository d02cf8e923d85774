"""The sharper version of Theorem 2: no factor 2, at the price of one more event."""

import numpy as np

from stbmta.theory import errors, gaussian, sharp

from ..check import Check, Finding, Regime, exactly_one, proportion
from ..gaussian_runs import Setting, draw_naive
from ..models import simplex
from .theorem1 import TAUS
from .theorem2 import run_once

__all__ = ["CHECKS"]

RNG = np.random.Generator


def sharp_attained(rng: RNG, trials: int, tau: float) -> Finding:
    """Vectors for which the sharp bound is an equality, for random radii of the events."""
    ratios = []
    for _ in range(trials):
        v = int(rng.integers(2, 30))
        c, c_prime = rng.uniform(0.01, 0.3), rng.uniform(0.0, 0.3)
        ell = rng.random() * np.sqrt(tau * c)
        gamma = float(sharp.gamma(tau, c, c_prime, ell, v))
        # Noise sqrt(c) f_0 + sqrt(1 + c' - c) f_j; all means moved along a direction that has <e_j, .> = ell.
        noise = np.zeros((v, v + 2))
        noise[:, 0] = np.sqrt(c)
        noise[:, 2:] = np.sqrt(1 + c_prime - c) * np.eye(v)
        cosine = ell / np.sqrt(tau * c)
        means = np.zeros_like(noise)
        means[1:, 0], means[1:, 1] = np.sqrt(tau) * cosine, np.sqrt(tau) * np.sqrt(1 - cosine**2)
        first = np.zeros((v, v), bool)
        first[0] = True
        error = errors.squared_error(errors.shrinkage_weights(first, gamma), means + noise, means)[0]
        ratios.append(float(error / sharp.bound(tau, c, c_prime, ell, v)))
    return exactly_one(ratios, trials=trials)


def sharp_best_gamma(rng: RNG, trials: int, tau: float) -> Finding:
    """Sharp bound over the smallest sharp risk on a grid of gammas."""
    grid = np.linspace(0, 1, 2001)
    ratios = []
    for v in (1, 2, 10, 50):
        radii = (tau, 0.05, 0.06, 0.02)
        best = float(sharp.risk(grid, *radii, v).min())
        ratios.append(float(sharp.bound(*radii, v)) / best)
    return exactly_one(ratios, slack=1e-4)


def sharp_gaussian(rng: RNG, trials: int, model: str, n_bags: int, dim: int, alpha: float) -> Finding:
    """How often the sharp bound fails for some bag, with the exact radius of each event."""
    share = alpha / 4
    setting = Setting.make(n_bags, dim, share, "exact")
    c, c_prime = gaussian.exact_inner(n_bags, dim, share), gaussian.exact_norm(n_bags, dim, share)
    ell = sharp.cross_term(setting.tau, n_bags, dim, share)
    failed, best = 0, np.inf
    for _ in range(trials):
        naive, means, found = run_once(rng, setting, model)
        sizes = found.sum(axis=1)
        gamma = sharp.gamma(setting.tau, c, c_prime, ell, sizes)
        error = errors.squared_error(errors.shrinkage_weights(found, gamma), naive, means)
        bound = sharp.gaussian_bound(sizes, n_bags, dim, alpha, tau=setting.tau)
        failed += not np.all(error <= bound * setting.sigma**2)
        best = min(best, float(np.min(bound)))
    return proportion(failed, trials, at_most=alpha, vacuous=best >= 1)


def cross_terms(rng: RNG, trials: int, n_bags: int, dim: int, alpha: float) -> Finding:
    """How often an error has too large a product with a difference of means, all of them at the radius."""
    tau = 0.1
    setting = Setting.make(n_bags, dim, alpha, "exact")
    means = simplex(n_bags, tau * dim)
    limit = float(sharp.cross_term(tau, n_bags, dim, alpha)) * setting.sigma**2
    failed = 0
    for _ in range(trials):
        naive, padded = draw_naive(rng, setting, means)
        products = (naive - padded) @ padded.T
        failed += not (products.max(axis=1) - products.min(axis=1)).max() <= limit
    return proportion(failed, trials, at_least=0.5 * alpha, at_most=alpha)


_FAMILY = "Sharper than the paper"

CHECKS = (
    Check(
        id="sharp-attained",
        family=_FAMILY,
        title="one-sample bound without the factor 2, attained",
        labels=("beyond",),
        functions=("sharp.bound", "sharp.risk", "sharp.gamma"),
        measure=sharp_attained,
        regimes=tuple(Regime(name=f"tau = {tau:g}", values={"tau": tau}, trials=200) for tau in TAUS),
    ),
    Check(
        id="sharp-gamma",
        family=_FAMILY,
        title="the sharp gamma minimizes the sharp bound",
        labels=("beyond",),
        functions=("sharp.bound", "sharp.gamma", "sharp.risk"),
        measure=sharp_best_gamma,
        regimes=tuple(Regime(name=f"tau = {tau:g}", values={"tau": tau}) for tau in TAUS),
    ),
    Check(
        id="sharp-gaussian",
        family=_FAMILY,
        title="how often the sharp bound fails for any bag in the Gaussian setting",
        labels=("beyond",),
        functions=("sharp.gaussian_bound", "sharp.cross_term"),
        measure=sharp_gaussian,
        regimes=tuple(
            Regime(
                name=f"{model}, d = {dim:.0e}".replace("e+0", "e"),
                values={"model": model, "n_bags": 40, "dim": dim, "alpha": 0.2},
                trials=400,
            )
            for model in ("equal", "one direction", "unif", "two clusters")
            for dim in (1000, 10**5)
        ),
    ),
    Check(
        id="sharp-cross-term",
        family=_FAMILY,
        title="products of errors with differences of means",
        labels=("beyond",),
        functions=("sharp.cross_term",),
        measure=cross_terms,
        regimes=tuple(
            Regime(
                name=f"{b} bags, d = {d:.0e}".replace("e+0", "e"),
                values={"n_bags": b, "dim": d, "alpha": 0.5},
                trials=2500,
            )
            for b, d in ((3, 100), (10, 10**4))
        ),
    ),
)
