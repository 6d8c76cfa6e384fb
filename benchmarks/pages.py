"""How fast and still the pages load on a phone: requests, bytes, when they are usable, what moves.

    citywise bench pages                          # of a demo that is started for it
    citywise bench pages http://127.0.0.1:8080    # of a running system

Each page is loaded cold in Chromium at 390 × 844 with 1.6 Mbit/s, 150 ms and a processor four
times slower; whatever is beyond its bound is marked with `!`. The longest task is four times the
processor time of the longest one in another load: what else runs here does not count. The demo
runs in real time, since an event that comes is no part of loading.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
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
    "shift_wide": 0.1,
    "longest_task_ms": 100,
}
"""Of the map and the plan; what moves of every page, on a phone and on wider screens."""
STRICT = ("/", "/plan")
PHONE = {"width": 390, "height": 844}
WIDER = (
    {"width": 768, "height": 1024},
    {"width": 1280, "height": 800},
    {"width": 1600, "height": 900},
)
SLOW = {"offline": False, "latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 93_750}
SLOWER = 4
SETTLED_MS = 4_000
_TASK, _MAIN = "ThreadControllerImpl::RunTask", "CrRendererMain"
_WATCH = """
window.shifted = 0;
new PerformanceObserver((list) => list.getEntries().forEach((entry) => {
  if (!entry.hadRecentInput) window.shifted += entry.value;
})).observe({ type: 'layout-shift', buffered: true });
"""


def run(url: str = "") -> list[dict[str, Any]]:
    """A row for each page."""
    system = nullcontext(url.rstrip("/")) if url else demo("--speed", "1")
    with system as address, sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=str(machine.chromium()), args=["--no-sandbox"]
        )
        _first_visit(browser, address)
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
    return (path in STRICT or name.startswith("shift")) and value > BOUNDS[name]


def measured(browser: Browser, url: str, path: str) -> dict[str, float]:
    """What one cold load of a page takes."""
    with _phone(browser) as page:
        page.add_init_script(_WATCH)
        tally = _tally(page)
        page.goto(url + path, wait_until="commit")
        page.wait_for_selector(PAGES[path], state="attached", timeout=60_000)
        usable_ms = page.evaluate("performance.now()")
        page.wait_for_timeout(SETTLED_MS)
        shift = page.evaluate("window.shifted")
    return {
        **tally,
        "usable_ms": round(usable_ms),
        "shift": round(shift, 3),
        "shift_wide": round(max(_shift(browser, url + path, size) for size in WIDER), 3),
        "longest_task_ms": round(SLOWER * _longest_ms(browser, url + path, usable_ms)),
    }


def _first_visit(browser: Browser, address: str) -> None:
    """Wait until the city has something to show; who starts a server is not who visits it."""
    with _phone(browser) as page:
        page.goto(address)
        page.wait_for_selector(PAGES["/"], state="attached", timeout=60_000)


def _shift(browser: Browser, address: str, size: dict[str, int]) -> float:
    """How much of a page moves while it loads at full speed on a wider screen."""
    context = browser.new_context(viewport=size, service_workers="block")
    page = context.new_page()
    page.add_init_script(_WATCH)
    page.goto(address)
    page.wait_for_timeout(SETTLED_MS)
    shift: float = page.evaluate("window.shifted")
    context.close()
    return shift


@contextmanager
def _phone(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(
        viewport=PHONE, is_mobile=True, has_touch=True, service_workers="block"
    )
    yield context.new_page()
    context.close()


def _longest_ms(browser: Browser, address: str, usable_ms: float) -> float:
    """Processor time of a page's longest task, while it loads at full speed and nobody asks it."""
    with _phone(browser) as page:
        browser.start_tracing(page=page, categories=["toplevel"])
        page.goto(address, wait_until="commit")
        page.wait_for_timeout(max(SETTLED_MS, usable_ms))
        events = json.loads(browser.stop_tracing())["traceEvents"]
    named = (event for event in events if event.get("name") == "thread_name")
    threads = {(event["pid"], event["tid"]) for event in named if event["args"]["name"] == _MAIN}
    tasks = (event for event in events if event.get("name") == _TASK)
    return max(
        event.get("tdur", 0) / 1000 for event in tasks if (event["pid"], event["tid"]) in threads
    )


def _tally(page: Page) -> dict[str, float]:
    """Slow the page down, and count what it asks for and gets, as it goes over the wire."""
    tally: dict[str, float] = {"requests": 0, "bytes": 0}
    wire = page.context.new_cdp_session(page)
    wire.send("Network.enable")
    wire.send("Network.emulateNetworkConditions", SLOW)
    wire.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})

    def add(name: str, by: float) -> None:
        tally[name] += by

    def finished(told: dict[str, Any]) -> None:
        add("bytes", told["encodedDataLength"])

    wire.on("Network.requestWillBeSent", lambda _: add("requests", 1))
    wire.on("Network.loadingFinished", finished)
    return tally
