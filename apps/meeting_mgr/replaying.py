"""Recorded offices as rooms: the readings of UCI's two data sets, sent as a room's sensors would.

*Occupancy Detection* has light (lux), once a minute; *Room Occupancy Estimation* four sensors of
light and sound, about twice a minute. Their times have no zone and are taken to be UTC.
"""

from __future__ import annotations

import csv
import gzip
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import orjson
from pydantic import ValidationError

from citywise.apps.meeting_mgr.readings import RoomValues
from citywise.backend.app import CitywiseError, times

QUIET_V, QUIET_DB = 0.05, 45.0
_PLACES = range(1, 5)
_TIME = "%Y-%m-%d %H:%M:%S"
Cells = Mapping[str, str]


class BadRecordingError(CitywiseError):
    """A file is no recording of a room; names the file and the line."""


class Row(NamedTuple):
    """What a room's sensors measured at a time."""

    at_ms: int
    values: RoomValues


def decibels(volts: float) -> float:
    """A sound sensor's volts as a level: the quietest that they tell apart, `QUIET_V`, is taken
    for a quiet office of `QUIET_DB`, and ten times the volts are 20 dB more.

    The data set has volts and no calibration: levels of one room compare with each other, not
    with those of another instrument.
    """
    return QUIET_DB + 20 * math.log10(max(volts, QUIET_V) / QUIET_V)


def rows(path: Path) -> Iterator[Row]:
    """The rows of a recording (CSV, may be gzipped), in their order; raises
    `BadRecordingError`."""
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8", newline="") as file:
            lines = csv.DictReader(file)
            for cells in lines:
                yield _row(cells, f"{path}, line {lines.line_num}")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadRecordingError(f"{path}: cannot be read: {error}") from error


def send(
    recording: Iterable[Row],
    speed: float,
    publish: Callable[[bytes], object],
    stop: threading.Event,
) -> int:
    """Publish rows as fast as they were recorded, `speed` times; returns how many were sent.

    Each says to be of the present, as a sensor's would.
    """
    sent, pause = 0, 0.0
    for row, following in pairwise([*recording, None]):
        assert row is not None
        if stop.wait(pause):
            break
        publish(_payload(row))
        sent += 1
        pause = 0 if following is None else max(0, following.at_ms - row.at_ms) / 1000 / speed
    return sent


def _payload(row: Row) -> bytes:
    values = row.values.model_dump(exclude_none=True)
    return orjson.dumps({"at": datetime.now(UTC), "values": values})


def _row(cells: Cells, where: str) -> Row:
    read = _office if "date" in cells else _estimated
    try:
        return read(cells)
    except KeyError as error:
        raise BadRecordingError(
            f"{where}: there is no column {error}: expected `date` and `Light`, or `Date`, "
            "`Time` and `S1_Light` … `S4_Sound`"
        ) from error
    except ValidationError as error:
        fault = error.errors()[0]
        raise BadRecordingError(f"{where}: {fault['loc'][0]}: {fault['msg']}") from error
    except (ValueError, TypeError) as error:
        raise BadRecordingError(f"{where}: {error}") from error


def _office(cells: Cells) -> Row:
    return Row(_ms(cells["date"]), RoomValues(light_lux=float(cells["Light"])))


def _estimated(cells: Cells) -> Row:
    """Light is the mean of the places that measured, sound the loudest."""
    light, sound = _measured(cells, "Light"), _measured(cells, "Sound")
    values = RoomValues(
        light_lux=fmean(light) if light else None,
        noise_db=decibels(max(sound)) if sound else None,
    )
    return Row(_ms(f"{cells['Date']} {cells['Time']}"), values)


def _measured(cells: Cells, what: str) -> list[float]:
    found = (cells[f"S{place}_{what}"] for place in _PLACES)
    return [float(text) for text in found if text]


def _ms(text: str) -> int:
    return times.to_ms(datetime.strptime(text, _TIME).replace(tzinfo=UTC))
