"""What lines of a stream come to, as docs/revision.md defines it: read once, from the
beginning, with nothing in mind but the definition."""

from __future__ import annotations

from typing import Any

JsonLine = dict[str, Any]


def corrected(lines: list[JsonLine], horizon: int, start: int) -> tuple[list[JsonLine], int | None]:
    """The lines as one stream without ids, in order of time and then of arrival, without those
    that are beyond the horizon or withdraw what is not known; and the newest time they show."""
    places: list[JsonLine | None] = []
    place_of: dict[tuple[str, str], int] = {}
    newest: int | None = None

    def beyond(line: JsonLine | None) -> bool:
        return line is not None and newest is not None and line["t"] < newest - horizon

    for line in lines:
        stream = line.get("stream", "")
        name = line.get("withdraw", line.get("id"))
        place = place_of.get((stream, name)) if name is not None else None
        before = None if place is None else places[place]
        if "withdraw" in line:
            if place is not None and not beyond(before):
                places[place] = None
            continue
        if beyond(before) or beyond(line):
            continue
        newest = line["t"] if newest is None else max(newest, line["t"])
        counts = line if line["t"] >= start else None
        if place is None:
            places.append(counts)
            if name is not None:
                place_of[stream, name] = len(places) - 1
        else:
            places[place] = counts
    found = [{k: v for k, v in line.items() if k != "id"} for line in places if line is not None]
    return sorted(found, key=lambda line: line["t"]), newest


def last_of_each(results: list[JsonLine]) -> dict[Any, JsonLine]:
    """The last result of each time."""
    return {found["t"]: found for found in results}
