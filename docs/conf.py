"""These pages as a site with a search, and the reference of both faces: `make docs`."""

from __future__ import annotations

from typing import Any

from pygments.lexers.prolog import PrologLexer
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
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
napoleon_google_docstring = False
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "imported-members": True}

# Rules look like those of Prolog; drawings are read where Mermaid is (GitHub, editors).
lexers |= {"casp": PrologLexer(), "lars": PrologLexer(), "mermaid": TextLexer()}

# The names of both faces are loaded when they are asked for, and autodoc documents those that are.
for face in (citywise.reasoning, citywise.backend.app):
    vars(face).update({name: getattr(face, name) for name in face.__all__})


def setup(app: Sphinx) -> None:
    """Leave texts of attributes alone: Napoleon takes what is before a colon for their type."""
    texts: dict[str, list[str]] = {}

    def keep(_app: Sphinx, what: str, name: str, *told: Any) -> None:
        if what in ("attribute", "property"):
            texts[name] = list(told[-1])

    def bring_back(_app: Sphinx, _what: str, name: str, *told: Any) -> None:
        if name in texts:
            told[-1][:] = texts.pop(name)

    app.connect("autodoc-process-docstring", keep, priority=400)
    app.connect("autodoc-process-docstring", bring_back, priority=600)
