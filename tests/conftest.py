"""Fixtures that all tests share: the recorded city, where it is at hand, and a browser."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from playwright.sync_api import Browser, Playwright, expect, sync_playwright
from xdist.scheduler import LoadFileScheduling

from citywise.backend import machine
from tests import postgresql

PACK = Path(os.environ.get("CITYWISE_DATA") or machine.REPOSITORY.parent / "shared" / "data")

WAITED_MS = 90_000
"""For what is awaited in a browser, on a machine that does much else."""

# The same code gives the same result: what is generated is so from the tests themselves, and how
# long it takes, on a machine that does much else, is nothing wrong. Examples that nobody has seen
# are for `make test-long`.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("exploring", UNHURRIED)
settings.register_profile("steady", UNHURRIED, derandomize=True)
settings.load_profile("exploring" if os.environ.get("CITYWISE_EXPLORE") else "steady")


# What is imported and collected stays: the collector need not look at it again and again.
gc.disable()


class _Files(LoadFileScheduling):  # type: ignore[misc]  # it ships no types
    """Tests of a file share a process; those of all files that start Spark share one."""

    def _split_scope(self, nodeid: str) -> str:
        path: str = super()._split_scope(nodeid)
        return "spark" if _starts_spark(path) else path


@cache
def _starts_spark(path: str) -> bool:
    return "mark.spark" in (machine.REPOSITORY / path).read_text(encoding="utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _Files:
    """How tests are dealt out to processes, where there are several."""
    return _Files(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long begins first: Spark, then the files that have slow tests."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (not _starts_spark(item.location[0]), item.path not in slow))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """From here on there is something to collect."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def data_pack() -> Path:
    """Folder of the Aarhus data pack; a test that needs it is skipped on machines without."""
    if not (PACK / "citybench").is_dir():
        pytest.skip(f"no data pack in {PACK}; CITYWISE_DATA names its folder")
    return PACK


@pytest.fixture(scope="session")
def postgresql_url() -> Iterator[str]:
    """URL of a real PostgreSQL; skipped on machines without its programs."""
    found = postgresql.programs()
    if found is None:
        pytest.skip("no PostgreSQL here: neither initdb on PATH nor in /usr/lib/postgresql")
    with postgresql.server(found) as url:
        yield url


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """What drives browsers; a process can have only one."""
    with sync_playwright() as driver:
        yield driver


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """A real Chromium, headless; without one the test fails and says how to get it."""
    chromium = playwright.chromium.launch(
        executable_path=str(machine.chromium()), args=["--no-sandbox"]
    )
    expect.set_options(timeout=WAITED_MS)
    yield chromium
    chromium.close()
