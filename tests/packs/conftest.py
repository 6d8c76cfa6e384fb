"""Fixtures of the tests of app packs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packs.folders import AppFolder


@pytest.fixture
def app(tmp_path: Path) -> AppFolder:
    """The folder of a sound app."""
    return AppFolder(tmp_path)
