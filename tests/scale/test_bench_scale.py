"""The measurements of scale run, and say what they measure; their figures are for the command to print."""

import json

import pytest
from typer.testing import CliRunner

from stbmta import cli
from stbmta.benchmarks import scale

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
    text = runner.invoke(cli.app, ["bench-scale", "dask"]).stdout
    assert "25%" in text
    assert "yes" in text


def test_growth_is_fitted_and_failures_are_reported():
    from stbmta.cli_scale import _exponent

    assert _exponent([1, 2, 4], [1.0, 4.0, 16.0]) == "2.00"
    with pytest.raises(RuntimeError, match="linear_run .* failed"):
        scale._apart("linear_run", scale.LinearRun, -1, -1)
