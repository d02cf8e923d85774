"""Neighbors and weights: each formula against its plain version, properties, and the cases at the edge."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from stbmta import RBF, Bags, bag_statistics, gaussian_neighbors, neighbors, weights

from . import naive
from .strategies import ragged

two_or_more = ragged(min_size=2, max_bags=5, max_size=5)
zetas = st.floats(0, 4)
gammas = st.floats(0, 1)


def rbf_statistics(arrays):
    return bag_statistics(Bags.from_list(arrays), RBF(1.5))


@given(two_or_more, zetas, gammas, st.floats(0.01, 3))
def test_stb_weights_agree_with_the_oracle(arrays, zeta, gamma, c):
    s = rbf_statistics(arrays)
    N = neighbors(s, zeta)
    threshold_gap = np.abs(s.mmd2() - zeta * s.naive_mse[:, None])
    if threshold_gap[~np.eye(len(s), dtype=bool)].min(initial=1.0) > 1e-12:  # not a matter of rounding
        oracle = naive.rbf(1.5)
        np.testing.assert_array_equal(
            N, naive.neighbors(naive.mmd2(oracle, arrays), naive.naive_mse(oracle, arrays), zeta)
        )
    assert N.diagonal().all()
    np.testing.assert_allclose(weights.stb(N, gamma), naive.stb(N, [gamma] * len(s)), rtol=1e-13)
    np.testing.assert_allclose(
        weights.stb_theory(N, zeta, c), naive.stb(N, naive.gamma_theory(N, zeta, c)), rtol=1e-12, atol=1e-15
    )
    tau = 0.1 + zeta
    np.testing.assert_allclose(
        weights.stb_same_data(N, tau), naive.stb(N, [tau / (1 + tau)] * len(s)), rtol=1e-12
    )


@given(two_or_more, zetas, st.floats(0, 50))
def test_mta_and_rkmse_agree_with_the_oracle(arrays, zeta, gamma):
    s = rbf_statistics(arrays)
    N = neighbors(s, zeta)
    A = np.random.default_rng(0).random((len(s), len(s)))
    np.testing.assert_allclose(
        weights.mta(s, A, gamma), naive.mta(A, s.naive_mse, gamma), rtol=1e-8, atol=1e-11
    )
    np.testing.assert_allclose(
        weights.mta_stb(s, N, gamma), naive.mta(N.astype(float), s.naive_mse, gamma), rtol=1e-8, atol=1e-11
    )
    np.testing.assert_allclose(
        np.diag(weights.rkmse(s)), np.diag(naive.rkmse(naive.rbf(1.5), arrays)), rtol=1e-9, atol=1e-9
    )


@given(two_or_more, st.floats(0, 5))
def test_mta_constant_is_mta_with_a_constant(arrays, gamma):
    s = rbf_statistics(arrays)
    B = len(s)
    clipped = s.mmd2(clip=True)
    average = clipped.sum() / (B * (B - 1)) if B > 1 else 0.0
    if average > 1e-9:
        for constant, a in (("inverse", 2 / average), ("mean", average)):
            expected = naive.mta(np.full((B, B), a), s.naive_mse, gamma)
            np.testing.assert_allclose(
                weights.mta_constant(s, gamma, constant=constant), expected, rtol=1e-7, atol=1e-9
            )


@given(two_or_more, zetas, st.floats(0, 50))
def test_rows_of_averages_sum_to_one(arrays, zeta, gamma):
    s = rbf_statistics(arrays)
    N = neighbors(s, zeta)
    for W in (
        weights.naive(s),
        weights.stb(N, 0.3),
        weights.mta_stb(s, N, gamma),
        weights.mta_constant(s, gamma),
    ):
        np.testing.assert_allclose(W.sum(axis=1), 1.0, rtol=1e-9)
        assert (W >= -1e-12).all()


@given(two_or_more, zetas, st.randoms(use_true_random=False))
def test_relabelling_permutes_the_weights(arrays, zeta, random):
    order = list(range(len(arrays)))
    random.shuffle(order)
    s, t = rbf_statistics(arrays), rbf_statistics([arrays[i] for i in order])
    N, M = neighbors(s, zeta), neighbors(t, zeta)
    np.testing.assert_array_equal(M, N[np.ix_(order, order)])
    for W, V in (
        (weights.stb(N, 0.2), weights.stb(M, 0.2)),
        (weights.mta_stb(s, N, 3.0), weights.mta_stb(t, M, 3.0)),
        (weights.mta_constant(s), weights.mta_constant(t)),
        (weights.rkmse(s), weights.rkmse(t)),
    ):
        np.testing.assert_allclose(V, W[np.ix_(order, order)], rtol=1e-9, atol=1e-12)


def test_neighbors_grow_with_the_threshold_and_may_differ_by_row(rng):
    s = bag_statistics(Bags.from_list([rng.normal(size=(n, 3)) for n in (2, 30, 5, 9)]))
    assert (neighbors(s, 0.5) <= neighbors(s, 2.0)).all()
    assert neighbors(s, np.inf).all()
    by_row = neighbors(s, [0.5, 2.0, 0.5, 2.0])
    np.testing.assert_array_equal(by_row[1], neighbors(s, 2.0)[1])
    np.testing.assert_array_equal(by_row[0], neighbors(s, 0.5)[0])
    assert not np.array_equal(neighbors(s, 0.3), neighbors(s, 0.3).T)


@pytest.mark.parametrize("bad", [-0.1, np.nan, [1.0, 2.0], [[1.0]]])
def test_bad_thresholds(bad):
    s = bag_statistics(Bags.from_list([[0.0, 1.0]]))
    with pytest.raises(ValueError, match="zeta must be"):
        neighbors(s, bad)


def test_gaussian_neighbors_use_the_known_error(rng):
    bags = Bags.from_list([rng.normal(size=(n, 4)) for n in (1, 2, 3)])
    s = bag_statistics(bags)
    means = bags.means()
    squared = ((means[:, None] - means[None]) ** 2).sum(-1)
    for zeta in (0.5, 2.0, 3.0):
        expected = (squared <= zeta * 4 * 1.7 / bags.sizes[:, None]) | np.eye(3, dtype=bool)
        np.testing.assert_array_equal(gaussian_neighbors(s, zeta, variance=1.7), expected)
    with pytest.raises(ValueError, match="needs the linear kernel"):
        gaussian_neighbors(bag_statistics(bags, RBF(1.0)), 2.0)
    with pytest.raises(ValueError, match="variance must be a positive number"):
        gaussian_neighbors(s, 2.0, variance=0.0)


def test_sparse_neighbors_give_the_same_weights(rng):
    s = bag_statistics(Bags.from_list([rng.normal(size=(6, 3)) for _ in range(8)]))
    N = neighbors(s, 0.7)
    S = scipy.sparse.csr_array(N)
    for dense, sparse in (
        (weights.stb(N, 0.3), weights.stb(S, 0.3)),
        (weights.stb_theory(N, 0.7, 0.5), weights.stb_theory(S, 0.7, 0.5)),
        (weights.stb_same_data(N, 0.4), weights.stb_same_data(S, 0.4)),
    ):
        assert scipy.sparse.issparse(sparse)
        np.testing.assert_allclose(sparse.toarray(), dense, rtol=1e-15)
    np.testing.assert_array_equal(weights.mta_stb(s, S, 2.0), weights.mta_stb(s, N, 2.0))


def test_bags_of_one_point_are_refused_by_name():
    s = bag_statistics(Bags.from_list([[1.0, 2.0], [3.0]], labels=["JFK", "LGA"]))
    for method in (weights.rkmse, weights.mta_constant, weights.james_stein, lambda t: neighbors(t, 1.0)):
        with pytest.raises(
            ValueError, match=r"bag 'LGA' \(index 1\) has 1 row .*Drop it with bags\.drop_small\(2\)"
        ):
            method(s)
    np.testing.assert_array_equal(weights.naive(s), np.eye(2))


def test_mta_constant_where_no_means_differ():
    """The authors' code divides by zero here; the limit is the average by inverse variance."""
    s = bag_statistics(Bags.from_list([[-1.0, 1.0], [-2.0, 2.0]]))
    assert (s.mmd2() <= 0).all()
    expected = np.array([[0.8, 0.2], [0.8, 0.2]])  # errors 1 and 4
    np.testing.assert_allclose(weights.mta_constant(s), expected, rtol=1e-12)
    near = bag_statistics(Bags.from_list([[-1.0, 1.0], [-2.0 + 3.1, 2.0 + 3.1]]))
    strong = weights.mta_constant(near, gamma=1e9)
    np.testing.assert_allclose(strong, expected, rtol=1e-6)
    np.testing.assert_array_equal(weights.mta_constant(s, gamma=0.0), np.eye(2))
    constant = bag_statistics(Bags.from_list([[1.0, 1.0], [0.0, 2.0]]))
    np.testing.assert_array_equal(weights.mta_constant(constant), [[1, 0], [1, 0]])


def test_rkmse_shrinks_completely_or_not_at_all_at_the_edges():
    s = bag_statistics(Bags.from_list([[-1.0, 1.0], [2.0, 2.0], [0.0, 0.0]]))
    np.testing.assert_array_equal(np.diag(weights.rkmse(s)), [0.0, 1.0, 1.0])


@pytest.mark.parametrize(("constant", "strength"), [("classical", 3), ("authors", 2)])
def test_james_stein_formulas(rng, constant, strength):
    bags = Bags.from_list([rng.normal(size=(n, 5)) + 1.0 for n in (2, 4, 9)])
    s = bag_statistics(bags)
    means, N = bags.means(), bags.sizes
    for target, nu in (("zero", np.zeros(5)), ("mean", means.mean(axis=0)), (np.ones(5), np.ones(5))):
        norms = ((means - nu) ** 2).sum(axis=1)
        known = np.maximum(0, 1 - strength * 1.3 / N / norms)
        S = np.array([((bag - m) ** 2).sum() for bag, m in zip(bags, means, strict=True)])
        unknown = np.maximum(0, 1 - strength * S / N / (5 * (N - 1) + 2) / norms)
        for variance, kept in ((1.3, known), (None, unknown)):
            W = weights.james_stein(s, target=target, variance=variance, constant=constant)
            expected = np.diag(kept) + (
                np.outer(1 - kept, np.ones(3) / 3) if isinstance(target, str) and target == "mean" else 0
            )
            np.testing.assert_allclose(W, expected, rtol=1e-12, atol=1e-15)


def test_james_stein_beats_the_naive_mean(rng):
    """Known and estimated variance; in two dimensions it is the naive mean."""
    for variance in (None, 1.0):
        gain = []
        for _ in range(300):
            s = bag_statistics(Bags.from_list([rng.normal(size=(3, 10)) + 0.3]))
            estimate = weights.james_stein(s, variance=variance) @ s.means
            gain.append(((estimate - 0.3) ** 2).sum() - ((s.means - 0.3) ** 2).sum())
        assert np.mean(gain) < -4 * np.std(gain) / np.sqrt(len(gain))
    flat = bag_statistics(Bags.from_list([rng.normal(size=(3, 2))]))
    np.testing.assert_array_equal(weights.james_stein(flat), np.eye(1))


BAD = {
    "gamma above 1": lambda s, N: weights.stb(N, 1.5),
    "gamma nan": lambda s, N: weights.stb(N, np.nan),
    "gamma below 0": lambda s, N: weights.mta_stb(s, N, -1.0),
    "gamma infinite": lambda s, N: weights.mta_constant(s, np.inf),
    "own neighbor": lambda s, N: weights.stb(~N),
    "square matrix": lambda s, N: weights.stb(N[:1]),
    "constant must": lambda s, N: weights.mta_constant(s, constant="median"),
    "constant must be": lambda s, N: weights.james_stein(s, constant="median"),
    "similarity must": lambda s, N: weights.mta(s, -np.ones((2, 2)), 1.0),
    "target must be 'zero'": lambda s, N: weights.james_stein(s, target="median"),
    "finite vector of 1": lambda s, N: weights.james_stein(s, target=[1.0, 2.0]),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments(case):
    s = bag_statistics(Bags.from_list([[0.0, 1.0], [0.0, 1.5]]))
    with pytest.raises(ValueError, match="gamma must" if case.startswith("gamma") else case):
        BAD[case](s, np.eye(2, dtype=bool))


def test_james_stein_needs_vectors():
    with pytest.raises(ValueError, match="use the linear kernel, or rkmse"):
        weights.james_stein(bag_statistics(Bags.from_list([[0.0, 1.0]]), RBF(1.0)))


@pytest.mark.parametrize("gamma", [1e14, 1e18, 1e300])
def test_mta_constant_reaches_its_limit(gamma, rng):
    s = bag_statistics(Bags.from_list([rng.normal(size=(n, 4)) + n for n in (5, 6, 7)]))
    limit = 1 / s.naive_mse
    expected = np.broadcast_to(limit / limit.sum(), (3, 3))
    np.testing.assert_allclose(weights.mta_constant(s, gamma), expected, rtol=1e-10)


def test_lists_are_matrices_and_bad_errors_are_refused(rng):
    s = bag_statistics(Bags.from_list([rng.normal(size=(n, 4)) for n in (5, 6, 7)]))
    N = [[True, True], [False, True]]
    for method in (weights.stb, lambda N: weights.stb_theory(N, 1.0)):
        np.testing.assert_array_equal(method(N), method(np.array(N)))
    for mse in (np.ones(2), -np.ones(3), np.full(3, np.nan)):
        for method in (weights.mta_constant, lambda s, mse: weights.mta(s, np.ones((3, 3)), 1.0, mse=mse)):
            with pytest.raises(ValueError, match="mse must be 3 finite numbers of at least 0"):
                method(s, mse=mse)
    with pytest.raises(ValueError, match="3 x 3 finite numbers of at least 0"):
        weights.mta(s, np.full((3, 3), np.inf), 1.0)
