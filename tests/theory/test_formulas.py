"""Every formula against an independent evaluation in 50 digits, and the manners all of them share."""

import importlib

import mpmath as mp
import numpy as np
import pytest

from stbmta import theory

from .formulas import FORMULAS
from .oracle import DIGITS


def function_of(formula):
    module, name = formula.function.split(".")
    return getattr(importlib.import_module(f"stbmta.theory.{module}"), name)


def value_of(formula, arguments):
    result = function_of(formula)(**arguments, **formula.options)
    return result if formula.part is None else result[formula.part]


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f.name)
def test_matches_fifty_digits(formula):
    for arguments in formula.points:
        with mp.workdps(DIGITS):
            expected = formula.formula(**{k: mp.mpf(v) for k, v in arguments.items()})
            # where terms cancel, twelve digits of the largest term are all that doubles can give
            tolerance = 1e-12 * max(abs(expected), cancellation(formula, arguments))
            assert abs(mp.mpf(float(value_of(formula, arguments))) - expected) <= tolerance, arguments


def cancellation(formula, arguments):
    """Size of the terms that a lower deviation bound subtracts from one another, in units of 1000 roundings."""
    if "lower" not in formula.name and "expected_norm_bounds" not in formula.name:
        return 0.0
    return 1e-3 * sum(abs(v) for k, v in arguments.items() if k not in ("t", "n", "dim", "d_eff")) ** 2


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f.name)
def test_scalars_give_scalars_and_arrays_broadcast(formula):
    names = list(formula.points[0])
    columns = {name: np.array([p[name] for p in formula.points]) for name in names}
    together = value_of(formula, columns)
    assert isinstance(together, np.ndarray)
    for k, arguments in enumerate(formula.points):
        alone = value_of(formula, arguments)
        assert np.ndim(alone) == 0
        assert isinstance(alone, float)
        np.testing.assert_allclose(together[k], alone, rtol=1e-14)
    across = "tau" if "covering" in names else names[-1]  # no covering number may exceed its number of bags
    grid = value_of(formula, {**columns, across: columns[across][:, None]})
    assert grid.shape == ((len(formula.points),) * 2 if len(names) > 1 else (len(formula.points), 1))


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f.name)
def test_nan_and_nonsense_are_refused_by_name(formula):
    for name in formula.points[0]:
        for bad in (float("nan"), -1.0, "three"):
            with pytest.raises(ValueError, match=rf"^{name} must be") as error:
                value_of(formula, {**formula.points[0], name: bad})
            assert "found" in str(error.value)


@pytest.mark.parametrize("module", ["theorems", "gaussian", "bounded", "concentration"])
def test_no_public_function_is_left_out(module):
    covered = {f.function.split(".")[1] for f in FORMULAS}
    tested_elsewhere = {
        "compatible", "exact_mse", "gram_bound", "gram_distance", "shrinkage_weights", "squared_error",  # test_errors
        "event_probabilities", "stated_probabilities", "is_neighbor", "probability",  # test_events
        "PROOF_CONSTANT", "PROOF_CONSTANT_CENTERED", "q_level", "q_sigma_level",  # test_errata, test_levels
        "lower_tau", "upper_tau", "number_of_tests", "pair_log_level",  # test_exact
    }  # fmt: skip
    for name in getattr(theory, module).__all__:
        assert name in covered | tested_elsewhere or name.startswith("exact_") or name.endswith("_level"), (
            name
        )
