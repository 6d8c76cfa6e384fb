"""JSON, CSV and XML as mapping files see them: things, and values at paths.

JSON paths are RFC 9535, XML paths XPath 2.0, CSV paths names of columns.
"""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, Protocol

import elementpath
import jsonpath

from citywise.backend.connectors.found import Fault
from citywise.backend.connectors.mapping import Mapping, MappingError
from citywise.backend.connectors.message import Message, as_json
from citywise.backend.connectors.xml import Xml, as_xml, local

_PATHS = jsonpath.JSONPathEnvironment(strict=True)
_MOST_FIELD = 1_000_000
Namespaces = tuple[tuple[str, str], ...]


class Thing(Protocol):
    """A thing in a message, or the whole of it."""

    @property
    def at(self) -> str:
        """Where it stands."""

    @property
    def root(self) -> Thing:
        """The whole message."""

    def every(self, path: str | None) -> Iterator[Thing]:
        """The things at a path; without one itself, of CSV its rows."""

    def value(self, path: str) -> tuple[Any, str]:
        """The first value at a path (None: there is none), and where it stands."""

    def lacking(self, paths: Iterable[str]) -> list[Fault]:
        """For each path at which nothing can stand in any of its things, why."""


class Reader(ABC):
    """Reads messages of a format."""

    @abstractmethod
    def whole(self, message: Message) -> Thing:
        """The message; raises `Fault`."""


def reader(mapping: Mapping) -> Reader:
    """What reads the messages of a mapping; raises `MappingError` where a path is none."""
    paths = list(paths_of(mapping))
    match mapping.format:
        case "json":
            for path in paths:
                _json_path(path)
            return _JsonReader()
        case "xml":
            namespaces = tuple(sorted(mapping.namespaces.items()))
            for path in paths:
                _xml_path(path, namespaces)
            return _XmlReader(namespaces)
    return _CsvReader(mapping.delimiter, mapping.encoding)


def paths_of(told: Any, without: Collection[str] = ()) -> Iterator[str]:
    """All paths of a mapping, or of a part of it, but those below some of its keys."""
    for name in type(told).model_fields if hasattr(type(told), "model_fields") else ():
        inner = getattr(told, name)
        if name in without:
            continue
        if name in ("path", "minus", "each"):
            yield from [inner] if isinstance(inner, str) else inner or ()
        elif isinstance(inner, dict):
            for one in inner.values():
                yield from paths_of(one, without)
        else:
            for one in inner if isinstance(inner, tuple) else (inner,):
                yield from paths_of(one, without)


class _Free:
    """What may have anything anywhere."""

    def lacking(self, paths: Iterable[str]) -> list[Fault]:  # noqa: ARG002 - nothing can be said
        return []


# -- JSON -----------------------------------------------------------------------------


@lru_cache(maxsize=1_000)
def _json_path(path: str) -> jsonpath.JSONPath | jsonpath.CompoundJSONPath:
    try:
        return _PATHS.compile(path)
    except (jsonpath.JSONPathError, RecursionError) as error:
        raise MappingError(f"`{path}` is no JSONPath (RFC 9535): {error}") from error


class _JsonThing(_Free):
    def __init__(self, value: Any, at: str, root: _JsonThing | None = None) -> None:
        self._value, self.at = value, at
        self.root: Thing = root or self

    def every(self, path: str | None) -> Iterator[Thing]:
        if path is None:
            yield self
            return
        for match in _json_path(path).finditer(self._value):
            yield _JsonThing(match.obj, f"{self.at}{match.pointer()}", self)

    def value(self, path: str) -> tuple[Any, str]:
        for match in _json_path(path).finditer(self._value):
            return match.obj, f"{self.at}{match.pointer()}"
        return None, self.at


class _JsonReader(Reader):
    def whole(self, message: Message) -> Thing:
        told = as_json(message)
        if not isinstance(told.value, dict | list):
            raise Fault("value", told.at, "found no object or list, expected a message in JSON")
        return _JsonThing(told.value, told.at)


# -- CSV ------------------------------------------------------------------------------


class _Row(_Free):
    def __init__(self, row: dict[str, str], at: str, root: Thing) -> None:
        self._row, self.at, self.root = row, at, root

    def every(self, path: str | None) -> Iterator[Thing]:  # noqa: ARG002 - a row holds no things
        yield self

    def value(self, path: str) -> tuple[Any, str]:
        return self._row.get(path), self.at


_FIRST_LINE = "expected a first line that names the columns"


def _quoted(column: str) -> str:
    return f"`{column}`"


class _Table:
    at = ""

    def __init__(self, text: str, delimiter: str) -> None:
        self._text, self._delimiter = text, delimiter
        self._head, self._columns = next(self._lines(), ("line 1", []))
        self.root: Thing = self

    def _lines(self) -> Iterator[tuple[str, list[str]]]:
        csv.field_size_limit(_MOST_FIELD)
        rows = csv.reader(io.StringIO(self._text, newline=""), delimiter=self._delimiter)
        try:
            for row in rows:
                yield f"line {rows.line_num}", [cell.strip() for cell in row]
        except csv.Error as error:
            raise Fault("csv", f"line {rows.line_num}", f"found no CSV: {error}") from None

    def every(self, path: str | None) -> Iterator[Thing]:  # noqa: ARG002 - rows need no path
        for at, row in islice(self._lines(), 1, None):
            if any(row):
                yield _Row(dict(zip(self._columns, row, strict=False)), at, self)

    def value(self, path: str) -> tuple[Any, str]:  # noqa: ARG002 - only rows have values
        return None, self.at

    def lacking(self, paths: Iterable[str]) -> list[Fault]:
        missing = [path for path in dict.fromkeys(paths) if path not in self._columns]
        if missing and not any(self._columns):  # One fault, however many columns it should have.
            said = f"the table is empty: {_FIRST_LINE}, {', '.join(map(_quoted, missing))}"
            return [Fault("column", self._head, said)]
        return [Fault("column", self._head, self._without(column)) for column in missing]

    def _without(self, column: str) -> str:
        there = ", ".join(_quoted(name) for name in self._columns if name)
        hint = " alone: is `delimiter` right?" if len(self._columns) == 1 else ""
        return f"there is no column `{column}`, there is {there}{hint}"


class _CsvReader(Reader):
    def __init__(self, delimiter: str, encoding: str) -> None:
        self._delimiter = delimiter
        self._encoding = "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding

    def whole(self, message: Message) -> Thing:
        try:
            text = message.body.decode(self._encoding)
        except (UnicodeDecodeError, UnicodeError):
            said = f"found no text in {self._encoding}; set `encoding`, e.g. iso-8859-1"
            raise Fault("encoding", message.within, said) from None
        return _Table(text, self._delimiter)


# -- XML ------------------------------------------------------------------------------


@lru_cache(maxsize=1_000)
def _xml_path(path: str, namespaces: Namespaces) -> elementpath.Selector:
    try:
        return elementpath.Selector(path, namespaces=dict(namespaces))
    except (elementpath.ElementPathError, RecursionError) as error:
        raise MappingError(f"`{path}` is no XPath: {error}") from error


class _XmlThing(_Free):
    def __init__(self, told: Xml, namespaces: Namespaces, root: _XmlThing | None = None) -> None:
        self._told, self._namespaces = told, namespaces
        self.at = told.at
        self.root: Thing = root or self

    def _selected(self, path: str) -> Iterator[Any]:
        try:
            found = _xml_path(path, self._namespaces).select(self._told.element)
        except (elementpath.ElementPathError, RecursionError) as error:
            raise Fault("value", self.at, f"`{path}` cannot be evaluated here: {error}") from None
        yield from found if isinstance(found, list) else [found]

    def every(self, path: str | None) -> Iterator[Thing]:
        if path is None:
            yield self
            return
        for index, found in enumerate(self._selected(path), 1):
            if hasattr(found, "tag"):
                at = f"{self.at}//{local(found.tag)}[{index}]"
                yield _XmlThing(Xml(found, at), self._namespaces, self)

    def value(self, path: str) -> tuple[Any, str]:
        for found in self._selected(path):
            if hasattr(found, "tag"):
                return (found.text or "").strip(), f"{self.at}/{path}"
            return (found if isinstance(found, bool) else str(found)), f"{self.at}/{path}"
        return None, self.at


class _XmlReader(Reader):
    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces

    def whole(self, message: Message) -> Thing:
        return _XmlThing(as_xml(message), self._namespaces)
