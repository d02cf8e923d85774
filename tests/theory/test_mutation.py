"""The command that changes every constant of theory/: what it changes, what it reports, and a real sample."""

import ast
import importlib.util
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "mutate_theory.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("mutate_theory", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutate_theory"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["mutate_theory"]


@pytest.fixture(scope="module")
def everything(tool):
    return [c for path in tool.THEORY.glob("*.py") for c in tool.constants(path.stem)]


def test_the_constants_of_the_paper_are_among_them(everything):
    for module, value, code in (
        ("gaussian", 1000.0, "C: ArrayLike = 1000.0"),
        ("gaussian", 4, "4 * np.sqrt(delta("),
        ("gaussian", 3, "check.tau(tau) / 3"),
        ("bounded", 144, "144 * tau_min("),
        ("bounded", 14, "np.log(14)"),
        ("bounded", 5.0, "constant: ArrayLike = 5.0"),
        ("bounded", 7, "check.tau(tau) / 7"),
        ("bounded", 48, "check.tau(tau) / 48"),
        ("_bounded_pairs", 20.0, "constant: ArrayLike = 20.0"),
        ("_bounded_pairs", 11, "11 * deviation**2"),
        ("_bounded_pairs", 32, "32 * deviation**2"),
        ("theorems", 2, "return 2 * (tau + (tau + 1 / neighbors) / (1 + tau))"),
    ):
        found = [c for c in everything if c.module == module and c.value == value and code in c.code]
        assert found, code
    assert len(everything) > 900


def test_changes_are_slight_in_formulas_and_one_more_elsewhere(tool):
    def changed(code):
        tree = ast.parse(code)
        found = []

        def visit(node, ancestors):
            if tool.is_number(node):
                found.append(tool.changes(node.value, ancestors))
            for child in ast.iter_child_nodes(node):
                visit(child, (*ancestors, node))

        visit(tree, ())
        return found

    assert changed("2 * x") == [(2.02, 3)]
    assert changed("x + 0") == [(0.01, 1)]
    assert changed("f(0.5)") == [(0.505,)]
    assert changed("x[1 + i]") == [(2,)]
    assert changed("x.sum(axis=0)") == [(1,)]
    assert changed("n // 4 * 4") == [(5,), (4.04, 5)]
    assert changed("f(3)") == [(4,)]


def test_exemptions_are_few_explained_and_current(tool, everything):
    exempt = tool.exemptions()
    assert tool.stale(exempt, everything) == []
    assert all(len(entry["reason"]) > 15 for entry in exempt)
    explained = [c for c in everything if tool.reason_for(c, exempt)]
    assert len(explained) < 0.12 * len(everything)
    # nothing of the paper is exempt
    paper = {"gaussian", "bounded", "theorems", "concentration", "_talagrand", "_bounded_q", "_bounded_pairs"}
    paper |= {"_bounded_norms", "_gaussian_deviations", "errors", "events", "sharp", "traces"}
    assert not paper & {c.module for c in explained}


def test_every_module_has_tests(tool, everything):
    for module in {c.module for c in everything}:
        assert module in tool.TESTS
    for names in tool.TESTS.values():
        for name in names:
            assert (ROOT / "tests" / "theory" / f"test_{name}.py").exists(), name


def test_survivors_are_reported(tool, everything):
    row = {"module": "gaussian", "killed": True, "place": "theory/gaussian.py:1:1", "value": 3, "new": 3.03}
    row["code"] = "x / 3"
    text = tool.report([row, {**row, "killed": False}], [(everything[0], "because")])
    assert "Survived:\ntheory/gaussian.py:1:1  3 -> 3.03  x / 3" in text
    assert "because" in text
    assert "No mutant survived." in tool.report([row], [])


def test_only_work_counts_for_the_time_limit(tool):
    with tool.time_limit(0.05):
        time.sleep(0.2)
    with pytest.raises(TimeoutError), tool.time_limit(0.05):
        while True:
            pass


def test_an_unknown_module_is_refused(tool, capsys):
    with pytest.raises(SystemExit) as refused:
        tool.main(["nothing"])
    assert refused.value.code == 2
    assert "no module nothing in theory/" in capsys.readouterr().err


def test_a_sample_is_noticed_and_remembered(tmp_path):
    command = [
        sys.executable,
        str(SCRIPT),
        "bounded",
        "--sample",
        "2",
        "--results",
        str(tmp_path / "r.jsonl"),
        "--report",
        "report.txt",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No mutant survived." in done.stdout
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 2
    assert (tmp_path / "report.txt").read_text() == done.stdout
    again = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert again.stdout == done.stdout
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 2
