"""Views of meetings as browsers get them: with the links and rooms that settings make of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from citywise.apps.meeting_mgr import settings as configured
from citywise.apps.meeting_mgr import views
from citywise.apps.meeting_mgr.api import joining
from citywise.apps.meeting_mgr.conferences import conference
from citywise.apps.meeting_mgr.model import Person
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.apps.meeting_mgr.views import View
from citywise.backend.app import Settings, state


@dataclass(frozen=True)
class Showing:
    """What views need beside the meeting; `origin` is where the browser found us."""

    settings: Settings
    origin: str

    @classmethod
    def of_request(cls) -> Showing:
        """For who asks now."""
        return cls(state().settings, state().origin())

    def host(self, record: MeetingRecord, people: Sequence[Person], now_ms: int) -> View:
        """The meeting as its host sees it at a wall time."""
        url = joining.url(self.origin, record.id, record.join_key)
        room = conference.shown(record, configured.of(self.settings))
        return views.host(record, people, now_ms, join_url=url, conference=room)

    def participant(
        self, record: MeetingRecord, people: Sequence[Person], me: Person, now_ms: int
    ) -> View:
        """The meeting as somebody who takes part sees it."""
        room = conference.shown(record, configured.of(self.settings))
        if room is not None:
            room = {**room, "wanted": conference.wanted(me).model_dump(mode="json")}
        return views.participant(record, people, me, now_ms, conference=room)
