"""All formulas of the paper to compare with the package, by module."""

import mpmath as mp

from .oracle import (
    AVERAGE,
    GAMMA_NEIGHBORS,
    GAMMA_OTHERS,
    LEVEL_BAGS,
    LEVEL_LAW,
    LEVEL_PAIR,
    MEAN_LAW,
    ONE_LAW,
    PAIR_LAW,
    SIZES,
    SUPREMA,
    TAU_C,
    TAU_NEIGHBORS,
    TAU_OTHERS,
    TAU_SIZES,
    U_LAW,
    Formula,
    capped,
    delta,
    points,
    positive,
    q_pair,
    q_sigma,
    r,
    root,
    tau_min_bounded,
)

SPLIT = [{**p, "fraction": f} for p, f in zip(TAU_OTHERS, [0.5, 0.2, 1.0, 0.9, 0.31], strict=True)]

THEOREMS = [
    Formula("errors.naive_mse", lambda trace, n: trace / n, points(trace=[10.0, 0.3], n=[50.0, 1.0])),
    Formula("theorems.rough_bound", lambda tau, n_others: (1 + n_others * tau) / (n_others + 1), TAU_OTHERS),
    Formula(
        "theorems.rough_bound",
        lambda tau, n_others: (n_others / (n_others + 1)) ** 2 * tau + 1 / (n_others + 1),
        TAU_OTHERS,
        {"sharp": True},
    ),
    Formula(
        "theorems.gamma_independent",
        lambda tau, n_others: tau * n_others / ((1 + tau) * n_others + 1),
        TAU_OTHERS,
    ),
    Formula(
        "theorems.bound_independent",
        lambda tau, n_others: (tau * n_others + 1) / ((1 + tau) * n_others + 1),
        TAU_OTHERS,
    ),
    Formula(
        "theorems.bound_after_split",
        lambda tau, n_others, fraction: (tau * n_others + 1) / ((1 + tau) * n_others + 1) / fraction,
        SPLIT,
    ),
    Formula(
        "theorems.risk_independent",
        # the line before the last one in the proof, with v = n_others + 1 and eta = 1 - gamma
        lambda gamma, tau, n_others: (
            (1 - gamma) ** 2 / (n_others + 1) ** 2 * (n_others**2 * tau + n_others)
            + (1 - (1 - gamma) * (1 - 1 / (n_others + 1))) ** 2
        ),
        GAMMA_OTHERS,
    ),
    Formula(
        "theorems.average_independent",
        lambda tau, covering, n_bags: tau / (tau + 1) + covering / n_bags / (tau + 1),
        AVERAGE,
    ),
    Formula(
        "theorems.average_independent",
        # the line with the extremal cells in the proof
        lambda tau, covering, n_bags: (
            (
                covering
                - 1
                + (n_bags - covering + 1)
                * ((n_bags - covering) * tau + 1)
                / ((n_bags - covering) * (1 + tau) + 1)
            )
            / n_bags
        ),
        AVERAGE,
        {"simplified": False},
    ),
    Formula("theorems.gamma_same_data", lambda tau: tau / (1 + tau), points(tau=[0.0, 0.37, 2e5])),
    Formula(
        "theorems.risk_same_data",
        # the sum of the four terms of the proof, plus the bias, doubled
        lambda gamma, tau, n_neighbors: (
            2
            * (
                (1 - (1 - gamma) * (1 - 1 / n_neighbors)) ** 2 * (1 + tau)
                + 2 * (1 - gamma) * (1 - (1 - gamma) * (1 - 1 / n_neighbors)) * (1 - 1 / n_neighbors) * tau
                + (1 - gamma) ** 2 * (1 - 1 / n_neighbors) ** 2 * tau
                + (1 - gamma) ** 2 / n_neighbors * (1 - 1 / n_neighbors) * (1 + tau)
                + ((1 - gamma) * (1 - 1 / n_neighbors)) ** 2 * tau
            )
        ),
        GAMMA_NEIGHBORS,
    ),
    Formula(
        "theorems.bound_same_data",
        lambda tau, n_neighbors: 2 * (tau + (tau + 1 / n_neighbors) / (1 + tau)),
        TAU_NEIGHBORS,
    ),
    Formula(
        "theorems.average_same_data",
        lambda tau, covering, n_bags: 2 * (tau + tau / (1 + tau) + covering / n_bags / (1 + tau)),
        AVERAGE,
    ),
    Formula(
        "theorems.useful_tau_same_data",
        lambda n_neighbors: mp.findroot(
            lambda x: 2 * (x + (x + 1 / n_neighbors) / (1 + x)) - 1, mp.mpf("0.2")
        ),
        points(n_neighbors=[3.0, 8.0, 1e9]),
    ),
    Formula(
        "theorems.covering_radius",
        lambda tau_prime, sigma: root(tau_prime) * sigma / 2,
        points(tau_prime=[0.3, 2.0], sigma=[1.0, 0.7]),
    ),
]

GAUSSIAN = [
    Formula("gaussian.delta", delta, SIZES),
    Formula(
        "gaussian.zeta",
        lambda tau, **s: positive(root(2 + tau) - 4 * root(delta(**s))) ** 2,
        TAU_SIZES,
    ),
    Formula(
        "gaussian.zeta",
        lambda tau, **s: (root(2 + tau) - 4 * root(delta(**s))) ** 2,
        TAU_SIZES,
        {"printed": True},
    ),
    Formula(
        "gaussian.tau_min",
        lambda C, **s: max(C * delta(**s), root(C * delta(**s))),
        [{**s, "C": c} for s, c in zip(SIZES, [1000.0, 972.0, 190.0, 1000.0], strict=True)],
    ),
    Formula("gaussian.tau_min", lambda **s: max(1000 * delta(**s), root(1000 * delta(**s))), SIZES),
    Formula("gaussian.delta_max", lambda tau, C: min(tau, tau**2) / C, TAU_C),
    Formula("gaussian.delta_max", lambda tau: min(tau, tau**2) / 1000, points(tau=[0.3, 5.0])),
    Formula(
        "gaussian.controlled_tau",
        lambda zeta, **s: positive((root(zeta) + 4 * root(delta(**s))) ** 2 - 2),
        [{"zeta": z, **s} for z, s in zip([3.0, 2.5, 1.9, 1.0], SIZES, strict=True)],
    ),
    Formula("gaussian.tau_prime", lambda tau: tau / 3, points(tau=[0.4])),
    Formula("gaussian.inner_excess", lambda tau, C: 3 * tau / root(C), TAU_C, {"printed": True}),
    Formula("gaussian.inner_excess", lambda tau, C: (root(2) + 1) * tau / root(C), TAU_C),
    Formula("gaussian.inner_excess", lambda tau: (root(2) + 1) * tau / root(1000), points(tau=[0.4])),
    Formula("gaussian.norm_excess", lambda tau, C: 2 * tau / C, TAU_C, {"printed": True}),
    Formula("gaussian.norm_excess", lambda tau, C: 2 * root(2) * tau / root(C) + 2 * tau / C, TAU_C),
    Formula(
        "gaussian.norm_excess",
        lambda tau: 2 * tau * (root(2) / root(1000) + 1 / mp.mpf(1000)),
        points(tau=[0.4]),
    ),
    Formula(
        "gaussian.covering_scale",
        lambda n_bags, dim, n: dim ** mp.mpf("0.25") * mp.log(n_bags) ** mp.mpf("0.25") / root(n),
        points(n_bags=[100.0, 1e12], dim=[50.0, 1e9], n=[10.0, 3.0]),
    ),
    Formula(
        "gaussian.covering_scale",
        lambda n_bags, dim, n: dim ** mp.mpf("0.25") * root(mp.log(n_bags) / n),
        points(n_bags=[100.0, 1e12], dim=[50.0, 1e9], n=[10.0, 3.0]),
        {"printed": True},
    ),
]

BOUNDED = [
    Formula(
        "bounded.t",
        lambda alpha, n_bags: mp.log(14 * n_bags**2 / alpha),
        points(alpha=[0.05, 1e-9], n_bags=[7.0, 1e12]),
    ),
    Formula("bounded.r", r, PAIR_LAW),
    Formula("bounded.r", r, [{**p, "constant": 9.52} for p in PAIR_LAW]),
    Formula("bounded.tau_min", tau_min_bounded, PAIR_LAW),
    Formula("bounded.tau_min", tau_min_bounded, [{**p, "constant": 9.52} for p in PAIR_LAW]),
    Formula("bounded.smallest_tau", lambda **a: 144 * tau_min_bounded(**a), PAIR_LAW),
    Formula(
        "bounded.smallest_tau",
        lambda **a: 144 * tau_min_bounded(**a),
        [{**p, "constant": 2.0} for p in PAIR_LAW],
    ),
    Formula("bounded.tau_prime", lambda tau: tau / 4, points(tau=[0.7])),
    Formula("bounded.tau_inner", lambda tau: tau / 7, points(tau=[0.7])),
    Formula("bounded.tau_norm", lambda tau: tau / 48, points(tau=[0.7])),
    Formula("bounded.pair_error", lambda t: capped(8 * mp.exp(-t)), points(t=[1.0, 3.3, 80.0])),
    Formula(
        "bounded.pair_error", lambda t: capped(2 * mp.exp(-t)), points(t=[1.0, 3.3, 80.0]), {"printed": True}
    ),
    Formula("bounded.similarity_error", lambda t, n_bags: capped(8 * n_bags**2 * mp.exp(-t)), LEVEL_BAGS),
    Formula(
        "bounded.inner_error", lambda t, n_bags: capped(6 * (n_bags**2 - n_bags) * mp.exp(-t)), LEVEL_BAGS
    ),
    Formula("bounded.norm_error", lambda t, n_bags: capped(n_bags * mp.exp(-t)), LEVEL_BAGS),
    Formula("bounded.total_error", lambda t, n_bags: capped(14 * n_bags**2 * mp.exp(-t)), LEVEL_BAGS),
    Formula(
        "bounded.total_error",
        lambda t, n_bags: capped((8 * n_bags**2 + 6 * (n_bags**2 - n_bags) + n_bags) * mp.exp(-t)),
        [*LEVEL_BAGS, {"t": 3.0, "n_bags": 1.0}],
        {"simplified": False},
    ),
    Formula("bounded.q", q_pair, PAIR_LAW),
    Formula("bounded.q_sigma", q_sigma, ONE_LAW),
    Formula(
        "bounded.q_bousquet",
        lambda t, d_eff, L, n, sigma: (
            root(2 * (2 * sigma**2 / d_eff + 2 * (4 * L / n) * root(2) * sigma) * t) + 4 * L / n * t / 3
        ),
        PAIR_LAW,
    ),
]

CONCENTRATION = [
    Formula(
        "concentration.gaussian_norm_upper",
        lambda t, dim, mean_norm, scale: root(mean_norm**2 + scale**2 * dim) + scale * root(2 * t),
        LEVEL_LAW,
    ),
    Formula(
        "concentration.gaussian_norm_lower",
        lambda t, dim, mean_norm, scale: root(mean_norm**2 + scale**2 * dim) - 2 * scale * root(2 * t),
        LEVEL_LAW,
    ),
    Formula(
        "concentration.gaussian_norm_lower",
        lambda t, dim, mean_norm, scale: root(mean_norm**2 + scale**2 * (dim - 1)) - scale * root(2 * t),
        LEVEL_LAW,
        {"sharp": True},
    ),
    Formula(
        "concentration.gaussian_sq_norm_upper",
        lambda t, dim, mean_norm, scale: (
            mean_norm**2
            + dim * scale**2
            + 2 * root((2 * mean_norm**2 + dim * scale**2) * scale**2 * t)
            + 2 * scale**2 * t
        ),
        LEVEL_LAW,
    ),
    Formula(
        "concentration.gaussian_sq_norm_lower",
        lambda t, dim, mean_norm, scale: (
            mean_norm**2 + dim * scale**2 - 2 * root((2 * mean_norm**2 + dim * scale**2) * scale**2 * t)
        ),
        LEVEL_LAW,
    ),
    Formula(
        "concentration.gaussian_inner_upper",
        lambda t, dim, scale: scale**2 * (root(2 * dim * t) + t),
        [{k: p[k] for k in ("t", "dim", "scale")} for p in LEVEL_LAW],
    ),
    Formula(
        "concentration.pair_distance_upper", lambda t, tau, dim: root(tau + 2) + 2 * root(t / dim), LEVEL_PAIR
    ),
    Formula(
        "concentration.pair_distance_lower", lambda t, tau, dim: root(tau + 2) - 4 * root(t / dim), LEVEL_PAIR
    ),
    Formula(
        "concentration.talagrand_upper",
        lambda t, variance, L, expectation: 2 * root((2 * variance + 16 * L * expectation) * t) + 2 * L * t,
        SUPREMA,
    ),
    Formula(
        "concentration.talagrand_lower",
        lambda t, variance, L, expectation: 2 * root((4 * variance + 32 * L * expectation) * t) + 4 * L * t,
        SUPREMA,
    ),
    Formula(
        "concentration.bousquet_upper",
        lambda t, variance, L, expectation: root(2 * t * (variance + 2 * L * expectation)) + L * t / 3,
        SUPREMA,
    ),
    Formula(
        "concentration.klein_rio_lower",
        # the positive root of x^2 = t (2 v + 2 L x)
        lambda t, variance, L, expectation: (
            t * L + root((t * L) ** 2 + 2 * t * (variance + 2 * L * expectation))
        ),
        SUPREMA,
    ),
    Formula(
        "concentration.expected_norm_bounds",
        lambda op_norm, trace, L, n: root(trace / n) - 2 * q_sigma(1, op_norm, trace, L, n),
        [{k: p[k] for k in ("op_norm", "trace", "L", "n")} for p in ONE_LAW],
        part=0,
    ),
    Formula(
        "concentration.expected_norm_bounds",
        lambda op_norm, trace, L, n: root(trace / n),
        [{k: p[k] for k in ("op_norm", "trace", "L", "n")} for p in ONE_LAW],
        part=1,
    ),
    Formula(
        "concentration.bounded_norm_upper", lambda **a: root(a["trace"] / a["n"]) + q_sigma(**a), ONE_LAW
    ),
    Formula(
        "concentration.bounded_norm_lower", lambda **a: root(a["trace"] / a["n"]) - 4 * q_sigma(**a), ONE_LAW
    ),
    Formula(
        "concentration.bounded_norm_lower",
        lambda expected_norm, **a: expected_norm - 2 * q_sigma(**a),
        [{**p, "expected_norm": 0.13} for p in ONE_LAW],
    ),
    Formula(
        "concentration.linear_term_upper",
        lambda t, mean_norm, op_norm, L, n: mean_norm * (root(2 * op_norm * t / n) + 4 * L * t / (3 * n)),
        [{k: p[k] for k in ("t", "mean_norm", "op_norm", "L", "n")} for p in MEAN_LAW],
    ),
    Formula(
        "concentration.bounded_sq_norm_upper",
        lambda mean_norm, **a: (
            mean_norm**2 + (root(a["trace"] / a["n"]) + q_sigma(**a)) ** 2 + 2 * mean_norm * q_sigma(**a)
        ),
        MEAN_LAW,
    ),
    Formula(
        "concentration.bounded_sq_norm_upper",
        lambda mean_norm, expected_norm, **a: (
            mean_norm**2 + (expected_norm + q_sigma(**a)) ** 2 + 2 * mean_norm * q_sigma(**a)
        ),
        [{**p, "expected_norm": 0.13} for p in MEAN_LAW],
    ),
    Formula(
        "concentration.bounded_sq_norm_lower",
        lambda mean_norm, **a: (
            mean_norm**2
            + positive(root(a["trace"] / a["n"]) - 4 * q_sigma(**a)) ** 2
            - 2 * mean_norm * q_sigma(**a)
        ),
        MEAN_LAW,
    ),
    Formula(
        "concentration.bounded_sq_norm_lower",
        lambda mean_norm, expected_norm, **a: (
            mean_norm**2 + positive(expected_norm - 2 * q_sigma(**a)) ** 2 - 2 * mean_norm * q_sigma(**a)
        ),
        [{**p, "expected_norm": 4.1} for p in MEAN_LAW],
    ),
    Formula(
        "concentration.mean_sq_norm_lower",
        lambda t, mean_norm, trace, L, n: (
            trace + mean_norm**2 - root(2 * 4 * L**2 * trace * t / n) - 2 * L**2 * t / (3 * n)
        ),
        [{k: p[k] for k in ("t", "mean_norm", "trace", "L", "n")} for p in MEAN_LAW],
    ),
    Formula(
        "concentration.mean_sq_norm_lower",
        lambda t, mean_norm, trace, L, n: (
            trace + mean_norm**2 - root(2 * L**2 * (trace / n) * t) - 2 * L**2 * t / (3 * n)
        ),
        [{k: p[k] for k in ("t", "mean_norm", "trace", "L", "n")} for p in MEAN_LAW],
        {"printed": True},
    ),
    Formula(
        "concentration.bounded_inner_upper",
        lambda **a: 20 * q_pair(**a) * max(a["sigma"], q_pair(**a)),
        PAIR_LAW,
    ),
    Formula(
        "concentration.bounded_inner_upper",
        lambda constant, **a: constant * q_pair(**a) * max(a["sigma"], q_pair(**a)),
        [{**p, "constant": 10.0} for p in PAIR_LAW],
    ),
    Formula(
        "concentration.u_statistic_upper",
        lambda distance, **a: (
            distance**2
            + 2 * distance * q_pair(**a)
            + 2 * root(2 * a["sigma"] ** 2) * q_pair(**a)
            + 11 * q_pair(**a) ** 2
        ),
        U_LAW,
    ),
    Formula(
        "concentration.u_statistic_lower",
        lambda distance, **a: (
            distance**2
            - 2 * distance * q_pair(**a)
            - 8 * root(2 * a["sigma"] ** 2) * q_pair(**a)
            - 32 * q_pair(**a) ** 2
        ),
        U_LAW,
    ),
]

FORMULAS = THEOREMS + GAUSSIAN + BOUNDED + CONCENTRATION
