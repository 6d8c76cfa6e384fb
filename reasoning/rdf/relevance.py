"""Which facts can matter to a request's rules: those that some atom of a rule can match."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from clingo import SymbolType
from clingo.ast import AST, ASTType, parse_string

from citywise.reasoning.model.request import Request, Signature

_Places = tuple[int, ...]
"""The arguments of an atom that are constants; the others may take any value."""

_NAME = re.compile(r"_*[a-z][\w']*")
_SHOWS = (ASTType.ShowSignature, ASTType.ProjectSignature)


class Relevance:
    """Tells the facts that no answer can depend on.

    A fact matters if its predicate is derived by a rule or shown, or if it unifies with an
    atom of a rule that is not simply derived by it (the two signs of classical negation
    being one predicate, for they exclude each other). All others can be left out without a
    change in any answer, as no instance of a rule mentions them; only facts that no rule
    mentions and that contradict each other, `p(1)` and `-p(1)`, then go unnoticed.
    """

    def __init__(self, request: Request) -> None:
        # Where only terms are shown, clingo shows all atoms beside them.
        self._shows_all = request.shows_terms and not request.shows
        self._kept: set[Signature] = set()
        self._constants_at: dict[Signature, dict[_Places, set[tuple[str, ...]]]] = {}
        self._redefined: set[str] = set()
        statements: list[AST] = []
        parse_string(request.rules, statements.append, logger=lambda _code, _words: None)
        for statement in statements:
            if statement.ast_type == ASTType.Definition:
                self._redefined.add(statement.name)
        for statement in statements:
            self._read(statement)
        for signature in (*request.derived, *request.shows, *request.feedback):
            self._kept.add(_unsigned(signature))

    def keeps(self, signature: Signature, arguments: Sequence[str]) -> bool:
        """Whether a fact can matter; `arguments` as text in clingo's spelling."""
        signature = _unsigned(signature)
        if self._shows_all or signature in self._kept or self._means_another(arguments):
            return True
        return any(
            tuple(arguments[place] for place in places) in constants
            for places, constants in self._constants_at.get(signature, {}).items()
        )

    def _means_another(self, arguments: Sequence[str]) -> bool:
        """Whether `#const` has an argument stand for something else, in facts too."""
        return bool(self._redefined) and any(
            name in self._redefined
            for argument in arguments
            if not argument.startswith('"')
            for name in _NAME.findall(argument)
        )

    def _read(self, statement: AST) -> None:
        if statement.ast_type in _SHOWS:
            self._kept.add(Signature(statement.name, statement.arity))
            return
        for atom in _atoms(statement):
            for name, arguments in _alternatives(atom.symbol):
                self._note(Signature(name, len(arguments)), arguments)

    def _note(self, signature: Signature, arguments: Sequence[AST]) -> None:
        texts = dict(enumerate(map(self._constant, arguments)))
        constants = {place: text for place, text in texts.items() if text is not None}
        if constants:
            at = self._constants_at.setdefault(signature, {})
            at.setdefault(tuple(constants), set()).add(tuple(constants.values()))
        else:
            self._kept.add(signature)

    def _constant(self, term: AST) -> str | None:
        """The text of a constant, None for a term that may take several values."""
        if term.ast_type != ASTType.SymbolicTerm:
            return None
        symbol = term.symbol
        if symbol.type == SymbolType.Function and str(symbol) in self._redefined:
            return None
        return str(symbol)


def constants(request: Request, signature: Signature, place: int) -> frozenset[str] | None:
    """The constants that atoms of a predicate have at a place, from 0, as text; None where
    one may have any value there, or where the predicate is shown."""
    if request.shows_terms or signature in request.shows:
        return None
    statements: list[AST] = []
    parse_string(request.rules, statements.append, logger=lambda _code, _words: None)
    found: set[str] = set()
    for atom in (atom for statement in statements for atom in _atoms(statement)):
        for name, arguments in _alternatives(atom.symbol):
            if Signature(name, len(arguments)) == signature:
                term = arguments[place]
                if term.ast_type != ASTType.SymbolicTerm or term.symbol.type != SymbolType.String:
                    return None
                found.add(str(term.symbol))
    return frozenset(found)


def _unsigned(signature: Signature) -> Signature:
    return Signature(signature.name.removeprefix("-"), signature.arity)


def _atoms(statement: AST) -> Iterator[AST]:
    """The atoms of a statement."""
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        if node.ast_type == ASTType.SymbolicAtom:
            yield node
            continue
        for key in node.child_keys:
            child = getattr(node, key)
            waiting += [child] if isinstance(child, AST) else list(child or ())


def _alternatives(symbol: AST) -> Iterator[tuple[str, Sequence[AST]]]:
    """Name and arguments of an atom, of each one that a pool stands for, without its sign."""
    while symbol.ast_type == ASTType.UnaryOperation:
        symbol = symbol.argument
    if symbol.ast_type == ASTType.Pool:
        for alternative in symbol.arguments:
            yield from _alternatives(alternative)
    elif symbol.ast_type == ASTType.Function:
        yield symbol.name, symbol.arguments
    else:
        yield str(symbol), ()
