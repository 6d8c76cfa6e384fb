"""Files of ASP facts (`.lp`) as knowledge: ground facts, and nothing that computes at length."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator

import clingo
from clingo import ast as clingo_ast
from clingo.ast import AST, ASTType, UnaryOperator

from reasoning.errors import ItemError
from reasoning.model import atoms

MOST_FACTS = 1_000_000
"""Facts that the intervals and pools of one statement may stand for."""

_SKIPPED = r'%\*.*?\*%|%[^\n]*|"(?:[^"\\\n]|\\.)*"'
_COMMENT_OR_STRING = re.compile(rf"%\*.*?\*%|%[^\n]*|{atoms.STRING.pattern}", re.DOTALL)
_STATEMENT = re.compile(
    rf"\s*(?:%\*.*?\*%|%[^\n]*|(?:{_SKIPPED}|\.\.|[^.\"%])+\.(?!\.)|.+|\Z)", re.DOTALL
)
_DIRECTIVE = re.compile(r"#(?!inf\b|sup\b|infimum\b|supremum\b|true\b|false\b)\w*")


class FactError(ItemError):
    """A statement of a `.lp` file that is no ground fact; `line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def read(text: str) -> Iterator[tuple[str, int]]:
    """The facts of a text in clingo's spelling, each with the line it stands on.

    Intervals and pools are expanded. Raises `FactError` for rules, directives and scripts,
    for what is not ground, and for more than `MOST_FACTS` facts from one statement.
    """
    line = 1
    for match in _STATEMENT.finditer(text):
        statement = match.group()
        line += statement.count("\n", 0, start := len(statement) - len(statement.lstrip()))
        try:
            yield from ((fact, line) for fact in _facts_of(statement.strip()))
        except ItemError as error:
            raise FactError(str(error), line) from None
        line += statement.count("\n", start)


def _facts_of(statement: str) -> Iterator[str]:
    """The facts of one statement, comment or stretch of white space."""
    if statement.startswith("%") or not statement:
        return
    if atoms.is_plain(fact := statement[:-1].rstrip()) and statement.endswith("."):
        yield fact
        return
    bare = _COMMENT_OR_STRING.sub(_blank, statement)
    atoms.refuse_characters(statement)
    atoms.refuse_broken_strings(bare)
    atoms.refuse_foreign_letters(bare)
    atoms.refuse_large_numbers(bare)
    atoms.refuse_deep_nesting(bare)
    if match := _DIRECTIVE.search(bare):  # before clingo reads it: it would open an `#include`
        raise ItemError(f"`{match.group()}`: a knowledge base holds facts only")
    for node in _parsed(statement):
        yield from map(str, _facts(node))


def _parsed(statement: str) -> list[AST]:
    found: list[AST] = []
    told: list[str] = []
    try:
        clingo_ast.parse_string(
            statement, found.append, logger=lambda _code, words: told.append(words)
        )
    except RuntimeError as error:
        reason = " ".join((told[0] if told else str(error)).rpartition("error: ")[2].split())
        raise ItemError(
            f"`{_short(statement)}` is no fact ({reason}); facts end with `.`"
        ) from None
    return [node for node in found[1:] if node.ast_type != ASTType.Comment]


def _blank(match: re.Match[str]) -> str:
    return "''" if match.group().startswith('"') else " "


def _facts(statement: AST) -> Iterator[clingo.Symbol]:
    if statement.ast_type != ASTType.Rule:
        raise ItemError(f"`{_short(statement)}` is no fact; a knowledge base holds facts only")
    if len(statement.body):
        raise ItemError(f"`{_short(statement)}` is a rule; put rules into the program")
    head = statement.head
    is_literal = head.ast_type == ASTType.Literal and not head.sign
    if not is_literal or head.atom.ast_type != ASTType.SymbolicAtom:
        raise ItemError(f"`{_short(statement)}` is no fact; write one ground atom and a `.`")
    yield from _values(head.atom.symbol)


def _values(term: AST) -> list[clingo.Symbol]:
    """What a ground term stands for: one value, or those of its intervals and pools."""
    reader = _READERS.get(term.ast_type)
    if reader is None:
        raise ItemError(
            f"`{_short(term)}` is {_KINDS.get(term.ast_type, 'no value')}; write values"
        )
    found = reader(term)
    if len(found) > MOST_FACTS:
        raise _too_many()
    return found


def _function(term: AST) -> list[clingo.Symbol]:
    if term.external:
        raise ItemError(f"`{_short(term)}`: external functions are not called")
    rows = [_values(argument) for argument in term.arguments]
    if math.prod(map(len, rows)) > MOST_FACTS:
        raise _too_many()
    return [clingo.Function(term.name, row) for row in itertools.product(*rows)]


def _interval(term: AST) -> list[clingo.Symbol]:
    low, high = (_computed(bound) for bound in (term.left, term.right))
    if high - low >= MOST_FACTS:
        raise _too_many()
    return [clingo.Number(value) for value in range(low, high + 1)]


def _negated(term: AST) -> list[clingo.Symbol]:
    """`-p(1)` is classical negation, `-1` a number."""
    if term.operator_type != UnaryOperator.Minus:
        return [clingo.Number(_computed(term))]
    return [
        clingo.Number(-value.number)
        if value.type == clingo.SymbolType.Number
        else clingo.Function(value.name, value.arguments, not value.positive)
        for value in _values(term.argument)
    ]


def _computed(term: AST) -> int:
    """The number a ground arithmetic term stands for, without wrapping."""
    if term.ast_type == ASTType.SymbolicTerm and term.symbol.type == clingo.SymbolType.Number:
        return int(term.symbol.number)
    if term.ast_type == ASTType.UnaryOperation and term.operator_type == UnaryOperator.Minus:
        return -_computed(term.argument)
    raise ItemError(f"`{_short(term)}` is no number; write the value itself")


def _too_many() -> ItemError:
    return ItemError(f"this stands for more than {MOST_FACTS} facts")


def _short(node: AST | str) -> str:
    text = str(node)
    return text if len(text) <= 120 else text[:120] + "…"


_READERS: dict[ASTType, Callable[[AST], list[clingo.Symbol]]] = {
    ASTType.SymbolicTerm: lambda term: [term.symbol],
    ASTType.Function: _function,
    ASTType.Interval: _interval,
    ASTType.UnaryOperation: _negated,
    ASTType.Pool: lambda term: [value for part in term.arguments for value in _values(part)],
}
_KINDS = {ASTType.Variable: "a variable", ASTType.BinaryOperation: "a computation"}
