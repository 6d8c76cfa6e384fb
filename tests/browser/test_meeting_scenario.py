"""The motivating scenario (thesis, 7.2.1), with three clients and all processes that take part.

What sensors tell comes from the browser's own emulation: a microphone that plays a file, and
positions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    BrowserType,
    Geolocation,
    Locator,
    Page,
    Playwright,
    expect,
)

from citywise.apps.travel_planner import trips
from citywise.apps.travel_planner.following import length_m, line_of
from citywise.backend.machine import chromium
from citywise.backend.people import accounts, consents, logins
from citywise.backend.store.outbox import begin
from citywise.backend.times import iso, wall_ms
from tests.api.browsers import PASSWORD, quick_passwords
from tests.browser.conftest import DESKTOP, PHONE
from tests.browser.devices import Told, hears, tone
from tests.browser.test_people import serious
from tests.conftest import WAITED_MS
from tests.meeting_mgr.system import Running, running
from tests.travel_planner import followed
from tests.travel_planner.followed import Live

pytestmark = pytest.mark.browser

ROOM = {"latitude": 56.1551, "longitude": 10.2085}
BOB, CHARLIE = "Bob Simmons", "Charlie Wilson"
STEP_MS = 600
DRIVE = range(2500, 500, -30)
"""Places on the way to the room; 30 m a step are driving however slow the machine is."""
STAND = [0, 1] * 60
MOST_S = 1.0
"""From a reading to what the host sees."""
QUIET_S = 20
"""So long it is quiet around Bob: until his icons have been seen."""
LOUD_S = 300
TURN_S = 7
"""So long it is quiet, and then loud, where times are taken; states rest for two seconds."""
TURNS = 8
"""What the machine is busy with only adds to a time: the shortest of so many counts."""
_MINUTE_MS = 60_000
_METRE = 1 / 111_195  # in degrees of latitude

_WATCH = """(watched) => {
  const count = ([selector, text = '']) =>
    [...document.querySelectorAll(selector)].filter((one) => one.textContent.includes(text)).length;
  window.came = Object.fromEntries(Object.keys(watched).map((name) => [name, []]));
  const before = {};
  new MutationObserver(() => {
    for (const [name, what] of Object.entries(watched)) {
      const now = count(what);
      if (now > (before[name] ?? 0)) window.came[name].push(Date.now());
      before[name] = now;
    }
  }).observe(document.body, { subtree: true, childList: true, attributes: true });
}"""


def icon(person: str, says: str) -> list[str]:
    """A selector of an icon of the host's page."""
    return [f'[aria-label="{person}"] .ability-image[aria-label^="{says}"]']


class Panel:
    """The host's page."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def watch(self, **watched: list[str]) -> None:
        """Note from now on when more elements come that match a selector and hold a text."""
        self.page.evaluate(_WATCH, watched)

    def came(self) -> dict[str, list[float]]:
        """When what is watched came, Unix seconds."""
        came: dict[str, list[float]] = self.page.evaluate("window.came")
        return {name: [at_ms / 1000 for at_ms in times] for name, times in came.items()}

    def icon(self, person: str, says: str) -> None:
        """Wait until an icon of a person says something."""
        expect(self._icon(person, says)).to_be_visible()

    def says(self, person: str, says: str) -> bool:
        """Whether an icon of a person says something now."""
        return self._icon(person, says).is_visible()

    def _icon(self, person: str, says: str) -> Locator:
        return self.page.locator(*icon(person, says))

    def order(self) -> list[str]:
        """The agenda's titles, as the API has them."""
        path = self.page.url.rsplit("/", 1)[1]
        view = self.page.evaluate(f"fetch('/api/v1/meetings/{path}').then((a) => a.json())")
        return [item["title"] for item in view["agenda"]]


@pytest.fixture(scope="module")
def meetings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("meetings")) as system:
        yield system


def planned(system: Running, **more: Any) -> dict[str, Any]:
    """A meeting of an hour that begins now; the third item is sensitive."""
    now_ms = wall_ms()
    items = [("Welcome", None, 10), ("Semantic Web", "a1", 15), ("Customer budget", "a2", 10)]
    agenda = [
        {"id": f"i{n}", "title": title, "speaker": speaker, "minutes": minutes}
        | ({"sensitive": True} if n == 3 else {})
        for n, (title, speaker, minutes) in enumerate([*items, ("Demo", None, 10)], 1)
    ]
    status, view, _cookie = system.ask(
        "POST",
        "/meetings",
        {
            "title": "Business Meeting",
            "room": {"name": "Room B", "lat": ROOM["latitude"], "lon": ROOM["longitude"]},
            "starts": iso(now_ms),
            "ends": iso(now_ms + 60 * _MINUTE_MS),
            "attendees": [
                {"id": "a1", "name": BOB},
                {"id": "a2", "name": CHARLIE},
            ],
            "agenda": agenda,
            "rules": {"dwell_s": 2},
        }
        | more,
    )
    assert status == 201, view
    assert isinstance(view, dict)
    return view


@contextmanager
def client(
    browsers: BrowserType,
    system: Running,
    path: str,
    *flags: str,
    login: str | None = None,
    **options: Any,
) -> Iterator[Page]:
    """A page in a browser of its own, where somebody may be logged in; at the end it must not have
    failed."""
    faults: list[str] = []
    browser = browsers.launch(executable_path=str(chromium()), args=["--no-sandbox", *flags])
    try:
        context = browser.new_context(locale="en-GB", service_workers="block", **options)
        context.set_default_timeout(WAITED_MS)
        expect.set_options(timeout=WAITED_MS)
        if login is not None:
            context.add_cookies([{"name": "citywise-login", "value": login, "url": system.url}])
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(system.url + path)
        yield page
        assert faults == []
    finally:
        browser.close()


def enter(page: Page, name: str, *sensors: str) -> None:
    """Join as one of the invited, and share some sensors."""
    page.get_by_label("Who are you?").select_option(name)
    page.get_by_role("button", name="Join", exact=True).click()
    for sensor in sensors:
        page.get_by_label(sensor, exact=True).check()
    page.get_by_role("button", name=f"Share {len(sensors)} and join").click()
    expect(page.get_by_role("heading", name="You now")).to_be_visible()


def north_of_room(metres: float) -> Geolocation:
    """A place, known to five metres."""
    latitude = ROOM["latitude"] + metres * _METRE
    return {"latitude": latitude, "longitude": ROOM["longitude"], "accuracy": 5}


def go(page: Page, places: Iterable[float], until: Callable[[], bool]) -> None:
    """Be at one place after another, metres north of the room, until something is so."""
    for metres in places:
        if until():
            return
        page.context.set_geolocation(north_of_room(metres))
        page.wait_for_timeout(STEP_MS)
    raise AssertionError("nothing came of going there")


@pytest.mark.slow
def test_the_motivating_scenario(meetings: Running, playwright: Playwright, tmp_path: Path) -> None:
    view = planned(meetings)
    link = f"/meet/{view['id']}?key={view['join']['key']}"
    drill = tone(tmp_path / "drill.wav", (QUIET_S, 0.0005), (LOUD_S, 0.4))
    with ExitStack() as clients:
        host = clients.enter_context(
            client(playwright.chromium, meetings, f"/meetings/{view['id']}", viewport=DESKTOP)
        )
        where: dict[str, Any] = {"geolocation": north_of_room(545), "permissions": ["geolocation"]}
        charlie = clients.enter_context(
            client(playwright.chromium, meetings, link, viewport=PHONE, **where)
        )
        host.get_by_role("button", name="Start meeting").click()
        panel = Panel(host)
        driving, arrived = "Read: off, driving", "Location: in room"
        enter(charlie, CHARLIE, "Your location", "Your speed")
        bob = clients.enter_context(
            client(playwright.chromium, meetings, link, *hears(drill), viewport=PHONE)
        )
        enter(bob, BOB, "Noise", "Page in view")
        panel.icon(BOB, "Speak: on")

        # Bob's surroundings become noisy: he cannot speak, listen or share, but read and type.
        panel.icon(BOB, "Speak: off, too noisy")
        panel.icon(BOB, "Listen: off, too noisy")
        panel.icon(BOB, "Read: on")
        panel.icon(BOB, "Chat: on")
        said = bob.get_by_text("You cannot speak, listen or share the screen: too noisy")
        expect(said.first).to_be_visible()
        expect(bob.get_by_text("Find a quieter place.").first).to_be_visible()
        notices = host.get_by_role("log")
        expect(notices.get_by_text("Bob Simmons cannot speak").first).to_be_visible()

        # So somebody else begins, if the host agrees; what is accepted can be taken back.
        proposal = host.get_by_role("region", name="Suggestion", exact=True)
        expect(proposal.get_by_text("Another order fits better now")).to_be_visible()
        expect(proposal.get_by_text("Bob Simmons cannot speak in “Semantic Web”")).to_be_visible()
        before = panel.order()
        proposal.get_by_role("button", name="Accept").click()
        expect(host.get_by_text("The agenda has changed.")).to_be_visible()
        after = panel.order()
        assert sorted(after) == sorted(before)
        assert after.index("Semantic Web") > before.index("Semantic Web")
        host.get_by_role("button", name="Undo the last suggestion").click()
        expect(host.get_by_text("Undone.")).to_be_visible()
        assert panel.order() == before

        # Charlie drives: he cannot read or type.
        go(charlie, DRIVE, lambda: panel.says(CHARLIE, driving))
        panel.icon(CHARLIE, "Chat: off, driving")

        # Then he enters the room.
        go(charlie, STAND, lambda: panel.says(CHARLIE, "Read: on"))
        panel.icon(CHARLIE, arrived)
        panel.icon(CHARLIE, "Read: on")
        panel.icon(CHARLIE, "Chat: on")

        # The sensitive item comes up while Bob is in public.
        bob.get_by_label("Public place").check()
        status, found, _cookie = meetings.ask(
            "POST", f"/meetings/{view['id']}/actions", {"do": "go_to", "item": "i3"}
        )
        assert status == 200, found
        panel.icon(BOB, "Speak: off, sensitive item in a public place")
        expect(bob.get_by_text("Go somewhere private, and say so below.").first).to_be_visible()


@pytest.mark.long
def test_a_reading_is_an_icon_a_notice_and_another_agenda_within_a_second(
    meetings: Running, playwright: Playwright, tmp_path: Path
) -> None:
    view = planned(meetings)
    sound = tone(tmp_path / "drill.wav", (TURN_S, 0.0005), (TURN_S, 0.4))
    with ExitStack() as clients:
        host = clients.enter_context(
            client(playwright.chromium, meetings, f"/meetings/{view['id']}", viewport=DESKTOP)
        )
        host.get_by_role("button", name="Start meeting").click()
        link = f"/meet/{view['id']}?key={view['join']['key']}"
        bob = clients.enter_context(
            client(playwright.chromium, meetings, link, *hears(sound), viewport=PHONE)
        )
        told = Told.by(bob)
        panel = Panel(host)
        panel.watch(
            icon=icon(BOB, "Speak: off, too noisy"),
            notice=[".notices-log li", f"{BOB} cannot speak"],
            proposal=["section[aria-label=Suggestion]", "Another order fits better now"],
        )
        enter(bob, BOB, "Noise")
        for turn in range(1, TURNS + 1):
            host.wait_for_function("turn => window.came.proposal.length >= turn", arg=turn)
            loud = told.became("noise_db", lambda level: level >= 80)
            took = {name: shortest(loud, came) for name, came in panel.came().items()}
            if max(took.values()) <= MOST_S:
                return
    raise AssertionError(took)


def shortest(read: Sequence[float], came: Sequence[float]) -> float:
    """The least time from a reading to what came of it, both Unix times; seconds."""
    return min(
        (at - max((told for told in read if told <= at), default=-math.inf) for at in came),
        default=math.inf,
    )


# --- The way to the meeting ----------------------------------------------------------------------

ARRIVES = re.compile(r"You are expected at \d\d:\d\d")
EXPECTED = re.compile(r"expected at \d\d:\d\d")
PLANNED = re.compile(r"Bob Simmons arrives at \d\d:\d\d: planned for \d\d:\d\d")


def driver(system: Running) -> tuple[str, str]:
    """Bob's account, who lets positions be used and follows a way of three minutes to a room;
    and what a browser shows that is logged in as him."""
    with quick_passwords(), system.engine.begin() as connection:
        account = accounts.create(connection, BOB, PASSWORD)
        consents.write(connection, account.id, "position", given=True)
        _, secret = logins.open_login(connection, account.id, 1)
    trip = followed.trip(Live(now_ms=wall_ms()), user=account.id)
    with system.engine.begin() as connection:
        begin(connection)
        trips.save(connection, trips.boxes_of(system.settings), trip)
    return account.id, secret


def delayed(system: Running, user: str, minutes: float) -> None:
    """The city finds that what is left of the way takes so long."""
    boxes = trips.boxes_of(system.settings)
    with system.engine.begin() as connection:
        begin(connection)
        (trip,) = trips.of_user(connection, boxes, user)
        left_m = length_m(line_of(trip.content.plan) or [])
        values = {"time": minutes * 60.0}
        outlook = {"at_ms": wall_ms(), "left_m": left_m, "values": values, "ahead": []}
        trips.save(connection, boxes, trip.with_content(trip.updated_ms, outlook=outlook))


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_delay_on_the_way_moves_the_item_and_withdrawn_consent_moves_it_back(
    meetings: Running, playwright: Playwright, axe: str
) -> None:
    agenda = [("Welcome", None, 10), ("Semantic Web", "a1", 15), ("Demo", None, 30)]
    view = planned(
        meetings,
        room={"name": "Room B", **followed.TO},
        attendees=[{"id": "a1", "name": BOB}],
        agenda=[
            {"title": title, "speaker": speaker, "minutes": minutes}
            for title, speaker, minutes in agenda
        ],
    )
    user, secret = driver(meetings)
    with ExitStack() as clients:
        host = clients.enter_context(
            client(playwright.chromium, meetings, f"/meetings/{view['id']}", viewport=DESKTOP)
        )
        host.get_by_role("button", name="Start meeting").click()
        link = f"/meet/{view['id']}?key={view['join']['key']}"
        bob = clients.enter_context(
            client(playwright.chromium, meetings, link, login=secret, viewport=PHONE)
        )
        enter(bob, BOB, "Page in view")
        way = bob.get_by_role("switch", name="Tell this meeting when I arrive")
        expect(way).not_to_be_checked()
        way.check()
        expect(bob.get_by_text(ARRIVES)).to_be_visible()
        expect(host.get_by_label(BOB, exact=True).get_by_text(EXPECTED)).to_be_visible()
        panel = Panel(host)
        before = panel.order()
        proposal = host.get_by_role("region", name="Suggestion", exact=True)
        expect(proposal).to_have_count(0)  # He is there in time.

        delayed(meetings, user, 14)
        cause = proposal.get_by_text("Bob Simmons cannot take part in “Semantic Web”")
        expect(cause).to_contain_text(EXPECTED)
        assert serious(host, axe) == []
        proposal.get_by_role("button", name="Accept").click()
        expect(host.get_by_text("The agenda has changed.")).to_be_visible()
        after = panel.order()
        assert after.index("Semantic Web") > before.index("Semantic Web")
        for page in (host, bob):
            expect(page.locator(".item").get_by_text(PLANNED)).to_be_visible()
        assert serious(bob, axe) == []
        assert bob.evaluate("document.documentElement.scrollWidth <= innerWidth")

        way.uncheck()
        expect(bob.get_by_text("The meeting no longer knows when you arrive.")).to_be_visible()
        expect(host.get_by_text(EXPECTED)).to_have_count(0)
        expect(host.get_by_text(PLANNED)).to_have_count(0)
        assert panel.order() == before
        told = host.get_by_text("Bob Simmons no longer lets the meeting know when they arrive")
        expect(told.first).to_be_visible()
