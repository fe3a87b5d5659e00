"""How Sphinx builds the site; `make docs` runs it. Pages are the Markdown beside."""

from __future__ import annotations

from importlib.metadata import version as installed_version

import click
from sphinx.application import Sphinx

project = "Elkhound"
author = "the authors of Elkhound"
version = release = installed_version("elkhound")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
]
exclude_patterns = ["_build"]
myst_heading_anchors = 4  # links to headings work as on a code host

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
napoleon_google_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = "Elkhound"
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"top_of_page_buttons": []}  # there is no source to edit online
highlight_language = "none"  # a fence without a language is output
smartquotes = False  # it makes one dash of the two before a flag


def setup(app: Sphinx) -> None:
    """Show the examples of verbs as code, to be copied."""
    app.connect("sphinx-click-process-epilog", _examples_as_code)


def _examples_as_code(app: Sphinx, context: click.Context, lines: list[str]) -> None:
    """Turn the lines that help keeps as they are into literal blocks, in place."""
    shown: list[str] = []
    for line in lines:
        kept = line.startswith("|")
        if kept and not (shown and shown[-1].startswith("   ")):
            shown += ["", ".. code-block:: none", ""]
        shown.append(f"   {line[2:]}" if kept else line)
    lines[:] = shown
