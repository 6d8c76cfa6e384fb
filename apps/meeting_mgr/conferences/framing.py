"""What the page of a meeting may load of a conference system."""

from __future__ import annotations

from citywise.apps.meeting_mgr import settings as configured
from citywise.backend.api import security
from citywise.backend.app import state


def allow() -> None:
    """Let the page that is being answered show rooms of the operator's Jitsi server, if there
    is one: its script, its frames, and camera, microphone and screen within them."""
    server = configured.of(state().settings).jitsi
    if server is None:
        return
    security.allow("script-src", server)
    security.allow("frame-src", server)
    security.delegate("camera", server)
    security.delegate("microphone", server)
    security.delegate("display-capture", server)
