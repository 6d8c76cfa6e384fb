"""What is about a user stands sealed in the log, and not at all once the user is forgotten."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.backend.ingest import log, records, seals
from citywise.backend.ingest.journal import Journal, Overdue
from citywise.backend.ingest.keyring import Keyring, beside
from citywise.backend.ingest.records import StandingRow, encode_standing
from citywise.backend.ingest.standing import Entry
from tests.ingest.test_journal import FILLER, stands, trim

USERS = ("alice", "bobby")
MARK = "confidential"


def about(user: str, number: int | None) -> list[Entry]:
    body = None if number is None else {"user": user, "told": f"{MARK}{number}"}
    return [Entry("position", user, body), Entry("instance", f"{user}.jam", body)]


told = st.builds(lambda user, n, i: about(user, n)[i], st.sampled_from(USERS),
                 st.none() | st.integers(0, 2), st.integers(0, 1))  # fmt: skip
events = st.builds(lambda n: Entry("event", "jam", {"n": n}), st.integers(0, 2))
steps = st.lists(
    st.lists(told | events, min_size=1, max_size=3)
    | st.sampled_from([*USERS, "fill", "refresh", "restart", "crash"]),
    max_size=30,
)


class City:
    """A journal, and beside it the plain truth of what it is to hold."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.ring = folder, Keyring(beside(folder))
        self.journal = Journal(folder, 400)
        self.truth: dict[tuple[str, str], Any] = {}
        self.durable = dict(self.truth)
        self.destroyed: list[bytes] = []

    def step(self, step: Any) -> None:
        match step:
            case "fill":
                self.journal.add(FILLER)
            case "refresh":
                self.journal.refresh(-1, 9)
            case "restart" | "crash":
                self.reopen(crash=step == "crash")
            case str(user):
                self.forget(user)
            case _:
                self.journal.stand(step, 5)
                for subject, key, body in step:
                    self.truth.pop((subject, key), None)
                    if body is not None:
                        self.truth[subject, key] = body

    def write(self) -> None:
        self.journal.write()
        self.durable = dict(self.truth)

    def reopen(self, *, crash: bool) -> None:
        """What was only gathered is lost in a crash, and so is what stood by it."""
        if not crash:
            self.write()
        self.journal.close()
        self.truth = dict(self.durable)
        self.journal = Journal(self.folder, 400)

    def forget(self, user: str) -> None:
        key = self.ring.key_of(user)
        self.destroyed += [key.secret] if key else []
        self.ring.forget(user)
        seals._at.cache_clear()  # as if half a second had passed
        for truth in (self.truth, self.durable):
            for name in [name for name in truth if name[1].partition(".")[0] == user]:
                del truth[name]

    def files(self) -> bytes:
        folders = (self.folder, beside(self.folder))
        return b"".join(p.read_bytes() for f in folders for p in f.glob("*"))


@settings(max_examples=40)
@given(steps, st.booleans())
def test_a_reader_finds_what_stands_of_those_who_are_not_forgotten_and_files_tell_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, taken: list[Any], each_written: bool
) -> None:
    city = City(tmp_path_factory.mktemp("data") / "log")
    for step in taken:
        city.step(step)
        if each_written:
            city.write()
            trim(city.folder, city.journal.needed_from)
        assert stands(city.folder, log.durable_end(city.folder)) == city.durable
    city.write()
    assert stands(city.folder, city.journal.end) == city.truth
    left = city.files()
    assert not any(user.encode() in left for user in USERS)
    assert MARK.encode() not in left
    assert not any(secret in left for secret in city.destroyed)
    city.journal.close()
    shutil.rmtree(city.folder.parent)


@pytest.fixture
def city(tmp_path: Path) -> City:
    return City(tmp_path / "log")


def test_a_removal_is_sealed_too_and_one_that_nobody_can_read_is_not_written(city: City) -> None:
    city.step(about("alice", 1))
    city.step(about("bobby", 1))
    city.step(about("alice", None))
    city.write()
    entries = list(records.read_standing(city.folder, 0, city.journal.end))
    assert [(e.key, e.body is None) for e in entries[-2:]] == [("alice", True), ("alice.jam", True)]
    assert b"alice" not in city.files()
    city.forget("bobby")
    end = city.journal.end
    city.step(about("bobby", None))
    city.write()
    assert city.journal.end == end
    assert len(city.journal.register) == 0


def test_what_is_told_again_after_its_user_was_forgotten_is_news(city: City) -> None:
    for _ in range(2):
        city.step(about("alice", 1))
        city.write()
        assert len(stands(city.folder, city.journal.end)) == 2
        city.forget("alice")
        assert stands(city.folder, city.journal.end) == {}


def test_nothing_waits_in_the_log_for_what_was_forgotten(
    city: City, monkeypatch: pytest.MonkeyPatch
) -> None:
    city.step(about("alice", 1))
    city.step([Entry("event", "jam", {"n": 1})])
    city.write()
    city.forget("alice")
    monkeypatch.setattr(city.journal._sealer.keys, "_looked", -1e9)  # half a second later
    city.journal.forget(0, 9)
    assert len(city.journal.register) == 1
    assert city.journal.needed_from > 0


def test_what_an_older_version_wrote_in_the_clear_is_read_and_sealed_when_appended_again(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "log"
    body = {"user": "alice", "n": 1}
    plain = [StandingRow(s, "alice", orjson.dumps(body)) for s in ("position", "instance")]
    writer = log.LogWriter(folder, 400)
    writer.append([encode_standing(plain, 5, 0)])
    writer.close()
    one = Journal(folder, 400)
    assert stands(folder, one.end) == {(s, "alice"): body for s in ("position", "instance")}
    for _ in range(10):
        one.add(FILLER)
        one.write()
    one.refresh(-1, 9)
    one.write()
    assert stands(folder, one.end) == {(s, "alice"): body for s in ("position", "instance")}
    trim(folder, one.needed_from)
    assert b"alice" not in b"".join(path.read_bytes() for path in folder.glob("*.log"))
    one.forget(6, 10)
    assert list(one.register._entries) == ["instance alice"]
    one.close()


def test_each_subject_is_kept_as_long_as_its_user_wants(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    one = Journal(folder, 400)
    body = {"n": 1}
    for subject, heard in (("position", 1000), ("route", 1000), ("activity", 2000)):
        one.stand([Entry(subject, "alice", body)], heard)
    one.stand([Entry("position", "bobby", body)], 1000)
    one.stand([Entry("route", "alice", body)], 3000)
    one.write()
    own = [Overdue("alice", subject, 2500) for subject in ("position", "route", "activity")]
    one.forget(0, 4000, [*own, Overdue("carol", "route", 9000)])
    one.write()
    assert set(stands(folder, one.end)) == {("route", "alice"), ("position", "bobby")}
    one.close()
    again = Journal(folder, 400)
    again.forget(0, 4000, [Overdue("alice", "route", 1500), Overdue("bobby", "position", 1500)])
    assert again.register.heard_ms("position", "bobby") is None
    again.close()


def test_what_is_known_of_one_user_is_read_without_opening_the_others(
    city: City, monkeypatch: pytest.MonkeyPatch
) -> None:
    city.step(about("alice", 1))
    city.step(about("bobby", 2))
    city.step([about("alice", 2)[0], Entry("route", "alice", {"n": 1})])
    city.step([Entry("route", "alice", None)])
    city.write()
    opened: set[str] = set()
    open_ = seals.Keys.open

    def noted(self: seals.Keys, boxes: Sequence[seals.Sealed]) -> list[bytes | None]:
        opened.update(box.id for box in boxes)
        return open_(self, boxes)

    monkeypatch.setattr(seals.Keys, "open", noted)
    one, two = ({"user": "alice", "told": f"{MARK}{n}"} for n in (1, 2))
    assert records.context_of(city.folder, "alice") == {"position": two}
    assert list(records.read_personal(city.folder, 0, city.journal.end, "alice")) == [
        (5, "position", "alice", one), (5, "instance", "alice.jam", one),
        (5, "position", "alice", two), (5, "route", "alice", {"n": 1}), (5, "route", "alice", None),
    ]  # fmt: skip
    key = city.ring.key_of("alice")
    assert key is not None
    assert opened == {key.id}
    assert records.context_of(city.folder, "nobody") == {}


def test_the_keys_of_a_group_are_made_together(city: City, monkeypatch: pytest.MonkeyPatch) -> None:
    written = 0
    create = Keyring._create

    def counted(self: Keyring, users: Any) -> None:
        nonlocal written
        written += 1
        create(self, users)

    monkeypatch.setattr(Keyring, "_create", counted)
    entries = [Entry("position", f"user{n}", {"n": 1}) for n in range(50)]
    city.journal.expect(entries)
    for entry in entries:
        city.journal.stand([entry], 5)
    assert written == 1


def test_what_was_appended_again_is_still_no_news_even_after_a_restart(city: City) -> None:
    city.step(about("alice", 1))
    for _ in range(10):
        city.step("fill")
        city.write()
    city.step("refresh")
    city.write()
    assert city.journal.needed_from > 0
    for _ in range(2):
        assert city.journal.stand(about("alice", 1), 6) == 2
        city.reopen(crash=False)
