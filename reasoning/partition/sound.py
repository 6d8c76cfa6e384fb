"""The sound plan: units of rules that are closed under what their bodies read.

A unit holds, for every predicate that a body of its reads, all rules that derive it, and is
given all facts of it: no atom is derived from an absence that is only local. What guesses
(choices, disjunctions, recursion through negation) is in one unit with all that reads it.
The theorem and its proof are in docs/parallel.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from clingo.ast import ASTType

from citywise.reasoning.asp.dependencies import Dependencies
from citywise.reasoning.asp.rules import AspRule, Labels, Statements, atoms, read
from citywise.reasoning.model.atoms import call
from citywise.reasoning.model.carried import is_ours
from citywise.reasoning.model.engine import AspProgram
from citywise.reasoning.model.request import Signature
from citywise.reasoning.partition.keys import KeyQuestion, find_keys, may_count_together
from citywise.reasoning.partition.plan import Partition, Plan, Reason

_AGGREGATES = (ASTType.BodyAggregate, ASTType.Aggregate, ASTType.ConditionalLiteral)
_GUESSES = ("choice", "disjunction")


def plan(
    what: AspProgram,
    labels: Labels | None = None,
    *,
    present: Iterable[Signature] = (),
    feedback: Mapping[Signature, Signature] | None = None,
    weights: Mapping[Signature, int] | None = None,
    clock: frozenset[Signature] = frozenset(),
    keys: bool = True,
) -> Plan:
    """The plan of a program.

    Parameters
    ----------
    what, labels:
        The program, with its `#show` statements, and the labels of its rules.
    present:
        Predicates of the facts there are, as far as they are known.
    feedback:
        Predicates whose facts are the atoms that another had in the evaluation before.
    weights:
        Numbers of facts, by predicate, for the choice between several keys.
    clock:
        Predicates whose one fact is the time.
    keys:
        Whether keys are looked for.
    """
    statements = read(what.rules, labels)
    here = statements.predicates | frozenset(present)
    rules = (*statements.rules, *_exclusions(here))
    shows = statements.shows if statements.shows is not None else here
    if reason := _indivisible(statements.rules):
        partitions: tuple[Partition, ...] = (Partition(rules, here, shows),)
        reasons = [reason]
    else:
        units = Units(rules, statements, feedback or {})
        partitions, reasons = units.partitions(shows), units.reasons
        if keys:
            question = KeyQuestion(
                frozenset(present), feedback or {}, weights or {}, shows, units.guessed, clock
            )
            partitions, said = _keyed(partitions, question, statements)
            reasons += said
    partitions = tuple(_finished(p, what, statements) for p in partitions)
    constants = statements.constants_text
    return Plan("sound", partitions, tuple(reasons), statements.facts, constants)


def whole(
    what: AspProgram, labels: Labels | None = None, present: Iterable[Signature] = ()
) -> Plan:
    """The plan that cuts nothing."""
    statements = read(what.rules, labels)
    here = statements.predicates | frozenset(present)
    shows = statements.shows if statements.shows is not None else here
    partition = _finished(Partition(statements.rules, here, shows), what, statements)
    return Plan("whole", (partition,), (), statements.facts)


def _finished(partition: Partition, what: AspProgram, statements: Statements) -> Partition:
    prefers = any(rule.kind == "preference" for rule in partition.rules)
    priorities = what.priorities if prefers else ()
    return replace(partition, common=statements.common, priorities=priorities, name=what.name)


def _indivisible(rules: Iterable[AspRule]) -> Reason | None:
    for rule in rules:
        if rule.kind == "other":
            text = f"nothing is cut: `{rule.text.strip()}` speaks of the whole program"
            return Reason(text, (rule,))
    return None


def _exclusions(here: frozenset[Signature]) -> Iterable[AspRule]:
    """What classical negation says: no atom and its opposite hold together."""
    for name, arity in sorted(here):
        if not name.startswith("-") and Signature(f"-{name}", arity) in here:
            atom = call(name, [f"X{n}" for n in range(arity)])
            (rule,) = read(f":- {atom}, -{atom}.").rules
            yield replace(rule, name=f"{name}/{arity} and -{name}/{arity}")


def _keyed(
    partitions: Sequence[Partition], question: KeyQuestion, statements: Statements
) -> tuple[tuple[Partition, ...], list[Reason]]:
    found, reasons = [], list[Reason]()
    for number, partition in enumerate(partitions, 1):
        possible, said = find_keys(partition, question, statements)
        key = possible[0] if possible else None
        found.append(replace(partition, key=key, others=possible[1:]))
        reasons += [replace(reason, partition=number) for reason in said]
    return tuple(found), reasons


@dataclass
class _Unit:
    rules: list[AspRule]
    needs: frozenset[Signature]
    """Predicates that must be whole: all their rules and facts are there."""

    def derives(self, signature: Signature) -> bool:
        return any(signature in rule.head for rule in self.rules)


class Units:
    """The finest cut of rules into units, and why it is not finer."""

    def __init__(
        self,
        rules: Sequence[AspRule],
        statements: Statements,
        feedback: Mapping[Signature, Signature],
    ) -> None:
        self.reasons: list[Reason] = []
        self._rules = rules
        self._feedback = feedback
        self._deriving: dict[Signature, list[AspRule]] = defaultdict(list)
        for rule in rules:
            for signature in rule.head:
                self._deriving[signature].append(rule)
        self.guessed = guessed(rules)
        self._views = [rule for rule in rules if self._is_view(rule)]
        self._part = {rule: rule for rule in rules}
        self._why: dict[tuple[AspRule, AspRule], str] = {}
        self._join(statements)
        self._join_ours()

    def needs(self, rule: AspRule) -> frozenset[Signature]:
        """The predicates of which a rule needs all atoms: those it reads, those it guesses,
        and, so that a partition can go from window to window alone, those fed back to it."""
        # A choice counts the atoms of its head, whoever derives them; so it needs all of them, as
        # if it read them.
        heads = rule.head if rule.kind in _GUESSES else rule.head & self.guessed
        fed_back = {self._feedback[s] for s in rule.body if s in self._feedback}
        return rule.body | heads | fed_back

    def partitions(self, shows: frozenset[Signature]) -> tuple[Partition, ...]:
        """The units with their inputs and what each of them shows."""
        units = self._units()
        homes: dict[int, set[Signature]] = defaultdict(set)
        extra: dict[int, set[Signature]] = defaultdict(set)
        for signature in sorted(shows):
            showing = self._showing(signature, units)
            for place in showing:
                homes[place].add(signature)
            # Facts of a shown predicate go to one of the units that show it, though it may not
            # need them.
            extra[showing[0]].add(signature)
        self._say_cuts(units)
        order = {rule: place for place, rule in enumerate(self._rules)}
        return tuple(
            Partition(
                tuple(sorted(unit.rules, key=lambda rule: order[rule])),
                unit.needs | extra[place],
                frozenset(homes[place]),
            )
            for place, unit in enumerate(units)
        )

    def _showing(self, signature: Signature, units: Sequence[_Unit]) -> list[int]:
        """The units that show a predicate: one that has all of it, else all that derive it."""
        for place, unit in enumerate(units):
            if signature in unit.needs:
                return [place]
        deriving = [
            p for p, unit in enumerate(units) if any(signature in r.head for r in unit.rules)
        ]
        return deriving or [0]

    # -- joining --------------------------------------------------------------------

    def _is_view(self, rule: AspRule) -> bool:
        """Whether it only copies facts of one predicate: cheap enough to run twice."""
        tree = rule.tree
        return (
            rule.kind == "normal"
            and not (rule.head | rule.body) & self.guessed
            and not rule.body & self._feedback.keys()
            and sum(1 for part in tree.many("body") for _ in atoms(part)) == 1
            and not any(node.kind in _AGGREGATES for node in tree.walk())
            and not any(self._deriving[signature] for signature in rule.body)
        )

    def _join(self, statements: Statements) -> None:
        views = set(self._views)
        guesses: dict[Signature, AspRule] = {}
        for rule in self._rules:
            for signature in sorted(self.needs(rule)):
                for other in self._deriving[signature]:
                    if other not in views:
                        # Condition (2) of docs/parallel.md, Units: all rules that derive what a
                        # rule needs are in its unit.
                        self._unite(rule, other, f"{rule.cited} needs all of {signature}")
            for signature in sorted((rule.head | rule.body) & self.guessed):
                # Condition (3) there: parts that guess the same atom would guess it differently.
                other = guesses.setdefault(signature, rule)
                self._unite(rule, other, f"which atoms of {signature} hold is guessed")
        self._join_preferences(statements)

    def _join_ours(self) -> None:
        """Put what only tells us which atoms hold where they are looked at anyway."""
        views = set(self._views)
        for rule in self._rules:
            if not any(map(is_ours, rule.head)) or rule in views:
                continue
            for other in self._rules:
                if other is not rule and other not in views and rule.body <= self.needs(other):
                    self._unite(other, rule, "")
                    break

    def _join_preferences(self, statements: Statements) -> None:
        wishes = [rule for rule in self._rules if rule.kind == "preference"]
        fixed = all(map(statements.has_fixed_priority, wishes))
        for one, other in combinations(wishes, 2):
            # Costs are summed by priority; one that is computed in the grounding cannot be told
            # apart before.
            if not fixed:
                self._unite(one, other, "a priority is known only when it is ground")
            elif may_count_together(one, other, statements.constants):
                self._unite(one, other, "both may count the same tuple, which counts once")

    def _root(self, rule: AspRule) -> AspRule:
        # Union-find; paths are halved on the way.
        while self._part[rule] is not rule:
            self._part[rule] = rule = self._part[self._part[rule]]
        return rule

    def _unite(self, one: AspRule, other: AspRule, why: str) -> None:
        roots = self._root(one), self._root(other)
        if roots[0] is not roots[1]:
            self._part[roots[1]] = roots[0]
            self._why[one, other] = why

    # -- units ----------------------------------------------------------------------

    def _units(self) -> list[_Unit]:
        views = set(self._views)
        groups: dict[AspRule, list[AspRule]] = defaultdict(list)
        for rule in self._rules:
            if rule not in views:
                groups[self._root(rule)].append(rule)
        units = [self._unit(group) for group in groups.values()]
        self._place_views(units)
        self._say_joins(units)
        return units or [_Unit([], frozenset())]

    def _unit(self, rules: list[AspRule]) -> _Unit:
        """A unit of rules, with the views that give what it needs."""
        needs = frozenset[Signature]().union(*map(self.needs, rules))
        # A view in several units costs a copy of its facts; joining the units because of it would
        # cost the cut.
        views = [view for view in self._views if view.head & needs]
        return _Unit(rules + views, needs.union(*(view.body for view in views)))

    def _place_views(self, units: list[_Unit]) -> None:
        """Give a place to the views that no unit needs: where their facts are anyway."""
        placed = {rule for unit in units for rule in unit.rules}
        for view in self._views:
            if view in placed:
                continue
            home = next((unit for unit in units if view.body <= unit.needs), None)
            if home is None:
                units.append(_Unit([view], view.body))
            else:
                home.rules.append(view)

    # -- reasons --------------------------------------------------------------------

    def _say_joins(self, units: Sequence[_Unit]) -> None:
        for (one, other), why in self._why.items():
            if not why:
                continue
            text = f"{_names([other, one])} stay together: {why}"
            self.reasons.append(Reason(text, (other, one)))
        for view in self._views:
            for number, unit in enumerate(units, 1):
                if needed := ", ".join(map(str, sorted(view.head & unit.needs))):
                    text = f"{view.cited} is in partition {number}, which needs all of {needed}"
                    self.reasons.append(Reason(text, (view,)))
            copies = [n for n, unit in enumerate(units, 1) if view in unit.rules]
            if len(copies) > 1:
                places = " and ".join(map(str, copies))
                text = f"{view.cited} runs in partitions {places}: it only copies"
                self.reasons.append(Reason(text, (view,)))

    def _say_cuts(self, units: Sequence[_Unit]) -> None:
        for number, unit in enumerate(units[1:], 2):
            before = frozenset[Signature]().union(*(u.needs for u in units[: number - 1]))
            shared = ", ".join(map(str, sorted(unit.needs & before)))
            copied = f"; its facts of {shared} are copies" if shared else ""
            text = (
                f"partition {number} is cut off: it and those before need nothing that the other "
                f"derives{copied}"
            )
            self.reasons.append(Reason(text))


def guessed(rules: Sequence[AspRule]) -> frozenset[Signature]:
    """The predicates of which answer sets may hold different atoms: those of choices,
    disjunctions and recursion through negation, and all that depends on them."""
    graph = Dependencies([rule.tree for rule in rules])
    found = {signature for rule in rules if rule.kind in _GUESSES for signature in rule.head}
    for edge in graph.edges:
        if edge.negative and graph.together(edge.head, edge.body):
            found.add(edge.head)
    before = -1
    while before != len(found):
        before = len(found)
        for rule in rules:
            if rule.body & found:
                found |= rule.head
    return frozenset(found)


def _names(rules: Sequence[AspRule]) -> str:
    return " and ".join(dict.fromkeys(rule.cited for rule in rules))
