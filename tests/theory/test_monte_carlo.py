"""Each deviation bound against draws at several levels, and against exact laws where it is nearly reached."""

import numpy as np
import pytest
from scipy import stats

from stbmta.theory import bounded, concentration, laws

from .deviations import LEVELS, deviations


@pytest.fixture(scope="module")
def found():
    return list(deviations(np.random.default_rng(7), 20_000))


def test_no_bound_fails_more_often_than_it_says(found):
    broken = [d for d in found if not d.holds]
    assert not broken


def test_every_bound_is_drawn_at_every_level(found):
    bounds = {n for n in concentration.__all__ if n.endswith(("_upper", "_lower"))}
    assert {(d.bound, d.level) for d in found} == {(b, t) for b in bounds for t in LEVELS}


def test_the_check_can_fail(found):
    """The same failures at a bound that promises a tenth are caught, where the bound is of the right order."""
    from dataclasses import replace

    tight = [d for d in found if d.bound == "gaussian_norm_upper" and d.level == 1.0]
    assert tight
    assert not all(replace(d, allowed=d.allowed / 20).holds for d in tight)


T = np.array([0.01, 0.3, 1.0, 5.0, 30.0, 200.0])[:, None, None]
DIM = np.array([1.0, 2.0, 5.0, 100.0, 1e4, 1e6])[:, None]
SQUARED_MEAN = np.array([0.0, 1.0, 100.0, 1e6])


def log_probability_above(norm):
    return laws.chi_square_logsf(np.maximum(norm, 0) ** 2, DIM, SQUARED_MEAN)


def log_probability_below(norm):
    with np.errstate(divide="ignore"):
        return laws.chi_square_logcdf(np.maximum(norm, 0) ** 2, DIM, SQUARED_MEAN)


def test_gaussian_norms_exactly():
    """log P + t <= 0 on a grid; 95 % of the upper constant would not do, nor would half of the lower one."""
    arguments = (T, DIM, np.sqrt(SQUARED_MEAN))
    center = np.sqrt(SQUARED_MEAN + DIM)
    upper, lower = (
        concentration.gaussian_norm_upper(*arguments),
        concentration.gaussian_norm_lower(*arguments),
    )
    assert np.all(log_probability_above(upper) + T <= 1e-9)
    assert np.any(log_probability_above(center + 0.95 * (upper - center)) + T > 0)
    assert np.all(log_probability_below(lower) + T <= 1e-9)
    assert np.any(log_probability_below(center + 0.475 * (lower - center)) + T > 0)
    sharp = concentration.gaussian_norm_lower(*arguments, sharp=True)
    assert np.all(log_probability_below(sharp) + T <= 1e-9)
    middle = np.sqrt(SQUARED_MEAN + DIM - 1)
    assert np.any(log_probability_below(middle + 0.95 * (sharp - middle)) + T > 0)


def test_squared_norms_exactly():
    arguments = (T, DIM, np.sqrt(SQUARED_MEAN))
    center = SQUARED_MEAN + DIM
    upper = concentration.gaussian_sq_norm_upper(*arguments)
    lower = concentration.gaussian_sq_norm_lower(*arguments)
    assert np.all(log_probability_above(np.sqrt(upper)) + T <= 1e-9)
    assert np.any(log_probability_above(np.sqrt(center + 0.95 * (upper - center))) + T > 0)
    assert np.all(log_probability_below(np.sqrt(np.maximum(lower, 0))) + T <= 1e-9)
    assert np.any(log_probability_below(np.sqrt(np.maximum(center + 0.95 * (lower - center), 0))) + T > 0)
    assert np.all(np.sqrt(upper) <= concentration.gaussian_norm_upper(*arguments) * (1 + 1e-12))


def test_inner_products_exactly():
    t, dim = T[:, :, 0], DIM[:, 0]
    limit = concentration.gaussian_inner_upper(t, dim)
    assert np.all(laws.inner_product_logsf(limit, dim) + t <= 1e-9)
    assert np.any(laws.inner_product_logsf(0.9 * np.sqrt(2 * dim * t) + t, dim) + t > 0)
    assert np.any(laws.inner_product_logsf(np.sqrt(2 * dim * t) + 0.5 * t, dim) + t > 0)


@pytest.mark.parametrize("chance", [1e-6, 1e-3, 0.05, 0.5])
def test_means_of_two_points_exactly(chance):
    """-1 with a small probability, else 1: binomial tails. Nearly half of q_Sigma is needed: 0.4 of it is too little."""
    n = np.array([10, 1000, 10**8])[:, None]
    t = np.array([1.0, 3.0, 30.0, 200.0])
    variance, rare = 4 * chance * (1 - chance), stats.binom(n, chance)
    q = bounded.q_sigma(t, variance, variance, 1.0, n)
    # V_c = 2 |K / n - chance| for the number K of rare points, and E V_c from its mean deviation
    expected = 2 * mean_deviation(n, chance) / n

    def above(limit):
        reach = limit / 2 * n
        return rare.sf(np.ceil(n * chance + reach) - 1) + rare.cdf(np.floor(n * chance - reach))

    assert np.all(
        above(concentration.bounded_norm_upper(t, variance, variance, 1.0, n, expected)) <= np.exp(-t)
    )
    assert np.all(above(concentration.bounded_norm_upper(t, variance, variance, 1.0, n)) <= np.exp(-t))
    if chance == 0.5:
        assert np.any(above(expected + 0.4 * q) > np.exp(-t))


def mean_deviation(n, p):
    """E |K - n p| of a binomial K, de Moivre's formula."""
    m = np.floor(n * p) + 1
    return 2 * m * (1 - p) * stats.binom.pmf(m, n, p)


def test_expected_norms_exactly():
    """cor:meanbounds for two points: the expectation is a mean deviation."""
    n, p = np.array([10, 1000, 10**6]), 0.3
    variance = 4 * p * (1 - p)
    expected = 2 * mean_deviation(n, p) / n
    lower, upper = concentration.expected_norm_bounds(variance, variance, 1.0, n)
    assert np.all(lower <= expected)
    assert np.all(expected <= upper)
    assert np.all(expected > 0.75 * upper)
