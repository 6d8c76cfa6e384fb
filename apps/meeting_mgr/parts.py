"""What the meeting manager brings beside its rules; each part is imported where it is used."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine

from citywise.apps.meeting_mgr import telling, topics
from citywise.apps.meeting_mgr.settings import SECTION, Meetings
from citywise.apps.meeting_mgr.tables import TABLES
from citywise.backend.app import Commands, Limit, Parts, Settings


def _api() -> Sequence[Any]:
    from citywise.apps.meeting_mgr.api import history, meetings, papers, people, stream

    views = (meetings, history, people, stream, papers)
    return tuple(view.blueprint for view in views)


def _pages() -> Sequence[Any]:
    from citywise.apps.meeting_mgr.api import page

    return (page.blueprint,)


def _serve(settings: Settings, engine: Engine, stop: threading.Event) -> None:
    from citywise.apps.meeting_mgr.process import service

    service.serve(settings, engine, stop)


def _meetings_of(
    connection: Connection, settings: Settings, user: str
) -> Sequence[Mapping[str, Any]]:
    from citywise.apps.meeting_mgr import exported

    return exported.export(connection, settings, user)


def _withdrawn(connection: Connection, settings: Settings, user: str, subject: str) -> None:
    from citywise.apps.meeting_mgr import exported

    exported.withdrawn(connection, settings, user, subject)


def _forgotten(connection: Connection, user: str) -> None:
    from citywise.apps.meeting_mgr import exported

    exported.forgotten(connection, user)


PARTS = Parts(
    api=_api,
    pages=_pages,
    navigation={"meetings": "/meetings"},
    everywhere=("meet/logging-out.js",),
    installable={"meetings.shortcut": "/meetings"},
    shortcuts={"meetings.shortcut": "/meetings"},
    openapi=Path(__file__).with_name("openapi.json"),
    service=_serve,
    tables=TABLES,
    settings={SECTION: Meetings},
    limits={
        "bounds": Limit(20, 3600),
        "calendar-seconds": Limit(300, 3600),
        "joins": Limit(60, 60),
        "mails": Limit(400, 3600),
        "readings": Limit(2, 1),
    },
    export={"meetings": _meetings_of},
    withdrawn=_withdrawn,
    forgotten=_forgotten,
    topics=topics.TOPICS,
    devices=topics.devices,
    channels=telling.open_to,
    commands={
        "meetings": Commands(
            "citywise.apps.meeting_mgr.commands",
            "Play a recorded office as a meeting room (docs/meeting-manager.md).",
        )
    },
)
