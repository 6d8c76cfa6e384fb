"""Readings in columns: what a source or a stretch of the log says at one time, looked at as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from citywise.backend.ingest.records import Reading
from citywise.backend.kinds import Value

Column = Sequence[Value]


class Block:
    """Readings of one kind, a column for each of their fields; None where one lacks it.

    Parameters
    ----------
    observed_ms:
        Unix ms, one for each.
    position:
        Of the first; the others follow it one by one.
    columns:
        By the name of the field.
    """

    __slots__ = ("_columns", "_places", "_readings", "kind", "observed_ms", "position", "sensors")

    def __init__(
        self,
        kind: str,
        sensors: Sequence[str],
        observed_ms: Sequence[int],
        position: int,
        columns: Mapping[str, Column],
    ) -> None:
        self.kind, self.sensors, self.observed_ms = kind, sensors, observed_ms
        self.position = position
        self._columns = dict(columns)
        self._readings: Sequence[Reading] | None = None
        self._places: dict[tuple[str, int], int] | None = None

    @classmethod
    def of(cls, readings: Sequence[Reading]) -> Block:
        """Readings of one kind, wherever they stand in the log, the first of them first."""
        first = readings[0]
        sensors = [reading.sensor for reading in readings]
        observed = [reading.observed_ms for reading in readings]
        made = cls(first.kind, sensors, observed, first.position, {})
        made._readings = readings
        return made

    @classmethod
    def joined(cls, blocks: Sequence[Block]) -> Block:
        """One after the other, those of one kind."""
        if len(blocks) == 1:
            return blocks[0]
        return cls.of([reading for block in blocks for reading in block.readings()])

    def __len__(self) -> int:
        return len(self.sensors)

    def column(self, field: str) -> Column:
        """The values of a field."""
        found = self._columns.get(field)
        if found is None:
            if self._readings is None:
                found = [None] * len(self)
            else:
                found = [reading.values.get(field) for reading in self._readings]
            self._columns[field] = found
        return found

    def readings(self) -> Sequence[Reading]:
        """Each by itself."""
        if self._readings is None:
            self._readings = [self._reading(place) for place in range(len(self))]
        return self._readings

    def reading(self, place: int) -> Reading:
        """One of them, by its place in the columns."""
        return self._reading(place) if self._readings is None else self._readings[place]

    def _reading(self, place: int) -> Reading:
        ms, position = self.observed_ms[place], self.position + place
        values = {field: column[place] for field, column in self._columns.items()}
        return Reading(self.kind, self.sensors[place], ms, ms, values, position)

    def place(self, sensor: str, observed_ms: int) -> int | None:
        """Where the last reading of a sensor at a time stands in the columns."""
        if self._places is None:
            keys = zip(self.sensors, self.observed_ms, strict=True)
            self._places = dict(zip(keys, range(len(self)), strict=True))
        return self._places.get((sensor, observed_ms))


def apart(entries: Iterable[Block | Reading]) -> Iterator[Reading]:
    """Each reading by itself."""
    for entry in entries:
        if isinstance(entry, Block):
            yield from entry.readings()
        else:
            yield entry
