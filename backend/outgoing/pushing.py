"""Alerts to a browser that has no page of ours open, as one form of subscription."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection

from citywise.backend.notices.listeners import wishes_of
from citywise.backend.outgoing import web_push
from citywise.backend.outgoing.changes import Change
from citywise.backend.outgoing.subscriptions import Subscription
from citywise.backend.times import wall_ms

GONE = frozenset({404, 410})
"""What a push service answers where a browser takes no messages any more (RFC 8030, 7.3)."""


class Sending(NamedTuple):
    """What all messages to browsers are sent with: the folder of our key, and whom a push
    service writes to where something is wrong."""

    folder: Path
    contact: str | None


class Pushes:
    """How changes become messages to one browser."""

    def __init__(self, about: Subscription, sending: Sending) -> None:
        """Raises `ValueError` where the browser's keys cannot be used."""
        extra = about.extra
        self._account, self._endpoint, self._sending = about.account, about.url, sending
        self._language = str(extra.get("language", "en"))
        self._browser = web_push.Browser.of(str(extra["p256dh"]), str(extra["auth"]))
        self._key: web_push.Key | None = None

    def told(self, connection: Connection, change: Change) -> Mapping[str, Any] | None:
        """What the browser is told of a change: of alerts that are not old, if its person wants
        notifications of browsers."""
        age_ms = wall_ms() - change.created_ms
        if change.user is None or not change.body.get("alert") or age_ms > web_push.LASTS_S * 1000:
            return None
        wishes = wishes_of(connection, [self._account]).get(self._account)
        return change.body if wishes is None or wishes.channels.browser else None

    def sealed(self, notice: Mapping[str, Any]) -> tuple[dict[str, str], bytes]:
        """A message as it is posted: its head, and what only the browser reads."""
        self._key = self._key or web_push.key_in(self._sending.folder)
        at_s, about = int(time.time()), str(notice["id"])
        contact = self._sending.contact
        head = web_push.headers(self._endpoint, self._key, contact, about, at_s)
        return head, web_push.encrypted(web_push.told(notice, self._language), self._browser)
