"""What the views of one application share."""

from __future__ import annotations

from dataclasses import dataclass, field

from flask import current_app, request
from sqlalchemy import Engine

from citywise.backend.api.hub import Hub
from citywise.backend.api.origin import origin
from citywise.backend.kinds import Kinds
from citywise.backend.kinds.installed import KnownKinds
from citywise.backend.network import broker_rights, websocket
from citywise.backend.settings import Settings


@dataclass(frozen=True)
class WebState:
    """Settings, database and event hub of one application."""

    settings: Settings
    engine: Engine
    hub: Hub
    known_kinds: KnownKinds = field(default_factory=KnownKinds)

    def kinds(self) -> Kinds:
        """The kinds of observations and places as they are now."""
        with self.engine.connect() as connection:
            return self.known_kinds.read(connection)

    def origin(self) -> str:
        """Where whoever asks reaches the pages: scheme, host and port, for links to send."""
        return origin(self.settings.web)

    def broker_url(self) -> str | None:
        """Where the browser of whoever asks reaches the broker; None where it cannot."""
        return websocket.address(self.settings, request.host)

    def tell_broker(self) -> None:
        """Let the embedded broker know whom it may let in now; after the commit of the change."""
        broker_rights.write(self.engine, self.settings)

    def end_streams(
        self, *, user: str | None = None, login: str | None = None, device: str | None = None
    ) -> None:
        """End at once the event streams of an account or a channel, or those that one login or
        token opened."""
        self.hub.end(user=user, login=login, device=device)


def state() -> WebState:
    """The state of the current application."""
    found = current_app.extensions["citywise"]
    assert isinstance(found, WebState)
    return found
