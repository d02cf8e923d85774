"""Averages over neighbors without a B x B matrix: exact on the borderline, in little memory, to the last bit."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stbmta import (
    STB,
    Bags,
    bag_statistics,
    gaussian_neighbors,
    linear,
    neighbor_averages,
    neighbor_test,
    neighbors,
    weights,
)
from stbmta.jit import linear as jit_linear
from stbmta.scale.means import mean_statistics
from stbmta.scale.stream import BagStream
from stbmta.tuning import tune_stb

from .strategies import ragged


def slow_averages(means, errors, thresholds):
    """Every pair by itself: neighbors, and the averages over them."""
    N = np.array(
        [
            [((x - y) ** 2).sum() - (errors[i] + errors[j]) <= thresholds[i] for j, y in enumerate(means)]
            for i, x in enumerate(means)
        ]
    )
    return N, (N @ means) / N.sum(axis=1)[:, None]


def points(means):
    """Bags of one point each."""
    return Bags.from_offsets(np.ascontiguousarray(means), np.arange(len(means) + 1))


@given(arrays=ragged(min_size=2), zeta=st.floats(0, 20))
def test_the_same_as_with_the_b_by_b_statistics(arrays, zeta):
    bags = Bags.from_list(arrays)
    s = bag_statistics(bags)
    # Where a pair lies on the threshold to the last digits, two ways of rounding may differ; nowhere else.
    gap = s.mmd2() - zeta * s.naive_mse[:, None]
    clear = np.abs(gap) > 1e-9 * (1 + np.abs(s.gram).max())
    np.fill_diagonal(clear, True)
    found = neighbor_averages(bags, zeta, keep_neighbors=True)
    N = found.neighbors.toarray()
    np.testing.assert_array_equal(N[clear], neighbors(s, zeta)[clear])
    np.testing.assert_array_equal(found.counts, N.sum(axis=1))
    np.testing.assert_allclose(found.estimate(0.25), weights.stb(N, 0.25) @ s.means, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.means, s.means, rtol=1e-15)
    np.testing.assert_allclose(found.naive_mse, s.naive_mse, rtol=1e-14)


def test_known_variance(rng):
    bags = Bags.from_list([rng.normal(size=(n, 6)) for n in rng.integers(1, 5, 70)])
    N = gaussian_neighbors(bag_statistics(bags), 2.5, 1.3)
    assert 0.1 < N.mean() < 0.9
    found = neighbor_averages(bags, 2.5, variance=1.3, keep_neighbors=True)
    np.testing.assert_array_equal(found.neighbors.toarray(), N)
    assert found.neighbors.has_sorted_indices
    np.testing.assert_allclose(found.averages, weights.stb(N, 0.0) @ bags.means(), rtol=1e-12, atol=1e-13)
    assert neighbor_averages(bags, 2.5, variance=1.3).neighbors is None


def test_more_dimensions_and_rows_than_a_slice(rng):
    means = rng.normal(size=(jit_linear.SOME_ROWS + 5, 2 * jit_linear.DEPTH + 1))
    thresholds = np.full(len(means), 2.0 * means.shape[1])  # the squared distance to expect
    N, averages = slow_averages(means, np.zeros(len(means)), thresholds)
    assert 0.1 < N.mean() < 0.9
    sums, counts = neighbor_sums(means, np.zeros(len(means)), thresholds)
    np.testing.assert_array_equal(counts, N.sum(axis=1))
    np.testing.assert_allclose(sums / counts[:, None], averages, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("scale", [1.0, 2.0**-400, 2.0**400])
def test_pairs_exactly_on_the_threshold(scale, rng):
    """Corners of a grid: distances are whole numbers, so whole thresholds are met exactly, by many pairs."""
    grid = rng.integers(-2, 3, size=(150, 7)).astype(float)
    squared = ((grid[:, None] - grid) ** 2).sum(axis=-1)
    for limit in (9, 20):
        assert (squared == limit).sum() > 200
        bags = points(grid * scale)
        for zeta, expected in (
            (limit / 7, squared <= limit),
            (np.nextafter(limit, 0) / 7, squared < limit),
        ):
            # zeta * d * variance is the squared distance allowed; it is exact here, or just below the limit
            allowed = zeta * (7 * scale**2)
            assert (allowed >= limit * scale**2) == (expected == (squared <= limit)).all()
            found = neighbor_averages(bags, zeta, variance=scale**2, keep_neighbors=True)
            np.testing.assert_array_equal(found.neighbors.toarray(), expected)


@pytest.mark.parametrize("dim", [3, 40, pytest.param(1000, marks=pytest.mark.slow_without_jit)])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_pairs_closer_to_the_threshold_than_single_precision_can_tell(dim, offset, rng):
    """All points lie on a sphere around the first, within 1e-9 of the threshold, on either side."""
    directions = rng.normal(size=(300, dim))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    side = np.where(rng.random(300) < 0.5, 1, -1)
    radius = 1 + side * 10.0 ** rng.uniform(-11, -9, 300)
    # far from the center of the data, so that norms are large against the distance
    sphere = np.vstack([np.zeros(dim), directions * radius[:, None]]) + 5.0
    means = np.vstack([sphere, -sphere[:1]]) + offset
    found = neighbor_averages(points(means), 1.0, variance=1 / dim, keep_neighbors=True)
    N = found.neighbors.toarray()[0]
    if offset == 0:
        np.testing.assert_array_equal(N[1:-1], radius < 1)
    centered = means - (means.max(axis=0) / 2 + means.min(axis=0) / 2)
    exact = ((centered - centered[0]) ** 2).sum(axis=1)
    clear = np.abs(exact - 1) > 1e-12
    np.testing.assert_array_equal(N[clear], exact[clear] <= 1)


def neighbor_sums(means, errors, thresholds):
    test = neighbor_test.NeighborTest.of(means, errors, thresholds)
    sums, counts = linear.sum_neighbors(test, None, 1, 10**6)
    return sums + counts[:, None] * test.center, counts


def test_single_precision_alone_would_be_wrong(rng):
    """The borderline data do their work: without lowering the limits, neighbors are lost."""
    means = rng.normal(size=(200, 50))
    errors = np.zeros(200)
    thresholds = np.sort(((means[:, None] - means) ** 2).sum(axis=-1), axis=1)[:, 20] * (1 + 1e-12)
    expected, averages = slow_averages(means, errors, thresholds)
    sums, counts = neighbor_sums(means, errors, thresholds)
    np.testing.assert_array_equal(counts, expected.sum(axis=1))
    np.testing.assert_allclose(sums / counts[:, None], averages, rtol=1e-12, atol=1e-13)

    def bare_limits(norms, errors, thresholds, dim):
        rows, columns = (norms - errors - thresholds) / 2, (norms - errors) / 2
        never = np.full(len(norms), np.inf)
        return tuple(np.array([limits, never], np.float32) for limits in (rows, columns))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbor_test, "filter_limits", bare_limits)
        _, counts = neighbor_sums(means, errors, thresholds)
    assert (counts < expected.sum(axis=1)).any()


def test_sureness_in_single_precision_alone_would_be_wrong(rng):
    """Without raising the limits of sure neighbors, some that are just too far away would count."""
    means = rng.normal(size=(200, 50))
    errors = np.zeros(200)
    thresholds = np.sort(((means[:, None] - means) ** 2).sum(axis=-1), axis=1)[:, 20] * (1 - 1e-12)
    expected, _ = slow_averages(means, errors, thresholds)
    _, counts = neighbor_sums(means, errors, thresholds)
    np.testing.assert_array_equal(counts, expected.sum(axis=1))

    def bare_limits(norms, errors, thresholds, dim):
        limits = filter_limits(norms, errors, thresholds, dim)
        for found, bare in zip(
            limits, ((norms - errors - thresholds) / 2, (norms - errors) / 2), strict=True
        ):
            found[1] = bare
        return limits

    filter_limits = neighbor_test.filter_limits
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbor_test, "filter_limits", bare_limits)
        _, counts = neighbor_sums(means, errors, thresholds)
    assert (counts > expected.sum(axis=1)).any()


@pytest.mark.parametrize("far", [0.0, 1e4])
def test_the_filter_rules_out_nearly_all_that_are_no_neighbors(far, rng, monkeypatch):
    """Otherwise the result would be right, and slow. One far mean does not make the others doubtful."""
    candidates, sure = [], []

    def spy(row_panels, panels, dim, row_limits, column_limits, first, last, masks):
        filter_pairs(row_panels, panels, dim, row_limits, column_limits, first, last, masks)
        for k, found in enumerate((candidates, sure)):
            outcomes = masks[: 300 - first * linear.WIDTH, :, k].copy()
            found.append(int(np.unpackbits(outcomes.view(np.uint8)).sum()))

    filter_pairs = jit_linear.filter_pairs
    monkeypatch.setattr(jit_linear, "filter_pairs", spy)
    centers = rng.normal(size=(10, 200))
    means = centers[rng.integers(10, size=300)] + rng.normal(size=(300, 200)) / 2
    means[0] += far
    found = neighbor_averages(points(means), 2.6, variance=0.25)
    assert found.counts.sum() > 5000
    assert 0.99 * sum(candidates) < sum(sure) <= sum(candidates) < 1.01 * found.counts.sum()


def test_threads_and_order_change_no_bit(rng, monkeypatch):
    monkeypatch.setattr(linear, "CACHED", 1)  # many small groups
    bags = Bags.from_list([rng.normal(size=(n, 5)) for n in rng.integers(2, 9, 150)])
    expected = neighbor_averages(bags, 3.0, n_threads=1, keep_neighbors=True)
    found = neighbor_averages(bags, 3.0, n_threads=2, keep_neighbors=True)
    np.testing.assert_array_equal(found.averages, expected.averages)
    order = rng.permutation(len(bags))
    found = neighbor_averages(bags[order], 3.0, keep_neighbors=True)
    np.testing.assert_array_equal(found.averages, expected.averages[order])
    np.testing.assert_array_equal(
        found.neighbors.toarray(), expected.neighbors.toarray()[np.ix_(order, order)]
    )


def test_extremes(rng):
    bags = Bags.from_list([rng.normal(size=(3, 4)) for _ in range(50)], labels=[f"b{i}" for i in range(50)])
    everybody = neighbor_averages(bags, np.inf)
    assert (everybody.counts == 50).all()
    np.testing.assert_allclose(everybody.averages, np.tile(bags.means().mean(axis=0), (50, 1)), rtol=1e-12)
    assert "neighbors of a bag, itself included: 50 to 50" in everybody.summary()
    assert everybody.to_frame().index[3] == "b3"
    nobody = neighbor_averages(bags, [0.0] * 50)
    np.testing.assert_array_equal(nobody.estimate(np.ones(50)), nobody.means)
    same = neighbor_averages(Bags.from_list([[7.0, 7.0]] * 3), 1.0)
    assert same.counts.tolist() == [3, 3, 3]
    assert same.averages.tolist() == [[7.0]] * 3


def test_so_many_dimensions_that_nothing_can_be_ruled_out():
    limits = neighbor_test.filter_limits(np.ones(2), np.zeros(2), np.ones(2), 10**7)
    assert np.isinf(limits).all()


def test_bad_input(rng):
    bags = Bags.from_list([rng.normal(size=(2, 3)), rng.normal(size=(1, 3))])
    with pytest.raises(ValueError, match=r"bag 1 .* variance needs at least 2"):
        neighbor_averages(bags, 1.0)
    with pytest.raises(ValueError, match="zeta must be at least 0"):
        neighbor_averages(bags, -1.0, variance=1.0)
    for variance in (0.0, np.nan, [1.0, 2.0]):
        with pytest.raises(ValueError, match="variance must be a positive number"):
            neighbor_averages(bags, 1.0, variance=variance)
    with pytest.raises(ValueError, match="gamma must be a number or 2 numbers"):
        neighbor_averages(bags, 1.0, variance=1.0).estimate([0.1, 0.2, 0.3])


@pytest.mark.slow_without_jit
def test_no_b_by_b_matrix(rng):
    """8000 bags: 64 million pairs would take 64 MB as booleans and 512 MB as numbers."""
    bags = points(rng.normal(size=(8000, 20)))
    neighbor_averages(bags[:3], 1.0, variance=1.0)  # compile
    tracemalloc.start()
    neighbor_averages(bags, 0.5, variance=1.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16e6


@pytest.mark.filterwarnings(
    "ignore:overflow", "ignore:invalid value"
)  # of plain Python; compiled code is silent
@pytest.mark.parametrize(
    ("scale", "message"), [(1e160, "their squares overflow"), (1e-170, "their squares vanish")]
)
def test_squares_beyond_floating_point_are_refused(scale, message, rng):
    bags = Bags.from_list([scale * rng.normal(size=(4, 2)) for _ in range(5)])
    for work in (
        lambda: neighbor_averages(bags, 1.0),
        lambda: neighbor_averages(mean_statistics(BagStream.from_bags(bags)), 1.0),
        lambda: bag_statistics(bags),
        lambda: STB(zeta=1.0, gamma=0.1, max_memory="5kB").fit(bags),
        lambda: tune_stb(bags, rng=0),
    ):
        with pytest.raises(ValueError, match=message):
            work()
    np.testing.assert_allclose(bags.means(), [bag.mean(axis=0) for bag in bags], rtol=1e-12)
    same = Bags.from_list([[scale, scale]] * 3)
    assert neighbor_averages(same, 1.0).counts.tolist() == [3, 3, 3]
    np.testing.assert_array_equal(bag_statistics(same).naive_mse, np.zeros(3))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_many_second_looks_are_left_when_nobody_waits_for_them(n_threads, rng, monkeypatch):
    """Equal bags without spread all lie on the threshold; Ctrl-C must not wait until all pairs are compared."""
    bags = Bags.from_list([[1.0, 1.0]] * 300)
    expected = neighbor_averages(bags, 1.0)
    monkeypatch.setattr(linear, "LOOK", 300 * 8)  # eight rows at a time
    found = neighbor_averages(bags, 1.0, n_threads=n_threads)
    np.testing.assert_array_equal(found.averages, expected.averages)
    np.testing.assert_array_equal(found.counts, expected.counts)
    looks = []

    def interrupted(*args):
        looks.append(len(args[3]))
        raise KeyboardInterrupt

    monkeypatch.setattr(jit_linear, "sum_candidates", interrupted)
    with pytest.raises(KeyboardInterrupt):
        neighbor_averages(bags, 1.0, n_threads=n_threads)
    assert set(looks) == {8}
