"""Sources whose topics are at the city's embedded broker: devices send there with a token."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from citywise.backend import mqtt
from citywise.backend.broker import EmbeddedBroker
from citywise.backend.network import broker_rights
from citywise.backend.people import accounts, tokens
from citywise.backend.people.scopes import Scope
from citywise.backend.settings import Broker, Settings, Source
from citywise.backend.sources import made
from citywise.backend.store.database import create_engine_for, migrate
from tests.api.town import soon
from tests.sources.running import running
from tests.sources.test_side_by_side import DISCOVERED

HOME = Source(name="home", connector="homeassistant", topics=("homeassistant/#", "home/#"))


@pytest.mark.slow
def test_a_source_that_is_made_while_all_runs_hears_devices_at_the_embedded_broker(
    tmp_path: Path,
) -> None:
    """What a device retained before the source came is heard, too."""
    heard: list[dict[str, Any]] = []
    at = Broker(username="city", password="password of the city")
    settings = Settings(data_dir=tmp_path, broker=at)
    engine = create_engine_for(settings.database_url)
    migrate(engine)
    with engine.begin() as connection:
        account = accounts.create(connection, "Anna", "three long words", roles=("admin",))
        scope = Scope(sources=("home",))
        token, secret = tokens.issue(connection, account.id, "hub", ["sensors"], scope=scope)
    broker_rights.write(engine, settings)
    embedded = EmbeddedBroker.of(settings)
    settings = settings.model_copy(
        update={"broker": at.model_copy(update={"port": embedded.start()})}
    )

    def listen(client: Any) -> None:
        client.on_connect = lambda c, *_: c.subscribe("citywise/observations/#", 1)
        client.on_message = lambda _c, _d, m: heard.extend(json.loads(m.payload))

    own = settings.broker
    listener = mqtt.connect(own, "listener", prepare=listen)
    hub_at = own.model_copy(update={"username": token.id, "password": secret, "embedded": False})
    hub = mqtt.connect(hub_at, token.id)
    try:
        ours = settings.model_copy(update={"broker": own.of_process("connectors")})
        with running(ours, engine) as service:
            with engine.begin() as connection:
                made.put(connection, HOME, is_active=True)
            soon(lambda: service._runs)
            broker_rights.write(engine, settings)  # later than it came: it asks again

            def tell() -> bool:
                found = "homeassistant/sensor/hall/config"
                hub.publish(found, json.dumps(DISCOVERED), 1, retain=True)
                hub.publish("citywise/observations/noise", b'[{"sensor":"x"}]', 1)
                hub.publish("home/hall/state", b'{"temperature":68}', 1)
                return bool(heard)

            soon(tell)
    finally:
        for client in (hub, listener):
            client.disconnect()
            client.loop_stop()
        embedded.stop()
        engine.dispose()
    assert {(one["sensor"], one["temperature_c"]) for one in heard} == {("hall-t", 20)}


def test_the_topics_of_sources_that_rest_or_have_a_broker_of_their_own_are_not_opened(
    tmp_path: Path,
) -> None:
    settings = Settings(data_dir=tmp_path, sources=(HOME.model_copy(update={"name": "file"}),))
    engine = create_engine_for(settings.database_url)
    migrate(engine)
    elsewhere = Broker(embedded=False, host="elsewhere", port=1883)
    with engine.begin() as connection:
        made.put(connection, HOME, is_active=True)
        for name, active, more in (
            ("resting", False, {}),
            ("away", True, {"broker": elsewhere}),
            ("all", True, {"topics": ("#",)}),
            ("spy", True, {"topics": ("citywise/context/#",)}),
        ):
            changed = HOME.model_copy(update={"name": name, **more})
            made.put(connection, changed, is_active=active)
        found = made.at_own_broker(connection, settings)
    engine.dispose()
    assert found == {"file": HOME.topics, "home": HOME.topics}


@pytest.mark.parametrize("topic", ["#", "+/x", "citywise/context/#", "$SYS/#"])
def test_a_source_reads_no_topic_that_may_be_the_city_s_own(topic: str) -> None:
    source = HOME.model_copy(update={"topics": (topic,)})
    with pytest.raises(made.OwnTopicError, match="may be one of the city's own"):
        made.refuse_own_topics(source, Broker())
    made.refuse_own_topics(source, Broker(embedded=False))
    made.refuse_own_topics(HOME, Broker())
