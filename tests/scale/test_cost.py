"""What work will cost: operations, time and memory, before anything runs."""

import json
import tracemalloc

import numpy as np
import pytest
from typer.testing import CliRunner

from stbmta import (
    STB,
    cli,
)
from stbmta.scale import cost
from stbmta.scale.stream import BagStream


def test_costs_count_what_they_should():
    rates = cost.Rates(rows=1.0, kernel=1.0, fourier=1.0, compare=1.0, average=1.0, disk=1.0, network=1.0)
    job = cost.Job(kind="kernel", n_bags=10, n_points=100, dim=5)
    assert cost.plan_compute(job, threads=2, rates=rates).seconds == 100 * 101 / 2 * (15 + 5) / 2
    job = cost.Job(kind="linear", n_bags=10, n_points=100, dim=5, neighbors=3)
    plan = cost.plan_compute(job, threads=1, rates=rates)
    assert [p.operations for p in plan.phases] == [4000, 500, 500, 150]
    job = cost.Job(kind="features", n_bags=10, n_points=100, dim=5, n_features=64, neighbors=3)
    plan = cost.plan_compute(job, threads=1, rates=rates)
    assert [p.operations for p in plan.phases] == [4000, 100 * 32 * (24 + 5), 6400, 1920]
    assert plan.tasks == 0
    kernel = cost.Job(kind="kernel", n_bags=10, n_points=10**6, dim=5)
    many = cost.plan_compute(kernel, threads=1, workers=5, rates=rates)
    # 50 blocks of 20,000 points, or 67 of three quarters of that; one part is read, sorted and looked at
    assert many.tasks == 67 * 68 // 2 + 3 + 4 * 67
    assert many.moved == 7 * 8 * 5e6 + 8 * 100
    assert many.memory == 4 * 8 * 5e6 + 32 * 100
    many = cost.plan_compute(job, threads=1, workers=5, rates=rates)
    assert many.tasks == 2  # one part to read, one block to compare
    assert many.moved == (1.5 * 5 + 2) * 10 * 64 * 8
    assert many.worker_memory == 1.5 * 10 * 64 * 8 + 2**30  # a block of means, and its panels
    assert many.phases[-1].name == "moving"
    assert "5 machines of 1 cores" in many.summary()
    with pytest.raises(ValueError, match="kind must be"):
        cost.plan_compute(cost.Job(kind="other", n_bags=1, n_points=1, dim=1))


def test_times_are_written_in_words():
    assert [cost._time(s) for s in (3.0, 300.0, 8000.0, 1e6)] == ["3 s", "5 min", "2.22 h", "11.6 days"]


def test_rates_can_be_measured():
    rates = cost.measure_rates()
    assert min(rates.rows, rates.kernel, rates.fourier, rates.compare, rates.average) > 1e5


def test_the_command_prints_the_plan():
    runner = CliRunner()
    done = runner.invoke(cli.app, ["plan-compute", "--bags", "1e5", "--dim", "1000", "--workers", "4"])
    assert done.exit_code == 0, done.output
    for word in (
        "Means (linear kernel)",
        "comparing means",
        "kernel values",
        "Fourier features",
        "between machines",
    ):
        assert word in done.output
    found = json.loads(
        runner.invoke(cli.app, ["plan-compute", "-B", "10", "-d", "2", "--kind", "kernel", "--json"]).stdout
    )
    assert [plan["job"]["kind"] for plan in found] == ["kernel"]
    assert found[0]["job"]["n_points"] == 200
    for wrong in (
        ["--bags", "0", "--dim", "3"],
        ["--bags", "10", "--dim", "3", "--points", "5"],
        ["--bags", "inf", "--dim", "3"],
        ["--bags", "1e300", "--dim", "1e300"],
        ["--bags", "10", "--dim", "nan"],
        ["--bags", "10", "--dim", "3", "--points", "inf"],
    ):
        done = runner.invoke(cli.app, ["plan-compute", *wrong])
        assert done.exit_code == 2
        assert "must be a number from" in done.output
    assert runner.invoke(cli.app, ["plan-compute", "--bags", "1e30", "--dim", "1e30"]).exit_code == 2
    assert (
        runner.invoke(
            cli.app, ["plan-compute", "--bags", "1e28", "--dim", "1e30", "--workers", "9"]
        ).exit_code
        == 0
    )


@pytest.mark.slow_without_jit
def test_the_memory_of_the_plan_is_that_of_the_work(rng):
    """Of an estimate from a stream, beyond the blocks that are read."""
    n_bags, dim = 3000, 200
    X, groups = rng.normal(size=(2 * n_bags, dim)), np.arange(2 * n_bags) % n_bags
    stream = BagStream.from_arrays(X, groups, rows=100)
    est = STB(zeta=1.0, gamma=0.1, n_threads=1).fit(stream)
    tracemalloc.start()
    est.fit(stream)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    job = cost.Job(kind="linear", n_bags=n_bags, n_points=2 * n_bags, dim=dim)
    assert 0.8 < peak / cost.plan_compute(job).memory < 1.2
