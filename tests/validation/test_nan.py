"""A formula that gives nan must not pass for true."""

from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

from stbmta.validation.catalog import CHECKS, cells
from stbmta.validation.check import Finding, Worst, at_most_one, exactly_one, judge, proportion
from stbmta.validation.mutation_list import Mutation
from stbmta.validation.mutations import applied
from stbmta.validation.runner import generator

TRIALS = 40
"""With this level enough for an interval to lie within any claim, were the nan not noticed."""
LEVEL = 0.9


def spoiled(value):
    """Replace all floating-point numbers by nan."""
    if is_dataclass(value):
        return replace(value, **{f.name: spoiled(getattr(value, f.name)) for f in fields(value)})
    if isinstance(value, tuple):
        parts = map(spoiled, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    array = np.asarray(value)
    return np.full(array.shape, np.nan)[()] if array.dtype.kind == "f" else value


def holds_with_nan(check, function, regime):
    """Whether a check holds in a regime although a function of its statement gives nan."""
    given = []

    def change(right):
        def wrong(*args, **kwargs):
            given.append(spoiled(right(*args, **kwargs)))
            return given[-1]

        return wrong

    mutation = Mutation(id="nan", target=function, what="nan", change=change)
    rng = generator(0, "validate", check.id, regime.name)
    with applied(mutation), np.errstate(all="ignore"):
        try:
            finding = check.measure(rng, min(regime.trials, TRIALS), **regime.values)
        except ValueError:  # the theory refuses a nan as argument
            return False
    spoils = any(has_nan(value) for value in given)
    return spoils and judge(finding, LEVEL).verdict != "violated"


def has_nan(value):
    if is_dataclass(value):
        return any(has_nan(getattr(value, f.name)) for f in fields(value))
    if isinstance(value, tuple):
        return any(map(has_nan, value))
    array = np.asarray(value)
    return array.dtype.kind == "f" and bool(np.isnan(array).any())


@pytest.mark.parametrize(
    "check",
    [c for c in CHECKS if not c.erratum and c.family != "Covering numbers"],  # those are integers
    ids=lambda c: c.id,
)
def test_no_check_holds_when_its_function_gives_nan(check):
    regimes = [regime for _, regime in cells("quick", (check,))][:2]
    for function in check.functions:
        for regime in regimes:
            assert not holds_with_nan(check, function, regime), (function, regime.name)


@pytest.mark.parametrize(
    "finding",
    [
        Finding(observed=5.0, at_most=np.nan),
        Finding(observed=5.0, at_least=np.nan),
        Finding(observed=np.nan, at_most=1.0),
        proportion(0, 100, at_most=np.nan),
        at_most_one([0.5, np.nan, 0.2]),
        exactly_one([1.0, np.nan, 1.0]),
    ],
)
def test_nan_is_violated(finding):
    assert judge(finding, 1e-3).verdict == "violated"


def test_the_worst_bag_keeps_a_nan():
    tried = Worst()
    tried.add([0.2], [0.5])
    tried.add([0.2, 0.1], [0.5, np.nan])
    tried.add([0.4], [0.5])
    assert np.isnan(tried.finding().observed)
    assert judge(tried.finding(), 1e-3).verdict == "violated"
