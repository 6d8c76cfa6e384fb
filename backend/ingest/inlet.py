"""The inlet: how the web and the pipeline put what is to stand into the log.

They write rows in the transaction of the change; the ingest appends them to the log and
removes them, so that a change and its entry in the log are both there or neither.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Engine, Row, delete, insert, select

from citywise.backend.ingest import admission
from citywise.backend.ingest.acceptance import Verdict
from citywise.backend.ingest.admission import Admission
from citywise.backend.ingest.faults import DeadLetter, explained
from citywise.backend.ingest.intake import Entry as Letter
from citywise.backend.ingest.standing import PERSONAL, Entry, checked, owner
from citywise.backend.store.models import InletRow
from citywise.backend.times import wall_ms

MOST_ROWS = 200
"""Taken at a time."""


def write(
    connection: Connection, entries: Iterable[tuple[str, str, Mapping[str, Any] | None]]
) -> None:
    """Have the ingest append entries (subject, key, body or None) once this transaction commits.

    Entries reach the log by the order of their row ids. Two transactions that change the same
    key must exclude each other before they write here: change the row that the entry is
    about first, or `exclude` (`backend.store.exclusion`) where there is none.
    """
    now = wall_ms()
    rows = [
        {"subject": subject, "key": key, "body": body, "created_ms": now}
        for subject, key, body in entries
    ]
    if rows:
        connection.execute(insert(InletRow), rows)


@dataclass
class Taken:
    """Rows of the inlet in their order: their ids, what is to stand and the row of each, and
    what cannot be accepted."""

    ids: list[int] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    entry_ids: list[int] = field(default_factory=list)
    dead: list[Letter] = field(default_factory=list)


class Inlet:
    """The ingest's side: take what is there, append it, remove it.

    Rows are taken by being there, not by an id beyond the last: of several writers, the one
    with the lower id may commit later.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def take(self) -> Taken:
        """The oldest rows, at most `MOST_ROWS`; they stay until they are removed.

        The web has looked whether they may be written, but that may have changed meanwhile.
        """
        query = select(InletRow.__table__).order_by(InletRow.id).limit(MOST_ROWS)
        taken, read = Taken(), list[tuple[Row[Any], Entry]]()
        with self._engine.connect() as connection:
            for row in connection.execute(query).all():
                taken.ids.append(row.id)
                try:
                    read.append((row, checked(row.subject, row.key, row.body)))
                except Exception as error:  # noqa: BLE001 - a row not judged would stay for ever
                    taken.dead.append(_letter(row, *explained(error, personal=_is_personal(row))))
            users = {user for _row, entry in read if (user := owner(*entry))}
            admitted = admission.of(connection, users) if users else Admission()
        for row, entry in read:
            if admitted.refuses(entry):
                taken.dead.append(_refused(row, entry, admitted))
            else:
                taken.entries.append(entry)
                taken.entry_ids.append(row.id)
        return taken

    def remove(self, ids: Sequence[int]) -> None:
        """Remove rows; those that are gone are no error."""
        if ids:
            with self._engine.begin() as connection:
                connection.execute(delete(InletRow).where(InletRow.id.in_(ids)))


def _letter(row: Row[Any], reason: str, detail: str) -> Letter:
    payload = json.dumps(row.body).encode()
    if _is_personal(row):
        return _kept(row, Verdict(dead=[DeadLetter.not_kept(reason, detail, len(payload))]))
    return _kept(row, Verdict(dead=[DeadLetter.of(reason, detail, payload)]))


def _refused(row: Row[Any], entry: Entry, admitted: Admission) -> Letter:
    told = Verdict(standing=[entry], user=owner(*entry))
    return _kept(row, admitted.screened(told, len(json.dumps(row.body))))


def _kept(row: Row[Any], verdict: Verdict) -> Letter:
    key = admission.shown(row.key) if _is_personal(row) else row.key
    return Letter(f"inlet/{row.subject}/{key}", row.created_ms, f"inlet-{row.id}", verdict)


def _is_personal(row: Row[Any]) -> bool:
    return row.subject in PERSONAL
