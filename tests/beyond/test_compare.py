"""The comparisons as a user runs them, at their smallest."""

import json

import pytest
from typer.testing import CliRunner

from stbmta import cli
from stbmta.validation.cases import CASES
from stbmta.validation.compare import cost, coverage, gaussian, real, toy
from stbmta.validation.compare.outcome import Check, Comparison


def test_a_check_can_fail():
    assert Check(name="a", found=1.0, standard_error=0.1, least=0.9).passed
    assert not Check(name="a", found=0.8, standard_error=0.1, least=0.9).passed
    assert not Check(name="a", found=1.0, standard_error=0.1, most=0.9).passed
    missed = Check(name="a", found=2.0, standard_error=float("nan"), most=1.0)
    found = Comparison(title="t", table={"x": ["1"]}, checks=(missed,), seconds=0.0)
    assert not found.passed
    assert "MISSED" in found.summary()
    assert found.checks_frame()["passed"].tolist() == [False]


def test_small_comparisons(tmp_path):
    found = gaussian.run(tmp_path / "g", n_trials=2, n_bags=30, jobs=1)
    assert "Adaptive" in found.to_frame()["method"].tolist()
    found = toy.run(tmp_path / "t", n_trials=2, points=(("b", 10),), jobs=1)
    assert found.checks[0].most == 2.5
    assert found.checks[1].least == pytest.approx(48.99)
    found = toy.run(tmp_path / "a", n_trials=2, points=(("a", 300),), jobs=1)  # its reference is clipped
    oracle = found.table[toy.ORACLE][0].value
    assert found.checks[1].least == pytest.approx(oracle - 1)
    found = toy.run_sizes(tmp_path / "s", n_trials=2, jobs=1)
    assert {check.name: check.least for check in found.checks}["N = 300, gain"] == 24.3
    found = real.run(tmp_path / "r", datasets=["elnino"], n_trials=2, jobs=1)
    assert found.checks[0].most == 1.03
    with pytest.raises(ValueError, match="there is no data set 'moon'"):
        real.run(tmp_path / "m", datasets=["moon"])


def test_costs_have_limits_for_one_number_of_bags(monkeypatch):
    monkeypatch.setattr(cost, "_LIMITS_FOR", 2)
    seconds = iter([1.0, 3.0, 2.0, 9.0] * 3)
    monkeypatch.setattr(cost, "_best", lambda work, rounds: next(seconds))
    found = cost.run(n_bags=2)
    assert [check.most for check in found.checks] == [3.0, 10.0] * 3
    assert [check.found for check in found.checks] == [2.0, 2.0] * 3
    assert not found.notes


def test_data_that_cannot_be_loaded_are_named(tmp_path, monkeypatch):
    def absent():
        raise ModuleNotFoundError("no moon on this machine")

    monkeypatch.setitem(CASES, "moon", CASES["elnino"]._replace(load=absent))
    for name in set(CASES) - {"moon", "elnino"}:
        monkeypatch.delitem(CASES, name)
    found = real.run(tmp_path / "some", n_trials=2, jobs=1)
    assert found.summary().endswith("moon was left out: no moon on this machine")
    with pytest.raises(ModuleNotFoundError, match="moon was left out: no moon on this machine"):
        real.run(tmp_path / "named", datasets=["elnino", "moon"], n_trials=2)
    monkeypatch.delitem(CASES, "elnino")
    with pytest.raises(ModuleNotFoundError, match="moon was left out"):
        real.run(tmp_path / "none", n_trials=2)


def test_results_of_another_version_are_not_mixed(tmp_path, monkeypatch):
    coverage.run(tmp_path, n_trials=2, dim=50, jobs=1)
    monkeypatch.setattr(coverage, "__version__", "0.0.0")
    with pytest.raises(ValueError, match="version differ"):
        coverage.run(tmp_path, n_trials=2, dim=50, jobs=1, resume=True)


def test_coverage_notices_certificates_that_do_not_hold(tmp_path, monkeypatch):
    """The same comparison with bounds cut by a third must fail."""
    honest = coverage.certify

    def wrong(W, s, variance, alpha):
        found = honest(W, s, variance, alpha)
        return type(found)(
            bounds=found.bounds / 3, naive_error=found.naive_error, alpha=alpha, labels=found.labels
        )

    monkeypatch.setattr(coverage, "certify", wrong)
    assert not coverage.run(tmp_path, n_trials=10, dim=100, jobs=1).passed


def test_the_command_line(tmp_path):
    runner = CliRunner()
    out = tmp_path / "real"
    result = runner.invoke(
        cli.app,
        [
            "compare",
            "real",
            "--dataset",
            "elnino",
            "--trials",
            "2",
            "--out",
            str(out),
            "--jobs",
            "1",
            "--json",
        ],
    )
    content = json.loads(result.stdout)
    naive = content["rows"][0]
    assert {type(naive["R-KMSE"]), type(naive["R-KMSE, standard error"])} == {float}
    assert result.exit_code == (0 if content["passed"] else 1)
    assert len(content["checks"]) == 2
    assert (out / "checks.csv").exists()
    result = runner.invoke(cli.app, ["compare", "cost", "--bags", "2", "--rounds", "1"])
    assert result.exit_code == 0, "the limits are for 2000 bags"
    assert "(choosing - plain) / plain" in result.stdout
    assert "Adaptive / plain" in result.stdout


@pytest.mark.parametrize(
    ("what", "function"),
    [
        ("gaussian", "gaussian.run"),
        ("toy", "toy.run"),
        ("sizes", "toy.run_sizes"),
        ("certificates", "coverage.run"),
    ],
)
def test_commands_pass_on_their_options_and_say_how_to_go_on(what, function, tmp_path, monkeypatch):
    asked = {}

    def run(folder, **options):
        asked.update(options)
        if options["seed"] == 1:
            raise KeyboardInterrupt
        folder.mkdir()
        check = Check(name="a", found=0.0, standard_error=0.0, least=float(options["seed"]))
        return Comparison(title="t", table={"x": ["1"]}, checks=(check,), seconds=1.0)

    monkeypatch.setattr(f"stbmta.validation.compare.{function}", run)
    runner = CliRunner()
    call = ["compare", what, "--out", str(tmp_path / "o"), "--trials", "7", "--jobs", "1"]
    result = runner.invoke(cli.app, [*call, "--seed", "1"])
    assert result.exit_code == 130
    assert "go on with --resume" in result.stderr
    result = runner.invoke(cli.app, [*call, "--seed", "2"])
    assert result.exit_code == 1  # a check was missed
    assert asked["n_trials"] == 7
    assert "MISSED" in (tmp_path / "o" / "table.txt").read_text()
