"""From CityPulse's requests to values of the template `critical_events`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from citywise.backend.context.alignment import (
    UnknownNameError,
    our_activity,
    our_event_type,
    our_source,
)
from citywise.backend.context.interest import Values, place_values, straight_place
from citywise.backend.context.messages import (
    ChosenAnswer,
    ContextualEventRequest,
    Coordinate,
    FilteringFactor,
    PlaceOfInterest,
    RankingFactor,
    fault,
)
from citywise.backend.packs.ontology import local_name

_TRANSPORT = {"CAR": "DrivingCar", "BICYCLE": "Cycling", "WALK": "Walking"}
_STARTS = ("STARTING_POINT", "ENDING_POINT", "POINT_OF_INTEREST")


@dataclass(frozen=True)
class Registration:
    """What a client wants to be told of: values of the template, and what was set right."""

    values: Values
    notes: tuple[str, ...] = field(default=())


def register(
    message: ContextualEventRequest | ChosenAnswer, near: Coordinate | None = None
) -> Registration:
    """The values that a request asks for; raises `MessageError`.

    `near` is a point of the city: a point far from it whose latitude and longitude are
    exchanged has them exchanged back.
    """
    if isinstance(message, ContextualEventRequest):
        return _requested(message, near)
    return _chosen(message, near)


def _requested(message: ContextualEventRequest, near: Coordinate | None) -> Registration:
    place, notes = straight_place(message.place, near)
    values: Values = {"affecting": "anything", **place_values(place)}
    for number, factor in enumerate(message.filtering_factors):
        values |= _filter(factor, f"filteringFactors.{number}.values")
    return Registration({**values, **_ranking(message.ranking_factor)}, notes)


def _chosen(message: ChosenAnswer, near: Coordinate | None) -> Registration:
    request, answer = message.reasoning_request, message.answer
    known = [point for name in _STARTS if (point := _point(request.parameter(name)))]
    if answer.route is not None:
        asked = PlaceOfInterest(type="ROUTE", route=answer.route)
    else:
        asked = PlaceOfInterest(type="POINT", point=answer.position)
    place, notes = straight_place(asked, next(iter(known), near), "answer")
    values: Values = {"affecting": "anything", **place_values(place)}
    transport = _TRANSPORT.get((request.parameter("TRANSPORTATION_TYPE") or "").upper())
    if transport:
        values |= {"affecting": "my_activity", "activities": [transport]}
    return Registration(values, notes)


def _point(text: str | None) -> Coordinate | None:
    """`"longitude latitude"` of a parameter, if it is that."""
    try:
        lon, lat = map(float, (text or "").split())
        return Coordinate(latitude=lat, longitude=lon)
    except ValueError:
        return None


# --- Filtering and ranking factors ---------------------------------------------------------


def _filter(factor: FilteringFactor, path: str) -> Values:
    """The values of one filtering factor; none chosen is no filter."""
    names = [str(value) for value in factor.values]
    if not names:
        return {}
    if factor.name == "EVENT_SOURCE":
        return {"sources": list(_each(names, path, our_source))}
    if factor.name == "EVENT_CATEGORY":
        return {"categories": list(_each(names, path, our_event_type))}
    found = _each(names, path, our_activity)
    return {"affecting": "my_activity", "activities": [local_name(iri) for iri in found]}


def _each(names: Iterable[str], path: str, ours: Callable[[str], str]) -> Iterator[str]:
    """Our terms for some names; raises `MessageError` that names the one that means nothing."""
    for number, name in enumerate(names):
        try:
            yield ours(name)
        except UnknownNameError as error:
            raise fault(f"{path}.{number}", str(error)) from None


def _ranking(factor: RankingFactor | None) -> Values:
    """The values that say how to rank; a factor that is not named weighs nothing."""
    if factor is None:
        return {}
    given = {element.name: element.value for element in factor.ranking_elements}
    if factor.type == "ORDERED":
        first = min(given, key=lambda name: given[name])
        return {"ranking": "ordered", "first": "distance" if first == "DISTANCE" else "level"}
    weights = _weights([given.get("DISTANCE", 0.0), given.get("EVENT_LEVEL", 0.0)])
    return {"ranking": "linear", "weight_distance": weights[0], "weight_level": weights[1]}


def _weights(given: Sequence[float]) -> list[int]:
    """Weights as whole numbers up to 100 in the same proportion."""
    most = max(given)
    if most <= 100 and all(weight == int(weight) for weight in given):
        return [int(weight) for weight in given]
    return [round(100 * (weight / most)) for weight in given]
