"""The command: verdicts, files, interruption, exit codes and the page."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from stbmta import cli
from stbmta.validation import report_html
from stbmta.validation.catalog import find
from stbmta.validation.errata import errata
from stbmta.validation.mutation_list import MUTATIONS
from stbmta.validation.mutations import applied, mutate
from stbmta.validation.run import validate

runner = CliRunner()
SOME = ["--check", "theorem-1-random", "--check", "exact-tau-", "--check", "exact-norm"]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def invoke(*arguments):
    return runner.invoke(cli.app, ["validate", *map(str, arguments)])


def contents(folder):
    return {
        str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*.*")) if f.suffix != ".html"
    }


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A whole quick run, in this process so that its lines count as covered."""
    folder = tmp_path_factory.mktemp("quick") / "out"
    return folder, invoke("--quick", "--jobs", 1, "--out", folder)


def test_a_quick_run_finds_every_statement_true_and_every_erratum(quick):
    folder, done = quick
    assert done.exit_code == 0, done.output
    results = json.loads((folder / "results.json").read_text())
    statuses = {check["id"]: check["status"] for check in results["checks"]}
    assert {check["id"] for check in results["checks"] if check["erratum"]} == {
        name for name, status in statuses.items() if status == "known erratum"
    }
    assert set(statuses.values()) == {"holds", "known erratum"}
    assert len(results["exploration"]) == 8
    errata = sum(status == "known erratum" for status in statuses.values())
    assert f"{errata} known erratum" in done.output


def test_tight_statements_are_tight(quick):
    results = json.loads((quick[0] / "results.json").read_text())
    tight = {
        check["id"]: max(r["tightness"] for r in check["regimes"] if r["tightness"] is not None)
        for check in results["checks"]
    }
    for name in ("theorem-1-attained", "sharp-attained", "gram-frobenius-attained", "theorem-2-aligned"):
        assert 0.98 < tight[name] <= 1 + 1e-9
    assert 0.4 < tight["needed-q-sigma"] < 0.5  # less than half of the printed constants is needed
    assert 0.9 < tight["needed-bousquet-upper"] <= 1
    assert tight["gaussian-B"] > 1e-6  # the printed constant has little room near d = 1e4


def test_regimes_that_say_nothing_are_marked(quick):
    results = json.loads((quick[0] / "results.json").read_text())
    vacuous = {c["id"] for c in results["checks"] if any(r["vacuous"] for r in c["regimes"])}
    assert "theorem-2-individual" in vacuous
    useful = {c["id"] for c in results["checks"] if not all(r["vacuous"] for r in c["regimes"])}
    assert {"theorem-1-individual", "theorem-2-individual", "theorem-2-average"} <= useful


def test_broken_assumptions_show(quick):
    rows = {r["name"]: r for r in json.loads((quick[0] / "results.json").read_text())["exploration"]}
    assert rows["as assumed"]["false_positives"][1] <= 0.2
    assert rows["as assumed"]["bound_ratio"] <= 1
    assert rows["correlated"]["false_positives"][1] > 0.2
    assert rows["unequal sizes"]["bound_ratio"] > 1


def test_the_number_of_processes_does_not_matter(quick, tmp_path):
    done = invoke("--quick", *SOME, "--jobs", 2, "--out", tmp_path / "two")
    assert done.exit_code == 0, done.output
    parts = contents(tmp_path / "two" / "parts")
    assert len(parts) > 5
    assert parts.items() <= contents(quick[0] / "parts").items()


def command(folder, *more):
    arguments = ["validate", "--quick", *SOME, "--jobs", "2", "--out", str(folder), *more]
    code = "from stbmta.cli import main; main()"
    return subprocess.Popen([sys.executable, "-c", code, *arguments], stderr=subprocess.PIPE, text=True)


def wait_for_parts(folder, process, count):
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        if len(list((folder / "parts").glob("*.npz"))) >= count:
            return
        time.sleep(0.01)
    raise AssertionError("the run ended before it could be interrupted")


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "ctrl-c"])
def test_an_interrupted_run_goes_on_to_the_same_bytes(quick, tmp_path, how):
    folder = tmp_path / "out"
    process = command(folder)
    wait_for_parts(folder, process, 2)
    process.send_signal(how)
    _, message = process.communicate(timeout=60)
    assert process.returncode == (-signal.SIGKILL if how == signal.SIGKILL else 130)
    if how == signal.SIGINT:
        assert "go on with --resume" in message
    before = contents(folder / "parts")
    assert "results.json" not in contents(folder)
    assert before.items() <= contents(quick[0] / "parts").items()  # what is there is whole
    again = invoke("--quick", *SOME, "--jobs", 1, "--out", folder)
    assert again.exit_code == 2  # a folder with results is not overwritten by chance
    assert "--resume" in again.output
    assert invoke("--quick", *SOME, "--jobs", 1, "--resume", "--out", folder).exit_code == 0
    invoke("--quick", *SOME, "--jobs", 1, "--out", tmp_path / "straight")
    assert contents(folder) == contents(tmp_path / "straight")


def shown(report):
    return report.to_dict()["checks"]


def test_a_later_run_in_the_folder_keeps_what_it_shows(tmp_path):
    first = validate(tmp_path, scale="quick", only=["theorem-1-star"], jobs=1)
    both = validate(tmp_path, scale="quick", only=["rough"], jobs=1, resume=True)
    assert [check.id for check in both.checks] == ["rough", "theorem-1-star"]
    assert shown(both)[1:] == shown(first)
    next((tmp_path / "parts").glob("rough*")).unlink()  # no longer whole
    star = validate(tmp_path, scale="quick", only=["theorem-1-star"], jobs=1, resume=True)
    assert shown(star) == shown(first)


def test_an_erratum_that_does_not_show_ends_with_exit_code_one(tmp_path, monkeypatch):
    hidden = replace(
        find("gaussian-scale-printed"),
        measure=find("gaussian-scale").measure,
        regimes=find("gaussian-scale").regimes,
    )
    for module in ("catalog", "run"):
        monkeypatch.setattr(f"stbmta.validation.{module}.CHECKS", (hidden, find("exact-norm")))
    done = invoke("--quick", "--check", hidden.id, "--jobs", 1, "--out", tmp_path / "out")
    assert done.exit_code == 1
    assert "1 erratum not seen" in done.output
    assert "1 known errata did not show" in (tmp_path / "out" / "report.html").read_text()


def test_a_killed_worker_has_an_exit_code_of_its_own(tmp_path, monkeypatch):
    def killed(*args, **kwargs):
        raise ChildProcessError("a worker process was killed")

    monkeypatch.setattr("stbmta.validation.run.run_parts", killed)
    done = invoke("--quick", "--check", "rough", "--out", tmp_path / "out")
    assert done.exit_code == 3
    assert "a worker process was killed" in done.output


def test_the_package_exports_validate():
    from stbmta import validation

    assert validation.validate is validate
    with pytest.raises(AttributeError, match="no attribute 'valdiate'"):
        _ = validation.valdiate


def test_a_violated_statement_ends_with_exit_code_one(tmp_path):
    with applied(next(m for m in MUTATIONS if m.id == "bound-half")):
        done = invoke("--quick", "--check", "theorem-1-attained", "--jobs", 1, "--out", tmp_path / "out")
    assert done.exit_code == 1
    assert "violated: individual bound" in done.output
    assert "tau = 0.001: 2, claimed between 1 and 1" in done.output
    page = (tmp_path / "out" / "report.html").read_text()
    assert "1 of 1 statements are violated" in page


def test_seeds_give_other_draws_and_the_same_verdicts(tmp_path):
    reports = [
        validate(tmp_path / str(seed), scale="quick", seed=seed, only=["exact-inner"], jobs=1)
        for seed in (1, 2)
    ]
    counts = [[o.finding.count for o in report.outcomes] for report in reports]
    assert counts[0] != counts[1]
    assert all(not report.violated for report in reports)
    frame = reports[0].to_frame()
    assert list(frame["regime"]) == ["8 bags, d = 5e1", "20 bags, d = 1e5", "30 bags, d = 1e8"]


def test_json_is_alone_on_standard_output(tmp_path):
    done = invoke("--quick", "--check", "rough", "--jobs", 1, "--json", "--out", tmp_path / "a")
    data = json.loads(done.stdout)
    assert data["checks"][0]["id"] == "rough"
    assert data == json.loads((tmp_path / "a" / "results.json").read_text())
    assert len(json.loads(invoke("--list", "--json").stdout)) > 100
    assert "theorem-1-star" in invoke("--list").stdout


def test_verbose_shows_every_check(tmp_path):
    done = invoke("--quick", "--check", "theorem-1-star", "--verbose", "--jobs", 1, "--out", tmp_path / "a")
    assert "theorem-1-star" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--quick", "--full"], "not both"),
        (["--quick", "--check", "nonsense"], "no check 'nonsense'"),
        (["--quick", "--check", ""], "no check ''"),
        (["--mutate", "--check", "rough"], "Give one of them"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_two(tmp_path, arguments, message):
    done = invoke(*arguments, "--out", tmp_path / "x")
    assert done.exit_code == 2
    assert message in done.output


def test_a_folder_belongs_to_one_seed(tmp_path):
    invoke("--quick", "--check", "rough", "--jobs", 1, "--out", tmp_path / "a")
    done = invoke(
        "--quick", "--check", "rough", "--seed", 1, "--resume", "--jobs", 1, "--out", tmp_path / "a"
    )
    assert done.exit_code == 2
    assert "seed differ" in done.output


FEW = ["rough-no-variance", "level-no-union", "total-7", "gram-8"]


def test_the_mutation_report_says_what_caught_what(tmp_path, monkeypatch):
    report = mutate(tmp_path / "m", only=FEW, jobs=1)
    assert report.good
    rows = report.to_frame().set_index("id")
    assert rows.loc["rough-no-variance", "caught_by"] == ["rough", "algebra-theorems-rough-bound"]
    assert rows.loc["level-no-union", "status"] == "caught by algebra"
    assert rows.loc["total-7", "status"] == "true, caught by algebra"
    assert "algebra-bounded-total-error" in rows.loc["total-7", "caught_by"]
    assert report.summary() == "4 mutations: 2 caught; 1 caught by algebra; 1 true, caught by algebra"
    with pytest.raises(ValueError, match="there is no mutation 'x'"):
        mutate(tmp_path / "m", only=["x"], resume=True)

    chosen = tuple(m for m in MUTATIONS if m.id in FEW)
    monkeypatch.setattr("stbmta.validation.mutations.MUTATIONS", chosen)
    monkeypatch.setenv("COLUMNS", "300")
    done = invoke("--mutate", "--jobs", 1, "--out", tmp_path / "n")
    assert done.exit_code == 0, done.output
    assert "4 mutations" in done.stdout
    assert "true, so nothing can refute it; differs from the formula: kernel-parts" in done.stdout
    page = (tmp_path / "n" / "report.html").read_text()
    for text in (
        "<h1>Deliberately wrong formulas</h1>",
        "All were caught.",
        "Seed 0, stbmta",
        "nothing can refute it",
    ):
        assert text in page
    data = json.loads(invoke("--mutate", "--jobs", 1, "--resume", "--json", "--out", tmp_path / "n").stdout)
    assert len(data["mutations"]) == 4


def test_the_page_needs_nothing_else_and_tells_all(quick):
    page = (quick[0] / "report.html").read_text()
    assert 'src="http' not in page
    assert 'href="http' not in page
    for text in (
        "No statement is violated",
        "Known errata",
        "All checks",
        "theorem-1-individual",
        "eq:rough",
    ):
        assert text in page
    assert page.count("data:image/png;base64,") >= 10


def test_the_page_lists_every_erratum(quick):
    page = (quick[0] / "report.html").read_text()
    section = page[page.index('id="errata"') : page.index('id="exploration"')]
    for erratum in errata():
        assert f"<td>{erratum.number}</td>" in section
        assert all(f"<code>{name}</code>" in section for name in (*erratum.refuted_by, *erratum.see))
    assert "One erratum reaches a theorem: E1" in section
    assert "E2, E3, E8" in quick[1].output


def test_the_text_about_the_gaussian_figure_follows_the_results(quick):
    checks = {c["id"]: c for c in json.loads((quick[0] / "results.json").read_text())["checks"]}
    printed = [checks[f"gaussian-{event}"] for event in ("A", "B", "C", "Cprime")]
    assert "gaussian-B</code> at d = 1e4 comes closest" in report_html._closest(printed)
    nearer = [*printed, {"id": "x", "regimes": [{"tightness": 0.5, "regime": "d = 7", "vacuous": False}]}]
    assert "x</code> at d = 7 comes closest, with 0.5" in report_html._closest(nearer)
    hidden = [*printed, {"id": "x", "regimes": [{"tightness": 0.5, "regime": "d = 7", "vacuous": True}]}]
    assert "gaussian-B" in report_html._closest(hidden)


def test_a_page_of_a_single_check(tmp_path):
    validate(tmp_path / "a", scale="quick", only=["rough"], jobs=1)
    page = report_html.write(tmp_path / "a").read_text()
    assert "None among the checks of this run" in page


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_the_page_opens_in_a_browser(quick, tmp_path):
    flags = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    )
    flags += " --disable-component-update --disable-sync --hide-scrollbars --window-size=1100,3000"
    page = (quick[0] / "report.html").resolve().as_uri()
    picture = tmp_path / "page.png"
    common = [CHROMIUM, *flags.split(), f"--user-data-dir={tmp_path / 'profile'}"]
    subprocess.run([*common, f"--screenshot={picture}", page], check=True, capture_output=True, timeout=120)
    from matplotlib.image import imread

    pixels = imread(picture)[..., :3]
    assert pixels.shape[:2] == (3000, 1100)
    blue = np.abs(pixels - np.array([0, 0x72, 0xB2]) / 255).max(axis=2) < 0.02
    assert blue.sum() > 1000  # the figures are there, not only the words
    assert (pixels[2000:].std(axis=(0, 1)) > 0.05).all()
    dom = subprocess.run(
        [*common, "--dump-dom", page], check=True, capture_output=True, timeout=120, text=True
    )
    assert dom.stdout.count("<h2") >= 5
    assert Path(picture).stat().st_size > 50_000
