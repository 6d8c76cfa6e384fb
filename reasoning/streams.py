"""Stream items: what arrives, when it holds, and its place in the order of arrival."""

from __future__ import annotations

from dataclasses import dataclass

from reasoning.rdf.mapping import Triple


@dataclass(frozen=True, slots=True)
class Item:
    """One element of a stream, in the request's unit of time.

    `content` is a ground atom as text or a graph, all of whose triples hold at `time`
    (and until `until`, for an item with an interval; DESIGN A4). `position` orders items
    by arrival and names them in the log they come from.
    """

    time: int
    content: str | tuple[Triple, ...]
    position: int = 0
    until: int | None = None
    stream: str = ""

    @property
    def end(self) -> int:
        """The last time at which the item holds."""
        return self.time if self.until is None else self.until
