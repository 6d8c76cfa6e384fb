"""How our processes write their logs: as lines to read, or as JSON for machines
(`CITYWISE_LOG_FORMAT=json`).

A message is one line whatever others have sent that stands in it, so that nobody can write lines
of their own; and no id of an account is in it.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from datetime import UTC, datetime

from citywise.backend import telemetry
from citywise.backend.people.ids import ACCOUNT
from citywise.backend.repeats import Repeats

FORMAT = "CITYWISE_LOG_FORMAT"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def begin(role: str) -> None:
    """Have this process, which plays a role, write its log to standard output."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(Json(role) if os.environ.get(FORMAT) == "json" else Discreet(role))
    handler.addFilter(Repeats())
    logging.basicConfig(level=os.environ.get("CITYWISE_LOG_LEVEL", "INFO"), handlers=[handler])
    for noisy in ("py4j", "alembic"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


class Discreet(logging.Formatter):
    """Lines to read. These files are not searched when somebody is forgotten."""

    def __init__(self, role: str) -> None:
        super().__init__(f"%(asctime)s {role} %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """The line of a message, without its traceback."""
        record.message = one_line(record.message)
        return super().formatMessage(record)

    def format(self, record: logging.LogRecord) -> str:
        """A message and its traceback."""
        return ACCOUNT.sub("u-…", super().format(record))


class Json(logging.Formatter):
    """One JSON object a line: `at`, `role`, `level`, `logger`, `text`, and `error` (the traceback)
    and `trace` (the id of what it is about) where there is one."""

    def __init__(self, role: str) -> None:
        super().__init__()
        self._role = role

    def format(self, record: logging.LogRecord) -> str:
        """A message as JSON."""
        said = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "role": self._role,
            "level": record.levelname,
            "logger": record.name,
            "text": record.getMessage(),
        }
        if record.exc_info:
            said["error"] = self.formatException(record.exc_info)
        if trace := getattr(record, "trace", None) or telemetry.current():
            said["trace"] = trace
        return ACCOUNT.sub("u-…", json.dumps(said, ensure_ascii=False))


def one_line(text: str) -> str:
    """A text in which what would begin a line, or steer a terminal, is escaped."""
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)
