"""A foreign message: bytes, where they came from and when; read as JSON, XML or lines of JSON.

What is huge, nests deep or has too many parts is refused by bounds, and nothing but the bytes
themselves is ever opened.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from citywise.backend.connectors.found import Fault, Finds, refused

MOST_BYTES = 50_000_000
MOST_DEPTH = 100
_LINE = 1_000_000
_ENCODINGS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a source."""

    body: bytes
    topic: str | None = None
    """Of MQTT, or the address that it was fetched from."""
    at_ms: int | None = None
    """When it was received, Unix milliseconds."""
    within: str = ""
    """Where it stands in what it was taken from; pointers begin with it."""

    def checked(self) -> Message:
        """The message; raises `Fault` if it is too large."""
        if len(self.body) > MOST_BYTES:
            said = f"found {len(self.body)} bytes, expected at most {MOST_BYTES}"
            raise Fault("too-large", self.within, said)
        return self


@dataclass(frozen=True, slots=True)
class Json:
    """A JSON value and the JSON Pointer to it; what is not there is null."""

    value: Any
    at: str

    def __getitem__(self, key: str) -> Json:
        found = self.value.get(key) if isinstance(self.value, dict) else None
        return Json(found, f"{self.at}/{_escaped(key)}")

    def has(self, key: str) -> bool:
        """Whether an object has a member."""
        return isinstance(self.value, dict) and key in self.value

    def first(self, *keys: str) -> Json:
        """The first of some keys that is there and not null; of none, the first key's."""
        for key in keys:
            if (found := self[key]).value is not None:
                return found
        return self[keys[0]]

    def items(self) -> Iterator[tuple[str, Json]]:
        """The members of an object; of anything else none."""
        if isinstance(self.value, dict):
            for key in self.value:
                yield key, self[key]

    def __iter__(self) -> Iterator[Json]:
        """The items of a list; of anything else none."""
        if isinstance(self.value, list):
            for index, value in enumerate(self.value):
                yield Json(value, f"{self.at}/{index}")

    @property
    def text(self) -> str | None:
        """The text that it is."""
        return self.value if isinstance(self.value, str) else None

    @property
    def name(self) -> str | None:
        """What it is called: a text, or an integer as text."""
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return str(self.value)
        return self.text

    @property
    def is_object(self) -> bool:
        """Whether it has members."""
        return isinstance(self.value, dict)

    @property
    def is_list(self) -> bool:
        """Whether it has items."""
        return isinstance(self.value, list)


def misshapen(*told: Json, is_list: bool = False) -> Finds:
    """A refusal of each that is there, but is no object (or list): what it says would be lost."""
    for one in told:
        if one.value in (None, "") or (one.is_list if is_list else one.is_object):
            continue
        yield refused(Fault("value", one.at, f"expected {'a list' if is_list else 'an object'}"))


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def decoded(message: Message) -> str:
    """The text of a message that is UTF-8, or UTF-16 that says so."""
    body = message.checked().body
    encoding = next((name for mark, name in _ENCODINGS if body.startswith(mark)), "utf-8")
    try:
        return body.decode(encoding)
    except UnicodeDecodeError as error:
        said = f"found no text in UTF-8 (byte {error.start}); save it as UTF-8"
        raise Fault("encoding", message.within, said) from None


def as_json(message: Message) -> Json:
    """A message's JSON, numbers exact; raises `Fault`."""
    return Json(loaded(decoded(message), message.within), message.within)


def loaded(text: str, at: str) -> Any:
    """The value of a JSON text; raises `Fault`. NaN is allowed here and is no value later."""
    if _depth(text) > MOST_DEPTH:
        raise Fault("too-deep", at, f"it nests deeper than {MOST_DEPTH}")
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=Decimal)
    except RecursionError:
        raise Fault("too-deep", at, f"it nests deeper than {MOST_DEPTH}") from None
    except (ValueError, ArithmeticError) as error:
        raise Fault("json", at, f"found no JSON: {error}") from None


_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[{]++|[\]}]++', re.DOTALL)


def _depth(text: str) -> int:
    """How deep a JSON text nests, strings left out."""
    deepest = depth = 0
    for found in _BRACKETS.finditer(text):
        part = found[0]
        if part[0] in "[{":
            depth += len(part)
            deepest = max(deepest, depth)
        elif part[0] != '"':
            depth -= len(part)
    return deepest


def recorded(message: Message) -> list[Message]:
    """The messages in a recording, or the message itself.

    A recording is JSON Lines, or a JSON list, of objects with `topic` and `payload` (a text, or
    JSON that is not yet text). Anything else is one message, and so is each line of JSON Lines.
    """
    body = message.body
    if len(body) > MOST_BYTES:
        return [message]
    if re.match(rb"\s*\[\s*\{", body):
        whole = _or_none(body)
        if isinstance(whole, list) and whole and all(_is_recorded(one) for one in whole):
            return [
                _one(one, replace(message, within=f"{message.within}/{index}"))
                for index, one in enumerate(whole)
            ]
        return [message]
    lines = [(number, line) for number, line in enumerate(body.split(b"\n"), 1) if line.strip()]
    if len(lines) > 1 and body[:1] == b"{" and _or_none(lines[0][1]) is not None:
        return [
            _one(_or_none(line), replace(message, body=line, within=f"line {number}"))
            for number, line in lines
        ]
    return [_one(_or_none(body), message)] if b'"payload"' in body[:_LINE] else [message]


def _or_none(body: bytes) -> Any:
    try:
        return loaded(body.decode(), "")
    except (Fault, UnicodeDecodeError):
        return None


def _is_recorded(one: Any) -> bool:
    return (
        isinstance(one, dict)
        and isinstance(one.get("topic"), str)
        and "payload" in one
        and not one.keys() - {"topic", "payload", "retain", "qos"}
    )


def _one(one: Any, message: Message) -> Message:
    if not _is_recorded(one):
        return message
    payload = one["payload"]
    text = payload if isinstance(payload, str) else json.dumps(payload, default=str)
    return replace(message, body=text.encode("utf-8", "replace"), topic=one["topic"])
