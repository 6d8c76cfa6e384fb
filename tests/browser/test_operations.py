"""Those who run the city see what is wrong with it, act, and take back what they did."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from citywise.backend.machine import REPOSITORY
from citywise.backend.outgoing import subscriptions
from citywise.backend.packs.installed import install
from citywise.backend.packs.manifest import load
from citywise.backend.people import accounts, audit
from citywise.backend.settings import Source
from citywise.backend.sources import made
from citywise.backend.sources.working import report
from tests.browser.conftest import DESKTOP, NOON, PHONE, Open, Site, Watched, fresh, settle
from tests.browser.test_people import come, drawn, serious, settled
from tests.layers.files import collection, feature

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def operator(homes: Site) -> Any:
    return settle(homes, "Op", "admin")


def operations(open_page: Open, homes: Site, person: Any, tab: str, **more: Any) -> Page:
    page = settled(open_page("/system", url=homes.server.url, person=person, **more))
    page.get_by_role("tab", name=tab).click()
    return page


@pytest.mark.thorough
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
    expect(page.get_by_text("Waiting apps")).to_be_hidden()
    chart = page.get_by_role("img", name="Evaluations a minute: ")
    expect(chart).to_be_visible()
    waits = {"waiting_apps": [{"app": "loud", "kinds": ["sound"]}]}
    told = "**/operator/requests"
    page.route(told, lambda route: route.fulfill(json={**route.fetch().json(), **waits}))
    page.get_by_role("tab", name="Kinds").click()
    page.get_by_role("tab", name="Requests").click()
    expect(page.locator("[data-waits='loud']")).to_contain_text("sound")


UPLINK = """{"end_device_ids": {"device_id": "n1"}, "uplink_message": {
  "decoded_payload": {"noise": 61.26, "battery": 3.1, "temperature": "hot"}}}"""


def test_a_source_is_tried_added_stopped_and_removed_and_says_how_it_fares(
    open_page: Open, homes: Site, operator: Any, axe: str
) -> None:
    page = operations(open_page, homes, operator, "Sources")
    part = page.locator("operator-sources")
    expect(part).to_contain_text("No sources yet.")
    part.get_by_role("button", name="Add a source").press("Enter")
    part.get_by_label("Source", exact=True).fill("lora")
    part.get_by_label("Format", exact=True).select_option("ttn")
    part.get_by_label("Sample message").fill(UPLINK)
    part.get_by_role("button", name="Try", exact=True).press("Enter")
    becomes = part.get_by_role("list", name="What it becomes").locator("li")
    expect(becomes).to_have_count(2)
    expect(becomes.first).to_contain_text("temperature · number")
    expect(becomes.last).to_contain_text("noise n1 · observed_at")
    expect(becomes.last).to_contain_text('level = 61.3, extra = {"battery":3.1}')
    part.get_by_text("Messages that others send").press("Enter")
    part.get_by_label("Takes messages by HTTP POST").check()
    assert serious(page, axe) == []
    part.get_by_role("button", name="Save").press("Enter")
    expect(part.get_by_role("region", name="Address and secret")).to_be_focused()
    part.get_by_role("button", name="Done").press("Enter")
    row = page.locator("[data-source='lora']")
    row.get_by_role("button", name="Stop: lora").press("Enter")
    expect(row).to_contain_text("Stopped")
    row.get_by_role("button", name="Remove: lora").press("Enter")
    asked = page.get_by_role("dialog", name="Remove lora?")
    asked.get_by_role("button", name="Cancel").press("Enter")
    expect(row.get_by_role("button", name="Remove: lora")).to_be_focused()
    row.get_by_role("button", name="Remove: lora").press("Enter")
    assert serious(page, axe) == []
    asked.get_by_role("button", name="Remove", exact=True).press("Enter")
    expect(row).to_have_count(0)
    told = {"name": "bikes", "connector": "gbfs", "urls": ("http://x.org/",)}
    sample = {"reason": "unit", "at": "/a", "said": "found `furlong`", "from": "http://x.org/"}
    said = "no place `n1` with bikes observations is known"
    late = {"reason": "unknown-sensor", "at": "observations/bikes", "said": said, "payload": "{}"}
    counts = {"observations": 1200, "not_taken": 7}
    kept = {"samples": [sample], "not_taken_samples": [late]}
    sound = report(Source.model_validate(told), counts, **kept)
    fails = report(Source.model_validate({**told, "name": "alerts"}), error="status 503")
    more = {"origin": "files", "active": True, "settings": None}
    answer = {"sources": [{**one, **more} for one in (fails, sound)], "connectors": []}
    page.route("**/operator/sources", lambda route: route.fulfill(json=answer))
    page.get_by_role("tab", name="Requests").click()
    page.get_by_role("tab", name="Sources").click()
    expect(page.locator("[data-source='bikes']")).to_contain_text("unit · /a · found `furlong`")
    expect(page.locator("[data-source='bikes']")).to_contain_text("1,200")
    refused = f"Not taken · unknown-sensor · observations/bikes · {said}"
    expect(page.locator("[data-source='bikes']")).to_contain_text(refused)
    expect(part.get_by_role("columnheader", name="Not taken")).to_be_visible()
    expect(page.locator("[data-source='bikes'] td").nth(6)).to_have_text("7")
    expect(page.locator("[data-source='alerts']")).to_contain_text("Failing")


def test_what_a_sources_form_does_not_show_stays_as_it_was(
    open_page: Open, homes: Site, operator: Any
) -> None:
    """A second header, TLS and bounds were lost with each change in the page."""
    told = {
        "name": "kept", "connector": "ngsi-ld", "topics": ["lots/#"], "secret": "three-small-boats",
        "headers": {"Authorization": "a key", "NGSILD-Tenant": "aarhus"},
        "timeout_s": 3, "max_bytes": 5000, "interval_s": 7,
        "broker": {"host": "mqtt.example", "port": 8883, "tls": True, "embedded": False},
        "subscribe": {
            "broker": "https://b.example/ngsi-ld/v1", "types": ["NoiseLevelObserved"],
            "notify": "https://c.example", "renew_s": 77,
        },
    }  # fmt: skip
    before = Source.model_validate(told)
    with homes.town.engine.begin() as connection:
        made.put(connection, before, is_active=False)
    page = operations(open_page, homes, operator, "Sources")
    part = page.locator("operator-sources")
    row = page.locator("[data-source='kept']")
    row.get_by_role("button", name="Change: kept").press("Enter")
    part.get_by_text("Keys, times and another broker").press("Enter")
    expect(part.get_by_label("The broker speaks TLS")).to_be_checked()
    part.get_by_label("Seconds for an answer").fill("4")
    part.get_by_role("button", name="Save").press("Enter")
    expect(part.get_by_role("button", name="Add a source")).to_be_focused()
    with homes.town.engine.begin() as connection:
        after = made.listed(connection)["kept"].source
        made.remove(connection, "kept")
    assert after == before.model_copy(update={"timeout_s": 4})


def test_a_source_that_goes_to_another_server_asks_for_all_its_keys_again(
    open_page: Open, homes: Site, operator: Any, watched: Watched
) -> None:
    """They were saved empty, and the second one could not even be written."""
    told = {
        "name": "moved", "connector": "cap", "urls": ["https://a.example/alerts"],
        "headers": {"Authorization": "a key", "X-Tenant": "aarhus"},
    }  # fmt: skip
    with homes.town.engine.begin() as connection:
        made.put(connection, Source.model_validate(told), is_active=False)
    page = operations(open_page, homes, operator, "Sources")
    part = page.locator("operator-sources")
    page.locator("[data-source='moved']").get_by_role("button", name="Change: moved").press("Enter")
    part.get_by_label("Addresses that are asked").fill("https://b.example/alerts")
    part.get_by_role("button", name="Save").press("Enter")
    expect(part.get_by_label("X-Tenant")).to_be_focused()
    refused = part.locator("[data-name='headers.Authorization']")
    expect(refused).to_contain_text("write it once more")
    watched.errors.clear()  # The browser notes what was refused itself.
    part.get_by_label("Value of the header").fill("new key")
    part.get_by_label("X-Tenant").fill("odense")
    part.get_by_role("button", name="Save").press("Enter")
    expect(part.get_by_role("button", name="Add a source")).to_be_focused()
    with homes.town.engine.begin() as connection:
        after = made.listed(connection)["moved"].source
        made.remove(connection, "moved")
    assert after.headers == {"Authorization": "new key", "X-Tenant": "odense"}


def test_a_layer_its_janitor_and_a_webhook_are_made_looked_at_and_removed(
    open_page: Open, homes: Site, operator: Any, axe: str, tmp_path: Path, watched: Watched
) -> None:
    pack = load(REPOSITORY / "examples" / "school_speed")
    install(homes.town.engine, [pack])
    file = tmp_path / "School.geojson"
    page = operations(open_page, homes, operator, "Layers")
    part = page.locator("operator-layers")
    part.get_by_role("button", name="Add a layer").press("Enter")
    part.get_by_role("button", name="See what it becomes").press("Enter")
    expect(part.get_by_text("Choose a file, or give an address.")).to_be_visible()
    file.write_bytes(collection(feature("a", geometry={"type": "Point", "coordinates": [999, 0]})))
    part.get_by_label("File (GeoJSON)").set_input_files(file)
    part.get_by_role("button", name="See what it becomes").press("Enter")
    expect(part.get_by_label("File (GeoJSON)")).to_be_focused()
    expect(part.locator("[data-name='content'] .field-error")).to_contain_text("feature 0 (`a`)")
    file.write_bytes(collection(feature("a"), feature("b", name="South School")))
    part.get_by_label("File (GeoJSON)").set_input_files(file)
    part.get_by_role("button", name="See what it becomes").press("Enter")
    becomes = part.get_by_role("region", name="What it becomes")
    expect(becomes).to_be_focused()
    expect(becomes).to_contain_text("Places: 2; added: 2")
    expect(becomes).to_contain_text("school.b")
    expect(part.get_by_label("What it means")).to_have_value(re.compile('place = "school"'))
    assert serious(page, axe) == []
    becomes.get_by_role("button", name="Save the layer").press("Enter")
    row = page.locator("[data-layer='school']")
    row.get_by_role("button", name="Hide: school").press("Enter")
    expect(row).to_contain_text("Not on the map")

    page.get_by_role("tab", name="Duties").click()
    part = page.locator("operator-duties")
    part.get_by_label("Role").fill("janitor")
    part.get_by_role("combobox", name="At which place").select_option(label="South School")
    part.get_by_label("Person").fill("nobody")
    part.get_by_role("button", name="Give the duty").press("Enter")
    expect(part.locator("[data-name='user'] .field-error")).to_contain_text("no account `nobody`")
    part.get_by_label("Person").fill("Op")
    part.get_by_role("button", name="Give the duty").press("Enter")
    card = part.locator("[data-duty='janitor school.b']")
    expect(card).to_contain_text("South School")
    assert serious(page, axe) == []
    card.get_by_role("button", name="End").press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="End").press("Enter")
    expect(card).to_have_count(0)

    page.get_by_role("tab", name="Webhooks").click()
    part = page.locator("operator-webhooks")
    part.get_by_role("button", name="Add a webhook").press("Enter")
    part.get_by_label("Address").fill("http://10.0.0.1/hook")
    part.get_by_label("Least level").select_option("3")
    part.get_by_label("Latitude").fill("56.15")
    part.get_by_role("button", name="Save").press("Enter")
    expect(part.get_by_text("Give latitude, longitude and radius")).to_be_visible()
    part.get_by_label("Longitude").fill("10.2")
    part.get_by_label("Radius (m)").fill("500")
    part.get_by_role("button", name="Save").press("Enter")
    expect(part.locator("[data-name='url'] .field-error")).to_contain_text("cannot be sent to")
    part.get_by_label("Address").fill("https://8.8.8.8/hook")
    assert serious(page, axe) == []
    part.get_by_role("button", name="Save").press("Enter")
    secret = part.get_by_role("region", name="Secret for signatures")
    expect(secret).to_contain_text("whsec_")
    secret.get_by_role("button", name="Done").press("Enter")
    hook = part.locator("[data-webhook]")
    expect(hook).to_contain_text("from Level 3 of 5 · within 500 m of 56.15, 10.2")
    with homes.town.engine.begin() as connection:
        (kept,) = subscriptions.active(connection)
        lost = {"kind": "event.opened", "event": {"id": "e1"}}
        subscriptions.bury(connection, kept, [(1, lost)], "status 503")
    page.get_by_role("tab", name="Duties").click()
    page.get_by_role("tab", name="Webhooks").click()
    hook.get_by_text("Undelivered (1)").press("Enter")
    expect(hook.locator(".bullets")).to_contain_text("event.opened · e1 · status 503")
    hook.get_by_role("button", name="Send again").press("Enter")
    expect(hook.locator(".bullets")).to_contain_text("is sent again")
    assert serious(page, axe) == []
    hook.get_by_role("button", name="Remove").press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Remove").press("Enter")
    expect(hook).to_have_count(0)

    page.get_by_role("tab", name="Layers").click()
    row.get_by_role("button", name="Remove: school").press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Remove").press("Enter")
    expect(row).to_have_count(0)
    watched.errors.clear()  # The browser notes what was refused itself.


def test_a_dead_letter_is_sent_again_or_says_why_not(
    open_page: Open, homes: Site, operator: Any, watched: Watched
) -> None:
    page = operations(open_page, homes, operator, "Rejected messages")
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


def test_of_two_answers_the_one_that_was_asked_for_later_is_shown(
    open_page: Open, homes: Site, operator: Any
) -> None:
    page = operations(open_page, homes, operator, "Rejected messages")
    letters = page.locator("dead-letters details")
    expect(letters).to_have_count(2)
    late: list[Route] = []

    def answer(route: Route) -> None:
        if late:
            route.fulfill(json={"dead_letters": [], "counts": {}, "next": None})
        else:
            late.append(route)

    page.route("**/api/v1/dead-letters?*", answer)
    page.evaluate("for (const _ of 'ab') document.querySelector('dead-letters').refresh()")
    expect(letters).to_have_count(0)
    with page.expect_response("**/api/v1/dead-letters?*"):
        late[0].continue_()
    page.evaluate("new Promise(requestAnimationFrame)")
    expect(letters).to_have_count(0)


@pytest.mark.parametrize(
    ("tab", "part"), [("Rejected messages", "dead-letters"), ("Actions", "operator-audit")]
)
def test_what_somebody_reads_stays_where_it_is_when_its_list_is_asked_for_again(
    open_page: Open, homes: Site, operator: Any, tab: str, part: str
) -> None:
    with homes.town.engine.begin() as connection:
        audit.record(connection, operator.id, "test.done", "x")
    page = operations(open_page, homes, operator, tab)
    page.locator(f"{part} summary").first.click()
    opened = page.locator(f"{part} details[open]").element_handle()
    page.evaluate("async (part) => document.querySelector(part).refresh()", part)
    assert opened.evaluate("(details) => details.isConnected && details.open")


def test_letters_for_another_reason_are_shown_though_somebody_has_read_further_down(
    open_page: Open, homes: Site, operator: Any
) -> None:
    def answer(route: Route) -> None:
        asked = parse_qs(urlsplit(route.request.url).query)
        first = 40 if "before" in asked else 90
        rows = [letter(number) for number in range(first, first - 50, -1) if number > 0]
        rows = rows[:1] if "reason" in asked else rows
        counts = {"json": 90}
        route.fulfill(json={"dead_letters": rows, "counts": counts, "next": rows[-1]["id"]})

    page = settled(open_page("/system", url=homes.server.url, person=operator))
    page.route("**/api/v1/dead-letters?*", answer)
    page.get_by_role("tab", name="Rejected messages").click()
    letters = page.locator("dead-letters details")
    expect(letters).to_have_count(50)
    page.locator("dead-letters").get_by_role("button", name="Show older").click()
    expect(letters).to_have_count(90)
    page.get_by_label("Reason").select_option("json")
    expect(letters).to_have_count(1)


def test_older_letters_that_come_late_are_not_added_to_those_of_another_reason(
    open_page: Open, homes: Site, operator: Any
) -> None:
    held: list[Route] = []

    def answer(route: Route) -> None:
        asked = parse_qs(urlsplit(route.request.url).query)
        if "before" in asked:
            held.append(route)
            return
        rows = [letter(7)] if "reason" in asked else [letter(9), letter(8)]
        counts = {"json": 3}
        route.fulfill(json={"dead_letters": rows, "counts": counts, "next": rows[-1]["id"]})

    def give(nth: int, *rows: dict[str, Any]) -> None:
        with page.expect_response("**/dead-letters?*before=*"):
            held[nth].fulfill(json={"dead_letters": rows, "counts": {}, "next": None})

    page = settled(open_page("/system", url=homes.server.url, person=operator))
    page.route("**/api/v1/dead-letters?*", answer)
    page.get_by_role("tab", name="Rejected messages").click()
    letters = page.locator("dead-letters details")
    expect(letters).to_have_count(2)
    older = page.locator("dead-letters").get_by_role("button", name="Show older")
    for _ in range(2):  # Pressed twice, asked once.
        older.press("Enter")
    page.evaluate("document.querySelector('dead-letters').refresh()")
    page.get_by_label("Reason").select_option("json")
    expect(letters).to_have_count(1)
    come(page, held, 1)
    give(0, letter(1))
    older.press("Enter")
    come(page, held, 2)
    assert "before=7" in held[1].request.url
    drawn(page)
    expect(older).to_be_focused()
    give(1, letter(6))
    expect(letters).to_have_count(2)
    assert [each.get_attribute("data-id") for each in letters.all()] == ["7", "6"]
    expect(letters.last.locator("summary")).to_be_focused()  # There is nothing older.


def letter(number: int) -> dict[str, Any]:
    """A message that was refused, as the API tells of it."""
    return {
        "id": number, "topic": "t", "reason": "json", "detail": "no JSON", "size": 1,
        "payload": "x", "received_at": NOON, "replayed_at": None, "not_replayable": None,
    }  # fmt: skip


@pytest.mark.thorough
def test_an_event_is_opened_by_hand_at_a_point_of_the_map_changed_ended_and_taken_back(
    open_page: Open, homes: Site, operator: Any
) -> None:
    name = fresh("A deep hole")
    page = operations(open_page, homes, operator, "Manual events")
    page.get_by_role("button", name="Publish event", exact=True).click()
    expect(page.get_by_label("Type")).to_be_focused()
    page.get_by_label("Type").select_option("RoadWorks")
    page.get_by_role("link", name="Choose on the map").click()
    page.locator(".map-holder").click(position={"x": 300, "y": 300})
    page.get_by_role("button", name="Publish event", exact=True).click()
    named = page.get_by_role("main").get_by_label("Name")
    expect(named).to_be_focused()  # Of a point people must read where it is.
    expect(named).to_have_accessible_description(re.compile("This field is required"))
    named.fill(name)
    page.get_by_label("Level").select_option("Level 4 of 5: severe")
    page.get_by_role("link", name="Choose on the map").click()
    expect(page.locator(".map-pick")).to_be_visible()
    page.locator(".map-holder").click(position={"x": 300, "y": 300})
    expect(page.get_by_role("tab", name="Manual events")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_label("Latitude")).not_to_have_value("")
    expect(page.get_by_label("Type")).to_have_value("RoadWorks")
    expect(page.get_by_role("main").get_by_label("Name")).to_have_value(name)
    page.get_by_label("Until (optional)").fill("2014-08-05T18:00")
    page.get_by_role("button", name="Publish event", exact=True).click()
    expect(page.locator(".toast")).to_contain_text(f"Published: Road works, {name}.")
    event = page.locator("[data-byhand]").filter(has_text=name)
    expect(event).to_contain_text("14:00 – 18:00")
    event.get_by_text("Change the end").click()
    event.get_by_label("Until").fill("2014-08-05T19:30")
    event.get_by_role("button", name="Save").click()
    expect(event).to_contain_text("14:00 – 19:30")
    reader = settled(open_page("/list", url=homes.server.url))
    seen = reader.locator("city-events article").filter(has_text=name)
    expect(seen).to_contain_text("Road works")
    event.get_by_role("button", name="End").click()
    expect(event).to_have_count(0)
    expect(seen).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(event).to_contain_text("open")
    expect(seen).to_be_visible()
    page.get_by_role("tab", name="Actions").click()
    done = page.locator("[data-action]").filter(has_text="Event published").first
    done.locator("summary").click()
    expect(done).to_contain_text(name)


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_a_section_of_a_street_is_drawn_on_the_map_and_closed(
    open_page: Open, homes: Site, operator: Any, axe: str, size: dict[str, int]
) -> None:
    name = fresh("From the bridge to the mill")
    page = operations(open_page, homes, operator, "Manual events", viewport=size)
    page.get_by_label("Type").select_option("RoadClosure")
    page.get_by_role("link", name="Draw a section or an area on the map").click()
    use = page.get_by_role("button", name="Use this section")
    expect(use).to_be_disabled()
    for x in (120, 160, 240):
        page.locator(".map-holder").click(position={"x": x, "y": 400})
    expect(page.locator(".map-pick")).to_contain_text("3 points")
    page.get_by_role("button", name="Take the last point back").click()
    expect(page.locator(".map-pick")).to_contain_text("2 points")
    assert serious(page, axe) == []
    use.click()
    expect(page.get_by_label("Type")).to_have_value("RoadClosure")
    expect(page.locator(".section")).to_contain_text("Section of a street: 2 points")
    publish = page.get_by_role("button", name="Publish event", exact=True)
    publish.click()
    named = page.get_by_role("main").get_by_label("Name")
    expect(named).to_be_focused()
    named.fill(name)
    with page.expect_request(lambda one: one.method == "POST" and "/operator/" in one.url) as sent:
        publish.click()
    drawn = sent.value.post_data_json["geometry"]
    assert drawn["type"] == "LineString"
    assert len(drawn["coordinates"]) == 2
    event = page.locator("[data-byhand]").filter(has_text=name)
    expect(event).to_contain_text("Road closure")
    expect(page.get_by_text("Section of a street: 2 points")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    event.get_by_role("button", name="End").press("Enter")
    expect(event).to_have_count(0)


def test_an_area_is_drawn_on_the_map_and_closed(
    open_page: Open, homes: Site, operator: Any
) -> None:
    page = operations(open_page, homes, operator, "Manual events", viewport=PHONE)
    page.get_by_label("Type").select_option("RoadClosure")
    page.get_by_role("link", name="Draw a section or an area on the map").click()
    use = page.get_by_role("button", name="Use the area inside")
    for x, y in ((120, 300), (160, 400), (240, 300)):
        expect(use).to_be_disabled()
        page.locator(".map-holder").click(position={"x": x, "y": y})
    use.click()
    expect(page.locator(".section")).to_contain_text("Area: 3 points")
    page.get_by_role("main").get_by_label("Name").fill(name := fresh("The old town"))
    with page.expect_request(lambda one: one.method == "POST" and "/operator/" in one.url) as sent:
        page.get_by_role("button", name="Publish event", exact=True).click()
    corners = sent.value.post_data_json["geometry"]["coordinates"]
    assert len(corners) == 4
    assert corners[0] == corners[-1]
    event = page.locator("[data-byhand]").filter(has_text=name)
    expect(event).to_contain_text("Road closure")
    live = settled(open_page("/", url=homes.server.url))
    expect(live.locator("path.event-area")).to_be_visible()
    event.get_by_role("button", name="End").press("Enter")
    expect(event).to_have_count(0)
    expect(live.locator("path.event-area")).to_have_count(0)


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_events_of_a_file_are_seen_chosen_published_and_taken_back(
    open_page: Open, homes: Site, operator: Any, axe: str, size: dict[str, int]
) -> None:
    works, detour = fresh("Harbour road"), fresh("Mill lane")
    features = [zone(works, road_names=[]), zone(detour, road_names=[], event_type="detour")]
    text = json.dumps({"type": "FeatureCollection", "features": [*features, {"id": "x"}]})
    page = operations(open_page, homes, operator, "Manual events", viewport=size)
    page.get_by_text("Import from a file").click()
    page.get_by_role("button", name="Show what it holds").click()
    expect(page.locator(".event-file")).to_contain_text("Choose a file.")
    page.locator(".event-file input[type=file]").set_input_files(
        {"name": "zones.geojson", "mimeType": "application/geo+json", "buffer": text.encode()}
    )
    page.get_by_role("button", name="Show what it holds").click()
    holds = page.get_by_role("region", name="What the file holds")
    expect(holds).to_contain_text("2 events (WZDx")
    expect(holds).to_contain_text("1 entry is no event.")
    expect(holds).to_contain_text(f"Other event · {detour} · Level 5 of 5")
    assert serious(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    holds.get_by_label(works).uncheck()
    holds.get_by_label("Publish other events as").select_option("Obstruction")
    holds.get_by_role("button", name="Publish 1 event").click()
    event = page.locator("[data-byhand]").filter(has_text=detour)
    expect(event).to_contain_text("Obstruction")
    expect(page.locator("[data-byhand]").filter(has_text=works)).to_have_count(0)
    expect(page.locator(".toast")).to_contain_text("1 event published or planned.")
    page.get_by_role("button", name="Undo").click()
    expect(event).to_have_count(0)


def zone(name: str, **told: Any) -> dict[str, Any]:
    """A work zone of WZDx in the city."""
    about = {"event_type": "work-zone", "name": name, **told}
    properties = {"core_details": about, "vehicle_impact": "all-lanes-closed"}
    properties |= {"start_date": "2014-08-05T11:00:00Z", "end_date": "2014-08-06T11:00:00Z"}
    line = {"type": "LineString", "coordinates": [[10.2, 56.15], [10.2, 56.152]]}
    return {"id": name, "type": "Feature", "properties": properties, "geometry": line}


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
    row.get_by_role("button", name="Block").click()
    expect(row.locator(".chip")).to_have_text("blocked")
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
    page.get_by_role("button", name="Create a link").click()
    link = page.get_by_role("region", name="The invitation").locator("code").inner_text()
    guest = open_page(link.removeprefix(homes.server.url), PHONE, url=homes.server.url)
    expect(guest.locator("sign-up")).to_contain_text("If the invitation is still valid")


def test_others_see_readiness_only(open_page: Open, homes: Site) -> None:
    kim = settle(homes, "Kim", "developer")
    page = settled(open_page("/system", url=homes.server.url, person=kim))
    expect(page.locator(".verdict")).to_be_visible()
    expect(page.get_by_text("Only operators see")).to_be_visible()
    expect(page.get_by_role("tab")).to_have_count(0)
