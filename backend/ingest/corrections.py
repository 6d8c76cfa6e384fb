"""What a late, corrected or withdrawn reading changes of what was known: from what to what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from citywise.backend.ingest.records import Reading, Withdrawal

Entry = Reading | Withdrawal
What = Literal["late", "corrected", "withdrawn"]


@dataclass(frozen=True)
class Cause:
    """A reading that changed the past: when it came `late`, was `corrected` or `withdrawn`, what
    it said before and says now (None: nothing)."""

    kind: str
    sensor: str
    observed_ms: int
    what: What
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None

    @classmethod
    def of(cls, known: Entry | None, entry: Entry) -> Cause | None:
        """What an entry changes of what was known of its reading; None: nothing."""
        before, after = _said(known), _said(entry)
        if before == after:
            return None
        what: What = "late" if before is None else "corrected"
        what = "withdrawn" if after is None else what
        return cls(entry.kind, entry.sensor, entry.observed_ms, what, before, after)

    def unsaid(self) -> Cause:
        """The same, without what was measured: for readings that not everybody may see."""
        return replace(self, before=None, after=None)

    def to_json(self) -> dict[str, Any]:
        """As rows carry it."""
        return {
            "kind": self.kind,
            "sensor": self.sensor,
            "observed_ms": self.observed_ms,
            "what": self.what,
            "before": self.before,
            "after": self.after,
        }


def _said(entry: Entry | None) -> Mapping[str, Any] | None:
    return dict(entry.values) if isinstance(entry, Reading) else None
