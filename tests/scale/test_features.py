"""Feature maps: unbiased, as accurate as they claim, exact where they should be."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from stbmta import RBF, Laplacian, Polynomial
from stbmta.jit import streams
from stbmta.scale.features import Nystroem, RandomFourier

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kernel", [RBF(0.8), Laplacian(1.7)], ids=["rbf", "laplacian"])
@pytest.mark.parametrize("orthogonal", [False, None])
def test_inner_products_are_unbiased_and_within_their_error(kernel, orthogonal, rng):
    x = rng.normal(size=(6, 3))
    expected = kernel(x, x)
    found = []
    for seed in range(300):
        phi = RandomFourier.draw(kernel, 3, 128, orthogonal=orthogonal, rng=seed)(x)
        found.append(phi @ phi.T)
    deviation = np.std(found, axis=0)
    assert deviation.max() < 1.1 / np.sqrt(128)  # at most (2 m)^(-1/2), 2 m = 128
    z = (np.mean(found, axis=0) - expected) / np.maximum(deviation, 1e-12) * np.sqrt(300)
    off = ~np.eye(6, dtype=bool)
    assert np.abs(z[off]).max() < 4.5
    np.testing.assert_allclose(np.diagonal(found[0]), 1.0, rtol=1e-12)


def test_orthogonal_frequencies_have_the_lengths_of_normal_vectors():
    features = RandomFourier.draw(RBF(1.0), 5, 10_000, rng=0)
    angular = 2 * np.pi * features.frequencies
    block = angular[:, :5] / np.linalg.norm(angular[:, :5], axis=0)
    np.testing.assert_allclose(block.T @ block, np.eye(5), atol=1e-12)
    squares = (angular**2).sum(axis=0)
    assert squares.mean() == pytest.approx(5, rel=0.05)
    assert squares.var() == pytest.approx(10, rel=0.15)


def test_the_number_of_features_is_rounded_up():
    assert RandomFourier.draw(RBF(1.0), 2, 65, rng=0).n_features == 128


def test_orthogonal_features_vary_less(rng):
    x = rng.normal(size=(8, 8)) * 0.5
    expected = RBF(1.0)(x, x)

    def spread(orthogonal):
        errors = [RandomFourier.draw(RBF(1.0), 8, 64, orthogonal=orthogonal, rng=k)(x) for k in range(200)]
        return np.mean([(phi @ phi.T - expected) ** 2 for phi in errors])

    assert spread(True) < 0.9 * spread(False)


def test_nystroem_is_exact_on_its_landmarks_and_for_kernels_of_finite_rank(rng):
    x = rng.normal(size=(40, 2))
    every = Nystroem.draw(RBF(1.0), x, 40, rng=0)
    np.testing.assert_allclose(every(x) @ every(x).T, RBF(1.0)(x, x), atol=1e-8)
    # A polynomial of degree 2 in two variables has rank 6.
    kernel = Polynomial(2, 1.0, 1.0)
    six = Nystroem.draw(kernel, x, 12, rng=0)
    assert six.n_features == 6
    np.testing.assert_allclose(six(x) @ six(x).T, kernel(x, x), rtol=1e-7, atol=1e-7)


def test_sine_and_cosine_are_those_of_the_script(rng):
    spec = importlib.util.spec_from_file_location("script", ROOT / "tools" / "sincos_coefficients.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    sine, cosine = script.sincos_coefficients()
    np.testing.assert_allclose(streams.SINE, sine, rtol=1e-14)
    np.testing.assert_allclose(streams.COSINE, cosine, rtol=1e-14)
    r = np.linspace(-0.5, 0.5, 2001)
    np.testing.assert_allclose(
        r * np.polynomial.Polynomial(streams.SINE)(r * r), np.sin(np.pi * r), atol=3e-16
    )
    np.testing.assert_allclose(np.polynomial.Polynomial(streams.COSINE)(r * r), np.cos(np.pi * r), atol=3e-16)


def test_compiled_sums_of_features_keep_many_digits_for_large_phases(rng):
    features = RandomFourier.draw(RBF(0.01), 4, 64, rng=0)
    points = rng.normal(size=(50, 4))
    counts, sums = np.zeros(1), np.zeros((1, 64))
    streams.add_fourier(
        points,
        np.zeros(50, np.int64),
        features.center,
        features.panels(),
        streams.CONSTANTS,
        0,
        1,
        counts,
        sums,
    )
    expected = features(points).sum(axis=0) * np.sqrt(32)
    np.testing.assert_allclose(sums[0], expected, atol=1e-10)  # phases of a thousand turns
    assert counts[0] == 50
