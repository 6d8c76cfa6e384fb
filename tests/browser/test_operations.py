"""Those who run the city see what is wrong with it, act, and take back what they did."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from backend.people import accounts
from tests.browser.conftest import PHONE, Open, Site, Watched, settle
from tests.browser.test_people import LOOKS, serious, settled

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def operator(homes: Site) -> Any:
    return settle(homes, "Op", "admin")


def operations(open_page: Open, homes: Site, person: Any, tab: str, **more: Any) -> Page:
    page = settled(open_page("/system", url=homes.server.url, person=person, **more))
    page.get_by_role("tab", name=tab).click()
    return page


def test_sensors_that_are_silent_or_implausible_are_told_apart_and_shown_on_the_map(
    open_page: Open, homes: Site, operator: Any
) -> None:
    page = operations(open_page, homes, operator, "Sensors")
    full = page.locator("[data-sensor='parking SCANDCENTER']")
    expect(full).to_contain_text("Implausible")
    expect(full).to_contain_text("150 cars where 100 fit.")
    expect(page.locator("[data-sensor='parking NORREPORT']")).to_contain_text("Silent")
    page.locator("operator-sensors").get_by_label("Show").select_option("silent")
    expect(full).to_have_count(0)
    page.locator("operator-sensors").get_by_label("Show").select_option("implausible")
    full.get_by_role("link", name="Show on map").click()
    expect(page.locator(".leaflet-popup")).to_contain_text("Scandcenter")


def test_requests_and_processes_say_how_they_fare(
    open_page: Open, homes: Site, operator: Any
) -> None:
    page = operations(open_page, homes, operator, "Requests")
    expect(page.locator("operator-requests")).to_contain_text("Limits of an evaluation: 10 s")
    expect(page.locator("[data-process='pipeline']")).to_contain_text("OK")


def test_a_dead_letter_is_sent_again_or_says_why_not(
    open_page: Open, homes: Site, operator: Any, watched: Watched
) -> None:
    page = operations(open_page, homes, operator, "Dead letters")
    letter = page.locator("dead-letters details").last
    letter.locator("summary").click()
    letter.get_by_role("button", name="Replay").click()
    expect(page.locator(".toast")).to_contain_text("broker")
    page.route(
        "**/dead-letters/*/replay",
        lambda route: route.fulfill(json={"id": 1, "topic": "t/x", "replayed_at": "x"}),
    )
    letter.get_by_role("button", name="Replay").click()
    expect(page.locator(".toast")).to_contain_text("Sent again to t/x.")
    page.get_by_label("Reason").select_option("not-json")
    expect(page.get_by_role("button", name="Replay all 1")).to_be_visible()
    watched.errors.clear()  # The browser notes the 503 without a broker itself.


def test_an_event_is_opened_by_hand_at_a_point_of_the_map_changed_ended_and_taken_back(
    open_page: Open, homes: Site, operator: Any
) -> None:
    page = operations(open_page, homes, operator, "By hand")
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.get_by_label("Type")).to_be_focused()
    page.get_by_label("Type").select_option("RoadWorks")
    page.get_by_role("main").get_by_label("Name").fill("A deep hole")
    page.get_by_role("link", name="Choose on the map").click()
    expect(page.locator(".map-pick")).to_be_visible()
    page.locator(".map-holder").click(position={"x": 300, "y": 300})
    expect(page.get_by_role("tab", name="By hand")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_label("Latitude")).not_to_have_value("")
    expect(page.get_by_label("Type")).to_have_value("RoadWorks")
    expect(page.get_by_role("main").get_by_label("Name")).to_have_value("A deep hole")
    page.get_by_label("Until (optional)").fill("2014-08-05T18:00")
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.locator(".toast")).to_contain_text("Opened: Road works, A deep hole.")
    event = page.locator("[data-byhand]").filter(has_text="A deep hole")
    expect(event).to_contain_text("14:00 – 18:00")
    event.get_by_text("Change its end").click()
    event.get_by_label("Until").fill("2014-08-05T19:30")
    event.get_by_role("button", name="Save").click()
    expect(event).to_contain_text("14:00 – 19:30")
    reader = settled(open_page("/list", url=homes.server.url))
    seen = reader.locator("city-events article").filter(has_text="A deep hole")
    expect(seen).to_contain_text("Road works")
    event.get_by_role("button", name="End").click()
    expect(event).to_have_count(0)
    expect(seen).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(event).to_contain_text("open")
    expect(seen).to_be_visible()
    page.get_by_role("tab", name="Actions").click()
    done = page.locator("[data-action]").filter(has_text="Event opened").first
    done.locator("summary").click()
    expect(done).to_contain_text("A deep hole")


def test_accounts_are_given_roles_shut_out_and_invited(
    open_page: Open, homes: Site, operator: Any
) -> None:
    joe = settle(homes, "Joe")
    page = operations(open_page, homes, operator, "Accounts")
    row = page.locator(f"[data-account='{joe.id}']")
    row.locator("summary").click()
    row.get_by_label("developer").check()
    row.get_by_role("button", name="Save roles").click()
    expect(row.locator(".chip")).to_contain_text("developer")
    row.get_by_role("button", name="Shut out").click()
    expect(row.locator(".chip")).to_have_text("shut out")
    page.get_by_role("tab", name="Actions").click()
    done = page.locator("[data-action]").filter(has_text="Account changed").first
    done.locator("summary").click()
    done.get_by_role("button", name="Undo").click()
    expect(page.locator(".toast")).to_contain_text("Undone.")
    with homes.town.engine.connect() as connection:
        found = accounts.find(connection, joe.id)
    assert found is not None
    assert found.disabled_ms is None
    assert found.roles == {"user", "developer"}
    page.get_by_role("tab", name="Accounts").click()
    page.get_by_role("button", name="Make a link").click()
    link = page.get_by_role("region", name="The invitation").locator("code").inner_text()
    guest = open_page(link.removeprefix(homes.server.url), PHONE, url=homes.server.url)
    expect(guest.locator("sign-up")).to_contain_text("If the invitation still holds")


@pytest.mark.parametrize(("viewport", "lang", "theme"), LOOKS[1:3])
def test_axe_finds_nothing_serious_in_any_part_and_all_of_it_fits(
    open_page: Open,
    homes: Site,
    operator: Any,
    axe: str,
    viewport: dict[str, int],
    lang: str,
    theme: str,
) -> None:
    look = {"viewport": viewport, "theme": theme, "lang": lang}
    page = settled(open_page("/system", url=homes.server.url, person=operator, **look))
    for tab in page.get_by_role("tab").all():
        tab.click()
        page.wait_for_timeout(300)
        assert serious(page, axe) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


def test_others_see_readiness_only(open_page: Open, homes: Site) -> None:
    kim = settle(homes, "Kim", "developer")
    page = settled(open_page("/system", url=homes.server.url, person=kim))
    expect(page.locator(".verdict")).to_be_visible()
    expect(page.get_by_text("are shown to admins only")).to_be_visible()
    expect(page.get_by_role("tab")).to_have_count(0)
