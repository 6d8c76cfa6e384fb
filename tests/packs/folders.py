"""Apps as folders, written for a test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from citywise.backend.packs import broken, library
from citywise.backend.packs.check import check_pack
from citywise.backend.packs.manifest import Pack, load
from citywise.backend.packs.template import TemplateVersion

MANIFEST = """\
name = "jam_watch"
version = "1.0.0"
title = "Jam watch"
streams = ["events"]
permissions = ["position", "route"]

[templates.jam_ahead]
version = 1
title = "Jams on my way"

[templates.jam_ahead.parameters.radius]
type = "number"
unit = "m"
min = 50
max = 1000
step = 50
default = 300
title = "How near"

[notices.jam_ahead]
title = "Jam ahead"
text = "{about} in {metres} m"
"""
RULES = """\
#prefix rdf : <http://www.w3.org/1999/02/22-rdf-syntax-ns#>.
#prefix ev : <https://w3id.org/citywise/event#>.

(r1) notice(Me,"jam_ahead",Jam,Level) :- radius(Me,R), near_route(Me,Jam,R),
        rdf_type(Jam,"ev_TrafficJam"), ev_level(Jam,Level).
(r2) detail(Me,"jam_ahead",Jam,"metres",M) :- notice(Me,"jam_ahead",Jam,_), ahead(Me,Jam,M).
"""


class AppFolder:
    """A sound app, some of whose files a test changes."""

    def __init__(self, parent: Path, name: str = "jam_watch") -> None:
        self.path = parent / name
        (self.path / "templates").mkdir(parents=True)
        self.write("app.toml", MANIFEST)
        self.write("templates/jam_ahead.casp", RULES)

    def write(self, name: str, text: str) -> Path:
        """Write a file of the app."""
        path = self.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def change(self, name: str, old: str, new: str) -> None:
        """Replace a text that is in a file of the app."""
        text = (self.path / name).read_text(encoding="utf-8")
        assert old in text
        self.write(name, text.replace(old, new))

    def manifest(self, old: str, new: str) -> None:
        """Replace a text of the manifest."""
        self.change("app.toml", old, new)

    def rules(self, old: str, new: str) -> None:
        """Replace a text of the rules."""
        self.change("templates/jam_ahead.casp", old, new)

    def findings(self) -> list[str]:
        """What `check` says, file names relative to the app's folder."""
        return [str(f).replace(f"{self.path}/", "") for f in check_pack(self.path)]

    def load(self) -> Pack:
        """The app."""
        return load(self.path)

    def template(self) -> TemplateVersion:
        """Its template."""
        return self.load().template("jam_ahead")


@contextmanager
def with_python(folder: Path, name: str, parts: str) -> Iterator[AppFolder]:
    """An app of an installed package, whose module `parts` has this text."""
    app = AppFolder(folder, name)
    app.manifest('name = "jam_watch"', f'name = "{name}"')
    app.manifest('title = "Jam watch"', 'title = "Jam watch"\npython = "parts"')
    app.write("__init__.py", "")
    app.write("parts.py", parts)
    point = EntryPoint("own", name, library.GROUP)
    broken._faults.clear()  # what apps of other tests did in this process
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setattr(library, "_points", lambda: [point])
        yield app
        for module in (name, f"{name}.parts"):
            sys.modules.pop(module, None)
