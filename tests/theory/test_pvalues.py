"""P-values: exact laws, uniformity under the hypothesis, calibration for kernels, permutations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from stbmta.theory import dimension, gaussian, pvalues, traces


def test_gaussian_p_values_are_noncentral_chi_square_tails():
    v, radius2, dim = 0.3, 0.7, 12
    x = np.array([0.5, 3.0, 9.0])
    np.testing.assert_allclose(
        pvalues.gaussian_similarity(x, dim, v, radius2), stats.ncx2.cdf(x / v, dim, radius2 / v), rtol=1e-9
    )
    np.testing.assert_allclose(
        pvalues.gaussian_difference(x, dim, v, radius2), stats.ncx2.sf(x / v, dim, radius2 / v), rtol=1e-9
    )
    np.testing.assert_allclose(pvalues.gaussian_difference(x, dim, v), stats.chi2.sf(x / v, dim), rtol=1e-10)
    assert pvalues.gaussian_difference(0.0, dim, v) == 1
    assert pvalues.gaussian_similarity(0.0, dim, v, radius2) == 0


def test_bonferroni_on_similarity_p_values_is_the_exact_threshold():
    bags, dim, n, alpha, tau = 20, 300, 10, 0.05, 1.3
    zeta = gaussian.exact_zeta(tau, bags, dim, alpha)
    for factor, accepted in ((1 - 1e-9, True), (1 + 1e-9, False)):
        p = pvalues.gaussian_similarity(factor * zeta * dim / n, dim, 2 / n, tau * dim / n)
        assert (p <= alpha / 190) == accepted


@pytest.mark.parametrize("sizes", [(4, 4), (3, 11)])
def test_gaussian_p_values_are_uniform_at_the_boundary(sizes, rng):
    """Bags of unequal size, means exactly a radius apart: both p-values are uniform."""
    dim, radius = 6, 1.5
    v = 1 / sizes[0] + 1 / sizes[1]
    shift = np.zeros(dim)
    shift[0] = radius
    gap = shift + np.sqrt(v) * rng.normal(size=(5000, dim))
    squares = (gap**2).sum(axis=1)
    near = pvalues.gaussian_similarity(squares, dim, v, radius**2)
    far = pvalues.gaussian_difference(squares, dim, v, radius**2)
    assert stats.kstest(near, "uniform").pvalue > 1e-3
    np.testing.assert_allclose(near + far, 1.0, rtol=1e-10)


def test_chi_square_degrees():
    assert pvalues.chi_square_degrees(3.0, 2.0) == pytest.approx(27 / 4)
    assert pvalues.chi_square_degrees(3.0, 0.0) == np.inf
    assert pvalues.chi_square_degrees([3.0, 3.0], [-1.0, 1.0]).tolist() == [np.inf, 27.0]


@given(u=st.floats(-3, 8), variance=st.floats(0.01, 10), degrees=st.floats(1, 500))
def test_kernel_p_values_are_standardized_chi_square_tails(u, variance, degrees):
    z = u / np.sqrt(variance)
    np.testing.assert_allclose(
        pvalues.kernel_difference(u, variance, degrees),
        stats.chi2.sf(degrees + z * np.sqrt(2 * degrees), degrees),
        rtol=1e-9,
        atol=1e-300,
    )
    np.testing.assert_allclose(pvalues.kernel_difference(u, variance), stats.norm.sf(z), rtol=1e-9)
    np.testing.assert_allclose(
        pvalues.kernel_similarity(u, variance, 0.4), stats.norm.cdf((u - 0.4) / np.sqrt(variance)), rtol=1e-9
    )


@given(level=st.floats(1e-12, 0.999), variance=st.floats(0.01, 10), degrees=st.floats(1, 500))
def test_thresholds_invert_p_values(level, variance, degrees):
    for f in (degrees, np.inf):
        limit = pvalues.kernel_threshold(level, variance, f)
        np.testing.assert_allclose(pvalues.kernel_difference(limit, variance, f), level, rtol=1e-7)


def test_below_the_smallest_chi_square_the_p_value_is_one():
    assert pvalues.kernel_difference(-100.0, 1.0, 1.0) == 1
    assert pvalues.kernel_difference(-np.sqrt(0.5), 1.0, 1.0) == pytest.approx(1, abs=1e-7)


def test_a_large_number_of_degrees_is_the_normal_law():
    np.testing.assert_allclose(
        pvalues.kernel_difference(2.0, 1.0, 1e9), pvalues.kernel_difference(2.0, 1.0), rtol=1e-3
    )


def test_three_cumulants_calibrate_the_tail_where_the_normal_law_does_not(rng):
    """U of two bags of 15 points whose covariance has a fast spectrum, with the true traces."""
    n, spectrum = 15, 0.5 ** np.arange(6)
    square, cube = (spectrum**2).sum(), (spectrum**3).sum()
    variance = dimension.u_variance(square, square, square, n, n)
    x = rng.normal(size=(20_000, 2, n, 6)) * np.sqrt(spectrum)
    means, scatter = x.mean(axis=2), x.var(axis=2, ddof=1).sum(axis=-1) / n
    u = ((means[:, 0] - means[:, 1]) ** 2).sum(axis=1) - scatter.sum(axis=1)
    np.testing.assert_allclose(u.var(), variance, rtol=0.05)
    degrees = pvalues.chi_square_degrees(square, cube)
    for level in (0.05, 0.01, 0.001):
        normal = (pvalues.kernel_difference(u, variance) <= level).mean()
        skewed = (pvalues.kernel_difference(u, variance, degrees) <= level).mean()
        assert normal > 1.3 * level or level == 0.05
        assert 0.6 * level < skewed < 1.6 * level
    assert (pvalues.kernel_difference(u, variance) <= 0.001).mean() > 0.005


def test_similarity_for_kernels_is_cautious(rng):
    """Means a radius apart: accepted less often than the level, and not never."""
    n, dim, radius2 = 20, 30, 1.0
    variance = dimension.u_variance(dim, dim, dim, n, n) + 4 * radius2 * (1 / n + 1 / n)
    x = rng.normal(size=(10_000, 2, n, dim))
    x[:, 1, :, 0] += np.sqrt(radius2)
    means, scatter = x.mean(axis=2), x.var(axis=2, ddof=1).sum(axis=-1) / n
    u = ((means[:, 0] - means[:, 1]) ** 2).sum(axis=1) - scatter.sum(axis=1)
    accepted = (pvalues.kernel_similarity(u, variance, radius2) <= 0.05).mean()
    assert 0.02 < accepted < 0.055


def test_estimated_variances_serve_as_well(rng):
    """Traces from the two bags themselves, as a user has them."""
    n, dim, p = 25, 20, []
    for _ in range(1500):
        x, y = rng.normal(size=(2, n, dim))
        kx, ky, kxy = x @ x.T, y @ y.T, x @ y.T
        variance = dimension.u_variance(
            traces.trace_squared(kx), traces.trace_squared(ky), traces.trace_product(kxy), n, n
        )
        p.append(pvalues.kernel_difference(dimension.u_statistic(kx, ky, kxy), variance, degrees=dim))
    rejected = np.mean(np.array(p) <= 0.05)
    assert stats.binomtest(int(rejected * 1500), 1500, 0.05).pvalue > 1e-3


def test_permutation_p_values_count_ties_and_are_never_zero():
    assert pvalues.permutation(5.0, [1.0, 2.0, 3.0]) == 1 / 4
    assert pvalues.permutation(2.0, [1.0, 2.0, 3.0]) == 3 / 4
    assert pvalues.permutation(0.0, np.zeros(9)) == 1
    assert pvalues.permutation([5.0, 0.0], [[1.0, 2.0], [1.0, 2.0]]).tolist() == [1 / 3, 1.0]
    one = 1.0
    assert pvalues.permutation(one + 4e-16, [one, 0.0]) == 2 / 3  # a tie, but for rounding
    eps = np.finfo(float).eps
    assert pvalues.permutation(one + 100 * eps, [one, 0.0]) == 2 / 3
    assert pvalues.permutation(one + 101 * eps, [one, 0.0]) == 1 / 3
    assert pvalues.permutation(1e-17, [0.0, -1.0]) == 1 / 3
    # a difference of large terms: rounding is relative to those
    assert pvalues.permutation(1e-9, [0.0, -1e-9], scale=1e6) == 1
    assert pvalues.permutation(1e-9, [0.0, -1e-9]) == 1 / 3
    for bad in (np.float64(1.0), np.zeros((3, 0))):
        with pytest.raises(ValueError, match="at least one permuted statistic"):
            pvalues.permutation(1.0, bad)


def test_permutation_p_values_are_valid_and_nearly_exact(rng):
    """Exchangeable statistics: P(p <= a) is a for every multiple of 1 / (1 + R)."""
    draws = rng.normal(size=(20_000, 20))
    p = pvalues.permutation(draws[:, 0], draws[:, 1:])
    for a in (0.05, 0.1, 0.5):
        hits = int((p <= a + 1e-12).sum())
        assert stats.binomtest(hits, 20_000, a).pvalue > 1e-3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pvalues.gaussian_difference(-1.0, 3, 1.0), "sq_distance must be at least 0"),
        (lambda: pvalues.gaussian_difference(1.0, 0.5, 1.0), "dim must be at least 1"),
        (lambda: pvalues.gaussian_similarity(1.0, 3, 0.0, 1.0), "variance must be above 0"),
        (lambda: pvalues.gaussian_similarity(1.0, 3, 1.0, -1.0), "sq_radius must be at least 0"),
        (lambda: pvalues.kernel_difference(1.0, 0.0), "variance must be above 0"),
        (lambda: pvalues.kernel_difference(1.0, 1.0, 0.0), "degrees must be above 0"),
        (lambda: pvalues.kernel_similarity(1.0, 1.0, -1.0), "sq_radius must be at least 0"),
        (lambda: pvalues.kernel_threshold(1.0, 1.0), "level must be above 0 and below 1"),
        (lambda: pvalues.kernel_threshold(0.0, 1.0), "level must be above 0 and below 1"),
        (lambda: pvalues.chi_square_degrees(-1.0, 1.0), "trace_squared must be at least 0"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
