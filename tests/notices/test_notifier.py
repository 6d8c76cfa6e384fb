"""The notifier as it runs: reminders without a broker, devices with a real one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import paho.mqtt.client as paho
import pytest
from sqlalchemy import Engine, select

from citywise.backend import mqtt
from citywise.backend.broker import EmbeddedBroker
from citywise.backend.notices.notifier import NotifierService
from citywise.backend.settings import Broker, Settings
from citywise.backend.store.models import HeartbeatRow
from tests.api.templates import change
from tests.api.town import Town, soon
from tests.notices.booked import MINUTE, NOON_MS, alerts, apply, wish
from tests.notices.device import Device
from tests.notices.test_delivery import somebody
from tests.ports import nobody_at

pytestmark = pytest.mark.usefixtures("city")


@contextmanager
def notifier(settings: Settings, engine: Engine) -> Iterator[None]:
    stop = threading.Event()
    running = threading.Thread(target=NotifierService(settings, engine, stop).run)
    running.start()
    try:
        yield
    finally:
        stop.set()
        running.join(60)
        assert not running.is_alive()


@pytest.fixture
def broker() -> Iterator[Broker]:
    embedded = EmbeddedBroker(0, "citywise", "secret of the test")
    port = embedded.start()
    yield Broker(embedded=False, port=port, username="citywise", password="secret of the test")
    embedded.stop()


def beaten(engine: Engine) -> dict[str, object]:
    query = select(HeartbeatRow.detail).where(HeartbeatRow.process == "notifier")
    with engine.connect() as connection:
        return connection.execute(query).scalar_one_or_none() or {}


def test_reminders_need_no_broker(settings: Settings, engine: Engine, city: Town) -> None:
    wish(engine, quiet=[{"from": "13:30", "until": "14:30"}])
    apply(engine, change("opened"))
    with (
        nobody_at() as port,
        notifier(settings.model_copy(update={"broker": Broker(embedded=False, port=port)}), engine),
    ):
        soon(lambda: beaten(engine))
        assert alerts(engine) == []
        city.running("2014-08-05T12:30:00Z")
        soon(lambda: alerts(engine) == ["reminded 3"])
    assert beaten(engine)["connected"] is False


def test_what_operators_planned_and_the_heartbeat_do_not_wait_for_reminders(
    settings: Settings, engine: Engine, city: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept = threading.Event()
    monkeypatch.setattr("citywise.backend.notices.notifier._AGAIN_S", 0)
    monkeypatch.setattr("citywise.backend.notices.notifier.remind", _broken)
    monkeypatch.setattr("citywise.backend.notices.notifier.schedule.sweep", lambda *_: swept.set())
    city.running("2014-08-05T12:30:00Z")
    with (
        nobody_at() as port,
        notifier(settings.model_copy(update={"broker": Broker(embedded=False, port=port)}), engine),
    ):
        soon(lambda: swept.is_set() and beaten(engine))


def _broken(*_given: object) -> int:
    raise ValueError("cannot be")


@pytest.mark.slow
def test_a_device_gets_its_notices_from_a_real_broker(
    settings: Settings, engine: Engine, broker: Broker
) -> None:
    alice, phone = somebody(engine, "Alice")
    device, topic = Device(), f"{broker.prefix}/notices/{alice}/{phone}"

    def prepare(client: paho.Client) -> None:
        def on_connect(client: paho.Client, *_: object) -> None:
            client.subscribe(topic, 1)

        def on_subscribe(client: paho.Client, *_: object) -> None:
            client.publish(f"{topic}/seen", device.begin(), 1)

        def on_message(client: paho.Client, _data: object, message: paho.MQTTMessage) -> None:
            client.publish(f"{topic}/seen", device.take(bytes(message.payload)), 1)

        client.on_connect = on_connect
        client.on_subscribe = on_subscribe
        client.on_message = on_message

    with notifier(settings.model_copy(update={"broker": broker}), engine):
        soon(lambda: beaten(engine).get("devices") == 1)
        mine: dict[str, Any] = {"user": alice, "instance": f"{alice}.jam_ahead"}
        apply(engine, change("opened", **mine))
        client = mqtt.connect(broker, phone, prepare=prepare)
        soon(lambda: len(device.shown) == 1)
        apply(engine, change("opened", about="jam-2", **mine))
        apply(engine, change("closed", NOON_MS + MINUTE, **mine))
        soon(lambda: len(device.shown) == 3)
        client.disconnect()
        client.loop_stop()
    told = [(one["change"], one["about"]["id"], one["title"]) for one in device.shown]
    assert told == [
        ("opened", "jam-1", "Jam ahead"),
        ("opened", "jam-2", "Jam ahead"),
        ("closed", "jam-1", "Jam ahead"),
    ]
    assert device.gaps == device.resets == 0
