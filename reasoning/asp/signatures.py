"""What the syntax tree of a program says about its predicates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from clingo.ast import ASTType

from reasoning.asp.numbers import Constants
from reasoning.asp.syntax import Node
from reasoning.model.request import Signature


@dataclass(frozen=True)
class RuleFacts:
    """Predicates of a program, by the side of the rule they stand on."""

    derived: frozenset[Signature]
    used: frozenset[Signature]
    priorities: tuple[int, ...]


def inspect(statements: Sequence[Node], facts: Iterable[Signature] = ()) -> RuleFacts:
    """Collect predicates, those of plain `facts` included, and priorities."""
    derived = set(facts)
    used: set[Signature] = set()
    priorities: set[int] = set()
    constants = Constants(statements)
    for statement in statements:
        derived.update(s for atom in head_atoms(statement) for s in atom_signatures(atom))
        used.update(s for atom in body_atoms(statement) for s in atom_signatures(atom))
        if statement.kind == ASTType.Minimize:
            number = constants.number(statement.one("priority"))
            priorities |= {number} if number is not None else set()
    ordered = tuple(sorted(priorities, reverse=True))
    return RuleFacts(frozenset(derived), frozenset(used), ordered)


def atoms(node: Node) -> Iterator[Node]:
    """The atoms in it."""
    return (part for part in node.walk() if part.kind == ASTType.SymbolicAtom)


def atom_signatures(atom: Node) -> Iterator[Signature]:
    """The predicate of an atom; several for a pool such as `p(1;2,3)`."""
    symbol, sign = atom.one("symbol"), ""
    while symbol.kind == ASTType.UnaryOperation:
        symbol, sign = symbol.one("argument"), "-"
    if symbol.kind == ASTType.Pool:
        for argument in symbol.many("arguments"):
            yield Signature(sign + argument.name, len(argument.many("arguments")))
    elif symbol.kind == ASTType.Function:
        yield Signature(sign + symbol.name, len(symbol.many("arguments")))
    elif symbol.kind == ASTType.SymbolicTerm:
        yield Signature(sign + str(symbol), 0)


def head_atoms(statement: Node) -> Iterator[Node]:
    """Atoms a rule derives; conditions behind `:` in its head are not derived."""
    return _derived(statement.one("head")) if statement.kind == ASTType.Rule else iter(())


def _derived(head: Node) -> Iterator[Node]:
    if head.kind == ASTType.HeadAggregate:
        for element in head.many("elements"):
            yield from atoms(element.one("condition").one("literal"))
    elif head.kind in (ASTType.Aggregate, ASTType.Disjunction):
        for element in head.many("elements"):
            yield from atoms(element.one("literal"))
    else:
        yield from atoms(head)


def body_atoms(statement: Node) -> Iterator[Node]:
    """Atoms a statement looks at: those of its body and of the conditions in its head."""
    for part in statement.many("body"):
        yield from atoms(part)
    if statement.kind == ASTType.Rule:
        for node in statement.one("head").walk():
            if node.kind == ASTType.ConditionalLiteral:
                for part in node.many("condition"):
                    yield from atoms(part)
