"""Trips, and what was learned, that Citywise itself once kept became the planner's."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from sqlalchemy import inspect, select, text

from citywise.apps.travel_planner.tables import TABLES, Base, LearnedRow, TripRow
from citywise.backend.packs import tables
from citywise.backend.store import schema
from citywise.backend.store.database import create_engine_for, migrate
from tests.databases import begun

OF_0004 = """
CREATE TABLE trips (id VARCHAR(64) PRIMARY KEY, "user" VARCHAR(64) NOT NULL,
  kind VARCHAR(16) NOT NULL, state VARCHAR(16) NOT NULL, box TEXT NOT NULL,
  instance VARCHAR(64) NOT NULL, created_ms BIGINT NOT NULL, updated_ms BIGINT NOT NULL,
  ended_ms BIGINT);
CREATE INDEX ix_trips_ended_ms ON trips (ended_ms);
CREATE INDEX ix_trips_state ON trips (state);
CREATE INDEX ix_trips_user ON trips ("user");
CREATE TABLE learned (place_id VARCHAR(64) NOT NULL, slot INTEGER NOT NULL, total FLOAT NOT NULL,
  weight FLOAT NOT NULL, updated_ms BIGINT NOT NULL, PRIMARY KEY (place_id, slot));
INSERT INTO trips VALUES ('t-1', 'u-1', 'travel', 'following', 'box', 'i', 1, 2, NULL);
INSERT INTO learned VALUES ('road', 8, 1.5, 2.0, 3);
"""


def test_those_of_before_are_there_after_an_upgrade(tmp_path: Path) -> None:
    engine = create_engine_for(f"sqlite:///{tmp_path / 'old.db'}")
    with engine.begin() as connection:
        command.upgrade(schema.config_of(connection), "0004")
        for statement in OF_0004.split(";")[:-1]:
            connection.execute(text(statement))
    migrate(engine)
    tables.upgrade(engine, {"travel_planner": TABLES})
    assert not {"trips", "learned"} & set(inspect(engine).get_table_names())
    with engine.begin() as connection:
        assert tables.why_unusable(connection, "travel_planner", TABLES) is None
        assert connection.execute(select(TripRow.id, TripRow.user)).all() == [("t-1", "u-1")]
        assert connection.execute(select(LearnedRow.slot, LearnedRow.total)).all() == [(8, 1.5)]
    for table in Base.metadata.sorted_tables:
        found = {index["name"] for index in inspect(engine).get_indexes(table.name)}
        assert found == {index.name for index in table.indexes}
    engine.dispose()


def test_a_new_database_has_the_same_tables(tmp_path: Path) -> None:
    made = begun(f"sqlite:///{tmp_path / 'new.db'}")
    for table in Base.metadata.sorted_tables:
        columns = [column["name"] for column in inspect(made).get_columns(table.name)]
        assert columns == [column.name for column in table.columns]
    made.dispose()
