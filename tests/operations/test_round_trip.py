"""A dead letter goes the whole way again: broker, ingest, log."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest
from sqlalchemy import select

from citywise.backend.broker import EmbeddedBroker
from citywise.backend.operations import letters
from citywise.backend.settings import Broker, Settings
from citywise.backend.store.models import DeadLetterRow
from tests.api.town import soon
from tests.databases import begun
from tests.ingest.test_service import ROAD, Street

pytestmark = pytest.mark.slow


@pytest.fixture
def street(tmp_path: Path) -> Iterator[Street]:
    begun(Settings(data_dir=tmp_path).database_url).dispose()
    embedded = EmbeddedBroker()
    found = Street(tmp_path, Broker(port=embedded.start()))
    yield found
    found.close()
    embedded.stop()


def test_a_reading_of_a_road_nobody_knew_is_accepted_when_it_is_sent_again(street: Street) -> None:
    tell_of(street, "2")
    soon(lambda: ("place", "2") in street.standing_now())  # the ingest listens
    now = datetime.now(UTC)
    reading = {"sensor": "1", "observed_at": now, "speed_kmh": 31.5, "vehicle_count": 4}
    street.publish("observations/traffic/1", orjson.dumps(reading))
    soon(lambda: street.dead() == ["unknown-sensor"])
    (number,) = waiting(street)
    broker = street.settings.broker

    sent = letters.replay_all(street.engine, "unknown-sensor", 10, broker, "demo")
    assert sent.letters == [number]
    soon(lambda: len(waiting(street)) == 1)  # still unknown: it is back

    tell_of(street, "1")
    soon(lambda: ("place", "1") in street.standing_now())
    (number,) = waiting(street)
    letters.replay(street.engine, number, broker, "demo")
    soon(lambda: street.readings() == [("1", 31.5)])
    assert waiting(street) == []


def tell_of(street: Street, road: str) -> None:
    place = ROAD.model_copy(update={"id": road})
    street.publish(f"places/road/{road}", place.model_dump_json().encode(), retain=True)


def waiting(street: Street) -> list[int]:
    """The letters that have not been sent again."""
    query = select(DeadLetterRow.id).where(DeadLetterRow.replayed_ms.is_(None))
    with street.engine.connect() as connection:
        return list(connection.scalars(query))
