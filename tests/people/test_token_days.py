"""A token that the command makes ends when it is said to."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import select

from citywise.backend.people import accounts
from citywise.backend.settings import Settings
from citywise.backend.store.models import TokenRow
from citywise.backend.times import wall_ms
from tests.command import Folder
from tests.databases import begun


@pytest.mark.parametrize(
    ("given", "days"), [(["--days", "2"], 2), (["--days", "0.5"], 0.5), ([], None)]
)
def test_a_token_ends_after_so_many_days(
    tmp_path: Path, given: list[str], days: float | None
) -> None:
    engine = begun(Settings(data_dir=tmp_path / "state").database_url)
    with engine.begin() as connection:
        accounts.create(connection, "Anna", "a pass word")
    now = wall_ms()
    command = ("user", "token", "Anna", "tram", "--right", "sensors", "--state", "state")
    done = Folder(tmp_path).run(*command, *given)
    assert done.returncode == 0, done.stderr
    with engine.connect() as connection:
        until = connection.scalar(select(TokenRow.expires_ms))
    engine.dispose()
    if days is None:
        assert until is None
    else:
        assert until is not None
        assert until >= now + days * 86_400_000
    assert Folder(tmp_path).run(*command, "--days", "0").returncode == 2
