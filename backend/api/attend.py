"""What users answer to their notices: seen, later; and both taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Self

from flask import Blueprint, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, model_validator
from sqlalchemy import Connection

from citywise.backend.api import access, parameters, problems
from citywise.backend.api.answers import as_json
from citywise.backend.api.notices import own, worded
from citywise.backend.api.state import state
from citywise.backend.notices import answers
from citywise.backend.notices.announcing import begin
from citywise.backend.notices.listeners import Notice
from citywise.backend.store import clocks
from citywise.backend.times import iso, to_ms

blueprint = Blueprint("attend", __name__)

_MINUTE_MS = 60_000


class Snooze(BaseModel):
    """How long to be left in peace: for some minutes, or until a time; stream time."""

    model_config = ConfigDict(extra="forbid")
    minutes: Annotated[int, Field(ge=1, le=answers.LONGEST_SNOOZE_MS // _MINUTE_MS)] | None = None
    until: AwareDatetime | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.minutes is None) == (self.until is None):
            raise ValueError("give either `minutes` or `until`")
        return self

    def until_ms(self, now_ms: int) -> int:
        """When it is over (Unix ms); raises a problem where that lies too near or too far."""
        if self.minutes is not None:
            return now_ms + self.minutes * _MINUTE_MS
        assert self.until is not None
        until = to_ms(self.until)
        if not now_ms < until <= now_ms + answers.LONGEST_SNOOZE_MS:
            latest = iso(now_ms + answers.LONGEST_SNOOZE_MS)
            message = f"found {iso(until)}, expected a time after {iso(now_ms)}, up to {latest}"
            raise problems.invalid([{"path": "until", "message": message}])
        return until


@blueprint.post("/notices/<path:notice_id>/acknowledge")
@access.person(right="notices")
def acknowledge(notice_id: str) -> Response:
    """Say that a notice has been seen: no more alerts, unless it becomes more critical."""
    return _answered(notice_id, answers.acknowledge)


@blueprint.delete("/notices/<path:notice_id>/acknowledge")
@access.person(right="notices")
def unacknowledge(notice_id: str) -> Response:
    """Take that back."""
    return _answered(notice_id, answers.unacknowledge)


@blueprint.post("/notices/<path:notice_id>/snooze")
@access.person(right="notices")
def snooze(notice_id: str) -> Response:
    """Put a notice off: then it alerts again, if it is still open."""
    asked = parameters.body(Snooze)

    def put_off(connection: Connection, notice: str, now_ms: int) -> Notice:
        return answers.snooze(connection, notice, asked.until_ms(now_ms), now_ms)

    try:
        return _answered(notice_id, put_off)
    except answers.NoticeOverError as error:
        raise problems.ProblemError(409, "notice-over", "Notice over", str(error)) from None


@blueprint.delete("/notices/<path:notice_id>/snooze")
@access.person(right="notices")
def wake(notice_id: str) -> Response:
    """Take that back."""
    return _answered(notice_id, answers.wake)


def _answered(notice_id: str, answer: Callable[[Connection, str, int], Notice]) -> Response:
    """Do what the user answers to a notice of theirs, and show it."""
    parameters.only("lang")
    with state().engine.begin() as connection:
        begin(connection)
        own(connection, notice_id)
        row = answer(connection, notice_id, clocks.read(connection).now_ms)
        (notice,) = worded(connection, [row])
    return as_json(notice)
