"""Events for given data, and the paper's own bounds on their probabilities."""

import mpmath as mp
import numpy as np
import pytest

from stbmta.theory import bounded, concentration, events, gaussian

SQUARES = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [4.0, 1.0, 0.0]])


def test_pairs_at_the_boundary_belong_to_both_sets():
    assert events.similar_pairs(SQUARES, 1.0).sum() == 7
    assert events.separated_pairs(SQUARES, 1.0).sum() == 6
    assert events.similar_pairs(SQUARES, 0.25, sigma=2.0).sum() == 7
    assert events.separated_pairs(SQUARES, 0.25, sigma=2.0).sum() == 6


def test_false_positives_and_negatives():
    everyone, nobody = np.ones((3, 3), bool), np.eye(3, dtype=bool)
    assert events.false_positive(everyone, SQUARES, 4.0)
    assert not events.false_positive(everyone, SQUARES, 4.1)
    assert not events.false_positive(everyone, SQUARES, 1.1, sigma=2.0)
    assert not events.false_positive(nobody, SQUARES, 1.0)
    assert events.false_negative(nobody, SQUARES, 1.0)
    assert not events.false_negative(nobody, SQUARES, 0.9)
    assert events.false_negative(nobody, SQUARES, 0.3, sigma=2.0)
    assert not events.false_negative(everyone, SQUARES, 10.0)


def test_inner_products_and_norms():
    e = np.array([[1.0, 0.2], [0.0, 1.0]])
    assert events.large_inner_product(e, 0.19)
    assert not events.large_inner_product(e, 0.21)
    assert events.large_inner_product(-e * [[1], [-1]], 0.19)  # the sign does not matter
    assert not events.large_inner_product(e, 0.06, sigma=2.0)
    assert events.large_norm(e, 0.039)
    assert not events.large_norm(e, 0.041)
    assert not events.large_norm(e, 0.0, sigma=2.0)


@pytest.mark.parametrize("sigma", [{}, {"sigma": 1.0}, {"sigma": 3.0}])
def test_each_event_turns_at_its_radius(sigma):
    """Half a percent below and above; without sigma it is one."""
    unit = sigma.get("sigma", 1.0)
    for factor in (0.995, 1.005):
        outside = factor > 1
        square = np.array([[0.0, 1.7 * factor * unit**2], [1.7 * factor * unit**2, 0.0]])
        assert events.similar_pairs(square, 1.7, **sigma)[0, 1] != outside
        assert events.separated_pairs(square, 1.7, **sigma)[0, 1] == outside
        assert events.false_positive(np.ones((2, 2)), square, 1.7, **sigma) == outside
        assert events.false_negative(np.eye(2), square, 1.7, **sigma) != outside
        length = unit * np.sqrt(1.7 * factor)
        e = np.array([[length, 0.0], [length, 0.0]])
        assert events.large_inner_product(e, 1.7, **sigma) == outside
        assert events.large_norm(e, 0.7, **sigma) == outside
    apart = np.array([[100.0 * unit, 0.0], [0.0, 1.0]])  # an error is no pair with itself
    assert not events.large_inner_product(apart, 0.0, **sigma)


def test_scalars_in_scalars_out():
    for found in (events.similar_pairs(1.0, 2.0), events.separated_pairs(3.0, 2.0)):
        assert isinstance(found, np.bool_)
        assert found
    stated = gaussian.stated_probabilities(0.05)
    assert (stated.A, stated.B, stated.C, stated.C_prime) == (0.05, 0.05, 0.1, 0.05)
    for value in (stated.A, stated.B, stated.C, stated.C_prime, stated.total):
        assert isinstance(value, float)
    assert gaussian.stated_probabilities([0.01, 0.6]).C.tolist() == [0.02, 1.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: events.similar_pairs("a", 1.0), "sq_distances must be a real number"),
        (
            lambda: events.separated_pairs(np.nan, 1.0),
            "sq_distances must be finite; found nan.*of true means",
        ),
        (
            lambda: events.false_positive(np.ones((2, 2)), [[0.0, np.nan], [0.0, 0.0]], 1.0),
            r"at index \(0, 1\)",
        ),
        (
            lambda: events.false_negative([[1.0, np.nan], [1.0, 1.0]], np.zeros((2, 2)), 1.0),
            "neighbors must be finite",
        ),
        (lambda: events.large_norm([[np.nan]], 1.0), "errors must be finite; found nan"),
        (lambda: events.large_inner_product([[np.nan], [1.0]], 1.0), "errors must be finite; found nan"),
        (lambda: events.large_inner_product([1.0], 1.0), "errors must be a matrix"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_similarity_tests_include_or_exclude_equality_as_printed():
    assert gaussian.is_neighbor(4.0, zeta=2.0, dim=10, n=5)  # 2 * 10 / 5
    assert not gaussian.is_neighbor(4.01, zeta=2.0, dim=10, n=5)
    assert not bounded.is_neighbor(0.5, tau=0.25, sigma=2.0)  # 0.25 * 4 / 2
    assert bounded.is_neighbor(0.499, tau=0.25, sigma=2.0)
    assert bounded.is_neighbor(-3.0, tau=0.0, sigma=1.0)


def test_concentration_bounds_of_the_events_dominate_the_exact_ones():
    tau = np.array([0.3, 1.0, 5.0])[:, None, None]
    zeta, dim = np.array([2.05, 2.3, 3.0])[:, None], np.array([10.0, 1e3, 1e5])
    loose = gaussian.event_probabilities(tau, zeta, 20, dim)
    tight = gaussian.exact_event_probabilities(tau, zeta, 20, dim)
    for name in ("A", "B", "C", "C_prime", "total"):
        assert np.all(getattr(loose, name) >= getattr(tight, name) - 1e-12)


def test_concentration_bounds_at_the_papers_threshold():
    bags, dim, alpha = 100, 1000, 0.05
    tau = gaussian.tau_min(bags, dim, alpha)
    chances = gaussian.event_probabilities(tau, gaussian.zeta(tau, bags, dim, alpha), bags, dim)
    np.testing.assert_allclose(chances.A, alpha, rtol=1e-9)  # zeta is made for it
    assert alpha >= chances.B
    assert 2 * alpha >= chances.C
    assert chances.C_prime <= alpha
    # level t of C: sqrt(2 d t) + t = d tau; of C': sqrt(1 + tau) - 1 = sqrt(2 t / d); B: distance at tau / 3
    mild = gaussian.event_probabilities(0.2, 2.5, bags, dim, ratio=0.5)
    t = (np.sqrt(dim / 2 + 0.2 * dim) - np.sqrt(dim / 2)) ** 2
    np.testing.assert_allclose(mild.C, min(2 * bags**2 * np.exp(-t), 1), rtol=1e-9)
    assert mild.C_prime == 1
    strong = gaussian.event_probabilities(3.0, 4.0, bags, dim)
    np.testing.assert_allclose(strong.C_prime, bags * np.exp(-dim / 2 * (np.sqrt(4.0) - 1) ** 2), rtol=1e-9)
    np.testing.assert_allclose(strong.B, bags**2 * np.exp(-dim * ((2 - np.sqrt(3)) / 2) ** 2), rtol=1e-9)
    np.testing.assert_allclose(
        strong.C, 2 * bags**2 * np.exp(-((np.sqrt(500 + 3000) - np.sqrt(500)) ** 2)), rtol=1e-9
    )


def test_concentration_bounds_in_the_far_tail():
    """Beyond exp(-708) few digits are left of the exponential, but all of the product with the number of pairs."""
    bags, dim, t = 1e12, 1e4, 735.0
    once = float(bags * mp.exp(-t))
    pairs = float(bags**2 * mp.exp(-t))
    far = gaussian.event_probabilities(1.0, concentration.pair_distance_lower(t, 1.0, dim) ** 2, bags, dim)
    np.testing.assert_allclose(far.A, pairs, rtol=1e-9)
    far = gaussian.event_probabilities(0.9, concentration.pair_distance_upper(t, 0.3, dim) ** 2, bags, dim)
    np.testing.assert_allclose(far.B, pairs, rtol=1e-9)
    far = gaussian.event_probabilities(concentration.gaussian_inner_upper(t, dim) / dim, 2.0, bags, dim)
    np.testing.assert_allclose(far.C, 2 * pairs, rtol=1e-9)
    norm = concentration.gaussian_norm_upper(t, dim)
    far = gaussian.event_probabilities(norm**2 / dim - 1, 2.0, bags, dim)
    np.testing.assert_allclose(far.C_prime, once, rtol=1e-9)


def test_stated_probabilities_and_their_sum():
    stated = gaussian.stated_probabilities(0.01)
    assert (stated.A, stated.B, stated.C, stated.C_prime) == (0.01, 0.01, 0.02, 0.01)
    assert stated.total == pytest.approx(0.05)
    large = gaussian.stated_probabilities(0.7)
    assert (large.A, large.C, large.total) == (0.7, 1, 1)
    hopeless = gaussian.event_probabilities(0.001, 2.0, 100, 10)
    assert (hopeless.A, hopeless.B, hopeless.C, hopeless.C_prime) == (1, 1, 1, 1)
    hopeless = gaussian.exact_event_probabilities(0.001, 2.0, 100, 10)
    assert (hopeless.A, hopeless.B, hopeless.C) == (1, 1, 1)
    assert 0.999 < hopeless.C_prime <= 1
    assert "C': norm" in stated.summary()
