"""What stands is found at the log's end for ever, whatever is replaced, trimmed or restarted."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from citywise.backend.ingest import journal, log, records
from citywise.backend.ingest.journal import Journal
from citywise.backend.ingest.standing import CONTEXT, Entry

Standing = dict[tuple[str, str], Any]
FILLER = b'{"k":"traffic","r":1,"v":[' + b" " * 400 + b"]}"

entries = st.builds(
    Entry,
    st.sampled_from(["event", "position", "instance"]),
    st.sampled_from("abcdef"),
    st.none() | st.fixed_dictionaries({"n": st.integers(0, 3), "user": st.sampled_from("ab")}),
)
steps = st.lists(
    st.lists(entries, min_size=1, max_size=4) | st.sampled_from(["fill", "refresh", "restart"]),
    max_size=40,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The log's folder; the keys lie beside it."""
    return tmp_path / "log"


def opened(folder: Path, segment_bytes: int = 400) -> Journal:
    return Journal(folder, segment_bytes)


def stands(folder: Path, end: int) -> Standing:
    """What a reader that begins at `end` finds, reading what it is told to."""
    found: Standing = {}
    for entry in records.read_standing(folder, records.standing_since(folder, end), end):
        if entry.body is None:
            found.pop((entry.subject, entry.key), None)
        else:
            found[entry.subject, entry.key] = entry.body
    return found


def trim(folder: Path, needed_from: int) -> None:
    for path in folder.glob("*.log"):
        os.utime(path, (0, 0))
    log.trim(folder, needed_from, 60)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(steps, st.booleans())
def test_a_reader_finds_all_that_stands_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, taken: list[Any], trimmed: bool
) -> None:
    folder = tmp_path_factory.mktemp("data") / "log"
    one = opened(folder)
    model: Standing = {}
    were: list[tuple[int, Standing]] = []
    for step in taken:
        if step == "fill":
            one.add(FILLER)
        elif step == "refresh":
            one.refresh(-1, 9)
        elif step == "restart":
            one.close()
            one = opened(folder)
        else:
            one.stand(step, 5)
            for subject, key, body in step:
                model.pop((subject, key), None)
                if body is not None:
                    model[subject, key] = body
        one.write()
        if trimmed:
            trim(folder, one.needed_from)
        were.append((one.end, dict(model)))
    one.close()
    for end, expected in were[-1:] if trimmed else were:
        assert stands(folder, end) == expected
    shutil.rmtree(folder.parent)


def test_what_stands_already_is_not_written_again_even_after_a_restart(folder: Path) -> None:
    one = opened(folder)
    body = {"b": [1.5, "x"], "a": 1}
    assert one.stand([Entry("event", "e", body), Entry("event", "e", body)], 5) == 1
    one.write()
    one.close()
    again = opened(folder)
    end = again.end
    assert again.stand([Entry("event", "e", {"a": 1, "b": [1.5, "x"]})], 6) == 1
    assert again.stand([Entry("event", "other", None)], 6) == 1
    again.write()
    assert again.end == end
    assert again.stand([Entry("event", "e", None)], 7) == 0
    again.write()
    assert again.end > end
    again.close()


def test_old_entries_are_appended_again_in_portions_and_their_segments_go(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_PORTION", 300)
    monkeypatch.setattr(journal, "_MOST_PORTION", 300)
    one = opened(folder, 2000)
    standing = {("event", f"e{n}"): {"n": n} for n in range(40)}
    together = [Entry(subject, key, body) for (subject, key), body in standing.items()]
    for first in range(0, 40, 4):
        one.stand(together[first : first + 4], 5)
    for _ in range(20):
        one.add(FILLER)
        one.write()
    standing["event", "e1"] = {"n": 99}
    one.stand([Entry("event", "e1", {"n": 99})], 5)
    one.write()
    filled = one.end
    one.refresh(3600, 9)
    one.write()
    assert one.end == filled, "nothing is old yet"
    portions: list[int] = []
    while one.needed_from < filled and len(portions) < 99:
        before = one.end
        one.refresh(-1, 9)
        one.write()
        portions.append(one.end - before)
    assert len(portions) > 2
    assert max(portions) < 3000
    trim(folder, one.needed_from)
    assert log.segments(folder)[0] > 2000
    assert stands(folder, one.end) == standing
    before = one.end
    one.refresh(-1, 9)
    one.write()
    assert one.end == before, "what was just appended is not appended again"
    one.close()


def test_what_lies_too_far_behind_is_appended_again_however_new_it_is(folder: Path) -> None:
    one = opened(folder)
    one.stand([Entry("event", "e", {"n": 1})], 5)
    for _ in range(40):
        one.add(FILLER)
        one.write()
        one.refresh(3600, 9)
        one.write()
        assert one.end - one.needed_from < (journal._SEGMENTS + 2) * 400
    one.close()
    assert stands(folder, one.end) == {("event", "e"): {"n": 1}}


def test_a_user_not_heard_of_is_forgotten_and_instances_and_events_stay(folder: Path) -> None:
    one = opened(folder)
    for user, heard in (("alice", 1000), ("bob", 2000)):
        body = {"n": 1, "user": user}
        one.stand([Entry(s, user, body) for s in (*CONTEXT, "instance", "event")], heard)
    one.stand([Entry("position", "alice", {"n": 1})], 3000)
    one.write()
    one.forget(2500, 4000)
    one.write()
    one.close()
    assert {subject for subject, key in stands(folder, one.end) if key == "alice"} == {
        *CONTEXT, "instance", "event",
    }  # fmt: skip
    assert {subject for subject, key in stands(folder, one.end) if key == "bob"} == {
        "instance", "event",
    }  # fmt: skip


def test_silent_users_are_forgotten_some_at_a_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "_MOST_USERS", 2)
    one = opened(folder)
    for user in "abcde":
        one.stand([Entry("route", user, {"n": 1})], 1000)
    for expected in (3, 1, 0, 0):
        one.forget(1500, 9000)
        assert len(one.register) == expected
    one.close()


def test_when_a_user_was_heard_of_survives_a_refresh_and_a_restart(folder: Path) -> None:
    one = opened(folder)
    one.stand([Entry("route", "bob", {"n": 1})], 2000)
    one.stand([Entry("route", "alice", {"n": 1})], 1000)
    for _ in range(10):
        one.add(FILLER)
        one.write()
    one.refresh(-1, 9000)
    one.write()
    assert one.needed_from > 1500
    one.close()
    again = opened(folder)
    again.forget(1500, 9000)
    again.write()
    again.close()
    assert stands(folder, again.end) == {("route", "bob"): {"n": 1}}


def test_what_could_not_be_written_is_written_later_at_the_same_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = opened(folder)
    one.stand([Entry("event", "e", {"n": 1})], 5)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fdatasync", full)
        for _ in range(2):
            with pytest.raises(OSError, match="No space"):
                one.write()
    one.stand([Entry("event", "f", {"n": 2})], 5)
    one.write()
    (first, second) = records.read_standing(folder, 0, one.end)
    assert one.register.is_at("event", "e", first.position)
    assert one.register.is_at("event", "f", second.position)
    one.close()


def test_only_the_last_record_tells_of_rows_that_may_still_be_in_the_inlet(folder: Path) -> None:
    one = opened(folder)
    one.stand([Entry("event", "e", {"n": 1}), Entry("event", "f", {"n": 1})], 5, [7, 8])
    one.write()
    one.close()
    again = opened(folder)
    assert list(again.inlet_ids) == [7, 8]
    again.add(FILLER)
    again.write()
    again.close()
    last = opened(folder)
    assert list(last.inlet_ids) == []
    last.close()


@pytest.mark.thorough
def test_a_hundred_thousand_entries_take_little_memory(folder: Path) -> None:
    one = opened(folder, 16_000_000)
    for first in range(0, 25_000, 1000):
        users = [f"user{number:06d}" for number in range(first, first + 1000)]
        one.stand([Entry(s, user, {"n": first}) for user in users for s in CONTEXT], first)
        one.write()
    one.close()
    again = opened(folder, 16_000_000)
    assert len(again.register) == 100_000
    held = sys.getsizeof(again.register._entries)
    held += sum(sys.getsizeof(k) + sys.getsizeof(v) for k, v in again.register._entries.items())
    assert held / 100_000 < 250
    again.close()
