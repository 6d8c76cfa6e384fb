"""Messages to other conference systems: where they may go, how they are signed and sent."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import re
import ssl
from collections.abc import Collection, Iterable, Mapping
from typing import Literal, NamedTuple
from urllib.parse import SplitResult, urlsplit

from citywise.apps.meeting_mgr.model import Hook
from citywise.backend.app import CitywiseError, reach

TIMEOUT_S = 5.0
_READ_BYTES = 1024
_PATH = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@/-]*")
"""Nothing that is encoded, so that what is compared is what is asked for."""
Outcome = Literal["taken", "refused", "failed"]
"""`refused`: it is of no use to try again."""


class HookError(CitywiseError):
    """Messages may not be sent to an address; the message says why and what to do."""


class Message(NamedTuple):
    """A message to be sent; `number` is the same in every attempt."""

    hook: Hook
    number: str
    body: bytes


def check(url: str, allowed: Iterable[str]) -> None:
    """Raise `HookError` unless the operator allows messages to an address.

    `allowed` are addresses of folders (`meetings.webhooks`); scheme, host and port must be the
    same, and the path must lie below.
    """
    prefixes = list(allowed)
    if not prefixes:
        raise HookError("no other system may be told of meetings here (meetings.webhooks is empty)")
    address = _split(url)
    if address is None or not any(_is_below(address, urlsplit(one)) for one in prefixes):
        raise HookError(
            f"`{url}` is not below one of {', '.join(prefixes)}; choose an address there, or ask "
            "who runs this system to add yours to meetings.webhooks"
        )


def signed(secret: str, at_s: int, body: bytes) -> str:
    """What the head `Citywise-Signature` says: `t=TIME,v1=HMAC-SHA256 of "TIME.BODY"` (hex)."""
    digest = hmac.new(secret.encode(), b"%d." % at_s + body, hashlib.sha256).hexdigest()
    return f"t={at_s},v1={digest}"


def post(message: Message, at_s: int, exempt: Collection[str] = ()) -> Outcome:
    """Send a message once. Redirections are not followed: they could lead anywhere.

    Nothing is sent to the machine's own link, but to hosts that are `exempt` (`fetching.allow`).
    """
    address = urlsplit(message.hook.url)
    connection = _connection(address, exempt)
    try:
        target = f"{address.path}?{address.query}" if address.query else address.path
        connection.request("POST", target, message.body, _heads(message, at_s))
        answer = connection.getresponse()
        answer.read(_READ_BYTES)
    except (OSError, http.client.HTTPException):
        return "failed"
    finally:
        connection.close()
    return _outcome(answer.status)


def _heads(message: Message, at_s: int) -> Mapping[str, str]:
    return {
        "Content-Type": "application/json",
        "User-Agent": "Citywise",
        "Citywise-Delivery": message.number,
        "Citywise-Signature": signed(message.hook.secret, at_s, message.body),
    }


def _outcome(status: int) -> Outcome:
    if 200 <= status < 300:
        return "taken"
    # 408, 425 and 429 ask for another try; so do the server's own mistakes.
    return "failed" if status in (408, 425, 429) or status >= 500 else "refused"


def _connection(address: SplitResult, exempt: Collection[str]) -> http.client.HTTPConnection:
    host, more = address.hostname or "", {"port": address.port, "timeout": TIMEOUT_S}
    if address.scheme == "https":
        context = ssl.create_default_context()
        return reach.guarded(http.client.HTTPSConnection, exempt)(host, context=context, **more)
    return reach.guarded(http.client.HTTPConnection, exempt)(host, **more)


def _split(url: str) -> SplitResult | None:
    """An address without anything that different readers read differently."""
    try:
        address = urlsplit(url)
        plain = address.port != 0 and address.username is None and not address.fragment
    except ValueError:
        return None
    if not plain or not url.isascii() or not url.isprintable() or "#" in url or "\\" in url:
        return None
    # What is behind `;` some servers take away before they go up a folder.
    segments = {segment.partition(";")[0] for segment in address.path.split("/")}
    return address if _PATH.fullmatch(address.path) and not segments & {"..", "."} else None


def _is_below(address: SplitResult, prefix: SplitResult) -> bool:
    return (
        address.scheme == prefix.scheme
        and address.hostname == prefix.hostname
        and _port(address) == _port(prefix)
        and address.path.startswith(prefix.path)
    )


def _port(address: SplitResult) -> int:
    return address.port or (443 if address.scheme == "https" else 80)
