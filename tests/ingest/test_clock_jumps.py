"""The machine's clock is set forth and back: in the log, time never goes back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from citywise.backend.ingest import log, records
from citywise.backend.ingest.intake import IntakeStore
from citywise.backend.ingest.service import IngestService
from citywise.backend.settings import Ingest, Settings
from tests.databases import begun

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
Passing = Callable[..., list[datetime]]


@pytest.fixture
def passing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Passing:
    """Let the machine's clock show some times; gives those that are in the log."""
    settings = Settings(data_dir=tmp_path, ingest=Ingest(clock="wall", grace_s=0))
    engine = begun(settings.database_url)
    service = IngestService(settings, IntakeStore(engine), threading.Event())

    def passing(*times: datetime) -> list[datetime]:
        for time in times:
            clock = SimpleNamespace(now=lambda _zone, time=time: time)
            monkeypatch.setattr("citywise.backend.ingest.service.datetime", clock)
            service._let_time_pass()
        found = records.read(settings.log_dir, 0, log.durable_end(settings.log_dir))
        return [entry.clock.now for entry in found if isinstance(entry, records.ClockReading)]

    return passing


def test_a_clock_that_is_set_forth_takes_time_along(passing: Passing) -> None:
    later = NOON + 90 * MINUTE
    assert passing(NOON, later) == [NOON, later]


def test_a_clock_that_is_set_back_lets_no_time_pass_until_it_has_come_so_far(
    passing: Passing, caplog: pytest.LogCaptureFixture
) -> None:
    back = NOON - 60 * MINUTE
    assert passing(NOON, back, back + MINUTE, NOON + MINUTE) == [NOON, NOON + MINUTE]
    (said,) = caplog.messages
    assert said.startswith("the machine's clock was set back by 3600 s")


def test_each_time_that_it_is_set_back_is_told(
    passing: Passing, caplog: pytest.LogCaptureFixture
) -> None:
    passing(NOON, NOON - MINUTE, NOON + MINUTE, NOON - MINUTE)
    assert len(caplog.messages) == 2


def test_a_clock_that_is_kept_right_is_not_told(
    passing: Passing, caplog: pytest.LogCaptureFixture
) -> None:
    assert passing(NOON, NOON - timedelta(milliseconds=500)) == [NOON]
    assert caplog.messages == []
