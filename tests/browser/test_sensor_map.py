"""Operators see on a map how each sensor fares, and why."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import DESKTOP, PHONE, Open, Person, Site
from tests.browser.test_operations import operations
from tests.browser.test_operations import operator as operator
from tests.browser.test_people import serious

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def with_one_stuck(route: Route) -> None:
    """What the city says, but that a garage has repeated itself."""
    told = route.fetch().json()
    for sensor in told["sensors"]:
        if sensor["place"]["id"] == "BRUUNS":
            numbers = {"lasted_s": 7200, "readings": 9}
            reason = {"check": "stuck", "text": "the same values", "numbers": numbers}
            sensor |= {"state": "implausible", "reasons": [reason]}
    route.fulfill(json=told)


def pin(page: Page, words: str) -> str:
    page.locator(f".sensor-map .leaflet-marker-icon[aria-label='{words}']").wait_for(
        state="attached"
    )
    return f".sensor-map .leaflet-marker-icon[aria-label='{words}']"


@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_map_tells_fine_silent_stuck_and_implausible_sensors_apart(
    open_page: Open, homes: Site, operator: Person, axe: str, viewport: dict[str, int]
) -> None:
    page = operations(open_page, homes, operator, "Sensors", viewport=viewport)
    assert page.evaluate("window.L") is None, "Leaflet is loaded before anybody wants a map"
    page.route("**/operator/sensors?*", with_one_stuck)
    page.get_by_text("On a map", exact=True).click()
    expect(page.get_by_role("region", name="Map of the sensors")).to_be_visible()
    states = {
        "Scandcenter: Implausible": "implausible",
        "Norreport: Silent": "silent",
        "Bruuns: Stuck": "stuck",
    }
    for words, state in states.items():
        expect(page.locator(f"{pin(page, words)} .sensor-pin")).to_have_attribute(
            "data-state", state
        )
    assert serious(page, axe) == []
    stuck = page.locator(pin(page, "Bruuns: Stuck"))
    stuck.focus()
    stuck.press("Enter")
    card = page.locator(".leaflet-popup")
    expect(card).to_contain_text("The same values for 2 h, 9 readings")
    legend = page.locator(".sensor-legend")
    expect(legend).to_contain_text("Stuck: 1")
    # The list is there for who uses no map.
    expect(page.locator("[data-sensor='parking SCANDCENTER']")).to_contain_text("Implausible")
