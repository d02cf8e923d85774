"""Sphinx: ``python -m sphinx -W -b html docs build/docs``."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import docstrings  # noqa: E402
import formulas  # noqa: E402
import generate  # noqa: E402

import stbmta  # noqa: E402

project = "stbmta"
author = "The stbmta developers"
copyright = "The stbmta developers"  # noqa: A001
version = release = stbmta.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["guide/README.md"]
templates_path: list[str] = []

# Docstrings
autosummary_generate = False
autodoc_typehints = "none"  # numpydoc sections say it in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
default_role = "code"
nitpicky = True  # a reference that leads nowhere is an error
nitpick_ignore_regex = [("py:class", r"(?!stbmta).*")]  # types of attributes are words, such as {2, 3}

# Markdown
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "backreferences_dir": None,
    "min_reported_time": 1,
}

# Pages
html_theme = "pydata_sphinx_theme"
html_title = "stbmta"
html_show_sourcelink = False
html_copy_source = False
html_static_path: list[str] = []
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "changelog": []}
html_math_renderer = "mathml"


def setup(app):
    generate.write_pages(HERE)
    formulas.register(app)
    app.connect("autodoc-process-docstring", docstrings.keep_plain_text)
    app.connect("missing-reference", docstrings.find_where_documented)
    app.connect("autodoc-skip-member", docstrings.skip_foreign_members)
