"""Evaluation by key: of facts that stand until they change, only what can be reached from the
keys concerned is evaluated again (docs/keyed.md). `locality` finds whether rules allow it.
Windows have no part in this: apps' templates are evaluated in this way."""

from citywise.reasoning.run.keyed.evaluation import (
    Evaluated,
    KeyedAnswer,
    KeyedEvaluation,
    KeyedRules,
    StandingFacts,
)
from citywise.reasoning.run.keyed.memory import DUE, KeyedMemory, Unforeseeable, due_rules

__all__ = [
    "DUE",
    "Evaluated",
    "KeyedAnswer",
    "KeyedEvaluation",
    "KeyedMemory",
    "KeyedRules",
    "StandingFacts",
    "Unforeseeable",
    "due_rules",
]
