"""What a system keeps on disk is readable by nobody but its owner, whatever the umask."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from citywise.backend import own_files
from citywise.backend.network.addresses import Names
from citywise.backend.network.certificates import folder_of, issued
from citywise.backend.store.database import create_engine_for, migrate
from tests.modes import open_to_others
from tests.small_system import small_system


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def test_a_database_is_its_owners_alone_with_all_its_files(tmp_path: Path) -> None:
    engine = create_engine_for(f"sqlite:///{tmp_path / 'some.db'}")
    with umask(0), engine.begin() as connection:
        connection.execute(text("CREATE TABLE kept (value TEXT)"))
        assert {path.suffix for path in tmp_path.iterdir()} == {".db", ".db-wal", ".db-shm"}
        assert open_to_others(tmp_path) == []
    engine.dispose()


def test_what_was_open_to_others_is_closed_and_what_is_not_ours_is_left(tmp_path: Path) -> None:
    ours = ("citywise.db", "citywise.db-wal", "log/0.log", "keys/keys", "checkpoint/commits/0")
    with umask(0):
        for name in (*ours, "photos/1.jpg"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).touch()
        (tmp_path / "logs").symlink_to(tmp_path / "photos")
    assert own_files.tighten(tmp_path) == []
    theirs = [tmp_path / "photos", tmp_path / "photos" / "1.jpg"]
    assert open_to_others(tmp_path) == theirs
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "citywise.db").stat().st_mode & 0o777 == 0o600


def test_what_is_another_users_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "citywise.db"
    file.touch()
    file.chmod(0o644)  # not by `touch`: the umask is that of the systems started before

    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "chmod", refuse)
    assert own_files.tighten(tmp_path) == [file]


@pytest.mark.thorough
def test_no_process_leaves_anything_that_others_may_read(tmp_path: Path) -> None:
    """Also in a folder that was there before, with files of an earlier version."""
    with umask(0o022):
        (tmp_path / "logs").mkdir()
        (tmp_path / "logs" / "web.log").write_text("earlier\n")
        issued(folder_of(tmp_path), Names())
        engine = create_engine_for(f"sqlite:///{tmp_path / 'citywise.db'}")
        migrate(engine)
        engine.dispose()
        (tmp_path / "citywise.db").chmod(0o644)
        with small_system(tmp_path) as system:
            names = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*")}
            assert names >= {"citywise.db", "citywise.db-wal", "keys", "log", "logs",
                             "orders.json", "tls"}  # fmt: skip
            assert open_to_others(tmp_path) == []
            assert system._metrics is not None  # in memory, or in the folder
            assert system._metrics.stat().st_mode & 0o777 == 0o700
            assert list(system._metrics.iterdir()) != []
            assert open_to_others(system._metrics) == []
