"""Exact Gaussian thresholds: their defining properties, published tables, and the paper's own proposition."""

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from stbmta.theory import confidence, exact, gaussian, tables

BAGS = np.array([2.0, 10.0, 100.0, 2000.0, 1e6, 1e12])
DIMS = np.array([1.0, 5.0, 50.0, 1e3, 1e4, 1e6, 1e9])


def test_exact_tau_is_below_the_printed_one_everywhere():
    b, d, alpha = BAGS[:, None, None], DIMS[:, None], np.array([0.01, 0.5])
    for ratio in (0.0, 1 / 3):
        ours = gaussian.exact_tau(b, d, alpha, ratio, same_data=True)
        assert np.all(ours <= gaussian.tau_min(b, d, alpha))


@pytest.mark.parametrize(
    ("bags", "alpha", "paper", "best"),
    [(1e6, 0.05, (703.9, 704.0), (208.6, 208.8)), (1e150, 1e-300, (727.5, 728.6), (235.5, 236.8))],
)
def test_how_large_the_constant_must_be(bags, alpha, paper, best):
    """The second number is enough in every dimension; the first is not in the one where tau is 1."""
    dim_over_constant = float(gaussian.delta(bags, 1, alpha))

    def enough(constant, tau):
        dim = constant * dim_over_constant / np.minimum(tau, tau**2)
        np.testing.assert_allclose(gaussian.tau_min(bags, dim, alpha, constant), tau, rtol=1e-12)
        return gaussian.exact_zeta_power(tau / 3, bags, dim, alpha) <= gaussian.zeta(tau, bags, dim, alpha)

    def enough_for_the_best(constant, tau):
        return gaussian.exact_tau(bags, constant * dim_over_constant / np.minimum(tau, tau**2), alpha) <= tau

    taus = np.array([0.01, 0.3, 0.9, 1.0, 1.1, 3.0, 100.0])
    assert not enough(paper[0], 1.0)
    assert np.all(enough(paper[1], taus))
    assert not enough_for_the_best(best[0], 1.0)
    assert np.all(enough_for_the_best(best[1], taus))


def test_inner_products_and_norms_hardly_ever_decide():
    b, d = BAGS[:, None], DIMS
    assert np.all(gaussian.exact_tau(b, d, 0.4) == gaussian.exact_tau(b, d, 0.4, same_data=True))
    # two bags at level one half: the median tells nothing from nothing
    assert gaussian.exact_tau(2, 50, 0.5) == 0
    both = gaussian.exact_tau(2, 50, 0.5, same_data=True)
    assert both == max(gaussian.exact_inner(2, 50, 0.5), gaussian.exact_norm(2, 50, 0.5)) > 0


def test_a_level_below_all_numbers_misses_everything():
    """The threshold is then 0; a search for a root may come by."""
    assert exact._miss(1e-3, 1.0, -1e5, 0.5) == 0


@pytest.mark.parametrize("ratio", [0.0, 1 / 3, 0.8])
def test_at_the_exact_tau_one_threshold_serves_both_errors(ratio):
    b, d = BAGS[:, None], DIMS
    tau = gaussian.exact_tau(b, d, 0.05, ratio)
    accept = gaussian.exact_zeta(tau, b, d, 0.05)
    np.testing.assert_allclose(accept, gaussian.exact_zeta_power(ratio * tau, b, d, 0.05), rtol=1e-9)
    chances = gaussian.exact_event_probabilities(tau, accept, b, d, ratio=ratio)
    np.testing.assert_allclose(chances.A, 0.05, rtol=1e-6)
    np.testing.assert_allclose(chances.B, 0.05, rtol=1e-6)
    # ten thousandths less, and no threshold would do
    assert np.all(
        gaussian.exact_zeta(0.9999 * tau, b, d, 0.05)
        < gaussian.exact_zeta_power(0.9999 * ratio * tau, b, d, 0.05)
    )


def test_thresholds_are_noncentral_chi_square_quantiles():
    pairs = 100 * 99 / 2
    assert gaussian.exact_zeta(0.5, 100, 1000, 0.05) == pytest.approx(
        2 / 1000 * stats.ncx2.ppf(0.05 / pairs, 1000, 0.5 * 1000 / 2), rel=1e-10
    )
    assert gaussian.exact_zeta_power(0.2, 100, 1000, 0.05) == pytest.approx(
        2 / 1000 * stats.ncx2.isf(0.05 / pairs, 1000, 0.2 * 1000 / 2), rel=1e-10
    )
    one_task = gaussian.exact_zeta(0.5, 100, 1000, 0.05, family="task")
    assert one_task == pytest.approx(2 / 1000 * stats.ncx2.ppf(0.05 / 99, 1000, 250), rel=1e-10)
    sidak = 1 - (1 - 0.05) ** (1 / pairs)
    assert gaussian.exact_zeta(0.5, 100, 1000, 0.05, correction="sidak") == pytest.approx(
        2 / 1000 * stats.ncx2.ppf(sidak, 1000, 250), rel=1e-10
    )


def test_inner_product_and_norm_radii():
    for b, d in ((2, 3), (100, 1e5), (1e6, 1e9)):
        for alpha in (0.05, 0.3):
            c, c_prime = gaussian.exact_inner(b, d, alpha), gaussian.exact_norm(b, d, alpha)
            chances = gaussian.exact_event_probabilities(c, 2.0, b, d)
            np.testing.assert_allclose(chances.C, alpha, rtol=1e-9)
            chances = gaussian.exact_event_probabilities(c_prime, 2.0, b, d)
            np.testing.assert_allclose(chances.C_prime, alpha, rtol=1e-6)
    assert gaussian.exact_norm(100, 50, 0.05) == pytest.approx(
        stats.chi2.isf(1 - 0.95**0.01, 50) / 50 - 1, rel=1e-9
    )
    assert gaussian.exact_norm(2, 50, 0.9) == 0  # below the mean, where C' is not defined
    normal = stats.norm.isf(0.05 / (100 * 99))
    assert gaussian.exact_inner(100, 1e8, 0.05) == pytest.approx(normal / 1e4, rel=1e-3)


# Smallest dimensions for tau below 1, (sqrt(17) - 3) / 4 and 0.1 at alpha = 0.05: printed, exact, exact for equal means.
DIMENSIONS = {
    10: [(7601, 1108, 431), (96415, 10122, 4307), (760091, 71830, 31410)],
    100: [(12207, 2151, 837), (154830, 19656, 8363), (1220608, 139494, 60998)],
    1000: [(16812, 3200, 1245), (213245, 29241, 12440), (1681125, 207521, 90744)],
    1e6: [(30627, 6392, 2487), (388490, 58418, 24854), (3062676, 414599, 181295)],
}
TAUS = (1.0, (np.sqrt(17) - 3) / 4, 0.1)


@pytest.mark.parametrize("bags", DIMENSIONS)
def test_table_of_dimensions(bags):
    columns = tables.dimensions([bags], TAUS).columns
    rows = list(zip(columns["printed"], columns["exact"], columns["equal means"], strict=True))
    assert rows == DIMENSIONS[bags]
    for tau, (_, smallest, _) in zip(TAUS, DIMENSIONS[bags], strict=True):
        assert gaussian.exact_tau(bags, smallest, 0.05) <= tau < gaussian.exact_tau(bags, smallest - 1, 0.05)


def test_table_of_thresholds():
    columns = tables.thresholds([100, 2000], [1000, 1e5]).columns
    np.testing.assert_allclose(columns["printed"], [12.21, 0.3494, 18.20, 0.4266], rtol=5e-4)
    np.testing.assert_allclose(columns["exact"], [1.635, 0.1188, 2.292, 0.1535], rtol=5e-4)
    np.testing.assert_allclose(columns["equal means"], [0.9020, 0.0777, 1.202, 0.0999], rtol=5e-4)
    np.testing.assert_allclose(columns["one task"], [1.167, 0.0908, 1.530, 0.1128], rtol=5e-4)
    np.testing.assert_allclose(columns["gain"], np.divide(columns["printed"], columns["exact"]))
    frame = tables.thresholds([100], [1000]).to_frame()
    assert list(frame.columns) == list(columns)
    assert "1.635" in tables.thresholds([100], [1000]).summary()


def test_dimension_and_level_invert_tau():
    tau = gaussian.exact_tau(300, 777.5, 0.02, 0.2)
    assert gaussian.exact_dim(tau, 300, 0.02, 0.2) == pytest.approx(777.5, rel=1e-9)
    assert gaussian.exact_log_level(tau, 777.5, 0.2) == pytest.approx(
        float(gaussian.pair_log_level(300, 0.02)), rel=1e-9
    )
    assert gaussian.exact_dim(1e5, 2, 0.05) == 1
    assert gaussian.exact_dim(gaussian.exact_tau(10, 1.005, 0.05), 10, 0.05) == pytest.approx(1.005, rel=1e-9)
    task = gaussian.exact_tau(300, 777.5, 0.02, family="task")
    assert gaussian.exact_dim(task, 300, 0.02, family="task") == pytest.approx(777.5, rel=1e-9)
    sidak = gaussian.exact_tau(300, 777.5, 0.2, correction="sidak")
    assert gaussian.exact_dim(sidak, 300, 0.2, correction="sidak") == pytest.approx(777.5, rel=1e-9)


def test_nothing_can_be_told_from_nothing():
    """At tau = 0 one error or the other has probability one half, whatever the threshold and the dimension."""
    np.testing.assert_allclose(gaussian.exact_log_level(0.0, DIMS), np.log(0.5), rtol=1e-9)
    assert gaussian.exact_dim(0.0, 2, 0.5) == 1
    assert gaussian.exact_dim(0.0, 2, 0.499) == np.inf
    assert gaussian.exact_tau(2, DIMS, 0.5).max() == 0


@pytest.mark.parametrize("alpha", [5e-324, 1e-300, 1e-9, 0.05, 1 - 1e-15])
def test_levels_of_single_tests_have_all_digits(alpha):
    """Also where alpha over the number of pairs is smaller than any double."""
    for bags in (2, 100, 1e12):
        level = gaussian.pair_log_level(bags, alpha, correction="sidak")
        with mp.workdps(60):
            exactly = mp.log(-mp.expm1(mp.log1p(-mp.mpf(alpha)) * 2 / (mp.mpf(bags) * (bags - 1))))
            assert abs(level / exactly - 1) < 1e-14
    assert np.all(np.diff(gaussian.exact_norm([2, 100, 1e12], 50, alpha)) > 0)


def test_confidence_bounds_invert_the_thresholds():
    b, d = np.array([2.0, 100.0, 1e6])[:, None], np.array([3.0, 200.0, 1e6])
    tau = np.array([0.05, 1.0, 7.0])[:, None, None]
    np.testing.assert_allclose(
        confidence.upper_tau(gaussian.exact_zeta(tau, b, d, 0.05), b, d, 0.05),
        np.broadcast_to(tau, (3, 3, 3)),
        rtol=1e-8,
    )
    np.testing.assert_allclose(
        confidence.lower_tau(gaussian.exact_zeta_power(tau, b, d, 0.05), b, d, 0.05),
        np.broadcast_to(tau, (3, 3, 3)),
        rtol=1e-8,
    )
    assert confidence.upper_tau(0.5, 100, 1000, 0.05) == 0  # closer than noise alone allows
    assert confidence.lower_tau(2.0, 100, 1000, 0.05) == 0
    sidak = confidence.upper_tau(2.1, 100, 1000, 0.05, correction="sidak")
    assert sidak == pytest.approx(float(confidence.upper_tau(2.1, 100, 1000, 0.05)), rel=1e-2)
    assert sidak < confidence.upper_tau(2.1, 100, 1000, 0.05)
    assert confidence.lower_tau(2.6, 100, 1000, 0.05, family="task") > confidence.lower_tau(
        2.6, 100, 1000, 0.05
    )


def test_normal_approximation_for_small_tau():
    z = stats.norm.isf(0.05 / 4950)
    assert gaussian.exact_tau(100, 1e9, 0.05) == pytest.approx(
        4 * np.sqrt(2) * z / (2 / 3 * np.sqrt(1e9)), rel=2e-3
    )


def test_the_papers_proposition_holds_with_exact_probabilities_and_how_much_of_c_it_needs():
    """prop:testgauss on a grid. Its C = 1000 is enough; 670 is not, near tau = 1, nor is 700 for very many bags."""
    bags, dims = np.array([2.0, 10.0, 100.0, 1e4, 1e6])[:, None], np.array([5.0, 50.0, 1e3, 1e4, 1e6, 1e8])
    for alpha in (0.05, 0.5):
        tau = gaussian.tau_min(bags, dims, alpha)
        chances = gaussian.exact_event_probabilities(tau, gaussian.zeta(tau, bags, dims, alpha), bags, dims)
        stated = gaussian.stated_probabilities(alpha)
        assert np.all(chances.A <= stated.A)
        assert np.all(chances.B <= stated.B)
        assert np.all(chances.C <= stated.C)
        assert np.all(chances.C_prime <= stated.C_prime)
    for n_bags, dim, C, enough in (
        (1e4, 14600, 670.0, False),
        (1e9, 34300, 700.0, False),
        (1e9, 34300, 710.0, True),
    ):
        tau = gaussian.tau_min(n_bags, dim, 0.05, C)
        chances = gaussian.exact_event_probabilities(tau, gaussian.zeta(tau, n_bags, dim, 0.05), n_bags, dim)
        assert (chances.B <= 0.05) == enough


def test_family_and_correction_are_checked():
    assert exact.number_of_tests(100) == 4950
    with pytest.raises(ValueError, match="family must be 'all' or 'task'"):
        exact.number_of_tests(100, "some")
    with pytest.raises(ValueError, match="correction must be"):
        exact.pair_log_level(100, 0.05, correction="none")
    with pytest.raises(ValueError, match="n_bags must be at least 2; found 1. Comparing bags needs a pair"):
        gaussian.exact_zeta(0.5, 1, 10, 0.05)
    with pytest.raises(ValueError, match="ratio must be at least 0 and below 1; found 1"):
        gaussian.exact_tau(10, 10, 0.05, ratio=1.0)
    for bad in (0.0, 1.0, 1.5):
        with pytest.raises(ValueError, match="alpha must be above 0 and below 1"):
            gaussian.exact_tau(10, 10, bad)
