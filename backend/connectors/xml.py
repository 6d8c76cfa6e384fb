"""XML of foreign messages: no declarations of types or entities, nothing is ever fetched.

Elements are found by their local names: publishers choose prefixes as they like.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree as ET
from xml.parsers import expat

from citywise.backend.connectors.found import Fault
from citywise.backend.connectors.message import MOST_DEPTH, Message

MOST_ELEMENTS = 1_000_000
POINTER = "{citywise}at"
"""An attribute of elements that stand for something else: where that is."""
_MOST_SAID = 80


@dataclass(frozen=True, slots=True)
class Xml:
    """An element and an XPath to it, in which names stand without prefixes."""

    element: ET.Element
    at: str

    @property
    def tag(self) -> str:
        """The local name."""
        return local(self.element.tag)

    @property
    def text(self) -> str | None:
        """Its text without blanks around it; None where it is empty."""
        return (self.element.text or "").strip() or None

    def attribute(self, name: str) -> str | None:
        """An attribute by its local name."""
        for key, value in self.element.items():
            if local(key) == name:
                return value.strip() or None
        return None

    @property
    def type(self) -> str:
        """The local name of its `xsi:type`; else its own."""
        return (self.attribute("type") or self.tag).rpartition(":")[2]

    def __iter__(self) -> Iterator[Xml]:
        counts: dict[str, int] = {}
        for child in self.element:
            tag = local(child.tag)
            counts[tag] = counts.get(tag, 0) + 1
            yield Xml(child, child.get(POINTER) or f"{self.at}/{tag}[{counts[tag]}]")

    def every(self, *path: str) -> Iterator[Xml]:
        """All elements at a path of local names."""
        if not path:
            yield self
            return
        for child in self:
            if child.tag == path[0]:
                yield from child.every(*path[1:])

    def child(self, *path: str) -> Xml | None:
        """The first element at a path of local names."""
        return next(self.every(*path), None)

    def said(self, *path: str) -> str | None:
        """The text at a path of local names."""
        found = self.child(*path)
        return found.text if found is not None else None

    def within(self, name: str) -> Iterator[Xml]:
        """All elements of a local name anywhere within, in order."""
        for child in self:
            if child.tag == name:
                yield child
            yield from child.within(name)


def local(tag: str) -> str:
    """The local name of `{namespace}name`."""
    return tag.rpartition("}")[2]


def as_xml(message: Message) -> Xml:
    """A message's XML; raises `Fault` if it is none, or declares a type or an entity."""
    root = _Builder(message.within).read(message.checked().body)
    return Xml(root, f"{message.within}/{local(root.tag)}")


class _Builder:
    """Builds elements from what expat tells, within bounds."""

    def __init__(self, at: str) -> None:
        self._at = at
        self._open: list[ET.Element] = []
        self._root: ET.Element | None = None
        self._last: ET.Element | None = None
        self._count = 0

    def read(self, body: bytes) -> ET.Element:
        parser = expat.ParserCreate(namespace_separator="}")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._doctype
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        try:
            parser.Parse(body, True)
        except expat.ExpatError as error:
            said = f"found no XML: line {error.lineno}: {expat.ErrorString(error.code)}"
            raise Fault("xml", self._at, said) from None
        except (LookupError, ValueError) as error:  # an encoding that nobody knows
            raise Fault("xml", self._at, f"found no XML: {str(error)[:_MOST_SAID]}") from None
        if self._root is None:
            raise Fault("xml", self._at, "found no element")
        return self._root

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MOST_ELEMENTS:
            raise Fault("too-many", self._at, f"it has more than {MOST_ELEMENTS} elements")
        if len(self._open) >= MOST_DEPTH:
            raise Fault("too-deep", self._at, f"it nests deeper than {MOST_DEPTH}")
        found = ET.Element(
            _braced(name), {_braced(key): value for key, value in attributes.items()}
        )
        if self._open:
            self._open[-1].append(found)
        else:
            self._root = found
        self._open.append(found)
        self._last = None

    def _end(self, _name: str) -> None:
        self._last = self._open.pop()

    def _text(self, text: str) -> None:
        if self._last is None:
            self._open[-1].text = (self._open[-1].text or "") + text
        else:
            self._last.tail = (self._last.tail or "") + text

    def _doctype(self, *_told: object) -> None:
        said = "it declares a document type (<!DOCTYPE>), which may hold entities; remove it"
        raise Fault("doctype", self._at, said)


def _braced(name: str) -> str:
    return f"{{{name}" if "}" in name else name
