"""CityPulse's messages are read as their clients write them, and mean what the template says."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from citywise.backend.context import messages
from citywise.backend.context.answers import contextual_events, event_iri
from citywise.backend.context.critical import CriticalEvent
from citywise.backend.context.messages import Coordinate, MessageError
from citywise.backend.context.registration import Registration, register
from tests.api.templates import pack_of
from tests.context.conftest import Sample
from tests.context.situation import PACK

EV = "https://w3id.org/citywise/event#"
AARHUS = Coordinate(latitude=56.16, longitude=10.2)
POINT = {"latitude": 56.15, "longitude": 10.2}
ROUTE = [POINT, {"latitude": 56.2, "longitude": 10.2}]


def asked(place: object = None, **more: Any) -> Registration:
    """What a contextual event request asks for; by default for a point."""
    place = {"type": "POINT", "point": POINT} if place is None else place
    body = {"messageType": "ContextualEventRequest", "place": orjson.dumps(place).decode(), **more}
    return register(messages.read(body), AARHUS)  # type: ignore[arg-type]


def factor(name: str, *values: object) -> dict[str, Any]:
    return {"name": name, "values": [{"value": value} for value in values]}


def ranking(kind: str, **values: float) -> dict[str, Any]:
    elements = [{"name": name, "value": {"value": value}} for name, value in values.items()]
    return {"type": kind, "rankingElements": elements}


def faults(body: Any) -> dict[str, str]:
    """What is wrong with a message, by path."""
    with pytest.raises(MessageError) as caught:
        register(messages.read(body), AARHUS)  # type: ignore[arg-type]
    return {fault["path"]: fault["message"] for fault in caught.value.faults}


# --- The samples -------------------------------------------------------------------------


def test_the_sample_request_asks_for_its_route_activity_and_weights(sample: Sample) -> None:
    body = sample("contextual_event_request")
    route = orjson.loads(body["place"])["route"]
    values = register(messages.read(body)).values  # type: ignore[arg-type]
    coordinates = [[point["longitude"], point["latitude"]] for point in route]
    assert values["route"] == {"coordinates": coordinates}
    assert values["interest"] == "my_route"
    assert (values["affecting"], values["activities"]) == ("my_activity", ["DrivingCar"])
    assert (values["weight_distance"], values["weight_level"]) == (70, 30)


def test_the_old_style_travel_sample_asks_for_its_route_by_car(sample: Sample) -> None:
    values = register(messages.read(sample("contextual_event_request_old_style_travel"))).values  # type: ignore[arg-type]
    assert values["interest"] == "my_route"
    assert (values["affecting"], values["activities"]) == ("my_activity", ["DrivingCar"])


def test_the_exchanged_coordinates_of_the_old_style_parking_sample_are_put_right(
    sample: Sample,
) -> None:
    """They are far from the starting point that the same message names."""
    found = register(messages.read(sample("contextual_event_request_old_style_parking")))  # type: ignore[arg-type]
    center = {"lat": 56.2136402, "lon": 10.1442042}
    assert found.values["area"] == {"center": center, "radius_m": 100}
    assert found.values["interest"] == "area"
    assert found.notes == (
        "answer: latitude and longitude were exchanged; they were exchanged back",
    )


@pytest.mark.parametrize(
    "name",
    [
        "contextual_event_request",
        "contextual_event_request_old_style_parking",
        "contextual_event_request_old_style_travel",
    ],
)
def test_what_a_sample_asks_for_fits_the_template(sample: Sample, name: str) -> None:
    values = register(messages.read(sample(name))).values  # type: ignore[arg-type]
    bound = pack_of(PACK).template("critical_events").bind(values)
    assert values.items() <= bound.items()


def test_the_sample_position_is_read(sample: Sample) -> None:
    message = messages.read(sample("user_gps_coordinate"))
    assert isinstance(message, messages.UserGPSCoordinate)
    assert message.user_coordinate == Coordinate(latitude=56.15679, longitude=10.2049)


# --- Places of interest ------------------------------------------------------------------


def test_a_point_is_an_area_around_it() -> None:
    center = {"lat": 56.15, "lon": 10.2}
    assert asked().values["area"] == {"center": center, "radius_m": 100}


def test_an_area_is_a_polygon_that_is_closed_where_it_is_not() -> None:
    corners = [*ROUTE, {"latitude": 56.2, "longitude": 10.3}]
    ring = [[10.2, 56.15], [10.2, 56.2], [10.3, 56.2], [10.2, 56.15]]
    for points in (corners, [*corners, POINT]):
        values = asked({"type": "AREA", "area": points}).values
        assert values["area"] == {"type": "Polygon", "coordinates": [ring]}
        assert values["interest"] == "area"


def test_a_place_may_be_an_object_and_need_not_say_what_it_is() -> None:
    body = {"messageType": "ContextualEventRequest", "place": {"route": ROUTE}}
    values = register(messages.read(body)).values  # type: ignore[arg-type]
    assert values["route"] == {"coordinates": [[10.2, 56.15], [10.2, 56.2]]}


def test_coordinates_are_exchanged_back_only_if_they_then_are_near_the_city() -> None:
    other_way = {"latitude": 10.2, "longitude": 56.15}
    put_right = asked({"type": "ROUTE", "route": [other_way, other_way]})
    assert put_right.values["route"] == {"coordinates": [[10.2, 56.15], [10.2, 56.15]]}
    assert len(put_right.notes) == 1
    elsewhere = {"latitude": -33.9, "longitude": 18.4}
    left = asked({"type": "POINT", "point": elsewhere})
    assert left.values["area"] == {"center": {"lat": -33.9, "lon": 18.4}, "radius_m": 100}
    assert left.notes == ()


# --- Factors -----------------------------------------------------------------------------


def test_without_factors_nothing_is_left_out_and_the_usual_ranking_holds() -> None:
    values = asked().values
    assert values["affecting"] == "anything"
    assert not {"sources", "categories", "activities", "ranking"} & set(values)


def test_names_of_both_vocabularies_are_understood() -> None:
    factors = [
        factor("EVENT_SOURCE", "SENSOR", "SOCIAL_NETWORK"),
        factor("EVENT_CATEGORY", "PublicParking", "TransportationEvent", "RoadWorks", "PoorAir"),
        factor("ACTIVITY", "CarCommute", "Walking"),
    ]
    values = asked(filteringFactors=factors).values
    assert values["sources"] == ["sensor", "social"]
    kinds = ("ParkingFull", "TransportationEvent", "RoadWorks", "PoorAir")
    assert values["categories"] == [EV + kind for kind in kinds]
    assert values["activities"] == ["DrivingCar", "Walking"]


def test_categories_may_be_iris() -> None:
    iri = "http://purl.oclc.org/NET/UNIS/sao/ec#TrafficJam"
    values = asked(filteringFactors=[factor("EVENT_CATEGORY", iri)]).values
    assert values["categories"] == [EV + "TrafficJam"]


def test_a_factor_without_values_is_no_filter() -> None:
    assert "categories" not in asked(filteringFactors=[factor("EVENT_CATEGORY")]).values


@pytest.mark.parametrize(
    ("given", "distance", "level"),
    [
        ({"DISTANCE": 70, "EVENT_LEVEL": 30}, 70, 30),
        ({"DISTANCE": 0.7, "EVENT_LEVEL": 0.3}, 100, 43),
        ({"DISTANCE": 1000, "EVENT_LEVEL": 250}, 100, 25),
        ({"DISTANCE": 1e308, "EVENT_LEVEL": 5e307}, 100, 50),
        ({"DISTANCE": 5e-324, "EVENT_LEVEL": 0}, 100, 0),
        ({"EVENT_LEVEL": 10}, 0, 10),
        ({"DISTANCE": 0, "EVENT_LEVEL": 0}, 0, 0),
    ],
)
def test_weights_keep_their_proportion(given: dict[str, float], distance: int, level: int) -> None:
    values = asked(rankingFactor=ranking("LINEAR", **given)).values
    assert (values["weight_distance"], values["weight_level"]) == (distance, level)


@pytest.mark.parametrize(
    ("given", "first"),
    [
        ({"DISTANCE": 1, "EVENT_LEVEL": 2}, "distance"),
        ({"DISTANCE": 2, "EVENT_LEVEL": 1}, "level"),
        ({"EVENT_LEVEL": 5}, "level"),
    ],
)
def test_ordered_ranking_begins_with_the_smallest_number(
    given: dict[str, float], first: str
) -> None:
    values = asked(rankingFactor=ranking("ORDERED", **given)).values
    assert (values["ranking"], values["first"]) == ("ordered", first)


# --- What is wrong -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "path", "words"),
    [
        ({}, "messageType", "expected ContextualEventRequest or UserGPSCoordinate"),
        ({"messageType": "Hello"}, "messageType", 'found "Hello"'),
        ({"messageType": "ContextualEventRequest"}, "place", "required"),
        ({"messageType": "ContextualEventRequest", "place": "{"}, "place", "no JSON"),
        ({"messageType": "ContextualEventRequest", "place": {"type": "ROUTE"}}, "place", "`route`"),
        ({"messageType": "UserGPSCoordinate"}, "userCoordinate", "required"),
        ({"reasoningRequest": {}, "answer": "{}"}, "answer", "`route` or `position`"),
    ],
)
def test_what_is_wrong_with_a_message_is_named(body: dict[str, Any], path: str, words: str) -> None:
    assert words in faults(body)[path]


@pytest.mark.parametrize(
    ("more", "path", "words"),
    [
        ({"filteringFactors": [factor("COLOUR")]}, "filteringFactors.0.name", 'found "COLOUR"'),
        (
            {"filteringFactors": [factor("EVENT_SOURCE", "SENSOR", "RUMOUR")]},
            "filteringFactors.0.values.1",
            "expected one of SENSOR",
        ),
        (
            {"filteringFactors": [factor("EVENT_CATEGORY", "TraficJam")]},
            "filteringFactors.0.values.0",
            "did you mean `TrafficJam`?",
        ),
        (
            {"filteringFactors": [factor("ACTIVITY", "CarComute")]},
            "filteringFactors.0.values.0",
            "did you mean `CarCommute`?",
        ),
        (
            {"rankingFactor": ranking("LINEAR", DISTANCE=-1)},
            "rankingFactor.rankingElements.0.value",
            'found {"value": -1}',
        ),
        ({"rankingFactor": ranking("LINEAR")}, "rankingFactor.rankingElements", "at least 1"),
    ],
)
def test_what_is_wrong_with_a_factor_is_named(more: dict[str, Any], path: str, words: str) -> None:
    body = {"messageType": "ContextualEventRequest", "place": {"point": POINT}, **more}
    assert words in faults(body)[path]


def test_all_that_is_wrong_is_told_at_once() -> None:
    place = {"type": "POINT", "point": {"latitude": 99, "longitude": 10}}
    body = {"messageType": "ContextualEventRequest", "place": place, "rankingFactor": {}}
    assert set(faults(body)) == {"place.point.latitude", "rankingFactor.rankingElements"}


# --- Answers ------------------------------------------------------------------------------


def critical(**event: Any) -> CriticalEvent:
    body = {
        "type": "TrafficJam",
        "level": 1,
        "geometry": {"type": "Point", "coordinates": [10.2049941, 56.1650268]},
        "start_ms": 0,
        "source": "sensor",
        **event,
    }
    return CriticalEvent("sao:6c10eb39-74f6-499e-9a14-0455a7b9cb2c", body, 3, 1, None, ())


def test_an_answer_is_exactly_that_of_the_sample(sample: Sample) -> None:
    assert contextual_events([critical()]) == sample("critical_event_results")


def test_what_citypulse_has_no_name_for_keeps_ours() -> None:
    (found,) = contextual_events([critical(type="SportsEvent", source="authority")]).values()
    assert found[0]["eventCategory"]["categoryName"] == EV + "SportsEvent"
    assert found[0]["eventType"]["typeName"] == EV + "PublicEvent"
    assert found[0]["eventSource"] == "AUTHORITY"


def test_an_event_on_a_line_is_shown_at_its_middle() -> None:
    line = {"type": "LineString", "coordinates": [[10.0, 56.0], [10.2, 56.2]]}
    (found,) = contextual_events([critical(geometry=line)]).values()
    place = orjson.loads(found[0]["eventPlace"])
    assert place == {"point": {"longitude": 10.1, "latitude": 56.1}, "type": "POINT"}


def test_our_events_have_our_iris() -> None:
    assert event_iri("TrafficJam-1-x") == "https://w3id.org/citywise/event/TrafficJam-1-x"
