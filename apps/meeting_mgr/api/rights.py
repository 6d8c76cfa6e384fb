"""Who may do what with a meeting: its host, who takes part, who has the link. All others are
answered as if there were no such meeting."""

from __future__ import annotations

import hmac
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from flask import Response, request
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from citywise.apps.meeting_mgr import store
from citywise.apps.meeting_mgr.model import Person
from citywise.apps.meeting_mgr.record import (
    FaultError,
    MeetingError,
    MeetingRecord,
    Step,
    is_person_id,
)
from citywise.backend.app import boxes as sealing
from citywise.backend.app import identity, limits, outbox, problems, state, times

COOKIE = "citywise-meeting"
LOG = logging.getLogger(__name__)
_COOKIE_S = 7 * 24 * 3600


class _UnknownError(Exception):
    """There is no such meeting for who asks; said, and counted, when no transaction is open."""

    def __init__(self, meeting: str) -> None:
        super().__init__(meeting)
        self.meeting = meeting


class Seat(NamedTuple):
    """Somebody who takes part in a meeting."""

    record: MeetingRecord
    person: Person


class Work(NamedTuple):
    """What is read or changed of meetings at once: with what boxes are opened, and when (wall
    time, Unix ms)."""

    connection: Connection
    boxes: sealing.Boxes
    now_ms: int

    def hosted(self, meeting_id: str) -> MeetingRecord:
        """A meeting of who asks; a 404 for all others."""
        found = store.find(self.connection, self.boxes, meeting_id)
        identity.refuse_other(None if found is None else found.user, f"meeting {meeting_id!r}")
        assert found is not None
        return found

    def linked(self, meeting_id: str, key: str) -> MeetingRecord:
        """The meeting to which a link leads; a 404 for every other key."""
        found = store.find(self.connection, self.boxes, meeting_id)
        if found is None or not hmac.compare_digest(found.join_key.encode(), key.encode()):
            raise _UnknownError(meeting_id)
        return found

    def seat(self, meeting_id: str) -> Seat:
        """Whose browser asks, of those who take part; a 404 for all others."""
        record = store.find(self.connection, self.boxes, meeting_id)
        found = record and self.known(record)
        if record is None or found is None:
            raise _UnknownError(meeting_id)
        return Seat(record, found)

    def known(self, record: MeetingRecord) -> Person | None:
        """As whom the browser that asks takes part in a meeting, if it does."""
        person, _, secret = request.cookies.get(COOKIE, "").partition(".")
        if not is_person_id(person):
            return None
        return store.person_by_secret(self.connection, self.boxes, record, person, secret)

    def people(self, record: MeetingRecord) -> list[Person]:
        """All who have joined a meeting, also who has left."""
        return store.people_of(self.connection, self.boxes, record)

    def person(self, record: MeetingRecord, person_id: str | None) -> Person:
        """Somebody who takes part in a meeting now, for its host."""
        for each in self.people(record):
            if each.id == person_id and each.left_ms is None:
                return each
        raise problems.not_found(f"person {person_id!r} in this meeting (any more)")

    def write(self, step: Step) -> MeetingRecord:
        """Write a step; the meeting as it is then."""
        store.write(self.connection, self.boxes, step)
        return step.record


@contextmanager
def reading() -> Iterator[Work]:
    """Reading only."""
    with _answered(), state().engine.connect() as connection:
        yield Work(connection, boxes(), times.wall_ms())


@contextmanager
def working() -> Iterator[Work]:
    """A transaction in which nobody else announces anything. Nothing in it may give way to
    another greenlet, as counting a call does (`limits.spend`): that one would wait for the lock
    of this one, and as it waits in SQLite, this one could not go on."""
    with _answered(), state().engine.begin() as connection:
        outbox.begin(connection)
        yield Work(connection, boxes(), times.wall_ms())


@contextmanager
def seated(meeting_id: str) -> Iterator[tuple[Work, Seat]]:
    """`working`, for who takes part; the call is counted before."""
    with reading() as work:
        seat = work.seat(meeting_id)
    spend(seat)
    with working() as work:
        yield work, work.seat(meeting_id)


def boxes() -> sealing.Boxes:
    """What opens the boxes of this system's meetings."""
    return store.boxes_of(state().settings)


@contextmanager
def _answered() -> Iterator[None]:
    """What is not possible as a problem that says why."""
    try:
        yield
    except _UnknownError as error:
        raise _unknown(error.meeting) from None
    except FaultError as error:
        message = error.detail.removeprefix(f"{error.field}: ")
        raise problems.invalid([problems.fault(error.field, message, error.code)]) from None
    except MeetingError as error:
        raise problems.ProblemError(409, error.code, "Not possible now", error.detail) from None
    except (OperationalError, sealing.BoxError, OSError, sqlite3.Error) as error:
        if problems.is_full(error):
            raise  # a 507 (`backend.api.problems`)
        if isinstance(error, OperationalError):  # What it says holds what was to be written.
            raise _unavailable("the database does not answer") from None
        # What the others say may name files of the server.
        LOG.warning("meetings cannot be opened or sealed: %s", error)
        raise _unavailable("their keys cannot be used") from None


def _unavailable(why: str) -> problems.ProblemError:
    detail = f"meetings cannot be kept now: {why}; try again later"
    return problems.ProblemError(503, "meetings-unavailable", "Meetings unavailable", detail)


def spend(seat: Seat, kind: str = "writes") -> None:
    """Count a call of somebody who takes part: many come from one office's address."""
    limits.spend(kind, f"person {seat.person.id}")


def _unknown(meeting_id: str) -> problems.ProblemError:
    """No such meeting, for all that one hears; who tries often is told to wait."""
    limits.spend("joins", f"unknown from {limits.address()}")
    return problems.not_found(f"meeting {meeting_id!r}; open the link that you were given again")


# --- The cookie ---------------------------------------------------------------------------------


def remember(answer: Response, person: Person, secret: str) -> None:
    """Give a browser what says who it is in this meeting, and nowhere else."""
    answer.set_cookie(
        COOKIE,
        f"{person.id}.{secret}",
        max_age=_COOKIE_S,
        path=_path(person.meeting),
        secure=identity.is_secure(),
        httponly=True,
        samesite="Strict",
    )


def forget(answer: Response, meeting_id: str) -> None:
    """Take that away again."""
    answer.delete_cookie(
        COOKIE,
        path=_path(meeting_id),
        secure=identity.is_secure(),
        httponly=True,
        samesite="Strict",
    )


def _path(meeting_id: str) -> str:
    return f"/api/v1/meetings/{meeting_id}/people"
