"""What the travel planner brings beside its rules; each part is imported where it is used."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine

from citywise.apps.travel_planner.tables import TABLES
from citywise.backend.app import CityFile, Limit, Parts, Settings, clocks


def _api() -> Sequence[Any]:
    from citywise.apps.travel_planner import api_plans, api_trips

    return api_plans.blueprint, api_trips.blueprint


def _pages() -> Sequence[Any]:
    from citywise.apps.travel_planner import api_citypulse, api_export, api_page

    return api_page.blueprint, api_export.blueprint, api_citypulse.blueprint


def _travel(request: Path, data: Path, at_ms: int | None) -> Mapping[str, Any]:
    from citywise.apps.travel_planner import decide

    return decide.travel(request, data, at_ms)


def _parking(request: Path, data: Path, at_ms: int | None) -> Mapping[str, Any]:
    from citywise.apps.travel_planner import decide

    return decide.parking(request, data, at_ms)


def _transit(
    request: Path,
    data: Path | None,
    feeds: Sequence[Path],
    realtime: Sequence[Path],
    at_ms: int | None,
) -> Mapping[str, Any]:
    from citywise.apps.travel_planner import decide

    return decide.transit(request, data, feeds, realtime, at_ms)


def _is_feed(file: Path) -> bool:
    from citywise.apps.travel_planner.transit import kept

    return kept.is_feed(file)


def _take_feed(file: Path, city: Path) -> Iterator[str]:
    from citywise.apps.travel_planner.transit import kept

    return kept.take_feed(file, city)


def _is_realtime(file: Path) -> bool:
    from citywise.apps.travel_planner.transit import kept

    return kept.is_realtime(file)


def _take_realtime(file: Path, city: Path) -> Iterator[str]:
    from citywise.apps.travel_planner.transit import kept

    return kept.take_realtime(file, city)


def _take_streets(file: Path, city: Path) -> Iterator[str]:
    from citywise.apps.travel_planner.roads import cityfiles

    return cityfiles.take(file, city)


def _shown(city: Path) -> Iterator[str]:
    from citywise.apps.travel_planner.roads import cityfiles

    return cityfiles.City.load(city).shown()


def _prepare(settings: Settings, play: Mapping[str, Any] | None) -> None:
    from citywise.apps.travel_planner.roads import cityfiles

    cityfiles.prepare(settings, play)


def _serve(settings: Settings, engine: Engine, stop: threading.Event) -> None:
    from citywise.apps.travel_planner import service

    service.serve(settings, engine, stop)


def _trips_of(connection: Connection, settings: Settings, user: str) -> Sequence[Mapping[str, Any]]:
    from citywise.apps.travel_planner import trips

    return trips.export(connection, settings, user)


def _withdrawn(connection: Connection, settings: Settings, user: str, subject: str) -> None:
    from citywise.apps.travel_planner import ending, trips

    now_ms = clocks.read(connection).now_ms
    ending.withdrawn(connection, trips.boxes_of(settings), user, subject, now_ms)


def _warm(settings: Settings) -> None:
    from citywise.apps.travel_planner import pool

    pool.warm(settings)


PARTS = Parts(
    api=_api,
    pages=_pages,
    navigation={"plan": "/plan"},
    shortcuts={"trip.shortcut.travel": "/plan", "trip.shortcut.parking": "/plan?for=parking"},
    openapi=Path(__file__).with_name("openapi.json"),
    decisions={"travel": _travel, "parking": _parking},
    timetables={"travel": _transit},
    city_files=(
        CityFile(_is_feed, _take_feed),
        CityFile(_is_realtime, _take_realtime),
        CityFile(lambda _: True, _take_streets, is_last=True),
    ),
    city_shown=_shown,
    prepare=_prepare,
    service=_serve,
    tables=TABLES,
    limits={"plans": Limit(60, 60), "search": Limit(300, 60)},
    export={"trips": _trips_of},
    withdrawn=_withdrawn,
    ready=_warm,
)
