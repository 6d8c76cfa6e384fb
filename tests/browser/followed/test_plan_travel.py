"""Somebody plans a way and follows it; an accident is reported on it; a better way is taken."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser import following, keys
from tests.browser.conftest import DESKTOP, PHONE, Open, Watched
from tests.browser.following import Followed
from tests.browser.test_people import serious

pytestmark = [
    pytest.mark.browser,
    pytest.mark.spark,
    pytest.mark.thorough,
]

REQUEST = f"/plan?from={quote(following.FROM)}&to={quote(following.TO)}&mode=car"
BETTER = re.compile("faster|shorter")
"""By what a route is better: that depends on the traffic when the test gets there."""


def test_an_accident_on_the_way_brings_a_better_one_which_is_taken(
    open_at: Open, followed: Followed, axe: str
) -> None:
    page = following.opened(open_at, followed, PHONE, REQUEST)
    starts = page.get_by_role("button", name=re.compile("^Start"))
    expect(starts.first).to_be_visible()  # The planners may be starting.
    starts.first.tap()
    expect(page.locator(".trip-card")).to_contain_text("Arrival")
    page.get_by_role("button", name="Share my location").tap()
    expect(page.locator("trip-position")).to_contain_text("from this device")
    expect(page.locator(".trip-summary")).to_contain_text("Updated")
    before = followed.trip()["plan"]

    followed.accident_ahead("accident-1")
    card = following.told(page)
    expect(card).to_contain_text(BETTER)
    expect(page.locator("path.trip-proposal")).to_be_visible()
    assert serious(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    card.get_by_role("button", name="Switch").tap()
    expect(page.locator(".toast")).to_contain_text("Switched to the new route")
    expect(card).to_be_hidden()
    taken = followed.trip()["plan"]
    assert taken["geometry"] != before["geometry"]
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator(".toast")).to_contain_text("Returned to the previous route")
    followed.clear("accident-1")
    followed.rest()


def test_all_of_it_by_keyboard_alone(open_at: Open, followed: Followed, watched: Watched) -> None:
    page = following.opened(open_at, followed, DESKTOP, "/plan")
    followed.ask("PUT", "me/consents/position", {"given": False})
    keys.go_to(page, "From")
    page.keyboard.type(following.FROM)
    keys.go_to(page, "To")
    page.keyboard.type(following.TO)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name=re.compile("^Start")).first).to_be_visible()
    keys.press(page, "Start…")
    expect(page.get_by_role("button", name="Allow and start")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".trip-title")).to_be_focused()
    watched.errors.clear()  # The browser notes that it was refused at first.
    followed.accident_ahead("accident-2")
    following.told(page)
    expect(page.locator(".trip-title")).to_be_focused()
    keys.press(page, "Switch")
    undo = page.locator(".toast").get_by_role("button", name="Undo")
    expect(undo).to_be_focused()
    followed.clear("accident-2")
    keys.press(page, "End trip")
    expect(page.locator(".trip-card")).to_have_count(0)


def test_what_is_put_off_or_refused_goes_away_and_what_is_old_says_so(
    open_at: Open, followed: Followed, watched: Watched
) -> None:
    page = following.opened(open_at, followed, PHONE, REQUEST, service_workers="allow")
    page.get_by_role("button", name=re.compile("^Start")).first.tap()
    page.get_by_role("button", name="Simulate the trip").tap()
    expect(page.locator("trip-position")).to_contain_text("simulated traveller")
    expect(page.locator(".trip-summary")).to_contain_text("Updated")
    followed.accident_ahead("accident-3")
    card = following.told(page)
    expect(card).to_contain_text("Another route: car, via ")
    card.get_by_role("button", name="Remind me in 10 min").tap()
    expect(card).to_be_hidden()
    assert followed.trip()["snoozed_until"] is not None
    followed.clear("accident-3")
    expect(page.locator(".toast")).to_contain_text("Your route is clear again")
    followed.accident_ahead("accident-4")
    following.told(page)
    card.get_by_role("button", name="Keep my route").tap()
    expect(card).to_be_hidden()
    assert followed.trip()["proposal"] is None
    following.kept(page)
    page.context.set_offline(True)
    page.reload()
    expect(page.locator(".trip-old-data")).to_contain_text("Last updated")
    page.context.set_offline(False)
    watched.errors.clear()  # The browser notes each call that failed.
    followed.clear("accident-4")


def test_a_plan_is_exported_as_one_file_that_asks_no_host(
    open_at: Open, followed: Followed, tmp_path_factory: pytest.TempPathFactory
) -> None:
    page = following.opened(open_at, followed, DESKTOP, REQUEST)
    expect(page.locator(".plan-folded strong")).to_have_text(re.compile("^[^0-9]+ → [^0-9]+$"))
    page.emulate_media(media="print")
    expect(page.locator(".plan-tabs, .plan-folded button")).to_have_count(2)
    expect(page.locator(":is(.plan-tabs, .plan-panel .button):visible")).to_have_count(0)
    expect(page.locator(".option .steps").first).to_be_visible()
    page.emulate_media(media="screen")
    with page.expect_download() as found:
        page.get_by_role("link", name="Save as file").click()
    file = tmp_path_factory.mktemp("export") / found.value.suggested_filename
    found.value.save_as(file)
    alone = page.context.new_page()
    asked: list[str] = []
    alone.on("request", lambda request: asked.append(request.url))
    alone.goto(file.as_uri())
    expect(alone.locator(".leaflet-container canvas")).to_be_visible()
    expect(alone.locator("h1")).to_have_text("Routes through the city")
    assert [url for url in asked if not url.startswith("data:")] == [file.as_uri()]
