"""What the demo takes while nobody does anything but look: processor and memory by process.

    citywise bench idle          # 5 minutes
    citywise bench idle 60       # so many seconds

The demo is the usual one, at ×60 and with one page of the map open in Chromium, whose own
processes do not count. Memory is proportional (PSS): what processes share is counted once.
The bounds are those of a small machine: 25 % of a core, 2 GB.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import psutil
from playwright.sync_api import sync_playwright

from benchmarks.measured.demo import running
from citywise.backend import machine
from citywise.backend.errors import CitywiseError

BOUNDS = {"percent_of_a_core": 25, "pss_mb": 2_000}
SETTLES_S = 60.0
"""After it is ready: the first pages are made and compilers have seen what is frequent."""


def run(seconds: str = "300") -> list[dict[str, Any]]:
    """A row for each process, the most expensive first, and one of all; raises `CitywiseError`."""
    if not seconds.isdigit() or not int(seconds):
        raise CitywiseError(f"`{seconds}` is no number of seconds; write e.g. 300")
    with running() as (address, pid), sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=str(machine.chromium()), args=["--no-sandbox"]
        )
        browser.new_page().goto(address)
        time.sleep(SETTLES_S)
        before, began = _cpu_s(pid), time.monotonic()
        time.sleep(int(seconds))
        passed, after = time.monotonic() - began, _cpu_s(pid)
        rows = [
            {
                "process": _name(process),
                "percent_of_a_core": 100 * (used - before.get(process, 0.0)) / passed,
                "pss_mb": _pss_mb(process),
            }
            for process, used in after.items()
        ]
        browser.close()
    rows.sort(key=lambda row: -row["percent_of_a_core"])
    names = ("percent_of_a_core", "pss_mb")
    return [*rows, {"process": "all", **{name: sum(row[name] for row in rows) for name in names}}]


def report(results: list[dict[str, Any]]) -> str:
    """A line for each process."""
    lines = [
        f"{row['percent_of_a_core']:6.1f} % of a core  {row['pss_mb']:6.0f} MB  {row['process']}"
        for row in results
    ]
    over = [name for name, bound in BOUNDS.items() if results[-1][name] > bound]
    return "\n".join([*lines, f"beyond its bound: {', '.join(over)}" if over else "within bounds"])


def _cpu_s(pid: int) -> dict[psutil.Process, float]:
    """Processor seconds so far of each process of the demo that runs, without Chromium's."""
    root = psutil.Process(pid)
    found = {}
    for process in (root, *root.children(recursive=True)):
        with suppress(psutil.Error):
            times = process.cpu_times()
            found[process] = times.user + times.system
    return found


def _pss_mb(process: psutil.Process) -> float:
    try:
        return float(process.memory_full_info().pss) / 1e6
    except psutil.Error:
        return 0.0


def _name(process: psutil.Process) -> str:
    """What tells a process from the others: the end of its command."""
    try:
        words = process.cmdline()
    except psutil.Error:
        return "ended"
    return " ".join(word for word in words if len(word) < 40)[-70:]
