"""The pages are for everyone: keyboard, small screens, languages, colours, screen readers."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import PHONE, Open
from tests.conftest import WAITED_MS

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def settled(page: Page) -> Page:
    """The page, connected and loaded."""
    if "/offline" not in page.url and "/nowhere" not in page.url:
        expect(page.locator("city-connection")).to_have_attribute("data-state", "live")
        expect(page.locator("city-connection")).to_have_attribute("data-loaded", "true")
        page.wait_for_timeout(100)  # What is asked for besides, such as notices.
    return page


def come(page: Page, held: list[Route], count: int) -> None:
    """Wait until so many requests have come and are held."""
    deadline = time.monotonic() + WAITED_MS / 1000
    while len(held) < count:
        assert time.monotonic() < deadline, f"{len(held)} of {count} requests came"
        page.wait_for_timeout(20)


def drawn(page: Page) -> None:
    """Wait until the page has been drawn: what cannot have the focus has lost it by then."""
    page.evaluate("new Promise((end) => requestAnimationFrame(() => requestAnimationFrame(end)))")


def serious(page: Page, axe: str) -> list[Any]:
    """What axe finds that keeps people out."""
    page.evaluate(axe)
    found: list[Any] = page.evaluate(
        """async () => (await axe.run(document, {resultTypes: ['violations']})).violations
            .filter((v) => ['serious', 'critical'].includes(v.impact))
            .map((v) => [v.id, v.nodes.map((n) => n.html.slice(0, 160))])"""
    )
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_what_opens(open_page: Open, axe: str, theme: str) -> None:
    page = settled(open_page("/?event=old-jam", theme=theme))
    expect(page.locator(".leaflet-popup")).to_be_visible()
    page.locator(".leaflet-popup").get_by_text("Why").click()
    page.locator(".top > .menu summary").click()
    for tab in page.get_by_role("tab").all():
        tab.click()
        assert serious(page, axe) == []


def test_the_keyboard_reaches_everything_in_order(open_page: Open) -> None:
    page = settled(open_page("/list"))
    seen = []
    for _ in range(19):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                """() => { const e = document.activeElement;
                return e.getAttribute('aria-label') || e.closest('label')?.firstChild.textContent
                    || e.textContent.trim() }"""
            )
        )
    assert seen == [
        "Skip to the content",
        "Citywise",
        "Map",
        "Meetings",
        "Plan",
        "List",
        "Apps",
        "System",
        "Play",
        "Speed",
        "+15 min, skip ahead",
        "+1 h, skip ahead",
        "Alerts",
        "Your account: Demo",
        "Language and colours",
        "Filter and sort",
        "Show",
        "Type",
        "Sort by",
    ]


def test_the_skip_link_leads_past_the_header(open_page: Open) -> None:
    page = settled(open_page("/list"))
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_a_marker_opens_with_enter_and_gives_the_focus_back(open_page: Open) -> None:
    page = settled(open_page("/"))
    marker = page.locator("[role=button][aria-label^='Traffic jam']")
    marker.focus()
    page.keyboard.press("Enter")
    popup = page.get_by_role("dialog")
    expect(popup).to_contain_text("Randersvej")
    expect(popup.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("Escape")
    expect(popup).to_have_count(0)
    expect(marker).to_be_focused()


def test_tabs_follow_the_arrow_keys(open_page: Open) -> None:
    page = settled(open_page("/"))
    page.get_by_role("tab", name="Events").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Garages")).to_be_focused()
    expect(page.get_by_role("tabpanel", name="Garages")).to_be_visible()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tabpanel", name="Events")).to_be_visible()


def test_on_a_phone_everything_is_large_enough_for_a_finger(open_page: Open) -> None:
    page = open_page("/", PHONE)
    for path in ("/", "/list", "/apps", "/apps/traces", "/system"):
        page.goto(urljoin(page.url, path))
        settled(page)
        small = page.evaluate(
            """() => [...document.querySelectorAll('button, summary, select, .nav a, .button')]
            .filter((e) => e.checkVisibility()).map((e) => [e, e.getBoundingClientRect()])
            .filter(([, box]) => box.width && (box.height < 44 || box.width < 40))
            .map(([e, box]) => [e.outerHTML.slice(0, 90), box.width, box.height])"""
        )
        assert small == [], path


def test_the_language_is_negotiated_switched_and_remembered(open_page: Open) -> None:
    page = open_page("/list?event=x", lang="", locale="da-DK")
    expect(page.locator("h1")).to_have_text("Byen lige nu")
    page.locator(".top > .menu summary").click()
    page.get_by_role("link", name="English").click()
    expect(page.locator("h1")).to_have_text("City now")
    assert page.url.endswith("/list?event=x"), "the choice stays out of the address"
    page.reload()
    expect(page.locator("html")).to_have_attribute("lang", "en")


def test_colours_follow_the_device_until_someone_chooses(open_page: Open) -> None:
    page = open_page("/list", theme="", color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.locator(".top > .menu summary").click()
    page.get_by_role("link", name="Light").click()
    light = page.evaluate(ground)
    assert light != dark
    page.reload()
    assert page.evaluate(ground) == light


def test_what_is_for_developers_is_seen_in_developer_mode_only(open_page: Open) -> None:
    page = settled(open_page("/apps", developing=False))
    expect(page.get_by_role("link", name="System")).to_be_visible()  # The demo's user operates it.
    expect(page.locator("app-user")).to_be_hidden()
    assert "developer" not in page.locator("main").inner_text()
    page.get_by_label("Language and colours").click()
    page.get_by_label("Developer mode").check()
    expect(page.locator("app-user")).to_be_visible()
    page.reload()
    expect(page.locator("app-user")).to_be_visible()


COUNTED = """window.formats = 0;
Intl.DateTimeFormat = class extends Intl.DateTimeFormat {
    constructor(...how) { super(...how); window.formats += 1; }
};"""


def test_formats_of_times_are_made_when_they_are_needed(open_page: Open) -> None:
    page = open_page("/offline")
    page.context.add_init_script(COUNTED)
    page.reload()
    expect(page.locator("city-connection")).to_have_attribute("data-loaded", "true")
    assert 1 <= page.evaluate("formats") <= 5  # Nine are known.


def test_a_refused_message_is_shown_as_text(open_page: Open) -> None:
    page = settled(open_page("/system"))
    page.get_by_role("tab", name="Rejected messages").click()
    letter = page.locator("dead-letters details").last
    letter.locator("summary").click()
    expect(letter).to_contain_text('<img src=x onerror="document.title=1">')
    assert page.title() == "System · Citywise"
    assert page.locator("dead-letters img").count() == 0


def test_the_system_page_says_what_is_wrong(open_page: Open, watched: Any, site: Any) -> None:
    site.town.running(now="2014-08-05T12:00:00Z", speed=0)
    page = open_page("/system")
    expect(page.locator(".verdict")).to_have_text("Everything works")
    site.town.alter("ingest", blocked="disk full")
    page.reload()
    expect(page.locator(".verdict")).to_contain_text("disk full")
    site.town.alter("ingest", blocked=None)
    watched.errors.clear()  # The browser notes the 503 itself.
