"""Mosquitto, with the files we write for it, allows what the embedded broker allows."""

from __future__ import annotations

import os
import queue
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
import pytest
from argon2 import PasswordHasher
from paho.mqtt.enums import CallbackAPIVersion
from sqlalchemy import insert

from citywise.backend.machine import REPOSITORY, free_port
from citywise.backend.network import broker_rights
from citywise.backend.network.broker_rights import RightsError
from citywise.backend.people import accounts, passwords, tokens
from citywise.backend.people.scopes import Scope
from citywise.backend.settings import Broker, Settings
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.models import PlaceRow
from tests.brokers import SENT
from tests.databases import begun

CONF = REPOSITORY / "deploy" / "mosquitto.conf"


@dataclass
class Town:
    """Accounts with devices, and the files that say so to mosquitto."""

    folder: Path
    settings: Settings
    devices: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    """Of each device by its label: token id, secret, account."""

    def write(self) -> list[Path]:
        engine = create_engine_for(self.settings.database_url)
        files = broker_rights.write_for_mosquitto(engine, self.settings, self.folder)
        engine.dispose()
        return files

    def revoke(self, label: str) -> None:
        token, _, account = self.devices[label]
        engine = create_engine_for(self.settings.database_url)
        with engine.begin() as connection:
            assert tokens.revoke(connection, account, token)
        engine.dispose()


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Town:
    folder = tmp_path_factory.mktemp("town")
    broker = Broker(embedded=False, username="city", password="password", prefix="town")
    town = Town(folder, Settings(data_dir=folder, broker=broker))
    strong = passwords._hasher
    passwords.use(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    engine = begun(town.settings.database_url)
    with engine.begin() as connection:
        for name, devices in {
            "anna": {"phone": ["all"], "watch": ["notices"]},
            "ben": {
                "other": ["context"],
                "sensor": ["sensors"],
                "surveyor": ["places"],
                "meter": ["sensors"],
            },
        }.items():
            roles = ["admin"] if name == "ben" else ["user"]  # the rights to the city need it
            account = accounts.create(connection, name, f"the password of {name[::-1]}", roles).id
            for label, rights in devices.items():
                scope = Scope(kinds=("noise",), sensors=("n1*",)) if label == "meter" else None
                token, secret = tokens.issue(connection, account, label, rights, scope=scope)
                town.devices[label] = token.id, secret, account
        for name in ("n1", "n12", "x1"):
            body = {"sensors": ["noise", "climate"]}
            row = {"id": name, "kind": "noise_meter", "name": name, "lat": 56, "lon": 10}
            connection.execute(insert(PlaceRow), {**row, "body": body, "updated_ms": 0})
    engine.dispose()
    passwords.use(strong)
    return town


def test_the_files_name_every_device_and_what_it_may(town: Town) -> None:
    hashes, rules = (file.read_text() for file in town.write())
    phone, _, anna = town.devices["phone"]
    assert re.search(rf"^{phone}:\$7\$\d+\$[\w+/=]+\$[\w+/=]+$", hashes, re.MULTILINE)
    assert (
        f"user {phone}\n"
        "topic read town/city/events/+/+\n"
        "topic read town/city/readings/+/+\n"
        f"topic read town/notices/{anna}/{phone}\n"
        f"topic write town/notices/{anna}/{phone}/seen\n"
        f"topic write town/context/{anna}\n"
    ) in rules
    assert rules.count("town/context/") == 2
    assert rules.startswith("user city\ntopic readwrite town/#\n")
    for _, secret, _ in town.devices.values():
        assert secret not in hashes + rules


@pytest.mark.parametrize(
    ("label", "writes"),
    [
        ("sensor", ["status/{device}", "observations/#", "events/#", "rooms/+"]),
        ("surveyor", ["status/{device}", "places/#"]),
        ("other", ["context/{account}"]),
        ("watch", ["notices/{account}/{device}/seen"]),
        ("meter", ["status/{device}", "observations/noise/n1", "observations/noise/n12"]),
    ],
)
def test_the_list_lets_a_device_write_what_its_right_is_about(
    town: Town, label: str, writes: list[str]
) -> None:
    device, _, account = town.devices[label]
    _, _, after = town.write()[1].read_text().partition(f"user {device}\n")
    own, _, _ = after.partition("user ")
    allowed = [line for line in own.splitlines() if line.startswith("topic write ")]
    topics = [topic.format(account=account, device=device) for topic in writes]
    assert allowed == [f"topic write town/{topic}" for topic in topics]


def test_lines_of_ones_own_come_first_and_stay(town: Town) -> None:
    own = town.folder / "acl.own"
    own.write_text("user bridge\ntopic read town/events/#\n")
    assert town.write()[1].read_text().startswith("user bridge\ntopic read town/events/#\nuser")
    own.unlink()


def test_without_a_user_of_our_own_nothing_is_written(tmp_path: Path, town: Town) -> None:
    nameless = town.settings.model_copy(update={"broker": Broker(embedded=False)})
    engine = create_engine_for(town.settings.database_url)
    with pytest.raises(RightsError, match=r"broker\.username and broker\.password"):
        broker_rights.write_for_mosquitto(engine, nameless, tmp_path)
    engine.dispose()
    assert list(tmp_path.iterdir()) == []


# -- with a real mosquitto ------------------------------------------------------------


@dataclass
class Mosquitto:
    """A running mosquitto with the configuration of `deploy`."""

    process: subprocess.Popen[bytes]
    inner: int
    outer: int


@pytest.fixture(scope="module")
def mosquitto(town: Town) -> Iterator[Mosquitto]:
    """Skipped where there is none in PATH."""
    found = shutil.which("mosquitto")
    if found is None:
        pytest.skip("no mosquitto in PATH; install it (Debian: apt-get install mosquitto)")
    town.write()
    inner, outer = free_port(), free_port()
    text = CONF.read_text().replace("/mosquitto/rights", str(town.folder))
    text = text.replace("listener 1883", f"listener {inner} 127.0.0.1")
    text = text.replace("listener 1884", f"listener {outer} 127.0.0.1")
    text = text.replace("/mosquitto/data/", f"{town.folder}/")
    conf = town.folder / "mosquitto.conf"
    conf.write_text(text + ("user root\n" if os.geteuid() == 0 else ""))
    process = subprocess.Popen([found, "-c", str(conf)], stderr=subprocess.DEVNULL)
    with process:
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", outer)).close()
                break
            except OSError:
                time.sleep(0.05)
        yield Mosquitto(process, inner, outer)
        process.terminate()


class Client:
    """Somebody at mosquitto."""

    def __init__(self, port: int, user: str, secret: str, name: str | None = None) -> None:
        self.heard: queue.Queue[str] = queue.Queue()
        self.answers: queue.Queue[str] = queue.Queue()
        self.gone: queue.Queue[None] = queue.Queue()
        self._subscribed: queue.Queue[None] = queue.Queue()
        self.paho = paho.Client(
            CallbackAPIVersion.VERSION2, name or user, reconnect_on_failure=False
        )
        self.paho.username_pw_set(user, secret)
        self.paho.on_connect = lambda *given: self.answers.put(str(given[3]))
        self.paho.on_disconnect = lambda *_: self.gone.put(None)
        self.paho.on_subscribe = lambda *_: self._subscribed.put(None)
        self.paho.on_message = lambda _c, _d, message: self.heard.put(message.topic)
        self.paho.connect("127.0.0.1", port)
        self.paho.loop_start()
        self.answer = self.answers.get(timeout=SENT)

    def subscribe(self, topic: str) -> None:
        self.paho.subscribe(topic, 1)
        self._subscribed.get(timeout=SENT)

    def send(self, *topics: str) -> None:
        for topic in topics:
            self.paho.publish(topic, b"{}", 1).wait_for_publish(SENT)

    def close(self) -> None:
        self.paho.disconnect()
        self.paho.loop_stop()


@contextmanager
def client(*given: Any) -> Iterator[Client]:
    found = Client(*given)
    try:
        yield found
    finally:
        found.close()


def topics_of(town: Town) -> list[str]:
    """Every topic that somebody may have to do with."""
    found = ["places/road/1", "observations/traffic", "events/1", "clock", "control/source"]
    found += ["status/ingest"]
    for device, _, account in town.devices.values():
        notices = f"notices/{account}/{device}"
        found += [f"context/{account}", notices, f"{notices}/seen", f"status/{device}"]
    return [f"town/{topic}" for topic in dict.fromkeys(found)]


def sent_through(mosquitto: Mosquitto, device: tuple[str, str], topics: list[str]) -> set[str]:
    """Of the topics that a device sends to, those at which it is heard."""
    with client(mosquitto.inner, "city", "password", "operator") as operator:
        operator.subscribe("#")
        for topic in topics:
            # Some versions end the connection of who sends what is not theirs.
            with client(mosquitto.outer, *device) as found, suppress(RuntimeError):
                sent = found.paho.publish(topic, b"{}", 1)
                while not sent.is_published() and found.gone.empty():
                    time.sleep(0.002)
        operator.send("town/last")
        return set(iter(lambda: operator.heard.get(timeout=SENT), "town/last"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("label", "may_send", "may_read"),
    [
        ("phone", {"context/{account}", "notices/{account}/{device}/seen"},
         {"notices/{account}/{device}"}),
        ("watch", {"notices/{account}/{device}/seen"},
         {"notices/{account}/{device}"}),
        ("other", {"context/{account}"}, set()),
        ("sensor", {"observations/traffic", "events/1", "status/{device}"}, set()),
        ("surveyor", {"places/road/1", "status/{device}"}, set()),
    ],
)  # fmt: skip
def test_a_device_sends_and_reads_what_is_its_own_and_nothing_else(
    mosquitto: Mosquitto, town: Town, label: str, may_send: set[str], may_read: set[str]
) -> None:
    device, secret, account = town.devices[label]
    topics = topics_of(town)

    def named(some: set[str]) -> set[str]:
        return {"town/" + topic.format(account=account, device=device) for topic in some}

    assert sent_through(mosquitto, (device, secret), topics) == named(may_send)
    with (
        client(mosquitto.inner, "city", "password", "operator") as operator,
        client(mosquitto.outer, device, secret) as found,
    ):
        operator.subscribe("town/#")
        for topic in ["#", "+/+/#", "$SYS/#", *topics]:
            found.subscribe(topic)
        while not found.heard.empty():
            found.heard.get()
        operator.send(*topics)
        list(iter(lambda: operator.heard.get(timeout=SENT), topics[-1]))
        time.sleep(0.2)
        assert set(found.heard.queue) == named(may_read)


@pytest.mark.slow
def test_a_token_for_some_sensors_writes_at_their_own_topics_and_nowhere_else(
    mosquitto: Mosquitto, town: Town
) -> None:
    device, secret, _ = town.devices["meter"]
    own = {f"town/status/{device}", "town/observations/noise/n1", "town/observations/noise/n12"}
    others = [
        "observations/noise", "observations/noise/", "observations/noise/x1",
        "observations/noise/n", "observations/noise/n13", "observations/noise/n1/n1",
        "observations/noise/N1",
        "observations/climate", "observations/climate/n1", "observations/traffic/n1",
        "observations", "observations//n1", "places/noise_meter/n1", "events/n1", "rooms/n1",
        "stream/noise", "sources/noise/n1", "control/source", "clock", "status/n1",
    ]  # fmt: skip
    elsewhere = ["observations/noise/n1", "/town/observations/noise/n1", "other/n1"]
    topics = [*topics_of(town), *(f"town/{topic}" for topic in others), *elsewhere, *sorted(own)]
    assert sent_through(mosquitto, (device, secret), list(dict.fromkeys(topics))) == own


@pytest.mark.slow
def test_nobody_takes_over_the_connection_of_another_by_its_client_id(
    mosquitto: Mosquitto, town: Town
) -> None:
    phone, watch = town.devices["phone"], town.devices["watch"]
    with (
        client(mosquitto.inner, "city", "password", "ingest") as ingest,
        client(mosquitto.outer, *watch[:2]) as other,
        client(mosquitto.outer, *phone[:2], "ingest"),
        client(mosquitto.outer, *phone[:2], watch[0]),
    ):
        time.sleep(0.2)
        assert ingest.gone.empty()
        assert other.gone.empty()


@pytest.mark.slow
def test_a_token_that_is_taken_back_is_out_after_a_hangup_signal(
    mosquitto: Mosquitto, town: Town
) -> None:
    device, secret, _ = town.devices["watch"]
    with client(mosquitto.outer, device, secret) as watch:
        assert watch.answer == "Success"
        town.revoke("watch")
        town.write()
        mosquitto.process.send_signal(1)
        watch.gone.get(timeout=SENT)
    with client(mosquitto.outer, device, secret) as watch:
        assert watch.answer == "Not authorized"
