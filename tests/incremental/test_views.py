"""Answers as views: what is shown, whenever it is asked for, at the price of what changed."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from copy import deepcopy
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citywise.reasoning.engines.choosing import engine_for
from citywise.reasoning.engines.incremental.evaluation import RuleEvaluation
from citywise.reasoning.engines.incremental.relation import Rows
from citywise.reasoning.engines.incremental.views import AnswerView, Shown, atom_texts
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.model.request import Signature
from citywise.reasoning.model.values import Row, atom_text
from citywise.reasoning.run.reasoner import Reasoner
from citywise.reasoning.streams.items import Item
from tests.incremental.test_core_traps import rules, steps
from tests.lars.programs import example
from tests.lars.running import agreed

values: st.SearchStrategy[object] = st.recursive(
    st.integers(-3, 3) | st.sampled_from(["a", '"b c"', "#inf"]),
    lambda inner: st.tuples(st.just("f"), inner),
    max_leaves=3,
)


class Moving:
    """Stands for an evaluation with one output, `q/1`."""

    def __init__(self) -> None:
        self._rows: dict[Row, int] = {}
        self._came: set[Row] = set()
        self._gone: set[Row] = set()

    def step(self, rows: set[Row]) -> RuleEvaluation:
        """Have these rows hold."""
        self._came, self._gone = rows - self._rows.keys(), self._rows.keys() - rows
        self._rows.clear()
        self._rows.update(dict.fromkeys(rows, 0))
        return cast("RuleEvaluation", self)

    def rows(self, _relation: str) -> Rows:
        """See `Evaluation`."""
        return tuple(self._rows)

    def came(self, _relation: str) -> Rows:
        """See `Evaluation`."""
        return tuple(self._came)

    def gone(self, _relation: str) -> Rows:
        """See `Evaluation`."""
        return tuple(self._gone)


@given(st.lists(st.tuples(st.frozensets(st.integers(0, 30)), st.booleans()), max_size=12))
def test_a_view_has_the_sorted_texts_of_its_step_whenever_it_is_asked(
    steps: list[tuple[frozenset[int], bool]],
) -> None:
    moving, shown = Moving(), Shown.of([Signature("q", 1)])
    views = []
    before: frozenset[int] = frozenset()
    for numbers, asked in steps:
        changed = shown.follow(moving.step({(n,) for n in numbers}))
        assert changed == (_texts(numbers - before), _texts(before - numbers))
        view, before = AnswerView(shown.version), numbers
        views.append((view, numbers))
        if asked:
            assert view.atoms == _texts(numbers)
    assert [view.atoms for view, _ in views] == [_texts(numbers) for _, numbers in views]


def test_what_came_and_went_is_not_remembered_where_only_changes_are_looked_at() -> None:
    """One answer is asked for in full, and then none for long."""
    moving, shown = Moving(), Shown.of([Signature("q", 1)])
    shown.follow(moving.step({(n,) for n in range(60)}))
    assert len(shown.version.members()) == 60
    for first in range(0, 4000, 20):
        shown.follow(moving.step({(n,) for n in range(first, first + 60)}))
    assert len(shown._came) + len(shown._gone) <= 60
    assert tuple(shown.version.members()) == _texts(range(3980, 4040))


def test_an_answer_stays_what_it_was_where_its_evaluation_went_on_unseen() -> None:
    """A step that is stopped at a limit leaves its relations as they were just then."""
    moving, shown = Moving(), Shown.of([Signature("q", 1)])
    views = []
    for first in range(0, 60, 10):
        shown.follow(moving.step({(n,) for n in range(first, first + 100)}))
        views.append((AnswerView(shown.version), _texts(range(first, first + 100))))
    moving.step(set())
    assert [view.atoms for view, _ in reversed(views)] == [texts for _, texts in reversed(views)]


@given(st.integers(0, 3).flatmap(lambda n: st.lists(st.tuples(*[values] * n), max_size=4)))
def test_atoms_are_written_together_as_they_are_alone(rows: list[Row]) -> None:
    assert atom_texts("-p", rows) == [atom_text("-p", row) for row in rows]


def _texts(numbers: Collection[int]) -> tuple[str, ...]:
    return tuple(sorted(f"q({n})" for n in numbers))


PERSISTING = """
#from stream <urn:s> [time 10s step 2s].
h1(Y) :- p(Y,Y).
h2(Y) :- p(X,Y).
h3(Y) :- r(Y), h1(Z).
"""
REMEMBERED = """
#from stream <urn:s> [time 6s step 1s].
h1(Z) :- q(Z,Y).
h2(W,W) :- r(X), W = X * 2.
h1(X) :- prev_h1(X), not q(X,_).
#show h1/1.
#show h2/2.
#feedback h1/1.
"""


@pytest.mark.parametrize(
    ("program", "items", "time", "atoms"),
    [
        (PERSISTING, "1 p(2,1) 6 p(2,4) 9 p(1,1) 10 r(4) 11 r(2) 19 p(2,2) 21 r(1)", 20,
         "h1(2) h2(2) h3(2) h3(4)"),
        (REMEMBERED, "104 p(2,2) 106 r(1) 106 q(4,1) 107 q(2,2) 107 r(3) 111 q(1,1) 113 r(4)", 113,
         "h1(1) h1(2) h1(4) h2(6,6) h2(8,8)"),
    ],
    ids=["plain", "feedback"],
)  # fmt: skip
def test_rows_that_hold_stay_in_the_answers_whatever_ends_later(
    program: str, items: str, time: int, atoms: str
) -> None:
    """They rest on rows that came again where others ended."""
    request = parse(program)
    with closing(engine_for(request, choice="incremental")) as engine:
        reasoner = Reasoner(request, engine=engine)
        evaluations = [*reasoner.push(_items(items)), *reasoner.finish()]
    assert [" ".join(e.answer_sets[0].atoms) for e in evaluations if e.time == time] == [atoms]


def test_rows_that_hold_stay_in_the_answers_of_plain_lars() -> None:
    agreed(
        example(
            "h1(Y) :- <> p(Y,Y) [4]. h2(Y) :- <> p(X,Y) [4]. h3(Y) :- <> r(Y) [4], h1(Z).",
            "1: p(2,1)\n4: r(1) r(2)\n6: r(2)\n7: p(2,2)\n9: r(1)\n10: p(2,1)\n"
            "11: r(2)\n12: p(1,2)",
        )
    )


def test_what_an_evaluation_gave_stays_what_it_was() -> None:
    """Of each step, whatever the next ones do to the relations."""
    engine = RuleEvaluation(rules("p(X) :- a(X), not b(X). q(X,Y) :- a(X), c(Y)."))
    found: list[tuple[object, object]] = []
    for step in steps("1: a(1)..2 c(1)..9\n2: a(2)..3 b(1)..3\n3: a(1)..5\n5: b(1)\n6: -b(1) a(3)"):
        step.apply(engine)
        asked = (engine.rows, engine.came, engine.gone)
        changes = [one(name) for one in asked for name in ("a/1", "b/1", "p/1", "q/2")]
        now = (changes, engine.given("a/1"), engine.given("b/1"))
        found.append((now, deepcopy(now)))
    assert [now for now, _ in found] == [copy for _, copy in found]


def _items(text: str) -> list[Item]:
    words = text.split()
    pairs = zip(words[::2], words[1::2], strict=True)
    return [Item(int(time), atom, i, stream="urn:s") for i, (time, atom) in enumerate(pairs)]
