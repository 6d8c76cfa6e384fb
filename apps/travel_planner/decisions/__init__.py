"""Decision support: which of several options to choose, and why (thesis, 7.1).

Questions and answers are values; the rules that decide are C-ASP, in `rules/`.
Imports only `reasoning` and `backend.errors`.
"""

from citywise.apps.travel_planner.decisions.deciding import decide
from citywise.apps.travel_planner.decisions.decision import (
    Code,
    Conflict,
    Decision,
    Loosening,
    Reason,
    Relaxation,
)
from citywise.apps.travel_planner.decisions.encoding import facts
from citywise.apps.travel_planner.decisions.question import (
    Constraint,
    Direction,
    Op,
    Option,
    Question,
    QuestionError,
    Wish,
)

__all__ = [
    "Code",
    "Conflict",
    "Constraint",
    "Decision",
    "Direction",
    "Loosening",
    "Op",
    "Option",
    "Question",
    "QuestionError",
    "Reason",
    "Relaxation",
    "Wish",
    "decide",
    "facts",
]
