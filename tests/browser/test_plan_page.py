"""People plan on the page: by keyboard, by tapping, on a phone and on a desktop."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import FloatRect, Locator, Page, Route, expect

from citywise.apps.travel_planner.follower import follower_of
from citywise.apps.travel_planner.transit.kept import take_realtime
from tests.browser.conftest import DESKTOP, NOON, PHONE, Open, Site, Watched
from tests.browser.furnished import FRESH, planning
from tests.browser.keys import expect_focused, go_to, press
from tests.browser.scenes import BY_LINE, STATION, TRAVEL
from tests.browser.test_people import serious
from tests.transit.oracle import Update
from tests.transit.updates import written

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The simulated town at noon: its streets, a garage with places and one that is full."""
    with planning(tmp_path_factory.mktemp("plan")) as site:
        yield site


@pytest.fixture(autouse=True)
def no_trips(site: Site) -> Iterator[None]:
    """A trip that a test leaves, or one that failed, would hide what the next one plans."""
    yield

    def ask(path: str, method: str) -> bytes:
        asked = Request(f"{site.server.url}/api/v1{path}", method=method)
        asked.add_header("Origin", site.server.url)
        with urlopen(asked, timeout=60) as answer:
            return bytes(answer.read())

    for trip in json.loads(ask("/trips", "GET"))["trips"]:
        ask(f"/trips/{trip['id']}", "DELETE")


def options(page: Page) -> Locator:
    """What is offered, when it is there."""
    found = page.locator("ol.options > li")
    expect(found.first).to_be_visible()
    return found


def choose(page: Page, field: str, text: str, name: str) -> None:
    """Search for a place with the keyboard, and take what is found."""
    go_to(page, field)
    page.keyboard.type(text)
    expect(page.get_by_role("option", name=name).first).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("combobox", name=field)).to_have_value(re.compile(name))


@pytest.mark.thorough
def test_a_way_is_planned_and_compared_by_keyboard_alone(open_page: Open) -> None:
    page = open_page("/plan")
    expect(page.get_by_text("Choose where you start")).to_be_visible()
    choose(page, "From", "banegaar", "Banegården")
    choose(page, "To", "havneb", "Havnebadet")
    page.keyboard.press("Enter")
    options(page)
    expect(
        page.get_by_role("heading", name=re.compile("routes?, best first|1 route"))
    ).to_be_focused()
    assert "from_name=Baneg" in page.url
    lines = page.locator("path.plan-line")
    expect(page.locator("path.plan-line-chosen")).to_have_count(1)
    assert lines.count() == options(page).count()
    press(page, "Details")
    card = options(page).first
    expect(card).to_have_attribute("data-marked", "")
    expect(card).to_contain_text("How we estimated the time")
    expect(page.locator("path.plan-leg")).not_to_have_count(0)
    expect(card.locator(".steps li").first).to_contain_text(re.compile("Walk to|Start on"))
    expect(card.locator(".steps li").last).to_contain_text("Arrive: Havnebadet")
    expect(page.locator("path.plan-line.is-marked")).to_have_count(1)
    for button, begins in (("GPX", "<?xml"), ("Calendar", "BEGIN:VCALENDAR")):
        with page.expect_download() as got:
            page.get_by_role("button", name=button, exact=True).click()
        assert got.value.path().read_text(encoding="utf-8").startswith(begins)
    press(page, "Change")
    expect(page.get_by_role("combobox", name="To", exact=True)).to_be_focused()
    page.get_by_role("radio", name="Walk").focus()
    page.keyboard.press("Space")
    expect(page.get_by_role("radio", name="Walk")).to_be_checked()


def test_an_address_is_a_plan_and_a_fold_of_the_form(open_page: Open) -> None:
    page = open_page(TRAVEL + "&mode=bicycle&wishes=pollution,time")
    expect(options(page).first).to_contain_text("Best for you")
    expect(page.locator(".plan-folded")).to_contain_text("Banegården → Havnebadet")
    expect(page.locator(".plan-folded")).to_contain_text("Bicycle · Now")
    page.get_by_text("Not included in this plan").click()
    expect(page.locator(".plan-notes")).to_contain_text(re.compile("[Bb]uses"))
    page.get_by_text(re.compile("ranks? lower")).click()
    page.locator(".rejected button").first.click()
    expect(page.locator("path.plan-line-rejected")).to_have_count(1)
    expect(page).to_have_url(re.compile("mode=bicycle&wishes=pollution%2Ctime"))


def test_parking_is_found_around_a_point_that_was_tapped(open_page: Open) -> None:
    page = open_page("/plan?for=parking", PHONE, theme="dark")
    expect(page.locator("city-connection")).to_have_attribute("data-loaded", "true")
    page.get_by_role("button", name="Destination: choose on the map").tap()
    expect(page.get_by_text("Tap the map where you want to go.")).to_be_visible()
    show(page, 56.1505, 10.2095)
    page.locator(".folium-map").tap(position=centre(page))
    destination = page.get_by_role("combobox", name="Destination")
    expect(destination).to_have_value(re.compile("Near|Point"))
    expect(page.locator("path.radius-circle")).to_have_count(1)
    slider = page.get_by_role("slider", name="Within")
    slider.fill("1200")
    expect(slider).to_have_attribute("aria-valuetext", "1.2 km")
    sheet = page.get_by_role("slider", name="Height of the panel")
    before = page.locator(".plan-panel").bounding_box()
    sheet.press("ArrowUp")
    expect(sheet).to_have_attribute("aria-valuetext", "full")
    after = page.locator(".plan-panel").bounding_box()
    assert before is not None
    assert after is not None
    assert after["height"] > before["height"] + 100
    sheet.press("ArrowDown")
    page.get_by_role("button", name="Find parking").tap()
    card = options(page).first
    expect(card).to_contain_text("60 of 100")
    expect(card.get_by_role("button", name="Park here")).to_be_visible()
    worse = options(page).filter(has_text="Another is better")
    expect(worse.first.get_by_role("button", name="Park here")).to_be_visible()
    page.get_by_text(re.compile("ranks? lower")).tap()
    expect(page.locator(".rejected", has_text="Torvet")).to_contain_text(re.compile("[Ff]ull"))
    small = page.evaluate(SMALL)
    assert small == []


SMALL = """() => [...document.querySelectorAll('.plan-panel :is(button, a, select, summary)')]
    .filter((e) => e.checkVisibility() && !e.matches('.skip'))
    .map((e) => [e.textContent || e.ariaLabel, e.getBoundingClientRect()])
    .filter(([, box]) => box.height < 43.5 || box.width < 43.5)
    .map(([name, box]) => `${name}: ${box.width} × ${box.height}`)"""


def show(page: Page, lat: float, lon: float) -> None:
    script = f"document.querySelector('.folium-map').cityMap.map.setView([{lat}, {lon}], 16)"
    page.evaluate(script + ".closePopup() && null")


def centre(page: Page) -> Any:
    box = page.locator(".folium-map").bounding_box()
    assert box is not None
    return {"x": box["width"] / 2, "y": box["height"] / 2}


def test_a_tap_on_the_map_offers_both_ends(open_page: Open) -> None:
    page = open_page("/plan")
    expect(page.locator("city-connection")).to_have_attribute("data-loaded", "true")
    show(page, 56.147, 10.2063)
    page.locator(".folium-map").click(position=centre(page))
    expect(page.get_by_role("dialog")).to_contain_text("Near")
    page.get_by_role("button", name="Start here").click()
    expect(page.get_by_role("combobox", name="From")).to_have_value(re.compile("^Near "))
    expect(page.locator(".end-pin[data-end='from']")).to_be_visible()
    page.get_by_role("button", name="Swap start and end").click()
    expect(page.get_by_role("combobox", name="To", exact=True)).to_have_value(re.compile("^Near "))
    expect(page.get_by_role("combobox", name="From")).to_have_value("")
    page.get_by_role("button", name="Find routes").click()
    start = page.get_by_role("combobox", name="From")
    expect(start).to_be_focused()
    expect(start).to_have_accessible_description(re.compile("Choose a place"))


def test_wishes_are_ordered_by_keys_by_buttons_and_by_dragging(open_page: Open) -> None:
    page = open_page(f"/plan?{STATION}")
    for wish in ("Cleanest air", "Cheapest"):
        page.get_by_role("button", name=wish, exact=True).click()
    assert chosen(page) == ["Fastest", "Cleanest air", "Cheapest"]
    page.get_by_role("button", name="Cheapest: move up").click()
    assert chosen(page) == ["Fastest", "Cheapest", "Cleanest air"]
    expect_focused(page, "Cheapest: move up")
    page.keyboard.press("ArrowUp")
    assert chosen(page) == ["Cheapest", "Fastest", "Cleanest air"]
    grip, top = page.locator(".wish-grip").last, page.locator(".wish").first.bounding_box()
    assert top is not None
    grip.hover()
    page.mouse.down()
    page.mouse.move(top["x"] + 10, top["y"] + 2, steps=6)
    page.mouse.up()
    assert chosen(page) == ["Cleanest air", "Cheapest", "Fastest"]
    page.get_by_role("button", name="Cheapest: remove").click()
    sent: list[Any] = []
    page.on("request", lambda r: sent.append(r.post_data_json) if "/plans/" in r.url else None)
    page.get_by_role("combobox", name="To", exact=True).fill("56.1550, 10.2227")
    page.get_by_role("button", name="Find routes").click()
    options(page)
    assert sent[0]["preferences"] == [{"minimise": "pollution"}, {"minimise": "time"}]
    assert sent[0]["to"] == {"lat": 56.155, "lon": 10.2227}


def chosen(page: Page) -> list[str]:
    return page.locator(".wish .wish-name").all_text_contents()


def test_limits_that_nothing_meets_are_loosened_with_one_press(open_page: Open) -> None:
    page = open_page(TRAVEL + "&limit=time<%3D60&mode=walk", PHONE)
    conflict = page.locator("section.conflict")
    expect(conflict).to_contain_text("Your limits are too tight")
    conflict.get_by_role("button", name="Plan with this limit").tap()
    expect(options(page).first).to_contain_text("Best for you")
    expect(conflict).to_have_count(0)
    page.get_by_role("button", name="Change").tap()
    limit = page.get_by_role("spinbutton", name="How much")
    assert float(limit.input_value()) > 1
    assert "limit=time%3C%3D" in page.url
    page.go_back()
    expect(conflict).to_contain_text("Your limits are too tight")
    page.go_forward()
    expect(options(page).first).to_contain_text("Best for you")


def test_what_the_api_refuses_is_said_at_its_field_and_the_rest_in_words(
    open_page: Open, watched: Watched
) -> None:
    page = open_page(TRAVEL)
    options(page)
    shore = {"lat": 56.15, "lon": 10.22}
    errors: list[Any] = [{"path": "to", "message": "is in the sea", "suggestion": shore}]
    errors += [{"path": "constraints.0.value", "message": "bad"}]
    body = {"status": 422, "title": "Invalid", "detail": "no", "errors": errors}
    page.route("**/api/v1/plans/travel", lambda route: refuse(route, body))
    page.get_by_role("button", name="Change").click()
    page.get_by_text("Departure, arrival and limits").click()
    page.get_by_role("button", name="Add a limit").click()
    page.get_by_role("button", name="Find routes").click()
    to = page.get_by_role("combobox", name="To", exact=True)
    expect(to).to_have_accessible_description(re.compile("is in the sea"))
    expect(to).to_be_focused()
    expect(page.locator(".limit .field-error")).to_have_text("bad")
    page.unroute("**/api/v1/plans/travel")
    page.get_by_role("button", name="Use 56.15, 10.22 instead").click()
    expect(page.locator(".plan-folded")).to_contain_text("Banegården → Havnegade")
    page.get_by_role("button", name="Change").click()
    kind = "urn:citywise:problem:no-network"
    gone = {"status": 503, "type": kind, "detail": "x"}
    page.route("**/api/v1/plans/travel", lambda route: refuse(route, gone))
    page.get_by_role("button", name="Find routes").click()
    expect(page.locator(".results")).to_contain_text("No street map has been imported yet")
    page.unroute("**/api/v1/plans/travel")
    page.route("**/api/v1/plans/travel", lambda route: route.abort())
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".results")).to_contain_text("Planning needs a connection")
    watched.errors.clear()  # The browser notes each refusal itself.


def refuse(route: Route, body: dict[str, Any]) -> None:
    route.fulfill(status=body["status"], json=body, content_type="application/problem+json")


def test_an_event_on_a_way_offers_to_plan_again(open_page: Open, site: Site) -> None:
    page = open_page(TRAVEL)
    expect(page.locator("city-connection")).to_have_attribute("data-state", "live")
    options(page)
    script = f"import('{plans_module(page)}').then((m) => m.plans.options[0].geometry.coordinates)"
    coordinates = page.evaluate(script)
    lon, lat = coordinates[len(coordinates) // 2]
    site.town.garage("way", "On the way", lon, lat)
    site.town.event("blocked", "way", FRESH, announce="event.opened")
    changed = page.locator("plan-conditions")
    expect(changed).to_contain_text("New on the route: Traffic jam")
    changed.get_by_role("button", name="Plan again").click()
    expect(changed).to_be_hidden()
    options(page)


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_an_alert_is_one_switch_beside_a_plan_and_under_apps(
    open_page: Open, axe: str, size: dict[str, int]
) -> None:
    page = open_page(TRAVEL, size)
    options(page)
    page.get_by_text("Alerts for trips").click()
    route = page.get_by_role("switch", name="Alerts on my route")
    route.click()
    expect(route).to_be_checked()
    expect(page.locator(".toast")).to_contain_text("Turned on: Alerts on my route.")
    page.goto(urljoin(page.url, "/apps"))
    expect(route).to_be_checked()
    garage = page.get_by_role("switch", name="My garage")
    garage.click()
    expect(page.get_by_label("Garage", exact=True)).to_be_focused()
    page.get_by_label("Garage", exact=True).select_option(index=1)
    page.get_by_role("button", name="Turn on").click()
    expect(garage).to_be_checked()
    expect(page.locator("my-instances article")).to_have_count(2)
    assert serious(page, axe) == []
    for switch in (garage, route):
        switch.click()
        expect(switch).not_to_be_checked()
    page.get_by_role("button", name="Undo").click()
    expect(route).to_be_checked()
    route.click()
    expect(page.locator("my-instances article")).to_have_count(0)


def test_an_end_that_is_dragged_is_planned_anew(open_page: Open) -> None:
    page = open_page(TRAVEL)
    options(page)
    box = at_rest(page.locator(".end-pin[data-end='from']"))
    at = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*at)
    page.mouse.down()
    page.mouse.move(at[0] + 60, at[1] - 40, steps=6)
    with page.expect_response("**/api/v1/plans/travel") as answered:
        page.mouse.up()
    assert answered.value.request.post_data_json["from"] != {"lat": 56.1458, "lon": 10.2076}
    options(page)
    expect(page).not_to_have_url(re.compile("from=56.1458"))


def at_rest(something: Locator) -> FloatRect:
    """Where something on the map is once the map has shown all of a plan."""
    before, now = None, something.bounding_box()
    while now is None or now != before:
        something.page.wait_for_timeout(500)
        before, now = now, something.bounding_box()
    return now


def test_who_leaves_soon_needs_no_clock_and_the_data_are_credited(open_page: Open) -> None:
    licence = "© OpenStreetMap contributors"

    def credited(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "licence": licence})

    page = open_page("/offline")
    page.route("**/plan/streets.json", credited)
    page.goto(urljoin(page.url, TRAVEL))
    card = options(page).first
    expect(card).to_contain_text(re.compile("Fastest"))
    expect(page.locator(".leaflet-control-attribution")).to_contain_text(licence)
    page.get_by_role("button", name="Change").click()
    page.get_by_text("Departure, arrival and limits").click()
    page.get_by_label("When", exact=True).select_option("In 30 min")
    with page.expect_request("**/api/v1/plans/travel") as asked:
        page.get_by_role("button", name="Find routes").click()
    assert asked.value.post_data_json["depart"].startswith("2014-08-05T12:30")


VIEW = """() => {
    const { map } = document.querySelector('.folium-map').cityMap;
    return { zoom: map.getZoom(), ...map.getCenter() };
}"""


def test_a_kind_of_place_a_quarter_and_oneself_are_found_on_the_map(open_page: Open) -> None:
    here = {"latitude": 56.1458, "longitude": 10.2076, "accuracy": 9}
    page = open_page("/offline", PHONE, permissions=["geolocation"], geolocation=here)
    licence = "© OpenStreetMap contributors, ODbL 1.0"

    def credited(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "licence": licence})

    page.route("**/api/v1/basemap.geojson", credited)
    page.goto(urljoin(page.url, "/"))
    expect(page.locator(".leaflet-control-attribution")).to_contain_text(licence)
    locate = page.get_by_role("button", name="Show where I am")
    locate.tap()
    expect(page.locator(".here")).to_be_visible()
    seen = page.evaluate(VIEW)
    assert seen["zoom"] == 15
    assert (seen["lat"], seen["lng"]) == pytest.approx((56.1458, 10.2076), abs=1e-3)
    search = page.get_by_role("combobox", name="Where to?")
    search.fill("parking")
    found = page.get_by_role("listbox").get_by_role("option")
    expect(found.first).to_contain_text("Garage")
    search.fill("vesterm")
    found.filter(has_text="Vestermarken").first.tap()
    expect(page).to_have_url(re.compile(r"/plan\?from=me&to=56.*&to_name=Vestermarken"))


def test_what_is_said_goes_by_itself_and_never_lies_on_the_main_button(open_page: Open) -> None:
    page = open_page("/offline", PHONE)
    page.clock.install()
    page.goto(urljoin(page.url, "/plan"))
    go = page.get_by_role("button", name="Find routes")
    expect(go).to_be_visible()
    page.get_by_text("Alerts for trips").click()
    page.get_by_role("switch", name="Alerts on my route").click()
    toast = page.locator(".toast")
    said, button = toast.bounding_box(), go.bounding_box()
    assert said is not None
    assert button is not None
    assert said["y"] + said["height"] <= button["y"]
    page.get_by_role("switch", name="Alerts on my route").click()
    expect(toast).to_contain_text("Turned off")
    page.clock.run_for(7_000)
    expect(toast).to_have_count(0)


AWAKE = """navigator.wakeLock.request = async () => {
    document.documentElement.dataset.awake = '';
    const lock = new EventTarget();
    lock.release = async () => delete document.documentElement.dataset.awake;
    return lock;
}"""


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_whoever_is_under_way_has_the_city_at_normal_speed_a_lit_screen_and_the_map_with_them(
    open_page: Open, site: Site, size: dict[str, int]
) -> None:
    here = {"latitude": 56.1458, "longitude": 10.2076, "accuracy": 9}
    page = open_page("/offline", size, permissions=["geolocation"], geolocation=here)
    page.add_init_script(AWAKE)
    paced: list[Any] = []

    def pace(route: Route) -> None:
        paced.append(route.request.post_data_json)
        route.fulfill(status=202, json={"sent": paced[-1]})

    page.route("**/api/v1/clock", pace)
    site.town.running(now=NOON, speed=60)
    try:
        page.goto(urljoin(page.url, TRAVEL))
        options(page)
        page.get_by_role("button", name="Start").first.click()
        toast = page.locator(".toast")
        expect(toast).to_contain_text("The city now runs at normal speed")
        toast.get_by_role("button", name="Undo").click()
        expect(toast).to_have_count(0)
        assert paced == [{"speed": 1}, {"speed": 60}]
    finally:
        site.town.running(now=NOON, speed=0)
    lit = page.locator("html[data-awake]")
    follow = page.get_by_role("button", name="Follow my location")
    expect(follow).to_be_hidden()
    page.get_by_role("button", name="Share my location").click()
    expect(lit).to_have_count(1)
    follow.click()
    expect(follow).to_be_hidden()
    zoom = "document.querySelector('.folium-map').cityMap.map.getZoom()"
    assert page.evaluate(zoom) >= 16
    page.evaluate("document.querySelector('.folium-map').cityMap.map.fire('dragstart') && null")
    expect(follow).to_be_visible()
    page.get_by_role("button", name="Stop sharing").click()
    expect(lit).to_have_count(0)
    page.get_by_role("button", name="End trip").click()
    expect(toast).to_contain_text("Where you were has been deleted.")
    toast.get_by_role("button", name="Continue this trip").click()
    expect(page.locator(".trip-card")).to_contain_text("Arrival")


TURNED = """() => {
    const box = (selector) => document.querySelector(selector).getBoundingClientRect();
    const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];
    const [holder, here, pin] = ['.map-holder', '.trip-here', '.garage-pin'].map(box);
    const line = document.querySelector('path.trip-left').getAttribute('d');
    const points = line.match(/-?\\d+ -?\\d+/g).map((point) => point.split(' ').map(Number));
    const [first, next] = points;
    const way = Math.atan2(next[0] - first[0], first[1] - next[1]) * 180 / Math.PI;
    const pane = getComputedStyle(document.querySelector('.leaflet-map-pane'));
    const angle = parseFloat(pane.rotate) || 0;
    const ahead = (way + angle + 900) % 360 - 180;
    const [[x, y], [hx, hy]] = [middle(holder), middle(here)];
    return { away: Math.hypot(x - hx, y - hy), pin: [pin.width, pin.height], ahead, angle };
}"""


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_the_map_turns_with_whoever_is_under_way_if_they_want_it(
    open_page: Open, size: dict[str, int]
) -> None:
    here = {"latitude": 56.1458, "longitude": 10.2076, "accuracy": 9}
    page = open_page(
        TRAVEL, size, permissions=["geolocation"], geolocation=here, reduced_motion="reduce"
    )
    options(page)
    page.get_by_role("button", name="Start").first.click()
    turn = page.get_by_role("switch", name="Turn the map with me")
    expect(turn).to_be_hidden()
    page.get_by_role("button", name="Share my location").click()
    expect(turn).not_to_be_checked()
    page.get_by_role("button", name="Follow my location").click()
    before = page.evaluate(TURNED)
    assert before["angle"] == 0
    turn.click()
    expect(turn).to_be_checked()
    expect(page.locator("[data-turned]")).to_have_count(1)
    while (turned := page.evaluate(TURNED))["away"] > 3:  # One comes to the middle,
        page.wait_for_timeout(50)
    assert abs(turned["ahead"]) < 20  # with what lies ahead above,
    assert turned["pin"] == pytest.approx(before["pin"], abs=1)  # and pins upright.
    for name in ("Zoom in", "North up"):
        button = page.get_by_role("button", name=name)
        expect(button).to_be_in_viewport(ratio=1)
    page.reload()
    page.get_by_role("button", name="Share my location").click()
    page.get_by_role("button", name="Follow my location").click()
    expect(page.locator("[data-turned]")).to_have_count(1)  # It is remembered,
    box = page.locator(".map-holder").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 60, box["y"] + 120)
    page.mouse.down()  # and who takes hold of the map has north above.
    expect(page.locator("[data-turned]")).to_have_count(0)
    page.mouse.up()
    page.get_by_role("button", name="Follow my location").click()
    page.get_by_role("button", name="North up").click()
    expect(turn).not_to_be_checked()
    expect(page.locator("[data-turned]")).to_have_count(0)


def plans_module(page: Page) -> str:
    source = page.locator("link[href*='plan.css']").get_attribute("href")
    assert source is not None
    return source.replace("plan.css", "plans.js")


def test_who_must_be_there_by_a_time_is_told_when_to_leave(open_page: Open) -> None:
    page = open_page(TRAVEL)
    options(page)
    page.get_by_role("button", name="Change").click()
    page.get_by_text("Departure, arrival and limits").click()
    page.get_by_label("When", exact=True).select_option("Arrive by…")
    page.get_by_label("When: time").fill("2014-08-05T15:30")
    with page.expect_request("**/api/v1/plans/travel") as asked:
        page.get_by_role("button", name="Find routes").click()
    body: dict[str, Any] = asked.value.post_data_json or {}
    assert (body["arrive"], "depart" in body) == ("2014-08-05T13:30:00.000Z", False)
    expect(options(page).first).to_contain_text(re.compile(r"leave 15:\d\d, arrive 15:30"))
    expect(page.locator(".plan-folded")).to_contain_text("by 15:30")
    page.reload()
    expect(options(page).first).to_contain_text("arrive 15:30")
    page.get_by_role("button", name="Change").click()
    expect(page.get_by_label("When", exact=True)).to_have_value("by")
    page.get_by_role("link", name="Parking").click()
    expect(page.get_by_label("Arrive: time")).to_have_value("2014-08-05T15:30")
    page.get_by_role("link", name="Travel").click()
    expect(page.get_by_label("When", exact=True)).to_have_value("by")


def test_layers_are_switched_on_and_say_what_they_mean(open_page: Open) -> None:
    page = open_page("/plan")
    expect(page.locator("city-connection")).to_have_attribute("data-loaded", "true")
    page.get_by_text("Layers and legend").click()
    page.get_by_label("Air", exact=True).check()
    expect(page.locator("path.air-point.air-good").first).to_be_visible()
    expect(page.locator(".states[data-of='air']")).to_contain_text("index up to 50")
    page.get_by_label("Places and culture").check()
    expect(page.locator(".point-pin").first).to_be_visible()
    assert page.locator(".street-tiles canvas").count() > 0


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_a_journey_by_line_is_followed_and_a_better_one_taken_when_it_is_cancelled(
    open_page: Open, site: Site, axe: str, size: dict[str, int], tmp_path: Path
) -> None:
    page = open_page(BY_LINE, size)
    card = options(page).first
    expect(card.locator("h3")).to_contain_text("–")
    expect(card).to_contain_text("Changes")
    card.locator("summary").first.click()
    rides = card.locator(".leg", has_text=re.compile("Bus|Tram"))
    expect(rides.first).to_contain_text("towards")
    assert page.locator("path.plan-by-walk").count() > 0
    assert page.locator("path.plan-by-transit").count() > 0
    press(page, "Start…")
    expect(page.locator(".trip-title")).to_be_focused()
    user = page.evaluate("fetch('/api/v1/trips').then((answer) => answer.json())")
    (trip,) = [each for each in user["trips"] if each["state"] == "following"]
    last = [leg for leg in trip["plan"]["legs"] if leg["trip"]][-1]
    day = last["planned"]["departs"][:10].replace("-", "")
    told = written(tmp_path / "now.pb", [Update(last["trip"], day, "CANCELED")])
    follower, _ = follower_of(site.settings, site.town.engine)
    try:
        list(take_realtime(told, site.settings.city_dir))
        follower.step()
        follower.step()
        proposal = page.locator("section.trip-proposal")
        expect(proposal).to_contain_text("is cancelled.")
        expect(page.locator(".leg[data-state='broken']")).to_contain_text("cancelled")
        expect(page.locator(".trip-others li").first).to_be_visible()
        assert serious(page, axe) == []
        press(page, "Switch")
        expect(page.locator(".toast")).to_contain_text("Switched to the new route")
        expect(page.locator(".trip-others")).to_be_hidden()
    finally:
        (site.settings.city_dir / "timetables" / "now.pb").unlink()
        press(page, "End trip")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.thorough
@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_a_trip_is_repeated_told_of_once_left_out_and_removed_by_keyboard(
    open_page: Open, site: Site, axe: str, size: dict[str, int]
) -> None:
    page = open_page(BY_LINE, size)
    options(page)
    press(page, "Repeat…")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert serious(page, axe) == []
    press(page, "Saturday", "Space")
    press(page, "Save")
    card = page.locator("[data-repeat]")
    expect(card).to_contain_text("Sat, depart at")
    expect(card).to_contain_text("Next:")
    assert serious(page, axe) == []

    follower, repeater = follower_of(site.settings, site.town.engine)
    conditions = follower.conditions()
    for hours in (30, 31, 31, 32):  # Wednesday evening
        repeater.step(replace(conditions, now_ms=conditions.now_ms + hours * 3_600_000))
    assert repeater.told == 1
    user = page.evaluate("fetch('/api/v1/notices').then((answer) => answer.json())")
    mine = card.get_attribute("data-repeat")
    (told,) = [one for one in user["notices"] if one["about"]["id"] == mine]
    assert "Your next trip" in told["title"]

    press(page, "Skip next day…")
    expect(card).to_contain_text("Skipped:")
    press(page, "Do not skip")
    expect(card).not_to_contain_text("Skipped:")
    press(page, "Pause…")
    expect(card).to_contain_text("Paused")
    press(page, "Remove…")
    expect(page.locator(".toast")).to_contain_text("no longer repeated")
    expect(card).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_same_in_danish(open_page: Open) -> None:
    page = open_page(f"{BY_LINE}&lang=da")
    card = options(page).first
    expect(card).to_contain_text("Skift")
    card.locator("summary").first.click()
    expect(card.locator(".leg").first).to_contain_text("Gå")


def test_stops_have_boards_and_the_map_shows_where_one_can_be(open_page: Open, axe: str) -> None:
    page = open_page(BY_LINE.replace("to=", "towards=").replace("to_name", "towards_name"), PHONE)
    expect(page.locator("city-connection")).to_have_attribute("data-loaded", "true")
    page.get_by_text("Layers and legend").click()
    page.get_by_label("Where I can be by bus and train").check()
    expect(page.locator("path.reach-area")).to_have_count(1)
    expect(page.get_by_text("From Hjem")).to_be_visible()
    wide = page.locator("path.reach-area").get_attribute("d")
    page.locator(".legend select").select_option("60")
    expect(page.locator("path.reach-area")).not_to_have_attribute("d", str(wide))
    page.get_by_label("Where I can be by bus and train").uncheck()
    expect(page.locator("path.reach-area")).to_have_count(0)
    page.get_by_label("Stops", exact=True).check()
    page.get_by_text("Layers and legend").click()
    page.set_viewport_size({"width": 1280, "height": 900})
    expect(page.locator(".stop-pin")).not_to_have_count(0)
    stop = page.locator(".stop-pin:not(.point-many)")
    while stop.count() == 0:
        page.get_by_role("button", name="Zoom in").click()
        page.wait_for_timeout(300)
    stop.first.locator("..").press("Enter")
    card = page.get_by_role("dialog")
    expect(card.locator(".board li")).not_to_have_count(0)
    expect(card.locator(".board li").first).to_contain_text(re.compile(r"\d\d:\d\d.*(Bus|Tram)"))
    expect(page.locator(".leaflet-popup")).to_have_css("opacity", "1")  # It fades in.
    assert serious(page, axe) == []
    name = card.get_by_role("heading").inner_text()
    card.get_by_role("button", name="Go here").click()
    expect(page.get_by_role("combobox", name="To")).to_have_value(name)
