"""Reading query parameters and JSON bodies; what is wrong is named in a problem."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flask import request

from backend.api.problems import ProblemError, bad_parameter
from backend.times import parse_ms

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def only(*names: str) -> None:
    """Refuse query parameters other than `names`, so that a misspelling is noticed."""
    for name in request.args:
        if name not in names:
            expected = ", ".join(names) or "none"
            raise bad_parameter(name, f"unknown parameter; this address takes: {expected}")


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


def json_object() -> dict[str, Any]:
    """The request's body, which must be a JSON object."""
    if not request.is_json:
        raise ProblemError(
            415,
            "unsupported-media-type",
            "Unsupported media type",
            f"the body is {request.mimetype or 'without a type'}; send application/json",
        )
    body = request.get_json(silent=True)
    if not isinstance(body, dict):
        raise ProblemError(400, "bad-body", "Bad body", "the body is not a JSON object")
    return body
