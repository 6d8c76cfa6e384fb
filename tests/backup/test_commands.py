"""`citywise backup` and `citywise restore`, as somebody types them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from citywise.backend.privacy import tombstones
from citywise.backend.settings import Settings
from citywise.backend.store.database import create_engine_for
from tests.backup.life import Life, sign_up
from tests.command import Done, Folder
from tests.databases import begun


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A folder in which there is a state."""
    settings = Settings(data_dir=tmp_path / "state")
    begun(settings.database_url).dispose()
    life = Life(settings, 1)
    for _ in range(10):
        life.people()
        life.ingest()
        life.pipeline()
    life.close()
    return Folder(tmp_path)


def check(done: Done, code: int = 0) -> Done:
    assert done.returncode == code, done.stderr
    return done


def test_a_backup_is_made_and_restored(folder: Folder) -> None:
    made = check(folder.run("backup", "b", "--state", "state"))
    assert "bytes in" in made.stdout
    done = check(folder.run("restore", "b", "--state", "new"))
    assert "by Citywise 0.1.0" in done.stdout
    assert (folder.path / "new" / "citywise.db").is_file()


def test_a_passphrase_comes_from_a_file_or_the_environment(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = folder.write("word", "correct horse\nmore\n")
    check(
        folder.run("backup", "b", "--encrypt", "--state", "state", "--passphrase-file", str(word))
    )
    folder.write("wrong", "a wrong horse")
    refused = check(folder.run("restore", "b", "--state", "new", "--passphrase-file", "wrong"), 1)
    assert "wrong" in refused.stderr
    assert "give the passphrase" in check(folder.run("restore", "b", "--state", "new"), 1).stderr
    (folder.path / "image").write_bytes(b"\xff\xd8")
    check(folder.run("restore", "b", "--state", "new", "--passphrase-file", "image"), 2)
    monkeypatch.setenv("CITYWISE_PASSPHRASE", "correct horse")
    check(folder.run("restore", "b", "--state", "new"))


def test_backups_lie_beside_a_list_of_who_was_forgotten(folder: Folder) -> None:
    engine = create_engine_for(Settings(data_dir=folder.path / "state").database_url)
    sign_up(engine, "Anna", "Bert")
    engine.dispose()
    (folder.path / "backups").mkdir()
    check(folder.run("backup", "backups/b", "--state", "state"))
    assert (folder.path / "backups" / tombstones.BESIDE).read_text() == ""
    nobody = check(folder.run("restore", "backups/b", "--state", "nobody"))
    assert nobody.stderr == ""
    check(folder.run("user", "forget", "Anna", "--yes", "--state", "state"))
    check(folder.run("backup", "backups/c", "--state", "state"))
    done = check(folder.run("restore", "backups/b", "--state", "new"))
    assert "1 accounts were forgotten" in done.stdout
    listed = check(folder.run("user", "list", "--state", "new"))
    assert "Bert" in listed.stdout
    assert "Anna" not in listed.stdout


def test_a_drill_says_what_it_compared(folder: Folder) -> None:
    done = check(folder.run("backup", "--drill", "--state", "state"))
    assert "all as they were" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["backup", "--state", "state"], "name the FILE"),
        (["backup", "b", "--drill", "--state", "state"], "name the FILE"),
        (["backup", "b", "--database", "x", "--state", "state"], "--database is for --drill"),
        (["restore", "none", "--state", "new"], "does not exist"),
    ],
)
def test_wrong_usage_is_told_of(folder: Folder, arguments: list[str], message: str) -> None:
    assert message in check(folder.run(*arguments), 2).stderr


def test_what_cannot_be_written_is_named(folder: Folder) -> None:
    done = check(folder.run("backup", "none/b", "--state", "state"), 1)
    assert "none: there is no such folder" in done.stderr
    done = check(folder.run("backup", "state", "--state", "state"), 2)
    assert "directory" in done.stderr


def test_the_command_line_starts_without_what_backups_need() -> None:
    """Else `citywise reason` would wait for it."""
    code = "import sys, citywise.backend.cli; print('sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
