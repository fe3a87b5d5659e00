"""How Sphinx builds the site; `make docs` runs it. Pages are the Markdown beside."""

from __future__ import annotations

from importlib.metadata import version as installed_version

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
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"top_of_page_buttons": []}  # there is no source to edit online
highlight_language = "none"  # a fence without a language is output
