"""Tables of apps are made, upgraded, exported, forgotten and removed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import BigInteger, Column, Engine, String, insert, inspect, text

from citywise.backend.packs import broken, removal, tables
from citywise.backend.packs.tables import Tables
from citywise.backend.people import ids
from citywise.backend.privacy import export, forgetting
from citywise.backend.settings import Settings
from citywise.backend.store.models import CursorRow, InstanceRow
from tests.databases import emptied


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def engine(request: pytest.FixtureRequest, settings: Settings) -> Iterator[Engine]:
    kind = request.param
    url = settings.database_url if kind == "sqlite" else request.getfixturevalue("postgresql_url")
    broken._faults.clear()
    engine = emptied(url)
    yield engine
    with engine.begin() as connection:
        for table in noise_tables(engine):
            connection.execute(text(f'DROP TABLE "{table}"'))
    engine.dispose()
    broken._faults.clear()


def noise_tables(engine: Engine) -> list[str]:
    return sorted(name for name in inspect(engine).get_table_names() if name.startswith("noise"))


def first(op: Any) -> None:
    op.create_table("noise_notes", Column("user", String(64)), Column("note", String(200)))
    op.create_table("noise_levels", Column("level", BigInteger))


def second(op: Any) -> None:
    op.add_column("noise_notes", Column("at_ms", BigInteger, server_default="0"))
    op.drop_table("noise_levels")


def failing(op: Any) -> None:
    op.drop_table("noise_notes")
    raise RuntimeError("no such luck")


OLD = Tables([first], personal={"noise_notes": "user"})
NEW = Tables([first, second], personal={"noise_notes": "user"})


def why(engine: Engine, wanted: Tables) -> str | None:
    with engine.connect() as connection:
        return tables.why_unusable(connection, "noise", wanted)


def rows(engine: Engine) -> list[tuple[Any, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text("SELECT * FROM noise_notes"))]


def write(engine: Engine, user: str, note: str = "loud") -> None:
    with engine.begin() as connection:
        statement = text('INSERT INTO noise_notes ("user", note) VALUES (:user, :note)')
        connection.execute(statement, {"user": user, "note": note})


def test_tables_are_made_once_and_upgraded_with_what_they_hold(engine: Engine) -> None:
    assert why(engine, OLD) == (
        "its tables are of version 0, but it needs 1; start the system again, which upgrades them"
    )
    for _ in range(2):
        tables.upgrade(engine, {"noise": OLD, "other": None})
    assert noise_tables(engine) == ["noise_levels", "noise_notes"]
    write(engine, "u-1")
    assert "version 1, but it needs 2" in str(why(engine, NEW))
    tables.upgrade(engine, {"noise": NEW})
    assert why(engine, NEW) is None
    assert noise_tables(engine) == ["noise_notes"]
    assert rows(engine) == [("u-1", "loud", 0)]
    assert broken.known() == []


def test_a_migration_that_fails_changes_nothing_and_the_next_start_tries_again(
    engine: Engine,
) -> None:
    tables.upgrade(engine, {"noise": OLD})
    write(engine, "u-1")
    worse = Tables([first, failing])
    tables.upgrade(engine, {"noise": worse})
    assert rows(engine) == [("u-1", "loud")]
    assert why(engine, worse) == "RuntimeError: no such luck"
    ((app, part),) = [(fault.app, fault.part) for fault in broken.known()]
    assert (app, part) == ("noise", "tables")
    tables.upgrade(engine, {"noise": NEW})
    assert (why(engine, NEW), broken.known()) == (None, [])


def test_an_older_app_does_not_work_on_newer_tables(engine: Engine) -> None:
    tables.upgrade(engine, {"noise": NEW})
    tables.upgrade(engine, {"noise": OLD})
    assert "version 2, made by a newer version of the app; this one knows 1" in str(
        why(engine, OLD)
    )
    tables.upgrade(engine, {"noise": NEW})
    assert why(engine, NEW) is None


STRANGE = {
    "a name that may be another's": (
        Tables([lambda op: op.create_table("notes", Column("n", BigInteger))]),
        "a migration makes the table `notes`; call it `noise_notes`",
    ),
    "a table of Citywise's": (
        Tables([lambda op: op.drop_table("notices")]),
        "drops the table `notices`, which is not the app's",
    ),
    "a personal table that is not there": (
        Tables([first], personal={"noise_note": "user"}),
        "`personal` names the table `noise_note`, but its tables are: noise_levels, noise_notes",
    ),
    "a personal column that is not there": (
        Tables([first], personal={"noise_notes": "account"}),
        "the table `noise_notes` has no column `account`, but user, note",
    ),
}


@pytest.mark.parametrize(("strange", "told"), STRANGE.values(), ids=STRANGE.keys())
def test_what_is_not_the_app_s_is_refused(engine: Engine, strange: Tables, told: str) -> None:
    before = inspect(engine).get_table_names()
    tables.upgrade(engine, {"noise": strange})
    assert told in str(why(engine, strange))
    assert inspect(engine).get_table_names() == before


def test_a_person_s_rows_are_exported_and_forgotten_also_without_the_app(
    engine: Engine, settings: Settings
) -> None:
    settings = settings.model_copy(update={"database": engine.url.render_as_string(False)})
    tables.upgrade(engine, {"noise": NEW})
    gone, other = ids.new_id(), ids.new_id()
    write(engine, gone)
    write(engine, other)
    with engine.connect() as connection:
        told = export.everything(connection, settings, gone)
    assert told["noise_notes"] == [{"user": gone, "note": "loud", "at": "1970-01-01T00:00:00Z"}]
    forgetting.forget(engine, settings, gone)
    assert rows(engine) == [(other, "loud", 0)]


def test_a_table_that_somebody_dropped_by_hand_stops_nobody_from_being_forgotten(
    engine: Engine, settings: Settings
) -> None:
    settings = settings.model_copy(update={"database": engine.url.render_as_string(False)})
    tables.upgrade(engine, {"noise": NEW})
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE noise_notes"))
    with engine.connect() as connection:
        assert "noise_notes" not in export.everything(connection, settings, "u-1")
    with engine.begin() as connection:
        tables.forget(connection, "u-1")
        assert tables.remove(connection, "noise") == []


def test_what_a_template_remembers_of_a_person_is_exported(
    engine: Engine, settings: Settings
) -> None:
    settings = settings.model_copy(update={"database": engine.url.render_as_string(False)})
    alice, kept = ids.new_id(), [5, [], [['full("a.x")', 3]], []]
    memory = {"clock": 6, "keys": {'"a.x"': kept, '"b.x"': kept}}
    with engine.begin() as connection:
        connection.execute(
            insert(InstanceRow).values(
                id="a.x", user=alice, app="test", template="x", version=1, values={}, created_ms=0,
                updated_ms=0,
            )
        )  # fmt: skip
        connection.execute(
            insert(CursorRow).values(
                request="test/x@1", position=0, resume_from=0, state={"memory": memory},
                updated_ms=0,
            )
        )  # fmt: skip
    with engine.connect() as connection:
        told = export.everything(connection, settings, alice)["remembered"]
    assert told == [{"request": "test/x@1", "instance": "a.x", "kept": kept}]


def test_an_app_that_is_gone_leaves_nothing(engine: Engine, settings: Settings) -> None:
    before = sorted(inspect(engine).get_table_names())
    tables.upgrade(engine, {"noise": NEW})
    write(engine, "u-1")
    removed = removal.remove(engine, settings, "noise")
    assert (removed.tables, removed.instances, removed.notices) == (["noise_notes"], 0, 0)
    assert sorted(inspect(engine).get_table_names()) == before
    with pytest.raises(removal.RemovalError, match="nothing is left of an app `noise`; there is"):
        removal.remove(engine, settings, "noise")
    with pytest.raises(removal.RemovalError, match="the app `meeting_mgr` is still there"):
        removal.remove(engine, settings, "meeting_mgr")
