"""The tables of meetings that Citywise itself once had become their app's, with what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import Engine, MetaData, inspect, select, text

from citywise.apps.meeting_mgr import store
from citywise.apps.meeting_mgr.tables import TABLES, Base, MeetingEntryRow, MeetingRow
from citywise.backend.packs import tables
from citywise.backend.settings import Settings
from citywise.backend.store import schema
from citywise.backend.store.database import create_engine_for, migrate
from tests.databases import emptied

OF_0005 = """
CREATE TABLE meetings (id VARCHAR(64) PRIMARY KEY, "user" VARCHAR(64) NOT NULL,
  state VARCHAR(16) NOT NULL, version BIGINT NOT NULL, box TEXT NOT NULL, proposals TEXT NOT NULL,
  join_key VARCHAR(64) NOT NULL, created_ms BIGINT NOT NULL, updated_ms BIGINT NOT NULL);
CREATE INDEX ix_meetings_user ON meetings ("user");
CREATE TABLE meeting_people (id VARCHAR(64) PRIMARY KEY, meeting VARCHAR(64) NOT NULL,
  "user" VARCHAR(64), secret VARCHAR(64), broker_hash VARCHAR(200) NOT NULL, box TEXT NOT NULL,
  updated_ms BIGINT NOT NULL);
CREATE INDEX ix_meeting_people_user ON meeting_people ("user");
CREATE TABLE meeting_entries (id {key}, meeting VARCHAR(64) NOT NULL, person VARCHAR(64),
  "user" VARCHAR(64), at_ms BIGINT NOT NULL, kind VARCHAR(16) NOT NULL, box TEXT NOT NULL);
INSERT INTO meetings VALUES ('m-1', 'u-1', 'ended', 3, 'box', 'box', 'key', 1, 2);
INSERT INTO meeting_people VALUES ('p-1', 'm-1', 'u-1', NULL, '', 'box', 1);
INSERT INTO meeting_entries (meeting, at_ms, kind, box) VALUES ('m-1', 5, 'joined', 'box');
"""
KEYS = {"sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT", "postgresql": "BIGSERIAL PRIMARY KEY"}


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """A database with nothing in it."""
    kind = request.param
    sqlite = f"sqlite:///{tmp_path / 'old.db'}"
    engine = create_engine_for(
        sqlite if kind == "sqlite" else request.getfixturevalue("postgresql_url")
    )
    with engine.begin() as connection:
        there = MetaData()
        there.reflect(connection)
        there.drop_all(connection)
    yield engine
    engine.dispose()


def test_meetings_of_before_are_there_after_an_upgrade(engine: Engine) -> None:
    with engine.begin() as connection:
        command.upgrade(schema.config_of(connection), "0005")
        for statement in OF_0005.format(key=KEYS[engine.dialect.name]).split(";")[:-1]:
            connection.execute(text(statement))
    migrate(engine)
    tables.upgrade(engine, {"meeting_mgr": TABLES})
    names = set(inspect(engine).get_table_names())
    assert names >= Base.metadata.tables.keys()
    assert not names & {"meetings", "meeting_people", "meeting_entries"}
    with engine.begin() as connection:
        assert tables.why_unusable(connection, "meeting_mgr", TABLES) is None
        assert connection.execute(select(MeetingRow.id, MeetingRow.version)).all() == [("m-1", 3)]
        entry = {"meeting": "m-1", "at_ms": 6, "box": "box"}
        connection.execute(MeetingEntryRow.__table__.insert(), entry)  # type: ignore[attr-defined]
        assert connection.scalars(select(MeetingEntryRow.id)).all() == [1, 2]
    for table in Base.metadata.sorted_tables:
        found = {index["name"] for index in inspect(engine).get_indexes(table.name)}
        assert found == {index.name for index in table.indexes}


def test_a_new_database_has_the_same_tables(engine: Engine, tmp_path: Path) -> None:
    made = emptied(engine.url.render_as_string(hide_password=False))
    for table in Base.metadata.sorted_tables:
        columns = [column["name"] for column in inspect(made).get_columns(table.name)]
        assert columns == [column.name for column in table.columns]
    with made.connect() as connection:
        assert store.of_host(connection, store.boxes_of(Settings(data_dir=tmp_path)), "u-1") == []
    made.dispose()
