"""The weights beyond the paper against slow oracles."""

import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from stbmta import RBF, Bags, ClusteredMTA, ConvexAggregation, Precomputed, bag_statistics, datasets, weights
from stbmta.aggregation import aggregation, minimize_on_simplex, noise_dimension, penalties
from stbmta.comparators import clustered_mta, count_clusters, find_clusters, spectral_kmse
from stbmta.spectral import coordinates, denoised_distances, rank_filter, spectral, spectrum
from stbmta.theory import sharp
from stbmta.unequal import distances, fill, pair_neighbors, water_filling

from . import slow


def ragged_bags(rng, n_bags=7, dim=4, spread=0.5):
    return Bags.from_list(
        [rng.normal(size=(n, dim)) + spread * rng.normal(size=dim) for n in rng.integers(3, 12, n_bags)]
    )


@pytest.mark.parametrize(("kappa", "ridge"), [(0.0, 0.0), (1.0, 1.0), (2.5, 0.0)])
@pytest.mark.parametrize("kernel", ["linear", RBF(1.5)])
def test_aggregation_reaches_the_smallest_objective(rng, kappa, ridge, kernel):
    s = bag_statistics(ragged_bags(rng), kernel)
    U, mse, d = s.mmd2(), s.naive_mse, 3.0
    W = aggregation(s, kappa, ridge, dimension=d, tolerance=1e-10)
    np.testing.assert_allclose(W.sum(axis=1), 1.0, rtol=1e-12)
    assert (W >= 0).all()
    C = np.array([[slow.penalty(U, mse, d, i, j) for j in range(len(s))] for i in range(len(s))])
    np.testing.assert_allclose(penalties(s, d), C, rtol=1e-9, atol=1e-12)
    for i in range(len(s)):
        linear = 2 * kappa * C[i] - 2 * s.gram[i]
        linear[i] += 2 * mse[i]
        best = slow.simplex_program(s.gram + ridge * mse[i] * np.eye(len(s)), linear, 5000)
        found, expected = (
            slow.aggregation_objective(w, i, s.gram, U, mse, d, kappa, ridge) for w in (W[i], best)
        )
        assert found == pytest.approx(expected, abs=1e-6 * mse[i])


def test_aggregation_of_some_rows_known_errors_and_bad_input(rng):
    s = bag_statistics(ragged_bags(rng))
    mse = 4.0 / s.sizes
    whole = aggregation(s, mse=mse)
    np.testing.assert_array_equal(aggregation(s, mse=mse, rows=np.array([2, 5])), whole[[2, 5]])
    np.testing.assert_array_equal(aggregation(s, mse=mse, n_threads=1), whole)
    np.testing.assert_array_equal(aggregation(bag_statistics(Bags.from_list([[1.0, 2.0]]))), [[1.0]])
    with pytest.raises(ValueError, match="kappa must be a number of at least 0"):
        aggregation(s, -1.0)
    with pytest.raises(ValueError, match="ridge must be a number of at least 0"):
        aggregation(s, ridge=np.nan)


def test_the_oracle_inequality_holds_on_its_event():
    """L(w^) <= L(w) + 4 kappa sum w_j c_ij whenever |T_ij| <= kappa c_ij; the event is checked on the truth."""
    rng, held = np.random.default_rng(5), 0
    for _ in range(40):
        sample = datasets.cluster(12, 60, n_clusters=3, spread=0.05, rng=rng)
        s, B = bag_statistics(sample.bags), 12
        mse = np.full(B, 60.0)
        kappa, c = 3.0, penalties(s, 60.0, mse=np.full(B, 60.0))
        W = aggregation(s, kappa, 0.0, mse=mse, dimension=60.0, tolerance=1e-9)
        errors = s.means - sample.means
        for i in range(B):
            T = (sample.means - sample.means[i]) @ errors[i] + errors @ errors[i]
            T -= errors[i] @ errors[i] - mse[i]
            if (np.abs(np.delete(T, i)) > kappa * np.delete(c[i], i)).any():
                continue
            held += 1
            for w in (np.eye(B)[i], np.full(B, 1 / B), rng.dirichlet(np.ones(B))):
                loss = [((v @ s.means - sample.means[i]) ** 2).sum() for v in (W[i], w)]
                assert loss[0] <= loss[1] + 4 * kappa * np.delete(w, i) @ np.delete(c[i], i) + 1e-6
    assert held > 300


@given(st.integers(1, 12), st.integers(0, 10_000))
def test_simplex_program(size, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(size, max(1, size - 2)))
    Q, linear = A @ A.T, rng.normal(size=size)
    a = minimize_on_simplex(Q, linear, tolerance=1e-12)
    best = slow.simplex_program(Q, linear, 3000)
    assert a @ Q @ a + linear @ a == pytest.approx(best @ Q @ best + linear @ best, abs=1e-6)
    assert a.sum() == pytest.approx(1.0)


def test_noise_dimension(rng):
    for dim in (3, 40):  # from covariances, and from inner products
        scales = np.geomspace(0.1, 2.0, dim)
        bags = Bags.from_list([rng.normal(size=(9, dim)) * rng.permutation(scales) for _ in range(3)])
        expected = pytest.approx(slow.noise_dimension(list(bags)), rel=1e-9)
        assert noise_dimension(bags) == expected
        assert noise_dimension(bags, Precomputed(bags.data @ bags.data.T)) == expected
        far = Bags.from_list([bag + 1e9 for bag in bags])  # an offset costs no more digits than it must
        assert noise_dimension(far) == pytest.approx(noise_dimension(bags), rel=1e-5)
    for kernel in ("linear", RBF(1.0)):
        assert noise_dimension(Bags.from_list([np.ones((3, 2))] * 2), kernel) == np.inf
        assert noise_dimension(Bags.from_list([np.ones((1, 2))] * 2), kernel) == 2.0
    # One bag that is far noisier than the others takes no digits from them.
    bags = [rng.normal(size=(6, 2)) * [1.0, k + 1.0] for k in range(3)]
    bags[1] = 1e12 * bags[1]
    assert noise_dimension(Bags.from_list(bags)) == pytest.approx(slow.noise_dimension(bags), rel=1e-9)


def noisy_bags(rng, n_bags, size, dim):
    """Return bags that are noisy in different directions, each sorted by its noise."""
    bags = [
        rng.normal(size=(size, dim)) * rng.permutation(np.geomspace(0.1, 3.0, dim)) for _ in range(n_bags)
    ]
    return [bag[np.argsort(bag[:, 0])] for bag in bags]


@pytest.mark.parametrize("kernel", ["linear", RBF(2.0)])
@pytest.mark.parametrize(("n_bags", "size", "dim"), [(6, 100, 3), (100, 9, 5), (14, 4, 50)])
def test_the_order_of_bags_and_points_does_not_matter(rng, kernel, n_bags, size, dim):
    bags = noisy_bags(rng, n_bags, size, dim)
    expected = noise_dimension(Bags.from_list(bags), kernel)
    mixed = [rng.permutation(bags[k]) for k in rng.permutation(n_bags)]
    assert noise_dimension(Bags.from_list(mixed), kernel) == pytest.approx(expected, rel=1e-9)


def test_noise_dimension_of_samples(rng):
    # More bags than count: some are drawn, the same ones in any order, and they stand for all.
    bags = noisy_bags(rng, 150, 20, 4)
    expected = noise_dimension(Bags.from_list(bags), RBF(2.0))
    mixed = Bags.from_list([bags[k] for k in rng.permutation(150)])
    assert noise_dimension(mixed, RBF(2.0)) == pytest.approx(expected, rel=1e-9)
    # Larger bags than count, sorted.
    bags = [rng.normal(size=(2000, 10)) * np.r_[10.0, np.ones(9)] for _ in range(30)]
    bags = [bag[np.argsort(bag[:, 0])] for bag in bags]
    mixed = [rng.permutation(bag) for bag in bags]
    found, of_mixed = (noise_dimension(Bags.from_list(some)) for some in (bags, mixed))
    assert found == pytest.approx(109.0**2 / (100.0**2 + 9), rel=0.01)
    assert found == pytest.approx(of_mixed, rel=0.01)
    found, of_mixed = (noise_dimension(Bags.from_list(some), RBF(8.0)) for some in (bags, mixed))
    assert found == pytest.approx(of_mixed, rel=0.1)


@pytest.mark.parametrize("unit", [2.0**-480, 2.0**-270, 2.0**260, 2.0**330, 2.0**480], ids="{:.0e}".format)
@pytest.mark.parametrize("dim", [3, 60])
def test_the_unit_of_the_data_does_not_matter(rng, unit, dim):
    bags = [rng.normal(size=(6, dim)) + rng.normal(size=dim) for _ in range(8)]
    mine, other = (ConvexAggregation().fit([u * bag for bag in bags]) for u in (1.0, unit))
    assert 1 < mine.dimension_ < np.inf
    assert other.dimension_ == pytest.approx(mine.dimension_, rel=1e-12)
    np.testing.assert_allclose(other.weights_, mine.weights_, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", [0.25, 1.0])
def test_water_filling_is_that_of_theory_and_minimizes_the_bound(rng, scale):
    s = bag_statistics(ragged_bags(rng))
    W = water_filling(s, scale)
    D = np.sqrt(scale * s.mmd2(clip=True))
    for i in range(len(s)):
        np.testing.assert_allclose(W[i], sharp.waterfill(D[i], s.naive_mse).weights, rtol=1e-10, atol=1e-14)
        found = minimize(
            slow.bound,
            np.full(len(s), 1 / len(s)),
            (D[i], s.naive_mse),
            bounds=[(0, 1)] * len(s),
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        value = slow.bound(W[i], D[i], s.naive_mse)
        assert value == pytest.approx(found.fun, rel=1e-6)
        assert value <= s.naive_mse[i] * (1 + 1e-12)  # never worse than the naive mean


@given(st.integers(1, 30), st.integers(0, 10_000), st.sampled_from([0.0, 1e-8, 1.0, 1e8]))
def test_filling_without_sorting(size, seed, unit):
    rng = np.random.default_rng(seed)
    D, error = unit * rng.exponential(size=(2, size)).round(1), rng.exponential(size=size) + 0.01
    own = rng.integers(size, size=2)
    W = fill(D, error, own)
    for d, i, w in zip(D, own, W, strict=True):
        d[i] = 0.0
        np.testing.assert_allclose(w, sharp.waterfill(d, error).weights, rtol=1e-9, atol=1e-13)
    far = np.full((1, size), 1e200)
    np.testing.assert_allclose(fill(far, error, own[:1])[0], np.eye(size)[own[0]], atol=1e-12)


def test_coordinates_have_the_inner_products_of_the_means(rng):
    bags = ragged_bags(rng)
    for kernel in ("linear", RBF(1.0), RBF(30.0)):
        s = bag_statistics(bags, kernel)
        vectors = coordinates(s)
        np.testing.assert_allclose(vectors @ vectors.T, s.gram, rtol=1e-11, atol=1e-13)
    for dim in (3, 20):  # squares of an offset would swallow the differences
        s = bag_statistics(Bags.from_list([rng.normal(size=(4, dim)) + 1e9 for _ in range(10)]))
        vectors = coordinates(s)
        assert vectors.shape[1] <= 10
        centered = s.means - s.means.mean(axis=0)
        moved = vectors - vectors.mean(axis=0)
        np.testing.assert_allclose(moved @ moved.T, centered @ centered.T, rtol=0, atol=1e-4)
    twice = bag_statistics(Bags.from_list([*bags, *bags]), RBF(1.0))
    assert coordinates(twice).shape[1] <= len(bags)


def test_water_filling_at_the_edges(rng):
    s = bag_statistics(ragged_bags(rng))
    B = len(s)
    np.testing.assert_array_equal(fill(np.ones((1, B)), np.zeros(B), np.array([2])), np.eye(B)[[2]])
    inverse = (1 / s.naive_mse) / (1 / s.naive_mse).sum()
    np.testing.assert_allclose(water_filling(s, squared_distances=np.zeros((B, B))), np.tile(inverse, (B, 1)))
    np.testing.assert_allclose(water_filling(s, squared_distances=np.full((B, B), 1e9)), np.eye(B), atol=1e-4)
    np.testing.assert_array_equal(water_filling(s, rows=slice(2, 4)), water_filling(s)[2:4])
    # A bag at an infinite distance does not count, whatever the others say.
    unknown = np.full((B, B), np.inf)
    np.testing.assert_array_equal(water_filling(s, squared_distances=unknown), np.eye(B))
    unknown[:, :2] = 0.0
    pair = np.r_[1 / s.naive_mse[:2], np.zeros(B - 2)]
    np.testing.assert_allclose(water_filling(s, squared_distances=unknown)[0], pair / pair.sum())
    for wrong in (np.full((B, B), np.nan), np.ones((2, 2))):
        with pytest.raises(ValueError, match="squared_distances must be a matrix of"):
            water_filling(s, squared_distances=wrong)
    with pytest.raises(ValueError, match="scale must be a number of at least 0"):
        water_filling(s, -1.0)


@pytest.mark.parametrize("mse", [[1.0], -np.ones(8), np.full(8, np.nan)], ids=str)
def test_errors_that_mean_nothing_are_refused(rng, mse):
    s = bag_statistics(Bags.from_list(list(rng.normal(size=(8, 3, 2)))))
    for method in (
        water_filling,
        aggregation,
        penalties,
        spectral,
        partial(pair_neighbors, zeta=1.0),
        partial(clustered_mta, clusters=np.zeros(8)),
    ):
        with pytest.raises(ValueError, match="mse must be 8 finite numbers of at least 0"):
            method(s, mse=mse)
    with pytest.raises(ValueError, match="dimension must be a positive number, found 0"):
        aggregation(s, dimension=0)


def test_tests_with_both_variances(rng):
    s = bag_statistics(ragged_bags(rng))
    U, mse = s.mmd2(), s.naive_mse
    found = pair_neighbors(s, 0.8)
    for i in range(len(s)):
        for j in range(len(s)):
            assert found[i, j] == (i == j or U[i, j] <= 0.8 * (mse[i] + mse[j]) / 2)
    known = pair_neighbors(s, 0.8, mse=np.ones(len(s)))
    np.testing.assert_array_equal(known, s.mmd2(unbiased=False) - 2 + 2 * np.eye(len(s)) <= 0.8)
    assert pair_neighbors(s, np.inf).all()
    with pytest.raises(ValueError, match="zeta must be at least 0"):
        pair_neighbors(s, -0.1)


@pytest.mark.parametrize("offset", [2.0**24, 2.0**27, 2.0**40], ids="{:.0e}".format)
def test_far_bags_are_weighed_as_if_alone(rng, offset):
    bags = np.round(64 * rng.normal(size=(10, 4, 3))) / 64  # offsets cost them no digits
    alone = bag_statistics(Bags.from_list(list(bags[6:])))
    bags[6:] += offset
    s = bag_statistics(Bags.from_list(list(bags)))
    np.testing.assert_allclose(distances(s), s.mmd2(), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(distances(s, rows=np.array([7, 2])), distances(s)[[7, 2]])
    methods = (
        distances,
        penalties,
        water_filling,
        partial(aggregation, dimension=3.0),
        partial(pair_neighbors, zeta=1.0),
    )
    for method in methods:
        np.testing.assert_allclose(method(s)[6:, 6:], method(alone), rtol=1e-9, atol=1e-9)
    order = rng.permutation(10)
    mixed = bag_statistics(Bags.from_list(list(bags[order])))
    W, turned = (aggregation(some, tolerance=1e-9) for some in (s, mixed))
    np.testing.assert_allclose(turned, W[np.ix_(order, order)], rtol=0, atol=1e-4)
    assert (W[:6, 6:] == 0).all()


@pytest.mark.parametrize(("n_bags", "dim"), [(40, 15), (15, 40)])
def test_optimal_spectral_shrinkage(rng, n_bags, dim):
    X = 3 * rng.normal(size=(n_bags, 2)) @ rng.normal(size=(2, dim)) + rng.normal(size=(n_bags, dim))
    s = bag_statistics(Bags.from_list([x[None] for x in X]))
    W = spectral(s, mse=np.full(n_bags, float(dim)))
    np.testing.assert_allclose(W @ X, slow.optimal_shrinkage(X, 1.0), rtol=1e-8, atol=1e-10)


def test_spectral_weights_by_plain_linear_algebra(rng):
    bags = ragged_bags(rng, n_bags=8, dim=3)
    for kernel in ("linear", RBF(1.0)):
        s = bag_statistics(bags, kernel)
        root = np.sqrt(s.naive_mse)
        values, vectors = np.linalg.eigh(s.gram / np.outer(root, root))
        for rank in (0, 1, 3):
            kept = np.maximum(1 - 1 / np.maximum(values, 1e-9), 0) * (np.arange(8) >= 8 - rank)
            expected = np.diag(root) @ vectors @ np.diag(kept) @ vectors.T @ np.diag(1 / root)
            np.testing.assert_allclose(spectral(s, rank), expected, rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose(spectral(s, rank, rows=slice(2)), expected[:2], rtol=1e-7, atol=1e-9)
    with pytest.raises(ValueError, match="rank must be at least 0"):
        spectral(s, -1)
    assert "the largest:" in spectrum(s).summary()
    still = bag_statistics(Bags.from_list([np.zeros((2, 1))] * 3))
    np.testing.assert_array_equal(spectral(still), np.zeros((3, 3)))
    np.testing.assert_array_equal(rank_filter(np.array([4.0, 0.0])), [0.75, 0.0])


def test_denoised_distances(rng):
    s = bag_statistics(ragged_bags(rng))
    for W in (weights.mta_constant(s), 0.5 * np.eye(len(s))):
        means = W @ s.means
        expected = ((means[:, None] - means[None]) ** 2).sum(axis=2)
        np.testing.assert_allclose(denoised_distances(s, W), expected, rtol=1e-9, atol=1e-11)


def test_minimax_multi_task_averaging(rng):
    s = bag_statistics(ragged_bags(rng))
    B = len(s)
    largest = max(((s.means[i] - s.means[j]) ** 2).sum() for i in range(B) for j in range(B))
    A = np.full((B, B), 2 / largest)
    expected = np.linalg.inv(np.eye(B) + np.diag(s.naive_mse) @ (np.diag(A.sum(axis=1)) - A) / B)
    np.testing.assert_allclose(weights.mta_constant(s, constant="minimax"), expected, rtol=1e-10)


def test_clustered_multi_task_averaging(rng):
    bags = Bags.from_list([rng.normal(size=(8, 10)) + 4 * (k % 3) for k in range(12)])
    s = bag_statistics(bags)
    clusters = find_clusters(s, mse=s.naive_mse, dimension=10.0, random_state=0)
    assert len(np.unique(clusters)) == 3
    for k in range(3):
        assert len(set(clusters[k::3])) == 1
    W = clustered_mta(s, clusters)
    for k in range(3):
        members = np.arange(k, 12, 3)
        alone = weights.mta_constant(bag_statistics(bags[members]))
        np.testing.assert_allclose(W[np.ix_(members, members)], alone, rtol=1e-9)
        others = np.setdiff1d(np.arange(12), members)
        assert (W[np.ix_(members, others)] == 0).all()
    np.testing.assert_array_equal(find_clusters(s, 20, mse=s.naive_mse, dimension=10.0), np.arange(12))
    assert len(np.unique(find_clusters(s, 2, mse=s.naive_mse, dimension=10.0, random_state=0))) == 2
    assert (find_clusters(s, 1, mse=s.naive_mse, dimension=10.0) == 0).all()
    with pytest.raises(ValueError, match="n_clusters must be at least 1"):
        find_clusters(s, 0, mse=s.naive_mse, dimension=10.0)
    with pytest.raises(ValueError, match="one cluster a bag, 12"):
        clustered_mta(s, [0, 1])


@pytest.mark.parametrize("penalty", [0.0, 0.01, 2.0])
def test_spectral_kernel_mean_shrinkage(rng, penalty):
    X = rng.normal(size=(9, 4)) + 1
    np.testing.assert_allclose(
        spectral_kmse(X @ X.T, penalty) @ X, slow.spectral_mean(X, penalty), rtol=1e-8, atol=1e-10
    )
    np.testing.assert_array_equal(spectral_kmse(np.zeros((3, 3)), penalty), np.full(3, 1 / 3))
    with pytest.raises(ValueError, match="penalty must be a number of at least 0"):
        spectral_kmse(X @ X.T, -1.0)


def test_clusters_of_many_dimensions_are_told_apart():
    sample = datasets.cluster(200, 100, n_clusters=5, rng=0)
    for bags, variance in (
        (sample.bags, 1.0),
        (datasets.cluster(60, 50, n_clusters=5, bag_size=4, rng=1).bags, None),
    ):
        est = ClusteredMTA(variance=variance, random_state=0).fit(bags)
        assert len(np.unique(est.clusters_)) == 5
    est = ClusteredMTA(variance=1.0, random_state=0).fit(sample.bags)
    error = ((est.means_ - sample.means) ** 2).sum() / ((sample.bags.means() - sample.means) ** 2).sum()
    assert error < 0.05  # 5 clusters of 40 bags: a fortieth, and the spread within clusters


def test_clusters_with_nothing_in_common_raise_no_warning(rng):
    bags = [rng.normal(size=(8, 10)) + 1e4 * (k % 3) for k in range(9)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        est = ClusteredMTA(random_state=0).fit(bags)
    np.testing.assert_array_equal(est.clusters_.reshape(3, 3).std(axis=0), 0.0)


@pytest.mark.parametrize(
    ("n_clusters", "size", "least"), [(60, 5, 0.7), (49, 4, 0.65), (30, 1, 0.0), (51, 1, 0.0), (2, 1, 0.0)]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_far_clusters_are_all_found(n_clusters, size, least, seed):
    rng = np.random.default_rng(seed)
    means = np.repeat(10 * rng.normal(size=(n_clusters, 20)), size, axis=0)
    est = ClusteredMTA(random_state=0).fit([mean + rng.normal(size=(10, 20)) for mean in means])
    assert len(np.unique(est.clusters_)) == n_clusters
    np.testing.assert_array_equal(est.clusters_.reshape(n_clusters, size).std(axis=1), 0.0)
    naive = est.bags_.means()
    assert ((est.means_ - means) ** 2).sum() <= (1 - least) * ((naive - means) ** 2).sum()


def test_far_bags_leave_the_others_their_cluster(rng):
    bags = [rng.normal(size=(10, 20)) + 100.0 * max(0, k - 11) for k in range(15)]
    clusters = ClusteredMTA(random_state=0).fit(bags).clusters_
    assert len(np.unique(clusters)) == 4
    assert len(np.unique(clusters[:12])) == 1
    for n_clusters in (2, 3, 7, 14):
        est = ClusteredMTA(n_clusters=n_clusters, random_state=0).fit(bags)
        assert len(np.unique(est.clusters_)) <= n_clusters


def test_the_number_of_clusters():
    assert count_clusters(np.r_[1.0, 0.9, 0.3, -0.1]) == 2
    assert count_clusters(np.ones(3)) == 3
    assert count_clusters(np.ones(300)) == 300
    assert count_clusters(np.r_[np.full(80, 0.97), np.full(80, 0.1)]) == 80
    assert count_clusters(np.r_[np.ones(80), np.linspace(1.0, 0.0, 100)]) == 130
    # Beyond 50, a gap of less than 1/2 does not count.
    assert count_clusters(np.r_[1.0, np.full(70, 0.8), np.full(70, 0.4)]) == 1
