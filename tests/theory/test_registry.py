"""The registry knows every label of the paper, and every function that it names exists."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from stbmta import theory

# All labels of the paper's LaTeX source.
LABELS = (Path(__file__).parent / "labels.txt").read_text().split()

THEORY = Path(theory.__file__).parent
WITHOUT_FUNCTION = {"definition", "section", "elsewhere"}


def test_no_label_is_missing_and_none_is_invented():
    assert len(LABELS) == len(set(LABELS)) == 66
    assert {s.label for s in theory.statements()} == {*LABELS, "beyond"}


@pytest.mark.parametrize("statement", list(theory.statements()), ids=lambda s: f"{s.label}-{s.function}")
def test_every_statement_resolves(statement):
    assert statement.title
    found = statement.resolve()
    if statement.status in WITHOUT_FUNCTION:
        assert found is None or statement.status == "elsewhere"
        return
    assert found.__doc__
    if statement.label == "beyond":
        assert statement.status in ("exact", "sharper")
    else:
        assert statement.status in ("as printed", "corrected")
        # the function names the label, so that one is found from the other
        if not statement.label.startswith(("sec:", "eq:neighborsA", "eq:devlopv2")):
            assert statement.label in source_of(found), statement
    if statement.status == "corrected":
        assert "printed : bool, default False" in found.__doc__


def source_of(function):
    """Docstring of the function and of its module."""
    return function.__doc__ + (sys.modules[function.__module__].__doc__ or "")


def test_the_registry_is_a_result_like_the_others():
    registry = theory.statements()
    assert len(registry) == len(list(registry)) == len(registry.to_frame())
    assert registry[0].label == "eq:mainmodel"
    assert list(registry.to_frame().columns) == ["label", "status", "function", "title", "erratum", "note"]
    assert "th:onesample               corrected   E1       theorems.compatible" in registry.summary()
    assert [s.erratum for s in registry.labeled("th:onesample")] == ["", "", "E1"]


def test_modules_load_when_used():
    assert "gaussian" in dir(theory)
    for name in theory.__all__:
        assert getattr(theory, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = theory.nothing


def test_theory_imports_numpy_scipy_and_numba_and_nothing_of_ours():
    """At the top of its modules; pandas loads only inside to_frame."""
    allowed = {"numpy", "scipy", "numba", *sys.stdlib_module_names}
    for path in THEORY.glob("*.py"):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                assert not isinstance(node, ast.ImportFrom) or node.level == 1, path
                continue
            for name in names:
                assert name.split(".")[0] in allowed | {"pandas"}, (path, name)


def test_importing_all_of_theory_loads_nothing_heavy():
    code = (
        "import sys; from stbmta import theory; [getattr(theory, m) for m in theory.__all__]; "
        "print([m for m in ('pandas', 'statsmodels', 'sklearn', 'matplotlib', 'scipy.stats') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
