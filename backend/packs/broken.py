"""Apps of which something failed in this process, which goes on without it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from citywise.backend.errors import CitywiseError
from citywise.backend.times import wall_ms

LOG = logging.getLogger("citywise.apps")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Fault:
    """What of an app failed, why, how often, and when last (Unix milliseconds of the wall)."""

    app: str
    part: str
    """A field of `backend.packs.parts.Parts`, `python` (the module itself), `package` (an
    installed one), `web` (pages and addresses), `view /address` (one of them), `tables`,
    or `strings`, `icon` or `static` (files that it brings to the pages, which others stand in
    for)."""
    reason: str
    times: int
    last_ms: int


_faults: dict[tuple[str, str], Fault] = {}


def contained(app: str, part: str, work: Callable[[], Result], otherwise: Result) -> Result:
    """What `work`, which is an app's, returns; `otherwise` where it raises an exception or ends
    the process, which is noted: nobody else is to suffer from it."""
    try:
        return work()
    except (Exception, SystemExit) as error:  # noqa: BLE001
        note(app, part, error)
        return otherwise


def note(app: str, part: str, error: Exception | SystemExit) -> None:
    """Remember a fault of an app, and log it when it is new."""
    reason = reason_of(error)
    known = _faults.get((app, part))
    if known is None or known.reason != reason:
        LOG.error("app `%s` is broken: %s: %s", app, part, reason, exc_info=error)
        known = Fault(app, part, reason, 0, 0)
    _faults[app, part] = replace(known, times=known.times + 1, last_ms=wall_ms())


def reason_of(error: BaseException) -> str:
    """An exception in a line, as whoever wrote the app reads it."""
    return str(error) if isinstance(error, CitywiseError) else f"{type(error).__name__}: {error}"


def mended(app: str, part: str) -> None:
    """Forget a fault that is over."""
    _faults.pop((app, part), None)


def known() -> list[Fault]:
    """The faults there are in this process, by app and part."""
    return [_faults[key] for key in sorted(_faults)]
