"""Fixtures that all tests share: the recorded city, where it is at hand, and a browser."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from playwright.sync_api import Browser, Playwright, expect, sync_playwright

from citywise.backend import machine
from tests import postgresql

pytest_plugins = ["tests.costs", "tests.dealing", "tests.watchdog"]

PACK = Path(os.environ.get("CITYWISE_DATA") or machine.REPOSITORY.parent / "shared" / "data")

WAITED_MS = 90_000
"""For what is awaited in a browser, on a machine that does much else."""

# The same code gives the same result: what is generated is so from the tests themselves, and how
# long it takes, on a machine that does much else, is nothing wrong. Examples that nobody has seen
# are for `make test-long`.
UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("exploring", UNHURRIED, derandomize=False)
settings.register_profile("steady", UNHURRIED, derandomize=True)
settings.register_profile("few", UNHURRIED, derandomize=True, max_examples=25)
EXAMPLES = os.environ.get("CITYWISE_EXAMPLES", "steady")
settings.load_profile(EXAMPLES)

FEWEST = 12
"""So many examples are left as they are. Of what a test asks for beyond, a third comes each time:
the same examples again and again find little that the first of them do not, and `make test-long`
runs every such test with all it asks for, on new ones."""


# Spark lives so briefly here that the Java compiler's best code costs twice what it saves.
os.environ["SPARK_SUBMIT_OPTS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

# What is imported and collected stays: the collector need not look at it again and again.
gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """From here on there is something to collect."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)  # when Hypothesis has marked its own
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if EXAMPLES == "exploring":
        return
    # Of a test with parameters there are several items.
    for test in {_function(item) for item in items if item.get_closest_marker("hypothesis")}:
        asked = getattr(test, _SETTINGS, None) or settings()
        fewer = max(min(asked.max_examples, FEWEST), asked.max_examples // 3)
        setattr(test, _SETTINGS, settings(asked, max_examples=fewer))


_SETTINGS = "_hypothesis_internal_use_settings"


def _function(item: pytest.Item) -> object:
    """What a test's decorators were applied to."""
    found = getattr(item, "obj", None)
    return getattr(found, "__func__", found)


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
