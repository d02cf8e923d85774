"""Kernels as objects: values, names, bandwidths chosen from data."""

from contextlib import nullcontext

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel

from stbmta import RBF, Bags, KernelMeans, Laplacian, Linear, Polynomial, Precomputed, bag_statistics
from stbmta.jit import moments
from stbmta.kernels import Kernel, as_kernel


@pytest.fixture
def bags(rng):
    return Bags.from_list([rng.normal(size=(n, 3)) * [1, 2, 3] for n in (20, 30)])


def test_values_agree_with_scikit_learn(rng):
    X, Y = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    np.testing.assert_allclose(RBF(2.0)(X, Y), rbf_kernel(X, Y, gamma=1 / 8), rtol=1e-13)
    np.testing.assert_allclose(Laplacian(2.0)(X, Y), laplacian_kernel(X, Y, gamma=1 / 2), rtol=1e-13)
    np.testing.assert_allclose(
        Polynomial(4, 0.3, 2.0)(X, Y), polynomial_kernel(X, Y, 4, 0.3, 2.0), rtol=1e-13
    )
    np.testing.assert_allclose(Polynomial()(X, Y), polynomial_kernel(X, Y), rtol=1e-13)
    for kernel in (Linear(), RBF(1.0), Laplacian(1.0), Polynomial(), Precomputed(lambda A, B: A @ B.T)):
        np.testing.assert_allclose(kernel.diagonal(X), np.diag(kernel(X, X)), rtol=1e-13)


def test_bandwidths_from_data(bags):
    points = bags.data
    distances = np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1))[np.triu_indices(len(points), 1)]
    assert RBF("median").resolve(bags).bandwidth == pytest.approx(np.median(distances), rel=1e-12)
    assert RBF("std").resolve(bags).bandwidth == pytest.approx(points.std(axis=0).mean(), rel=1e-12)
    sums = np.abs(points[:, None] - points[None]).sum(-1)[np.triu_indices(len(points), 1)]
    assert Laplacian("median").resolve(bags).bandwidth == pytest.approx(np.median(sums), rel=1e-12)
    assert Laplacian("std").resolve(bags).bandwidth == pytest.approx(3 * points.std(axis=0).mean(), rel=1e-12)
    assert bag_statistics(bags, "rbf").kernel == RBF("median").resolve(bags)
    assert Polynomial().resolve(bags).gamma == pytest.approx(1 / 3)
    assert Linear().resolve(bags) == Linear()


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
@pytest.mark.parametrize("shape", [(1, 2), (2, 1), (7, 3), (40, 11)])
def test_distances_of_pairs_agree_with_scipy(rng, metric, shape):
    points = rng.normal(size=shape)
    found = np.empty(shape[0] * (shape[0] - 1) // 2)
    for first, last in ((0, shape[0] // 2), (shape[0] // 2, shape[0])):
        moments.pair_distances(np.ascontiguousarray(points.T), metric == "cityblock", first, last, found)
    np.testing.assert_allclose(found, pdist(points, metric), rtol=1e-14)


def test_the_median_is_taken_over_a_sample_of_fixed_seed(rng):
    large = Bags.from_list([rng.normal(size=(3000, 2))])
    first, second = (RBF("median").resolve(large).bandwidth for _ in range(2))
    assert first == second
    assert first == pytest.approx(np.sqrt(2 * 2 * np.log(2)), rel=0.05)


@pytest.mark.parametrize("rule", ["median", "std"])
def test_data_without_spread_give_no_bandwidth(rule):
    with pytest.raises(ValueError, match=f"the {rule} rule gives bandwidth 0"):
        RBF(rule).resolve(Bags.from_list([np.ones((3, 1))]))
    with pytest.raises(ValueError, match="gives bandwidth 0"):
        RBF(rule).resolve(Bags.from_list([np.ones((1, 1))]))


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, "mean", None])
@pytest.mark.parametrize("kind", [RBF, Laplacian])
def test_bad_bandwidths(kind, bad):
    with pytest.raises(ValueError, match="bandwidth must be a positive number, 'median' or 'std'"):
        kind(bad)


@pytest.mark.parametrize(
    "bad", [{"degree": 0}, {"degree": 1.5}, {"gamma": -1.0}, {"gamma": np.nan}, {"coef0": -1.0}]
)
def test_bad_polynomials(bad):
    with pytest.raises(ValueError, match=f"{next(iter(bad))} must be"):
        Polynomial(**bad)


def test_names_and_base_class():
    assert as_kernel("laplacian") == Laplacian("median")
    assert as_kernel("polynomial") == Polynomial()
    with pytest.raises(ValueError, match="chosen from data; call kernel.resolve"):
        RBF("median")(np.ones((1, 1)), np.ones((1, 1)))
    with pytest.raises(NotImplementedError):
        Kernel()(np.ones((1, 1)), np.ones((1, 1)))
    with pytest.raises(NotImplementedError):
        Kernel().diagonal(np.ones((1, 1)))


@pytest.mark.parametrize("number", [int, np.int64, np.float32, np.float64])
def test_parameters_of_any_type_of_number(number, bags, tmp_path):
    kernel = Polynomial(np.int64(2), number(1), number(0))
    assert [type(value) for value in vars(kernel).values()] == [int, float, float]
    expected = bag_statistics(bags, Polynomial(2, 1.0, 0.0)).gram
    np.testing.assert_array_equal(bag_statistics(bags, kernel).gram, expected)
    for kind in (kernel, RBF(number(2)), Laplacian(number(2))):
        KernelMeans(bags, kind).save(tmp_path / "means.npz")
        assert KernelMeans.load(tmp_path / "means.npz").kernel == kind


@pytest.mark.parametrize("kind", [RBF, Laplacian])
@pytest.mark.parametrize("rule", ["median", "std"])
def test_the_order_of_bags_changes_no_bandwidth(kind, rule, rng):
    bags = Bags.from_list([rng.normal(size=(n, 3)) for n in rng.integers(20, 60, 40)])
    expected = kind(rule).resolve(bags)
    for _ in range(3):
        assert kind(rule).resolve(bags[rng.permutation(40)]) == expected


@pytest.mark.parametrize("bad", [1e-160, 1e160])
def test_bandwidths_that_cannot_be_squared_are_refused(bad, bags):
    with pytest.raises(ValueError, match="beyond what can be squared"):
        RBF(bad)
    width = 1e-150 if bad < 1 else 1e150
    off_diagonal = 0.0 if bad < 1 else 1.0
    with nullcontext() if bad < 1 else pytest.warns(RuntimeWarning, match="hardly tells the points"):
        gram = bag_statistics(bags, RBF(width)).gram
    np.testing.assert_allclose(
        gram,
        np.where(np.eye(2) == 1, np.where(bad < 1, np.diag(1 / bags.sizes), 1.0), off_diagonal),
        rtol=1e-15,
    )
