"""Recorded streams: JSON Lines files as items of a request's streams, and back (docs/reason.md)."""

from __future__ import annotations

import gzip
import heapq
import json
import re
import zlib
from array import array
from bisect import bisect_right
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, cast, overload

import orjson

from citywise.reasoning.errors import ItemError, ReasoningError
from citywise.reasoning.model import atoms
from citywise.reasoning.model.request import Request, Unit
from citywise.reasoning.rdf import ntriples, parsing
from citywise.reasoning.rdf.mapping import Blank, Iri, Term, Triple
from citywise.reasoning.streams.items import Item
from citywise.reasoning.streams.revised import Line

TimeForm = Literal["integer", "iso"]
"""How times are written: integers in the request's unit, or ISO 8601."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STEP = {"s": timedelta(seconds=1), "ms": timedelta(milliseconds=1)}
_KINDS = {'"atom"': {"atom"}, '"s", "p" and "o"': {"s", "p", "o"}, '"graph"': {"graph"}}
_RESERVED = re.compile(r"(?:u|(?:[kfg]\d+)+)-")


_BEFORE_ALL = -(1 << 62)
"""Where a line without a time stands that is the first of its file."""


class _Line(NamedTuple):
    """A line before the files are merged; ordered by the newest time up to it."""

    newest: int
    file: int
    line: int
    time: int
    content: str | tuple[Triple, ...] | None
    """What holds; None: the item that the line names is withdrawn."""
    until: int | None
    stream: str
    id: str | None


class Recording:
    """The items of some stream files, in order of arrival.

    Parameters
    ----------
    paths:
        `.jsonl` and `.jsonl.gz` files. Several are merged by time, each keeping its order:
        an item that is out of order in its file arrives with the newest before it.
    request:
        Its streams and unit of time. ISO times finer than the unit are rounded down. A stream
        without a name takes items of any.
    on_error:
        Takes the `ItemError` of each line that is no item, reading goes on; without it the
        error is raised.

    Blank nodes keep their labels in the first file; labels of further files and of each
    graph are their own (`f1-b0`, `f0g12-b0` in the graph of line 12).
    """

    def __init__(
        self,
        paths: Sequence[Path],
        request: Request,
        on_error: Callable[[ItemError], None] | None = None,
    ) -> None:
        self.form: TimeForm | None = None
        """How the recording writes its times; None before the first item."""
        self._paths = tuple(paths)
        self._unit = request.unit
        self._name = request.name
        self._streams = tuple(stream.iri for stream in request.streams)
        self._any = self._streams == ("",)
        self._on_error = on_error
        self._places = _Places()

    def __iter__(self) -> Iterator[Item]:
        """Yield the items, positions counting from 0. The files are read as it goes; a
        correction or withdrawal is no item."""
        known: dict[tuple[str, str], str] = {}
        places, position = self._begin(), 0
        for line in self._merged():
            if line.id is not None and (why := self._revising(line, known)):
                self._refuse(ItemError(f"{self._at(line.file, line.line)}: {why}"))
                continue
            assert line.content is not None  # else it had an id, and was refused
            places.add(position, line.file, line.line)
            yield Item(line.time, line.content, position, line.until, line.stream)
            position += 1

    def lines(self) -> Iterator[Line | Item]:
        """Yield items, those that have an id as lines, corrections and withdrawals, positions
        counting from 0; as it goes."""
        places = self._begin()
        for position, line in enumerate(self._merged()):
            places.add(position, line.file, line.line)
            item = None
            if line.content is not None:
                item = Item(line.time, line.content, position, line.until, line.stream)
            if item is not None and line.id is None:
                yield item
            else:
                yield Line(item, line.id, line.stream, position)

    def source(self, position: int) -> str:
        """`FILE:LINE` of the item at a position that has been read."""
        return self._at(*self._places.of(position))

    def _begin(self) -> _Places:
        self.form = None
        self._places = _Places()
        return self._places

    def _merged(self) -> Iterator[_Line]:
        lines = [self._read(number) for number in range(len(self._paths))]
        # Lazily: recordings may be larger than memory, and standard input may not have ended.
        return lines[0] if len(lines) == 1 else heapq.merge(*lines, key=lambda line: line[0])

    def _at(self, file: int, line: int) -> str:
        return f"{self._paths[file]}:{line}"

    def _revising(self, line: _Line, known: dict[tuple[str, str], str]) -> str | None:
        """Why a line with an id is none where nothing is revised; None for an item."""
        assert line.id is not None
        if line.content is None:
            return f"withdraws {line.id!r}; give `--revise HORIZON`, which takes items back"
        first = known.setdefault((line.stream, line.id), here := self._at(line.file, line.line))
        if first == here:
            return None
        return f"corrects {line.id!r} of {first}; give `--revise HORIZON`, which corrects items"

    def _read(self, file: int) -> Iterator[_Line]:
        newest: int | None = None
        with _opened(self._paths[file]) as lines:
            for number, text in enumerate(_lines(lines, self._paths[file]), 1):
                if number == 1:
                    text = text.removeprefix(BOM_UTF8)
                if not text or text.isspace():
                    continue
                try:
                    values = _object(text)
                    if "withdraw" in values:
                        now = _BEFORE_ALL if newest is None else newest
                        yield _Line(now, file, number, now, None, None, *self._withdrawal(values))
                        continue
                    time, content, until, stream, name = self._item(values, file, number)
                except ItemError as error:
                    self._refuse(ItemError(f"{self._paths[file]}:{number}: {error}"))
                    continue
                # Merged by the newest time up to a line, not by its own: a late item keeps its
                # place behind what came before it in its file, and so stays late.
                newest = time if newest is None or time > newest else newest
                yield _Line(newest, file, number, time, content, until, stream, name)

    def _refuse(self, error: ItemError) -> None:
        if self._on_error is None:
            raise error
        self._on_error(error)

    def _withdrawal(self, values: dict[str, Any]) -> tuple[str, str]:
        """The stream and the id of the item that a line takes back."""
        others = sorted(values.keys() - {"withdraw", "stream"})
        if others:
            raise ItemError(f'a withdrawal has "withdraw" and "stream" only; found "{others[0]}"')
        stream = "" if self._any else self._stream(values.get("stream"))
        return stream, _text("withdraw", values["withdraw"])

    def _item(
        self, values: dict[str, Any], file: int, line: int
    ) -> tuple[int, str | tuple[Triple, ...], int | None, str, str | None]:
        stream = "" if self._any else self._stream(values.get("stream"))
        form, time = self._time("t", values.get("t"))
        until = values.get("until")
        if until is not None:
            form_until, until = self._time("until", until)
            if form_until != form:
                raise ItemError('"t" and "until" are written differently; write both as "t" is')
            if until < time:
                raise ItemError(f'"until" ({until}) is before "t" ({time}); write t <= until')
        content = _content(values, file, line)
        name = values.get("id")
        if name is not None:
            _text("id", name)
        # Agreed on only after the whole line has been read: a refused line must not decide how
        # times are written.
        if form != self.form:
            self._agree(form)
        return time, content, until, stream, name

    def _agree(self, form: TimeForm) -> None:
        if self.form is None:
            self.form = form
        elif form != self.form:
            here, before = _SHOWN[form], _SHOWN[self.form]
            raise ItemError(f'"t" is {here}, but the items before have {before}; write that')

    def _stream(self, stream: object) -> str:
        if not self._streams:
            raise NoStreamError(
                f"request `{self._name}` reads no stream; "
                "declare one, e.g. `#from stream <http://example.org/s> [time 10s step 1s].`"
            )
        if self._streams == ("",):
            return ""
        names = ", ".join(f"<{iri}>" for iri in self._streams)
        if stream is None:
            if len(self._streams) > 1:
                raise ItemError(f'which stream? write "stream", one of {names}')
            return self._streams[0]
        if stream not in self._streams:
            raise ItemError(f"request `{self._name}` reads no stream {stream!r}; it reads {names}")
        return str(stream)

    def _time(self, key: str, value: object) -> tuple[TimeForm, int]:
        if type(value) is int and atoms.SMALLEST <= value <= atoms.LARGEST:
            return "integer", value
        if type(value) is int or isinstance(value, str):
            time = read_time(value, self._unit)
        else:
            found = "missing" if value is None else orjson.dumps(value).decode()[:40]
            raise ItemError(
                f'"{key}" is {found}; expected an integer ({self._unit}) or ISO 8601 with a zone, '
                'e.g. "2014-08-05T00:00:00Z"'
            )
        return ("iso" if isinstance(value, str) else "integer"), time


class _Places:
    """The files and lines of items, by position: one entry where lines follow each other."""

    def __init__(self) -> None:
        self._positions, self._files, self._lines = array("Q"), array("H"), array("Q")
        """Where each run of lines begins."""
        self._next = -1, 0
        """File and line that would go on the last run."""

    def add(self, position: int, file: int, line: int) -> None:
        """The place of the next position."""
        if (file, line) != self._next:
            self._positions.append(position)
            self._files.append(file)
            self._lines.append(line)
        self._next = file, line + 1

    def of(self, position: int) -> tuple[int, int]:
        """File and line of a position."""
        run = bisect_right(self._positions, position) - 1
        return self._files[run], self._lines[run] + position - self._positions[run]


class NoStreamError(ReasoningError):
    """Items are given to a request that declares no stream."""


_SHOWN = {"integer": "an integer", "iso": "ISO 8601"}


def read_time(value: int | str, unit: Unit) -> int:
    """A time as recordings write it, in a unit; raises `ItemError`."""
    time = parse_time(value, unit) if isinstance(value, str) else value
    smallest, largest = atoms.SMALLEST, atoms.LARGEST
    # ISO times in milliseconds are beyond 32 bits; they are counted from a day's beginning before
    # they meet rules. The bounds are what JSON's numbers hold.
    if unit == "ms" and isinstance(value, str):
        smallest, largest = -(2**53), 2**53
    if not smallest <= time <= largest:
        raise ItemError(f"{value} is too far: times count in {unit} and have 32 bits")
    return time


def parse_time(text: str, unit: Unit) -> int:
    """Unix time of an ISO 8601 text in a unit, rounded down; raises `ItemError`."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ItemError(f'{text[:80]!r} is no time; write e.g. "2014-08-05T00:00:00Z"') from None
    if moment.tzinfo is None:
        raise ItemError(f"{text!r} has no zone; write e.g. {text + 'Z'!r} or +02:00")
    return (moment - _EPOCH) // _STEP[unit]


def format_time(time: int, unit: Unit, form: TimeForm) -> int | str:
    """A time as a recording writes it: the integer, or ISO 8601 in UTC."""
    if form == "integer":
        return time
    moment = _EPOCH + time * _STEP[unit]
    precision = "seconds" if unit == "s" else "milliseconds"
    return moment.replace(tzinfo=None).isoformat(timespec=precision) + "Z"


def write(items: Iterable[Item | Line], unit: Unit, form: TimeForm) -> Iterator[str]:
    """Lines of a stream file, without line ends, that read back as these items or lines.

    A graph of several triples becomes a `graph` item, whose blank nodes are its own.
    """
    for each in items:
        item, name = (each.item, each.id) if isinstance(each, Line) else (each, None)
        values: dict[str, object] = {} if name is None else {"id": name}
        if item is None:
            values = {"withdraw": name}
            if each.stream:
                values["stream"] = each.stream
            yield orjson.dumps(values).decode()
            continue
        values["t"] = format_time(item.time, unit, form)
        if isinstance(item.content, str):
            values["atom"] = item.content
        elif len(item.content) == 1:
            values |= zip("spo", map(ntriples.write, item.content[0]), strict=True)
        else:
            lines = (" ".join(map(ntriples.write, triple)) for triple in item.content)
            values["graph"] = "".join(f"{line} .\n" for line in lines)
        if item.stream:
            values["stream"] = item.stream
        if item.until is not None:
            values["until"] = format_time(item.until, unit, form)
        yield orjson.dumps(values).decode()


def _opened(path: Path) -> BinaryIO:
    try:
        return cast("BinaryIO", gzip.open(path)) if path.suffix == ".gz" else path.open("rb")
    except OSError as error:
        raise ItemError(f"{path}: cannot be read: {error.strerror}") from None


def _lines(file: BinaryIO, path: Path) -> Iterator[bytes]:
    try:
        yield from file
    except (OSError, EOFError, zlib.error) as error:
        raise ItemError(f"{path}: cannot be read to its end: {error}") from None


def _object(text: bytes) -> dict[str, Any]:
    try:
        values = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ItemError(f"not JSON ({error.msg} at column {error.colno})") from None
    if not isinstance(values, dict):
        raise ItemError('expected a JSON object, e.g. {"t": 5, "atom": "p(1)"}')
    # orjson keeps the last of several values of a key. Of most lines a count shows that there are
    # no several; the others are read once more.
    if text.count(b'":') != len(values) or _SPACED.search(text):
        try:
            json.loads(text, object_pairs_hook=_once, parse_int=str)
        except RecursionError:
            raise ItemError("is nested too deeply; items hold texts and numbers") from None
    return values


_SPACED = re.compile(rb'"[ \t\r]+:')


def _once(pairs: list[tuple[str, Any]]) -> None:
    """See that an object has a key once only."""
    known = set()
    for key, _value in pairs:
        if key in known:
            raise ItemError(f'"{key}" stands twice in the line; leave one of them out')
        known.add(key)


def _content(values: dict[str, Any], file: int, line: int) -> str | tuple[Triple, ...]:
    """The atom, the triple or the graph of an item."""
    if "s" not in values or "atom" in values or "graph" in values:  # not the usual case
        given = [kind for kind, keys in _KINDS.items() if not keys.isdisjoint(values)]
        if len(given) != 1:
            found = " and ".join(given) or "none of them"
            raise ItemError(f"expected one of {', '.join(_KINDS)}; found {found}")
    if "atom" in values:
        return atoms.ground(_text("atom", values["atom"]))
    if "graph" in values:
        return _graph(_text("graph", values["graph"]), f"f{file}g{line}")
    subject, predicate = _text("s", values.get("s")), _text("p", values.get("p"))
    triple = ntriples.triple(subject, predicate, _text("o", values.get("o")))
    return (_in_file(triple, file),)


def _graph(text: str, scope: str) -> tuple[Triple, ...]:
    try:
        return parsing.triples(text.encode(), "turtle", scope)
    except ntriples.UnreadableError as error:
        where = f", line {error.line}" if error.line else ""
        raise ItemError(f"the graph is not Turtle{where}: {error}") from None


def _text(key: str, value: object) -> str:
    if not isinstance(value, str):
        found = "missing" if value is None else orjson.dumps(value).decode()[:40]
        raise ItemError(f'"{key}" is {found}; expected a string')
    return value


def _in_file(triple: Triple, file: int) -> Triple:
    """A triple whose blank nodes are those of its file."""
    # Blank nodes of different files are different, but those of a single recording shall be
    # printed as they were written: only labels that look like scoped ones are changed.
    if file:
        return parsing.scoped(triple, f"f{file}")
    subject, predicate, value = triple
    if type(subject) is not Blank and type(value) is not Blank:
        return triple
    return Triple(_unreserved(subject), predicate, _unreserved(value))


@overload
def _unreserved(term: Iri | Blank) -> Iri | Blank: ...
@overload
def _unreserved(term: Term) -> Term: ...
def _unreserved(term: Term) -> Term:
    """A label of the first file is as written, unless it could be that of another."""
    if isinstance(term, Blank) and _RESERVED.match(term.label):
        return Blank(f"u-{term.label}")
    return term
