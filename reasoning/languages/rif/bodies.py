"""Conditions as bodies of the engine's rules, over relations of plain facts.

What a condition says is taken apart into scans, comparisons and calls. A disjunction is spread over
bodies where that makes few of them; else it becomes a relation of its own, so that bodies do not
multiply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, count, product
from math import prod

from citywise.reasoning.errors import ItemError
from citywise.reasoning.languages.rif import document as rif
from citywise.reasoning.languages.rif.builtins import builtin
from citywise.reasoning.languages.rif.document import (
    RifAtom,
    RifComputed,
    RifConstant,
    RifRule,
    RifVariable,
)
from citywise.reasoning.languages.rif.values import named, value
from citywise.reasoning.model.joins import SafetyError, ordered, variables_of
from citywise.reasoning.model.rules import Call, Compare, Literal, Rule, Scan
from citywise.reasoning.model.values import Compound, Constant, Term, Value, Variable, variables
from citywise.reasoning.rdf.mapping import RDF, Iri

PART = "#part"
"""How names of relations begin that stand for a part of a body."""
_FEW = 8
"""Bodies over which the disjunctions of a condition are spread without further ado."""
_MOST = 4096

RifBody = list[Literal]


class BodyError(Exception):
    """Why a rule cannot be evaluated."""


@dataclass(frozen=True)
class Solvable(Call):
    """A call of which one argument may be found from the others."""

    solves: Mapping[int, Callable[..., Value | None]] = field(default_factory=dict, hash=False)

    def solved(self, known: frozenset[str]) -> Call | None:
        """The call that gives the only argument without a value its own; None if none does."""
        open_ = [at for at, term in enumerate(self.arguments) if not variables(term) <= known]
        if len(open_) != 1 or open_[0] not in self.solves:
            return None
        (at,) = open_
        others = self.arguments[:at] + self.arguments[at + 1 :]
        return Call(self.solves[at], others, self.arguments[at], self.name)


@dataclass
class Condition:
    """A conjunction of literals and of choices between conditions."""

    literals: RifBody = field(default_factory=list)
    choices: list[list[Condition]] = field(default_factory=list)

    def mentions(self) -> frozenset[str]:
        """The variables in it."""
        inner = (each.mentions() for each in chain(*self.choices))
        return mentioned(self.literals).union(*inner)


class Alternatives:
    """Takes disjunctions out of conditions; `parts` are rules that the bodies need besides."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self.parts: list[Rule] = []

    def bodies(self, condition: Condition, needed: frozenset[str], name: str) -> list[RifBody]:
        """Bodies of which one must hold; what is `needed` has values in all of them."""
        body = condition.literals
        choices: list[list[RifBody]] = []
        for choice in condition.choices:
            others = [each for other in condition.choices if other is not choice for each in other]
            around = needed.union(mentioned(body), *(each.mentions() for each in others))
            choices.append([b for each in choice for b in self.bodies(each, around, name)])
        choices.sort(key=len)
        while prod(map(len, choices)) > _FEW:
            smaller = self._fold(body, choices, needed, name)
            if smaller is None:
                break
            body, choices = smaller
        if prod(map(len, choices)) > _MOST:
            raise BodyError(
                f"its disjunctions make more than {_MOST:,} alternatives; write more rules"
            )
        return [_solved([*body, *chain(*each)]) for each in product(*choices)]

    def _fold(
        self, body: RifBody, choices: list[list[RifBody]], needed: frozenset[str], name: str
    ) -> tuple[RifBody, list[list[RifBody]]] | None:
        """The same with a relation in the place of the largest choice of which variables have
        values whatever is chosen elsewhere; None if there is none."""
        for at in reversed(range(len(choices))):
            others = choices[:at] + choices[at + 1 :]
            outside = needed.union(*(mentioned(each) for other in others for each in other))
            folded = self._folded(body, choices[at], outside, name)
            if folded is not None:
                return folded, others
        return None

    def _folded(
        self, body: RifBody, choice: list[RifBody], outside: frozenset[str], name: str
    ) -> RifBody | None:
        every = frozenset().union(*map(mentioned, choice))
        own = sorted(every & (outside | mentioned(body)))
        if all(_gives(each, own) for each in choice):
            return [*body, self.part(own, choice, name)]
        first = _ready(body)
        rest = [literal for literal in body if literal not in first]
        after = sorted((mentioned(first) | every) & (outside | mentioned(rest)))
        if not all(_gives([*first, *each], after) for each in choice):
            return None
        if len(first) > 1:
            before = sorted(mentioned(first) & every.union(after))
            first = [self.part(before, [first], name)]
        return [*rest, self.part(after, [[*first, *each] for each in choice], name)]

    def part(self, variables: Sequence[str], bodies: Iterable[RifBody], name: str) -> Scan:
        """A relation of its own for what one of some bodies says of variables."""
        terms = tuple(map(Variable, variables))
        relation = f"{PART} {next(self._numbers)}"
        self.parts += [Rule(relation, terms, tuple(body), name) for body in bodies]
        return Scan(relation, terms)


def mentioned(literals: Iterable[Literal]) -> frozenset[str]:
    """The names of the variables in literals."""
    return frozenset().union(*map(variables_of, literals))


def _gives(body: RifBody, names: Iterable[str]) -> bool:
    """Whether a body gives all of its variables values, and `names` among them."""
    body = _solved(body)
    return len(_ready(body)) == len(body) and mentioned(body).issuperset(names)


def _ready(body: RifBody) -> RifBody:
    """The literals that can be met without others."""
    found: RifBody = []
    with suppress(SafetyError):
        for literal, _known in ordered(body, frozenset(), Rule("", ())):
            found.append(literal)
    return found


def _solved(body: RifBody) -> RifBody:
    """The body with calls that give an argument its value from the others, where nothing else
    does."""
    while True:
        ready = _ready(body)
        if len(ready) == len(body):
            return body
        known = mentioned(ready)
        for at, literal in enumerate(body):
            solved = literal.solved(known) if isinstance(literal, Solvable) else None
            if solved is not None:
                body = [*body[:at], solved, *body[at + 1 :]]
                break
        else:
            return body


TYPE = f"<{RDF}type>"
TRIPLE = "triple"
"""The relation of all frames, of arity 3: read and derived where the property is a variable."""

HeadRow = tuple[str, tuple[Term, ...]]
"""Relation and terms."""
_Names = Mapping[str, str]
"""What variables of `Exists` are called."""
_NONE: _Names = {}


class Bodies:
    """Translates the rules of a theory; `parts` are rules they need besides."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._alternatives = Alternatives()
        self.parts = self._alternatives.parts
        self.properties: dict[str, Value] = {TYPE: TYPE}
        """The relations of frames, and the properties they are of."""

    def rules(self, rule: RifRule) -> list[Rule]:
        """The rules of the engine that say the same, each with one head.

        Raises `BodyError` for what the engine cannot evaluate.
        """
        try:
            condition = self._condition(rule.body)
            more: RifBody = []
            heads = [found for head in rule.heads for found in self._heads(head, more)]
        except ItemError as error:
            raise BodyError(str(error)) from error
        if condition is None:
            return []
        condition.literals += more
        needed = frozenset().union(
            *(variables(term) for _relation, terms in heads for term in terms)
        )
        bodies = self._alternatives.bodies(condition, needed, rule.name)
        if len(bodies) > 1 and len(heads) > 1:
            bodies = [[self._alternatives.part(sorted(needed), bodies, rule.name)]]
        return [Rule(*head, tuple(body), rule.name) for body in bodies for head in heads]

    # -- conditions ---------------------------------------------------------------------

    def _condition(self, formula: rif.RifFormula | None) -> Condition | None:
        """The condition of a formula; None if it cannot hold."""
        found = Condition()
        return found if formula is None or self._add(formula, {}, found) else None

    def _add(self, formula: rif.RifFormula, names: _Names, found: Condition) -> bool:
        """Add a formula to a conjunction; False if it cannot hold."""
        match formula:
            case rif.And(parts):
                return all(self._add(part, names, found) for part in parts)
            case rif.Exists(bound, part):
                new = {each.name: f"{each.name}'{next(self._numbers)}" for each in bound}
                return self._add(part, {**names, **new}, found)
            case rif.Or((part,)):
                return self._add(part, names, found)
            case rif.Or(parts):
                return self._choose(parts, names, found)
            case rif.Equal(left, right):
                return self._equal(left, right, names, found.literals)
            case rif.Test(predicate, arguments):
                self._call(predicate, arguments, None, names, found.literals)
            case rif.Member(thing, kind):
                terms = self._terms((thing, kind), names, found.literals)
                found.literals.append(Scan(TYPE, terms))
            case _:
                found.literals += [
                    Scan(relation, terms)
                    for relation, terms in self._heads(formula, found.literals, names)
                ]
        return True

    def _choose(self, parts: tuple[rif.RifFormula, ...], names: _Names, found: Condition) -> bool:
        choice = []
        for part in parts:
            each = Condition()
            if self._add(part, names, each):
                choice.append(each)
        found.choices.append(choice)
        return bool(choice)

    def _equal(self, left: rif.RifTerm, right: rif.RifTerm, names: _Names, found: RifBody) -> bool:
        """Add an equality; False if the terms cannot be equal."""
        if isinstance(left, rif.Sequence) and isinstance(right, rif.Sequence):
            pairs = zip(left.items, right.items, strict=False)
            same = len(left.items) == len(right.items)
            return same and all(self._equal(one, two, names, found) for one, two in pairs)
        if isinstance(left, RifComputed):
            left, right = right, left
        if isinstance(right, RifComputed) and not isinstance(left, RifComputed):
            (result,) = self._terms((left,), names, found)
            self._call(right.function, right.arguments, result, names, found)
            return True
        one, two = self._terms((left, right), names, found)
        if isinstance(one, Constant) and isinstance(two, Constant):
            return one.value == two.value
        found.append(Compare("=", one, two))
        return True

    # -- atoms and terms ----------------------------------------------------------------

    def _heads(self, atom: rif.RifFormula, found: RifBody, names: _Names = _NONE) -> list[HeadRow]:
        """The rows that an atom or a frame stands for."""
        if isinstance(atom, RifAtom):
            terms = self._terms(atom.arguments, names, found)
            return [(named(value(atom.predicate), len(terms)), terms)]
        assert isinstance(atom, rif.Frame)
        (thing,) = self._terms((atom.object,), names, found)
        slots = [self._terms(slot, names, found) for slot in atom.slots]
        return [self._frame(thing, slot, filler) for slot, filler in slots]

    def _frame(self, thing: Term, slot: Term, filler: Term) -> HeadRow:
        if not isinstance(slot, Constant):
            return TRIPLE, (thing, slot, filler)
        self.properties[str(slot.value)] = slot.value
        return str(slot.value), (thing, filler)

    def _terms(
        self, given: Iterable[rif.RifTerm], names: _Names, found: RifBody
    ) -> tuple[Term, ...]:
        return tuple(self._term(term, names, found) for term in given)

    def _term(self, term: rif.RifTerm, names: _Names, found: RifBody) -> Term:
        """A term, in which functions are called before it is looked at."""
        match term:
            case RifVariable(name):
                return Variable(names.get(name, name))
            case RifConstant(constant):
                return Constant(value(constant))
            case rif.Sequence(items):
                terms = self._terms(items, names, found)
                if all(isinstance(each, Constant) for each in terms):
                    return Constant(("", *(e.value for e in terms if isinstance(e, Constant))))
                return Compound("", terms)
            case RifComputed(function, arguments):
                result = Variable(f"#{next(self._numbers)}")
                self._call(function, arguments, result, names, found)
                return result
        raise TypeError(term)

    def _call(
        self,
        function: Iri,
        arguments: tuple[rif.RifTerm, ...],
        result: Term | None,
        names: _Names,
        found: RifBody,
    ) -> None:
        known = builtin(function.value)
        if known is None:
            raise BodyError(f"<{function.value}> is no built-in of RIF-Core")
        terms = self._terms(arguments, names, found)
        if not known.least <= len(terms) <= (known.most or len(terms)):
            raise BodyError(f"`{known.name}` does not take {len(terms)} arguments")
        found.append(Solvable(known.function, terms, result, known.name, known.solves))
