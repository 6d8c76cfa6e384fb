"""Databases for tests: as a system begins with them, and of both kinds that we support."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Engine, MetaData, Table, make_url

from citywise.apps.meeting_mgr.tables import TABLES as MEETINGS
from citywise.apps.meeting_mgr.tables import Base as MeetingBase
from citywise.apps.travel_planner.tables import TABLES as TRIPS
from citywise.apps.travel_planner.tables import Base as TripsBase
from citywise.backend.packs.tables import upgrade
from citywise.backend.store.database import create_engine_for, migrate
from citywise.backend.store.models import Base

OF_APPS = {"meeting_mgr": MEETINGS, "travel_planner": TRIPS}


def begun(url: str) -> Engine:
    """A database with all our tables, and nothing in them, in a file that is to be new."""
    path = Path(make_url(url).database or "")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_empty())
    return create_engine_for(url)


def tables() -> list[Table]:
    """Our tables, and those of our apps."""
    return [
        table for base in (Base, MeetingBase, TripsBase) for table in base.metadata.sorted_tables
    ]


@cache
def _empty() -> bytes:
    """Migrations take longer than most tests."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "empty.db"
        engine = create_engine_for(f"sqlite:///{path}")
        migrate(engine)
        upgrade(engine, OF_APPS)
        engine.dispose()
        return path.read_bytes()


def emptied(url: str) -> Engine:
    """The same of either kind of database, whatever was there before."""
    if url.startswith("sqlite"):
        return begun(url)
    engine = create_engine_for(url)
    with engine.begin() as connection:
        there = MetaData()
        there.reflect(connection)
        there.drop_all(connection)
    migrate(engine)
    upgrade(engine, OF_APPS)
    return engine
