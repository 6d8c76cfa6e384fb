"""`citywise doctor` says what is wrong with a system and what to do; `upgrade` what changes."""

from __future__ import annotations

import json
import shutil
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import inspect

from citywise.backend import own_files
from citywise.backend.network.addresses import Names
from citywise.backend.network.certificates import issued
from citywise.backend.people import accounts
from citywise.backend.settings import Settings
from citywise.backend.store import schema
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.heartbeat import beat
from citywise.backend.supervisor import _take_lock
from citywise.backend.times import wall_ms
from tests.backup.life import Life
from tests.command import Folder
from tests.databases import begun


@pytest.fixture
def city(tmp_path: Path) -> Settings:
    """A stopped system in which all is well."""
    settings = Settings(data_dir=tmp_path / "state")
    engine = begun(settings.database_url)
    with engine.begin() as connection:
        accounts.create(connection, "Anna", "a pass word", ["admin"])
    engine.dispose()
    life = Life(settings, 1)
    for _ in range(5):
        life.people()
        life.ingest()
        life.pipeline()
    life.close()
    own_files.tighten(settings.data_dir)
    return settings


def doctor(tmp_path: Path, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    given = arguments or ("--state", "state")
    done = Folder(tmp_path).run("doctor", "--json", *given)
    assert done.stderr == ""
    said = json.loads(done.stdout)
    assert said["ok"] == (done.returncode == 0)
    return done.returncode, said["findings"]


def wrong(findings: list[dict[str, Any]]) -> list[str]:
    return [f["found"] for f in findings if f["severity"] in ("error", "warning")]


def test_nothing_is_wrong_with_a_system_that_is_well(tmp_path: Path, city: Settings) -> None:
    code, findings = doctor(tmp_path)
    assert (code, wrong(findings)) == (0, [])
    assert any("belong together" in finding["found"] for finding in findings)
    told = Folder(tmp_path).run("doctor", "--state", "state")
    assert "fine    log: log and database belong together" in told.stdout


def test_a_log_that_is_not_the_databases_is_told_of(tmp_path: Path, city: Settings) -> None:
    shutil.rmtree(city.log_dir)
    code, findings = doctor(tmp_path)
    assert code == 1
    assert any("not the log the database belongs to" in text for text in wrong(findings))


def test_a_damaged_log_and_keys_of_others_are_told_of(tmp_path: Path, city: Settings) -> None:
    shutil.rmtree(city.keys_dir)
    assert any("keys in" in text for text in wrong(doctor(tmp_path)[1]))


def test_a_database_that_is_damaged_or_none_is_told_of(tmp_path: Path, city: Settings) -> None:
    file = city.data_dir / "citywise.db"
    file.write_bytes(b"no database " * 1000)
    code, findings = doctor(tmp_path)
    assert code == 1
    assert any("not a database" in text for text in wrong(findings))


def test_a_database_of_a_newer_version_is_told_of(tmp_path: Path, city: Settings) -> None:
    with closing(sqlite3.connect(city.data_dir / "citywise.db")) as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
        database.commit()
    code, findings = doctor(tmp_path)
    assert code == 1
    assert any("a newer version has run with it" in text for text in wrong(findings))
    for arguments in (["demo", "--state", "state"], ["user", "list", "--state", "state"]):
        done = Folder(tmp_path).run(*arguments)
        assert done.returncode == 1
        assert "9999" in done.stderr
        assert "Traceback" not in done.stderr


def test_a_clock_that_went_back_is_told_of(tmp_path: Path, city: Settings) -> None:
    engine = create_engine_for(city.database_url)
    with engine.begin() as connection:
        beat(connection, "ingest", {})
    with engine.begin() as connection:
        ahead = wall_ms() + 3_600_000
        connection.exec_driver_sql(f"UPDATE heartbeats SET at_ms = {ahead}")
    engine.dispose()
    assert any("clock is 3" in text for text in wrong(doctor(tmp_path)[1]))


def test_a_city_without_an_admin_is_told_of(tmp_path: Path) -> None:
    begun(Settings(data_dir=tmp_path / "state").database_url).dispose()
    assert "nobody is an admin" in wrong(doctor(tmp_path)[1])


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_what_a_configuration_names_is_looked_at(
    tmp_path: Path, city: Settings, taken: int
) -> None:
    (tmp_path / "city.toml").write_text(
        f"""data_dir = "{city.data_dir}"
[web]
host = "127.0.0.1"
port = {taken}
[apps]
folders = ["{tmp_path / "nowhere"}"]
[broker]
embedded = false
ca = "{tmp_path / "ca.pem"}"
host = "127.0.0.1"
port = 9
"""
    )
    code, findings = doctor(tmp_path, "--config", "city.toml")
    found = "\n".join(wrong(findings))
    assert code == 1
    for part in ("ca.pem is not there", "nowhere is not there", f"port {taken}", "127.0.0.1:9"):
        assert part in found


def test_a_certificate_with_the_key_of_another_is_told_of(tmp_path: Path, city: Settings) -> None:
    one, other = (issued(tmp_path / name, Names()) for name in ("one", "other"))
    (tmp_path / "city.toml").write_text(
        f'data_dir = "{city.data_dir}"\n[web]\ncertificate = "{one.certificate}"\n'
        f'private_key = "{other.private_key}"\n'
    )
    code, findings = doctor(tmp_path, "--config", "city.toml")
    assert code == 1
    assert any("do not belong together" in text for text in wrong(findings))


@pytest.mark.parametrize(
    ("text", "says"),
    [("[web\n", "not valid TOML"), ("[web]\nprt = 1\n", "web.prt"), (None, "cannot be read")],
)
def test_a_configuration_that_cannot_be_read_is_a_finding(
    tmp_path: Path, text: str | None, says: str
) -> None:
    if text is not None:
        (tmp_path / "city.toml").write_text(text)
    code, findings = doctor(tmp_path, "--config", "city.toml")
    assert code == 1
    assert says in findings[0]["found"]


def test_a_folder_in_which_nothing_ran_is_told_of(tmp_path: Path) -> None:
    code, findings = doctor(tmp_path, "--state", "none")
    assert code == 0
    assert any("is not there" in text for text in wrong(findings))


def test_of_a_running_system_it_says_why_it_is_not_ready(tmp_path: Path, city: Settings) -> None:
    held = _take_lock(city.data_dir)
    assert held is not None
    orders = {"settings": city.model_dump(mode="json"), "source": None}
    (city.data_dir / "orders.json").write_text(json.dumps(orders))
    (city.data_dir / "logs").mkdir()
    (city.data_dir / "logs" / "ingest.log").write_text(
        "2026-01-01 12:00:00,000 ingest ERROR citywise: no room on the disk\n"
    )
    code, findings = doctor(tmp_path)
    held.close()
    assert code == 1
    assert "ingest has not started" in wrong(findings)
    assert any("no room on the disk" in finding["found"] for finding in findings)


# -- upgrade --------------------------------------------------------------------------------


@pytest.fixture
def old(city: Settings) -> Settings:
    """The same as a version left it whose schema was older."""
    engine = create_engine_for(city.database_url)
    with engine.begin() as connection:
        command.downgrade(schema.config_of(connection), "0006")
    engine.dispose()
    return city


def revision(settings: Settings) -> str | None:
    engine = create_engine_for(settings.database_url)
    with engine.connect() as connection:
        found = schema.revision_of(connection)
    engine.dispose()
    return found


def test_what_an_upgrade_would_change_is_said_and_nothing_is_changed(
    tmp_path: Path, old: Settings
) -> None:
    done = Folder(tmp_path).run("upgrade", "--check", "--state", "state")
    assert done.returncode == 0, done.stderr
    assert "schema 0007: how many messages were refused" in done.stdout
    assert "Tried on a copy" in done.stdout
    assert "--back-to 0006" in done.stdout
    assert revision(old) == "0006"
    assert list((old.data_dir / "tmp").iterdir()) == []
    said = json.loads(
        Folder(tmp_path).run("upgrade", "--check", "--json", "--state", "state").stdout
    )
    assert said["steps"][0]["revision"] == "0007"
    assert any("come with the next start" in f["found"] for f in doctor(tmp_path)[1])


def test_an_upgrade_can_be_undone_as_far_as_there_is_a_way_back(
    tmp_path: Path, old: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Folder(tmp_path)
    assert folder.run("upgrade", "--state", "state").returncode == 0
    assert revision(old) == schema.head()
    assert "as this version needs it" in folder.run("upgrade", "--check", "--state", "state").stdout
    done = folder.run("upgrade", "--back-to", "0006", "--state", "state")
    assert "undone: 0007" in done.stdout
    assert revision(old) == "0006"
    engine = create_engine_for(old.database_url)
    assert "refusals" not in inspect(engine).get_table_names()
    engine.dispose()
    folder.run("upgrade", "--state", "state")
    one_way = [schema.Step(s.revision, s.text, s.revision != "0007") for s in schema.steps("0006")]
    before = schema.steps
    monkeypatch.setattr(schema, "steps", lambda r: one_way if r == "0006" else before(r))
    done = folder.run("upgrade", "--back-to", "0006", "--state", "state")
    assert done.returncode == 1
    assert "0007" in done.stderr
    assert "has no way back" in done.stderr
    assert revision(old) == schema.head()


def test_every_change_of_the_schema_so_far_has_a_way_back() -> None:
    assert [step.revision for step in schema.steps(None) if not step.has_way_back] == []


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--check", "--back-to", "0006"], 2, "give one of them"),
        (["--json"], 2, "--json is for --check"),
        (["--back-to", "nonsense"], 1, "no revision `nonsense`"),
    ],
)
def test_what_an_upgrade_cannot_do_is_said(
    tmp_path: Path, city: Settings, arguments: list[str], code: int, message: str
) -> None:
    done = Folder(tmp_path).run("upgrade", *arguments, "--state", "state")
    assert (done.returncode, message in done.stderr) == (code, True), done.stderr


def test_a_system_that_runs_is_not_upgraded(tmp_path: Path, city: Settings) -> None:
    held = _take_lock(city.data_dir)
    assert held is not None
    done = Folder(tmp_path).run("upgrade", "--state", "state")
    held.close()
    assert done.returncode == 1
    assert "stop it first" in done.stderr
