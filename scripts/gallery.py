"""Take the pictures of docs/gallery.md and the README: the main screens of a running system.

citywise demo --port 8010 --speed 1
python -m scripts.gallery http://127.0.0.1:8010    # all, or those named after it
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, Playwright, expect, sync_playwright

from citywise.backend import machine
from tests.browser.devices import hears, tone

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images" / "gallery"
SIZES = {"phone": (390, 844), "desktop": (1280, 800)}
ENDS = "from=56.135,10.165&from_name=Engdalen&to=56.160,10.205&to_name=Nordbyen"
PARKING = "for=parking&to=56.155,10.213&to_name=Havnen&radius=1500"
LIVE, FOUND = "city-connection[data-loaded=true]", "ol.options > li"
SCREENS = {
    "map-desktop": ("/", LIVE),
    "map-phone": ("/", LIVE),
    "plan-desktop": (f"/plan?{ENDS}", FOUND),
    "plan-phone": (f"/plan?{ENDS}", FOUND),
    "parking-phone": (f"/plan?{PARKING}", FOUND),
    "list-desktop": ("/list", LIVE),
    "apps-phone": ("/apps", "app-shelf article"),
    "account-desktop": ("/account", "#consents input"),
    "meetings-phone": ("/meetings", "main h2"),
    "system-desktop": ("/system", "main [role=tab]"),
}
"""By name, which ends with the size: the address, and what is there when the page is."""
MEETING = ("meeting-host-desktop", "meeting-participant-phone")
"""One meeting, whose next speaker is where it has become loud."""
_SETTLED_MS, _LONG_MS = 3_000, 120_000
_CREATE = """async (meeting) => {
    const asked = { method: 'POST', headers: { 'Content-Type': 'application/json' },
                    body: JSON.stringify(meeting) };
    return (await fetch('/api/v1/meetings', asked)).json();
}"""


@contextmanager
def screen(driver: Playwright, url: str, name: str, *flags: str) -> Iterator[Page]:
    """A page of a browser of its own, light, in English; its picture is taken at the end."""
    width, height = SIZES[name.rpartition("-")[2]]
    path = str(machine.chromium())
    browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", *flags])
    page = browser.new_page(
        viewport={"width": width, "height": height}, locale="en-GB", service_workers="block"
    )
    page.context.add_cookies([{"name": "theme", "value": "light", "url": url}])
    yield page
    page.wait_for_timeout(_SETTLED_MS)
    page.screenshot(path=FOLDER / f"{name}.png")
    browser.close()


def meeting(driver: Playwright, url: str) -> None:
    """The host's page and a participant's."""
    now = datetime.now(UTC)
    minutes = [("Welcome", None, 10), ("Semantic Web", "a1", 15), ("Budget", "a2", 10)]
    wanted = {
        "title": "Project meeting",
        "room": {"name": "Room B"},
        "starts": now.isoformat(),
        "ends": (now + timedelta(hours=1)).isoformat(),
        "attendees": [{"id": "a1", "name": "Bob Simmons"}, {"id": "a2", "name": "Charlie Wilson"}],
        "agenda": [{"title": t, "speaker": who, "minutes": m} for t, who, m in minutes],
    }
    with TemporaryDirectory() as folder, ExitStack() as screens:
        drill = tone(Path(folder) / "drill.wav", (20, 0.0005), (300, 0.4))
        host = screens.enter_context(screen(driver, url, MEETING[0]))
        host.goto(f"{url}/meetings")
        made = host.evaluate(_CREATE, wanted)
        host.goto(f"{url}/meetings/{made['id']}")
        host.get_by_role("button", name="Start meeting").click()
        bob = screens.enter_context(screen(driver, url, MEETING[1], *hears(drill)))
        bob.goto(f"{url}/meet/{made['id']}?key={made['join']['key']}")
        bob.get_by_label("Who are you?").select_option("Bob Simmons")
        bob.get_by_role("button", name="Join", exact=True).click()
        bob.get_by_label("Noise", exact=True).check()
        bob.get_by_role("button", name="Share 1 and join").click()
        expect(host.get_by_text("Another order fits better now").first).to_be_visible(
            timeout=_LONG_MS
        )


def main() -> None:
    """Take them all, or those that are named."""
    url, *names = sys.argv[1:]
    url = url.rstrip("/")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        for name in names or SCREENS:
            if name in SCREENS:
                address, there = SCREENS[name]
                with screen(driver, url, name) as page:
                    page.goto(url + address)
                    page.locator(there).first.wait_for(timeout=_LONG_MS)
        if not names or set(names) & set(MEETING):
            meeting(driver, url)


if __name__ == "__main__":
    main()
