"""Why an atom is in an answer: its derivation as a tree, down to the facts given.

`Derivations` finds for each atom of a model the cheapest rule instance behind it, `Why` makes the
tree.

Atoms are derived from the given ones upwards, each by an instance whose positive atoms
were all derived before it; among these the one whose whole derivation has the fewest
steps (Knuth's generalisation of Dijkstra's algorithm, 1977). What aggregates and
conditional literals counted comes before the atom too. Where that is impossible, because
an aggregate is recursive, it is enough that the body holds over what has been derived:
the atoms so derived satisfy the reduct, and a stable model is minimal among those, so
every atom is reached (Definitions 2.12-2.14).
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import replace

from clingo import Symbol
from clingo.ast import Sign

from citywise.reasoning.explain import instances
from citywise.reasoning.explain.instances import CountedElement, InstanceRecording, RuleInstance
from citywise.reasoning.explain.notation import Bindings, Notation, walk
from citywise.reasoning.explain.rules import RuleKind, RulePart, part_of
from citywise.reasoning.explain.tree import (
    DEPTH,
    TOLD,
    NodeKind,
    Origin,
    RuleText,
    TreeNode,
    cut,
    given,
    listed,
    seen,
)
from citywise.reasoning.model.atoms import signature_of
from citywise.reasoning.model.request import Signature


class Derivations:
    """What derives each atom of a model, without circles.

    `support` holds an instance for each derived atom, `order` the place at which each
    atom was reached; atoms that nothing derives are in neither.
    """

    def __init__(self, instances: Iterable[RuleInstance], given: Iterable[Symbol]) -> None:
        self.support: dict[Symbol, RuleInstance] = {}
        self.order: dict[Symbol, int] = {}
        self._costs: dict[Symbol, int] = {}
        self._queue: list[tuple[int, int]] = []
        self._instances = list(instances)
        self._missing: list[int] = []
        self._sums = [0] * len(self._instances)
        self._waiting: dict[Symbol, list[int]] = {}
        for number, instance in enumerate(self._instances):
            self._enter(number, instance.needs())
        for atom in given:
            self._reach(atom, 1)
        self._settle()

    def assume(self, atoms: Collection[Symbol]) -> None:
        """Take atoms as given that nothing explains, and derive what rests on them."""
        for atom in atoms:
            self._reach(atom, 1)
        self._settle()

    def cost(self, instance: RuleInstance) -> int:
        """Steps of the derivation of an instance's atoms."""
        return sum(self._costs.get(atom, 0) for atom in instance.needs())

    def _enter(self, number: int, needs: set[Symbol]) -> None:
        self._missing.append(len(needs))
        for atom in needs:
            self._waiting.setdefault(atom, []).append(number)
        if not needs:
            heapq.heappush(self._queue, (1, number))

    def _reach(self, atom: Symbol, cost: int) -> None:
        """`atom` is derived: instances that wait for nothing else are ready."""
        if atom in self.order:
            return
        self.order[atom], self._costs[atom] = len(self.order), cost
        for number in self._waiting.get(atom, ()):
            self._missing[number] -= 1
            self._sums[number] += cost
            if not self._missing[number]:
                heapq.heappush(self._queue, (self._sums[number] + 1, number))

    def _settle(self) -> None:
        self._run()
        while self._release():
            self._run()

    def _run(self) -> None:
        while self._queue:
            cost, number = heapq.heappop(self._queue)
            instance = self._instances[number]
            if instance.head not in self.order:
                self.support[instance.head] = instance
                self._reach(instance.head, cost)

    def _release(self) -> bool:
        """Let through instances that hold already over what has been derived."""
        derived = set(self.order)
        found = [
            number
            for number, instance in enumerate(self._instances)
            if self._missing[number] and instance.counted and instance.head not in derived
            if instance.holds_over(derived)
        ]
        for number in found:
            heapq.heappush(self._queue, (self._sums[number] + 1, number))
        return bool(found)


_HOW: Mapping[RuleKind, tuple[NodeKind, str]] = {
    "normal": ("derived", "by"),
    "choice": ("chosen", "chosen by"),
    "disjunction": ("alternative", "one of the alternatives of"),
    "shown": ("shown", "shown by"),
}


class Why:
    """Builds trees from derivations; an atom is taken apart once in a tree, then named.

    `opaque` are the predicates that rules derive which could not be evaluated; `most` is
    how many elements of an aggregate are followed, `depth` how many levels.
    """

    def __init__(
        self,
        derivations: Derivations,
        origins: Mapping[Symbol, tuple[Origin, ...]],
        recording: InstanceRecording,
        notation: Notation,
        opaque: Set[Signature] = frozenset(),
        *,
        most: int = TOLD,
        depth: int = DEPTH,
    ) -> None:
        self._derivations = derivations
        self._origins = origins
        self._offers, self._opaque = recording.offers, opaque
        self._notation = notation
        self._most, self._depth = most, depth
        self._seen: set[Symbol] = set()
        self._said: set[RuleText] = set()

    def tree(self, atom: Symbol) -> TreeNode:
        """The derivation of `atom`, an atom of the model."""
        self._seen.clear()
        self._said.clear()
        return self._atom(atom, self._depth)

    def shown(self, instance: RuleInstance) -> TreeNode:
        """The derivation of a term that a `#show` statement shows."""
        self._seen.clear()
        self._said.clear()
        return self._instance(instance.head, instance, self._depth)

    def _atom(self, atom: Symbol, depth: int) -> TreeNode:
        text = self._notation.atom(atom)
        if atom in self._origins:
            return given(text, self._origins[atom])
        instance = self._derivations.support.get(atom)
        if instance is None:
            return self._unexplained(atom, text)
        if not instance.rule.body and instance.rule.kind == "normal":
            rule = instance.rule.text
            return TreeNode("fact", f"{text}  fact, line {rule.line}", atom=text, rule=rule)
        if atom in self._seen:
            return seen(text)
        if depth <= 0:
            return cut(text)
        return self._instance(atom, instance, depth)

    def _unexplained(self, atom: Symbol, text: str) -> TreeNode:
        if signature_of(atom) in self._opaque:
            words = "derived by a rule that could not be taken apart"
            return TreeNode("opaque", f"{text}  {words}", atom=text)
        words = "given; nothing is known of where it comes from"
        return TreeNode("given", f"{text}  {words}", atom=text)

    def _instance(self, atom: Symbol, instance: RuleInstance, depth: int) -> TreeNode:
        self._seen.add(atom)
        rule, text = instance.rule, self._notation.atom(atom)
        kind, how = _HOW[rule.kind]
        said = rule.text in self._said
        self._said.add(rule.text)
        line = f"{text}  {how} {rule.text.name}" + ("" if said else f": {rule.text.text}")
        children = tuple(self._body(instance, self._derivations.order.get(atom), depth - 1))
        node = TreeNode(kind, line, atom=text, rule=rule.text, children=children)
        told = self._notation.derived(node, rule.statement, instance.atoms)
        return self._with_alternatives(told, instance)

    def _with_alternatives(self, node: TreeNode, instance: RuleInstance) -> TreeNode:
        """Names what else a choice or a disjunction had to offer."""
        if instance.rule.kind not in ("choice", "disjunction"):
            return node
        key = instance.rule.index, instance.globals
        found = sorted(set(self._offers.get(key, ())))
        offers = [self._notation.atom(offer) for offer in found]
        if len(offers) < 2:
            return node
        values = tuple({"atom": offer} for offer in offers[: self._most])
        text = f"{node.text}\namong {listed(offers)}"
        return replace(node, text=text, values=values, count=len(offers))

    def _body(self, instance: RuleInstance, order: int | None, depth: int) -> Iterator[TreeNode]:
        for number, part, atom in instance.parts():
            if atom is not None:
                yield from self._atoms([atom], depth)
            elif part.kind in ("aggregate", "conditional"):
                yield self._counted(instance, number, part, order, depth)
            elif part.kind != "constant":
                yield self._literal(part, instance.values)
        yield from self._atoms(instance.atoms[len(instance.rule.positive) :], depth)
        for condition in instance.rule.heads[instance.element].tests:
            yield self._literal(part_of(condition), instance.values)

    def _atoms(self, atoms: Iterable[Symbol], depth: int) -> Iterator[TreeNode]:
        """Those atoms that do not go without saying."""
        return (self._atom(atom, depth) for atom in atoms if self._notation.atom(atom))

    def _counted(
        self, instance: RuleInstance, number: int, part: RulePart, order: int | None, depth: int
    ) -> TreeNode:
        """An aggregate or a conditional literal and the elements that counted."""
        elements = unique(instance.of(number))
        literal = self._notation.literal(part.source, instance.values)
        text, value = counted_text(part, instance.values, elements, self._notation)
        if part.kind == "aggregate" and not instances.is_assignment(part.source):
            text += f"  ({instances.guards(part.source, instance.values)})"
        earlier = [e for e in elements if self._is_earlier(e, order)]
        if len(earlier) < len(elements):
            text += f"; {len(elements) - len(earlier)} of them rest on this in turn"
        followed = () if part.kind == "aggregate" and part.source.sign != Sign.NoSign else earlier
        atoms = dict.fromkeys(a for e in followed[: self._most] for a in e.atoms)
        children = list(self._atoms(atoms, depth))
        if len(followed) > self._most:
            children.append(TreeNode("cut", f"… and {len(followed) - self._most} more"))
        kind: NodeKind = "aggregate" if part.kind == "aggregate" else "conditional"
        return TreeNode(
            kind, text, literal=literal, count=len(elements), value=value,
            values=tuple(self._element(e) for e in elements[: self._most]),
            children=tuple(children),
        )  # fmt: skip

    def _is_earlier(self, element: CountedElement, order: int | None) -> bool:
        places = self._derivations.order
        return order is None or all(places.get(atom, order) < order for atom in element.atoms)

    def _element(self, element: CountedElement) -> dict[str, str]:
        """An element as a tree's value: its tuple and its atoms."""
        found = {"tuple": ",".join(map(str, element.key.arguments))}
        if element.atoms:
            found["atoms"] = ", ".join(map(self._notation.atom, element.atoms))
        return found

    def _literal(self, part: RulePart, values: Bindings) -> TreeNode:
        """A negative literal or a comparison that holds, with its values filled in."""
        literal = self._notation.literal(part.source, values)
        if part.kind == "opaque":
            return TreeNode("opaque", f"{literal}  could not be taken apart", literal=literal)
        if part.kind == "comparison":
            more = self._notation.compares(part.source, values, holds=True)
            return TreeNode("comparison", f"{literal}{more and '  '}{more}", literal=literal)
        atom = ground_text(part, values, self._notation)
        if part.source.sign == Sign.DoubleNegation:
            text = f"not not {atom}  it is in the answer"
            return TreeNode("present", text, literal=literal, atom=atom)
        anonymous = any(getattr(node, "name", "") == "_" for node in walk(part.atom))
        words = "nothing like it is in the answer" if anonymous else "not in the answer"
        return TreeNode("absent", f"not {atom}  {words}", literal=literal, atom=atom)


def ground_text(part: RulePart, values: Bindings, notation: Notation) -> str:
    """The atom of a literal with values filled in and computed where they can be."""
    try:
        return notation.atom(instances.evaluate(part.atom, values))
    except RuntimeError:
        return notation.literal(part.atom, values)


def counted_text(
    part: RulePart, values: Bindings, elements: list[CountedElement], notation: Notation
) -> tuple[str, str | None]:
    """What an aggregate came to and over what, in words, and its value."""
    told = listed([_element_text(element, notation) for element in elements])
    if part.kind == "conditional":
        literal = notation.literal(part.source, values)
        return f"{literal}  holds for {told or 'lack of any case'}", None
    value = str(instances.value(part.source.atom, (e.key for e in elements)))
    return f"{instances.name(part.source.atom)} = {value}" + (f": {told}" if told else ""), value


def unique(elements: list[CountedElement]) -> list[CountedElement]:
    """One element for each tuple, in order: equal tuples count once."""
    found = {element.key: element for element in reversed(elements)}
    return [found[key] for key in sorted(found)]


def _element_text(element: CountedElement, notation: Notation) -> str:
    if element.atoms:
        return " and ".join(map(notation.atom, element.atoms))
    return ",".join(map(str, element.key.arguments))
