"""A served city, and pages that may talk to no other host."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from citywise.backend.people import accounts, logins
from citywise.backend.settings import Broker, Mail, People, Settings, Web
from tests.api.browsers import PASSWORD, quick_passwords
from tests.api.server import Server, serving
from tests.api.templates import install, jam_ahead
from tests.api.town import Town
from tests.conftest import WAITED_MS
from tests.databases import begun

NOON = "2014-08-05T12:00:00Z"
PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 860}


def furnish(town: Town) -> None:
    """A few roads and garages at noon, one jam, some refused messages, one app."""
    town.running(now=NOON, speed=0)
    town.road("100", "Viborgvej, Aarhus: 1 → 2", [[10.18, 56.15], [10.20, 56.16]])
    town.road("200", "Randersvej, Risskov: 3 → 4", [[10.20, 56.16], [10.22, 56.18]])
    town.road("300", "Silkeborgvej, Aarhus: 5 → 6", [[10.15, 56.15], [10.18, 56.15]])
    town.garage("BRUUNS", "Bruuns", 10.205, 56.149)
    town.garage("SCANDCENTER", "Scandcenter", 10.21, 56.152)
    town.garage("NORREPORT", "Norreport", 10.213, 56.162)
    measure(town)
    town.event("old-jam", "200", "2014-08-05T04:30:00Z", confirmed="2014-08-05T05:00:00Z")
    town.dead_letter(1, "not-json", payload='<img src=x onerror="document.title=1">')
    town.dead_letter(2, "too-large")
    install(town, jam_ahead())


def measure(town: Town) -> None:
    """What was measured just before noon, and by one garage in the morning."""
    lately = "2014-08-05T11:58:00Z"
    town.reading("traffic", "100", lately, speed_kmh=55.0, vehicle_count=8)
    town.reading("traffic", "200", lately, speed_kmh=25.0, vehicle_count=12)
    town.reading("traffic", "300", lately, speed_kmh=50.0, vehicle_count=0)
    town.reading("parking", "BRUUNS", lately, occupied=60, capacity=100)
    town.reading("parking", "SCANDCENTER", lately, occupied=150, capacity=100)
    town.reading("parking", "NORREPORT", "2014-08-05T05:00:00Z", occupied=90, capacity=100)
    town.reading("weather", "w", lately, temperature_c=19.5, humidity_pct=60.0, wind_kmh=12.0)
    air = {"particulate_matter": 20, "carbon_monoxide": 10, "sulfur_dioxide": 5}
    town.reading("air", "100", lately, ozone=70, nitrogen_dioxide=30, **air)


@dataclass
class Site:
    """A served city."""

    server: Server
    town: Town
    settings: Settings


@dataclass(frozen=True)
class Person:
    """Somebody with an account who is logged in."""

    name: str
    id: str
    cookie: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A city on a machine of one's own: whoever is not logged in is the demo's user."""
    with _served(tmp_path_factory.mktemp("site"), People(demo_user=True)) as site:
        yield site


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A city whose people have accounts."""
    devices = Broker(devices_port=8883)
    with _served(tmp_path_factory.mktemp("homes"), People(rate_limits=False), devices) as site:
        yield site


@contextmanager
def writing(folder: Path, mail: Mail) -> Iterator[Site]:
    """A city that writes to its people by e-mail; links in letters lead to `city.example`."""
    web = Web(public_url="http://city.example")
    with _served(folder, People(rate_limits=False), mail=mail, web=web) as site:
        yield site


def fresh(name: str) -> str:
    """A name of its own at each try, where what an earlier one made is still there."""
    return f"{name} {secrets.token_hex(3)}"


def settle(site: Site, name: str, *roles: str) -> Person:
    """Give a city somebody with an account, logged in, without any page.

    The city may outlive a test that fails: whoever an earlier try called so is called otherwise.
    """
    with quick_passwords(), site.town.engine.begin() as connection:
        earlier = accounts.find_by_name(connection, name)
        if earlier is not None:
            accounts.rename(connection, earlier.id, earlier.id)
        account = accounts.create(connection, name, PASSWORD, ("user", *roles))
        _, secret = logins.open_login(connection, account.id, 1)
    return Person(name, account.id, secret)


@contextmanager
def _served(
    folder: Path, people: People, broker: Broker | None = None, **more: Any
) -> Iterator[Site]:
    settings = Settings(data_dir=folder, people=people, broker=broker or Broker(), **more)
    engine = begun(settings.database_url)
    town = Town(engine)
    furnish(town)
    with beating(town), serving(settings) as server:
        yield Site(server, town, settings)
    engine.dispose()


@contextmanager
def beating(town: Town) -> Iterator[None]:
    """Keep the processes of the system alive, as far as their heartbeats tell."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(2):
            town.beat()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    yield
    ended.set()
    thread.join()


@dataclass
class Watched:
    """What pages did that they must not do."""

    foreign: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


Open = Callable[..., Page]


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def open_at(browser: Browser, watched: Watched) -> Iterator[Open]:
    """Open a page at an address; at the end no page may have tried another host or failed."""
    contexts: list[BrowserContext] = []

    def open_at(
        url: str,
        path: str,
        viewport: dict[str, int] = DESKTOP,
        lang: str = "en",
        theme: str = "light",
        person: Person | None = None,
        developing: bool = True,
        **options: Any,
    ) -> Page:
        touch = viewport["width"] < 600
        settings: dict[str, Any] = {"locale": "en-GB", "service_workers": "block", **options}
        settings |= {"viewport": viewport, "has_touch": touch, "is_mobile": touch}
        context = browser.new_context(**settings)
        contexts.append(context)
        context.set_default_timeout(WAITED_MS)
        cookies = [("lang", lang), ("theme", theme)]
        cookies += [("citywise-login", person.cookie)] if person else []
        context.add_cookies([{"name": n, "value": v, "url": url} for n, v in cookies])
        context.on("request", lambda request: _note_foreign(request.url, url, watched))
        if developing:
            context.add_init_script("localStorage.setItem('citywise-developing', '')")
        page = context.new_page()
        page.on("pageerror", lambda error: watched.errors.append(str(error)))
        page.on("console", lambda message: _note(message.type, message.text, watched))
        page.goto(url + path)
        return page

    yield open_at
    for context in contexts:
        context.close()
    assert watched.foreign == []
    assert watched.errors == []


@pytest.fixture
def open_page(open_at: Open, site: Site) -> Open:
    """Open a page of the site, or of another at `url`."""

    def open_page(path: str, *more: Any, url: str = "", **options: Any) -> Page:
        return open_at(url or site.server.url, path, *more, **options)

    return open_page


def _note_foreign(asked: str, url: str, watched: Watched) -> None:
    """A route would keep pages from being cached as they are for people."""
    address = urlsplit(asked)
    if address.scheme in ("http", "https") and address.netloc != urlsplit(url).netloc:
        watched.foreign.append(asked)


def _note(kind: str, text: str, watched: Watched) -> None:
    """A refused style or script is an error on the console."""
    if kind == "error":
        watched.errors.append(text)


@pytest.fixture
def axe() -> str:
    """The source of axe-core."""
    found = Path(__file__).resolve().parents[2] / "node_modules" / "axe-core" / "axe.min.js"
    return found.read_text(encoding="utf-8")
