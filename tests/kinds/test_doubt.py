"""How far sensors can be trusted: facts of rules, compared with the definition written slowly."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest

from citywise.backend.ingest.records import (
    ClockReading,
    LogEntry,
    Reading,
    Standing,
    Withdrawal,
    item_position,
)
from citywise.backend.kinds import Kind, Kinds, files
from citywise.backend.kinds.doubt import Recent, doubts, scaled
from citywise.backend.kinds.health import Sample
from citywise.backend.packs import why
from citywise.backend.packs.run import TemplateRun
from citywise.backend.packs.template import NoticeText, TemplateVersion
from citywise.reasoning import Finding
from tests.kinds.doubted import MINUTE, Rules, Told, doubted
from tests.packs.folders import AppFolder

START = 1_780_000_000_000 // MINUTE * MINUTE
RULES = Rules(
    jump=30, apart=12, accuracy=2, period_s=300, stale_s=900,
    stuck_readings=5, stuck_s=1200, near_m=400, reliable_pct=75,
)  # fmt: skip
TEXT = f"""
kind = "noise"
period_s = {RULES.period_s}
stale_s = {RULES.stale_s}

[fields.level]
type = "decimal"
unit = "dB"
step = 0.1
jump = {RULES.jump}
apart = {RULES.apart}
accuracy = {RULES.accuracy}
accuracy_from = "error"

[fields.error]
type = "decimal"
unit = "dB"
step = 0.1

[health]
stuck_readings = {RULES.stuck_readings}
stuck_s = {RULES.stuck_s}
near_m = {RULES.near_m}
"""
PLACES = {f"n{i}": (56.15 + 0.001 * i, 10.2 + 0.002 * (i % 2)) for i in range(5)}
"""Each has neighbours up to about three away."""
ASKED = """#prefix city : <https://w3id.org/citywise/city#>.
#prefix place : <https://w3id.org/citywise/place/>.
notice(Me,"jam",P,1) :- user(Me,_), reliability(P,"noise",_).
detail(Me,"jam",P,"right",R) :- user(Me,_), reliability(P,"noise",R).
detail(Me,"jam",P,"reliable",1) :- user(Me,_), reliable(P,"noise").
detail(Me,"jam",P,"off",A) :- user(Me,_), accuracy(P,"noise","level",A).
"""


def noise(text: str = TEXT) -> Kind:
    findings: list[Finding] = []
    kind = files.parse(text, "noise.toml", findings)
    assert isinstance(kind, Kind), findings
    assert not findings
    return kind


def template(rules: str = ASKED) -> TemplateVersion:
    return TemplateVersion(
        app="test",
        name="jam",
        version=1,
        title="Jams",
        rules=rules,
        notices={"jam": NoticeText(title="Jam")},
        streams=("noise", "places"),
        observes=(noise(),),
    )


def lines(random: Random, steps: int) -> Iterator[Told | int]:
    """What five meters say, late, corrected, withdrawn, stuck and wild; and minutes that pass."""
    now, truth, frozen = START, 60.0, dict[str, float]()
    told: list[Told] = []
    for _ in range(steps):
        for sensor in PLACES:
            chance = random.random()
            if chance < 0.06:
                frozen[sensor] = truth
            elif chance < 0.1:
                frozen.pop(sensor, None)
            if chance > 0.9:
                continue
            wild = random.choice([-40, -15, 15, 40]) if random.random() < 0.1 else 0
            level = frozen.get(sensor, round(truth + random.choice([-1, 0, 1]) + wild, 1))
            late = random.choice([0, 0, 0, 1, 7, 40]) * MINUTE
            error = random.choice([None, None, 0.5, 3.25])
            told.append(Told(sensor, now - late, level, error))
            yield told[-1]
        if told and random.random() < 0.3:
            old = random.choice(told[-30:])
            yield old._replace(level=random.choice([None, 61.0, 99.0]))
        truth += random.choice([-2, -1, 0, 1, 2])
        minutes = random.choice([5] * 12 + [1, 20, 90, 800])
        now += minutes * MINUTE
        yield minutes


def entries(happenings: Sequence[Told | int]) -> list[LogEntry]:
    """The log of an instance, five places, and what the meters say."""
    body = {"app": "test", "template": "jam", "version": 1, "user": "alice", "values": {}}
    found: list[LogEntry] = [Standing("instance", "alice.jam", body, item_position(0), 0)]
    for sensor, (lat, lon) in PLACES.items():
        geometry = {"type": "Point", "coordinates": [lon, lat]}
        place = {"kind": "noise_meter", "name": sensor, "geometry": geometry}
        found.append(Standing("place", sensor, place, item_position(len(found)), 0))
    now = START
    for one in happenings:
        at = item_position(len(found))
        if isinstance(one, int):
            now += one * MINUTE
            found.append(ClockReading(now, now, at))
        elif one.level is None:
            found.append(Withdrawal("noise", one.sensor, one.ms, now, at))
        else:
            values = {"level": one.level, "error": one.error}
            found.append(Reading("noise", one.sensor, one.ms, now, values, at))
    return found


def answer(run: TemplateRun) -> dict[str, tuple[bool, int, int]]:
    """By sensor: reliable, percent, accuracy in tenths, as the rules see them."""
    details: dict[str, dict[str, int]] = {}
    for atom in run.answer("alice.jam"):
        if atom.startswith("detail"):
            _me, _kind, place, name, value = atom[7:-1].split(",")
            details.setdefault(place.strip('"')[6:], {})[name.strip('"')] = int(value)
    return {s: ("reliable" in d, d["right"], d["off"]) for s, d in details.items()}


def test_sensors_are_doubted_as_the_definition_says() -> None:
    kind, seen = noise(), set()
    for seed in range(150):
        random = Random(seed)
        told = [one for one in lines(random, 45) if isinstance(one, Told)]
        recent = {}
        for sensor, at in PLACES.items():
            words = {one.ms: one for one in told if one.sensor == sensor}
            samples = [
                Sample(ms, {} if one.level is None else {"level": one.level, "error": one.error})
                for ms, one in sorted(words.items())
            ]
            recent[sensor] = Recent(samples, at)
        newest = max(one.ms for one in told)
        for minute in (newest, newest + 13 * MINUTE, newest + 400 * MINUTE, newest + 730 * MINUTE):
            found = doubts(kind, recent, minute)
            got = {s: (d.reliable, d.percent, d.accuracy["level"]) for s, d in found.items()}
            assert got == doubted(RULES, told, PLACES, minute), seed
            seen |= {doubt.because for doubt in found.values()}
    assert seen == {None, "silent", "stuck", "jump", "apart", "often-wrong"}


@pytest.mark.parametrize("seed", range(4))
def test_rules_see_the_same_after_restarts(seed: int) -> None:
    """Runs are ended anywhere and built anew from the log; the facts are those defined."""
    random = Random(1000 + seed)
    happenings = list(lines(random, 40))
    log, asked = entries(happenings), template()
    run, came, index = TemplateRun(asked), list[Told](), 0
    for number, entry in enumerate(log):
        list(run.take(entry))
        told = None if number < 6 else happenings[number - 6]
        came += [told] if isinstance(told, Told) else []
        if isinstance(entry, ClockReading):
            expected = doubted(RULES, came, PLACES, entry.complete_ms)
            assert answer(run) == {
                s: (good, right, -int(-round(off * 10, 6) // 1)) for s, (good, right, off) in
                expected.items()
            }, index  # fmt: skip
            index += 1
        if random.random() < 0.05 and number + 1 < len(log):
            position = log[number + 1].position
            state = json.loads(json.dumps(run.state(position)))
            since = run.resume_from(position)
            run = TemplateRun(
                asked, state=state, past=[e for e in log[: number + 1] if e.position >= since]
            )


def test_a_run_goes_on_from_what_stood_at_the_last_clock_though_it_is_corrected() -> None:
    happenings: list[Told | int] = []
    for minutes in range(5):
        happenings += [Told("n0", START + minutes * 5 * MINUTE, 60.0 + minutes), 5]
    corrected = Told("n0", START + 20 * MINUTE, 99.0)
    log = entries([*happenings, corrected, 1])
    run = TemplateRun(template())
    for entry in log[:-1]:
        list(run.take(entry))
    state, since = run.state(log[-1].position), run.resume_from(log[-1].position)
    anew = TemplateRun(template(), state=state, past=[e for e in log[:-1] if e.position >= since])
    assert answer(run) == answer(anew) == {"n0": (True, 100, 20)}
    steps = [list(one.take(log[-1])) for one in (run, anew)]
    assert [s.details or s.changes for s in steps[0]] == [s.details or s.changes for s in steps[1]]
    assert answer(run) == answer(anew) == {"n0": (False, 80, 20)}


def test_why_says_that_a_sensor_is_doubtful_and_why() -> None:
    rules = """#prefix place : <https://w3id.org/citywise/place/>.
#prefix city : <https://w3id.org/citywise/city#>.
notice(Me,"jam",P,1) :- user(Me,_), city_noise_level(P,V), V > 650, reliable(P,"noise").
"""
    log = entries([Told("n0", START, 60.0), 5, Told("n0", START + 5 * MINUTE, 99.0), 1])
    run = TemplateRun(template(rules))
    for entry in log:
        list(run.take(entry))
    found = why.explain(run, "alice.jam", "jam", "n0", {"n0": "place"})
    assert not found.told
    assert found.notes[-1] == (
        "the sensor of noise at `n0` is doubtful: its last reading is far from the one before; "
        "50 of 100 of its readings are right"
    )


def test_nothing_is_kept_where_no_rule_asks() -> None:
    rules = ASKED.splitlines()[0] + '\nnotice(Me,"jam",P,1) :- user(Me,_), city_noise_level(P,_).'
    run = TemplateRun(template(rules))
    for entry in entries([Told("n0", START, 60.0), 5]):
        list(run.take(entry))
    assert list(run._supply.doubting.needed()) == []
    assert "reliab" not in run.slice("alice.jam")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('reliable(E,"events")', 'needs the stream "events"; there are'),
        ('reliable(E,"nois")', "did you mean `noise`?"),
        ('reliable(E,"air")', 'needs the stream "air"; add it to `streams` in app.toml'),
        ('reliable(E,noise)', 'write a variable with a capital (`Noise`), or a text in quotes'),
        ('accuracy(E,"noise","levl",_)', "did you mean `level`?"),
        ('reliability(E,"noise")', "write `reliability(Place,Kind,Percent)`"),
    ],
)  # fmt: skip
def test_check_says_what_a_rule_asks_wrongly(tmp_path: Path, body: str, said: str) -> None:
    app = AppFolder(tmp_path)
    app.manifest('streams = ["events"]', 'streams = ["events", "noise"]')
    app.write("templates/jam_ahead.casp", f'notice(Me,"jam_ahead",E,1) :- radius(Me,_), {body}.')
    assert any(said in finding for finding in app.findings()), app.findings()


def test_an_app_may_have_a_predicate_of_its_own_of_that_name() -> None:
    rules = 'notice(Me,"jam",P,1) :- reliable(Me,P).\nreliable(Me,1) :- user(Me,_).'
    run = TemplateRun(template(rules))
    for entry in entries([Told("n0", START, 60.0), 5]):
        list(run.take(entry))
    assert run.answer("alice.jam") == ('notice("alice.jam","jam",1,1)',)


def test_an_accuracy_in_rules_is_never_smaller_than_it_is() -> None:
    level = noise().fields["level"]
    assert [scaled(a, level) for a in (2, 0.3, 0.25, 0.01, 1e12)] == [20, 3, 3, 1, 2**31 - 1]


def test_a_field_that_does_not_say_how_exact_another_is_is_named(tmp_path: Path) -> None:
    (tmp_path / "noise.toml").write_text(TEXT.replace('= "error"', '= "eror"'), encoding="utf-8")
    findings: list[Finding] = []
    Kinds().and_folder(tmp_path, findings)
    assert "`fields.level.accuracy_from`: there is no other field `eror`" in str(findings[0])
