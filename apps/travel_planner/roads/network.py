"""The road network as arrays: directed edges with shapes, modes and free-flow speeds."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from citywise.backend.app import CitywiseError

F64 = npt.NDArray[np.float64]
F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
U8 = npt.NDArray[np.uint8]
Bools = npt.NDArray[np.bool_]

FORMAT = 1
"""Of the file; another one is refused."""
MEND = "make it again with `citywise city import` (docs/city.md)"


class NetworkError(CitywiseError):
    """A road network cannot be read or made; the message names the file and what to do."""


class Mode(StrEnum):
    """How somebody moves; `bit` is how an edge says that it may be used so."""

    CAR = "car"
    BICYCLE = "bicycle"
    WALK = "walk"

    @property
    def bit(self) -> int:
        """1, 2 or 4."""
        return {Mode.CAR: 1, Mode.BICYCLE: 2, Mode.WALK: 4}[self]


EVERYBODY = Mode.CAR.bit | Mode.BICYCLE.bit | Mode.WALK.bit


@dataclass(frozen=True, eq=False)
class RoadNetwork:
    """Directed edges between nodes, with shapes, modes and free-flow speeds.

    Arrays, so that what weighs edges is a vector. A street that may be used both ways is two
    edges. The polyline of edge `e` is `shape[shape_at[e]:shape_at[e + 1]]`, its ends
    included; the edges of sensor `i` are `sensed[sensed_at[i]:sensed_at[i + 1]]`.
    """

    lon: F64
    """Of the nodes, degrees (WGS84)."""
    lat: F64
    tail: I32
    """Of the edges: the node where each begins."""
    head: I32
    length_m: F64
    speed_kmh: F32
    """Free flow by car."""
    modes: U8
    """Bits of `Mode`."""
    highway: U8
    """Road class: index in `highways`."""
    name: I32
    """Street name: index in `names`, -1 where none is known."""
    shape_at: I64
    shape: F64
    """Points of all polylines: longitude and latitude."""
    sensed_at: I64
    sensed: I32
    outside: Bools
    """Edges of a coarse graph beyond the mapped centre, where local streets are missing."""
    highways: tuple[str, ...]
    """OpenStreetMap's words for road classes."""
    names: tuple[str, ...]
    sensors: tuple[str, ...]
    """Ids of road places whose speed tells of edges."""
    source: str
    """What it was made of."""
    licence: str
    """How to name that source."""
    digest: str = ""
    """Of the content: equal networks have equal ones."""

    def __post_init__(self) -> None:
        if not self.digest:
            object.__setattr__(self, "digest", self._digest())

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return len(self.lon)

    @property
    def edges(self) -> int:
        """How many directed edges there are."""
        return len(self.tail)

    def allows(self, mode: Mode) -> Bools:
        """Which edges a mode may use."""
        return np.asarray((self.modes & mode.bit) != 0)

    def line(self, edge: int) -> F64:
        """The polyline of an edge: rows of longitude and latitude, in its direction."""
        return self.shape[self.shape_at[edge] : self.shape_at[edge + 1]]

    def street(self, edge: int) -> str | None:
        """The street name of an edge, if one is known."""
        index = int(self.name[edge])
        return None if index < 0 else self.names[index]

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """West, south, east and north end of all streets, in degrees."""
        (west, south), (east, north) = self.shape.min(axis=0), self.shape.max(axis=0)
        return float(west), float(south), float(east), float(north)

    def save(self, path: Path) -> None:
        """Write it to a file, at once or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        with part.open("wb") as file:
            arrays: dict[str, Any] = self._arrays()
            np.savez_compressed(file, text=_bytes(self._text()), **arrays)
        part.replace(path)

    @classmethod
    def load(cls, path: Path) -> RoadNetwork:
        """Read a file that `save` wrote; raises `NetworkError`."""
        try:
            # Opened here, because numpy leaves a file open that turns out to be torn.
            with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                text = orjson.loads(file["text"].tobytes())
                values: dict[str, Any] = {name: file[name] for name in _ARRAYS}
        except FileNotFoundError as error:
            raise NetworkError(f"{path}: there is no road network here; {MEND}") from error
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise NetworkError(f"{path}: not a road network ({error}); {MEND}") from error
        if (found := text.pop("format", None)) != FORMAT:
            raise NetworkError(f"{path}: format {found}, expected {FORMAT}; {MEND}")
        values |= {k: tuple(v) if isinstance(v, list) else v for k, v in text.items()}
        return cls(**values)

    @staticmethod
    def licence_of(path: Path) -> str | None:
        """Whose data a file has that `save` wrote; None where there is none, or it is torn."""
        try:
            with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
                licence = orjson.loads(file["text"].tobytes())["licence"]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None
        return str(licence)

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {name: getattr(self, name) for name in _ARRAYS}

    def _text(self) -> dict[str, Any]:
        return {"format": FORMAT} | {name: getattr(self, name) for name in _TEXTS}

    def _digest(self) -> str:
        content = hashlib.sha256(_bytes(self._text()).tobytes())
        for name, values in self._arrays().items():
            content.update(name.encode() + np.ascontiguousarray(values).tobytes())
        return content.hexdigest()[:32]


_TEXTS = ("highways", "names", "sensors", "source", "licence", "digest")
_ARRAYS = tuple(each.name for each in fields(RoadNetwork) if each.name not in _TEXTS)


def _bytes(value: dict[str, Any]) -> U8:
    return np.frombuffer(orjson.dumps(value), dtype=np.uint8)
