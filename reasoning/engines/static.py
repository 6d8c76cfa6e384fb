"""Which rules do not depend on streams: their part of the program is grounded once."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from clingo.ast import AST, ASTType, parse_string

from reasoning.engines.program import Program
from reasoning.languages.rules import head_signatures, signatures
from reasoning.program import Signature

_OFF, _TRIED = "citywise_off", "citywise_tried"


@dataclass(frozen=True)
class _Statement:
    text: str
    head: frozenset[str]
    names: frozenset[str]
    """Predicates, without sign and arity: a classical negation is about its atom too."""
    is_rule: bool
    trial: str


def split(what: Program, dynamic: Collection[Signature]) -> tuple[str, Program]:
    """The static part as text, and the program that is left for each window.

    Static is a rule none of whose predicates depends on a `dynamic` one; so is what it
    derives, for no other rule may add to that. The body of each other rule is tried once
    with the static part, in a rule that is switched off: it concludes nothing, but clingo
    builds the indices that the windows need over the knowledge, which else each would.
    """
    statements = list(_statements(what.rules))
    moving = _moving(statements, {s.name.removeprefix("-") for s in dynamic})
    static, window = f"#external {_OFF}.\n", ""
    for statement in statements:
        if statement.is_rule and not statement.names & moving:
            static += statement.text
        else:
            static += statement.trial
            window += statement.text
    return static, replace(what, rules=window)


def _moving(statements: list[_Statement], names: set[str]) -> set[str]:
    """The predicates that depend on `names`, and those themselves."""
    moving = set(names)
    before = -1
    while before != len(moving):
        before = len(moving)
        for statement in statements:
            if statement.names & moving:
                moving |= statement.head
    return moving


def _statements(rules: str) -> Iterator[_Statement]:
    found: list[AST] = []
    parse_string(rules, found.append)
    for node in found:
        if node.ast_type == ASTType.Program:
            continue
        is_rule = node.ast_type == ASTType.Rule
        head = {s.name for s in head_signatures(node.head)} if is_rule else set()
        names = {s.name for s in signatures(node)}
        yield _Statement(f"{node}\n", _bare(head), _bare(names), is_rule, _trial(node))


def _trial(node: AST) -> str:
    """A rule that joins the body of a rule, and is switched off."""
    if node.ast_type != ASTType.Rule or not node.body:
        return ""
    body = "; ".join(map(str, node.body))
    return f"{_TRIED} :- {body}; {_OFF}.\n"


def _bare(names: set[str]) -> frozenset[str]:
    return frozenset(name.removeprefix("-") for name in names)
