"""Asking an address for what is new: once, within a time and a size."""

from __future__ import annotations

import email.utils
import http.client
import re
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from email.message import Message
from functools import cache
from typing import Any

from citywise.backend.network.reach import guarded

_CHUNK = 65_536
_READ_S = 10.0
_ANSWER_BYTES = 1_000_000
_HARMLESS = frozenset(
    ("user-agent", "accept", "accept-encoding", "if-none-match", "if-modified-since")
)
"""Headers that any server may read."""


class _Http(urllib.request.HTTPHandler):
    def __init__(self, allowed: Collection[str]) -> None:
        super().__init__()
        self._allowed = allowed

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(guarded(http.client.HTTPConnection, self._allowed), req)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, allowed: Collection[str]) -> None:
        super().__init__()
        self._allowed = allowed

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(guarded(http.client.HTTPSConnection, self._allowed), req)


class _Redirect(urllib.request.HTTPRedirectHandler):
    """Follows where a server leads; keys that were meant for it do not go to another."""

    def redirect_request(self, req: urllib.request.Request, *more: Any) -> Any:
        found = super().redirect_request(req, *more)
        if found is not None and (found.type, found.host) != (req.type, req.host):
            for name in [name for name in found.headers if name.lower() not in _HARMLESS]:
                found.remove_header(name)
        return found


@cache
def _opener(allowed: frozenset[str]) -> urllib.request.OpenerDirector:
    """What opens http and https: no files, no FTP, wherever a server may lead us."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        _Http(allowed),
        _Https(allowed),
        urllib.request.HTTPDefaultErrorHandler(),
        _Redirect(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


class FetchError(Exception):
    """An address did not answer as it should; says why, and how long the server wants to wait."""

    def __init__(
        self, said: str, wait_s: float | None = None, *, status: int | None = None
    ) -> None:
        super().__init__(said)
        self.wait_s, self.status = wait_s, status


@dataclass(frozen=True, slots=True)
class Tag:
    """What a server calls a version of its answer."""

    etag: str | None = None
    modified: str | None = None

    def headers(self) -> dict[str, str]:
        """So that it only answers if there is another."""
        found = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        return {name: value for name, value in found.items() if value}


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer; `body` is None if it is the same as before."""

    body: bytes | None
    tag: Tag
    following: str | None = None
    """Where it goes on (`Link`, `rel="next"`), as the server wrote it."""


def fetch(
    url: str,
    *,
    headers: Mapping[str, str],
    tag: Tag,
    timeout_s: float,
    max_bytes: int,
    allowed: Collection[str] = (),
) -> Answer:
    """What an address answers; raises `FetchError`.

    `allowed` are hosts, or HOST:PORT, that may be on the machine's own link.
    """
    usual = {"User-Agent": "citywise", "Accept-Encoding": "gzip", "Accept": "*/*"}
    try:
        request = urllib.request.Request(url, headers={**usual, **headers, **tag.headers()})
    except ValueError as error:
        raise FetchError(f"no answer: {error}") from None
    try:
        body, told = _fetched(request, timeout_s, max_bytes, allowed)
    except FetchError as error:
        if error.status == http.client.NOT_MODIFIED:
            return Answer(None, tag)
        raise
    if told.get("Content-Encoding", "").lower() == "gzip":
        body = _unpacked(body, max_bytes)
    return Answer(body, Tag(told.get("ETag"), told.get("Last-Modified")), _following(told))


def send(
    url: str,
    method: str,
    body: bytes | None,
    headers: Mapping[str, str],
    timeout_s: float,
    allowed: Collection[str] = (),
) -> None:
    """Send something to an address; raises `FetchError` unless it is taken."""
    try:
        request = urllib.request.Request(
            url, data=body, method=method, headers={"User-Agent": "citywise", **headers}
        )
    except ValueError as error:
        raise FetchError(f"no answer: {error}") from None
    _fetched(request, timeout_s, _ANSWER_BYTES, allowed)


def _fetched(
    request: urllib.request.Request, timeout_s: float, max_bytes: int, allowed: Collection[str]
) -> tuple[bytes, Message]:
    """The body and the headers of an answer that is a success; raises `FetchError`."""
    deadline = time.monotonic() + timeout_s
    try:
        opener = _opener(frozenset(allowed))
        with opener.open(request, timeout=min(timeout_s, _READ_S)) as response:
            return _read(response, deadline, max_bytes, timeout_s), response.headers
    except urllib.error.HTTPError as error:
        with error:
            wait_s = _wait(error.headers.get("Retry-After"))
            raise FetchError(f"status {error.code}", wait_s, status=error.code) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise FetchError(f"no answer: {getattr(error, 'reason', None) or error}") from None


def _following(told: Message) -> str | None:
    """The address of the next page that the headers name."""
    for header in told.get_all("Link", []):
        for address, more in re.findall(r"<([^<>]*)>([^,<]*)", header):
            if re.search(r";\s*rel=\"?next\"?\s*(;|$)", more):
                return str(address)
    return None


def _read(
    response: http.client.HTTPResponse, deadline: float, max_bytes: int, timeout_s: float
) -> bytes:
    """The body; a server that sends for ever, or a byte a minute, is left."""
    found = bytearray()
    while chunk := response.read1(_CHUNK):
        found += chunk
        if len(found) > max_bytes:
            raise FetchError(f"the answer is larger than {max_bytes} bytes (max_bytes)")
        if time.monotonic() > deadline:
            raise FetchError(f"the answer took longer than {timeout_s:g} s (timeout_s)")
    if response.length:
        raise FetchError("the answer ended before it was whole")
    return bytes(found)


def _unpacked(body: bytes, max_bytes: int) -> bytes:
    reader = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        found = reader.decompress(body, max_bytes + 1)
    except zlib.error as error:
        raise FetchError(f"the answer is no gzip: {error}") from None
    if len(found) > max_bytes:
        raise FetchError(f"the answer is larger than {max_bytes} bytes (max_bytes)")
    if not reader.eof:
        raise FetchError("the answer is no gzip: it is not whole")
    return found


def _wait(told: str | None) -> float | None:
    """The seconds of a Retry-After."""
    text = (told or "").strip()
    if text.isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError):
        return None
