"""Rules of C-ASP as rules of the incremental engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product

from clingo import ast
from clingo.ast import AST, ASTType, ComparisonOperator, Sign

from reasoning.asp.rules import AspRule
from reasoning.asp.syntax import Node, copy
from reasoning.asp.terms import ForeignTermError
from reasoning.asp.translation.aggregates import AggregatePart, ConditionalPart, Part
from reasoning.asp.translation.bodies import (
    Draft,
    Reader,
    Scope,
    UnsupportedError,
    binding,
    grounded,
    named,
    names,
    names_of,
    predicate,
    unbound,
)
from reasoning.model.rules import FALSE, Literal, Scan
from reasoning.model.values import Term, Value

MAX_INSTANCES = 200
"""Rules that the pools of one statement may stand for here."""
_AGGREGATES = (ASTType.BodyAggregate, ASTType.Aggregate)
_REFUSED = {Sign.NoSign: Sign.Negation, Sign.Negation: Sign.NoSign}


def draft(rule: AspRule, constants: Mapping[str, Value], is_lower: Callable[[str], bool]) -> Draft:
    """A rule translated; `is_lower` tells relations that do not depend on its head.

    Raises `UnsupportedError`, whose message begins with what the rule does.
    """
    found = Draft(rule.name, constants)
    try:
        for tree in _instances(rule.tree):
            _Instance(found, tree, is_lower).translate()
    except ForeignTermError as error:
        raise UnsupportedError(f"holds {error.what}: `{error.node}`") from None
    return found


class _Instance:
    """A rule without pools."""

    def __init__(self, draft: Draft, tree: Node, is_lower: Callable[[str], bool]) -> None:
        self._draft = draft
        self._head = tree.one("head")
        self._body = tree.many("body")
        self._reader = Reader(draft.constants)
        self._scope = Scope(draft, self._reader)
        self._is_lower = is_lower
        self._grouped: list[tuple[frozenset[str], tuple[Literal, ...]]] = []
        """What the aggregates need, and which literals give it."""

    def translate(self) -> None:
        """Add the rule, and what it needs, to the draft."""
        # Aggregates and conditions wait: which of their variables are shared, and what gives
        # these values, can be told when the other literals are there.
        later = []
        for part in self._body:
            if part.kind == ASTType.Literal and part.one("atom").kind not in _AGGREGATES:
                self._scope.literal(part)
            else:
                later.append(self._part(part))
        head, arguments = self._derived()
        terms = tuple(map(self._scope.term, arguments))
        self._complete(later)
        if not self._scope.never and head is not None:
            self._leave_out_what_groups_say(terms)
            self._draft.rule(head, terms, tuple(self._scope.literals))

    def _derived(self) -> tuple[str | None, tuple[Node, ...]]:
        """The relation of the head, None where it is true, and its arguments."""
        atom = self._head.one("atom")
        if atom.kind == ASTType.BooleanConstant:
            return (None if atom.origin.value else FALSE), ()
        return predicate(atom)

    def _part(self, part: Node) -> Part:
        if part.kind == ASTType.ConditionalLiteral:
            return ConditionalPart(self._draft, self._reader, part, self._outside)
        if part.kind != ASTType.Literal:
            raise UnsupportedError(f"holds `{part}`")
        return AggregatePart(self._draft, self._reader, part, self._outside)

    @property
    def _outside(self) -> frozenset[str]:
        """Variables that occur outside of aggregates and conditional literals."""
        found = named(self._head)
        for part in self._body:
            if part.kind != ASTType.Literal:
                continue
            atom = part.one("atom")
            if atom.kind in _AGGREGATES:
                found |= named(*atom.many("left_guard"), *atom.many("right_guard"))
            else:
                found |= named(atom)
        return found

    def _complete(self, parts: list[Part]) -> None:
        """Translate parts, each when the rest of the body gives it what it needs."""
        while parts:
            # In rounds: the value of one aggregate may be what the next one is grouped by.
            # `given` is asked of all before any is built, so that the order of writing decides
            # nothing.
            ready = [(part, self._given(part)) for part in parts]
            for part, given in ready:
                if given is not None:
                    part.build(given, self._scope)
                    if isinstance(part, AggregatePart) and part.guards:
                        self._grouped.append((part.needs, given))
            parts = [part for part, given in ready if given is None]
            if parts and all(given is None for _part, given in ready):
                raise UnsupportedError(self._why_not(parts[0].needs))

    def _why_not(self, needed: frozenset[str]) -> str:
        unsafe = needed - names(grounded(self._scope.literals))
        if unsafe:
            return unbound(unsafe)
        wanted = ", ".join(sorted(needed))
        return f"aggregates for values of {wanted} that only its own recursion gives"

    def _leave_out_what_groups_say(self, head: tuple[Term, ...]) -> None:
        """An aggregate has values for its groups alone: what gives the groups, and says
        nothing else, need not be joined with them once more."""
        for needs, given in self._grouped:
            others = [x for x in self._scope.literals if not any(x is y for y in given)]
            used = names(others) | names_of(head)
            # Literals are compared by identity: the same literal written twice must not lose
            # both.
            if not (names(given) - needs) & used:
                self._scope.literals = others

    def _given(self, part: Part) -> tuple[Literal, ...] | None:
        return binding(part.needs, filter(self._is_complete, self._scope.literals))

    def _is_complete(self, literal: Literal) -> bool:
        """Whether a literal does not depend on the rule's head."""
        return not isinstance(literal, Scan) or self._is_lower(literal.relation)


# -- statements that stand for several ---------------------------------------------------


def _instances(tree: Node) -> Iterator[Node]:
    """The rules that a statement stands for, their heads atoms or truth values."""
    # `unpool` copies the whole tree, and most rules have no pools.
    has_pools = any(node.kind == ASTType.Pool for node in tree.walk())
    written = tree.origin.unpool() if has_pools else [tree.origin]
    if len(written) > MAX_INSTANCES:
        raise UnsupportedError(f"stands for more than {MAX_INSTANCES} rules by its pools")
    for rule in written:
        plain = _with_atom(rule)
        bodies = list(product(*map(_alternatives, plain.body)))
        # Unchanged: the tree at hand is kept, which is already read and knows its positions.
        if len(bodies) == 1 and plain is tree.origin:
            yield tree
        else:
            yield from (copy(plain.update(body=sum(body, ()))) for body in bodies)


def _with_atom(rule: AST) -> AST:
    """A rule whose head is a comparison, or behind `not`, as the constraint that it is."""
    head = rule.head
    if head.ast_type != ASTType.Literal:
        raise UnsupportedError(f"derives `{head}`")
    kind = head.atom.ast_type
    if head.sign == Sign.NoSign and kind in (ASTType.SymbolicAtom, ASTType.BooleanConstant):
        return rule
    # `X > 1 :- b.` and `not p :- b.` derive nothing; they forbid the body while the head does not
    # hold.
    refused = head.update(sign=_REFUSED.get(Sign(head.sign), Sign.Negation))
    false = ast.Literal(head.location, Sign.NoSign, ast.BooleanConstant(0))
    return rule.update(head=false, body=[*rule.body, refused])


def _alternatives(part: AST) -> list[tuple[AST, ...]]:
    """What a part of a body stands for, where several things make it true: the literals
    of which one must hold for `not 1 < X < 5`.

    As in clingo, the literals of a chain need not all have values, those of bounds must.
    """
    if part.ast_type != ASTType.Literal or part.sign != Sign.Negation:
        return [(part,)]
    atom = part.atom
    if atom.ast_type == ASTType.Comparison and len(atom.guards) > 1:
        terms = [atom.term, *(guard.term for guard in atom.guards)]
        steps = [ast.Comparison(t, [g]) for t, g in zip(terms, atom.guards, strict=False)]
        terms = [interval for term in terms for interval in _intervals(term)]
    elif atom.ast_type in _AGGREGATES and atom.left_guard and atom.right_guard:
        terms = [atom.left_guard.term, atom.right_guard.term]
        steps = [atom.update(right_guard=None), atom.update(left_guard=None)]
    else:
        return [(part,)]
    defined = [_defined(term) for term in terms]
    return [(part.update(atom=step), *defined) for step in steps]


def _intervals(term: AST) -> list[AST]:
    return [node.origin for node in copy(term).walk() if node.kind == ASTType.Interval]


def _defined(term: AST) -> AST:
    """A literal that holds where a term has a value."""
    guard = ast.Guard(int(ComparisonOperator.LessEqual), term)
    return ast.Literal(term.location, Sign.NoSign, ast.Comparison(term, [guard]))
