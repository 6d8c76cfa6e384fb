"""Locality: whether rules read only what can be reached from their first argument.

The first argument of a predicate is the entity an atom is about. A rule is local if each
atom of its body is about an entity that the rule reaches: its root, the first argument of
its head, or an argument of a positive atom about an entity that it reaches. What a local
program says about an entity then depends on nothing but the facts that can be reached from
it (docs/keyed.md, with the proof).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from clingo.ast import ASTType, Sign

from citywise.reasoning.asp.rules import atom_signatures, atoms, body_atoms, head_atoms
from citywise.reasoning.asp.syntax import Node
from citywise.reasoning.model.request import Signature

_STATEMENTS = (ASTType.Rule, ASTType.Minimize)


@dataclass(frozen=True)
class Leap:
    """A rule that is not local: the line, and the atom it cannot reach."""

    line: int
    atom: str

    def __str__(self) -> str:
        return f"line {self.line} reads `{self.atom}` of everybody"


class Locality:
    """Where a program is not local, and what is the same for all entities.

    `everywhere` are predicates whose facts go into every evaluation (knowledge, the time),
    and `supplied` those of the other facts; `naming` says at which arguments (from 0) facts
    name entities that they reach, where these are not all.
    """

    def __init__(
        self,
        statements: Sequence[Node],
        everywhere: Collection[Signature] = (),
        supplied: Collection[Signature] = (),
        naming: Mapping[Signature, Collection[int]] | None = None,
    ) -> None:
        self._naming = naming
        self._statements = [s for s in statements if s.kind in _STATEMENTS]
        self.everywhere = self._everywhere(frozenset(everywhere), frozenset(supplied))
        """Predicates that hold what they hold in every evaluation, derived ones included."""
        self._reaching = self._reached_arguments(supplied)
        self.leaps = tuple(self._leaps())
        """The rules that are not local."""

    def _everywhere(
        self, given: frozenset[Signature], supplied: frozenset[Signature]
    ) -> frozenset[Signature]:
        """What is given, and what follows from nothing else."""
        derived = {s for rule in self._statements for s in _signatures(head_atoms(rule))}
        # Begin with all that could be and take away what cannot: a greatest fixpoint, so that
        # recursion among predicates that are the same for everybody stays with them.
        found = (given | derived | {s for s in derived if not s.arity}) - supplied
        while True:
            lost = {
                head
                for rule in self._statements
                if not found.issuperset(_signatures(body_atoms(rule)))
                for head in _signatures(head_atoms(rule))
            }
            if not lost & found:
                return found
            found -= lost

    def _named(self, signature: Signature) -> set[int]:
        """The arguments at which facts of a predicate name what they reach."""
        if self._naming is None:
            return set(range(signature.arity))
        return {0, *self._naming.get(signature, ())}

    def _reached_arguments(self, supplied: Iterable[Signature]) -> dict[Signature, set[int]]:
        """Arguments of predicates that are reached wherever there are facts of them or they
        are derived; the largest such sets."""
        found = {signature: self._named(signature) for signature in supplied}
        rules = [r for r in self._statements if r.kind == ASTType.Rule]
        for rule in rules:
            for signature in _signatures(head_atoms(rule)):
                found.setdefault(signature, set(range(signature.arity)))
        self._reaching = found
        while True:
            kept = {signature: set(places) for signature, places in found.items()}
            for rule in rules:
                for atom, conditions in _heads(rule):
                    reach = self._reach([*rule.many("body"), *conditions], _first(atom))
                    for signature in atom_signatures(atom):
                        kept[signature] &= _places(atom, reach)
            # Also a greatest fixpoint: an argument counts as reached only if every rule that
            # derives the predicate reaches it.
            if kept == found:
                return found
            self._reaching = found = kept

    def _leaps(self) -> Iterator[Leap]:
        for rule in self._statements:
            missed = self._missed(rule)
            if missed is not None:
                yield Leap(rule.line, str(missed))

    def _missed(self, rule: Node) -> Node | None:
        """An atom that a rule does not reach from any root it may have."""
        heads = list(head_atoms(rule))
        if heads and all(self._is_everywhere(atom) for atom in heads):
            return None
        roots = [_first(atom) for atom in heads] or self._candidates(rule)
        if rule.kind == ASTType.Rule and _chooses(rule):
            # What is only in the head's conditions ranges over everybody.
            body = {v.name for part in rule.many("body") for v in _variables(part)}
            roots = [root if root in body else None for root in roots]
        missed: list[Node] = []
        for root in dict.fromkeys(roots):
            reach = self._reach(rule.many("body"), root)
            missed = [*self._unreached(rule, reach), *(a for a in heads if _first(a) != root)]
            if not missed:
                return None
        return missed[0] if missed else next(iter(atoms(rule)), None)

    def _candidates(self, rule: Node) -> list[str | None]:
        """What a rule without a head may be about."""
        return [_first(a) for a in _positive(rule.many("body")) if not self._is_everywhere(a)]

    def _reach(self, body: Iterable[Node], root: str | None) -> frozenset[str]:
        return self._closure(_positive(body), {root} if root else set())

    def _closure(self, positive: Iterable[Node], start: Collection[str]) -> frozenset[str]:
        """The variables that positive atoms reach from some."""
        reach, left = set(start), list(positive)
        while True:
            about = [a for a in left if _first(a) in reach and not self._is_everywhere(a)]
            if not about:
                return frozenset(reach)
            for atom in about:
                reach |= self._given_by(atom)
            left = [a for a in left if a not in about]

    def _given_by(self, atom: Node) -> set[str]:
        """The variables that an atom about something reached lets one reach."""
        places = [self._reaching.get(s) for s in atom_signatures(atom)]
        return {
            argument.name
            for number, argument in enumerate(_arguments(atom))
            if argument.kind == ASTType.Variable
            and argument.name != "_"
            and all(known is None or number in known for known in places)
        }

    def _unreached(self, rule: Node, reach: frozenset[str]) -> Iterator[Node]:
        for part in rule.many("body"):
            yield from self._unreached_in(part, reach)
        for _atom, conditions in _heads(rule):
            local = self._closure(_positive(conditions), reach)
            for part in conditions:
                yield from self._unreached_in(part, local)

    def _unreached_in(self, part: Node, reach: frozenset[str]) -> Iterator[Node]:
        """The atoms of an element of a body that are about nothing reached."""
        scopes = [n for n in part.walk() if n.kind in _SCOPES]
        within = {id(a) for scope in scopes for a in atoms(scope)}
        for scope in scopes:
            positive = _positive(scope.many("condition"))
            local = self._closure(positive, reach)
            yield from (a for a in atoms(scope) if not self._is_about(a, local))
        for atom in atoms(part):
            if id(atom) not in within and not self._is_about(atom, reach):
                yield atom

    def _is_about(self, atom: Node, reach: frozenset[str]) -> bool:
        return self._is_everywhere(atom) or _first(atom) in reach

    def _is_everywhere(self, atom: Node) -> bool:
        return all(signature in self.everywhere for signature in atom_signatures(atom))


_SCOPES = (ASTType.ConditionalLiteral, ASTType.BodyAggregateElement)
"""What has conditions of its own, with variables of their own."""


def _chooses(rule: Node) -> bool:
    """Whether a head is a choice or a disjunction."""
    return rule.one("head").kind != ASTType.Literal


def _variables(part: Node) -> Iterator[Node]:
    return (node for node in part.walk() if node.kind == ASTType.Variable)


def _signatures(found: Iterable[Node]) -> set[Signature]:
    return {signature for atom in found for signature in atom_signatures(atom)}


def _arguments(atom: Node) -> tuple[Node, ...]:
    symbol = atom.one("symbol")
    while symbol.kind == ASTType.UnaryOperation:
        symbol = symbol.one("argument")
    return symbol.many("arguments") if symbol.kind == ASTType.Function else ()


def _first(atom: Node) -> str | None:
    """The variable an atom is about, if it is one."""
    arguments = _arguments(atom)
    if not arguments or arguments[0].kind != ASTType.Variable or arguments[0].name == "_":
        return None
    return arguments[0].name


def _places(atom: Node, reach: Collection[str]) -> set[int]:
    """The arguments of an atom that are variables reached."""
    return {
        number
        for number, argument in enumerate(_arguments(atom))
        if argument.kind == ASTType.Variable and argument.name in reach
    }


def _positive(parts: Iterable[Node]) -> list[Node]:
    """The atoms that hold themselves where the parts hold."""
    return [
        part.one("atom")
        for part in parts
        if part.kind == ASTType.Literal
        and part.origin.sign == Sign.NoSign
        and part.one("atom").kind == ASTType.SymbolicAtom
    ]


def _heads(rule: Node) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    """The atoms a rule derives, each with the conditions in the head under which it does."""
    if rule.kind != ASTType.Rule:
        return
    elements = [n for n in rule.one("head").walk() if n.kind == ASTType.ConditionalLiteral]
    if not elements:
        yield from ((atom, ()) for atom in head_atoms(rule))
    for element in elements:
        yield from ((a, element.many("condition")) for a in atoms(element.one("literal")))
