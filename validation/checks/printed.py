"""The formulas themselves, written down once more: what no experiment can tell, algebra can.

A bound that is too large is true, and so is a constant within the slack of a loose bound. Simulation cannot refute
either, but the function then differs from what the paper prints (or, beyond the paper, from what its docstring says).
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from scipy.stats import chi2, ncx2

from stbmta.theory import statements

from ..check import Check, Finding, Regime, exactly_one

__all__ = ["CHECKS"]

RNG = np.random.Generator
POINTS = 200

DOMAINS = {
    "alpha": (1e-3, 0.5),
    "covering": (1.0, 10.0),
    "d_eff": (1.0, 1e6),
    "dim": (1e4, 1e8),
    "distance": (1e-2, 10.0),
    "expected_norm": (1e-3, 10.0),
    "expectation": (1e-2, 1e2),
    "fraction": (0.1, 0.9),
    "gamma": (0.01, 0.99),
    "L": (0.1, 10.0),
    "mean_norm": (1e-2, 10.0),
    "n": (2.0, 1e8),
    "n_bags": (10.0, 1e6),
    "n_neighbors": (2.0, 1e3),
    "n_others": (1.0, 1e3),
    "op_norm": (1e-3, 1.0),
    "scale": (0.1, 10.0),
    "sigma": (1e-4, 1.0),
    "t": (1.0, 60.0),
    "tau": (1e-3, 10.0),
    "tau_prime": (1e-3, 10.0),
    "trace": (1e-2, 10.0),
    "variance": (1e-2, 1e2),
}
"""Arguments are drawn from these ranges, uniformly on a logarithmic scale."""


def _delta(n_bags: Any, dim: Any, alpha: Any) -> Any:
    return (2 * np.log(n_bags) + np.log(1 / alpha)) / dim


def _q(t: Any, d_eff: Any, L: Any, n: Any, sigma: Any) -> Any:
    return 2 * np.sqrt((4 * sigma**2 / d_eff + 16 * np.sqrt(2) * L * sigma / n) * t) + 2 * L * t / n


def _q_sigma(t: Any, op_norm: Any, trace: Any, L: Any, n: Any) -> Any:
    return 2 * np.sqrt((2 * op_norm / n + 16 * L * np.sqrt(trace) / n**1.5) * t) + 2 * L * t / n


def _r(t: Any, d_eff: Any, L: Any, n: Any, sigma: Any) -> Any:
    return 5 * (np.sqrt((1 / d_eff + L / (n * sigma)) * t) + L * t / (n * sigma))


def _tau_min(t: Any, d_eff: Any, L: Any, n: Any, sigma: Any) -> Any:
    r = _r(t, d_eff, L, n, sigma)
    return r * np.maximum(np.sqrt(2), r)


def _level(count: Any, t: Any) -> Any:
    return np.minimum(count * np.exp(-t), 1.0)


def _pairs(n_bags: Any) -> Any:
    return n_bags * (n_bags - 1) / 2


_T, _G, _B, _C = "theorems.", "gaussian.", "bounded.", "concentration."

FORMULAS: dict[str, Callable[..., Any]] = {
    _T + "rough_bound": lambda tau, n_others: (1 + n_others * tau) / (n_others + 1),
    _T + "gamma_independent": lambda tau, n_others: tau * n_others / ((1 + tau) * n_others + 1),
    _T + "bound_independent": lambda tau, n_others: (tau * n_others + 1) / ((1 + tau) * n_others + 1),
    _T + "average_independent": lambda tau, covering, n_bags: tau / (1 + tau) + covering / n_bags / (1 + tau),
    _T + "bound_after_split": lambda tau, n_others, fraction: (
        (tau * n_others + 1) / ((1 + tau) * n_others + 1) / fraction
    ),
    _T + "covering_radius": lambda tau_prime, sigma: np.sqrt(tau_prime) * sigma / 2,
    _T + "gamma_same_data": lambda tau: tau / (1 + tau),
    _T + "bound_same_data": lambda tau, n_neighbors: (
        2 * (tau + tau / (1 + tau) + 1 / n_neighbors / (1 + tau))
    ),
    _T + "average_same_data": lambda tau, covering, n_bags: (
        2 * (tau + tau / (1 + tau) + covering / n_bags / (1 + tau))
    ),
    _G + "delta": _delta,
    _G + "zeta": lambda tau, n_bags, dim, alpha: (
        (np.sqrt(2 + tau) - 4 * np.sqrt(_delta(n_bags, dim, alpha))) ** 2
    ),
    _G + "tau_min": lambda n_bags, dim, alpha: np.maximum(
        1000 * _delta(n_bags, dim, alpha), np.sqrt(1000 * _delta(n_bags, dim, alpha))
    ),
    _G + "tau_prime": lambda tau: tau / 3,
    _G + "stated_probabilities": lambda alpha: (alpha, alpha, np.minimum(2 * alpha, 1.0), alpha),
    _G + "exact_zeta": lambda tau, n_bags, dim, alpha: (
        2 / dim * ncx2.ppf(alpha / _pairs(n_bags), dim, tau * dim / 2)
    ),
    _G + "exact_zeta_power": lambda tau_prime, n_bags, dim, alpha: (
        2 / dim * ncx2.isf(alpha / _pairs(n_bags), dim, tau_prime * dim / 2)
    ),
    _G + "exact_norm": lambda n_bags, dim, alpha: (
        chi2.isf(-np.expm1(np.log1p(-alpha) / n_bags), dim) / dim - 1
    ),
    _B + "t": lambda alpha, n_bags: np.log(14 * n_bags**2 / alpha),
    _B + "r": _r,
    _B + "tau_min": _tau_min,
    _B + "smallest_tau": lambda t, d_eff, L, n, sigma: 144 * _tau_min(t, d_eff, L, n, sigma),
    _B + "tau_prime": lambda tau: tau / 4,
    _B + "tau_inner": lambda tau: tau / 7,
    _B + "tau_norm": lambda tau: tau / 48,
    _B + "q": _q,
    _B + "q_sigma": _q_sigma,
    _B + "similarity_error": lambda t, n_bags: _level(8 * n_bags**2, t),
    _B + "inner_error": lambda t, n_bags: _level(6 * n_bags * (n_bags - 1), t),
    _B + "norm_error": lambda t, n_bags: _level(n_bags, t),
    _B + "total_error": lambda t, n_bags: _level(14 * n_bags**2, t),
    _C + "gaussian_norm_upper": lambda t, dim, mean_norm, scale: (
        np.sqrt(mean_norm**2 + scale**2 * dim) + scale * np.sqrt(2 * t)
    ),
    _C + "gaussian_norm_lower": lambda t, dim, mean_norm, scale: (
        np.sqrt(mean_norm**2 + scale**2 * dim) - 2 * scale * np.sqrt(2 * t)
    ),
    _C + "gaussian_inner_upper": lambda t, dim, scale: scale**2 * (np.sqrt(2 * dim * t) + t),
    _C + "pair_distance_upper": lambda t, tau, dim: np.sqrt(2 + tau) + 2 * np.sqrt(t / dim),
    _C + "pair_distance_lower": lambda t, tau, dim: np.sqrt(2 + tau) - 4 * np.sqrt(t / dim),
    _C + "talagrand_upper": lambda t, variance, L, expectation: (
        2 * np.sqrt((2 * variance + 16 * L * expectation) * t) + 2 * L * t
    ),
    _C + "talagrand_lower": lambda t, variance, L, expectation: (
        2 * np.sqrt((4 * variance + 32 * L * expectation) * t) + 4 * L * t
    ),
    _C + "bousquet_upper": lambda t, variance, L, expectation: (
        np.sqrt(2 * (variance + 2 * L * expectation) * t) + L * t / 3
    ),
    _C + "linear_term_upper": lambda t, mean_norm, op_norm, L, n: (
        mean_norm * (np.sqrt(2 * op_norm * t / n) + 4 * L * t / (3 * n))
    ),
    _C + "expected_norm_bounds": lambda op_norm, trace, L, n: (
        np.sqrt(trace / n) - 2 * _q_sigma(1.0, op_norm, trace, L, n),
        np.sqrt(trace / n),
    ),
    _C + "bounded_norm_upper": lambda t, op_norm, trace, L, n, expected_norm: (
        expected_norm + _q_sigma(t, op_norm, trace, L, n)
    ),
    _C + "bounded_norm_lower": lambda t, op_norm, trace, L, n, expected_norm: (
        expected_norm - 2 * _q_sigma(t, op_norm, trace, L, n)
    ),
    _C + "bounded_sq_norm_upper": lambda t, mean_norm, op_norm, trace, L, n, expected_norm: (
        mean_norm**2
        + (expected_norm + _q_sigma(t, op_norm, trace, L, n)) ** 2
        + 2 * mean_norm * _q_sigma(t, op_norm, trace, L, n)
    ),
    _C + "bounded_sq_norm_lower": lambda t, mean_norm, op_norm, trace, L, n, expected_norm: (
        mean_norm**2
        + np.maximum(expected_norm - 2 * _q_sigma(t, op_norm, trace, L, n), 0.0) ** 2
        - 2 * mean_norm * _q_sigma(t, op_norm, trace, L, n)
    ),
    _C + "bounded_inner_upper": lambda t, d_eff, L, n, sigma: (
        20 * _q(t, d_eff, L, n, sigma) * np.maximum(sigma, _q(t, d_eff, L, n, sigma))
    ),
    _C + "u_statistic_upper": lambda t, distance, d_eff, L, n, sigma: (
        distance**2
        + 2 * (distance + np.sqrt(2) * sigma) * _q(t, d_eff, L, n, sigma)
        + 11 * _q(t, d_eff, L, n, sigma) ** 2
    ),
    _C + "u_statistic_lower": lambda t, distance, d_eff, L, n, sigma: (
        distance**2
        - 2 * (distance + 4 * np.sqrt(2) * sigma) * _q(t, d_eff, L, n, sigma)
        - 32 * _q(t, d_eff, L, n, sigma) ** 2
    ),
}
"""By function: the formula, with the arguments of the function in their order."""


def same_formula(rng: RNG, trials: int, function: str) -> Finding:
    """Ratio of a function to its formula, at random arguments: exactly one."""
    formula = FORMULAS[function]
    ranges = (DOMAINS[name] for name in signature(formula).parameters)
    arguments = [np.exp(rng.uniform(np.log(low), np.log(high), POINTS)) for low, high in ranges]
    module, name = function.rsplit(".", 1)
    found = getattr(import_module(f"stbmta.theory.{module}"), name)(*arguments)
    # Quantiles are known to fewer digits than sums and roots.
    slack = 1e-7 if name.startswith("exact") else 0.0
    return exactly_one(_values(found) / _values(formula(*arguments)), slack=slack)


def _values(result: Any) -> Any:
    """Put several results side by side."""
    if is_dataclass(result):
        return np.array([getattr(result, field.name) for field in fields(result)])
    return np.array(result, float)


def _labels(function: str) -> tuple[str, ...]:
    """Labels of a function in the registry of statements."""
    found = [s.label for s in statements() if s.function == f"stbmta.theory.{function}"]
    return tuple(dict.fromkeys(found))


CHECKS = tuple(
    Check(
        id="algebra-" + function.replace(".", "-").replace("_", "-"),
        family="Formulas",
        title=f"{function} is the formula that is {'documented' if 'beyond' in _labels(function) else 'printed'}",
        labels=_labels(function),
        functions=(function,),
        measure=same_formula,
        regimes=(Regime(name="random arguments", values={"function": function}),),
        kind="algebra",
    )
    for function in FORMULAS
)
