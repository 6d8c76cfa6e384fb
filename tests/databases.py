"""Databases for tests of what both kinds that we support must do."""

from __future__ import annotations

from sqlalchemy import Engine, text

from backend.store.database import create_engine_for, migrate
from backend.store.models import Base


def emptied(url: str) -> Engine:
    """A database with all our tables, and nothing in them, whatever was there before."""
    engine = create_engine_for(url)
    with engine.begin() as connection:
        Base.metadata.drop_all(connection)
        connection.execute(text("DROP TABLE IF EXISTS alembic_version"))
    migrate(engine)
    return engine
