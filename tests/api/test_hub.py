"""The tailer and what one client of it receives."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Delete, Engine, Update, delete, update

from citywise.backend.api import hub as hubs
from citywise.backend.api.app import create_app
from citywise.backend.api.entitled import Reader
from citywise.backend.api.event_stream import (
    MOST_OF_ACCOUNT,
    MOST_OF_ADDRESS,
    _refuse_beyond,
    beginning,
    follow,
)
from citywise.backend.api.hub import Hub, Message
from citywise.backend.api.problems import ProblemError
from citywise.backend.people import accounts, logins, tokens
from citywise.backend.settings import People, Settings
from citywise.backend.store.models import AccountRow, LoginRow, TokenRow
from tests.api.browsers import PASSWORD, quick_passwords
from tests.api.town import Town, soon

START = "2014-08-05T06:00:00Z"


@pytest.fixture
def hub(engine: Engine) -> Iterator[Hub]:
    hub = Hub(engine)
    yield hub
    hub.close()


def announce(town: Town, name: str) -> int:
    number = town.event(name, "100", START, announce="event.opened")
    assert number is not None
    return number


def test_without_an_id_the_stream_starts_at_its_end(hub: Hub, town: Town) -> None:
    last = announce(town, "a")
    position, first = beginning(hub, None)
    assert (position, first.event, first.id) == (last, "hello", last)


def test_an_empty_outbox_is_resumed_from_zero(hub: Hub) -> None:
    assert beginning(hub, None)[1].event == "hello"
    assert beginning(hub, 0)[1].event == "hello"


@pytest.mark.parametrize(
    ("last_id", "answer"),
    [(1, "reset"), (2, "hello"), (3, "hello"), (5, "hello"), (6, "reset")],
)
def test_a_client_is_told_when_what_it_missed_is_gone(
    hub: Hub, town: Town, last_id: int, answer: str
) -> None:
    for name in "abcde":
        announce(town, name)
    town.forget_announcements(up_to=2)
    position, first = beginning(hub, last_id)
    assert first.event == answer
    assert position == (last_id if answer == "hello" else 5)


def test_what_is_announced_while_resuming_comes_once(hub: Hub, town: Town) -> None:
    announce(town, "a")
    announce(town, "b")
    subscription = hub.subscribe(lambda: None)
    stream = follow(hub, subscription, last_id=1)
    next(stream)
    announce(town, "c")
    soon(lambda: hub._position == 3)
    announce(town, "d")
    received = b""
    while b'"d"' not in received:
        received += next(stream)
    assert received.count(b"event: event.opened") == 3
    assert [received.count(b"id: %d\n" % n) for n in (1, 2, 3, 4)] == [0, 1, 1, 1]


def test_a_client_that_was_away_hears_of_a_correction_once(hub: Hub, town: Town) -> None:
    seen = town.event("a", "100", START, level=4, announce="event.opened")
    was = {"level": 4, "start_ms": 0, "end_ms": None}
    revised = {"number": 1, "because": [], "was": was}
    town.event("a", "100", START, announce="event.corrected", revised=revised)
    for last_id, times in ((seen, 1), (2, 0)):
        subscription = hub.subscribe(lambda: None)
        stream = follow(hub, subscription, last_id=last_id)
        received = next(stream)
        number = announce(town, "next")
        while b"id: %d\n" % number not in received:
            received += next(stream)
        assert received.count(b"event: event.corrected") == times
        assert received.count(b'"was"') == times


def test_a_client_that_does_not_read_is_dropped_and_the_others_are_not(
    hub: Hub, town: Town
) -> None:
    dropped: list[str] = []
    stalled = hub.subscribe(lambda: dropped.append("stalled"), backlog=3)
    reading = hub.subscribe(lambda: dropped.append("reading"), backlog=100)
    for number in range(10):
        announce(town, f"e{number}")
    soon(lambda: hub._position == 10)
    assert dropped == ["stalled"]
    assert stalled.is_closed()
    assert hub.clients == 1
    events = [message for message in reading.take(1) if message.id]
    assert [message.id for message in events] == list(range(1, 11))


def test_readings_are_coalesced_into_one_message(hub: Hub, town: Town) -> None:
    town.running()
    subscription = hub.subscribe(lambda: None)
    soon(lambda: any(m.event == "clock" for m in subscription.take(0.1)))
    for place in ("100", "200", "300"):
        town.reading("traffic", place, START, speed_kmh=50.0, vehicle_count=3)
    messages: list[Message] = []

    def heard_all() -> bool:
        messages.extend(subscription.take(0.1))
        return b"300" in b"".join(message.data for message in messages)

    soon(heard_all)
    readings = [message for message in messages if message.event == "readings"]
    assert len(readings) <= 2
    assert all(message.id is None for message in readings)


def test_the_clock_is_told_when_it_changes_and_only_then(
    hub: Hub, town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "CLOCK_EVERY_S", 0.1)
    town.running(speed=60)
    subscription = hub.subscribe(lambda: None)
    clocks: list[bytes] = []

    def hear() -> int:
        clocks.extend(m.data for m in subscription.take(0.1) if m.event == "clock")
        return len(clocks)

    soon(lambda: hear() == 1)
    town.running(speed=0)
    soon(lambda: hear() == 2)
    assert b'"speed":0' in clocks[1]
    assert not [m for m in subscription.take(0.4) if m.event == "clock"]


@pytest.mark.parametrize("bad", ["x", "-1", "1.5", "9" * 30])
def test_an_id_the_stream_never_gave_is_refused(client: FlaskClient, bad: str) -> None:
    by_header = client.get("/api/v1/events/stream", headers={"Last-Event-ID": bad})
    assert by_header.status_code == 400
    assert by_header.json["parameter"] == "Last-Event-ID"
    assert client.get(f"/api/v1/events/stream?last_event_id={bad}").status_code == 400


# --- Whose stream it is ------------------------------------------------------------------

RAN_OUT = 1
"""Unix ms of long ago."""


@pytest.fixture
def reader(engine: Engine) -> Reader:
    """A person who is logged in, and a device of theirs in one."""
    with quick_passwords(), engine.begin() as connection:
        account = accounts.create(connection, "Alice", PASSWORD)
        login, _ = logins.open_login(connection, account.id, hours=1)
        token, _ = tokens.issue(connection, account.id, "phone", ["notices"])
    return Reader(account.id, account.id, login.id, token.id)


def test_a_notice_is_offered_to_its_users_streams_only(hub: Hub, engine: Engine) -> None:
    """However many streams there are: nobody looks at those of others."""
    streams = {user: hub.subscribe(lambda: None, reader=Reader(user)) for user in ("a", "b")}
    offered = hub.subscribe(lambda: None, backlog=0, reader=Reader("c"))
    hub._publish(Message("notice", b"{}", 1, "a"))
    assert [len(streams[user].take(0)) for user in "ab"] == [1, 0]
    assert not offered.is_closed(), "what is offered to it would end it"


def test_a_message_is_encoded_once_for_all() -> None:
    message = Message("notice", b"{}", 1)
    assert message.encode() is message.encode()


@pytest.mark.parametrize("by", ["user", "login", "device"])
def test_streams_end_with_the_right_by_which_they_were_opened(
    hub: Hub, reader: Reader, by: str
) -> None:
    theirs, other = (hub.subscribe(lambda: None, reader=who) for who in (reader, Reader("bob")))
    hub.end(**{by: getattr(reader, by)})
    assert (theirs.is_closed(), other.is_closed()) == (True, False)
    assert hub.clients == 1


def test_what_an_account_hears_of_others_ends_with_the_account(hub: Hub, reader: Reader) -> None:
    """A developer's look at a test person."""
    stream = hub.subscribe(lambda: None, reader=replace(reader, user="bob"))
    hub.end(user=reader.account)
    assert stream.is_closed()


@pytest.mark.parametrize(
    "happens",
    [
        update(AccountRow).values(disabled_ms=RAN_OUT),
        delete(AccountRow),
        delete(LoginRow),
        update(LoginRow).values(expires_ms=RAN_OUT),
        delete(TokenRow),
        update(TokenRow).values(expires_ms=RAN_OUT),
    ],
    ids=str,
)
def test_streams_end_when_another_process_takes_the_right_away(
    hub: Hub,
    engine: Engine,
    reader: Reader,
    monkeypatch: pytest.MonkeyPatch,
    happens: Update | Delete,
) -> None:
    monkeypatch.setattr("citywise.backend.api.hub.RIGHTS_EVERY_S", 0.0)
    stream, anybody = hub.subscribe(lambda: None, reader=reader), hub.subscribe(lambda: None)
    hub._poll()
    assert not stream.is_closed()
    with engine.begin() as connection:
        connection.execute(happens)
    soon(stream.is_closed)
    assert not anybody.is_closed()


@pytest.mark.parametrize(
    ("reader", "most"),
    [(Reader("u", "u"), MOST_OF_ACCOUNT), (Reader(address="10.0.0.1"), MOST_OF_ADDRESS)],
)
def test_nobody_takes_all_streams(
    hub: Hub,
    settings: Settings,
    engine: Engine,
    monkeypatch: pytest.MonkeyPatch,
    reader: Reader,
    most: int,
) -> None:
    monkeypatch.setattr("citywise.backend.api.hub.RIGHTS_EVERY_S", math.inf)
    streams = [hub.subscribe(lambda: None, reader=reader) for _ in range(most + 1)]
    other = replace(reader, account=reader.account and "v", address=reader.address and "10.0.0.2")
    app = create_app(settings.model_copy(update={"people": People()}), engine)
    with app.test_request_context():
        with pytest.raises(ProblemError, match=f"you have {most} event streams open"):
            _refuse_beyond(hub, reader)
        _refuse_beyond(hub, other)
        hub.unsubscribe(streams[0])
        hub.unsubscribe(streams[0])
        _refuse_beyond(hub, reader)
