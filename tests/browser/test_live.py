"""What happens in the city appears in the pages without reload."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import DESKTOP, NOON, PHONE, Open, Site, Watched, measure

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(autouse=True)
def as_before(site: Site) -> None:
    """One jam, and what was measured at first, whatever a test has left that failed."""
    with site.town.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM events WHERE id <> 'old-jam'")
    measure(site.town)


def pin(page: Page, event: str) -> Locator:
    return page.locator(f".event-pin[data-event='{event}']")


def test_an_event_appears_and_clears_on_map_and_list(open_page: Open, site: Site) -> None:
    city_map, city_list = open_page("/", DESKTOP), open_page("/list", PHONE)
    for page in (city_map, city_list):
        page.evaluate("window.sameDocument = true")
        expect(page.locator("city-connection")).to_have_attribute("data-state", "live")
    event = f"jam-{uuid4().hex}"
    card = city_list.locator(f"article[data-event='{event}']")
    road = city_map.locator(".map-holder path.road.road-jam")
    before = road.count()
    site.town.event(event, "300", "2014-08-05T11:55:00Z", announce="event.opened")
    expect(pin(city_map, event)).to_be_visible()
    expect(card).to_contain_text("Silkeborgvej")
    expect(card).to_contain_text("Traffic jam")
    expect(road).to_have_count(before + 1)
    expect(city_list.locator("city-announcer")).to_contain_text("New event: Traffic jam")
    expect(city_map.locator(f".panel article[data-event='{event}']")).to_be_visible()
    site.town.event(event, "300", "2014-08-05T11:55:00Z", NOON, announce="event.cleared")
    expect(pin(city_map, event)).to_have_count(0)
    expect(card).to_have_count(0)
    expect(road).to_have_count(before)
    for page in (city_map, city_list):
        assert page.evaluate("window.sameDocument"), "the page was reloaded"


def test_an_ended_event_is_found_among_the_past_ones(open_page: Open, site: Site) -> None:
    site.town.event("past", "100", "2014-08-05T10:00:00Z", "2014-08-05T10:40:00Z")
    page = open_page("/list")
    expect(page.locator("article[data-event='old-jam']")).to_be_visible()
    expect(page.locator("article[data-event='past']")).to_have_count(0)
    page.get_by_label("Show").select_option("past")
    expect(page.locator("article[data-event='past']")).to_contain_text("lasted 40 min")
    expect(page.locator("article[data-event='old-jam']")).to_have_count(0)


def test_events_are_filtered_and_sorted(open_page: Open, site: Site) -> None:
    site.town.event("full", "BRUUNS", "2014-08-05T11:00:00Z", kind="ParkingFull", level=5)
    page = open_page("/list")
    cards = page.locator("city-events article")
    expect(cards).to_have_count(2)
    expect(cards.first).to_have_attribute("data-event", "full")
    page.get_by_label("Sort by").select_option("oldest")
    expect(cards.first).to_have_attribute("data-event", "old-jam")
    page.get_by_label("Type").select_option("TrafficJam")
    expect(cards).to_have_count(1)
    site.town.event("full", "BRUUNS", "2014-08-05T11:00:00Z", NOON, kind="ParkingFull")


def test_a_jam_last_confirmed_seven_hours_ago_says_so(open_page: Open) -> None:
    card = open_page("/list").locator("article[data-event='old-jam']")
    confirmed = card.locator("[data-stale]")
    expect(confirmed).to_contain_text("Confirmed")
    expect(confirmed).to_contain_text("7 h ago")


def test_a_road_is_drawn_by_its_state_and_changes_live(open_page: Open, site: Site) -> None:
    page = open_page("/")
    states = {"road-free": 1, "road-jam": 1, "road-unknown": 1, "road-heavy": 0}
    for state, count in states.items():
        expect(page.locator(f".map-holder path.road.{state}")).to_have_count(count)
    site.town.reading("traffic", "100", NOON, speed_kmh=20.0, vehicle_count=9)
    expect(page.locator(".map-holder path.road.road-heavy")).to_have_count(1)
    width = "node => [getComputedStyle(node).strokeWidth, getComputedStyle(node).strokeDasharray]"
    heavy = page.locator(".map-holder path.road.road-heavy").evaluate(width)
    assert heavy != page.locator(".map-holder path.road.road-jam").evaluate(width), (
        "told by colour alone"
    )
    site.town.reading("traffic", "100", NOON, speed_kmh=55.0, vehicle_count=9)
    expect(page.locator(".map-holder path.road.road-heavy")).to_have_count(0)


def test_garages_tell_free_places_overfull_and_old_counts(open_page: Open, site: Site) -> None:
    page = open_page("/list")

    def garage(place: str) -> Locator:
        return page.locator(f"article[data-place='{place}']")

    expect(garage("BRUUNS")).to_contain_text("40 free places")
    expect(garage("BRUUNS")).to_contain_text("Counted 2 min ago")
    expect(garage("SCANDCENTER")).to_contain_text("Overfull")
    expect(garage("SCANDCENTER")).to_contain_text("150 cars counted for 100 places")
    expect(garage("NORREPORT")).to_contain_text("Old data: Counted 7 h ago")
    site.town.reading("parking", "BRUUNS", NOON, occupied=61, capacity=100)
    expect(garage("BRUUNS")).to_contain_text("39 free places")


def test_a_place_described_later_appears_without_reload(open_page: Open, site: Site) -> None:
    page = open_page("/list")
    expect(page.locator("article[data-place='BRUUNS']")).to_be_visible()
    site.town.garage("MAGASIN", "Magasin", 10.203, 56.156)
    site.town.reading("parking", "MAGASIN", NOON, occupied=1, capacity=100)
    expect(page.locator("article[data-place='MAGASIN']")).to_contain_text("99 free places")


def test_a_popup_explains_the_event_and_follows_it(open_page: Open, site: Site) -> None:
    site.town.event("explained", "300", "2014-08-05T11:30:00Z", level=3)
    page = open_page("/?event=explained")
    popup = page.locator(".leaflet-popup")
    expect(popup).to_contain_text("Silkeborgvej")
    expect(popup).to_contain_text("Level 3 of 5")
    popup.get_by_text("Why").click()
    expect(popup).to_contain_text("Measured 30 km/h with 12 vehicles")
    expect(popup.locator("code")).to_contain_text("reading(")
    end = "2014-08-05T11:59:00Z"
    site.town.event("explained", "300", "2014-08-05T11:30:00Z", end, announce="event.cleared")
    expect(popup).to_contain_text("Ended")
    expect(popup).to_contain_text("lasted 29 min")


def test_layers_can_be_switched_off_and_on(open_page: Open) -> None:
    page = open_page("/")
    expect(page.locator(".garage-pin").first).to_be_visible()
    page.get_by_text("Layers and legend").click()
    for layer, drawn in (
        ("Garages", ".garage-pin"),
        ("Road traffic", "path.road"),
        ("Events", ".event-pin"),
    ):
        page.locator(".legend").get_by_label(layer).uncheck()
        expect(page.locator(f".map-holder {drawn}")).to_have_count(0)
        page.locator(".legend").get_by_label(layer).check()
        expect(page.locator(f".map-holder {drawn}").first).to_be_attached()
    expect(page.locator(".map-holder path.road.road-jam")).to_have_count(1)


def test_a_point_that_is_pressed_for_long_is_planned_to(open_page: Open) -> None:
    page = open_page("/")
    expect(page.locator("city-connection")).to_have_attribute("data-loaded", "true")
    page.locator(".folium-map").click(button="right", position={"x": 500, "y": 400})
    go = page.get_by_role("button", name="Plan a route to here")
    expect(go).to_be_focused()
    go.click()
    expect(page).to_have_url(re.compile(r"/plan\?to=56\.\d+%2C10\.\d+"))


def test_time_is_controlled_from_every_page(open_page: Open) -> None:
    page = open_page("/list")
    sent: list[object] = []

    def answer(route: Route) -> None:
        request = route.request
        if request.method == "POST":
            sent.append(request.post_data_json)
            route.fulfill(status=202, json={"sent": {}})
        else:
            route.fallback()

    page.context.route("**/api/v1/clock", answer)
    expect(page.locator("city-time .clock")).to_have_text(re.compile(r"^14:00"))
    expect(page.locator("city-time")).to_contain_text("CEST")
    expect(page.locator("city-time")).to_contain_text("Paused")
    for press in (
        page.get_by_role("button", name="Play").click,
        lambda: page.get_by_label("Speed").select_option("max"),
        page.get_by_role("button", name="+1 h, skip ahead").click,
    ):
        with page.expect_response(lambda answer: answer.request.method == "POST"):
            press()
    assert sent == [{"speed": 60}, {"speed": None}, {"skip_s": 3600}]


def test_a_command_that_fails_is_explained(open_page: Open, watched: Watched) -> None:
    page = open_page("/")
    page.get_by_role("button", name="+15 min, skip ahead").click()
    expect(page.locator(".time-message")).to_contain_text("not handed to the broker")
    watched.errors.clear()  # The browser notes the 503 itself.
