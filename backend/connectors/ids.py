"""Identifiers of foreign systems, as ours (docs/mqtt.md, docs/connectors.md)."""

from __future__ import annotations

import hashlib
import re

from citywise.backend.connectors.found import Fault
from citywise.backend.kinds import IDENTIFIER

_OURS = re.compile(IDENTIFIER)
_OTHER = re.compile(r"[^A-Za-z0-9_.:-]")
_BEGINS = re.compile(r"[A-Za-z0-9]")
_EVENT = re.compile(r"[^\s\"'/+#\x00-\x1f\x7f]{1,160}")
_KEPT = 55
_DIGITS = 8
_NAME = 200
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]+")


def identifier(foreign: str, at: str) -> str:
    """An id of a sensor or a place: the same where it fits, else its characters and a digest."""
    if not foreign:
        raise Fault("no-id", at, "there is no id; nothing can be said about a thing without one")
    return foreign if _OURS.fullmatch(foreign) else _made_id(foreign)


def event_id(foreign: str, at: str) -> str:
    """An id of an event, which may be longer than one of a sensor."""
    if not foreign:
        raise Fault("no-id", at, "the event has no id, so nobody could say when it is over")
    return foreign if _EVENT.fullmatch(foreign) else _made_id(foreign)


def _made_id(foreign: str) -> str:
    made = _OTHER.sub("_", foreign)
    if not _BEGINS.match(made):
        made = f"x{made}"
    digest = hashlib.sha256(foreign.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{made[:_KEPT]}-{digest[:_DIGITS]}"


def name(told: str | None, otherwise: str) -> str:
    """A name as people see it: one line, at most 200 characters."""
    found = " ".join(_CONTROL.sub(" ", told or "").split())
    return found[:_NAME] or otherwise
