"""Exact covering numbers of a few points: all choices tried, and circumscribed balls worked out by hand."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from stbmta.theory.covering import covering_number, covering_number_gram, exact_covering_number
from stbmta.theory.covering_exact import exponent_of, rescaled


def smallest_cover(points, radius):
    """Fewest balls around points, by trying all choices."""
    near = cdist(points, points) <= radius * (1 + 1e-9)
    for count in range(1, len(points) + 1):
        for chosen in combinations(range(len(points)), count):
            if near[:, chosen].any(axis=1).all():
                return count
    raise AssertionError


@given(seed=st.integers(0, 10**6), n=st.integers(1, 8), radius=st.floats(0.1, 2.0))
def test_the_integer_program_finds_the_smallest_cover(seed, n, radius):
    points = np.random.default_rng(seed).normal(size=(n, 2))
    assert exact_covering_number(points, radius, anywhere=False) == smallest_cover(points, radius)


def test_a_ball_is_determined_by_the_points_on_its_surface():
    triangle = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, np.sqrt(3)]])
    circumradius = 2 / np.sqrt(3)
    assert exact_covering_number(triangle, circumradius * (1 + 1e-8)) == 1
    assert exact_covering_number(triangle, circumradius * (1 - 1e-8)) == 2
    # in four dimensions: circumradius sqrt(3)/2 by 4 points, sqrt(2/3) by 3, sqrt(1/2) by 2
    simplex = np.eye(4)
    for radius, number in ((0.8661, 1), (0.8659, 2), (0.8166, 2), (0.8164, 2), (0.7072, 2), (0.7070, 4)):
        assert exact_covering_number(simplex, radius) == number
    in_one_line = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])  # no circumscribed ball: two of them decide
    assert exact_covering_number(in_one_line, 1.0) == 1
    assert exact_covering_number(in_one_line[:, 0], 0.999) == 2
    with pytest.raises(ValueError, match="more than 200,000 candidate balls. Use covering_number"):
        exact_covering_number(np.random.default_rng(0).normal(size=(60, 5)), 10.0)


def test_a_ball_around_a_point_ends_at_its_radius():
    pair = np.array([[0.0, 0.0], [0.0, 3.0]])
    for radius, number in ((3.0 * (1 + 1e-8), 1), (3.0, 1), (3.0 * (1 - 1e-8), 2)):
        assert exact_covering_number(pair, radius, anywhere=False) == number


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e3, 1e9])
def test_the_units_of_the_points_do_not_matter(unit):
    """One ball holds this triangle, whether it is measured in nanometers or in light years."""
    triangle = unit * np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.7]])
    assert exact_covering_number(triangle, 1.2 * unit) == 1
    number = covering_number(triangle, 1.2 * unit)
    assert (number.lower, number.upper) == (1, 3)
    assert covering_number(triangle, 1.2 * unit, centers="anywhere").upper == 1
    centered = triangle - triangle.mean(axis=0)
    assert covering_number_gram(centered @ centered.T, 1.2 * unit).lower == 1


def test_too_many_candidates_are_refused_only_then():
    few = exact_covering_number(np.random.default_rng(0).normal(size=(25, 3)), 10.0)
    assert few == 1


def test_units_near_the_radius():
    """None is needed up to two to the power of 256; beyond, values are divided by the power of two above."""
    radii = (2.0**-256, 1.0, 1.9 * 2.0**255, 2.0**256, 2.0**-258)
    assert [exponent_of(radius) for radius in radii] == [0, 0, 0, 257, -257]
    assert rescaled("x", np.array([3.0, -1.1]), -2).tolist() == [12.0, -4.4]
    assert rescaled("x", np.array([0.995e307]), 0) == 0.995e307
    for far in (1.005e307, -1.005e307):
        with pytest.raises(
            ValueError, match=r"x must be at most 1e\+307 in units of the radius; found about 4.02e\+307"
        ):
            rescaled("x", np.array([0.0, far]), -2)


@pytest.mark.parametrize("scale", [1e-165, 1e160])
def test_squares_beyond_all_numbers(scale):
    triangle = scale * np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.7]])
    for anywhere, number in ((True, 1), (False, 3)):
        assert exact_covering_number(triangle, 1.2 * scale, anywhere=anywhere) == number


def test_points_beyond_all_squares_are_far():
    """An obtuse triangle has weights of both signs, and infinity minus infinity is no reason for a ball."""
    points = np.array([[0.0, 0.0], [1e-165, 0.0], [5e-166, 1e-166], [1.0, 0.0]])
    assert exact_covering_number(points, 3e-165) == 2
    assert exact_covering_number(points, 3e-165, anywhere=False) == 2
