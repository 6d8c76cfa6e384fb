"""Where readings come at the broker, and who may send them there.

    meetings/<meeting>/<person>    the readings of somebody in a meeting: that person, nobody else
    rooms/<sensors>                the readings of a room's fixed sensors

Nobody but the app's own process reads either.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection, select

from citywise.apps.meeting_mgr.model import OPEN
from citywise.apps.meeting_mgr.tables import MeetingPersonRow, MeetingRow
from citywise.backend.app import Device, Topics

MEETINGS, ROOMS = "meetings", "rooms"
TOPICS = Topics(
    read=(f"{MEETINGS}/+/+", f"{ROOMS}/+"), web=(f"{MEETINGS}/+/+",), sensors=(f"{ROOMS}/+",)
)


class Source(NamedTuple):
    """Who reads: somebody in a meeting, or (`meeting` is None) the sensors of a room."""

    meeting: str | None
    id: str


def of_person(prefix: str, meeting: str, person: str) -> str:
    """The topic of somebody's readings."""
    return f"{prefix}/{MEETINGS}/{meeting}/{person}"


def of_room(prefix: str, sensors: str) -> str:
    """The topic of the readings of a room's sensors."""
    return f"{prefix}/{ROOMS}/{sensors}"


def source(prefix: str, topic: str) -> Source | None:
    """Whose readings come at a topic; None if it is none of ours."""
    match topic.removeprefix(f"{prefix}/").split("/"):
        case ["meetings", meeting, person]:
            return Source(meeting, person)
        case ["rooms", sensors]:
            return Source(None, sensors)
    return None


def devices(connection: Connection) -> Iterable[Device]:
    """Everybody who is in a meeting that is not over; each may send their own readings."""
    person, meeting = MeetingPersonRow, MeetingRow
    there = (person.secret.is_not(None), meeting.state.in_(OPEN))
    query = select(person.id, person.meeting, person.broker_hash).join(
        meeting, meeting.id == person.meeting
    )
    for row in connection.execute(query.where(*there).order_by(person.id)):
        yield Device(row.id, row.id, row.broker_hash, (f"{MEETINGS}/{row.meeting}/{row.id}",))
