"""What is fed back from an answer to the next evaluation."""

from __future__ import annotations

import pytest

from citywise.reasoning import AnswerSet, parse
from citywise.reasoning.model.engine import Answered
from citywise.reasoning.run.memory import Memory

HEAD = "#from stream <https://example.org/s> [time 1s step 1s].\n#feedback p/1.\n"


@pytest.mark.parametrize(
    ("rules", "shown"),
    [
        ("p(1) :- q(1).", ("p(1)",)),
        ("p(1) :- q(1). p(1,2) :- q(1).", ("p(1)", "p(1,2)")),
        ("p(1) :- q(1). #show p/1. #show p(1,2) : q(1).", ("p(1)", "p(1,2)")),
        ('p("a,b") :- q(1). pp(1) :- q(1).', ('p("a,b")', "pp(1)")),
    ],
)
def test_only_atoms_of_the_predicate_are_fed_back(rules: str, shown: tuple[str, ...]) -> None:
    """Not those of its name with other arguments."""
    memory = Memory(parse(HEAD + rules))
    memory.take(Answered((AnswerSet(shown),), None, None), 1)
    assert memory.feedback == shown[:1]
