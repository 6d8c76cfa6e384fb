"""A notice as the API, the event stream and `citywise replay` show it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backend.times import iso, iso_or_none

LANGUAGE = "en"
"""That of an app's own texts."""
_HOLE = re.compile(r"\{([^{}]*)\}")
_PARTS = re.compile(rf"\[([^\[\]]*{_HOLE.pattern}[^\[\]]*)\]|{_HOLE.pattern}")
_UNKNOWN = "…"


@dataclass(frozen=True)
class Wording:
    """Title and text of a kind of notice in one language, as `filled` takes them."""

    title: str
    text: str


Wordings = Mapping[str, Wording]
"""By language; English is always there."""


def filled(text: str, values: Mapping[str, Any]) -> str:
    """`text` with each `{name}` replaced; a value that is missing leaves `…`, and of a part in
    brackets, `[, {name} m away]`, nothing."""

    def part(found: re.Match[str]) -> str:
        clause = found[1]
        if clause is None:
            return str(values.get(found[3], _UNKNOWN))
        if any(name not in values for name in _HOLE.findall(clause)):
            return ""
        return _HOLE.sub(lambda hole: str(values[hole[1]]), clause)

    return _PARTS.sub(part, text)


def notice_object(
    notice: Mapping[str, Any],
    wordings: Wordings,
    language: str = LANGUAGE,
    change: str | None = None,
) -> dict[str, Any]:
    """The object of a row of `notices`, worded in `language`, or in English where the app
    does not speak it; `translations` has its other languages."""
    values = {**notice["details"], "about": notice["about_name"]}
    plain = Wording(notice["kind"], notice["about_name"])
    spoken = {name: _worded(found, values) for name, found in wordings.items()}
    chosen = spoken.get(language) or spoken.get(LANGUAGE) or _worded(plain, values)
    return {
        "id": notice["id"],
        "change": change or ("opened" if notice["closed_ms"] is None else "closed"),
        **{name: notice[name] for name in ("app", "template", "version", "instance", "user")},
        "notice": notice["kind"],
        "about": {
            "id": notice["about"],
            "type": notice["about_type"],
            "name": notice["about_name"],
            "lat": notice["about_lat"],
            "lon": notice["about_lon"],
        },
        "criticality": notice["criticality"],
        **chosen,
        "translations": spoken,
        "details": notice["details"],
        "opened": iso(notice["opened_ms"]),
        "updated": iso(notice["updated_ms"]),
        "closed": iso_or_none(notice["closed_ms"]),
        "closed_because": notice["closed_because"],
    }


def attention_object(notice: Mapping[str, Any]) -> dict[str, Any]:
    """What a row of `notices` says of its user's attention: when they were alerted last, why
    not to the last change, when an alert is due, and what they answered."""
    acknowledged = notice["acknowledged_ms"]
    return {
        "alerted": iso_or_none(notice["alerted_ms"]),
        "held_because": notice["held_because"],
        "due": iso_or_none(None if acknowledged is not None else notice["due_ms"]),
        "acknowledged": iso_or_none(acknowledged),
        "snoozed_until": iso_or_none(notice["snoozed_until_ms"]),
    }


def _worded(wording: Wording, values: Mapping[str, Any]) -> dict[str, str]:
    return {"title": filled(wording.title, values), "text": filled(wording.text, values)}
