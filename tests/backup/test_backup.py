"""A backup of a running system is of one moment, and brings all of it back or nothing."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
import time
import tomllib
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import create_engine, select, text
from sqlalchemy.exc import DatabaseError

from citywise.apps.meeting_mgr.settings import Meetings
from citywise.backend.backup import sealing
from citywise.backend.backup.archive import FORMAT, opened
from citywise.backend.backup.drill import drill
from citywise.backend.backup.errors import BackupError, DamagedBackupError, PassphraseError
from citywise.backend.backup.restoring import _toml, restore
from citywise.backend.backup.taking import back_up
from citywise.backend.errors import CitywiseError
from citywise.backend.ingest import log
from citywise.backend.ingest.keyring import Keyring
from citywise.backend.operations import fitting
from citywise.backend.operations.fitting import LogBehindError
from citywise.backend.privacy import forgetting, tombstones
from citywise.backend.settings import Settings, load
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.models import AccountRow, InstanceRow
from citywise.backend.store.schema import NewerDatabaseError
from tests.backup.life import Life, announced, numbers, sign_up
from tests.databases import begun, emptied

DRILLS = 200 if os.environ.get("CITYWISE_EXAMPLES") == "exploring" else 12
WORD = "correct horse"


@contextmanager
def living(settings: Settings, seed: int = 1) -> Iterator[Life]:
    life = Life(settings, seed)
    try:
        yield life
    finally:
        life.close()


def until(life: Life, holds: Callable[[], bool]) -> None:
    """Wait until something is so of what lives."""
    deadline = time.monotonic() + 60
    while not holds() and not life.errors:
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.fixture
def city(tmp_path: Path) -> Settings:
    """A state in which something has happened."""
    settings = Settings(data_dir=tmp_path / "state")
    begun(settings.database_url).dispose()
    with living(settings) as life:
        for _ in range(30):
            life.people()
            life.ingest()
            life.pipeline()
    return settings


def check_restored(before: Settings, after: Settings, acknowledged: int, answered: int) -> None:
    """What was there at the moment is there; what goes on loses and doubles nothing."""
    with living(after, seed=10**6) as life:
        assert max(numbers(after.log_dir)) >= acknowledged
        told = announced(life.engine)
        assert len(told) >= answered
        _ingest_again(life)
        life.pipeline()
        told = announced(life.engine)
        assert told == list(range(1, len(told) + 1)), "lost, doubled or out of order"
        with life.engine.connect() as connection:
            wanted = set(connection.scalars(select(InstanceRow.id)))
        assert life.standing() == wanted


def _ingest_again(life: Life) -> None:
    """As an ingest that starts: first it removes what it had appended already."""
    from citywise.backend.ingest.inlet import Inlet

    Inlet(life.engine).remove(life.journal.inlet_ids)
    for _ in range(3):
        life.people()
        life.ingest()
        life.pipeline()


@pytest.mark.parametrize("seed", range(DRILLS // 4))
def test_files_copied_from_a_running_system_go_on_whole_or_are_refused(
    tmp_path: Path, seed: int
) -> None:
    """Such a copy is no backup: it may be of many moments. Where it is, it says so at the start."""
    before, after = Settings(data_dir=tmp_path / "state"), Settings(data_dir=tmp_path / "copy")
    begun(before.database_url).dispose()
    with living(before, seed) as life, life.going_on():
        until(life, lambda: life.acknowledged >= 30 and bool(announced(life.engine)))
        try:
            shutil.copytree(before.data_dir, after.data_dir)
        except shutil.Error:
            return  # a file went away meanwhile, which the copy says
    engine = create_engine_for(after.database_url)
    try:
        with engine.connect() as connection:
            if connection.scalar(text("PRAGMA integrity_check")) != "ok":
                return  # `citywise doctor` says so
            fitting.check(connection, after)
    except (CitywiseError, DatabaseError):
        return  # refused
    finally:
        engine.dispose()
    check_restored(before, after, 0, 0)


@pytest.mark.parametrize("seed", range(DRILLS))
def test_a_backup_under_load_loses_and_doubles_nothing(tmp_path: Path, seed: int) -> None:
    before = Settings(data_dir=tmp_path / "state")
    begun(before.database_url).dispose()
    with living(before, seed) as life, life.going_on():
        until(life, lambda: life.acknowledged >= 30 and bool(announced(life.engine)))
        acknowledged, answered = life.acknowledged, len(announced(life.engine))
        back_up(before, tmp_path / "backup")
    restore(tmp_path / "backup", tmp_path / "new")
    check_restored(before, Settings(data_dir=tmp_path / "new"), acknowledged, answered)


def test_a_backup_of_postgresql_under_load_loses_and_doubles_nothing(
    tmp_path: Path, postgresql_url: str
) -> None:
    emptied(postgresql_url).dispose()
    before = Settings(data_dir=tmp_path / "state", database=postgresql_url)
    admin = create_engine(postgresql_url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text("DROP DATABASE IF EXISTS restored"))
        connection.execute(text("CREATE DATABASE restored"))
    admin.dispose()
    url = postgresql_url.rpartition("/")[0] + "/restored"
    with living(before) as life, life.going_on():
        deadline = time.monotonic() + 60
        while (life.acknowledged < 30 or not announced(life.engine)) and not life.errors:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        acknowledged, answered = life.acknowledged, len(announced(life.engine))
        back_up(before, tmp_path / "backup")
    with pytest.raises(BackupError, match="--database"):
        restore(tmp_path / "backup", tmp_path / "new")
    with pytest.raises(BackupError, match="not empty"):
        restore(tmp_path / "backup", tmp_path / "new", database=postgresql_url)
    assert not (tmp_path / "new").exists()
    restore(tmp_path / "backup", tmp_path / "new", database=url)
    after = Settings(data_dir=tmp_path / "new", database=url)
    assert schema_of(url) == schema_of(postgresql_url)
    check_restored(before, after, acknowledged, answered)


def schema_of(url: str) -> list[tuple[object, ...]]:
    engine = create_engine(url)
    query = (
        "SELECT table_name, column_name, data_type, is_nullable, column_default, is_identity "
        "FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2"
    )
    indices = "SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2"
    with engine.connect() as connection:
        found = [tuple(row) for each in (query, indices) for row in connection.execute(text(each))]
    engine.dispose()
    return found


def test_what_lies_beside_database_and_log_comes_back_too(city: Settings, tmp_path: Path) -> None:
    app = tmp_path / "my apps" / "noise"
    (app / "templates").mkdir(parents=True)
    (app / "app.toml").write_text("x = 1\n")
    (city.data_dir / "city").mkdir()
    (city.data_dir / "city" / "network.npz").write_bytes(b"roads")
    config = tmp_path / "my.toml"
    config.write_text(
        f'data_dir = "{city.data_dir}"\n[web]\nport = 8080\n[apps]\nfolders = ["{app}"]\n'
        '[meetings]\nwebhooks = ["https://a.example/x/"]\n'
        '[kinds]\nbuilt_in = true\nfolders = ["/nowhere"]\n'
        '[[sources]]\nname = "weather"\nconnector = "climate"\n[sources.more]\nx = "ø\\n"\n'
        '[[sources]]\nname = "bikes"\nparts = [1, 2.5]\n'
    )
    kinds = tmp_path / "kinds"
    kinds.mkdir()
    (kinds / "noise.toml").write_text("kind = 1\n")
    settings = city.model_copy(
        update={
            "apps": city.apps.model_copy(update={"folders": (str(app),)}),
            "kinds": city.kinds.model_copy(update={"folders": (str(kinds),)}),
        }
    )
    back_up(settings, tmp_path / "backup", config=config)
    found = restore(tmp_path / "backup", tmp_path / "new")
    new = tmp_path / "new"
    assert (new / "city" / "network.npz").read_bytes() == b"roads"
    assert (new / "apps" / "noise" / "app.toml").read_text() == "x = 1\n"
    assert found.config == new / "citywise.toml"
    assert (new / "kinds" / "kinds" / "noise.toml").read_text() == "kind = 1\n"
    assert found.config is not None
    values = tomllib.loads(found.config.read_text())
    before = tomllib.loads(config.read_text())
    assert values.pop("sources") == before["sources"]
    found.config.write_text("\n".join(_toml(values)))
    again = load(found.config)
    assert again.kinds.folders == (str(new / "kinds" / "kinds"),)
    assert again.kinds.built_in
    assert again.data_dir == new
    assert again.apps.folders == (str(new / "apps" / "noise"),)
    assert (again.web.port, again.section("meetings", Meetings).webhooks) == (
        8080,
        ("https://a.example/x/",),
    )


def test_nobody_else_may_read_a_backup_or_what_is_restored(city: Settings, tmp_path: Path) -> None:
    back_up(city, tmp_path / "backup")
    assert (tmp_path / "backup").stat().st_mode & 0o77 == 0
    restore(tmp_path / "backup", tmp_path / "new")
    files = [tmp_path / "new", *(tmp_path / "new").rglob("*")]
    assert [path for path in files if path.stat().st_mode & 0o77] == []


def test_a_folder_that_is_not_empty_is_refused(city: Settings, tmp_path: Path) -> None:
    back_up(city, tmp_path / "backup")
    (tmp_path / "new").mkdir()
    restore(tmp_path / "backup", tmp_path / "new")
    with pytest.raises(BackupError, match="not empty"):
        restore(tmp_path / "backup", tmp_path / "new")
    with pytest.raises(BackupError, match="there already"):
        back_up(city, tmp_path / "backup")


@pytest.mark.parametrize("passphrase", [None, WORD])
def test_a_file_that_is_cut_short_or_altered_anywhere_restores_nothing(
    city: Settings, tmp_path: Path, passphrase: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "_COST", 16)
    whole = tmp_path / "backup"
    back_up(city, whole, passphrase=passphrase)
    data = whole.read_bytes()
    worse = tmp_path / "worse"
    places = [*range(0, len(data), max(1, len(data) // 25)), len(data) - 1]
    for place in places:
        worse.write_bytes(data[:place])
        refused(worse, tmp_path / "new", passphrase)
        worse.write_bytes(data[:place] + bytes([data[place] ^ 0x40]) + data[place + 1 :])
        # Some bits of gzip say nothing: a time, and what fills the last byte.
        if passphrase or not says_the_same(worse, whole):
            refused(worse, tmp_path / "new", passphrase)
    worse.write_bytes(data + b"more")
    refused(worse, tmp_path / "new", passphrase)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup", "state", "worse"]


def says_the_same(file: Path, other: Path) -> bool:
    try:
        return gzip.decompress(file.read_bytes()) == gzip.decompress(other.read_bytes())
    except (OSError, EOFError, zlib.error):
        return False


def refused(file: Path, state: Path, passphrase: str | None) -> None:
    with pytest.raises(BackupError, match=str(file)):
        restore(file, state, passphrase=passphrase)
    assert not state.exists()


def test_an_encrypted_backup_needs_its_passphrase(city: Settings, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    back_up(city, file, passphrase=WORD)
    assert b"citywise.db" not in gunzipped(file)
    with pytest.raises(PassphraseError, match="wrong"):
        restore(file, tmp_path / "new", passphrase="wrong horse")
    with pytest.raises(PassphraseError, match="encrypted"):
        restore(file, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    assert restore(file, tmp_path / "new", passphrase=WORD).head.encrypted


def gunzipped(file: Path) -> bytes:
    try:
        return gzip.decompress(file.read_bytes())
    except gzip.BadGzipFile:
        return file.read_bytes()


def test_a_backup_of_a_newer_version_says_what_to_install(city: Settings, tmp_path: Path) -> None:
    newer = tmp_path / "newer"
    write(newer, {"format": FORMAT + 1, "citywise": "9.9"})
    with pytest.raises(BackupError, match=r"made by Citywise 9\.9.*install that version"):
        restore(newer, tmp_path / "new")
    with closing(sqlite3.connect(city.data_dir / "citywise.db")) as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
        database.commit()
    back_up(city, tmp_path / "backup")
    with pytest.raises(NewerDatabaseError, match=r"9999.*newer version"):
        restore(tmp_path / "backup", tmp_path / "new")


def write(file: Path, head: dict[str, object]) -> None:
    import io
    import tarfile

    with gzip.open(file, "wb") as below, tarfile.open(fileobj=below, mode="w|") as tar:
        content = json.dumps(head).encode()
        info = tarfile.TarInfo("citywise-backup.json")
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))


@pytest.mark.parametrize("content", [b"", b"hello", b"\x1f\x8b", b"citywise-encrypted\n{}\nx\n"])
def test_what_is_no_backup_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    with pytest.raises(BackupError, match=r"no backup|cut short|cannot be read"):
        restore(file, tmp_path / "new", passphrase=WORD)


def test_a_part_that_lies_elsewhere_is_refused(city: Settings, tmp_path: Path) -> None:
    import io
    import tarfile

    back_up(city, tmp_path / "backup")
    with opened(tmp_path / "backup", None) as (head, _parts):
        said = head.model_dump()
    evil = tmp_path / "evil"
    with gzip.open(evil, "wb") as below, tarfile.open(fileobj=below, mode="w|") as tar:
        for name, content in [("citywise-backup.json", json.dumps(said)), ("../evil.txt", "x")]:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content.encode()))
    with pytest.raises(DamagedBackupError, match="no backup has"):
        restore(evil, tmp_path / "deep" / "new")
    assert not list(tmp_path.rglob("evil.txt"))


# -- people -------------------------------------------------------------------------------


def people(settings: Settings) -> set[str]:
    engine = create_engine_for(settings.database_url)
    with engine.connect() as connection:
        found = set(connection.scalars(select(AccountRow.id)))
    engine.dispose()
    return found


def test_who_was_forgotten_after_a_backup_stays_so_when_it_is_restored(
    city: Settings, tmp_path: Path
) -> None:
    engine = create_engine_for(city.database_url)
    anna, bert = sign_up(engine, "Anna", "Bert")
    Keyring(city.keys_dir).make([anna, bert])
    backups = tmp_path / "backups"
    backups.mkdir()
    back_up(city, backups / "monday")
    tombstones.keep_beside(city.data_dir, backups)
    forgetting.forget(engine, city, anna)
    forgetting.sweep(engine, city)
    engine.dispose()
    assert anna not in (backups / tombstones.BESIDE).read_text()
    shutil.rmtree(city.data_dir)  # the machine is lost
    found = restore(backups / "monday", tmp_path / "new")
    assert (found.forgotten, found.knows_forgotten) == (1, True)
    after = Settings(data_dir=tmp_path / "new")
    assert people(after) == {bert}
    assert Keyring(after.keys_dir).keys_of([anna, bert]).keys() == {bert}
    # And a backup of what was restored still knows it.
    assert tombstones.buried(after.data_dir)


def test_a_list_of_who_was_forgotten_can_be_given(city: Settings, tmp_path: Path) -> None:
    engine = create_engine_for(city.database_url)
    (anna,) = sign_up(engine, "Anna")
    back_up(city, tmp_path / "monday")
    forgetting.forget(engine, city, anna)
    engine.dispose()
    given = tmp_path / "given"
    shutil.copy(city.data_dir / "forgotten" / "people", given)
    assert not restore(tmp_path / "monday", tmp_path / "new").knows_forgotten
    assert people(Settings(data_dir=tmp_path / "new")) == {anna}
    restore(tmp_path / "monday", tmp_path / "newer", forgotten=[given])
    assert people(Settings(data_dir=tmp_path / "newer")) == set()


def test_a_list_that_is_none_is_refused(city: Settings, tmp_path: Path) -> None:
    back_up(city, tmp_path / "monday")
    (tmp_path / "given").write_text("Anna\n")
    with pytest.raises(tombstones.TombstonesError, match="line 1"):
        restore(tmp_path / "monday", tmp_path / "new", forgotten=[tmp_path / "given"])
    assert not (tmp_path / "new").exists()


# -- what does not belong together ----------------------------------------------------------


def test_a_state_whose_log_is_not_its_own_makes_no_sound_backup(
    city: Settings, tmp_path: Path
) -> None:
    shutil.rmtree(city.log_dir)
    city.log_dir.mkdir()
    back_up(city, tmp_path / "backup")
    with pytest.raises(LogBehindError, match="not the log the database belongs to"):
        restore(tmp_path / "backup", tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("passphrase", [None, WORD])
def test_a_drill_counts_what_it_compared_and_leaves_nothing(
    city: Settings, passphrase: str | None
) -> None:
    files = sorted(city.data_dir.rglob("*"))
    found = drill(city, passphrase)
    records = sum(1 for _ in log.read(city.log_dir, log.segments(city.log_dir)[0],
                                      log.durable_end(city.log_dir)))  # fmt: skip
    assert found.records == records
    assert found.rows > 90
    assert found.sealed > 0
    left = {path for path in set(city.data_dir.rglob("*")) - set(files) if path.name != "tmp"}
    assert not left


def test_a_drill_finds_a_log_that_is_damaged(city: Settings) -> None:
    base = log.segments(city.log_dir)[-1]
    path = log.path_of(city.log_dir, base)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(log.LogError, match="position"):
        drill(city, None)


def test_a_folder_without_a_system_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="no system in this folder"):
        back_up(Settings(data_dir=tmp_path / "none"), tmp_path / "backup")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BackupError, match="no database"):
        back_up(Settings(data_dir=tmp_path / "empty"), tmp_path / "backup")
    assert not (tmp_path / "backup").exists()
