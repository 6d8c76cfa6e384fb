"""The worker, which reads the log in pieces and restarts, and `app test` and `replay`, which play
it through, tell the same: instants between clocks and items have one order."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from citywise.backend.ingest.records import LogEntry
from citywise.backend.packs.run import TemplateRun
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.pipeline.recorded import _settled, concluded
from tests.packs.test_run import (
    GARAGE,
    START,
    Happening,
    instance,
    log,
    position,
    reading,
    steps_of,
    template,
    withdrawal,
)

SHARES = 10
FULL = "full(Me,P) :- radius(Me,R), near_me(Me,P,R), city_occupiedPlaces(P,N), N > {n}."
WINDOW = """#prefix sosa : <http://www.w3.org/ns/sosa/>.
#from stream <https://w3id.org/citywise/stream/parking> [time {w}m step 1m].
#scale city_occupiedPlaces 1.
full(Me,P) :- radius(Me,_), sosa_hasFeatureOfInterest(O,P), city_occupiedPlaces(O,N), N > {n}."""
CONCLUSIONS = (
    'notice(Me,"jam",P,{c}) :- since_full(Me,P,T), now(N), N-T >= {d}.',
    'notice(Me,"jam",over,{c}) :- last_full(Me,P,T), not full(Me,P), now(N), N-T < {d}.',
    'notice(Me,"jam",first,{c}) :- told(Me,P).',
    'notice(Me,"jam",now,{c}) :- full(Me,P).',
)
TOLD = """#feedback told/2. #last told/2 {a}s.
told(Me,P) :- full(Me,P), not last_told(Me,P,_).
told(Me,P) :- full(Me,P), prev_told(Me,P)."""


def rules(chance: random.Random) -> TemplateVersion:
    """A template that remembers how long, how long ago, and at most once."""
    said = {"n": chance.choice([2, 5]), "w": chance.choice([2, 5]), "a": chance.choice([70, 400])}
    lines = [f"#held full/2. #last full/2 {chance.choice([90, 600])}s.", TOLD.format(**said)]
    lines.append(chance.choice([FULL, FULL, WINDOW]).format(**said))
    for form in chance.sample(CONCLUSIONS, chance.randint(1, 4)):
        lines.append(form.format(c=chance.randint(1, 5), d=chance.choice([1, 45, 90, 200, 400])))
    return template("\n".join(sorted(lines, key=lambda line: not line.startswith("#prefix"))))


def day(chance: random.Random) -> list[LogEntry]:
    """Entries of a log: what stands, readings in time, late, corrected and withdrawn, clocks."""
    found: list[Happening] = [GARAGE, instance("a", radius=500), position("a", 10.198), 1]
    for _ in range(chance.randint(5, 25)):
        full = chance.choice([1, 4, 8])
        ago = chance.choice([0, 0, 0, 0, 30_000, 60_000, 120_000])
        happenings: list[Happening] = [
            1, chance.randint(1, 6), reading("parking", "g", ago, occupied=full, capacity=9),
            reading("parking", "g", occupied=full, capacity=9), withdrawal("parking", "g", ago),
            position("a", chance.choice([10.19, 10.198])), instance("b", radius=500),
            position("b", 10.198), ("instance", "b.jam", None),
        ]  # fmt: skip
        found.append(chance.choice(happenings))
    return apart(_settled(log([*found, 3])))


def apart(entries: Iterator[LogEntry]) -> list[LogEntry]:
    """Entries of which no two stand at one place."""
    found: list[LogEntry] = []
    for entry in entries:
        same = found and entry.position <= found[-1].position
        found.append(replace(entry, position=found[-1].position + 1) if same else entry)
    return found


def worked(
    of: TemplateVersion, entries: Sequence[LogEntry], chance: random.Random
) -> Iterator[dict[str, Any]]:
    """What a worker tells that takes pieces, and of which another takes the place at times: built
    anew from the state and the log, or one that was overtaken."""
    run, other, behind, start = TemplateRun(of), TemplateRun(of), 0, 0
    while start < len(entries):
        end = start + chance.randint(1, 8)
        for entry in entries[start:end]:
            for step in run.take(entry):
                yield from step.changes
        start = min(end, len(entries))
        at = entries[start - 1].position + 1
        state = json.loads(json.dumps(run.state(at)))
        if chance.random() < 0.3:
            needed = run.resume_from(at)
            past = [e for e in entries[:start] if e.position >= needed]
            run = TemplateRun(of, state=state, past=past)
        elif chance.random() < 0.2:
            other.skip(entries[behind:start])
            other.adopt(state)
            run, other, behind = other, run, start


@pytest.mark.parametrize(
    "share", [0, *(pytest.param(n, marks=pytest.mark.long) for n in range(1, SHARES))]
)
def test_a_worker_tells_what_a_replay_of_the_log_tells(share: int) -> None:
    """Of 200 random templates and days."""
    told = 0
    for number in range(share, 200, SHARES):
        chance = random.Random(number)
        of, entries = rules(chance), day(chance)
        wanted = list(concluded(entries, [of]))
        got = list(worked(of, entries, chance))
        told += len(got)
        named = [{k: v for k, v in one.items() if k in got[0]} for one in wanted] if got else wanted
        assert _plain(got) == _plain(named), (number, of.rules)
    assert told > 20


def _plain(changes: Sequence[dict[str, Any]]) -> list[str]:
    """Changes without what only they know who keep notices."""
    kept = ("t_ms", "change", "instance", "notice", "about", "criticality", "closed_because")
    return [json.dumps([one[name] for name in kept]) for one in changes]


def test_what_comes_with_a_clock_has_not_come_before_it() -> None:
    of = template(FULL.format(n=5) + ' #held full/2. notice(Me,"jam",P,1) :- since_full(Me,P,T), '
                  "now(N), N-T >= 90.")  # fmt: skip
    full, free = (reading("parking", "g", occupied=n, capacity=9) for n in (8, 2))
    entries = log([GARAGE, instance("a", radius=500), position("a", 10.198), full, 1, free, 5])
    with closing(TemplateRun(of)) as run:
        found = [(t - START, c["change"]) for t, c in steps_of(run, entries)]
    assert found == [(150_000, "opened"), (360_000, "closed")], "it was full up to that clock"
