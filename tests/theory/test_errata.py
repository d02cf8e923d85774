"""One test a number of docs/errata.md: the difference to the printed text matters, or does no harm."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cdist

from stbmta import Bags, bag_statistics, datasets, weights
from stbmta.theory import bounded, concentration, errors, events, gaussian, laws, statements, theorems

PAGE = Path(__file__).parents[2] / "docs" / "errata.md"


def numbers_on_the_page():
    return re.findall(r"^### (E\d+) ", PAGE.read_text(), re.MULTILINE)


def test_every_number_has_a_test_a_row_and_a_statement():
    numbers = numbers_on_the_page()
    assert numbers == [f"E{k}" for k in range(1, len(numbers) + 1)]
    tests = {m.group(1).upper() for name in globals() if (m := re.match(r"test_(e\d+)_", name))}
    assert tests == set(numbers)
    rows = re.findall(r"^\| \[(E\d+)\]\(#(\S+)\)", PAGE.read_text(), re.MULTILINE)
    assert [number for number, _ in rows] == numbers
    headings = re.findall(r"^### (E\d+ .+)$", PAGE.read_text(), re.MULTILINE)
    slugs = [re.sub(r"[^a-z0-9 -]", "", h.lower()).replace(" ", "-") for h in headings]
    assert [anchor for _, anchor in rows] == slugs
    assert {s.erratum for s in statements() if s.erratum} == set(numbers)
    for s in statements():
        assert s.status != "corrected" or s.erratum, s.label


def test_functions_on_the_page_exist():
    from stbmta import theory

    for module, name in re.findall(r"`(\w+)\.(\w+)", PAGE.read_text()):
        if module in theory.__all__:
            assert hasattr(getattr(theory, module), name), (module, name)


def test_e1_radii_the_wrong_way_round_exclude_everything():
    """A pair between tau and tau' > tau: whatever the test says, A or B has happened."""
    tau, tau_prime = 0.3, 0.9
    squares = np.array([[0.0, 0.5], [0.5, 0.0]])
    for accepted in (False, True):
        tests = np.array([[True, accepted], [accepted, True]])
        assert events.false_positive(tests, squares, tau) or events.false_negative(tests, squares, tau_prime)
        assert not events.false_positive(tests, squares, tau_prime)
        assert not events.false_negative(tests, squares, tau)
    assert not theorems.compatible(tau, tau_prime)
    assert theorems.compatible(tau, tau_prime, printed=True)
    assert theorems.compatible(tau_prime, tau)
    assert not theorems.compatible(tau_prime, tau, printed=True)
    assert theorems.compatible(tau, tau)
    assert theorems.compatible(tau, tau, printed=True)
    assert theorems.compatible([0.1, 0.3], 0.2).tolist() == [False, True]


def test_e2_neighbors_are_counted_by_the_cell_of_the_bag_itself():
    """Cells {0} and {1, 2, 3}: read as printed, bag 0 would have as many neighbors as the cell of bag 1."""
    means = np.array([[5.0], [0.0], [0.01], [0.02]])
    cell = np.array([0, 1, 1, 1])
    tau_prime = 0.04
    neighbors = events.similar_pairs((means - means.T) ** 2, tau_prime)
    counts, members = neighbors.sum(axis=1), np.bincount(cell)
    assert np.all(counts >= members[cell])
    assert counts[0] < members[cell[1]]
    # and the averaged bound holds
    tau, others = 0.1, counts - 1
    w = errors.shrinkage_weights(neighbors, theorems.gamma_independent(tau, others))
    assert errors.exact_mse(w, means, 1.0).mean() <= theorems.average_independent(tau, 2, 4)


def test_e3_the_level_of_one_test_is_alpha_over_the_square_of_the_number_of_bags():
    bags, dim, alpha = np.array([2.0, 100.0, 1e12]), 70.0, 0.05
    np.testing.assert_allclose(np.exp(-dim * gaussian.delta(bags, dim, alpha)), alpha / bags**2, rtol=1e-12)
    assert np.all(alpha * bags**2 > alpha / bags**2)  # the printed level would even exceed one


def test_e4_the_printed_bound_of_the_norms_fails():
    bags, dim, alpha = 100, 10**6, 0.05
    tau = gaussian.tau_min(bags, dim, alpha)

    def exceeded(excess):
        return np.exp(laws.chi_square_logsf(dim * (1 + excess), dim))

    assert exceeded(gaussian.norm_excess(tau)) <= alpha / bags**2
    assert exceeded(gaussian.norm_excess(tau, printed=True)) > 0.4  # promised: at most alpha / B^2
    assert gaussian.norm_excess(tau) < tau  # so the conclusion stands
    np.testing.assert_allclose(gaussian.norm_excess(1.0), 0.0915, rtol=1e-3)


def test_e5_the_radius_of_the_covering_grows_like_the_fourth_root_of_the_logarithm():
    few, many, dim, n, alpha = 1e3, 1e12, 1e9, 50, 0.999999

    def radius(bags):
        tau = gaussian.tau_min(bags, dim, alpha)
        assert tau < 1  # the square root decides
        return theorems.covering_radius(gaussian.tau_prime(tau), np.sqrt(dim / n))

    growth = radius(many) / radius(few)

    def scale(printed):
        return gaussian.covering_scale(many, dim, n, printed=printed) / gaussian.covering_scale(
            few, dim, n, printed=printed
        )

    np.testing.assert_allclose(scale(False), growth, rtol=1e-6)
    np.testing.assert_allclose(scale(True), growth**2, rtol=1e-6)


def test_e6_below_its_domain_the_printed_threshold_accepts_everybody():
    bags, dim, alpha, tau = 100, 5, 0.05, 0.01
    printed = gaussian.zeta(tau, bags, dim, alpha, printed=True)
    wrong = gaussian.exact_event_probabilities(tau, printed, bags, dim)
    right = gaussian.exact_event_probabilities(tau, gaussian.zeta(tau, bags, dim, alpha), bags, dim)
    assert gaussian.zeta(tau, bags, dim, alpha) == 0
    assert wrong.A == 1
    assert alpha >= right.A
    # inside its domain nothing was corrected
    grid = (
        np.array([2.0, 100.0, 1e12])[:, None, None],
        np.array([1.0, 50.0, 1e9])[:, None],
        np.array([1e-9, 0.9]),
    )
    for factor in (1.0, 1.5, 100.0):
        allowed = factor * gaussian.tau_min(*grid)
        np.testing.assert_array_equal(
            gaussian.zeta(allowed, *grid), gaussian.zeta(allowed, *grid, printed=True)
        )
    (status,) = (s for s in statements().labeled("prop:testgauss") if s.function.endswith(".zeta"))
    assert (status.status, status.erratum) == ("corrected", "E6")


GRID = np.random.default_rng(5).uniform(-1, 1, size=(5, 4000))


def one_mean():
    """Random t, L, n and covariance with op <= tr <= L^2, over many orders of magnitude."""
    t, L, n = 10 ** (1.5 * GRID[0] + 0.5), 10 ** GRID[1], np.ceil(10 ** (4 * GRID[2] + 4)) + 1
    trace = L**2 * 10 ** (2 * GRID[3] - 2)
    return {"t": t, "op_norm": trace * 10 ** (4 * GRID[4] - 4), "trace": trace, "L": L, "n": n}


def test_e7_the_printed_deviation_holds_with_points_twice_as_long():
    assert abs(-1 - stats.bernoulli(0.99).mean() * 2 + 1) == pytest.approx(1.98)  # -1 minus its mean 0.98
    a = one_mean()
    supremum = (a["op_norm"] / a["n"], 2 * a["L"] / a["n"], np.sqrt(a["trace"] / a["n"]))
    q = bounded.q_sigma(**a)
    assert np.all(concentration.bousquet_upper(a["t"], *supremum) <= q)
    assert np.all(concentration.klein_rio_lower(a["t"], *supremum) <= 2 * q)
    assert np.any(
        concentration.talagrand_upper(a["t"], *supremum) > 1.3 * q
    )  # the printed proof cannot do it


def test_e8_the_linear_term_has_room_for_points_twice_as_long():
    a = one_mean()
    mu = 0.7 * a["L"]
    bernstein = mu * (np.sqrt(2 * a["op_norm"] * a["t"] / a["n"]) + 2 * a["L"] * a["t"] / (3 * a["n"]))
    printed = concentration.linear_term_upper(a["t"], mu, a["op_norm"], a["L"], a["n"])
    assert np.all(bernstein <= printed)
    assert np.all(printed <= mu * bounded.q_sigma(**a))


def pair_of_means():
    t, L, n = 10 ** (1.5 * GRID[0] + 1.5) + 1, 10 ** GRID[1], np.ceil(10 ** (4 * GRID[2] + 4)) + 1
    sigma = L / np.sqrt(n) * 10 ** (GRID[3] - 1)
    return {"t": t, "d_eff": 10 ** (5 * GRID[4] + 5), "L": L, "n": n, "sigma": sigma}


def test_e9_pairs_of_points_are_identically_distributed():
    a = pair_of_means()
    supremum = (2 * a["sigma"] ** 2 / a["d_eff"], 4 * a["L"] / a["n"], np.sqrt(2) * a["sigma"])
    np.testing.assert_allclose(
        concentration.bousquet_upper(a["t"], *supremum), bounded.q_bousquet(**a), rtol=1e-12
    )
    assert np.all(bounded.q_bousquet(**a) <= bounded.q(**a))
    # Klein and Rio allow different laws, so the 2 N points may come one by one, each bounded by 2 L / N
    one_by_one = (supremum[0], supremum[1] / 2, supremum[2])
    assert np.all(concentration.klein_rio_lower(a["t"], *one_by_one) <= 2 * bounded.q(**a))


def test_e10_lower_deviations_have_better_constants():
    t, variance, L, expectation = 10 ** (2 * GRID[:4])
    ratio = concentration.klein_rio_lower(t, variance, L, expectation) / concentration.talagrand_lower(
        t, variance, L, expectation
    )
    assert 0.49 < ratio.max() <= 0.5
    ratio = concentration.bousquet_upper(t, variance, L, expectation) / concentration.talagrand_upper(
        t, variance, L, expectation
    )
    assert 0.49 < ratio.max() <= 0.5


def test_e11_ten_suffices_for_inner_products():
    assert concentration.probability("bounded_inner_upper", np.log(6)) == pytest.approx(1)
    assert concentration.probability("bounded_inner_upper", 1.0) == 1
    a = pair_of_means()
    half = concentration.bounded_inner_upper(**a, constant=10.0)
    np.testing.assert_allclose(half, concentration.bounded_inner_upper(**a) / 2, rtol=1e-12)
    # 2 <X, Y> = |X + Y|^2 - |X|^2 - |Y|^2: upper deviation of the first, lower ones of the others, as in the proof
    s, q = a["sigma"], bounded.q(**a)
    twice = 2 * np.sqrt(2) * s * q + q**2 + 2 * (8 * s * q)
    assert np.all(twice <= 2 * half)


def test_e12_the_printed_variance_is_too_small_and_its_bound_fails():
    """|X| is 1 or 1 - h, half and half: the mean of |X|^2 is an exact binomial."""
    h, n, t = 0.1, 10**6, 3.0
    variance, trace = (1 - (1 - h) ** 2) ** 2 / 4, h**2 / 4
    assert 3.6 < variance / trace <= 4
    law = {"mean_norm": 1 - h / 2, "trace": trace, "L": 1.0, "n": n}

    def below(limit):
        """P(mean of |X|^2 <= limit); the mean is 1 - share of short ones times (1 - (1 - h)^2)."""
        return stats.binom.sf(np.ceil((1 - limit) / (1 - (1 - h) ** 2) * n) - 1, n, 0.5)

    assert below(concentration.mean_sq_norm_lower(t, **law, printed=True)) > 1.9 * np.exp(-t)
    assert below(concentration.mean_sq_norm_lower(t, **law)) <= np.exp(-t)


def test_e13_the_final_constant_covers_bags_of_two():
    n = np.arange(2, 1000)
    step = 16 * n / (n - 1)
    assert step[0] == 32
    assert np.all(step[1:] < 32)
    assert np.all(step > 16)  # the printed intermediate line is too small for every bag
    a = {"d_eff": 10.0, "L": 1.0, "n": 2, "sigma": 0.5}
    q = bounded.q(2.0, **a)
    np.testing.assert_allclose(
        -concentration.u_statistic_lower(2.0, 0.0, **a), 8 * np.sqrt(2) * 0.5 * q + 32 * q**2, rtol=1e-12
    )


def test_e14_r_is_below_q_where_it_matters_and_the_proposition_holds():
    small = {"t": 1.0, "d_eff": np.inf, "L": 0.01, "n": 1, "sigma": 1.0}  # y t = 0.01
    np.testing.assert_allclose(bounded.q(**small), 0.971, rtol=1e-3)
    np.testing.assert_allclose(bounded.r(**small), 0.55, rtol=1e-12)
    a = pair_of_means()
    length, q = a["sigma"] * bounded.r(**a), bounded.q(**a)
    assert np.any(q > 1.7 * length)
    repaired = a["sigma"] * bounded.r(**a, constant=bounded.PROOF_CONSTANT)
    assert np.all(q <= repaired)
    # with centered points of length 2 L, q has 2 L for L
    longer = bounded.q(**{**a, "L": 2 * a["L"]})
    assert np.all(longer <= a["sigma"] * bounded.r(**a, constant=bounded.PROOF_CONSTANT_CENTERED))
    tiny = {**small, "L": 1e-12}  # and no smaller constant would do
    np.testing.assert_allclose(
        bounded.q(**tiny), bounded.r(**tiny, constant=bounded.PROOF_CONSTANT), rtol=1e-5
    )
    np.testing.assert_allclose(
        bounded.q(**{**tiny, "L": 2e-12}),
        bounded.r(**tiny, constant=bounded.PROOF_CONSTANT_CENTERED),
        rtol=1e-5,
    )
    # the other way: Bousquet for the upper deviation, Klein and Rio for the lower, stay below the printed r
    assert np.all(bounded.q_bousquet(**a) <= 0.952 * length)
    assert bounded.q_bousquet(**tiny) > 0.951 * bounded.r(**tiny)
    supremum = (2 * a["sigma"] ** 2 / a["d_eff"], 2 * a["L"] / a["n"], np.sqrt(2) * a["sigma"])
    assert np.all(concentration.klein_rio_lower(a["t"], *supremum) <= 2 * length)


def test_e15_a_miss_has_the_probability_of_the_inequality_that_is_used():
    t = np.array([1.0, 3.0, 9.0])
    np.testing.assert_allclose(
        bounded.pair_error(t), concentration.probability("u_statistic_upper", t), rtol=1e-12
    )
    np.testing.assert_allclose(bounded.pair_error(t[1:]), 4 * bounded.pair_error(t[1:], printed=True))
    # the printed union already has the larger one
    np.testing.assert_allclose(bounded.similarity_error(t[2], 10), 100 * bounded.pair_error(t[2]))


def test_e16_r_is_like_the_square_root_of_delta():
    r = bounded.r(3.0, np.array([100.0, 400.0]), 1.0, np.inf, 1.0)
    delta = gaussian.delta(10, np.array([100.0, 400.0]), 0.05)
    np.testing.assert_allclose(r[1] / r[0], np.sqrt(delta[1] / delta[0]), rtol=1e-12)


def test_e17_the_model_cluster_has_twenty_centers_and_standard_deviation_a_tenth():
    means = datasets.cluster(400, 200, rng=0).means
    squares = cdist(means, means, "sqeuclidean")
    together = squares < 100  # centers are at squared distance 400, members of one at 200 * 2 * 0.01 = 4
    assert len(np.unique(together, axis=0)) == 20
    np.testing.assert_allclose(squares[together & ~np.eye(400, dtype=bool)].mean(), 4.0, rtol=0.05)


@pytest.mark.filterwarnings("ignore:overflow")  # without the JIT, NumPy notices that a hash wraps around
def test_e18_constant_similarity_is_the_inverse_of_the_mean_squared_distance():
    near, far = ([[0.0, 2.0], [d, d + 2.0]] for d in (3.0, 30.0))
    kept = [
        weights.mta_constant(bag_statistics(Bags.from_list(bags)), constant=constant)[0, 0]
        for constant in ("inverse", "mean")
        for bags in (near, far)
    ]
    assert kept[1] > kept[0]  # the farther apart, the less is shared
    assert kept[3] < kept[2]  # as printed: the farther apart, the more
    s = bag_statistics(Bags.from_list(near))
    average = s.mmd2()[0, 1]
    np.testing.assert_allclose(
        weights.mta_constant(s, 1.0), weights.mta_constant(s, 2 / average**2, constant="mean"), rtol=1e-12
    )


def test_e19_zeta_stands_for_tau():
    neighbors = np.ones((4, 4), bool)
    zeta, c = 2.5, 0.7
    gamma = theorems.gamma_independent(c * zeta, 3)
    np.testing.assert_allclose(weights.stb_theory(neighbors, zeta, c)[0, 0], gamma + (1 - gamma) / 4)
    # equal means are at distance 2 in the Gaussian test, so zeta - 2 is what corresponds to tau
    np.testing.assert_allclose(gaussian.zeta(zeta - 2, 2, 1e12, 0.05), zeta, rtol=1e-4)


def test_e20_a_norm_of_zero_can_be_likely():
    """The mean of two signs is 0 half of the time, and the bound for it is 0."""
    law = {"mean_norm": 0.0, "op_norm": 1.0, "trace": 1.0, "L": 1.0, "n": 2}
    for expected in (0.5, None):  # E|X_1 + X_2| / 2
        bound = concentration.bounded_sq_norm_lower(2.0, **law, expected_norm=expected)
        assert bound == 0
    assert concentration.probability("bounded_sq_norm_lower", 2.0) < 0.5  # P(V^2 <= 0); P(V^2 < 0) = 0
