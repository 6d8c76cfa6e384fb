"""The meeting manager as it runs in earnest: broker, its own process and the web, no Spark."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, select

from citywise.apps.meeting_mgr.model import APP
from citywise.backend.settings import People, Settings
from citywise.backend.store.models import HeartbeatRow
from citywise.backend.supervisor import System

START_S = 240.0


class Meetings(System):
    """A system without a city."""

    @property
    def roles(self) -> Sequence[str]:
        return (APP, "web")

    def _prepare_city(self) -> None:
        """There is none."""

    def _install_apps(self, engine: Engine) -> None:
        """None is needed: there are no requests and no templates."""


@dataclass(frozen=True)
class Running:
    """A running system of meetings; whoever is not logged in is the demo's user, a host."""

    system: System
    engine: Engine

    @property
    def url(self) -> str:
        return self.system.url

    @property
    def settings(self) -> Settings:
        return self.system.settings

    def beat(self) -> dict[str, Any] | None:
        """What the app's process last said of itself."""
        query = select(HeartbeatRow.detail).where(HeartbeatRow.process == APP)
        with self.engine.connect() as connection:
            return connection.scalar(query)

    def logs(self, role: str = APP) -> str:
        return self.system.log_file(role).read_text(encoding="utf-8", errors="replace")

    def wait(self) -> None:
        """Until the web answers and readings are heard."""
        deadline = time.monotonic() + START_S
        while not self._is_up():
            assert time.monotonic() < deadline, self.logs() + self.logs("web")
            time.sleep(0.05)

    def restart(self, role: str) -> None:
        """Kill a process, as a crash would, start it again and wait until it says that it runs."""
        with self.system.children[role].process as process:
            process.kill()
        last_ms = self.beat_ms(role)
        self.system.spawn(role)
        deadline = time.monotonic() + START_S
        while self.beat_ms(role) == last_ms:
            assert time.monotonic() < deadline, self.logs(role)
            time.sleep(0.05)

    def ask(
        self, method: str, path: str, body: Any = None, cookie: str | None = None
    ) -> tuple[int, Any, str | None]:
        """Ask the API: status, answer and the cookie that was set (`name=value`)."""
        request = urllib.request.Request(
            f"{self.url}/api/v1{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Origin": self.url},
        )
        if cookie is not None:
            request.add_header("Cookie", cookie)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, text, set_ = answer.status, answer.read(), answer.headers["Set-Cookie"]
        except urllib.error.HTTPError as error:
            with error:
                status, text, set_ = error.code, error.read(), None
        return status, json.loads(text) if text else None, set_ and set_.partition(";")[0]

    def beat_ms(self, role: str) -> int | None:
        """When a process last said that it lives."""
        query = select(HeartbeatRow.at_ms).where(HeartbeatRow.process == role)
        with self.engine.connect() as connection:
            return connection.scalar(query)

    def _is_up(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/healthz", timeout=2):
                return bool((self.beat() or {}).get("connected"))
        except OSError:
            return False


@contextmanager
def running(
    folder: Path, settings: Settings | None = None, kind: type[System] = Meetings
) -> Iterator[Running]:
    """Run it until the end of the block; all of it is in `folder`."""
    settings = settings or Settings(data_dir=folder, people=People(demo_user=True))
    system = kind(settings, say=lambda _text: None)
    try:
        system.start()
        assert system._engine is not None
        found = Running(system, system._engine)
        found.wait()
        yield found
    finally:
        system.stop()
