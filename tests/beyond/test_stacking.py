"""Held-out views and scores against plain loops; what Adaptive does with them."""

from statistics import NormalDist

import numpy as np
import pytest

from stbmta import (
    RBF,
    Adaptive,
    Bags,
    Linear,
    NaiveMean,
    Precomputed,
    SpectralShrinkage,
    WaterFilling,
    bag_statistics,
    cross_statistics,
    datasets,
    gaussian_truth,
    known_means,
    squared_error,
)
from stbmta.candidates import candidates
from stbmta.stacking import caution, score
from stbmta.unequal import water_filling
from stbmta.views import fission_views, fold_views, held_out_views, naive_errors, noise_trace


@pytest.fixture
def bags(rng):
    return Bags.from_list([rng.normal(size=(n, 3)) + 0.4 * n for n in (2, 3, 5, 8, 12, 9)])


@pytest.mark.parametrize("kernel", ["linear", RBF(1.5)])
def test_views_are_those_of_the_bags_without_their_folds(bags, kernel):
    kernel = bag_statistics(bags, kernel).kernel
    shuffled, offsets, bag_of = bags.folds(4, np.random.default_rng(3))
    views = list(fold_views(bags, kernel, n_views=4, n_folds=4, rng=3))
    assert len(views) == 4
    for k, view in enumerate(views):
        rest, folds, scored = [], [], []
        for i, bag in enumerate(shuffled):
            mine = np.flatnonzero(bag_of == i)
            cuts = np.r_[offsets[mine], shuffled.offsets[i + 1]] - shuffled.offsets[i]
            left = k < len(mine) and len(bag) - (cuts[k + 1] - cuts[k]) >= 2
            if left:
                scored.append(i)
                folds.append(bag[cuts[k] : cuts[k + 1]])
                rest.append(np.r_[bag[: cuts[k]], bag[cuts[k + 1] :]])
            else:
                rest.append(bag)
        assert view.scored.tolist() == scored
        s = bag_statistics(Bags.from_list(rest), kernel)
        np.testing.assert_allclose(view.statistics.gram, s.gram, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(view.mse, s.naive_mse, rtol=1e-9)
        cross = cross_statistics(Bags.from_list(rest), Bags.from_list(folds), kernel)
        found = view.truth.cross
        if found is None:
            found = view.statistics.means @ np.nan_to_num(view.truth.means).T
        np.testing.assert_allclose(found[:, scored], cross, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("kernel", ["linear", RBF(1.5)])
def test_scores_by_plain_loops(bags, kernel):
    kernel = bag_statistics(bags, kernel).kernel

    def methods(s, mse):
        B = len(s)
        return {
            "naive": lambda rows: np.eye(B)[rows],
            "all": lambda rows: np.full((len(rows), B), 1 / B),
            "half": lambda rows: 0.5 * np.eye(B)[rows],
        }

    found = score(fold_views(bags, kernel, n_views=7, n_folds=5, rng=1), methods)
    total, count = np.zeros(3), 0
    for view in fold_views(bags, kernel, n_views=7, n_folds=5, rng=1):
        G = view.statistics.gram
        for i in view.scored:
            known = view.truth.means
            c = view.truth.cross[:, i] if known is None else view.statistics.means @ known[i]
            for m, weights in enumerate(methods(view.statistics, view.mse).values()):
                w = weights(np.array([i]))[0]
                total[m] += w @ G @ w - 2 * w @ c - (G[i, i] - 2 * c[i])
            count += 1
    np.testing.assert_allclose(found.risk, total / count, rtol=1e-8, atol=1e-12)
    assert found.n_views == 7
    assert found.weights.sum() == pytest.approx(1.0)
    chosen = score(fold_views(bags, kernel, n_views=7, n_folds=5, rng=1), methods, select=True)
    best = np.argmin(chosen.risk + caution(chosen.n_scored) * chosen.standard_errors)
    np.testing.assert_array_equal(chosen.weights, np.eye(3)[best])
    assert set(found.to_frame().index) == {"naive", "all", "half"}
    assert "held-out change" in found.summary()


def test_scores_do_not_depend_on_the_coordinates(rng):
    # More dimensions than bags: the means and the factor of their Gram matrix are different coordinates.
    wide = Bags.from_list([rng.normal(size=(n, 9)) + 0.2 * n for n in (3, 4, 6)])
    found = [
        score(fold_views(wide, kernel, n_views=5, rng=1), lambda s, mse: candidates(s, mse, 4.0))
        for kernel in (Linear(), Precomputed(lambda X, Y: X @ Y.T))
    ]
    # Aggregation stops early, and elsewhere if the Gram matrix is centered.
    closed = [not name.startswith("aggregation") for name in found[0].names]
    np.testing.assert_allclose(found[0].risk[closed], found[1].risk[closed], rtol=1e-8, atol=1e-10)


def test_the_combination_minimizes_its_objective(bags):
    s = bag_statistics(bags)
    found = score(held_out_views(bags, s, rng=0), lambda s, mse: candidates(s, mse, 3.0))
    assert (found.weights >= 0).all()
    assert found.combined <= 1e-9  # at least as good as the naive means on what was left out
    assert found.risk[0] == 0.0


def test_a_hopeless_method_does_not_blur_the_shares(bags):
    def methods(s, mse, strength):
        B = len(s)
        return {
            "naive": lambda rows: np.eye(B)[rows],
            "all": lambda rows: np.full((len(rows), B), 1 / B),
            "toward 0": lambda rows: 0.5 * np.eye(B)[rows],
            "hopeless": lambda rows: strength * np.eye(B)[rows],
        }

    near = Bags.from_list([bag - bag.mean(axis=0) + 0.1 * i for i, bag in enumerate(bags)])
    found = [
        score(fold_views(near, Linear(), n_views=5, rng=1), lambda s, mse, k=k: methods(s, mse, k)).weights
        for k in (1e2, 1e10, 1e90)
    ]
    assert (found[0][:3] > 0.01).sum() >= 2  # a combination, and the same one however bad the last method is
    np.testing.assert_allclose(found[1:], [found[0]] * 2, atol=1e-3)


@pytest.mark.parametrize("unit", [2.0**-480, 2.0**-282, 2.0**259, 2.0**450], ids="{:.0e}".format)
def test_the_unit_of_the_data_does_not_matter(bags, unit):
    mine, other = (Adaptive(random_state=0).fit([u * bag for bag in bags]).stacking_ for u in (1.0, unit))
    assert (mine.standard_errors[1:] > 0).all()
    np.testing.assert_allclose(other.standard_errors / unit**2, mine.standard_errors, rtol=1e-9)
    np.testing.assert_allclose(other.weights, mine.weights, rtol=0, atol=1e-9)


def test_few_bags_are_scored_of_many():
    sample = datasets.cluster(80, 20, bag_size=4, n_clusters=4, rng=0)
    seen = []

    def methods(s, mse):
        def rows_of_naive(rows):
            seen.append(len(rows))
            return np.eye(80)[rows]

        return {"naive": rows_of_naive}

    score(
        fold_views(sample.bags, bag_statistics(sample.bags).kernel, n_views=2, rng=0), methods, max_scored=30
    )
    assert sum(seen) == 60
    with pytest.raises(ValueError, match="there is nothing to score"):
        score([], methods)


def test_split_noise_where_a_bag_has_one_point():
    s = bag_statistics(Bags.from_list([np.ones((1, 4)), np.zeros((3, 4))]))
    (view,) = fission_views(s, 2.0, n_views=1, amount=0.5, rng=0)
    np.testing.assert_allclose(view.mse, [8 * 1.25, 8 / 3 * 1.25])
    views = held_out_views(Bags.from_list([np.ones((1, 4)), np.zeros((3, 4))]), s, variance=2.0, rng=0)
    assert len(list(views)) == 10
    with pytest.raises(ValueError, match="n_folds must be an integer of at least 2"):
        held_out_views(Bags.from_list([np.ones((1, 4))]), s, n_folds=1)


def test_every_candidate_is_as_wide_as_the_bags_and_row_by_row(bags):
    for kernel in ("linear", RBF(1.0)):
        s = bag_statistics(bags, kernel)
        for name, rows in candidates(s, s.naive_mse, 2.0).items():
            whole = rows(np.arange(6))
            assert whole.shape == (6, 6)
            np.testing.assert_allclose(
                rows(np.array([4, 1])), whole[[4, 1]], rtol=1e-9, atol=1e-12, err_msg=name
            )


def test_adaptive_is_a_combination_of_its_candidates(bags):
    est = Adaptive(RBF(1.0), random_state=0).fit(bags)
    s = est.statistics_
    from stbmta.aggregation import noise_dimension

    methods = candidates(s, s.naive_mse, noise_dimension(bags, s.kernel))
    expected = sum(
        share * methods[name](np.arange(6))
        for name, share in zip(est.stacking_.names, est.stacking_.weights, strict=True)
    )
    np.testing.assert_allclose(est.weights_, expected, rtol=1e-10, atol=1e-13)
    again = Adaptive(RBF(1.0), random_state=0).fit(bags)
    np.testing.assert_array_equal(again.weights_, est.weights_)
    single = Adaptive(RBF(1.0), combine="select", random_state=0).fit(bags)
    assert sorted(single.stacking_.weights)[-2:] == [0.0, 1.0]
    with pytest.raises(ValueError, match="combine must be 'stack' or 'select'"):
        Adaptive(combine="vote").fit(bags)


def test_pairs_of_points_are_scored_with_pooled_errors(rng):
    bags = Bags.from_list([rng.normal(size=(2, 3)) + i for i in range(4)])
    for kernel in ("linear", RBF(1.0), Precomputed(lambda X, Y: X @ Y.T)):
        s = bag_statistics(bags, kernel)
        trace = np.mean(2 * s.naive_mse)
        views = list(held_out_views(bags, s, rng=0))
        for view in views:
            assert view.scored.tolist() == [0, 1, 2, 3]
            np.testing.assert_allclose(view.mse, np.full(4, trace), rtol=1e-12)
        est = Adaptive(kernel, random_state=0).fit(bags)
        assert est.stacking_.n_scored == 4
    # The methods themselves have the same pooled errors.
    est = WaterFilling(scale=0.5).fit(bags)
    s = est.statistics_
    np.testing.assert_array_equal(est.weights_, water_filling(s, 0.5, mse=np.full(4, s.naive_mse.mean())))
    assert Adaptive(random_state=0).fit(bags.select([0])).weights_.shape == (1, 1)


@pytest.mark.parametrize("estimator", [Adaptive, WaterFilling])
@pytest.mark.parametrize(("n_bags", "dim"), [(10, 5), (10, 50), (3, 2)])
def test_pairs_of_points_far_apart_are_left_alone(estimator, n_bags, dim):
    mine = naive = 0.0
    for trial in range(12):
        rng = np.random.default_rng(trial)
        means = 3 * rng.normal(size=(n_bags, dim))
        bags = Bags.from_list([rng.normal(size=(2, dim)) + mean for mean in means])
        mine += ((estimator(random_state=trial).fit(bags).means_ - means) ** 2).sum()
        naive += ((bags.means() - means) ** 2).sum()
    assert mine < 1.01 * naive


def test_few_bags_call_for_more_caution():
    # Student's quantiles at the level of 1.5 standard errors, in closed form for one and two degrees of freedom.
    p = NormalDist().cdf(1.5)
    one, two = np.tan(np.pi * (p - 0.5)), (2 * p - 1) / np.sqrt(2 * p * (1 - p))
    np.testing.assert_allclose([caution(n) for n in (1, 2, 3)], [one, one, two], rtol=1e-9)
    np.testing.assert_allclose(caution(100_000), 1.5, atol=1e-4)


@pytest.mark.parametrize(
    ("model", "least"), [("unif", 0.8), ("cluster", 0.88), ("sphere", 0.9), ("sparse", 0.2)]
)
def test_adaptive_on_small_versions_of_the_models(model, least):
    sample = getattr(datasets, model)(
        **({"n_bags": 200, "dim": 100} if model != "sparse" else {"n_bags": 200}), rng=0
    )
    est = Adaptive(variance=1.0, random_state=0).fit(sample.bags)
    errors = squared_error(est.weights_, est.statistics_, known_means(sample.means))
    assert 1 - errors.mean() / sample.bags.dim > least


def test_adaptive_on_unequal_bags_harms_no_size():
    gains = []
    for trial in range(3):
        sizes = [10] * 20 + [50] * 10 + [200] * 5
        sample = datasets.rotated_gaussians(35, sizes, rng=trial)
        kernel = RBF(2.25)
        truth = gaussian_truth(sample.bags, sample.means, sample.covariances, kernel)
        est = Adaptive(kernel, random_state=trial).fit(sample.bags)
        plain = NaiveMean(kernel).fit(sample.bags)
        errors = [squared_error(e.weights_, e.statistics_, truth) for e in (est, plain)]
        gains.append([[e[a:b].sum() for a, b in ((0, 20), (20, 30), (30, 35))] for e in errors])
    mine, naive = np.sum(gains, axis=0)
    assert (mine < [0.25 * naive[0], 0.4 * naive[1], 0.75 * naive[2]]).all()


def test_the_summary_says_what_was_used_and_why(bags):
    est = Adaptive(random_state=0).fit(bags)
    text = " ".join(est.summary().as_text().split())
    assert next(iter(est.stacking_.shares())) in text
    assert "held-out change of the squared error" in text


def clustered(sizes, seed):
    """Draw bags around 8 means in 50 dimensions, and return them with their means."""
    rng = np.random.default_rng(seed)
    means = 3 * rng.normal(size=(8, 50))[rng.integers(8, size=len(sizes))]
    return Bags.from_list([m + rng.normal(size=(n, 50)) for m, n in zip(means, sizes, strict=True)]), means


def gain(est, bags, means):
    return 1 - ((est.fit(bags).means_ - means) ** 2).sum() / ((bags.means() - means) ** 2).sum()


@pytest.mark.parametrize("larger", [[], [3], [20], [3] * 5, [3] * 50], ids=lambda x: f"{len(x)} of {x[:1]}")
def test_a_few_larger_bags_do_not_decide_for_bags_of_two(larger):
    bags, means = clustered([2] * (101 - len(larger)) + larger, 0)
    assert gain(Adaptive(random_state=0), bags, means) > 0.9
    assert gain(WaterFilling(random_state=0), bags, means) > 0.9
    est = SpectralShrinkage(random_state=0)
    assert gain(est, bags, means) > 0.7
    assert est.stacking_.n_scored == 101


def test_only_bags_of_two_are_pooled_and_only_where_they_are_most(rng):
    bags = Bags.from_list([(1 + n) * rng.normal(size=(n, 3)) for n in (2, 2, 2, 5, 9)])
    s = bag_statistics(bags)
    trace = noise_trace(s)
    np.testing.assert_allclose(trace[:3], np.mean(2 * s.naive_mse[:3]))
    np.testing.assert_allclose(trace[3:], (s.naive_mse * s.sizes)[3:])
    np.testing.assert_allclose(naive_errors(s, trace)[3:], s.naive_mse[3:])
    for view in held_out_views(bags, s, rng=0):
        np.testing.assert_allclose(view.mse, trace / view.statistics.sizes)
    assert noise_trace(bag_statistics(bags.select([0, 1, 3, 4]))) is None  # half of them
    assert noise_trace(bag_statistics(bags.select([0, 3, 4]))) is None
