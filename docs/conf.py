"""These pages as a site with a search, and the reference of both faces: `make docs`."""

from __future__ import annotations

from pygments.lexers.prolog import PrologLexer
from pygments.lexers.special import TextLexer
from sphinx.highlighting import lexers

import citywise
import citywise.backend.app
import citywise.reasoning

project = author = html_title = "Citywise"
html_show_copyright = False
release = citywise.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_theme_options = {"top_of_page_buttons": []}
myst_heading_anchors = 4
default_role = "code"  # docstrings have `names` as Markdown has them
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": False}

# Rules look like those of Prolog; drawings are read where Mermaid is (GitHub, editors).
lexers |= {"casp": PrologLexer(), "lars": PrologLexer(), "mermaid": TextLexer()}

# The names of both faces are loaded when they are asked for, and autodoc documents those that are.
for face in (citywise.reasoning, citywise.backend.app):
    vars(face).update({name: getattr(face, name) for name in face.__all__})
