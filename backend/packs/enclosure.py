"""An app is complete in its folder: no file that it names, or has, lies elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from citywise.backend.packs.library import FILE
from citywise.backend.packs.ontology import ONTOLOGIES
from citywise.reasoning import Finding, Location
from citywise.reasoning.languages.casp import Reading

_OWN = (FILE, "templates/*.casp", "strings/*.json", "scenarios/*",
        "templates/**/*.html", "static/**/*", "icon.svg", "icons/*.svg")  # fmt: skip
"""Files of an app that it need not name."""
_ontologies = [ONTOLOGIES]
CURE = "is outside of the app's folder; copy the file into it"


def is_inside(folder: Path, file: Path) -> bool:
    """Whether a file lies in an app's folder, also through links."""
    return file.resolve().is_relative_to(folder.resolve())


@contextmanager
def with_ontologies(folder: Path) -> Iterator[None]:
    """Let apps use the ontologies in a folder, too: those of Citywise as they were once."""
    _ontologies.append(folder)
    try:
        yield
    finally:
        _ontologies.remove(folder)


def links(folder: Path) -> Iterator[Finding]:
    """Files of an app that are links to what lies elsewhere."""
    for file in sorted(file for pattern in _OWN for file in folder.glob(pattern)):
        if not is_inside(folder, file):
            message = f"`{file.relative_to(folder)}` leads to a file that {CURE}"
            yield Finding(Location(str(file), 1, 1), "error", "outside", message)


def knowledge(folder: Path, reading: Reading) -> Iterator[Finding]:
    """Knowledge bases of a program of an app that lie elsewhere and are no ontology of ours."""
    for source in reading.request.knowledge:
        file = Path(source.path)
        if not any(is_inside(one, file) for one in (folder, *_ontologies)):
            named = f"<{source.written}>"
            place = reading.source.location(max(0, reading.source.text.find(named)))
            message = f"`#from {named}` {CURE}"
            yield Finding(place, "error", "outside", message)
