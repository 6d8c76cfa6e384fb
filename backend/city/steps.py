"""Steps of a city stream: what a source sends at one instant of stream time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, overload

import orjson

from citywise.backend.errors import CitywiseError
from citywise.backend.ingest.payloads import Place
from citywise.backend.kinds import Kind, Observation, Reader
from citywise.backend.times import from_ms

Reading = Mapping[str, str | int | float | None]
"""One observation as the JSON object that travels (docs/mqtt.md)."""


Column = Sequence[str | int | float | None]


@dataclass(frozen=True)
class Table(Sequence[Reading]):
    """Readings of one instant, a column for each field; each is made when it is asked for."""

    sensors: Sequence[str]
    time: str
    columns: Mapping[str, Column]

    def __len__(self) -> int:
        return len(self.sensors)

    @overload
    def __getitem__(self, index: int) -> Reading: ...
    @overload
    def __getitem__(self, index: slice) -> list[Reading]: ...
    def __getitem__(self, index: int | slice) -> Reading | list[Reading]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        said = {name: column[index] for name, column in self.columns.items()}
        return {"sensor": self.sensors[index], "observed_at": self.time, **said}

    @classmethod
    def of(cls, readings: Sequence[Reading]) -> Table:
        """Readings that share an instant; what one of them lacks is None."""
        if isinstance(readings, Table):
            return readings
        names = dict.fromkeys(name for reading in readings for name in reading)
        columns = {name: [reading.get(name) for reading in readings] for name in names}
        sensors = [str(sensor) for sensor in columns.pop("sensor", ())]
        times = columns.pop("observed_at", ("",))
        return cls(sensors, str(times[0]), columns)


class SourceError(CitywiseError):
    """A source cannot give what was asked; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Readings of one kind that share an instant.

    They are kept as JSON objects, or in columns (`Table`), because building 100,000 models a
    second costs more than everything else a replay does; `observations` gives the models.
    """

    kind: str
    readings: Sequence[Reading]

    def observations(self, kind: Kind) -> list[Observation]:
        """The readings, typed; raises pydantic's `ValidationError` on an impossible one."""
        reader = Reader(kind)
        return [reader.of(reading) for reading in self.readings]

    def payloads(self, size: int) -> Iterator[bytes]:
        """JSON lists of at most `size` readings each."""
        for first in range(0, len(self.readings), size):
            yield orjson.dumps(self.readings[first : first + size])


@dataclass(frozen=True, slots=True)
class Step:
    """Everything a source sends at one instant: Unix milliseconds and batches by kind."""

    ms: int
    batches: tuple[Batch, ...]

    @property
    def time(self) -> datetime:
        return from_ms(self.ms)


class Source(Protocol):
    """A city stream in stream time, without I/O to a broker.

    `steps` begins `lead_in` before `start` (or where the data begin) and ends with
    `until`; a source without end has `until` None. With `since`, what is before that
    time has been sent already and is left out; there may be nothing left.
    """

    @property
    def name(self) -> Literal["replay", "simulation"]: ...

    @property
    def start(self) -> datetime: ...

    @property
    def until(self) -> datetime | None: ...

    def places(self) -> Iterable[Place]:
        """All places the readings refer to."""
        ...

    def steps(self, since: datetime | None = None) -> Iterator[Step]:
        """Steps in order of time, each instant once."""
        ...
