"""Pages that follow from the code: one for each public module, and the list of the paper's statements."""

import importlib
import pkgutil
from pathlib import Path

import stbmta
import stbmta.theory
import stbmta.validation
from stbmta import theory

# Modules that are machinery rather than interface.
_INTERNAL = ("stbmta.cli", "stbmta.jit", "stbmta.report", "stbmta.estimator_base", "stbmta.container")

_GROUPS = {
    "stbmta": "Estimation",
    "stbmta.plotting": "Pictures",
    "stbmta.theory": "Theory",
    "stbmta.validation": "Validation",
}


def public_modules() -> list[str]:
    """Return the names of all modules with something public in them, in the order of the pages."""
    found = []
    for package in (stbmta, stbmta.theory, stbmta.validation):
        folder = package.__path__[:1]  # a checkout adds its root to stbmta.__path__
        names = [package.__name__, *(m.name for m in pkgutil.walk_packages(folder, package.__name__ + "."))]
        for name in names:
            if any(part.startswith("_") for part in name.split(".")) or name.startswith(_INTERNAL):
                continue
            if getattr(importlib.import_module(name), "__all__", ()):
                found.append(name)
    return list(dict.fromkeys(found))


def own_names(module: str) -> list[str]:
    """Return what a module exports and defines itself."""
    loaded = importlib.import_module(module)
    return [
        name
        for name in loaded.__all__
        if getattr(getattr(loaded, name), "__module__", None) == module and not name.startswith("_")
    ]


def write_pages(docs: Path) -> None:
    """Write the generated pages; a page that is already up to date stays untouched."""
    folder = docs / "api"
    folder.mkdir(exist_ok=True)
    modules = [name for name in public_modules() if own_names(name)]
    wanted = {folder / f"{name}.rst": _module_page(name) for name in modules}
    wanted[folder / "index.rst"] = _index_page(modules)
    wanted[docs / "theory" / "statements.rst"] = _statements_page()
    for path in set(folder.glob("*.rst")) - set(wanted):
        path.unlink()
    for path, text in wanted.items():
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def _title(text: str, sign: str) -> str:
    return f"{text}\n{sign * len(text)}\n\n"


def _module_page(name: str) -> str:
    lines = [_title(name, "="), f".. automodule:: {name}\n   :no-members:\n\n"]
    for member in own_names(name):
        kind = "class" if isinstance(getattr(importlib.import_module(name), member), type) else "function"
        if not callable(getattr(importlib.import_module(name), member)):
            kind = "data"
        lines.append(f".. auto{kind}:: {name}.{member}\n")
        if kind == "class":
            lines.append("   :members:\n   :inherited-members: BaseEstimator, TransformerMixin, dict, Exception\n")
        lines.append("\n")
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


def _statements_page() -> str:
    """List every statement of the paper with its function and status."""
    checks = _checks_by_function()
    lines = [
        _title("Every statement and its function", "="),
        "In the order of the paper; what goes beyond it comes last. *As printed*: the function computes what the paper\n"
        "prints. *Corrected*: the printed statement is false, and ``printed=True`` gives it. *Exact* and *sharper* replace\n"
        "a printed bound. The same list is ``stbmta.theory.statements()``.\n\n",
        ".. list-table::\n   :header-rows: 1\n   :widths: 20 30 30 20\n\n",
        "   * - label\n     - says\n     - function\n     - status\n",
    ]
    for row in theory.statements():
        if row.status in ("section", "definition") and not row.function:
            continue
        function = f":func:`{row.function.removeprefix('stbmta.')} <{row.function}>`" if row.function else "—"
        note = f". {_sentence(row.note)}" if row.note else ""
        check = "".join(f" ``{name}``" for name in checks.get(row.function, ()))
        lines.append(
            f"   * - ``{row.label}``\n     - {_sentence(row.title)}{note}\n     - {function}\n"
            f"     - {row.status}{'; checked by' + check if check else ''}\n"
        )
    return "".join(lines)


def _checks_by_function() -> dict[str, list[str]]:
    return {}


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].replace("*", r"\*")
