"""The tables of a GTFS archive, row by row with their lines, within bounds of size."""

from __future__ import annotations

import csv
import io
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from citywise.backend.app import CitywiseError

MOST_BYTES = 200_000_000
"""Of one unpacked table."""
NEEDED = {
    "agency.txt": ("agency_timezone",),
    "stops.txt": ("stop_id",),
    "routes.txt": ("route_id",),
    "trips.txt": ("route_id", "service_id", "trip_id"),
    "stop_times.txt": ("trip_id", "stop_id", "stop_sequence", "arrival_time", "departure_time"),
}
"""Tables without which there is no timetable, and the columns they must have."""
COLUMNS = {
    **NEEDED,
    "calendar.txt": (
        "service_id", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
        "sunday", "start_date", "end_date",
    ),
    "calendar_dates.txt": ("service_id", "date", "exception_type"),
    "frequencies.txt": ("trip_id", "start_time", "end_time", "headway_secs"),
    "transfers.txt": ("transfer_type",),
}  # fmt: skip
Row = dict[str, str]


class FeedError(CitywiseError):
    """A timetable cannot be used; names the archive, the file and line, and what is wrong."""


class Tables:
    """An archive whose tables can be read; raises `FeedError` if it is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile) as error:
            raise FeedError(
                f"{path}: is no zip archive that can be read ({error}); expected a GTFS feed"
            ) from None
        self._infos = {info.filename: info for info in self._zip.infolist()}
        for name in NEEDED:
            if name not in self._infos:
                raise FeedError(f"{path}: has no {name}; expected it at the top of the archive")
        if not {"calendar.txt", "calendar_dates.txt"} & set(self._infos):
            raise FeedError(f"{path}: has neither calendar.txt nor calendar_dates.txt")

    def others(self) -> list[str]:
        """The names of tables that nobody reads."""
        return sorted(set(self._infos) - set(COLUMNS))

    def rows(self, name: str) -> Iterator[tuple[int, Row]]:
        """Line number and trimmed fields of each row; none where there is no such table."""
        info = self._infos.get(name)
        if info is None:
            return
        if info.file_size > MOST_BYTES:
            raise FeedError(
                f"{self.path}: {name}: has {info.file_size} bytes unpacked; "
                f"expected at most {MOST_BYTES}"
            )
        try:
            with self._zip.open(info) as raw:
                text = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
                reader = csv.reader(text, strict=True)
                header = [column.strip() for column in next(reader, [])]
                self._refuse_header(name, header)
                for fields in reader:
                    if any(field.strip() for field in fields):
                        padded = [*fields, *[""] * (len(header) - len(fields))]
                        pairs = zip(header, padded, strict=False)
                        yield reader.line_num, {key: value.strip() for key, value in pairs}
        except UnicodeDecodeError as error:
            raise FeedError(
                f"{self.path}: {name}: is not UTF-8 ({error.reason}); save it in that encoding"
            ) from None
        except csv.Error as error:
            raise FeedError(f"{self.path}: {name}:{reader.line_num}: {error}") from None
        except (zipfile.BadZipFile, zlib.error, OSError, RuntimeError) as error:
            raise FeedError(f"{self.path}: {name}: cannot be unpacked ({error})") from None

    def _refuse_header(self, name: str, header: list[str]) -> None:
        missing = [column for column in COLUMNS.get(name, ()) if column not in header]
        if missing:
            raise FeedError(f"{self.path}: {name}:1: has no column {', '.join(missing)}")
