"""Another time on the map: what was, what is expected, what is usual; and one press back to now."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from citywise.backend.times import parse_ms
from tests.browser.conftest import DESKTOP, NOON, PHONE, Open, Site
from tests.history.recorded import append, write

pytestmark = [pytest.mark.browser, pytest.mark.slow]
HOUR_MS = 3_600_000
STEPS_AN_HOUR = 4
FORECAST = {
    "roads": {"100": 15.0},
    "garages": {"BRUUNS": {"free": 25, "capacity": 100, "low": 10, "high": 40}},
    "events": ["old-jam"],
}


@pytest.fixture(scope="module", autouse=True)
def kept(site: Site) -> None:
    """What was measured an hour before noon: another road was slow, a garage was full."""
    at = parse_ms(NOON) - HOUR_MS - 120_000
    append(
        site.settings.log_dir,
        [
            ("traffic", "100", at, {"speed_kmh": 20.0, "vehicle_count": 4}),
            ("traffic", "200", at, {"speed_kmh": 90.0, "vehicle_count": 3}),
            ("parking", "BRUUNS", at, {"occupied": 97, "capacity": 100}),
        ],
    )
    write(site.town.engine, site.settings.log_dir)


def unfolded(page: Page) -> Locator:
    """The slider, once the part of the map with it is open."""
    expect(page.locator(".garage-pin").first).to_be_visible()
    page.get_by_text("Another time").click()
    slider = page.get_by_role("slider", name="Time shown on the map")
    expect(slider).to_have_attribute("aria-valuetext", "Now, live")
    return slider


def pressed(slider: Locator, key: str, times: int) -> None:
    for _ in range(times):
        slider.press(key)


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_an_hour_ago_is_shown_as_it_was_and_one_press_leads_back(
    open_page: Open, viewport: dict[str, int]
) -> None:
    page = open_page("/", viewport)
    garage = page.locator(".garage-pin", has_text="Bruuns")
    slider = unfolded(page)
    expect(garage).to_have_attribute("data-state", "free")
    pressed(slider, "ArrowLeft", STEPS_AN_HOUR)
    expect(slider).to_have_attribute("aria-valuetext", "13:00, 1 h ago")
    banner = page.locator(".map-search .then")
    expect(banner).to_contain_text("Not live: as it was at 13:00, 1 h ago.")
    expect(page.locator("city-connection")).to_contain_text("Not live")
    expect(page.locator(".map-lead")).to_be_hidden()
    # Slow then, and free now; the jam of the morning was there already.
    expect(page.locator(".map-holder path.road.road-heavy")).to_have_count(1)
    expect(page.locator(".map-holder path.road.road-jam")).to_have_count(1)
    expect(garage).to_have_attribute("data-state", "few")
    expect(garage).to_contain_text("3 free places")
    page.locator(".garage-pin", has_text="Norreport").dispatch_event("click")
    expect(page.locator(".leaflet-popup")).to_contain_text("No data")
    banner.get_by_role("button", name="Back to now").click()
    expect(banner).to_be_hidden()
    expect(slider).to_be_focused()
    expect(slider).to_have_attribute("aria-valuetext", "Now, live")
    expect(garage).to_have_attribute("data-state", "free")
    expect(page.locator(".map-holder path.road.road-heavy")).to_have_count(0)
    expect(page.locator("city-connection")).to_contain_text("Live")


def test_the_next_hours_and_what_is_usual_are_asked_for_once_and_said_plainly(
    open_page: Open,
) -> None:
    page = open_page("/", PHONE)
    asked = []

    def answer(route: Route) -> None:
        question = {k: v[0] for k, v in parse_qs(urlsplit(route.request.url).query).items()}
        asked.append(question)
        nothing: dict[str, Any] = {"roads": {}, "garages": {}, "events": []}
        told = nothing if "usual" in question else FORECAST
        head = {"now": NOON, "at": question["at"], "usual": "usual" in question}
        route.fulfill(json={**head, **told})

    page.route("**/api/v1/expected?*", answer)
    slider = unfolded(page)
    pressed(slider, "ArrowRight", 2 * STEPS_AN_HOUR)
    banner = page.locator(".map-search .then")
    expect(banner).to_contain_text("Not live: expected at 16:00, in 2 h.")
    expect(page.locator(".map-holder path.road.road-heavy")).to_have_count(1)
    garage = page.locator(".garage-pin", has_text="Bruuns")
    expect(garage).to_contain_text("25 free places")
    garage.dispatch_event("click")
    expect(page.locator(".leaflet-popup")).to_contain_text("probably 10 to 40 free")
    expect(page.locator(".event-pin[data-event='old-jam']")).to_be_attached()
    page.get_by_label("As usual at this hour").check()
    expect(banner).to_contain_text("nothing was learned for Tuesday at 16:00 yet")
    expect(page.locator(".map-holder path.road.road-unknown")).to_have_count(3)
    at = "2014-08-05T14:00:00.000Z"
    assert asked[-1] == {"at": at, "usual": "true"}
    assert {"at": at} in asked
    assert len(asked) <= 2 * STEPS_AN_HOUR + 1, json.dumps(asked)


def test_the_lists_beside_the_map_say_what_is_looked_at(open_page: Open) -> None:
    page = open_page("/", DESKTOP)
    pressed(unfolded(page), "ArrowLeft", STEPS_AN_HOUR)
    expect(page.locator(".panel > .then")).to_contain_text("Not live: as it was at 13:00")
    page.get_by_role("tab", name="Garages").click()
    card = page.locator(".panel article[data-place='BRUUNS']")
    expect(card).to_contain_text("3 free places")
    expect(card).to_contain_text("Measured at 12:58")
