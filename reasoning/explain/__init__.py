"""Why an atom is in an answer, why it is not, and why there is no answer at all.

`explain` answers for one evaluation of a request; `conflict` finds wishes and constraints
that cannot hold together. Both have clingo look at answer sets (`explanation`). What rows entail is
explained by its `justifications`, and what they do not by where rules break (`rows`).
"""

from citywise.reasoning.explain.conflict import Conflict, Violated, conflict, conflicts
from citywise.reasoning.explain.explanation import Explainer, explain
from citywise.reasoning.explain.tree import (
    Explanation,
    FedBack,
    ItemOrigin,
    KnowledgeOrigin,
    Origin,
    Outside,
    RuleText,
    TreeNode,
)

__all__ = [
    "Conflict",
    "Explainer",
    "Explanation",
    "FedBack",
    "ItemOrigin",
    "KnowledgeOrigin",
    "Origin",
    "Outside",
    "RuleText",
    "TreeNode",
    "Violated",
    "conflict",
    "conflicts",
    "explain",
]
