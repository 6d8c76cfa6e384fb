"""How fast and still the pages load on a phone: requests, bytes, when they are usable, what moves.

    citywise bench pages                          # of a demo that is started for it
    citywise bench pages http://127.0.0.1:8080    # of a running system

Each page is loaded cold in Chromium at 390 × 844 with 1.6 Mbit/s, 150 ms and a processor four
times slower; whatever is beyond its bound is marked with `!`.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.measured.demo import demo
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


def run(url: str = "") -> list[dict[str, Any]]:
    """A row for each page."""
    system = nullcontext(url.rstrip("/")) if url else demo()
    with system as address, sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=str(machine.chromium()), args=["--no-sandbox"]
        )
        found = [{"page": path, **measured(browser, address, path)} for path in PAGES]
        browser.close()
    return found


def report(results: list[dict[str, Any]]) -> str:
    """A line for each page."""
    lines = []
    for row in results:
        path = row["page"]
        figures = [(name, value) for name, value in row.items() if name != "page"]
        told = [f"{name} {value:g}{'!' * beyond(path, name, value)}" for name, value in figures]
        lines.append(f"{path:10} {'  '.join(told)}")
    return "\n".join(lines)


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
