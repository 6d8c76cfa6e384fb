"""What host and participants see: everything they need, and nothing that is not theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
import pytest

from citywise.apps.meeting_mgr import views
from citywise.apps.meeting_mgr.model import (
    CAPABILITIES,
    Asked,
    Hook,
    Person,
    PersonState,
    Room,
    Rules,
)
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.apps.meeting_mgr.steps import answering, running, taking_part
from tests.meeting_mgr.made import (
    MINUTE_MS,
    NOW_MS,
    noisy,
    person,
    record,
    state,
    swapped,
)

HOOK = Hook(url="https://example.org/hook", secret="verysecretverysecret")
LINK = "https://city.example/meet"


def running_meeting(**more: Any) -> MeetingRecord:
    found = running.start(record(hook=HOOK, **more), NOW_MS).record
    return answering.propose(found, swapped(), NOW_MS).record


def people() -> list[Person]:
    """Alice, the noisy Bob, Charlie whom the host has overruled, and a guest who left."""
    charlie = person(
        "d",
        "a3",
        user="u-" + "c" * 20,
        overrides={"speak": "off"},
        hand=True,
        state=state(because={"speak": ("override",)}, surroundings="public"),
    )
    guest = taking_part.leave(record(), person("e", None), NOW_MS + 1).people[0]
    return [person("c", "a1"), noisy(), charlie, guest]


def as_json(view: Mapping[str, Any]) -> Any:
    return orjson.loads(orjson.dumps(view))


def seen_by_host(found: MeetingRecord, there: Sequence[Person]) -> Any:
    return as_json(views.host(found, there, NOW_MS + 5 * MINUTE_MS, join_url=LINK))


def seen_by(me: Person, found: MeetingRecord, there: Sequence[Person]) -> Any:
    return as_json(views.participant(found, there, me, NOW_MS + 5 * MINUTE_MS))


def walked(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf of a JSON value and every key, with where it is."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield f"{path}.{name}", name
            yield from walked(one, f"{path}.{name}")
    elif isinstance(value, list):
        for one in value:
            yield from walked(one, f"{path}[]")
    else:
        yield path, value


# --- The host ------------------------------------------------------------------------------------


def test_the_host_sees_who_can_do_what_since_when_and_why() -> None:
    view = seen_by_host(running_meeting(), people())
    assert (view["host"], view["state"], view["version"]) == (True, "running", 2)
    assert view["join"] == {"url": LINK, "key": "key", "renewed": None}
    bob = view["people"][1]
    assert list(bob["abilities"]) == list(CAPABILITIES)
    assert bob["abilities"]["speak"] == {
        "state": "off",
        "since": "2026-05-04T09:00:00Z",
        "because": ["noise"],
    }
    assert bob["abilities"]["read"]["state"] == "on"
    alice, _bob, charlie, guest = view["people"]
    assert alice["abilities"]["speak"]["state"] == "unknown"
    assert (charlie["overrides"], charlie["surroundings"]) == ({"speak": "off"}, "public")
    assert (charlie["required"], alice["required"], guest["required"]) == (False, True, False)
    assert guest["left"] is not None
    assert "user" not in charlie


def test_the_host_sees_the_agenda_with_times_and_who_can_attend() -> None:
    view = seen_by_host(running_meeting(), people())
    assert view["current"] == {"item": "i1", "began": "2026-05-04T09:00:00Z", "left_s": 900}
    first, second, third = view["agenda"]
    assert (second["starts"], second["ends"]) == ("2026-05-04T09:20:00Z", "2026-05-04T09:40:00Z")
    assert [one["can"] for one in first["attendance"]] == [True, False, True]
    assert first["attendance"][1] == {
        "attendee": "a2",
        "person": "p-" + "b" * 20,
        "name": "Bob",
        "required": True,
        "can": False,
        "known": True,
        "lacks": ["listen"],
        "because": ["noise"],
        "arrives": None,
    }
    assert third["attendance"][1]["because"] == ["busy"]
    silent = [one.model_copy(update={"state": PersonState()}) for one in people()]
    told = seen_by_host(running_meeting(), silent)["agenda"][0]["attendance"]
    assert [(one["can"], one["known"]) for one in told] == [(True, False)] * 3
    done = running.next_item(running_meeting(), NOW_MS + MINUTE_MS).record
    assert seen_by_host(done, people())["agenda"][0]["attendance"] == []


def test_the_host_sees_who_is_missing() -> None:
    assert seen_by_host(running_meeting(), people()[:2])["absent"] == [
        {"id": "a3", "name": "Charlie", "required": False}
    ]


def test_who_has_come_back_is_shown_once() -> None:
    gone = [
        taking_part.leave(record(), person(letter, attendee), NOW_MS).people[0]
        for letter, attendee in (("f", "a2"), ("g", "a2"), ("h", None), ("i", None))
    ]

    def shown(*there: Person) -> list[str]:
        return [one["id"][2] for one in seen_by_host(record(), there)["people"]]

    assert shown(*gone) == ["g", "h", "i"]
    assert shown(*gone, noisy()) == ["h", "i", "b"]


def test_the_host_sees_what_is_proposed_with_its_reasons() -> None:
    [proposal] = seen_by_host(running_meeting(), people())["proposals"]
    assert proposal["causes"] == [
        {
            "item": "i2",
            "person": "a2",
            "lacks": ["speak"],
            "because": ["noise"],
            "arrives": None,
        }
    ]
    assert proposal["options"][0]["agenda"][2] == {
        "item": "i2",
        "starts": "2026-05-04T09:40:00Z",
        "minutes": 10,
    }
    assert (proposal["options"][0]["shortened"], proposal["answer"]) == (["i2"], "open")


def test_what_the_host_writes_comes_back_as_it_was_written() -> None:
    view = seen_by_host(running_meeting(), people())
    assert view["room"] == {"name": "Room B", "lat": 56.15, "lon": 10.2, "sensors": None}
    assert view["rules"] == Rules().model_dump(mode="json")
    assert view["attendees"][1]["busy"] == [
        {"from": "2026-05-04T09:50:00Z", "until": "2026-05-04T10:10:00Z"}
    ]
    assert view["hook"] == {"url": HOOK.url}
    decided = running.decide(running_meeting(), "Yes.", "i1", NOW_MS).record
    assert seen_by_host(decided, ())["decisions"] == [
        {"at": "2026-05-04T09:00:00Z", "item": "i1", "title": "Item 1", "text": "Yes."}
    ]


def test_no_view_tells_how_a_sensor_stands_but_to_whom_it_belongs() -> None:
    told = dict(walked(seen_by_host(running_meeting(), people())["people"]))
    assert not any(".sensors" in path or ".sharing" in path for path in told)
    assert HOOK.secret not in str(told)


def test_a_meeting_in_a_list_tells_only_what_the_list_needs() -> None:
    assert views.brief(record()) == {
        "id": record().id,
        "state": "planned",
        "title": "Business meeting",
        "room": "Room B",
        "starts": "2026-05-04T09:00:00Z",
        "ends": "2026-05-04T10:00:00Z",
        "attendees": 3,
        "items": 3,
        "repeats": None,
    }


# --- Who takes part ------------------------------------------------------------------------------


def test_people_see_themselves() -> None:
    bob = noisy(asked=Asked(what="mute", at_ms=NOW_MS))
    me = seen_by(bob, running_meeting(), people())["me"]
    assert me["sensors"] == {"noise": {"state": "out", "since": "2026-05-04T09:00:00Z"}}
    assert me["sharing"] == ["noise", "distance"]
    assert me["abilities"]["speak"]["because"] == ["noise"]
    assert me["asked"] == {"what": "mute", "at": "2026-05-04T09:00:00Z"}
    charlie = people()[2]
    assert seen_by(charlie, running_meeting(), people())["me"]["overridden"] == ["speak"]


def test_people_see_what_is_needed_of_them_next() -> None:
    assert seen_by(noisy(), running_meeting(), people())["needed"] == {
        "item": "i2",
        "title": "Item 2",
        "role": "speaker",
        "from": "2026-05-04T09:20:00Z",
        "sensitive": True,
        "needs": ["speak"],
        "lacks": ["speak"],
        "because": ["noise"],
    }
    guest = seen_by(person("e", None), running_meeting(), people())["needed"]
    assert (guest["item"], guest["role"], guest["needs"]) == ("i1", "listener", ["listen"])
    over = running.end(running_meeting(), NOW_MS).record
    assert seen_by(noisy(), over, people())["needed"] is None


def test_people_see_by_which_bounds_what_they_share_is_judged() -> None:
    found = running_meeting(rules=Rules(silent_s=20))
    rules = seen_by(noisy(), found, people())["rules"]
    assert rules["thresholds"] == {
        "noise": {"lower": None, "upper": 80, "hysteresis": 5},
        "distance": {"lower": None, "upper": 50, "hysteresis": 25},
    }
    assert rules.keys() == {"silent_s", "thresholds"}
    assert rules["silent_s"] == 20
    assert seen_by(person("c", "a1"), found, people())["rules"]["thresholds"] == {}


def test_people_see_the_agenda_and_which_items_are_theirs() -> None:
    agenda = seen_by(noisy(), running_meeting(), people())["agenda"]
    assert [(one["speaker"], one["mine"], one["state"]) for one in agenda] == [
        ("Alice", False, "current"),
        ("Bob", True, "open"),
        ("Alice", False, "open"),
    ]


@pytest.mark.parametrize("shows", [False, True])
def test_of_others_people_see_only_what_the_host_lets_all_see(shows: bool) -> None:
    found = running_meeting(
        rules=Rules(show_abilities_to_all=shows), room=Room(name="R", sensors="r-1", lat=1, lon=2)
    )
    own, view = ("me", "rules"), seen_by(noisy(), found, people())
    assert [one["name"] for one in view["people"]] == ["Alice", "Charlie"]
    allowed = {
        "id",
        "name",
        "joined",
        "left",
        "away",
        "presence",
        "arrives",
        *(["abilities"] if shows else []),
    }
    assert all(one.keys() == allowed for one in view["people"])
    told = list(walked({name: value for name, value in view.items() if name not in own}))
    keys = {value for path, value in told if path.endswith(f".{value}")}
    hidden = {"overrides", "surroundings", "sensors", "sharing", "hand", "muted", "asked", "email"}
    hidden |= {"proposals", "join", "hook", "rules", "busy", "attendees", "user", "decisions"}
    assert not keys & hidden
    leaves = str([value for _path, value in told])
    for secret in ("example.org", "u-cccc", "verysecret", "r-1", "'key'"):
        assert secret not in leaves


def test_who_has_only_the_link_sees_no_more_than_they_need_to_join() -> None:
    view = as_json(views.before_joining(running_meeting()))
    assert view["attendees"] == [
        {"id": "a1", "name": "Alice"},
        {"id": "a2", "name": "Bob"},
        {"id": "a3", "name": "Charlie"},
    ]
    known = {"id", "state", "title", "room", "starts", "ends", "attendees", "shows_abilities"}
    assert view.keys() == known | {"zone", "next"}
    assert "example.org" not in str(view)


@pytest.mark.parametrize("shows", [False, True])
def test_people_see_whether_what_they_can_do_is_shown_to_all(shows: bool) -> None:
    found = running_meeting(rules=Rules(show_abilities_to_all=shows))
    assert seen_by(noisy(), found, people())["shows_abilities"] is shows
    assert as_json(views.before_joining(found))["shows_abilities"] is shows


def test_why_somebody_cannot_do_something_is_for_them_and_the_host_alone() -> None:
    found = running_meeting(rules=Rules(show_abilities_to_all=True))
    own = seen_by(noisy(), found, people())["me"]["abilities"]["speak"]
    assert own["because"] == ["noise"]
    alice = person("c", "a1")
    (bob,) = seen_by(alice, found, [alice, noisy()])["people"]
    assert bob["abilities"]["speak"] == {**own, "because": []}


def test_no_view_holds_a_number_that_could_be_a_sensors_value() -> None:
    allowed = {".current.left_s", ".agenda[].minutes", ".me.devices"}
    for me in people()[:3]:
        view = seen_by(me, running_meeting(), people())
        told = walked({name: value for name, value in view.items() if name != "rules"})
        numbers = {
            path
            for path, value in told
            if isinstance(value, int | float) and not isinstance(value, bool)
        }
        assert numbers <= allowed
