"""Every statement is checked or explained, every check can be run, every mutation is caught."""

import importlib

import pytest

from stbmta import theory
from stbmta.validation.catalog import CHECKS, cells, coverage, find, locate, select
from stbmta.validation.errata import errata
from stbmta.validation.mutation_list import MUTATIONS
from stbmta.validation.mutations import MutationResult, applied, checks_of, try_check
from stbmta.validation.run import part_name
from stbmta.validation.runner import generator

NAMED = (
    *(f"theorem-{k}-{what}" for k in (1, 2) for what in ("individual", "average")),
    *(f"{setting}-{event}" for setting in ("gaussian", "kernel") for event in ("A", "B", "C", "Cprime")),
    "gram-frobenius",
)


@pytest.mark.parametrize("row", coverage(), ids=lambda row: f"{row.statement.label} {row.statement.function}")
def test_every_statement_is_checked_or_explained(row):
    assert row.checks or row.reason, (
        f"{row.statement.label}, {row.statement.function}: name it in a check of validation/checks "
        "(labels and functions), or explain it in validation/catalog.py"
    )


def test_statements_with_content_are_all_checked():
    for row in coverage():
        if row.statement.status in ("as printed", "corrected", "exact", "sharper"):
            # Comparing a formula with itself is not enough.
            assert any(find(check_id).family != "Formulas" for check_id in row.checks), row.statement


def test_the_fixed_ids_exist():
    for check_id in NAMED:
        assert find(check_id).id == check_id


def test_every_inequality_has_a_check_for_each_tail():
    for name in theory.concentration.__all__:
        if name.endswith(("_upper", "_lower")):
            assert any(f"concentration.{name}" in check.functions for check in CHECKS), name


def test_corrected_statements_show_the_erratum_and_the_correction():
    for row in coverage():
        if row.statement.status == "corrected":
            errata = {bool(find(check_id).erratum) for check_id in row.checks}
            assert errata == {True, False}, row.statement


def test_ids_names_labels_and_functions_are_sound():
    ids = [check.id for check in CHECKS]
    assert len(set(ids)) == len(ids)
    files = [part_name(check.id, regime.name).lower() for check, regime in cells("full")]
    assert len(set(files)) == len(files)
    labels = {statement.label for statement in theory.statements()}
    for check in CHECKS:
        assert set(check.labels) <= labels, check.id
        assert any(regime.scale == "quick" for regime in check.regimes), check.id
        for function in check.functions:
            module, name = locate(function)
            assert callable(getattr(importlib.import_module(module), name))


def test_every_erratum_is_shown_or_explained():
    numbers = {statement.erratum for statement in theory.statements() if statement.erratum}
    assert [erratum.number for erratum in errata()] == [f"E{k}" for k in range(1, len(numbers) + 1)]
    for erratum in errata():
        assert bool(erratum.refuted_by) != bool(erratum.reason), erratum
        assert all(find(name).erratum for name in erratum.refuted_by)
        assert not any(find(name).erratum for name in erratum.see)
    assert {name for e in errata() for name in e.refuted_by} == {c.id for c in CHECKS if c.erratum}


def test_selection_by_beginnings_and_help_for_typos():
    assert select(()) == CHECKS
    assert [check.id for check in select(("exact-zeta-power", "exact-norm"))] == [
        "exact-zeta-power",
        "exact-norm",
    ]
    assert [check.id for check in select(("exact-zeta-p",))] == [
        "exact-zeta-power",
        "exact-zeta-power-size-4",
    ]
    with pytest.raises(ValueError, match="no check ''"):
        select(("",))
    with pytest.raises(ValueError, match=r"no check 'theorm-1-star'. Did you mean theorem-1-star"):
        select(("theorm-1-star",))
    with pytest.raises(ValueError, match=r"no check '%'. `stbmta validate --list`"):
        find("%")


def test_there_are_enough_mutations_each_with_a_check():
    assert sum(not mutation.harmless for mutation in MUTATIONS) >= 30
    assert len({mutation.id for mutation in MUTATIONS}) == len(MUTATIONS)
    for mutation in MUTATIONS:
        assert checks_of(mutation), mutation.id


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.id)
def test_mutations_that_matter_are_caught_and_others_are_not(mutation):
    # Cheap checks first; one that catches is enough, unless none may.
    order = sorted(checks_of(mutation), key=lambda c: sum(r.trials for _, r in cells("quick", (c,))))
    if mutation.harmless:
        kinds = {c.kind for c in order if try_check(mutation.id, c.id, 0)["violated"]}
        assert kinds == {"algebra"}
    else:
        assert any(try_check(mutation.id, check.id, 0)["violated"] for check in order)


def test_mutations_reach_every_reference_and_are_taken_back():
    mutation = next(m for m in MUTATIONS if m.id == "pairs-of-one-task")
    right = theory.exact.number_of_tests
    with applied(mutation):
        assert theory.gaussian.number_of_tests(10) == theory.exact.number_of_tests(10) == 9
    assert theory.gaussian.number_of_tests is theory.exact.number_of_tests is right
    with pytest.raises(RuntimeError), applied(mutation):
        raise RuntimeError
    assert theory.exact.number_of_tests is right


def test_what_becomes_of_a_mutation():
    false, true = MUTATIONS[0], next(m for m in MUTATIONS if m.harmless)

    def status(mutation, statements, algebra):
        result = MutationResult(mutation=mutation, statements=statements, algebra=algebra)
        return result.status, result.good

    assert status(false, ("a",), ("b",)) == ("caught", True)
    assert status(false, (), ("b",)) == ("caught by algebra", True)
    assert status(false, (), ()) == ("missed", False)
    assert status(true, (), ("b",)) == ("true, caught by algebra", True)
    assert status(true, (), ()) == ("true, unnoticed", False)
    assert status(true, ("a",), ()) == ("caught, though true", False)


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.id)
def test_every_check_says_something_in_a_quick_run(check):
    """A regime with a bound that nothing can cross is no test; those are marked, and there is another one."""
    for _, regime in cells("quick", (check,)):
        rng = generator(0, "validate", check.id, regime.name)
        if not check.measure(rng, min(regime.trials, 10), **regime.values).vacuous:
            return
    raise AssertionError("all regimes are vacuous")
