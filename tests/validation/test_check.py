"""Verdicts: what an interval allows to be said, and nothing more."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom

from stbmta.validation.check import Check, Finding, Outcome, Regime, Worst, at_most_one, judge, proportion


def clopper_pearson(count, trials, level):
    lower = beta.ppf(level / 2, count, trials - count + 1) if count else 0.0
    upper = beta.ppf(1 - level / 2, count + 1, trials - count) if count < trials else 1.0
    return lower, upper


@given(
    trials=st.integers(1, 3000), share=st.floats(0, 1), level=st.floats(1e-8, 0.1), claim=st.floats(0.001, 1)
)
def test_counted_verdicts_follow_the_clopper_pearson_interval(trials, share, level, claim):
    count = round(share * trials)
    found = judge(proportion(count, trials, at_most=claim), level)
    lower, upper = clopper_pearson(count, trials, level)
    np.testing.assert_allclose([found.lower, found.upper], [lower, upper], rtol=1e-9, atol=1e-12)
    expected = "violated" if found.lower > claim else "holds" if found.upper <= claim else "undecided"
    assert found.verdict == expected


def test_false_verdicts_are_as_rare_as_promised():
    level, trials, truth = 0.05, 200, 0.1
    wrong_holds = wrong_violated = 0.0
    for count in range(trials + 1):
        p = binom.pmf(count, trials, truth)
        wrong_holds += p * (judge(proportion(count, trials, at_most=0.0999), level).verdict == "holds")
        wrong_violated += p * (judge(proportion(count, trials, at_most=0.1), level).verdict == "violated")
    assert 0 < wrong_holds <= level / 2
    assert 0 < wrong_violated <= level / 2


def test_a_claimed_range_has_two_ends():
    def verdict(count):
        return judge(proportion(count, 10000, at_least=0.4, at_most=0.6), 1e-4).verdict

    assert [verdict(c) for c in (3000, 4000, 5000, 6000, 7000)] == [
        "violated",
        "undecided",
        "holds",
        "undecided",
        "violated",
    ]


def test_exact_values_are_compared_exactly_up_to_rounding():
    assert judge(at_most_one(1 + 1e-12), 0.01).verdict == "holds"
    assert judge(at_most_one(1 + 1e-8), 0.01).verdict == "violated"
    assert judge(Finding(observed=1 - 1e-8, at_least=1.0), 0.01).verdict == "violated"
    assert judge(Finding(observed=-2.0, at_least=-1.0), 0.01).verdict == "violated"


def test_claims_that_say_nothing_are_vacuous():
    assert proportion(1, 10, at_most=1.0).vacuous
    assert not proportion(1, 10, at_most=0.9).vacuous
    assert not proportion(1, 10, at_least=0.05, at_most=1.2).vacuous


def test_findings_survive_a_file():
    found = proportion(3, 70, at_least=0.01, at_most=0.2)
    again = Finding.from_arrays(found.to_arrays())
    assert (again.count, again.trials, again.at_most, again.vacuous) == (3, 70, 0.2, False)
    assert isinstance(again.count, int)
    assert isinstance(again.vacuous, bool)


def test_tightness_is_relative_to_the_end_that_is_claimed():
    assert proportion(1, 10, at_most=0.2).tightness == 0.5
    assert Finding(observed=3.0, at_least=2.0).tightness == 1.5
    assert np.isnan(Finding(observed=3.0, at_least=0.0).tightness)


def test_the_worst_of_many_bags_prefers_those_with_something_at_stake():
    tried = Worst()
    assert judge(tried.finding(), 0.01).verdict == "undecided"  # nothing was seen
    tried.add([1.0, 1.0], 1.0)  # nobody has neighbors
    assert tried.finding().vacuous
    tried.add([1.0, 0.1], [1.0, 0.5])
    found = tried.finding()
    assert (found.observed, found.factor, found.trials, found.vacuous) == (0.2, 0.5, 2, False)
    tried.add([1.0], [1.0])
    tried.add([0.05], [0.5])
    assert tried.finding().observed == 0.2
    tried.add([2.2, 0.3], [2.0, 0.4])  # a broken bound counts, however large
    found = tried.finding()
    assert found.observed == pytest.approx(1.1)
    tried.add([0.3], [0.4])
    assert tried.finding().observed == pytest.approx(1.1)


def test_outcomes_become_json_without_nan():
    check = Check(id="x", title="", labels=(), functions=(), measure=at_most_one, regimes=(), family="")
    outcome = Outcome(
        check=check,
        regime=Regime(name="r"),
        finding=at_most_one(np.nan),
        lower=-np.inf,
        upper=np.inf,
        verdict="undecided",
    )
    row = outcome.to_dict()
    assert row["observed"] is None
    assert row["lower"] is None
    assert row["at_most"] == 1.0
