"""What is sealed opens with its key, as what it was, and for nobody else."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citywise.backend.ingest import seals
from citywise.backend.ingest.keyring import Key, Keyring
from citywise.backend.ingest.seals import Keys, Sealed, Sealer, content, seal

ALICE, BOB = Key("a" * 16, b"a" * 32), Key("b" * 16, b"b" * 32)


class Counted:
    """Keys that are at hand, and how often somebody asked for them."""

    def __init__(self, *keys: Key) -> None:
        self.there = {key.id: key.secret for key in keys}
        self.number = 0
        self.asked: list[set[str]] = []

    def load(self, ids: Collection[str]) -> tuple[int, Mapping[str, bytes]]:
        self.asked.append(set(ids))
        return self.number, {name: self.there[name] for name in ids if name in self.there}

    def forget(self, key: Key) -> None:
        del self.there[key.id]
        self.number += 1


def boxed(key: Key, text: bytes = b'["alice",{}]', subject: str = "position") -> Sealed:
    return Sealed(subject, key.id, orjson.loads(seal(key, subject, text)))


@given(st.binary(max_size=300))
def test_what_was_sealed_is_what_is_opened(text: bytes) -> None:
    assert Keys(Counted(ALICE)).open([boxed(ALICE, text)]) == [text]


def test_a_box_opens_with_no_other_key_for_no_other_subject_and_not_when_it_was_changed() -> None:
    keys, box = Keys(Counted(ALICE, BOB)), boxed(ALICE)
    changed = ("A" if box.box[20] != "A" else "B").join((box.box[:20], box.box[21:]))
    wrong = [
        box._replace(id=BOB.id),
        box._replace(id="c" * 16),
        box._replace(subject="route"),
        box._replace(box=changed),
        box._replace(box=box.box[:12]),
        box._replace(box="?"),
        box._replace(box=""),
    ]
    assert keys.open([*wrong, box]) == [None] * len(wrong) + [b'["alice",{}]']


def test_the_same_content_never_looks_the_same_twice() -> None:
    assert len({boxed(ALICE).box for _ in range(100)}) == 100
    assert (
        content("a", {"x": 1, "b": 2}) == content("a", {"b": 2, "x": 1}) == b'["a",{"b":2,"x":1}]'
    )


def test_keys_are_asked_for_once_and_those_that_are_gone_too() -> None:
    source = Counted(ALICE)
    keys = Keys(source)
    for _ in range(3):
        keys.open([boxed(ALICE), boxed(BOB)])
    assert source.asked == [set(), {ALICE.id, BOB.id}]


def test_a_forgotten_user_s_key_is_used_no_longer_than_half_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr("citywise.backend.ingest.seals.time.monotonic", lambda: now[0])
    source = Counted(ALICE, BOB)
    keys, boxes = Keys(source), [boxed(ALICE), boxed(BOB)]
    assert None not in keys.open(boxes)
    source.forget(ALICE)
    now[0] += 0.51
    assert [text is None for text in keys.open(boxes)] == [True, False]


def test_more_keys_than_are_kept_open_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seals, "_MOST_KEPT", 3)
    some = [Key(f"{n:016x}", bytes([n]) * 32) for n in range(8)]
    keys = Keys(Counted(*some))
    for first in (0, 2, 4):
        assert None not in keys.open([boxed(key) for key in some[first : first + 4]])
        assert len(keys._kept) <= 4
    assert None not in keys.open([boxed(key) for key in some])


def test_whoever_is_sealed_for_after_being_forgotten_has_a_new_key_at_once(tmp_path: Path) -> None:
    ring = Keyring(tmp_path)
    sealer = Sealer(ring)
    sealer.expect(["alice", "bob"])
    before = sealer.key_of("alice")
    assert sealer.key(before.id) == before
    ring.forget("alice")
    sealer.expect(["alice"])
    assert sealer.key_of("alice") != before
    assert sealer.key(before.id) is None


def test_users_are_ready_who_were_known_before_more_came_than_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seals, "_MOST_KEPT", 2)
    ring = Keyring(tmp_path)
    sealer = Sealer(ring)
    sealer.expect(["alice"])
    sealer.expect(["alice", "bob", "carol"])
    users = ["alice", "bob", "carol"]
    assert {user: sealer.key_of(user) for user in users} == ring.keys_of(users)
