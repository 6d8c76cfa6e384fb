"""What planners answer the web process; light, so that the web imports no planner."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from citywise.backend.app import spawned

LOG = logging.getLogger("citywise.planner")


@dataclass(frozen=True)
class Reply:
    """What is answered: a status of HTTP, the body, and what else the web is to know
    (`plan`, `note`, `faults`, or `slug`, `title` and `detail` of a problem)."""

    status: int
    body: bytes = b""
    more: Mapping[str, Any] = field(default_factory=dict)

    def frame(self) -> spawned.Frame:
        """As it travels."""
        return spawned.Frame({"status": self.status, **self.more}, self.body)

    @classmethod
    def of(cls, frame: spawned.Frame) -> Reply:
        """What travelled."""
        more = dict(frame.head)
        return cls(int(more.pop("status")), frame.body, more)


def problem(slug: str, title: str, detail: str) -> Reply:
    """A 503: nothing can be planned now, and why."""
    return Reply(503, more={"slug": slug, "title": title, "detail": detail})


def no_network(found: object) -> Reply:
    """There are no streets to plan on; `found` names the file, or says what is wrong with it, which
    is for the log: everybody may ask."""
    LOG.warning("there is no city to plan in (%s)", found)
    detail = (
        "there is no city to plan in; make its road network with `citywise city "
        "import FILE.osm` (docs/city.md), or run `citywise demo`, which has one"
    )
    return problem("no-network", "No road network", detail)
