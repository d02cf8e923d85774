"""Choosing parameters by fission: against plain loops, its independence, and against the oracle's choice."""

from functools import partial

import numpy as np
import pytest

from stbmta import RBF, Bags, bag_statistics, datasets, known_means
from stbmta.fission import choose_stb, fission, tune_stb_fission
from stbmta.grid import neighbor_paths

from . import naive


def ragged_bags(rng):
    return Bags.from_list([rng.normal(size=(n, 4)) + 0.5 * (i % 3) for i, n in enumerate([1, 2, 5, 1, 3, 2])])


def loop_risk(bags, variance, amount, seed, zeta, gammas_of):
    """Score of X' against X'' less that of X' itself, the noise drawn as the package draws it."""
    means, sizes = naive.means(list(bags)), bags.sizes
    noise = np.random.default_rng(seed).standard_normal(means.shape) * np.sqrt(variance / sizes)[:, None]
    noisy, held_out = means + amount * noise, means - noise / amount
    distances = ((noisy[:, None] - noisy[None]) ** 2).sum(axis=2)
    N = naive.neighbors(distances, bags.dim * variance * (1 + amount**2) / sizes, zeta)
    fitted = naive.stb(N, gammas_of(N)) @ noisy
    return (((fitted - held_out) ** 2).sum(axis=1) - ((noisy - held_out) ** 2).sum(axis=1)).mean()


@pytest.mark.parametrize("zeta", [0.7, 1.6, 3.0, np.inf])
def test_scores_agree_with_plain_loops(rng, zeta):
    bags = ragged_bags(rng)
    fixed = tune_stb_fission(bags, 1.5, zeta=zeta, gamma=0.3, amount=0.4, n_draws=1, rng=8)
    expected = loop_risk(bags, 1.5, 0.4, 8, zeta, lambda N: [0.3] * len(N))
    assert fixed.risk[0, 0] == pytest.approx(expected, rel=1e-9)
    if np.isfinite(zeta):
        theory = tune_stb_fission(bags, 1.5, zeta=zeta, gamma="theory", c=0.6, amount=0.4, n_draws=1, rng=8)
        expected = loop_risk(bags, 1.5, 0.4, 8, zeta, lambda N: naive.gamma_theory(N, zeta, 0.6))
        assert theory.risk[0, 0] == pytest.approx(expected, rel=1e-9)


def test_the_chosen_point_is_the_best_of_its_grid(rng):
    bags = ragged_bags(rng)
    zetas = [0.7, 1.6, 3.0]
    choose = partial(tune_stb_fission, bags, 1.0, n_draws=1, rng=2)
    chosen = choose(zetas=zetas)
    at = [choose(zeta=z, gamma=g).risk[0, 0] for z in zetas for g in np.linspace(0, 1, 51)]
    best = choose(zeta=chosen.zeta, gamma=chosen.gamma).risk[0, 0]
    assert best <= min(at) + 1e-12
    theory = choose(zetas=zetas, gamma="theory")
    assert theory.to_frame().loc[theory.zeta, theory.c] == theory.risk.min()


def test_the_two_parts_are_independent_with_the_same_mean():
    """Their covariance is s^2 - s^2 = 0, and the variances are those of the formula."""
    amount, variance, size = 0.4, 2.0, 5
    rng = np.random.default_rng(1)
    first, second = [], []
    for _ in range(8):  # 500 bags at a time
        points = 3.0 + np.sqrt(variance) * rng.normal(size=(500, size, 1))
        parts = fission(bag_statistics(Bags.from_list(list(points))), variance, amount=amount, rng=rng)
        first.extend(parts.statistics.means[:, 0])
        second.extend(parts.truth.means[:, 0])
    error = variance / size
    spread = np.array([error * (1 + amount**2), error * (1 + 1 / amount**2)])
    assert parts.variance == pytest.approx(variance * (1 + amount**2))
    np.testing.assert_allclose(np.var([first, second], axis=1), spread, rtol=0.1)
    np.testing.assert_allclose(np.mean([first, second], axis=1), 3.0, atol=4 * np.sqrt(spread.max() / 4000))
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / np.sqrt(4000)


def test_draws_are_averaged(rng):
    bags = ragged_bags(rng)
    generator = np.random.default_rng(5)
    single = [tune_stb_fission(bags, 1.0, zeta=1.6, n_draws=1, rng=generator).risk for _ in range(3)]
    together = tune_stb_fission(bags, 1.0, zeta=1.6, n_draws=3, rng=5)
    np.testing.assert_allclose(together.risk, np.mean(single, axis=0), rtol=1e-10, atol=1e-12)
    assert "3 draws" in together.summary()
    assert tune_stb_fission(bags, 1.0, rng=0).n_draws == 10  # few bags: one draw is a matter of luck
    assert tune_stb_fission(Bags.from_list(list(rng.normal(size=(150, 1, 2)))), 1.0, rng=0).n_draws == 3
    assert "6 bags" in together.summary()


@pytest.mark.parametrize("gamma", [None, 0.0, "theory"])
def test_the_choice_is_close_to_the_oracle(gamma):
    """Bags of one point, where K-fold has nothing to leave out."""
    gap = []
    for trial in range(3):
        sample = datasets.cluster(400, 200, n_clusters=8, rng=trial)
        s = bag_statistics(sample.bags)
        chosen = tune_stb_fission(sample.bags, 1.0, gamma=gamma, rng=trial)
        paths = neighbor_paths(s, known_means(sample.means), np.arange(1.5, 4, 0.05), variance=1.0)
        at = neighbor_paths(s, known_means(sample.means), [chosen.zeta], variance=1.0)
        if gamma == "theory":
            gap.append(
                at.theory([chosen.c]).errors[0, 0] - paths.theory(np.linspace(0, 0.5, 51)).best().error
            )
        else:
            gammas = np.linspace(0, 1, 101) if gamma is None else [gamma]
            gap.append(at.weight([chosen.gamma]).errors[0, 0] - paths.weight(gammas).best().error)
    assert 0 <= np.mean(gap) + 1e-9 < 0.01 * 200  # of the naive means' squared error of 200


def test_bad_input_is_refused(rng):
    bags = ragged_bags(rng)
    with pytest.raises(ValueError, match="amount must be a positive number"):
        tune_stb_fission(bags, 1.0, amount=0.0)
    with pytest.raises(ValueError, match="variance must be a positive number"):
        tune_stb_fission(bags, -1.0)
    with pytest.raises(ValueError, match="n_draws must be an integer of at least 1"):
        tune_stb_fission(bags, 1.0, n_draws=0)
    with pytest.raises(
        ValueError, match="gamma must be a number from 0 to 1, 'theory' or None, found 'best'"
    ):
        tune_stb_fission(bags, 1.0, gamma="best")
    with pytest.raises(ValueError, match="gamma='theory' needs a finite zeta"):
        tune_stb_fission(bags, 1.0, zeta=np.inf, gamma="theory")
    with pytest.raises(ValueError, match="gamma must be a number from 0 to 1"):
        tune_stb_fission(bags, 1.0, gamma=2.0)
    with pytest.raises(ValueError, match="needs the linear kernel"):
        fission(bag_statistics(bags, RBF(1.0)), 1.0)
    assert (
        choose_stb(
            [neighbor_paths(*fission(bag_statistics(bags), 1.0, rng=0)[::2], [1.0], variance=1.0)]
        ).zeta
        == 1.0
    )
