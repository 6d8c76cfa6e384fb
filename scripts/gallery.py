"""Take the pictures of docs/gallery.md: the ten main screens of a running system.

citywise demo --port 8010
python scripts/gallery.py http://127.0.0.1:8010
"""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from citywise.backend import machine

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images" / "gallery"
SIZES = {"phone": (390, 844), "desktop": (1280, 800)}
ENDS = "from=56.135,10.165&from_name=Skovbakken&to=56.160,10.205&to_name=Torvet"
SCREENS = {
    "map-desktop": "/",
    "map-phone": "/",
    "plan-desktop": f"/plan?{ENDS}",
    "plan-phone": f"/plan?{ENDS}",
    "parking-phone": "/plan?for=parking&to=56.155,10.218&to_name=Havnen&radius=1500",
    "list-desktop": "/list",
    "apps-phone": "/apps",
    "account-desktop": "/account",
    "meetings-phone": "/meetings",
    "system-desktop": "/system",
}
"""Name, which ends with the size, and address."""
_SETTLED_MS = 5_000


def picture(browser: Browser, url: str, name: str) -> None:
    """One screen, light, in English."""
    width, height = SIZES[name.rpartition("-")[2]]
    page = browser.new_page(
        viewport={"width": width, "height": height}, locale="en-GB", service_workers="block"
    )
    page.context.add_cookies([{"name": "theme", "value": "light", "url": url}])
    page.goto(url + SCREENS[name])
    page.wait_for_timeout(_SETTLED_MS)
    page.screenshot(path=FOLDER / f"{name}.png")
    page.close()


def main() -> None:
    """Take them all."""
    url = sys.argv[1].rstrip("/")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        path = str(machine.chromium())
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name in SCREENS:
            picture(browser, url, name)
        browser.close()


if __name__ == "__main__":
    main()
