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

from backend.ingest.acceptance import DeadLetter, Verdict, explained
from backend.ingest.intake import Entry as Letter
from backend.ingest.standing import Entry, checked
from backend.store.models import InletRow
from backend.times import wall_ms

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
        """The oldest rows, at most `MOST_ROWS`; they stay until they are removed."""
        query = select(InletRow.__table__).order_by(InletRow.id).limit(MOST_ROWS)
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
        taken = Taken()
        for row in rows:
            taken.ids.append(row.id)
            try:
                taken.entries.append(checked(row.subject, row.key, row.body))
                taken.entry_ids.append(row.id)
            except ValueError as error:
                taken.dead.append(_letter(row, error))
        return taken

    def remove(self, ids: Sequence[int]) -> None:
        """Remove rows; those that are gone are no error."""
        if ids:
            with self._engine.begin() as connection:
                connection.execute(delete(InletRow).where(InletRow.id.in_(ids)))


def _letter(row: Row[Any], error: ValueError) -> Letter:
    letter = DeadLetter(*explained(error), json.dumps(row.body).encode())
    topic = f"inlet/{row.subject}/{row.key}"
    return Letter(topic, row.created_ms, f"inlet-{row.id}", Verdict(dead=[letter]))
