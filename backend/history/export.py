"""History as a table: rows of one question, written as CSV or Parquet."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from citywise.backend.history.asking import Point
from citywise.backend.history.spans import RAW
from citywise.backend.times import from_ms, iso

Row = Mapping[str, Any]
_AT_ONCE = 20_000
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def rows(points: Iterable[Point], kind: str, span_s: int) -> Iterator[Row]:
    """Points as rows of a table; `t` in Unix milliseconds. A text stands apart from numbers."""
    for point in points:
        head = {"kind": kind, "place_id": point.sensor, "field": point.field, "t": point.at_ms}
        if span_s == RAW:
            is_text = isinstance(point.value, str)
            value = None if is_text else point.value
            yield {**head, "value": value, "text": point.value if is_text else None}
        else:
            numbers = {"count": point.number, "min": point.low, "mean": point.mean}
            yield {**head, **numbers, "max": point.high}


def write_csv(path: Path, columns: Iterable[str], table: Iterable[Row]) -> None:
    """A table as CSV (RFC 4180, UTF-8): times in ISO 8601, nothing where nothing is known.

    A text that a spreadsheet would take for a formula gets a quote before it.
    """
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(columns))
        writer.writeheader()
        writer.writerows({name: _cell(name, row[name]) for name in columns} for row in table)


def write_parquet(path: Path, columns: Mapping[str, str], table: Iterable[Row]) -> None:
    """A table as Parquet; `columns`: `text`, `time`, `number` or `count` by name."""
    import pyarrow  # large, and few ask
    from pyarrow import parquet

    types = {
        "text": pyarrow.string(),
        "time": pyarrow.timestamp("ms", tz="UTC"),
        "number": pyarrow.float64(),
        "count": pyarrow.int64(),
    }
    schema = pyarrow.schema([(name, types[form]) for name, form in columns.items()])
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        iterator = iter(table)
        while some := list(islice(iterator, _AT_ONCE)):
            data = {
                name: [_typed(form, row[name]) for row in some] for name, form in columns.items()
            }
            writer.write_table(pyarrow.table(data, schema=schema))


def columns_of(span_s: int) -> dict[str, str]:
    """The columns of readings as measured, or rolled up, with their types."""
    head = {"kind": "text", "place_id": "text", "field": "text", "t": "time"}
    if span_s == RAW:
        return {**head, "value": "number", "text": "text"}
    return {**head, "count": "count", "min": "number", "mean": "number", "max": "number"}


def at_most(table: Iterable[Row], most: int) -> Iterator[Row]:
    """The rows of a table; raises `OverflowError` where there are more."""
    iterator = iter(table)
    yield from islice(iterator, most)
    if next(iterator, None) is not None:
        raise OverflowError(f"more than {most} rows")


def _cell(name: str, value: Any) -> Any:
    if value is None:
        return ""
    if name in ("t", "start", "confirmed", "end") and isinstance(value, int):
        return iso(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _typed(form: str, value: Any) -> Any:
    return from_ms(value) if form == "time" and value is not None else value
