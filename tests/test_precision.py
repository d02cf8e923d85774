"""Single precision: how accurate it is, and that it is left alone where it would not be."""

import numpy as np
import pytest
from numba import config

from stbmta import RBF, Bags, Laplacian, Linear, Polynomial, bag_statistics, cross_statistics
from stbmta.blocks import MANY_DIMENSIONS, NORM_FORM_LIMIT, SINGLE_LIMIT

LOG2_E = np.log2(np.e)


def spread(bags):
    """The largest squared distance of a point to the middle of the data."""
    middle = (bags.data.max(axis=0) + bags.data.min(axis=0)) / 2
    return ((bags.data - middle) ** 2).sum(axis=1).max()


def widths(bags, bits):
    """Widths at which the farthest point has so many bits, as the RBF and the Laplacian kernel count them."""
    reach = spread(bags)
    return np.sqrt(LOG2_E / 2 * reach / bits), LOG2_E * np.sqrt(bags.dim * reach) / bits


@pytest.fixture
def bags(rng):
    return Bags.from_list([rng.normal(size=(n, 12)) + 100 for n in rng.integers(1, 40, 15)])


@pytest.mark.parametrize("dim", [1, 12, 100])
def test_single_values_at_the_limit(dim, rng):
    """Bags of one point: the means are the kernel values themselves, as far apart as is allowed."""
    bags = Bags.from_list([rng.normal(size=(1, dim)) + 100 for _ in range(60)])
    rbf, laplacian = widths(bags, 0.99 * SINGLE_LIMIT / np.sqrt(max(1, dim / MANY_DIMENSIONS)))
    for kernel in (RBF(float(rbf)), Laplacian(float(laplacian))):
        exact = bag_statistics(bags, kernel).gram
        found = bag_statistics(bags, kernel, dtype=np.float32).gram
        assert (found != exact).any()
        np.testing.assert_allclose(found, exact, rtol=1e-5)


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="plain NumPy rounds a multiply-add twice")
@pytest.mark.parametrize("dim", [64, 784, 5000])
def test_long_inner_products_of_coherent_points(dim, rng):
    """Two clusters apart in every coordinate: roundings add up where coordinates are many, so the limits fall."""
    signs = np.where(np.arange(30) < 15, -1.0, 1.0) * rng.uniform(0.5, 1, 30)
    points = signs[:, None] + 1e-3 * rng.normal(size=(30, dim))
    bags = Bags.from_list(list(points[:, None]))
    fewer = np.sqrt(dim / MANY_DIMENSIONS)
    single = RBF(float(widths(bags, 0.99 * SINGLE_LIMIT / fewer)[0]))
    found = bag_statistics(bags, single, dtype=np.float32).gram
    assert (found != bag_statistics(bags, single).gram).any()
    np.testing.assert_allclose(found, bag_statistics(bags, single).gram, rtol=3e-5)
    width = float(widths(bags, 0.99 * NORM_FORM_LIMIT / fewer)[0])
    x = points.astype(np.longdouble)
    exact = np.exp(-((x[:, None] - x) ** 2).sum(-1) / (2 * np.longdouble(width) ** 2))
    np.testing.assert_allclose(
        bag_statistics(bags, RBF(width)).gram, exact.astype(float), rtol=2e-13, atol=1e-300
    )


def test_means_of_well_scaled_data(bags):
    for kernel in (RBF(4.0), Laplacian(12.0)):
        exact = bag_statistics(bags, kernel).gram
        np.testing.assert_allclose(bag_statistics(bags, kernel, dtype="float32").gram, exact, rtol=1e-6)
        cross = cross_statistics(bags, bags, kernel, dtype=np.float32)
        assert (cross != exact).any()
        np.testing.assert_allclose(cross, exact, rtol=1e-6)


def test_polynomials(bags):
    kernel = Polynomial(3, 1e-4, 1.0)
    exact, found = (bag_statistics(bags, kernel, dtype=dtype).gram for dtype in (np.float64, np.float32))
    assert (found != exact).any()
    np.testing.assert_allclose(found, exact, rtol=1e-5)


def test_double_where_single_is_not_enough(bags):
    rbf, laplacian = widths(bags, 1.01 * SINGLE_LIMIT)
    too_large = Polynomial(8, 1.0, 1.0)  # (12 * 100**2)**8 is beyond the largest number
    for kernel in (RBF(float(rbf)), RBF(0.01), Laplacian(float(laplacian)), too_large, Linear()):
        exact = bag_statistics(bags, kernel).gram
        np.testing.assert_array_equal(bag_statistics(bags, kernel, dtype=np.float32).gram, exact)


@pytest.mark.parametrize("unit", [1e-149, 1e-40, 1e-20, 1e20, 1e40, 1e148])
def test_the_unit_of_the_data_does_not_matter(unit, bags):
    """Numbers beyond single precision, and those that would lose digits there, are left to double precision."""
    moved = Bags.from_offsets(bags.data * unit, bags.offsets)
    for width, kernel in ((4.0, RBF), (12.0, Laplacian)):
        found = bag_statistics(moved, kernel(width * unit), dtype=np.float32).gram
        np.testing.assert_allclose(found, bag_statistics(bags, kernel(width)).gram, rtol=1e-6)
    if 1e-100 < unit < 1e100:
        for degree, coef0 in ((1, 0.0), (2, 0.0), (3, 1.0)):
            found = bag_statistics(moved, Polynomial(degree, unit**-2, coef0), dtype=np.float32).gram
            exact = bag_statistics(bags, Polynomial(degree, 1.0, coef0)).gram
            np.testing.assert_allclose(found, exact, rtol=1e-5)


def test_small_polynomials_do_not_vanish(bags):
    for kernel in (Polynomial(2, 1e-20, 0.0), Polynomial(1, 1e-42, 0.0)):
        found = bag_statistics(bags, kernel, dtype=np.float32).gram
        np.testing.assert_allclose(found, bag_statistics(bags, kernel).gram, rtol=1e-5)


def test_threads_blocks_and_order_change_no_bit(bags, rng):
    expected = bag_statistics(bags, RBF(4.0), dtype=np.float32, n_threads=1).gram
    for n_threads in (1, 2):
        for block_size in (1, 500, 10**9):
            found = bag_statistics(
                bags, RBF(4.0), dtype=np.float32, n_threads=n_threads, block_size=block_size
            )
            np.testing.assert_array_equal(found.gram, expected)
    order = rng.permutation(len(bags))
    found = bag_statistics(bags[order], RBF(4.0), dtype=np.float32).gram
    np.testing.assert_array_equal(found, expected[np.ix_(order, order)])


def test_other_types_are_refused(bags):
    for dtype in (np.float16, "int64", None, 3.5):
        with pytest.raises(ValueError, match="dtype must be float64 or float32"):
            bag_statistics(bags, RBF(1.0), dtype=dtype)


@pytest.mark.parametrize("kernel", [RBF, Laplacian])
def test_kernels_that_hardly_tell_points_apart_say_so(kernel, rng):
    bags = Bags.from_list([*rng.normal(size=(4, 10, 3)), np.ones((5, 3))])  # equal points lose nothing
    bag_statistics(bags, kernel(1e3))
    with pytest.warns(RuntimeWarning, match=r"bag 0 \(index 0\) and 3 other bags apart"):
        bag_statistics(bags, kernel(1e12))
    far = Bags.from_list([*rng.normal(size=(4, 10, 3)), rng.normal(size=(10, 3)) + 1e12])
    with pytest.warns(RuntimeWarning, match="take out bags that are far from all others"):
        bag_statistics(far, kernel("std"))


@pytest.mark.parametrize("width", [2.0, 30.0, 300.0, 1e4])
def test_single_precision_keeps_three_digits_of_the_errors(width, rng):
    bags = Bags.from_list(list(rng.normal(size=(20, 20, 3))))
    exact, found = (bag_statistics(bags, RBF(width), dtype=dtype) for dtype in (np.float64, np.float32))
    np.testing.assert_allclose(found.naive_mse, exact.naive_mse, rtol=1e-3)
    # Wider, values in single precision would be no good, and are computed in double.
    assert (found.naive_mse == exact.naive_mse).all() == (width >= 300)
