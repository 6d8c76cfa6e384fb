"""How fast and still the pages load on a phone: requests, bytes, when they are usable, what moves.

`python benchmarks/pages.py http://127.0.0.1:8080 [--json]`, beside a running system. Each page is
loaded cold in Chromium at 390 × 844 with 1.6 Mbit/s, 150 ms and a processor four times slower;
whatever is beyond its bound is marked, and then the exit status is 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from citywise.backend import machine

PAGES = {
    "/": ".garage-pin, .event-pin",
    "/plan": "plan-form input",
    "/list": "city-garages > *",
    "/apps": "app-shelf",
    "/account": "account-logins",
    "/system": "main h1",
    "/meetings": "meetings-list",
}
"""Addresses, and what is there once one can use the page."""
BOUNDS = {
    "requests": 25,
    "bytes": 250_000,
    "usable_ms": 3_000,
    "shift": 0.1,
    "longest_task_ms": 100,
}
"""Of the map and the plan; `shift` of every page."""
STRICT = ("/", "/plan")
PHONE = {"width": 390, "height": 844}
SLOW = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 93_750}
SETTLED_MS = 4_000
_WATCH = """
window.measured = { shift: 0, longest: 0 };
new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
  if (!entry.hadRecentInput) window.measured.shift += entry.value;
})).observe({ type: 'layout-shift', buffered: true });
new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
  window.measured.longest = Math.max(window.measured.longest, entry.duration);
})).observe({ type: 'longtask', buffered: true });
"""


def main() -> int:
    """Measure, tell, and say by the exit status whether all is within its bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="the address of a running system")
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    given = parser.parse_args()
    with sync_playwright() as driver:
        path = str(machine.chromium())
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        found = {path: measured(browser, given.url.rstrip("/"), path) for path in PAGES}
        browser.close()
    if given.json:
        print(json.dumps(found, indent=1))
    else:
        for path, figures in found.items():
            told = [
                f"{name} {value:g}{'!' * beyond(path, name, value)}"
                for name, value in figures.items()
            ]
            print(f"{path:10} {'  '.join(told)}")
    return int(any(beyond(path, *each) for path, all_ in found.items() for each in all_.items()))


def beyond(path: str, name: str, value: float) -> bool:
    """Whether a figure of a page is beyond its bound."""
    return (path in STRICT or name == "shift") and value > BOUNDS[name]


def measured(browser: Browser, url: str, path: str) -> dict[str, float]:
    """What one cold load of a page takes."""
    context = browser.new_context(
        viewport=PHONE, is_mobile=True, has_touch=True, service_workers="block"
    )
    page = context.new_page()
    page.add_init_script(_WATCH)
    tally = _tally(page)
    page.goto(url + path, wait_until="commit")
    page.wait_for_selector(PAGES[path], state="attached", timeout=60_000)
    usable = page.evaluate("performance.now()")
    page.wait_for_timeout(SETTLED_MS)
    watched = page.evaluate("window.measured")
    context.close()
    return {
        **tally,
        "usable_ms": round(usable),
        "shift": round(watched["shift"], 3),
        "longest_task_ms": round(watched["longest"]),
    }


def _tally(page: Page) -> dict[str, float]:
    """Slow the page down, and count what it asks for and gets, as it goes over the wire."""
    tally: dict[str, float] = {"requests": 0, "bytes": 0}
    wire = page.context.new_cdp_session(page)
    wire.send("Network.enable")
    wire.send("Network.emulateNetworkConditions", SLOW)
    wire.send("Emulation.setCPUThrottlingRate", {"rate": 4})

    def add(name: str, by: float) -> None:
        tally[name] += by

    def finished(told: dict[str, Any]) -> None:
        add("bytes", told["encodedDataLength"])

    wire.on("Network.requestWillBeSent", lambda _: add("requests", 1))
    wire.on("Network.loadingFinished", finished)
    return tally


if __name__ == "__main__":
    sys.exit(main())
