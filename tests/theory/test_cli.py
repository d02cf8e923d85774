"""The commands threshold, bound and plan: readable tables, pure JSON, and one line for bad input."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from stbmta import cli
from stbmta.theory import bounded, gaussian, planning, theorems

runner = CliRunner()
BOUNDED = ("threshold", "--setting", "bounded", "--bags", "100", "--dim", "100")


def run(*arguments):
    done = runner.invoke(cli.app, [str(a) for a in arguments])
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    return done.stdout


def rows(*arguments):
    return json.loads(run(*arguments, "--json"))


def test_thresholds_over_bags_and_dimensions():
    table = run("threshold", "--bags", 100, "--bags", 2000, "--dim", 1000, "--dim", 1e5)
    title, empty, *lines = table.splitlines()
    assert (title, empty) == ("Smallest tau, alpha = 0.05", "")
    assert lines[0].split() == ["bags", "dim", "printed", "exact", "equal", "means", "one", "task", "gain"]
    assert lines[2].split() == ["100", "1,000", "12.21", "1.635", "0.902", "1.167", "7.466"]
    assert len(lines) == 6
    assert len({len(line) for line in lines}) == 1  # aligned
    found = rows("threshold", "-B", 100, "-d", 1000, "--alpha", 0.1)
    assert found[0]["exact"] == float(gaussian.exact_tau(100, 1000, 0.1))
    assert found[0]["printed"] == float(gaussian.tau_min(100, 1000, 0.1))


def test_smallest_dimensions():
    found = rows("threshold", "--bags", 100)
    assert [(r["tau"], r["printed"], r["exact"]) for r in found] == [
        (1.0, 12207, 2151),
        (0.1, 1220608, 139494),
    ]
    assert rows("threshold", "--bags", 100, "--tau", 0.5)[0]["tau"] == 0.5
    assert run("threshold", "--bags", 9).startswith(
        "Smallest dimension that allows tau, alpha = 0.05\n\nbags"
    )


def test_thresholds_at_the_ends_of_their_range():
    """Nothing needed is 0, and an infinite gain; no number large enough is infinite, and no gain at all."""
    (row,) = rows("threshold", "--bags", 2, "--dim", 50, "--alpha", 0.9)
    assert (row["exact"], row["gain"]) == (0, "inf")
    for tau in (1e-200, 0):
        (row,) = rows("threshold", "--bags", 100, "--tau", tau)
        assert (row["printed"], row["exact"], row["gain"]) == ("inf", "inf", None)


def test_thresholds_of_the_test_for_a_tau():
    (row,) = rows("threshold", "--bags", 50, "--dim", 300, "--tau", 2.0)
    assert row["zeta exact"] == float(gaussian.exact_zeta(2.0, 50, 300, 0.05))
    assert row["zeta printed"] == float(gaussian.zeta(2.0, 50, 300, 0.05))
    assert row["P(A)"] == pytest.approx(0.05)
    chances = gaussian.exact_event_probabilities(2.0, row["zeta exact"], 50, 300)
    assert row["P(B(tau/3))"] == pytest.approx(float(chances.B))


def test_bounded_thresholds():
    (row,) = rows(
        "threshold", "--setting", "bounded", "-B", 100, "-d", 1e7, "-n", 1e14, "--bound", 2, "--trace", 0.5
    )
    level = bounded.t(0.05, 100)
    arguments = (level, 1e7, 2.0, 1e14, np.sqrt(0.5 / 1e14))
    assert row["t"] == pytest.approx(float(level))
    assert row["r"] == pytest.approx(float(bounded.r(*arguments)))
    assert row["tau_min"] == pytest.approx(float(bounded.tau_min(*arguments)))
    assert row["smallest tau"] == pytest.approx(float(bounded.smallest_tau(*arguments)))


def test_json_rows_know_all_numbers_that_were_given():
    common = ("threshold", "--bags", 100, "--alpha", 0.1)
    for more in ((), ("--dim", 1000), ("--dim", 1000, "--tau", 2.0)):
        assert all(row["alpha"] == 0.1 for row in rows(*common, *more))
        assert "alpha" in run(*common, *more).splitlines()[0]
        assert "alpha" not in run(*common, *more).splitlines()[2]
    (row,) = rows(*common, "--setting", "bounded", "-d", 9, "-n", 50, "--bound", 2, "--trace", 0.5)
    assert (row["alpha"], row["L"], row["trace"]) == (0.1, 2, 0.5)
    assert "C" not in row


def test_the_papers_constant_may_be_another():
    (row,) = rows("threshold", "--bags", 100, "--dim", 1000, "--C", 500)
    assert row["printed"] == float(gaussian.tau_min(100, 1000, 0.05, 500))
    assert row["C"] == 500
    assert rows("threshold", "--bags", 100, "--dim", 1000)[0]["C"] == 1000
    (row,) = rows("threshold", "--bags", 100, "--tau", 0.5, "--constant", 500)
    assert row["printed"] == np.ceil(gaussian.delta(100, 1, 0.05) / gaussian.delta_max(0.5, 500))
    given = ("threshold", "--bags", 100, "--tau", 0.5)
    assert run(*given, "--C", 500).startswith("Smallest dimension that allows tau, C = 500, alpha = 0.05\n")
    assert run(*given, "--C", 1000) == run(*given)
    plan = ("plan", "--bags", 100, "--alpha", 0.05, "--tau", 1)
    (row,) = rows(*plan, "--C", 500)
    assert row["dim"] == planning.solve(n_bags=100, dim=None, alpha=0.05, tau=1, C=500)
    assert row["C"] == 500
    assert "500" in run(*plan, "--C", 500)
    assert run(*plan, "--C", 1000) == run(*plan)
    assert "C" not in run(*plan).splitlines()[0].split()


def test_bounds_of_one_bag_and_of_the_average():
    found = rows("bound", "--tau", 0.1, "--tau", 0.2, "--neighbors", 20, "--covering", 10, "--bags", 200)
    assert len(found) == 4
    assert found[0]["Theorem 1 (independent tests)"] == float(theorems.bound_independent(0.1, 19))
    assert found[0]["Theorem 2 (same data)"] == float(theorems.bound_same_data(0.1, 20))
    assert found[3]["Theorem 1 (independent tests)"] == float(theorems.average_independent(0.2, 10, 200))
    assert found[3]["Theorem 2 (same data)"] == float(theorems.average_same_data(0.2, 10, 200))
    table = run("bound", "--tau", 0.1, "--neighbors", 20, "--covering", 10, "--bags", 200)
    assert "20 neighbors" in table
    assert "average, covering 10 of 200" in table
    for hidden in ("neighbors  ", "covering  ", "bags  "):
        assert hidden not in table.splitlines()[0] + "  "
    numbers = [(r["neighbors"], r["covering"], r["bags"]) for r in found]
    assert numbers == [(20, None, None), (None, 10, 200)] * 2
    assert len(rows("bound", "--tau", 0.1, "--neighbors", 5)) == 1
    assert len(rows("bound", "--tau", 0.1, "--covering", 5, "--bags", 10)) == 1


def test_plans_for_each_missing_number():
    common = ("--bags", 100, "--alpha", 0.05)
    (row,) = rows("plan", *common, "--dim", 1e6, "--covering-ratio", 0.1)
    assert row["improvement"] == planning.solve(n_bags=100, dim=1e6, alpha=0.05, covering_ratio=0.1)
    assert row["tau"] == pytest.approx(float(gaussian.tau_min(100, 1e6, 0.05)))
    assert row["reason"] == ""
    (row,) = rows("plan", *common, "--tau", 1, "--thresholds", "exact")
    assert np.ceil(row["dim"]) == 2151
    (row,) = rows("plan", *common, "--dim", 1000, "--tau", "solve")
    assert row["tau"] == pytest.approx(float(gaussian.tau_min(100, 1000, 0.05)))
    (row,) = rows("plan", "--dim", 1e5, "--alpha", 0.05, "--tau", 0.9)
    assert row["n_bags"] == planning.solve(n_bags=None, dim=1e5, alpha=0.05, tau=0.9)
    (row,) = rows(
        "plan", "--setting", "bounded", *common, "--dim", 1e9, "--tau", 0.9, "--bound", 2, "--trace", 0.5
    )
    assert row["n"] == planning.solve(
        "bounded", n_bags=100, dim=1e9, alpha=0.05, n=None, tau=0.9, L=2.0, trace=0.5
    )
    (row,) = rows("plan", *common, "--dim", 1e6, "--covering-ratio", 0.01, "--theorem", "same_data")
    assert row["improvement"] == planning.solve(
        n_bags=100, dim=1e6, alpha=0.05, covering_ratio=0.01, theorem="same_data"
    )


def test_plans_are_tables_and_say_why_there_is_none():
    table = run("plan", "--bags", 100, "--bags", 1000, "--alpha", 0.05, "--tau", 1, "--thresholds", "exact")
    assert [line.split()[-1] for line in table.splitlines()[2:]] == ["2,150.5", "3,199.3"]
    assert "reason" not in table
    assert "trace" not in table
    impossible = ("plan", "-B", 100, "-d", 1000, "--alpha", 0.05, "--tau", 0.01, "--covering-ratio", 0.1)
    assert "tau = 0.01 is too small for the tests" in run(*impossible)
    (row,) = rows(*impossible)
    assert row["improvement"] is None  # JSON has no nan
    assert "too small" in row["reason"]
    (row,) = rows("plan", "--dim", 1e9, "--alpha", 0.05, "--tau", 1000)
    assert row["n_bags"] == "inf"
    assert "'inf'" in run("plan", "--help")
    for thresholds in ("printed", "exact"):
        (row,) = rows("plan", "-B", 100, "--alpha", 0.05, "--tau", 1e-200, "--thresholds", thresholds)
        assert row["dim"] is None
        assert row["reason"] == "No dim makes tau = 1e-200 large enough for the tests."
    bounded_table = run("plan", "--setting", "bounded", "-B", 9, "-d", 1e9, "--alpha", 0.05, "--tau", 0.9)
    assert "thresholds" not in bounded_table


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("threshold",), "Pass --bags"),
        (("threshold", "--bags", "100", "--setting", "bounded"), "Pass --dim"),
        (("threshold", "--bags", "100", "--setting", "bounded", "--dim", "5"), "Pass --size"),
        (("threshold", "--bags", "100", "--dim", "10", "--alpha", "2"), "alpha must be above 0 and below 1"),
        (("threshold", "--bags", "1", "--dim", "10"), "n_bags must be at least 2"),
        (("threshold", "--bags", "many"), "Invalid value"),
        (("bound",), "Pass --tau"),
        (("bound", "--tau", "0.1"), "Pass --neighbors"),
        (("bound", "--tau", "0.1", "--covering", "3"), "needs both --covering and --bags"),
        (("bound", "--tau", "-1", "--neighbors", "3"), "tau must be at least 0"),
        (("bound", "--tau", "0.1", "--covering", "11", "--bags", "10"), "covering must be at most n_bags"),
        (("threshold", "--bags", "100", "--tau", "-1"), "tau must be at least 0; found -1"),
        (("threshold", "--bags", "100", "--dim", "9", "--size", "5"), "--size is for --setting bounded"),
        ((*BOUNDED, "--size", "50", "--tau", "0.5"), "--tau is for Gaussian bags"),
        ((*BOUNDED, "--size", "0"), "size must be at least 2; found 0"),
        ((*BOUNDED, "--size", "-5"), "size must be at least 2; found -5"),
        ((*BOUNDED, "--size", "50", "--size", "1"), "size must be at least 2; found 1"),
        ((*BOUNDED, "--size", "50", "--trace", "-1"), "trace must be above 0; found -1"),
        ((*BOUNDED, "--size", "50", "--trace", "0"), "trace must be above 0; found 0"),
        (
            ("bound", "--tau", "0.1", "--neighbors", "0"),
            "n_neighbors must be at least 1; found 0. A bag is its own",
        ),
        (
            (
                "plan",
                "--setting",
                "bounded",
                "-B",
                "9",
                "-d",
                "9",
                "-n",
                "1",
                "--alpha",
                "0.05",
                "--tau",
                "solve",
            ),
            "n must be at least 2",
        ),
        (("plan", "--bags", "100"), "Leave exactly one of"),
        (("plan", "--bags", "100", "--dim", "10", "--alpha", "0.1", "--tau", "x"), "tau must be a number"),
        (("plan", "--setting", "other"), "Invalid value"),
        (("plan", "--setting", "bounded", "--bags", "9", "--C", "500"), "--constant is for Gaussian bags"),
    ],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_bad_input_is_one_line_and_exit_code_2(arguments, message, as_json):
    done = runner.invoke(cli.app, [*arguments, *(["--json"] if as_json else [])])
    assert done.exit_code == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["threshold", "bound", "plan"])
def test_help_has_an_example(command):
    assert f"stbmta {command} --" in run(command, "--help")


def test_help_explains_the_columns():
    text = " ".join(run("threshold", "--help").split())
    (row,) = rows("threshold", "--bags", 9, "--dim", 50)
    for column in ("equal means", "one task"):
        assert column in row
        assert f'"{column}" only' in text
