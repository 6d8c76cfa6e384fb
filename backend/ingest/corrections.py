"""What a late, corrected or withdrawn reading changes of what was known: from what to what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from citywise.backend.ingest.records import Reading, Withdrawal
from citywise.backend.times import iso

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

    def words(self) -> str:
        """What became of the reading, as part of a sentence: from what to what."""
        reading = f"the reading of {self.kind} at `{self.sensor}` of {iso(self.observed_ms)}"
        before, after = self.before or {}, self.after or {}
        if self.what == "late":
            said = ", ".join(f"{name} {value}" for name, value in sorted(after.items()))
            return f"{reading} came late{f': {said}' if said else ''}"
        if self.what == "withdrawn":
            said = ", ".join(f"{name} {value}" for name, value in sorted(before.items()))
            return f"{reading} was withdrawn{f', which said {said}' if said else ''}"
        changed = sorted(n for n in {*before, *after} if before.get(n) != after.get(n))
        said = ", ".join(f"{n} from {before.get(n)} to {after.get(n)}" for n in changed)
        return f"{reading} was corrected{f': {said}' if said else ''}"

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Cause:
        """What `to_json` gave."""
        return cls(**values)

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
