"""Docstrings are plain English with formulas in them; bars, which Sphinx reads as markup, are made safe here."""

import importlib
import re
from typing import Any

__all__ = ["find_where_documented", "keep_plain_text", "skip_foreign_members"]

# Text that has a meaning to Sphinx and stays: literals, roles, links.
_MARKUP = re.compile(r"(``.*?``|:[\w:]+:`[^`]*`|`[^`]*`_?)")


def keep_plain_text(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape bars (``|V_i|``) outside of formulas, literals and examples."""
    quiet_until: int | None = None  # inside an indented block: its indentation
    in_example = False
    for k, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if quiet_until is not None and line.strip() and indent <= quiet_until:
            quiet_until = None
        if line.lstrip().startswith(">>>"):
            in_example = True
        elif not line.strip():
            in_example = False
        if line.lstrip().startswith(
            (".. math::", ".. code", ".. index", ".. rubric")
        ) or line.rstrip().endswith("::"):
            quiet_until = indent
            continue
        if quiet_until is None and not in_example and not set(line) <= set("=-+| "):
            parts = _MARKUP.split(line)
            parts[::2] = [re.sub(r"(?<!\\)\|", r"\\|", part) for part in parts[::2]]
            lines[k] = "".join(parts)


def skip_foreign_members(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what comes from other packages, such as the machinery of scikit-learn."""
    module = getattr(obj, "__module__", None) or getattr(getattr(obj, "fget", None), "__module__", None)
    if module is not None and not str(module).startswith("stbmta"):
        return True
    return None


def find_where_documented(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """Lead a reference to the page that has the object under another name.

    What exists but has no page stays text; what does not exist is left to Sphinx, which complains.
    """
    if node.get("refdomain") != "py":
        return None
    target, domain = node["reftarget"], env.get_domain("py")
    written = {
        full for full, entry in domain.objects.items() if entry.objtype != "module" and not entry.aliased
    }
    names = [target, f"{node.get('py:module')}.{target}", f"builtins.{target}"]
    found = next((obj for obj in map(_load, names) if obj is not None), None)
    same = [full for full in written if found is not None and _load(full) is found]
    same = same or [full for full in written if full.endswith(f".{target}")]
    if len(same) == 1:
        copy = node.copy()
        copy["reftarget"] = same[0]
        return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", same[0], copy, contnode)
    return None if found is None else contnode


def _load(name: str) -> Any:
    module, _, rest = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), rest) if module else None
    except (ImportError, AttributeError, ValueError):
        try:
            return importlib.import_module(name)
        except (ImportError, ValueError):
            return None
