"""Subscribing at a context broker: it then posts what changes to our inlet.

The subscription has our own id for it and ends by itself: who stops us for good leaves nothing
behind for long. Source: ETSI GS CIM 009 V1.8.1, clauses 5.2.12, 5.2.15 and 6.10 to 6.11.
"""

from __future__ import annotations

import http.client
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from citywise.backend.settings import Source, Subscribed
from citywise.backend.sources.fetch import FetchError, send
from citywise.backend.times import iso, wall_ms

SECRET_HEADER = "X-Citywise-Secret"  # noqa: S105 - its name
LASTS = 3
"""So many times as long as between two renewals."""
_PAGE = 100
Send = Callable[[str, str, bytes | None, Mapping[str, str], float], None]


class Subscriber:
    """Of one source: makes its subscription, renews it, and ends it. Each raises `FetchError`."""

    def __init__(self, source: Source, about: Subscribed, ask: Send = send) -> None:
        self._source, self._about, self._ask = source, about, ask
        self._broker = about.broker.rstrip("/")
        self.id = f"urn:ngsi-ld:Subscription:citywise-{source.name}"

    @property
    def all_entities(self) -> str:
        """The address of all that the subscription is for, to catch up."""
        query = {"type": ",".join(self._about.types), "limit": _PAGE}
        return f"{self._broker}/entities?{urlencode(query, safe=',:/')}"

    def renew(self) -> None:
        """Have the subscription last, and make it where the broker has none."""
        body = self._body()
        try:
            self._send("PATCH", self._own, body)
        except FetchError as error:
            if error.status != http.client.NOT_FOUND:
                raise
            made = {"id": self.id, "type": "Subscription", **body}
            self._send("POST", f"{self._broker}/subscriptions", made)

    def end(self) -> None:
        """Have the broker forget it."""
        try:
            self._send("DELETE", self._own, None)
        except FetchError as error:
            if error.status != http.client.NOT_FOUND:
                raise

    @property
    def _own(self) -> str:
        return f"{self._broker}/subscriptions/{quote(self.id, safe=':')}"

    def _body(self) -> dict[str, Any]:
        secret = {"key": SECRET_HEADER, "value": self._source.secret}
        endpoint = {
            "uri": f"{self._about.notify.rstrip('/')}/api/v1/sources/{self._source.name}",
            "accept": "application/json",
            "receiverInfo": [secret],
        }
        return {
            "description": f"Citywise, source {self._source.name}",
            "entities": [{"type": name} for name in self._about.types],
            "notification": {"format": "normalized", "endpoint": endpoint},
            "expiresAt": iso(wall_ms() + round(1000 * LASTS * self._about.renew_s)),
        }

    def _send(self, method: str, url: str, body: Mapping[str, Any] | None) -> None:
        form = {} if body is None else {"Content-Type": "application/json"}
        raw = None if body is None else orjson.dumps(body)
        self._ask(url, method, raw, {**self._source.headers, **form}, self._source.timeout_s)
