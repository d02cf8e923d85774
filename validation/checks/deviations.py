"""Gaussian concentration inequalities, against exact laws: no noise, tails down to exp(-200)."""

from collections.abc import Callable
from typing import Any

import numpy as np

from stbmta.theory import concentration, laws

from ..check import Check, Finding, Regime, at_most_one

__all__ = ["CHECKS"]

RNG = np.random.Generator
LogTail = Callable[[Any, Any, Any, Any], Any]

DIMS = (1, 2, 5, 10, 100, 10**4, 10**6)
MEANS = np.array([0.0, 1e-2, 1.0, 10.0, 1e3, 1e6])[:, np.newaxis]
"""Squared norms of the mean, in units of the noise."""
LEVELS = np.array([0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 60.0, 120.0, 200.0])
SCALE = 0.7


def _excess(log_p: Any, allowed: Any, claimed: Any) -> Finding:
    """Largest ratio of probability to its bound where the bound says something."""
    ratio = np.exp(np.minimum(log_p - allowed, 50.0))
    return at_most_one(np.where(claimed | np.isnan(ratio), ratio, 0.0))


def norm(rng: RNG, trials: int, name: str, dim: int, **options: Any) -> Finding:
    """Probability to cross a bound on the norm, or squared norm, over the stated one."""
    mean_norm = SCALE * np.sqrt(MEANS)
    threshold = getattr(concentration, name)(LEVELS, dim, mean_norm, SCALE, **options)
    if "sq_norm" not in name:
        threshold = np.maximum(threshold, 0.0) ** 2
    scaled = np.maximum(threshold, 0.0) / SCALE**2
    law = laws.chi_square_logsf if name.endswith("upper") else laws.chi_square_logcdf
    log_p = law(scaled, float(dim), np.broadcast_to(MEANS, scaled.shape))
    return _excess(log_p, np.log(concentration.probability(name, LEVELS)), threshold > 0)


def inner(rng: RNG, trials: int, name: str, dim: int) -> Finding:
    """Probability to cross the bound on an inner product, over the stated one."""
    threshold = getattr(concentration, name)(LEVELS, dim, SCALE) / SCALE**2
    log_p = laws.inner_product_logsf(threshold, float(dim))
    return _excess(log_p, np.log(concentration.probability(name, LEVELS)), threshold > 0)


def pair(rng: RNG, trials: int, name: str, dim: int) -> Finding:
    """Probability to cross the bound on the distance of two naive means, over the stated one."""
    tau = np.array([0.0, 1e-3, 0.1, 1.0, 30.0])[:, np.newaxis]
    threshold = np.maximum(getattr(concentration, name)(LEVELS, tau, dim), 0.0)
    scaled = threshold**2 * dim / 2  # of (N / 2) |naive_i - naive_j|^2
    law = laws.chi_square_logsf if name.endswith("upper") else laws.chi_square_logcdf
    log_p = law(scaled, float(dim), np.broadcast_to(tau * dim / 2, scaled.shape))
    return _excess(log_p, np.log(concentration.probability(name, LEVELS)), threshold > 0)


_FAMILY = "Gaussian concentration"
_NAMES = {
    "gaussian_norm_upper": ("eq:updev", "norm of a Gaussian vector, upper tail", norm, {}),
    "gaussian_norm_lower": ("eq:lowdev", "norm of a Gaussian vector, lower tail", norm, {}),
    "gaussian_norm_lower sharp": ("eq:lowdev", "norm, lower tail, half the constant", norm, {"sharp": True}),
    "gaussian_sq_norm_upper": ("prop:chisqdev", "squared norm, upper tail (Birge)", norm, {}),
    "gaussian_sq_norm_lower": ("prop:chisqdev", "squared norm, lower tail (Birge)", norm, {}),
    "gaussian_inner_upper": ("eq:devscprod", "inner product of Gaussian vectors", inner, {}),
    "pair_distance_upper": ("eq:gausbnd", "distance of naive means, upper tail", pair, {}),
    "pair_distance_lower": ("eq:gausbnd", "distance of naive means, lower tail", pair, {}),
}

CHECKS = tuple(
    Check(
        id=name.replace("_", "-").replace(" ", "-"),
        family=_FAMILY,
        title=title,
        labels=(label, "prop:scalarproddev") if label == "eq:devscprod" else (label,),
        functions=(f"concentration.{name.split()[0]}",),
        measure=measure,
        regimes=tuple(
            Regime(
                name=f"d = {d:.0e}".replace("e+0", "e"),
                values={"name": name.split()[0], "dim": d, **options},
            )
            for d in DIMS
        ),
    )
    for name, (label, title, measure, options) in _NAMES.items()
)
