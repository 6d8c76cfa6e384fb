"""Conference systems: rooms of our own page, and messages to any other; neither hears a value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from citywise.apps.meeting_mgr.conferences import conference
from citywise.apps.meeting_mgr.conferences.conference import Jitsi, Webhook
from citywise.apps.meeting_mgr.model import (
    AbilityState,
    Asked,
    Hook,
    Meeting,
    Person,
    PersonState,
    Room,
    SensorState,
)
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.apps.meeting_mgr.settings import Meetings
from citywise.backend.settings import Settings
from tests.api.browsers import Browser
from tests.meeting_mgr.hosted import host, join, make, me, show

SERVER = "https://meet.example"
HOOK = Hook(url="https://conference.example/hooks/x", secret="a secret of sixteen")


def record(join_key: str = "k", **more: Any) -> MeetingRecord:
    meeting = Meeting(title="Budget", room=Room(name="B"), starts_ms=0, ends_ms=60_000, **more)
    return MeetingRecord("m-x", "u-host", "running", 1, meeting, (), join_key, 0, 0)


def person(muted: bool = False, **abilities: AbilityState) -> Person:
    state = PersonState(
        sensors={"noise": SensorState(state="out", since_ms=0)},
        abilities=dict(abilities),  # type: ignore[arg-type]
        presence="room",
    )
    name = "p-" + "a" * 20
    return Person(id=name, meeting="m-x", name="Bob", joined_ms=0, muted=muted, state=state)


def off(*because: Any) -> AbilityState:
    return AbilityState(state="off", since_ms=0, because=because)


def test_a_room_is_shown_only_where_the_operator_has_a_server_and_the_host_wants_one() -> None:
    jitsi, none = Meetings(jitsi=SERVER), Meetings()
    assert conference.shown(record(conference="jitsi"), none) is None
    assert conference.shown(record(), jitsi) is None
    found = conference.shown(record(conference="jitsi"), jitsi)
    assert found is not None
    assert (found["kind"], found["server"]) == ("jitsi", SERVER)


def test_a_rooms_name_is_a_secret_that_changes_with_the_link() -> None:
    first, again, other = (Jitsi(SERVER).room(record(key)).room for key in ("k", "k", "l"))
    assert first == again != other
    assert "m-x" not in first
    assert len(first) > 30


@pytest.mark.parametrize(
    ("found", "audio", "share", "because"),
    [
        (person(), "free", "allowed", ()),
        (person(muted=True), "muted", "allowed", ("host",)),
        (person(speak=off("noise")), "muted", "allowed", ("noise",)),
        (person(share=off("network")), "free", "stopped", ("network",)),
        (
            person(speak=off("sensitive"), share=off("sensitive")),
            "muted",
            "stopped",
            ("sensitive",),
        ),
        (
            person(speak=AbilityState(state="unknown", since_ms=0, because=("silent",))),
            "free",
            "allowed",
            (),
        ),
    ],
)
def test_what_is_wanted_of_a_conference_follows_host_and_abilities(
    found: Person, audio: str, share: str, because: tuple[str, ...]
) -> None:
    wanted = conference.wanted(found)
    assert (wanted.audio, wanted.share, wanted.because) == (audio, share, because)


def test_a_meeting_may_use_both_systems() -> None:
    both = record(conference="jitsi", hook=HOOK)
    found = conference.of(both, Meetings(jitsi=SERVER))
    assert [type(one) for one in found] == [Jitsi, Webhook]
    assert found[0].told(both, "started", None, 0) is None
    assert found[1].room(both) is None


def test_another_system_is_told_of_what_it_can_act_on_only() -> None:
    webhook = Webhook()
    assert webhook.told(record(), "muted", person(muted=True), 0) is not None
    asked = Asked(what="present", at_ms=0)
    found = person().model_copy(update={"asked": asked})
    told = webhook.told(record(), "asked", found, 0)
    assert told is not None
    assert told["person"]["asked"] == "present"
    for change in ("proposed", "declined", "link", "sharing", "decided", "gone"):
        assert webhook.told(record(), change, None, 0) is None


def test_another_system_hears_of_states_and_of_no_sensor() -> None:
    told = Webhook().told(record(), "abilities", person(speak=off("noise")), 0)
    assert told is not None
    assert set(told["person"]) == {
        *("id", "name", "here", "presence", "hand", "muted", "presents", "asked"),
        *("abilities", "wanted"),
    }
    assert "sensors" not in str(told)


# --- In the pages --------------------------------------------------------------------------------


class TestWithAServer:
    """A system whose operator has a Jitsi server."""

    @pytest.fixture
    def settings(self, tmp_path: Path) -> Settings:
        return Settings(data_dir=tmp_path, meetings=Meetings(jitsi=SERVER))

    def test_host_and_participant_see_the_same_room_and_who_has_the_link_alone_does_not(
        self, app: Flask
    ) -> None:
        alice = host(app)
        meeting = make(alice, conference="jitsi")
        bob = join(app, meeting)
        seen = bob.get(me(meeting)).json["conference"]
        room = show(alice, meeting)["conference"]
        assert {name: seen[name] for name in ("kind", "server", "room")} == room
        assert seen["wanted"]["audio"] == "free"
        path = f"/meetings/{meeting['id']}/join?key={meeting['join']['key']}"
        assert room["room"] not in Browser.of(app).get(path).text

    def test_only_the_page_of_a_meeting_may_load_from_it(self, app: Flask) -> None:
        browser = Browser.of(app)
        page, other = browser.get("//meet/m-x"), browser.get("//meetings")
        policy = page.headers["Content-Security-Policy"]
        assert f"frame-src {SERVER}" in policy
        assert f'camera=(self "{SERVER}")' in page.headers["Permissions-Policy"]
        assert SERVER not in other.headers["Content-Security-Policy"]
        assert "camera=()" in other.headers["Permissions-Policy"]


def test_without_a_server_no_page_may_load_from_anywhere(app: Flask) -> None:
    page = Browser.of(app).get("//meet/m-x")
    assert "frame-src" not in page.headers["Content-Security-Policy"]
    assert "camera=()" in page.headers["Permissions-Policy"]
