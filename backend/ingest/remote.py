"""Reading a log over the network, from the ingest process that serves it (see `server`).

A location is `http://host:port/log`; the keys to what is sealed in it are at
`http://host:port/keys`. The secret that the server wants is taken from the
environment variable `CITYWISE_LOG_TOKEN`, so that no address that is printed contains it.
"""

from __future__ import annotations

import binascii
import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Collection, Iterator

import orjson

from citywise.backend.ingest.frames import LogError, Record, scan

TOKEN = "CITYWISE_LOG_TOKEN"  # noqa: S105 - the variable's name
_TIMEOUT_S = 30.0
_MOST_BYTES = 16_000_000
_PAUSES_S = (0.1, 0.4, 1.6, 3.2)
_MEND = "is the ingest running, and are ingest.serve_host and ingest.serve_port right?"
# A proxy of the machine's environment has no business between our own processes.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def is_remote(location: object) -> bool:
    """Whether a location is an address, not a folder."""
    return isinstance(location, str) and location.startswith("http://")


def bounds(location: str) -> tuple[int, int]:
    """The first position that is still in the log, and the end of what is durable."""
    found = orjson.loads(_get(location))
    return int(found["begin"]), int(found["end"])


def read(location: str, start: int, end: int) -> Iterator[Record]:
    """Records from position `start` up to `end`; see `backend.ingest.log.read`."""
    reached = start
    for record in scan(_Stretch(location, start, end), start, end):
        reached = record.end
        yield record
    if reached < end:
        raise LogError(
            f"{location}: damaged record at position {reached}; on the ingest's machine, "
            "`citywise log check` says more (docs/delivery.md, A damaged log)"
        )


def keys(location: str, ids: Collection[str]) -> tuple[int, dict[str, bytes]]:
    """How many users have been forgotten, and the keys with these ids; see
    `backend.ingest.keyring.Keyring.load`."""
    address = f"{location.removesuffix('/log')}/keys"
    found = orjson.loads(_get(address, orjson.dumps({"ids": list(ids)})))
    keys = {name: binascii.a2b_base64(text) for name, text in found["keys"].items()}
    return int(found["forgettings"]), keys


class _Stretch:
    """The bytes of a log between two positions, fetched as they are read."""

    def __init__(self, location: str, start: int, end: int) -> None:
        self._location = location
        self._next = start
        self._end = end
        self._held = memoryview(b"")

    def read(self, size: int, /) -> bytes:
        """The next `size` bytes, fewer at the end of the stretch."""
        parts = []
        while size > 0 and (self._held or self._next < self._end):
            if not self._held:
                self._fetch()
            part, self._held = self._held[:size], self._held[size:]
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _fetch(self) -> None:
        data = _get(f"{self._location}?start={self._next}&end={self._end}")
        if not 0 < len(data) <= self._end - self._next:
            raise LogError(
                f"{self._location}: {len(data)} bytes came for positions {self._next} to "
                f"{self._end}; is something else listening there?"
            )
        self._next += len(data)
        self._held = memoryview(data)


def _get(url: str, question: bytes | None = None) -> bytes:
    """Ask until there is an answer, or it is clear that there is none."""
    token = os.environ.get(TOKEN, "")
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, question, headers)
    for pause in (*_PAUSES_S, None):
        try:
            with _OPENER.open(request, timeout=_TIMEOUT_S) as answer:
                data: bytes = answer.read(_MOST_BYTES)
                return data
        except urllib.error.HTTPError as error:
            said = error.read(500).decode(errors="replace").strip()
            failure = f"{url}: {said or error}"
            if error.code < 500:
                raise LogError(failure) from None
        except (OSError, http.client.HTTPException) as error:
            failure = f"{url}: no answer ({getattr(error, 'reason', None) or error!r}); {_MEND}"
        if pause is None:
            break
        time.sleep(pause)
    raise LogError(failure)
