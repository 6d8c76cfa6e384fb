"""A whole running system for tests: real broker, Spark, database and web server."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import select

from citywise.backend.settings import Apps, Ingest, People, Pipeline, Settings
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.models import EventRow, OutboxRow
from citywise.backend.supervisor import System

_PATIENCE_S = 300


@contextmanager
def system(
    folder: Path,
    play: dict[str, Any] | None,
    pipeline: Pipeline | None = None,
    told: bool = False,
    apps: tuple[Path, ...] = (),
) -> Iterator[System]:
    """A system in `folder`, ready, with apps of folders; everything is ended afterwards.

    Without something to play it goes by the wall clock, as a city with real sensors does, or by
    the clock that it is `told`.
    """
    topic = Ingest(clock="topic")
    ingest = topic if play or told else Ingest(clock="wall", grace_s=0.25)
    settings = Settings(
        data_dir=folder,
        ingest=ingest,
        people=People(demo_user=True),
        pipeline=pipeline or Pipeline(),
        apps=Apps(folders=tuple(map(str, apps))),
    )
    running = System(settings, play, say=print)
    try:
        running.start()
        running.wait_ready()
        yield running
    finally:
        running.stop()


def kill(running: System, role: str) -> None:
    """`kill -9` the process of a role, with all it started."""
    os.killpg(running.children[role].process.pid, signal.SIGKILL)


def restart_broker(running: System) -> None:
    """The broker dies hard; the supervisor starts it again."""
    assert running.broker is not None
    assert running.broker.process is not None
    running.broker.process.kill()


def wait_until(
    running: System, condition: Callable[[], bool], patience_s: float = _PATIENCE_S
) -> None:
    """Tend the system until something is so: for long, as the machine may do much else."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        running.tend()
        time.sleep(0.1)


def events(running: System) -> dict[str, tuple[int, int, int | None, int]]:
    """The event table: id → start, last confirmation, end, level."""
    engine = create_engine_for(running.settings.database_url)
    with engine.connect() as connection:
        rows = connection.execute(select(EventRow.__table__)).all()
    engine.dispose()
    return {r.id: (r.start_ms, r.confirmed_ms, r.end_ms, r.level) for r in rows}


def announced(running: System) -> list[tuple[int, str, str, str]]:
    """What the outbox says of events, in order: evaluation time, kind, event id, confirmation."""
    engine = create_engine_for(running.settings.database_url)
    query = select(OutboxRow.__table__).where(OutboxRow.kind.startswith("event."))
    with engine.connect() as connection:
        rows = connection.execute(query.order_by(OutboxRow.id)).all()
    engine.dispose()
    return [(r.t_ms, r.kind, r.body["id"], r.body["confirmed"]) for r in rows]


def answered(running: System) -> int:
    """Stream time (Unix ms) up to which every request has answered."""
    from citywise.backend.ingest.intake import IntakeStore

    engine = create_engine_for(running.settings.database_url)
    progress = IntakeStore(engine).progress()
    engine.dispose()
    return progress.answered_ms or 0
