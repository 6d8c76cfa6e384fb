"""Alerts on journeys: which of them a ride is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from citywise.apps.travel_planner.transit.feed import Feed
from citywise.apps.travel_planner.transit.realtime import Alert, Informed, Translations
from citywise.apps.travel_planner.transit.timetable import Part


def holds(alert: Alert, start: int, end: int) -> bool:
    """Whether an alert holds at some time of a span (Unix seconds)."""
    return not alert.periods or any(
        (since is None or since <= end) and (until is None or start < until)
        for since, until in alert.periods
    )


def on_ride(
    alerts: Sequence[Alert], feed: Feed, part: Part, ends: tuple[str, str], span: tuple[int, int]
) -> list[Alert]:
    """Those about a ride on a trip between two stops at some time."""
    return [
        alert
        for alert in alerts
        if holds(alert, *span) and any(_is_about(each, feed, part, ends) for each in alert.informed)
    ]


def on_stop(alerts: Sequence[Alert], feed: Feed, stop: str, span: tuple[int, int]) -> list[Alert]:
    """Those about a stop or its station alone, whatever rides there."""
    names = _names(feed, stop)
    return [
        alert
        for alert in alerts
        if holds(alert, *span)
        and any(each.stop in names and not (each.route or each.trip) for each in alert.informed)
    ]


def _is_about(informed: Informed, feed: Feed, part: Part, ends: tuple[str, str]) -> bool:
    """Whether all that an entity names is the ride's; who names nothing means nobody."""
    trip, named = part.trip, informed.trip
    wishes = [
        (informed.agency, feed.agencies.get(trip.route, "")),
        (informed.route, trip.route),
        (named.trip if named else "", trip.id),
        (named.route if named else "", trip.route),
    ]
    if informed.route_type is not None:
        wishes.append((str(informed.route_type), feed.types.get(trip.route, "")))
    stops = {name for stop in ends for name in _names(feed, stop)}
    if informed.stop and informed.stop not in stops:
        return False
    return (bool(informed.stop) or any(wish for wish, _ in wishes)) and all(
        not wish or wish == found for wish, found in wishes
    )


def _names(feed: Feed, stop: str) -> set[str]:
    known = feed.stops.get(stop)
    return {stop} | ({known.station} if known is not None and known.station else set())


def alert_object(alert: Alert, language: str) -> dict[str, Any]:
    """An alert as JSON, in a language if it speaks it."""
    return {
        "id": alert.entity,
        "cause": alert.cause or None,
        "effect": alert.effect or None,
        "severity": alert.severity or None,
        "header": _text(alert.header, language),
        "description": _text(alert.description, language),
        "url": _text(alert.url, language),
    }


def _text(texts: Translations, language: str) -> str | None:
    """Its text in a language, else in none, else in English, else the first."""
    by_language = {tag.split("-")[0].lower(): text for tag, text in reversed(texts)}
    for tag in (language, "", "en"):
        if tag in by_language:
            return by_language[tag]
    return texts[0][1] if texts else None
