"""What cannot be understood or evaluated of one thing or one user does not stop the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from citywise.backend.ingest.records import LogEntry, Reading
from citywise.backend.packs.run import TemplateRun
from citywise.backend.packs.steps import Step
from citywise.backend.packs.supply import Supply
from citywise.backend.packs.telling import Telling
from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.model.engine import AnswerSet, WindowFacts
from tests.packs.test_run import JAM, Happening, event, instance, log, route, template

OPEN = template('notice(Me,"jam",G,1) :- radius(Me,R), near_route(Me,G,R), open(G).')
WRONG = "((((" * 100
Told = list[tuple[str, str, str]]


def garage(key: str, hours: str | None) -> tuple[str, str, Any]:
    geometry = {"type": "Point", "coordinates": [10.2, 56.15]}
    return "place", key, {"kind": "garage", "geometry": geometry, "opening_hours": hours}


def through(run: TemplateRun, *happenings: Happening) -> list[Step]:
    return _taken(run, log([instance("a"), route("a"), instance("b"), route("b"), *happenings]))


def _taken(run: TemplateRun, entries: list[LogEntry]) -> list[Step]:
    return [step for entry in entries for step in run.take(entry)]


def told(steps: list[Step]) -> Told:
    return [(c["change"], c["instance"], c["about"]) for step in steps for c in step.changes]


def faults(steps: list[Step]) -> list[tuple[str, ...]]:
    return [step.faults for step in steps]


def test_hours_that_cannot_be_read_are_told_of_and_the_other_places_go_on() -> None:
    first, then, gone, healed = through(
        TemplateRun(OPEN),
        garage("bad", WRONG), garage("good", "24/7"), 1,
        garage("other", "24/7"), 1,
        ("place", "bad", None), 1, garage("bad", "24/7"), 1,
    )  # fmt: skip
    assert told([first]) == [("opened", "a.jam", "good"), ("opened", "b.jam", "good")]
    (fault,) = first.faults
    assert fault.startswith("place bad: `((((")
    assert fault.endswith("PH off`")
    assert len(fault) < 250
    assert told([then]) == [("opened", "a.jam", "other"), ("opened", "b.jam", "other")]
    assert (told([gone]), gone.faults) == ([], ())
    assert told([healed]) == [("opened", "a.jam", "bad"), ("opened", "b.jam", "bad")]


def test_a_place_is_no_longer_open_when_its_hours_cannot_be_read_any_more() -> None:
    steps = through(TemplateRun(OPEN), garage("g", "24/7"), 1, garage("g", WRONG), 1)
    assert told(steps)[2:] == [("closed", "a.jam", "g"), ("closed", "b.jam", "g")]


@pytest.mark.parametrize(
    ("subject", "key", "body", "fault"),
    [
        (*event("odd", 10.2)[:2], {"type": "TrafficJam"}, "event odd: left out: KeyError: 'level'"),
        ("event", "odd", event("odd", 10.2)[2] | {"geometry": {"type": "Point"}}, "event odd: "),
        ("place", "odd", {"kind": "garage", "geometry": {"coordinates": []}}, "place odd: "),
        ("position", "b", {"lat": 56.15}, "position b: left out: KeyError"),
        ("activity", "b", {}, "activity b: left out: KeyError"),
        ("instance", "b.jam", {"values": {}}, "instance b.jam: left out: KeyError"),
    ],
)
def test_what_an_older_log_says_and_nobody_understands_is_left_out(
    subject: str, key: str, body: Any, fault: str
) -> None:
    """It is told once, of people without a value, and forgotten when it is gone."""
    rules = JAM.rules + '\nnotice(Me,"jam",X,1) :- ctx_activity(Me,X).'
    run = TemplateRun(template(rules.removeprefix(template("").rules)))
    odd, later, after = through(
        run, event("e", 10.2), (subject, key, body), 1, event("f", 10.205), 1,
        (subject, key, None), event("e", 10.2, level=5), 1,
    )  # fmt: skip
    assert ("opened", "a.jam", "e") in told([odd])
    assert ("opened", "a.jam", "f") in told([later])
    assert ("updated", "a.jam", "e") in told([after])
    assert [f.startswith(fault) for f in odd.faults] == [True]
    assert after.faults == ()


def test_an_instant_that_cannot_be_evaluated_is_told_and_the_next_makes_good(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settle, calls = Supply.settle, list[int]()

    def broken(supply: Supply, t_ms: int) -> None:
        calls.append(t_ms)
        if len(calls) in (1, 2):
            raise ValueError("no such thing")
        settle(supply, t_ms)

    monkeypatch.setattr(Supply, "settle", broken)
    run = TemplateRun(JAM)
    steps = through(run, event("e", 10.2), 1, 1, 1)
    assert faults(steps) == [("ValueError: no such thing",), ()]
    assert told(steps) == [("opened", "a.jam", "e"), ("opened", "b.jam", "e")]


def test_what_the_machine_lacks_is_raised_and_nothing_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(_supply: Supply, _t_ms: int) -> None:
        raise OSError("too many open files")

    monkeypatch.setattr(Supply, "settle", broken)
    with pytest.raises(OSError, match="too many"):
        through(TemplateRun(JAM), event("e", 10.2), 1)


def test_a_fault_in_what_one_instance_is_told_leaves_it_for_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changes = Telling.changes
    broken = True

    def picky(run: Telling, t: int, key: str, *more: Any) -> Iterator[dict[str, Any]]:
        if broken and key == '"a.jam"':
            raise KeyError("title")
        yield from changes(run, t, key, *more)

    monkeypatch.setattr(Telling, "changes", picky)
    run = TemplateRun(JAM)
    entries = log([instance("a"), route("a"), instance("b"), route("b"),
                   event("e", 10.2), 1, event("e", 10.2, level=5), 1])  # fmt: skip
    (first,) = _taken(run, entries[:6])
    assert told([first]) == [("opened", "b.jam", "e")]
    assert first.faults == ("""instance "a.jam": KeyError: 'title'""",)
    assert list(run.state(0)["kept"]) == ['"a.jam"']
    broken = False
    assert told(_taken(run, entries[6:])) == [("opened", "a.jam", "e"), ("updated", "b.jam", "e")]


def test_whatever_stops_the_solver_for_one_user_leaves_the_others_their_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluate = SolverEngine.answer_sets

    def picky(engine: SolverEngine, window: WindowFacts, models: int = 0) -> tuple[AnswerSet, ...]:
        if '"a.jam"' in window.text:
            raise RuntimeError("cannot be")
        return evaluate(engine, window, models)

    monkeypatch.setattr(SolverEngine, "answer_sets", picky)
    (step,) = through(TemplateRun(JAM), event("e", 10.2), 1)
    assert told([step]) == [("opened", "b.jam", "e")]
    assert step.faults == ('instance "a.jam": RuntimeError: cannot be',)


def test_a_reading_that_nobody_understands_leaves_the_others_of_its_kind() -> None:
    rules = 'notice(Me,"jam",G,1) :- near_route(Me,G,R), radius(Me,R), city_occupiedPlaces(G,_).'
    odd = Reading("parking", "odd", 0, 0, {"occupied": [1]}, 0)  # type: ignore[dict-item]
    good = Reading("parking", "good", 0, 0, {"occupied": 7, "capacity": 9}, 0)
    (step,) = through(TemplateRun(template(rules)), garage("good", None), odd, good, 1)
    assert told([step]) == [("opened", "a.jam", "good"), ("opened", "b.jam", "good")]
