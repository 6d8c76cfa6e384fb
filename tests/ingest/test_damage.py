"""What was acknowledged is never cut off, and what can be read of a damaged log is saved."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from citywise.backend.ingest import frames, log, records, salvage
from citywise.backend.ingest.damage import DamagedLogError
from citywise.backend.ingest.journal import Journal
from citywise.backend.ingest.standing import Entry
from tests.ingest.test_journal import stands

SEGMENT = 900
READINGS = 60


@cache
def _original(segment_bytes: int) -> tuple[TemporaryDirectory[str], list[int]]:
    state = TemporaryDirectory()
    folder = Path(state.name) / "log"
    journal = Journal(folder, segment_bytes)
    for number in range(READINGS):
        row = [f"s{number}", number, {"speed_kmh": number, "vehicle_count": 1}]
        journal.add(orjson.dumps({"k": "traffic", "r": number, "v": [row]}))
        journal.stand([Entry("event", f"e{number % 7}", {"n": number, "user": "a"})], number)
        journal.write()
    journal.close()
    return state, [r.position for r in log.read(folder, 0, log.durable_end(folder))]


def written(folder: Path, segment_bytes: int = SEGMENT) -> list[int]:
    """A log of some readings, with what stands in between; where its records begin."""
    original, starts = _original(segment_bytes)
    shutil.copytree(original.name, folder.parent, dirs_exist_ok=True)
    return starts


def segment_of(folder: Path, position: int) -> tuple[Path, int]:
    base = max(b for b in log.segments(folder) if b <= position)
    return log.path_of(folder, base), position - base


def flip(folder: Path, position: int, length: int = 1, *, zero: bool = False) -> None:
    """Turn bits of a log's bytes, or make them zero; as far as its segment goes."""
    path, at = segment_of(folder, position)
    data = bytearray(path.read_bytes())
    for index in range(at, min(at + length, len(data))):
        data[index] = 0 if zero else data[index] ^ 0x10
    path.write_bytes(data)


def sensors(folder: Path, start: int = 0) -> list[str]:
    end = log.durable_end(folder)
    found = records.read(folder, start, end)
    return [entry.sensor for entry in found if isinstance(entry, records.Reading)]


def last(folder: Path) -> Path:
    return log.path_of(folder, log.segments(folder)[-1])


def cut_in_half(folder: Path) -> None:
    data = last(folder).read_bytes()
    last(folder).write_bytes(data[: len(data) // 2])


def cut_at_a_record(folder: Path) -> None:
    base = log.segments(folder)[-1]
    ends = [r.end for r in log.read(folder, base, log.durable_end(folder))]
    last(folder).write_bytes(last(folder).read_bytes()[: ends[len(ends) // 2] - base])


def flip_in_the_middle(folder: Path) -> None:
    base = log.segments(folder)[-1]
    flip(folder, base + last(folder).stat().st_size // 2)


def zeros_in_the_middle(folder: Path) -> None:
    base = log.segments(folder)[-1]
    flip(folder, base + 100, 300, zero=True)


def flip_without_a_mark(folder: Path) -> None:
    flip_in_the_middle(folder)
    (folder / "durable").unlink()


@pytest.mark.parametrize(
    "spoil",
    [cut_in_half, cut_at_a_record, flip_in_the_middle, zeros_in_the_middle, flip_without_a_mark],
)
def test_a_damaged_log_is_not_opened_and_keeps_every_byte(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    folder = tmp_path / "log"
    written(folder, segment_bytes=100_000)
    spoil(folder)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    for _ in range(2):
        with pytest.raises(DamagedLogError, match=rf"{last(folder).name}: (damaged|ends) .*\d+"):
            log.LogWriter(folder)
        with pytest.raises(DamagedLogError, match="citywise log salvage"):
            log.check(folder)
    after = {path: path.read_bytes() for path in folder.iterdir()}
    assert {p: b for p, b in after.items() if p.name != "durable" or b} == before


def damaged_mark(_data: bytes) -> bytes:
    return b"\xff" * 12


@pytest.mark.parametrize(
    "spoil",
    [
        lambda mark: None,
        lambda mark: b"",
        lambda mark: b"\0" * 8,
        lambda mark: (2**40).to_bytes(8, "little"),
        lambda mark: mark[:8],
        lambda mark: mark + b"\0",
        damaged_mark,
    ],
)
def test_a_mark_that_is_gone_or_wrong_costs_no_record(
    tmp_path: Path, spoil: Callable[[bytes], bytes | None]
) -> None:
    folder = tmp_path / "log"
    written(folder)
    mark = spoil((folder / "durable").read_bytes())
    (folder / "durable").unlink()
    if mark is not None:
        (folder / "durable").write_bytes(mark)
    with last(folder).open("ab") as file:
        file.write(b"\x40\0\0\0torn" if mark is None else b"")
    log.LogWriter(folder, SEGMENT).close()
    assert sensors(folder) == [f"s{number}" for number in range(READINGS)]


def test_beyond_the_mark_what_a_crash_left_is_cut_zeros_too(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    written(folder)
    with last(folder).open("ab") as file:
        file.write(b"\0" * 4096)
    log.LogWriter(folder, SEGMENT).close()
    assert sensors(folder) == [f"s{number}" for number in range(READINGS)]
    log.check(folder)


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(1, 2500), st.booleans()), max_size=3),
    st.floats(0, 1),
    st.floats(0, 0.4),
)
def test_of_a_damaged_log_all_else_is_saved_and_positions_stay(
    tmp_path_factory: pytest.TempPathFactory,
    damages: list[tuple[float, int, bool]],
    cursor: float,
    cut: float,
) -> None:
    folder = tmp_path_factory.mktemp("state") / "log"
    starts = written(folder)
    end = log.durable_end(folder)
    whole = {r.position: r.payload for r in log.read(folder, 0, end)}
    cursors = {starts[int(cursor * (len(starts) - 1))], end}
    for share, length, zero in damages:
        flip(folder, int(share * (end - 1)), length, zero=zero)
    data = last(folder).read_bytes()
    last(folder).write_bytes(data[: len(data) - int(cut * len(data))])
    readable = salvage.examine(folder, end)
    new = folder.with_name("new")
    found = salvage.salvage(folder, new, cursors)
    assert found == readable
    assert log.durable_end(new) == end
    saved = {r.position: r.payload for r in log.read(new, 0, end)}
    kept = {p: payload for p, payload in saved.items() if whole.get(p) == payload}
    lost = {p: payload for p, payload in saved.items() if p not in kept}
    assert all(orjson.loads(payload)["k"] == "lost" for payload in lost.values())
    for position in set(whole) - set(kept):
        after = position + frames.size(whole[position])
        assert any(s.start <= position + 27 and after - 27 <= s.end for s in found.lost), position
    for position in cursors:
        list(records.read(new, position, end))
    shutil.rmtree(folder)
    new.rename(folder)
    journal = Journal(folder, SEGMENT)
    assert journal.end == end
    journal.stand([Entry("event", "new", {"n": 1, "user": "a"})], 1)
    journal.write()
    journal.close()
    assert ("event", "new") in stands(folder, log.durable_end(folder))


def test_two_damaged_records_side_by_side_are_split_where_a_cursor_stands(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    starts = written(folder, segment_bytes=100_000)
    flip(folder, starts[10])
    flip(folder, starts[11])
    new = tmp_path / "new"
    found = salvage.salvage(folder, new, {starts[11]})
    assert [(one.start, one.end) for one in found.lost] == [(starts[10], starts[12])]
    assert [r.position for r in log.read(new, starts[11], log.durable_end(new))] == starts[11:]
    aside = (new / "damaged" / f"{starts[10]:020d}").read_bytes()
    assert aside == segment_of(folder, 0)[0].read_bytes()[starts[10] : starts[12]]


def test_a_log_that_ends_before_a_cursor_is_filled_up_to_it(tmp_path: Path) -> None:
    """As a version that cut off what was durable left it."""
    folder = tmp_path / "log"
    starts = written(folder, segment_bytes=100_000)
    (segment,) = folder.glob("*.log")
    segment.write_bytes(segment.read_bytes()[: starts[50]])
    (folder / "durable").write_bytes(log.packed_mark(starts[50]))
    new = tmp_path / "new"
    found = salvage.salvage(folder, new, {starts[90]})
    assert [(one.start, one.end, one.there) for one in found.lost] == [(starts[50], starts[90], 0)]
    journal = Journal(new, 100_000)
    assert journal.end == starts[90]
    journal.close()


def test_an_undamaged_log_is_copied_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    written(folder)
    for path in folder.iterdir():
        path.chmod(0o644)  # as an earlier version left it
    found = salvage.salvage(folder, tmp_path / "new", {0})
    files = [path for path in (tmp_path / "new").iterdir() if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert (found.lost, found.records) == ([], 2 * READINGS)
    for path in folder.iterdir():
        assert (tmp_path / "new" / path.name).read_bytes() == path.read_bytes()
    with pytest.raises(log.LogError, match="exists"):
        salvage.salvage(folder, tmp_path / "new", {0})
