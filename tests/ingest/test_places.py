"""A place is taken without what of it cannot be read, and that is told."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import Engine, insert, select

from citywise.apps.travel_planner.roads.garages import garage_of
from citywise.apps.travel_planner.roads.tariffs import Tariff
from citywise.backend.ingest.acceptance import Acceptor
from citywise.backend.ingest.intake import Entry, IntakeStore
from citywise.backend.ingest.payloads import Place, Point
from citywise.backend.ingest.places import stored
from citywise.backend.kinds import builtin
from citywise.backend.settings import Ingest
from citywise.backend.store.models import DeadLetterRow, PlaceRow
from tests.databases import emptied

NOW = datetime(2014, 8, 5, 7, tzinfo=UTC)
GARAGE = Place(
    id="G9", kind="garage", name="G", geometry=Point(coordinates=(10.1, 56.1)),
    sensors=("parking",),
)  # fmt: skip
TOPIC = "citywise/places/garage/G9"


def message(hours: str) -> bytes:
    return orjson.dumps({**GARAGE.model_dump(mode="json"), "opening_hours": hours})


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An empty database of each kind we support."""
    url = f"sqlite:///{tmp_path / 'test.db'}"
    if request.param == "postgresql":
        url = request.getfixturevalue("postgresql_url")
    found = emptied(url)
    yield found
    found.dispose()


@pytest.mark.parametrize("hours", ["((((", "(" * 400, "8 to 5", "Mo-Fr\u0000 08:00-18:00"])
def test_a_place_is_taken_without_hours_that_cannot_be_read(engine: Engine, hours: str) -> None:
    payload = message(hours)
    verdict = Acceptor("citywise", Ingest(), builtin()).judge(TOPIC, payload, NOW)
    assert verdict.place == GARAGE
    (standing,) = verdict.standing
    assert standing.body == GARAGE.model_dump(mode="json")
    (letter,) = verdict.dead
    assert (letter.reason, letter.payload) == ("hours", payload)
    assert letter.detail.startswith(f"`opening_hours`: `{hours[:6]}".replace("\0", "\ufffd"))
    assert letter.detail.endswith("the place was taken without them")
    assert len(letter.detail) < 300
    store = IntakeStore(engine)
    for _again in range(2):
        store.write([Entry.of("citywise", TOPIC, payload, 1, verdict)])
    assert store.places("citywise") == [GARAGE]
    assert [reason for reason, _ in letters(engine)] == ["hours"]


def test_hours_that_can_be_read_are_kept() -> None:
    payload = message("Mo-Sa 06:00-24:00; PH off")
    verdict = Acceptor("citywise", Ingest(), builtin()).judge(TOPIC, payload, NOW)
    assert verdict.place is not None
    assert verdict.place.opening_hours == "Mo-Sa 06:00-24:00; PH off"
    assert verdict.dead == []


def test_a_place_from_before_loses_its_bad_hours_and_that_is_told_once(engine: Engine) -> None:
    keep(engine, {**GARAGE.model_dump(mode="json"), "opening_hours": "(((("})
    for _start in range(2):
        assert IntakeStore(engine).places("citywise") == [GARAGE]
    assert letters(engine) == [("hours", TOPIC)]
    with engine.connect() as connection:
        assert connection.scalars(select(PlaceRow.body)).one()["opening_hours"] is None


def test_a_place_from_before_that_fits_no_more_does_not_take_the_others_along(
    engine: Engine,
) -> None:
    keep(engine, {"id": "old", "kind": "castle"}, GARAGE.model_dump(mode="json"))
    assert IntakeStore(engine).places("citywise") == [GARAGE]
    assert list(stored([{"id": "old"}, GARAGE.model_dump(mode="json")])) == [GARAGE]


def test_a_garage_that_comes_by_another_way_has_no_bad_hours_either() -> None:
    garage = garage_of(
        GARAGE.model_copy(update={"opening_hours": "(((("}), Tariff(0, None, 0, "DKK")
    )
    assert (garage.hours, garage.open_at(0)) == (None, None)


def keep(engine: Engine, *bodies: dict[str, Any]) -> None:
    rows = [
        {"id": body["id"], "kind": body["kind"], "name": "G", "lat": 56.1, "lon": 10.1,
         "body": body, "updated_ms": 0}
        for body in bodies
    ]  # fmt: skip
    with engine.begin() as connection:
        connection.execute(insert(PlaceRow), rows)


def letters(engine: Engine) -> list[tuple[str, str]]:
    row = DeadLetterRow
    with engine.connect() as connection:
        return [
            (reason, topic) for reason, topic in connection.execute(select(row.reason, row.topic))
        ]
