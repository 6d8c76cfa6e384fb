"""People join, say something of themselves, and leave; the host says something of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citywise.apps.meeting_mgr.entries import (
    AbilityChanged,
    Acted,
    Body,
    Entry,
    HandRaised,
    Joined,
    Left,
    PresenceChanged,
)
from citywise.apps.meeting_mgr.model import SENSORS, AbilityState, Asked, Person, Room
from citywise.apps.meeting_mgr.record import FaultError, MeetingError, MeetingRecord, Step
from citywise.apps.meeting_mgr.steps import consent, running, taking_part
from citywise.apps.meeting_mgr.steps.sharing import SENSORS_OF, remaining, unasked
from tests.meeting_mgr.made import NOISY, NOW_MS, noisy, person, record, state

RULES = Path(taking_part.__file__).parents[1] / "rules" / "user_reasoner.casp"
LATER_MS = NOW_MS + 60_000


def one(step: Step) -> Person:
    [found] = step.people
    assert not step.is_record_new
    assert step.person == found.id
    return found


def bodies(step: Step) -> list[object]:
    return [entry.body for entry in step.entries]


# --- Coming and going ----------------------------------------------------------------------------


def test_one_of_the_invited_joins_under_their_name() -> None:
    step = taking_part.join(record(), None, "a2", "u-bob", LATER_MS)
    found = one(step)
    assert (found.name, found.attendee, found.user, found.sharing) == ("Bob", "a2", "u-bob", ())
    assert found.state.due_ms == LATER_MS
    assert bodies(step) == [Joined(name="Bob", attendee="a2")]
    assert one(taking_part.join(record(), None, "a2", None, LATER_MS)).id != found.id


def test_somebody_else_joins_under_the_name_they_give() -> None:
    assert one(taking_part.join(record(), "Dora", None, None, LATER_MS)).name == "Dora"
    with pytest.raises(FaultError) as error:
        taking_part.join(record(), None, None, None, LATER_MS)
    assert error.value.field == "name"
    with pytest.raises(FaultError) as error:
        taking_part.join(record(), None, "a9", None, LATER_MS)
    assert error.value.field == "attendee"


@pytest.mark.parametrize("how", ["ended", "cancelled"])
def test_nobody_joins_what_is_over(how: str) -> None:
    with pytest.raises(MeetingError, match=how):
        taking_part.join(record(how), "Dora", None, None, LATER_MS)  # type: ignore[arg-type]


def test_who_leaves_shares_nothing_and_nothing_is_known_of_them() -> None:
    asked = Asked(what="speak", at_ms=NOW_MS)
    step = taking_part.leave(record(), noisy(hand=True, asked=asked), LATER_MS)
    found = one(step)
    assert (found.left_ms, found.sharing, found.hand, found.asked) == (LATER_MS, (), False, None)
    assert found.state.sensors == {}
    unknown = AbilityState(state="unknown", since_ms=LATER_MS, because=("left",))
    assert set(found.state.abilities.values()) == {unknown}
    assert bodies(step) == [Left()]
    assert bodies(taking_part.remove(record(), noisy(), LATER_MS)) == [Left(removed=True)]


def test_who_has_left_does_nothing_any_more() -> None:
    gone = one(taking_part.leave(record(), noisy(), LATER_MS))
    steps: tuple[Callable[[], Step], ...] = (
        lambda: taking_part.leave(record(), gone, LATER_MS),
        lambda: consent.share(record(), gone, ("noise",), LATER_MS),
        lambda: taking_part.say(record(), gone, LATER_MS, hand=True),
        lambda: taking_part.ask(record(), gone, "mute", LATER_MS),
        lambda: taking_part.override(record(), gone, {"speak": "on"}, LATER_MS),
    )
    for step in steps:
        with pytest.raises(MeetingError) as error:
            step()
        assert error.value.code == "left"


# --- Sharing -------------------------------------------------------------------------------------


def test_sharing_more_keeps_what_is_known() -> None:
    step = consent.share(record(), noisy(), ("noise", "distance", "light"), LATER_MS)
    assert one(step).sharing == ("noise", "distance", "light")
    assert one(step).state == noisy().state.model_copy(update={"due_ms": LATER_MS})
    assert not step.forgets


def test_sharing_less_removes_what_was_kept_of_the_rest() -> None:
    both = noisy().model_copy(
        update={"state": state({"noise": "out", "distance": "in"}, NOISY, presence="room")}
    )
    step = consent.share(record(), both, ("distance",), LATER_MS)
    found = one(step).state
    assert step.forgets
    assert found.sensors.keys() == {"distance"}
    assert (found.sensed, found.changed_ms, found.due_ms) == ({}, {}, LATER_MS)
    assert found.abilities["speak"].because == ("not_shared",)
    assert found.abilities["read"] == both.state.abilities["read"]
    assert found.presence == "room"
    assert "noise" not in found.model_dump_json()
    nowhere = one(consent.share(record(), both, (), LATER_MS)).state
    assert (nowhere.presence, nowhere.presence_since_ms) == ("unknown", LATER_MS)


def test_entries_that_rest_on_what_is_not_shared_go() -> None:
    def can(name: str, *because: str) -> AbilityChanged:
        how = "off" if because else "on"
        return AbilityChanged(capability=name, state=how, because=because)  # type: ignore[arg-type]

    told: list[Body] = [
        can("speak"),
        PresenceChanged(presence="room"),
        can("speak", "noise"),
        can("read", "light", "noise"),
        can("speak"),
        can("speak", "override"),
        Joined(name="Bob"),
    ]
    entries = [Entry(n, body, "p", n) for n, body in enumerate(told)]
    unknown = AbilityChanged(capability="speak", state="unknown", because=("not_shared",))
    kept = [entry.body for entry in remaining(entries, {"noise", "distance"})]
    assert kept == [unknown, can("read", "light"), can("speak", "override"), told[-1]]
    assert remaining(entries, {"battery"}) == entries


def test_what_decides_an_ability_is_what_the_rules_say() -> None:
    facts = re.findall(r"^affect\((\w+),\(?([\w;]+)\)?\)\.$", RULES.read_text(), re.MULTILINE)
    told = {(sensor, name) for sensor, names in facts for name in names.split(";")}
    known = {(sensor, name) for name, sensors in SENSORS_OF.items() for sensor in sensors}
    assert told == known | {("distance", "presence")}


def test_what_was_concluded_with_others_stays_when_one_of_them_goes() -> None:
    both = {**NOISY, "listen": ("noise", "network")}
    found = person(sharing=("noise", "network"), state=state({"noise": "out"}, both))
    step = consent.share(record(), found, ("network",), LATER_MS)
    abilities = one(step).state.abilities
    assert (abilities["listen"].state, abilities["listen"].because) == ("off", ("network",))
    assert abilities["speak"].state == "unknown"


def test_who_shares_nothing_withdraws_all_that_was_concluded() -> None:
    idle = person(sharing=())
    assert consent.share(record("ended"), idle, (), LATER_MS).forgets == set(SENSORS)
    assert taking_part.leave(record(), noisy(), LATER_MS, forget=True).forgets == set(SENSORS)
    assert not taking_part.leave(record(), noisy(), LATER_MS).forgets


@pytest.mark.parametrize("how", ["ended", "cancelled"])
def test_nothing_is_shared_in_a_meeting_that_is_over(how: Any) -> None:
    with pytest.raises(MeetingError) as error:
        consent.share(record(how), person(), ("noise",), LATER_MS)
    assert error.value.code == "over"


def test_what_ends_by_itself_is_unknown_from_then_on_and_stays_in_the_minutes() -> None:
    there = noisy().state.model_copy(update={"presence": "room"})
    found = noisy().model_copy(update={"state": there})
    step = consent.cease(record(), found, {"distance": "room"}, LATER_MS)
    assert (one(step).sharing, one(step).state.abilities) == (("noise",), there.abilities)
    assert (bodies(step), step.forgets) == ([PresenceChanged(presence="unknown")], frozenset())
    (told,) = one(step).ended
    assert (told.sensor, told.because, told.at_ms) == ("distance", "room", LATER_MS)
    step = consent.cease(record("ended"), found, dict.fromkeys(SENSORS, "over"), LATER_MS)
    assert not one(step).ended
    assert (one(step).sharing, one(step).state.sensors) == ((), {})
    assert {ability.state for ability in one(step).state.abilities.values()} == {"unknown"}
    assert len(bodies(step)) == 6


def test_people_are_asked_anew_where_the_meeting_is_another() -> None:
    runs, everything = record("running"), {"noise": "over", "distance": "over"}
    for after in (record("ended"), record("cancelled"), record("planned")):
        assert unasked(runs, after, noisy()) == everything
    assert not unasked(record("planned"), runs, noisy())


def test_where_people_are_is_asked_anew_when_the_room_is_another_place() -> None:
    def at(**place: Any) -> MeetingRecord:
        return record(room=Room(name="B", **place))

    here, distance = at(lat=56.15, lon=10.2), {"distance": "room"}
    assert not unasked(here, at(lat=56.1508, lon=10.2), noisy())
    assert unasked(here, at(lat=56.151, lon=10.2), noisy()) == distance
    assert unasked(at(), here, noisy()) == distance
    assert not unasked(here, at(lat=56.151, lon=10.2), person(sharing=("noise",)))
    assert not [there for there in (at(), here) if unasked(here, there, noisy())]


# --- Words ---------------------------------------------------------------------------------------


def test_people_raise_their_hand_and_say_where_they_are() -> None:
    step = taking_part.say(record(), person(), LATER_MS, hand=True)
    assert (one(step).hand, step.change, bodies(step)) == (True, "hand", [HandRaised()])
    assert bodies(taking_part.say(record(), one(step), LATER_MS, hand=True)) == []
    step = taking_part.say(record(), person(), LATER_MS, surroundings="public")
    assert (one(step).says_surroundings, step.change) == ("public", "says")
    assert one(step).state.due_ms == LATER_MS


@pytest.mark.parametrize(
    ("what", "answer"),
    [
        ("mute", {"muted": True}),
        ("unmute", {"muted": False}),
        ("ask_to_speak", {"hand": False}),
        ("ask_to_speak", {"muted": False}),
        ("ask_to_present", {"presents": True}),
        ("ask_to_present", {"presents": False}),
    ],
)
def test_what_the_host_asks_stands_until_it_is_done(what: str, answer: Any) -> None:
    asked = one(taking_part.ask(record(), person(), what, LATER_MS))  # type: ignore[arg-type]
    assert asked.asked is not None
    raised = one(taking_part.say(record(), asked, LATER_MS, hand=True))
    assert raised.asked == asked.asked
    assert one(taking_part.say(record(), raised, LATER_MS, **answer)).asked is None


def test_who_shows_their_screen_does_so_until_they_say_otherwise_or_leave() -> None:
    step = taking_part.say(record(), person(), LATER_MS, presents=True)
    assert (one(step).presents, step.change) == (True, "presenting")
    assert one(taking_part.say(record(), one(step), LATER_MS, hand=True)).presents
    assert not one(taking_part.say(record(), one(step), LATER_MS, presents=False)).presents
    assert not one(taking_part.leave(record(), one(step), LATER_MS)).presents


def test_handing_over_makes_somebody_the_speaker() -> None:
    found = running.start(record(), NOW_MS).record
    step = taking_part.hand_over(found, person(hand=True), LATER_MS)
    assert (step.record.meeting.agenda[0].speaker, step.is_record_new) == ("a2", True)
    assert (step.people[0].hand, step.people[0].asked) == (
        False,
        Asked(what="speak", at_ms=LATER_MS),
    )
    assert bodies(step) == [Acted(do="hand_over", item="i1", former="a1")]
    with pytest.raises(MeetingError, match="not invited"):
        taking_part.hand_over(found, person(attendee=None), LATER_MS)
    with pytest.raises(MeetingError, match="no current item"):
        taking_part.hand_over(record(), person(), LATER_MS)


def test_the_hosts_word_stands_until_it_is_taken_back() -> None:
    step = taking_part.override(record(), person(), {"speak": "off", "read": "on"}, LATER_MS)
    assert one(step).overrides == {"speak": "off", "read": "on"}
    assert one(step).state.due_ms == LATER_MS
    assert bodies(step)[0] == Acted(do="override", capability="speak", word="off")
    back = taking_part.override(record(), one(step), {"speak": None}, LATER_MS)
    assert one(back).overrides == {"read": "on"}


@pytest.mark.parametrize("how", ["ended", "cancelled"])
def test_in_a_meeting_that_is_over_the_host_does_nothing_about_people(how: Any) -> None:
    found = record(how)
    steps: tuple[Callable[[], Step], ...] = (
        lambda: taking_part.ask(found, person(), "mute", LATER_MS),
        lambda: taking_part.hand_over(found, person(), LATER_MS),
        lambda: taking_part.override(found, person(), {"speak": "off"}, LATER_MS),
        lambda: taking_part.remove(found, person(), LATER_MS),
    )
    for step in steps:
        with pytest.raises(MeetingError) as error:
            step()
        assert error.value.code == "wrong-state"
    assert one(taking_part.leave(found, person(), LATER_MS)).left_ms == LATER_MS


# --- What is concluded ---------------------------------------------------------------------------


def test_of_a_conclusion_the_minutes_tell_what_changed() -> None:
    quiet = noisy().model_copy(update={"state": state({"noise": "in"})})
    step = taking_part.concluded(record(), quiet, noisy().state, LATER_MS)
    assert step.change == "abilities"
    assert one(step).state == noisy().state
    assert bodies(step) == [
        AbilityChanged(capability=name, state="off", because=("noise",))
        for name in ("speak", "listen", "share")
    ]
    again = taking_part.concluded(record(), one(step), noisy().state, LATER_MS)
    assert again.entries == ()


def test_who_comes_into_the_room_is_told_of_as_such() -> None:
    there = state({"distance": "in"}, presence="room")
    step = taking_part.concluded(record(), person(sharing=("distance",)), there, LATER_MS)
    assert step.change == "presence"
    assert bodies(step)[-1] == PresenceChanged(presence="room")


def test_a_conclusion_from_what_is_not_shared_any_more_changes_nothing() -> None:
    for late in (
        person(sharing=("light",)),
        one(taking_part.leave(record(), noisy(), LATER_MS)),
    ):
        step = taking_part.concluded(record(), late, noisy().state, LATER_MS)
        assert (step.people, step.entries, step.is_record_new) == ((), (), False)


def test_the_room_tells_of_those_who_are_in_it_what_they_do_not_share() -> None:
    equipped = record(room=Room(name="Room B", sensors="room-b"))
    there = state({"noise": "out"}, NOISY, presence="room")
    found = person(sharing=("distance",))
    assert taking_part.concluded(equipped, found, there, LATER_MS).people
    assert not taking_part.concluded(record(), found, there, LATER_MS).people
    gone = there.model_copy(update={"presence": "remote"})
    assert not taking_part.concluded(equipped, found, gone, LATER_MS).people
