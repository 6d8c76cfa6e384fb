"""People set up what they want to be told, and are told it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from citywise.backend.notices import book
from citywise.backend.store.models import TraceRow
from citywise.backend.times import wall_ms
from tests.api.log import Log
from tests.api.templates import NOON_MS, Change, change, install, jam_ahead
from tests.browser.conftest import NOON, PHONE, Open, Site, Watched
from tests.browser.test_people import come, drawn, serious, settled

pytestmark = [pytest.mark.browser, pytest.mark.slow]

EVENTS = "https://w3id.org/citywise/event#"
KINDS = [EVENTS + "ParkingFull", EVENTS + "TrafficJam"]
EVERY_TYPE: dict[str, dict[str, Any]] = {
    "times": {"type": "number", "title": "Times", "default": 2},
    "mode": {"type": "choice", "choices": ["calm", "loud"], "title": "Mode", "default": "calm"},
    "sensor": {"type": "sensor", "title": "Sensor", "optional": True},
    "way": {"type": "route", "title": "Way", "default": "mine"},
    "zone": {"type": "area", "title": "Zone", "optional": True},
    "wait": {"type": "duration", "title": "Wait", "default": "PT15M"},
    "start": {"type": "time_of_day", "title": "Start", "default": "07:30"},
    "span": {"type": "time_span", "title": "Span", "default": "07:00-09:30"},
    "friend": {"type": "user", "title": "Friend", "optional": True},
    "kind": {"type": "class", "of": EVENTS + "CityEvent", "choices": KINDS, "title": "Kind"},
    "moods": {"type": "choice", "choices": ["a", "b", "c"], "title": "Moods", "repeated": True},
    "words": {"type": "text", "title": "Words", "optional": True, "repeated": True},
}


@pytest.fixture(scope="module", autouse=True)
def log(site: Site) -> Iterator[Log]:
    """An app with every type of parameter, and a log in which time has begun."""
    every = jam_ahead(name="everything", title="All there is", parameters=EVERY_TYPE)
    install(site.town, every)
    log = Log(site.settings.log_dir)
    line = {"coordinates": [[10.20, 56.16], [10.22, 56.18]], "type": "LineString"}
    body = {"type": "TrafficJam", "level": 4, "place_id": "200", "name": "Randersvej"}
    log.stands("event", "old-jam", {**body, "geometry": line, "start_ms": 0, "source": "sensor"})
    log.stands("route", "ann", {"coordinates": [[10.20, 56.16], [10.22, 56.18]]})
    log.stands("position", "ann", {"lat": 56.16, "lon": 10.2, "heading": None, "along_m": None})
    log.clock(NOON)
    yield log
    log.close()


@pytest.fixture(autouse=True)
def as_before(site: Site) -> None:
    """Nobody has instances or notices."""
    with site.town.engine.begin() as connection:
        for table in ("instances", "notices"):
            connection.exec_driver_sql(f"DELETE FROM {table}")


def tell(site: Site, *changes: Change) -> None:
    with site.town.engine.begin() as connection:
        book.apply(connection, changes)


def as_user(page: Page, name: str) -> Page:
    """The page's developer acts for a test person."""
    page.locator("app-user summary").click()
    page.get_by_label("Test person", exact=True).fill(name)
    page.get_by_role("button", name="Act for them").click()
    expect(page.locator("app-user")).to_contain_text(f"You act for the test person {name}")
    return page


def set_up(page: Page, title: str) -> Any:
    page.get_by_role("button", name=f"Add: {title}").click()
    return page.get_by_role("dialog", name=title)


def jam_card(page: Page) -> Any:
    return page.locator("article[data-instance='ann.jam_ahead']")


def test_an_instance_is_tried_saved_heard_of_changed_removed_and_brought_back(
    open_page: Open, site: Site
) -> None:
    page = as_user(open_page("/apps", PHONE), "ann")
    form = set_up(page, "Jams on my way")
    form.get_by_label("How near").fill("500")
    form.get_by_role("button", name="Try it").click()
    expect(form.locator(".trial")).to_contain_text("You would see one alert")
    expect(form.locator(".trial article")).to_contain_text("Importance 4 of 5")
    form.get_by_role("button", name="Save").click()
    expect(form).to_have_count(0)
    expect(page.get_by_role("status").filter(has_text="Saved: Jams on my way")).to_be_visible()
    tell(site, change("opened", about="old-jam", user="ann", instance="ann.jam_ahead"))
    expect(jam_card(page).locator(".notice-card")).to_contain_text("Randersvej")
    page.get_by_role("button", name="Edit: Jams on my way").click()
    expect(form.get_by_label("How near")).to_have_value("500")
    form.get_by_label("Name").fill("To work")
    form.get_by_role("button", name="Save").click()
    expect(jam_card(page).get_by_role("heading", name="To work")).to_be_visible()
    page.get_by_role("button", name="Remove: To work").click()
    expect(jam_card(page)).to_have_count(0)
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(jam_card(page)).to_contain_text("To work")


def test_what_is_wrong_is_said_at_its_field_by_the_page_and_by_the_server(
    open_page: Open, watched: Watched
) -> None:
    page = as_user(open_page("/apps"), "ann")
    form = set_up(page, "Jams on my way")
    near, save = form.get_by_label("How near"), form.get_by_role("button", name="Save")
    for text, message in {
        "333": "In steps of 50, such as 300 or 350.",
        "20": "From 50 to 1,000.",
        "": "This field is required.",
    }.items():
        near.fill(text)
        save.click()
        expect(near).to_have_accessible_description(f"Of what remains of the way. {message}")
        expect(near).to_have_attribute("aria-invalid", "true")
        expect(near).to_be_focused()
    near.fill("300")
    expect(near).not_to_have_attribute("aria-invalid", "true")
    page.route("**/api/v1/instances", lambda route: _refuse(route, "values.garage", "not there"))
    save.click()
    garage = form.get_by_label("Garage")
    expect(garage).to_have_accessible_description("not there")
    expect(garage).to_be_focused()
    page.unroute("**/api/v1/instances")
    page.route("**/api/v1/instances", lambda route: _refuse(route, "template", "is gone"))
    save.click()
    expect(form.get_by_role("alert")).to_have_text("template: is gone")
    page.keyboard.press("Escape")
    expect(form).to_have_count(0)
    watched.errors.clear()  # The browser notes each 422 itself.


def _refuse(route: Route, path: str, message: str) -> None:
    errors = [{"path": path, "message": message}]
    body = {"title": "Invalid", "status": 422, "detail": message, "errors": errors}
    route.fulfill(status=422, json=body, content_type="application/problem+json")


def test_every_type_of_parameter_is_written_and_read_again(open_page: Open, site: Site) -> None:
    page = as_user(open_page("/apps"), "ann")
    form = set_up(page, "All there is")
    form.get_by_label("Times").fill("5")
    form.get_by_label("Mode").select_option("loud")
    form.get_by_label("Sensor (optional)").select_option("BRUUNS")
    form.get_by_label("Sensor: what it measures").select_option("parking")
    form.get_by_label("Way", exact=True).select_option("own")
    form.get_by_label("Way: points").fill("56.16, 10.20\n56.18 10.22\n")
    form.get_by_label("Zone (optional)", exact=True).select_option("circle")
    form.get_by_label("Around a place").select_option("BRUUNS")
    form.get_by_label("Radius (m)").fill("250")
    form.get_by_label("Wait").fill("2")
    form.get_by_label("Unit").select_option("h")
    form.get_by_label("Start").fill("08:15")
    form.get_by_label("Span: until").fill("10:00")
    form.get_by_label("Kind").select_option(label="traffic jam")
    for mood in ("c", "a"):
        form.get_by_role("group", name="Moods").get_by_label(mood).check()
    words = form.get_by_role("group", name="Words")
    for word in ('a"b', "c"):
        words.get_by_role("button", name="Add").click()
        words.get_by_role("textbox").last.fill(word)
    words.get_by_role("button", name="Remove").last.click()
    form.get_by_role("button", name="Save").click()
    expect(form).to_have_count(0)
    expected = {
        "radius": 300,
        "times": 5,
        "mode": "loud",
        "sensor": {"place": "BRUUNS", "observes": "parking"},
        "way": {"coordinates": [[10.20, 56.16], [10.22, 56.18]]},
        "zone": {"center": {"lat": 56.149, "lon": 10.205}, "radius_m": 250},
        "wait": "PT2H",
        "start": "08:15",
        "span": "07:00-10:00",
        "kind": EVENTS + "TrafficJam",
        "moods": ["a", "c"],
        "words": ['a"b'],
    }
    assert saved(site) == expected
    page.get_by_role("button", name="Edit: All there is").click()
    form.get_by_role("button", name="Save").click()
    expect(form).to_have_count(0)
    assert saved(site) == expected


def saved(site: Site) -> Any:
    return site.server.get("/api/v1/instances/ann.everything")["values"]


def test_notices_appear_and_go_on_map_and_list_of_their_user_only(
    open_page: Open, site: Site
) -> None:
    mine, others = open_page("/apps", lang="da"), as_user(open_page("/apps"), "bob")
    mine.evaluate("sessionStorage.setItem('citywise-test-person', 'ann')")
    for path in ("/", "/list"):
        mine.goto(site.server.url + path)
        others.goto(site.server.url + path)
        settled(mine)
        settled(others)
        told = {"user": "ann", "about": "old-jam"}
        tell(site, change("opened", wall_ms(), criticality=5, **told))
        card = mine.locator("city-notices article").first
        expect(card).to_contain_text("Kø forude")
        expect(card).to_contain_text("Randersvej, Risskov: 3 → 4 om 420 m")
        expect(card).to_contain_text("Vigtighed 5 af 5")
        expect(mine.locator("city-announcer")).to_contain_text("Til dig: Kø forude")
        expect(others.locator("city-notices")).to_be_hidden()
        tell(site, change("closed", wall_ms() + 1, **told))
        expect(mine.locator("city-notices")).to_be_hidden()


def test_what_is_not_known_is_said_and_this_device_tells_where_it_is(
    open_page: Open, site: Site, axe: str
) -> None:
    here = {"latitude": 56.16, "longitude": 10.2}
    page = as_user(open_page("/apps", permissions=["geolocation"], geolocation=here), "bob")
    form = set_up(page, "Jams on my way")
    form.get_by_role("button", name="Try it").click()
    missing = "Share your location and your route to receive alerts"
    expect(form.locator(".trial")).to_contain_text(missing)
    form.get_by_role("button", name="Save").click()
    card = page.locator("article[data-instance='bob.jam_ahead']")
    expect(card).to_contain_text(missing)
    expect(card).to_contain_text("No alert now.")
    page.get_by_role("button", name="Share my location").click()
    expect(page.locator("my-context")).to_contain_text("Location shared: 56.1600, 10.2000")
    expect(card).to_contain_text("Share your route to receive alerts")
    assert site.server.get("/api/v1/users/bob/context")["known"] == ["position"]
    assert serious(page, axe) == []
    page.get_by_role("button", name="Stop sharing my location").click()
    expect(card).to_contain_text(missing)
    expect(page.get_by_role("button", name="Share my location")).to_be_focused()


def test_a_browser_that_keeps_the_position_to_itself_is_explained(open_page: Open) -> None:
    page = as_user(open_page("/apps"), "cy")
    page.get_by_role("button", name="Share my location").click()
    expect(page.locator("my-context")).to_contain_text("The browser does not share your location")


def test_what_one_has_already_is_offered_with_another_name_and_told_of_briefly(
    open_page: Open, site: Site
) -> None:
    page = as_user(open_page("/apps"), "ann")
    set_up(page, "Jams on my way").get_by_role("button", name="Save").click()
    jam: dict[str, Any] = {"about": "old-jam", "user": "ann", "instance": "ann.jam_ahead"}
    tell(site, change("opened", **jam, late_ms=1_500_000))
    expect(jam_card(page).locator(".notice-card")).to_contain_text("late: the system was away")
    cause = {
        "kind": "traffic", "sensor": "1", "observed_ms": NOON_MS, "what": "corrected",
        "before": {"speed_kmh": 12}, "after": {"speed_kmh": 42},
    }  # fmt: skip
    amended = {"criticality": 2, "amended": {"because": [cause]}}
    tell(site, change("updated", NOON_MS + 60_000, **jam, **amended))
    corrected = jam_card(page).locator(".notice-card")
    expect(corrected).to_contain_text("It was: importance 3; now: 2. The reading of")
    expect(corrected).to_contain_text("from 12 km/h to 42 km/h.")
    (notice,) = site.server.get("/api/v1/notices?user=ann")["notices"]
    notices = [{**notice, "id": str(number)} for number in range(23)]
    page.route("**/instances/check", lambda route: route.fulfill(json={"notices": notices}))
    form = set_up(page, "Jams on my way")
    expect(form).to_contain_text("You have this alert already")
    expect(form.get_by_label("Name")).to_have_value("Jams on my way 2")
    form.get_by_role("button", name="Try it").click()
    expect(form.locator(".trial article")).to_have_count(3)
    expect(form.locator(".trial")).to_contain_text("You would see 23 alerts")
    expect(form.locator(".trial")).to_contain_text("and 20 more")


def test_one_of_many_places_is_searched(open_page: Open, site: Site) -> None:
    for number in range(30):
        site.town.garage(f"G{number}", f"A garage of a rather long name, number {number}")
    page = as_user(open_page("/apps", {"width": 360, "height": 780}), "ann")
    form = set_up(page, "All there is")
    form.get_by_label("Sensor: search").fill("NUMBER 17")
    sensor = form.get_by_label("Sensor (optional)")
    expect(sensor.locator("option")).to_have_text(
        ["Choose…", "A garage of a rather long name, number 17"]
    )
    sensor.select_option("G17")
    form.get_by_label("Sensor: search").fill("bruuns")
    expect(sensor).to_have_value("G17")
    assert page.evaluate("document.querySelector('dialog').scrollWidth") <= 360


@pytest.mark.parametrize("lang", ["en", "de"])
@pytest.mark.parametrize("width", [1000, 1280])
def test_no_page_is_wider_than_its_window(open_page: Open, lang: str, width: int) -> None:
    page = open_page("/apps", {"width": width, "height": 700}, lang=lang)
    expect(page.locator("city-time .controls")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_an_evaluation_is_looked_into_and_says_why(
    open_page: Open, site: Site, log: Log, axe: str
) -> None:
    page = as_user(open_page("/apps"), "ann")
    form = set_up(page, "Jams on my way")
    form.get_by_role("button", name="Save").click()
    expect(jam_card(page)).to_be_visible()
    made = site.server.get("/api/v1/instances/ann.jam_ahead")
    names = ("app", "template", "version", "user", "values")
    log.stands("instance", made["id"], {name: made[name] for name in names})
    position = log.clock("2014-08-05T12:01:00Z")
    sent = {"change": "opened", "instance": made["id"], "notice": "jam_ahead"}
    changed = {"instances": [made["id"]], "notices": [{**sent, "about": "jam", "criticality": 4}]}
    request = "jam_watch/jam_ahead@1"
    counts = {"items": 340, "atoms": 2, "seconds": 0.0123, "keys": 1, "notices": 1}
    at = {"t_ms": NOON_MS + 60_000, "position": position, "created_ms": wall_ms()}
    site.town.save(
        TraceRow(id=1, request=request, changed=changed, **counts, **at),
        TraceRow(id=2, request=request, error="too slow", items=1, atoms=0, seconds=1, **at),
    )
    page.goto(site.server.url + "/apps/traces")
    page.get_by_label("Which").select_option("changed")
    trace = page.locator("[data-trace='1']")
    expect(page.locator("[data-trace='2']")).to_have_count(0)
    expect(trace).to_contain_text("1 instance · 340 facts · 12.3 ms · 1 notice")
    refreshes: list[Route] = []
    page.route("**/api/v1/traces?*", lambda route: refreshes.append(route))
    with page.expect_request("**/api/v1/traces?*"):
        pass  # The list looks for new ones by itself.
    trace.locator("summary").click()
    expect(trace).to_contain_text("Opened: jam_ahead, jam → ann.jam_ahead (4)")
    with page.expect_response("**/api/v1/traces?*"):
        refreshes.pop().continue_()
    page.unroute("**/api/v1/traces?*")
    expect(trace).to_have_attribute("open", "")
    trace.get_by_role("button", name="ann.jam_ahead").click()
    answer = page.get_by_role("region", name="Explanation")
    expect(answer).to_contain_text("As it was at 14:01")
    expect(answer).to_contain_text('radius("ann.jam_ahead",300)')
    expect(answer).to_contain_text("Choose an event or a place to see why")
    offered = page.locator("#why-about option[value='old-jam']")
    expect(offered).to_have_attribute("label", "Traffic jam: Randersvej, Risskov: 3 → 4")
    expect(page.locator("#why-instance option")).to_have_attribute("value", made["id"])
    expect(page.locator("#why-notice option")).to_have_attribute("value", "jam_ahead")
    page.get_by_label("About (event or place)").fill("old-jam")
    page.get_by_role("button", name="Explain").click()
    there = "there was an alert about Traffic jam, Randersvej, Risskov: 3 → 4. This is why"
    expect(answer).to_contain_text(there)
    expect(answer.locator("pre")).to_contain_text("near_route")
    assert serious(page, axe) == []
    page.get_by_label("Which").select_option("failed")
    expect(page.locator("[data-trace='2']")).to_contain_text("Failed")
    page.get_by_label("Instance", exact=True).fill("")
    page.get_by_role("button", name="Explain").click()
    expect(page.get_by_role("alert")).to_contain_text("Say which instance: choose one of yours")
    at_trace = NOON_MS + 60_000
    tell(site, change("opened", at_trace, about="old-jam", user="ann", instance=made["id"]))
    page.goto(site.server.url + "/apps")
    jam_card(page).get_by_role("link", name="Explain Jam ahead").click()
    expect(answer).to_contain_text(there)
    expect(page.locator("why-not .notice-card")).to_contain_text("Traffic jam")
    sentence = page.locator("why-not .verdict").first
    expect(sentence).to_contain_text("is on and it concerns Randersvej")
    expect(sentence).to_contain_text("Its importance is 3; you asked for 1 and up.")


def test_the_button_for_more_evaluations_is_there_while_the_list_looks_for_new_ones(
    open_page: Open,
) -> None:
    held: list[Route] = []

    def answer(more: int | None, *ids: int) -> None:
        """The latest question's."""
        with page.expect_response("**/api/v1/traces?*"):
            held[-1].fulfill(json={"traces": [trace(number) for number in ids], "next": more})

    page = settled(open_page("/apps/traces"))
    page.route("**/api/v1/traces?*", lambda route: held.append(route))
    page.get_by_label("Which").select_option("changed")
    come(page, held, 1)
    answer(8, 9, 8)
    more = page.get_by_role("button", name="Show older")
    more.focus()
    come(page, held, 2)  # The list looks for new ones by itself.
    drawn(page)
    expect(more).to_be_focused()
    more.press("Enter")
    come(page, held, 3)
    more.press("Enter")
    drawn(page)
    expect(more).to_be_focused()
    assert len(held) == 3  # Pressed twice, asked once.
    assert "before=8" in held[-1].request.url
    answer(None, 7)
    expect(page.locator("[data-trace]")).to_have_count(3)
    expect(page.locator("[data-trace='7'] summary")).to_be_focused()  # There is no more.


def trace(number: int) -> dict[str, Any]:
    """An evaluation, as the API tells of it."""
    return {
        "id": number, "t": NOON, "request": "city", "keys": 0, "items": 0, "seconds": 0, "atoms": 0,
        "notices": 0, "error": None, "position": 1, "changed": {"instances": [], "notices": []},
    }  # fmt: skip


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_a_form_and_its_faults(
    open_page: Open, axe: str, theme: str
) -> None:
    page = as_user(open_page("/apps", PHONE, theme=theme), "ann")
    form = set_up(page, "All there is")
    form.get_by_role("group", name="Words").get_by_role("button", name="Add").click()
    form.get_by_label("Zone (optional)", exact=True).select_option("circle")
    form.get_by_role("button", name="Save").click()
    expect(form.locator(".field-error:visible").first).to_be_visible()
    assert serious(page, axe) == []
    assert page.evaluate("document.querySelector('dialog').scrollWidth") <= PHONE["width"]
