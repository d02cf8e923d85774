"""Pages that follow from the code: one for each public module, and the list of the paper's statements."""

import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

import stbmta
import stbmta.theory
import stbmta.validation
from stbmta import theory
from stbmta.validation.catalog import CHECKS

# Modules that are machinery rather than interface: nobody needs to call them.
_INTERNAL = {
    "stbmta.blocks",
    "stbmta.container",
    "stbmta.estimator_base",
    "stbmta.estimator_mta",
    "stbmta.files",
    "stbmta.inputs",
    "stbmta.labels",
    "stbmta.memory",
    "stbmta.progress",
    "stbmta.report",
    "stbmta.report_html",
    "stbmta.scale.distributed",
    "stbmta.scale.distributed_linear",
    "stbmta.scale.distributed_sums",
    "stbmta.scale.means",
    "stbmta.scale.shuffle",
    "stbmta.sums",
    "stbmta.vectors",
}


_GROUPS = {
    "stbmta": "Estimation",
    "stbmta.plotting": "Pictures",
    "stbmta.scale": "Large data",
    "stbmta.theory": "Theory",
    "stbmta.validation": "Validation",
}


def public_modules() -> list[str]:
    """Return the names of all public modules: packages first, then the modules that a package names, then the rest."""
    found = []
    for package in (stbmta, stbmta.theory, stbmta.validation):
        folder = package.__path__[:1]  # a checkout adds its root to stbmta.__path__
        named = [f"{package.__name__}.{name}" for name in getattr(package, "__all__", ())]
        every = sorted(m.name for m in pkgutil.walk_packages(folder, package.__name__ + "."))
        found += [
            package.__name__,
            *sorted(every, key=lambda name: (name not in named, name.count("."), name)),
        ]
    return [name for name in dict.fromkeys(found) if _is_public(name)]


def _is_public(module: str) -> bool:
    if module in _INTERNAL or module.startswith(("stbmta.cli", "stbmta.jit", "stbmta.plotting.")):
        return False
    if any(part.startswith("_") for part in module.split(".")):
        return False
    return bool(getattr(importlib.import_module(module), "__all__", ()))


def documented() -> dict[str, dict[str, str]]:
    """Return, for each module, what it exports and the full name under which that is documented.

    An object that several modules export is documented once, where users find it first.
    """
    first: dict[int, str] = {}
    pages: dict[str, dict[str, str]] = {}
    for module in public_modules():
        loaded = importlib.import_module(module)
        exported = {name: getattr(loaded, name) for name in loaded.__all__}
        pages[module] = {
            name: first.setdefault(id(found), f"{module}.{name}")
            for name, found in exported.items()
            if not isinstance(found, ModuleType)
        }
    return pages


def places(pages: dict[str, dict[str, str]]) -> dict[str, str]:
    """Return where an object is documented, for each name it can be imported by."""
    return {f"{module}.{name}": full for module, names in pages.items() for name, full in names.items()}


def write_pages(docs: Path) -> None:
    """Write the generated pages; a page that is already up to date stays untouched."""
    pages = documented()
    wanted = {docs / "api" / f"{module}.rst": _module_page(module, names) for module, names in pages.items()}
    wanted[docs / "api" / "index.rst"] = _index_page(list(pages))
    wanted[docs / "theory" / "statements.rst"] = _statements_page(places(pages))
    wanted[docs / "results" / "index.md"] = _results_page(docs)
    for path in set((docs / "api").glob("*.rst")) - set(wanted):
        path.unlink()
    for path, text in wanted.items():
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def _title(text: str, sign: str) -> str:
    return f"{text}\n{sign * len(text)}\n\n"


def _module_page(module: str, names: dict[str, str]) -> str:
    lines = [_title(module, "="), f".. automodule:: {module}\n   :no-members:\n\n"]
    elsewhere = [full for name, full in names.items() if full != f"{module}.{name}"]
    if elsewhere:
        lines.append("See also " + ", ".join(f":obj:`{full}`" for full in elsewhere) + ".\n\n")
    for name, full in names.items():
        if full != f"{module}.{name}":
            continue
        found = getattr(importlib.import_module(module), name)
        if not callable(found):
            lines.append(f".. py:data:: {full}\n\n   A {type(found).__name__}.\n\n")
        elif isinstance(found, type):
            lines.append(f".. autoclass:: {full}\n   :members:\n   :inherited-members:\n\n")
        else:
            lines.append(f".. autofunction:: {full}\n\n")
    return "".join(lines)


def _group(name: str) -> str:
    return max((package for package in _GROUPS if name == package or name.startswith(package + ".")), key=len)


def _index_page(modules: list[str]) -> str:
    lines = [
        _title("Reference", "="),
        "Everything that is public, one page a module. The names that most programs need are in :mod:`stbmta`\n"
        "itself: ``stbmta.STB``, ``stbmta.Bags``, ``stbmta.bag_statistics`` and the others below.\n\n",
    ]
    for package, title in _GROUPS.items():
        lines.append(_title(title, "-"))
        names = [name for name in modules if _group(name) == package]
        lines.append(".. list-table::\n   :widths: 35 65\n\n")
        for name in names:
            summary = (importlib.import_module(name).__doc__ or "").strip().splitlines()[0]
            lines.append(f"   * - :doc:`{name} <{name}>`\n     - {summary}\n")
        lines.append("\n")
    lines.append(".. toctree::\n   :hidden:\n\n" + "".join(f"   {name}\n" for name in modules))
    return "".join(lines)


def _statements_page(place_of: dict[str, str]) -> str:
    """List every statement of the paper with its function and status."""
    checks = _checks_by_function()
    lines = [
        _title("Every statement and its function", "="),
        "In the order of the paper; what goes beyond it comes last. *As printed*: the function computes what the\n"
        "paper prints. *Corrected*: the printed statement is false, and ``printed=True`` gives it. *Exact* and\n"
        "*sharper* replace a printed bound. The same list is ``stbmta.theory.statements()``.\n"
        "The checks run with ``stbmta validate --check NAME``.\n\n",
        ".. list-table::\n   :header-rows: 1\n   :widths: 15 29 24 12 20\n\n",
        "   * - label\n     - says\n     - function\n     - status\n     - checked by\n",
    ]
    for row in theory.statements():
        if row.status in ("section", "definition") and not row.function:
            continue
        function = "—"
        if row.function:
            function = f":func:`{row.function.removeprefix('stbmta.')} <{place_of[row.function]}>`"
        erratum = f" (see :doc:`{row.erratum} <../errata>`)" if row.erratum else ""
        note = f"; {row.note}" if row.note else ""
        tried = ", ".join(f"``{name}``" for name in checks.get(row.function, ())) or "—"
        lines.append(
            f"   * - ``{row.label}``\n     - {_sentence(row.title)}{note}{erratum}\n     - {function}\n"
            f"     - {row.status}\n     - {tried}\n"
        )
    return "".join(lines)


# Pages with measurements, and their titles in the order of the menu.
_RESULTS = {
    "reproduction": "The paper's experiments, repeated",
    "methods": "Methods beyond the paper",
    "comparison": "Beyond the paper, measured",
    "validation": "Do the bounds hold?",
    "speed": "Speed",
    "scale": "Beyond memory and one machine",
}


def _results_page(docs: Path) -> str:
    """List the pages with measurements that are there."""
    found = [name for name in _RESULTS if (docs / f"{name}.md").exists()]
    lines = [
        "# Results\n\nWhat was measured, with the commands that print it.\n\n```{toctree}\n:maxdepth: 1\n\n"
    ]
    return "".join([*lines, *(f"../{name}\n" for name in found), "```\n"])


def _checks_by_function() -> dict[str, list[str]]:
    """Return the checks of ``stbmta validate`` that put each function to the test."""
    found: dict[str, list[str]] = {}
    for check in CHECKS:
        for function in check.functions:
            found.setdefault(f"stbmta.theory.{function}", []).append(check.id)
    return found


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].replace("*", r"\*")
