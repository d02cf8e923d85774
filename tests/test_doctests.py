"""Every example in every docstring runs."""

import doctest
import importlib
import pkgutil

import pytest

import stbmta
import stbmta.benchmarks
import stbmta.theory
import stbmta.validation

PACKAGES = [stbmta, stbmta.benchmarks, stbmta.theory, stbmta.validation]


def module_names():
    for package in PACKAGES:
        yield package.__name__
        folder = package.__path__[:1]  # a checkout adds its root to stbmta.__path__
        for module in pkgutil.walk_packages(folder, package.__name__ + "."):
            if not module.name.endswith("__main__"):
                yield module.name


@pytest.mark.parametrize("name", sorted(set(module_names())))
def test_examples_run(name, tmp_path, monkeypatch):
    module = importlib.import_module(name)
    monkeypatch.chdir(tmp_path)  # examples that write files leave nothing behind
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, _ = doctest.testmod(module, optionflags=flags, verbose=False)
    assert failed == 0
