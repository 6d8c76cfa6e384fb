"""The traces of messages that the ingest takes: its own stages, and where in the log each is."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from citywise.backend import telemetry
from citywise.backend.ingest.subscription import Message, topic_of
from citywise.backend.store.models import MessageTraceRow
from citywise.backend.store.upsert import upsert
from citywise.backend.telemetry import Attributes, Stage
from citywise.backend.times import wall_ms

LOG = logging.getLogger("citywise.ingest")
_PROPERTY = "traceparent"
_PERSONAL = "context"


class Group:
    """The traces of a group of messages, each with its stage or None; of none where tracing is
    off."""

    def __init__(self, messages: Sequence[Message], prefix: str) -> None:
        self.stages: list[Stage | None] = [None] * len(messages)
        self._positions: dict[int, str] = {}
        self._at = 0
        if not telemetry.is_on():
            return
        self._at = time.time_ns()
        for index, (message, arrived) in enumerate(messages):
            came = round(arrived.timestamp() * 1e9)
            topic = _topic_name(topic_of(message), prefix)
            attributes: Attributes = {
                "messaging.system": "mqtt",
                "messaging.destination.name": topic,
                "messaging.message.body.size": len(message.payload),
            }
            stage = telemetry.begun("receive", came, told_by(message), attributes)
            self.stages[index] = stage
            if stage is not None:
                stage.part("wait", came, self._at)

    def lies_at(self, index: int, position: int) -> None:
        """The message's records begin at a position of the log."""
        if (stage := self.stages[index]) is not None:
            self._positions[position] = stage.traceparent

    def keep(self, engine: Engine) -> None:
        """Tell whoever reads the log whose traces these are, before it can be read. Where that
        fails, only the traces end here."""
        if not self._positions:
            return
        self._part("judge")
        rows = [
            {"position": position, "traceparent": told, "created_ms": wall_ms()}
            for position, told in self._positions.items()
        ]
        try:
            with engine.begin() as connection:
                upsert(connection, MessageTraceRow, rows)
        except SQLAlchemyError:
            LOG.exception("cannot keep the traces of %d messages", len(rows))

    def end(self) -> None:
        """All is durable and acknowledged."""
        if any(self.stages):
            self._part("write and acknowledge")
            for stage in filter(None, self.stages):
                stage.end(self._at)

    def _part(self, name: str) -> None:
        begun, self._at = self._at, time.time_ns()
        for stage in filter(None, self.stages):
            stage.part(name, begun, self._at)


def told_by(message: Any) -> str | None:
    """What a message says of the trace that it belongs to, as a user property of MQTT 5."""
    properties = getattr(message, "properties", None)
    pairs = getattr(properties, "UserProperty", ())
    return next((value for name, value in pairs if name == _PROPERTY), None)


def _topic_name(topic: str, prefix: str) -> str:
    """The topic as a trace shows it: a person's id is left out, and it is cut at 200 characters."""
    below = topic.removeprefix(f"{prefix}/")
    return f"{prefix}/{_PERSONAL}/…" if below.startswith(f"{_PERSONAL}/") else topic[:200]
