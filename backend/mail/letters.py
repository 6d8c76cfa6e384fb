"""What is waiting to be sent, and what was given up."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, delete, func, insert, select, update

from citywise.backend.store.chunks import chunks
from citywise.backend.store.models import LetterRow
from citywise.backend.times import wall_ms

Purpose = Literal["notice", "verify", "moved", "asked", "reset", "done", "app"]
"""An alert; a link that shows an address to be somebody's; word to the one before it; somebody
asks for another password, then the link for it; word that there is another password; what an app
says (`put_of_app`)."""
MOST = 1_000
"""Waiting letters of one account, or of those who asked for another password."""
KEPT_MS = 30 * 86_400_000
"""For how long operators see what was given up."""
_TABLE = LetterRow.__table__


@dataclass(frozen=True)
class Letter:
    """A letter, as `LetterRow` has it."""

    id: int
    account: str
    purpose: Purpose
    about: str
    created_ms: int
    due_ms: int | None
    tries: int
    error: str | None


def put(connection: Connection, purpose: Purpose, account: str, about: str = "") -> None:
    """Have a letter sent. One that says the same and is waiting already is enough; so is a
    thousand that are."""
    mine = (_TABLE.c.account == account, _TABLE.c.due_ms.is_not(None))
    same = (_TABLE.c.purpose == purpose, _TABLE.c.about == about)
    if connection.scalar(select(_TABLE.c.id).where(*mine, *same).limit(1)) is not None:
        return
    if (connection.scalar(select(func.count()).where(*mine)) or 0) >= MOST:
        return
    now = wall_ms()
    row = {"account": account, "purpose": purpose, "about": about[:300], "created_ms": now}
    connection.execute(insert(LetterRow), {**row, "due_ms": now, "tries": 0})


def put_of_app(connection: Connection, app: str, account: str, about: str) -> None:
    """Have somebody written to by an app, if they have said where; `Parts.letters` is asked for the
    words when the letter leaves. `about` is the app's own id of what it is about."""
    put(connection, "app", account, f"{app} {about}")


def app_of(letter: Letter) -> tuple[str, str]:
    """Of a letter `app` the app, and what it is about."""
    app, _, about = letter.about.partition(" ")
    return app, about


def put_anew(connection: Connection, purpose: Purpose, account: str) -> None:
    """Have a letter sent instead of those of its purpose that wait, or are being sent: what is
    to be said is another now."""
    mine = (LetterRow.account == account, LetterRow.purpose == purpose)
    connection.execute(delete(LetterRow).where(*mine, LetterRow.due_ms.is_not(None)))
    put(connection, purpose, account)


def due(connection: Connection, now_ms: int, most: int) -> list[Letter]:
    """What is to be sent, oldest first."""
    query = select(_TABLE).where(_TABLE.c.due_ms <= now_ms).order_by(_TABLE.c.id).limit(most)
    return list(map(_letter, connection.execute(query).mappings()))


def drop(connection: Connection, numbers: Iterable[int]) -> int:
    """Letters that are sent, or not worth it any more; how many there were."""
    return sum(
        connection.execute(delete(LetterRow).where(LetterRow.id.in_(some))).rowcount
        for some in chunks(numbers)
    )


def drop_alerts(connection: Connection, account: str) -> None:
    """What somebody is not to be told by e-mail any more."""
    mine = (LetterRow.account == account, LetterRow.purpose == "notice")
    connection.execute(delete(LetterRow).where(*mine))


def drop_given_up(connection: Connection, number: int) -> bool:
    """Forget one that was given up; False where there is none."""
    wanted = delete(LetterRow).where(LetterRow.id == number, LetterRow.due_ms.is_(None))
    return bool(connection.execute(wanted).rowcount)


def put_off(connection: Connection, letters: Collection[Letter], due_ms: int) -> None:
    """Send some later, through no fault of theirs."""
    for some in chunks([one.id for one in letters]):
        connection.execute(update(LetterRow).where(LetterRow.id.in_(some)).values(due_ms=due_ms))


def fail(
    connection: Connection, letters: Collection[Letter], error: str, due_ms: int | None
) -> None:
    """Note that some could not be sent; they are tried again at `due_ms`, or (None) given up."""
    values = {"due_ms": due_ms, "error": error[:500], "tries": LetterRow.tries + 1}
    for some in chunks([one.id for one in letters]):
        connection.execute(update(LetterRow).where(LetterRow.id.in_(some)).values(**values))


def given_up(connection: Connection, most: int) -> list[Letter]:
    """The newest of those that could not be sent."""
    query = select(_TABLE).where(_TABLE.c.due_ms.is_(None)).order_by(_TABLE.c.id.desc())
    return list(map(_letter, connection.execute(query.limit(most)).mappings()))


def waiting(connection: Connection) -> int:
    """How many are to be sent."""
    return connection.scalar(select(func.count()).where(_TABLE.c.due_ms.is_not(None))) or 0


def send_again(connection: Connection, number: int) -> bool:
    """Try one once more that was given up; False where there is none."""
    row, now = LetterRow, wall_ms()
    wanted = update(row).where(row.id == number, row.due_ms.is_(None))
    again = wanted.values(due_ms=now, created_ms=now, tries=0)
    return bool(connection.execute(again).rowcount)


def trim(connection: Connection) -> None:
    """Forget what was given up long ago."""
    old = LetterRow.due_ms.is_(None) & (LetterRow.created_ms < wall_ms() - KEPT_MS)
    connection.execute(delete(LetterRow).where(old))


def _letter(row: Any) -> Letter:
    return Letter(**row)
