"""Choosing parameters without the truth: against plain loops, and against the oracle's choice."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stbmta import (
    RBF,
    STB,
    Bags,
    Linear,
    Precomputed,
    bag_statistics,
    cross_statistics,
    datasets,
    gaussian_truth,
    known_means,
    neighbors,
    squared_error,
    tune_stb,
    weights,
)
from stbmta.theory import theorems
from stbmta.tuning import held_out_risk, unbiased_risk

from . import naive
from .strategies import ragged


def oracle_risk(kernel, bags, n_folds, seed, zeta, gamma):
    """Average over bags and folds of the score less that of the naive mean, by plain loops."""
    shuffled, offsets, bag_of = bags.folds(n_folds, seed)
    arrays = [list(map(tuple, bag)) for bag in shuffled]
    scores = {}
    for start, stop, i in zip(offsets[:-1], offsets[1:], bag_of, strict=True):
        fold = range(start - shuffled.offsets[i], stop - shuffled.offsets[i])
        if len(arrays[i]) - len(fold) < 2:  # the rest of the bag has no variance
            continue
        found, plain = naive.fold_loss(kernel, arrays, i, fold, zeta, gamma)
        scores.setdefault(i, []).append(found - plain)
    return np.mean([np.mean(values) for values in scores.values()])


@pytest.mark.parametrize(
    ("kernel", "oracle"),
    [(Linear(), naive.linear), (RBF(1.5), naive.rbf(1.5)), (Precomputed(RBF(1.5)), naive.rbf(1.5))],
    ids=["linear", "rbf", "function"],
)
@given(arrays=ragged(min_size=3, max_bags=4, max_size=5, max_dim=3), n_folds=st.integers(2, 4))
def test_fold_scores_agree_with_the_oracle(kernel, oracle, arrays, n_folds):
    # Random noise keeps every pair away from its threshold.
    rng = np.random.default_rng(len(arrays))
    bags = Bags.from_list([a + rng.normal(size=a.shape) for a in arrays])
    for zeta in (0.0, 0.8, 3.0, np.inf):
        found = tune_stb(bags, kernel, zeta=zeta, gamma=0.3, n_folds=n_folds, n_draws=1, rng=5)
        expected = oracle_risk(oracle, bags, n_folds, 5, zeta, 0.3)
        assert found.risk[0, 0] == pytest.approx(expected, rel=1e-9, abs=1e-11)
        assert found.gamma == 0.3


def test_the_whole_grid_is_the_same_as_one_threshold_at_a_time(rng):
    bags = Bags.from_list([rng.normal(size=(n, 3)) for n in (4, 7, 5, 12)])
    zetas = [0.0, 0.4, 1.1, 2.5, np.inf]
    grid = tune_stb(bags, RBF(1.0), zetas=zetas, rng=3)
    for z, zeta in enumerate(zetas):
        for gamma in (0.0, 0.25, 1.0):
            single = tune_stb(bags, RBF(1.0), zeta=zeta, gamma=gamma, rng=3)
            assert single.risk[0, 0] == pytest.approx(grid.risk[z, round(gamma * 20)], rel=1e-9, abs=1e-14)
    assert grid.risk[:, -1] == pytest.approx(0.0, abs=1e-14)  # gamma = 1 is the naive mean


def test_the_chosen_gamma_is_the_best_on_a_fine_grid(rng):
    bags = Bags.from_list([rng.normal(size=(5, 3)) + 0.3 * i for i in range(12)])
    chosen = tune_stb(bags, zeta=1.0, rng=0)
    risks = [tune_stb(bags, zeta=1.0, gamma=g, rng=0).risk[0, 0] for g in np.linspace(0, 1, 101)]
    best = tune_stb(bags, zeta=1.0, gamma=chosen.gamma, rng=0).risk[0, 0]
    assert best <= min(risks) + 1e-14
    assert 0 < chosen.gamma < 1


def test_theory_scores_use_gamma_of_theorem_1(rng):
    bags = Bags.from_list([rng.normal(size=(6, 3)) for _ in range(6)])
    chosen = tune_stb(bags, gamma="theory", rng=1)
    assert chosen.gamma is None
    assert chosen.risk.min() == pytest.approx(
        chosen.risk[
            np.flatnonzero(chosen.zetas == chosen.zeta)[0], np.flatnonzero(chosen.shrinkages == chosen.c)[0]
        ]
    )
    # With everybody a neighbor gamma is the same number in every fold.
    gamma = theorems.gamma_independent(0.5 * 1e6, 5)
    theory = tune_stb(bags, zeta=1e6, gamma="theory", c=0.5, rng=1).risk[0, 0]
    assert theory == pytest.approx(tune_stb(bags, zeta=1e6, gamma=float(gamma), rng=1).risk[0, 0], rel=1e-9)
    assert "c = " in chosen.summary()
    assert chosen.to_frame().columns.name == "c"


def test_known_variance_uses_the_gaussian_test(rng):
    """Against the fold scores computed from means by hand."""
    bags = Bags.from_list([rng.normal(size=(3, 4)) for _ in range(5)])
    shuffled, offsets, bag_of = bags.folds(3, 7)
    zeta, gamma, scores = 2.2, 0.4, []
    for start, stop, i in zip(offsets[:-1], offsets[1:], bag_of, strict=True):
        means = shuffled.means()
        fold = shuffled.data[start:stop].mean(axis=0)
        rest = np.delete(shuffled[i], np.arange(start, stop) - shuffled.offsets[i], axis=0).mean(axis=0)
        means[i] = rest
        near = ((means - rest) ** 2).sum(axis=1) <= zeta * 4 * 1.5 / 2
        near[i] = True
        m = gamma * rest + (1 - gamma) * means[near].mean(axis=0)
        scores.append(((m - fold) ** 2).sum() - ((rest - fold) ** 2).sum())
    found = tune_stb(bags, zeta=zeta, gamma=gamma, variance=1.5, n_folds=3, rng=7)
    assert found.risk[0, 0] == pytest.approx(np.mean(scores), rel=1e-10)


def test_small_bags_are_not_scored_but_serve_as_neighbors(rng):
    arrays = [rng.normal(size=(n, 2)) for n in (2, 2, 6, 6)]
    found = tune_stb(Bags.from_list(arrays), rng=0)
    assert found.n_scored == 2
    with pytest.raises(ValueError, match=r"no bag has the 3 rows .* give zeta and gamma"):
        tune_stb(Bags.from_list(arrays[:2]), rng=0)
    with pytest.raises(ValueError, match="variance needs at least 2"):
        tune_stb(Bags.from_list([[1.0], [1.0, 2.0, 4.0]]), rng=0)
    with pytest.raises(ValueError, match="n_folds must be an integer of at least 2"):
        tune_stb(Bags.from_list(arrays), n_folds=1)


def test_a_common_offset_changes_nothing(rng):
    arrays = [rng.normal(size=(6, 3)) + 0.2 * i for i in range(8)]
    near = tune_stb(Bags.from_list(arrays), rng=2)
    far = tune_stb(Bags.from_list([a + 1e6 for a in arrays]), rng=2)
    np.testing.assert_allclose(far.risk, near.risk, rtol=1e-6, atol=1e-8)


def test_threads_change_nothing(rng):
    bags = Bags.from_list([rng.normal(size=(n, 2)) for n in rng.integers(3, 20, 40)])
    one, two = (tune_stb(bags, RBF(1.0), rng=1, n_threads=k) for k in (1, 2))
    np.testing.assert_array_equal(one.risk, two.risk)


def test_bags_with_no_spread():
    bags = Bags.from_list([np.ones((4, 2)), np.ones((4, 2)), np.zeros((4, 2))])
    found = tune_stb(bags, rng=0)
    assert np.isfinite(found.risk).all()
    assert found.risk.min() == pytest.approx(0.0, abs=1e-15)
    N = neighbors(bag_statistics(bags), found.zeta)
    assert N.astype(int).tolist() == [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    assert neighbors(bag_statistics(bags), np.inf).all()


@pytest.mark.slow_without_jit
def test_the_choice_is_close_to_the_oracle(rng):
    """Toy setting (a), N = 20: K-fold loses at most two points against the best of the grid."""
    kernel = RBF(2.25)
    chosen, best, plain = [], [], []
    grid = [(z, g) for z in np.arange(0, 3.01, 0.2) for g in np.arange(0, 1.01, 0.1)]
    for trial in range(6):
        sample = datasets.rotated_gaussians(50, 20, rng=trial)
        truth = gaussian_truth(sample.bags, sample.means, sample.covariances, kernel)
        s = bag_statistics(sample.bags, kernel)
        plain.append(squared_error(np.eye(50), s, truth).mean())
        tests = {z: neighbors(s, z) for z, _ in grid}
        best.append([squared_error(weights.stb(tests[z], g), s, truth).mean() for z, g in grid])
        est = STB(kernel, random_state=trial).fit(sample.bags)
        chosen.append(squared_error(est.weights_, s, truth).mean())
    oracle = np.mean(best, axis=0).min() / np.mean(plain)
    assert np.mean(chosen) / np.mean(plain) < oracle + 0.02


def test_held_out_risk_agrees_with_the_oracle_for_fixed_weights(rng):
    """For weights that do not depend on the data its mean is the true difference of risks."""
    means = np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5]])
    W = np.full((3, 3), 1 / 3)
    found = []
    for _ in range(800):
        bags = Bags.from_list([m + rng.normal(size=(4, 2)) for m in means])
        found.append(held_out_risk(lambda s: [W], bags, n_folds=2, rng=rng)[0])
    truth = ((W @ means - means) ** 2).sum(axis=1).mean() + 2 / 2 / 3 - 2 / 2  # bags of 2 points, variance 1
    assert np.mean(found) == pytest.approx(truth, abs=4 * np.std(found) / np.sqrt(len(found)))


@pytest.mark.parametrize("kernel", [Linear(), RBF(1.0)], ids=["linear", "rbf"])
def test_held_out_risk_is_the_same_from_vectors_and_from_kernel_values(rng, kernel):
    bags = Bags.from_list([rng.normal(size=(6, 3)) for _ in range(4)])
    as_function = Precomputed(kernel)
    candidates = lambda s: [weights.naive(s), weights.mta_constant(s), weights.rkmse(s)]  # noqa: E731
    a, b = (held_out_risk(candidates, bags, k, n_folds=3, rng=0) for k in (kernel, as_function))
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    assert a[0] == pytest.approx(0.0, abs=1e-15)
    with pytest.raises(
        ValueError, match=r"no bag has the 7 rows that leaving out a fold needs \(n_samples=6\)"
    ):
        held_out_risk(candidates, bags, least_left=6)


@pytest.mark.parametrize("kernel", [Linear(), RBF(1.0)], ids=["linear", "rbf"])
def test_held_out_risk_keeps_small_bags_whole(rng, kernel):
    """Of the oracle's loss only bags with enough points have a part; the small one stays in every average."""
    small, *large = (rng.normal(size=(n, 2)) for n in (2, 3, 3))
    bags, W = Bags.from_list([small, *large]), np.full((3, 3), 1 / 3)
    found = held_out_risk(lambda s: [W], bags, kernel, least_left=2, rng=5)
    shuffled, *_ = bags.folds(5, 5)
    losses = []
    for k in range(3):
        rest = Bags.from_list([shuffled[0], *(np.delete(shuffled[i], k, axis=0) for i in (1, 2))])
        fold = Bags.from_list([shuffled[i][k : k + 1] for i in (1, 2)])
        gram, cross = bag_statistics(rest, kernel).gram, cross_statistics(rest, fold, kernel)
        for column, i in enumerate((1, 2)):
            loss = W[i] @ gram @ W[i] - 2 * W[i] @ cross[:, column]
            losses.append(loss - (gram[i, i] - 2 * cross[i, column]))
    np.testing.assert_allclose(found, [np.mean(losses)], rtol=1e-11)


def test_unbiased_risk_is_unbiased_for_fixed_weights(rng):
    means = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    W = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.0, 0.5, 0.5]])
    for kernel in (Linear(), Precomputed(lambda X, Y: X @ Y.T)):
        gap = []
        for _ in range(600):
            bags = Bags.from_list(
                [m + rng.normal(size=(n, 2)) for m, n in zip(means, (2, 3, 5), strict=True)]
            )
            s = bag_statistics(bags, kernel)
            true = squared_error(W, bag_statistics(bags), known_means(means))
            gap.append(unbiased_risk(W, s) - true)
        assert (np.abs(np.mean(gap, axis=0)) < 4.5 * np.std(gap, axis=0) / np.sqrt(len(gap))).all()


@pytest.mark.parametrize("far", [1e7, 1e10])
def test_a_far_bag_does_not_disturb_the_choice(far, rng):
    arrays = [rng.normal(size=(10, 5)) for _ in range(20)]
    without = tune_stb(Bags.from_list(arrays), rng=0, n_draws=1)
    found = tune_stb(Bags.from_list([*arrays, arrays[0] + far]), rng=0, n_draws=1)
    assert found.n_scored == without.n_scored == 20
    np.testing.assert_allclose(found.risk[:-1], without.risk[:-1], rtol=1e-9, atol=1e-12)
    assert tune_stb(Bags.from_list([np.ones((3, 1)), np.zeros((3, 1))]), rng=0).n_scored == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": "best"}, "gamma must be a number from 0 to 1, 'theory' or None, found 'best'"),
        ({"gamma": 2.0}, "gamma must be a number from 0 to 1"),
        ({"gamma": [0.1, 0.2]}, "gamma must be a number from 0 to 1"),
        ({"gamma": "theory", "c": -1.0}, "c must be a number of at least 0, found -1"),
        ({"gamma": "theory", "zeta": np.inf}, "gamma='theory' needs a finite zeta"),
        ({"zeta": -1.0}, "zetas must be at least 0, found -1"),
        ({"zetas": [1.0, -2.0]}, "zetas must be at least 0, found -2"),
        ({"zetas": [np.nan]}, "zetas must be a list of numbers"),
        ({"zetas": []}, "zetas must be a list of numbers"),
        ({"n_draws": 0}, "n_draws must be an integer of at least 1, found 0"),
        ({"max_scored": 0}, "max_scored must be an integer of at least 1, found 0"),
        ({"n_draws": 2.5}, "n_draws must be an integer of at least 1, found 2.5"),
        ({"variance": -1.0}, "variance must be a positive number, found -1.0"),
        ({"variance": 1.0, "kernel": "rbf"}, "a known variance of the coordinates needs the linear kernel"),
    ],
)
def test_bad_parameters_are_refused(rng, options, message):
    with pytest.raises(ValueError, match=message):
        tune_stb(Bags.from_list([rng.normal(size=(4, 2))] * 3), **options)


def test_all_ways_to_choose_are_in_one_place():
    import stbmta
    from stbmta import calibration, fission, tuning

    for module in (stbmta, tuning):
        assert module.tune_stb_fission is fission.tune_stb_fission
        assert module.tune_stb_large_bags is calibration.tune_stb_large_bags
        assert module.tune_stb_unbiased is calibration.tune_stb_unbiased
    with pytest.raises(AttributeError, match="no attribute 'tune_stb_otherwise'"):
        _ = tuning.tune_stb_otherwise
