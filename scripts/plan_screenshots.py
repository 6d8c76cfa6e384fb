"""Take the pictures of the planners in docs/images, of a running system with the Aarhus data.

citywise demo --data DATA --start 2014-08-05T09:30+02:00 --speed 1 --port 8010
python scripts/plan_screenshots.py http://127.0.0.1:8010
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from playwright.sync_api import Browser, expect, sync_playwright

from citywise.backend import machine

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"
SIZES = {"phone": (390, 844), "desktop": (1366, 850)}
PAGES = {
    "plan": "/plan?from=56.173730,10.214092&from_name=Skejbyvej&to=56.151100,10.204200"
    "&to_name=Park%20All%C3%A9&wishes=time,pollution",
    "parking": "/plan?for=parking&from=56.173730,10.214092&from_name=Skejbyvej"
    "&to=56.156349,10.205186&to_name=%C3%85boulevarden&wishes=walk,cost",
}


def picture(browser: Browser, url: str, page_name: str, size: str) -> None:
    """One picture, of a plan that is answered; on a phone of the page's head and first results."""
    width, height = SIZES[size]
    page = browser.new_page(viewport={"width": width, "height": height}, locale="en-GB")
    page.context.add_cookies([{"name": "theme", "value": "light", "url": url}])
    page.goto(url + PAGES[page_name])
    start = page.get_by_role("button", name=re.compile("^(Start|Park here)"))
    expect(start.first).to_be_visible(timeout=20_000)
    page.wait_for_timeout(1500)
    page.screenshot(path=FOLDER / f"{page_name}-{size}.png")
    page.close()


def main() -> None:
    """Take them all."""
    url = sys.argv[1].rstrip("/")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=str(machine.chromium()), args=["--no-sandbox"]
        )
        for page_name in PAGES:
            for size in SIZES:
                picture(browser, url, page_name, size)
        browser.close()


if __name__ == "__main__":
    main()
