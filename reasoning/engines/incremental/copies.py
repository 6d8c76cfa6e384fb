"""Programs made ready: relations that only copy another are that other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from reasoning.engines.incremental.program import (
    CLOCK,
    Absent,
    Aggregate,
    Always,
    Holds,
    Literal,
    Operator,
    Program,
    Rule,
    Scan,
)
from reasoning.engines.incremental.terms import Variable

_GIVEN = "#given "
"""Before the name of a relation: what of it comes from outside."""


def without_copies(program: Program) -> tuple[Program, dict[str, str]]:
    """The program, and the names under which the relations it left out are found.

    A relation derived by one rule that passes rows on as they are needs no rows of its own.
    """
    names = _copies(program)
    if not names:
        return program, {}
    rules = tuple(_renamed(rule, names) for rule in program.rules if rule.head not in names)
    operators = tuple(_operator(operator, names) for operator in program.operators)
    return replace(program, rules=rules, operators=operators), names


def with_sources(program: Program) -> tuple[Program, dict[str, str]]:
    """The program with a relation of its own for what is inserted into a derived one, and
    the names of those relations."""
    derived = {rule.head for rule in program.rules}
    arities = {rule.head: len(rule.terms) for rule in program.rules}
    mixed = sorted(program.inputs & derived)
    sources = {name: _GIVEN + name for name in mixed}
    copies = tuple(copied(name, sources[name], arities[name]) for name in mixed)
    inputs = program.inputs - derived | frozenset(sources.values())
    return replace(program, rules=program.rules + copies, inputs=inputs), sources


def copied(head: str, body: str, arity: int) -> Rule:
    """The rule by which a relation has the rows of another."""
    terms = tuple(Variable(f"X{number}") for number in range(arity))
    return Rule(head, terms, (Scan(body, terms),))


def _copies(program: Program) -> dict[str, str]:
    """Relations that are another by their only rule, and that other."""
    heads = Counter(rule.head for rule in program.rules)
    results = {operator.result for operator in program.operators}
    names = {
        rule.head: scan.relation
        for rule in program.rules
        if heads[rule.head] == 1
        and rule.head not in program.inputs | results | {CLOCK}
        and (scan := _passed_on(rule)) is not None
    }
    return {name: found for name in names if (found := _end(name, names)) is not None}


def _end(name: str, names: Mapping[str, str]) -> str | None:
    """What a chain of copies copies in the end; None for a circle, which is empty."""
    seen = {name}
    while name in names:
        name = names[name]
        if name in seen:
            return None
        seen.add(name)
    return name


def _passed_on(rule: Rule) -> Scan | None:
    if len(rule.body) != 1 or rule.until is not None:
        return None
    (literal,) = rule.body
    if not isinstance(literal, Scan) or literal.terms != rule.terms:
        return None
    named = {term.name for term in rule.terms if isinstance(term, Variable)}
    return literal if len(named) == len(rule.terms) else None


def _renamed(rule: Rule, names: Mapping[str, str]) -> Rule:
    return replace(rule, body=tuple(_literal(literal, names) for literal in rule.body))


def _literal(literal: Literal, names: Mapping[str, str]) -> Literal:
    if isinstance(literal, Scan | Absent | Holds) and literal.relation in names:
        return replace(literal, relation=names[literal.relation])
    return literal


def _operator(operator: Operator, names: Mapping[str, str]) -> Operator:
    if isinstance(operator, Aggregate):
        groups = names.get(operator.groups, operator.groups)
        elements = names.get(operator.elements, operator.elements)
        return replace(operator, groups=groups, elements=elements)
    assert isinstance(operator, Always)
    return replace(operator, timed=names.get(operator.timed, operator.timed))
