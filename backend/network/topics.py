"""What an app adds to who may do what at the broker; patterns below `broker.prefix`.

In a pattern `+` is one level and `#` the rest, as in MQTT.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Topics:
    """What an app's own process, the web and sensors may, at the app's topics."""

    read: tuple[str, ...] = ()
    """What the app's own process reads."""
    write: tuple[str, ...] = ()
    """What it publishes."""
    web: tuple[str, ...] = ()
    """What the web process publishes for those who ask it by HTTP."""
    sensors: tuple[str, ...] = ()
    """What a device with the right `sensors` publishes."""


@dataclass(frozen=True)
class Device:
    """Somebody who is let in at the broker without a token: it publishes, and reads nothing."""

    name: str
    """User name at the broker, and what its client id begins with."""
    user: str
    """Whose messages are counted together."""
    hash: str
    """The password as mosquitto's password file has it."""
    write: tuple[str, ...]
    """What it publishes: topics, not patterns."""
    expires_ms: int | None = None
    """Wall time at which it is let in no more."""
