"""Events for readers of feeds: Atom (RFC 4287, with GeoRSS), and CAP 1.2 of each.

Of a city that is simulated or replayed, alerts of CAP are exercises: nobody is to act on them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as Xml

from citywise.backend.times import from_ms, iso, parse_ms

Event = Mapping[str, Any]
ATOM = "http://www.w3.org/2005/Atom"
GEORSS = "http://www.georss.org/georss"
CAP = "urn:oasis:names:tc:emergency:cap:1.2"
CAP_TYPE = "application/cap+xml"
_SEVERITIES = ("Unknown", "Minor", "Moderate", "Severe", "Extreme")
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NO_IDENTIFIER = re.compile(r"[\s,<&]")


@dataclass(frozen=True)
class Words:
    """What events are called in the language of a feed."""

    language: str
    title: str
    level: str
    """With `{level}`."""
    over: str
    names: Mapping[str, str]
    """Of types of events."""

    def of(self, event: Event) -> str:
        """An event in a few words."""
        name = self.names.get(event["type"], event["type"].rpartition("#")[2])
        return f"{name}: {event['place']['name']}"

    def about(self, event: Event) -> str:
        """How bad it is, and whether it is over."""
        told = self.level.format(level=event["level"])
        return f"{told}. {self.over}: {event['end']}" if event["end"] else f"{told}."


def atom(events: Iterable[Event], words: Words, base: str, own: str, now_ms: int) -> bytes:
    """A feed of events; `base` is where the pages are, `own` the feed's address."""
    feed = Xml.Element("feed", {"xmlns": ATOM, "xmlns:georss": GEORSS, "xml:lang": words.language})
    found = list(events)
    updated = max((changed_ms(event) for event in found), default=now_ms)
    _add(feed, "id", own)
    _add(feed, "title", words.title)
    _add(feed, "updated", iso(updated))
    _link(feed, "self", own, "application/atom+xml")
    _link(feed, "alternate", f"{base}/", "text/html")
    _add(_add(feed, "author"), "name", "Citywise")
    for event in found:
        _entry(feed, event, words, base)
    return _written(feed)


def _entry(feed: Xml.Element, event: Event, words: Words, base: str) -> None:
    entry = _add(feed, "entry")
    address = f"{base}/api/v1/events/{_quoted(event['id'])}"
    _add(entry, "id", address)
    _add(entry, "title", words.of(event))
    _add(entry, "published", event["start"])
    _add(entry, "updated", iso(changed_ms(event)))
    _link(entry, "alternate", address, "application/json")
    _link(entry, "related", f"{address}/cap", CAP_TYPE)
    _add(entry, "summary", words.about(event))
    entry.append(Xml.Element("category", {"term": _clean(event["type"])}))
    place = event["place"]
    if place["lat"] is not None:
        _add(entry, "georss:point", f"{place['lat']:.6f} {place['lon']:.6f}")


def changed_ms(event: Event) -> int:
    """When an event was last confirmed, ended or withdrawn (Unix ms)."""
    times = (event["start"], event["confirmed"], event["end"], event.get("withdrawn"))
    return max(parse_ms(time) for time in times if time is not None)


def cap(event: Event, words: Words, base: str, category: str, *, is_real: bool) -> bytes:
    """An alert for an event as it is now. When it is confirmed or over it is an update of the alert
    of its begin; one that is over says that all is clear, one that never was cancels it."""
    alert = Xml.Element("alert", {"xmlns": CAP})
    sender, start = _host(base), parse_ms(event["start"])
    sent, is_over = changed_ms(event), event["end"] is not None
    first = f"{event['id']}.{start}"
    _add(alert, "identifier", _identifier(first if sent == start else f"{event['id']}.{sent}"))
    _add(alert, "sender", sender)
    _add(alert, "sent", _cap_time(sent))
    _add(alert, "status", "Actual" if is_real else "Exercise")
    kind = "Cancel" if event.get("withdrawn") else "Alert" if sent == start else "Update"
    _add(alert, "msgType", kind)
    _add(alert, "scope", "Public")
    if sent != start:
        _add(alert, "references", f"{sender},{_identifier(first)},{_cap_time(start)}")
    info = _add(alert, "info")
    _add(info, "language", words.language)
    _add(info, "category", category)
    _add(info, "event", words.of(event).partition(":")[0])
    if is_over:
        _add(info, "responseType", "AllClear")
    _add(info, "urgency", "Past" if is_over else "Immediate")
    _add(info, "severity", _SEVERITIES[min(max(event["level"], 1), 5) - 1])
    _add(info, "certainty", "Observed")
    _add(info, "onset", _cap_time(start))
    if event["end"]:
        _add(info, "expires", _cap_time(parse_ms(event["end"])))
    _add(info, "senderName", "Citywise")
    _add(info, "headline", words.of(event)[:160])
    _add(info, "description", words.about(event))
    _add(info, "web", f"{base}/api/v1/events/{_quoted(event['id'])}")
    area, place = _add(info, "area"), event["place"]
    _add(area, "areaDesc", place["name"])
    if place["lat"] is not None:
        _add(area, "circle", f"{place['lat']:.6f},{place['lon']:.6f} 0.1")
    return _written(alert)


def _cap_time(ms: int) -> str:
    """Without fractions, and with an offset in figures: CAP knows no `Z`."""
    return from_ms(ms).strftime("%Y-%m-%dT%H:%M:%S-00:00")


def _identifier(text: str) -> str:
    return _NO_IDENTIFIER.sub("_", text)


def _host(base: str) -> str:
    return _identifier(base.partition("://")[2] or base)


def _quoted(text: str) -> str:

    return quote(text, safe="")


def _clean(text: object) -> str:
    """Without characters that XML cannot hold: what something is called may come from anywhere."""
    return _FORBIDDEN.sub("�", str(text))


def _add(parent: Xml.Element, tag: str, text: object | None = None) -> Xml.Element:
    child = Xml.SubElement(parent, tag)
    if text is not None:
        child.text = _clean(text)
    return child


def _link(parent: Xml.Element, relation: str, address: str, form: str) -> None:
    Xml.SubElement(parent, "link", {"rel": relation, "href": _clean(address), "type": form})


def _written(root: Xml.Element) -> bytes:
    found: bytes = Xml.tostring(root, "utf-8", xml_declaration=True)
    return found
