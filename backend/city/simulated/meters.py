"""Sensors of any kind in the simulated city: what its file says decides what they tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import numpy.typing as npt

from citywise.backend.city.simulated import town
from citywise.backend.city.simulated.day import SLOTS
from citywise.backend.city.steps import Batch, Reading
from citywise.backend.ingest.payloads import LineString, Place, Point
from citywise.backend.kinds import Field, Kind, Kinds, Value

SPOTS: Sequence[tuple[str, tuple[float, float]]] = (
    ("Torvet", (0.0, 0.0)),
    ("Havnen", (700.0, 250.0)),
    ("Parken", (-600.0, 400.0)),
)
"""Where each kind has a sensor: name and metres from the centre, east and north."""
_APART_M = 60.0
_USUAL_SPAN = 100.0
_HIGHER_THAN_LAST_STEP = 1.2


@dataclass(frozen=True)
class Meters:
    """Three sensors of each of some kinds; the same seed and day give the same readings."""

    seed: int
    kinds: Kinds

    def places(self) -> Iterator[Place]:
        """Where they stand: a little apart from those of other kinds."""
        for number, (name, kind) in enumerate(self.kinds.items()):
            place = kind.places[0] if kind.places else name
            form = self.kinds.places.get(place)
            for spot, (called, (east, north)) in enumerate(SPOTS):
                at = east + _APART_M * (number + 1), north
                end = town.wgs84((at[0] + _APART_M, at[1] + _APART_M))
                is_line = form is not None and form.geometry == "line"
                yield Place(
                    id=_sensor(name, spot),
                    kind=place,
                    name=f"{called}: {kind.called('en')}",
                    geometry=LineString(coordinates=[town.wgs84(at), end])
                    if is_line
                    else Point(coordinates=town.wgs84(at)),
                    sensors=(name,),
                )

    def day(self, today: date) -> list[Kinded]:
        """What all of them tell on a day, slot by slot."""
        return [
            Kinded(name, [_fields(self.seed, today, kind, spot) for spot in range(len(SPOTS))])
            for name, kind in self.kinds.items()
        ]


@dataclass(frozen=True)
class Kinded:
    """The values of a kind's sensors over a day: by sensor and field, an entry for each slot."""

    kind: str
    values: list[dict[str, list[Value]]]

    def batch(self, slot: int, time: str) -> Batch:
        """The readings of a slot."""
        readings: list[Reading] = [
            {
                "sensor": _sensor(self.kind, spot),
                "observed_at": time,
                **{name: told[slot] for name, told in fields.items()},
            }
            for spot, fields in enumerate(self.values)
        ]
        return Batch(self.kind, readings)


def _sensor(kind: str, spot: int) -> str:
    return f"{kind}-{spot + 1}"


def _fields(seed: int, today: date, kind: Kind, spot: int) -> dict[str, list[Value]]:
    key = [seed, today.toordinal(), spot, *kind.kind.encode()]
    random = np.random.Generator(np.random.PCG64(key))
    return {name: _daily_values(random, kind, name, field) for name, field in kind.fields.items()}


def _daily_values(random: np.random.Generator, kind: Kind, name: str, field: Field) -> list[Value]:
    """A value for each slot: a wave over the day with noise, within what is usual."""
    hours = np.arange(SLOTS) / SLOTS * 24
    wave = (1 - np.cos(2 * np.pi * (hours - 4) / 24)) / 2  # low at night, high in the afternoon
    level: npt.NDArray[np.float64] = np.clip(
        0.25 + 0.5 * wave + random.normal(0, 0.08, SLOTS) + random.normal(0, 0.05), 0, 1
    )
    match field.type:
        case "boolean":
            return [bool(one > 0.5) for one in level]
        case "category":
            last = len(field.values) - 1
            return [field.values[min(int(one * (last + 1)), last)] for one in level]
        case "text":
            return [None if not field.required else "simulated"] * SLOTS
    low, high = _usual(kind, name, field)
    numbers = (field.rounded(float(low + one * (high - low))) for one in level)
    return [round(number) if field.type == "integer" else round(number, 6) for number in numbers]


def _usual(kind: Kind, name: str, field: Field) -> tuple[float, float]:
    """From the first of the map's steps to a little above the last, else the range's begin."""
    low, high = field.bounds
    if kind.map is not None and kind.map.show == name and len(kind.map.steps) > 1:
        first, last = kind.map.steps[0][0], kind.map.steps[-1][0]
        return max(low, first), min(high, first + (last - first) * _HIGHER_THAN_LAST_STEP)
    start = 0.0 if low <= 0 <= high else float(low)
    return start, min(float(high), start + _USUAL_SPAN)
