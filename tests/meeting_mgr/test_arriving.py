"""Who has a trip to a meeting lets it know when they arrive: the agenda counts on it, nobody else
sees it, and withdrawn consent takes it back with all that came of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple, cast

import pytest
from flask import Flask
from sqlalchemy import Engine

from citywise.apps.meeting_mgr import store
from citywise.apps.meeting_mgr.agenda import proposed, proposing
from citywise.apps.meeting_mgr.agenda.planning import Plan, plan
from citywise.apps.meeting_mgr.exported import export
from citywise.apps.meeting_mgr.model import Cause, Person, Proposal, Room
from citywise.apps.meeting_mgr.process import reasoner as process
from citywise.apps.meeting_mgr.process.reasoner import Reasoner
from citywise.apps.meeting_mgr.record import MeetingError, MeetingRecord
from citywise.apps.meeting_mgr.steps import answering, arriving, running
from citywise.apps.travel_planner import following, trips
from citywise.backend.privacy import forgetting
from citywise.backend.settings import Settings
from citywise.backend.store.outbox import begin
from citywise.backend.times import iso, parse_ms, wall_ms
from tests.api.browsers import Browser
from tests.api.town import Town, soon
from tests.meeting_mgr import made, three
from tests.meeting_mgr.agendas import MINUTE, STARTS, person
from tests.meeting_mgr.hosted import Json, join, make, me, of, people, show
from tests.travel_planner import followed
from tests.travel_planner.followed import Live

NOON = "2014-08-05T12:00:00Z"
ROOM: Json = {"name": "Room B", **followed.TO}
LATER_MS = made.NOW_MS + MINUTE


# --- The agenda ----------------------------------------------------------------------------------


def on_the_way(minutes: float, **more: Any) -> list[Person]:
    """Ann and Cid are there, Bob arrives in so many minutes."""
    ann, _bob, cid = three.joined()
    return [ann, person(1, "a1", arrives_ms=three.NOW + round(minutes * MINUTE), **more), cid]


def best(proposal: Proposal | None) -> list[str]:
    assert proposal is not None
    return [one.item for one in proposal.options[0].agenda]


def test_an_item_comes_when_its_speaker_has_arrived() -> None:
    meeting = three.meeting(three.FIRST, three.SECOND, three.THIRD)
    assert proposed(meeting, on_the_way(9), three.NOW, 60) is None
    proposal = proposed(meeting, on_the_way(11), three.NOW, 60)
    assert best(proposal) == ["i1", "i3", "i2"]
    assert proposal is not None
    assert proposal.causes == (Cause(item="i2", person="a1", because=("arriving",)),)


def test_what_a_device_cannot_do_on_the_way_does_not_count_for_what_comes_after() -> None:
    meeting = three.meeting(three.FIRST, three.SECOND, three.THIRD)
    assert proposed(meeting, three.joined(three.NOISY), three.NOW, 60) is not None
    assert proposed(meeting, on_the_way(5, state=three.NOISY), three.NOW, 60) is None


def test_nothing_is_put_off_that_the_meeting_can_wait_for() -> None:
    meeting = three.meeting(three.FIRST, three.SECOND)
    assert proposed(meeting, on_the_way(12), three.NOW, 60) is None
    short = three.meeting(three.FIRST, three.SECOND, minutes=16)
    assert proposed(short, on_the_way(12), three.NOW, 60) is not None


def test_a_search_that_time_cut_short_is_no_reason_to_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody knows then whether waiting or more time for the search would have saved an item."""

    def cut_short(*asked: Any, **more: Any) -> Plan | None:
        found = plan(*asked, **more)
        return None if found is None else replace(found, is_best=False, is_whole=False)

    monkeypatch.setattr(proposing, "plan", cut_short)
    meeting = three.meeting(three.FIRST, three.SECOND)
    assert proposed(meeting, on_the_way(12), three.NOW, 60) is not None


def test_another_time_is_proposed_where_somebody_required_arrives_after_the_meeting() -> None:
    meeting = three.meeting(three.FIRST, three.SECOND, three.THIRD)
    proposal = proposed(meeting, on_the_way(90), three.NOW, 60)
    assert proposal is not None
    assert proposal.kind == "reschedule"
    assert proposal.causes == (Cause(item=None, person="a1", because=("arriving",)),)


# --- Consent -------------------------------------------------------------------------------------


def accepted() -> tuple[MeetingRecord, Person]:
    """A meeting whose agenda was changed because Bob is on the way, and Bob."""
    bob = made.person(user="bob", tells_arrival=True, arrives_ms=LATER_MS + 15 * MINUTE)
    cause = Cause(item="i2", person="a2", because=("arriving",))
    proposal = made.swapped().model_copy(update={"causes": (cause,)})
    record = answering.propose(
        running.start(made.record(), made.NOW_MS).record, proposal, LATER_MS
    ).record
    return answering.accept(record, 1, 0, LATER_MS).record, bob


def items(record: MeetingRecord) -> list[tuple[str, int]]:
    return [(item.id, item.minutes) for item in record.meeting.agenda]


def test_withdrawn_consent_undoes_what_was_accepted_because_of_it() -> None:
    record, bob = accepted()
    assert items(record) == [("i1", 20), ("i3", 20), ("i2", 10)]
    step = arriving.withdraw(record, bob, LATER_MS)
    assert (step.change, step.is_record_new) == ("undone", True)
    assert items(step.record) == [("i1", 20), ("i2", 20), ("i3", 20)]
    assert [(one.answer, one.causes) for one in step.record.proposals] == [("outdated", ())]
    assert [(one.tells_arrival, one.arrives_ms) for one in step.people] == [(False, None)]


def test_what_the_host_has_changed_since_stays_when_consent_is_withdrawn() -> None:
    record, bob = accepted()
    gone_on = running.next_item(record, LATER_MS).record
    step = arriving.withdraw(gone_on, bob, LATER_MS)
    assert step.change == "arrival"
    assert items(step.record) == items(gone_on)
    assert [one.causes for one in step.record.proposals] == [()]


def test_nothing_of_it_is_taken_back_for_other_reasons() -> None:
    noisy = answering.propose(
        running.start(made.record(), made.NOW_MS).record, made.swapped(), LATER_MS
    ).record
    record = answering.accept(noisy, 1, 0, LATER_MS).record
    step = arriving.withdraw(record, made.person(user="bob", tells_arrival=True), LATER_MS)
    assert step.record == record


def test_only_who_tells_takes_back_what_came_of_it() -> None:
    """Whoever has the link can join as Bob."""
    record, _bob = accepted()
    step = arriving.withdraw(record, made.person("c", user="mallory"), LATER_MS)
    assert step.record == record


@pytest.mark.parametrize(
    ("record", "user"),
    [
        (made.record(room=Room(name="Nowhere")), "bob"),
        (made.record(), None),
        (made.record("ended"), "bob"),
    ],
    ids=["a room that is nowhere", "no account", "a meeting that is over"],
)
def test_nothing_can_be_told_of(record: MeetingRecord, user: str | None) -> None:
    with pytest.raises(MeetingError):
        arriving.agree(record, made.person(user=user), LATER_MS)


def test_an_arrival_is_a_full_minute_that_does_not_turn_to_and_fro() -> None:
    at_ms = STARTS + 12 * MINUTE
    assert arriving.rounded(at_ms - 20_000, None) == at_ms
    for later_s in (-80, 0, 25):
        assert arriving.rounded(at_ms + later_s * 1000, at_ms) == at_ms
    assert arriving.rounded(at_ms + 40_000, at_ms) == at_ms + MINUTE
    assert arriving.rounded(at_ms - 95_000, at_ms) == at_ms - MINUTE
    assert arriving.rounded(None, at_ms) is None


# --- From the trip to the agenda -----------------------------------------------------------------


class Way(NamedTuple):
    """A meeting of Alice's, and Bob on his way to it with a trip that he follows."""

    meeting: Json
    alice: Browser
    bob: Browser
    engine: Engine
    settings: Settings
    reasoner: Reasoner

    def takes(self, minutes: float) -> None:
        """What is left of the way takes so long from now on, under the traffic that there is."""
        boxes = trips.boxes_of(self.settings)
        with self.engine.begin() as connection:
            begin(connection)
            (trip,) = trips.of_user(connection, boxes, self.bob.user)
            line = following.line_of(trip.content.plan) or []
            values = {"time": minutes * 60}
            outlook = {
                "left_m": following.length_m(line),
                "values": values,
                "ahead": [],
                "at_ms": 0,
            }
            trips.save(connection, boxes, trip.with_content(trip.updated_ms, outlook=outlook))

    def until(self, condition: Any) -> None:
        """Let the app's process work until something is so."""

        def is_so() -> bool:
            self.reasoner.step([], wall_ms())
            return bool(condition())

        soon(is_so)

    def seat(self) -> Json:
        """The meeting as Bob sees it."""
        answer = self.bob.get(me(self.meeting))
        assert answer.status_code == 200, answer.json
        return cast("Json", answer.json)

    def tell(self, *, tells: bool) -> int:
        answer = self.bob.put(f"{me(self.meeting)}/arrival", {"tells": tells})
        return answer.status_code

    def shown(self) -> Json:
        return show(self.alice, self.meeting)

    def order(self) -> list[str]:
        return [item["id"] for item in self.shown()["agenda"]]


@pytest.fixture
def way(
    app: Flask,
    alice: Browser,
    town: Town,
    engine: Engine,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Way]:
    monkeypatch.setattr(process, "ARRIVALS_S", 0.0)
    town.running(NOON, speed=1.0)
    now_ms = wall_ms()
    agenda = [("Welcome", "a1", 5), ("Prices", "a2", 10), ("Plans", "a1", 10)]
    meeting = make(
        alice,
        room=ROOM,
        starts=iso(now_ms),
        ends=iso(now_ms + 60 * MINUTE),
        agenda=[
            {"id": f"i{n}", "title": title, "speaker": speaker, "minutes": minutes}
            for n, (title, speaker, minutes) in enumerate(agenda, 1)
        ],
    )
    bob = Browser.of(app)
    assert bob.sign_up("Bob").status_code == 201
    for subject in ("position", "route", "activity"):
        assert bob.put(f"/me/consents/{subject}", {"given": True}).status_code == 200
    seat = {"key": meeting["join"]["key"], "attendee": "a2"}
    assert bob.post(people(meeting), seat).status_code == 201
    assert alice.post(f"{of(meeting)}/actions", {"do": "start"}).status_code == 200
    with engine.begin() as connection:
        begin(connection)
        found = followed.trip(Live(), user=bob.user)
        trips.save(connection, trips.boxes_of(settings), found)
    working = Reasoner(settings, engine)
    yield Way(meeting, alice, bob, engine, settings, working)
    working.close()


def test_a_delay_moves_the_item_with_the_reason_and_withdrawn_consent_moves_it_back(
    app: Flask, way: Way
) -> None:
    join(app, way.meeting, attendee="a1")  # Alice is in the room.
    assert way.tell(tells=True) == 200
    way.until(lambda: way.seat()["me"]["arrives"])
    in_minutes = (parse_ms(way.seat()["me"]["arrives"]) - wall_ms()) / MINUTE
    assert 2 < in_minutes < 5
    assert not [one for one in way.shown()["proposals"] if one["answer"] == "open"]

    way.takes(12)
    way.until(lambda: [one for one in way.shown()["proposals"] if one["answer"] == "open"])
    shown = way.shown()
    (proposal,) = [one for one in shown["proposals"] if one["answer"] == "open"]
    arrives = way.seat()["me"]["arrives"]
    (cause,) = [one for one in proposal["causes"] if one["item"] == "i2"]
    assert cause == {
        "item": "i2",
        "person": "a2",
        "lacks": [],
        "because": ["arriving"],
        "arrives": arrives,
    }
    (item,) = [one for one in shown["agenda"] if one["id"] == "i2"]
    (bob,) = [one for one in item["attendance"] if one["attendee"] == "a2"]
    assert (item["arrives"], bob["because"], bob["arrives"]) == (arrives, ["arriving"], arrives)
    accept = {"answer": "accept", "option": 0}
    path = f"{of(way.meeting)}/proposals/{proposal['number']}"
    assert way.alice.post(path, accept).status_code == 200
    assert way.order() == ["i1", "i3", "i2"]
    (item,) = [one for one in way.shown()["agenda"] if one["id"] == "i2"]
    assert parse_ms(item["starts"]) >= parse_ms(item["arrives"])

    assert way.tell(tells=False) == 200
    assert way.order() == ["i1", "i2", "i3"]
    text = str(way.shown())
    assert arrives not in text
    assert "arriving" not in text
    way.until(lambda: True)
    assert way.seat()["me"]["arrives"] is None


def test_without_consent_or_a_trip_to_the_room_nothing_is_known(way: Way) -> None:
    way.until(lambda: True)
    assert way.seat()["me"]["arrives"] is None
    assert way.seat()["me"]["arrival"] == {"possible": True, "tells": False}
    moved = {"room": {"name": "Room B", "lat": 56.2, "lon": 10.2}}
    version = way.shown()["version"]
    assert way.alice.patch(of(way.meeting), {"version": version, **moved}).status_code == 200
    assert way.tell(tells=True) == 200
    way.until(lambda: True)
    assert way.seat()["me"]["arrives"] is None


def test_a_room_that_is_moved_asks_anew(way: Way) -> None:
    """Who moves it would find out where people are going."""
    assert way.tell(tells=True) == 200
    way.until(lambda: way.seat()["me"]["arrives"])
    room = {**ROOM, "lat": ROOM["lat"] + 0.0001}
    version = way.shown()["version"]
    assert way.alice.patch(of(way.meeting), {"version": version, "room": room}).status_code == 200
    assert way.seat()["me"]["arrival"]["tells"] is False
    assert way.seat()["me"]["arrives"] is None


def test_a_start_that_is_moved_asks_anew(way: Way) -> None:
    """Who moves it would find out when people come by, at any hour."""
    assert way.tell(tells=True) == 200
    starts = iso(wall_ms() + 10 * MINUTE)
    version = way.shown()["version"]
    answer = way.alice.patch(of(way.meeting), {"version": version, "starts": starts})
    assert answer.status_code == 200, answer.json
    assert way.seat()["me"]["arrival"]["tells"] is False


def test_long_after_its_planned_end_a_meeting_that_nobody_ended_is_told_nothing(way: Way) -> None:
    assert way.tell(tells=True) == 200
    way.until(lambda: way.seat()["me"]["arrives"])
    way.reasoner.step([], wall_ms() + 4 * 60 * MINUTE)
    assert way.seat()["me"]["arrives"] is None


def test_a_seat_alone_opens_nothing_of_an_account(way: Way) -> None:
    """Its cookie outlives the login, as on a phone that was lost."""
    assert way.bob.delete("/login").status_code == 204
    assert way.tell(tells=True) == 401
    assert way.tell(tells=False) == 200


def test_only_who_is_in_the_meeting_sees_it(app: Flask, way: Way) -> None:
    assert way.tell(tells=True) == 200
    way.until(lambda: way.seat()["me"]["arrives"])
    arrives = way.seat()["me"]["arrives"]
    charlie = join(app, way.meeting, name="Charlie")
    assert arrives in charlie.get(me(way.meeting)).text
    assert arrives in str(way.shown())
    stranger = Browser.of(app)
    assert stranger.sign_up("Mallory").status_code == 201
    key = way.meeting["join"]["key"]
    assert arrives not in stranger.get(f"{of(way.meeting)}/join?key={key}").text
    assert stranger.get(of(way.meeting)).status_code == 404
    assert stranger.put(f"{me(way.meeting)}/arrival", {"tells": True}).status_code == 404
    other = make(way.alice, room=ROOM)  # Consent is for one meeting.
    assert "arrival" not in str(show(way.alice, other)["people"])
    (seat,) = way.shown()["people"][:1]
    assert "lat" not in str(seat)


def test_it_is_exported_and_goes_with_the_consent_for_ones_position(way: Way) -> None:
    assert way.tell(tells=True) == 200
    way.until(lambda: way.seat()["me"]["arrives"])
    arrives = way.seat()["me"]["arrives"]
    with way.engine.connect() as connection:
        (found,) = export(connection, way.settings, way.bob.user)
    assert (found["tells_arrival"], found["arrives"]) == (True, arrives)
    assert way.bob.put("/me/consents/position", {"given": False}).status_code == 200
    assert way.seat()["me"]["arrival"]["tells"] is False
    assert arrives not in str(way.shown())


def test_nothing_of_it_is_left_of_who_is_forgotten(way: Way) -> None:
    assert way.tell(tells=True) == 200
    way.until(lambda: way.seat()["me"]["arrives"])
    arrives = way.seat()["me"]["arrives"]
    forgetting.forget(way.engine, way.settings, way.bob.user)
    assert arrives not in str(way.shown())
    with way.engine.connect() as connection:
        boxes = store.boxes_of(way.settings)
        assert store.people_of_user(connection, boxes, way.bob.user) == []
