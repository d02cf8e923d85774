"""More ways to choose: by loops, and by what they achieve."""

import numpy as np
import pytest

from stbmta import (
    RBF,
    STB,
    Bags,
    bag_statistics,
    datasets,
    gaussian_neighbors,
    gaussian_truth,
    neighbors,
    squared_error,
    tune_stb,
    weights,
)
from stbmta.calibration import tune_stb_large_bags, tune_stb_unbiased
from stbmta.fission import FissionTuning
from stbmta.grid import neighbor_paths
from stbmta.tuning import unbiased_risk


@pytest.mark.parametrize("kernel", ["linear", RBF(1.5)])
def test_the_unbiased_risk_over_the_grid(rng, kernel):
    s = bag_statistics(Bags.from_list([rng.normal(size=(n, 3)) for n in (4, 7, 5, 12, 6)]), kernel)
    zetas = [0.3, 1.0, np.inf]
    found = tune_stb_unbiased(s, zetas=zetas)
    for z, zeta in enumerate(zetas):
        for g, gamma in enumerate(found.shrinkages):
            W = weights.stb(neighbors(s, zeta), gamma)
            expected = (unbiased_risk(W, s) - s.naive_mse).mean()
            assert found.risk[z, g] == pytest.approx(expected, rel=1e-8, abs=1e-12)
    assert found.risk[:, -1] == pytest.approx(0.0, abs=1e-12)


def test_the_unbiased_risk_with_known_variance(rng):
    s = bag_statistics(Bags.from_list([rng.normal(size=(n, 3)) for n in (1, 2, 3)]))
    found = tune_stb_unbiased(s, zetas=[2.0], variance=1.0)
    W = weights.stb(gaussian_neighbors(s, 2.0), 0.5)
    mse = 3 / s.sizes
    assert found.risk[0, 10] == pytest.approx((unbiased_risk(W, s, mse=mse) - mse).mean(), rel=1e-9)


def test_calibration_from_large_bags_is_close_to_the_oracle():
    kernel, lost = RBF(2.25), []
    for trial in range(3):
        large = datasets.rotated_gaussians(40, 300, rng=trial)
        chosen = tune_stb_large_bags(large.bags, 30, kernel, n_draws=5, rng=trial)
        small = large.bags.subsample(30, trial)
        s = bag_statistics(small, kernel)
        truth = gaussian_truth(small, large.means, large.covariances, kernel)
        best = neighbor_paths(s, truth, np.arange(0, 4, 0.1)).weight(np.linspace(0, 1, 21)).best().error
        error = squared_error(weights.stb(neighbors(s, chosen.zeta), chosen.gamma), s, truth).mean()
        lost.append((error - best) / s.naive_mse.mean())
    assert np.mean(lost) < 0.03
    with pytest.raises(ValueError, match="n_draws must be an integer of at least 1"):
        tune_stb_large_bags(large.bags, 30, n_draws=0)
    with pytest.raises(ValueError, match="bag_size must be an integer of at least 1, found 0"):
        tune_stb_large_bags(large.bags, 0)
    with pytest.raises(ValueError, match="drawing 299 points"):
        tune_stb_large_bags(large.bags, 299)


def test_scoring_some_folds_is_scoring_all_of_them_in_part(rng):
    """Joined folds change nothing about those that are scored."""
    bags = Bags.from_list([rng.normal(size=(n, 3)) for n in (6, 7, 8)])
    for kernel in ("linear", RBF(1.0)):
        whole = tune_stb(bags, kernel, zetas=[0.5, 1.5], n_folds=3, n_draws=1, rng=4)
        same = tune_stb(bags, kernel, zetas=[0.5, 1.5], n_folds=3, n_draws=1, max_scored=9, rng=4)
        np.testing.assert_array_equal(same.risk, whole.risk)
        few = [
            tune_stb(bags, kernel, zetas=[0.5, 1.5], n_folds=3, n_draws=1, max_scored=1, rng=[4, k])
            for k in range(30)
        ]
        assert all(one.n_scored == 1 for one in few)


def test_draws_are_averaged(rng):
    bags = Bags.from_list([rng.normal(size=(6, 3)) for _ in range(4)])
    generator = np.random.default_rng(2)
    single = [tune_stb(bags, zeta=1.0, n_draws=1, rng=generator).risk for _ in range(3)]
    together = tune_stb(bags, zeta=1.0, n_draws=3, rng=2)
    np.testing.assert_allclose(together.risk, np.mean(single, axis=0), rtol=1e-10, atol=1e-12)


def test_stb_splits_noise_where_bags_are_single_points():
    sample = datasets.cluster(100, 50, n_clusters=4, rng=0)
    est = STB(variance=1.0, random_state=0).fit(sample.bags)
    assert isinstance(est.tuning_, FissionTuning)
    error = ((est.means_ - sample.means) ** 2).sum(axis=1).mean()
    assert error < 0.3 * 50
    some = STB(variance=1.0, random_state=0).fit(datasets.cluster(2100, 4, rng=0).bags)
    assert some.tuning_.n_scored < 2100


def test_the_factor_of_theorem_1_is_chosen_by_the_unbiased_risk(rng):
    s = bag_statistics(Bags.from_list([rng.normal(size=(n, 3)) for n in (4, 7, 5, 12, 6)]))
    found = tune_stb_unbiased(s, gamma="theory", zetas=[0.3, 1.0, np.inf])
    assert found.zetas.tolist() == [0.3, 1.0]  # Theorem 1 has nothing to say about an infinite threshold
    for z, zeta in enumerate(found.zetas):
        for k in (0, 7, 41):
            W = weights.stb_theory(neighbors(s, zeta), zeta, found.shrinkages[k])
            expected = (unbiased_risk(W, s) - s.naive_mse).mean()
            assert found.risk[z, k] == pytest.approx(expected, rel=1e-8, abs=1e-12)
    assert found.gamma is None
    assert found.risk.min() == found.risk[found.zetas == found.zeta][0, found.shrinkages == found.c][0]
    with pytest.raises(
        ValueError, match="gamma must be a number from 0 to 1, 'theory' or None, found 'best'"
    ):
        tune_stb_unbiased(s, gamma="best")


def test_the_factor_of_theorem_1_is_chosen_by_large_bags(rng):
    large = Bags.from_list([rng.normal(size=(40, 5)) + 0.1 * k for k in range(6)])
    chosen = tune_stb_large_bags(large, 5, gamma="theory", zetas=[1.0, 2.0], n_draws=3, rng=0)
    both = tune_stb_large_bags(large, 5, zetas=[1.0, 2.0], n_draws=3, rng=0)
    # c = 0 is gamma = 1 / (number of others + 1) of Theorem 1 at tau = 0: the plain average.
    np.testing.assert_allclose(chosen.risk[:, 0], both.risk[:, 0], rtol=1e-9)
    assert chosen.c in chosen.shrinkages


def test_every_choice_says_how_it_was_made(rng):
    bags = Bags.from_list([rng.normal(size=(12, 4)) for _ in range(6)])
    assert "chosen by K-fold on 6 bags" in tune_stb(bags, rng=0).summary()
    assert "chosen by the unbiased risk on 6 bags" in tune_stb_unbiased(bag_statistics(bags)).summary()
    assert "chosen by large bags on 6 bags" in tune_stb_large_bags(bags, 4, rng=0).summary()
    assert "Change by K-fold:" in STB(random_state=0).fit(bags).summary().as_text()
    single = Bags.from_list(list(rng.normal(size=(6, 1, 4))))
    assert "Change by fission:" in STB(variance=1.0, random_state=0).fit(single).summary().as_text()


@pytest.mark.parametrize(("singles", "others"), [(99, 1), (97, 3), (90, 10), (50, 50), (1, 99)])
def test_stb_splits_noise_where_any_bag_is_a_single_point(singles, others):
    """The few bags that folds can score say too little about all the others."""
    rng = np.random.default_rng(0)
    means = 3 * rng.normal(size=(5, 50))[rng.integers(5, size=100)]
    sizes = [1] * singles + [20] * others
    bags = Bags.from_list([m + rng.normal(size=(n, 50)) for m, n in zip(means, sizes, strict=True)])
    est = STB(variance=1.0, random_state=0).fit(bags)
    assert isinstance(est.tuning_, FissionTuning)
    assert est.tuning_.n_scored == 100
    assert ((est.means_ - means) ** 2).sum() < 0.1 * ((bags.means() - means) ** 2).sum()
    pairs = Bags.from_list([bag if len(bag) > 1 else np.vstack([bag, bag + 0.1]) for bag in bags])
    assert STB(variance=1.0, random_state=0).fit(pairs).tuning_.method == "K-fold"


def test_a_split_may_leave_single_points_of_known_variance():
    sample = datasets.cluster(60, 50, bag_size=2, n_clusters=4, rng=0)
    est = STB(variance=1.0, split=0.5, random_state=0).fit(sample.bags)
    assert isinstance(est.tuning_, FissionTuning)
    assert ((est.means_ - sample.means) ** 2).sum() < 0.5 * ((sample.bags.means() - sample.means) ** 2).sum()


@pytest.mark.parametrize(
    "tune",
    [
        lambda bags, **more: tune_stb_large_bags(bags, 4, n_draws=2, rng=0, **more),
        lambda bags, **more: tune_stb_unbiased(bag_statistics(bags), **more),
    ],
    ids=["large bags", "unbiased"],
)
def test_parameters_can_be_fixed(rng, tune):
    """As for K-fold: a fixed parameter is one point of the whole grid."""
    bags = Bags.from_list([rng.normal(size=(12, 4)) + 0.2 * i for i in range(6)])
    grid, theory = tune(bags), tune(bags, gamma="theory")
    z, g, k = 12, 6, 20
    zeta, gamma, c = float(grid.zetas[z]), float(grid.shrinkages[g]), float(theory.shrinkages[k])
    at = tune(bags, zeta=zeta, gamma=gamma)
    assert (at.zeta, at.gamma, at.c) == (zeta, gamma, None)
    assert at.risk == pytest.approx(grid.risk[z : z + 1, g : g + 1], rel=1e-9, abs=1e-12)
    fixed = tune(bags, gamma=gamma)
    assert fixed.risk[:, 0] == pytest.approx(grid.risk[:, g], rel=1e-9, abs=1e-12)
    assert fixed.zeta == grid.zetas[np.argmin(fixed.risk)]
    at = tune(bags, zeta=zeta, gamma="theory", c=c)
    assert (at.zeta, at.gamma, at.c) == (zeta, None, c)
    assert at.risk == pytest.approx(theory.risk[z : z + 1, k : k + 1], rel=1e-9, abs=1e-12)
    for options, message in (
        ({"gamma": 2.0}, "gamma must be a number from 0 to 1"),
        ({"gamma": "theory", "c": -1.0}, "c must be a number of at least 0"),
        ({"zeta": -1.0}, "zetas must be at least 0"),
    ):
        with pytest.raises(ValueError, match=message):
            tune(bags, **options)


@pytest.mark.parametrize("options", [{"bag_size": 10.5}, {"bag_size": "4"}, {"n_draws": 1.5}], ids=str)
def test_counts_are_integers(rng, options):
    large = Bags.from_list([rng.normal(size=(20, 2))] * 3)
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be an integer of at least 1, found"):
        tune_stb_large_bags(large, **{"bag_size": 4, "rng": 0, **options})
    assert tune_stb_large_bags(large, np.int64(4), n_draws=1, rng=0).n_scored == 3
