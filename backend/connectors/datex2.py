"""DATEX II 2 and 3: measured data, car parks and situations, in XML; situations in JSON too.

Publishers choose prefixes, roots and versions of references as they like: elements are found by
local names, sites by their ids. A table of sites makes places and tells what its later status or
measurements mean. Source: DATEX II reference guides 2.3 and 3.x.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from citywise.backend.connectors import datex2_json, times
from citywise.backend.connectors.connector import Connector
from citywise.backend.connectors.datex2_situations import situation
from citywise.backend.connectors.desk import Desk, Draft
from citywise.backend.connectors.found import Fault, Finds, Unknown, refused
from citywise.backend.connectors.geometry import Position, latitudes_first, line, position
from citywise.backend.connectors.message import Message
from citywise.backend.connectors.values import number
from citywise.backend.connectors.xml import Xml, as_xml

_NO_DATA = frozenset(("unknown", "statusUnknown", "noInformationAvailable"))
_HOUR_S = 3600
_USUAL_PERIOD_S = 300
_MOST_SITES = 200_000


@dataclass(slots=True)
class _Site:
    """What a table says of a site that measures."""

    periods: dict[str, int] = field(default_factory=dict)
    """Seconds that a value of an index is about."""
    of_some: set[str] = field(default_factory=set)
    """The indices of values about some sort of vehicles only."""


class Datex2(Connector):
    """See the module."""

    name = "datex2"
    title = "DATEX II 2 and 3: measured data, parking, situations"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._capacities: dict[str, str] = {}
        self._sites: dict[str, _Site] = {}

    def things(self, message: Message) -> Finds:
        body = message.checked().body.lstrip()
        root = datex2_json.as_xml(message) if body[:1] in (b"{", b"[") else as_xml(message)
        publications = list(_publications(root))
        if not publications:
            yield Unknown(root.type, root.at)
        for publication in publications:
            yield from self._publication(publication, message.at_ms)

    def _publication(self, told: Xml, at_ms: int | None) -> Finds:
        published = _time(told.child("publicationTime"))
        now = published if published is not None else at_ms
        readers: dict[str, Callable[[Xml], Finds]] = {
            "situation": lambda one: situation(self.desk, one, at_ms),
            "parkingRecord": self._car_park,
            "parkingRecordStatus": lambda one: self._occupancy(one, now),
            "siteMeasurements": lambda one: self._measurements(one, now),
            "measurementSiteRecord": self._site,
        }
        count = 0
        for one in _records(told, readers.keys()):
            count += 1
            try:
                yield from readers[one.tag](one)
            except Fault as fault:
                yield refused(fault)
        if not count:
            yield Unknown(told.said("genericPublicationName") or told.type, told.at)

    # -- parking ----------------------------------------------------------------------

    def _car_park(self, record: Xml) -> Finds:
        foreign = record.attribute("id")
        found = self.desk.sensor(foreign, record.at)
        capacity = record.said("parkingNumberOfSpaces")
        if capacity and len(self._capacities) < _MOST_SITES:
            self._capacities[foreign or ""] = capacity
        points = where(record.child("parkingLocation") or record)
        name = record.said("parkingName", "values", "value")
        kinds = self.desk.kinds_of(["occupied_places"])
        roles = {"total_places": capacity}
        yield from self.desk.place(found, name, line(points[:1], record.at), kinds, roles)

    def _occupancy(self, record: Xml, now: int | None) -> Finds:
        reference = record.child("parkingRecordReference")
        foreign = reference.attribute("id") if reference is not None else None
        sensor = self.desk.sensor(foreign, record.at)
        observed = _time(record.child("parkingStatusOriginTime"))
        draft = Draft(self.desk, sensor, now if observed is None else observed, record.at)
        told = record.child("parkingOccupancy") or record
        taken, free = (
            told.child("parkingNumberOfOccupiedSpaces"),
            told.child("parkingNumberOfVacantSpaces"),
        )
        says_nothing = record.said("parkingSiteStatus") in _NO_DATA and not (
            _count(taken) or _count(free)
        )
        if says_nothing:
            draft.put("occupied_places", None, None, told.at)
        else:
            self._spaces(draft, told, foreign or "", taken, free)
        for name in ("parkingSiteStatus", "parkingSiteOpeningStatus", "parkingOccupancyTrend"):
            draft.keep(name, record.said(name) or told.said(name))
        yield from draft.finish(record.type)

    def _spaces(
        self, draft: Draft, told: Xml, foreign: str, taken: Xml | None, free: Xml | None
    ) -> None:
        capacity = told.said("parkingNumberOfSpacesOverride") or self._capacities.get(foreign)
        try:
            free_n = None if free is None else _count(free)
            taken_n = None if taken is None else _count(taken)
            all_n = None if capacity is None else int(number(capacity, told.at))
        except Fault as fault:
            draft.refuse(fault)
            return
        if all_n is None and free_n is not None and taken_n is not None:
            all_n = free_n + taken_n
        if taken_n is None and free_n is not None and all_n is not None:
            taken_n = max(all_n - free_n, 0)
        if taken_n is None and free_n is None:
            return
        at = (taken if taken is not None else free or told).at
        draft.put("occupied_places", taken_n, None, at)
        if all_n:
            draft.put("total_places", all_n, None, told.at)

    # -- traffic ----------------------------------------------------------------------

    def _site(self, record: Xml) -> Finds:
        foreign = record.attribute("id")
        found = self.desk.sensor(foreign, record.at)
        site = _Site()
        for told in record.every("measurementSpecificCharacteristics"):
            inner = told.child("measurementSpecificCharacteristics") or told
            if (period := inner.said("period")) is not None:
                site.periods[told.attribute("index") or ""] = int(number(period, inner.at))
            if _is_of_some_vehicles(inner):
                site.of_some.add(told.attribute("index") or "")
        if len(self._sites) < _MOST_SITES:
            self._sites[foreign or ""] = site
        located = record.child("measurementSiteLocation") or record.child("locationReference")
        points = where(located or record)
        name = record.said("measurementSiteName", "values", "value")
        kinds = self.desk.kinds_of(["road_speed"])
        yield from self.desk.place(found, name, line(points, record.at), kinds)

    def _measurements(self, record: Xml, now: int | None) -> Finds:
        reference = record.child("measurementSiteReference")
        foreign = reference.attribute("id") if reference is not None else None
        sensor = self.desk.sensor(foreign, record.at)
        told_time = record.child("measurementTimeDefault")
        if told_time is not None and told_time.text is None:
            told_time = told_time.child("timeValue")
        observed = _time(told_time)
        draft = Draft(self.desk, sensor, now if observed is None else observed, record.at)
        site = self._sites.get(foreign or "", _Site())
        speeds: list[Xml] = []
        flows: list[tuple[Xml, Fraction]] = []
        for value in (*record.every("measuredValue"), *record.every("physicalQuantity")):
            for basic in value.within("basicData"):
                try:
                    self._measured(basic, site, value.attribute("index") or "", speeds, flows)
                except Fault as fault:
                    draft.refuse(fault)
        self._lanes(draft, speeds, flows)
        yield from draft.finish("siteMeasurements")

    def _measured(
        self,
        basic: Xml,
        site: _Site,
        index: str,
        speeds: list[Xml],
        flows: list[tuple[Xml, Fraction]],
    ) -> None:
        """A speed in km/h, or a flow in vehicles per hour as vehicles in its period."""
        if any(one.text == "true" for one in basic.within("dataError")):
            return
        if index in site.of_some or _is_of_some_vehicles(basic):
            return
        speed = next(basic.within("speed"), None)
        if basic.type == "TrafficSpeed" and speed is not None and not _is_none(speed):
            speeds.append(speed)
        flow = next(basic.within("vehicleFlowRate"), None)
        if basic.type == "TrafficFlow" and flow is not None and not _is_none(flow):
            told = basic.said("measurementOrCalculationPeriod")
            seconds = number(told, basic.at) if told else Fraction(self._seconds(site, index))
            flows.append((flow, number(flow.text, flow.at) * seconds / _HOUR_S))

    @staticmethod
    def _lanes(draft: Draft, speeds: list[Xml], flows: list[tuple[Xml, Fraction]]) -> None:
        """Of several lanes the flows are added, and the mean of the speeds is taken."""
        try:
            if speeds:
                total = sum(number(one.text, one.at) for one in speeds)
                mean = total / len(speeds)
                raw = speeds[0].text if len(speeds) == 1 else f"{float(mean):.10g}"
                draft.put("road_speed", raw, "km/h", speeds[0].at)
            if flows:
                vehicles = round(sum((count for _flow, count in flows), Fraction(0)))
                draft.put("road_vehicles", vehicles, None, flows[0][0].at)
        except Fault as fault:
            draft.refuse(fault)

    def _seconds(self, site: _Site, index: str) -> int:
        return site.periods.get(index) or self._usual_s()

    def _usual_s(self) -> int:
        target = self.desk.target("road_vehicles")
        return int(target[0].period_s or _USUAL_PERIOD_S) if target else _USUAL_PERIOD_S


def _publications(root: Xml) -> Iterator[Xml]:
    """The publications of a message: its root, or elements within it."""
    if root.tag == "payload" or root.tag.endswith("Publication"):
        yield root
        return
    for name in ("payloadPublication", "payload"):
        found = list(root.within(name))
        if found:
            yield from found
            return


def _records(told: Xml, names: object) -> Iterator[Xml]:
    """The outermost elements of some names, in order."""
    for child in told:
        if child.tag in names:  # type: ignore[operator]
            yield child
        else:
            yield from _records(child, names)


def _time(told: Xml | None) -> int | None:
    return None if told is None else times.instant(told.text, told.at)


def _count(told: Xml | None) -> int:
    return 0 if told is None or told.text is None else int(number(told.text, told.at))


def _is_none(told: Xml) -> bool:
    """Negative values say that there are none (as in the Netherlands' feeds)."""
    return told.text is None or re.match(r"-\d", told.text) is not None


def _is_of_some_vehicles(basic: Xml) -> bool:
    """Whether a value is of a class of vehicles only, such as lorries."""
    for name in ("forVehiclesWithCharacteristicsOf", "specificVehicleCharacteristics"):
        for told in basic.every(name):
            named = [(one.tag, one.text) for one in told]
            if named and named != [("vehicleType", "anyVehicle")]:
                return True
    return False


def where(told: Xml) -> list[Position]:
    """The coordinates in a location: of its first line, else its points."""
    for poses in told.within("posList"):
        if poses.text:
            return latitudes_first(poses.text, poses.at)
    found = []
    for pair in told.within("pointCoordinates"):
        lat, lon = pair.said("latitude"), pair.said("longitude")
        if lat is not None and lon is not None:
            found.append(position(lon, lat, pair.at))
    return found
