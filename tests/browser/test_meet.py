"""The participant's page: joining, what a device is allowed to tell, and what it then tells."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    Playwright,
    Route,
    ViewportSize,
    expect,
)

from citywise.apps.meeting_mgr.settings import Meetings
from citywise.backend.settings import People, Settings
from citywise.backend.times import iso, parse_ms
from tests.api.browsers import PASSWORD
from tests.browser import devices, keys
from tests.browser.conftest import DESKTOP, PHONE, fresh
from tests.browser.devices import Told
from tests.browser.test_people import serious
from tests.conftest import WAITED_MS
from tests.meeting_mgr.system import Running, running

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LOUD = 0.1
OWN = "**/people/me"
SHARING = f"{OWN}/sharing"
ONLINE = "dispatchEvent(new Event('online'))"
"""What a page takes as a reason to try again at once."""
JITSI = "https://meet.example.org"
JITSI_STUB = """window.calls = []; window.JitsiMeetExternalAPI = class {
    constructor(host, options) { this.heard = {}; window.room = this;
        window.calls.push(['open', host, options.roomName, options.userInfo.displayName]); }
    addListener(name, listener) { this.heard[name] = listener; }
    executeCommand(...command) { window.calls.push(command); }
    dispose() { window.calls.push(['dispose']); } }"""
SMALLEST = {"width": 360, "height": 740}
COUNTED = """window.microphones = 0;
const media = navigator.mediaDevices, open = media?.getUserMedia.bind(media);
if (media) media.getUserMedia = (...how) => { window.microphones += 1; return open(...how); };"""
"""Counts how often a page asks for the microphone."""


SIGN_UP = """(body) => fetch('/api/v1/accounts', { method: 'POST', body: JSON.stringify(body),
    headers: { 'Content-Type': 'application/json' } }).then(({ status }) => status)"""


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A running meeting manager with a server for rooms."""
    folder = tmp_path_factory.mktemp("meet")
    people, meetings = People(demo_user=True, rate_limits=False), Meetings(jitsi=JITSI)
    with running(folder, Settings(data_dir=folder, people=people, meetings=meetings)) as city:
        yield city


@pytest.fixture(scope="module")
def loud(playwright: Playwright, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Devices in a noisy place."""
    sound = devices.tone(tmp_path_factory.mktemp("sound") / "loud.wav", (1, LOUD))
    with devices.hearing(playwright, sound) as browser:
        yield browser


Open = Callable[..., Page]


@pytest.fixture
def device(loud: Browser) -> Iterator[Open]:
    """Open a page on a device of its own; no page may have failed at the end."""
    opened: list[BrowserContext] = []
    errors: list[str] = []

    def device(url: str, size: dict[str, int] = PHONE, script: str = "", **more: Any) -> Page:
        touch = size["width"] < 600
        options = {"is_mobile": touch, "has_touch": touch, "service_workers": "block", **more}
        permissions = ["geolocation", "microphone"]
        context = loud.new_context(
            viewport=ViewportSize(width=size["width"], height=size["height"]),
            permissions=permissions,
            geolocation=devices.HERE,
            **options,
        )
        opened.append(context)
        context.set_default_timeout(WAITED_MS)
        context.add_init_script(COUNTED + script)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(url)
        return page

    yield device
    for context in opened:
        context.close()
    assert errors == []


def made(city: Running, **more: Any) -> dict[str, Any]:
    """A meeting that has begun, as its host sees it."""
    meeting = planned(city, **more)
    assert act(city, meeting, "start")["state"] == "running"
    return meeting


def planned(city: Running, **more: Any) -> dict[str, Any]:
    """A meeting that was to begin a minute ago, as its host sees it."""
    now_ms = int(time.time() * 1000)
    body = {
        "title": "Autumn release",
        "room": {"name": "Room B", "lat": 56.1572, "lon": 10.2107},
        "starts": iso(now_ms - 60_000),
        "ends": iso(now_ms + 3_600_000),
        "attendees": [{"name": "Alice"}, {"name": "Bob"}],
        "agenda": [
            {"title": "Welcome", "minutes": 10, "speaker": "a1"},
            {"title": "What customers said", "minutes": 20, "speaker": "a2"},
        ],
        "rules": {"dwell_s": 0},
    }
    status, meeting, _ = city.ask("POST", "/meetings", body | more)
    assert status == 201, meeting
    found: dict[str, Any] = meeting
    return found


def act(city: Running, meeting: dict[str, Any], what: str, **more: Any) -> Any:
    """What the host does; the meeting after it."""
    status, answer, _ = city.ask("POST", f"/meetings/{meeting['id']}/actions", {"do": what, **more})
    assert status == 200, answer
    return answer


def change(city: Running, meeting: dict[str, Any], **fields: Any) -> None:
    """The host changes what was planned."""
    body = fields | {"version": seen(city, meeting)["version"]}
    status, answer, _ = city.ask("PATCH", f"/meetings/{meeting['id']}", body)
    assert status == 200, answer


def happened(city: Running, meeting: dict[str, Any]) -> Any:
    """What the host reads of what happened."""
    return city.ask("GET", f"/meetings/{meeting['id']}/entries")[1]


def seen(city: Running, meeting: dict[str, Any]) -> Any:
    """The meeting as its host sees it now."""
    return city.ask("GET", f"/meetings/{meeting['id']}")[1]


def join_as(page: Page, name: str = "Bob") -> None:
    page.get_by_label("Who are you?").select_option(name)
    page.get_by_role("button", name="Join").click()
    expect(page.get_by_role("heading", name="What may this device share?")).to_be_focused()


def enter(page: Page) -> None:
    """Join as Bob, and share nothing."""
    join_as(page)
    page.get_by_role("button", name="Join without sharing").click()
    expect(page.get_by_role("region", name="You now")).to_be_visible()


def in_room(city: Running, device: Open) -> tuple[dict[str, Any], Page]:
    """A meeting with a video room, and Bob's page, where it is open."""
    meeting = made(city, conference="jitsi")
    page = device(meeting["join"]["url"], DESKTOP)
    page.route(f"{JITSI}/external_api.js", _stub)
    enter(page)
    page.get_by_role("button", name="Open the room").click()
    return meeting, page


def leave(page: Page) -> None:
    """Press the button, and say that it is meant."""
    page.get_by_role("button", name="Leave meeting").tap()
    page.get_by_role("dialog").get_by_role("button", name="Leave meeting").tap()


def share(page: Page, *sensors: str) -> None:
    for sensor in sensors:
        page.get_by_role("switch", name=sensor, exact=True).check()
    page.get_by_role("button", name=f"Share {len(sensors)} and join").click()
    expect(page.locator(".meet-live")).to_be_visible()


def in_noise(city: Running, device: Open, *also: str) -> tuple[dict[str, Any], Page]:
    """A meeting, and Bob's page, who shares that it is too noisy around him to speak."""
    meeting = made(city)
    page = device(meeting["join"]["url"], SMALLEST)
    join_as(page)
    share(page, "Noise", *also)
    expect(page.get_by_role("img", name="Speak: off")).to_be_visible()
    return meeting, page


def until(is_so: Callable[[], bool], page: Page, within_s: float = WAITED_MS / 1000) -> None:
    """Wait, while the page goes on, until something is so."""
    deadline = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < deadline
        page.wait_for_timeout(50)


def test_who_comes_early_sees_how_long_it_is_until_the_meeting_begins(
    city: Running, device: Open, axe: str
) -> None:
    now_ms = int(time.time() * 1000)
    soon = {"starts": iso(now_ms + 12 * 60_000), "ends": iso(now_ms + 72 * 60_000)}
    page = device(planned(city, **soon)["join"]["url"])
    enter(page)
    wait = page.get_by_role("timer")
    expect(wait).to_have_text(re.compile(r"It begins in 1[12] min\."))
    assert serious(page, axe) == []
    late = planned(city)
    page = device(late["join"]["url"])
    enter(page)
    expect(page.get_by_role("timer")).to_contain_text("The host has not started it yet.")
    act(city, late, "start")
    expect(page.get_by_role("timer")).to_be_hidden()


@pytest.mark.thorough
def test_a_device_tells_what_it_is_made_to_sense_and_no_more_often_than_once_a_second(
    city: Running, device: Open
) -> None:
    meeting = made(city, rules={"dwell_s": 0, "silent_s": 3})
    page = device(meeting["join"]["url"], script=devices.SHAKEN)
    told = Told.by(page)
    join_as(page)
    share(page, "Noise", "Your location", "Motion", "Light", "Page in view")
    until(lambda: len(told.mqtt) >= 3 and {"noise_db", "motion_ms2"} <= told.values().keys(), page)
    values = told.values()
    assert values["noise_db"] == pytest.approx(devices.decibels(LOUD), abs=1)
    assert values["motion_ms2"] == pytest.approx(5, abs=0.1)
    assert (values["lat"], values["lon"]) == (56.1572, 10.2107)
    assert (values["visible"], values["light_lux"]) == (True, 400)
    assert values.keys().isdisjoint({"speed_kmh", "battery_pct", "network_mbps"})
    # What the broker did not confirm is posted once more, with the same time.
    times = sorted({parse_ms(message["at"]) for message in told.all})
    assert all(after - before >= 950 for before, after in pairwise(times))


@pytest.mark.thorough
def test_who_is_in_the_noise_sees_so_and_what_is_no_longer_shared_ends_at_once(
    city: Running, device: Open, axe: str
) -> None:
    meeting = made(city, rules={"dwell_s": 0, "silent_s": 3})
    page = device(meeting["join"]["url"])
    told = Told.by(page)
    assert serious(page, axe) == []
    join_as(page)
    expect(page.get_by_role("switch", name="Noise")).to_be_visible()
    assert serious(page, axe) == []
    share(page, "Noise", "Your location")
    own = page.get_by_role("region", name="You now")
    expect(own).to_contain_text("You cannot speak, listen or share the screen: too noisy")
    expect(own).to_contain_text("Find a quieter place.")
    expect(own.get_by_role("img", name="Location: in room")).to_be_visible()
    expect(page.get_by_role("region", name="Needed from you next")).to_contain_text(
        "You are the speaker"
    )
    page.set_viewport_size({"width": SMALLEST["width"], "height": SMALLEST["height"]})
    page.get_by_text("You share 2 sensors").tap()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert serious(page, axe) == []
    shown = str(seen(city, meeting)["people"])
    assert not [word for word in ("noise_db", "'lat'", "56.1572", "10.2107") if word in shown]

    page.get_by_role("switch", name="Noise").uncheck()
    ended_ms: int = page.evaluate("Date.now()")
    expect(own).to_contain_text("Not known whether you can speak, listen, read, chat or share")
    # Where they are is told, as a sign of life.
    until(lambda: parse_ms(told.all[-1]["at"]) > ended_ms, page)
    assert all(parse_ms(m["at"]) <= ended_ms for m in told.all if "noise_db" in m["values"])

    leave(page)
    expect(page.get_by_text("You have left. You share nothing any more.")).to_be_visible()
    (person,) = seen(city, meeting)["people"]
    assert person["left"] is not None


def test_all_of_it_by_keyboard_alone_and_the_host_is_heard(
    city: Running, device: Open, axe: str
) -> None:
    meeting = made(city, attendees=[], agenda=[{"title": "Welcome", "minutes": 10}])
    page = device(meeting["join"]["url"], DESKTOP, color_scheme="dark")
    keys.go_to(page, "Your name")
    page.keyboard.type("Dora")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What may this device share?")).to_be_focused()
    keys.press(page, "Join without sharing")
    expect(page.get_by_role("heading", name="Autumn release")).to_be_focused()
    keys.press(page, "Raise hand")
    expect(page.get_by_role("button", name="Lower hand")).to_have_attribute("aria-pressed", "true")
    (dora,) = seen(city, meeting)["people"]
    assert (dora["name"], dora["hand"]) == ("Dora", True)

    act(city, meeting, "mute", person=dora["id"])
    expect(page.get_by_text("The host asks you to mute.")).to_be_visible()
    assert serious(page, axe) == []
    keys.press(page, "Mute now")
    expect(page.get_by_role("button", name="Unmute")).to_be_visible()
    assert seen(city, meeting)["people"][0]["muted"] is True
    act(city, meeting, "end")
    expect(page.get_by_text("The meeting has ended.")).to_be_visible()
    expect(page.get_by_text(re.compile(r"You share \d"))).to_be_hidden()


def test_what_is_switched_off_stays_off_though_the_meeting_cannot_hear_it(
    city: Running, device: Open
) -> None:
    meeting, page = in_noise(city, device, "Your location")
    page.get_by_text("You share 2 sensors").tap()
    noise = page.get_by_role("switch", name="Noise")
    expect(page.get_by_text("Counts as too noisy from 80 dB.")).to_be_visible()
    bounds = {"noise": {"upper": 90, "hysteresis": 5}}
    change(city, meeting, rules={"thresholds": bounds})
    expect(page.get_by_role("status").filter(has_text="too noisy from 90 dB")).to_be_visible()
    expect(noise).to_have_accessible_description(re.compile("90 dB. Changed by the host at"))

    asked = page.evaluate("microphones")
    page.route(SHARING, lambda route: route.abort())
    with page.expect_request(SHARING):
        noise.uncheck()
    with page.expect_request(SHARING):
        page.evaluate(ONLINE)
    expect(page.get_by_text("Turned off here.")).to_be_visible()
    assert (noise.is_checked(), page.evaluate("microphones")) == (False, asked)
    page.unroute(SHARING)
    with page.expect_response(SHARING) as heard:
        page.evaluate(ONLINE)
    assert heard.value.json()["me"]["sharing"] == ["distance"]
    expect(page.get_by_text("Turned off here.")).to_be_hidden()
    assert (noise.is_checked(), page.evaluate("microphones")) == (False, asked)


def test_who_leaves_shares_nothing_though_the_meeting_cannot_hear_it(
    city: Running, device: Open
) -> None:
    meeting, page = in_noise(city, device)
    asked = page.evaluate("microphones")
    page.route(OWN, lambda route: _refuse(route, "DELETE"))
    (bob,) = seen(city, meeting)["people"]
    act(city, meeting, "mute", person=bob["id"])
    wanted = page.get_by_text("The host asks you to mute.")
    expect(wanted).to_be_visible()
    page.get_by_role("button", name="Raise hand").tap()
    expect(page.locator(".toast")).to_be_visible()  # It must not be in the way.
    page.get_by_role("button", name="Leave meeting").tap()
    with page.expect_request(OWN):
        page.get_by_role("dialog").get_by_role("button", name="Leave meeting").tap()
    with page.expect_request(OWN):
        page.evaluate(ONLINE)
    expect(page.get_by_text("You are leaving. You share nothing any more")).to_be_visible()
    expect(wanted).to_be_hidden()
    assert page.evaluate("microphones") == asked
    page.unroute(OWN)
    page.evaluate(ONLINE)
    expect(page.get_by_text("You have left. You share nothing any more.")).to_be_visible()
    (person,) = seen(city, meeting)["people"]
    assert person["left"] is not None


def test_who_leaves_can_have_what_was_concluded_taken_out_of_the_minutes(
    city: Running, device: Open
) -> None:
    meeting, page = in_noise(city, device)
    assert "noise" in str(happened(city, meeting))
    leaving = re.compile(r"/people/me\?forget=true$")
    page.route(leaving, lambda route: route.abort())
    page.get_by_role("button", name="Leave meeting").tap()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Also remove conclusions").check()
    # Once it has begun only, it would still come through where nothing refuses it any more.
    with page.expect_event("requestfailed", lambda one: bool(leaving.search(one.url))):
        dialog.get_by_role("button", name="Leave meeting").tap()
    page.unroute(leaving)
    page.reload()  # It is not forgotten with the page what was wanted.
    expect(page.get_by_text("the minutes contain nothing from your sensors")).to_be_visible()
    assert "noise" not in str(happened(city, meeting))


def test_a_meeting_that_begins_again_starts_no_microphone(city: Running, device: Open) -> None:
    meeting = made(city)
    page = device(meeting["join"]["url"])
    told = Told.by(page)
    join_as(page)
    share(page, "Noise")
    expect(page.get_by_role("img", name="Speak: off")).to_be_visible()
    asked = page.evaluate("microphones")
    act(city, meeting, "end")
    expect(page.get_by_text("The meeting has ended. You share nothing any more.")).to_be_visible()
    act(city, meeting, "start")
    expect(page.get_by_text("Nothing is shared: the meeting was over")).to_be_visible()
    noise = page.get_by_role("switch", name="Noise")
    expect(noise).not_to_be_checked()
    assert page.evaluate("microphones") == asked
    told.mqtt.clear()
    noise.check()
    until(lambda: bool(told.mqtt), page)  # The way there was before.


def _refuse(route: Route, method: str) -> None:
    """The network is away for requests of one kind."""
    if route.request.method == method:
        route.abort()
    else:
        route.fallback()


def test_without_a_broker_for_browsers_readings_are_posted(city: Running, device: Open) -> None:
    page = device(made(city)["join"]["url"])
    page.route("**/people/me/mqtt", lambda route: route.fulfill(json={"mqtt": None}))
    told = Told.by(page)
    join_as(page)
    with page.expect_response("**/people/me/readings") as answered:
        share(page, "Noise")
    assert answered.value.status == 202
    until(lambda: "noise_db" in told.values(), page)
    expect(page.get_by_role("img", name="Speak: off")).to_be_visible()
    assert told.mqtt == []


def test_the_video_room_is_muted_as_the_meeting_wants_it_and_unmuted_by_oneself_alone(
    city: Running, device: Open
) -> None:
    meeting, page = in_room(city, device)
    expect(page.get_by_role("button", name="Share screen")).to_be_enabled()
    (opened,) = page.evaluate("window.calls ?? []")
    assert opened[1:] == ["meet.example.org", opened[2], "Bob"]
    assert opened[2].startswith("citywise-")

    page.evaluate("room.heard.audioMuteStatusChanged({muted: false})")
    until(lambda: seen(city, meeting)["people"][0]["muted"] is False, page)
    (bob,) = seen(city, meeting)["people"]
    act(city, meeting, "mute", person=bob["id"])
    page.get_by_role("button", name="Mute now").click()
    until(lambda: page.evaluate("window.calls ?? []").count(["toggleAudio"]) == 1, page)
    page.evaluate("room.heard.audioMuteStatusChanged({muted: true})")
    act(city, meeting, "unmute", person=bob["id"])
    page.get_by_role("button", name="Unmute now").click()
    until(lambda: page.evaluate("window.calls ?? []").count(["toggleAudio"]) == 2, page)

    act(city, meeting, "ask_to_present", person=bob["id"])
    asked = page.get_by_role("status").filter(has_text="The host asks you to share")
    expect(asked).to_contain_text("The host asks you to share your screen.")
    asked.get_by_role("button", name="Share screen").click()
    until(lambda: page.evaluate("window.calls ?? []").count(["toggleShareScreen"]) == 1, page)
    page.evaluate("room.heard.screenSharingStatusChanged({on: true})")
    expect(asked).to_be_hidden()
    assert seen(city, meeting)["people"][0]["presents"] is True
    page.get_by_role("button", name="Stop sharing the screen").click()
    until(lambda: page.evaluate("window.calls ?? []").count(["toggleShareScreen"]) == 2, page)


def test_who_cannot_share_the_screen_is_told_why_and_may_say_no(
    city: Running, device: Open
) -> None:
    meeting, page = in_noise(city, device)
    (bob,) = seen(city, meeting)["people"]
    act(city, meeting, "ask_to_present", person=bob["id"])
    asked = page.get_by_role("status").filter(has_text="The host asks you to share")
    expect(asked).to_contain_text("You cannot share the screen: too noisy")
    expect(asked.get_by_role("button", name="Share screen")).to_be_disabled()
    asked.get_by_role("button", name="Not now").tap()
    expect(asked).to_be_hidden()
    (bob,) = seen(city, meeting)["people"]
    assert (bob["asked"], bob["presents"]) == (None, False)


def test_who_is_removed_learns_it_though_nothing_live_comes_through(
    city: Running, device: Open
) -> None:
    meeting = made(city)
    page = device(meeting["join"]["url"], SMALLEST)
    page.route(re.compile(r"/people/me/events"), lambda route: route.abort())
    enter(page)
    (bob,) = seen(city, meeting)["people"]
    act(city, meeting, "remove", person=bob["id"])
    expect(page.get_by_text("You are no longer in this meeting.")).to_be_visible()


def test_a_meeting_that_one_joined_is_found_again_without_the_link(
    city: Running, device: Open, axe: str
) -> None:
    title = fresh("Found again")
    meeting = made(city, title=title)
    page = device(meeting["join"]["url"], SMALLEST)
    join_as(page)
    page.goto(f"{city.url}/meetings")
    mine = page.get_by_role("region", name="Meetings you take part in")
    expect(mine.get_by_role("heading", name=title)).to_be_visible()
    assert serious(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    mine.get_by_role("link", name=title).tap()
    page.get_by_role("button", name="Join without sharing").tap()
    leave(page)
    expect(page.get_by_text("You have left. You share nothing any more.")).to_be_visible()
    page.goto(f"{city.url}/meetings")
    expect(page.get_by_role("link", name=title)).to_have_count(1)  # As its host.
    expect(mine).to_be_hidden()


@pytest.mark.thorough
def test_who_logs_out_is_in_no_meeting_and_the_browser_knows_of_none(
    city: Running, device: Open
) -> None:
    meeting = made(city, title="Secret merger")
    page = device(meeting["join"]["url"], DESKTOP)
    name = fresh("Nora")
    assert page.evaluate(SIGN_UP, {"name": name, "password": PASSWORD}) == 201
    page.reload()
    enter(page)
    other = page.context.new_page()
    other.goto(f"{city.url}/meet/{meeting['id']}")
    expect(other.get_by_role("region", name="You now")).to_be_visible()
    page.get_by_label(f"Your account: {name}").click()
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(f"{city.url}/")
    (nora,) = seen(city, meeting)["people"]
    assert nora["left"] is not None
    expect(other.get_by_role("heading", name="No meeting here")).to_be_visible()
    assert page.evaluate("Object.keys(localStorage).filter((name) => /meeting/.test(name))") == []
    assert other.evaluate("Object.keys(sessionStorage).length") == 0


def _stub(route: Route) -> None:
    route.fulfill(body=JITSI_STUB, content_type="text/javascript")


@pytest.fixture(scope="module")
def blank(loud: Browser, city: Running) -> Iterator[Page]:
    """A page of ours on which nothing happens, for asking its modules."""
    page = loud.new_page(service_workers="block")
    page.goto(f"{city.url}/offline")
    yield page
    page.close()


READINGS = """async () => {
    const { src } = document.querySelector('script[src*="/meet/"]');
    const at = src.replace(/meet\\/.*/, 'meet/');
    const { Readings } = await import(at + 'readings.js');
    const all = new Readings();
    const told = [];
    const look = (now) => {
        const due = all.due(now);
        if (due) all.sent(due, now);
        told.push(due);
    };
    all.take('noise', { noise_db: 60 }, 0); all.take('visible', { visible: true }, 0, Infinity);
    look(0);
    all.take('noise', { noise_db: 75 }, 500); look(500); look(1000);
    all.take('noise', { noise_db: 75.5 }, 2000); look(2000);
    all.take('noise', { noise_db: 75.5 }, 5000); look(5000);
    look(10_000);
    all.drop('visible'); look(20_000);
    return told;
}"""
LIFE = """async () => {
    const { src } = document.querySelector('script[src*="/meet/"]');
    const at = src.replace(/meet\\/.*/, 'meet/');
    const { Readings } = await import(at + 'readings.js');
    const all = new Readings();
    all.heedSilence(6);
    all.take('noise', { noise_db: 60 }, 0, Infinity); all.sent({ noise_db: 60 }, 0);
    return [all.due(1999), all.due(2000)];
}"""
VIEWS = """async () => {
    const { src } = document.querySelector('script[src*="/meet/"]');
    const at = src.replace(/meet\\/.*/, 'meetings/');
    const { MeetingStore } = await import(at + 'meeting-store.js');
    const store = new MeetingStore('m-x');
    const views = [['10:00:00Z', 'first'], ['10:00:00.900Z', 'second'], ['10:00:00.100Z', 'late'],
        ['09:00:00Z', 'clock put back']];
    const answer = window.fetch;
    const shown = [];
    for (const [time, title] of views) {
        window.fetch = async () => Response.json({ now: `2026-11-22T${time}`, title });
        await store.load();
        shown.push(store.view.title);
    }
    window.fetch = answer;
    return shown;
}"""
SPEED = """async () => {
    const { src } = document.querySelector('script[src*="/meet/"]');
    const at = src.replace(/meet\\/.*/, 'meet/');
    const { speed } = await import(at + 'sensors/position.js');
    const { level } = await import(at + 'sensors/noise.js');
    const fix = (latitude, at, speed = null) =>
        ({ coords: { latitude, longitude: 10, accuracy: 10, speed }, at });
    const first = fix(56, 0);
    const stood = { ...first, isStanding: true };
    return [[first, null], [fix(56.0005, 2000), first], [fix(56.00001, 2000), first],
        [fix(56.00001, 5000), first], [fix(56.00001, 2000), stood], [fix(56.1, 2000), stood],
        [fix(56, 1000, 10), first]]
        .map((fixes) => speed(...fixes).kmh).concat([level([0, 0]), level([1, -1])]);
}"""


def test_what_has_changed_is_told_and_everything_as_a_sign_of_life(blank: Page) -> None:
    assert blank.evaluate(READINGS) == [
        {"noise_db": 60, "visible": True},
        None,  # Not a second has passed.
        {"noise_db": 75},
        None,  # No news.
        {"visible": True},  # Told five seconds ago; the noise but four.
        {"visible": True},  # Of the noise nothing was heard for too long.
        None,
    ]


def test_signs_of_life_are_as_frequent_as_the_meeting_wants_them(blank: Page) -> None:
    assert blank.evaluate(LIFE) == [None, {"noise_db": 60}]


def test_views_of_one_second_are_taken_in_their_order(blank: Page) -> None:
    assert blank.evaluate(VIEWS) == ["first", "second", "second", "clock put back"]


def test_speed_is_worked_out_between_two_positions_and_silence_is_no_level(blank: Page) -> None:
    unknown, driving, vague, standing, still, wrong, told, silent, full = blank.evaluate(SPEED)
    assert (unknown, vague, wrong, silent) == (None, None, None, None)
    assert (standing, still) == (0, 0)
    assert driving == pytest.approx(100, rel=0.01)
    assert (told, full) == (36, 0)


@pytest.mark.thorough
def test_what_the_meeting_ends_stops_here_and_is_shared_again_only_by_a_press(
    city: Running, device: Open, axe: str
) -> None:
    meeting = made(city)
    page = device(meeting["join"]["url"], SMALLEST)
    told = Told.by(page)
    join_as(page)
    share(page, "Noise", "Your location")
    loud = page.get_by_role("img", name="Speak: off")
    expect(loud).to_be_visible()
    asked = page.evaluate("microphones")
    for upper in (70, 71, 72):
        change(city, meeting, rules={"thresholds": {"noise": {"upper": upper}}})
    why = page.get_by_role("status").filter(has_text="Not shared any more: Noise. Within an hour")
    expect(why).to_be_visible()
    expect(loud).to_be_hidden()
    expect(page.get_by_text("You share 1 sensor")).to_be_visible()
    assert serious(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    ended_ms: int = page.evaluate("Date.now()")
    until(lambda: parse_ms(told.all[-1]["at"]) > ended_ms, page)  # Where they are, once more.
    assert all(parse_ms(m["at"]) <= ended_ms for m in told.all if "noise_db" in m["values"])

    assert page.evaluate("microphones") == asked
    page.get_by_role("button", name="Share again").tap()
    expect(why).to_be_hidden()
    expect(loud).to_be_visible()
    assert page.evaluate("microphones") == asked + 1

    change(city, meeting, room={"name": "Room B", "lat": 56.2, "lon": 10.2})
    moved = page.get_by_role("status").filter(has_text="Your location. The host has moved")
    expect(moved).to_be_visible()
    page.get_by_role("button", name="Leave it off").tap()
    expect(moved).to_be_hidden()
    page.get_by_text("You share 1 sensor").tap()
    expect(page.get_by_role("switch", name="Your location")).not_to_be_checked()
    expect(page.get_by_role("switch", name="Noise")).to_be_checked()


def test_who_is_there_twice_is_told_and_who_is_removed_is_alone(
    city: Running, device: Open
) -> None:
    meeting = made(city)
    pages = [device(meeting["join"]["url"], SMALLEST) for _ in range(2)]
    for page in pages:
        enter(page)
    for page in pages:
        expect(page.get_by_text("You have joined with 2 devices.")).to_be_visible()
    second = next(one for one in seen(city, meeting)["people"] if one["device"] == 2)
    act(city, meeting, "remove", person=second["id"])
    expect(pages[0].get_by_text("You have joined with")).to_be_hidden()
    expect(pages[1].get_by_text("You are no longer in this meeting.")).to_be_visible()
    expect(pages[1].get_by_text("This link no longer works.")).to_be_visible()


def test_whoever_is_in_the_video_room_moves_on_when_the_link_is_new(
    city: Running, device: Open
) -> None:
    """Or who is removed would stay there, and who comes would be alone."""
    meeting, page = in_room(city, device)
    until(lambda: len(page.evaluate("window.calls ?? []")) == 1, page)
    act(city, meeting, "new_link")
    until(lambda: len(page.evaluate("window.calls ?? []")) == 3, page)
    first, left, second = page.evaluate("window.calls ?? []")
    assert (first[0], left, second[0]) == ("open", ["dispose"], "open")
    assert first[2] != second[2]


def test_minutes_say_how_long_each_spoke_while_all_agree(
    city: Running, device: Open, axe: str
) -> None:
    """The host asks for it; who withdraws after the end takes it out."""
    meeting = made(city)
    link = meeting["join"]["url"]
    bob, alice = device(link), device(link, DESKTOP)
    enter(bob)
    join_as(alice, "Alice")
    alice.get_by_role("button", name="Join without sharing").click()
    card = bob.get_by_role("region", name="Talk time")
    expect(card).to_be_hidden()
    host = device(f"{link.partition('/meet/')[0]}/meetings/{meeting['id']}", DESKTOP)
    host.get_by_role("button", name="Edit").click()
    dialog = host.get_by_role("dialog")
    dialog.get_by_text("Thresholds and rules", exact=True).click()
    dialog.get_by_label("ask whether the minutes may say how long each spoke").check()
    dialog.get_by_role("button", name="Save").click()
    name = "The minutes may say how long I spoke"
    card.get_by_role("switch", name=name).check()
    expect(card).to_contain_text("Not everybody agrees: the minutes do not say it.")
    alice.get_by_role("switch", name=name).check()
    expect(card).to_contain_text("Everybody agrees: the minutes say it.")
    assert serious(bob, axe) == []
    act(city, meeting, "end")
    expect(bob.locator(".meet-chip")).to_have_text("Ended")
    file = f"fetch('/api/v1/meetings/{meeting['id']}/minutes.md').then((answer) => answer.text())"
    assert "Alice: 1 min" in host.evaluate(file)
    card.get_by_role("switch", name=name).uncheck()
    expect(bob.locator(".toast")).to_contain_text("do not say how long anybody spoke")
    assert "Alice: 1 min" not in host.evaluate(file)
