"""Which rules do not depend on streams: their part of the program is grounded once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from clingo.ast import AST, ASTType, parse_string

from reasoning.asp.rules import atom_signatures, atoms, head_atoms
from reasoning.asp.syntax import Node, copy
from reasoning.model.engine import OURS, AspProgram
from reasoning.model.request import Signature

_OFF, _TRIED = f"{OURS}off", f"{OURS}tried"


@dataclass(frozen=True)
class _Statement:
    text: str
    head: frozenset[str]
    names: frozenset[str]
    """Predicates, without sign and arity: a classical negation is about its atom too."""
    is_rule: bool
    is_external: bool
    """Its atoms may hold though no rule derives them."""
    trial: str


def split(what: AspProgram, dynamic: Collection[Signature]) -> tuple[str, AspProgram]:
    """The static part as text, and the program that is left for each window.

    Static is a rule none of whose predicates depends on a `dynamic` one; so is what it
    derives, for no other rule may add to that. The body of each other rule is tried once
    with the static part, in a rule that is switched off: it concludes nothing, but clingo
    builds the indices that the windows need over the knowledge, which else each would.
    """
    statements = list(_statements(what.rules))
    # By name alone, without arity and sign: more may move than need be, but nothing stands still
    # that should not.
    names = {s.name.removeprefix("-") for s in dynamic}
    moving = _moving(statements, names.union(*(s.head for s in statements if s.is_external)))
    # An external atom is false and yet not known to be: clingo may not leave out rules that need
    # it, and so builds the indices.
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
    parse_string(rules, found.append, logger=lambda _code, _words: None)
    for node in found:
        if node.ast_type == ASTType.Program:
            continue
        tree = copy(node)
        is_rule, is_external = (tree.kind == kind for kind in (ASTType.Rule, ASTType.External))
        head = _names([tree.one("atom")] if is_external else head_atoms(tree))
        names = _names(atoms(tree))
        yield _Statement(f"{node}\n", head, names, is_rule, is_external, _trial(node))


def _trial(node: AST) -> str:
    """A rule that joins the body of a rule, and is switched off."""
    if node.ast_type != ASTType.Rule or not node.body:
        return ""
    body = "; ".join(map(str, node.body))
    return f"{_TRIED} :- {body}; {_OFF}.\n"


def _names(found: Iterable[Node]) -> frozenset[str]:
    return frozenset(s.name.removeprefix("-") for atom in found for s in atom_signatures(atom))
