"""The commands, as a new user would call them."""

import functools
import json
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from stbmta import cli, cli_reproduce
from stbmta.validation.cases import CASES
from stbmta.validation.reproduce import gaussian_table, real, toy
from stbmta.validation.reproduce.published import GAUSSIAN_METHODS, TOY_METHODS

from .test_aod import write

runner = CliRunner()


def call(*arguments):
    return runner.invoke(cli.app, ["reproduce", *map(str, arguments)])


@pytest.fixture
def small(monkeypatch):
    """The commands with fewer bags, points of figures and draws."""
    monkeypatch.setattr(gaussian_table, "run", functools.partial(gaussian_table.run, n_bags=30))
    monkeypatch.setattr(toy, "run", functools.partial(toy.run, settings=toy.SETTINGS[:2], n_trials=(1, 2)))
    monkeypatch.setattr(real, "run", functools.partial(real.run, n_trials=2))


def test_gaussian_table_prints_and_saves_the_same_with_any_number_of_processes(tmp_path, small):
    out = tmp_path / "g"
    done = call("gaussian-table", "--quick", "--out", out, "--jobs", 1)
    assert done.exit_code == 0, done.output
    for piece in (
        *GAUSSIAN_METHODS,
        "UNIF",
        "paper",
        "no oracle",
        "largest difference to the paper",
        "s of work",
    ):
        assert piece in done.stdout
    assert (out / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "largest difference" in (out / "table.txt").read_text()
    frame = pd.read_csv(out / "table.csv")
    assert list(frame.columns) == ["model", "row", *GAUSSIAN_METHODS]
    pair = call("gaussian-table", "--quick", "--out", tmp_path / "p", "--jobs", 2)
    assert pair.exit_code == 0, pair.output
    for name in ("table.csv", "table.txt", "figure.png"):
        assert (tmp_path / "p" / name).read_bytes() == (out / name).read_bytes(), name
    again = call("gaussian-table", "--quick", "--out", out, "--jobs", 1)
    assert again.exit_code == 2
    assert "go on with --resume" in again.stderr
    readings = call("gaussian-table", "--quick", "--readings", "--out", tmp_path / "r", "--jobs", 1)
    assert "CLUSTER, variance 0.1" in readings.stdout


def test_toy_json_is_json_alone(tmp_path, small):
    done = call("toy", "--quick", "--out", tmp_path / "t", "--jobs", 1, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert {row["method"] for row in found["rows"]} >= set(TOY_METHODS)
    assert found["rows"][0]["reference"] == 7.5
    assert str(found["rows"][0]["decrease"]) in (tmp_path / "t" / "table.csv").read_text()  # all digits
    assert found["seconds"] > 0
    resumed = call("toy", "--quick", "--out", tmp_path / "t", "--jobs", 1, "--resume")
    assert "12 compared" in resumed.stdout
    assert "this run took 0 s" in resumed.stdout


def test_aod_needs_its_file(tmp_path):
    missing = call("aod", "--data", tmp_path / "MISR1.mat", "--out", tmp_path / "a")
    assert missing.exit_code == 2
    assert "github.com/Han1Mar/stb_kme" in missing.stderr
    path = write(tmp_path / "MISR1.mat", n_bags=8, n_pixels=60)
    done = call("aod", "--data", path, "--quick", "--whole", "--out", tmp_path / "a", "--jobs", 1)
    assert done.exit_code == 0, done.output
    assert "22.73" in done.stdout
    assert list(pd.read_csv(tmp_path / "a" / "table.csv").columns)[:2] == ["method", "decrease"]


def test_real_takes_data_sets_by_name(tmp_path, small):
    done = call("real", "--quick", "--dataset", "elnino", "--out", tmp_path / "r", "--jobs", 1)
    assert done.exit_code == 0, done.output
    assert "12 x 10, 1" in done.stdout


def test_help_names_the_data_sets():
    text = " ".join(call("real", "--help").stdout.split())
    assert all(name in text for name in CASES)


def test_tables_fit_into_the_terminal(tmp_path, small, monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    cli_reproduce.gaussian_table(quick=True, out=tmp_path / "g", jobs=1)
    cli_reproduce.toy(quick=True, out=tmp_path / "t", jobs=1)
    printed = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("Saved in")]
    assert max(map(len, printed)) <= 80
    assert max(map(len, (tmp_path / "t" / "table.txt").read_text().splitlines())) > 100


def test_real_refuses_what_it_does_not_know(tmp_path):
    wrong = call("real", "--dataset", "weather", "--out", tmp_path / "s")
    assert wrong.exit_code == 2
    assert "no data set 'weather'" in wrong.stderr
    both = call("real", "--quick", "--full", "--out", tmp_path / "s")
    assert both.exit_code == 2
    assert "not both" in both.stderr


def test_an_interruption_says_how_to_go_on(tmp_path, monkeypatch):
    def interrupted(*arguments, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(toy, "run", interrupted)
    done = call("toy", "--out", tmp_path / "t")
    assert done.exit_code == 130
    assert "go on with --resume" in done.stderr


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
def test_workers_leave_when_the_command_is_killed(tmp_path):
    out = tmp_path / "t"
    code = "import sys; from stbmta.cli import main; sys.argv[1:] = %r; main()"
    arguments = ["reproduce", "toy", "--full", "--out", str(out), "--jobs", "2"]
    command = subprocess.Popen([sys.executable, "-c", code % arguments])
    try:
        for _ in range(600):
            if list(out.glob("parts/*.npz")):
                break
            assert command.poll() is None
            time.sleep(0.1)
        workers = children(command.pid)
        assert len(workers) >= 2
    finally:
        command.kill()
        command.wait()
    for _ in range(600):
        if not any(alive(worker) for worker in workers):
            break
        time.sleep(0.1)
    else:
        pytest.fail(f"{workers} are still at work")


def alive(pid):
    """Whether a process runs; one that has ended but was not collected by its new parent does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False
