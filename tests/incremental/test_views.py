"""Answers as views: what is shown, whenever it is asked for, at the price of what changed."""

from __future__ import annotations

from collections.abc import Collection
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from reasoning.engines.incremental.evaluation import Evaluation
from reasoning.engines.incremental.terms import Row
from reasoning.engines.incremental.values import atom_text
from reasoning.engines.incremental.views import AnswerView, Shown, atom_texts
from reasoning.program import Signature

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

    def step(self, rows: set[Row]) -> Evaluation:
        """Have these rows hold."""
        self._came, self._gone = rows - self._rows.keys(), self._rows.keys() - rows
        self._rows.clear()
        self._rows.update(dict.fromkeys(rows, 0))
        return cast("Evaluation", self)

    def rows(self, _relation: str) -> Collection[Row]:
        """See `Evaluation`."""
        return self._rows

    def came(self, _relation: str) -> Collection[Row]:
        """See `Evaluation`."""
        return self._came

    def gone(self, _relation: str) -> Collection[Row]:
        """See `Evaluation`."""
        return self._gone


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
