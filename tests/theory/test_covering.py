"""Covering numbers: certified intervals against integer programming, on the line, from Gram matrices and noise."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from stbmta.theory import _check as check
from stbmta.theory import gaussian
from stbmta.theory.covering import (
    covering_number,
    covering_number_gram,
    covering_number_noisy,
    covering_profile,
    exact_covering_number,
)


def is_certified(points, number):
    """Whether the centers cover, and the packing is apart and does not claim more than the interval."""
    distances = cdist(points, points)
    covered = (distances[:, number.centers] <= number.radius * (1 + 1e-9)).any(axis=1).all()
    apart = distances[np.ix_(number.packing, number.packing)][np.triu_indices(len(number.packing), 1)]
    return covered and np.all(apart > 2 * number.radius) and len(number.packing) <= number.lower


@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 14),
    dim=st.integers(2, 4),
    radius=st.floats(0.05, 3.0),
)
def test_the_interval_holds_the_exact_number(seed, n, dim, radius):
    points = np.random.default_rng(seed).normal(size=(n, dim))
    number = covering_number(points, radius)
    anywhere = exact_covering_number(points, radius)
    at_points = exact_covering_number(points, radius, anywhere=False)
    assert (number.lower, number.upper) == (anywhere, at_points)
    assert len(number.centers) == number.upper
    assert number.confidence == 1
    assert is_certified(points, number)
    gram = covering_number_gram(points @ points.T, radius)
    assert (gram.lower, gram.upper, len(gram.centers)) == (anywhere, at_points, at_points)
    for where, exact in (("anywhere", anywhere), ("points", at_points)):
        number = covering_number(points, radius, centers=where)
        assert (number.lower, number.upper) == (exact, exact)
        assert is_certified(points, number)
        assert len(number.centers) == at_points
    profile = covering_profile(points, [radius, 2 * radius])
    assert profile.lower[0] <= anywhere <= profile.upper[0]
    assert profile.upper[1] <= profile.upper[0]


@given(x=st.lists(st.integers(-50, 50), min_size=1, max_size=12), radius=st.integers(1, 20))
def test_the_line_is_exact(x, radius):
    number = covering_number(np.array(x, float), radius / 2)
    assert number.exact
    assert number.lower == exact_covering_number(np.array(x, float), radius / 2)
    points = np.array(x, float)[:, None]
    assert is_certified(points, number)
    assert number.confidence == 1
    assert len(number.centers) == exact_covering_number(points, radius / 2, anywhere=False)
    assert covering_number(points, radius / 2).lower == number.lower
    around = covering_number(points, radius / 2, centers="points")
    assert around.lower == around.upper == len(around.centers) == len(number.centers)
    assert covering_number(points, radius / 2, centers="anywhere").upper == number.upper


def test_where_the_exact_search_ends(rng):
    """Thirty points have exact ends, one more has greedy ones; crowds in high dimension keep the packing below."""
    points = rng.normal(size=(31, 2))
    for n, radius in ((30, 0.8), (31, 0.8)):
        number = covering_number(points[:n], radius)
        exact = (
            exact_covering_number(points[:n], radius),
            exact_covering_number(points[:n], radius, anywhere=False),
        )
        assert ((number.lower, number.upper) == exact) == (n == 30)
        assert number.lower <= exact[0] <= exact[1] <= number.upper
        gram = covering_number_gram(points[:n] @ points[:n].T, radius)
        assert (gram.lower, gram.upper) == (number.lower, number.upper)
        assert covering_number(points[:n], radius, centers="points").exact == (n == 30)
        assert covering_number(points[:n], radius, centers="anywhere").exact == (n == 30)
        noisy = covering_number_gram(points[:n] @ points[:n].T, radius, np.zeros(n))
        assert noisy.upper > exact[1]  # nothing is certified then, so nothing is sharpened
    crowd = rng.normal(size=(20, 20))
    number = covering_number(crowd, 5.5, centers="anywhere")
    assert len(number.packing) == number.lower < number.upper == len(number.centers)


def test_a_small_set_far_from_the_origin_has_the_same_gram_distances():
    triangle = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.7]]) + 10
    number = covering_number_gram(triangle @ triangle.T, 1.2)
    assert (number.lower, number.upper) == (1, 3)


def test_points_at_exactly_the_radius_are_covered():
    assert covering_number([0.0, 0.2, 0.1], 0.1).upper == 1
    grid = np.array([[0.1, 0.2], [0.1, 0.5], [0.4, 0.2]])
    assert covering_number(grid, 0.3).upper == 1
    far = covering_number([[0.0, 0.0], [2.0, 0.0]], 1.0)
    assert (far.lower, far.upper) == (
        1,
        2,
    )  # two radii apart: one ball holds both, but no ball around a point
    farther = covering_number([[0.0, 0.0], [2.0 + 1e-9, 0.0]], 1.0)
    assert (farther.lower, farther.upper) == (2, 2)


def test_a_gram_matrix_may_be_wrong_by_rounding_only(rng):
    """One part in a million of the largest diagonal value, wherever it is."""
    points = rng.normal(size=(600, 3))
    gram = points @ points.T
    slack = 1e-6 * gram.diagonal().max()
    for i, j in ((3, 1), (599, 256), (599, 2)):
        squares = gram[i, i] + gram[j, j]
        for factor in (0.995, 1.005):
            skewed, close = gram.copy(), gram.copy()
            skewed[i, j] += factor * slack
            close[i, j] = close[j, i] = (squares + factor * slack) / 2
            if factor < 1:
                assert check.gram(skewed) is skewed
                assert check.gram(close) is close
                continue
            with pytest.raises(
                ValueError, match=rf"symmetric; found .* at \({j}, {i}\) and .* at \({i}, {j}\)"
            ):
                check.gram(skewed)
            with pytest.raises(ValueError, match=f"between {j} and {i}"):
                check.gram(close)


def test_gram_matrix_and_points_agree(rng):
    points = rng.normal(size=(300, 5))
    for radius in (0.5, 1.0, 2.5):
        a, b = covering_number(points, radius), covering_number_gram(points @ points.T, radius)
        assert (a.lower, a.upper) == (b.lower, b.upper)
        np.testing.assert_array_equal(a.centers, b.centers)
        np.testing.assert_array_equal(a.packing, b.packing)
        assert b.confidence == 1
    with pytest.raises(ValueError, match="gram must be square; found shape"):
        covering_number_gram(points, 1.0)


@pytest.mark.slow_without_jit
def test_clusters_are_counted(rng):
    centers = 10 * rng.normal(size=(12, 40))
    points = centers[rng.integers(12, size=3000)] + 0.01 * rng.normal(size=(3000, 40))
    number = covering_number(points, 0.5)
    assert number.exact
    assert number.upper == len(np.unique(number.centers)) == 12
    assert number.ratio == 12 / 3000
    assert "12" in number.summary()
    frame = number.to_frame()
    assert frame["upper"].tolist() == [12]


def test_greedy_is_the_classical_set_cover_for_few_points():
    """A center that covers the most comes first: a star beats its tips."""
    star = np.vstack([np.eye(6), np.zeros((1, 6))])
    number = covering_number(star, 1.0)
    assert number.centers.tolist() == [6]
    assert number.lower == 1


def test_the_profile_is_a_traversal(rng):
    points = rng.normal(size=(200, 3))
    radii = np.array([0.3, 0.7, 1.5, 4.0])
    profile = covering_profile(points, radii)
    for k, radius in enumerate(radii):
        number = covering_number(points, radius)
        assert profile.lower[k] <= number.upper
        assert number.lower <= profile.upper[k]
    assert profile.to_frame()["radius"].tolist() == radii.tolist()
    assert profile.to_frame()["upper / points"].iloc[0] == profile.upper[0] / 200
    assert "upper" in profile.summary()
    assert covering_profile(points, 0.7).upper.tolist() == [profile.upper[1]]
    for square, upper in ((9 * (1 - 1e-9), 1), (9 * (1 + 1e-9), 2)):
        assert covering_profile([[0.0, 0.0], [np.sqrt(square), 0.0]], [3.0, 4.0]).upper.tolist() == [upper, 1]
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.5, 0.5]])
    edge = covering_profile(corners, [np.sqrt(0.5), 0.7, 0.5, 0.49, 0.3535, 0.3536])
    assert edge.upper.tolist() == [1, 5, 5, 5, 5, 5]
    assert edge.lower.tolist() == [1, 1, 1, 1, 5, 1]


def test_unbiased_distances_of_naive_means(rng):
    """Noise blows up distances; taking its mean square away brings the number back. Nothing is certified."""
    means = 4 * np.eye(400)[:6]
    naive = means.repeat(10, axis=0) + rng.normal(size=(60, 400)) / np.sqrt(50)
    noise = 400 / 50
    assert covering_number(naive, 1.7).upper == 60
    estimate = covering_number_noisy(naive, 1.7, noise)
    assert (estimate.lower, estimate.upper) == (6, 6)
    assert np.isnan(estimate.confidence)
    same = covering_number_gram(naive @ naive.T, 1.7, naive_mse=np.full(60, noise))
    assert (same.lower, same.upper) == (6, 6)
    assert np.isnan(same.confidence)
    unequal = covering_number_noisy(naive, 1.7, np.full(60, noise))
    assert unequal.upper == 6


@pytest.mark.parametrize("alpha", [None, 0.2])
def test_noise_never_turns_an_interval_around(alpha):
    """Distances less the noise are no distances, and may pack more points than there are balls."""
    x = np.random.default_rng(0).normal(size=(20, 50))
    number = covering_number_noisy(x, 3.0, 50.0)
    assert (number.lower, number.upper) == (1, 1)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(rng.integers(2, 40), rng.integers(1, 60)))
        radius, noise = rng.uniform(0.1, 5), x.shape[1] * rng.uniform(0.1, 2)
        found = [covering_number_noisy(x, radius, noise, alpha=alpha)]
        if alpha is None:
            found.append(covering_number_gram(x @ x.T, radius, naive_mse=np.full(len(x), noise)))
        for number in found:
            assert 1 <= number.lower <= number.upper
            assert (len(number.packing), len(number.centers)) == (number.lower, number.upper)


TRIANGLE = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.7]])


@pytest.mark.parametrize("scale", [5e-324 * 2**60, 1e-165, 1e-90, 1e90, 1e160, 1e300])
def test_numbers_do_not_depend_on_the_unit(scale, rng):
    """Also where squares are beyond all numbers."""
    for points in (TRIANGLE, [[0.0, 0.0], [5.0, 0.0]], rng.normal(size=(12, 3)), rng.normal(size=(40, 2))):
        points, radius = np.array(points), 1.2
        for where in (None, "anywhere", "points"):
            one = covering_number(points, radius, centers=where)
            other = covering_number(points * scale, radius * scale, centers=where)
            assert (other.lower, other.upper, other.radius) == (one.lower, one.upper, radius * scale)
            assert other.centers.tolist() == one.centers.tolist()
        radii = np.array([radius, 0.5])
        profile = covering_profile(points * scale, radii * scale)
        assert profile.upper.tolist() == covering_profile(points, radii).upper.tolist()
        assert profile.lower.tolist() == covering_profile(points, radii).lower.tolist()
        assert profile.radii.tolist() == (radii * scale).tolist()
        one, other = (
            covering_number_noisy(points, radius, 0.0),
            covering_number_noisy(points * scale, radius * scale, 0.0),
        )
        assert (other.lower, other.upper, other.radius) == (one.lower, one.upper, radius * scale)


@pytest.mark.parametrize("scale", [1e-120, 1e120])
@pytest.mark.parametrize("mse", [0.9, None])
def test_noise_and_gram_matrices_have_the_unit_of_the_radius(scale, mse, rng):
    points = rng.normal(size=(15, 4))
    noise = None if mse is None else np.full(15, mse)
    scaled = None if mse is None else noise * scale**2
    one = covering_number_gram(points @ points.T, 1.2, noise)
    other = covering_number_gram((points * scale) @ (points * scale).T, 1.2 * scale, scaled)
    assert (other.lower, other.upper, other.radius) == (one.lower, one.upper, 1.2 * scale)
    assert np.isnan(other.confidence) == np.isnan(one.confidence) == (mse is not None)
    if mse is not None:
        for alpha in (None, 0.1):
            one = covering_number_noisy(points, 1.2, mse, alpha=alpha)
            other = covering_number_noisy(points * scale, 1.2 * scale, mse * scale**2, alpha=alpha)
            assert (other.lower, other.upper, other.radius) == (one.lower, one.upper, 1.2 * scale)


def test_points_far_beyond_the_radius():
    near = [[0.0, 0.0], [1e-165, 0.0], [1.0, 0.0]]
    number = covering_number(near, 1e-165)
    assert (number.lower, number.upper) == (2, 2)
    assert covering_profile(near, [1e-165, 1e-20]).upper.tolist() == [2, 2]
    assert covering_number_gram(np.eye(2), 1e160).upper == 1
    with pytest.raises(
        ValueError, match=r"points must be at most 1e\+307 in units of the radius; found about inf"
    ):
        covering_number([[0.0, 0.0], [1e160, 0.0]], 1e-165)
    with pytest.raises(ValueError, match=r"gram must be at most 1e\+307 in units of the squared radius"):
        covering_number_gram(np.eye(2), 1e-160)
    with pytest.raises(ValueError, match=r"radii must be less far apart; found 1 and 1e\+160"):
        covering_profile(near, [1.0, 1e160])


def test_the_noise_of_both_bags_is_taken_away():
    """Squared distances less both errors, 2 and 3: within the radius, and beyond two radii, to the digit."""
    radius, noise = 1.7, [2.0, 3.0]
    for factor, upper in ((1 - 1e-9, 1), (1 + 1e-9, 2)):
        pair = np.array([[0.0, 0.0], [np.sqrt(factor * radius**2 + 5), 0.0]])
        assert covering_number_noisy(pair, radius, noise).upper == upper
        assert covering_number_gram(pair @ pair.T, radius, noise).upper == upper
    for factor, lower in ((1 - 1e-9, 1), (1 + 1e-9, 2)):
        pair = np.array([[0.0, 0.0], [np.sqrt(4 * factor * radius**2 + 5), 0.0]])
        assert covering_number_noisy(pair, radius, noise).lower == lower
        assert covering_number_gram(pair @ pair.T, radius, noise).lower == lower


def test_a_certified_interval_from_naive_means(rng):
    """Known isotropic noise: the interval holds the truth at least as often as promised, and its ends are sharp."""
    dim, alpha, unit = 300, 0.2, 1.0
    means = np.zeros((8, dim))
    means[4:, 0] = 3.0
    truth, radius, holds = 2, 1.45, 0
    for _ in range(60):
        naive = means + rng.normal(size=means.shape) / np.sqrt(dim)
        number = covering_number_noisy(naive, radius, unit, alpha=alpha)
        holds += number.lower <= truth <= number.upper
        assert number.confidence == pytest.approx(0.8)
    assert holds >= 60 * (1 - alpha)
    pair = np.zeros((2, dim))
    cover = gaussian.exact_zeta(radius**2, 2, dim, alpha / 2)
    apart = gaussian.exact_zeta_power(4 * radius**2, 2, dim, alpha / 2)
    for factor, upper in ((1 - 1e-7, 1), (1 + 1e-7, 2)):
        pair[1, 0] = factor * np.sqrt(cover)
        assert covering_number_noisy(pair, radius, unit, alpha=alpha).upper == upper
    for factor, lower in ((1 - 1e-7, 1), (1 + 1e-7, 2)):
        pair[1, 0] = factor * np.sqrt(apart)
        assert covering_number_noisy(pair, radius, unit, alpha=alpha).lower == lower
    one = covering_number_noisy(pair[:1], radius, unit, alpha=alpha)
    assert (one.lower, one.upper) == (1, 1)
    with pytest.raises(ValueError, match="alpha needs one common naive_mse above 0"):
        covering_number_noisy(pair, radius, [1.0, 2.0], alpha=0.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: covering_number([[0.0, 1.0]], 0.0), "radius must be above 0; found 0"),
        (lambda: covering_number(np.zeros((0, 2)), 1.0), r"points must be a matrix with at least one row"),
        (lambda: covering_number(np.zeros((2, 2, 2)), 1.0), r"points must be a matrix"),
        (lambda: covering_number([[0.0, np.nan]], 1.0), "points must be finite; found nan"),
        (
            lambda: covering_number([[0.0]], [1.0, 2.0]),
            r"radius must be one number; found shape \(2,\). covering_profile",
        ),
        (
            lambda: covering_number([[0.0]], 1.0, centers="here"),
            "centers must be 'anywhere', 'points' or None",
        ),
        (
            lambda: exact_covering_number([[]], 1.0),
            r"points must be a matrix with at least one row; found shape \(1, 0\)",
        ),
        (lambda: exact_covering_number([], 1.0), "points must be a matrix with at least one row"),
        (lambda: exact_covering_number(np.zeros((2, 2, 2)), 1.0), "points must be a matrix"),
        (lambda: exact_covering_number([1.0, 2.0], [1.0, 2.0]), "radius must be one number"),
        (
            lambda: covering_number_gram([[1.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.1, 1.0]], 1.0),
            r"gram must be symmetric; found 0.2 at \(1, 2\) and 0.1 at \(2, 1\)",
        ),
        (
            lambda: covering_number_gram([[1.0, 0.5, 2.0], [0.5, 1.0, 0.2], [2.0, 0.2, 1.0]], 1.0),
            r"gram must hold inner products; found a squared distance of -2 between 0 and 2",
        ),
        (
            lambda: covering_number_gram([[1.0, 0.5], [0.2, 1.0]], 1.0),
            r"gram must be symmetric; found 0.5 at \(0, 1\) and 0.2 at \(1, 0\)",
        ),
        (lambda: covering_profile([[0.0, 1.0]], [1.0, -1.0]), "radii must be above 0; found -1"),
        (
            lambda: covering_profile([[0.0, 1.0]], [[1.0], [2.0]]),
            r"radii must be a vector with at least one number; found shape \(2, 1\)",
        ),
        (lambda: covering_profile([[0.0, 1.0]], []), r"radii must be a vector.*found shape \(0,\)"),
        (lambda: covering_number_noisy(np.zeros((3, 2)), 1.0, [1.0, 2.0]), "one number or 3 of them"),
        (lambda: covering_number_noisy(np.zeros((3, 2)), 1.0, np.ones((3, 1))), "one number or 3 of them"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("radius", [0.5, 12.0])
def test_twenty_thousand_points_in_memory_of_their_own_size(radius):
    """Never B x B: the peak beyond the points stays far below the 3.2 GB of a distance matrix."""
    rng = np.random.default_rng(0)
    centers = 10 * rng.normal(size=(200, 100))
    points = centers[rng.integers(200, size=20_000)] + 0.01 * rng.normal(size=(20_000, 100))
    covering_number(points[:200], radius)  # compile outside the count
    tracemalloc.start()
    number = covering_number(points, radius)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert number.lower <= 200 <= number.upper or radius > 1
    assert number.exact or radius > 1
    assert peak < 6 * points.nbytes
