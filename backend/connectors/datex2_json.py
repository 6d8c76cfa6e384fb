"""DATEX II 3 in JSON, as the XML that it stands for.

The JSON mapping puts what XML has as attributes into `idG` and `versionG`, the text of an
enumeration into `value`, and names an element's type by a member: `situationAccident`.
Source: DATEX II version 3.6, JSON encoding.
"""

from __future__ import annotations

import re
from decimal import Decimal
from xml.etree import ElementTree as ET

from citywise.backend.connectors.found import Fault
from citywise.backend.connectors.message import Json, Message, as_json
from citywise.backend.connectors.xml import POINTER, Xml

_TYPED = re.compile(r"[a-z][a-zA-Z]*?([A-Z][a-z]\w*)")
_SUBSTITUTED = ("situationRecord",)


def as_xml(message: Message) -> Xml:
    """A message's JSON as elements, whose pointers lead into it; raises `Fault`."""
    whole = as_json(message)
    if not whole.is_object:
        raise Fault("value", message.within, "found no object, expected a message of DATEX II")
    return Xml(_element("message", whole), message.within)


def _element(name: str, told: Json) -> ET.Element:
    inner = told["value"]
    if told.is_object and len(told.value) == 1 and isinstance(inner.value, str | int | Decimal):
        told = inner  # an enumeration
    if name in _SUBSTITUTED and told.is_object and len(told.value) == 1:
        kind, inner = next(told.items())
        found = _element(name, inner) if inner.is_object else ET.Element(name)
        found.set("type", _type(kind))
        return found
    found = ET.Element(name, {POINTER: told.at})
    if not told.is_object:
        value = told.value
        found.text = "" if value is None else str(value).lower() if value is True else str(value)
        return found
    for key, inner in told.items():
        if key in ("idG", "versionG"):
            found.set(key.removesuffix("G"), inner.name or "")
            continue
        tag = "payloadPublication" if key.endswith("Publication") else key
        for one in inner if inner.is_list else (inner,):
            child = _element(tag, one)
            if tag != key:
                child.set("type", _type(key))
            found.append(child)
    return found


def _type(key: str) -> str:
    """`Accident` of `situationAccident`; a publication's type likewise."""
    found = _TYPED.fullmatch(key)
    return found[1] if found else key
