"""Host and participants follow a meeting live, each as they see it, and no longer than they may."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import orjson
import pytest
from flask import Flask
from sqlalchemy import Connection, Engine, select

from citywise.apps.meeting_mgr import store
from citywise.apps.meeting_mgr.api.snapshots import Snapshots
from citywise.apps.meeting_mgr.model import APP
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.apps.meeting_mgr.telling import AUDIENCES, host_channel, open_to, person_channel
from citywise.backend.api.entitled import Reader, unentitled
from citywise.backend.people.principal import Principal
from citywise.backend.privacy.boxes import Boxes
from citywise.backend.settings import Settings
from citywise.backend.store.models import OutboxRow
from citywise.backend.store.outbox import begin
from tests.api.browsers import Browser
from tests.meeting_mgr.hosted import Json, conclude, join, me, of

CHANNELS = {APP: open_to}


@contextmanager
def listening(browser: Browser, path: str) -> Iterator[Iterator[Json]]:
    """What a stream tells from now on; ends when the stream does."""
    answer = browser.get(f"{path}/events")
    assert answer.status_code == 200, answer.text
    chunks = answer.iter_encoded()
    assert b"event: hello" in next(chunks)

    def told() -> Iterator[Json]:
        for chunk in chunks:
            for block in chunk.split(b"\n\n"):
                lines = dict(line.split(b": ", 1) for line in block.split(b"\n") if b": " in line)
                if lines.get(b"event") == b"meeting":
                    yield orjson.loads(lines[b"data"])

    late = threading.Event()

    def end() -> None:
        late.set()
        browser.client.application.extensions["citywise"].hub.close()

    limit = threading.Timer(60, end)
    limit.start()
    try:
        yield told()
    finally:
        limit.cancel()
        answer.close()
        assert not late.is_set(), "the stream said nothing"


def test_a_host_hears_each_change_with_the_meeting_as_it_is_then(
    app: Flask, alice: Browser, meeting: Json, engine: Engine, settings: Settings
) -> None:
    with listening(alice, of(meeting)) as told:
        bob = join(app, meeting, attendee="a2")
        joined = next(told)
        assert (joined["change"], joined["person"]) == ("joined", bob.user)
        assert joined["meeting"]["people"][0]["name"] == "Bob"
        assert joined["meeting"]["host"] is True
        bob.put(f"{me(meeting)}/sharing", {"sensors": ["noise"]})
        assert next(told)["change"] == "sharing"
        conclude(engine, settings, meeting, bob.user)
        heard = next(told)
        assert heard["change"] == "abilities"
        speak = heard["meeting"]["people"][0]["abilities"]["speak"]
        assert (speak["state"], speak["because"]) == ("off", ["noise"])


def test_a_participant_hears_what_concerns_them_and_sees_it_as_they_may(
    app: Flask, alice: Browser, meeting: Json, bob: Browser
) -> None:
    charlie = join(app, meeting, "Charlie")
    with listening(charlie, me(meeting)) as told:
        bob.put(me(meeting), {"hand": True})  # Nobody's business but the host's.
        alice.post(f"{of(meeting)}/actions", {"do": "start"})
        started = next(told)
    assert (started["change"], started["meeting"]["host"]) == ("started", False)
    assert started["meeting"]["me"]["id"] == charlie.user
    assert started["meeting"]["current"]["item"] == "i1"
    assert "@" not in str(started)
    assert meeting["join"]["key"] not in str(started)


@pytest.mark.parametrize("how", ["leaves", "is put out", "the meeting is removed"])
def test_the_stream_of_who_is_out_ends(
    alice: Browser, bob: Browser, meeting: Json, how: str
) -> None:
    with listening(bob, me(meeting)) as told:
        if how == "leaves":
            bob.delete(me(meeting))
        elif how == "is put out":
            alice.post(f"{of(meeting)}/actions", {"do": "remove", "person": bob.user})
        else:
            alice.delete(f"{of(meeting)}?forever=true")
        assert [each["meeting"] for each in told if each["meeting"] is not None] == []


def test_a_hosts_stream_says_that_a_meeting_is_gone_and_ends(alice: Browser, meeting: Json) -> None:
    with listening(alice, of(meeting)) as told:
        alice.delete(f"{of(meeting)}?forever=true")
        gone = {"change": "gone", "person": None, "meeting": None}
        assert list(told) == [gone]


def test_nobody_hears_of_a_seat_that_is_void_though_another_process_took_it(
    bob: Browser, alice: Browser, meeting: Json, engine: Engine
) -> None:
    hers = Reader(host_channel(meeting["id"]), alice.user)
    his = Reader(person_channel(bob.user), address="10.0.0.1")
    with engine.begin() as connection:
        assert unentitled(connection, {his, hers}, CHANNELS) == set()
        begin(connection)
        store.delete(connection, meeting["id"])
        assert unentitled(connection, {his, hers}, CHANNELS) == {his}


def test_channels_are_nobodys_to_ask_for(app: Flask, bob: Browser, meeting: Json) -> None:
    developer = Principal("u-dora", roles=frozenset({"developer"}))
    for channel in (person_channel(bob.user), host_channel(meeting["id"])):
        asked = f"/events/stream?user={quote(channel, safe='')}"
        for browser in (bob, Browser.of(app)):
            assert browser.get(asked).status_code == 401, channel
        assert not developer.may_act_for(channel)


def test_the_outbox_holds_no_word_of_what_people_do(
    alice: Browser, bob: Browser, meeting: Json, engine: Engine, settings: Settings
) -> None:
    bob.put(f"{me(meeting)}/sharing", {"sensors": ["noise"]})
    conclude(engine, settings, meeting, bob.user)
    alice.post(f"{of(meeting)}/decisions", {"text": "secret"})
    with engine.connect() as connection:
        rows = connection.execute(select(OutboxRow.body, OutboxRow.user)).all()
    assert {frozenset(row.body) for row in rows} == {frozenset({"meeting", "change", "person"})}
    assert {row.body["change"] for row in rows} <= AUDIENCES.keys()
    assert {row.body["meeting"] for row in rows} == {meeting["id"]}
    assert {row.body["person"] for row in rows} == {None, bob.user}
    assert {row.user for row in rows} == {host_channel(meeting["id"]), person_channel(bob.user)}


def test_a_meeting_is_read_once_for_all_who_follow_it(
    app: Flask, meeting: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[str] = []
    found = store.find

    def counted(connection: Connection, boxes: Boxes, meeting_id: str) -> MeetingRecord | None:
        reads.append(meeting_id)
        return found(connection, boxes, meeting_id)

    monkeypatch.setattr(store, "find", counted)
    web = app.extensions["citywise"]
    snapshots = Snapshots(web.engine, web.settings)
    first = snapshots.after(1, meeting["id"])
    assert snapshots.after(first.position, meeting["id"]) is first
    assert len(reads) == 1
    assert snapshots.after(first.position + 1, meeting["id"]) is not first
    assert len(reads) == 2


def test_who_is_forgotten_takes_their_meetings_along(
    app: Flask, alice: Browser, bob: Browser, meeting: Json
) -> None:
    with listening(bob, me(meeting)) as told:
        done = alice.delete("/me", {"password": "three small boats at sea"})
        assert done.status_code == 202
        assert [each["meeting"] for each in told if each["meeting"] is not None] == []
    assert bob.get(me(meeting)).status_code == 404
    assert bob.get(f"{of(meeting)}/join?key={meeting['join']['key']}").status_code == 404
