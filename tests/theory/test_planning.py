"""Planning: every argument of every setting comes back, solutions are extreme, and no solution is nan with a reason."""

import warnings
from inspect import currentframe
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stbmta.theory import bounded, gaussian, planning, theorems
from stbmta.theory.planning import NoSolutionWarning, gain, solve

GAUSSIAN = {"n_bags": 100.0, "dim": 1e6, "alpha": 0.05}
BOUNDED = {"n_bags": 100.0, "dim": 4e9, "n": 1e20, "alpha": 0.05, "L": 2.0, "trace": 0.5}
SETTINGS = {
    "printed": ("gaussian", GAUSSIAN),
    "exact": ("gaussian", {**GAUSSIAN, "thresholds": "exact"}),
    "printed, C": ("gaussian", {**GAUSSIAN, "C": 400.0}),
    "bounded": ("bounded", BOUNDED),
}


# From two bags to a trillion, and from one dimension, where tau is enormous, to a billion, where it is tiny.
GRIDS = {
    "printed": product(["gaussian"], [2.0, 1000.0, 1e12], [1.0, 3.0, 1e4, 1e9], [None], [0.05, 0.9]),
    "exact": product(["gaussian"], [2.0, 3.0, 1e12], [3.0, 1e4, 1e9], [None], [0.05]),
    "bounded": product(["bounded"], [2.0, 50.0, 1e12], [1.0, 50.0, 1e6], [2.0, 50.0, 1e9], [0.05]),
}


@pytest.mark.parametrize("theorem", ["independent", "same_data"])
@pytest.mark.parametrize(
    ("thresholds", "plan"), [(name, plan) for name, grid in GRIDS.items() for plan in grid]
)
@pytest.mark.parametrize("ratio", [0.01, 0.5])
def test_round_trip_of_every_argument(thresholds, plan, theorem, ratio):
    """From the smallest tau to the improvement, and back to each argument in turn."""
    setting, bags, dim, n, alpha = plan
    plan = {"setting": setting, "n_bags": bags, "dim": dim, "n": n, "alpha": alpha, "theorem": theorem}
    plan["thresholds"] = "exact" if thresholds == "exact" else "printed"
    plan["tau"] = solve(**{**plan, "tau": None})
    plan["covering_ratio"] = ratio
    plan["improvement"] = solve(**plan, improvement=None)
    # Theorem 2 at a large tau: the improvement is a large number, whose last digit is worth this much of the ratio.
    digits = 1e-15 * (1 + plan["tau"]) ** 2 / ratio if theorem == "same_data" else 0.0
    for argument in ("n_bags", "dim", "n", "alpha", "tau", "covering_ratio", "improvement"):
        if argument == "covering_ratio" and digits > 0.1:
            continue
        found = solve(**{**plan, argument: None})
        if argument == "n" and setting == "gaussian":
            assert found == 1  # any bag size will do
            continue
        rounding = digits if argument == "covering_ratio" else 0.0
        assert found == pytest.approx(plan[argument], rel=2e-9 + rounding), argument
        assert solve(**{**plan, argument: found, "improvement": None}) == pytest.approx(plan["improvement"])


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


def test_two_bags_and_a_level_of_one_half_need_no_radius():
    """The smallest tau is 0, and a plan with it comes back; otherwise no number makes 0 large enough."""
    plan = {"n_bags": 2, "dim": 50, "alpha": 0.5, "tau": 0.0, "thresholds": "exact"}
    assert solve(**plan, covering_ratio=0.5, improvement=None) == 0.5
    assert solve(**plan, improvement=0.5) == 0.5
    found = {name: solve(**{**plan, name: None}) for name in ("n_bags", "dim", "alpha", "tau")}
    assert found == pytest.approx({"n_bags": 2, "dim": 1, "alpha": 0.5, "tau": 0})
    for name in ("n_bags", "dim", "alpha"):
        for other in ({"thresholds": "printed"}, {"theorem": "same_data"}):
            assert f"No {name} makes tau = 0 large enough" in no_solution(**{**plan, **other, name: None})
        never = {**BOUNDED, "dim": np.inf, "tau": 0.0, name: None}
        assert f"No {name} makes tau = 0 large enough" in no_solution("bounded", **never)


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
    tau=st.floats(1e-6, 1e9),
    ratio=st.floats(1e-6, 0.999),
    theorem=st.sampled_from(["independent", "same_data"]),
)
def test_the_gain_and_its_inverses(tau, ratio, theorem):
    """Back to tau with as many digits as the gain has: near tau = 0 and ratio = 0 it is close to 1."""
    value = gain(tau, ratio, theorem)
    np.testing.assert_allclose(planning.largest_tau(value, ratio, theorem), tau, rtol=1e-14, atol=4e-16)
    found = planning.largest_covering_ratio(value, tau, theorem)
    np.testing.assert_allclose(
        found, ratio, rtol=1e-15, atol=1e-15 * (1 + tau * (theorem == "same_data")) ** 2
    )


def test_the_gain_is_one_minus_the_bound():
    for tau, ratio in product([1e-9, 0.3, 4.0, 1e8], [0.01, 0.5, 1.0]):
        bound = theorems.average_independent(tau, 1000 * ratio, 1000)
        assert gain(tau, ratio) == pytest.approx(1 - bound, rel=1e-15, abs=3e-16)
        bound = theorems.average_same_data(tau, 1000 * ratio, 1000)
        assert gain(tau, ratio, "same_data") == pytest.approx(1 - bound, rel=1e-15, abs=3e-16)
    # a tau so large that 1 minus the bound has no digit left
    assert gain(1e17, 0.5) == pytest.approx(5e-18, rel=1e-15)


def test_the_gain_without_a_tau():
    assert planning.largest_tau(0.0, 0.5) == np.inf
    assert planning.largest_tau(0.6, 0.5) < 0
    assert planning.largest_tau(0.1, 0.5, "same_data") < 0


def test_any_tau_will_do_where_nothing_is_wanted():
    for setting, least in (("gaussian", 1.0), ("bounded", 2.0)):
        plan = {"n_bags": 100, "dim": 50, "n": 60, "alpha": 0.05, "covering_ratio": 0.5, "improvement": -1.0}
        found = {k: solve(setting, **{**plan, k: None}) for k in ("n_bags", "dim", "n", "alpha", "tau")}
        assert found == {"n_bags": np.inf, "dim": 1.0, "n": least, "alpha": 0.0, "tau": np.inf}


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
    wanted = {"covering_ratio": 0.1, "improvement": 0.5}
    assert "No n makes tau = 0.01 large enough" in no_solution(
        n_bags=100, dim=1000, n=None, alpha=0.05, tau=0.01, **wanted
    )
    for thresholds in ("printed", "exact"):
        plan = {"alpha": 0.05, "tau": 0.01, "thresholds": thresholds}
        assert "No n makes" in no_solution(n_bags=100, dim=1000, n=None, **plan, **wanted)
        assert "No n_bags makes" in no_solution(n_bags=None, dim=1000, **plan)
    for argument in ("dim", "n", "alpha", "n_bags"):
        plan = {**BOUNDED, "dim": 100.0, "n": 50.0, "tau": 0.5, argument: None}
        assert f"No {argument} makes tau = 0.5 large enough" in no_solution("bounded", **plan)


def test_a_little_too_much_is_too_much():
    tau = planning.largest_tau(0.5, 0.1)
    plan = {"n_bags": 100, "dim": None, "alpha": 0.05, "covering_ratio": 0.1, "improvement": 0.5}
    assert solve(**plan, tau=tau) == pytest.approx(solve(**plan))
    assert "guarantees an improvement of" in no_solution(**plan, tau=1.005 * tau)


def test_a_plan_may_miss_its_mark_by_rounding_only():
    """One part in 1e9: numbers that were solved for are accepted, others are not."""
    smallest = float(gaussian.tau_min(100, 1e6, 0.05))
    common = {**GAUSSIAN, "covering_ratio": 0.1}
    assert solve(**common, tau=smallest * (1 - 0.995e-9)) > 0
    assert "too small for the tests" in no_solution(**common, tau=smallest * (1 - 1.005e-9))
    wanted = gain(1e5, 0.1)
    plan = {"n_bags": 100, "dim": None, "alpha": 0.05, "covering_ratio": 0.1, "tau": 1e5}
    assert solve(**plan, improvement=wanted * (1 + 0.995e-9)) == 1
    assert "guarantees an improvement of" in no_solution(**plan, improvement=wanted * (1 + 1.005e-9))
    # 1 minus a factor close to one has an absolute error, of four units in the last digit at most
    plan = {**plan, "covering_ratio": 1.0}
    assert solve(**plan, improvement=3.98 * 2**-52) == 1
    assert "guarantees an improvement of 0 only" in no_solution(**plan, improvement=4.02 * 2**-52)
    # solved for: two bags but for rounding are two, and less are none
    for part, fine in ((0.995e-9, True), (1.005e-9, False)):
        tau = float(gaussian.tau_min(2 * (1 - part), 1e6, 0.05))
        plan = {"n_bags": None, "dim": 1e6, "alpha": 0.05, "tau": tau}
        assert solve(**plan) == 2 if fine else "No n_bags makes" in no_solution(**plan)
        tau = smallest * (1 - part)
        plan = {**GAUSSIAN, "n": None, "tau": tau, "covering_ratio": 0.1, "improvement": 0.5}
        assert solve(**plan) == 1 if fine else no_solution(**plan)


def test_the_other_events_count_on_the_same_data():
    """Two bags and a large alpha: the tests alone would allow any tau, C and C' do not."""
    for bags, dim, alpha in ((2, 50, 0.9), (2, 1e4, 0.5), (2, 1e4, 0.6), (2, 3, 0.7)):  # C' decides once
        plan = {"n_bags": bags, "dim": dim, "alpha": alpha, "thresholds": "exact", "theorem": "same_data"}
        tau = solve(**plan, tau=None)
        others = (gaussian.exact_inner(bags, dim, alpha), gaussian.exact_norm(bags, dim, alpha))
        assert tau == max(others) > gaussian.exact_tau(bags, dim, alpha)
        for argument in ("n_bags", "alpha"):
            assert solve(**{**plan, argument: None}, tau=tau) == pytest.approx(plan[argument], rel=1e-9)
    assert solve(**{**plan, "dim": None, "alpha": 0.9}, tau=0.01) == pytest.approx(
        next(d for d in range(2, 999) if gaussian.exact_inner(2, d, 0.9) <= 0.01), abs=1
    )
    assert solve(n_bags=2, dim=50, alpha=None, tau=0.05, thresholds="exact") < solve(
        n_bags=2, dim=50, alpha=None, tau=0.05, thresholds="exact", theorem="same_data"
    )


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
    assert solve("bounded", **{**BOUNDED, "n": None, "tau": 1e25, "L": 1e-9}) == 2  # U needs pairs of points
    assert solve("bounded", n_bags=100, dim=None, n=50, alpha=0.05, tau=1e9) == 1
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


def test_more_pairs_than_any_number_can_count():
    """A tau this large serves 1e160 bags or more; their pairs are counted by logarithms."""
    plan = {"dim": 6000, "alpha": 2.5e-11, "tau": 14.8, "thresholds": "exact"}
    bags = solve(**plan, n_bags=None)
    assert 1e155 < bags < np.inf
    assert solve(**{**plan, "tau": None}, n_bags=bags) == pytest.approx(14.8, rel=1e-9)
    assert solve(**{**plan, "alpha": None}, n_bags=bags) == pytest.approx(2.5e-11, rel=1e-6)
    for correction in ("bonferroni", "sidak"):
        level = gaussian.pair_log_level([1e152, 1e200], 0.05, correction=correction)
        assert level[0] - level[1] == pytest.approx(96 * np.log(10), rel=1e-14)
    accept = gaussian.exact_zeta(14.8, bags, 6000, 2.5e-11)
    chances = gaussian.exact_event_probabilities(14.8, accept, bags, 6000)
    np.testing.assert_allclose(chances.A, 2.5e-11, rtol=1e-6)


@pytest.mark.parametrize("thresholds", ["printed", "exact"])
def test_a_dimension_beyond_all_numbers_is_no_plan(thresholds):
    plan = {"n_bags": 100, "dim": None, "alpha": 0.05, "thresholds": thresholds}
    assert "No dim makes tau = 1e-200 large enough" in no_solution(**plan, tau=1e-200)
    assert solve(**plan, tau=1e-100) == pytest.approx(1e180 * solve(**plan, tau=1e-10), rel=1e-7)


def test_an_error_probability_above_one_is_no_plan():
    dim = (2 * np.log(100) - 0.5) / float(gaussian.delta_max(0.5))  # alpha would be exp(0.5)
    assert "No alpha makes tau = 0.5 large enough" in no_solution(n_bags=100, dim=dim, alpha=None, tau=0.5)


def test_infinite_sizes_are_limits():
    infinite = solve("bounded", **{**BOUNDED, "n": np.inf}, tau=None)
    assert infinite == pytest.approx(144 * np.sqrt(2) * 5 * np.sqrt(bounded.t(0.05, 100) / 4e9), rel=1e-9)
    assert solve("bounded", **{**BOUNDED, "dim": None, "n": np.inf}, tau=infinite) == pytest.approx(4e9)
    for size in ("n", "dim"):
        plan = {**BOUNDED, size: np.inf}
        infinite = solve("bounded", **plan, tau=None)
        assert solve("bounded", **{**plan, size: None}, tau=infinite * (1 - 0.9e-9)) == np.inf
        less = {**plan, size: None, "tau": infinite * (1 - 1.1e-9)}
        assert f"No {size} makes" in no_solution("bounded", **less)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_bags": 100}, "Leave exactly one of n_bags, dim, n, alpha, tau, covering_ratio, improvement None"),
        ({**GAUSSIAN, "n": 5, "tau": 0.5, "covering_ratio": 0.1, "improvement": 0.2}, "found none"),
        ({**GAUSSIAN, "dim": None}, "tau='smallest' needs covering_ratio and improvement"),
        ({**GAUSSIAN, "tau": 0.5}, "Pass covering_ratio to get the improvement, or improvement"),
        ({**GAUSSIAN, "n": 5}, "Pass covering_ratio to get the improvement, or improvement"),
        ({"setting": "bounded", **BOUNDED, "tau": 9.0}, "Pass covering_ratio to get the improvement"),
        ({**GAUSSIAN, "alpha": 1.0, "tau": None}, "alpha must be above 0 and below 1"),
        ({**GAUSSIAN, "n_bags": 1, "tau": None}, "n_bags must be at least 2"),
        ({**GAUSSIAN, "dim": 0.5, "tau": None}, "dim must be at least 1"),
        ({**GAUSSIAN, "n": 0.5, "tau": None}, "n must be at least 1"),
        ({"setting": "bounded", **BOUNDED, "n": 1, "tau": None}, "n must be at least 2; found 1. The tests need"),
        ({**GAUSSIAN, "n_bags": [10, 20], "tau": None}, r"n_bags must be one number; found \[10, 20\]. planning.table"),
        ({**GAUSSIAN, "tau": -0.005, "covering_ratio": 0.1}, "tau must be at least 0"),
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
    with pytest.raises(ValueError, match="n_bags is empty; pass at least one value"):
        planning.table(n_bags=[], dim=5.0, alpha=0.05, tau=None)


def test_a_table_tells_the_smallest_tau():
    plans = planning.table(**GAUSSIAN, covering_ratio=[0.1, 0.2], thresholds="exact")
    assert plans.columns["tau"] == (gaussian.exact_tau(100, 1e6, 0.05),) * 2
    wanted = planning.table(n_bags=100, dim=None, alpha=0.05, covering_ratio=0.1, improvement=0.5)
    assert wanted.columns["tau"][0] == planning.largest_tau(0.5, 0.1)
    assert gaussian.tau_min(100, wanted.columns["dim"][0], 0.05) == pytest.approx(wanted.columns["tau"][0])
    for name, value in (("C", 400.0), ("theorem", "same_data"), ("thresholds", "exact")):
        assert planning.table(**GAUSSIAN, covering_ratio=0.1, **{name: value}).columns["improvement"][
            0
        ] == solve(**GAUSSIAN, covering_ratio=0.1, **{name: value})
