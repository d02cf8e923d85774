"""Each deviation bound, inverted, gives its level back; and failing probabilities are as printed."""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stbmta.theory import bounded, concentration

LEVEL = st.floats(1.0, 300.0)
SIZE = st.floats(1e-3, 1e3)
ARGUMENTS = {
    "gaussian_norm_upper": {"dim": st.floats(1, 1e9), "mean_norm": SIZE, "scale": SIZE},
    "gaussian_sq_norm_upper": {"dim": st.floats(1, 1e6), "mean_norm": SIZE, "scale": SIZE},
    "gaussian_inner_upper": {"dim": st.floats(1, 1e9), "scale": SIZE},
    "pair_distance_upper": {"tau": SIZE, "dim": st.floats(1, 1e6)},
    "talagrand_upper": {"variance": SIZE, "L": SIZE, "expectation": SIZE},
    "talagrand_lower": {"variance": SIZE, "L": SIZE, "expectation": SIZE},
    "bousquet_upper": {"variance": SIZE, "L": SIZE, "expectation": SIZE},
    "klein_rio_lower": {"variance": SIZE, "L": SIZE, "expectation": SIZE},
    "bounded_norm_upper": {"op_norm": SIZE, "trace": SIZE, "L": SIZE, "n": st.floats(2, 1e4)},
    "linear_term_upper": {"mean_norm": SIZE, "op_norm": SIZE, "L": SIZE, "n": st.floats(2, 1e6)},
    "bounded_sq_norm_upper": {
        "mean_norm": SIZE, "op_norm": SIZE, "trace": SIZE, "L": SIZE, "n": st.floats(2, 1e3),
    },
    "bounded_sq_norm_lower": {
        "mean_norm": st.floats(0.1, 10), "op_norm": SIZE, "trace": SIZE, "L": SIZE, "n": st.floats(2, 1e3),
    },
    "mean_sq_norm_lower": {"mean_norm": SIZE, "trace": SIZE, "L": SIZE, "n": st.floats(2, 1e3)},
    "bounded_inner_upper": {"d_eff": SIZE, "L": SIZE, "n": st.floats(2, 1e6), "sigma": SIZE},
    "u_statistic_upper": {
        "distance": st.floats(0, 10), "d_eff": SIZE, "L": SIZE, "n": st.floats(2, 1e4), "sigma": st.floats(0.1, 10),
    },
    "u_statistic_lower": {
        "distance": st.floats(0, 10), "d_eff": SIZE, "L": SIZE, "n": st.floats(2, 1e4), "sigma": st.floats(0.1, 10),
    },
}  # fmt: skip


def inverts(name, t, arguments, **options):
    value = getattr(concentration, name)(t, **arguments, **options)
    level = getattr(concentration, f"{name}_level")(value, **arguments, **options)
    np.testing.assert_allclose(level, t, rtol=1e-6)


@pytest.mark.parametrize("name", ARGUMENTS)
@given(data=st.data(), t=LEVEL)
def test_level_of_the_bound_is_the_level(name, data, t):
    inverts(name, t, {k: data.draw(v, label=k) for k, v in ARGUMENTS[name].items()})


@given(t=LEVEL, trace=st.floats(0.1, 1.0), n=st.floats(2, 1e4), expected=st.floats(0.01, 2))
def test_levels_with_a_known_expected_norm(t, trace, n, expected):
    law = {"op_norm": 0.1, "trace": trace, "L": 1.0, "n": n, "expected_norm": expected}
    inverts("bounded_norm_upper", t, law)
    inverts("bounded_sq_norm_upper", t, {"mean_norm": 0.3, **law})
    inverts("bounded_sq_norm_lower", t, {"mean_norm": 0.3, **law})


def test_lower_levels_where_the_bound_is_positive():
    inverts("gaussian_norm_lower", 2.0, {"dim": 100.0, "mean_norm": 3.0, "scale": 0.7})
    inverts("gaussian_norm_lower", 2.0, {"dim": 100.0, "mean_norm": 3.0, "scale": 0.7}, sharp=True)
    inverts("gaussian_sq_norm_lower", 2.0, {"dim": 100.0, "mean_norm": 3.0, "scale": 0.7})
    inverts("pair_distance_lower", 2.0, {"tau": 0.7, "dim": 100.0})
    law = {"op_norm": 1e-3, "trace": 1.0, "L": 1.0, "n": 1e9}
    inverts("bounded_norm_lower", 1.5, law)
    inverts("bounded_norm_lower", 0.3, {**law, "expected_norm": 3e-5})
    inverts("bounded_sq_norm_lower", 1.5, {"mean_norm": 0.0, **law})
    inverts("mean_sq_norm_lower", 1.5, {"mean_norm": 0.5, "trace": 0.4, "L": 1.0, "n": 9.0}, printed=True)
    np.testing.assert_allclose(
        bounded.q_level(bounded.q(7.0, 30.0, 1.0, 50.0, 0.1), 30.0, 1.0, 50.0, 0.1), 7.0, rtol=1e-12
    )


@pytest.mark.parametrize("name", [n for n in ARGUMENTS if n.endswith("upper")])
def test_values_below_the_center_have_level_zero(name):
    arguments = {
        "distance": 2.0,
        "dim": 9.0,
        "tau": 1.0,
        "mean_norm": 2.0,
        "scale": 1.0,
        "trace": 1.0,
        "n": 4.0,
    }
    arguments |= {"op_norm": 1.0, "L": 1.0, "variance": 1.0, "expectation": 1.0, "d_eff": 2.0, "sigma": 1.0}
    assert getattr(concentration, f"{name}_level")(0.0, **{k: arguments[k] for k in ARGUMENTS[name]}) == 0


def test_lower_levels_above_the_center_are_zero_and_out_of_reach_infinite():
    assert concentration.gaussian_norm_lower_level(100.0, dim=4) == 0
    assert concentration.gaussian_sq_norm_lower_level(100.0, dim=4) == 0
    assert concentration.pair_distance_lower_level(100.0, tau=1.0, dim=4) == 0
    assert concentration.bounded_sq_norm_lower_level(9.0, 0.0, 1.0, 4.0, 1.0, 4) == 0
    assert concentration.bounded_sq_norm_lower_level(-1.0, 0.0, 1.0, 4.0, 1.0, 4) == np.inf


def test_sums_that_never_vary_stay_at_their_expectation():
    still = {"variance": 0.0, "L": 0.0, "expectation": 0.0}
    for name in ("talagrand_upper", "talagrand_lower", "bousquet_upper", "klein_rio_lower"):
        level = getattr(concentration, f"{name}_level")
        assert (level(0.0, **still), level(1.0, **still)) == (0, np.inf)
        assert level([0.0, 0.5], **still).tolist() == [0, np.inf]
        assert isinstance(level(0.0, **still), float)
    for x in (1e-200, 1.0, 1e200):  # whose square is beyond all numbers
        assert concentration.klein_rio_lower_level(x, 0.0, 0.7, 1e-250) == pytest.approx(x / 1.4, rel=1e-12)


def test_lower_bounds_without_the_expectation_need_level_one():
    law = {"op_norm": 1.0, "trace": 4.0, "L": 1.0, "n": 4}
    for call in (
        lambda t: concentration.bounded_norm_lower(t, **law),
        lambda t: concentration.bounded_sq_norm_lower(t, mean_norm=1.0, **law),
        lambda t: concentration.u_statistic_upper(t, 1.0, 3.0, 1.0, 5, 1.0),
        lambda t: concentration.u_statistic_lower(t, 1.0, 3.0, 1.0, 5, 1.0),
        lambda t: bounded.r(t, 3.0, 1.0, 5, 1.0),
        lambda t: bounded.tau_min(t, 3.0, 1.0, 5, 1.0),
        bounded.pair_error,
    ):
        call(1.0)
        with pytest.raises(
            ValueError, match="t must be at least 1; found 0.99. The statement is proven for t >= 1"
        ):
            call(0.99)
    with pytest.raises(ValueError, match="n must be at least 2"):
        concentration.u_statistic_upper(2.0, 1.0, 3.0, 1.0, 1, 1.0)


def test_probabilities_are_the_printed_multiples():
    printed = {"bounded_sq_norm_upper": 2, "bounded_sq_norm_lower": 2, "bounded_inner_upper": 6}
    printed |= {"u_statistic_upper": 8, "u_statistic_lower": 8}
    for name in concentration.__all__:
        if name.endswith(("_upper", "_lower")):
            multiple = concentration.probability(name, 5.0) / np.exp(-5.0)
            np.testing.assert_allclose(multiple, printed.get(name, 1), rtol=1e-12)
            assert concentration.probability(name, 0.0) == 1
    for name, multiple in (
        ("bounded_inner_upper", 6),
        ("u_statistic_upper", 8),
    ):  # exp(-744) has one bit left
        assert concentration.probability(name, 744.0) == pytest.approx(
            float(multiple * mp.exp(-744)), rel=0.05, abs=0
        )
    with pytest.raises(ValueError, match="bound must be one of"):
        concentration.probability("nonsense", 1.0)
