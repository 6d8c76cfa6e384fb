"""What one evaluation of a template brought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from citywise.reasoning.run.keyed import Evaluated

_MOST_TRACED = 50
_MOST_FAULTS = 5


@dataclass(frozen=True)
class Step:
    """What one clock brought."""

    t_ms: int
    position: int
    """Where the clock stands in the log."""
    evaluated: Evaluated
    changes: tuple[dict[str, Any], ...]
    """Changes of notices, as rows carry them."""
    details: tuple[dict[str, Any], ...]
    """Notices as they are now, where their details have changed: no news to anybody."""
    items: int
    """Entities whose facts had changed."""
    faults: tuple[str, ...]
    """What could not be evaluated, and why."""

    @property
    def error(self) -> str | None:
        """The faults as a sentence; None if there are none."""
        more = len(self.faults) - _MOST_FAULTS
        said = self.faults[:_MOST_FAULTS] + ((f"and {more} more",) if more > 0 else ())
        return "; ".join(said) or None

    def trace(self) -> dict[str, Any]:
        """The evaluation as a row of kind `trace`."""
        names = [key[1:-1] for key in self.evaluated.keys[:_MOST_TRACED]]
        return {
            "items": self.items,
            "atoms": self.evaluated.facts,
            "seconds": self.evaluated.seconds,
            "error": self.error,
            "position": self.position,
            "keys": len(self.evaluated.keys),
            "notices": len(self.changes),
            "changed": {
                "instances": names,
                "notices": [
                    {k: c[k] for k in ("change", "instance", "notice", "about", "criticality")}
                    for c in self.changes[:_MOST_TRACED]
                ],
            },
        }
