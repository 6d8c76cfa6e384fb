"""The atoms of a template's rules, and where findings about them stand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import clingo
from clingo.ast import ASTType

from citywise.reasoning import Finding, Signature
from citywise.reasoning.asp import Node
from citywise.reasoning.errors import Severity
from citywise.reasoning.languages.casp import Reading


def plain(reading: Reading, part: Callable[[Node], Iterator[Node]]) -> Iterator[Node]:
    """Name and arguments of the atoms in a part of each rule (`head_atoms`, `body_atoms`);
    each alternative of a pool, without signs."""
    for rule in reading.rules:
        yield from of_rule(part(rule))


def of_rule(atoms: Iterable[Node]) -> Iterator[Node]:
    """As `plain`, of the atoms of one rule."""
    for atom in atoms:
        symbol = atom.one("symbol")
        while symbol.kind == ASTType.UnaryOperation:
            symbol = symbol.one("argument")
        pool = symbol.many("arguments") if symbol.kind == ASTType.Pool else (symbol,)
        yield from (node for node in pool if node.kind == ASTType.Function)


def firsts(atoms: Iterable[Node]) -> Iterator[Node]:
    """The first atom of each predicate."""
    seen: set[Signature] = set()
    for atom in atoms:
        if signature(atom) not in seen:
            seen.add(signature(atom))
            yield atom


def signature(atom: Node) -> Signature:
    """The predicate of an atom."""
    return Signature(atom.name, len(atom.many("arguments")))


def string(node: Node) -> str | None:
    """The text of a string constant; None of other terms."""
    if node.kind != ASTType.SymbolicTerm:
        return None
    symbol = node.origin.symbol
    return str(symbol.string) if symbol.type is clingo.SymbolType.String else None


def word(node: Node) -> str | None:
    """A constant that is written without quotes; None of other terms."""
    if node.kind != ASTType.SymbolicTerm:
        return None
    symbol = node.origin.symbol
    return str(symbol) if symbol.type is clingo.SymbolType.Function else None


def text(atom: Node, index: int) -> str | None:
    """The argument at an index, if it is a string constant."""
    arguments = atom.many("arguments")
    return string(arguments[index]) if arguments else None


class Findings:
    """Makes findings about the text of some rules."""

    def __init__(self, reading: Reading) -> None:
        self._source = reading.source

    def error(self, node: Node, code: str, message: str) -> Finding:
        """An error at a node of the rules."""
        return self.at(self._source.index(node.line, node.column), code, message)

    def at(self, index: int, code: str, message: str, severity: Severity = "error") -> Finding:
        """A finding at an index of the text; 0 where it is about the whole."""
        return Finding(self._source.location(index), severity, code, message)
