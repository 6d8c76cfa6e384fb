"""A database with nobody in it, and passwords that cost nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from sqlalchemy import Connection, Engine

from citywise.backend.people import passwords
from citywise.backend.settings import Settings
from tests.databases import begun


@pytest.fixture(autouse=True)
def cheap_passwords() -> Iterator[None]:
    strong = passwords._hasher
    passwords.use(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    yield
    passwords.use(strong)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("people"))
    engine = begun(settings.database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def connection(engine: Engine) -> Iterator[Connection]:
    """A transaction that is rolled back."""
    with engine.connect() as connection:
        yield connection


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path
