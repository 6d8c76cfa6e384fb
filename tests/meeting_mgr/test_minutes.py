"""Minutes say who could do what when, how the agenda went, and what was decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from flask import Flask
from icalendar import Calendar
from jinja2 import FileSystemLoader, PrefixLoader

from citywise.apps.meeting_mgr.entries import (
    AbilityChanged,
    Acted,
    Body,
    Entry,
    PresenceChanged,
    ProposalChanged,
    StateChanged,
)
from citywise.apps.meeting_mgr.model import (
    Attendee,
    Cause,
    Decision,
    Item,
    Meeting,
    MeetingState,
    Person,
    Placed,
    Proposal,
    Proposed,
    Room,
    Rules,
)
from citywise.apps.meeting_mgr.papers import minutes, minutes_files, minutes_page
from citywise.apps.meeting_mgr.papers.minutes import Ableness, Minutes, Span
from citywise.apps.meeting_mgr.papers.minutes_files import escaped
from citywise.apps.meeting_mgr.papers.minutes_words import Words
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.apps.meeting_mgr.steps import running, sharing
from citywise.backend.api.pages import translator
from citywise.backend.machine import REPOSITORY
from citywise.backend.packs.page_files import PageFiles
from citywise.backend.times import parse_ms

ALICE, BOB = "p-" + "a" * 20, "p-" + "b" * 20


FILES = PageFiles("meeting_mgr", REPOSITORY / "apps" / "meeting_mgr")


def at(clock: str) -> int:
    """A time of the meeting's day, by the city's clock."""
    return parse_ms(f"2026-05-04T{clock}:00+02:00")


BEFORE = (
    Item(id="i1", title="Semantic Web", speaker="a1", minutes=20),
    Item(id="i2", title="Prices", speaker="a2", minutes=20),
    Item(id="i3", title="Plans", minutes=20),
)


def happened(number: int, began: str, ended: str) -> Item:
    times = {"state": "done", "began_ms": at(began), "ended_ms": at(ended)}
    return BEFORE[number].model_copy(update=times)


PROPOSAL = Proposal(
    number=1,
    at_ms=at("10:06"),
    kind="reorder",
    causes=(Cause(item="i2", person="a2", lacks=("speak",), because=("noise",)),),
    options=(
        Proposed(
            agenda=(
                Placed(item="i3", starts_ms=at("10:25"), minutes=15),
                Placed(item="i2", starts_ms=at("10:40"), minutes=20),
            ),
            moved=("i2", "i3"),
            shortened=("i3",),
            cost=(0,),
        ),
    ),
    answer="accepted",
    chosen=0,
    before=BEFORE,
    before_times=(at("10:00"), at("11:00")),
)
MEETING = Meeting(
    title="Business Meeting",
    room=Room(name="Room B"),
    starts_ms=at("10:00"),
    ends_ms=at("11:00"),
    attendees=(
        Attendee(id="a1", name="Alice", email="alice@example.org"),
        Attendee(id="a2", name="Bob", email="bob@example.org"),
        Attendee(id="a3", name="Charlie", required=False),
    ),
    agenda=(
        happened(0, "10:05", "10:25"),
        happened(2, "10:25", "10:42"),
        BEFORE[1].model_copy(update={"state": "put_off"}),
    ),
    decisions=(Decision(at_ms=at("10:30"), item="i3", text="Go on <b>as planned</b>"),),
)
PEOPLE = (
    Person(id=ALICE, meeting="m-x", name="Alice", attendee="a1", joined_ms=at("09:55")),
    Person(
        id=BOB,
        meeting="m-x",
        name="Bob",
        attendee="a2",
        joined_ms=at("10:10"),
        left_ms=at("10:40"),
    ),
)
ENTRIES = (
    Entry(at("09:56"), AbilityChanged(capability="speak", state="on"), ALICE, 1),
    Entry(at("09:56"), PresenceChanged(presence="room"), ALICE, 2),
    Entry(at("10:05"), StateChanged(state="running"), None, 3),
    Entry(at("10:12"), AbilityChanged(capability="speak", state="on"), BOB, 4),
    Entry(at("10:20"), AbilityChanged(capability="speak", state="off", because=("noise",)), BOB, 5),
    Entry(at("10:21"), AbilityChanged(capability="speak", state="off", because=("noise",)), BOB, 6),
    Entry(at("10:08"), ProposalChanged.of(PROPOSAL), None, 7),
    Entry(at("10:40"), AbilityChanged(capability="speak", state="off", because=("left",)), BOB, 8),
    Entry(at("10:50"), StateChanged(state="ended"), None, 9),
)


def record(state: MeetingState = "ended", meeting: Meeting = MEETING) -> MeetingRecord:
    return MeetingRecord("m-x", "u-host", state, 9, meeting, (PROPOSAL,), "k", 0, 0)


@pytest.fixture
def made() -> Minutes:
    return minutes.made(record(), PEOPLE, ENTRIES, at("12:00"))


def words(made: Minutes, language: str = "en") -> Words:
    return Words(made, translator(language, FILES))


def test_the_meeting_was_from_its_start_to_its_end(made: Minutes) -> None:
    assert (made.began_ms, made.ended_ms) == (at("10:05"), at("10:50"))
    assert words(made).head() == [
        "Held on 04.05.2026, 10:05–10:50 (planned 10:00–11:00)",
        "Room: Room B",
        "Took part: Alice, Bob",
        "Did not come: Charlie (optional)",
    ]


def test_who_could_do_what_when_is_clipped_to_when_they_were_in_the_meeting(
    made: Minutes,
) -> None:
    alice, bob = made.parts
    assert alice.abilities["speak"] == [Span(at("10:05"), at("10:50"), Ableness("on"))]
    assert bob.abilities["speak"] == [
        Span(at("10:10"), at("10:12"), Ableness("unknown")),
        Span(at("10:12"), at("10:20"), Ableness("on")),
        Span(at("10:20"), at("10:40"), Ableness("off", ("noise",))),
    ]
    assert [one.told for one in alice.places] == ["room"]


def test_what_is_shared_no_longer_is_unknown_in_them_and_not_what_it_was_before() -> None:
    noisy = AbilityChanged(capability="speak", state="off", because=("noise",))
    told = [
        Entry(at("10:00"), StateChanged(state="running")),
        Entry(at("10:10"), AbilityChanged(capability="speak", state="on"), BOB),
        Entry(at("10:20"), noisy, BOB),
    ]
    left = sharing.remaining(told, {"noise"})
    bob = Person(id=BOB, meeting="m", name="Bob", joined_ms=at("10:00"))
    (part,) = minutes.made(record("running"), [bob], left, at("10:30")).parts
    assert {span.told.state for span in part.abilities["speak"]} == {"unknown"}
    assert part.abilities["speak"][-1].until_ms == at("10:30")


def test_who_left_before_the_meeting_began_did_not_come() -> None:
    told = [Entry(at("10:00"), StateChanged(state="running"))]
    early = Person(
        id=BOB, meeting="m", name="Bob", attendee="a2", joined_ms=at("09:50"), left_ms=at("09:55")
    )
    found = minutes.made(record("running"), [early], told, at("10:30"))
    assert found.parts == []
    assert "a2" in [one.id for one in found.absent]


def test_it_is_said_in_words_with_reasons(made: Minutes) -> None:
    alice, bob = made.parts
    said = words(made)
    assert said.person(alice).startswith("Alice, 10:05–10:50, in ")
    assert list(said.abilities(bob)) == [
        "Speak: unknown 10:10–10:12; on 10:12–10:20; off 10:20–10:40 (too noisy)"
    ]


def test_who_shared_nothing_is_said_to_have_shared_nothing() -> None:
    found = minutes.made(record(), PEOPLE[:1], ENTRIES[2:3], at("12:00"))
    assert list(words(found).abilities(found.parts[0])) == ["Shared no sensors."]


def test_the_agenda_is_told_as_it_happened_beside_how_it_was_planned(made: Minutes) -> None:
    assert [words(made).item(one) for one in made.agenda] == [
        "Semantic Web (Alice): 10:05–10:25; planned 10:00, 20 min",
        "Plans: 10:25–10:42; planned 10:40, 20 min",
        "Prices (Bob): postponed; planned 10:20, 20 min",
    ]


def told(agenda: tuple[Item, ...], *bodies: Body) -> Sequence[str]:
    """The lines of an agenda of which nothing was proposed."""
    about = MEETING.model_copy(update={"agenda": agenda})
    found = record(meeting=about)._replace(proposals=())
    entries = [Entry(at("10:10"), body, ALICE, n) for n, body in enumerate(bodies, 20)]
    return words(minutes.made(found, PEOPLE, (*ENTRIES, *entries), at("12:00"))).sections()[2].lines


def test_what_had_been_put_off_does_not_make_the_rest_come_later() -> None:
    off = BEFORE[0].model_copy(update={"state": "put_off"})
    assert told((off, BEFORE[1], BEFORE[2])) == [
        "Semantic Web (Alice): postponed",
        "Prices (Bob): not dealt with; planned 10:00, 20 min",
        "Plans: not dealt with; planned 10:20, 20 min",
    ]


def test_after_a_hand_over_it_is_told_who_was_to_speak() -> None:
    handed = happened(0, "10:05", "10:25").model_copy(update={"speaker": "a2"})
    twice = [Acted(do="hand_over", item="i1", former=name) for name in ("a1", "a3", "a1", "a2")]
    assert told((handed, BEFORE[1]), *twice)[0] == (
        "Semantic Web (Bob, handed over by Alice, Charlie): 10:05–10:25; planned 10:00, 20 min"
    )


def test_proposals_are_told_with_reason_and_answer(made: Minutes) -> None:
    (said,) = (words(made).proposal(one) for one in made.proposals)
    assert said == (
        "10:06 Move “Prices” to 10:40, move “Plans” to 10:25 and shorten “Plans” to 15 min. "
        "Why: Bob cannot speak in “Prices”: too noisy. Accepted 10:08."
    )


def test_decisions_are_told_with_their_item(made: Minutes) -> None:
    assert [words(made).decision(one) for one in made.decisions] == [
        "Go on <b>as planned</b> (Plans, 10:30)"
    ]


def test_a_decision_keeps_the_title_of_an_item_that_is_removed() -> None:
    decided = running.decide(record("running"), "Yes.", "i1", at("10:20")).record.meeting
    renamed = decided.agenda[0].model_copy(update={"title": "Web"})
    for agenda, title in ((decided.agenda[1:], "Semantic Web"), ((renamed,), "Web")):
        found = record(meeting=decided.model_copy(update={"agenda": agenda}))
        assert minutes.made(found, (), ENTRIES, at("12:00")).decisions[1].item == title


@pytest.mark.parametrize(
    ("later_ms", "dwell_s", "expected"),
    [
        (9_000, 10, ["off"]),
        (10_000, 10, ["unknown", "off"]),
        (10_000, 20, ["off"]),
        (0, 0, ["off"]),
    ],
)
def test_what_is_unknown_for_a_moment_when_somebody_comes_is_not_told(
    later_ms: int, dwell_s: int, expected: list[str]
) -> None:
    about = MEETING.model_copy(update={"rules": Rules(dwell_s=dwell_s)})
    silent = AbilityChanged(capability="speak", state="unknown", because=("silent",))
    noisy = AbilityChanged(capability="speak", state="off", because=("noise",))
    entries = (
        Entry(at("10:05"), StateChanged(state="running"), None, 1),
        Entry(at("10:10") + 500, silent, BOB, 2),
        Entry(at("10:10") + 500 + later_ms, noisy, BOB, 3),
        Entry(at("10:50"), StateChanged(state="ended"), None, 4),
    )
    made = minutes.made(record(meeting=about), PEOPLE[1:], entries, at("12:00"))
    assert [span.told.state for span in made.parts[0].abilities["speak"]] == expected


def test_of_whom_nothing_is_ever_known_that_is_told() -> None:
    made = minutes.made(record(), PEOPLE[1:], ENTRIES[2:3], at("10:10") + 3_000)
    assert [span.told.state for span in made.parts[0].abilities["speak"]] == ["unknown"]


def test_taking_up_again_and_going_on_past_the_end_are_told_in_words() -> None:
    option = Proposed(
        agenda=(Placed(item="i2", starts_ms=at("10:50"), minutes=20),),
        taken_up=("i2",),
        ends_ms=at("11:10"),
        cost=(),
    )
    cause = Cause(item="i2", person=None, because=("again",))
    again = PROPOSAL.model_copy(
        update={"kind": "take_up", "options": (option,), "causes": (cause,)}
    )
    found = record()._replace(proposals=(again,))
    (line,) = words(minutes.made(found, (), (), at("12:00"))).sections()[-1].lines
    assert "Go on until 11:10 and bring “Prices” back at 10:50" in line
    assert "Why: “Prices” was postponed, and fits again." in line


def test_while_a_meeting_runs_they_go_as_far_as_now() -> None:
    found = minutes.made(record("running"), PEOPLE, ENTRIES[:-1], at("10:30"))
    assert (found.is_over, found.ended_ms) == (False, at("10:30"))
    assert words(found).head()[0] == ("On 04.05.2026, 10:05–10:30 so far (planned 10:00–11:00)")


def test_of_a_meeting_that_has_not_begun_nothing_happened() -> None:
    found = minutes.made(record("planned"), (), (), at("09:00"))
    assert (found.parts, found.began_ms, found.ended_ms) == ([], at("10:00"), at("10:00"))


# --- Files ---------------------------------------------------------------------------------------


@pytest.fixture
def app() -> Iterator[Flask]:
    found = Flask("minutes")
    found.jinja_env.loader = PrefixLoader({"meeting_mgr": FileSystemLoader(FILES.templates)})
    with found.test_request_context():
        yield found


@pytest.mark.parametrize("language", ["en", "da"])
def test_each_form_tells_all_of_it_in_each_language(
    made: Minutes, app: Flask, language: str
) -> None:
    t = translator(language, FILES)
    page = minutes_page.page(made, language, t)
    text = minutes_files.markdown(made, t)
    calendar = Calendar.from_ical(minutes_files.calendar(made, t, 0))
    (event,) = calendar.walk("VEVENT")
    for form in (page, text, str(event["DESCRIPTION"])):
        plain = form.replace("\\", "").replace("&#39;", "'")
        for section in words(made, language).sections():
            for line in section.lines:
                assert line.replace("<", "&lt;").replace(">", "&gt;") in plain or line in plain
    assert f'<html lang="{language}">' in page


def test_a_page_has_no_scripts_and_asks_no_host_and_marks_nothing_of_what_people_wrote(
    made: Minutes, app: Flask
) -> None:
    page = minutes_page.page(made, "en", translator("en", FILES))
    assert "<b>" not in page
    assert "<script" not in page
    assert "http" not in page
    assert "&lt;b&gt;as planned&lt;/b&gt;" in page


def test_nobodys_address_is_in_them(made: Minutes, app: Flask) -> None:
    t = translator("en", FILES)
    everything = minutes_page.page(made, "en", t) + minutes_files.markdown(made, t)
    everything += minutes_files.calendar(made, t, 0).decode()
    assert "example.org" not in everything


def test_the_entry_of_a_calendar_is_at_the_time_at_which_the_meeting_was(made: Minutes) -> None:
    text = minutes_files.calendar(made, translator("en", FILES), 0).decode()
    assert "DTSTART:20260504T080500Z" in text
    assert "DTEND:20260504T085000Z" in text
    assert "UID:m-x-minutes@citywise" in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# no heading", r"\# no heading"),
        ("- no item", r"\- no item"),
        ("1. no number", r"1\. no number"),
        ("*a* _b_ `c` ~d~", r"\*a\* \_b\_ \`c\` \~d\~"),
        ("[a](javascript:x)", r"\[a\]\(javascript:x\)"),
        ("<img src=x>", r"\<img src=x\>"),
        ("a | b", r"a \| b"),
        ("two\nlines", "two lines"),
        ("===", r"\==="),
        ("3.5 km", r"3\.5 km"),
    ],
)
def test_what_people_wrote_means_nothing_in_markdown(text: str, expected: str) -> None:
    assert escaped(text) == expected
