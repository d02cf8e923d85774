"""The package as a whole: what an import loads, files on disk, the command line, the README."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import stbmta
from stbmta import cli, files, progress
from stbmta.validation import demo, heldout

ROOT = Path(__file__).parent.parent


def run_python(code, **more):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False, **more
    )


def test_import_loads_nothing_heavy():
    code = "import sys, stbmta; print([m for m in %r if m in sys.modules])"
    heavy = [
        "sklearn",
        "statsmodels",
        "pandas",
        "matplotlib",
        "dask",
        "polars",
        "rich",
        "typer",
        "scipy.linalg",
        "scipy.sparse",
        "scipy.spatial",
        "scipy.special",
        "scipy.stats",
        "stbmta.embedding",
        "stbmta.linear",
        "stbmta.tuning",
    ]
    assert run_python(code % heavy).stdout == "[]\n"


def test_lazy_names():
    assert "STB" in dir(stbmta)
    for name in stbmta.__all__:
        assert getattr(stbmta, name) is not None
    for module in (stbmta, stbmta.scale):
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            _ = module.nothing
    assert stbmta.scale.large.large_statistics is not None


READ_ONLY = """
import stbmta
from stbmta.jit import tiles
assert type(tiles.block_sums._cache).__name__ == "NullCache"
print(stbmta.bag_statistics(stbmta.Bags.from_list([[1.0, 2.0]]), stbmta.RBF(1.0)).gram)
"""


def test_no_cache_directory_is_not_an_error(tmp_path):
    """Numba refuses to cache when no locator finds a directory; the package then runs without."""
    code = (
        "import numba.core.caching as caching\n"
        "for kind in (caching.CacheImpl, caching.CompileResultCacheImpl):\n"
        "    kind._locator_classes = []\n" + READ_ONLY
    )
    done = run_python(code)
    assert "[[0.80326533]]" in done.stdout, done.stderr


LOST = """
import os, pathlib, shutil
import stbmta
folder = pathlib.Path(os.environ["NUMBA_CACHE_DIR"])
shutil.rmtree(folder)
folder.write_text("in the way")
print(stbmta.bag_statistics(stbmta.Bags.from_list([[1.0, 2.0]]), stbmta.RBF(1.0)).gram)
"""


def test_a_lost_cache_directory_is_not_an_error(tmp_path):
    done = run_python(LOST, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")})
    assert "[[0.80326533]]" in done.stdout, done.stderr


def test_compiled_code_is_as_old_as_its_folder(tmp_path):
    from stbmta.theory import _jit

    (tmp_path / "a.py").write_text("x = 1")
    before = _jit._stamp.__wrapped__(tmp_path)
    (tmp_path / "b.py").write_text("y = 1")
    assert _jit._stamp.__wrapped__(tmp_path) != before


def test_atomic_write(tmp_path):
    path = tmp_path / "x.txt"
    with files.atomic_write(path, "w") as file:
        file.write("old")
    with pytest.raises(RuntimeError, match="halfway"), files.atomic_write(path, "w") as file:
        file.write("new")
        raise RuntimeError("halfway")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError), files.atomic_write(tmp_path / "no" / "x.txt") as file:
        pass


def test_progress_only_on_a_terminal(monkeypatch, capsys):
    with progress.progress_bar("work", 2) as advance:
        advance()
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    with progress.progress_bar("work", 2) as advance:
        advance()
        time.sleep(0.4)
    out, err = capsys.readouterr()
    assert out == ""
    assert "work" in err


def test_work_is_announced_only_when_it_takes_long(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress.working("thinking"):
        pass
    assert "thinking" not in capsys.readouterr().err
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    with progress.working("thinking"):
        time.sleep(0.4)
    out, err = capsys.readouterr()
    assert "thinking" in err
    assert out == ""


runner = CliRunner()


def test_demo_writes_a_table_and_a_picture(tmp_path):
    out = tmp_path / "d.png"
    done = runner.invoke(cli.app, ["demo", "--trials", "2", "--out", str(out)])
    assert done.exit_code == 0, done.output
    for name in heldout.methods("linear", 0, beyond=True):
        assert name in done.output
    assert out.read_bytes().startswith(b"\x89PNG")


def test_demo_json_is_json_alone(tmp_path):
    done = runner.invoke(
        cli.app, ["demo", "--trials", "2", "--dataset", "digits", "--json", "--out", str(tmp_path / "d.png")]
    )
    found = json.loads(done.stdout)
    assert found["means"]["NE"]["ratio"] == 1.0
    # Eight blocks of each digit: neighbor averaging must help a lot here.
    assert found["means"]["STB weight"]["ratio"] < 0.6


def test_all_demo_data_load():
    for load, bag_size, *_ in demo.DATASETS.values():
        groups = load()
        assert groups.sizes.min() >= bag_size
        assert len(groups) > 10
    assert len(stbmta.datasets.load_digits_blocks(None)) == 10
    with pytest.raises(ValueError, match="blocks of 100 are too many"):
        stbmta.datasets.load_digits_blocks(8, 100)


def test_standard_errors_of_ratios():
    naive, other = np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.0, 2.0])
    found = heldout.HeldOut(errors={"NE": naive, "x": other}, bag_size=1, n_bags=1, kernel=stbmta.Linear())
    ratio, error = found.ratio("x")
    assert ratio == pytest.approx(3.5 / 6)
    rest = other - ratio * naive
    assert error == pytest.approx(np.std(rest, ddof=1) / np.sqrt(3) / 2)
    assert found.ratio("NE") == (1.0, 0.0)


def test_info_and_warmup():
    facts = json.loads(runner.invoke(cli.app, ["info", "--json"]).stdout)
    assert facts["stbmta"] == stbmta.__version__
    assert facts["threads"] >= 1
    assert "numba" in runner.invoke(cli.app, ["info"]).stdout
    assert runner.invoke(cli.app, ["warmup"]).stdout.startswith("compiled in")


ENTRIES = """
import importlib, pkgutil
import stbmta.jit
from numba.core.dispatcher import Dispatcher
from stbmta.warmup import warmup

assert warmup() > 0
for module in pkgutil.iter_modules(stbmta.jit.__path__, "stbmta.jit."):
    loaded = importlib.import_module(module.name)
    for name in getattr(loaded, "__all__", ()):
        function = getattr(loaded, name)
        if isinstance(function, Dispatcher):
            print(name, len(function.signatures))
"""


def test_warmup_compiles_everything():
    lines = run_python(ENTRIES).stdout.split("\n")[:-1]
    assert len(lines) >= 15
    assert [line for line in lines if line.endswith(" 0")] == []


def test_errors_end_with_a_message_and_code_2(monkeypatch, capsys):
    for arguments, message in (
        (["demo", "--dataset", "nope"], "stbmta: there is no data set 'nope'"),
        (["demo", "--trials", "2", "--out", "/no/such/folder/x.png"], "there is no folder '/no/such/folder'"),
    ):
        monkeypatch.setattr(sys, "argv", ["stbmta", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert stop.value.code == 2
        assert message in capsys.readouterr().err


def test_version_is_the_same_everywhere():
    assert f'version = "{stbmta.__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert f"version: {stbmta.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {stbmta.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_ci_runs_the_command_of_the_readme():
    script = (ROOT / ".ci" / "run").read_text()
    assert "README.md" in script
    commands = re.findall(r"```sh\n(.+?)\n```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert any("pytest" in command for command in commands)
    assert any("stbmta demo" in command for command in commands)


def test_exp2_coefficients_are_those_of_the_script():
    import importlib.util

    from stbmta.jit.vector import EXP2_COEFFICIENTS

    spec = importlib.util.spec_from_file_location("script", ROOT / "tools" / "exp2_coefficients.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    f = np.linspace(-0.5, 0.5, 1001)
    for dtype, degree, error in ((np.float64, 10, 8e-16), (np.float32, 6, 6e-9)):
        coefficients = EXP2_COEFFICIENTS[np.dtype(dtype)]
        np.testing.assert_allclose(coefficients, script.exp2_coefficients(degree), rtol=1e-15)
        np.testing.assert_allclose(np.polynomial.Polynomial(coefficients)(f), 2.0**f, rtol=error)
