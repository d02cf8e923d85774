"""Closed-form covering numbers against volumes, against points drawn from the sets, and in extreme dimensions."""

import mpmath as mp
import numpy as np
import pytest
from scipy.special import comb, gamma

from stbmta.theory import concentration
from stbmta.theory.covering import (
    ball_covering,
    cluster_covering,
    covering_number,
    cube_covering,
    sparse_covering,
    sphere_covering,
)


def test_balls_by_volume():
    assert ball_covering(size=3.0, dim=4, radius=1.5) == (2**4, 5**4)
    assert ball_covering(size=1.0, dim=3, radius=0.7) == (3, 57)  # 2.92 up, 57.33 down
    assert ball_covering(1.0, 4, 1.0) == (1, 1)
    assert ball_covering(1.0 + 1e-9, 4, 1.0) == (2, 81)


def test_spheres_by_surface_and_shell():
    # a disk of radius r holds an arc of the unit circle whose chord is 2 r
    lower, upper = sphere_covering(size=1.0, dim=2, radius=0.003)
    assert lower == np.ceil(np.pi / np.arcsin(0.003)) == 1048
    assert upper == np.floor((2 / 0.003 + 1) ** 2 - (2 / 0.003 - 1) ** 2) == 2666
    # in three dimensions a cap with base radius r has height 1 - sqrt(1 - r^2), and area in proportion to it
    assert sphere_covering(size=2.0, dim=3, radius=1.0) == (np.ceil(2 / (1 - np.sqrt(1 - 0.25))), 5**3 - 3**3)
    lower, upper = sphere_covering(size=1.0, dim=3, radius=0.011)
    assert lower == np.ceil(2 / (1 - np.sqrt(1 - 0.011**2))) == 33057
    assert upper == np.floor((2 / 0.011 + 1) ** 3 - (2 / 0.011 - 1) ** 3) == 198349
    assert sphere_covering(1.0, 3, 1.0) == (1, 1)
    assert sphere_covering(1.0, 2, 1.0 - 1e-9) == (3, 8)
    with pytest.raises(ValueError, match="dim must be at least 2"):
        sphere_covering(1.0, 1, 0.5)


@pytest.mark.parametrize("ratio", [1e3, 1e9, 1e18])
@pytest.mark.parametrize("dim", [2, 3, 7])
def test_thin_shells_have_all_digits(ratio, dim):
    """The difference of two balls that agree in all digits."""
    lower, upper = sphere_covering(ratio, dim, 1.0)
    with mp.workdps(400):
        shell = (2 * mp.mpf(ratio) + 1) ** dim - (2 * mp.mpf(ratio) - 1) ** dim
    assert 0 <= upper / shell - 1 < 1e-11 or abs(upper - shell) < 1
    assert lower < upper


def test_cubes_by_volume_and_grid():
    lower, upper = cube_covering(side=1.0, dim=3, radius=0.02)
    assert lower == np.ceil(1 / (np.pi**1.5 / gamma(2.5) * 0.02**3)) == 29842
    assert upper == np.ceil(np.sqrt(3) / 0.04) ** 3 == 44**3
    assert cube_covering(1.0, 4, 0.5)[1] == 2**4  # an exact fit: sqrt(4) / (2 * 0.5) = 2
    assert cube_covering(1.0, 4, 0.5 * (1 - 1e-9))[1] == 3**4
    assert cube_covering(1.0, 4, 1.0) == (1, 1)  # half of the diagonal
    assert cube_covering(1.0, 4, 1.0 - 1e-9) == (1, 2**4)
    assert cube_covering(3.0, 1, 1.0) == (2, 2)  # an interval of three radii
    assert cube_covering(1.0, 10**4, 24.9)[1] == np.inf
    assert cube_covering(20.0, 15, np.sqrt(15))[1] == 1e15  # ten on each side, and not a thousand more
    assert cube_covering(3.0, 2, 0.01) == (np.ceil(9 / (np.pi * 1e-4)), np.ceil(300 / np.sqrt(2)) ** 2)


def test_sparse_vectors_are_many_small_cubes():
    lower, upper = sparse_covering(side=2.0, dim=30, sparsity=3, radius=0.5)
    one = cube_covering(2.0, 3, 0.5)
    assert upper == comb(30, 3, exact=True) * one[1]
    assert lower == one[0]
    assert sparse_covering(1.0, 5, 5, 0.5)[1] == cube_covering(1.0, 5, 0.5)[1]
    with pytest.raises(ValueError, match="sparsity must be at most dim; found 6 in dimension 5"):
        sparse_covering(1.0, [9, 5], 6, 0.5)
    with pytest.raises(ValueError, match="side must be above 0; found -1"):
        sparse_covering(-1.0, 5, 2, 1.0)
    with pytest.raises(ValueError, match="sparsity must be at least 1; found 0"):
        sparse_covering(1.0, 5, 0, 0.5)
    assert sparse_covering(1.0, [4, 2], [4, 2], 0.5)[1].tolist() == [2**4, 2**2]
    many = comb(60, 30, exact=True) * 10**30
    assert sparse_covering(20.0, 60, 30, np.sqrt(30))[1] == pytest.approx(many, rel=1e-15)


def test_clusters_are_many_small_balls():
    assert cluster_covering(7, 2.0, 3, 1.0) == (8, 7 * 125)
    assert cluster_covering(7, 1.0, 1e9, 1.0) == (1, 7)
    with pytest.raises(ValueError, match="n_clusters must be at least 1"):
        cluster_covering(0, 1.0, 2, 1.0)


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("radius", [0.6, 0.9])
def test_upper_ends_hold_for_points_inside(radius, rng):
    """A packing of the points is never larger than the upper end for the whole set."""
    x = rng.normal(size=(4000, 3))
    sphere = x / np.linalg.norm(x, axis=1, keepdims=True)
    ball = sphere * rng.random((4000, 1)) ** (1 / 3)
    cube = rng.random((4000, 3)) * 2
    sparse = np.zeros((4000, 6))
    for row in sparse:
        row[rng.choice(6, 2, replace=False)] = 2 * rng.random(2)
    for points, ends in (
        (ball, ball_covering(1.0, 3, radius)),
        (sphere, sphere_covering(1.0, 3, radius)),
        (cube, cube_covering(2.0, 3, radius)),
        (sparse, sparse_covering(2.0, 6, 2, radius)),
    ):
        number = covering_number(points, radius)
        assert number.lower <= ends[1]
        # points as dense as these need as many balls as the set, nearly
        assert number.upper >= 0.9 * ends[0]


def test_logarithms_in_high_dimension():
    dim = np.array([1e3, 1e9])
    lower, upper = ball_covering(2.0, dim, 1.9)
    np.testing.assert_allclose(lower, [np.exp(1e3 * np.log(2 / 1.9)), np.inf], rtol=1e-9)
    assert upper.tolist() == [np.inf, np.inf]
    assert np.all(np.isfinite(cube_covering(1e-6, dim, 1.0)[0]))
    assert sphere_covering(1.0, 1e9, 0.5)[1] == np.inf
    assert isinstance(ball_covering(2.0, 3, 1.0)[0], float)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (ball_covering, {"size": 2.0, "dim": 3.0, "radius": 1.0}),
        (sphere_covering, {"size": 2.0, "dim": 3.0, "radius": 1.0}),
        (cube_covering, {"side": 2.0, "dim": 3.0, "radius": 1.0}),
        (sparse_covering, {"side": 2.0, "dim": 3.0, "sparsity": 2.0, "radius": 1.0}),
        (cluster_covering, {"n_clusters": 4.0, "size": 2.0, "dim": 3.0, "radius": 1.0}),
        (concentration.expected_norm_bounds, {"op_norm": 1.0, "trace": 2.0, "L": 1.0, "n": 9.0}),
    ],
)
def test_both_ends_have_the_shape_of_all_arguments(function, arguments):
    scalars = function(**arguments)
    assert all(isinstance(end, float) for end in scalars)
    for name, value in arguments.items():
        for end, scalar in zip(function(**{**arguments, name: np.full((2, 3), value)}), scalars, strict=True):
            np.testing.assert_allclose(end, np.full((2, 3), scalar), rtol=1e-15)
