"""Hosts see at a glance who can do what, and run their meetings, with the keyboard alone too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from playwright.sync_api import Locator, Page, expect

from citywise.apps.meeting_mgr.model import Person, Rules, Threshold
from citywise.apps.meeting_mgr.record import MeetingRecord, Step
from citywise.apps.meeting_mgr.steps import answering, taking_part
from citywise.apps.meeting_mgr.steps.drafts import Changes
from citywise.apps.meeting_mgr.steps.editing import edit
from citywise.backend.times import wall_ms
from tests.browser.conftest import DESKTOP, PHONE, Open, Site, Watched
from tests.browser.hosting import ITEMS, Hosted, hosted
from tests.browser.keys import expect_focused, go_to, press

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SMALL = {"width": 360, "height": 740}


@pytest.fixture
def meeting(site: Site) -> Iterator[Hosted]:
    """A running meeting at its first item, with Alice and Bob in it; Charlie is missed."""
    made = hosted(site)
    made.start()
    made.join("Alice Maud Mary", "a1")
    made.join("Bob Simmons", "a2")
    yield made
    made.finish()


def person(page: Page, name: str) -> Locator:
    return page.get_by_role("listitem", name=name, exact=True)


def expect_agenda(page: Page, *titles: str) -> None:
    """The agenda's items come in this order."""
    expect(page.locator(".agenda h3")).to_have_text(list(titles))


@pytest.mark.thorough
def test_a_meeting_is_planned_and_begun_with_the_keyboard_alone(open_page: Open) -> None:
    page = open_page("/meetings")
    expect(page.get_by_role("button", name="New meeting")).to_be_visible()
    press(page, "New meeting")
    expect_focused(page, "Title")
    page.keyboard.type("Project week")
    go_to(page, "Room")
    page.keyboard.type("Room B")
    for name in ("Alice", "Bob"):
        press(page, "Person")
        page.keyboard.type(name)
    for title in ("Plans", "Money"):
        press(page, "Item")
        page.keyboard.type(title)
    press(page, "Move up: Money")
    press(page, "Remove: Plans")
    expect_focused(page, "Undo: Agenda")
    page.keyboard.press("Space")
    press(page, "Create meeting")
    expect(page.get_by_role("heading", name="Project week", level=1)).to_be_visible()
    expect_agenda(page, "Money", "Plans")
    expect(page.get_by_text("Not here: Alice, Bob")).to_be_visible()
    expect(page.get_by_role("textbox", name="Link to join")).to_have_value(
        re.compile("/meet/m-.*key=")
    )
    expect(page.get_by_role("img", name="QR code")).to_be_visible()
    press(page, "Start meeting")
    expect(page.locator(".now-title")).to_have_text("Money")
    expect(page.locator(".now-left")).to_contain_text("15 min left")


def test_what_somebody_can_no_longer_do_is_seen_and_said(open_page: Open, meeting: Hosted) -> None:
    page = open_page(meeting.path)
    bob = person(page, "Bob Simmons")
    expect(bob.get_by_role("img", name=re.compile("^Speak: on"))).to_be_visible()
    expect(page.locator("meeting-page")).to_have_attribute("data-connection", "live")
    meeting.conclude(meeting.person("Bob"), "off", "speak", "share", because=["noise"])
    speak = bob.get_by_role("img", name=re.compile("^Speak: off, too noisy, since"))
    expect(speak).to_be_visible()
    expect(bob).to_contain_text("Cannot speak or share the screen: too noisy")
    expect(bob.get_by_role("img", name=re.compile("^Listen: on"))).to_be_visible()
    expect(page.get_by_role("log").filter(has_text="Bob Simmons cannot speak")).to_have_count(1)
    budget = page.locator(".item", has_text="Customer budget")
    expect(budget).to_contain_text("Bob Simmons cannot speak: too noisy")
    page.get_by_role("button", name=re.compile("^Can speak now")).click()
    expect(bob).to_have_count(0)
    expect(person(page, "Alice Maud Mary")).to_be_visible()
    meeting.conclude(meeting.person("Bob"), "on", presence="room")
    expect(bob.get_by_role("img", name=re.compile("^Location: in room"))).to_be_visible()


def test_what_happened_is_there_after_a_reload_in_the_same_words(
    open_page: Open, meeting: Hosted
) -> None:
    page = open_page(meeting.path)
    # Its rows: what is said to screen readers is the same for a while.
    rows = page.get_by_role("region", name="What happened").get_by_role("listitem")
    expect(rows.filter(has_text="Bob Simmons has joined")).to_be_visible()
    meeting.conclude(meeting.person("Bob"), "off", "speak", "share", because=["noise"])
    meeting.propose("i1", "i3", "i2")
    cannot = "Bob Simmons cannot speak or share the screen: too noisy"
    expect(rows.filter(has_text=cannot)).to_be_visible()
    expect(rows.filter(has_text="Suggestion: Move “Customer budget” to")).to_be_visible()
    told = rows.all_text_contents()
    page.reload()
    expect(rows.filter(has_text=cannot)).to_be_visible()
    assert rows.all_text_contents() == told
    expect(page.get_by_role("log")).to_be_empty()  # It is no news.


def test_earlier_happenings_are_shown_when_asked_for(open_page: Open, meeting: Hosted) -> None:
    bob = meeting.person("Bob")
    for n in range(40):
        meeting.conclude(bob, "on" if n % 2 else "off", "speak")
    page = open_page(meeting.path)
    log = page.get_by_role("region", name="What happened")
    log.get_by_text("Earlier").click()
    rows = log.locator(".notices-log li")
    expect(rows).to_have_count(30)
    log.get_by_role("button", name="Show more").click()
    expect(log.get_by_text("Alice Maud Mary has joined")).to_be_visible()
    expect(log.get_by_role("button", name="Show more")).to_be_hidden()


HAPPENED = """async () => {
    const { src } = document.querySelector('script[src*="/meet/"]');
    const at = src.replace(/meet\\/.*/, 'meetings/');
    const { meetingNotices } = await import(at + 'meeting-notices.js');
    const view = { now: '2026-11-22T10:00:00Z' };
    const store = Object.assign(new EventTarget(), { id: 'm-x', view, now: Date.now });
    const [fetched, later] = [window.fetch, window.setTimeout];
    let [asked, counts, pauses] = [[], [], []];
    window.fetch = async (path, how) => {
        if (!path.includes('/entries')) return fetched(path, how);
        asked.push(path);
        return { ok: true, json: async () => ({ entries: [], next: 7 }) };
    };
    window.setTimeout = (end) => pauses.push(end);
    const { element } = meetingNotices(store);
    const look = () => store.dispatchEvent(new Event('view'));
    const pass = () => pauses.splice(0).forEach((end) => end());
    const more = () => element.querySelector('details .button').click();
    for (const acts of [[look, look, look], [look], [pass], [pass], [look], [look, more], [pass]]) {
        acts.forEach((act) => act());
        await new Promise((end) => later(end));
        counts.push(asked.length);
    }
    [window.fetch, window.setTimeout] = [fetched, later];
    return [counts, asked.at(-1)];
}"""


def test_what_happened_is_asked_at_once_then_after_a_pause_however_much_happens(
    open_page: Open,
) -> None:
    counts, last = open_page("/offline").evaluate(HAPPENED)
    assert counts == [1, 1, 2, 2, 3, 4, 4]  # Who wants to see more does not wait.
    assert last.endswith("/entries?limit=60")


def test_a_proposal_says_why_and_is_accepted_and_taken_back(
    open_page: Open, meeting: Hosted
) -> None:
    page = open_page(meeting.path)
    expect(person(page, "Bob Simmons")).to_be_visible()
    meeting.propose("i1", "i3", "i2")
    card = page.get_by_role("region", name="Suggestion", exact=True)
    expect(card).to_contain_text("Bob Simmons cannot speak in “Customer budget”: too noisy")
    expect(card).to_contain_text("Move “Customer budget” to")
    card.get_by_role("button", name="Accept").click()
    done = page.get_by_role("region", name="Accepted suggestion")
    expect(done).to_contain_text("Move “Customer budget” to")
    expect_agenda(page, ITEMS[0], ITEMS[2], ITEMS[1])
    done.get_by_role("button").click()
    expect(done).to_have_count(0)
    expect_agenda(page, *ITEMS)
    told = page.get_by_role("region", name="What happened").get_by_role("listitem")
    for what in ("Suggestion: ", "Suggestion accepted: ", "Suggestion taken back: "):
        row = told.filter(has_text=f"{what}Move “Customer budget” to")
        expect(row).to_have_count(1)


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE])
def test_who_closed_the_page_is_marked_and_counted_by_nobody(
    open_page: Open, meeting: Hosted, viewport: dict[str, int]
) -> None:
    page = open_page(meeting.path, viewport)
    summary = page.locator(".people-summary")
    expect(summary).to_have_text("2 of 2 can speak now")
    meeting.join("Bob Simmons", "a2")  # with another device: one person
    meeting.kept.join(meeting.id, name="Charlie Wilson", attendee="a3", now_ms=wall_ms())
    expect(summary).to_have_text("2 of 3 can speak now · 1 unknown")
    expect(page.get_by_role("button", name="Limited 0")).to_be_visible()
    alice = meeting.person("Alice")
    turn(meeting, alice, taking_part.go_away)
    card = person(page, "Alice Maud Mary")
    expect(card).to_contain_text("away")
    expect(card.get_by_role("img", name=re.compile("^Speak"))).to_have_count(0)
    expect(card.get_by_text("Details")).to_be_visible()  # her seat is there still
    expect(summary).to_have_text("1 of 2 can speak now · 1 unknown")
    expect(page.locator(".item", has_text=ITEMS[0])).to_contain_text("1 of 3 can take part")
    told = page.get_by_role("region", name="What happened").get_by_role("listitem")
    expect(told.filter(has_text="Alice Maud Mary is away")).to_be_visible()
    turn(meeting, alice, taking_part.come_back)
    expect(summary).to_have_text("2 of 3 can speak now · 1 unknown")
    expect(told.filter(has_text="Alice Maud Mary is back")).to_be_visible()


def turn(meeting: Hosted, who: str, how: Callable[[MeetingRecord, Person, int], Step]) -> None:
    """Somebody closes the page, or opens it again."""
    meeting.kept.change_person(meeting.id, who, lambda record, one: how(record, one, wall_ms()))


def test_after_its_end_nothing_of_a_meeting_is_live_or_still_to_come(
    open_page: Open, meeting: Hosted
) -> None:
    page = open_page(meeting.path)
    live = page.locator(".meeting-title .connection")
    coming = page.locator(".item", has_text=ITEMS[2])
    expect(live).to_have_text("Live")
    expect(coming).to_contain_text("can take part")
    meeting.finish()
    expect(page.locator(".meeting-chip")).to_have_text("Ended")
    expect(live).to_be_hidden()
    expect(coming.locator(".item-who")).to_be_hidden()
    expect(coming.get_by_text("Who can take part")).to_be_hidden()


def test_what_has_the_focus_keeps_it_where_the_agenda_is_put_in_another_order(
    open_page: Open, meeting: Hosted
) -> None:
    page = open_page(meeting.path)
    who = page.get_by_label("Who can take part: Customer budget")
    who.focus()
    meeting.propose("i1", "i3", "i2")
    card = page.get_by_role("region", name="Suggestion", exact=True)
    expect(card).to_be_visible()
    meeting.kept.change(meeting.id, lambda record: answering.accept(record, 1, 0, wall_ms()))
    expect_agenda(page, ITEMS[0], ITEMS[2], ITEMS[1])
    expect(who).to_be_focused()


def test_the_host_goes_on_and_back_decides_and_has_the_last_word(
    open_page: Open, meeting: Hosted
) -> None:
    page = open_page(meeting.path)
    now = page.locator(".now-title")
    page.get_by_role("button", name="Next item").click()
    expect(now).to_have_text(ITEMS[1])
    page.get_by_role("status").get_by_role("button", name="Undo").click()
    expect(now).to_have_text(ITEMS[0])
    page.get_by_role("button", name="+5 min").click()
    expect(page.locator(".now-left")).to_contain_text("20 min left")
    alice = person(page, "Alice Maud Mary")
    alice.get_by_role("button", name="Ask to mute").click()
    expect(alice).to_contain_text("asked to mute")
    alice.get_by_text("Details").click()
    alice.get_by_role("button", name="Ask to share screen").click()
    expect(alice).to_contain_text("asked to share the screen")
    alice.get_by_label("Override: Read").select_option("off")
    expect(page.get_by_text("Set for Alice Maud Mary.")).to_be_visible()
    alice_id = meeting.person("Alice")
    assert meeting.kept.person(meeting.id, alice_id).overrides == {"read": "off"}
    page.get_by_label("Decision", exact=True).fill("We go on in May.")
    page.keyboard.press("Enter")
    expect(page.locator(".decisions")).to_contain_text("We go on in May.")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Title").fill("Another name")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Another name")
    page.get_by_role("button", name="End meeting").click()
    page.get_by_role("dialog").get_by_role("button", name="End meeting").click()
    expect(page.get_by_role("button", name="End meeting")).to_have_count(0)
    expect(page.get_by_role("link", name="Minutes: Web page")).to_be_visible()


def test_what_was_typed_is_kept_where_the_meeting_has_changed_and_can_be_sent_again(
    open_page: Open, site: Site, watched: Watched
) -> None:
    meeting = hosted(site)
    page, other = open_page(meeting.path), open_page(meeting.path)
    for one, title in ((page, "Mine"), (other, "Theirs")):
        one.get_by_role("button", name="Edit").click()
        one.get_by_label("Title").fill(title)
    other.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("h1")).to_have_text("Theirs")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Your input is still here")).to_be_visible()
    expect(page.get_by_label("Title")).to_have_value("Mine")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Mine")
    watched.errors.clear()  # The browser notes that something was refused.

    page.get_by_role("button", name="Cancel meeting").click()
    page.get_by_role("button", name="Remove for good").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove for good").click()
    page.wait_for_url("**/meetings")
    expect(page.get_by_role("button", name="New meeting")).to_be_visible()
    expect(page.get_by_role("link", name="Mine")).to_have_count(0)
    expect(other.get_by_text("There is no such meeting")).to_be_visible()
    other.close()
    watched.errors.clear()


@pytest.mark.thorough
@pytest.mark.parametrize("viewport", [DESKTOP, SMALL])
def test_words_of_any_length_fit_on_the_screen(
    open_page: Open, site: Site, viewport: dict[str, int]
) -> None:
    word = "W" * 150
    meeting = hosted(
        site,
        title=word,
        room={"name": word},
        attendees=[{"id": f"a{n}", "name": f"{n}{word}"} for n in (1, 2)],
        agenda=[{"id": f"i{n}", "title": word, "minutes": 9, "speaker": "a2"} for n in (1, 2, 3)],
    )
    meeting.start()
    bob = meeting.join(f"2{word}", "a2")
    meeting.conclude(bob, "off", "speak", because=["noise"])
    meeting.propose("i1", "i3", "i2")
    page = open_page(meeting.path, viewport)
    expect(page.locator(".proposal")).to_be_visible()
    for details in page.locator("main details").all():
        details.evaluate("(each) => { each.open = true }")
    assert widest(page) <= viewport["width"]
    page.get_by_role("button", name="Accept").click()
    expect(page.locator(".proposal-done")).to_be_visible()
    assert widest(page) <= viewport["width"]
    page.goto(page.url.rsplit("/", 1)[0])
    expect(page.get_by_role("link", name=word).first).to_be_visible()
    assert widest(page) <= viewport["width"]
    meeting.finish()


def widest(page: Page) -> int:
    """How far to the right anything reaches, in the page and in its dialog."""
    found: int = page.evaluate(
        "() => Math.max(document.documentElement.scrollWidth, ...[...document.querySelectorAll("
        "'dialog[open]')].map((each) => each.getBoundingClientRect().left + each.scrollWidth))"
    )
    return found


def test_one_device_of_somebody_is_removed_alone_and_the_link_is_new(
    open_page: Open, meeting: Hosted
) -> None:
    page = open_page(meeting.path)
    link = page.get_by_label("Link to join", exact=True)
    expect(link).to_have_value(re.compile("key="))
    before = link.input_value()
    meeting.join("Bob Simmons", "a2")
    second = person(page, "Bob Simmons (device 2)")
    second.get_by_text("Details").click()
    second.get_by_role("button", name="Remove: Bob Simmons (device 2)").click()
    asked = page.get_by_role("dialog")
    expect(asked.get_by_role("checkbox", name="Keep the link")).not_to_be_checked()
    asked.get_by_role("button", name="Remove").click()
    expect(second).to_have_count(0)
    expect(person(page, "Bob Simmons")).to_be_visible()
    expect(link).not_to_have_value(before)
    expect(page.locator(".join-card")).to_contain_text("Invitations sent before lead nowhere")


def test_the_host_reads_how_often_a_bound_can_still_be_moved(
    open_page: Open, meeting: Hosted
) -> None:
    for upper in (70, 71):
        changes = Changes(rules=Rules(thresholds={"noise": Threshold(upper=upper)}))
        meeting.kept.change(meeting.id, partial(edit, changes=changes, now_ms=wall_ms()))
    page = open_page(meeting.path)
    page.get_by_role("button", name="Edit").click()
    page.get_by_text("Thresholds and rules").click()
    expect(page.get_by_text("changed 3 times within an hour")).to_be_visible()
    expect(page.get_by_text(re.compile("^Noise: if you change it again before"))).to_be_visible()
