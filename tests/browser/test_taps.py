"""What people do most takes few taps from the first page of a phone, and no word of developers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from citywise.backend.notices import book
from tests.api.templates import change, install, jam_ahead
from tests.browser.conftest import PHONE, Open, Site
from tests.browser.scenes import END_TRIPS
from tests.browser.test_people import settled
from tests.browser.test_plan_page import options
from tests.browser.test_plan_page import site as site

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.long]

MOST_TAPS, MOST_SCREENS = 3, 2
HERE: dict[str, Any] = {
    "permissions": ["geolocation"],
    "geolocation": {"latitude": 56.1458, "longitude": 10.2076, "accuracy": 9},
}
DEVELOPERS = re.compile(
    r"template|instance\b|trace|sosa|json|mqtt|\bapi\b|PATCH|@\d|https?://|undefined|null\b|NaN",
    re.IGNORECASE,
)


@dataclass
class Finger:
    """Taps on a phone from the first page on, counted, and the screens they lead through."""

    page: Page
    taps: int = 0
    screens: list[str] = field(default_factory=list)

    def tap(self, on: Locator) -> None:
        self.look()
        on.tap()
        self.taps += 1

    def write(self, text: str) -> None:
        self.page.keyboard.type(text)

    def look(self) -> None:
        """Note the screen, and read it."""
        path = urlsplit(self.page.url).path
        if self.screens[-1:] != [path]:
            self.screens.append(path)
        words = self.page.locator("body").inner_text()
        assert DEVELOPERS.findall(words) == [], path

    def has_come(self, what: str) -> None:
        """The end: no more than there may be."""
        self.look()
        print(f"{what}: {self.taps} taps, {len(self.screens)} screens")
        assert self.taps <= MOST_TAPS, what
        assert len(self.screens) <= MOST_SCREENS, what


@pytest.fixture
def finger(open_page: Open) -> Finger:
    return Finger(settled(open_page("/", PHONE, developing=False, **HERE)))


def planned(finger: Finger) -> Page:
    """Say where one wants to go: one is where the phone is, which the page may know."""
    page = finger.page
    finger.tap(page.get_by_role("combobox", name="Where to?"))
    finger.write("Havneb")
    finger.tap(page.get_by_role("option", name=re.compile("Havneb")).first)
    expect(options(page).first).to_be_visible()
    return page


def test_a_trip_is_planned_and_started(finger: Finger) -> None:
    page = planned(finger)
    finger.has_come("plan")
    finger.tap(page.get_by_role("button", name=re.compile("^Start")).first)
    expect(page.locator(".trip-card")).to_contain_text("Arrival")
    finger.has_come("start")
    page.evaluate(END_TRIPS)


def test_one_is_told_and_mutes_what_one_was_told(finger: Finger, site: Site) -> None:
    install(site.town, jam_ahead())
    told: dict[str, Any] = {"user": "demo", "instance": "demo.jam_ahead", "about": "j1"}
    told["about_name"] = "Ringgade"
    with site.town.engine.begin() as connection:
        book.apply(connection, [change("opened", **told)])
    toast = finger.page.locator(".bell-toast")
    expect(toast).to_contain_text("Ringgade")
    finger.has_come("be told")
    finger.tap(toast.get_by_role("button", name="Mute"))
    expect(finger.page.locator(".toast")).to_contain_text("Muted")
    finger.has_come("mute")


def test_a_garage_is_found_near_where_one_wants_to_go(finger: Finger) -> None:
    page = planned(finger)
    finger.tap(page.locator(".plan-tabs a[data-kind=parking]"))
    expect(page.get_by_role("button", name="Park here").first).to_be_visible()
    finger.has_come("park")
