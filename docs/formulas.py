"""Formulas as MathML, which browsers show by themselves: pages need no script from elsewhere."""

import html
import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.util import logging

__all__ = ["register"]

# A letter, an index below it and an accent above.
_ACCENTED = re.compile(
    r'<munderover>\s*(<mi[^>]*>[^<]*</mi>)(.*?)(<mo stretchy="(?:false|true)">[ˆ˜ˉ^~]</mo>)\s*</munderover>',
    re.DOTALL,
)
_LOGGER = logging.getLogger(__name__)

# Commands that docutils does not know, and a short hand of the guide.
_MACROS = {r"\MSE": r"\operatorname{MSE}", r"\iff": r"\Longleftrightarrow", r"\dots": r"\ldots"}


def register(app: Any) -> None:
    """Make this the way in which pages show formulas."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))


def _mathml(node: Any, as_block: bool) -> str:
    tex = node.astext()
    for short, long in _MACROS.items():
        tex = tex.replace(short, long)
    if as_block and r"\\" in tex:
        tex = rf"\begin{{align*}}{tex}\end{{align*}}"
    try:
        return _with_indices_beside(latex2mathml.tex2mathml(tex, as_block=as_block))
    except MathError as error:
        _LOGGER.warning("a formula cannot be shown: %s", error, location=node)
        return f"<code>{html.escape(tex)}</code>"


def _with_indices_beside(mathml: str) -> str:
    """Move an index that docutils put below an accented letter to where an index belongs."""
    return _ACCENTED.sub(r'<msub><mover accent="true">\1\3</mover>\2</msub>', mathml)


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(f'<span class="formula">{_mathml(node, False)}</span>')
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    text = f"<!-- {html.escape(node.astext())} -->"
    translator.body.append(
        f'<div class="formula" style="overflow-x: auto; margin: 1rem 0">{text}{_mathml(node, True)}</div>\n'
    )
    raise nodes.SkipNode
