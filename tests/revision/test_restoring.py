"""A reasoner that revises goes on from its snapshot (docs/revision.md)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from citywise.reasoning import (
    AnswerSet,
    Item,
    Line,
    ReasoningError,
    Revising,
    StateError,
    parse,
    revising,
)
from citywise.reasoning.rdf.mapping import Blank, Iri, Literal, Triple
from citywise.reasoning.run.course import answers_from_json, answers_to_json
from citywise.reasoning.streams.items import item_from_json, item_to_json

HOT = parse("#from stream <http://e/s> [time 2s step 1s].\nhot(X) :- at(X, V), V > 30.")
LINES = [Line(Item(1, "at(a,40)"), "r1", position=1), Line(Item(4, "on"), position=2)]


def _told(reasoner: Revising, line: Line) -> list[tuple[int, int, tuple[str, ...]]]:
    found = reasoner.push(line)
    return [(r.time, r.number, r.evaluation.answer_sets[0].atoms) for r in found if r.evaluation]


def _state(*lines: Line) -> Any:
    with revising(HOT, horizon=60, start=0) as reasoner:
        reasoner.push(LINES)
        for line in lines:
            reasoner.push(line)
        return json.loads(json.dumps(reasoner.snapshot()))


def test_numbers_of_revisions_go_on() -> None:
    state = _state(Line(Item(1, "at(a,20)"), "r1", position=3))
    with revising(HOT, horizon=60, start=0) as reasoner:
        reasoner.restore(state)
        again = _told(reasoner, Line(Item(1, "at(a,50)"), "r1", position=4))
    assert again == [(2, 2, ("hot(a)",)), (3, 2, ("hot(a)",))]


def test_what_was_withdrawn_before_is_back_at_its_first_place() -> None:
    state = _state(Line(None, "r1", position=3))
    with revising(HOT, horizon=60, start=0) as reasoner:
        reasoner.restore(state)
        assert _told(reasoner, Line(Item(1, "at(a,40)"), "r1", position=4))[0][:2] == (2, 2)
        assert [item.position for item in reasoner.items.between(1, 2)] == [1]


def test_an_id_that_came_before_the_horizon_is_known() -> None:
    with revising(HOT, horizon=60, start=0) as reasoner:
        reasoner.restore(_state(Line(Item(400, "on"), position=3)))
        reasoner.push([Line(None, "r1", position=4), Line(None, "r2", position=5)])
        told = [str(error) for _line, error in reasoner.left_out]
    assert told == ["is 399 behind the newest time", "withdraws 'r2', which has not come"]


@pytest.mark.parametrize(("horizon", "start"), [(61, 0), (60, 1)])
def test_a_snapshot_of_other_bounds_is_refused(horizon: int, start: int) -> None:
    with (
        revising(HOT, horizon=horizon, start=start) as reasoner,
        pytest.raises(ReasoningError, match=r"snapshot is of (horizon 60|start 0), and this is"),
    ):
        reasoner.restore(_state())


def test_a_snapshot_of_a_former_version_is_read_and_of_a_newer_one_refused() -> None:
    """The former ones had no number."""
    state = _state()
    with revising(HOT, horizon=60, start=0) as reasoner:
        reasoner.restore({name: value for name, value in state.items() if name != "format"})
        again = _told(reasoner, Line(Item(1, "at(a,20)"), "r1", position=3))
    assert [number for _time, number, _atoms in again] == [1, 1]
    for strange in ({**state, "format": 2}, {k: v for k, v in state.items() if k != "given"}):
        with (
            revising(HOT, horizon=60, start=0) as reasoner,
            pytest.raises(StateError, match=r"this version reads 1: restore|KeyError: 'given'"),
        ):
            reasoner.restore(strange)


def test_a_snapshot_is_restored_before_the_first_line() -> None:
    with revising(HOT, horizon=60, start=0) as reasoner:
        reasoner.push(LINES)
        with pytest.raises(ReasoningError, match="lines were taken before"):
            reasoner.restore(_state())


def test_answers_are_kept_by_what_changes() -> None:
    rows = [("a", "b"), ("a",), (), ("b", "c")]
    written = json.loads(json.dumps(answers_to_json([AnswerSet(atoms) for atoms in rows])))
    assert written[0] == ["b", "c"]
    assert [answer.atoms for answer in answers_from_json(written)] == rows


def test_triples_come_back_as_they_were() -> None:
    node, label = Blank("f1gb0"), Literal('ø\n"', None, "da")
    graph = (
        Triple(node, Iri("http://e/p"), label),
        Triple(node, Iri("http://e/q"), Literal("1", "http://www.w3.org/2001/XMLSchema#int")),
    )
    item = Item(7, graph, 3, 9, "http://e/s")
    assert item_from_json(json.loads(json.dumps(item_to_json(item)))) == item
