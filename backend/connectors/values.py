"""Values of foreign messages as those of a field: exact, in its unit, rounded to its step."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from citywise.backend.connectors.found import Fault
from citywise.backend.kinds import Field
from citywise.backend.kinds.units import UnitError, convert

NO_DATA = frozenset(
    ("", "nan", "null", "none", "unknown", "unavailable", "n/a", "na", "-", "--", "undefined")
)
"""Texts that stand for no value, in lower case."""
_TRUE, _FALSE = frozenset(("true", "on", "yes", "1")), frozenset(("false", "off", "no", "0"))
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?")
_MOST_DIGITS = 30
_SHORT = 40
_DEPTH = 20
_LARGEST = 2**63 - 1


def is_absent(raw: object) -> bool:
    """Whether a value says that there is none."""
    if isinstance(raw, Decimal):
        return raw.is_nan()
    return raw is None or (isinstance(raw, str) and raw.strip().lower() in NO_DATA)


def number(raw: object, at: str) -> Fraction:
    """An exact number; raises `Fault` if it is none. A text may hold one."""
    found: Decimal | None = None
    if isinstance(raw, int | Decimal) and not isinstance(raw, bool):
        found = Decimal(raw)
    elif isinstance(raw, str) and _NUMBER.fullmatch(raw.strip()):
        try:
            found = Decimal(raw.strip())
        except InvalidOperation:
            found = None
    if found is None or not found.is_finite():
        raise Fault("number", at, f"found {_excerpt(raw)}, expected a number")
    if found and not -_MOST_DIGITS <= found.adjusted() <= _MOST_DIGITS:
        raise Fault("range", at, f"found {_excerpt(raw)}, which is beyond all measure")
    return Fraction(found)


def fitted(field: Field, raw: object, unit: str | None, at: str) -> Any:
    """A value of a field, in its unit and of its step; raises `Fault`.

    Without `unit` the value is taken to be in the field's own.
    """
    match field.type:
        case "boolean":
            return _boolean(raw, at)
        case "text":
            return _text(raw, at)
        case "category":
            name = _text(raw, at)
            if name not in field.values:
                expected = ", ".join(field.values)
                raise Fault("value", at, f"found {_excerpt(raw)}, expected one of {expected}")
            return name
    found = number(raw, at)
    if unit is not None:
        found = _converted(found, unit, field, at)
    rounded = _rounded(found, field)
    low, high = field.bounds
    if not low <= rounded <= high:
        in_unit = f" {field.unit}" if field.unit else ""
        said = f"found {float(found):g}{in_unit}, expected {low:g} to {high:g}"
        raise Fault("range", at, said)
    return rounded


def _converted(found: Fraction, unit: str, field: Field, at: str) -> Fraction:
    if field.unit is None or unit == field.unit:
        return found
    try:
        return convert(found, unit, field.unit)
    except UnitError as error:
        raise Fault("unit", at, str(error)) from None


def _rounded(found: Fraction, field: Field) -> int | float:
    """To the field's step, half to even."""
    step = Fraction(str(field.step)) if field.step is not None else None
    if step is None and field.type == "integer":
        step = Fraction(1)
    if step is not None:
        found = round(found / step) * step
    return int(found) if found.denominator == 1 else float(found)


def _boolean(raw: object, at: str) -> bool:
    if isinstance(raw, bool):
        return raw
    text = str(raw).strip().lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise Fault("value", at, f"found {_excerpt(raw)}, expected true or false")


def _text(raw: object, at: str) -> str:
    if isinstance(raw, str) and raw.strip():
        return whole(raw.strip())
    if isinstance(raw, int | Decimal) and not isinstance(raw, bool):
        return str(raw)
    raise Fault("value", at, f"found {_excerpt(raw)}, expected a text")


def _excerpt(raw: object) -> str:
    if isinstance(raw, Decimal):
        return str(raw)[:_SHORT]
    return repr(raw)[:_SHORT] if not isinstance(raw, list | dict) else "a list or an object"


def plain(raw: Any, depth: int = 0) -> Any:
    """A raw value as JSON can hold it: decimals as numbers, what is none as null."""
    if isinstance(raw, Decimal):
        if not raw.is_finite():
            return None
        if raw == raw.to_integral_value() and abs(raw.adjusted()) < 16:
            return int(raw)
        found = float(raw)
        return found if abs(found) != float("inf") else str(raw)
    if isinstance(raw, str):
        return whole(raw)
    if isinstance(raw, int) and abs(raw) > _LARGEST:
        return str(raw)
    if isinstance(raw, dict | list) and depth >= _DEPTH:
        return None
    if isinstance(raw, dict):
        return {whole(str(key)): plain(value, depth + 1) for key, value in raw.items()}
    return [plain(value, depth + 1) for value in raw] if isinstance(raw, list) else raw


def whole(text: str) -> str:
    """A text without halves of characters, which JSON can name and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode()
