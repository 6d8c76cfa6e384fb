"""A running city in which somebody follows a plan, while something happens on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate, pairwise
from math import hypot
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from citywise.backend.times import iso, parse_ms
from tests.street.city import City, running

FROM = "56.16241,10.18657"
TO = "56.13546,10.21430"
GARAGES_NEAR = "56.15100,10.20900"
PLAY = {
    "data": None,
    "speed": 1.0,
    "seed": 7,
    "lead_in_s": 0.0,
    "start": "2026-05-05T10:00:00+02:00",
    "until": None,
}


class Followed(City):
    """The running city, what the demo's person does in it, and what happens there."""

    def __init__(self, city: City) -> None:
        super().__init__(city.system, city._client)
        self._full = {place["id"] for place in self.garages()}
        self._reported: set[str] = set()

    @property
    def url(self) -> str:
        """Where its pages are."""
        return self.system.url

    def trip(self) -> dict[str, Any]:
        """The one trip that is followed."""
        (found,) = [t for t in self.ask("GET", "trips")["trips"] if t["state"] == "following"]
        return dict(found)

    def accident_ahead(self, name: str) -> None:
        """Somebody reports an accident halfway on what is left of the way."""
        self.accident(name, halfway(self.trip()["plan"]["geometry"]["coordinates"]))

    def accident(self, name: str, point: list[float]) -> None:
        """An accident of the worst kind at a place, as a detector tells of it."""
        where = {"type": "Point", "coordinates": point}
        self._reported.add(name)
        report = {"type": "Accident", "level": 5, "geometry": where, "source": "social"}
        self.publish(f"events/{name}", report | {"start_ms": self.now_ms(), "name": name})

    def clear(self, name: str) -> None:
        """What was reported is over."""
        self._reported.discard(name)
        self.publish(f"events/{name}", None)

    def fill(self, garage: str) -> None:
        """A garage counts no free place."""
        self.park(garage, free=0)
        self._full.add(garage)

    def park(self, garage: str, free: int) -> None:
        """A garage counts so many free places."""
        places = {place["id"]: place for place in self.garages()}
        capacity = places[garage]["properties"]["capacity"]
        count = {"occupied": capacity - free, "capacity": capacity}
        told = {"sensor": garage, "observed_at": iso(self.now_ms())}
        self.publish("observations/parking", told | count)

    def garages(self) -> list[dict[str, Any]]:
        """The garages there are, as places of the API."""
        places = self.ask("GET", "places")["features"]
        return [place for place in places if place["properties"]["kind"] == "garage"]

    def _roomy(self) -> list[dict[str, Any]]:
        """Of the garages that have room, what was counted last."""
        counts = self.ask("GET", "readings?kind=parking")["readings"]
        return [count for count in counts if count["occupied"] < count["capacity"]]

    def _open(self) -> set[str]:
        """What has happened and is not over."""
        return {event["id"] for event in self.ask("GET", "events?open=true")["events"]}

    def now_ms(self) -> int:
        """The city's time."""
        return parse_ms(self.ask("GET", "clock")["now"])

    def rest(self) -> None:
        """Nobody is on the way any more, nothing has happened there, all garages have room, and
        the person lets positions be told: also where a test left it otherwise when it failed."""
        left = set(self._reported)
        for name in left:
            self.clear(name)
        self.until(lambda: left.isdisjoint(self._open()))
        self.ask("PUT", "me/consents/position", {"given": True})
        for garage in self._full:
            self.park(garage, free=90)
        self.until(lambda: {r["place_id"] for r in self._roomy()} >= self._full)
        self._full.clear()
        for trip in self.ask("GET", "trips")["trips"]:
            if trip["state"] == "following":
                self.ask("DELETE", f"trips/{trip['id']}")


@contextmanager
def city(folder: Path, *apps: Path) -> Iterator[Followed]:
    """The simulated town at the speed of the real one, served until the end of the block."""
    with running(folder, dict(PLAY), "detector", *apps) as found:
        yield Followed(found)


def opened(
    open_at: Callable[..., Page], city: Followed, size: dict[str, int], path: str, **options: Any
) -> Page:
    """A page of the city, connected, on a device that is where the plans begin."""
    city.rest()
    here: dict[str, Any] = {"permissions": ["geolocation"], "geolocation": spot(FROM)}
    page = open_at(city.url, path, size, **here, **options)
    expect(page.locator("city-connection")).to_have_attribute("data-state", "live")
    return page


def halfway(points: list[list[float]]) -> list[float]:
    """The corner of a line that is nearest to its middle."""
    so_far = [0.0, *accumulate(hypot(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(points))]
    return min(zip(points, so_far, strict=True), key=lambda at: abs(at[1] - so_far[-1] / 2))[0]


def spot(text: str) -> dict[str, float]:
    """Where a device is, as the browser takes it."""
    lat, lon = map(float, text.split(","))
    return {"latitude": lat, "longitude": lon, "accuracy": 9}


def kept(page: Page) -> None:
    """Wait until the page is on the device, for when there is no connection."""
    page.wait_for_function("() => navigator.serviceWorker.controller?.state === 'activated'")


def told(page: Page) -> Locator:
    """The better plan, once the page tells of it."""
    card = page.get_by_role("region", name="A better route")
    expect(card).to_be_visible()
    return card
