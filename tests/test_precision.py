"""Single precision: how accurate it is, and that it is left alone where it would not be."""

import numpy as np
import pytest

from stbmta import RBF, Bags, Laplacian, Linear, Polynomial, bag_statistics, cross_statistics
from stbmta.blocks import SINGLE_LIMIT

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
    rbf, laplacian = widths(bags, 0.99 * SINGLE_LIMIT)
    for kernel in (RBF(float(rbf)), Laplacian(float(laplacian))):
        exact = bag_statistics(bags, kernel).gram
        found = bag_statistics(bags, kernel, dtype=np.float32).gram
        assert (found != exact).any()
        np.testing.assert_allclose(found, exact, rtol=1e-5)


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
