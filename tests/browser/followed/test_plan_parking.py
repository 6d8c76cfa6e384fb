"""Somebody chooses a garage and drives to it; it fills up on the way; another one is taken."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser import following, keys
from tests.browser.conftest import DESKTOP, Open
from tests.browser.following import Followed
from tests.browser.test_people import serious

pytestmark = [
    pytest.mark.browser,
    pytest.mark.spark,
    pytest.mark.thorough,
]

REQUEST = f"/plan?for=parking&from={following.FROM}&to={following.GARAGES_NEAR}&radius=900"


def test_a_garage_that_fills_up_brings_another_which_is_taken(
    open_at: Open, followed: Followed, axe: str
) -> None:
    page = following.opened(open_at, followed, DESKTOP, REQUEST)
    page.get_by_role("button", name=re.compile("^Park here")).first.click()
    card = page.locator(".trip-card")
    expect(card).to_be_visible()
    chosen = followed.trip()["plan"]
    expect(card).to_contain_text(chosen["name"])
    expect(card).to_contain_text(f"of {chosen['capacity']}")
    page.get_by_role("button", name="Share my location").click()
    expect(page.locator("trip-position")).to_contain_text("from this device")

    followed.fill(chosen["id"])
    proposal = following.told(page)
    expect(proposal).to_contain_text("full")
    assert serious(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    proposal.get_by_role("button", name="Switch").click()
    expect(page.locator(".toast")).to_contain_text("Switched to the new route")
    now = followed.trip()["plan"]
    assert now["id"] != chosen["id"]
    assert now["free"] > 0
    expect(card.locator(".trip-title")).to_contain_text(now["name"])


def test_all_of_it_by_keyboard_alone(open_at: Open, followed: Followed) -> None:
    page = following.opened(open_at, followed, DESKTOP, "/plan?for=parking")
    keys.go_to(page, "Destination")
    page.keyboard.type(following.GARAGES_NEAR)
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name=re.compile("^Park here")).first).to_be_visible()
    keys.press(page, "Park here…")
    expect(page.locator(".trip-title")).to_be_focused()
    chosen = followed.trip()["plan"]["id"]
    followed.fill(chosen)
    following.told(page)
    keys.press(page, "Switch")
    expect(page.locator(".toast").get_by_role("button", name="Undo")).to_be_focused()
    keys.press(page, "End trip")
    expect(page.locator(".trip-card")).to_have_count(0)
    assert followed.ask("GET", "trips")["trips"][0]["state"] == "ended"
