"""A pipeline that runs in Spark until a request has read to an end of the log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from sqlalchemy import Engine, select

from citywise.backend.pipeline.service import PipelineService
from citywise.backend.settings import Settings
from citywise.backend.store.models import CursorRow

PATIENCE = 240
"""Seconds: Spark starts in them, on a loaded machine too."""

STARTS = 3
"""So often the pipeline is started, as the supervisor would."""


def serve_to(
    end: int,
    settings: Settings,
    engine: Engine,
    request: str,
    also: Callable[[], bool] = lambda: True,
) -> None:
    """Let the pipeline run until the request stands at the end, and `also` holds."""
    stop = threading.Event()
    starts = [_started(settings, engine, stop)]
    deadline = time.monotonic() + PATIENCE
    try:
        while _position(engine, request) < end or not also():
            if not starts[-1].is_alive():  # Spark waits 10 s for Python, which may be late
                assert len(starts) < STARTS, "the pipeline ended"
                starts.append(_started(settings, engine, stop))
            assert time.monotonic() < deadline, f"it stands at {_position(engine, request)}"
            time.sleep(0.1)
    finally:
        stop.set()
        starts[-1].join(60)
        engine.dispose()
    assert not starts[-1].is_alive(), "the pipeline does not stop"


def _started(settings: Settings, engine: Engine, stop: threading.Event) -> threading.Thread:
    service = threading.Thread(target=PipelineService(settings, engine, stop).run, daemon=True)
    service.start()
    return service


def _position(engine: Engine, request: str) -> int:
    query = select(CursorRow.position).where(CursorRow.request == request)
    with engine.connect() as connection:
        return connection.scalar(query) or 0
