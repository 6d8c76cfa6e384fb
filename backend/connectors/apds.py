"""APDS 1.0 (ISO 5206-1): places to park, and how many of their spaces are taken.

`demandTable` is how many were counted (or which share), `supply` how many there are. What names
vehicles or people (observations of plates, sessions, assigned rights) is not read.
Source: Alliance for Parking Data Standards, API specification 1.0, `/places`.
"""

from __future__ import annotations

from fractions import Fraction

from citywise.backend.connectors import times
from citywise.backend.connectors.connector import Connector
from citywise.backend.connectors.desk import Draft
from citywise.backend.connectors.found import Fault, Finds, Unknown, refused
from citywise.backend.connectors.geometry import geojson, point, position
from citywise.backend.connectors.message import Json, Message, as_json, misshapen
from citywise.backend.connectors.values import is_absent, number

_WHERE = (
    "indicativePlacePointLocation", "indicativePointLocation", "notionalElementLocation",
    "indicativeIdentifiedAreaPointLocation", "placeBoundedZone", "elementAreaLocation",
    "spaceBoundedZone",
)  # fmt: skip
_TYPES = frozenset(
    ("campus", "identifiedArea", "parkingPlace", "place", "space", "subplaceElement")
)


class Apds(Connector):
    """See the module."""

    name = "apds"
    title = "APDS 1.0: places to park, their supply and demand"

    def things(self, message: Message) -> Finds:
        whole = as_json(message)
        elements = whole["data"] if whole["data"].is_list else whole
        for told in elements if elements.is_list else (elements,):
            is_silent = True
            try:
                for find in self._element(told, message.at_ms):
                    is_silent = False
                    yield find
            except Fault as fault:
                is_silent = False
                yield refused(fault)
            if is_silent:  # a campus, say, whose parts have places of their own
                yield Unknown(told["type"].text or "element", told.at)

    def _element(self, told: Json, at_ms: int | None) -> Finds:
        if not told.is_object:
            raise Fault("value", told.at, "found no object, expected an element of the hierarchy")
        references = told["hierarchyElementReference"]
        about = [references] if references.is_object else list(references)
        if not references.is_list:
            yield from misshapen(references)
        yield from misshapen(*about)
        if (told["type"].text or "").lower() not in {one.lower() for one in _TYPES} and not about:
            yield Unknown(told["className"].text or told["method"].text or "element", told.at)
            return
        foreign = told.first("id", "elementId")
        sensor = self.desk.sensor(
            foreign["id"].name if foreign.is_object else foreign.name, told.at
        )
        capacity = _capacity(told, about, at_ms)
        yield from self._place(told, sensor, capacity)
        for reference in about:
            yield from misshapen(reference["demandTable"], is_list=True)
            for table in reference["demandTable"]:
                yield from self._demand(table, sensor, capacity, at_ms)

    def _place(self, told: Json, sensor: str, capacity: Json | None) -> Finds:
        name = next((one["string"].text for one in told["name"]), None)
        for key in _WHERE:
            for location in told[key] if told[key].is_list else (told[key],):
                if not location.is_object:
                    yield from misshapen(location)
                    continue
                try:
                    geometry = _geometry(location)
                except Fault as fault:
                    yield refused(fault)
                    return
                roles = {"total_places": None if capacity is None else capacity.value}
                kinds = self.desk.kinds_of(["occupied_places"])
                yield from self.desk.place(sensor, name, geometry, kinds, roles)
                return

    def _demand(self, table: Json, sensor: str, capacity: Json | None, at_ms: int | None) -> Finds:
        yield from misshapen(table)
        yield from misshapen(table["demandType"], table["demandSpaceType"], is_list=True)
        yield from misshapen(*table["demandType"], *table["demandSpaceType"])
        for one in table["demandType"]:
            if one["occupancyCalculation"].text == "expected":  # a forecast is no observation
                yield Unknown("forecast", one.at)
                continue
            yield from self._occupancy(one, table, sensor, capacity, at_ms)
        for one in table["demandSpaceType"]:
            try:
                yield from self._space(one, at_ms)
            except Fault as fault:
                yield refused(fault)

    def _occupancy(
        self, one: Json, table: Json, sensor: str, capacity: Json | None, at_ms: int | None
    ) -> Finds:
        try:
            observed = times.instant(one["recordDateTime"].value, one["recordDateTime"].at)
            if observed is None:
                observed = times.instant(table["timestamp"].value, table["timestamp"].at)
            draft = Draft(self.desk, sensor, at_ms if observed is None else observed, one.at)
            count, share = one["count"], one["percentage"]
            if not is_absent(count.value):
                draft.put("occupied_places", count.value, None, count.at)
            elif capacity is not None and not is_absent(share.value):
                taken = number(share.value, share.at) / 100 * number(capacity.value, capacity.at)
                draft.put("occupied_places", round(Fraction(taken)), None, share.at)
            if draft.kinds and capacity is not None:
                draft.put("total_places", capacity.value, None, capacity.at)
            yield from draft.finish("demandType")
        except Fault as fault:
            yield refused(fault)

    def _space(self, one: Json, at_ms: int | None) -> Finds:
        """A single space: taken from its start until its end."""
        space = one["spaceId"]
        sensor = self.desk.sensor((space["id"] if space.is_object else space).name, space.at)
        told = one["detectionUpdateTime"]
        observed = times.instant(told.value, told.at)
        draft = Draft(self.desk, sensor, at_ms if observed is None else observed, one.at)
        begun, ended = one["occupancyStartTime"].value, one["occupancyEndTime"].value
        if begun is not None or ended is not None:
            draft.put("occupied_places", int(ended is None), None, one.at)
            draft.put("total_places", 1, None, one.at)
        yield from draft.finish("demandSpaceType")


def _capacity(told: Json, about: list[Json], at_ms: int | None) -> Json | None:
    """How many spaces there are: of the supply that is valid now, else of the characteristics."""
    supply = [one for reference in about for one in reference["supply"]]
    found = [one["supplyQuantity"] for one in supply if _is_valid(one, at_ms)]
    found += [one["spacesTotal"] for one in told["characteristics"]]
    return next((one for one in found if not is_absent(one.value)), None)


def _is_valid(supply: Json, at_ms: int | None) -> bool:
    """Whether a supply is there at a time, as far as it says when."""
    if at_ms is None:
        return True
    begin, end = supply["supplyValidityStart"], supply["supplyValidityEnd"]
    since, until = times.instant(begin.value, begin.at), times.instant(end.value, end.at)
    return (since is None or since <= at_ms) and (until is None or at_ms < until)


def _geometry(location: Json) -> dict[str, object]:
    pair = location["pointCoordinates"]
    if not pair.is_object:
        return geojson(location.value, location.at)
    code = pair["epsgCode"].text
    if code not in (None, "EPSG:4326"):
        raise Fault(
            "geometry", pair["epsgCode"].at, f"found {str(code)[:40]!r}, expected EPSG:4326"
        )
    return point(position(pair["x"].value, pair["y"].value, pair.at))
