"""A log is opened with its own keys or not at all: else all that is sealed would be dropped."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from citywise.backend.ingest import log, records, seals
from citywise.backend.ingest.frames import LogError
from citywise.backend.ingest.journal import Journal
from citywise.backend.ingest.keyring import Keyring, beside
from citywise.backend.ingest.standing import Entry


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a log in which something is sealed."""
    one = Journal(tmp_path / "log", 400)
    one.stand([Entry("position", "alice", {"n": 1})], 5)
    one.write()
    one.close()
    return tmp_path / "log"


def positions(folder: Path) -> list[str]:
    """Whose positions a reader finds who knew nothing of the log before."""
    seals._at.cache_clear()
    end = log.durable_end(folder)
    return [entry.key for entry in records.read_standing(folder, 0, end) if entry.body]


def away(folder: Path) -> Path:
    """Take the keys away; where they are then."""
    kept = folder.parent / "kept"
    beside(folder).rename(kept)
    return kept


def refused(folder: Path, why: str) -> None:
    """Neither the ingest nor a reader takes the log as one in which nothing stands."""
    for opened in (lambda: Journal(folder, 400), lambda: positions(folder)):
        with pytest.raises(LogError, match=why) as error:
            opened()
        assert f"delete {folder / 'keyring'}" in str(error.value)


def test_without_its_keys_a_log_is_not_opened_and_with_them_it_is_as_it_was(folder: Path) -> None:
    kept = away(folder)
    refused(folder, f"the keys in {beside(folder)} are missing")
    assert not beside(folder).exists(), "nothing takes their place"
    beside(folder).mkdir()
    shutil.copy(kept / "keys.db", beside(folder))
    refused(folder, "are missing")
    shutil.copy(kept / "keys", beside(folder))
    again = Journal(folder, 400)
    assert len(again.register) == 1
    again.close()
    assert positions(folder) == ["alice"]


def test_a_log_is_not_opened_with_the_keys_of_another(folder: Path) -> None:
    away(folder)
    Keyring(beside(folder)).make(["alice"])
    refused(folder, "are another log's")


def test_who_means_it_goes_on_without_what_was_sealed(folder: Path) -> None:
    away(folder)
    (folder / "keyring").unlink()
    again = Journal(folder, 400)
    assert len(again.register) == 0
    again.stand([Entry("position", "bob", {"n": 1})], 5)
    again.write()
    again.close()
    assert positions(folder) == ["bob"]
