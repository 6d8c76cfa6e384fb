"""What people are told of who wait for durations, and what they should be told.

Two templates of slow roads: one tells of a road that has been slow for so long, one of a road that
is slow, but at most once in a pause. When they change their minds mostly no reading comes. `due`
says by the definitions, from the readings alone, what is to be told, and when.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citywise.backend.city.steps import Source

LIMIT_KMH, LASTS_S, PAUSE_S = 30, 13 * 60, 49 * 60
"""Over between the steps, which are every five minutes and two minutes later."""
APP = "slow_roads"
TEMPLATES = "lasting", "seldom"
Told = tuple[int, str, int, str, str]
"""When (Unix ms), by which template, in which version, what, of which road."""

_MANIFEST = """\
name = "slow_roads"
version = "1.0.0"
title = "Slow roads"
streams = ["traffic", "places"]
"""
_TEMPLATE = """
[templates.{name}]
version = {version}
title = "Slow roads"

[templates.{name}.parameters.area]
type = "area"
title = "Where"

[templates.{name}.parameters.limit]
type = "number"
min = 1
max = 100
title = "Slower than"

[templates.{name}.parameters.duration]
type = "duration"
max = "2h"
title = "How long"

[templates.{name}.forms.told]
form = "{form}"
of = "slow/2"
duration = "duration"

[notices.{name}]
title = "A slow road"
text = "{{about}}"
"""
_FORMS = dict(zip(TEMPLATES, ("for", "at_most_once"), strict=True))
_RULES = """\
#prefix city : <https://w3id.org/citywise/city#>.
#scale city_averageSpeed 10.
slow(Me,P) :- inside(Me,P,"area"), limit(Me,L), city_averageSpeed(P,V), V < 10*L.
notice(Me,"{name}",P,{version}) :- told(Me,P).
"""
_AREA = {"center": {"lat": 56.15, "lon": 10.21}, "radius_m": 20_000}


def write(folder: Path, version: int) -> Path:
    """The app's folder, with its templates in a version."""
    app = folder / APP
    (app / "templates").mkdir(parents=True, exist_ok=True)
    text = _MANIFEST
    for name, form in _FORMS.items():
        text += _TEMPLATE.format(name=name, version=version, form=form)
        rules = _RULES.format(name=name, version=version)
        (app / "templates" / f"{name}.casp").write_text(rules, encoding="utf-8")
    (app / "app.toml").write_text(text, encoding="utf-8")
    return app


def values(template: str) -> dict[str, Any]:
    """What an instance of a template asks for."""
    seconds = LASTS_S if template == "lasting" else PAUSE_S
    return {"area": _AREA, "limit": LIMIT_KMH, "duration": f"{seconds // 60}m"}


@dataclass(frozen=True)
class Life:
    """Of somebody's instances in a version: from which clock to which (Unix ms)."""

    version: int
    begin_ms: int
    end_ms: int | None


def due(source: Source, stops_ms: Sequence[int], lives: Sequence[Life]) -> list[Told]:
    """What is to be told. Time stands at each step of the source, and at `stops_ms`; what is
    measured counts from the step on at which it was."""
    steps = list(source.steps())
    clocks = sorted({*(step.ms for step in steps), *stops_ms})
    speeds: dict[str, list[tuple[int, float]]] = {}
    for step in steps:
        for batch in step.batches:
            for one in batch.readings if batch.kind == "traffic" else ():
                speed = one["speed_kmh"]
                assert isinstance(speed, int | float)
                speeds.setdefault(str(one["sensor"]), []).append((step.ms, speed))
    found: list[Told] = []
    for road, measured in speeds.items():
        for life in lives:
            spans = list(_slow(measured, clocks, life))
            for ms, what in _lasting(spans, clocks[-1]):
                found.append((ms, "lasting", life.version, what, road))
            for ms, what in _seldom(spans, clocks[-1]):
                found.append((ms, "seldom", life.version, what, road))
    return sorted(found)


def _slow(
    measured: Sequence[tuple[int, float]], clocks: Sequence[int], life: Life
) -> Iterator[tuple[int, int | None]]:
    """From which clock to which a road is slow while somebody wants to know (None: still)."""
    begin: int | None = None
    for ms in clocks[bisect_left(clocks, life.begin_ms) :]:
        if life.end_ms is not None and ms >= life.end_ms:
            break
        said = [speed for at, speed in measured if at <= ms]
        is_slow = bool(said) and said[-1] < LIMIT_KMH
        if is_slow and begin is None:
            begin = ms
        elif not is_slow and begin is not None:
            yield begin, ms
            begin = None
    if begin is not None:
        yield begin, life.end_ms


def _lasting(spans: Sequence[tuple[int, int | None]], last_ms: int) -> Iterator[tuple[int, str]]:
    """It is told of once it has been so for so long, until it is not."""
    for begin, end in spans:
        opened = begin + LASTS_S * 1000
        yield from _told(opened, end, last_ms)


def _seldom(spans: Sequence[tuple[int, int | None]], last_ms: int) -> Iterator[tuple[int, str]]:
    """It is told of as soon as it is so, and the last second in which it was told of is so long
    ago, until it is not."""
    told: int | None = None
    for begin, end in spans:
        opened = begin if told is None else max(begin, told + PAUSE_S * 1000)
        yield from _told(opened, end, last_ms)
        if end is not None and opened < end:
            told = end - 1000


def _told(opened: int, end: int | None, last_ms: int) -> Iterator[tuple[int, str]]:
    if opened <= last_ms and (end is None or opened < end):
        yield opened, "opened"
        if end is not None:
            yield end, "closed"
