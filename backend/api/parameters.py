"""Reading query parameters and JSON bodies; what is wrong is named in a problem."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeVar

import orjson
from flask import request
from pydantic import BaseModel, TypeAdapter, ValidationError

from citywise.backend.api.body_faults import faults as faults
from citywise.backend.api.languages import LANGUAGES, chosen
from citywise.backend.api.problems import ProblemError, bad_parameter, invalid
from citywise.backend.kinds import Identifier
from citywise.backend.packs.guesses import did_you_mean as did_you_mean
from citywise.backend.packs.values import show as show
from citywise.backend.times import parse_ms

_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def only(*names: str) -> None:
    """Refuse query parameters other than `names`, so that a misspelling is noticed."""
    controlled()
    for name in request.args:
        if name not in names:
            expected = ", ".join(names) or "none"
            raise bad_parameter(name, f"unknown parameter; this address takes: {expected}")


def controlled() -> None:
    """Refuse control characters in query parameters or in the path: no name or id holds any, and
    PostgreSQL fails on some."""
    for name, value in (*request.args.items(multi=True), *(request.view_args or {}).items()):
        if _CONTROL.search(f"{name}{value}"):
            raise bad_parameter(name, f"{value!r} holds a control character; leave it out")


def choices(name: str, allowed: Iterable[str] | None = None) -> list[str]:
    """The values of a parameter that may be repeated or hold a comma-separated list."""
    values = [part for text in request.args.getlist(name) for part in text.split(",") if part]
    if allowed is not None:
        known = list(allowed)
        for value in values:
            if value not in known:
                raise bad_parameter(name, f"{value!r} is not one of {', '.join(known)}")
    return values


def instant(name: str) -> int | None:
    """A time in Unix milliseconds, or None where the parameter is absent."""
    text = request.args.get(name)
    if text is None:
        return None
    try:
        return parse_ms(text)
    except ValueError:
        raise bad_parameter(
            name,
            f"{text!r} is not a time in ISO 8601 with a zone, such as 2014-08-05T07:30:00Z",
        ) from None


def span() -> tuple[int | None, int | None]:
    """`from` and `until` in Unix milliseconds, in this order."""
    begin, end = instant("from"), instant("until")
    if begin is not None and end is not None and end < begin:
        raise bad_parameter("until", "lies before `from`")
    return begin, end


def cursor() -> tuple[int, str] | None:
    """Where a page goes on: time (Unix ms) and id of the last object before (see `next`)."""
    text = request.args.get("cursor")
    if not text:
        return None
    time, separator, last = text.partition("~")
    if not separator or not re.fullmatch(r"-?\d{1,15}", time, re.ASCII):
        raise bad_parameter("cursor", f"{text!r} is not a cursor given as `next` before")
    return int(time), last


def boolean(name: str) -> bool | None:
    """`true` or `false`, or None where the parameter is absent."""
    text = request.args.get(name)
    if text is None:
        return None
    if text.lower() not in _BOOLEANS:
        raise bad_parameter(name, f"{text!r} is neither true nor false")
    return _BOOLEANS[text.lower()]


def integer(name: str, default: int | None, lowest: int, highest: int) -> int | None:
    """A whole number between `lowest` and `highest`."""
    text = request.args.get(name)
    if text is None:
        return default
    try:
        value = int(text)
    except ValueError:
        value = lowest - 1
    if not lowest <= value <= highest:
        raise bad_parameter(name, f"{text!r} is not a whole number from {lowest} to {highest}")
    return value


def checked_identifier(name: str, text: str) -> str:
    """An id of a user, an instance or an app: `text`, if it may be one."""
    try:
        return _IDENTIFIER.validate_python(text)
    except ValidationError:
        raise bad_parameter(
            name,
            f"{text!r} is not an id; write 1 to 64 of A-Z a-z 0-9 _ . : - and begin with a "
            "letter or digit",
        ) from None


def identifier(name: str) -> str | None:
    """The id of a user, an instance or an app, or None where the parameter is absent."""
    text = request.args.get(name)
    return None if text is None else checked_identifier(name, text)


Body = TypeVar("Body", bound=BaseModel)


def body(model: type[Body]) -> Body:
    """The request's body; raises a problem with everything that is wrong with it."""
    json_object()
    try:
        return model.model_validate_json(request.get_data())
    except ValidationError as error:
        names = (field.alias or name for name, field in model.model_fields.items())
        raise invalid(faults(error, names)) from None


def json_object() -> dict[str, Any]:
    """The request's body, which must be a JSON object."""
    found = json_body()
    if not isinstance(found, dict):
        raise _bad_body("the body is not a JSON object")
    return found


def json_body() -> Any:
    """The request's body, which must be JSON."""
    if not request.is_json:
        raise ProblemError(
            415,
            "unsupported-media-type",
            "Unsupported media type",
            f"the body is {request.mimetype or 'without a type'}; send application/json",
        )
    try:
        # Not Flask's own reader: it fails on deep nesting, and takes what orjson cannot write.
        found = orjson.loads(request.get_data())
    except orjson.JSONDecodeError as error:
        raise _bad_body(f"the body is not a JSON object: {error}") from None
    if b"u0000" in request.get_data() and _has_nul(found):
        raise _bad_body("a text in the body has the character U+0000; leave it out")
    return found


def _has_nul(value: Any) -> bool:
    """Whether a text in a value of JSON has U+0000."""
    if isinstance(value, dict):
        return _has_nul([*value, *value.values()])
    return any(map(_has_nul, value)) if isinstance(value, list) else "\0" in str(value)


def _bad_body(detail: str) -> ProblemError:
    return ProblemError(400, "bad-body", "Bad body", detail)


def language() -> str:
    """The language of an answer: `lang=`, else as the pages choose it."""
    found = choices("lang", LANGUAGES)
    return found[0] if found else chosen(request)
