"""No table keeps anything of who is forgotten."""

from __future__ import annotations

import sqlite3
from random import Random
from typing import Any

import pytest
from sqlalchemy import JSON, Engine, Table, insert, select

from citywise.backend.ingest.keyring import Keyring
from citywise.backend.people import accounts, ids
from citywise.backend.privacy import cleaning, forgetting
from citywise.backend.settings import Settings
from citywise.backend.store.models import CursorRow, DeadLetterRow, ForgettingRow, NoticeRow
from tests.databases import tables

OF_THE_CITY = {
    "places",
    "readings",
    "events",
    "operator_events",
    "template_versions",
    "heartbeats",
    "invitations",
    "cursors",
    "refusals",
    "travel_planner_learned",
    "app_tables",
    "kinds",
    "layers",
    "history_series",
    "history_values",
    "history_rollups",
    "followers",
    "sources",
    "posted",
}
"""Tables that tell of no person; what cursors keep, the pipeline takes away."""


def personal() -> list[Table]:
    return [table for table in tables() if table.name not in OF_THE_CITY]


def about(table: Table, user: str, n: int) -> dict[str, Any]:
    """A row of which every text mentions a user."""
    values: dict[str, Any] = {}
    for column in table.columns:
        if isinstance(column.type, JSON):
            values[column.name] = {"instances": [f"{user}.x"], "notices": [{"id": user}]}
        elif column.type.python_type is str:
            whose = (
                column.name in ("user", "account", "actor", "device") or table.name == "accounts"
            )
            values[column.name] = user if whose else f"{user}.{n}"
        elif not (column.primary_key and column.autoincrement is True):
            values[column.name] = bool(n % 2) if column.type.python_type is bool else n
    values |= {name: "x" for name in ("action", "request", "traceparent") if name in values}
    if table.name.startswith("meeting"):  # whose ids tell of nobody
        texts = (name for name in ("id", "meeting", "person") if isinstance(values.get(name), str))
        values |= dict.fromkeys(texts, f"{table.name}.{n}")
    if table.name == "inlet":
        values |= {"subject": "position", "key": user}
    if table.name == "tokens":
        values["account"] = user
    return values


def dump(engine: Engine) -> str:
    with engine.connect() as connection:
        rows = {t.name: connection.execute(select(t)).all() for t in tables()}
    return str(rows)


def test_no_table_mentions_who_was_forgotten_and_others_stay(
    engine: Engine, settings: Settings
) -> None:
    gone, other = ids.new_id(), ids.new_id()
    with engine.begin() as connection:
        for user in (gone, other):
            for table in personal():
                if table.name != "forgettings":
                    row = about(table, user, 1 if user == gone else 2)
                    connection.execute(insert(table), row)
    before = dump(engine).count(other)
    forgetting.forget(engine, settings, gone)
    forgetting.sweep(engine, settings)
    told = dump(engine)
    with engine.connect() as connection:
        noted = [gone] if connection.scalars(select(ForgettingRow.user)).all() else []
        removals = 5  # of the context and the instance, on their way into the log
    assert told.count(gone) == len(noted) + removals
    assert told.count(other) == before


def test_nothing_is_left_in_the_files_of_the_database(engine: Engine, settings: Settings) -> None:
    """Neither in pages that were freed, nor where rows were that moved, nor in the
    write-ahead log."""
    users, chance = [ids.new_id() for _ in range(12)], Random(7)
    for batch in range(40):
        with engine.begin() as connection:
            for n in range(30):
                user = chance.choice(users)
                row = about(NoticeRow.__table__, user, n) | {"id": f"{user}.{batch}.{n}"}  # type: ignore[arg-type]
                row["why"] = ["x" * chance.randint(0, 800)]
                connection.execute(insert(NoticeRow), row)
            grown = "substr(hex(randomblob(400)), 1, abs(random()) % 800)"
            connection.exec_driver_sql(
                f"UPDATE notices SET details = details || {grown} WHERE abs(random()) % 5 = 0"
            )
            connection.exec_driver_sql(
                "UPDATE notices SET details = '{}' WHERE abs(random()) % 7 = 0"
            )
    gone = users[:-1]
    for user in gone:
        forgetting.forget(engine, settings, user)
    with engine.begin() as connection:
        for table in ("inlet", "forgettings"):
            connection.exec_driver_sql(f"DELETE FROM {table}")
    assert cleaning.clean(engine)
    told = b"".join(file.read_bytes() for file in settings.data_dir.glob("citywise.db*"))
    assert users[-1].encode() in told
    assert not any(user.encode() in told for user in gone)


def test_cleaning_waits_for_readers_and_for_the_night(
    engine: Engine, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine.begin() as connection:
        user = accounts.create(connection, "Ingeborg", "three words suffice").id
    forgetting.forget(engine, settings, user)
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM inlet")
    reader = sqlite3.connect(settings.data_dir / "citywise.db")
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM accounts").fetchall()
    assert forgetting.sweep(engine, settings) == 1
    assert user not in dump(engine)
    reader.close()
    monkeypatch.setattr(cleaning, "AT_ONCE_BYTES", 1000)
    monkeypatch.setattr(cleaning, "NIGHT", ())
    assert forgetting.sweep(engine, settings) == 1
    monkeypatch.setattr(cleaning, "NIGHT", range(24))
    assert forgetting.sweep(engine, settings) == 0
    told = b"".join(file.read_bytes() for file in settings.data_dir.glob("citywise.db*"))
    assert b"Ingeborg" not in told


def test_the_key_goes_when_all_cursors_have_passed(engine: Engine, settings: Settings) -> None:
    from citywise.backend.ingest.log import LogWriter

    log = LogWriter(settings.log_dir)
    keys = Keyring(settings.keys_dir)
    with engine.begin() as connection:
        user = accounts.create(connection, "alice", "three words suffice").id
        row = {"resume_from": 0, "answered_ms": 0, "state": {}, "updated_ms": 0}
        connection.execute(insert(CursorRow), {"request": "r", "position": 0, **row})
    keys.make([user])
    log.append([b"x"])
    log.sync()
    forgetting.forget(engine, settings, user)
    assert forgetting.sweep(engine, settings) == 1
    assert keys.key_of(user) is not None
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM inlet")
    assert forgetting.sweep(engine, settings) == 1
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE cursors SET position = {log.end}")
    assert forgetting.sweep(engine, settings) == 0
    assert Keyring(settings.keys_dir).key_of(user) is None
    assert forgetting.sweep(engine, settings) == 0
    log.close()


def test_a_key_does_not_outlive_a_pipeline_that_stands_still(
    engine: Engine, settings: Settings
) -> None:
    with engine.begin() as connection:
        user = accounts.create(connection, "alice", "three words suffice").id
        row = {"resume_from": 0, "answered_ms": 0, "state": {}, "updated_ms": 0}
        connection.execute(insert(CursorRow), {"request": "r", "position": -1, **row})
    Keyring(settings.keys_dir).make([user])
    forgetting.forget(engine, settings, user)
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM inlet")
        connection.exec_driver_sql("UPDATE forgettings SET since_ms = since_ms - 700000")
    assert forgetting.sweep(engine, settings) == 1
    assert Keyring(settings.keys_dir).key_of(user) is None


def test_the_demo_s_user_stays_and_what_only_sounds_like_it(
    engine: Engine, settings: Settings
) -> None:
    with engine.begin() as connection:
        accounts.ensure_demo(connection)
        letter = about(DeadLetterRow.__table__, ids.DEMO, 1) | {"payload": "a demolition"}  # type: ignore[arg-type]
        topic = {"topic": "city/events/demolition", "detail": "no demo", "source": "x"}
        connection.execute(insert(DeadLetterRow), letter | topic)
    forgetting.forget(engine, settings, ids.DEMO)
    with engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM inlet")
    assert forgetting.sweep(engine, settings) == 0
    with engine.connect() as connection:
        assert accounts.find(connection, ids.DEMO) is not None
        assert connection.scalar(select(DeadLetterRow.topic)) == topic["topic"]
