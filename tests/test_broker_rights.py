"""The embedded broker lets everybody do what is theirs, and nothing else."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from citywise.backend import machine
from citywise.backend.machine import REPOSITORY
from tests.api.town import soon
from tests.brokers import REFUSED, SENT, City, Client, client, secret_of

ANNA, BEN = "u-" + "a" * 20, "u-" + "b" * 20
PHONE, WATCH, OTHER, SENSOR, OVER, SURVEYOR, METER, GARDENER, BRIDGE, GATEWAY = (
    f"d-{n:016x}" for n in range(10)
)
SOURCES = {"ha": ["homeassistant/#", "zigbee2mqtt/+"], "ttn": ["v3/+/devices/#"]}
RIGHTS: dict[str, dict[str, Any]] = {
    PHONE: {"user": ANNA, "rights": ["all"]},
    WATCH: {"user": ANNA, "rights": ["notices"]},
    OTHER: {"user": BEN, "rights": ["context"]},
    SENSOR: {"user": BEN, "rights": ["sensors"]},
    SURVEYOR: {"user": BEN, "rights": ["places"]},
    OVER: {"user": BEN, "rights": ["all"], "expires_ms": 1},
    METER: {
        "user": BEN,
        "rights": ["sensors", "places"],
        "scope": {"kinds": ["noise"], "sensors": ["n1*"], "places": ["n1*"]},
    },
    GARDENER: {"user": BEN, "rights": ["places"], "scope": {"places": ["n1*"], "remove": True}},
    BRIDGE: {"user": BEN, "rights": ["sensors"], "scope": {"sources": ["h*"]}},
    GATEWAY: {
        "user": BEN,
        "rights": ["sensors"],
        "scope": {"sources": ["ttn"], "kinds": ["noise"]},
    },
}


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[City]:
    city = City(tmp_path_factory.mktemp("city"), RIGHTS, sources=SOURCES)
    yield city
    city.embedded.stop()


@pytest.fixture
def watcher(city: City) -> Iterator[Client]:
    """The operator, who sees what really went through."""
    with client(city, "city", name="watcher") as found:
        assert found.reads("town/#")
        assert found.sends("town/begin")
        while found.heard.get(timeout=SENT)[0] != "town/begin":
            pass  # what is retained
        yield found


MAY_SEND = [
    (PHONE, f"context/{ANNA}"),
    (PHONE, f"notices/{ANNA}/{PHONE}/seen"),
    (SENSOR, f"status/{SENSOR}"),
    (WATCH, f"notices/{ANNA}/{WATCH}/seen"),
    (OTHER, f"context/{BEN}"),
    (SURVEYOR, "places/road/1"),
    (SURVEYOR, f"status/{SURVEYOR}"),
    (SENSOR, "observations/traffic/1"),
    (SENSOR, "events/jam"),
    (METER, "observations/noise/n1"),
    (METER, "observations/noise/n12"),
    (METER, "places/noise_meter/n1"),
    (METER, f"status/{METER}"),
    ("citywise.source", "observations/traffic"),
    ("citywise.source", "clock"),
    ("citywise.web", "control/source"),
    ("citywise.web", "observations/air"),
    ("citywise.notifier", f"notices/{ANNA}/{PHONE}"),
    ("citywise.notifier", "city/readings/noise/n1"),
    ("citywise.ingest", "status/ingest"),
]
MAY_NOT_SEND = [
    (PHONE, f"context/{BEN}"),
    (PHONE, "context"),
    (PHONE, f"context/{ANNA}/more"),
    (PHONE, f"context/{ANNA}/"),
    (PHONE, f"context//{ANNA}"),
    (PHONE, f"notices/{ANNA}/{PHONE}"),
    (PHONE, f"notices/{ANNA}/{WATCH}/seen"),
    (PHONE, f"notices/{BEN}/{OTHER}/seen"),
    (PHONE, f"status/{PHONE}"),
    (SENSOR, f"status/{WATCH}"),
    (PHONE, "status/ingest"),
    (PHONE, "observations/traffic"),
    (PHONE, "events/jam"),
    (PHONE, "places/road/1"),
    (SENSOR, "places/road/1"),
    (SURVEYOR, "observations/traffic/1"),
    (SURVEYOR, "events/jam"),
    (SURVEYOR, "clock"),
    (SURVEYOR, f"status/{SENSOR}"),
    (METER, "observations/noise/x1"),
    (METER, "observations/noise/xn1"),
    (METER, "observations/climate/n1"),
    (METER, "observations/noise"),  # The observation there names no sensor.
    (METER, "observations/noise/n1/more"),
    (METER, "observations"),
    (METER, "events/jam"),
    (METER, "city/readings/noise/n1"),
    (SENSOR, "city/readings/noise/n1"),
    (METER, "rooms/n1"),
    (METER, "places/noise_meter/x1"),
    (METER, "places/n1"),
    (GARDENER, "places/noise_meter/x1"),
    (GARDENER, "observations/noise/n1"),
    (PHONE, "control/source"),
    (PHONE, "clock"),
    (WATCH, f"context/{ANNA}"),
    (OTHER, f"notices/{BEN}/{OTHER}/seen"),
    (SENSOR, f"context/{BEN}"),
    (SENSOR, "clock"),
    (SENSOR, "control/source"),
    ("citywise.source", f"context/{ANNA}"),
    ("citywise.source", f"notices/{ANNA}/{PHONE}"),
    ("citywise.web", f"context/{ANNA}"),
    ("citywise.notifier", "observations/traffic"),
    ("citywise.notifier", "city/readings"),
    ("citywise.notifier", f"notices/{ANNA}/{PHONE}/seen"),
    ("citywise.ingest", "observations/traffic"),
    ("citywise.ingest", "status/web-1"),
]


@pytest.mark.parametrize(("user", "topic"), MAY_SEND)
def test_what_somebody_may_send_goes_through(
    city: City, watcher: Client, user: str, topic: str
) -> None:
    with client(city, user) as sender:
        assert sender.sends(f"town/{topic}")
        assert watcher.heard.get(timeout=SENT) == (f"town/{topic}", b"{}")


@pytest.mark.parametrize(("user", "topic"), MAY_NOT_SEND)
def test_what_somebody_may_not_send_reaches_nobody(
    city: City, watcher: Client, user: str, topic: str
) -> None:
    """A device is answered all the same: it would send the message again for ever."""
    with client(city, user) as sender:
        assert sender.sends(f"town/{topic}") == user.startswith("d-")
    assert watcher.sends("town/last")
    assert watcher.heard.get(timeout=SENT)[0] == "town/last"


@pytest.mark.parametrize(
    ("user", "of", "token"), [(PHONE, BEN, OTHER), (METER, ANNA, WATCH), (OTHER, ANNA, PHONE)]
)
def test_at_no_topic_of_the_guide_a_device_tells_or_hears_what_is_anothers(
    city: City, watcher: Client, user: str, of: str, token: str
) -> None:
    """But for the city's events and readings, which every device may hear."""
    guide = (REPOSITORY / "docs" / "mqtt.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| `citywise/([^`]*)` \|", guide, re.MULTILINE)
    whose = {"<user>": of, "<token>": token}
    topics = [re.sub("<[a-z]+>", lambda name: whose.get(name[0], "x1"), topic) for topic in found]
    heard = ("city/events/", "city/readings/")
    assert len(topics) >= 14
    with client(city, user) as device:
        for topic in topics:
            assert device.reads(f"town/{topic}") == topic.startswith(heard), topic
            assert device.sends(f"town/{topic}"), topic  # it is dropped
    assert watcher.sends("town/last")
    assert watcher.heard.get(timeout=SENT)[0] == "town/last"


AT_SOURCES = [
    (SENSOR, "homeassistant/sensor/a/config", True),
    (SENSOR, "v3/app/devices/x/up", True),
    (BRIDGE, "zigbee2mqtt/lamp", True),
    (BRIDGE, "zigbee2mqtt/lamp/more", False),
    (BRIDGE, "v3/app/devices/x/up", False),
    (BRIDGE, "town/observations/noise/n1", False),
    (BRIDGE, "town/events/jam", False),
    (BRIDGE, f"town/status/{BRIDGE}", True),
    (GATEWAY, "v3/app/devices/x/up", True),
    (GATEWAY, "homeassistant/x", False),
    (GATEWAY, "town/observations/noise/n1", True),
    (GATEWAY, "town/observations/climate/n1", False),
    (METER, "homeassistant/x", False),
    (SURVEYOR, "homeassistant/x", False),
    (PHONE, "homeassistant/x", False),
    (SENSOR, "elsewhere/x", False),
]


@pytest.mark.parametrize(("user", "topic", "is_let"), AT_SOURCES)
def test_at_the_topics_of_sources_sends_who_has_a_token_for_them(
    city: City, user: str, topic: str, is_let: bool
) -> None:
    with client(city, "city", name="hearer") as hearer, client(city, user) as sender:
        assert hearer.reads("#")
        assert sender.sends(topic, b"sent")
        assert hearer.sends("town/last", b"sent")
        got = iter(lambda: hearer.heard.get(timeout=SENT), ("town/last", b"sent"))
        assert ((topic, b"sent") in list(got)) == is_let


def test_the_connectors_alone_read_the_topics_of_sources_as_soon_as_there_are_some(
    tmp_path: Path,
) -> None:
    city = City(tmp_path, RIGHTS, sources=SOURCES)
    try:
        with client(city, "citywise.connectors") as reader, client(city, BRIDGE) as bridge:
            assert [reader.reads(t) for t in ("homeassistant/#", "v3/+/devices/#")] == [True, True]
            assert not any(map(reader.reads, ("#", "town/context/#", "zigbee2mqtt/#", "later/#")))
            assert not bridge.reads("homeassistant/#")
            assert bridge.sends("homeassistant/a/config", b"kept", retain=True)
            assert reader.heard.get(timeout=SENT) == ("homeassistant/a/config", b"kept")
            city.sources["later"] = ["later/#"]
            city.write(RIGHTS)
            soon(lambda: reader.reads("later/#"))
        with client(city, "citywise.connectors") as reader:
            assert reader.reads("homeassistant/#")
            assert reader.heard.get(timeout=SENT) == ("homeassistant/a/config", b"kept")
    finally:
        city.embedded.stop()


@pytest.mark.parametrize(
    ("user", "topic"),
    [(PHONE, f"context/{ANNA}"), (PHONE, f"notices/{ANNA}/{PHONE}/seen"),
     ("citywise.notifier", f"notices/{ANNA}/{PHONE}")],
)  # fmt: skip
def test_nothing_of_a_person_is_retained(
    city: City, watcher: Client, user: str, topic: str
) -> None:
    with client(city, user) as sender:
        assert sender.sends(f"town/{topic}", retain=True) == user.startswith("d-")
    with client(city, "city", name="late") as late:
        assert late.reads(f"town/{topic}")
        assert watcher.sends(f"town/{topic}", b"last")
        assert late.heard.get(timeout=SENT)[1] == b"last"
    assert watcher.heard.get(timeout=SENT)[1] == b"last"


def test_who_sends_what_it_may_not_stays_connected_and_is_heard_after_it(
    city: City, watcher: Client
) -> None:
    with client(city, PHONE) as phone:
        assert phone.sends(f"town/context/{BEN}")
        assert phone.sends(f"town/context/{ANNA}")
        assert not phone.gone.is_set()
    assert watcher.heard.get(timeout=SENT)[0] == f"town/context/{ANNA}"


RETAINED = [
    ("source", "places/road/7"),
    ("source", "clock"),
    ("source", "events/jam"),
    ("source", "status/source"),
    ("ingest", "status/ingest"),
]
"""By which process of ours, and where."""


@pytest.fixture
def kept(city: City) -> Iterator[dict[str, bytes]]:
    """What the broker keeps for who comes later: topic to message."""
    found = {f"town/{topic}": topic.encode() for _, topic in RETAINED}
    for role, topic in RETAINED:
        with client(city, f"citywise.{role}") as sender:
            assert sender.sends(f"town/{topic}", topic.encode(), retain=True)
    yield found
    with client(city, "city", name="cleaner") as cleaner:
        for topic in found:
            assert cleaner.sends(topic, b"", retain=True)


@pytest.mark.parametrize(
    ("user", "erases"),
    [
        (SENSOR, {"town/events/jam"}),
        (SURVEYOR, {"town/places/road/7"}),
        (PHONE, set()),
        (WATCH, set()),
        (OTHER, set()),
    ],
)
def test_a_device_erases_only_what_its_right_is_about(
    city: City, kept: dict[str, bytes], user: str, erases: set[str]
) -> None:
    with client(city, user) as device:
        for topic in kept:
            assert device.sends(topic, b"", retain=True)
    with client(city, "city", name="late") as late:
        for topic in kept:
            assert late.reads(topic)
        assert late.reads("town/last")
        assert late.sends("town/last")
        left = dict(iter(lambda: late.heard.get(timeout=SENT), ("town/last", b"{}")))
    assert left == {topic: kept[topic] for topic in kept.keys() - erases}


FLOOD = """
import { Retained } from %r
const kept = new Retained(3, 100)
const sent = ['a40', 'b40', 'c40', 'b10', 'c40', 'd1', 'a0', 'd1', 'd99']
const said = sent.map((one) => [one[0], Number(one.slice(1))])
console.log(JSON.stringify(said.map(([topic, length]) => kept.note(topic, length))))
"""


def test_a_flood_of_retained_messages_ends_where_the_memory_for_them_does() -> None:
    program = FLOOD % (REPOSITORY / "backend" / "broker_bounds.mjs").as_uri()
    command = [str(machine.node()), "--input-type=module", "--eval", program]
    said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    large, many = ("100 bytes are retained, which are the most",
                   "3 topics are retained, which are the most")  # fmt: skip
    assert said == [None, None, large, None, None, many, None, None, large]


def test_places_and_states_may_be_retained(city: City) -> None:
    with client(city, SURVEYOR) as surveyor:
        assert surveyor.sends("town/places/road/7", retain=True)
        assert surveyor.sends("town/places/road/7", b"", retain=True)
        assert surveyor.sends(f"town/status/{SURVEYOR}", retain=True)


@pytest.mark.parametrize(
    ("user", "topic"),
    [
        (PHONE, f"notices/{ANNA}/{PHONE}"),
        (WATCH, f"notices/{ANNA}/{WATCH}"),
        ("citywise.ingest", "context/#"),
        ("citywise.ingest", "observations/#"),
        ("citywise.ingest", "places/#"),
        ("citywise.ingest", "events/+"),
        ("citywise.source", "status/ingest"),
        ("citywise.notifier", "notices/+/+/seen"),
    ],
)
def test_what_somebody_may_read_is_granted(city: City, user: str, topic: str) -> None:
    with client(city, user) as reader:
        assert reader.reads(f"town/{topic}")


@pytest.mark.parametrize(
    ("user", "topic"),
    [
        (PHONE, "#"),
        (PHONE, "+/#"),
        (PHONE, "town/#"),
        (PHONE, "$SYS/#"),
        (PHONE, "$share/all/town/#"),
        (PHONE, f"town/notices/{ANNA}/#"),
        (PHONE, f"town/notices/{ANNA}/+"),
        (PHONE, f"town/notices/+/{PHONE}"),
        (PHONE, f"town/notices/{ANNA}/{WATCH}"),
        (PHONE, f"town/notices/{ANNA}/{PHONE}/#"),
        (PHONE, f"town/notices/{BEN}/{PHONE}"),
        (PHONE, f"town/context/{ANNA}"),
        (PHONE, f"town/context/{BEN}"),
        (PHONE, f"+/context/{BEN}"),
        (OTHER, f"town/notices/{BEN}/{OTHER}"),
        (SENSOR, "town/observations/#"),
        (PHONE, "town/city/#"),
        ("citywise.ingest", "town/city/readings/+/+"),
        ("citywise.ingest", "town/#"),
        ("citywise.ingest", "town/notices/#"),
        ("citywise.source", "town/context/#"),
        ("citywise.web", "town/context/#"),
        ("citywise.notifier", "town/context/#"),
        ("citywise.notifier", "town/notices/+/+"),
        ("city", "$SYS/#"),
    ],
)
def test_what_somebody_may_not_read_is_refused(city: City, user: str, topic: str) -> None:
    with client(city, user) as reader:
        assert not reader.reads(topic)


@pytest.mark.parametrize(
    ("user", "secret", "name"),
    [
        (PHONE, "wrong", PHONE),
        (PHONE, "", PHONE),
        (PHONE, secret_of(WATCH), PHONE),
        ("d-ffffffffffffffff", "secret", "d-ffffffffffffffff"),
        ("__proto__", "secret", "__proto__"),
        (None, None, "anybody"),
        ("city", "wrong", "city"),
        ("citywise.ingest", "password", "ingest"),
        (OVER, secret_of(OVER), OVER),
    ],
)
def test_who_does_not_know_the_secret_is_not_let_in(
    city: City, user: str | None, secret: str | None, name: str
) -> None:
    stranger = Client(city, user, secret, name)
    stranger.close()
    assert stranger.answer == "Not authorized"


@pytest.mark.parametrize("name", ["ingest", WATCH, f"{PHONE}0", f"x{PHONE}", "web-1", PHONE[:-1]])
def test_nobody_takes_over_the_connection_of_another(city: City, name: str) -> None:
    taker = Client(city, PHONE, secret_of(PHONE), name)
    taker.close()
    assert taker.answer == "Client identifier not valid"


def test_a_device_may_have_several_connections_of_its_own(city: City) -> None:
    with client(city, PHONE) as first, client(city, PHONE, name=f"{PHONE}-2") as second:
        assert second.sends(f"town/context/{ANNA}")
        assert first.sends(f"town/context/{ANNA}")


NEXT = f"notices/{ANNA}/{PHONE}/seen"


@pytest.mark.parametrize(
    ("topic", "arrives"),
    [(f"context/{ANNA}", True), (f"context/{BEN}", False), (f"status/{PHONE}", False)],
)
def test_a_last_will_says_only_what_its_sender_may(
    city: City, watcher: Client, topic: str, arrives: bool
) -> None:
    """The next one's comes after it."""
    for name, will in (PHONE, topic), (f"{PHONE}-2", NEXT):
        with client(city, PHONE, name=name, will=f"town/{will}") as phone:
            phone.break_off()
            assert phone.gone.wait(SENT)
    expected = topic if arrives else NEXT
    assert watcher.heard.get(timeout=SENT)[0] == f"town/{expected}"


def test_a_refused_subscription_brings_nothing_though_another_came_with_it(
    city: City, watcher: Client
) -> None:
    """The broker stores both for a session that lasts; what is forwarded is checked again."""
    own, others = f"town/notices/{ANNA}/{PHONE}", f"town/notices/{ANNA}/{WATCH}"
    with client(city, PHONE, clean=False) as phone:
        phone._paho.subscribe([(own, 1), (others, 1)])
        assert phone._granted.get(timeout=SENT) != REFUSED
    assert watcher.sends(others, b"private")
    assert watcher.sends(own, b"yours")
    with client(city, PHONE, clean=False) as phone:
        assert phone.heard.get(timeout=SENT) == (own, b"yours")
    with client(city, PHONE):
        pass  # ends the session


@pytest.mark.slow
def test_a_token_that_is_taken_back_ends_its_connection_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    city = City(tmp_path, RIGHTS)
    own = f"town/notices/{ANNA}/{PHONE}"
    try:
        with (
            client(city, PHONE, clean=False) as phone,
            client(city, WATCH) as watch,
            client(city, SENSOR) as sensor,
        ):
            assert phone.reads(own)
            assert sensor.sends(f"town/status/{SENSOR}", b"online", retain=True)
            gone = (PHONE, SENSOR)
            city.write({device: entry for device, entry in RIGHTS.items() if device not in gone})
            assert phone.gone.wait(SENT)
            assert not watch.gone.is_set()
        back = Client(city, PHONE, secret_of(PHONE))
        back.close()
        assert back.answer == "Not authorized"
        with client(city, "city", name="operator") as operator:
            assert operator.sends(own, b"too late")
            assert operator.reads("town/status/#")
            assert operator.sends("town/status/last")
            assert operator.heard.get(timeout=SENT)[0] == "town/status/last"
            with client(city, WATCH, clean=False) as watch:
                assert watch.reads(f"town/notices/{ANNA}/{WATCH}")
            assert operator.sends(f"town/notices/{ANNA}/{WATCH}", b"waits")
            city.write({})
            assert operator.heard.get(timeout=SENT) == (f"town/status/{WATCH}", b""), "forgotten"
        city.write(RIGHTS)
        with client(city, PHONE, clean=False) as phone:
            assert phone.reads(f"town/notices/{ANNA}/{PHONE}")
            assert phone.heard.empty()
        with client(city, WATCH, clean=False) as watch:
            assert watch.reads(f"town/notices/{ANNA}/{WATCH}")
            assert watch.heard.empty()
    finally:
        city.embedded.stop()


@pytest.mark.slow
def test_a_right_that_is_taken_away_is_gone_from_connections_that_are_open(tmp_path: Path) -> None:
    city = City(tmp_path, RIGHTS)
    changed = json.loads(city.file.read_text())
    changed[PHONE]["rights"] = ["notices"]
    try:
        with client(city, PHONE) as phone, client(city, "city", name="watcher") as watcher:
            assert watcher.reads("town/#")

            def is_refused() -> bool:
                assert phone.sends(f"town/context/{ANNA}")
                assert watcher.sends("town/last")
                return not list(iter(lambda: watcher.heard.get(timeout=SENT)[0], "town/last"))

            assert not is_refused()
            city.file.write_text(json.dumps(changed))
            soon(is_refused)
    finally:
        city.embedded.stop()


def test_a_message_that_is_too_large_ends_the_connection_before_it_is_read(city: City) -> None:
    with client(city, PHONE) as phone:
        assert phone.sends(f"town/context/{ANNA}", b"x" * 500_000)
        assert not phone.sends(f"town/context/{ANNA}", b"x" * 600_000)
    with client(city, SENSOR) as sensor:
        assert sensor.sends("town/observations/traffic", b"x" * 3_900_000)
        assert not sensor.sends("town/observations/traffic", b"x" * 4_100_000)


def test_who_has_not_said_who_they_are_cannot_send_much(city: City) -> None:
    with socket.create_connection(("127.0.0.1", city.settings.port)) as stranger:
        stranger.sendall(b"\x10\xff\xff\x7f" + b"x" * 1000)
        stranger.settimeout(SENT)
        with suppress(ConnectionResetError):
            assert stranger.recv(1) == b""


@pytest.mark.slow
def test_a_device_that_sends_too_fast_waits_and_loses_nothing(city: City, watcher: Client) -> None:
    with client(city, PHONE) as phone:
        begun = time.monotonic()
        for number in range(240):
            phone._paho.publish(f"town/context/{ANNA}", b"%d" % number, 1)
        heard = [int(watcher.heard.get(timeout=SENT)[1]) for _ in range(240)]
    assert heard == list(range(240))
    assert time.monotonic() - begun > 1.5


@pytest.mark.slow
def test_a_device_that_reads_nothing_delays_nobody_and_is_let_go(
    city: City, watcher: Client
) -> None:
    """Before a megabyte waits for it, more do than the broker has under way for all together."""
    topic = f"town/notices/{ANNA}/{PHONE}"
    awake = threading.Event()

    def wait(*_: object) -> None:
        awake.wait(2 * SENT)

    with client(city, PHONE) as phone, client(city, WATCH) as watch:
        assert phone.reads(topic)
        assert watch.reads(f"town/notices/{ANNA}/{WATCH}")
        phone._paho.on_message = wait
        others = f"town/notices/{ANNA}/{WATCH}"
        for _ in range(60):
            for _ in range(50):
                watcher._paho.publish(topic, b"x" * 5000, 1)
            assert watcher.sends(others, b"yours")
            assert watch.heard.get(timeout=SENT)[1] == b"yours"
        awake.set()
        assert phone.gone.wait(SENT)


def test_large_messages_count_as_many_for_all_connections_of_a_person(city: City) -> None:
    with client(city, OTHER) as one, client(city, OTHER, name=f"{OTHER}-2") as another:
        begun = time.monotonic()
        assert one.sends(f"town/context/{BEN}", b"x" * 400_000)
        assert another.sends(f"town/context/{BEN}", b"x" * 450_000)
    assert 0.3 < time.monotonic() - begun < SENT


def test_a_token_has_few_connections_at_a_time(city: City) -> None:
    with ExitStack() as stack:
        for number in (0, 1, 2, 3, 4, 4):  # one comes twice, and takes its own place
            stack.enter_context(client(city, WATCH, name=f"{WATCH}-{number}"))
        further = Client(city, WATCH, secret_of(WATCH), f"{WATCH}-5")
        further.close()
        assert further.answer == "Server unavailable"

    def may_come() -> bool:
        further = Client(city, WATCH, secret_of(WATCH), f"{WATCH}-6")
        further.close()
        return further.answer == "Success"

    soon(may_come)  # when the broker has noticed that the others went


# --- Tokens that are for some sensors ------------------------------------------------------------


def test_at_a_shared_topic_each_observation_must_be_of_a_sensor_of_the_token(
    city: City, watcher: Client
) -> None:
    good = b'[{"sensor": "n1", "level": 3}, {"sensor": "n17"}]'
    with client(city, METER) as meter:
        for bad in (b'[{"sensor": "n1"}, {"sensor": "x1"}]', b'{"sensor": 7}', b"{}", b"[1]", b"{"):
            assert meter.sends("town/observations/noise", bad)
        assert meter.sends("town/observations/noise", good)
    assert watcher.heard.get(timeout=SENT) == ("town/observations/noise", good)


def test_what_is_refused_is_told_to_the_ingest_alone_without_naming_people(
    city: City, watcher: Client
) -> None:
    with client(city, "citywise.ingest") as ingest, client(city, METER) as meter:
        assert ingest.reads("$refused/+")
        assert meter.sends("town/observations/noise/x1")
        assert meter.sends(f"town/context/{ANNA}")
        found = [ingest.heard.get(timeout=SENT) for _ in range(2)]
        assert not meter.reads("$refused/+")
    assert {topic for topic, _payload in found} == {f"$refused/{METER}"}
    assert [json.loads(payload)["why"] for _topic, payload in found] == [
        "its token is not for sensor x1",
        "not allowed to publish at town/context/u-…",
    ]
    assert ANNA not in str(found)
    assert watcher.sends("town/last")
    assert watcher.heard.get(timeout=SENT)[0] == "town/last"


def test_removing_a_place_needs_the_right_to(city: City) -> None:
    place = "town/places/noise_meter/n1"
    with client(city, "city", name="describer") as city_itself:
        assert city_itself.sends(place, b"here", retain=True)
    for user, left in ((METER, {place: b"here"}), (GARDENER, {})):
        with client(city, user) as device:
            assert device.sends(place, b"", retain=True)
        with client(city, "city", name="late") as late:
            assert late.reads(place)
            assert late.reads("town/last")
            assert late.sends("town/last")
            heard = dict(iter(lambda late=late: late.heard.get(timeout=SENT), ("town/last", b"{}")))  # type: ignore[misc]
        assert heard == left
