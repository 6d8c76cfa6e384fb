"""The rules conclude what the definitions say, on any time line."""

from __future__ import annotations

from dataclasses import replace
from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings

from citywise.apps.meeting_mgr import RULES
from citywise.apps.meeting_mgr.capabilities import Capabilities, Situation
from citywise.apps.meeting_mgr.capabilities.evaluating import reasoners
from citywise.apps.meeting_mgr.capabilities.facts import Facts
from citywise.apps.meeting_mgr.capabilities.scales import Scale
from citywise.apps.meeting_mgr.model import Rules, Sensor
from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.model.engine import WindowFacts
from citywise.reasoning.run.language import check
from tests.meeting_mgr.reference import conclude
from tests.meeting_mgr.somebody import FINE
from tests.meeting_mgr.time_lines import JOINED_MS, Step, after, joined, rules, time_lines

capabilities = Capabilities()


@pytest.mark.parametrize("name", ["event_detection", "user_reasoner"])
def test_check_finds_nothing_in_the_rules(name: str) -> None:
    assert check(RULES / f"{name}.casp") == []


@settings(max_examples=15, deadline=None)
@given(rules, time_lines)
def test_the_rules_agree_with_the_definitions(first: Rules, line: list[tuple[Step, Step]]) -> None:
    """People who are evaluated together do not meddle with each other."""
    people = [joined(f"p{number}", first) for number in range(2)]
    now_ms = JOINED_MS
    for steps in line:
        now_ms += steps[0].after_ms
        people = [after(now_ms, who, step) for who, step in zip(people, steps, strict=True)]
        found = capabilities.evaluate(now_ms, people)
        for number, person in enumerate(people):
            assert found[person.person].state == conclude(now_ms, person)
            people[number] = replace(person, state=found[person.person].state)


@settings(max_examples=10, deadline=None)
@given(rules, time_lines)
def test_places_on_scales_give_the_answer_that_values_and_milliseconds_give(
    first: Rules, line: list[tuple[Step, Step]]
) -> None:
    """What people run by hand is what `evaluate` runs."""
    person, now_ms, engine = joined("p", first), JOINED_MS, SolverEngine(reasoners())
    for step, _ in line:
        now_ms += step.after_ms
        person = after(now_ms, person, step)
        by_place = _facts(now_ms, person)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Scale, "place", lambda _scale, value: value)
            by_value = _facts(now_ms, person)
        answers = [engine.answer_sets(WindowFacts(text)) for text in (by_place, by_value)]
        assert answers[0] == answers[1]
        state = capabilities.evaluate(now_ms, [person])["p"].state
        person = replace(person, state=state)


def test_new_values_and_times_make_no_new_terms() -> None:
    """clingo keeps every term that it ever saw: a process that hears much would grow."""
    found: set[str] = set()
    for number in range(200):
        told: dict[Sensor, tuple[float, int]] = {
            "noise": (40 + 0.37 * number, JOINED_MS + 77 * number)
        }
        person = replace(joined("p", Rules()), observed=told, sharing=frozenset(told))
        found |= set(_facts(JOINED_MS + 80 * number + 14_800, person).splitlines())
    heard = [line for line in found if line.startswith("heard")]
    assert 1 < len(heard) <= 5 * 3


def test_two_hundred_people_take_a_fraction_of_a_second() -> None:
    """Of the time of one core, so that 1,000 readings a second leave room for all else."""
    people = [replace(joined(f"p{number}", Rules()), observed=_fine()) for number in range(200)]
    found = capabilities.evaluate(JOINED_MS, people)
    people = [replace(person, state=found[person.person].state) for person in people]
    assert min(_cost_s(JOINED_MS + 1000 * n, people) for n in range(1, 6)) < 1


def _cost_s(now_ms: int, people: list[Situation]) -> float:
    """Of one evaluation in this process."""
    began_s = process_time()
    capabilities.evaluate(now_ms, people)
    return process_time() - began_s


def _fine() -> dict[Sensor, tuple[float, int]]:
    return {sensor: (value, JOINED_MS) for sensor, value in FINE.items()}


def test_the_same_facts_are_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    capabilities, asked = Capabilities(), []
    answer_sets = SolverEngine.answer_sets

    def counted(self: SolverEngine, facts: WindowFacts) -> Any:
        asked.append(facts)
        return answer_sets(self, facts)

    monkeypatch.setattr(SolverEngine, "answer_sets", counted)
    people = [replace(joined(name, Rules()), sharing=frozenset({"noise"})) for name in "pq"]
    first = capabilities.evaluate(JOINED_MS, people)
    again = capabilities.evaluate(JOINED_MS, people)
    assert len(asked) == 1
    assert first == again
    assert first["p"].state == first["q"].state


def _facts(now_ms: int, person: Situation) -> str:
    facts = Facts()
    return facts.text([facts.told(now_ms, person)])
