"""Each record says when it came in, so that one knows how far the answers are behind."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from citywise.backend.ingest import log, records
from citywise.backend.ingest.journal import Journal
from citywise.backend.ingest.payloads import Clock
from citywise.backend.ingest.standing import Entry

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_the_first_record_of_a_stretch_says_when_it_came(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "log", 1_000_000)
    starts = [0]
    clock = Clock(now=NOON, complete=NOON, source="wall", speed=1)
    for written in (
        records.encode_clock(clock, 1000),
        None,
        records.encode_readings("traffic", 1002, []),
        b'{"k":"of a newer version"}',
    ):
        if written is None:
            journal.stand([Entry("event", "e", {"n": 1})], 1001)
        else:
            journal.add(written)
        journal.write()
        starts.append(journal.end)
    journal.close()
    found = [records.came_ms(tmp_path / "log", start, starts[-1]) for start in starts]
    assert found == [1000, 1001, 1002, None, None]
    log.path_of(tmp_path / "log", 0).write_bytes(b"damaged")
    assert records.came_ms(tmp_path / "log", 0, starts[-1]) is None
