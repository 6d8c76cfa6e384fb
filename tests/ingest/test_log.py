"""The segment log: what is durable is read back, whatever a crash leaves behind."""

from __future__ import annotations

import os
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from citywise.backend.ingest import log

payloads = st.lists(st.binary(min_size=1, max_size=40), max_size=12)


def contents(folder: Path) -> list[bytes]:
    return [r.payload for r in log.read(folder, 0, log.durable_end(folder))]


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(payloads, payloads, st.integers(1, 200))
def test_records_come_back_in_order_over_segments_and_restarts(
    tmp_path_factory: pytest.TempPathFactory, first: list[bytes], second: list[bytes], size: int
) -> None:
    folder = tmp_path_factory.mktemp("log")
    for group in (first, second):
        writer = log.LogWriter(folder, size)
        for payload in group:
            writer.append([payload])
        writer.close()
    assert contents(folder) == first + second
    records = list(log.read(folder, 0, log.durable_end(folder)))
    assert all(a.end == b.position for a, b in pairwise(records))
    for record in records:
        again = next(log.read(folder, record.position, record.end))
        assert again == record


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(payloads.filter(bool), st.binary(min_size=1, max_size=60))
def test_a_torn_tail_is_cut_off_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, written: list[bytes], torn: bytes
) -> None:
    folder = tmp_path_factory.mktemp("log")
    writer = log.LogWriter(folder)
    writer.append(written)
    writer.close()
    (segment,) = folder.glob("*.log")
    with segment.open("ab") as file:
        file.write(b"\xff\xff\xff\x7f" + torn)
    assert contents(folder) == written
    log.LogWriter(folder).close()
    assert contents(folder) == written


def test_what_is_not_synced_is_not_read(tmp_path: Path) -> None:
    writer = log.LogWriter(tmp_path)
    writer.append([b"one"])
    writer.sync()
    writer.append([b"two"])
    assert contents(tmp_path) == [b"one"]
    writer.close()
    assert contents(tmp_path) == [b"one", b"two"]


def test_a_damaged_record_is_reported_with_its_file_and_position(tmp_path: Path) -> None:
    writer = log.LogWriter(tmp_path)
    writer.append([b"one", b"two"])
    writer.close()
    (segment,) = tmp_path.glob("*.log")
    data = bytearray(segment.read_bytes())
    data[-1] ^= 1
    segment.write_bytes(data)
    with pytest.raises(log.LogError, match=rf"{segment.name}: damaged record at position 11"):
        contents(tmp_path)


def test_trim_removes_old_segments_that_nobody_needs_and_says_so_to_a_late_reader(
    tmp_path: Path,
) -> None:
    writer = log.LogWriter(tmp_path, segment_bytes=1)
    ends = [writer.append([b"x"]) for _ in range(5)]
    writer.close()
    hour_ago = time.time() - 3600
    for path in tmp_path.glob("*.log"):
        os.utime(path, (hour_ago, hour_ago))
    assert log.trim(tmp_path, needed_from=ends[2], keep_seconds=7200) == 0
    assert log.trim(tmp_path, needed_from=ends[2], keep_seconds=60) == 3
    assert [r.position for r in log.read(tmp_path, ends[2], ends[4])] == [ends[2], ends[3]]
    with pytest.raises(log.LogError, match="no longer in the log"):
        list(log.read(tmp_path, 0, ends[4]))


def test_limit_ends_on_a_record(tmp_path: Path) -> None:
    writer = log.LogWriter(tmp_path)
    end = 0
    ends = [end := writer.append([b"x" * 10]) for _ in range(10)]
    writer.close()
    assert log.limit(tmp_path, 0, end, 25) == ends[1]
    assert log.limit(tmp_path, 0, end, 10_000) == end
    assert log.limit(tmp_path, 0, end, 1) == ends[0]


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    writer = log.LogWriter(tmp_path)
    with pytest.raises(log.LogError, match="another process writes"):
        log.LogWriter(tmp_path)
    writer.close()
    log.LogWriter(tmp_path).close()


def test_what_could_not_be_synced_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = log.LogWriter(tmp_path)
    writer.append([b"one"])
    writer.sync()

    def fail(_file: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", fail)
        writer.append([b"two"])
        with pytest.raises(OSError, match="Input/output"):
            writer.sync()
    writer.append([b"two"])
    writer.close()
    assert contents(tmp_path) == [b"one", b"two"]
