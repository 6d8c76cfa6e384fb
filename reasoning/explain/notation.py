"""How an explanation writes what it is about: atoms, literals and rules."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from clingo import Symbol
from clingo.ast import AST

from citywise.reasoning.explain.model import Model
from citywise.reasoning.explain.syntax import Substitution
from citywise.reasoning.explain.tree import RuleText, TreeNode
from citywise.reasoning.model.atoms import ground
from citywise.reasoning.model.request import Signature

Bindings = Mapping[str, Symbol]
"""Variables with what they stand for."""
Role = Literal["told", "view", "same"]

_BLANKS = re.compile(rb'("(?:[^"\\]|\\.)*")|\s+')
_LABEL = re.compile(rb"\(\s*([\w-]+)\s*\)\s*\Z")


class Notation:
    """The notation of C-ASP, in which programs are evaluated as they are written.

    A language whose programs are encoded for clingo writes the atoms and rules of its encoding as
    its own, and says which of the rules nobody has written. `source` is the program's text with
    its labels.
    """

    def __init__(self, source: str = "") -> None:
        self._lines = source.encode().split(b"\n")

    def asked(self, atom: str) -> str:
        """What is evaluated for an atom that is asked about; raises `ItemError`."""
        return ground(atom)

    def atom(self, atom: Symbol) -> str:
        """An atom; empty for one that goes without saying."""
        return str(atom)

    def literal(self, node: AST, values: Bindings) -> str:
        """A literal, or the term of an atom, with values in the place of variables; empty for one
        that goes without saying."""
        return str(Substitution(values).visit(node))

    def rule(self, statement: AST) -> RuleText:
        """The rule as written (columns of clingo count bytes), and the label before it."""
        begin, end = statement.location.begin, statement.location.end
        span = self._lines[begin.line - 1 : end.line]
        label = None
        if span:
            span[-1] = span[-1][: end.column - 1]
            before, span[0] = span[0][: begin.column - 1], span[0][begin.column - 1 :]
            label = _LABEL.search(before)
        plain = _BLANKS.sub(lambda found: found[1] or b" ", b" ".join(span))
        written = plain.decode("utf-8", "replace").strip()
        if not written or "%" in written:
            written = str(statement)
        if not written.endswith("."):
            written = written.rstrip(";") + "."
        return RuleText(begin.line, written, label.group(1).decode() if label else None)

    def compares(self, node: AST, values: Bindings, *, holds: bool) -> str:
        """What more there is to say of a comparison that holds, or does not."""
        del node, values, holds
        return ""

    def role(self, statement: AST) -> Role:
        """What a rule is for: it is `told` as one of the program; or it is of the encoding, and
        says what is seen of atoms (`view`), or of one atom that it is the `same` as another."""
        del statement
        return "told"

    def derived(self, node: TreeNode, statement: AST, atoms: Sequence[Symbol]) -> TreeNode:
        """The node of an atom that a rule derives from positive `atoms`, as it is told."""
        del statement, atoms
        return node

    def unknown(self, predicate: Signature) -> str:
        """Words for a predicate that no rule derives and of which there is no fact; empty:
        those of C-ASP."""
        del predicate
        return ""

    def hints(self, atom: Symbol, model: Model) -> Sequence[TreeNode]:
        """What else there is to say of an absent atom; it is all there is if the first has the
        count 0."""
        del atom, model
        return ()

    def forbids(self, statement: AST) -> str:
        """Words for what a constraint is about that its text does not say."""
        del statement
        return ""
