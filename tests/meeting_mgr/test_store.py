"""Meetings in the database: sealed, and told of without telling."""

from __future__ import annotations

from typing import get_args

import pytest
from sqlalchemy import select

from citywise.apps.meeting_mgr import store, telling
from citywise.apps.meeting_mgr.entries import Joined
from citywise.apps.meeting_mgr.model import Person, Rules
from citywise.apps.meeting_mgr.record import Change, MeetingError, MeetingRecord
from citywise.apps.meeting_mgr.steps import answering, consent, editing, running, taking_part
from citywise.apps.meeting_mgr.steps.drafts import Changes
from citywise.apps.meeting_mgr.tables import MeetingEntryRow, MeetingPersonRow, MeetingRow
from citywise.apps.meeting_mgr.telling import person_channel
from citywise.backend.ingest.keyring import Keyring
from citywise.backend.machine import REPOSITORY
from citywise.backend.people.secret import broker_hash
from citywise.backend.privacy.boxes import Boxes
from citywise.backend.settings import Settings
from citywise.backend.store.models import OutboxRow
from tests.meeting_mgr.made import MEETING_ID, NOISY, NOW_MS, record, state, swapped
from tests.meeting_mgr.stored import HOOK, HOST, LATER_MS, Stored
from tests.meeting_mgr.stored import stored as stored

# --- Rows and values -----------------------------------------------------------------------------


def test_a_meeting_comes_back_as_it_was_kept(stored: Stored) -> None:
    made = stored.made(hook=HOOK)
    assert stored.found() == made
    proposed = stored.write(answering.propose(made, swapped(), LATER_MS))
    accepted = stored.write(answering.accept(proposed, 1, 0, LATER_MS))
    assert stored.found() == accepted
    assert stored.write(answering.undo(stored.found(), 1, LATER_MS)).meeting == made.meeting


def test_a_host_finds_their_meetings(stored: Stored) -> None:
    made = stored.made()
    assert store.of_host(stored.connection, stored.boxes, "u-host") == [made]
    assert store.of_host(stored.connection, stored.boxes, "u-other") == []


def test_what_is_kept_is_sealed(stored: Stored) -> None:
    made = stored.made()
    bob, secret = stored.joined(made)
    stored.write(answering.propose(running.decide(made, "Buy it.", None, 1).record, swapped(), 2))
    tables = (MeetingRow, MeetingPersonRow, MeetingEntryRow, OutboxRow)
    rows = [stored.connection.execute(select(one.__table__)).all() for one in tables]
    for word in ('"Bob"', "Business meeting", "Buy it", "example.org", '"noise"', secret):
        assert word not in str(rows)
    assert bob.id in str(rows)


def test_who_forgets_the_host_forgets_all_of_the_meeting(
    stored: Stored, settings: Settings
) -> None:
    stored.joined(stored.made())
    assert Keyring(settings.keys_dir).forget("u-host")
    boxes = Boxes(settings.keys_dir, telling.MEETING)
    assert store.find(stored.connection, boxes, MEETING_ID) is None
    assert store.people_of(stored.connection, boxes, record()) == []
    assert store.entries_of(stored.connection, boxes, MEETING_ID) == []


def test_only_who_shows_their_secret_is_somebody(stored: Stored) -> None:
    found = stored.made()
    bob, secret = stored.joined(found)
    alice, other = stored.joined(found, "a1")

    def shown(person: str, told: str, at: MeetingRecord = found) -> Person | None:
        return store.person_by_secret(stored.connection, stored.boxes, at, person, told)

    assert shown(bob.id, secret) == bob
    for wrong in ((bob.id, other), (alice.id, secret), (bob.id, ""), ("p-nobody", secret)):
        assert shown(*wrong) is None
    assert shown(bob.id, secret, found._replace(id="m-other")) is None
    stored.write(taking_part.leave(found, bob, LATER_MS))
    assert shown(bob.id, secret) is None
    assert {one.name: one.left_ms for one in stored.people()} == {"Alice": None, "Bob": LATER_MS}


def test_the_secret_at_the_broker_can_be_given_anew_and_ends_with_leaving(stored: Stored) -> None:
    found = stored.made()
    bob, _secret = stored.joined(found)
    hashed = select(MeetingPersonRow.broker_hash)
    before = stored.connection.scalar(hashed)
    assert store.give_broker_secret(stored.connection, bob.id)
    after = stored.connection.scalar(hashed)
    assert after
    assert after != before
    assert after[:8] == broker_hash("x")[:8]
    stored.write(taking_part.leave(found, bob, LATER_MS))
    assert stored.connection.scalar(hashed) == ""


def test_states_are_written_in_one_go(stored: Stored) -> None:
    found = stored.made()
    people = [stored.joined(found, name)[0] for name in ("a1", "a2")]
    sharing = [consent.share(found, one, ("noise",), NOW_MS) for one in people]
    store.write_all(stored.connection, stored.boxes, sharing)
    noisy = state({"noise": "out"}, NOISY, due_ms=LATER_MS)
    steps = [taking_part.concluded(found, one, noisy, LATER_MS) for one in stored.people()]
    store.write_all(stored.connection, stored.boxes, steps)
    assert [one.state for one in stored.people()] == [noisy, noisy]
    entries = store.entries_of(stored.connection, stored.boxes, MEETING_ID, people[0].id)
    assert entries[0].body == Joined(name="Alice", attendee="a1")
    assert [entry.body.kind for entry in entries[1:]] == ["abilities"] * 5


def test_what_is_written_of_a_meeting_that_is_gone_is_refused(stored: Stored) -> None:
    with pytest.raises(MeetingError) as error:
        stored.write(running.start(record(), NOW_MS))
    assert error.value.code == "gone"


# --- Who is told ---------------------------------------------------------------------------------


def test_changes_of_the_meeting_are_told_to_all_who_are_there(stored: Stored) -> None:
    found = stored.made()
    bob, _ = stored.joined(found)
    alice, _ = stored.joined(found, "a1")
    gone, _ = stored.joined(found, "a3")
    stored.write(taking_part.leave(found, gone, NOW_MS))
    before = len(stored.told())
    stored.write(running.start(found, LATER_MS))
    assert sorted(stored.told()[before:]) == sorted(
        (channel, "started", None)
        for channel in (HOST, person_channel(alice.id), person_channel(bob.id))
    )


def test_who_leaves_hears_of_it_too(stored: Stored) -> None:
    found = stored.made()
    bob, _ = stored.joined(found)
    stored.write(taking_part.remove(found, bob, LATER_MS))
    his = person_channel(bob.id)
    assert stored.told()[-2:] == [(HOST, "removed", bob.id), (his, "removed", bob.id)]


@pytest.mark.parametrize("shows", [False, True])
def test_what_somebody_can_do_is_told_to_the_others_only_where_the_host_says_so(
    stored: Stored, shows: bool
) -> None:
    found = stored.made(rules=Rules(show_abilities_to_all=shows))
    bob, _ = stored.joined(found)
    alice, _ = stored.joined(found, "a1")
    before = len(stored.told())
    stored.write(taking_part.concluded(found, bob, state(), LATER_MS))
    told = stored.told()[before:]
    assert {change for _, change, _ in told} == {"abilities"}
    hears = [bob.id, *([alice.id] if shows else [])]
    assert {user for user, _, _ in told} == {HOST, *map(person_channel, hears)}


def test_everybody_is_told_when_abilities_are_shown_to_all_from_now_on(stored: Stored) -> None:
    found = stored.made()
    bob, _ = stored.joined(found)
    changes = Changes(rules=Rules(show_abilities_to_all=True))
    stored.write(editing.edit(found, changes, LATER_MS))
    assert stored.told()[-2:] == [(HOST, "shown", None), (person_channel(bob.id), "shown", None)]


def test_proposals_are_told_to_the_host_alone_until_they_are_accepted(stored: Stored) -> None:
    found = stored.made()
    stored.joined(found)
    before = len(stored.told())
    proposed = stored.write(answering.propose(found, swapped(), LATER_MS))
    stored.write(answering.decline(proposed, 1, LATER_MS))
    assert {user for user, _, _ in stored.told()[before:]} == {HOST}
    stored.write(answering.accept(proposed, 1, 0, LATER_MS))
    assert len([one for one in stored.told() if one[1] == "accepted"]) == 2


# --- What is documented --------------------------------------------------------------------------


def test_every_change_has_an_audience_and_is_documented() -> None:
    assert set(get_args(Change)) == set(telling.AUDIENCES)
    documented = (REPOSITORY / "docs" / "meeting-manager.md").read_text(encoding="utf-8")
    assert not [change for change in telling.AUDIENCES if f"`{change}`" not in documented]
