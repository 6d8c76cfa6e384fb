"""Plain facts, such as `p(1,a,"x").`: read here, for there may be very many of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from reasoning.languages.statements import Statement, blanked
from reasoning.program import Signature

_ARGUMENT = r"""-?(?:0|[1-9][0-9]*)\b|_*[a-z][A-Za-z0-9_']*|"(?:[^"\\\n]|\\["\\n])*\""""
_FACT = re.compile(
    rf"(-?_*[a-z][A-Za-z0-9_']*)(?:\(\s*((?:{_ARGUMENT})(?:\s*,\s*(?:{_ARGUMENT}))*)\s*\))?\s*\Z"
)
_ARGUMENTS = re.compile(_ARGUMENT)


@dataclass(frozen=True)
class FactCount:
    """How many plain facts of a predicate there are, and the index of the first."""

    first: int
    count: int


def is_plain_fact(statement: Statement) -> bool:
    """Whether a statement is an atom of plain arguments."""
    fact = _FACT.match(statement.text)
    return fact is not None and fact.group(1) != "not"


def separate(rules: str, statements: Iterable[Statement]) -> tuple[str, dict[Signature, FactCount]]:
    """`rules` with the plain facts blanked, and how many of each predicate there were."""
    pieces: list[str] = []
    position = 0
    found: dict[Signature, FactCount] = {}
    for statement in statements:
        fact = _FACT.match(statement.text)
        if fact is None or fact.group(1) == "not":
            continue
        signature = Signature(fact.group(1), len(_ARGUMENTS.findall(fact.group(2) or "")))
        before = found.get(signature, FactCount(statement.start, 0))
        found[signature] = FactCount(before.first, before.count + 1)
        pieces += rules[position : statement.start], blanked(rules[statement.start : statement.end])
        position = statement.end
    return "".join((*pieces, rules[position:])), found
