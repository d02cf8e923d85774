"""Squared errors against the truth: known means, proxies, and the closed form for Gaussians."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given

from stbmta import (
    RBF,
    Bags,
    bag_statistics,
    cross_statistics,
    datasets,
    gaussian_gram,
    gaussian_truth,
    known_means,
    proxy_truth,
    squared_error,
)
from stbmta.grid import neighbor_paths
from stbmta.kernels import as_kernel
from stbmta.truth import Truth

from . import naive
from .strategies import ragged


@given(ragged(max_bags=4))
def test_quadratic_form_agrees_with_the_oracle(arrays):
    B = len(arrays)
    rng = np.random.default_rng(0)
    W, cross, norms = rng.normal(size=(B, B)), rng.normal(size=(B, B)), rng.normal(size=B)
    s = bag_statistics(Bags.from_list(arrays), RBF(1.0))
    truth = Truth(cross=cross, norms=norms)
    expected = naive.squared_error(W, naive.gram(naive.rbf(1.0), arrays), cross, norms)
    np.testing.assert_allclose(squared_error(W, s, truth), expected, rtol=1e-11, atol=1e-12)
    sparse = scipy.sparse.csr_array(W)
    np.testing.assert_allclose(squared_error(sparse, s, truth), expected, rtol=1e-11, atol=1e-12)


def test_known_means_far_from_the_origin_lose_no_accuracy(rng):
    means = rng.normal(size=(3, 4)) + 1e8
    s = bag_statistics(Bags.from_list([m + rng.normal(size=(5, 4)) for m in means]))
    W = rng.random((3, 3))
    W /= W.sum(axis=1, keepdims=True)
    expected = ((W @ (s.means - 1e8) - (means - 1e8)) ** 2).sum(axis=1)
    np.testing.assert_allclose(squared_error(W, s, known_means(means)), expected, rtol=1e-6)
    with pytest.raises(ValueError, match="need statistics of the linear kernel"):
        squared_error(W, bag_statistics(Bags.from_list([[1.0]] * 3), RBF(1.0)), known_means(means))


def test_the_proxy_is_unbiased(rng):
    """The mean over proxies of the error equals the exact error, diagonal kept for one, dropped for the other."""
    kernel = RBF(1.0)
    sample = datasets.rotated_gaussians(2, 6, rng=rng)
    s = bag_statistics(sample.bags, kernel)
    exact = squared_error(np.eye(2), s, gaussian_truth(sample.bags, sample.means, sample.covariances, kernel))
    found = []
    for _ in range(1500):
        points = [
            rng.multivariate_normal(m, C, 3) for m, C in zip(sample.means, sample.covariances, strict=True)
        ]
        found.append(squared_error(np.eye(2), s, proxy_truth(sample.bags, Bags.from_list(points), kernel)))
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - exact) < 4 * error).all()
    with pytest.raises(ValueError, match="an unbiased proxy of the truth needs at least 2"):
        proxy_truth(sample.bags, Bags.from_list([[[0.0, 1.0]], [[0.0, 1.0]]]), kernel)


def test_the_closed_form_agrees_with_a_large_sample(rng):
    kernel = RBF(2.25)
    means = np.array([[0.0, 0.0], [1.0, -1.0]])
    covariances = datasets.rotated_gaussians(2, 1, rng=1).covariances
    large = Bags.from_list(
        [rng.multivariate_normal(m, C, 20_000) for m, C in zip(means, covariances, strict=True)]
    )
    some = Bags.from_list([rng.normal(size=(4, 2)) for _ in range(3)])
    truth = gaussian_truth(some, means, covariances, kernel)
    np.testing.assert_allclose(cross_statistics(some, large, kernel), truth.cross, atol=4 / np.sqrt(20_000))
    s = bag_statistics(large, kernel)
    np.testing.assert_allclose(s.gram, gaussian_gram(means, covariances, kernel), atol=4 / np.sqrt(20_000))
    np.testing.assert_allclose(truth.norms, np.diag(gaussian_gram(means, covariances, kernel)), rtol=1e-13)


def test_the_closed_form_agrees_with_quadrature():
    """One dimension: integrate the kernel against the density."""
    from scipy.integrate import quad
    from scipy.stats import norm

    kernel = RBF(0.7)
    law = norm(0.4, np.sqrt(1.3))
    truth = gaussian_truth(Bags.from_list([[1.1]]), [[0.4]], [[1.3]], kernel)
    value, _ = quad(lambda z: law.pdf(z) * np.exp(-((z - 1.1) ** 2) / (2 * 0.49)), -15, 15)
    assert truth.cross[0, 0] == pytest.approx(value, rel=1e-9)
    both, _ = quad(
        lambda z: norm(0.0, np.sqrt(2.6)).pdf(z) * np.exp(-(z**2) / (2 * 0.49)), -15, 15, points=[0]
    )
    assert truth.norms[0] == pytest.approx(both, rel=1e-9)


@pytest.mark.parametrize("offset", [1e6, 1e8])
def test_a_linear_proxy_far_from_the_origin_loses_no_accuracy(offset, rng):
    """Points on a grid, so that adding the offset rounds nothing."""
    points, others = (np.round(rng.normal(size=(3, n, 4)) * 2**10) / 2**10 for n in (5, 50))
    W = np.array([[0.5, 0.25, 0.25], [0, 1, 0], [0.125, 0.375, 0.5]])
    found = []
    for shift in (0.0, offset):
        bags, proxy = Bags.from_list(points + shift), Bags.from_list(others + shift)
        found.append(squared_error(W, bag_statistics(bags), proxy_truth(bags, proxy, "linear")))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-7)
    bags, proxy = Bags.from_list(points), Bags.from_list(others)
    s, of_proxy = bag_statistics(bags), bag_statistics(proxy)
    norms = np.diag(of_proxy.gram) - of_proxy.naive_mse
    cross = cross_statistics(bags, proxy, "linear")
    expected = squared_error(W, s, Truth(cross=cross, norms=norms))
    np.testing.assert_allclose(found[0], expected, rtol=1e-12)
    paths = neighbor_paths(s, proxy_truth(bags, proxy, "linear"), [0.0])
    np.testing.assert_allclose(
        paths.mm + paths.aa - 2 * paths.am, squared_error(np.eye(3), s, Truth(cross=cross, norms=norms))
    )


def test_shapes_and_kernels_that_do_not_fit_are_refused(rng):
    bags = Bags.from_list([rng.normal(size=(4, 3)) for _ in range(5)])
    s = bag_statistics(bags)
    singles = bag_statistics(Bags.from_list([[0.0, 2.0], [1.0, 3.0]]))
    np.testing.assert_array_equal(squared_error(np.eye(2), singles, known_means([1.0, 2.0])), [0.0, 0.0])
    with pytest.raises(ValueError, match=r"true means have shape \(3, 1\), but the bags 3 columns"):
        squared_error(np.eye(5), s, known_means(np.zeros(3)))
    with pytest.raises(
        ValueError, match="one row for each of 1 true means and one column for each of 5 bags"
    ):
        squared_error(np.eye(5), s, proxy_truth(bags, bags[:1], "linear"))
    for kernel in ("linear", RBF(2.0)):
        with pytest.raises(
            ValueError, match=r"the truth is for .*, but the statistics are of RBF\(bandwidth=1\.0"
        ):
            squared_error(
                np.eye(5),
                bag_statistics(bags, RBF(1.0)),
                Truth(cross=np.zeros((5, 5)), norms=np.zeros(5), kernel=as_kernel(kernel)),
            )
    with pytest.raises(ValueError, match="the truth was made for 4 bags, but there are 5"):
        squared_error(np.eye(5), bag_statistics(bags, RBF(1.0)), proxy_truth(bags[:4], bags, RBF(1.0)))


def test_covariances_are_matrices_or_one_variance(rng):
    bags, kernel = Bags.from_list([rng.normal(size=(4, 3))]), RBF(1.5)
    for form in (2.0, 2.0 * np.eye(3), 2.0 * np.eye(3)[None]):
        assert gaussian_truth(bags, np.zeros((1, 3)), form, kernel).norms[0] == pytest.approx(
            (1 + 4 / 1.5**2) ** -1.5, rel=1e-14
        )
        assert gaussian_gram(np.zeros((1, 3)), form, kernel)[0, 0] == pytest.approx(
            (1 + 4 / 1.5**2) ** -1.5, rel=1e-14
        )
    with pytest.raises(ValueError, match=r"or have shape \(3, 3\) or \(1, 3, 3\); found \(3,\)"):
        gaussian_truth(bags, np.zeros((1, 3)), np.ones(3), kernel)
    with pytest.raises(ValueError, match="a covariance matrix is symmetric"):
        gaussian_gram(np.zeros((1, 3)), np.triu(np.ones((3, 3))), kernel)
    with pytest.raises(ValueError, match="the means have 2 columns, but the bags 3"):
        gaussian_truth(bags, np.zeros((1, 2)), 1.0, kernel)


def test_the_closed_form_in_very_many_dimensions():
    d = 3000
    kernel = RBF(np.sqrt(d))
    truth = gaussian_truth(Bags.from_list([np.zeros((2, d))]), np.zeros((1, d)), 1.0, kernel)
    assert truth.norms[0] == pytest.approx((1 + 2 / d) ** (-d / 2), rel=1e-10)
    assert truth.cross[0, 0] == pytest.approx((1 + 1 / d) ** (-d / 2), rel=1e-10)
    far = gaussian_gram(np.zeros((1, d)), 1.0, RBF(1.0))
    assert far[0, 0] == 0  # 3 ** -1500


def test_only_the_rbf_has_a_closed_form():
    with pytest.raises(ValueError, match="RBF kernel with a number as bandwidth"):
        gaussian_gram([[0.0]], [[1.0]], RBF("median"))
