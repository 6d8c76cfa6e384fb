"""A mail server on this machine that keeps what it is given."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import Envelope, Session

from citywise.backend import machine

ECHOED = "nobody@exampel.org"
"""A mailbox that there is none of, whose address the server says, as many do."""


class Box:
    """Keeps what it is given; who is called `nobody` is refused for good, `grey` for now."""

    def __init__(self) -> None:
        self.port = 0
        self.mails: list[EmailMessage] = []
        self.left: int | None = None
        """How many more it takes before it hangs up."""
        self.quota: int | None = None
        """How many it takes from anybody."""
        self.is_blocked = False
        """Whether it takes nothing from where the city's mails come from."""
        self.is_deaf = False
        """Whether it takes a letter and never says so."""

    async def handle_MAIL(  # noqa: N802
        self, server: Any, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.quota is not None and len(self.mails) >= self.quota:
            return "550 5.4.5 daily sending quota exceeded"
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(  # noqa: N802
        self, server: Any, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.is_blocked:
            return "554 5.7.1 client host blocked"
        if address.startswith("nobody@"):
            whose = f"<{address}>: " if address == ECHOED else ""
            return f"550 5.1.1 {whose}no such mailbox"
        if address.startswith("grey@"):
            return "451 4.7.1 greylisted, come back later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Session, envelope: Envelope) -> str:  # noqa: N802
        if self.is_deaf:
            await asyncio.sleep(3600)
        if self.left == 0:
            server.transport.close()
        assert isinstance(envelope.content, bytes)
        found = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(found, EmailMessage)
        self.mails.append(found)
        self.left = None if self.left is None else self.left - 1
        return "250 taken"


@contextmanager
def served(box: Box, **options: Any) -> Iterator[int]:
    """A mail server; its port."""
    controller = _started(box, **options)
    try:
        yield controller.port
    finally:
        controller.stop()


def _started(box: Box, **options: Any) -> Controller:
    """On a free port, or on another where somebody was quicker."""
    for _ in range(5):
        with suppress(OSError):
            controller = Controller(
                box, "127.0.0.1", machine.free_port(), ready_timeout=60, **options
            )
            controller.start()
            return controller
    raise AssertionError("no port is free")
