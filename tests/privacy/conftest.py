"""A database of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from citywise.backend.settings import Settings
from tests.databases import begun


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path)


@pytest.fixture
def engine(settings: Settings) -> Iterator[Engine]:
    engine = begun(settings.database_url)
    yield engine
    engine.dispose()
