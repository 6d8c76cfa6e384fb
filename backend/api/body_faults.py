"""What is wrong with a body, in words for the person who sent it."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from citywise.backend.api import problems
from citywise.backend.kinds import IDENTIFIER
from citywise.backend.packs.guesses import did_you_mean
from citywise.backend.packs.values import show

_SHOULD_BE = "Input should be "
_FORMS = {
    IDENTIFIER: "1 to 64 of A-Z a-z 0-9 _ . : -, the first a letter or digit",
    "^[a-z][a-z0-9_]{0,31}$": "1 to 32 of a-z 0-9 _, the first a letter",
}


def faults(error: ValidationError, fields: Iterable[str]) -> list[dict[str, str]]:
    """It, as `problems.invalid` takes it; `fields` are those that the body may have."""
    known = list(fields)
    return problems.faults(error, lambda fault: _message(fault, known))


def _message(fault: ErrorDetails, fields: list[str]) -> str:
    kind, context, said = fault["type"], fault.get("ctx", {}), fault["msg"]
    if kind == "missing":
        return "found nothing, but it is needed"
    if kind == "extra_forbidden":
        outermost = len(fault["loc"]) == 1
        name = str(fault["loc"][-1])
        return f"there is no such field; {did_you_mean(name, fields * outermost, 'leave it out')}"
    if kind == "value_error":
        return str(context["error"])
    if kind == "string_pattern_mismatch":
        pattern = str(context["pattern"])
        return f"found {show(fault['input'])}, expected {_FORMS.get(pattern, pattern)}"
    if said.startswith(_SHOULD_BE):
        return f"found {show(fault['input'])}, expected {said.removeprefix(_SHOULD_BE)}"
    return said[:1].lower() + said[1:]
