"""Fixtures of a system where nobody is the demo's user: import them where they are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from citywise.backend.settings import Settings
from tests.api.browsers import quick_passwords


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    """Passwords that are hashed at once."""
    with quick_passwords():
        yield


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Who is not logged in is nobody."""
    return Settings(data_dir=tmp_path)
