"""Domains, messages, roots and tables; and every function at the far ends of its range."""

import numpy as np
import pytest

from stbmta.theory import _check as check
from stbmta.theory import bounded, confidence, exact, gaussian, laws, pvalues, sharp, tables, theorems
from stbmta.theory._roots import positive_root, positive_roots
from stbmta.theory._table import Tabular, format_table, format_value

BAGS = np.array([2.0, 1e3, 1e12])[:, None, None]
DIMS = np.array([1.0, 1e4, 1e9])[:, None]
ALPHAS = np.array([1e-12, 0.05, 0.9])


@pytest.mark.parametrize(
    "call",
    [
        lambda: gaussian.delta(BAGS, DIMS, ALPHAS),
        lambda: gaussian.tau_min(BAGS, DIMS, ALPHAS),
        lambda: gaussian.zeta(0.5, BAGS, DIMS, ALPHAS),
        lambda: gaussian.exact_zeta(0.5, BAGS, DIMS, ALPHAS),
        lambda: gaussian.exact_zeta_power(0.5, BAGS, DIMS, ALPHAS),
        lambda: gaussian.exact_tau(BAGS, DIMS, ALPHAS),
        lambda: gaussian.exact_tau(BAGS, DIMS, ALPHAS, correction="sidak", same_data=True),
        lambda: gaussian.exact_inner(BAGS, DIMS, ALPHAS),
        lambda: gaussian.exact_norm(BAGS, DIMS, ALPHAS),
        lambda: gaussian.exact_dim(0.3, BAGS, ALPHAS * np.ones((3, 1))),
        lambda: gaussian.exact_event_probabilities(0.5, 2.2, BAGS, DIMS * np.ones(3)).total,
        lambda: gaussian.event_probabilities(0.5, 2.2, BAGS, DIMS * np.ones(3)).total,
        lambda: gaussian.upper_tau(2.4, BAGS, DIMS, ALPHAS),
        lambda: gaussian.lower_tau(2.4, BAGS, DIMS, ALPHAS),
        lambda: sharp.gaussian_bound(50, BAGS, np.maximum(DIMS, 1e3), ALPHAS),
        lambda: sharp.cross_term(0.5, BAGS, DIMS, ALPHAS),
        lambda: bounded.smallest_tau(bounded.t(ALPHAS, BAGS), DIMS, 1.0, 50, 0.1),
        lambda: theorems.average_independent(0.5, BAGS / 2, BAGS, simplified=False) * np.ones((3, 3, 3)),
    ],
)
def test_finite_and_not_negative_for_a_billion_dimensions_and_a_trillion_bags(call):
    values = call()
    assert np.shape(values) == (3, 3, 3) or np.shape(values) == (3, 1, 3) or np.shape(values) == (3, 3, 1)
    assert np.all(np.isfinite(values))
    assert np.all(values >= 0)


def test_thresholds_are_monotone_at_the_far_end():
    tau = gaussian.exact_tau(BAGS, DIMS, 0.05)
    assert np.all(np.diff(tau, axis=0) > 0)  # more bags, larger tau
    assert np.all(np.diff(tau, axis=1) < 0)  # more dimensions, smaller tau
    z = gaussian.exact_zeta(gaussian.exact_tau(1e12, 1e9, 0.05), 1e12, 1e9, 0.05)
    assert 2 < z < 2 + gaussian.exact_tau(1e12, 1e9, 0.05)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("exponent", [-100, -3, 0, 40])
def test_roots_are_found_far_from_the_guess(sign, exponent):
    target = 2.5 * 10.0**exponent
    root = positive_root(lambda x: sign * (np.log(x) - np.log(target)), 1.0)
    assert root == pytest.approx(target, rel=1e-12)
    assert positive_root(lambda x: sign * (x - 3.0), 3.0) == pytest.approx(3.0, rel=1e-14)


def test_no_root_is_nan_and_far_ones_are_not_sought_for_ever():
    calls = []
    assert np.isnan(positive_root(lambda x: calls.append(x) or 1.0, 1.0))
    assert len(calls) < 40
    assert np.log(max(calls)) > 300
    assert np.isnan(positive_root(lambda x: np.log(x) - 900.0, 1.0))


def test_many_roots_at_once_are_those_found_one_by_one():
    targets = np.array([1e-100, 2.5e-3, 1.0, 7.0, 1e40])
    signs = np.array([1, -1, 1, -1, 1])

    def functions(k, x):
        return signs[k] * np.tanh(np.log(x) - np.log(targets[k]))

    guess = np.array([1.0, 1.0, 1.0, 3.0, 1e39])
    found = positive_roots(functions, guess)
    one = [positive_root(lambda x, k=k: float(functions(k, x)), guess[k]) for k in range(5)]
    np.testing.assert_allclose(found, targets, rtol=1e-12)
    np.testing.assert_allclose(found, one, rtol=1e-12)
    wanted = np.array([900.0, 1.0])
    far = positive_roots(lambda k, x: np.log(x) - wanted[k], np.ones(2))
    np.testing.assert_allclose(far, [np.nan, np.e], rtol=1e-14)
    assert positive_roots(lambda k, x: x, np.ones(0)).shape == (0,)


def test_confidence_bounds_of_an_array_are_those_of_its_entries(monkeypatch):
    zeta = np.array([[0.5, 1.8, 2.05], [2.4, 7.0, 1e6]])
    for bound in (confidence.upper_tau, confidence.lower_tau):
        single = [[float(bound(z, 50, 300, 0.1)) for z in row] for row in zeta]
        np.testing.assert_allclose(bound(zeta, 50, 300, 0.1), single, rtol=1e-12)
        monkeypatch.setattr(confidence, "_AT_ONCE", 2)
        np.testing.assert_allclose(bound(zeta, 50, 300, 0.1), single, rtol=1e-12)
        monkeypatch.undo()


def test_numbers_are_checked_one_by_one():
    assert check.real("x", 3).dtype == np.float64
    assert check.real("x", [1, 2]).tolist() == [1.0, 2.0]
    assert check.real("x", np.inf, finite=False) == np.inf
    for bad, message in (
        ({"value": np.nan}, "x must be finite; found nan"),
        ({"value": [1.0, np.inf]}, r"x must be finite; found inf at index \(1,\)"),
        ({"value": [[1.0, 5.0]], "below": 5}, r"x must be below 5; found 5 at index \(0, 1\)"),
        ({"value": 5, "above": 5}, "x must be above 5; found 5"),
        ({"value": 4.9, "at_least": 5}, "x must be at least 5; found 4.9"),
        ({"value": 5.1, "at_most": 5}, "x must be at most 5; found 5.1"),
        ({"value": 9, "above": 1, "at_most": 5, "hint": "Do this."}, r"x must be above 1 and at most 5; found 9\. Do this\."),
        ({"value": np.nan, "finite": False}, "x must be finite; found nan"),
        ({"value": [2.0, np.inf], "at_least": 1}, r"x must be finite and at least 1; found inf at index \(1,\)"),
        ({"value": -np.inf, "at_least": 1}, "x must be finite and at least 1; found -inf"),
        ({"value": np.nan, "at_least": 1}, "x must be at least 1; found nan"),
        ({"value": np.inf, "below": 1, "finite": False}, "x must be below 1; found inf"),
        ({"value": "three"}, "x must be a real number or an array of them; found 'three'"),
        ({"value": 1j}, "x must be a real number"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            check.real("x", **bad)
    for fine in ({"value": 5, "at_least": 5}, {"value": 5, "at_most": 5}, {"value": 5.1, "above": 5}):
        check.real("x", **fine)


@pytest.mark.parametrize(
    ("call", "fine", "bad", "message"),
    [
        (check.alpha, 0.5, 0.0, "alpha must be above 0 and below 1; found 0. Pass the error probability"),
        (check.alpha, 0.5, 1.0, "alpha must be above 0 and below 1; found 1"),
        (check.tau, 0.0, -0.001, "tau must be at least 0; found -0.001. It is a squared distance"),
        (check.n_bags, 1, 0.99, "n_bags must be at least 1; found 0.99. Pass the number of bags B"),
        (lambda b: check.n_bags(b, 2), 2, 1.99, "n_bags must be at least 2; found 1.99. Comparing bags"),
        (check.dim, 1, 0.99, "dim must be at least 1; found 0.99. Pass the dimension d"),
        (check.level, 0, -0.01, "t must be at least 0; found -0.01. The probability is of order exp"),
        (lambda t: check.level(t, 1), 1, 0.99, "t must be at least 1; found 0.99. The statement is proven"),
        (lambda x: check.size("L", x), 0, -0.01, "L must be at least 0"),
        (lambda x: check.size("L", x, positive=True), 0.01, 0, "L must be above 0"),
        (check.bag_size, 1, 0.99, "n must be at least 1; found 0.99. A bag needs at least 1 point here"),
        (lambda n: check.bag_size(n, 2), np.inf, 1.99, "n must be at least 2.*A bag needs at least 2 points here"),
        (lambda d: laws.chi_square_logcdf(1.0, d), 1, 0.9, "dim must be at least 1"),
        (lambda x: laws.chi_square_logsf(x, 1), 0, -0.1, "x must be at least 0"),
        (lambda x: laws.chi_square_logsf(1.0, 1, x), 0, -0.1, "noncentrality must be at least 0"),
        (lambda p: laws.chi_square_quantile(p, 1, upper=True), -0.1, 0.0, "log_p must be below 0"),
        (lambda x: laws.inner_product_logsf(x, 1), 0, -0.1, "x must be at least 0"),
        (lambda p: laws.inner_product_isf(p, 3), -0.6932, -0.6931, "log_p must be at most -0.693147"),
        (lambda t: exact.exact_log_level(t, 10), 0.0, -0.1, "tau must be at least 0"),
        (lambda t: exact.exact_dim(t, 10, 0.05), 0.0, -0.1, "tau must be at least 0"),
        (lambda r: exact.exact_log_level(1.0, 10, r), 0.0, 1.0, "ratio must be at least 0 and below 1"),
        (lambda r: exact.exact_dim(1.0, 10, 0.05, r), 0.0, 1.0, "ratio must be at least 0 and below 1"),
        (lambda r: exact.exact_tau(10, 10, 0.05, r), 0.0, -0.1, "ratio must be at least 0 and below 1"),
        (lambda r: exact.exact_dim(1.0, 10, 0.05, r), 0.0, -0.1, "ratio must be at least 0 and below 1"),
        (lambda r: exact.exact_log_level(1.0, 10, r), 0.0, -0.1, "ratio must be at least 0 and below 1"),
        (lambda r: exact.exact_event_probabilities(1.0, 2.0, 9, 9, ratio=r), 1.0, 1.1, "ratio must be"),
        (lambda r: exact.exact_event_probabilities(1.0, 2.0, 9, 9, ratio=r), 0.0, -0.1, "ratio must be"),
        (lambda r: gaussian.event_probabilities(1.0, 2.0, 9, 9, ratio=r), 1.0, 1.1, "ratio must be"),
        (lambda r: gaussian.event_probabilities(1.0, 2.0, 9, 9, ratio=r), 0.0, -0.1, "ratio must be"),
        (lambda c: gaussian.inner_excess(1.0, c), 1.0, 0.99, "C must be at least 1"),
        (lambda c: gaussian.norm_excess(1.0, c), 1.0, 0.99, "C must be at least 1"),
        (lambda f: theorems.bound_after_split(1.0, 2, f), 1.0, 1.01, "fraction must be above 0 and at most 1"),
        (lambda f: theorems.bound_after_split(1.0, 2, f), 0.01, 0.0, "fraction must be above 0"),
        (theorems.useful_tau_same_data, 2, 1.99, "n_neighbors must be at least 2"),
        (lambda c: theorems.average_independent(0.1, c, 10), 1, 0.99, "covering must be at least 1"),
        (lambda v: theorems.bound_same_data(0.1, v), 1, 0.99, "n_neighbors must be at least 1"),
        (lambda v: sharp.bound(0.1, 0.1, 0.1, 0.1, v), 1, 0.99, "n_neighbors must be at least 1"),
        (lambda g: theorems.risk_independent(g, 0.1, 2), 1, 1.01, "gamma must be at least 0 and at most 1"),
        (lambda g: theorems.risk_independent(g, 0.1, 2), 0, -0.01, "gamma must be at least 0 and at most 1"),
        (lambda g: theorems.risk_same_data(g, 0.1, 2), 1, 1.01, "gamma must be at least 0 and at most 1"),
        (lambda g: theorems.risk_same_data(g, 0.1, 2), 0, -0.01, "gamma must be at least 0 and at most 1"),
        (lambda g: sharp.risk(g, 0.1, 0.1, 0.1, 0.1, 2), 1, 1.01, "gamma must be at least 0 and at most 1"),
        (lambda g: sharp.risk(g, 0.1, 0.1, 0.1, 0.1, 2), 0, -0.01, "gamma must be at least 0 and at most 1"),
        (lambda c: sharp.bound(0.1, c, 0.5, 0.1, 2), 1.49, 1.5, "c must be below 1 \\+ c_prime"),
        (lambda s: pvalues.permutation(1.0, [1.0], scale=s), 0.0, -1.0, "scale must be at least 0"),
    ],
)  # fmt: skip
def test_the_edge_of_each_domain(call, fine, bad, message):
    call(fine)
    with pytest.raises(ValueError, match=message):
        call(bad)


def test_numbers_in_tables():
    assert [format_value(v) for v in (None, True, "x", 0.123456, 999.96, 1000.0, 1000.26, -12345, 1e9, 123456789.0)] == [
        "", "True", "x", "0.1235", "1000", "1,000", "1,000.3", "-12,345", "1e+09", "123,456,789",
    ]  # fmt: skip
    assert [format_value(v) for v in (np.nan, np.inf, 0, 7, np.float64(2.5))] == [
        "nan",
        "inf",
        "0",
        "7",
        "2.5",
    ]
    assert format_table({"a": [], "bb": []}) == "a  bb\n-  --"
    with pytest.raises(NotImplementedError):
        Tabular().summary()


def test_results_with_arrays_have_one_row_for_each_element():
    chances = gaussian.stated_probabilities([0.01, 0.02])
    assert chances.to_frame()["any"].tolist() == pytest.approx([0.05, 0.1])
    assert len(chances.summary().splitlines()) == 4
    assert len(tables.dimensions([10, 100], [1.0, 0.5]).to_frame()) == 4
    assert tables.dimensions(10).columns["tau"] == (1.0, 0.1)


def test_confidence_bounds_near_zero():
    """Just above and below the threshold where equal means become impossible."""
    edge = gaussian.exact_zeta_power(0.0, 50, 100, 0.05)
    assert confidence.lower_tau(edge * (1 - 1e-9), 50, 100, 0.05) == 0
    assert 0 < confidence.lower_tau(edge * (1 + 1e-6), 50, 100, 0.05) < 1e-4
    edge = gaussian.exact_zeta(0.0, 50, 100, 0.05)
    assert confidence.upper_tau(edge * (1 - 1e-9), 50, 100, 0.05) == 0
    assert 0 < confidence.upper_tau(edge * (1 + 1e-6), 50, 100, 0.05) < 1e-4
