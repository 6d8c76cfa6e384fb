"""A user's key is made once, for all processes, and destroyed for ever."""

from __future__ import annotations

import multiprocessing
import os
import random
import sqlite3
from pathlib import Path

import pytest

from citywise.backend.ingest.keyring import KEY_BYTES, Keyring


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def test_a_user_has_one_key_that_another_process_finds(tmp_path: Path) -> None:
    made = Keyring(tmp_path / "keys").make(["alice", "bob"])
    assert made["alice"] != made["bob"]
    assert Keyring(tmp_path / "keys").make(["bob", "alice"]) == made
    assert Keyring(tmp_path / "keys").key_of("alice") == made["alice"]
    assert Keyring(tmp_path / "keys").load([made["bob"].id]) == (
        0,
        {made["bob"].id: made["bob"][1]},
    )
    assert Keyring(tmp_path / "keys").ids() == {key.id for key in made.values()}


def test_who_was_never_heard_of_has_no_key_and_asking_makes_no_file(tmp_path: Path) -> None:
    ring = Keyring(tmp_path / "keys")
    assert ring.key_of("alice") is None
    assert ring.load(["00"]) == (0, {})
    assert ring.ids() == set()
    assert not ring.forget("alice")
    assert list(tmp_path.iterdir()) == []
    Keyring(tmp_path / "keys").make(["alice"])
    assert ring.key_of("alice") is not None
    assert not ring.forget("bob")


def test_only_the_owner_can_read_the_files(tmp_path: Path) -> None:
    Keyring(tmp_path / "keys").make(["alice"])
    assert {p.stat().st_mode & 0o777 for p in (tmp_path / "keys").iterdir()} == {0o600}
    assert (tmp_path / "keys").stat().st_mode & 0o077 == 0


def test_a_destroyed_key_is_in_no_file_any_more_whatever_was_made_and_destroyed_beside_it(
    tmp_path: Path,
) -> None:
    ring, order = Keyring(tmp_path), random.Random(7)
    keys = ring.make([f"user{n}" for n in range(80)])
    gone = order.sample(sorted(keys), 40)
    for number, user in enumerate(gone):
        assert ring.forget(user)
        if number % 10 == 0:
            keys |= ring.make([f"later{number}.{n}" for n in range(10)])
    left = everything(tmp_path)
    assert not any(keys[user].secret in left for user in gone)
    assert all(key.secret in left for user, key in keys.items() if user not in gone)
    assert not any(user.encode() in left for user in keys)
    assert ring.load([keys[user].id for user in gone]) == (40, {})


def test_who_is_heard_of_again_after_being_forgotten_has_another_key(tmp_path: Path) -> None:
    ring = Keyring(tmp_path)
    before = ring.make(["alice"])["alice"]
    ring.forget("alice")
    after = ring.make(["alice"])["alice"]
    assert after.id != before.id
    assert after.secret != before.secret
    assert set(ring.load([before.id, after.id])[1]) == {after.id}


def test_a_key_that_a_crash_destroyed_half_is_gone(tmp_path: Path) -> None:
    ring = Keyring(tmp_path)
    before = ring.make(["alice"])["alice"]
    place = (tmp_path / "keys").read_bytes().index(before.secret)
    with (tmp_path / "keys").open("r+b") as file:
        file.seek(place)
        file.write(bytes(KEY_BYTES))
    assert ring.key_of("alice") is None
    assert ring.load([before.id]) == (0, {})
    assert ring.make(["alice"])["alice"].id != before.id


def _make(folder: Path, name: str) -> None:
    ring = Keyring(folder)
    for number in range(10):
        (folder / f"{name}{number}").write_bytes(ring.make([f"user{number}"]).popitem()[1].secret)


def test_processes_that_make_keys_at_once_make_the_same(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    ring = Keyring(tmp_path)
    ring.make(["user0"])
    both = [context.Process(target=_make, args=(tmp_path, name)) for name in "ab"]
    for process in both:
        process.start()
    for process in both:
        process.join(60)
        assert process.exitcode == 0
    for number in range(10):
        one, other = ((tmp_path / f"{name}{number}").read_bytes() for name in "ab")
        assert one == other
    assert len(ring.ids()) == 10


def test_a_reader_that_was_forked_reads_for_itself(tmp_path: Path) -> None:
    ring = Keyring(tmp_path)
    key = ring.make(["alice"])["alice"]
    child = os.fork()
    if child == 0:
        os._exit(0 if ring.key_of("alice") == key else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert ring.key_of("alice") == key


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "keys.db").write_bytes(b"no database" * 100)
    with pytest.raises(sqlite3.DatabaseError):
        Keyring(tmp_path).make(["alice"])
