"""What the meeting manager brings beside its rules; each part is imported where it is used."""

from __future__ import annotations

from citywise.apps.meeting_mgr import telling, topics
from citywise.apps.meeting_mgr.settings import SECTION, Meetings
from citywise.apps.meeting_mgr.tables import TABLES
from citywise.backend.app import Commands, Limit, Parts, later

brings = later(__package__)
PARTS = Parts(
    api=brings(
        "api.meetings:blueprint",
        "api.history:blueprint",
        "api.people:blueprint",
        "api.stream:blueprint",
        "api.papers:blueprint",
        "api.reminding:blueprint",
    ),
    pages=brings("api.page:blueprint"),
    navigation={"meetings": "/meetings"},
    everywhere=("meet/logging-out.js",),
    installable={"meetings.shortcut": "/meetings"},
    shortcuts={"meetings.shortcut": "/meetings"},
    service=brings("process.service:serve"),
    tables=TABLES,
    settings={SECTION: Meetings},
    limits={
        "bounds": Limit(20, 3600),
        "calendar-seconds": Limit(300, 3600),
        "joins": Limit(60, 60),
        "mails": Limit(400, 3600),
        "readings": Limit(2, 1),
    },
    export={"meetings": brings("exported:export")},
    withdrawn=brings("exported:withdrawn"),
    letters=brings("papers.letters:reminder"),
    forgotten=brings("exported:forgotten"),
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
