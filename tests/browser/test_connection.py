"""Pages survive a server that goes away, and a device that is offline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from citywise.backend.machine import free_port
from citywise.backend.settings import Settings, Web
from citywise.backend.times import parse_ms
from tests.api.server import serving
from tests.api.town import Town
from tests.browser.conftest import Open, furnish
from tests.databases import begun

pytestmark = [pytest.mark.browser, pytest.mark.slow]

KEPT = "async () => (await (await caches.open('citywise-data')).keys()).length >= 5"
"""The page, and the four answers that it shows."""


@pytest.fixture
def town(tmp_path: Path) -> Any:
    engine = begun(Settings(data_dir=tmp_path).database_url)
    town = Town(engine)
    furnish(town)
    yield town
    engine.dispose()


def test_a_page_catches_up_when_the_server_comes_back(
    open_page: Open, watched: Any, town: Town, tmp_path: Path
) -> None:
    settings = Settings(data_dir=tmp_path, web=Web(port=free_port()))
    begun_at = "2014-08-05T11:10:00Z"
    town.event("wrong", "100", begun_at, level=4, announce="event.opened")
    with serving(settings, keep_port=True) as server:
        page = open_page("/list", url=server.url)
        expect(page.locator("city-connection")).to_have_attribute("data-state", "live")
        expect(page.locator("article[data-event='old-jam']")).to_be_visible()
    expect(page.locator("city-connection")).to_have_attribute("data-state", "reconnecting")
    expect(page.locator("city-connection")).to_contain_text("data from")
    start, end = "2014-08-05T11:00:00Z", "2014-08-05T11:30:00Z"
    town.event("missed", "100", start, announce="event.opened")
    was = {"level": 4, "start_ms": parse_ms(begun_at), "end_ms": None}
    cause = {
        "kind": "traffic", "sensor": "100", "observed_ms": parse_ms(begun_at), "what": "corrected",
        "before": {"speed_kmh": 12}, "after": {"speed_kmh": 42},
    }  # fmt: skip
    revised = {"number": 1, "because": [cause], "was": was}
    town.event("wrong", "100", begun_at, level=2, announce="event.corrected", revised=revised)
    town.event("old-jam", "200", "2014-08-05T04:30:00Z", end, announce="event.cleared")
    with serving(settings, keep_port=True):
        expect(page.locator("article[data-event='missed']")).to_be_visible()
        expect(page.locator("article[data-event='old-jam']")).to_have_count(0)
        corrected = page.locator("article[data-event='wrong']")
        expect(corrected).to_have_count(1)
        expect(corrected).to_contain_text("Corrected. It was: level 4, since")
        expect(corrected).to_contain_text("from 12 km/h to 42 km/h.")
        expect(page.locator("city-connection")).to_have_attribute("data-state", "live")
        page.close()  # It would note that the server ends.
    watched.errors.clear()  # The browser notes the refused connections itself.


def test_before_the_first_reading_nothing_is_called_fine(open_page: Open, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    engine = begun(settings.database_url)
    with serving(settings) as server:
        page = open_page("/list", url=server.url)
        for part in ("city-events", "city-roads"):
            empty = page.locator(f"{part} .empty")
            expect(empty).to_have_text("Waiting for the first readings of the sensors.")
        Town(engine).reading("traffic", "1", "2014-08-05T12:00:00Z", speed_kmh=5, vehicle_count=0)
        expect(page.locator("city-events .empty")).to_contain_text("Nothing is wrong right now")
        page.close()  # It would note that the server ends.
    engine.dispose()


def test_offline_the_page_shows_what_was_known_and_its_age(
    open_page: Open, watched: Any, site: Any
) -> None:
    page = open_page("/list", service_workers="allow")
    page.evaluate("navigator.serviceWorker.ready")
    page.reload()
    expect(page.locator("article[data-event='old-jam']")).to_be_visible()
    page.wait_for_function(KEPT)
    page.context.set_offline(True)
    page.reload()
    expect(page.locator("article[data-event='old-jam']")).to_be_visible()
    expect(page.locator("city-connection")).to_have_attribute("data-state", "offline")
    expect(page.locator("city-connection")).to_contain_text("data from")
    page.goto(site.server.url + "/system")
    expect(page.locator("h1")).to_have_text("Not connected")
    page.close()
    watched.errors.clear()  # The browser notes what it cannot reach itself.
