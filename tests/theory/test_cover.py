"""The compiled searches of covering numbers: each against plain loops over a matrix of distances."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from stbmta.theory import _cover


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5, 8, 9])
def test_packed_scores_are_squared_distances_minus_offsets(dim, rng):
    points, offsets = rng.normal(size=(70, dim)), rng.random(70)
    members = rng.permutation(70)[:45]
    expected = cdist(points, points, "sqeuclidean") - offsets[:, None] - offsets
    packed = _cover.pack(points, False, members)
    out = np.empty(_cover.LANES)
    for start in (0, 32):
        count = _cover.block_scores(points, False, offsets, packed, members, 7, start, out)
        assert count == min(32, 45 - start)
        np.testing.assert_allclose(
            out[:count], expected[7, members[start : start + count]], rtol=1e-12, atol=1e-12
        )


def test_searches_against_plain_loops(rng):
    """Each compiled search against its definition, on sets larger than a block of lanes."""
    n, limit = 150, 2.0
    points, offsets = rng.normal(size=(n, 3)), 0.1 * rng.random(n)
    score = cdist(points, points, "sqeuclidean") - offsets[:, None] - offsets
    rows, members = rng.permutation(n)[:90], rng.permutation(n)[:130]  # three words of 64 bits
    near = _cover.near_any(points, False, offsets, rows, members, limit)
    expected = [(score[r, members] <= limit).any() or r in members for r in rows]
    np.testing.assert_array_equal(near, expected)
    order = rng.permutation(n)
    kept = []
    for i in order:
        if all(score[i, k] > limit for k in kept):
            kept.append(i)
    np.testing.assert_array_equal(
        order[_cover.sequential_packing(points, False, offsets, order, limit)], kept
    )
    np.testing.assert_array_equal(_cover.packing(points, False, offsets, limit, order), kept)
    bits = _cover.incidence(points, False, offsets, np.arange(n), members, limit)
    covers = (score[:, members] <= limit) | (np.arange(n)[:, None] == members)
    unpacked = np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")
    np.testing.assert_array_equal(unpacked[:, : len(members)], covers)
    assert not unpacked[:, len(members) :].any()
    left, chosen = np.ones(len(members), bool), []
    while left.any():
        chosen.append(int(np.argmax((covers & left).sum(axis=1))))
        left &= ~covers[chosen[-1]]
    found = _cover.greedy_choice(bits, len(members))
    # ties may be broken in another way, the numbers of newly covered points may not differ
    left, gains = np.ones(len(members), bool), []
    for c in found:
        gains.append((covers[c] & left).sum())
        assert gains[-1] == (covers & left).sum(axis=1).max() > 0
        left &= ~covers[c]
    assert not left.any()


def test_farthest_first_against_its_definition(rng):
    points = rng.normal(size=(70, 2))
    squares = cdist(points, points, "sqeuclidean")
    taken, gaps = _cover.farthest_first(points, False, np.zeros(70), 5, 0.3)
    nearest, expected, expected_gaps = np.full(70, np.inf), [5], [np.inf]
    while True:
        nearest = np.minimum(nearest, squares[expected[-1]])
        far = int(np.argmax(nearest))
        if nearest[far] <= 0.3:
            break
        expected.append(far)
        expected_gaps.append(nearest[far])
    assert taken.tolist() == expected
    np.testing.assert_allclose(gaps, expected_gaps, rtol=1e-12)
    everyone, _ = _cover.farthest_first(points, False, np.zeros(70), 0, -1.0)
    assert sorted(everyone) == list(range(70))


def test_a_gram_matrix_has_the_same_scores(rng):
    points, offsets = rng.normal(size=(90, 3)), 0.1 * rng.random(90)
    gram, order = points @ points.T, rng.permutation(90)
    for limit in (0.2, 1.0, 4.0):
        both = [
            (
                _cover.greedy_cover(data, is_gram, offsets, limit),
                _cover.packing(data, is_gram, offsets, limit, order),
                _cover.farthest_first(data, is_gram, offsets, 3, limit)[0],
            )
            for data, is_gram in ((points, False), (gram, True))
        ]
        for from_points, from_gram in zip(*both, strict=True):
            np.testing.assert_array_equal(from_points, from_gram)


@pytest.mark.parametrize("spread", [0.3, 1.0, 30.0])
def test_rounds_of_the_greedy_cover(spread, rng, monkeypatch):
    """Sets larger than one sample: the cover is complete, whichever points are candidates."""
    monkeypatch.setattr(_cover, "SAMPLE", 64)
    points, limit = spread * rng.normal(size=(300, 3)), 1.0
    centers = _cover.greedy_cover(points, False, np.zeros(300), limit)
    assert np.all(cdist(points, points[centers], "sqeuclidean").min(axis=1) <= limit * (1 + 1e-9))
    kept = _cover.packing(points, False, np.zeros(300), 4 * limit, np.arange(300))
    assert len(kept) <= len(centers)
    assert (
        np.sort(cdist(points[kept], points[kept], "sqeuclidean") + 1e9 * np.eye(len(kept)), axis=None)[0]
        > 4 * limit
    )
