"""Neighbors by p-values: against one pair at a time, calibration, corrections, permutations."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import stbmta
from stbmta import RBF, Bags, Linear, Precomputed, pair_pvalues
from stbmta.scale.means import mean_statistics
from stbmta.theory import dimension, gaussian, pvalues, traces

METHODS = ("chi-square", "normal", "permutation", "gaussian")


@pytest.fixture
def bags(rng):
    return Bags.from_list(
        [rng.normal(size=(n, 5)) + 0.3 * k for k, n in enumerate((6, 9, 4, 12))], labels=["a", "b", "c", "d"]
    )


@pytest.mark.parametrize("find", [stbmta.neighbors, stbmta.gaussian_neighbors])
def test_neighbors_of_means_are_found_in_tiles(find, bags):
    for wrong in (mean_statistics(bags), bags):
        with pytest.raises(
            TypeError, match=r"found (Mean|Bags).*neighbor_averages\(..., keep_neighbors=True\)"
        ):
            find(wrong, 1.2)


@pytest.mark.parametrize("kernel", [Linear(), RBF(2.0)])
def test_calibrated_p_values_one_pair_at_a_time(bags, kernel):
    squares = {i: max(traces.trace_squared(kernel(x, x)), 0) for i, x in enumerate(bags)}
    large = [i for i, n in enumerate(bags.sizes) if n >= 6]
    weights = bags.sizes[large] - 1
    unit = {i: traces.trace_covariance(kernel(bags[i], bags[i])) for i in large}
    cubes = [traces.trace_cubed(kernel(bags[i], bags[i])) / unit[i] ** 3 for i in large]
    shares = [squares[i] / unit[i] ** 2 for i in large]
    pooled = (np.average(values, weights=weights) for values in (shares, cubes))
    degrees = max(1.0, pvalues.chi_square_degrees(*pooled))
    found = {m: pair_pvalues(bags, kernel, method=m) for m in ("normal", "chi-square")}
    near = pair_pvalues(bags, kernel, method="normal", tau=2.0)
    s = stbmta.bag_statistics(bags, kernel)
    for i, j in combinations(range(4), 2):
        x, y = bags[i], bags[j]
        u = dimension.u_statistic(kernel(x, x), kernel(y, y), kernel(x, y))
        product = traces.trace_product(kernel(x, y))
        variance = dimension.u_variance(squares[i], squares[j], product, len(x), len(y))
        for p in (found["normal"], found["chi-square"], near):
            np.testing.assert_allclose(p.distances[i, j], u, rtol=1e-9)
            assert p.pvalues[i, j] == p.pvalues[j, i]
        np.testing.assert_allclose(
            found["normal"].pvalues[i, j], pvalues.kernel_difference(u, variance), rtol=1e-7
        )
        np.testing.assert_allclose(
            found["chi-square"].pvalues[i, j], pvalues.kernel_difference(u, variance, degrees), rtol=1e-7
        )
        radius2 = 2.0 * s.naive_mse.max()
        tops = [
            np.linalg.eigvalsh(traces.center_gram(kernel(z, z)))[-1] / (len(z) - 1) / len(z) for z in (x, y)
        ]
        expected = pvalues.kernel_similarity(u, variance + 4 * radius2 * sum(tops), radius2)
        np.testing.assert_allclose(near.pvalues[i, j], expected, rtol=1e-7)
    assert np.isnan(np.diagonal(near.pvalues)).all()


def test_gaussian_p_values_for_bags_of_any_size(bags):
    p, near = pair_pvalues(bags, method="gaussian"), pair_pvalues(bags, method="gaussian", tau=1.5)
    for i, j in combinations(range(4), 2):
        square = ((bags[i].mean(0) - bags[j].mean(0)) ** 2).sum()
        v = 1 / bags.sizes[i] + 1 / bags.sizes[j]
        np.testing.assert_allclose(p.pvalues[i, j], stats.chi2.sf(square / v, 5), rtol=1e-9)
        radius2 = 1.5 * 5 / bags.sizes.min()
        np.testing.assert_allclose(near.pvalues[i, j], stats.ncx2.cdf(square / v, 5, radius2 / v), rtol=1e-7)
    wide = pair_pvalues(Bags.from_list([3 * x for x in bags]), method="gaussian", variance=9.0)
    np.testing.assert_allclose(wide.pvalues[0, 1:], p.pvalues[0, 1:], rtol=1e-9)
    single = Bags.from_list([np.zeros((1, 3)), np.ones((1, 3))])
    np.testing.assert_allclose(pair_pvalues(single, method="gaussian").pvalues[0, 1], stats.chi2.sf(1.5, 3))


def test_bonferroni_and_the_exact_threshold_choose_the_same_neighbors(rng):
    """With equal bags the corrected p-values are the exact thresholds of the theory."""
    n, dim, tau, alpha = 4, 40, 4.0, 0.05
    bags = Bags.from_list([rng.normal(size=(n, dim)) + 0.35 * rng.integers(3) for _ in range(20)])
    s = stbmta.bag_statistics(bags)
    near = pair_pvalues(bags, method="gaussian", tau=tau).neighbors(alpha, "bonferroni")
    zeta = gaussian.exact_zeta(tau, 20, dim, alpha)
    np.testing.assert_array_equal(near, stbmta.gaussian_neighbors(s, zeta))
    equal = pair_pvalues(bags, method="gaussian").neighbors(alpha, "bonferroni")
    zeta = gaussian.exact_zeta_power(0.0, 20, dim, alpha)
    np.testing.assert_array_equal(equal, stbmta.gaussian_neighbors(s, zeta))
    assert 20 < near.sum() < equal.sum() < 400


@pytest.mark.parametrize("correction", ["bonferroni", "holm", "sidak", "fdr_bh", "fdr_by"])
def test_corrections(bags, correction):
    p = pair_pvalues(bags, method="gaussian")
    above = np.triu_indices(4, 1)
    sorted_p, order = np.sort(p.pvalues[above]), np.argsort(p.pvalues[above])
    m, k = 6, np.arange(6)
    by_hand = {
        "bonferroni": np.minimum(sorted_p * m, 1),
        "holm": np.minimum(np.maximum.accumulate(sorted_p * (m - k)), 1),
        "sidak": 1 - (1 - sorted_p) ** m,
        "fdr_bh": np.minimum(np.minimum.accumulate((sorted_p * m / (k + 1))[::-1])[::-1], 1),
        "fdr_by": np.minimum(
            np.minimum.accumulate((sorted_p * m / (k + 1) * (1 / (k + 1)).sum())[::-1])[::-1], 1
        ),
    }[correction]
    found = p.corrected(correction)
    np.testing.assert_allclose(found[above][order], by_hand, rtol=1e-9)
    np.testing.assert_array_equal(found[above], found.T[above])
    chosen = p.neighbors(0.05, correction)
    np.testing.assert_array_equal(chosen[above], ~(found[above] <= 0.05))
    assert chosen.diagonal().all()
    np.testing.assert_array_equal(chosen, chosen.T)


@pytest.mark.parametrize("method", ["chi-square", "permutation", "gaussian"])
def test_p_values_are_uniform_for_equal_means(method):
    """Many independent pairs: each collection has two bags."""
    rng = np.random.default_rng(17)
    trials, options = 400, {"n_permutations": 99, "rng": rng} if method == "permutation" else {}
    p = [
        pair_pvalues(Bags.from_list(rng.normal(size=(2, 15, 20))), method=method, **options).pvalues[0, 1]
        for _ in range(trials)
    ]
    for level in (0.05, 0.2, 0.5):
        hits = int(np.sum(np.array(p) <= level))
        assert stats.binomtest(hits, trials, level).pvalue > 1e-3, (level, hits / trials)


def test_a_wide_bag_changes_no_p_value_of_the_others(rng):
    """The shape of the covariances is pooled, not their scale; a bag without spread has no shape."""
    others, one = rng.normal(size=(5, 12, 8)), rng.normal(size=(12, 8))
    p = [pair_pvalues(Bags.from_list([scale * one, *others, np.ones((9, 8))])).pvalues for scale in (1, 10)]
    np.testing.assert_allclose(p[1][1:, 1:], p[0][1:, 1:], rtol=1e-7)
    alone = pair_pvalues(Bags.from_list([one, *others])).pvalues
    np.testing.assert_allclose(p[0][:6, :6], alone, rtol=1e-7)


@pytest.mark.parametrize("method", ["chi-square", "normal", "permutation"])
def test_a_far_bag_costs_the_others_no_digits(rng, method):
    near, far = rng.normal(size=(3, 9, 4)), rng.normal(size=(2, 9, 4)) + 1e9
    found = pair_pvalues(Bags.from_list([*near, *far]), method=method, n_permutations=20, rng=0).pvalues
    alone = pair_pvalues(Bags.from_list(list(near)), method="normal").pvalues
    if method == "normal":
        np.testing.assert_allclose(found[:3, :3], alone, rtol=1e-7)
    assert np.all(found[:3, 3:] == (1 / 21 if method == "permutation" else 0))
    spread = [found[0, 1], found[0, 2], found[1, 2], found[3, 4]]
    assert np.all((np.array(spread) > 0) & (np.array(spread) < 1))


@pytest.mark.parametrize("unit", [2.0**-460, 2.0**-332, 2.0**-232, 2.0**400], ids="{:.0e}".format)
@pytest.mark.parametrize("options", [{}, {"method": "normal"}, {"method": "normal", "tau": 2.0}], ids=str)
def test_the_unit_of_the_data_does_not_matter(bags, unit, options):
    mine, other = (pair_pvalues(Bags.from_list([u * x for x in bags]), **options) for u in (1.0, unit))
    np.testing.assert_allclose(other.pvalues, mine.pvalues, rtol=1e-9)
    np.testing.assert_allclose(other.distances, unit**2 * mine.distances, rtol=1e-9)


def naive_permutation_pvalue(x, y, kernel, n_permutations, rng):
    """Shuffle rows, and compute U anew from its definition."""
    points, n = np.vstack([x, y]), len(x)

    def u(z):
        a, b = z[:n], z[n:]
        return dimension.u_statistic(kernel(a, a), kernel(b, b), kernel(a, b))

    observed = u(points)
    return (1 + sum(u(rng.permutation(points)) >= observed - 1e-9 for _ in range(n_permutations))) / (
        1 + n_permutations
    )


def test_permutations_against_shuffled_rows(rng):
    x, y = rng.normal(size=(7, 3)), rng.normal(size=(10, 3)) + 0.5
    kernel = RBF(1.5)
    ours = pair_pvalues(Bags.from_list([x, y]), kernel, method="permutation", n_permutations=4000, rng=1)
    slow = naive_permutation_pvalue(x, y, kernel, 2000, rng)
    assert ours.pvalues[0, 1] == pytest.approx(slow, abs=5 * np.sqrt(slow * (1 - slow) / 2000))
    again = pair_pvalues(Bags.from_list([x, y]), kernel, method="permutation", n_permutations=4000, rng=1)
    assert again.pvalues[0, 1] == ours.pvalues[0, 1]


def test_permutations_enumerated():
    """Two bags of two points: six equally likely splits, U is 8 for two of them and below for the others."""
    p = pair_pvalues(
        Bags.from_list([[0.0, 1.0], [4.0, 5.0]]), method="permutation", n_permutations=20_000, rng=0
    )
    assert p.pvalues[0, 1] == pytest.approx(1 / 3, abs=0.02)


def test_permutation_p_values_are_never_zero(rng):
    far = Bags.from_list([rng.normal(size=(20, 3)), rng.normal(size=(20, 3)) + 50])
    assert pair_pvalues(far, method="permutation", n_permutations=19, rng=0).pvalues[0, 1] == 1 / 20


@pytest.mark.parametrize("kernel", ["linear", RBF(0.7)])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e6 + 0.1])
def test_constant_data_have_p_value_one(kernel, value):
    same = Bags.from_list([np.full((7, 3), value), np.full((9, 3), value)])
    for method in ("chi-square", "normal", "permutation"):
        p = pair_pvalues(same, kernel, method=method, n_permutations=49, rng=0)
        assert p.pvalues[0, 1] == 1, method
        assert p.neighbors().all()


def test_constant_bags_that_differ_are_told_apart():
    bags = Bags.from_list([np.full((7, 3), 1.0), np.full((9, 3), 2.0)])
    for method in ("chi-square", "normal"):
        assert pair_pvalues(bags, method=method).pvalues[0, 1] == 0
    near = pair_pvalues(bags, method="normal", tau=1.0)
    assert near.pvalues[0, 1] == 1
    assert not near.neighbors()[0, 1]


def test_common_offsets_do_not_matter(bags):
    moved = Bags.from_list([x + 1e6 for x in bags])
    for method in ("chi-square", "normal"):
        np.testing.assert_allclose(
            pair_pvalues(moved, method=method).pvalues[0, 1:],
            pair_pvalues(bags, method=method).pvalues[0, 1:],
            rtol=1e-5,
        )


def test_precomputed_kernels(bags):
    kernel = RBF(2.0)
    for method in ("chi-square", "permutation"):
        expected = pair_pvalues(bags, kernel, method=method, n_permutations=30, rng=3).pvalues
        matrix = Precomputed(kernel(bags.data, bags.data))
        found = pair_pvalues(bags, matrix, method=method, n_permutations=30, rng=3).pvalues
        np.testing.assert_allclose(found, expected, rtol=1e-7)
        shuffled = bags[[2, 0, 3, 1]]
        turned = pair_pvalues(shuffled, matrix, method="chi-square").pvalues
        np.testing.assert_allclose(
            turned,
            pair_pvalues(bags, kernel).pvalues[np.ix_([2, 0, 3, 1], [2, 0, 3, 1])],
            rtol=1e-6,
        )


def test_labels_stay(bags):
    p = pair_pvalues(bags)
    frame = p.to_frame()
    assert frame["bag"].tolist() == ["a", "a", "a", "b", "b", "c"]
    assert frame["other"].tolist() == ["b", "c", "d", "c", "d", "d"]
    np.testing.assert_array_equal(frame["pvalue"], p.pvalues[np.triu_indices(4, 1)])
    assert "4 bags, 6 pairs, hypothesis: equal means (chi-square)" in p.summary()
    assert "at least 2 naive errors apart (normal)" in pair_pvalues(bags, method="normal", tau=2.0).summary()
    weights = stbmta.weights.stb(p.neighbors())
    np.testing.assert_allclose(weights.sum(axis=1), 1)


def test_one_bag_has_no_pairs(rng):
    p = pair_pvalues(Bags.from_list([rng.normal(size=(8, 2))]))
    assert p.neighbors().tolist() == [[True]]
    assert len(p.to_frame()) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "bootstrap"}, "method must be one of chi-square, normal, permutation, gaussian"),
        ({"tau": 1.0}, "tau needs method='normal' or 'gaussian'; found 'chi-square'"),
        ({"method": "normal", "tau": 0.0}, "tau must be a positive number"),
        ({"method": "permutation", "n_permutations": 0}, "n_permutations must be an integer of at least 1"),
        (
            {"method": "permutation", "n_permutations": 99.5},
            "n_permutations must be an integer of at least 1",
        ),
        ({"method": "gaussian", "kernel": "rbf"}, "needs the linear kernel"),
        ({"method": "gaussian", "variance": -1.0}, "variance must be a positive number"),
    ],
)
def test_bad_options(bags, options, message):
    with pytest.raises(ValueError, match=message):
        pair_pvalues(bags, **options)


def test_bags_that_are_too_small(rng):
    three = Bags.from_list([rng.normal(size=(3, 2)), rng.normal(size=(8, 2))], labels=["x", "y"])
    with pytest.raises(ValueError, match=r"bag 'x' \(index 0\) has 3 rows.*trace of its squared covariance"):
        pair_pvalues(three)
    five = Bags.from_list(rng.normal(size=(2, 5, 2)))
    with pytest.raises(ValueError, match="needs a bag of at least 6 points.*use method='normal'"):
        pair_pvalues(five)
    assert 0 < pair_pvalues(five, method="normal").pvalues[0, 1] < 1
    one = Bags.from_list([rng.normal(size=(1, 2)), rng.normal(size=(8, 2))])
    with pytest.raises(ValueError, match="has 1 row"):
        pair_pvalues(one, method="permutation")
    p = pair_pvalues(five, method="normal")
    with pytest.raises(ValueError, match="correction must be one of holm, bonferroni"):
        p.corrected("none")
    with pytest.raises(ValueError, match="alpha must be above 0 and below 1"):
        p.neighbors(1.0)
