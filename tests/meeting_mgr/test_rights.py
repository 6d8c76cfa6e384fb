"""Who is in a meeting sends their own readings to the broker, and nobody else reads them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from citywise.apps.meeting_mgr import topics
from citywise.apps.meeting_mgr.model import APP
from citywise.apps.meeting_mgr.process.service import POLL_S
from citywise.backend import machine
from tests.brokers import SENT, City, Client, client, secret_of

MEETING, OTHER_MEETING = "m-" + "a" * 20, "m-" + "b" * 20
BOB, CHARLIE = "p-" + "b" * 20, "p-" + "c" * 20
SENSOR, PHONE = "d-0000000000000001", "d-0000000000000002"
ANNA = "u-" + "a" * 20
RIGHTS = {
    BOB: {"user": BOB, "write": [f"meetings/{MEETING}/{BOB}"]},
    CHARLIE: {"user": CHARLIE, "write": [f"meetings/{MEETING}/{CHARLIE}"]},
    SENSOR: {"user": ANNA, "rights": ["sensors"]},
    PHONE: {"user": ANNA, "rights": ["all"]},
}
OTHERS = {name: entry for name, entry in RIGHTS.items() if name != BOB}
SERVICE = f"citywise.{APP}"


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[City]:
    city = City(tmp_path_factory.mktemp("city"), RIGHTS, {APP: topics.TOPICS})
    yield city
    city.embedded.stop()


@pytest.fixture
def without_bob(city: City) -> Iterator[City]:
    """A meeting that he has not joined."""
    city.write(OTHERS)
    yield city
    city.write(RIGHTS)


@pytest.fixture
def service(city: City) -> Iterator[Client]:
    """The app's own process, as it reads."""
    with client(city, SERVICE) as found:
        assert found.reads("town/meetings/+/+")
        assert found.reads("town/rooms/+")
        yield found


@pytest.mark.parametrize(
    ("user", "topic"),
    [
        (BOB, f"meetings/{MEETING}/{BOB}"),
        ("citywise.web", f"meetings/{MEETING}/{BOB}"),
        (SENSOR, "rooms/office-1"),
    ],
)
def test_readings_reach_the_app(city: City, service: Client, user: str, topic: str) -> None:
    with client(city, user) as sender:
        assert sender.sends(f"town/{topic}", b"reading")
    assert service.heard.get(timeout=SENT) == (f"town/{topic}", b"reading")


@pytest.mark.parametrize(
    ("user", "topic"),
    [
        (BOB, f"meetings/{MEETING}/{CHARLIE}"),
        (BOB, f"meetings/{OTHER_MEETING}/{BOB}"),
        (BOB, f"meetings/{MEETING}"),
        (BOB, f"meetings/{MEETING}/{BOB}/more"),
        (BOB, "rooms/office-1"),
        (BOB, f"context/{ANNA}"),
        (BOB, "observations/traffic"),
        (BOB, f"status/{BOB}"),
        (PHONE, f"meetings/{MEETING}/{BOB}"),
        (PHONE, "rooms/office-1"),
        (SENSOR, f"meetings/{MEETING}/{BOB}"),
        ("citywise.web", "rooms/office-1"),
        ("citywise.source", f"meetings/{MEETING}/{BOB}"),
        (SERVICE, f"meetings/{MEETING}/{BOB}"),
    ],
)
def test_nobody_sends_readings_of_another(
    city: City, service: Client, user: str, topic: str
) -> None:
    with client(city, user, name=user if user[1] == "-" else f"{user.partition('.')[2]}-2") as one:
        assert one.sends(f"town/{topic}") == (user[1] == "-")
    with client(city, "city", name="last") as operator:
        assert operator.sends("town/rooms/last", b"last")
    assert service.heard.get(timeout=SENT) == ("town/rooms/last", b"last")


@pytest.mark.parametrize("user", [BOB, CHARLIE, SENSOR, PHONE, "citywise.web", "citywise.ingest"])
@pytest.mark.parametrize(
    "topic",
    [
        f"meetings/{MEETING}/{BOB}",
        f"meetings/{MEETING}/+",
        f"meetings/+/{BOB}",
        "meetings/+/+",
        "meetings/#",
        "+/+/+",
        "#",
        "rooms/office-1",
        "rooms/#",
    ],
)
def test_nobody_but_the_app_reads_them(city: City, user: str, topic: str) -> None:
    with client(city, user) as reader:
        assert not reader.reads(f"town/{topic}")
        assert not reader.reads(topic)


def test_a_reading_is_not_retained(city: City, service: Client) -> None:
    own = f"town/meetings/{MEETING}/{BOB}"
    with client(city, BOB) as bob:
        assert bob.sends(own, b"kept", retain=True)
        assert bob.sends(own, b"not kept")
    assert service.heard.get(timeout=SENT)[1] == b"not kept"


def test_who_sends_more_than_two_readings_a_second_waits(city: City, service: Client) -> None:
    own = f"town/meetings/{MEETING}/{CHARLIE}"
    with client(city, CHARLIE) as charlie:
        began = time.monotonic()
        for _ in range(5):
            assert charlie.sends(own)
        assert time.monotonic() - began > 0.4
    for _ in range(5):
        service.heard.get(timeout=SENT)


def test_a_large_message_ends_the_connection(city: City) -> None:
    with client(city, BOB) as bob:
        assert not bob.sends(f"town/meetings/{MEETING}/{BOB}", b"x" * 5000)


@pytest.mark.parametrize("transport", ["tcp", "websockets"])
def test_who_has_just_joined_is_let_in_at_once(without_bob: City, transport: str) -> None:
    stranger = Client(without_bob, BOB, secret_of(BOB), transport=transport)
    stranger.close()
    assert stranger.answer == "Not authorized"
    without_bob.write(RIGHTS)
    with client(without_bob, BOB, transport=transport) as bob:
        assert bob.sends(f"town/meetings/{MEETING}/{BOB}")


def test_what_is_dropped_is_said_without_saying_whose_it_was(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    city = City(tmp_path, RIGHTS, {APP: topics.TOPICS})
    try:
        with client(city, BOB) as bob:
            assert bob.sends(f"town/meetings/{MEETING}/{CHARLIE}")
    finally:
        city.embedded.stop()
    said = capfd.readouterr().err
    assert "a message of p-… to town/meetings/m-…/p-… is dropped" in said
    assert BOB not in said
    assert CHARLIE not in said


def test_who_has_left_is_disconnected(without_bob: City) -> None:
    without_bob.write(RIGHTS)
    with client(without_bob, BOB, transport="websockets") as bob:
        without_bob.write(OTHERS)
        assert bob.gone.wait(SENT)


def test_the_broker_looks_twice_a_second_who_has_left() -> None:
    code = (machine.REPOSITORY / "backend" / "broker.mjs").read_text(encoding="utf-8")
    found = re.search(r"^const LOOK_MS = (\d+)$", code, re.MULTILINE)
    assert found is not None
    assert int(found[1]) <= 500
    assert int(found[1]) + 1000 * POLL_S < 1000  # and so the service: within a second
    assert "setInterval(sweep, LOOK_MS)" in code
