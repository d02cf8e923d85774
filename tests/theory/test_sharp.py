"""The sharp one-sample bound and the best weights for unequal bags."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize

from stbmta.theory import gaussian, sharp, theorems

EVENTS = {
    "tau": st.floats(0, 2),
    "c": st.floats(0, 0.5),
    "c_prime": st.floats(0, 1),
    "ell": st.floats(0, 1.5),
}


@given(gamma=st.floats(0, 1), n_neighbors=st.integers(1, 100), **EVENTS)
def test_gamma_is_the_best(gamma, n_neighbors, **events):
    assert (
        sharp.bound(**events, n_neighbors=n_neighbors)
        <= sharp.risk(gamma, **events, n_neighbors=n_neighbors) + 1e-12
    )


def test_risk_by_hand():
    # two neighbors, plain average: w = (1/2, 1/2)
    np.testing.assert_allclose(
        sharp.risk(0.0, 0.3, 0.1, 0.2, 0.05, 2), 0.5 * 1.2 + 0.5 * 0.1 + 0.25 * 0.3 + 0.05
    )
    np.testing.assert_allclose(sharp.risk(1.0, 0.3, 0.1, 0.2, 0.05, 2), 1.2)
    np.testing.assert_allclose(sharp.gamma(0.3, 0.1, 0.2, 0.05, 2), 1 - (1.1 - 0.05) / (1.1 + 0.15))
    assert sharp.gamma(0.3, 0.1, 0.2, 7.0, 2) == 1  # cross terms so large that nothing helps
    assert sharp.bound(0.3, 0.1, 0.2, 0.05, 1) == pytest.approx(1.2)  # alone
    with pytest.raises(ValueError, match="c must be below 1"):
        sharp.bound(0.3, 2.0, 0.2, 0.05, 2)


# so many neighbors, so near, that next to nothing is left of the naive error; then ordinary numbers
@pytest.mark.parametrize("gamma", [0.0, 1e-9, 1e-6, 0.3, 1.0])
@pytest.mark.parametrize(
    ("tau", "c", "c_prime", "ell", "n_neighbors"),
    [
        (0.0, 0.0, 0.0, 0.0, 1e12),
        (1e-9, 0.0, 0.0, 0.0, 50),
        (1e-13, 1e-15, 0.0, 0.0, 1e15),
        (1e-16, 0.0, 0.0, 1e-17, 1e9),
        (0.3, 0.1, 0.2, 0.05, 7),
    ],
)
def test_small_errors_have_all_their_digits(gamma, tau, c, c_prime, ell, n_neighbors):
    given = {"tau": tau, "c": c, "c_prime": c_prime, "ell": ell, "n_neighbors": n_neighbors}
    with mp.workdps(50):
        tau, c, c_prime, ell, n = (mp.mpf(v) for v in given.values())
        u, spread = 1 - 1 / n, 1 + c_prime - c

        def risk(gamma):
            e = 1 - gamma
            return (1 - 2 * e * u + e**2 * u) * spread + c + (e * u) ** 2 * tau + 2 * e * u * ell

        best = 1 - (spread - ell) / (spread + u * tau)
        np.testing.assert_allclose(sharp.risk(gamma, **given), float(risk(mp.mpf(gamma))), rtol=1e-12)
        np.testing.assert_allclose(sharp.gamma(**given), float(best), rtol=1e-12)
        np.testing.assert_allclose(sharp.bound(**given), float(risk(best)), rtol=1e-12)


def test_cross_term_is_a_normal_quantile():
    z = stats.norm.isf(0.01 / (2 * 100 * 4950))
    np.testing.assert_allclose(sharp.cross_term(0.3, 100, 1e4, 0.01), np.sqrt(0.3) * z / 100, rtol=1e-12)


# bags, dim, neighbors: Theorem 2 as printed with 0.01 for each event, and the sharp bound, total error 0.05
@pytest.mark.parametrize(
    ("bags", "dim", "printed", "sharper"),
    [
        (100, 1e3, 29.5, 0.953),
        (100, 1e4, 3.93, 0.408),
        (100, 1e5, 1.30, 0.147),
        (100, 1e6, 0.463, 0.0538),
        (1000, 1e4, 4.98, 0.4685),
        (1000, 1e5, 1.46, 0.1657),
    ],
)
def test_table_of_one_sample_bounds(bags, dim, printed, sharper):
    paper = theorems.bound_same_data(gaussian.tau_min(bags, dim, 0.01), bags)
    assert paper == pytest.approx(printed, rel=2e-3)
    assert sharp.gaussian_bound(bags, bags, dim, 0.05) == pytest.approx(sharper, rel=1e-3)
    share = 0.05 / 4
    tau = gaussian.exact_tau(bags, dim, share)
    again = sharp.gaussian_bound(bags, bags, dim, 0.05, tau=tau)
    assert again == pytest.approx(float(sharp.gaussian_bound(bags, bags, dim, 0.05)), rel=1e-9)


@given(tau=st.floats(0.01, 3), others=st.integers(1, 50), s2=st.floats(0.1, 10))
def test_waterfilling_is_theorem_1_for_equal_bags(tau, others, s2):
    distances = np.r_[0.0, np.full(others, np.sqrt(tau * s2))]
    filled = sharp.waterfill(distances, np.full(others + 1, s2))
    np.testing.assert_allclose(filled.bound, s2 * theorems.bound_independent(tau, others), rtol=1e-10)
    gamma = theorems.gamma_independent(tau, others)
    np.testing.assert_allclose(filled.weights[0], gamma + (1 - gamma) / (others + 1), rtol=1e-9)


def test_waterfilling_is_the_minimum(rng):
    for _ in range(20):
        n = rng.integers(2, 9)
        d, s2 = np.r_[0.0, rng.exponential(size=n - 1)], rng.uniform(0.1, 3, size=n)
        filled = sharp.waterfill(d, s2)
        assert filled.weights.min() >= 0
        np.testing.assert_allclose(filled.weights.sum(), 1.0)
        assert filled.bound <= s2[0] + 1e-12  # never worse than the naive mean

        def bound(w, d=d, s2=s2):
            return (w**2 * s2).sum() + (w @ d) ** 2

        best = minimize(
            bound, np.full(n, 1 / n), bounds=[(0, 1)] * n, constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 500},
        )  # fmt: skip
        np.testing.assert_allclose(filled.bound, best.fun, rtol=1e-6)
        used = filled.weights > 0
        assert np.all(d[used] < filled.level)
        assert np.all(d[~used] >= filled.level)
        inside = (
            filled.level / (np.maximum(filled.level - d, 0) / s2).sum()
        )  # the optimal value in closed form
        np.testing.assert_allclose(filled.bound, inside, rtol=1e-9)


def test_waterfilling_of_equal_means_weighs_by_precision():
    filled = sharp.waterfill([0.0, 0.0], [1.0, 3.0])
    np.testing.assert_allclose(filled.weights, [0.75, 0.25])
    np.testing.assert_allclose(filled.bound, 0.75)
    assert filled.level == np.inf
    assert "bags used" in filled.summary()
    with pytest.raises(ValueError, match="distance 0 at the bag itself"):
        sharp.waterfill([1.0, 2.0], [1.0, 1.0])
