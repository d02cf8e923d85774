"""The measurements of scale run, and say what they measure; their figures are for the command to print."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from stbmta import cli
from stbmta.benchmarks import faults, scale

pytestmark = pytest.mark.slow_without_jit


def test_measurements_run_in_processes_of_their_own(monkeypatch):
    monkeypatch.setattr(
        scale, "linear_growth", lambda *_: [scale._apart("linear_run", scale.LinearRun, 2200, 16)] * 2
    )
    monkeypatch.setattr(
        scale,
        "feature_growth",
        lambda *_: [scale._apart("feature_run", scale.FeatureRun, 20_000, 200, 3, 64)] * 2,
    )
    monkeypatch.setattr(
        scale, "dask_overhead", lambda *_: [scale.DaskRun(workers=1, here=2.0, there=2.5, same_bits=True)]
    )
    runner = CliRunner()
    done = runner.invoke(cli.app, ["bench-scale", "--quick", "linear", "features", "--json"])
    found = json.loads(done.stdout)
    linear, features = found["linear"][0], found["features"][0]
    assert linear["error"] < 1
    assert linear["peak"] > 10**7
    assert linear["rate"] > 0
    assert 0 < features["stated"] < 2 * features["bound"]
    assert 0.3 < features["checked"] / features["stated"] < 3
    assert found["checks"] == []  # so little work decides nothing
    done = runner.invoke(cli.app, ["bench-scale", "dask"])
    for text in ("25%", "yes", "MISSED", "<= 0.2"):
        assert text in done.stdout
    assert done.exit_code == 1


LINEAR = {"dim": 10, "peak": 2**31, "rate": 60.0, "blas": 100.0, "error": 0.1}
FEATURES = {"n_bags": 10, "peak": 2**31, "stated": 1e-3, "checked": 1.2e-3, "bound": 3e-2}


@pytest.mark.parametrize(
    ("job", "change", "missed"),
    [
        ("linear", {}, []),
        ("linear", {"peak": 5 * 2**30}, ["peak memory, GiB"]),
        ("linear", {"rate": 40.0}, ["share of the rate of BLAS"]),
        ("linear", {"seconds": 100.0}, ["time grows as B to the power of"]),
        ("features", {}, []),
        ("features", {"seconds": 100.0}, ["time grows as n to the power of"]),
        ("features", {"checked": 2e-3}, ["error on other bags over the stated one"]),
        ("features", {"stated": 0.04, "checked": 0.04}, ["stated error over what theory allows"]),
        ("dask", {}, []),
        ("dask", {"there": 13.0}, ["overhead of 2 processes"]),
        ("dask", {"same_bits": False}, ["same bits on 2 processes (1: yes)"]),
        ("faults", {}, []),
        ("faults", {"good": False}, ["lost (1: as it should)"]),
    ],
)
def test_figures_that_must_be_reached_are_marked(job, change, missed, monkeypatch):
    if job == "linear":
        runs = [scale.LinearRun(n_bags=k, seconds=k**2 / 2, **LINEAR) for k in (1, 2, 4)]
    elif job == "features":
        runs = [scale.FeatureRun(n_points=k, seconds=3.0 * k, **FEATURES) for k in (1, 2, 4)]
    elif job == "dask":
        runs = [scale.DaskRun(workers=k, here=10.0, there=11.0, same_bits=True) for k in (1, 2)]
    else:
        runs = [scale.FaultRun(fault=fault, outcome="an error", good=True) for fault in ("killed", "lost")]
    runs[-1] = replace(runs[-1], **change)
    assert [check.name for check in scale.CHECKS[job](runs) if not check.passed] == missed
    growth = {
        "linear": "linear_growth",
        "features": "feature_growth",
        "dask": "dask_overhead",
        "faults": "faults",
    }[job]
    monkeypatch.setattr(scale, growth, lambda *_: runs)
    done = CliRunner().invoke(cli.app, ["bench-scale", job])
    assert done.exit_code == (1 if missed else 0)
    assert done.stdout.count("MISSED") == len(missed)
    assert CliRunner().invoke(cli.app, ["bench-scale", job, "--quick"]).exit_code == 0
    found = json.loads(CliRunner().invoke(cli.app, ["bench-scale", job, "--json"]).stdout)
    assert [check["name"] for check in found["checks"] if not check["passed"]] == missed


def test_a_fault_ends_as_it_says():
    pytest.importorskip("distributed", reason="dask is an extra")
    run = scale._apart("fault_run", scale.FaultRun, 3, 100_000)
    assert run.good
    assert "the connection to the Dask cluster was lost" in run.outcome


def test_a_job_that_ends_as_if_nothing_had_happened_is_no_good_end():
    assert not faults._refused("lost", ConnectionError, lambda: None).good


def test_failures_are_reported():
    with pytest.raises(RuntimeError, match="linear_run .* failed"):
        scale._apart("linear_run", scale.LinearRun, -1, -1)
