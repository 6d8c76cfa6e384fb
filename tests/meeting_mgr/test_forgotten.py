"""What is kept of meetings goes when it is to go, and can be taken along before."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Engine, select

from citywise.apps.meeting_mgr import exported, store
from citywise.apps.meeting_mgr.steps import consent, running, taking_part
from citywise.apps.meeting_mgr.tables import MeetingEntryRow, MeetingPersonRow, MeetingRow
from citywise.apps.meeting_mgr.telling import person_channel
from citywise.backend.ingest.keyring import Keyring
from citywise.backend.people import accounts
from citywise.backend.privacy import consenting, forgetting
from citywise.backend.settings import Settings
from citywise.backend.store.outbox import begin
from tests.databases import tables
from tests.meeting_mgr.made import MEETING_ID, NOW_MS
from tests.meeting_mgr.stored import HOOK, HOST, LATER_MS, Stored, shared_noise
from tests.meeting_mgr.stored import stored as stored

KEPT_MS = store.KEPT_DAYS * 86_400_000


# --- Sharing less --------------------------------------------------------------------------------


def test_what_rests_on_a_sensor_goes_when_it_is_shared_no_longer(stored: Stored) -> None:
    bob = shared_noise(stored)
    assert stored.count(MeetingEntryRow) == 1 + 5 + 1 + 3 + 3
    stored.write(consent.share(stored.found(), bob, ("distance",), LATER_MS))
    entries = store.entries_of(stored.connection, stored.boxes, MEETING_ID, bob.id)
    assert [entry.body.kind for entry in entries] == ["joined", *["abilities"] * 5, "presence"]
    assert "noise" not in str(entries)
    stored.write(consent.share(stored.found(), stored.people()[0], (), LATER_MS))
    entries = store.entries_of(stored.connection, stored.boxes, MEETING_ID, bob.id)
    assert "presence" not in [entry.body.kind for entry in entries]


def test_who_no_longer_allows_their_position_to_be_used_shares_it_in_no_meeting(
    engine: Engine, settings: Settings
) -> None:
    with engine.begin() as connection:
        user = accounts.create(connection, "Bob", "three words suffice").id
        begin(connection)
        stored = Stored(connection, store.boxes_of(settings))
        shared_noise(stored, user)
    with engine.begin() as connection:
        consenting.change(connection, settings, user, "position", given=False)
    with engine.begin() as connection:
        [bob] = Stored(connection, store.boxes_of(settings)).people()
    assert bob.sharing == ("noise",)
    assert bob.state.presence == "unknown"


def test_what_rests_on_a_position_goes_also_of_who_has_left(
    engine: Engine, settings: Settings
) -> None:
    with engine.begin() as connection:
        user = accounts.create(connection, "Bob", "three words suffice").id
        begin(connection)
        stored = Stored(connection, store.boxes_of(settings))
        bob = shared_noise(stored, user)
        stored.write(taking_part.leave(stored.found(), bob, LATER_MS))
    with engine.begin() as connection:
        consenting.change(connection, settings, user, "position", given=False)
    with engine.begin() as connection:
        entries = store.entries_of(connection, store.boxes_of(settings), MEETING_ID, bob.id)
    kinds = [entry.body.kind for entry in entries]
    assert "presence" not in kinds
    assert (kinds[0], kinds[-1]) == ("joined", "left")
    assert "noise" in str(entries)


def test_who_leaves_can_take_along_what_was_concluded_of_them(stored: Stored) -> None:
    bob = shared_noise(stored)
    stored.write(taking_part.leave(stored.found(), bob, LATER_MS, forget=True))
    entries = store.entries_of(stored.connection, stored.boxes, MEETING_ID, bob.id)
    told = {getattr(entry.body, "state", "unknown") for entry in entries}
    assert told == {"unknown"}
    assert {entry.body.kind for entry in entries} == {"joined", "abilities", "left"}


# --- Removing ------------------------------------------------------------------------------------


def test_removing_a_meeting_removes_everything_of_it(stored: Stored) -> None:
    found = stored.made()
    bob, _ = stored.joined(found)
    stored.write(running.start(found, NOW_MS))
    store.delete(stored.connection, MEETING_ID)
    assert [stored.count(row) for row in (MeetingRow, MeetingPersonRow, MeetingEntryRow)] == [0] * 3
    assert stored.told() == [(HOST, "gone", None), (person_channel(bob.id), "gone", None)]


def test_meetings_that_have_long_been_over_are_removed(stored: Stored) -> None:
    over = stored.write(running.end(running.start(stored.made(), NOW_MS).record, LATER_MS))
    assert store.trim(stored.connection, stored.boxes, LATER_MS + KEPT_MS) == 0
    assert store.trim(stored.connection, stored.boxes, LATER_MS + KEPT_MS + 1) == 1
    assert store.find(stored.connection, stored.boxes, over.id) is None


def test_a_meeting_that_is_still_to_come_is_kept_and_one_that_never_was_is_not(
    stored: Stored,
) -> None:
    end_ms = NOW_MS + 10 * KEPT_MS
    stored.made(ends_ms=end_ms)
    assert store.trim(stored.connection, stored.boxes, end_ms + KEPT_MS) == 0
    assert store.trim(stored.connection, stored.boxes, end_ms + KEPT_MS + 1) == 1


def test_what_nobody_can_open_any_more_does_not_stay_for_ever(
    stored: Stored, settings: Settings
) -> None:
    stored.made()
    Keyring(settings.keys_dir).forget("u-host")
    assert store.find(stored.connection, stored.boxes, MEETING_ID) is None
    assert store.trim(stored.connection, stored.boxes, NOW_MS + KEPT_MS) == 0
    assert store.trim(stored.connection, stored.boxes, NOW_MS + KEPT_MS + 1) == 1
    assert stored.count(MeetingRow) == 0


@pytest.fixture
def forgetful(engine: Engine, settings: Settings) -> tuple[str, str]:
    """The accounts of a host and of Bob, who is in their meeting as Alice is without one."""
    with engine.begin() as connection:
        names = [
            accounts.create(connection, name, "three words suffice") for name in ("Host", "Bob")
        ]
        host, bob = (one.id for one in names)
        begin(connection)
        stored = Stored(connection, store.boxes_of(settings))
        found = stored.made(user=host)
        stored.joined(found, "a1")
        person, _ = stored.joined(found, "a2", user=bob)
        stored.write(taking_part.ask(found, person, "mute", LATER_MS))
    return host, bob


def dump(engine: Engine) -> str:
    with engine.connect() as connection:
        rows = [connection.execute(select(one)).all() for one in tables()]
    return str(rows)


def test_when_the_host_is_forgotten_nothing_of_their_meetings_is_left(
    engine: Engine, settings: Settings, forgetful: tuple[str, str]
) -> None:
    forgetting.forget(engine, settings, forgetful[0])
    with engine.begin() as connection:
        stored = Stored(connection, store.boxes_of(settings))
        rows = (MeetingRow, MeetingPersonRow, MeetingEntryRow)
        assert [stored.count(row) for row in rows] == [0] * 3
        assert {change for _user, change, _person in stored.told()} == {"gone"}


def test_when_somebody_is_forgotten_no_row_mentions_them(
    engine: Engine, settings: Settings, forgetful: tuple[str, str]
) -> None:
    with engine.connect() as connection:
        stored = Stored(connection, store.boxes_of(settings))
        [alice, bob] = sorted(stored.people(), key=lambda person: person.name)
    forgetting.forget(engine, settings, forgetful[1])
    with engine.begin() as connection:
        stored = Stored(connection, store.boxes_of(settings))
        assert stored.people() == [alice]
        told = [one for one in stored.told() if one[0] != person_channel(bob.id)]
        assert (HOST, "left", None) in told
        assert not any(bob.id in str(one) for one in told)
        assert stored.count(MeetingEntryRow) == 1
        last = stored.told()[-1]
        assert last == (person_channel(bob.id), "left", None)
    assert dump(engine).count(bob.id) == 1


# --- To take along -------------------------------------------------------------------------------


def test_people_take_along_what_they_host_and_where_they_were(stored: Stored) -> None:
    shared_noise(stored, "u-bob")
    stored.write(running.decide(stored.found(), "Buy it.", None, LATER_MS))
    hosted, *others = _exported(stored, "u-host")
    assert (hosted["role"], hosted["title"], others) == ("host", "Business meeting", [])
    assert hosted["starts"] == "2026-05-04T09:00:00Z"
    assert hosted["attendees"][1]["busy"][0]["from"] == "2026-05-04T09:50:00Z"
    assert hosted["decisions"] == [
        {"at": "2026-05-04T09:01:00Z", "item": None, "title": None, "text": "Buy it."}
    ]
    assert hosted["people"] == [
        {"name": "Bob", "attendee": "a2", "joined": "2026-05-04T09:00:00Z", "left": None}
    ]
    [joined] = _exported(stored, "u-bob")
    assert (joined["role"], joined["name"], joined["sharing"]) == (
        "participant",
        "Bob",
        ["noise", "distance"],
    )
    assert joined["state"]["sensors"]["noise"] == {"state": "in", "since": "2026-05-04T09:00:00Z"}
    assert joined["entries"][0]["kind"] == "joined"
    assert "_ms" not in str([hosted, joined])


def test_what_is_taken_along_holds_no_secret(stored: Stored) -> None:
    stored.made(hook=HOOK)
    assert HOOK.url in str(_exported(stored, "u-host"))
    assert HOOK.secret not in str(_exported(stored, "u-host"))


def _exported(stored: Stored, user: str) -> list[dict[str, Any]]:
    return exported.of(stored.connection, stored.boxes, user)
