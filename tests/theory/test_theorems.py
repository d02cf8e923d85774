"""The theorems as statements about vectors: bounds hold, are attained, and gamma is the best one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stbmta.theory import errors, sharp, theorems

TAU = st.floats(1e-3, 3.0)
OTHERS = st.integers(1, 60)


def cluster_at_distance(tau, others, sigma=1.0):
    """One bag at the origin, the others all at one point at distance sqrt(tau) sigma."""
    means = np.zeros((others + 1, 2))
    means[1:, 0] = np.sqrt(tau) * sigma
    return means


@given(tau=TAU, others=OTHERS)
def test_theorem_1_is_attained(tau, others):
    means = cluster_at_distance(tau, others)
    gamma = theorems.gamma_independent(tau, others)
    weights = errors.shrinkage_weights(np.ones((others + 1, others + 1)), gamma)
    error = errors.exact_mse(weights, means, 1.0)[0]
    np.testing.assert_allclose(error, theorems.bound_independent(tau, others), rtol=1e-12)
    np.testing.assert_allclose(error, theorems.risk_independent(gamma, tau, others), rtol=1e-12)
    plain = errors.shrinkage_weights(np.ones((others + 1, others + 1)), 0.0)
    np.testing.assert_allclose(
        errors.exact_mse(plain, means, 1.0)[0], theorems.rough_bound(tau, others, sharp=True), rtol=1e-12
    )


@given(tau=TAU, others=OTHERS, gamma=st.floats(0, 1))
def test_no_other_gamma_is_better(tau, others, gamma):
    slack = 1e-12
    assert theorems.bound_independent(tau, others) <= theorems.risk_independent(gamma, tau, others) + slack
    best = theorems.risk_same_data(theorems.gamma_same_data(tau), tau, others + 1)
    np.testing.assert_allclose(best, theorems.bound_same_data(tau, others + 1), rtol=1e-12)
    assert best <= theorems.risk_same_data(gamma, tau, others + 1) + slack
    assert theorems.rough_bound(tau, others) >= theorems.rough_bound(tau, others, sharp=True)


def test_theorem_1_holds_for_random_tests_means_and_unequal_errors(rng):
    for _ in range(300):
        n, tau = rng.integers(2, 12), rng.uniform(0.05, 2.0)
        means = rng.normal(size=(n, 3)) * rng.uniform(0.1, 1.5)
        naive_mse = rng.uniform(0.1, 1.0, size=n)
        squares = ((means[:, None] - means) ** 2).sum(-1)
        neighbors = (squares <= tau) & (rng.random((n, n)) < 0.7)  # no false positives, many misses
        np.fill_diagonal(neighbors, True)
        others = neighbors.sum(1) - 1
        weights = errors.shrinkage_weights(neighbors, theorems.gamma_independent(tau, others))
        np.testing.assert_allclose(weights.sum(1), 1.0)
        assert np.all(
            errors.exact_mse(weights, means, naive_mse) <= theorems.bound_independent(tau, others) + 1e-12
        )


def test_theorem_1_average_needs_half_of_the_radius():
    """Points at distance sqrt(tau') from a common center: one ball of that radius, yet no neighbors at all."""
    n, tau_prime, tau = 40, 0.2, 0.39
    means = np.sqrt(tau_prime) * np.eye(n)  # pairwise squared distances 0.4 > tau: every test must reject
    error = errors.exact_mse(np.eye(n), means, 1.0).mean()
    assert theorems.covering_radius(tau_prime) == pytest.approx(np.sqrt(tau_prime) / 2)
    # at the right radius the covering number is n, and the bound holds; at twice that radius it is 1
    assert error <= theorems.average_independent(tau, n, n)
    assert error > theorems.average_independent(tau, 1, n)


@given(tau=TAU, cells=st.lists(st.integers(1, 30), min_size=1, max_size=12))
def test_average_bounds_dominate_every_partition_into_cells(tau, cells):
    bags, covering = sum(cells), len(cells)
    single = np.array([theorems.bound_independent(tau, c - 1) for c in cells for _ in range(c)])
    sharper = theorems.average_independent(tau, covering, bags, simplified=False)
    assert single.mean() <= sharper + 1e-12
    assert sharper <= theorems.average_independent(tau, covering, bags) + 1e-12
    extremal = [bags - covering + 1] + [1] * (covering - 1)
    worst = np.array([theorems.bound_independent(tau, c - 1) for c in extremal for _ in range(c)])
    np.testing.assert_allclose(worst.mean(), sharper, rtol=1e-12)
    double = np.array([theorems.bound_same_data(tau, c) for c in cells for _ in range(c)])
    np.testing.assert_allclose(double.mean(), theorems.average_same_data(tau, covering, bags), rtol=1e-12)


def errors_in_the_worst_direction(tau, v):
    """Unit errors sqrt(tau) f0 + sqrt(1 - tau) f_j, and means shifted along their weighted sum (th:onesample)."""
    e = np.zeros((v, v + 1))
    e[:, 0] = np.sqrt(tau)
    e[np.arange(v), np.arange(v) + 1] = 1.0  # |e|^2 = 1 + tau, <e_i, e_j> = tau
    weights = errors.shrinkage_weights(np.ones((v, v)), theorems.gamma_same_data(tau))[0]
    direction = weights @ e
    means = np.zeros_like(e)
    means[1:] = np.sqrt(tau) * direction / np.linalg.norm(direction)
    return weights, e, means


@pytest.mark.parametrize(
    ("tau", "v", "reached"), [(0.1, 100, 0.85), (0.01, 100, 0.964), (0.001, 2000, 0.989)]
)
def test_the_factor_two_of_theorem_2_is_nearly_reached(tau, v, reached):
    weights, e, means = errors_in_the_worst_direction(tau, v)
    np.testing.assert_allclose((e**2).sum(1), 1 + tau)
    error = errors.squared_error(weights[None, :], means + e, means[:1])[0]
    bound = theorems.bound_same_data(tau, v)
    assert reached * bound < error <= bound


@given(tau=st.floats(0.01, 0.5), c=st.floats(0.0, 0.3), extra=st.floats(0.0, 0.5), v=st.integers(2, 40))
def test_the_sharp_theorem_holds_and_is_attained(tau, c, extra, v):
    """Same construction with the cross terms as large as they are: the sharp bound is an equality."""
    c_prime = extra + c
    e = np.zeros((v, v + 1))
    e[:, 0] = np.sqrt(c)
    e[np.arange(v), np.arange(v) + 1] = np.sqrt(1 + c_prime - c)
    for gamma in (0.0, 0.4):
        weights = errors.shrinkage_weights(np.ones((v, v)), gamma)[0]
        direction = weights @ e
        direction /= np.linalg.norm(direction)
        means = np.zeros_like(e)
        means[1:] = np.sqrt(tau) * direction
        error = errors.squared_error(weights[None, :], means + e, means[:1])[0]
        ell = np.abs(e @ direction).max() * np.sqrt(tau)
        assert error <= sharp.risk(gamma, tau, c, c_prime, ell, v) + 1e-12
        # with the average of the cross terms in place of their maximum there is no slack at all
        average = float(weights @ e @ direction) * np.sqrt(tau)
        np.testing.assert_allclose(error, sharp.risk(gamma, tau, c, c_prime, average, v), rtol=1e-11)


def test_gram_inequality_is_attained_in_the_limit(rng):
    mean = np.array([[0.6, 0.8]]).repeat(7, axis=0)
    shrunk = (1 - 1e-4) * mean
    ratio = errors.gram_distance(mean, shrunk) / errors.gram_bound(((mean - shrunk) ** 2).sum(1), L=1.0)
    assert 0.9998 < ratio <= 1
    for _ in range(100):
        a, b = (x / np.maximum(1, np.linalg.norm(x, axis=1))[:, None] for x in rng.normal(size=(2, 5, 3)))
        assert errors.gram_distance(a, b) <= errors.gram_bound(((a - b) ** 2).sum(1), L=1.0)
    np.testing.assert_allclose(errors.gram_bound([1.0, 2.0, 6.0], L=0.5), 4 * 0.25 * 3.0)


def test_weights_and_errors_by_hand():
    neighbors = np.array([[1, 1, 0], [0, 0, 1], [0, 0, 1]], bool)  # the diagonal is filled in
    weights = errors.shrinkage_weights(neighbors, [0.0, 0.2, 0.9])
    np.testing.assert_allclose(weights, [[0.5, 0.5, 0], [0, 0.6, 0.4], [0, 0, 1]])
    means = np.array([[0.0], [2.0], [5.0]])
    np.testing.assert_allclose(
        errors.exact_mse(weights, means, [1.0, 2.0, 4.0]), [1.75, 1.44 + 0.72 + 0.64, 4.0]
    )
    np.testing.assert_allclose(errors.squared_error(weights, [[1.0], [3.0], [4.0]], means), [4.0, 1.96, 1.0])
    with pytest.raises(ValueError, match="gamma must be at least 0 and at most 1; found 1.5"):
        errors.shrinkage_weights(neighbors, 1.5)


def test_a_vector_of_means_is_one_dimension():
    weights, means, naive = np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([0.0, 1.0]), np.array([0.0, 2.0])
    column = means[:, None], naive[:, None]
    np.testing.assert_array_equal(
        errors.exact_mse(weights, means, 2.0), errors.exact_mse(weights, column[0], 2.0)
    )
    np.testing.assert_array_equal(
        errors.squared_error(weights, naive, means), errors.squared_error(weights, *column[::-1])
    )
    assert (
        errors.gram_distance([0.0, 1.0], [1.0, 0.0])
        == errors.gram_distance([[0.0], [1.0]], [[1.0], [0.0]])
        == 0.5
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: errors.exact_mse([[1.0]], [0.0, np.nan], 1.0), r"means must be finite; found nan at index \(1,\)"),
        (lambda: errors.exact_mse(np.eye(3), [0.0, 1.0], 1.0), r"weights must have shape \(2, 2\); found \(3, 3\)"),
        (lambda: errors.exact_mse(np.eye(2), [0.0, 1.0], [1.0]), r"naive_mse must have shape \(2,\); found \(1,\)"),
        (lambda: errors.squared_error(np.eye(2), [0.0, 1.0], [0.0]), r"weights must have shape \(1, 2\)"),
        (lambda: errors.squared_error(np.eye(2), np.eye(2), [0.0, 1.0]), r"means must have shape \(2, 2\)"),
        (lambda: errors.gram_distance([0.0, 1.0], [0.0]), r"estimates must have shape \(2, 1\); found \(1, 1\)"),
        (lambda: errors.gram_bound([], 1.0), r"squared_errors must hold at least one bag; found shape \(0,\)"),
        (lambda: errors.shrinkage_weights([[1, np.nan], [0, 1]], 0.5), "neighbors must be finite; found nan"),
        (lambda: errors.shrinkage_weights([[1, 0, 1], [0, 1, 1]], 0.5), r"neighbors must have shape \(2, 2\)"),
        (lambda: errors.shrinkage_weights([1, 0], 0.5), r"neighbors must be a matrix"),
        (lambda: errors.shrinkage_weights(np.eye(2), [0.1] * 3), r"gamma must have shape \(2,\); found \(3,\)"),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_covering_number_cannot_exceed_the_number_of_bags():
    with pytest.raises(
        ValueError, match=r"covering must be at most n_bags; found 11 for 10 bags.*min\(covering"
    ):
        theorems.average_independent(0.1, 11, 10)
    with pytest.raises(ValueError, match="A bag is its own neighbor"):
        theorems.bound_same_data(0.1, 0)


def test_splitting_pays_only_with_enough_neighbors():
    for others in (2, 5, 30):
        edge = 1 - 1 / others
        assert theorems.bound_after_split(edge, others) == pytest.approx(1.0)
        assert (
            theorems.bound_after_split(0.9 * edge, others)
            < 1
            < theorems.bound_after_split(1.1 * edge, others)
        )
