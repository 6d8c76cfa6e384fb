"""Spark gives those that are behind a turn, though there is nothing new in the log."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import insert

from citywise.backend.pipeline.requests import find
from citywise.backend.pipeline.worker import READINGS
from citywise.backend.settings import Pipeline, Settings
from citywise.backend.store.models import CursorRow
from tests.databases import begun
from tests.pipeline.serving import serve_to
from tests.pipeline.stretches import Stretches, traffic

JAMS = find("traffic_jam").stem


@pytest.mark.thorough
@pytest.mark.spark
def test_what_was_behind_at_the_start_catches_up_without_anything_new(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, pipeline=Pipeline(requests=[JAMS], max_batch_bytes=300))
    log = Stretches(settings.log_dir)
    log.write([(n * 300, [traffic("1", n * 300 - 5, 20, 20)]) for n in range(1, 4)])
    engine = begun(settings.database_url)
    none = {"resume_from": 0, "state": {}, "updated_ms": 0}
    stands = {READINGS: log.ends[-1], JAMS: 0}
    rows = [{"request": name, "position": at, **none} for name, at in stands.items()]
    with engine.begin() as connection:
        connection.execute(insert(CursorRow), rows)
    serve_to(log.ends[-1], settings, engine, JAMS)
