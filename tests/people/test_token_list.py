"""Tokens for many devices are made at once, each for its own sensor."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import select

from citywise.backend.people import accounts
from citywise.backend.settings import Settings
from citywise.backend.store.models import TokenRow
from tests.command import Folder
from tests.databases import begun


def test_a_list_of_devices_gives_each_a_token_for_its_sensor(tmp_path: Path) -> None:
    engine = begun(Settings(data_dir=tmp_path / "state").database_url)
    with engine.begin() as connection:
        accounts.create(connection, "Anna", "a pass word")
    command = ("user", "token", "Anna", "-", "--right", "sensors", "--kind", "noise")
    done = Folder(tmp_path).run(*command, "--state", "state", given="north n1\n\nsouth n2\nany\n")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [line[:-1] for line in lines] == [["north", "n1"], ["south", "n2"], ["any"]]
    with engine.connect() as connection:
        rows = connection.execute(select(TokenRow.id, TokenRow.label, TokenRow.scope)).all()
    engine.dispose()
    assert {row.id for row in rows} == {line[-1].partition(".")[0] for line in lines}
    sensors = {row.label: row.scope.get("sensors", []) for row in rows}
    assert sensors == {"north": ["n1"], "south": ["n2"], "any": []}
    assert all(row.scope["kinds"] == ["noise"] for row in rows)
