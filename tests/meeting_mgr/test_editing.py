"""A host writes and changes a meeting: ids stay whose they are, nonsense is refused."""

from __future__ import annotations

from typing import Any

import pytest

from citywise.apps.meeting_mgr.model import Busy, Hook, Room, Rules, Threshold
from citywise.apps.meeting_mgr.record import FaultError, MeetingError, MeetingRecord
from citywise.apps.meeting_mgr.steps import answering, editing, running
from citywise.apps.meeting_mgr.steps.drafts import AttendeeDraft, Changes, ItemDraft
from tests.meeting_mgr.made import MINUTE_MS, NOW_MS, record, swapped

HOUR_MS = 60 * MINUTE_MS


def edited(found: MeetingRecord, **changes: Any) -> MeetingRecord:
    return editing.edit(found, Changes(**changes), NOW_MS).record


def agenda_of(found: MeetingRecord) -> list[ItemDraft]:
    names = ItemDraft.model_fields.keys() - {"put_off"}
    return [
        ItemDraft(**{name: getattr(item, name) for name in names}) for item in found.meeting.agenda
    ]


def with_items(*changes: dict[str, Any]) -> tuple[ItemDraft, ...]:
    """The usual agenda, with changes of its items in turn."""
    return tuple(
        draft.model_copy(update=change)
        for draft, change in zip(agenda_of(record()), changes, strict=True)
    )


def test_a_meeting_is_made_of_what_its_host_writes() -> None:
    step = editing.create(
        "u-host",
        Changes(
            title="Plan",
            room=record().meeting.room,
            starts_ms=NOW_MS,
            ends_ms=NOW_MS + HOUR_MS,
            attendees=(AttendeeDraft(name="Alice"), AttendeeDraft(name="Bob", required=False)),
            agenda=(ItemDraft(title="One", minutes=10, speaker="a2"),),
        ),
        NOW_MS,
    )
    assert (step.change, step.record.state, step.record.version) == ("created", "planned", 1)
    assert step.record.user == "u-host"
    assert [one.id for one in step.record.meeting.attendees] == ["a1", "a2"]
    assert [one.id for one in step.record.meeting.agenda] == ["i1"]
    assert step.record.meeting.rules == Rules()


def test_a_meeting_needs_a_title_a_room_and_times() -> None:
    with pytest.raises(FaultError) as error:
        editing.create("u-host", Changes(title="Plan", room=record().meeting.room), NOW_MS)
    assert (error.value.code, error.value.field) == ("missing", "starts")


def test_what_is_not_given_stays() -> None:
    changed = edited(record(), title="Other")
    assert changed.meeting == record().meeting.model_copy(update={"title": "Other"})
    assert (changed.version, changed.updated_ms) == (2, NOW_MS)


def test_ids_stay_whose_they_are_and_new_ones_are_not_reused() -> None:
    drafts = agenda_of(record())
    new = ItemDraft(title="New", minutes=5)
    changed = edited(record(), agenda=(drafts[2], new, drafts[0]))
    assert [(one.id, one.title) for one in changed.meeting.agenda] == [
        ("i3", "Item 3"),
        ("i4", "New"),
        ("i1", "Item 1"),
    ]


def test_after_the_last_number_new_ones_get_what_is_free() -> None:
    drafts = (ItemDraft(id="i9999", title="a", minutes=5), ItemDraft(title="b", minutes=5))
    found = edited(record(), agenda=(*drafts, ItemDraft(title="c", minutes=5)))
    assert [item.id for item in found.meeting.agenda] == ["i9999", "i4", "i5"]
    people = (AttendeeDraft(id="a9999", name="A"), AttendeeDraft(name="B"))
    found = edited(record(agenda=()), attendees=people)
    assert [one.id for one in found.meeting.attendees] == ["a9999", "a4"]


def test_calendars_stay_unless_they_are_given() -> None:
    bob = AttendeeDraft(id="a2", name="Robert")
    others = [AttendeeDraft(id=name, name=name) for name in ("a1", "a3")]
    changed = edited(record(), attendees=(bob, *others))
    assert changed.meeting.attendees[0].name == "Robert"
    assert changed.meeting.attendees[0].busy == record().meeting.attendees[1].busy
    free = edited(record(), attendees=(bob.model_copy(update={"busy": ()}), *others))
    assert free.meeting.attendees[0].busy == ()


def test_of_rules_and_thresholds_what_is_given_changes() -> None:
    louder = Threshold(upper=90, hysteresis=5)
    changed = edited(record(), rules=Rules(thresholds={"noise": louder})).meeting.rules
    assert changed.thresholds == {**Rules().thresholds, "noise": louder}
    assert edited(record(), rules=Rules(dwell_s=3)).meeting.rules == Rules(dwell_s=3)


def test_a_webhook_can_be_set_and_taken_away() -> None:
    hook = Hook(url="https://example.org/hook", secret="s" * 16)
    hooked = edited(record(), hook=hook)
    assert hooked.meeting.hook == hook
    assert edited(hooked, title="Other").meeting.hook == hook
    assert edited(hooked, hook=None).meeting.hook is None


def test_an_item_can_be_put_off_by_hand_and_taken_back() -> None:
    off = edited(record(), agenda=with_items({}, {"put_off": True}, {}))
    assert [one.state for one in off.meeting.agenda] == ["open", "put_off", "open"]
    assert edited(off, agenda=with_items({}, {}, {})).meeting.agenda == off.meeting.agenda
    back = edited(off, agenda=with_items({}, {"put_off": False}, {}))
    assert back.meeting.agenda == record().meeting.agenda


def test_a_change_of_agenda_or_times_outdates_what_was_proposed() -> None:
    found = answering.propose(record(), swapped(), NOW_MS).record
    assert edited(found, title="Other").proposals[-1].answer == "open"
    assert edited(found, ends_ms=NOW_MS + 2 * HOUR_MS).proposals[-1].answer == "outdated"
    longer = with_items({"minutes": 30}, {}, {})
    assert edited(found, agenda=longer).proposals[-1].answer == "outdated"


# --- Nonsense ------------------------------------------------------------------------------------

SHORT = Threshold(lower=70, upper=80, hysteresis=5)
TWICE = (AttendeeDraft(name="A", email="a@b.c"), AttendeeDraft(name="B", email="A@b.c"))
BACKWARDS = AttendeeDraft(name="A", busy=(Busy(from_ms=2, until_ms=1),))


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"ends_ms": NOW_MS}, "ends-before-start", "ends"),
        ({"ends_ms": NOW_MS + 25 * HOUR_MS}, "too-long", "ends"),
        ({"attendees": TWICE, "agenda": ()}, "repeated", "attendees.1.email"),
        (
            {"attendees": (BACKWARDS,), "agenda": ()},
            "ends-before-start",
            "attendees.0.busy.0.until",
        ),
        ({"attendees": ()}, "unknown-speaker", "agenda.0.speaker"),
        ({"agenda": with_items({}, {"speaker": "a9"}, {})}, "unknown-speaker", "agenda.1.speaker"),
        ({"agenda": with_items({}, {}, {"id": "i1"})}, "repeated", "agenda.2.id"),
        (
            {"agenda": with_items({"least_minutes": 21}, {}, {})},
            "least-more-than-minutes",
            "agenda.0.least_minutes",
        ),
        ({"agenda": with_items({}, {"after": ("i9",)}, {})}, "unknown-item", "agenda.1.after"),
        ({"agenda": with_items({}, {"after": ("i2",)}, {})}, "cyclic", "agenda.1.after"),
        (
            {"agenda": with_items({"after": ("i3",)}, {}, {})},
            "before-its-prerequisite",
            "agenda.0.after",
        ),
        ({"rules": Rules(thresholds={"noise": SHORT})}, "empty-range", "rules.thresholds.noise"),
    ],
)
def test_nonsense_is_refused_and_says_where_it_is(
    changes: dict[str, Any], code: str, field: str
) -> None:
    with pytest.raises(FaultError) as error:
        edited(record(), **changes)
    assert (error.value.code, error.value.field) == (code, field)
    assert field in error.value.detail


def test_items_that_wait_for_each_other_are_named() -> None:
    agenda = with_items({"after": ("i3",)}, {"after": ("i1",)}, {"after": ("i2",)})
    with pytest.raises(FaultError, match="wait for each other") as error:
        edited(record(), agenda=agenda)
    assert error.value.code == "cyclic"


def test_what_is_done_stays_as_it_was() -> None:
    found = running.next_item(running.start(record(), NOW_MS).record, NOW_MS + MINUTE_MS).record
    for agenda in (with_items({"title": "Other"}, {}, {}), with_items({}, {}, {})[1:]):
        with pytest.raises(MeetingError, match="'Item 1' is done") as error:
            edited(found, agenda=agenda)
        assert error.value.code == "item-done"
    with pytest.raises(MeetingError, match="at 'Item 2'") as error:
        edited(found, agenda=(with_items({}, {}, {})[0], with_items({}, {}, {})[2]))
    assert error.value.code == "current-item"
    longer = edited(found, agenda=with_items({}, {"minutes": 30}, {}))
    assert [one.state for one in longer.meeting.agenda] == ["done", "current", "open"]
    assert longer.meeting.agenda[1].began_ms == NOW_MS + MINUTE_MS


def test_what_is_done_may_stand_before_what_it_waited_for() -> None:
    found = running.start(record(), NOW_MS).record
    found = running.go_to(found, "i3", NOW_MS + MINUTE_MS).record
    agenda = with_items({}, {"after": ("i3",)}, {})
    assert edited(found, agenda=agenda).meeting.agenda[1].after == ("i3",)


def test_of_a_meeting_that_is_over_only_the_title_changes() -> None:
    over = running.end(running.start(record(), NOW_MS).record, NOW_MS).record
    assert edited(over, title="Other").meeting.title == "Other"
    with pytest.raises(MeetingError) as error:
        edited(over, agenda=())
    assert error.value.code == "wrong-state"


def test_showing_abilities_to_all_is_told_as_such() -> None:
    shown = Changes(rules=Rules(show_abilities_to_all=True))
    step = editing.edit(record(), shown, NOW_MS)
    assert step.change == "shown"
    assert editing.edit(step.record, shown, NOW_MS).change == "edited"
    hidden = Changes(rules=Rules(show_abilities_to_all=False))
    assert editing.edit(step.record, hidden, NOW_MS).change == "edited"


@pytest.mark.parametrize(
    ("room", "missing"), [(Room(name="B", lat=5), "lon"), (Room(name="B", lon=5), "lat")]
)
def test_a_place_is_both_latitude_and_longitude(room: Room, missing: str) -> None:
    with pytest.raises(FaultError) as error:
        edited(record(), room=room)
    assert (error.value.code, error.value.field) == ("missing", f"room.{missing}")
