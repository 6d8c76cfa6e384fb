"""Which sensors rules may trust, as facts (docs/kinds.md says what that means)."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from citywise.backend.ingest.records import Reading, Withdrawal
from citywise.backend.kinds.doubt import WITHIN_MS, Doubt, Recent, doubts, scaled
from citywise.backend.kinds.health import KEPT, Sample
from citywise.backend.kinds.kind import Kind
from citywise.backend.packs.sight import Sight
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.space.geometry import Spot
from citywise.reasoning.rdf.mapping import quote
from citywise.reasoning.run.keyed import StandingFacts

_MINUTE_MS = 60_000


@dataclass(frozen=True)
class _Kept:
    """A reading, and where in the log it stands; without values: one that was withdrawn."""

    sample: Sample
    position: int

    @property
    def observed_ms(self) -> int:
        return self.sample.observed_ms


class Doubting:
    """Keeps the facts about sensors in step with their readings.

    What it tells at a minute follows from the newest readings of each sensor alone, whatever
    came before and in which order: a run that is rebuilt from the log tells the same.
    """

    def __init__(self, template: TemplateVersion, sight: Sight, facts: StandingFacts) -> None:
        self._sight, self._facts = sight, facts
        self._kinds = {name: kind for name, kind in template.kinds.items() if sight.doubts(name)}
        self._kept: dict[str, dict[str, list[_Kept]]] = defaultdict(dict)
        self._places: dict[str, tuple[tuple[float, float], float | None]] = {}
        self._told: dict[str, dict[str, Doubt]] = defaultdict(dict)
        self._changed: set[str] = set()
        """Kinds whose readings have changed since the facts were told."""
        self._minute: int | None = None

    # -- what comes -------------------------------------------------------------------

    def take(self, entry: Reading | Withdrawal) -> None:
        """A reading comes, is corrected, or is withdrawn."""
        if entry.kind not in self._kinds:
            return
        values = entry.values if isinstance(entry, Reading) else {}
        kept = self._kept[entry.kind].setdefault(entry.sensor, [])
        new = _Kept(Sample(entry.observed_ms, values), entry.position)
        place = bisect_left(kept, entry.observed_ms, key=lambda one: one.observed_ms)
        if place < len(kept) and kept[place].observed_ms == entry.observed_ms:
            kept[place] = new
        else:
            kept.insert(place, new)
        if len(kept) > KEPT:
            kept.pop(0)
        self._changed.add(entry.kind)

    def put_place(self, key: str, body: Mapping[str, Any] | None) -> None:
        """A place is there, or no longer."""
        if not self._kinds:
            return
        if body is None:
            self._places.pop(key, None)
        else:
            spot = Spot.of(body["geometry"], directed=False)
            self._places[key] = (spot.lat, spot.lon), body.get("free_flow_kmh")
        self._changed.update(self._kept)

    # -- what is told -----------------------------------------------------------------

    def settle(self, t_ms: int) -> None:
        """Tell what is to be said of the sensors at a time (Unix ms)."""
        minute = t_ms // _MINUTE_MS * _MINUTE_MS
        concerned = self._changed if minute == self._minute else set(self._kept)
        self._minute = minute
        for name in sorted(concerned):
            self._forget(name, minute)
            now = doubts(self._kinds[name], self._recent(name), minute)
            before, self._told[name] = self._told[name], now
            for sensor in before.keys() | now.keys():
                if before.get(sensor) != now.get(sensor):
                    self._tell(self._kinds[name], sensor, now.get(sensor))
        self._changed = set()

    def _forget(self, name: str, minute: int) -> None:
        """Drop readings that are too old, and sensors without any."""
        for sensor, kept in list(self._kept[name].items()):
            while kept and kept[0].observed_ms <= minute - WITHIN_MS:
                kept.pop(0)
            if not kept:
                del self._kept[name][sensor]

    def _recent(self, name: str) -> dict[str, Recent]:
        nowhere = None, None
        return {
            sensor: Recent([one.sample for one in kept], *self._places.get(sensor, nowhere))
            for sensor, kept in self._kept[name].items()
        }

    def _tell(self, kind: Kind, sensor: str, doubt: Doubt | None) -> None:
        place, name = self._sight.place(sensor), quote(kind.kind)
        found: list[tuple[str, str]] = []
        if doubt is not None:
            found.append(("reliability", f"reliability({place},{name},{doubt.percent})"))
            if doubt.reliable:
                found.append(("reliable", f"reliable({place},{name})"))
            for field, value in doubt.accuracy.items():
                off = scaled(value, kind.fields[field])
                found.append(("accuracy", f"accuracy({place},{name},{quote(field)},{off})"))
        told = [atom for predicate, atom in found if self._sight.asks(predicate)]
        self._facts.put(place, ("doubt", kind.kind), told)

    def words(self) -> Iterator[tuple[str, str]]:
        """The term of the place of each sensor that is doubtful, and why it is, in words."""
        for name, told in sorted(self._told.items()):
            for sensor, doubt in sorted(told.items()):
                if not doubt.reliable:
                    yield self._sight.place(sensor), doubt.words(self._kinds[name], sensor)

    # -- stopping and going on --------------------------------------------------------

    def needed(self) -> Iterator[int]:
        """Where in the log those readings stand that are needed to go on."""
        for sensors in self._kept.values():
            for kept in sensors.values():
                yield from (one.position for one in kept)
