"""Exact tails against mpmath: Poisson mixtures for small dimensions, a straight contour for large ones."""

import tracemalloc

import mpmath as mp
import numpy as np
import pytest
from scipy import special, stats

from stbmta.theory import confidence, exact, laws, pvalues


def mixture_tail(x, dim, lam, upper):
    """Noncentral chi-square as a Poisson mixture of central ones."""
    x, dim, lam = mp.mpf(x), mp.mpf(dim), mp.mpf(lam)
    total, weight, k = mp.mpf(0), mp.exp(-lam / 2), 0
    while k < lam or weight > mp.mpf(10) ** -60:
        low, high = (x / 2, mp.inf) if upper else (0, x / 2)
        total += weight * mp.gammainc(dim / 2 + k, low, high, regularized=True)
        k += 1
        weight *= lam / 2 / k
    return total


def inversion_tail(x, cgf, saddle, width):
    """1/(2 pi i) integral of exp(K(s) - s x) / s along a vertical line, by adaptive quadrature."""

    def along(y):
        s = saddle + 1j * y * width
        return mp.re(mp.exp(cgf(s) - cgf(saddle) - (s - saddle) * x) / s) * width

    return abs(mp.exp(cgf(saddle) - saddle * x) * mp.quad(along, [0, 1, 2, 4, 8, 16, 64]) / mp.pi)


def chi_square_by_inversion(x, dim, lam, upper):
    x, dim, lam = mp.mpf(x), mp.mpf(dim), mp.mpf(lam)
    saddle = (1 - (dim + mp.sqrt(dim**2 + 4 * x * lam)) / (2 * x)) / 2
    sd = mp.sqrt(2 * dim + 4 * lam)
    if abs(saddle) * sd < 0.3 or (saddle > 0) != upper:
        saddle = (1 if upper else -1) / (sd + 2)
    g = 1 - 2 * saddle
    width = 1 / mp.sqrt(2 * dim / g**2 + 4 * lam / g**3)
    return inversion_tail(x, lambda s: lam * s / (1 - 2 * s) - dim / 2 * mp.log(1 - 2 * s), saddle, width)


@pytest.mark.parametrize("dim", [1.0, 2.0, 3.7, 10.0])
@pytest.mark.parametrize("lam", [0.0, 0.02, 1.3, 25.0])
@pytest.mark.parametrize("upper", [False, True])
def test_chi_square_tails_in_small_dimension(dim, lam, upper):
    tail = laws.chi_square_logsf if upper else laws.chi_square_logcdf
    for x in (1e-9, 0.1, 0.9 * (dim + lam), dim + lam, 1.1 * (dim + lam), 4 * (dim + lam), 200.0):
        with mp.workdps(50):
            expected = mp.log(mixture_tail(x, dim, lam, upper))
            assert abs(mp.mpf(float(tail(x, dim, lam))) - expected) < 2e-13 * max(1, abs(expected)), x


@pytest.mark.parametrize("dim", [50.0, 1e4, 1e9])
@pytest.mark.parametrize("tau", [0.0, 0.003, 2.0])
def test_chi_square_tails_in_large_dimension(dim, tau):
    lam = tau * dim / 2
    for deviation in (-12.0, -5.0, -0.2, 0.2, 5.0, 30.0):
        x = dim + lam + deviation * np.sqrt(2 * dim + 4 * lam)
        if x <= 0:
            continue
        tail = laws.chi_square_logsf if deviation >= 0 else laws.chi_square_logcdf
        with mp.workdps(25):
            expected = mp.log(chi_square_by_inversion(x, dim, lam, deviation >= 0))
            # x itself is known to one rounding only, which moves it by that part of a standard deviation
            tolerance = 1e-12 + 20 * (1 + abs(deviation)) * 2.2e-16 * np.sqrt(dim)
            assert abs(float(tail(x, dim, lam)) - expected) < tolerance, deviation


def test_it_works_where_scipy_does_not():
    dim = 1e9
    x = dim - 8 * np.sqrt(2 * dim)
    with mp.workdps(25):
        exact = float(mp.log(chi_square_by_inversion(x, dim, 0, False)))
    assert abs(laws.chi_square_logcdf(x, dim) - exact) < 1e-9
    assert abs(stats.chi2.logcdf(x, dim) - exact) > 0.1  # if scipy learns it, this line may go
    assert stats.ncx2.sf(9000.0, 10, 3.0) == 0
    with mp.workdps(25):
        assert laws.chi_square_logsf(9000.0, 10, 3.0) == pytest.approx(
            float(mp.log(chi_square_by_inversion(9000.0, 10, 3.0, True))), rel=1e-12
        )


def test_ends_of_the_chi_square():
    assert laws.chi_square_logcdf(0.0, 3) == -np.inf
    assert laws.chi_square_logsf(0.0, 3) == 0
    assert laws.chi_square_quantile(-1e6, 1, upper=False)[0] == 0  # too small for a double
    assert laws.chi_square_logcdf(0.0, 1e9) == -np.inf
    assert laws.chi_square_logsf(0.0, 1e9) == 0
    chances = exact.exact_event_probabilities(0.5, 0.0, 100, 1e9)
    assert (chances.A, chances.B) == (0, 1)
    assert confidence.upper_tau(0.0, 100, 1e9, 0.05) == 0
    assert pvalues.gaussian_similarity(0.0, 1e9, 0.02, 1.0) == 0


@pytest.mark.parametrize("dim", [1.0, 3.7, 200.0, 1e9])
@pytest.mark.parametrize("lam", [0.0, 0.3, 1e4])
def test_chi_square_tails_near_zero(dim, lam):
    """Down to the smallest doubles, and on both sides of the place where the series takes over."""
    edge = laws.TINY / (1 + lam)
    for x in (1e-300, 1e-80, 1e-71, 1e-69, 0.999 * edge, 1.001 * edge):
        with mp.workdps(50):
            half, square = mp.mpf(dim) / 2, mp.mpf(lam) / 2
            # one term of the series, and how large the next one is
            expected = half * mp.log(mp.mpf(x) / 2) - mp.loggamma(half + 1) - square
            assert x * (1 + lam) < 2e-17
            found = mp.mpf(float(laws.chi_square_logcdf(x, dim, lam)))
            assert abs(found - expected) < 2e-13 * max(1, abs(expected)), x
            below = mp.log1p(-mp.exp(expected))
            assert abs(mp.mpf(float(laws.chi_square_logsf(x, dim, lam))) - below) <= 1e-15 + 2e-13 * abs(
                below
            )
        if dim < 100:
            back, excess = laws.chi_square_quantile(float(expected), dim, lam, upper=False)
            assert back == pytest.approx(x, rel=1e-11 if lam < 1 else 1e-7)
            assert excess == pytest.approx(-dim - lam, rel=1e-15)


@pytest.mark.parametrize("upper", [False, True])
def test_quantiles_have_the_right_tail(upper):
    dim = np.array([1.0, 2.0, 9.0, 300.0, 1e6, 1e9])[:, None, None]
    lam = np.array([0.0, 0.3, 40.0])[:, None] * dim / 2
    log_p = np.log([0.9, 0.5, 0.05, 1e-9, 1e-28])
    x, excess = laws.chi_square_quantile(log_p, dim, lam, upper=upper)
    back = (laws.chi_square_logsf if upper else laws.chi_square_logcdf)(x, dim, lam)
    np.testing.assert_allclose(back, np.broadcast_to(log_p, back.shape), rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(excess, x - dim - lam, rtol=1e-6, atol=1e-3)
    assert np.all(np.diff(x, axis=-1) > 0) if upper else np.all(np.diff(x, axis=-1) < 0)


def test_quantiles_agree_with_scipy_where_it_is_good():
    dim, lam = np.array([3.0, 40.0, 1000.0])[:, None], np.array([0.5, 30.0])
    for p in (0.05, 1e-6):
        lower, _ = laws.chi_square_quantile(np.log(p), dim, lam, upper=False)
        np.testing.assert_allclose(lower, stats.ncx2.ppf(p, dim, lam), rtol=1e-9)
        upper, _ = laws.chi_square_quantile(np.log(p), dim, lam, upper=True)
        np.testing.assert_allclose(upper, stats.ncx2.isf(p, dim, lam), rtol=1e-9)
        central, _ = laws.chi_square_quantile(np.log(p), dim, upper=True)
        np.testing.assert_allclose(central, special.chdtri(dim, p), rtol=1e-11)


@pytest.mark.parametrize("dim", [1, 2, 3, 7, 40])
def test_inner_product_tail_is_a_normal_scale_mixture(dim):
    for x in (0.01, 0.6, 3.0, 20.0):
        with mp.workdps(30):
            density = mp.mpf(2) ** (1 - mp.mpf(dim) / 2) / mp.gamma(mp.mpf(dim) / 2)
            expected = mp.quad(
                lambda s, x=x, density=density: mp.erfc(x / s / mp.sqrt(2)) / 2 * density * s ** (dim - 1)
                * mp.exp(-s * s / 2),
                [0, 0.1, 0.5, 1, 2, 4, 8, 16, 40],
            )  # fmt: skip
        np.testing.assert_allclose(
            laws.inner_product_logsf(x, dim), float(mp.log(expected)), rtol=1e-12, atol=1e-13
        )


@pytest.mark.parametrize("dim", [1e4, 1e9])
def test_inner_product_tail_in_large_dimension(dim):
    for deviation in (0.3, 4.0, 11.0):
        x = deviation * np.sqrt(dim)
        with mp.workdps(25):
            d = mp.mpf(dim)
            saddle = 2 * mp.mpf(x) / (d + mp.sqrt(d**2 + 4 * mp.mpf(x) ** 2))
            expected = inversion_tail(
                mp.mpf(x), lambda s, d=d: -d / 2 * mp.log(1 - s**2), saddle, 1 / mp.sqrt(d)
            )
        np.testing.assert_allclose(laws.inner_product_logsf(x, dim), float(mp.log(expected)), rtol=1e-12)


def test_inner_product_quantiles():
    dim = np.array([1.0, 2.0, 30.0, 1e9])[:, None]
    log_p = np.log([0.4, 0.025, 1e-12])
    x = laws.inner_product_isf(log_p, dim)
    np.testing.assert_allclose(laws.inner_product_logsf(x, dim), np.broadcast_to(log_p, x.shape), rtol=1e-11)
    np.testing.assert_allclose(x[1], -np.log(2) - log_p, rtol=1e-12)  # exp(-x) / 2 in the plane
    with pytest.raises(ValueError, match="log_p must be at most"):
        laws.inner_product_isf(-0.1, 3)


def test_large_arrays_are_integrated_in_blocks():
    """The same values as one by one, in memory that does not grow with their number."""
    dim = np.array([3.0, 1e5])
    x = dim + np.linspace(-1, 1, 3000)[:, None] * np.sqrt(dim)
    tracemalloc.start()
    tails = laws.chi_square_logsf(x, dim, 0.7), laws.inner_product_logsf(np.abs(x), dim)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3e7  # 6000 values of 180 nodes would be 17 MB for each complex array
    for k in (0, 127, 128, 255, 256, 257, 2999):
        for j in range(2):
            alone = (
                laws.chi_square_logsf(x[k, j], dim[j], 0.7),
                laws.inner_product_logsf(abs(x[k, j]), dim[j]),
            )
            np.testing.assert_allclose([tail[k, j] for tail in tails], alone, rtol=1e-13)
