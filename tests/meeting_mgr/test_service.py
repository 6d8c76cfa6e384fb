"""The app's process at a real broker: from a phone's reading to what is kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Any

import pytest
from sqlalchemy import Engine, select, text
from sqlalchemy.exc import OperationalError

from citywise.apps.meeting_mgr import agenda, store, topics
from citywise.apps.meeting_mgr.model import APP
from citywise.apps.meeting_mgr.process import service
from citywise.apps.meeting_mgr.process.reasoner import Reasoner
from citywise.apps.meeting_mgr.process.service import Service
from citywise.backend import mqtt
from citywise.backend.broker import EmbeddedBroker
from citywise.backend.machine import free_port
from citywise.backend.network import broker_rights
from citywise.backend.settings import Broker, Settings
from citywise.backend.store.models import HeartbeatRow
from citywise.backend.times import wall_ms
from tests.brokers import SENT, City, Client
from tests.meeting_mgr.kept import Kept, payload

LOUD, QUIET = 92.0, 50.0
LEVEL = "91.73519"
SOON_S = 30.0
"""Of the machine that runs all tests; a second is measured by the benchmark."""


@dataclass
class Running:
    """A service that runs."""

    service: Service
    engine: Engine

    def soon(self, holds: Callable[[], object]) -> None:
        deadline = time.monotonic() + SOON_S
        while not holds():
            assert time.monotonic() < deadline, "it did not happen"
            time.sleep(0.01)

    def beat(self) -> dict[str, Any]:
        query = select(HeartbeatRow.detail).where(HeartbeatRow.process == APP)
        with self.engine.connect() as connection:
            return connection.scalar(query) or {}


@dataclass
class Live(Running):
    """A service that runs, at a broker."""

    city: City
    kept: Kept
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


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[City]:
    city = City(tmp_path_factory.mktemp("city"), {}, {APP: topics.TOPICS})
    yield city
    city.embedded.stop()


@pytest.fixture(autouse=True)
def restless(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that tells at once how it fares, and tries again at once."""
    monkeypatch.setattr(service, "_BEAT_S", 0.0)
    monkeypatch.setattr(service, "_RETRY_S", 0.01)


@pytest.fixture
def live(
    settings: Settings, engine: Engine, city: City, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Live]:
    monkeypatch.setattr(agenda, "proposed", lambda *_given, **_more: None)
    of_system = settings.model_copy(update={"broker": city.settings, "data_dir": city.file.parent})
    own = settings.model_copy(update={"broker": city.settings.of_process(APP)})
    found = Service(own, engine, Event())
    with _running(found):
        assert found._inbox.wait_connected(SENT)
        yield Live(found, engine, city, Kept(engine, settings), of_system)


@contextmanager
def _running(found: Service) -> Iterator[Running]:
    """A service that runs until the end of the block."""
    thread = threading.Thread(target=found.run)
    thread.start()
    try:
        yield Running(found, found._engine)
    finally:
        found._stop.set()
        thread.join()


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


@pytest.mark.slow
def test_a_broker_that_comes_later_is_found(settings: Settings, engine: Engine) -> None:
    broker = Broker(port=free_port(), username="city", password="password", prefix="town")
    with _running(Service(settings.model_copy(update={"broker": broker}), engine, Event())) as live:
        live.soon(lambda: f":{broker.port}" in str(live.beat().get("lacks")))
        assert live.beat()["connected"] is False
        started = EmbeddedBroker(
            broker.port, "city", "password", prefix="town", apps={APP: topics.TOPICS}
        )
        started.start()
        live.soon(lambda: live.beat()["connected"] and live.beat()["lacks"] is None)
    started.stop()


def test_what_nobody_thought_of_when_connecting_is_said_once_and_tried_again(
    settings: Settings,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    attempts, secret = threading.Semaphore(0), "a password, perhaps"

    def connect(*_given: Any, **_more: Any) -> Any:
        attempts.release()
        raise ValueError(secret)

    monkeypatch.setattr(mqtt, "connect", connect)
    with _running(Service(settings, engine, Event())) as live:
        for _ in range(3):
            assert attempts.acquire(timeout=SENT)
        live.soon(lambda: live.beat().get("lacks") == "the broker cannot be used: ValueError")
    assert caplog.text.count("connecting to the broker failed with ValueError") == 1
    assert secret not in caplog.text


def test_while_the_database_is_locked_the_log_says_so_once_and_then_it_goes_on(
    settings: Settings,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    attempts, is_locked = threading.Semaphore(0), Event()
    step = Reasoner.step

    def locked(self: Reasoner, *given: Any) -> None:
        if is_locked.is_set():
            attempts.release()
            raise OperationalError("SELECT", {}, Exception("database is locked"))
        step(self, *given)

    is_locked.set()
    monkeypatch.setattr(Reasoner, "step", locked)
    monkeypatch.setattr(Service, "_listen", lambda _self: None)
    with _running(Service(settings, engine, Event())) as live:
        for _ in range(3):
            assert attempts.acquire(timeout=SENT)
        assert live.beat() == {}
        is_locked.clear()
        live.soon(lambda: live.beat() != {})
    assert caplog.text.count("a step failed with OperationalError") == 1


def _live(live: Live, meeting: str) -> Any:
    assert live.service._reasoner is not None
    return live.service._reasoner._lives[meeting]


def _values(live: Live, meeting: str, person: str) -> dict[str, Any]:
    return dict(_live(live, meeting)._latest[person].values)
