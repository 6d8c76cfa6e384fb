"""What was done with the rights of an operator, and how it is undone.

Who records an action gives what there was before and after, so that whoever registered
`undoable` for it can bring it back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select, update

from citywise.backend.people.errors import PeopleError
from citywise.backend.store.models import AuditRow
from citywise.backend.times import wall_ms


@dataclass(frozen=True)
class Action:
    """One thing somebody did; times are Unix milliseconds of the wall."""

    id: int
    at_ms: int
    actor: str
    action: str
    target: str
    before: Any
    after: Any
    undoes: int | None
    undone_ms: int | None

    @property
    def is_undoable(self) -> bool:
        """Whether it can still be undone."""
        return self.undone_ms is None and self.undoes is None and self.action in _UNDO


class NotUndoableError(PeopleError):
    """An action cannot be undone (any more); the message says why."""


Undo = Callable[[Connection, Action], None]
_UNDO: dict[str, Undo] = {}
_LONGEST_TARGET = 200


def undoable(action: str) -> Callable[[Undo], Undo]:
    """Register what brings back what there was before an action of this kind.

    It runs in the transaction that notes the undoing, and raises `NotUndoableError` where
    something newer stands in its way.
    """

    def register(undo: Undo) -> Undo:
        _UNDO[action] = undo
        return undo

    return register


def record(
    connection: Connection,
    actor: str,
    action: str,
    target: str,
    before: Any = None,
    after: Any = None,
) -> int:
    """Note an action in its own transaction; returns its id."""
    row = {
        "at_ms": wall_ms(),
        "actor": actor,
        "action": action,
        "target": target[:_LONGEST_TARGET],
        "before": before,
        "after": after,
    }
    return _insert(connection, row)


def find(connection: Connection, identity: int) -> Action | None:
    """An action, or None."""
    query = select(AuditRow.__table__).where(AuditRow.id == identity)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else Action(**row)


def listed(connection: Connection, most: int, before: int | None = None) -> list[Action]:
    """Actions, the newest first; those with ids below `before`."""
    query = select(AuditRow.__table__).order_by(AuditRow.id.desc()).limit(most)
    if before is not None:
        query = query.where(AuditRow.id < before)
    return [Action(**row) for row in connection.execute(query).mappings()]


def undo(connection: Connection, identity: int, actor: str) -> Action:
    """Bring back what there was before an action, and note who did that.

    Raises `NotUndoableError` where there is no such action, or it was undone, or cannot be.
    """
    found = find(connection, identity)
    if found is None:
        raise NotUndoableError("id", f"there is no action {identity}")
    now = wall_ms()
    claimed = update(AuditRow).where(AuditRow.id == identity, AuditRow.undone_ms.is_(None))
    if not found.is_undoable or not connection.execute(claimed.values(undone_ms=now)).rowcount:
        raise NotUndoableError("id", f"action {identity} ({found.action}) {_why_not(found)}")
    _UNDO[found.action](connection, found)
    row = {
        "at_ms": now,
        "actor": actor,
        "action": f"{found.action}.undone",
        "target": found.target,
        "before": found.after,
        "after": found.before,
        "undoes": identity,
    }
    undone = find(connection, _insert(connection, row))
    assert undone is not None
    return undone


def _insert(connection: Connection, row: dict[str, Any]) -> int:
    made = connection.execute(insert(AuditRow).values(row).returning(AuditRow.id))
    return int(made.scalar_one())


def _why_not(found: Action) -> str:
    if found.undoes is not None:
        return "is an undoing itself; do again what it undid"
    if found.undone_ms is not None:
        return "has been undone already"
    return "cannot be undone: what it did has had its effect"
