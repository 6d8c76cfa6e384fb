"""When items come, and who can take part in them."""

from __future__ import annotations

from collections.abc import Sequence

from citywise.apps.meeting_mgr.agenda.attendance import Lack, attending, lack_of, needed
from citywise.apps.meeting_mgr.model import Person
from citywise.apps.meeting_mgr.planned import Span, left_s, planned
from citywise.apps.meeting_mgr.steps import running
from tests.meeting_mgr.made import (
    MINUTE_MS,
    NOW_MS,
    item,
    meeting,
    noisy,
    person,
    record,
    state,
)


def span(start: int, end: int) -> Span:
    return Span(NOW_MS + start * MINUTE_MS, NOW_MS + end * MINUTE_MS)


# --- Times ---------------------------------------------------------------------------------------


def test_before_the_meeting_items_follow_its_start() -> None:
    found = planned(meeting(), "planned", NOW_MS - 60 * MINUTE_MS)
    assert found == {"i1": span(0, 20), "i2": span(20, 40), "i3": span(40, 60)}


def test_what_is_put_off_has_no_time() -> None:
    agenda = (item("i1", state="put_off"), item("i2"))
    assert planned(meeting(agenda=agenda), "planned", NOW_MS) == {"i2": span(0, 20)}


def test_what_is_done_was_when_it_was_and_the_rest_follows_the_current_item() -> None:
    found = running.start(record(), NOW_MS).record
    found = running.next_item(found, NOW_MS + 5 * MINUTE_MS).record
    assert planned(found.meeting, "running", NOW_MS + 10 * MINUTE_MS) == {
        "i1": span(0, 5),
        "i2": span(5, 25),
        "i3": span(25, 45),
    }


def test_an_item_that_takes_longer_than_planned_goes_on_until_now() -> None:
    found = running.start(record(), NOW_MS).record.meeting
    assert planned(found, "running", NOW_MS + 30 * MINUTE_MS)["i2"] == span(30, 50)
    assert left_s(found.agenda[0], NOW_MS + 15 * MINUTE_MS) == 300
    assert left_s(found.agenda[0], NOW_MS + 30 * MINUTE_MS) == -600


def test_where_nothing_goes_on_the_next_item_could_begin_now() -> None:
    later = NOW_MS + 7 * MINUTE_MS
    assert planned(meeting(), "running", later)["i1"] == span(7, 27)


# --- Who can take part ---------------------------------------------------------------------------


def test_the_speaker_needs_something_else_than_listeners() -> None:
    talk = item("i1", speaker="a2", needs=("share", "speak"))
    assert needed(talk, "a2") == ("share", "speak")
    assert needed(talk, "a1") == needed(talk, None) == ("listen",)
    assert needed(item("i1", type="break", speaker="a2"), "a2") == ()


def test_who_cannot_hear_lacks_that_because_of_the_noise() -> None:
    assert lack_of(item("i1"), noisy()) == Lack(("listen",), ("noise",))
    assert lack_of(item("i1", speaker="a2"), noisy()) == Lack(("speak",), ("noise",))
    assert lack_of(item("i1", type="break"), noisy()) == Lack()
    guest = noisy().model_copy(update={"attendee": None})
    assert lack_of(item("i1"), guest) == Lack(("listen",), ("noise",))


def test_what_is_unknown_is_not_lacking() -> None:
    assert lack_of(item("i1", speaker="a2"), person()) == Lack()


def test_nobody_speaks_on_what_is_sensitive_in_public() -> None:
    public = person(state=state(surroundings="public"))
    secret = item("i1", speaker="a2", sensitive=True)
    assert lack_of(secret, public) == Lack(("speak",), ("sensitive",))
    assert lack_of(item("i1", sensitive=True), public) == Lack()
    assert lack_of(secret, public.model_copy(update={"overrides": {"speak": "on"}})) == Lack()


def at(start: int, people: Sequence[Person], minutes_ago: int = 0) -> dict[str, tuple[str, ...]]:
    """Why each of the invited cannot take part in the second item, in so many minutes."""
    found = meeting()
    now_ms = NOW_MS - minutes_ago * MINUTE_MS
    told = attending(found, found.agenda[1], span(start, start + 20), people, now_ms)
    assert all(one.can == (not one.because) for one in told)
    return {one.attendee.name: one.because for one in told}


def test_what_somebody_lacks_now_counts_for_a_quarter_of_an_hour() -> None:
    there = (noisy(), person("c", "a1"), person("d", "a3"))
    assert at(14, there) == {"Alice": (), "Bob": ("noise",), "Charlie": ()}
    assert at(15, there) == {"Alice": (), "Bob": (), "Charlie": ()}


def test_a_second_device_helps() -> None:
    there = [person("c", "a1"), person("d", "a3"), noisy()]
    assert at(0, [*there, person("e", state=state({"noise": "in"}))])["Bob"] == ()
    mute = person("e", state=state(because={"speak": ("override",)}))
    assert at(0, [*there, mute])["Bob"] == ("noise", "override")


def test_before_the_meeting_nobody_is_away_but_calendars_count() -> None:
    assert at(0, (), 1) == {"Alice": (), "Bob": (), "Charlie": ()}
    assert at(31, (), 1) == {"Alice": (), "Bob": ("busy",), "Charlie": ()}
    assert at(0, (), -2) == {"Alice": (), "Bob": (), "Charlie": ()}
    assert at(0, (), -3) == {"Alice": ("away",), "Bob": ("away",), "Charlie": ("away",)}
    assert at(0, [person(left_ms=NOW_MS)])["Bob"] == ("away",)
