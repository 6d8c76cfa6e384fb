"""Sending letters, in the notifier: alerts become letters, and each letter leaves once.

A letter that is refused for now waits, ever longer, and holds up no other; one that is refused for
good, or for too long, is given up and shown to operators. Where the server itself cannot be used,
all wait for it. Nothing is written to who has not shown that an address is theirs, but the letter
that asks for it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.message import EmailMessage

from prometheus_client import Counter
from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import SQLAlchemyError

from citywise.backend.mail import addresses, letters, of_apps
from citywise.backend.mail.addresses import MailAddress
from citywise.backend.mail.letters import Letter
from citywise.backend.mail.transport import RefusedError, ServerError, connected, hand_over
from citywise.backend.mail.wording import Words, Written, message
from citywise.backend.notices.announcing import NOTICE
from citywise.backend.notices.listeners import wishes_of
from citywise.backend.notices.objects import notice_object
from citywise.backend.notices.wording import wordings
from citywise.backend.outgoing.retries import Retries
from citywise.backend.people import accounts
from citywise.backend.settings import Settings
from citywise.backend.store import followers, outbox
from citywise.backend.store.models import MailAddressRow, NoticeRow, OutboxRow
from citywise.backend.times import wall_ms

LOG = logging.getLogger("citywise.mail")
FOLLOWER = "mail"
PAGE = 2_000
AT_ONCE = 200
"""Letters that are written in one go."""
_HOUR_MS = 3_600_000
_NAMESAKES = 5
_BROKEN = 3
"""After so many connections that broke in a row it is the server's fault."""
_PAGES: dict[addresses.Purpose, str] = {"verify": "/mail", "reset": "/reset"}
"""Where the links in letters lead."""
_TRIM_S = 3600.0
_LOOK_S = 0.2
SENT = Counter("citywise_mail_sent", "Letters that the mail server took")
FAILED = Counter("citywise_mail_failed", "Letters that it did not take, and that are tried again")
GIVEN_UP = Counter("citywise_mail_given_up", "Letters that were given up")


@dataclass(frozen=True)
class _Mail:
    """A mail that is ready, with the letters it is made of: several alerts are one mail."""

    letters: Sequence[Letter]
    message: EmailMessage

    @property
    def account(self) -> str:
        return self.letters[0].account

    @property
    def address(self) -> str:
        found: str = self.message["To"].addresses[0].addr_spec
        return found


class Postman:
    """Writes and sends what is due; `step` does so once."""

    def __init__(self, engine: Engine, settings: Settings, stop: threading.Event) -> None:
        self._engine, self._stop, self._mail = engine, stop, settings.mail
        self._settings = settings
        self._site = settings.web.public_url or ""
        self._retries = Retries(self._mail.first_retry_s, self._mail.longest_retry_s)
        self._trim_at = 0.0
        self._taken: deque[_Mail] = deque()
        """Mails that the server took, and that are not written down as sent."""
        self._noting = threading.Lock()
        self.error: str | None = None
        """Why nothing can be sent to anybody; None: nothing is known against it."""

    def step(self) -> bool:
        """Take note of new alerts, and send what is due; False where there was nothing to do."""
        self._note_taken()  # If that cannot be done, nothing is sent: it would be sent again.
        with self._engine.begin() as connection:
            found = self._follow(connection)
        now = time.monotonic()
        if now >= self._trim_at:
            self._trim_at = now + _TRIM_S
            with self._engine.begin() as connection:
                letters.trim(connection)
        if now < self._retries.due:
            return found
        with self._engine.begin() as connection:
            mails = list(self._written(connection))
        if mails:
            self._send(mails)
        return found or bool(mails)

    # -- alerts become letters ------------------------------------------------------------

    def _follow(self, connection: Connection) -> bool:
        """Write down what alerts somebody who wants it by e-mail; whether anything was new."""
        newest = outbox.newest(connection)
        position = followers.position(connection, FOLLOWER, newest)
        if position == newest:
            return False
        if position is None:  # the first start, or another database
            followers.keep(connection, FOLLOWER, newest)
            return False
        rows = connection.execute(
            select(OutboxRow.id, OutboxRow.kind, OutboxRow.user, OutboxRow.body)
            .where(OutboxRow.id > position)
            .order_by(OutboxRow.id)
            .limit(PAGE)
        ).all()
        alerts = [(r.user, r.body) for r in rows if r.kind == NOTICE and r.body.get("alert")]
        if alerts:
            self._note(connection, alerts)
        followers.keep(connection, FOLLOWER, rows[-1].id if rows else newest)
        return bool(alerts)

    def _note(self, connection: Connection, alerts: Sequence[tuple[str, dict[str, str]]]) -> None:
        row = MailAddressRow
        usable = row.address.is_not(None) & row.error.is_(None)
        there = set(connection.scalars(select(row.account).where(usable)))
        wishes = wishes_of(connection, there & {user for user, _ in alerts})
        for user, body in alerts:
            wanted = wishes[user].channels.email if user in wishes else None
            if wanted is not None and wanted.wants(body["app"], int(body["criticality"])):
                letters.put(connection, "notice", user, body["id"])

    # -- letters become mails -------------------------------------------------------------

    def _written(self, connection: Connection) -> Iterator[_Mail]:
        """What is due, in words; what there is nothing to say of any more is dropped."""
        for letter in letters.due(connection, wall_ms(), AT_ONCE):
            if letter.purpose == "asked":
                self._ask(connection, letter)
        now = wall_ms()
        alerts: dict[str, list[Letter]] = {}
        for letter in letters.due(connection, now, AT_ONCE):
            if letter.purpose == "notice":
                alerts.setdefault(letter.account, []).append(letter)
            else:
                yield from self._mail_of(connection, [letter])
        for account, some in alerts.items():
            to = addresses.of(connection, account)
            if to is not None and not self._has_room(to, now):
                letters.put_off(connection, some, to.hour_ms + _HOUR_MS)
            else:
                yield from self._mail_of(connection, some)

    def _has_room(self, to: MailAddress, now_ms: int) -> bool:
        return now_ms - to.hour_ms >= _HOUR_MS or to.hour_count < self._mail.per_hour

    def _ask(self, connection: Connection, letter: Letter) -> None:
        """Somebody wants another password: write to those whom they may mean."""
        for account in addresses.those_called(connection, letter.about, _NAMESAKES):
            to = addresses.of(connection, account)
            known = to is not None and to.address is not None
            if known and not addresses.was_just_issued(connection, "reset", account):
                letters.put(connection, "reset", account)
        letters.drop(connection, [letter.id])

    def _mail_of(self, connection: Connection, some: Sequence[Letter]) -> Iterator[_Mail]:
        first = some[0]
        account, to = accounts.find(connection, first.account), None
        if account is not None and account.disabled_ms is None:
            to = addresses.of(connection, first.account)
        where = None if to is None else _address_for(first, to)
        written = None
        if account is not None and to is not None and where is not None:
            words = Words(self._site, account.name, to.language)
            written = self._words_of(connection, words, to, where, some)
        if written is None or where is None:
            letters.drop(connection, [one.id for one in some])
            return
        identity = f"citywise.{first.id}.{first.created_ms}"
        yield _Mail(some, message(written, where, self._mail, identity))

    def _words_of(
        self,
        connection: Connection,
        words: Words,
        to: MailAddress,
        where: str,
        some: Sequence[Letter],
    ) -> Written | None:
        purpose = some[0].purpose
        if purpose in ("verify", "reset"):
            secret = addresses.issue(connection, purpose, to.account, where)
            return words.link(purpose, f"{_PAGES[purpose]}#{secret}")
        if purpose == "app":
            return of_apps.written(connection, self._settings, some[0], to.language)
        if purpose != "notice":
            return words.word(purpose)
        open_now = _notices(connection, to, [one.about for one in some])
        return words.alerts(open_now, to.unsubscribe, self._mail.per_hour) if open_now else None

    # -- mails leave ----------------------------------------------------------------------

    def _send(self, mails: Sequence[_Mail]) -> None:
        """Hand mails over, some at once: one that takes long keeps few waiting."""
        queue = deque(mails)
        count = min(self._mail.workers, len(queue))
        workers = [
            threading.Thread(target=self._work, args=(queue,), name="mail", daemon=True)
            for _ in range(count)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:  # who ends the process does not wait for a server that takes long
            while worker.is_alive() and not self._stop.is_set():
                worker.join(_LOOK_S)

    def _work(self, queue: deque[_Mail]) -> None:
        broken = 0
        while queue and not self._stop.is_set() and broken < _BROKEN:
            try:
                with connected(self._mail) as server:
                    while queue and not self._stop.is_set():
                        mail = queue.popleft()
                        try:
                            hand_over(server, mail.message, self._mail.timeout_s)
                        except RefusedError as error:
                            self._refused(mail, error)
                            if error.is_broken:
                                broken += 1
                                break
                        else:
                            broken = 0
                            self._take(mail)
            except ServerError as error:
                self._away(str(error))
                return
            except IndexError:  # another worker was quicker
                return
        if broken >= _BROKEN:
            self._away(f"mail server {self._mail.host}: connections break; see its log")

    def _away(self, why: str) -> None:
        """Nothing can be sent now; letters wait, and are not blamed."""
        if self.error != why:
            LOG.warning("letters wait: %s", why)
        self.error = why
        self._retries.failed(time.monotonic())
        now = wall_ms()
        with self._engine.begin() as connection:
            late = [one for one in letters.due(connection, now, AT_ONCE) if self._is_late(one, now)]
            letters.fail(connection, late, why, None)
        GIVEN_UP.inc(len(late))

    def _take(self, mail: _Mail) -> None:
        self.error = None
        self._retries.succeeded()
        SENT.inc()
        self._taken.append(mail)
        try:
            self._note_taken()
        except SQLAlchemyError:
            LOG.exception("a letter was sent; noting that is tried again before the next are")

    def _note_taken(self) -> None:
        """Write down what was sent."""
        with self._noting:
            while self._taken:
                mail = self._taken[0]
                with self._engine.begin() as connection:
                    letters.drop(connection, [one.id for one in mail.letters])
                    if mail.letters[0].purpose == "notice":
                        _count(connection, mail.account)
                self._taken.popleft()

    def _refused(self, mail: _Mail, error: RefusedError) -> None:
        now, letter, said = wall_ms(), mail.letters[0], str(error)
        is_over = error.is_final or self._is_late(letter, now)
        (GIVEN_UP if is_over else FAILED).inc()
        with self._engine.begin() as connection:
            due = None if is_over else now + round(1000 * self._retries.wait_s(letter.tries))
            # Operators see which letters fail, and not to whom; servers say it.
            letters.fail(connection, mail.letters, said.replace(mail.address, "…"), due)
            if error.of_address and addresses.is_written_to(connection, mail.account, mail.address):
                addresses.fail(connection, mail.account, said)

    def _is_late(self, letter: Letter, now_ms: int) -> bool:
        return now_ms - letter.created_ms > self._mail.give_up_hours * _HOUR_MS


def _address_for(letter: Letter, to: MailAddress) -> str | None:
    """Where a letter goes; None where it is not to be sent any more."""
    if letter.purpose == "verify":
        return to.wanted
    if letter.purpose == "moved":
        return letter.about
    return None if to.error is not None and letter.purpose == "notice" else to.address


def _notices(
    connection: Connection, to: MailAddress, ids: Sequence[str]
) -> list[dict[str, object]]:
    """Those of some notices that still are to be told, the newest first."""
    row = NoticeRow
    query = select(row.__table__).where(
        row.id.in_(ids),
        row.user == to.account,
        row.closed_ms.is_(None),
        row.acknowledged_ms.is_(None),
    )
    found = [
        dict(one) for one in connection.execute(query.order_by(row.opened_ms.desc())).mappings()
    ]
    spoken = wordings(connection, found)
    return [notice_object(one, spoken(one), to.language) for one in found]


def _count(connection: Connection, account: str) -> None:
    """Note a letter with alerts: there are only so many an hour."""
    to, now = addresses.of(connection, account), wall_ms()
    if to is not None:
        is_new = now - to.hour_ms >= _HOUR_MS
        addresses.counted(
            connection, account, now if is_new else to.hour_ms, 1 if is_new else to.hour_count + 1
        )
