"""What came while the system was away: told late and marked, or skipped (docs/apps.md)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import pytest

from citywise.backend.ingest.records import ClockReading, LogEntry
from citywise.backend.packs.run import TemplateRun
from citywise.backend.packs.telling import LATE_MS
from citywise.backend.packs.template import TemplateVersion
from tests.packs.test_restarts import RULES, Step, life, written
from tests.packs.test_run import START, template

Change = dict[str, Any]


def of(missed: Literal["late", "skip"]) -> TemplateVersion:
    return template(RULES, missed=missed)


def lived(
    run: TemplateRun, entries: Sequence[LogEntry], pieces: Iterator[int], *, again: bool
) -> Iterator[Change]:
    """What is told of pieces of a log, of which each is read when its last clock is the present; a
    process goes on from the state of the one before, if `again`."""
    at = 0
    while at < len(entries):
        end = min(at + next(pieces), len(entries))
        taken, at = entries[at:end], end
        clocks = [e.complete_ms for e in taken if isinstance(e, ClockReading)]
        run.telling.present_ms = max(clocks, default=None)
        for entry in taken:
            for step in run.take(entry):
                yield from step.changes
        if again:
            place = end << 16
            state, since = json.loads(json.dumps(run.state(place))), run.resume_from(place)
            past = [e for e in entries[:end] if e.position >= since]
            run = TemplateRun(run.template, state=state, past=past)


def shown(found: Sequence[Change], late: bool = False) -> list[tuple[Any, ...]]:
    return [
        (
            (c["t_ms"] - START) // 1000,
            c["change"],
            c["about"],
            *([c.get("late_ms")] if late else ()),
        )
        for c in found
    ]


def entries_of(*clocks: tuple[int, dict[str, bool]]) -> list[LogEntry]:
    return written([Step(at_s, full, 1) for at_s, full in clocks])


def told(missed: Literal["late", "skip"], entries: Sequence[LogEntry], piece: int = 1) -> list[Any]:
    pieces = iter(lambda: piece, None)
    return shown(list(lived(TemplateRun(of(missed)), entries, pieces, again=False)), late=True)


FULL, FREE = {"g": True}, {"g": False}


def test_what_still_holds_is_told_late_with_its_time_or_as_of_now() -> None:
    """Full from 60 s on, so due at 150 s; the next clock comes an hour later."""
    entries = entries_of((0, {}), (60, FULL), (3600, {}), (3700, FREE))
    assert told("late", entries) == [
        (150, "opened", "g", 3_450_000), (3700, "closed", "g", None),
    ]  # fmt: skip
    assert told("skip", entries) == [(3600, "opened", "g", None), (3700, "closed", "g", None)]


def test_what_is_over_is_told_late_or_not_at_all() -> None:
    entries = entries_of((0, {}), (60, FULL), (3600, FREE), (3700, {}))
    assert told("late", entries) == [(150, "opened", "g", 3_450_000), (3600, "closed", "g", None)]
    assert told("skip", entries) == []


def test_a_system_that_is_behind_tells_late_what_it_comes_to_too_late() -> None:
    """The log went on while nothing was evaluated: all of it is read at once."""
    entries = entries_of((0, {}), *[(60 * n, FULL if n == 1 else {}) for n in range(1, 60)])
    assert told("late", entries, 100) == [(150, "opened", "g", (59 * 60 - 150) * 1000)]
    behind = (59 * 60 * 1000 - LATE_MS) // 1000
    assert told("skip", entries, 100) == [(behind, "opened", "g", None)]
    assert told("skip", entries, 2) == [(150, "opened", "g", None)]


def test_a_clock_that_goes_back_is_not_followed() -> None:
    entries = entries_of((0, {}), (60, FULL), (3600, {}), (120, {}), (150, {}), (3601, {}))
    assert told("late", entries) == [(150, "opened", "g", 3_450_000)]
    assert told("skip", entries) == [(3600, "opened", "g", None)]


@pytest.mark.parametrize("seed", range(4))
def test_at_each_present_both_have_told_what_holds_whatever_restarts(seed: int) -> None:
    """With jumps of the clock: late tells all that there was, and skip leaves out what is over."""
    chance = random.Random(seed)
    steps = [step for step in life(chance, 150) if step.version == 1]
    entries = written(steps)
    sizes = [chance.choice([1, 3, 10, 60]) for _ in entries]

    def way(missed: Literal["late", "skip"], *, again: bool) -> list[Change]:
        return list(lived(TemplateRun(of(missed)), entries, iter(sizes), again=again))

    run = TemplateRun(of("late"))
    plain = [change for entry in entries for step in run.take(entry) for change in step.changes]
    late, skipped = way("late", again=True), way("skip", again=True)
    assert shown(late) == shown(plain)
    assert shown(way("skip", again=False), late=True) == shown(skipped, late=True)
    assert not any("late_ms" in c for c in skipped)
    assert len(skipped) <= len(late)
    assert held(skipped) == held(late)


def held(found: Sequence[Change]) -> set[str]:
    """What is open in the end; nothing was opened or closed twice."""
    open_: set[str] = set()
    for change in found:
        assert (change["about"] in open_) == (change["change"] == "closed")
        (open_.discard if change["change"] == "closed" else open_.add)(change["about"])
    return open_
