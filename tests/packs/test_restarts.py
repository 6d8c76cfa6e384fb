"""A thousand restarts of the process that keeps the timers, on a simulated clock, against an oracle
that reads like the definitions: nothing is missed, told twice or told early."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from citywise.backend.ingest.records import ClockReading, LogEntry, Standing
from citywise.backend.packs.run import TemplateRun
from citywise.backend.packs.template import TemplateVersion
from citywise.reasoning import StateError
from tests.packs.test_run import GARAGE, START, instance, position, reading, template

LASTS_S, PAUSE_S = 90, 600
RULES = f"""
#held full/2. #feedback told/2. #last told/2 {PAUSE_S}s.
full(Me,P) :- radius(Me,R), near_me(Me,P,R), city_occupiedPlaces(P,N), N > 5.
lasts(Me,P) :- since_full(Me,P,T), now(N), N-T >= {LASTS_S}.
told(Me,P) :- lasts(Me,P), prev_told(Me,P).
told(Me,P) :- lasts(Me,P), not last_told(Me,P,_).
notice(Me,"jam",P,1) :- told(Me,P).
"""
GARAGES = ("g", "h", "i")
Told = tuple[int, str, int, str]
"""When (seconds from the start), what, by which version, of which garage."""


@dataclass
class Step:
    """What a clock brings: seconds from the start, garages that are full or not any more, and the
    version of the template from then on."""

    at_s: int
    full: dict[str, bool]
    version: int


def life(chance: random.Random, number: int) -> list[Step]:
    """Clocks a second to five minutes apart, and hours where everything was down."""
    at_s, version, found = 0, 1, [Step(0, {}, 1)]
    for _ in range(number):
        at_s += chance.choice([1, 1, 10, 60, chance.randint(1, 300), chance.randint(1, 300)])
        if chance.random() < 0.03:
            at_s += chance.randint(600, 7200)
        version += chance.random() < 0.02
        changed = chance.sample(GARAGES, chance.choice([0, 0, 1, 1, 2]))
        found.append(Step(at_s, {name: chance.random() < 0.6 for name in changed}, version))
    return found


def expected(steps: Sequence[Step]) -> Iterator[Told]:
    """A garage that has been full for so long is told of, from then until it is not; again when
    the last second in which it was told of is more than the pause ago. A new version begins
    anew."""
    end_s = steps[-1].at_s
    for name in GARAGES:
        full_since: int | None = None
        last: int | None = None
        version, is_full = 1, False
        spans: list[tuple[int, int, int, bool]] = []
        for step in steps:
            is_new = step.version != version
            is_full = step.full.get(name, is_full)
            if full_since is not None and (is_new or not is_full):
                spans.append((full_since, step.at_s, version, True))
                full_since = None
            version = step.version
            if is_full and full_since is None:
                full_since = step.at_s
        if full_since is not None:
            spans.append((full_since, end_s + 1, version, False))
        of = 1
        for begin, end, version, ends in spans:
            last, of = (None if version != of else last), version
            opened = begin + LASTS_S if last is None else max(begin + LASTS_S, last + PAUSE_S + 1)
            if opened < end:
                yield opened, "opened", version, name
                last = end - 1
                if ends:
                    yield end, "closed", version, name


def written(steps: Sequence[Step]) -> list[LogEntry]:
    """The log in which this happens."""
    assert isinstance(GARAGE, tuple)
    subject, _key, body = GARAGE
    found: list[LogEntry] = [Standing(subject, n, {**body, "id": n}, 0) for n in GARAGES]
    found += [Standing(*position("a", 10.198), 0), Standing(*instance("a", radius=500), 0)]
    version = 1
    for step in steps:
        now = START + 1000 * step.at_s
        if step.version != version:
            found.append(Standing(*instance("a", step.version, radius=500), 0))
            version = step.version
        for name, is_full in step.full.items():
            said = reading("parking", name, occupied=8 if is_full else 2, capacity=9)
            found.append(replace(said, observed_ms=now, received_ms=now))
        found.append(ClockReading(now, now, 0))
    return [replace(entry, position=n << 16) for n, entry in enumerate(found)]


@dataclass
class Committed:
    """What one transaction has made last: all that was told, and for each version where in the
    log it stands, with what state."""

    told: list[Told]
    at: int
    states: dict[int, tuple[str, int]]


class Process:
    """It evaluates, and commits what it tells with its state; whatever dies, that stays."""

    def __init__(self, entries: Sequence[LogEntry], *, is_former: bool = False) -> None:
        self.entries, self.now = entries, Committed([], 0, {})
        self._is_former = is_former
        """Whether states are found as a former version kept them: without when answers are due."""
        self._runs: dict[int, TemplateRun] = {}

    def work(self, number: int, *, dies: bool = False) -> None:
        """Take so many entries; if it `dies`, before it commits."""
        kept = self.now
        end = min(kept.at + number, len(self.entries))
        told, states = list(kept.told), {}
        taken = self.entries[kept.at : end]
        new = {int(e.body["version"]) for e in taken if isinstance(e, Standing)
               and e.subject == "instance" and e.body}  # fmt: skip
        for version in sorted({*kept.states, *new}):
            run = self._run(version)
            for entry in taken:
                for step in run.take(entry):
                    told += [self._told(version, step.t_ms, c) for c in step.changes]
            place = end << 16
            states[version] = json.dumps(run.state(place)), run.resume_from(place)
        if not dies:
            self.now = Committed(told, end, states)

    def begin_anew(self) -> None:
        """Another process goes on from what was committed."""
        for run in self._runs.values():
            run.close()
        self._runs.clear()

    def _run(self, version: int) -> TemplateRun:
        if version not in self._runs:
            state, since = self.now.states.get(version, ("{}", 0))
            past = [e for e in self.entries[: self.now.at] if e.position >= since]
            known = json.loads(state)
            if self._is_former and "memory" in known:
                keys = known["memory"]["keys"]
                known["memory"]["keys"] = {key: kept[:4] for key, kept in keys.items()}
            self._runs[version] = TemplateRun(of(version), state=known, past=past)
        return self._runs[version]

    @staticmethod
    def _told(version: int, t_ms: int, change: dict[str, Any]) -> Told:
        return (t_ms - START) // 1000, change["change"], version, change["about"]


def of(version: int) -> TemplateVersion:
    """The template at a version: it also says what the one before did."""
    return template(RULES, version=version)


def restarts(seed: int, number: int, *, is_former: bool = False) -> Counter[str]:
    """So many restarts of a life; what was told in the end is what the oracle says."""
    chance, done = random.Random(seed), Counter[str]()
    steps = life(chance, 3 * number)
    process, copies = Process(written(steps), is_former=is_former), list[Committed]()
    while process.now.at < len(process.entries):
        process.work(chance.randint(1, 6))
        if sum(done.values()) >= number:
            continue
        if chance.random() < 0.1:
            copies.append(process.now)
        how = chance.choice(["killed", "stopped", "killed", "stopped", "restored"])
        if how == "killed":
            process.work(chance.randint(1, 6), dies=True)
        elif how == "restored":
            if not copies or len(process.entries) - process.now.at > len(process.entries) * 0.9:
                continue
            process.now = copies.pop()
        process.begin_anew()
        done[how] += 1
    done["upgraded"] = steps[-1].version - 1
    got = sorted(process.now.told)
    assert got == sorted(expected(steps)), seed
    done["told"] = len(got)
    return done


def test_timed_notices_survive_restarts_as_if_there_had_been_none() -> None:
    assert restarts(1, 20)["told"] > 5


def test_states_of_a_former_version_are_gone_on_from() -> None:
    assert restarts(2, 20, is_former=True)["told"] > 5


@pytest.mark.parametrize(
    "state", [{"memory": {"keys": {"k": [1]}}}, {"memory": {"keys": 3}}, {"memory": 7}]
)
def test_what_instances_remember_is_not_guessed_at(state: dict[str, Any]) -> None:
    with pytest.raises(StateError, match="what instances remember cannot be read"):
        TemplateRun(of(1), state={"clock": [START, 0], **state})


def test_a_memory_made_anew_would_withhold_what_nobody_was_told() -> None:
    """Late readings say at 400 s that it was full from 0 to 300 s; it is full again from 500 s."""
    known = [Step(0, {}, 1), Step(400, {}, 1), Step(500, {"g": True}, 1), Step(1200, {}, 1)]
    truth = [Step(0, {"g": True}, 1), Step(300, {"g": False}, 1), *known[2:]]
    entries = written(known)
    clock = next(n for n, e in enumerate(entries) if isinstance(e, ClockReading)) + 1
    late = [
        replace(reading("parking", "g", occupied=n, capacity=9), observed_ms=START + 1000 * at_s)
        for at_s, n in ((0, 8), (300, 2))
    ]
    entries = [replace(entry, position=n << 16)
               for n, entry in enumerate([*entries[:clock], *late, *entries[clock:]])]  # fmt: skip
    process = Process(entries)
    process.work(len(entries))
    assert process.now.told == list(expected(known)) == [(590, "opened", 1, "g")]
    revised = [told[:2] for told in expected(truth)]
    assert revised == [(90, "opened"), (300, "closed"), (900, "opened")], "the first unheard"


@pytest.mark.long
def test_1_000_restarts_miss_double_and_hasten_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    done = sum((restarts(seed, 100) for seed in range(10, 20)), Counter[str]())
    with capsys.disabled():
        print(dict(done))
    assert done["killed"] + done["stopped"] + done["restored"] + done["upgraded"] >= 1_000
