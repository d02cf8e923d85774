"""Errors over whole grids, against plain loops, one grid point at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stbmta import (
    RBF,
    Bags,
    bag_statistics,
    datasets,
    gaussian_truth,
    grid,
    grid_mta,
    known_means,
    neighbors,
    proxy_truth,
    weights,
)
from stbmta.truth import Truth

from . import naive
from .strategies import ragged

ZETAS = [0.0, 0.3, 1.0, 2.5, np.inf]
GAMMAS = [0.0, 0.2, 0.7, 1.0]


def problem(arrays):
    """Bags away from every threshold, a made-up truth, and the loops' statistics of both."""
    rng = np.random.default_rng(len(arrays))
    lists = [a + rng.normal(size=a.shape) for a in arrays]
    B, kernel = len(lists), naive.rbf(1.5)
    truth = Truth(cross=rng.normal(size=(B, B)), norms=rng.random(B))
    s = bag_statistics(Bags.from_list(lists), RBF(1.5))
    return s, truth, naive.gram(kernel, lists), naive.mmd2(kernel, lists), naive.naive_mse(kernel, lists)


def loop_errors(W, G, truth, clip):
    errors = naive.squared_error(W, G, truth.cross, truth.norms)
    return np.mean([max(e, 0.0) for e in errors] if clip else errors)


@pytest.mark.parametrize("clip", [False, True])
@given(arrays=ragged(min_size=2, max_bags=5, max_size=4, max_dim=3))
def test_stb_agrees_with_plain_loops(arrays, clip):
    s, truth, G, U, mse = problem(arrays)
    paths = grid.neighbor_paths(s, truth, ZETAS[::-1])
    weight, theory = paths.weight(GAMMAS, clip=clip), paths.theory([0.0, 0.4, 3.0], clip=clip)
    assert weight.naive == pytest.approx(loop_errors(np.eye(len(s)), G, truth, clip), rel=1e-10, abs=1e-12)
    for z, zeta in enumerate(ZETAS):
        N = naive.neighbors(U, mse, zeta)
        np.testing.assert_array_equal(paths.counts[z], N.sum(axis=1))
        for g, gamma in enumerate(GAMMAS):
            expected = loop_errors(naive.stb(N, [gamma] * len(s)), G, truth, clip)
            assert weight.errors[z, g] == pytest.approx(expected, rel=1e-9, abs=1e-12)
        for k, c in enumerate([0.0, 0.4, 3.0] if np.isfinite(zeta) else []):
            expected = loop_errors(naive.stb(N, naive.gamma_theory(N, zeta, c)), G, truth, clip)
            assert theory.errors[z, k] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert np.isfinite(theory.zetas).all()


@pytest.mark.parametrize("largest", [1.5, 100.0], ids=["few", "many"])
def test_few_and_many_neighbors_are_averaged_alike(rng, largest):
    """Inner products of few neighbors are picked out, those of many come from whole rows."""
    s = bag_statistics(Bags.from_list(list(rng.normal(size=(60, 5, 3)) + rng.normal(size=(60, 1, 3)))))
    paths = grid.neighbor_paths(s, Truth(cross=s.gram, norms=np.diagonal(s.gram)), [1.5, largest, np.inf])
    tests = neighbors(s, 1.5)
    assert tests.sum(axis=1).max() > 17  # sums of few are made eight at a time
    averages = weights.stb(tests)
    np.testing.assert_allclose(paths.bb[0], ((averages @ s.gram) * averages).sum(axis=1), rtol=1e-12)
    assert (np.median(paths.counts[-2]) > len(s) / 2) == (largest > 1.5)


@pytest.mark.parametrize("clip", [False, True])
@given(arrays=ragged(min_size=2, max_bags=5, max_size=4, max_dim=3), batch=st.sampled_from([1, 2**24]))
def test_mta_agrees_with_plain_loops(arrays, clip, batch):
    s, truth, G, U, mse = problem(arrays)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid_mta, "_BATCH", batch)
        found = grid_mta.mta_stb_grid(s, truth, [0.0, 1.0, 2.5], [0.0, 3.0, 40.0], clip=clip)
    for z, zeta in enumerate([0.0, 1.0, 2.5]):
        A = naive.neighbors(U, mse, zeta).astype(float)
        for g, gamma in enumerate([0.0, 3.0, 40.0]):
            expected = loop_errors(naive.mta(A, mse, gamma), G, truth, clip)
            assert found.errors[z, g] == pytest.approx(expected, rel=1e-8, abs=1e-11)
    average = np.maximum(U, 0).sum() / max(len(s) * (len(s) - 1), 1)
    constant = grid_mta.mta_constant_grid(s, truth, [0.0, 0.5, 4.0], clip=clip)
    for g, gamma in enumerate([0.0, 0.5, 4.0]):
        if average == 0 and gamma > 0:  # nobody can be told apart: the average by inverse variance
            W = np.tile((1 / mse) / (1 / mse).sum(), (len(s), 1))
        else:
            W = naive.mta(np.full((len(s), len(s)), 2 / average if average else 0.0), mse, gamma)
        assert constant.errors[0, g] == pytest.approx(loop_errors(W, G, truth, clip), rel=1e-8, abs=1e-11)


def test_known_variance_uses_the_gaussian_tests(rng):
    """One point a bag, vectors far from the origin: tests, parabolas and the eigendecomposition."""
    means = rng.normal(size=(12, 6)) + 1e4
    points = means + rng.normal(size=means.shape)
    s, truth = bag_statistics(Bags.from_list([x[None] for x in points])), known_means(means)
    zetas, gammas = [1.5, 3.0, np.inf], [0.0, 0.3, 1.0]
    weight = grid.neighbor_paths(s, truth, zetas, variance=1.0).weight(gammas)
    mta = grid_mta.mta_stb_grid(s, truth, zetas[:2], [0.0, 0.5, 5.0, 9.0], variance=1.0)
    solved = grid_mta.mta_stb_grid(s, truth, zetas[:2], [0.0, 0.5, 5.0, 9.0], variance=1.0, clip=True)
    constant = grid_mta.mta_constant_grid(s, truth, gammas, variance=1.0)
    assert len(mta.values) > grid_mta._SOLVES  # else the eigendecomposition is not used
    for z, zeta in enumerate(zetas):
        N = ((points[:, None] - points[None]) ** 2).sum(axis=2) <= zeta * 6
        for g, gamma in enumerate(gammas):
            estimates = naive.stb(N, [gamma] * 12) @ points
            assert weight.errors[z, g] == pytest.approx(
                ((estimates - means) ** 2).sum(axis=1).mean(), rel=1e-7
            )
        for g, gamma in enumerate([0.0, 0.5, 5.0, 9.0] if z < 2 else []):
            estimates = naive.mta(N.astype(float), np.full(12, 6.0), gamma) @ points
            expected = ((estimates - means) ** 2).sum(axis=1).mean()
            assert mta.errors[z, g] == pytest.approx(expected, rel=1e-7)
            assert solved.errors[z, g] == pytest.approx(expected, rel=1e-7)
    for g, gamma in enumerate(gammas):
        estimates = weights.mta_constant(s, gamma, mse=np.full(12, 6.0)) @ points
        assert constant.errors[0, g] == pytest.approx(((estimates - means) ** 2).sum(axis=1).mean(), rel=1e-7)


@pytest.mark.slow_without_jit
def test_the_closed_form_truth_and_a_large_proxy_choose_alike():
    kernel = RBF(2.25)
    sample = datasets.rotated_gaussians(30, 20, rng=3)
    s = bag_statistics(sample.bags, kernel)
    exact = gaussian_truth(sample.bags, sample.means, sample.covariances, kernel)
    rng = np.random.default_rng(4)
    large = [
        rng.multivariate_normal(m, C, 2000) for m, C in zip(sample.means, sample.covariances, strict=True)
    ]
    proxy = proxy_truth(sample.bags, Bags.from_list(large), kernel)
    zetas, gammas = np.arange(0, 3.01, 0.25), np.linspace(0, 1, 11)
    found = [grid.neighbor_paths(s, truth, zetas).weight(gammas) for truth in (exact, proxy)]
    np.testing.assert_allclose(found[0].errors / found[0].naive, found[1].errors / found[1].naive, atol=0.03)
    assert found[0].best().error < 0.5 * found[0].naive


def test_threads_change_nothing(rng):
    s = bag_statistics(Bags.from_list([rng.normal(size=(4, 3)) for _ in range(300)]))
    truth = known_means(np.zeros((300, 3)))
    one, two = (grid.neighbor_paths(s, truth, [0.5, 1.0, 2.0], n_threads=k) for k in (1, 2))
    np.testing.assert_array_equal(one.bb, two.bb)
    np.testing.assert_array_equal(one.bm, two.bm)


def test_results_tell_and_bad_input_is_refused(rng):
    s = bag_statistics(Bags.from_list([rng.normal(size=(4, 2)) + i for i in range(3)]))
    truth = known_means(np.arange(6.0).reshape(3, 2))
    paths = grid.neighbor_paths(s, truth, [1.0, 0.5])
    found = paths.weight([0.0, 0.5])
    assert found.to_frame().shape == (2, 2)
    assert found.to_frame().loc[0.5, 0.5] == found.errors[0, 1]
    zeta, gamma, error = found.best()
    assert error == found.errors.min() == found.to_frame().loc[zeta, gamma]
    assert f"gamma = {gamma:g}, zeta = {zeta:g}" in found.summary()
    constant = grid_mta.mta_constant_grid(s, truth, [1.0])
    assert constant.best().zeta is None
    assert "zeta" not in constant.summary()
    assert constant.to_frame().shape == (1, 1)
    with pytest.raises(ValueError, match="3 bags, but 2 true means"):
        grid.neighbor_paths(s, known_means(np.zeros((2, 2))), [1.0])
    with pytest.raises(ValueError, match="zetas must be at least 0, found -1"):
        grid.neighbor_paths(s, truth, [-1.0, 2.0])
    with pytest.raises(ValueError, match="gammas must be between 0 and 1"):
        paths.weight([1.5])
    with pytest.raises(ValueError, match="zetas must be a list of numbers"):
        grid.neighbor_paths(s, truth, [])
    with pytest.raises(ValueError, match="gammas must be numbers of at least 0"):
        grid_mta.mta_stb_grid(s, truth, [1.0], [-1.0])
    with pytest.raises(ValueError, match="need statistics of the linear kernel"):
        grid.neighbor_paths(
            bag_statistics(Bags.from_list([[1.0, 2.0]]), RBF(1.0)), known_means([[1.0]]), [1.0]
        )


def test_mta_const_of_any_strength(rng):
    s = bag_statistics(Bags.from_list(list(rng.normal(size=(6, 5, 3)))))
    gammas = [0.0, 1e14, 1e16, 1e300, 1.7e308]
    found = grid_mta.mta_constant_grid(s, known_means(np.zeros((6, 3))), gammas)
    expected = [((weights.mta_constant(s, gamma) @ s.means) ** 2).sum(axis=1).mean() for gamma in gammas]
    np.testing.assert_allclose(found.errors[0], expected, rtol=1e-12)


def test_mta_const_when_no_two_means_can_be_told_apart():
    """Every U is below 0: the limit of the weights is the average by inverse variance."""
    s = bag_statistics(Bags.from_list([[0.0, 2.0], [-1.0, 3.0]]))
    assert (s.mmd2() <= 0).all()
    found = grid_mta.mta_constant_grid(s, known_means([[0.0], [4.0]]), [0.0, 1.0, 7.0])
    np.testing.assert_allclose(found.errors, [[5.0, 5.0, 5.0]])
    s = bag_statistics(Bags.from_list([[0.0, 2.0], [-1.0, 3.0 + 1e-3]]))
    W = np.array([[0.8, 0.2], [0.8, 0.2]])
    np.testing.assert_allclose(W, weights.mta_constant(s), atol=1e-3)
    expected = ((W @ s.means - [[0.0], [4.0]]) ** 2).mean()
    assert grid_mta.mta_constant_grid(s, known_means([[0.0], [4.0]]), [1.0]).errors[0, 0] == pytest.approx(
        expected, rel=1e-3
    )
