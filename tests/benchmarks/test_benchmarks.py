"""The benchmark itself: contenders agree, figures are computed as they are said to be, the command answers."""

import json
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from stbmta import cli
from stbmta.benchmarks import accuracy, costs, growth, limits, peers, peers_linear, race, report, workloads
from stbmta.benchmarks.limits import Limits
from stbmta.benchmarks.race import OURS, SINGLE, Race
from stbmta.benchmarks.workloads import LinearWork, RBFWork

RATES = Limits(multiply_add=34, multiply_add_single=60, dgemm=1, sgemm=2, exp=3, numpy_exp=4)
TINY = RBFWork("W1", 12, 5, 3)
TINY_LINEAR = LinearWork("L2", 60, 30)

# Other people's packages may warn as they like.
others = pytest.mark.filterwarnings("ignore")


@others
@pytest.mark.parametrize("name", [name for name in peers.PEERS if name != "KeOps"])  # it calls a C++ compiler
def test_peers_of_job_r_agree(name):
    if name not in peers.available(peers.PEERS):
        pytest.skip("not installed")
    bags = TINY.bags()
    expected = peers.ours(bags, TINY.width, 1)
    np.testing.assert_allclose(peers.PEERS[name][0](bags, TINY.width, 1), expected, rtol=1e-12)
    if name in peers.SLOW:
        np.testing.assert_allclose(peers.SLOW[name](bags, 2, TINY.width), expected[:2], rtol=1e-12)
    np.testing.assert_allclose(peers.ours_single(bags, TINY.width, 1), expected, rtol=1e-6)


@others
@pytest.mark.parametrize("name", peers_linear.PEERS)
def test_peers_of_job_l_agree(name):
    if name not in peers.available(peers_linear.PEERS):
        pytest.skip("not installed")
    means = TINY_LINEAR.means()
    arguments = (means, TINY_LINEAR.threshold, 1)
    np.testing.assert_allclose(
        peers_linear.PEERS[name][0](*arguments), peers_linear.ours(*arguments), rtol=1e-9
    )


@pytest.mark.parametrize(("n_threads", "slow_pairs"), [(1, 1e9), (2, 500.0)])
def test_a_race(n_threads, slow_pairs, monkeypatch):
    monkeypatch.setattr(race, "_SLOW_PAIRS", slow_pairs)
    found = race.race(TINY, n_threads, RATES, rounds=1, only=["loop over pairs of bags", "scipy cdist"])
    assert list(found.seconds) == [OURS, "loop over pairs of bags", "scipy cdist"]
    assert max(found.disagreement.values()) < 1e-12
    assert found.rate == pytest.approx(TINY.pairs / found.seconds[OURS] / n_threads / 1e9)
    assert found.limit == 34 / 18
    assert found.multiply_add_limit == 34 / 13
    shown = found.to_dict()
    assert shown["ratio"][OURS] == 1.0
    assert shown["share_of_limit"] == pytest.approx(found.rate / found.limit)


def test_times_of_a_part_are_scaled_up():
    jobs, scale = race._job_r(RBFWork("W4", 100, 60, 2), 1)
    rows = len(jobs["loop over pairs of bags"]())
    assert rows == 13  # 100 * 5e6 / 1.8e7 / 2
    assert scale["loop over pairs of bags"] * rows == pytest.approx(101 / 2)


def test_job_l_is_raced_too():
    found = race.race(TINY_LINEAR, 1, RATES, rounds=1, only=["numpy in chunks"])
    assert list(found.seconds) == [OURS, "numpy in chunks"]
    assert found.limit == 2.0


def test_contenders_that_disagree_do_not_race():
    right = np.ones((2, 2))
    jobs = {OURS: lambda: right, "x": lambda: right * (1 + 1e-7)}
    with pytest.raises(RuntimeError, match="x disagrees with stbmta"):
        race._first_runs(jobs)
    found, failed = race._first_runs({OURS: lambda: right, SINGLE: lambda: right * (1 + 1e-7)})
    assert found[SINGLE] < 1.1e-7
    assert failed == {}
    with pytest.raises(RuntimeError, match="disagrees"):
        race._first_runs({OURS: lambda: right, "nan": lambda: right * np.nan})


def test_the_best_round_counts():
    times = iter([0.0, 5.0, 0.0, 3.0, 0.0, 4.0, 0.0, 9.0])
    found = race.interleaved({"a": lambda: None, "b": lambda: None}, 2, lambda: next(times))
    assert found == {"a": 4.0, "b": 3.0}


def test_limits():
    found = limits.measure(size=50, count=1000)
    assert all(rate > 0 for rate in found.to_dict().values())


def test_accuracy():
    found = accuracy.measure(4, 5)
    assert found.well_scaled < 1e-13
    assert found.hard < 1e-10
    assert 1e-10 < found.single < 1e-6


def test_growth_finds_the_exponent():
    law = growth.Growth(
        job=growth.LINEAR, over="d", fixed="", sizes=[1, 2, 4, 8], seconds=[9.0, 9.0, 3 * 4**1.5, 3 * 8**1.5]
    )
    assert law.fit() == pytest.approx((1.5, 3.0))
    found = growth.measure(2, 1)
    assert {(one.job, one.over) for one in found} == {
        *((growth.RBF_SUMS, over) for over in "BNd"),
        *((growth.LINEAR, over) for over in "Bd"),
    }
    assert all(one.to_dict()["exponent"] == one.fit()[0] for one in found)


def test_costs(monkeypatch):
    found = costs.threads(TINY, [2], 1)
    assert found.identical
    assert found.speedup(1) == 1.0
    assert found.to_dict()["speedup"][2] == found.seconds[1] / found.seconds[2]
    assert TINY_LINEAR.means().nbytes < costs.peak_memory(TINY_LINEAR) < 1e6
    after = costs.after_statistics(30, 3, 5)
    assert (after.n_zetas, after.n_gammas) == (31, 21)
    assert all(value >= 0 for value in after.to_dict().values())
    monkeypatch.setattr(costs, "_FRESH", dict.fromkeys(costs._FRESH, "sum(range(100_000))"))
    cold = costs.cold_start(1)
    assert cold.to_dict()["import_ratio"] == cold.import_stbmta / cold.import_numba


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ on Windows")
def test_the_delay_of_an_interrupt_is_found():
    assert 0 < costs.interrupt_delay(1, 200_000, (8,), (0.3,)) < 30
    with pytest.raises(RuntimeError, match="all work had ended before Ctrl-C was sent"):
        costs.interrupt_delay(1, 20, (8,), (0.3,))


def a_race(work, n_threads=1, **ratios):
    names = {
        "loop": "loop over pairs of bags",
        "scipy": "scipy cdist",
        "sklearn": "scikit-learn",
        "jax": "JAX",
        "torch": "torch, hand-tuned",
        "numpy": "numpy in chunks",
    }
    seconds = {OURS: 0.5, **{names[key]: 0.5 * ratio for key, ratio in ratios.items()}}
    return Race(
        work=work,
        n_threads=n_threads,
        seconds=seconds,
        disagreement={},
        failed={},
        rate=0.6,
        limit=1.0,
        multiply_add_limit=2.0,
    )


def test_absent_peers_are_named():
    def absent(*races):
        return report.Bench(machine={}, limits=RATES, races=list(races)).not_raced()

    assert absent(a_race("W1", loop=60, scipy=6, sklearn=5)) == ["JAX", "torch, hand-tuned"]
    assert absent(a_race("W1", loop=60, scipy=6, sklearn=5, jax=3, torch=2)) == []
    assert absent(a_race("L1", numpy=3)) == []


def test_promises_at_their_edges():
    """Each is kept exactly at its bound, and broken just beyond it."""
    least = {"loop": 60, "scipy": 6, "sklearn": 5, "jax": 3, "torch": 2}

    def verdicts(*races, **more):
        bench = report.Bench(machine={}, limits=RATES, races=list(races), **more)
        return [requirement.met for requirement in bench.requirements()]

    assert verdicts(a_race("W1", **least)) == [True] * 6
    assert verdicts(a_race("W1", 2, **least)) == [True] * 5
    for key in least:
        assert verdicts(a_race("W4", **{**least, key: least[key] * 0.999})).count(False) == 1
    assert verdicts(a_race("W3", torch=1.6)) == [True, True]
    assert verdicts(a_race("W3", torch=1.59)) == [False, True]
    assert verdicts(a_race("W5", sklearn=1.0), a_race("L2", numpy=2.5)) == [True, True]
    assert verdicts(a_race("W5", sklearn=0.99), a_race("L2", numpy=2.49)) == [False, False]
    for seconds, identical, expected in (
        ({1: 1.8, 2: 1.0}, True, [True, True]),
        ({1: 1.79, 2: 1.0}, False, [False, False]),
    ):
        threads = costs.Threads(work="W4", seconds=seconds, identical=identical)
        assert verdicts(threads=threads) == expected
    assert verdicts(interrupt_delay=1.0) == [True]
    assert verdicts(interrupt_delay=1.01) == [False]
    assert verdicts(memory={"L2": 1e9}) == [True]
    assert verdicts(memory={"L2": 1.01e9}) == [False]
    exact = accuracy.Accuracy(well_scaled=1e-13, hard=1e-10, single=1.0)
    assert verdicts(accuracy=exact) == [True, True]
    assert verdicts(accuracy=accuracy.Accuracy(well_scaled=1.1e-13, hard=1.1e-10, single=0.0)) == [
        False,
        False,
    ]
    cold = {"import_numba": 1.0, "numba_alone": 1.0, "import_sklearn": 0.0}
    assert (
        verdicts(
            cold_start=costs.ColdStart(import_stbmta=1.3, first_statistics=1.0, first_estimator=1.0, **cold)
        )
        == [True] * 3
    )
    assert (
        verdicts(
            cold_start=costs.ColdStart(
                import_stbmta=1.31, first_statistics=1.01, first_estimator=1.01, **cold
            )
        )
        == [False] * 3
    )
    for seconds, met in ((10.0, True), (10.1, False)):
        after = costs.AfterStatistics(
            n_bags=2000, n_zetas=31, n_gammas=21, grid=seconds, tuning=0, weights=0, error_and_gram=0
        )
        assert verdicts(after_statistics=after) == [met]


@pytest.fixture
def small(monkeypatch):
    """Workloads and costs small enough for a test, and only peers that come with the package."""
    known = {"W1": TINY, "W3": RBFWork("W3", 8, 4, 2), "L1": LinearWork("L1", 50, 10)}
    for module in (report, workloads):
        monkeypatch.setattr(module, "JOB_R", {name: known[name] for name in ("W1", "W3")} | {"W2": TINY})
        monkeypatch.setattr(module, "JOB_L", {"L1": known["L1"]})
    for module in (peers, peers_linear):
        plain = {n: p for n, p in module.PEERS.items() if p[1] in ("numpy", "scipy", "sklearn")}
        monkeypatch.setattr(module, "PEERS", plain)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    cached = "assert not sys.dont_write_bytecode; sum(range(100_000))"
    monkeypatch.setattr(costs, "_FRESH", dict.fromkeys(costs._FRESH, cached))
    monkeypatch.setattr(costs, "interrupt_delay", lambda n_threads, n_points: 0.1)
    monkeypatch.setattr(growth, "_doublings", lambda first, count: [2, 3, 4])
    real = costs.after_statistics
    monkeypatch.setattr(costs, "after_statistics", lambda n_bags: real(20, 3, 5))
    monkeypatch.setattr(limits.measure, "__defaults__", (40, 1000))


def test_the_command(small, tmp_path):
    out = tmp_path / "growth.png"
    run = CliRunner().invoke
    done = run(cli.app, ["bench", "--quick", "--threads", "1,2", "--out", str(out)])
    assert done.exit_code == 0, done.output
    for text in ("Rates of one core", "threads: 2", "scikit-learn", "exponent", "What the project promises"):
        assert text in done.output
    assert out.read_bytes().startswith(b"\x89PNG")
    out.unlink()
    done = run(cli.app, ["bench", "--work", "W1,L1", "--threads", "1", "--json", "--out", str(out)])
    found = json.loads(done.stdout)
    assert [one["work"] for one in found["races"]] == ["W1", "L1"]
    assert found["growth"] == []
    assert found["cold_start"] is None
    assert {one["name"] for one in found["requirements"]} >= {"W1, 1 thread: times scipy cdist"}
    assert not out.exists()


def test_json_stays_alone_when_a_peer_talks(small, monkeypatch):
    def chatty(bags, width, n_threads):
        print("compiling ...")
        return peers.ours(bags, width, n_threads)

    monkeypatch.setitem(peers.PEERS, "chatty", (chatty, "numpy"))
    done = CliRunner().invoke(cli.app, ["bench", "--work", "W1", "--threads", "1", "--json"])
    assert "chatty" in json.loads(done.stdout)["races"][0]["ratio"]
    assert "compiling ..." in done.stderr


def test_a_broken_peer_costs_the_others_nothing(small, monkeypatch):
    def broken(bags, width, n_threads):
        raise OSError("no compiler")

    monkeypatch.setitem(peers.PEERS, "JAX", (broken, "numpy"))
    done = CliRunner().invoke(cli.app, ["bench", "--work", "W1", "--threads", "1"])
    assert done.exit_code == 0
    assert "Installed, but does not run: JAX (OSError: no compiler)." in done.output
    assert "scipy cdist" in done.output
    assert "Not installed, so not raced: torch, hand-tuned." in done.output
    monkeypatch.setattr(peers, "ours_single", broken)  # ours has no excuse
    assert CliRunner().invoke(cli.app, ["bench", "--work", "W1", "--threads", "1"]).exit_code != 0


def test_the_command_refuses(small):
    for arguments, message in (
        (["--work", "W9"], "there is no workload 'W9'; choose from W1"),
        (["--threads", "0"], "--threads takes numbers of threads such as 1,2; found '0'"),
        (["--threads", "two"], "found 'two'"),
    ):
        done = CliRunner().invoke(cli.app, ["bench", *arguments])
        assert done.exit_code == 2
        assert message in done.stderr
