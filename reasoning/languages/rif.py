"""Documents of RIF-Core with a window (DESIGN A9), in presentation syntax or XML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reasoning.errors import RequestError
from reasoning.languages import rif_presentation, rif_safety, rif_xml
from reasoning.languages.casp import text_of
from reasoning.languages.rif_parts import Written
from reasoning.languages.statements import MAX_CHARACTERS, Source
from reasoning.rif.document import Document, Formula

XML = ".rif"
"""Of documents in RIF's XML syntax."""
PRESENTATION = ".rifps"
"""Of documents in RIF's presentation syntax."""
SUFFIXES = (XML, PRESENTATION)
_NO_CHARACTER = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True)
class RifReading:
    """A document that could be read, and all that is wrong with what it says."""

    written: Written
    faults: tuple[RequestError, ...]

    @property
    def document(self) -> Document:
        """What the document says; to be evaluated only if there are no faults."""
        return self.written.document

    def sound(self) -> Document:
        """The document; raises its first fault."""
        for fault in self.faults:
            raise fault
        return self.document


def parse_file(path: Path) -> Document:
    """Read a document, by its suffix as XML or presentation syntax, without its imports.

    Raises `RequestError` at the first fault: what is no RIF, or outside RIF-Core, or unsafe.
    """
    return read_file(path).sound()


def parse(text: str, *, file: str = "<text>.rifps", name: str = "document") -> Document:
    """Turn a text into a document; that it is XML is said by the suffix of `file`.

    Raises `RequestError` at the first fault.
    """
    return read(text, file=file, name=name).sound()


def parse_formula_file(path: Path, prefixes: Mapping[str, str] | None = None) -> Formula:
    """Read a file that holds one condition, e.g. the conclusion of an entailment test.

    `prefixes` are those of the document the condition is about; it may have free variables.
    Raises `RequestError`.
    """
    return parse_formula(text_of(path), prefixes, file=str(path))


def parse_formula(
    text: str, prefixes: Mapping[str, str] | None = None, *, file: str = "<text>.rifps"
) -> Formula:
    """Turn a text into a condition, as `parse_formula_file`."""
    source = _sized(text, file)
    if file.endswith(XML):
        found = rif_xml.formula(source)
    else:
        found = rif_presentation.formula(source, prefixes or {})
    for _index, fault in source.faults:
        raise fault
    return found


def read_file(path: Path) -> RifReading:
    """Read a document whatever it says; raises `RequestError` for what is no RIF-Core."""
    return read(text_of(path), file=str(path), name=path.name)


def read(text: str, *, file: str = "<text>.rifps", name: str = "document") -> RifReading:
    """Read a text whatever it says; raises `RequestError` for what is no RIF-Core."""
    reader = rif_xml if file.endswith(XML) else rif_presentation
    written = reader.document(_sized(text, file), name)
    rif_safety.check(written)
    faults = sorted(written.source.faults, key=lambda found: found[0])
    return RifReading(written, tuple(fault for _index, fault in faults))


def _sized(text: str, file: str) -> Source:
    source = Source(text, file)
    if odd := _NO_CHARACTER.search(text):
        message = f"U+{ord(odd.group()):04X} is no character of a text; remove it"
        raise source.error(odd.start(), "character", message)
    if len(text) > MAX_CHARACTERS:
        message = f"a document has at most {MAX_CHARACTERS:,} characters; put facts into a graph "
        hint = "and import it, `Import(<facts.ttl> <http://www.w3.org/ns/entailment/Simple>)`"
        raise source.error(0, "size", message + hint)
    return source
