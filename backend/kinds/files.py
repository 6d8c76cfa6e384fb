"""Reading the file of a kind, and saying all that is wrong with it where it stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from citywise.backend.kinds import ucum
from citywise.backend.kinds.kind import (
    NAME,
    Field,
    Health,
    Kept,
    Kind,
    LayerSource,
    MapLayer,
    PlaceKind,
)
from citywise.backend.kinds.ucum import NoUnitError
from citywise.backend.kinds.units import meant
from citywise.backend.packs import toml_errors
from citywise.backend.packs.guesses import did_you_mean
from citywise.backend.packs.toml_places import Places
from citywise.backend.packs.values import one_of, show
from citywise.reasoning import Finding, Location

MOST_BYTES = 1_000_000
_BEGIN = re.compile(r"^(?:kind|place)\s*=", re.MULTILINE)
_PARTS: dict[str, type[BaseModel]] = {
    "fields": Field,
    "map": MapLayer,
    "health": Health,
    "history": Kept,
    "layer": LayerSource,
}
_WHOLE = ("version", "least", "stuck_readings", "reliable_pct")
_EXPECTED = {
    "literal_error": "one of {expected}",
    "string_type": "text in quotes",
    "bool_type": "true or false",
    "dict_type": "a table",
    "tuple_type": "a list",
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "finite_number": "a finite number",
    "too_short": "at least {min_length}",
    "too_long": "at most {max_length}",
    "missing_argument": "more",
}


def looks_like(path: Path) -> bool:
    """Whether a file of TOML means to be a kind: it begins with `kind` or `place`."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        return path.name != "app.toml" and bool(_BEGIN.search(file.read(10_000)))


def read(path: Path, findings: list[Finding]) -> Kind | PlaceKind | None:
    """The kind in a file; None where there is an error, which `findings` then has."""
    try:
        raw = path.read_bytes()
        if len(raw) > MOST_BYTES:
            raise ValueError(f"has {len(raw)} bytes, more than {MOST_BYTES}; is it a kind?")
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, ValueError) as error:
        message = error.strerror if isinstance(error, OSError) else str(error)
        code = "encoding" if isinstance(error, UnicodeDecodeError) else "file"
        said = "is not UTF-8 text; save it as UTF-8" if code == "encoding" else message
        findings.append(Finding(Location(str(path), 1, 1), "error", code, said or "unreadable"))
        return None
    return parse(text, str(path), findings)


def parse(text: str, file: str, findings: list[Finding]) -> Kind | PlaceKind | None:
    """As `read`, of a text; `file` is what messages name."""
    places = Places(text, file)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        findings.append(toml_errors.finding(error, file, text))
        return None
    except (RecursionError, ValueError) as error:
        said = "nests too deep" if isinstance(error, RecursionError) else str(error)
        findings.append(Finding(Location(file, 1, 1), "error", "syntax", said))
        return None
    form = PlaceKind if "place" in content and "kind" not in content else Kind
    try:
        found = form.model_validate(content)
    except ValidationError as error:
        findings += _findings(error, form, places)
        return None
    wrong = list(_foreign(found, places))
    findings += [*wrong, *_suspicious(found, places, file)]
    return None if wrong else found


def _foreign(found: Kind | PlaceKind, places: Places) -> Iterator[Finding]:
    """Units that are none of UCUM. A kind that was made before they were looked at stays."""
    for name, about in found.fields.items():
        try:
            ucum.check(about.unit or "1")
        except NoUnitError as error:
            key = ("fields", name, "unit")
            message = f"`{'.'.join(key)}`: {_no_unit(about.unit, error.part)}"
            yield Finding(places.location(key), "error", "unit", message)


def _no_unit(value: JsonValue, part: str) -> str:
    probable = next((unit for unit in meant(str(value)) if _is_unit(unit)), None)
    own = f"what UCUM has no code for stands in braces, `{{{part or 'pieces'}}}`"
    hint = f"write `{probable}`" if probable else did_you_mean(part, ucum.CODES, own)
    of = f"; `{part}` is none" if part and part != value else ""
    return f"found {show(value)}, expected a unit of UCUM, as `ug/m3`{of}; {hint}"


def _is_unit(text: str) -> bool:
    try:
        ucum.check(text)
    except NoUnitError:
        return False
    return True


def _suspicious(found: Kind | PlaceKind, places: Places, file: str) -> Iterator[Finding]:
    name, key = (found.kind, "kind") if isinstance(found, Kind) else (found.place, "place")
    if Path(file).suffix == ".toml" and Path(file).stem != name:
        message = f"`{key}` is `{name}` but the file is `{Path(file).name}`; call both the same"
        yield Finding(places.location((key,)), "warning", "name", message)
    for field, about in found.fields.items():
        if about.type == "decimal" and about.step is None and about.range is None:
            message = f"`fields.{field}` has neither `step` nor `range`; rules cannot compare it"
            cure = "; write its resolution, `step = 0.1`"
            yield Finding(places.location(("fields", field)), "warning", "no-step", message + cure)


def _findings(error: ValidationError, form: type[BaseModel], places: Places) -> Iterator[Finding]:
    """One finding for each key that is at fault."""
    told: set[tuple[str, ...]] = set()
    for fault in error.errors(include_url=False):
        key = _key(fault)
        if key in told:
            continue
        told.add(key)
        code, message = _words(fault, key, _known_keys(form, key))
        yield Finding(places.location(key), "error", code, message)


def _key(fault: ErrorDetails) -> tuple[str, ...]:
    """The keys as written, without the branches of a union that pydantic names among them."""
    drop = ("[key]", "int", "float", "constrained-str")
    key = tuple(str(part) for part in fault["loc"] if part not in drop)
    if fault["type"] == "value_error":  # of a whole table; its text says which key
        within = str(fault["ctx"]["error"]).partition(":")[0].split(".")
        key = (*key, *within)
    return key


def _known_keys(form: type[BaseModel], key: tuple[str, ...]) -> list[str]:
    """The keys that may stand beside the one at fault."""
    model = _PARTS.get(key[0], form) if len(key) > 1 else form
    return list(model.model_fields)


def _words(fault: ErrorDetails, key: tuple[str, ...], known: list[str]) -> tuple[str, str]:
    name, value = ".".join(key), fault.get("input")
    match fault["type"]:
        case "extra_forbidden":
            hint = did_you_mean(key[-1], known, f"there are {', '.join(known)}")
            return "unknown-key", f"`{name}`: no such key; {hint}"
        case "missing" if key in (("kind",), ("place",)):
            return "missing-key", '`kind` is missing; write `kind = "noise"`, or `place = …`'
        case "missing":
            example = {"type": '"decimal"', "geometry": '"point"', "show": '"level"'}
            written = (
                f"[{name}.level]"
                if key == ("fields",)
                else f"{key[-1]} = {example.get(key[-1], '…')}"
            )
            return "missing-key", f"`{name}` is missing; add `{written}`"
        case "value_error":
            said = str(fault["ctx"]["error"])
            return "value", f"`{name}`: {said.partition(':')[2].strip()}"
        case "string_pattern_mismatch" if fault["ctx"]["pattern"] == NAME:
            return "name", f"`{name}`: found {show(value)}, {_NAMES}"
        case "int_type" | "float_type":
            kind = "a whole number" if key[-1] in _WHOLE else "a number"
            hint = "; write it without quotes" if isinstance(value, str) else ""
            return "value", f"`{name}`: found {show(value)}, expected {kind}{hint}"
        case "string_pattern_mismatch" if key[-1:] == ("rdf",):
            return "value", f"`{name}`: found {show(value)}, expected an IRI (https://…)"
        case "string_pattern_mismatch" if key[-1:] == ("unit",):
            return "value", f"`{name}`: {_no_unit(value, str(value))}"
        case "literal_error":
            choices = fault["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
            hint = did_you_mean(str(value), choices, "choose one of them")
            return "value", f"`{name}`: found {show(value)}, expected {one_of(choices)}; {hint}"
    context: dict[str, Any] = fault.get("ctx", {})
    expected = _EXPECTED.get(fault["type"], "")
    try:
        expected = expected.format(**context)
    except KeyError:
        expected = ""
    return "value", f"`{name}`: found {show(value)}, expected {expected or _lowered(fault['msg'])}"


_NAMES = "expected a name of lower-case letters, digits and `_`, a letter first, at most 32 of them"


def _lowered(message: str) -> str:
    message = message.replace("Input should be ", "").replace("String should ", "text that can ")
    return message[:1].lower() + message[1:]
