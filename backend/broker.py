"""The embedded MQTT broker: aedes on Node, on loopback, for machines without one.

It keeps sessions and retained messages in memory; docs/delivery.md says what a broker
that dies hard can lose, and docs/decisions/embedded-broker.md why it is aedes.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from backend import machine
from backend.errors import CitywiseError

SCRIPT = Path(__file__).with_name("broker.mjs")


class BrokerError(CitywiseError):
    """The embedded broker could not be started."""

    exit_code = 3


class EmbeddedBroker:
    """A broker process that ends with its parent; `start` returns when it accepts clients."""

    def __init__(
        self, port: int = 0, username: str | None = None, password: str | None = None
    ) -> None:
        self.port = port
        self._credentials = {"BROKER_USERNAME": username, "BROKER_PASSWORD": password}
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> int:
        """Start it and return the port; raises `BrokerError` with the broker's own words."""
        environment = {key: value for key, value in self._credentials.items() if value}
        self.process = subprocess.Popen(
            [str(machine.node()), str(SCRIPT)],
            env={**os.environ, **environment, "BROKER_PORT": str(self.port)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline().strip()
        if not line.startswith("listening "):
            self.process.kill()
            raise BrokerError(
                f"the embedded broker did not start on port {self.port or '(any)'}: "
                f"{line or 'see its message above'}; is the port taken, or is `make demo` "
                "needed to install it?"
            )
        self.port = int(line.split()[1])
        return self.port

    def stop(self) -> None:
        """End it and wait."""
        if self.process is None:
            return
        with self.process:
            self.process.terminate()
            try:
                self.process.wait(timeout=3)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process = None
