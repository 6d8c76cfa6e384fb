"""CAP 1.1 and 1.2: public alerts as events.

An alert is one event, whatever languages it is in; an update ends those that it refers to, and a
cancellation or an all-clear ends without beginning anything. Exercises and tests are no events.
Source: OASIS Common Alerting Protocol 1.2, section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator

from citywise.backend.connectors import times
from citywise.backend.connectors.connector import Connector
from citywise.backend.connectors.events import event, level, nearest
from citywise.backend.connectors.found import Event, Fault, Finds, Unknown, refused
from citywise.backend.connectors.geometry import Position, around, circle, line, position
from citywise.backend.connectors.message import Message
from citywise.backend.connectors.xml import Xml, as_xml

_CLASSES = {"Met": "WeatherEvent", "Env": "EnvironmentEvent", "Transport": "TransportationEvent"}
_BEGINS, _ENDS = frozenset(("Alert", "Update")), frozenset(("Update", "Cancel"))


class Cap(Connector):
    """See the module."""

    name = "cap"
    title = "CAP 1.1 and 1.2: public alerts, alone or in a feed"

    def things(self, message: Message) -> Finds:
        root = as_xml(message)
        alerts = [root] if root.tag == "alert" else list(root.within("alert"))
        if not alerts:
            yield Unknown(root.tag, root.at)
        for alert in alerts:
            try:
                yield from self._alert(alert, message.at_ms)
            except Fault as fault:
                yield refused(fault)

    def _alert(self, alert: Xml, at_ms: int | None) -> Finds:
        status, kind = alert.said("status"), alert.said("msgType")
        if status != "Actual":
            yield Unknown(f"alert ({status or 'without status'})", alert.at)
            return
        if kind in _ENDS:
            yield from self._referred(alert)
        if kind not in _BEGINS:
            if kind != "Cancel":
                yield Unknown(f"alert ({kind or 'without msgType'})", alert.at)
            return
        infos = _preferred(list(alert.every("info")))
        if not infos:
            yield Unknown("alert without info", alert.at)
        elif all(_is_all_clear(info) for info in infos):
            yield Event(self.desk.event(alert.said("identifier"), alert.at), None)
        else:
            yield self._event(alert, infos, at_ms)

    def _referred(self, alert: Xml) -> Finds:
        """The ends of the alerts that one refers to: `sender,identifier,sent …`."""
        told = alert.child("references")
        for one in (told.text or "").split() if told is not None else ():
            parts = one.split(",")
            if len(parts) >= 2 and told is not None:
                yield Event(self.desk.event(parts[1], told.at), None)

    def _event(self, alert: Xml, infos: list[Xml], at_ms: int | None) -> Event:
        worst = max(infos, key=lambda info: level(info.said("severity")))
        categories = [one.text or "" for one in worst.every("category")]
        otherwise = next((_CLASSES[one] for one in categories if one in _CLASSES), "CityEvent")
        if "Fire" in categories or "Geo" in categories:
            otherwise = "CityEvent"
        starts = [time for info in infos if (time := _time(info, "onset", "effective")) is not None]
        ends = [time for info in infos if (time := _time(info, "expires")) is not None]
        outline = around(shape for info in infos for shape in _areas(info))
        return event(
            self.desk, alert.said("identifier"), alert.at,
            type_name=nearest(worst.said("event") or "", otherwise),
            severity=level(worst.said("severity")),
            geometry=line(outline, alert.at) if outline else None,
            start_ms=min(starts, default=_time(alert, "sent")),
            end_ms=max(ends) if len(ends) == len(infos) else None,
            now_ms=at_ms,
            name=worst.said("headline") or worst.said("event"),
        )  # fmt: skip


def _preferred(infos: list[Xml]) -> list[Xml]:
    """The blocks of one language: English if there is any, else the first one's."""
    languages = [info.said("language") or "en-US" for info in infos]
    english = next((one for one in languages if one.lower().startswith("en")), None)
    chosen = english or next(iter(languages), None)
    return [info for info, one in zip(infos, languages, strict=True) if one == chosen]


def _is_all_clear(info: Xml) -> bool:
    return any(one.text == "AllClear" for one in info.every("responseType"))


def _time(about: Xml, *names: str) -> int | None:
    for name in names:
        told = about.child(name)
        if told is not None and (found := times.instant(told.text, told.at)) is not None:
            return found
    return None


def _areas(info: Xml) -> Iterator[list[Position]]:
    """The outlines of polygons and circles; the latitude stands first."""
    for polygon in info.every("area", "polygon"):
        if polygon.text:
            yield [_pair(pair, polygon.at) for pair in polygon.text.split()]
    for told in info.every("area", "circle"):
        middle, _blank, radius = (told.text or "").partition(" ")
        try:
            radius_km = float(radius)
        except ValueError:
            radius_km = -1.0
        if not 0 <= radius_km < 20_000:
            raise Fault(
                "geometry", told.at, f"found {(told.text or '')[:40]!r}, expected `lat,lon km`"
            )
        yield circle(_pair(middle, told.at), radius_km * 1000)


def _pair(text: str, at: str) -> Position:
    lat, _comma, lon = text.partition(",")
    return position(lon, lat, at)
