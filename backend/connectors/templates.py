"""The templates of Home Assistant that say where a value stands: `{{ value_json.t | float / 10 }}`.

A path, then filters and arithmetic with a number: what devices announce. Other templates of Jinja
are programs, which strangers' devices do not get to run here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from citywise.backend.connectors.found import Fault
from citywise.backend.connectors.message import Json
from citywise.backend.connectors.values import is_absent, number

_WHOLE = re.compile(r"\s*\{\{-?\s*(.*?)\s*-?\}\}\s*", re.DOTALL)
_PATH = re.compile(
    r"\(?\s*(value_json|value)((?:\s*\.\s*[A-Za-z_]\w*|\[\s*(?:'[^']*'|\"[^\"]*\"|\d+)\s*\])*)\s*"
)
_STEP = re.compile(r"\.\s*([A-Za-z_]\w*)|\[\s*(?:'([^']*)'|\"([^\"]*)\"|(\d+))\s*\]")
_FILTER = re.compile(r"\|\s*([a-z_]+)\s*(?:\(\s*([^()]*)\s*\))?\s*")
_SUM = re.compile(r"\)?\s*([*/+-])\s*(\d+(?:\.\d+)?)\s*\)?\s*")
_KEEPING = frozenset(("float", "int", "is_defined", "default", "string", "trim", "abs"))
_SUMS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "*": lambda a, b: a * b, "/": lambda a, b: a / b,
    "+": lambda a, b: a + b, "-": lambda a, b: a - b,
}  # fmt: skip


_PRESENCE = frozenset(("online", "offline"))
"""What devices say of themselves where others would be told what they measure."""


def value_of(template: str | None, payload: Json, raw: str) -> tuple[Any, str]:
    """The value that a template takes from a payload, and where it stands.

    `payload` is the JSON, `raw` the text. Raises `Fault` if the template does anything else.
    """
    if not template:
        return raw, payload.at
    whole = _WHOLE.fullmatch(template)
    path = _PATH.match(whole[1]) if whole else None
    if whole is None or path is None:
        raise _fault(template, payload.at)
    found = payload if path[1] == "value_json" else Json(raw, payload.at)
    is_leaf = not (found.is_object or found.is_list)
    if path[2] and is_leaf and not is_absent(raw) and raw.lower() not in _PRESENCE:
        raise Fault("value", payload.at, f"found no JSON that {template[:60]!r} can look into")
    for name, single, double, index in _STEP.findall(path[2] or ""):
        found = _item(found, int(index)) if index else found[name or single or double]
    return _computed(found.value, whole[1][path.end() :], template, found.at), found.at


def _item(found: Json, index: int) -> Json:
    items = list(found)
    return items[index] if index < len(items) else Json(None, f"{found.at}/{index}")


def _computed(value: Any, rest: str, template: str, at: str) -> Any:
    while rest.strip(" )"):
        if step := _FILTER.match(rest):
            if step[1] == "round" and not is_absent(value):
                digits = int(step[2]) if (step[2] or "").isdigit() else 0
                value = _text(Fraction(round(number(value, at), digits)))
            elif step[1] not in _KEEPING and step[1] != "round":
                raise _fault(template, at)
        elif step := _SUM.match(rest):
            by = Fraction(step[2])
            if step[1] == "/" and not by:
                raise _fault(template, at)
            value = value if is_absent(value) else _text(_SUMS[step[1]](number(value, at), by))
        else:
            raise _fault(template, at)
        rest = rest[step.end() :]
    return value


def _text(found: Fraction) -> str:
    return str(found.numerator) if found.denominator == 1 else f"{float(found)!r}"


def _fault(template: str, at: str) -> Fault:
    said = f"found {template[:60]!r}, expected a template like {{{{ value_json.temperature }}}}"
    return Fault("template", at, said)
