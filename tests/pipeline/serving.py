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


def serve_to(
    end: int,
    settings: Settings,
    engine: Engine,
    request: str,
    also: Callable[[], bool] = lambda: True,
) -> None:
    """Let the pipeline run until the request stands at the end, and `also` holds."""
    stop = threading.Event()
    service = threading.Thread(target=PipelineService(settings, engine, stop).run, daemon=True)
    service.start()
    deadline = time.monotonic() + PATIENCE
    try:
        while _position(engine, request) < end or not also():
            assert service.is_alive(), "the pipeline ended"
            assert time.monotonic() < deadline, f"it stands at {_position(engine, request)}"
            time.sleep(0.1)
    finally:
        stop.set()
        service.join(60)
        engine.dispose()
    assert not service.is_alive(), "the pipeline does not stop"


def _position(engine: Engine, request: str) -> int:
    query = select(CursorRow.position).where(CursorRow.request == request)
    with engine.connect() as connection:
        return connection.scalar(query) or 0
