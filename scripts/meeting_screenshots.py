"""Take the pictures of the meeting manager in docs/images, of a running demo.

citywise demo --port 8010
python scripts/meeting_screenshots.py http://127.0.0.1:8010
"""

from __future__ import annotations

import json
import re
import sys
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from citywise.backend import machine

Json = dict[str, Any]
FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"
SIZES = {"phone": (390, 844), "desktop": (1366, 850)}
ROOM = {"name": "Room B", "lat": 56.1551, "lon": 10.2085}
IN_ROOM = {"lat": 56.1551, "lon": 10.2085, "accuracy_m": 8}
AWAY = {"lat": 56.1490, "lon": 10.2040, "accuracy_m": 8}
QUIET = {"noise_db": 48, "light_lux": 420, "proximity_cm": 5, "speed_kmh": 0, "visible": True}
PEOPLE: tuple[tuple[str, str, Json], ...] = (
    ("Alice Maud Mary", "a1", {**QUIET, **IN_ROOM}),
    ("Bob Simmons", "a2", {**QUIET, **AWAY, "noise_db": 92}),
    ("Charlie Wilson", "a3", {**QUIET, **AWAY, "speed_kmh": 64}),
)
SENSORS = ["noise", "light", "proximity", "speed", "distance", "visible"]
AGENDA = (
    {"id": "i1", "title": "Semantic Web roadmap", "speaker": "a1", "minutes": 15},
    {"id": "i2", "title": "Customer budget", "speaker": "a2", "minutes": 15, "sensitive": True},
    {"id": "i3", "title": "Demo of the client", "speaker": "a1", "minutes": 10},
    {"id": "i4", "title": "Next steps", "type": "decision", "minutes": 10},
)


def ask(url: str, path: str, body: Json) -> Json:
    """What the API answers to the demo's user, who hosts."""
    request = urllib.request.Request(
        f"{url}/api/v1{path}",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Origin": url},
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        return cast("Json", json.load(answer))


def begun(url: str) -> Json:
    """A meeting of three that has begun."""
    now = datetime.now(UTC)
    made = ask(
        url,
        "/meetings",
        {
            "title": "Business meeting",
            "room": ROOM,
            "starts": now.isoformat(),
            "ends": (now + timedelta(hours=1)).isoformat(),
            "attendees": [{"id": number, "name": name} for name, number, _ in PEOPLE],
            "agenda": list(AGENDA),
            "rules": {"dwell_s": 0, "silent_s": 600},
        },
    )
    return ask(url, f"/meetings/{made['id']}/actions", {"do": "start"})


def looked_at(browser: Browser, url: str, size: str) -> BrowserContext:
    """A browser of a size, in English and light."""
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height}, locale="en-GB")
    cookies = {"theme": "light", "lang": "en"}
    context.add_cookies([{"name": n, "value": v, "url": url} for n, v in cookies.items()])
    return context


def joined(page: Page, meeting: Json, name: str) -> None:
    """Somebody joins by the link."""
    page.goto(meeting["join"]["url"])
    page.get_by_role("combobox").select_option(label=name)
    page.get_by_role("button", name="Join").click()
    page.get_by_role("button", name="Enter without sharing").click()
    expect(page.locator(".meet-live")).to_be_visible()


def told(page: Page, url: str, meeting: Json, values: Json) -> None:
    """What somebody's device tells, once they share it."""
    own = f"{url}/api/v1/meetings/{meeting['id']}/people/me"
    headers = {"Origin": url}
    sharing = {"sensors": SENSORS}
    assert page.request.put(f"{own}/sharing", data=sharing, headers=headers).ok
    body = {"at": datetime.now(UTC).isoformat(), "values": values}
    assert page.request.post(f"{own}/readings", data=body, headers=headers).ok


def picture(page: Page, name: str, size: str) -> None:
    """One picture, when all has come to rest."""
    page.wait_for_timeout(800)
    page.screenshot(path=FOLDER / f"meeting-{name}-{size}.png")
    page.close()


def take(browser: Browser, url: str) -> None:
    """All pictures of one meeting: noise around Bob, Charlie at the wheel."""
    meeting = begun(url)
    hosts = {size: looked_at(browser, url, size) for size in SIZES}
    panels = {size: context.new_page() for size, context in hosts.items()}
    for panel in panels.values():
        panel.goto(f"{url}/meetings/{meeting['id']}")
    seats = [looked_at(browser, url, size).new_page() for size in ("desktop", "phone", "phone")]
    for page, (name, _, _) in zip(seats, PEOPLE, strict=True):
        joined(page, meeting, name)
    for page, (_, _, values) in zip(seats, PEOPLE, strict=True):
        told(page, url, meeting, values)
    for size, panel in panels.items():
        speak = panel.get_by_role("listitem", name="Bob Simmons").get_by_role("img")
        expect(speak.first).to_have_attribute("aria-label", re.compile("off"), timeout=20_000)
        expect(panel.get_by_role("region", name="Proposal", exact=True)).to_be_visible()
        if size == "phone":
            panel.locator(".people").evaluate("(part) => part.scrollIntoView()")
        picture(panel, "host", size)
    picture(seats[1], "participant", "phone")
    picture(seats[0], "participant", "desktop")


def main() -> None:
    """Take them all."""
    url = sys.argv[1].rstrip("/")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=str(machine.chromium()), args=["--no-sandbox"]
        )
        take(browser, url)
        browser.close()


if __name__ == "__main__":
    main()
