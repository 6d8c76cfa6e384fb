"""A city with something to see on every page: the simulated town, what is wrong in it, meetings."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citywise.apps.travel_planner.roads import cityfiles
from citywise.backend.city.simulated import town as simulated
from citywise.backend.machine import REPOSITORY
from citywise.backend.notices import book
from citywise.backend.settings import City, People, Settings
from tests.api.server import serving
from tests.api.templates import change, install, pack_of
from tests.api.town import Town
from tests.browser.conftest import NOON, Person, Site, beating, furnish, settle
from tests.browser.hosting import Hosted, hosted
from tests.databases import begun

FRESH = "2014-08-05T11:58:00Z"
AIR = ("ozone", "particulate_matter", "carbon_monoxide", "sulfur_dioxide", "nitrogen_dioxide")


@dataclass(frozen=True)
class Furnished:
    """The city, somebody who runs it, and meetings of the demo's user."""

    site: Site
    operator: Person
    meeting: Hosted
    planned: Hosted
    ended: Hosted

    @property
    def link(self) -> str:
        """Where somebody joins who is invited to what runs."""
        told: str = self.site.server.get(f"/api/v1{self.meeting.path}")["join"]["url"]
        return told


def _inhabit(town: Town) -> None:
    """The simulated town's garages, one of them full, and some of its roads, as of noon."""
    for garage in simulated.GARAGES:
        lon, lat = simulated.wgs84(garage.at)
        town.garage(garage.id, garage.name, lon, lat)
        taken = 100 if garage.id == "torvet" else 40
        town.reading("parking", garage.id, FRESH, occupied=taken, capacity=100)
    for road in simulated.roads()[:4]:
        town.road(road.id, road.name, [list(simulated.wgs84(point)) for point in road.line])
        town.reading("traffic", road.id, FRESH, speed_kmh=45.0, vehicle_count=9)
        town.reading("air", road.id, FRESH, **dict.fromkeys(AIR, 40))


@contextmanager
def planning(folder: Path) -> Iterator[Site]:
    """The simulated town at noon, whose planner has started."""
    settings = Settings(
        data_dir=folder, people=People(demo_user=True, rate_limits=False), city=City(planners=1)
    )
    cityfiles.prepare(settings, {})
    engine = begun(settings.database_url)
    town = Town(engine)
    town.running(now=NOON, speed=0)
    install(town, *pack_of(REPOSITORY / "apps" / "travel_planner").templates)
    _inhabit(town)
    with serving(settings) as server:
        with urllib.request.urlopen(f"{server.url}/api/v1/places/search?q=torv", timeout=240):
            pass
        yield Site(server, town, settings)
    engine.dispose()


@contextmanager
def furnished(folder: Path) -> Iterator[Furnished]:
    """All of it."""
    with planning(folder) as site, beating(site.town):
        furnish(site.town)
        operator = settle(site, "Olga", "admin", "developer")
        for user in ("demo", operator.id):
            _tell(site, user)
        yield Furnished(site, operator, *_meetings(site))


def _meetings(site: Site) -> tuple[Hosted, Hosted, Hosted]:
    """One that runs and in which not all is well, one to come, and one that is over."""
    running, planned, ended = hosted(site), hosted(site), hosted(site)
    for meeting in (running, ended):
        meeting.start()
        meeting.join("Alice Maud Mary", "a1")
        bob = meeting.join("Bob Simmons", "a2")
        meeting.conclude(bob, "off", "speak", because=["noise"])
        meeting.conclude(meeting.person("Alice"), "unknown", "read", because=["silent"])
    running.propose("i1", "i3", "i2")
    ended.finish()
    return running, planned, ended


def _tell(site: Site, user: str) -> None:
    """Somebody gets an alert."""
    told: dict[str, Any] = {"user": user, "instance": f"{user}.jam_ahead", "about": "old-jam"}
    with site.town.engine.begin() as connection:
        book.apply(connection, [change("opened", **told)])
