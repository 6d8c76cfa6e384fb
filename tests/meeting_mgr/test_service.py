"""The app's process at a real broker: from a phone's reading to what is kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import Engine, select, text

from apps.meeting_mgr import agenda, store, topics
from apps.meeting_mgr.model import APP
from apps.meeting_mgr.process import service
from apps.meeting_mgr.process.service import Service
from backend.network import broker_rights
from backend.settings import Settings
from backend.store.models import HeartbeatRow
from backend.times import wall_ms
from tests.brokers import SENT, City, Client
from tests.meeting_mgr.kept import Kept, payload

LOUD, QUIET = 92.0, 50.0
LEVEL = "91.73519"
SOON_S = 30.0
"""Of the machine that runs all tests; a second is measured by the benchmark."""


@dataclass
class Live:
    """A service that runs, at a broker."""

    city: City
    kept: Kept
    service: Service
    settings: Settings

    def phone(self, person: str, transport: str = "tcp") -> Client:
        """Somebody's phone, which has just been given a secret."""
        with self.kept.engine.begin() as connection:
            secret = store.give_broker_secret(connection, person)
        self.let_in()
        return Client(self.city, person, secret, transport=transport)

    def let_in(self) -> None:
        """What the web does after whoever may send has changed."""
        broker_rights.write(self.kept.engine, self.settings)

    def soon(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SOON_S
        while not holds():
            assert time.monotonic() < deadline, "it did not happen"
            time.sleep(0.01)

    def beat(self) -> dict[str, Any]:
        query = select(HeartbeatRow.detail).where(HeartbeatRow.process == APP)
        with self.kept.engine.connect() as connection:
            return connection.scalar(query) or {}


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[City]:
    city = City(tmp_path_factory.mktemp("city"), {}, {APP: topics.TOPICS})
    yield city
    city.embedded.stop()


@pytest.fixture
def live(
    settings: Settings, engine: Engine, city: City, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Live]:
    monkeypatch.setattr(agenda, "proposed", lambda *_given, **_more: None)
    monkeypatch.setattr(service, "_BEAT_S", 0.0)
    of_system = settings.model_copy(update={"broker": city.settings, "data_dir": city.file.parent})
    own = settings.model_copy(update={"broker": city.settings.of_process(APP)})
    stop = threading.Event()
    found = Service(own, engine, stop)
    monkeypatch.setattr(found, "_tell_hooks", lambda: None)
    running = threading.Thread(target=found.run)
    running.start()
    try:
        assert found._inbox.wait_connected(SENT)
        yield Live(city, Kept(engine, settings), found, of_system)
    finally:
        stop.set()
        running.join()


@pytest.mark.parametrize("transport", ["tcp", "websockets"])
def test_a_phone_s_reading_counts(live: Live, transport: str) -> None:
    meeting = live.kept.make(now_ms=wall_ms())
    bob = live.kept.join(meeting, "noise", now_ms=wall_ms())
    phone = live.phone(bob, transport)
    topic = f"town/meetings/{meeting}/{bob}"
    assert phone.sends(topic, payload(wall_ms(), noise_db=QUIET))
    live.soon(lambda: live.kept.able(meeting, bob) == "on")
    assert phone.sends(topic, payload(wall_ms(), noise_db=LOUD))
    live.soon(lambda: live.kept.able(meeting, bob) == "off")
    phone.close()


def test_consent_that_is_withdrawn_ends_the_stream_and_what_was_kept(live: Live) -> None:
    meeting = live.kept.make(now_ms=wall_ms())
    bob = live.kept.join(meeting, "noise", now_ms=wall_ms())
    charlie = live.kept.join(meeting, "noise", name="Charlie", now_ms=wall_ms())
    phone, last = live.phone(bob), live.phone(charlie)
    topic = f"town/meetings/{meeting}/{bob}"
    assert phone.sends(topic, payload(wall_ms(), noise_db=LOUD))
    live.soon(lambda: live.kept.able(meeting, bob) == "off")
    live.kept.share(meeting, bob, now_ms=wall_ms())
    live.soon(lambda: _values(live, meeting, bob) == {})
    for _ in range(3):
        assert phone.sends(topic, payload(wall_ms(), noise_db=LOUD))
    assert last.sends(f"town/meetings/{meeting}/{charlie}", payload(wall_ms(), noise_db=LOUD))
    live.soon(lambda: live.kept.able(meeting, charlie) == "off")
    assert live.kept.able(meeting, bob) == "unknown"
    assert _values(live, meeting, bob) == {}
    assert live.kept.entries(meeting, charlie) != []
    assert not [e for e in live.kept.entries(meeting, bob) if "noise" in e.get("because", ())]
    phone.close()
    last.close()


def test_leaving_ends_the_connection_and_what_was_heard_is_forgotten(live: Live) -> None:
    meeting = live.kept.make(now_ms=wall_ms())
    bob = live.kept.join(meeting, "noise", now_ms=wall_ms())
    phone = live.phone(bob)
    assert phone.sends(f"town/meetings/{meeting}/{bob}", payload(wall_ms(), noise_db=LOUD))
    live.soon(lambda: live.kept.able(meeting, bob) == "off")
    live.kept.leave(meeting, bob, now_ms=wall_ms())
    live.let_in()
    assert phone.gone.wait(SENT)
    live.soon(lambda: bob not in _live(live, meeting)._latest)
    phone.close()


def test_nothing_that_a_phone_sends_is_in_the_database(live: Live, engine: Engine) -> None:
    meeting = live.kept.make(now_ms=wall_ms())
    bob = live.kept.join(meeting, "noise", now_ms=wall_ms())
    phone = live.phone(bob)
    topic = f"town/meetings/{meeting}/{bob}"
    assert phone.sends(topic, f"not JSON of Bob's {LEVEL}".encode())
    assert phone.sends(topic, payload(wall_ms(), noise_db=float(LEVEL)))
    live.soon(lambda: live.kept.able(meeting, bob) == "off")
    phone.close()
    assert LEVEL not in live.kept.person(meeting, bob).model_dump_json()
    assert LEVEL not in str(live.kept.entries(meeting))
    with engine.connect() as connection:
        tables = connection.scalars(text("SELECT name FROM sqlite_master WHERE type = 'table'"))
        for table in [*tables]:
            rows = connection.execute(text(f'SELECT * FROM "{table}"')).all()
            assert LEVEL not in str(rows), table


def test_the_heartbeat_says_how_it_fares(live: Live) -> None:
    meeting = live.kept.make(now_ms=wall_ms())
    bob = live.kept.join(meeting, "noise", now_ms=wall_ms())
    phone = live.phone(bob)
    assert phone.sends(f"town/meetings/{meeting}/{bob}", b"nonsense")
    live.soon(lambda: live.beat().get("refused") == 1)
    assert live.beat() == {
        "connected": True, "meetings": 1, "people": 1, "heard": 0, "unknown": 0, "refused": 1,
        "lost": 0, "lacks": None,
    }  # fmt: skip
    phone.close()


def _live(live: Live, meeting: str) -> Any:
    assert live.service._reasoner is not None
    return live.service._reasoner._lives[meeting]


def _values(live: Live, meeting: str, person: str) -> dict[str, Any]:
    return dict(_live(live, meeting)._latest[person].values)
