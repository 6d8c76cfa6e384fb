"""Devices that browsers are made to believe in: what they hear, where they are, how they move."""

from __future__ import annotations

import json
import math
import re
import struct
import wave
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Geolocation, Page, Playwright, Request, WebSocket

from citywise.backend import machine
from citywise.backend.times import parse_ms

HERE = Geolocation(latitude=56.1572, longitude=10.2107, accuracy=8)
USUAL_OFFSET_DB = 105
_RATE = 48_000
_HERTZ = 1000
_FAKE = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
_READING = re.compile(rb'\{"at".*\}')

SHAKEN = """if (isSecureContext) setInterval(() => dispatchEvent(new DeviceMotionEvent(
    'devicemotion', {acceleration: {x: 3, y: 4, z: 0}, interval: 50})), 50)"""
"""A script by which a device is moved at 5 m/s² all the time."""


def tone(path: Path, *parts: tuple[float, float]) -> Path:
    """A sound of parts, each so many seconds long and of an amplitude up to 1; it loops."""
    with wave.open(str(path), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(_RATE)
        for seconds, amplitude in parts:
            wave_length = [math.sin(2 * math.pi * _HERTZ * i / _RATE) for i in range(48)]
            period = struct.pack("<48h", *(round(32767 * amplitude * s) for s in wave_length))
            sound.writeframes(period * round(seconds * _RATE / 48))
    return path


def decibels(amplitude: float) -> float:
    """What a device that nobody has calibrated says of such a tone."""
    return 20 * math.log10(amplitude / math.sqrt(2)) + USUAL_OFFSET_DB


def hears(sound: Path) -> tuple[str, ...]:
    """Options of a Chromium whose microphone hears a WAV file."""
    return (*_FAKE, f"--use-file-for-fake-audio-capture={sound}")


@contextmanager
def hearing(playwright: Playwright, sound: Path) -> Iterator[Browser]:
    """A Chromium whose microphone hears a WAV file."""
    chromium = playwright.chromium.launch(
        executable_path=str(machine.chromium()),
        args=["--no-sandbox", *hears(sound)],
    )
    yield chromium
    chromium.close()


@dataclass
class Told:
    """The readings that a page has sent, by either way."""

    mqtt: list[dict[str, Any]] = field(default_factory=list)
    post: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def by(cls, page: Page) -> Told:
        """Listen to a page."""
        found = cls()
        page.on("websocket", found._listen)
        page.on("request", found._note)
        return found

    @property
    def all(self) -> list[dict[str, Any]]:
        """Messages in the order in which they were made."""
        return sorted([*self.mqtt, *self.post], key=lambda told: str(told["at"]))

    def values(self) -> dict[str, Any]:
        """The last value of each kind."""
        found: dict[str, Any] = {}
        for message in self.all:
            found |= message["values"]
        return found

    def became(self, kind: str, is_it: Callable[[float], bool]) -> list[float]:
        """When such a value was told after another, or as the first; Unix seconds."""
        told = [message for message in self.all if kind in message["values"]]
        such = [is_it(message["values"][kind]) for message in told]
        return [
            parse_ms(message["at"]) / 1000
            for message, now, before in zip(told, such, [False, *such], strict=False)
            if now and not before
        ]

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framesent", self._frame)

    def _frame(self, payload: str | bytes) -> None:
        found = _READING.search(payload if isinstance(payload, bytes) else payload.encode())
        if found:
            self.mqtt.append(json.loads(found[0]))

    def _note(self, request: Request) -> None:
        if request.method == "POST" and request.url.endswith("/readings"):
            self.post.append(json.loads(request.post_data or ""))
