"""Meetings that are to come: again and again, reminded of, and read by those elsewhere."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from citywise.apps.meeting_mgr.process.service import Service
from citywise.backend.mail import addresses
from citywise.backend.settings import Mail
from citywise.backend.times import iso, parse_ms
from tests.browser.conftest import DESKTOP, PHONE, Open, Site, settle, writing
from tests.browser.hosting import ITEMS, Hosted, hosted
from tests.browser.test_people import serious
from tests.meeting_mgr.kept import Kept

pytestmark = [pytest.mark.browser, pytest.mark.slow]
HOUR_MS = 3_600_000
WIDTHS = pytest.mark.parametrize("viewport", [DESKTOP, PHONE])


@WIDTHS
def test_a_meeting_is_made_to_repeat_and_changed_alone_or_with_those_that_follow(
    open_page: Open, site: Site, viewport: dict[str, int]
) -> None:
    page = open_page("/meetings", viewport)
    page.get_by_role("button", name="New meeting").click()
    page.get_by_label("Title").fill("Weekly")
    page.get_by_label("Room", exact=True).fill("Room B")
    page.get_by_label("Repeats").select_option("Every week")
    expect(page.get_by_label("This and all following meetings")).to_be_hidden()
    page.get_by_role("button", name="Create meeting").click()
    expect(page.locator(".meeting-facts")).to_contain_text("Every week")
    dialog, heading = page.get_by_role("dialog"), page.get_by_role("heading", level=1)
    for title, is_for_all in (("Every Friday", True), ("Only today", False)):
        page.get_by_role("button", name="Edit").click()
        dialog.get_by_label("Title").fill(title)
        dialog.get_by_label("This and all following meetings").set_checked(is_for_all)
        dialog.get_by_role("button", name="Save").click()
        expect(heading).to_have_text(title)
    series = Kept(site.town.engine, site.settings).record(page.url.rsplit("/", 1)[1]).meeting.series
    assert series is not None
    assert series.plan.title == "Every Friday"


@WIDTHS
def test_a_new_meeting_begins_with_the_agenda_of_an_earlier_one(
    open_page: Open, site: Site, axe: str, viewport: dict[str, int]
) -> None:
    """Who spoke there speaks here if they are invited, and can be invited with one press."""
    title = f"Board {viewport['width']}"
    hosted(site, title=title)
    page = open_page("/meetings", viewport)
    page.get_by_role("button", name="New meeting").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Title").fill(f"Next {title}")
    dialog.get_by_label("Room", exact=True).fill("Room C")
    dialog.get_by_role("button", name="Person").click()
    dialog.get_by_label("Name").fill("bob simmons")
    source = dialog.get_by_label("Start with the agenda of")
    option = source.locator("option", has_text=title).first.get_attribute("value")
    source.select_option(option)
    items = dialog.get_by_label("Topic")
    use = dialog.get_by_role("button", name="Use this agenda")
    use.click()
    expect(items).to_have_count(3)
    dialog.get_by_role("button", name="Undo: Agenda").click()
    expect(items).to_have_count(0)
    use.click()
    said = dialog.locator(".agenda-source-said")
    expect(said).to_contain_text(f"3 items from “{title}”.")
    expect(said).to_contain_text("Alice Maud Mary and Charlie Wilson spoke there and are not")
    assert serious(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    dialog.get_by_role("button", name="Invite Alice Maud Mary and Charlie Wilson").click()
    expect(said).to_contain_text("Invited: Alice Maud Mary and Charlie Wilson.")
    page.get_by_role("button", name="Create meeting").click()
    expect(page.locator(".agenda h3")).to_have_text(list(ITEMS))
    made = Kept(site.town.engine, site.settings).record(page.url.rsplit("/", 1)[1]).meeting
    assert [made.named(item.speaker) for item in made.agenda] == [
        "Alice Maud Mary",
        "bob simmons",
        "Charlie Wilson",
    ]


def test_one_is_cancelled_and_then_all_that_follow(open_page: Open, site: Site) -> None:
    page = open_page(hosted(site, repeats="week").path)
    dialog, chip = page.get_by_role("dialog"), page.locator(".meeting-chip")
    tick = dialog.get_by_label("This and all following meetings")
    page.get_by_role("button", name="Cancel meeting").click()
    expect(tick).not_to_be_checked()
    dialog.get_by_role("button", name="Cancel meeting").click()
    expect(chip).to_have_text("Cancelled")
    Service(site.settings, site.town.engine, threading.Event())._repeat()
    page.reload()
    page.get_by_role("link", name="Next meeting of the series").click()
    expect(chip).to_have_text("Planned")
    page.get_by_role("button", name="Cancel meeting").click()
    tick.check()
    dialog.get_by_role("button", name="Cancel meeting").click()
    expect(chip).to_have_text("Cancelled")
    expect(page.locator(".meeting-facts")).not_to_contain_text("Every week")


def test_the_link_of_a_meeting_that_is_over_leads_to_the_next(open_page: Open, site: Site) -> None:
    first = hosted(site, repeats="week")
    key = first.kept.record(first.id).join_key
    first.start()
    first.finish()
    Service(site.settings, site.town.engine, threading.Event())._repeat()
    series = first.kept.record(first.id).meeting.series
    assert series is not None
    assert series.next is not None
    page = open_page(f"/meet/{first.id}?key={key}", PHONE)
    expect(page.get_by_label("Who are you?")).to_be_visible()
    expect(page).to_have_url(re.compile(f"/meet/{series.next}"))
    Hosted(first.kept, series.next).start()
    Hosted(first.kept, series.next).finish()


@WIDTHS
def test_who_is_elsewhere_reads_the_zone_and_their_own_time(
    open_page: Open, site: Site, viewport: dict[str, int]
) -> None:
    starts_ms = parse_ms("2027-01-12T09:00:00Z")
    meeting = hosted(site, starts=iso(starts_ms), ends=iso(starts_ms + HOUR_MS))
    home = open_page(meeting.path, viewport, timezone_id="Europe/Copenhagen")
    expect(home.locator(".meeting-facts")).to_have_text("12 Jan, 10:00 – 11:00 CET · Room B")
    key = meeting.kept.record(meeting.id).join_key
    link = f"/meet/{meeting.id}?key={key}"
    for path, where in ((meeting.path, ".meeting-facts"), (link, ".meet-facts")):
        away = open_page(path, viewport, timezone_id="America/New_York")
        expect(away.locator(where)).to_contain_text(
            "12 Jan, 10:00 – 11:00 CET (12 Jan, 04:00 – 05:00 GMT-5 for you)"
        )
        assert away.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


def test_a_reminder_is_chosen_for_an_address_that_one_has(
    open_page: Open, axe: str, tmp_path: Path
) -> None:
    mail = Mail(host="127.0.0.1", port=9, security="none", sender="city@city.example")
    with writing(tmp_path, mail) as site:
        _choose_reminder(open_page, site, axe)


def _choose_reminder(open_page: Open, site: Site, axe: str) -> None:
    anna = settle(site, "Anna")
    url = site.server.url
    page = open_page("/meetings", DESKTOP, url=url, person=anna)
    page.get_by_role("button", name="New meeting").click()
    page.get_by_label("Title").fill("Plans")
    page.get_by_label("Room", exact=True).fill("Room B")
    page.get_by_role("button", name="Create meeting").click()
    card = page.get_by_role("region", name="Reminder")
    switch = card.get_by_role("switch", name="Remind me by e-mail")
    expect(switch).to_be_disabled()
    expect(card.get_by_role("link", name="Account")).to_be_visible()
    with site.town.engine.begin() as connection:
        addresses.want(connection, anna.id, "anna@example.org", "en")
        secret = addresses.issue(connection, "verify", anna.id, "anna@example.org")
        addresses.verify(connection, secret)
    path = page.url.removeprefix(url)
    page.close()  # Or it would miss its city.
    for viewport in (DESKTOP, PHONE):
        page = open_page(path, viewport, url=url, person=anna)
        _turn_on_and_off(page, axe)
        page.close()


def _turn_on_and_off(page: Page, axe: str) -> None:
    card = page.get_by_role("region", name="Reminder")
    switch = card.get_by_role("switch", name="Remind me by e-mail")
    expect(card).to_contain_text("To anna@example.org.")
    switch.check()
    expect(page.locator(".toast")).to_contain_text("You get a reminder.")
    expect(card.get_by_label("Before the start")).to_have_value("15")
    card.get_by_label("Before the start").select_option("1 hour")
    page.reload()
    expect(switch).to_be_checked()
    expect(card.get_by_label("Before the start")).to_have_value("60")
    assert serious(page, axe) == []
    switch.uncheck()
    expect(card.get_by_label("Before the start")).to_be_hidden()
    page.reload()
    expect(card).to_contain_text("To anna@example.org.")
    expect(switch).not_to_be_checked()
