"""The Fourier series of the RBF kernel: exact inside its box, refused where it would not be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stbmta import RBF, Bags, Laplacian, bag_statistics
from stbmta.scale.fourier import FourierSeries
from stbmta.scale.means import mean_statistics


def series_of(points, width, **more):
    return FourierSeries.within(RBF(width), points.min(axis=0), points.max(axis=0), **more)


@given(
    dim=st.integers(1, 2),
    width=st.floats(0.5, 20),
    offset=st.sampled_from([0.0, 1e3]),
    seed=st.integers(0, 1000),
)
def test_inner_products_are_kernel_values(dim, width, offset, seed):
    x = np.random.default_rng(seed).normal(size=(30, dim)) + offset
    phi = series_of(x, width)(x)
    np.testing.assert_allclose(phi @ phi.T, RBF(width)(x, x), rtol=0, atol=1e-12)


def test_three_dimensions(rng):
    x = rng.uniform(size=(25, 3))
    features = series_of(x, 1.0)
    phi = features(x)
    assert phi.shape == (25, features.n_features)
    np.testing.assert_allclose(phi @ phi.T, RBF(1.0)(x, x), rtol=0, atol=1e-12)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
def test_the_tolerance_is_kept_and_made_use_of(tolerance, rng):
    x = rng.uniform(-2, 2, size=(200, 1))
    features = series_of(x, 0.7, tolerance=tolerance)
    error = np.abs(features(x) @ features(x).T - RBF(0.7)(x, x)).max()
    assert tolerance / 100 < error < 4 * tolerance
    assert features.n_features < series_of(x, 0.7).n_features


def test_statistics_are_those_of_all_pairs(rng):
    arrays = [rng.normal(size=(n, 2)) + rng.normal(size=2) for n in rng.integers(2, 30, 12)]
    bags = Bags.from_list(arrays)
    features = series_of(bags.data, 1.2)
    exact = bag_statistics(bags, RBF(1.2))
    found = mean_statistics(bags, features=features)
    np.testing.assert_allclose(found.means @ found.means.T, exact.gram, rtol=1e-11)
    np.testing.assert_allclose(found.naive_mse, exact.naive_mse, rtol=1e-10)


def test_refusals(rng):
    x = rng.normal(size=(10, 2))
    with pytest.raises(ValueError, match=r"row 1, \[9. 0.\], is outside the box"):
        FourierSeries.within(RBF(1.0), [0.0, 0.0], [1.0, 1.0])(np.array([[0.5, 0.5], [9.0, 0.0]]))
    for kernel in (Laplacian(1.0), RBF("median")):
        with pytest.raises(ValueError, match="needs RBF with a number"):
            FourierSeries.within(kernel, x.min(axis=0), x.max(axis=0))
    with pytest.raises(ValueError, match=r"would need \d+ features"):
        series_of(x, 1e-3)
    for low, high in (([0.0], [1.0, 2.0]), ([1.0], [0.0]), ([np.nan], [1.0])):
        with pytest.raises(ValueError, match="low and high"):
            FourierSeries.within(RBF(1.0), low, high)
    with pytest.raises(ValueError, match="tolerance must be between 0 and 1"):
        series_of(x, 1.0, tolerance=0.0)
