"""The documentation: examples run, everything public is there, docstrings are complete, links lead somewhere."""

import doctest
import importlib
import inspect
import sys
from pathlib import Path

import pytest

from stbmta import theory

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))
check_links = importlib.import_module("check_links")
generate = importlib.import_module("generate")

# What numpydoc asks for and this package does not do, and why. Of 550 docstrings:
# - ES01, EX01, SA01: an extended summary, an example and a "See Also" for every method; some hundred would say nothing.
# - RT02, SS05 (25) are mistaken: about "lower, upper : float", and about plurals, taken for verbs.
OPTIONAL = {"ES01", "EX01", "SA01", "RT02", "SS05"}


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "guide").glob("*.md")), ids=lambda path: path.stem)
def test_examples_of_the_guide_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    assert failed == 0


def documented_objects():
    for module, names in generate.documented().items():
        for name, full in names.items():
            found = getattr(importlib.import_module(module), name)
            if full == f"{module}.{name}" and (inspect.isclass(found) or inspect.isfunction(found)):
                yield full, found
                if inspect.isclass(found):
                    for member in vars(found):
                        method = getattr(found, member)
                        if not member.startswith("_") and inspect.isroutine(method):
                            yield f"{full}.{member}", method


def complaints(name, found):
    """Return what numpydoc has to say about a docstring."""
    from numpydoc.validate import validate

    result = validate(name)
    for code, message in result["errors"]:
        if code in OPTIONAL or (code == "GL08" and inspect.getdoc(found)):
            continue
        # A list of parameters has all of them; a summary may do without a list, and fields are attributes.
        if code == "PR01" and "Parameters\n---" not in (inspect.getdoc(found) or ""):
            continue
        yield f"{name}: {code} {message}"


def test_docstrings_satisfy_numpydoc():
    pytest.importorskip("numpydoc")
    found = [
        text
        for name, obj in documented_objects()
        if str(getattr(obj, "__module__", "")).startswith("stbmta")
        for text in complaints(name, obj)
    ]
    assert not found, "\n".join(found)


def test_numpydoc_would_complain(monkeypatch):
    """The check above can fail."""
    pytest.importorskip("numpydoc")

    def function(x):
        """do something

        Parameters
        ----------
        y : int
        """

    module = type(sys)("bad_docstrings")
    function.__module__, module.function = "bad_docstrings", function
    monkeypatch.setitem(sys.modules, "bad_docstrings", module)
    codes = {text.split()[1] for text in complaints("bad_docstrings.function", function)}
    assert {"PR01", "PR02", "PR07", "SS02", "SS03"} <= codes


def test_everything_public_has_one_place():
    pages = generate.documented()
    assert {"stbmta", "stbmta.theory.theorems", "stbmta.plotting", "stbmta.weights"} <= set(pages)
    places = generate.places(pages)
    own = [name for name, place in places.items() if name == place]
    assert set(places.values()) == set(own)
    assert len(own) > 250
    for module in pages:
        assert (importlib.import_module(module).__doc__ or "").strip(), (
            f"{module} does not say what it is for"
        )
    # What a package exports is documented there, not in the module it comes from.
    assert pages["stbmta.estimators"]["STB"] == "stbmta.STB"
    for statement in theory.statements():
        if statement.function:
            assert statement.function in places, f"{statement.function} has no place"


def test_pages_are_written_once(tmp_path):
    generate.write_pages(tmp_path)
    page = tmp_path / "theory" / "statements.rst"
    assert "th:indep" in page.read_text()
    before = page.stat().st_mtime_ns
    (tmp_path / "api" / "stbmta.gone.rst").write_text("old")
    generate.write_pages(tmp_path)
    assert page.stat().st_mtime_ns == before
    assert not (tmp_path / "api" / "stbmta.gone.rst").exists()


def test_dead_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html#here">x</a> <a href="https://example.org">y</a>')
    (tmp_path / "b.html").write_text('<h1 id="here">z</h1> <a href="#here">x</a>')
    assert check_links.dead_links(tmp_path) == []
    (tmp_path / "a.html").write_text('<a href="b.html#there">x</a> <img src="c.png">')
    assert check_links.dead_links(tmp_path) == [
        "a.html: b.html#there (no such place)",
        "a.html: c.png (no file)",
    ]


def test_the_gallery_is_large_and_every_script_has_a_title():
    scripts = sorted((ROOT / "examples").glob("plot_*.py"))
    assert len(scripts) >= 10
    for script in scripts:
        lines = script.read_text().splitlines()
        assert lines[0] == '"""', script
        assert len(lines[1]) == len(lines[2]), script
