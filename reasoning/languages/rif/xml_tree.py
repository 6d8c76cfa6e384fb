"""XML as a tree that knows where its elements stand; nothing is read but the text itself.

Entities are for namespaces only (RIF documents of the W3C declare some): they are short, hold
no other entities, and are never files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.parsers import expat

from reasoning.asp.statements import Source
from reasoning.errors import RequestError

MAX_DEPTH = 400
_MAX_ENTITIES = 100
_MAX_ENTITY = 256
_MAX_CHARACTERS = 10_000_000
"""Of texts and attributes, entities put in: five times what the longest text has."""
_SEPARATOR = " "
_XML = "http://www.w3.org/XML/1998/namespace"


@dataclass
class XmlElement:
    """An element: its namespace and local name, attributes by name, and what it holds."""

    namespace: str
    name: str
    index: int
    """Where it begins in the text."""
    attributes: dict[str, str]
    """Those without namespace, and `xml:lang` and `xml:base`."""
    children: list[XmlElement] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    namespaces: dict[str, str] = field(default_factory=dict)
    """Prefixes that it declares; of the empty one none."""

    @property
    def text(self) -> str:
        """Its text, that of its children aside."""
        return "".join(self.pieces)


def tree(source: Source) -> XmlElement:
    """The root element; raises `RequestError` for what is no XML, or not safe to read."""
    return _Builder(source).root


class _Builder:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._lines = [0, *(found.end() for found in re.finditer("\n", source.text))]
        self._open: list[XmlElement] = []
        self._roots: list[XmlElement] = []
        self._namespaces: dict[str, str] = {}
        self._entities = 0
        self._characters = 0
        self._parser = parser = expat.ParserCreate("utf-8", _SEPARATOR)
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.buffer_text = True
        parser.StartNamespaceDeclHandler = self._namespace
        parser.StartElementHandler = self._start
        parser.EndElementHandler = lambda _name: self._end()
        parser.CharacterDataHandler = self._data
        parser.EntityDeclHandler = self._entity
        parser.SkippedEntityHandler = self._skipped
        parser.ExternalEntityRefHandler = lambda *_: self._refuse_external()
        try:
            parser.Parse(source.text.encode(), True)
        except expat.ExpatError as error:
            raise self._malformed(error) from None

    @property
    def root(self) -> XmlElement:
        return self._roots[0]

    def _index(self) -> int:
        return self._at(self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber)

    def _at(self, line: int, column: int) -> int:
        """The index of a position of expat's: lines from 1, columns, of characters, from 0."""
        start = self._lines[min(line, len(self._lines)) - 1]
        return min(start + column, len(self._source.text))

    def _malformed(self, error: expat.ExpatError) -> RequestError:
        index = self._at(error.lineno, error.offset)
        words = expat.ErrorString(error.code) or "unreadable"
        return self._source.error(index, "xml", f"this is no well-formed XML here: {words}")

    def _namespace(self, prefix: str | None, uri: str | None) -> None:
        if prefix and uri:
            self._namespaces[prefix] = uri

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        index = self._index()
        if len(self._open) >= MAX_DEPTH:
            message = f"more than {MAX_DEPTH} elements in each other; split the rule"
            raise self._source.error(index, "size", message)
        self._count(sum(map(len, attributes.values())), index)
        namespace, _, local = name.rpartition(_SEPARATOR)
        known = {_plain(key): value for key, value in attributes.items()}
        element = XmlElement(namespace, local, index, known, namespaces=self._namespaces)
        self._namespaces = {}
        (self._open[-1].children if self._open else self._roots).append(element)
        self._open.append(element)

    def _end(self) -> None:
        self._open.pop()

    def _data(self, text: str) -> None:
        self._count(len(text), None)
        if self._open:
            self._open[-1].pieces.append(text)

    def _count(self, characters: int, index: int | None) -> None:
        self._characters += characters
        if self._characters > _MAX_CHARACTERS:
            place = self._index() if index is None else index
            message = f"with its entities put in, the text has more than {_MAX_CHARACTERS:,} "
            raise self._source.error(place, "size", message + "characters; write it shorter")

    def _entity(
        self,
        name: str,
        is_parameter: bool,
        value: str | None,
        _base: str | None,
        _system: str | None,
        _public: str | None,
        _notation: str | None,
    ) -> None:
        self._entities += 1
        if value is None or is_parameter:
            self._refuse_external(name)
        elif "&" in value or len(value) > _MAX_ENTITY or self._entities > _MAX_ENTITIES:
            message = f"the entity `{name}` is no plain short text; declare entities for "
            message += f"namespaces only: {_MAX_ENTITIES} of {_MAX_ENTITY} characters at most, "
            raise self._source.error(self._index(), "entity", f"{message}without others in them")

    def _skipped(self, name: str, _is_parameter: bool) -> None:
        message = f"the entity `{name}` is not declared in the text; files of them are not read: "
        hint = f'declare it, `<!DOCTYPE Document [<!ENTITY {name} "…">]>`'
        raise self._source.error(self._index(), "entity", message + hint)

    def _refuse_external(self, name: str = "") -> int:
        message = f"the entity `{name}` stands in a file" if name else "this entity is a file"
        hint = 'which is not read; declare its text itself, `<!ENTITY xs "http://…">`'
        raise self._source.error(self._index(), "entity", f"{message} or is a parameter, {hint}")


def _plain(name: str) -> str:
    namespace, _, local = name.rpartition(_SEPARATOR)
    return f"xml:{local}" if namespace == _XML else name
