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


def test_only_the_rbf_has_a_closed_form():
    with pytest.raises(ValueError, match="RBF kernel with a number as bandwidth"):
        gaussian_gram([[0.0]], [[1.0]], RBF("median"))
