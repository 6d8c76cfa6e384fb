"""What pydantic finds wrong with a manifest, said to the person who wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from citywise.backend.ingest.standing import PACK_NAME
from citywise.backend.kinds import builtin
from citywise.backend.packs.forms import KINDS as FORMS
from citywise.backend.packs.guesses import did_you_mean
from citywise.backend.packs.manifest import VERSION
from citywise.backend.packs.parameters import TYPES
from citywise.backend.packs.toml_places import Places
from citywise.backend.packs.values import one_of, show
from citywise.reasoning import Finding

_OF_NUMBERS = ("int_type", "float_type")
_PATTERNS = {
    PACK_NAME: "a name of lower-case letters, digits and `_`, a letter first, at most 32 of them",
    VERSION: 'three numbers such as "1.0.0"',
}


def findings(error: ValidationError, root: type[BaseModel], places: Places) -> Iterator[Finding]:
    """One finding for each fault, at the key that is at fault."""
    told = set()
    for fault in error.errors(include_url=False):
        key = _without_tag(fault["loc"])
        if fault["type"] in _OF_NUMBERS and key[-1:] in (("int",), ("float",)):
            key = key[:-1]  # of a number that may be either, both are said
        if key in told:
            continue
        told.add(key)
        if fault["type"].startswith("union_tag"):
            key = (*key, "form" if _are_forms(fault["loc"]) else "type")
        code, message = _words(fault, key, _fields(root, fault["loc"]))
        yield Finding(places.location(key), "error", code, message)


def _without_tag(location: Sequence[str | int]) -> tuple[str, ...]:
    """The keys as written: pydantic names the type of a parameter between them, and says
    `[key]` where a table's key is at fault."""
    keys = [str(key) for key in location if key != "[key]"]
    if tag := _tag(location):
        del keys[tag]
    return tuple(keys)


def _tag(location: Sequence[str | int]) -> int | None:
    """Where in a location the type of a parameter or form is named: after
    `templates.T.parameters.P`, `templates.T.forms.F` or `settings.S`."""
    at = {"templates": 4, "settings": 2}.get(str(location[0]))
    types = FORMS if _are_forms(location) else TYPES
    return at if at and len(location) > at and location[at] in types else None


def _are_forms(location: Sequence[str | int]) -> bool:
    return location[0] == "templates" and location[2:3] == ("forms",)


def _fields(root: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """The keys that may stand beside the one at fault."""
    model: type[BaseModel] = root
    if tag := _tag(location):
        model = (FORMS if _are_forms(location) else TYPES)[str(location[tag])]
    elif len(location) > 2 and location[0] in root.model_fields:
        annotation = root.model_fields[str(location[0])].annotation
        model = getattr(annotation, "__args__", (str, root))[1]
    return list(model.model_fields)


def _words(fault: ErrorDetails, key: tuple[str, ...], fields: list[str]) -> tuple[str, str]:
    """Code and message of a fault; `fields` are the keys that may stand there."""
    name, value = ".".join(key), fault.get("input")
    match fault["type"]:
        case "extra_forbidden":
            hint = did_you_mean(key[-1], fields, f"there are {', '.join(fields)}")
            return "unknown-key", f"`{name}`: no such key; {hint}"
        case "missing":
            return "missing-key", f"`{name}` is missing; add `{key[-1]} = …`"
        case "union_tag_not_found":
            there = FORMS if key[-1] == "form" else TYPES
            return "missing-key", f"`{name}` is missing; give {one_of(list(there))}"
        case "union_tag_invalid":
            given = value.get(key[-1]) if isinstance(value, dict) else None
            said = _choice(given, list(FORMS)) if key[-1] == "form" else _type(given)
            return "type", f"`{name}`: {said}"
        case "literal_error":
            choices = re.findall("'([^']*)'", fault["ctx"]["expected"])
            return "value", f"`{name}`: {_choice(value, choices)}"
        case "int_type" | "float_type":
            hint = "write it without quotes" if isinstance(value, str) else "write one"
            return "value", f"`{name}`: found {show(value)}, expected a number; {hint}"
        case "string_pattern_mismatch" if fault["ctx"]["pattern"] in _PATTERNS:
            expected = _PATTERNS[fault["ctx"]["pattern"]]
            return "value", f"`{name}`: found {show(value)}, expected {expected}"
        case "value_error":
            return "value", f"`{name}`: {fault['ctx']['error']}"
    return "value", f"`{name}`: found {show(value)}; {_lowered(fault['msg'])}"


def _type(value: JsonValue) -> str:
    if value in builtin().places:
        return f'found {show(value)}; write `type = "place"` and `kind = "{value}"`'
    return _choice(value, list(TYPES))


def _choice(value: JsonValue, choices: list[str]) -> str:
    hint = did_you_mean(str(value), choices, "choose one of them")
    return f"found {show(value)}, expected {one_of(choices)}; {hint}"


def _lowered(message: str) -> str:
    message = message.replace("Input should", "it should")
    return message[:1].lower() + message[1:]
