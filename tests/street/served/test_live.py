"""From a sensor's message to a person's screen, and what malformed messages do on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import orjson
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from citywise.backend.ingest.payloads import LineString, Place
from tests.street import running as street
from tests.street.city import City

pytestmark = [pytest.mark.browser, pytest.mark.spark, pytest.mark.slow]

DESKTOP = {"width": 1280, "height": 860}
PHONE = {"width": 390, "height": 844}
ROAD = Place(
    id="ringgaden",
    kind="road",
    name="Ringgaden: Nordre Ringgade → Vestre Ringgade",
    geometry=LineString(coordinates=[(10.19, 56.17), (10.2, 56.175)]),
    sensors=("traffic",),
    length_m=900,
    free_flow_kmh=60,
)


def observe(city: City, speed: float, count: int) -> None:
    """A reading of the road, now."""
    city.publish("observations/traffic", reading(datetime.now(UTC), speed, count))


def reading(at: datetime, speed: object, count: object) -> dict[str, object]:
    return {"sensor": ROAD.id, "observed_at": at, "speed_kmh": speed, "vehicle_count": count}


@pytest.fixture(scope="module", autouse=True)
def road(running_city: Callable[[], City]) -> None:
    """A road with a sensor of its own."""
    city = running_city()
    payload = ROAD.model_dump_json().encode()
    city.publish(f"places/road/{ROAD.id}", payload, retain=True)
    observe(city, 60, 5)
    street.wait_until(city.system, lambda: len(city.ask("GET", "readings")["readings"]) == 1)


@contextmanager
def opened(browser: Browser, city: City, path: str, viewport: dict[str, int]) -> Iterator[Page]:
    """A page that may talk to the city's own host only; any other request fails the test."""
    own = urlsplit(city.system.url).netloc
    foreign: list[str] = []

    def only_own(route: Route) -> None:
        if urlsplit(route.request.url).netloc == own:
            route.continue_()
        else:
            foreign.append(route.request.url)
            route.abort()

    context = browser.new_context(viewport=viewport, locale="en")  # type: ignore[arg-type]
    context.route("**/*", only_own)
    page = context.new_page()
    page.goto(city.system.url + path)
    yield page
    context.close()
    assert foreign == []


def test_a_jam_appears_and_clears_on_the_map_and_in_the_list(city: City, browser: Browser) -> None:
    with (
        opened(browser, city, "/", DESKTOP) as city_map,
        opened(browser, city, "/list", PHONE) as city_list,
    ):
        for page in (city_map, city_list):
            expect(page.locator("city-connection")).to_have_attribute("data-state", "live")
        pin = city_map.locator(".event-pin")
        card = city_list.locator("city-events article")
        if city.ask("GET", "events?open=true")["events"]:  # Of a try that failed.
            observe(city, 60, 5)
        expect(pin).to_have_count(0)
        observe(city, 20, 15)
        expect(pin).to_have_count(1)
        expect(card).to_contain_text("Ringgaden")
        expect(city_map.locator(".map-holder path.road.road-jam")).to_have_count(1)
        observe(city, 60, 5)
        expect(pin).to_have_count(0)
        expect(card).to_have_count(0)


def dead_letters(city: City) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = city.ask("GET", "dead-letters?limit=100")["dead_letters"]
    return found


def test_malformed_messages_end_in_the_dead_letters_and_change_nothing_else(city: City) -> None:
    now = datetime.now(UTC).replace(microsecond=0)  # no fraction that reads like the speed
    good = orjson.dumps(reading(now, 31.5, 12))
    mark = token_hex(4).encode()  # The same once more is no new letter.
    bad: dict[bytes, str] = {
        b"{" + mark: "json",
        b"\x00\xff\xfe binary" + mark: "json",
        mark + b"x" * 10_000_000: "oversized",
        good.replace(b"31.5", b"NaN"): "schema",
        good.replace(b"31.5", b'"31.5"'): "schema",
        good.replace(b'"speed_kmh"', b'"velocity"'): "schema",
        good.replace(str(now.year).encode(), b"2096"): "future",
        good.replace(str(now.year).encode(), b"1996"): "ancient",  # it may be 29 February
        good.replace(b"ringgaden", b"nobody-knows"): "unknown-sensor",
    }
    before = city.ask("GET", "events")["events"], city.ask("GET", "readings")["readings"]
    earlier = {letter["id"] for letter in dead_letters(city)}
    for payload in bad:
        city.publish("observations/traffic", payload)

    def reasons() -> list[str]:
        """Of each message once: the broker may bring one again that was long in coming."""
        letters = [letter for letter in dead_letters(city) if letter["id"] not in earlier]
        return sorted(
            str(reason) for reason, _payload in {(d["reason"], d["payload"]) for d in letters}
        )

    street.wait_until(city.system, lambda: len(reasons()) >= len(bad))
    assert reasons() == sorted(bad.values())
    after = city.ask("GET", "events")["events"], city.ask("GET", "readings")["readings"]
    keys = ("kind", "place_id", "observed_at", "speed_kmh", "vehicle_count")
    assert before[0] == after[0]
    assert [[r[k] for k in keys] for r in before[1]] == [[r[k] for k in keys] for r in after[1]]
    with urlopen(f"{city.system.url}/readyz", timeout=120) as answer:
        assert answer.status == 200
