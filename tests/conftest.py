"""Fixtures that all tests share: the recorded city, where it is at hand, and a browser."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from playwright.sync_api import Browser, Playwright, sync_playwright

from backend import machine
from tests import postgresql

PACK = Path(os.environ.get("CITYWISE_DATA") or machine.REPOSITORY.parent / "shared" / "data")

# The same code gives the same result: what is generated is so from the tests themselves. Examples
# that nobody has seen are for `make test-long`.
settings.register_profile("steady", derandomize=True)
if not os.environ.get("CITYWISE_EXPLORE"):
    settings.load_profile("steady")


def pytest_collection_finish() -> None:
    """What was imported stays: the collector need not look at it again, again and again."""
    gc.collect()
    gc.freeze()


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
    yield chromium
    chromium.close()
