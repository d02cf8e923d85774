"""Planning: every argument of every setting comes back, solutions are extreme, and no solution is nan with a reason."""

import warnings
from inspect import currentframe

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from stbmta.theory import bounded, gaussian, planning, theorems
from stbmta.theory.planning import NoSolutionWarning, factor, solve

GAUSSIAN = {"n_bags": 100.0, "dim": 1e6, "alpha": 0.05}
BOUNDED = {"n_bags": 100.0, "dim": 4e9, "n": 1e20, "alpha": 0.05, "L": 2.0, "trace": 0.5}
SETTINGS = {
    "printed": ("gaussian", GAUSSIAN),
    "exact": ("gaussian", {**GAUSSIAN, "thresholds": "exact"}),
    "printed, C": ("gaussian", {**GAUSSIAN, "C": 400.0}),
    "bounded": ("bounded", BOUNDED),
}


@pytest.mark.parametrize("theorem", ["independent", "same_data"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_round_trip_of_every_argument(setting, theorem):
    """From the smallest tau to the improvement, and back to each argument in turn."""
    name, given_ = SETTINGS[setting]
    given_ = {**given_, "theorem": theorem}
    tau = solve(name, **given_, tau=None)
    plan = {**given_, "tau": tau, "covering_ratio": 0.01}
    plan["improvement"] = solve(name, **plan, improvement=None)
    assert 0 < plan["improvement"] < 1
    for argument in ("n_bags", "dim", "n", "alpha", "tau", "covering_ratio", "improvement"):
        if argument == "n" and name == "gaussian":
            assert solve(name, **plan, n=None) == 1  # any bag size will do
            continue
        found = solve(name, **{**plan, argument: None})
        assert found == pytest.approx(plan[argument], rel=1e-6), argument


@pytest.mark.parametrize("setting", SETTINGS)
def test_solutions_are_extreme(setting):
    """A little more of what is asked for, and the same tau is no longer allowed."""
    name, given_ = SETTINGS[setting]
    tau = 0.9
    for argument, worse in (("n_bags", 1.01), ("dim", 0.99), ("alpha", 0.99), ("n", 0.99)):
        if argument == "n" and name == "gaussian":
            continue
        plan = {**given_, "tau": tau, argument: None}
        found = solve(name, **plan)
        if not 0 < found < np.inf:
            continue
        assert solve(name, **{**plan, argument: found, "tau": None}) <= tau * (1 + 1e-9)
        assert solve(name, **{**plan, argument: found * worse, "tau": None}) > tau


def test_smallest_tau_is_that_of_the_setting():
    assert solve(**GAUSSIAN, tau=None) == gaussian.tau_min(100, 1e6, 0.05)
    assert solve(**GAUSSIAN, tau=None, thresholds="exact") == gaussian.exact_tau(100, 1e6, 0.05)
    assert solve(**GAUSSIAN, tau=None, thresholds="exact", theorem="same_data") == gaussian.exact_tau(
        100, 1e6, 0.05, same_data=True
    )
    expected = bounded.smallest_tau(bounded.t(0.05, 100), 4e9, 2.0, 1e20, np.sqrt(0.5 / 1e20))
    assert solve("bounded", **BOUNDED, tau=None) == pytest.approx(float(expected), rel=1e-12)
    two = {"n_bags": 2, "dim": 50, "alpha": 0.5, "thresholds": "exact"}
    assert solve(**two, tau=None) == 0
    assert solve(**two, tau=None, theorem="same_data") == gaussian.exact_tau(2, 50, 0.5, same_data=True) > 0


def test_the_improvement_is_that_of_the_theorem():
    tau = float(gaussian.exact_tau(100, 1e6, 0.05))
    common = {**GAUSSIAN, "thresholds": "exact", "covering_ratio": 0.1}
    assert solve(**common) == pytest.approx(1 - theorems.average_independent(tau, 10, 100), rel=1e-12)
    assert solve(**common, theorem="same_data") == pytest.approx(
        1 - theorems.average_same_data(tau, 10, 100), rel=1e-12
    )
    assert solve(**common, tau=0.5) == pytest.approx(
        1 - theorems.average_independent(0.5, 10, 100), rel=1e-12
    )


@given(
    tau=st.floats(1e-6, 20), ratio=st.floats(1e-6, 1), theorem=st.sampled_from(["independent", "same_data"])
)
def test_the_factor_and_its_inverses(tau, ratio, theorem):
    value = factor(tau, ratio, theorem)
    if value < 1 - 1e-6 or theorem == "same_data":
        np.testing.assert_allclose(planning.factor_tau(value, ratio, theorem), tau, rtol=1e-6)
    np.testing.assert_allclose(
        planning.factor_covering_ratio(value, tau, theorem), ratio, rtol=1e-6, atol=1e-12 * (1 + tau) ** 2
    )


def test_the_factor_without_a_tau():
    assert planning.factor_tau(1.0, 0.5) == np.inf
    assert planning.factor_tau(0.4, 0.5) < 0
    assert planning.factor_tau(0.9, 0.5, "same_data") < 0


def no_solution(*args, **kwargs):
    line = currentframe().f_lineno + 2
    with pytest.warns(NoSolutionWarning) as caught:
        assert np.isnan(solve(*args, **kwargs))
    assert (caught[0].filename, caught[0].lineno) == (__file__, line)  # it points to the call
    return str(caught[0].message)


def test_no_solution_is_nan_with_a_reason():
    common = {**GAUSSIAN, "covering_ratio": 0.1}
    assert no_solution(**common, tau=0.01) == (
        "tau = 0.01 is too small for the tests, which need tau >= 0.110481."
    )
    assert "No tau gives an improvement of 0.95 at a covering ratio of 0.1" in no_solution(
        n_bags=100, dim=None, alpha=0.05, covering_ratio=0.1, improvement=0.95
    )
    assert "tau = 0.5 guarantees an improvement of 0.6 only, not 0.7" in no_solution(
        n_bags=100, dim=None, alpha=0.05, covering_ratio=0.1, improvement=0.7, tau=0.5
    )
    assert "At tau = 0.5 no covering is small enough" in no_solution(**GAUSSIAN, tau=0.5, improvement=0.7)
    assert "No alpha makes tau = 0.01 large enough" in no_solution(n_bags=100, dim=1000, alpha=None, tau=0.01)
    assert "No n_bags makes tau = 0.01 large enough" in no_solution(
        n_bags=None, dim=1000, alpha=0.05, tau=0.01
    )
    assert "No n makes tau = 0.01 large enough" in no_solution(
        n_bags=100, dim=1000, n=None, alpha=0.05, tau=0.01
    )
    for thresholds in ("printed", "exact"):
        plan = {"alpha": 0.05, "tau": 0.01, "thresholds": thresholds}
        assert "No n makes" in no_solution(n_bags=100, dim=1000, n=None, **plan)
        assert "No n_bags makes" in no_solution(n_bags=None, dim=1000, **plan)
    for argument in ("dim", "n", "alpha", "n_bags"):
        plan = {**BOUNDED, "dim": 100.0, "n": 50.0, "tau": 0.5, argument: None}
        assert f"No {argument} makes tau = 0.5 large enough" in no_solution("bounded", **plan)


def test_a_little_too_much_is_too_much():
    tau = planning.factor_tau(0.5, 0.1)
    plan = {"n_bags": 100, "dim": None, "alpha": 0.05, "covering_ratio": 0.1, "improvement": 0.5}
    assert solve(**plan, tau=tau) == pytest.approx(solve(**plan))
    assert "guarantees an improvement of" in no_solution(**plan, tau=1.005 * tau)


def test_other_events_can_forbid_what_the_tests_allow():
    """Two bags in few dimensions: alpha from the tests alone is too small for C and C', by little or by much."""
    plan = {"n_bags": 2, "dim": 50, "alpha": None, "thresholds": "exact"}

    def excess(tau):
        alpha = np.exp(gaussian.exact_log_level(tau, 50))
        return max(float(gaussian.exact_inner(2, 50, alpha)), float(gaussian.exact_norm(2, 50, alpha))) / tau

    little = brentq(lambda tau: excess(tau) - 1.005, 0.01, 1.0)
    enough = brentq(lambda tau: excess(tau) - 0.995, 0.01, 1.0)
    for tau, fine in ((0.05, False), (little, False), (enough, True)):
        assert 0 < solve(**plan, tau=tau) < 1
        if fine:
            assert 0 < solve(**plan, tau=tau, theorem="same_data") < 1
        else:
            assert "No alpha makes" in no_solution(**plan, tau=tau, theorem="same_data")


def test_the_unit_ball_is_the_default():
    plan = {k: v for k, v in BOUNDED.items() if k not in ("L", "trace")}
    assert solve("bounded", **plan, tau=None) == solve("bounded", **plan, tau=None, L=1.0, trace=1.0)


def test_one_bag_is_no_plan():
    """The formula may allow 1.5 bags; then nothing can be compared."""
    tau = float(gaussian.tau_min(1.5, 1000, 0.05))
    assert "No n_bags makes" in no_solution(n_bags=None, dim=1000, alpha=0.05, tau=tau)
    tau = float(gaussian.tau_min(2, 1000, 0.05)) * (1 + 1e-12)
    assert solve(n_bags=None, dim=1000, alpha=0.05, tau=tau) == pytest.approx(2, rel=1e-6)


def test_anything_will_do():
    assert solve(n_bags=100, dim=1e9, alpha=None, tau=1000.0) == 0
    assert solve(n_bags=None, dim=1e9, alpha=0.05, tau=1000.0) == np.inf
    assert solve(n_bags=None, dim=1e9, alpha=0.05, tau=1000.0, thresholds="exact") == np.inf
    assert solve(n_bags=2, dim=None, alpha=0.9, tau=1e9) == 1
    assert solve(n_bags=2, dim=None, alpha=0.9, tau=1e9, thresholds="exact") == 1
    assert solve("bounded", **{**BOUNDED, "n": None, "tau": 1e25, "L": 1e-9}) == 1
    assert solve(**GAUSSIAN, tau=0.3, improvement=-5.0) == 1  # the covering ratio is at most one


def test_many_bags_in_the_exact_setting():
    """Numbers of pairs beyond the range of doubles, and just below."""
    for tau in (5.0, 30.0):
        bags = solve(n_bags=None, dim=2000, alpha=0.05, tau=tau, thresholds="exact")
        level = float(gaussian.exact_log_level(tau, 2000))
        assert (level < -620) == (tau > 10)
        # B (B - 1) / 2 = alpha exp(-level)
        assert np.log(bags) + np.log(bags - 1) - np.log(2) == pytest.approx(np.log(0.05) - level, rel=1e-9)
    few = solve(n_bags=None, dim=1000, alpha=0.05, tau=1.0, thresholds="exact")
    assert gaussian.exact_tau(few, 1000, 0.05) == pytest.approx(1.0, rel=1e-9)
    tau = float(gaussian.exact_tau(2.3, 1000, 0.05))  # one and a half pairs
    assert solve(n_bags=None, dim=1000, alpha=0.05, tau=tau, thresholds="exact") == pytest.approx(
        2.3, rel=1e-6
    )


def test_an_error_probability_above_one_is_no_plan():
    dim = (2 * np.log(100) - 0.5) / float(gaussian.delta_max(0.5))  # alpha would be exp(0.5)
    assert "No alpha makes tau = 0.5 large enough" in no_solution(n_bags=100, dim=dim, alpha=None, tau=0.5)


def test_infinite_sizes_are_limits():
    infinite = solve("bounded", **{**BOUNDED, "n": np.inf}, tau=None)
    assert infinite == pytest.approx(144 * np.sqrt(2) * 5 * np.sqrt(bounded.t(0.05, 100) / 4e9), rel=1e-9)
    assert solve("bounded", **{**BOUNDED, "dim": None, "n": np.inf}, tau=infinite) == pytest.approx(4e9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_bags": 100}, "Leave exactly one of n_bags, dim, n, alpha, tau, covering_ratio, improvement None"),
        ({**GAUSSIAN, "n": 5, "tau": 0.5, "covering_ratio": 0.1, "improvement": 0.2}, "found none"),
        ({**GAUSSIAN, "dim": None}, "tau='smallest' needs covering_ratio and improvement"),
        ({**GAUSSIAN, "alpha": 1.0, "tau": None}, "alpha must be above 0 and below 1"),
        ({**GAUSSIAN, "n_bags": 1, "tau": None}, "n_bags must be at least 2"),
        ({**GAUSSIAN, "dim": 0.5, "tau": None}, "dim must be at least 1"),
        ({**GAUSSIAN, "n": 0.5, "tau": None}, "n must be at least 1"),
        ({**GAUSSIAN, "tau": 0.0, "covering_ratio": 0.1}, "tau must be above 0"),
        ({**GAUSSIAN, "covering_ratio": 1.5}, "covering_ratio must be above 0 and at most 1.*over the number of bags"),
        ({**GAUSSIAN, "covering_ratio": 0.0}, "covering_ratio must be above 0"),
        ({**GAUSSIAN, "tau": 0.5, "improvement": 1.0}, "improvement must be below 1"),
        ({**GAUSSIAN, "tau": None, "thresholds": "best"}, "thresholds must be 'printed' or 'exact'"),
        ({**GAUSSIAN, "tau": None, "theorem": "third"}, "theorem must be 'independent' or 'same_data'"),
        ({"setting": "other", **GAUSSIAN, "n": 5, "tau": None}, "setting must be 'gaussian' or 'bounded'"),
        ({"setting": "bounded", **BOUNDED, "tau": None, "thresholds": "exact"}, "bounded data have no exact law"),
        ({"setting": "bounded", **BOUNDED, "tau": None, "L": 0.0}, "L must be above 0"),
        ({"setting": "bounded", **BOUNDED, "tau": None, "trace": 0.0}, "trace must be above 0"),
    ],
)  # fmt: skip
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        solve(**arguments)


def test_a_table_has_one_row_for_each_combination():
    plans = planning.table(n_bags=[10, 100], dim=1e6, alpha=0.05, tau=[0.05, 0.5], covering_ratio=0.1)
    assert len(plans) == 4
    assert plans.solved == "improvement"
    frame = plans.to_frame()
    assert frame["n_bags"].tolist() == [10, 10, 100, 100]
    assert frame["tau"].tolist() == [0.05, 0.5, 0.05, 0.5]
    assert np.isnan(frame["improvement"]).tolist() == [True, False, True, False]
    assert frame["improvement"][1] == solve(n_bags=10, dim=1e6, alpha=0.05, tau=0.5, covering_ratio=0.1)
    assert frame["reason"][0].startswith("tau = 0.05 is too small")
    assert frame["reason"][1] == ""
    assert "reason" in plans.summary()
    fine = planning.table(n_bags=[10, 100], dim=None, alpha=0.05, tau=1.0)
    assert "reason" not in fine.summary()
    assert "covering" not in fine.summary()
    bounded_plans = planning.table("bounded", **{**BOUNDED, "alpha": [0.01, 0.05]}, tau=None)
    assert bounded_plans.columns["tau"][0] > bounded_plans.columns["tau"][1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the table keeps its reasons to itself
        planning.table(n_bags=100, dim=1000, alpha=0.05, tau=[0.01], covering_ratio=0.1)
    with pytest.raises(ValueError, match="Leave exactly one"):
        planning.table(n_bags=[10, 20])
    with pytest.raises(TypeError, match="no argument bags"):
        planning.table(bags=10)


def test_a_table_tells_the_smallest_tau():
    plans = planning.table(**GAUSSIAN, covering_ratio=[0.1, 0.2], thresholds="exact")
    assert plans.columns["tau"] == (gaussian.exact_tau(100, 1e6, 0.05),) * 2
    wanted = planning.table(n_bags=100, dim=None, alpha=0.05, covering_ratio=0.1, improvement=0.5)
    assert wanted.columns["tau"][0] == planning.factor_tau(0.5, 0.1)
    assert gaussian.tau_min(100, wanted.columns["dim"][0], 0.05) == pytest.approx(wanted.columns["tau"][0])
    for name, value in (("C", 400.0), ("theorem", "same_data"), ("thresholds", "exact")):
        assert planning.table(**GAUSSIAN, covering_ratio=0.1, **{name: value}).columns["improvement"][
            0
        ] == solve(**GAUSSIAN, covering_ratio=0.1, **{name: value})
