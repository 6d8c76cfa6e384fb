"""The rules decide as the definitions say, whatever the question."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from citywise.apps.travel_planner.decisions import Decision, Question, Reason, decide
from tests.decisions import oracle
from tests.decisions.questions import impossible, questions


def agree(question: Question) -> None:
    found = decide(question)
    order = oracle.pareto(question)
    assert found.order == tuple(option.id for option in order)
    assert found.dominated == oracle.dominated(question)
    assert found.violated == {
        option.id: broken
        for option in question.options
        if (broken := tuple(c for c in dict.fromkeys(question.constraints)
                            if not oracle.meets(option, c)))
    }  # fmt: skip
    best = [o.id for o in order if oracle.losses(question, o) == oracle.losses(question, order[0])]
    assert (found.chosen, found.ties) == (best[0] if best else None, tuple(best[1:]))
    agree_on_conflict(question, found)
    agree_on_reasons(question, found)


def agree_on_conflict(question: Question, found: Decision) -> None:
    assert (found.conflict is None) == (found.chosen is not None or not question.options)
    if found.conflict is None:
        return
    minimal = found.conflict.minimal
    assert len(set(map(frozenset, minimal))) == len(minimal)
    assert set(map(frozenset, minimal)) == oracle.conflicts(question)
    assert [len(members) for members in minimal] == sorted(len(members) for members in minimal)
    relaxed, expected = found.conflict.relaxation, oracle.relaxation(question)
    assert (relaxed is None) == (expected is None)
    if relaxed is not None and expected is not None:
        assert {x.constraint: x.to for x in relaxed.loosenings} == expected[0]
        assert relaxed.option == expected[1]


def agree_on_reasons(question: Question, found: Decision) -> None:
    assert list(found.reasons) == [option.id for option in question.options]
    for option, reasons in found.reasons.items():
        first = reasons[0]
        if option in found.violated:
            told = [r.constraint for r in reasons if r.constraint is not None]
            assert told == list(found.violated[option])
        elif option in found.dominated:
            assert (first.code, first.against) == ("dominated", found.dominated[option])
        elif option in (found.chosen, *found.ties):
            assert first.code in ("only", "best", "tie")
        else:
            assert (first.code, first.against) == ("behind", found.chosen)
        if first.code in ("best", "behind", "dominated"):
            agree_on_difference(question, option, first)


def agree_on_difference(question: Question, option: str, reason: Reason) -> None:
    """The first difference is the one that decides, and all are told."""
    one, other = (next(o for o in question.options if o.id == i) for i in (option, reason.against))
    ours, theirs = oracle.losses(question, one), oracle.losses(question, other)
    signs = [(a > b) - (a < b) for a, b in zip(ours, theirs, strict=True)]
    names = dict(zip(question.directions, signs, strict=True))
    assert reason.on == next(on for on, sign in names.items() if sign)
    assert not any(names[on] for on in reason.level)
    assert list(question.directions)[len(reason.level)] == reason.on
    assert names[reason.on] == (-1 if reason.code == "best" else 1)
    for told, sign in ((reason.better, -1), (reason.worse, 1), (reason.equal, 0)):
        assert list(told) == [on for on, found in names.items() if found == sign]
    assert reason.wished == (reason.on in {wish.on for wish in question.wishes})


@settings(max_examples=25)
@given(questions() | impossible())
def test_a_few_decisions_are_those_of_the_definitions(question: Question) -> None:
    agree(question)


@pytest.mark.slow
@settings(max_examples=50)
@given(questions() | impossible())
def test_decisions_are_those_of_the_definitions(question: Question) -> None:
    agree(question)
