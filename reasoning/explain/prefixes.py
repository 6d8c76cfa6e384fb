"""How far a rule's body holds for an atom: the first literal at which every attempt breaks.

The head is unified with the atom, the body put in an order in which each literal can be
evaluated by what stands before it, and evaluated literal by literal over the model.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import clingo
from clingo import Symbol, SymbolType, ast
from clingo.ast import AST, ASTType, ComparisonOperator, Sign

from citywise.reasoning.explain.instances import evaluate, facts_text, filled, fresh_name
from citywise.reasoning.explain.model import Model
from citywise.reasoning.explain.notation import Bindings, Notation, is_atom, signature, variables
from citywise.reasoning.explain.rules import ExplainedRule, RulePart, part_of
from citywise.reasoning.model.atoms import call
from citywise.reasoning.model.request import Signature

_MOST_COMBINATIONS = 1_000_000


_Fits = Callable[[AST, dict[str, Symbol], list[tuple[AST, Symbol]]], bool]
"""Whether a head fits, with the values of its variables and what is to be compared."""


@dataclass(frozen=True)
class Step:
    """A literal to be evaluated (or several that have values only together): what it
    needs to have a value, and what it gives one."""

    parts: tuple[RulePart, ...]
    text: str
    literals: tuple[str, ...]
    needs: frozenset[str]
    binds: frozenset[str]
    predicate: Signature | None = None


@dataclass(frozen=True)
class Attempt:
    """How far the body of one rule holds for one atom.

    `held` are the literals that hold together for `count` assignments, of which
    `bindings` are the first; `broken` is the one that holds for none of them (None: the
    whole body holds), `rest` what was not reached. `failure` says why the rule could not
    be taken apart.
    """

    rule: ExplainedRule
    head: int
    values: Mapping[str, Symbol]
    held: tuple[Step, ...] = ()
    broken: Step | None = None
    bindings: tuple[dict[str, Symbol], ...] = ()
    count: int = 0
    failure: str | None = None


class Prefixes:
    """Evaluates the bodies of rules over a model, literal by literal."""

    def __init__(
        self,
        rules: Sequence[ExplainedRule],
        model: Model,
        most: int,
        notation: Notation | None = None,
    ) -> None:
        self._rules, self._model, self._most = rules, model, most
        self._notation = notation or Notation()

    def attempts(self, atom: Symbol) -> Iterator[Attempt]:
        """One attempt for each head that unifies with `atom`."""
        return self._attempts(lambda head, *found: unify(head, atom, *found))

    def attempts_like(self, pattern: AST) -> Iterator[Attempt]:
        """One attempt for each head that may be an instance of a term with variables."""
        return self._attempts(lambda head, *found: _may_be(head, pattern, *found))

    def _attempts(self, fits: _Fits) -> Iterator[Attempt]:
        for rule in self._rules:
            for number, head in enumerate(rule.heads):
                if rule.kind == "shown" or head.atom is None:
                    continue
                values: dict[str, Symbol] = {}
                computed: list[tuple[AST, Symbol]] = []
                if fits(head.atom, values, computed):
                    yield self._attempt(rule, number, values, computed)

    def _attempt(
        self,
        rule: ExplainedRule,
        head: int,
        values: dict[str, Symbol],
        computed: list[tuple[AST, Symbol]],
    ) -> Attempt:
        if rule.opaque:
            return Attempt(rule, head, values, failure="it has theory atoms")
        steps = list(self._steps(rule, head, values, computed))
        try:
            return self._walk(rule, head, values, self._ordered(steps))
        except RuntimeError:
            return Attempt(rule, head, values, failure="clingo cannot evaluate it in steps")

    def _steps(
        self,
        rule: ExplainedRule,
        head: int,
        values: dict[str, Symbol],
        computed: list[tuple[AST, Symbol]],
    ) -> Iterator[Step]:
        """The body's parts, the condition of the head's element, and what the head computes."""
        element = rule.heads[head]
        scope = frozenset((*rule.variables, *element.variables)) - set(values)
        for term, value in computed:
            equal = part_of(_equation(term, value))
            yield self._step(equal, equal.literals, scope, values)
        for part in rule.body:
            if part.kind != "constant" or str(part.source) == "#false":
                yield self._step(part, part.literals, scope, values)
        for condition in element.condition:
            yield self._step(part_of(condition), (condition,), scope, values)

    def _step(
        self, part: RulePart, literals: Iterable[AST], scope: frozenset[str], values: Bindings
    ) -> Step:
        every, binds = frozenset[str](), frozenset[str]()
        texts = []
        for node in literals:
            every |= frozenset(variables([node])) & scope
            binds |= _binds(node) & scope
            texts.append(filled(node, values))
        predicate = signature(part.atom) if part.kind == "atom" else None
        told = self._notation.literal(part.source, values)
        return Step((part,), told, tuple(texts), every - binds, binds, predicate)

    def _walk(
        self, rule: ExplainedRule, head: int, values: dict[str, Symbol], steps: list[Step]
    ) -> Attempt:
        chain = _Chain(rule, self._model)
        for number, step in enumerate(steps):
            if self._explodes(chain, step):
                why = f"`{step.text}` would meet {chain.count} assignments, too many to try"
                return Attempt(
                    rule,
                    head,
                    values,
                    tuple(steps[:number]),
                    None,
                    *chain.first_assignments(self._most),
                    why,
                )
            before = chain.first_assignments(self._most)
            chain.extend(step)
            if not chain.count:
                return Attempt(rule, head, values, tuple(steps[:number]), step, *before)
        return Attempt(rule, head, values, tuple(steps), None, *chain.first_assignments(self._most))

    def _explodes(self, chain: _Chain, step: Step) -> bool:
        """Whether a literal that shares nothing with those before it has too many matches."""
        if step.predicate is None or (step.needs | step.binds) & set(chain.variables):
            return False
        return chain.count * self._size(step.predicate) > _MOST_COMBINATIONS

    def _ordered(self, steps: list[Step]) -> list[Step]:
        """Tests first, then what is joined, then the smallest; as written among equals."""
        bound: set[str] = set()
        found: list[Step] = []
        rest = list(steps)
        while rest:
            ready = [step for step in rest if step.needs <= bound]
            if not ready:
                return [*found, _together(rest)]
            best = min(ready, key=lambda step: self._rank(step, bound))
            found.append(best)
            rest.remove(best)
            bound |= best.binds
        return found

    def _size(self, predicate: Signature) -> int:
        return len(self._model.by_predicate.get(predicate, ()))

    def _rank(self, step: Step, bound: set[str]) -> tuple[int, int]:
        size = 0 if step.predicate is None else self._size(step.predicate)
        if step.predicate is not None and not size:
            return (0, 0)
        if step.binds <= bound:
            return (1, 0)
        if step.predicate is None:
            return (2, 0)
        return (3, 0) if (step.needs | step.binds) & bound else (4, size)


class _Chain:
    """The assignments under which a growing sequence of literals holds."""

    def __init__(self, rule: ExplainedRule, model: Model) -> None:
        facts = facts_text([rule], model)
        self._name = fresh_name([rule], facts)
        self._number = 0
        self.variables: tuple[str, ...] = ()
        self._control = clingo.Control(["--warn=none"], logger=lambda _code, _message: None)
        self._control.add("base", [], facts + f"{self._name}0.\n")
        self._control.ground([("base", [])])
        self.count = 1

    def extend(self, step: Step) -> None:
        """Keep the assignments under which `step` holds too."""
        before = call(f"{self._name}{self._number}", self.variables)
        self._number += 1
        self.variables += tuple(sorted(step.binds - set(self.variables)))
        after = call(f"{self._name}{self._number}", self.variables)
        part = f"step{self._number}"
        self._control.add(part, [], f"{after} :- {'; '.join([before, *step.literals])}.")
        self._control.ground([(part, [])])
        self.count = sum(1 for _atom in self._atoms())

    def first_assignments(self, most: int) -> tuple[tuple[dict[str, Symbol], ...], int]:
        """The first assignments, and how many there are."""
        first = [atom.symbol.arguments for atom in islice(self._atoms(), most)]
        return tuple(dict(zip(self.variables, a, strict=True)) for a in first), self.count

    def _atoms(self) -> Iterator[clingo.SymbolicAtom]:
        name = f"{self._name}{self._number}"
        return iter(self._control.symbolic_atoms.by_signature(name, len(self.variables)))


def _together(steps: list[Step]) -> Step:
    """Literals that have values only together, as one."""
    literals = tuple(text for step in steps for text in step.literals)
    names = frozenset[str]().union(*(step.needs | step.binds for step in steps))
    parts = tuple(part for step in steps for part in step.parts)
    return Step(parts, "; ".join(step.text for step in steps), literals, frozenset(), names)


def _equation(term: AST, value: Symbol) -> AST:
    """What a head computes, compared with the value it should have."""
    equal = ast.Guard(ComparisonOperator.Equal, ast.SymbolicTerm(term.location, value))
    return ast.Literal(term.location, Sign.NoSign, ast.Comparison(term, [equal]))


def _binds(node: AST) -> frozenset[str]:
    """Variables that a literal gives values to, the others being known."""
    if is_atom(node):
        return frozenset(_matched(node.atom.symbol))
    if node.ast_type != ASTType.Literal or node.sign != Sign.NoSign:
        return frozenset()
    atom = node.atom
    if atom.ast_type == ASTType.Comparison and len(atom.guards) == 1:
        guard = atom.guards[0]
        if guard.comparison == ComparisonOperator.Equal:
            return _assigned(atom.term, guard.term)
    if atom.ast_type in (ASTType.BodyAggregate, ASTType.Aggregate):
        guard = atom.left_guard
        if guard is not None and guard.comparison == ComparisonOperator.Equal:
            return frozenset(_matched(guard.term))
    return frozenset()


def _assigned(left: AST, right: AST) -> frozenset[str]:
    """What `left = right` binds: one side, if it is a pattern the other does not contain."""
    for pattern, value in ((left, right), (right, left)):
        found = frozenset(_matched(pattern))
        if found and not found & set(variables([value])):
            return found
    return frozenset()


def _matched(term: AST) -> Iterator[str]:
    """Variables of a pattern that matching gives values to (not those in arithmetic)."""
    if term.ast_type == ASTType.Variable:
        if term.name != "_":
            yield term.name
    elif term.ast_type == ASTType.Function:
        for argument in term.arguments:
            yield from _matched(argument)
    elif term.ast_type == ASTType.UnaryOperation and term.argument.ast_type == ASTType.Function:
        yield from _matched(term.argument)


def unify(
    term: AST,
    symbol: Symbol,
    values: dict[str, Symbol],
    computed: list[tuple[AST, Symbol]],
    same: Callable[[Symbol, Symbol], bool] = operator.eq,
) -> bool:
    """Match a term with a symbol, constants by `same`; arithmetic is left to be compared."""
    if term.ast_type == ASTType.Variable:
        return term.name == "_" or values.setdefault(term.name, symbol) == symbol
    if term.ast_type == ASTType.SymbolicTerm:
        return same(term.symbol, symbol)
    if term.ast_type == ASTType.UnaryOperation and term.argument.ast_type == ASTType.Function:
        if symbol.type != SymbolType.Function or symbol.positive:
            return False
        return unify(term.argument, _positive(symbol), values, computed, same)
    if term.ast_type == ASTType.Function:
        if not term.arguments:
            return same(clingo.Function(term.name), symbol)
        fits = symbol.type == SymbolType.Function and symbol.positive and symbol.name == term.name
        if not fits or len(symbol.arguments) != len(term.arguments):
            return False
        pairs = zip(term.arguments, symbol.arguments, strict=True)
        return all(unify(part, value, values, computed, same) for part, value in pairs)
    computed.append((term, symbol))
    return True


def _may_be(
    head: AST, pattern: AST, values: dict[str, Symbol], computed: list[tuple[AST, Symbol]]
) -> bool:
    """Match a head with a term that has variables, which may be anything."""
    if signature(head) != signature(pattern) or pattern.ast_type != ASTType.Function:
        return False
    for part, wanted in zip(head.arguments, pattern.arguments, strict=True):
        try:
            value = evaluate(wanted, {})
        except RuntimeError:
            continue
        if not unify(part, value, values, computed):
            return False
    return True


def matches(
    pattern: AST, symbol: Symbol, same: Callable[[Symbol, Symbol], bool] = operator.eq
) -> bool:
    """Whether a term with variables has `symbol` as an instance, constants equal by `same`."""
    values: dict[str, Symbol] = {}
    computed: list[tuple[AST, Symbol]] = []
    if not unify(pattern, symbol, values, computed, same):
        return False
    try:
        return all(same(evaluate(term, values), value) for term, value in computed)
    except RuntimeError:
        return False


def _positive(symbol: Symbol) -> Symbol:
    return clingo.Function(symbol.name, symbol.arguments)
