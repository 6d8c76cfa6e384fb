"""What the views of one application share."""

from __future__ import annotations

from dataclasses import dataclass

from flask import current_app
from sqlalchemy import Engine

from citywise.backend.api.hub import Hub
from citywise.backend.settings import Settings


@dataclass(frozen=True)
class WebState:
    """Settings, database and event hub of one application."""

    settings: Settings
    engine: Engine
    hub: Hub


def state() -> WebState:
    """The state of the current application."""
    found = current_app.extensions["citywise"]
    assert isinstance(found, WebState)
    return found
