"""Minutes say how long each was the speaker, only while all who have joined agree."""

from __future__ import annotations

from flask import Flask
from sqlalchemy import Engine, select

from citywise.apps.meeting_mgr.entries import Entry
from citywise.apps.meeting_mgr.model import Person
from citywise.apps.meeting_mgr.papers.talk_time import spoken
from citywise.apps.meeting_mgr.record import MeetingRecord, Step
from citywise.apps.meeting_mgr.steps import running, taking_part
from citywise.apps.meeting_mgr.steps.talk_time import agree, is_agreed, withdraw
from citywise.backend.settings import Settings
from citywise.backend.store.outbox import OutboxRow
from tests.api.browsers import Browser
from tests.api.test_openapi import assert_described, document_of
from tests.meeting_mgr.hosted import Json, join, make, me, of, people
from tests.meeting_mgr.made import MINUTE_MS, NOW_MS, item, person, record

ALICE = person("a", "a1")
BOB = person("b", "a2")
CHARLIE = person("c", "a3")
ASKED = record().meeting.rules.model_copy(update={"talk_time": True})


class Held:
    """A meeting that is held, with what the minutes are told."""

    def __init__(self) -> None:
        agenda = (item("i1", speaker="a1"), item("i2", speaker="a2"), item("i3", speaker="a1"))
        pause = item("i4", speaker="a1", type="break")
        self.record: MeetingRecord = record(agenda=(*agenda, pause))
        self.entries: list[Entry] = []

    def take(self, step: Step) -> None:
        self.record = step.record
        self.entries += step.entries

    def spoken(self, *there: Person, until: int) -> dict[str, tuple[float, list[str]]]:
        found = spoken(self.record.meeting, there, self.entries, at(until))
        return {one.name: (one.length_ms / MINUTE_MS, list(one.items)) for one in found}


def at(minute: int) -> int:
    return NOW_MS + minute * MINUTE_MS


def held() -> Held:
    """Alice has i1 for 10 minutes; Bob i2 for 5, which Charlie has for 15 more; Alice has i3 for
    10, and for 5 more after the meeting was over for 20; then there is a break."""
    meeting = Held()
    meeting.take(running.start(meeting.record, at(0)))
    meeting.take(running.next_item(meeting.record, at(10)))
    meeting.take(taking_part.hand_over(meeting.record, CHARLIE, at(15)))
    meeting.take(running.next_item(meeting.record, at(30)))
    meeting.take(running.end(meeting.record, at(40)))
    meeting.take(running.start(meeting.record, at(60)))
    meeting.take(running.next_item(meeting.record, at(65)))
    return meeting


def test_the_time_of_items_counts_for_whoever_is_their_speaker_then() -> None:
    assert held().spoken(ALICE, BOB, CHARLIE, until=70) == {
        "Alice": (25, ["Item 1", "Item 3"]),
        "Bob": (5, ["Item 2"]),
        "Charlie": (15, ["Item 2"]),
    }


def test_an_item_that_is_gone_back_to_counts_as_it_was_current() -> None:
    meeting = Held()
    meeting.take(running.start(meeting.record, at(0)))
    meeting.take(running.next_item(meeting.record, at(10)))
    meeting.take(running.go_to(meeting.record, "i1", at(12)))
    assert meeting.spoken(ALICE, BOB, until=20) == {
        "Alice": (18, ["Item 1"]),
        "Bob": (2, ["Item 2"]),
    }


def test_only_the_time_counts_for_which_a_speaker_had_joined_with_whatever_device() -> None:
    late = ALICE.model_copy(update={"joined_ms": at(4), "left_ms": at(8)})
    phone = person("d", "a1", joined_ms=at(6), left_ms=at(9))
    found = held().spoken(late, phone, CHARLIE, until=70)
    assert found == {"Alice": (5, ["Item 1"]), "Charlie": (15, ["Item 2"])}


def test_all_who_have_joined_have_to_agree_also_who_has_left() -> None:
    asked = record(rules=ASKED)
    agreed = [agree(asked, one).people[0] for one in (ALICE, BOB)]
    left = CHARLIE.model_copy(update={"left_ms": at(1)})
    assert is_agreed(asked, agreed)
    assert not is_agreed(record(), agreed)
    assert not is_agreed(asked, [])
    assert not is_agreed(asked, [*agreed, left])
    again = person("d", "a3", formerly=(left.id,), agrees_talk_time=True)
    assert is_agreed(asked, [*agreed, left, again])
    assert not is_agreed(asked, [*agreed, left, withdraw(asked, again).people[0]])


def minutes(host: Browser, meeting: Json) -> str:
    answer = host.get(f"{of(meeting)}/minutes.md")
    assert answer.status_code == 200
    shown = host.get(f"{of(meeting)}/minutes.html").get_data(as_text=True)
    text = answer.get_data(as_text=True)
    assert ("Talk time" in shown) == ("Talk time" in text)
    return text


def test_who_withdraws_takes_it_out_of_the_minutes_for_all(
    app: Flask, alice: Browser, engine: Engine, settings: Settings
) -> None:
    """After the end, too; and neither host nor outbox are told whose word it was."""
    meeting = make(alice, rules={"talk_time": True})
    own = f"{me(meeting)}/talk-time"
    bob, guest = join(app, meeting, attendee="a2"), join(app, meeting, "Eve")
    alice.post(f"{of(meeting)}/actions", {"do": "start"})
    alice.post(f"{of(meeting)}/actions", {"do": "next"})
    answer = bob.put(own, {"agrees": True})
    path = "/api/v1/meetings/{meeting_id}/people/me/talk-time"
    assert_described(document_of(app), path, "put", answer)
    assert answer.json["me"]["talk_time"] == {"asked": True, "agrees": True, "all": False}
    assert "Not said: not everybody" in minutes(alice, meeting)
    assert guest.put(own, {"agrees": True}).json["me"]["talk_time"]["all"] is True
    alice.post(f"{of(meeting)}/actions", {"do": "end"})
    told = minutes(alice, meeting)
    assert "- Bob Simmons: 1 min \\(Prices\\)" in told
    assert "Alice Maud Mary:" not in told
    assert guest.put(own, {"agrees": False}).status_code == 200
    assert "Bob Simmons: 1 min" not in minutes(alice, meeting)
    assert guest.put(own, {"agrees": True}).status_code == 200
    assert "Bob Simmons: 1 min" in minutes(alice, meeting)
    assert bob.delete(f"{me(meeting)}?forget=true").status_code == 204
    assert "Bob Simmons: 1 min" not in minutes(alice, meeting)
    with engine.connect() as connection:
        bodies = [one for one in connection.scalars(select(OutboxRow.body)) if one]
    changes = [one for one in bodies if one.get("change") == "talk_time"]
    assert changes
    assert {one["person"] for one in changes} == {None}
    entries = alice.get(f"{of(meeting)}/entries?limit=200").json["entries"]
    assert not {"agrees", "talk_time"} & {*(key for one in entries for key in one)}
    assert "talk_time" not in {key for one in alice.get(of(meeting)).json["people"] for key in one}


def test_nothing_is_said_where_the_host_does_not_ask(
    app: Flask, alice: Browser, meeting: Json
) -> None:
    bob = join(app, meeting, attendee="a2")
    answer = bob.put(f"{people(meeting)}/me/talk-time", {"agrees": True})
    assert answer.status_code == 409
    assert answer.json["type"].endswith("not-asked")
    assert "Talk time" not in minutes(alice, meeting)
