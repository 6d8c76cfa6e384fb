"""A notice as the API, the event stream and `citywise replay` show it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from citywise.backend.city.events import cause_object
from citywise.backend.times import iso, iso_or_none

LANGUAGE = "en"
"""That of an app's own texts."""
_HOLE = re.compile(r"\{(?P<name>[^{}:]*)(?P<length>:length)?\}")
_CLAUSE = re.compile(r"\[([^\[\]]*\{[^{}]*\}[^\[\]]*)\]")
_WITH_POINT = frozenset({"en", "he", "hi", "ja", "ko", "th", "zh"})
"""Languages that write a decimal point; the others write a comma."""
_UNKNOWN = "…"


@dataclass(frozen=True)
class Wording:
    """Title and text of a kind of notice in one language, as `filled` takes them."""

    title: str
    text: str


Wordings = Mapping[str, Wording]
"""By language; English is always there."""


def filled(text: str, values: Mapping[str, Any], language: str = LANGUAGE) -> str:
    """`text` with each `{name}` replaced, and of `{name:length}` metres as `420 m` or `2.9 km`; a
    value that is missing leaves `…`, and of a part in brackets, `[, {name} m away]`, nothing."""

    def clause(found: re.Match[str]) -> str:
        names = (hole["name"] for hole in _HOLE.finditer(found[1]))
        return found[1] if all(name in values for name in names) else ""

    def value(hole: re.Match[str]) -> str:
        found = values.get(hole["name"], _UNKNOWN)
        is_length = hole["length"] is not None and isinstance(found, int | float)
        return _length(found, language) if is_length else str(found)

    return _HOLE.sub(value, _CLAUSE.sub(clause, text))


def _length(metres: float, language: str) -> str:
    """As the pages have lengths: whole metres, or kilometres with one decimal."""
    if metres < 999.5:
        return f"{metres:.0f} m"
    text = f"{metres / 1000:.1f} km"
    return text if language.split("-")[0] in _WITH_POINT else text.replace(".", ",")


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
    spoken = {name: _worded(found, values, name) for name, found in wordings.items()}
    chosen = spoken.get(language) or spoken.get(LANGUAGE) or _worded(plain, values)
    taken_back, amended = notice.get("taken_back"), notice.get("amended")
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
        "advice": advice_object(notice.get("advice"), language),
        **({"taken_back": [cause_object(one) for one in taken_back]} if taken_back else {}),
        **({"amended": _amended(amended)} if amended else {}),
        **({"late_s": late_ms // 1000} if (late_ms := notice.get("late_ms")) else {}),
    }


def _amended(amended: Mapping[str, Any]) -> dict[str, Any]:
    """What a notice was before readings changed it, and which readings did."""
    because = [cause_object(one) for one in amended["because"]]
    return {"was": {"criticality": amended["was"]}, "because": because}


def advice_object(advice: Mapping[str, Any] | None, language: str) -> dict[str, Any] | None:
    """What an app proposes to do about a notice; its `text` in `language` if the app says it."""
    if advice is None:
        return None
    return {**advice, "text": advice.get("texts", {}).get(language) or advice["text"]}


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


def _worded(
    wording: Wording, values: Mapping[str, Any], language: str = LANGUAGE
) -> dict[str, str]:
    said = {"title": wording.title, "text": wording.text}
    return {part: filled(text, values, language) for part, text in said.items()}
