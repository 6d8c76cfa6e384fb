"""Why an atom is in an answer: its derivation as a tree, down to the facts given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from clingo import Symbol
from clingo.ast import Sign

from reasoning.atoms import signature_of
from reasoning.explain import aggregates
from reasoning.explain.derivation import Derivations
from reasoning.explain.instances import Counted, Instance, Recording
from reasoning.explain.origins import FedBack, ItemOrigin, KnowledgeOrigin, Origin
from reasoning.explain.rules import Part, RuleKind, part_of
from reasoning.explain.syntax import walk
from reasoning.explain.tree import Kind, Node, RuleText, origin_json
from reasoning.program import Signature

_HOW: Mapping[RuleKind, tuple[Kind, str]] = {
    "normal": ("derived", "by"),
    "choice": ("chosen", "chosen by"),
    "disjunction": ("alternative", "one of the alternatives of"),
    "shown": ("shown", "shown by"),
}
_SHOWN = 5
"""How many atoms of a list one line names."""


class Why:
    """Builds trees from derivations; an atom is taken apart once in a tree, then named.

    `opaque` are the predicates that rules derive which could not be evaluated; `most` is
    how many elements of an aggregate are followed, `depth` how many levels.
    """

    def __init__(
        self,
        derivations: Derivations,
        origins: Mapping[Symbol, tuple[Origin, ...]],
        recording: Recording,
        opaque: Set[Signature] = frozenset(),
        *,
        most: int = 10,
        depth: int = 24,
    ) -> None:
        self._derivations = derivations
        self._origins = origins
        self._offers, self._opaque = recording.offers, opaque
        self._most, self._depth = most, depth
        self._seen: set[Symbol] = set()
        self._said: set[RuleText] = set()

    def tree(self, atom: Symbol) -> Node:
        """The derivation of `atom`, an atom of the model."""
        self._seen.clear()
        self._said.clear()
        return self._atom(atom, self._depth)

    def shown(self, instance: Instance) -> Node:
        """The derivation of a term that a `#show` statement shows."""
        self._seen.clear()
        self._said.clear()
        return self._instance(instance.head, instance, self._depth)

    def _atom(self, atom: Symbol, depth: int) -> Node:
        text = str(atom)
        if atom in self._origins:
            return given(text, self._origins[atom])
        instance = self._derivations.support.get(atom)
        if instance is None:
            return self._unexplained(atom, text)
        if not instance.rule.body and instance.rule.kind == "normal":
            rule = instance.rule.text
            return Node("fact", f"{text}  fact, line {rule.line}", atom=text, rule=rule)
        if atom in self._seen:
            return Node("seen", f"{text}  (see above)", atom=text)
        if depth <= 0:
            return Node("cut", f"{text}  …", atom=text)
        return self._instance(atom, instance, depth)

    def _unexplained(self, atom: Symbol, text: str) -> Node:
        if signature_of(atom) in self._opaque:
            words = "derived by a rule that could not be taken apart"
            return Node("opaque", f"{text}  {words}", atom=text)
        words = "given; nothing is known of where it comes from"
        return Node("given", f"{text}  {words}", atom=text)

    def _instance(self, atom: Symbol, instance: Instance, depth: int) -> Node:
        self._seen.add(atom)
        rule, text = instance.rule, str(atom)
        kind, how = _HOW[rule.kind]
        said = rule.text in self._said
        self._said.add(rule.text)
        line = f"{text}  {how} {rule.text.name}" + ("" if said else f": {rule.text.text}")
        children = tuple(self._body(instance, self._derivations.order.get(atom), depth - 1))
        node = Node(kind, line, atom=text, rule=rule.text, children=children)
        return self._with_alternatives(node, instance)

    def _with_alternatives(self, node: Node, instance: Instance) -> Node:
        """Names what else a choice or a disjunction had to offer."""
        if instance.rule.kind not in ("choice", "disjunction"):
            return node
        key = instance.rule.index, instance.globals
        offers = [str(offer) for offer in sorted(set(self._offers.get(key, ())))]
        if len(offers) < 2:
            return node
        values = tuple({"atom": offer} for offer in offers[: self._most])
        text = f"{node.text}\namong {listed(offers)}"
        return replace(node, text=text, values=values, count=len(offers))

    def _body(self, instance: Instance, order: int | None, depth: int) -> Iterator[Node]:
        for number, part, atom in instance.parts():
            if atom is not None:
                yield self._atom(atom, depth)
            elif part.kind in ("aggregate", "conditional"):
                yield self._counted(instance, number, part, order, depth)
            elif part.kind != "constant":
                yield literal_node(part, instance.values)
        for atom in instance.atoms[len(instance.rule.positive) :]:
            yield self._atom(atom, depth)
        for condition in instance.rule.heads[instance.element].tests:
            yield literal_node(part_of(condition), instance.values)

    def _counted(
        self, instance: Instance, number: int, part: Part, order: int | None, depth: int
    ) -> Node:
        """An aggregate or a conditional literal and the elements that counted."""
        elements = unique(instance.of(number))
        literal = aggregates.filled(part.source, instance.values)
        text, value = counted_text(part, instance.values, elements)
        if part.kind == "aggregate" and not aggregates.is_assignment(part.source):
            text += f"  ({aggregates.guards(part.source, instance.values)})"
        earlier = [e for e in elements if self._is_earlier(e, order)]
        if len(earlier) < len(elements):
            text += f"; {len(elements) - len(earlier)} of them rest on this in turn"
        followed = () if part.kind == "aggregate" and part.source.sign != Sign.NoSign else earlier
        atoms = dict.fromkeys(a for e in followed[: self._most] for a in e.atoms)
        children = [self._atom(atom, depth) for atom in atoms]
        if len(followed) > self._most:
            children.append(Node("cut", f"… and {len(followed) - self._most} more"))
        kind: Kind = "aggregate" if part.kind == "aggregate" else "conditional"
        return Node(
            kind, text, literal=literal, count=len(elements), value=value,
            values=tuple(element_json(e) for e in elements[: self._most]),
            children=tuple(children),
        )  # fmt: skip

    def _is_earlier(self, element: Counted, order: int | None) -> bool:
        places = self._derivations.order
        return order is None or all(places.get(atom, order) < order for atom in element.atoms)


def given(text: str, origins: tuple[Origin, ...]) -> Node:
    """A fact and where it comes from."""
    kinds: dict[type, Kind] = {
        ItemOrigin: "stream", KnowledgeOrigin: "knowledge", FedBack: "previous",
    }  # fmt: skip
    kind = kinds[type(origins[0])] if origins else "given"
    places = [origin_text(origin) for origin in origins[:3]]
    if len(origins) > 3:
        places.append(f"and {len(origins) - 3} more")
    return Node(kind, f"{text}  {'; '.join(places) or 'given'}", atom=text, origins=origins)


def origin_text(origin: Origin) -> str:
    """Where a fact comes from, in words."""
    if isinstance(origin, ItemOrigin):
        time = f"at {origin.time}" + ("" if origin.until is None else f" until {origin.until}")
        stream = f"stream <{origin.item.stream}> " if origin.item.stream else "stream "
        return stream + time + (f" ({origin.source})" if origin.source else "")
    if isinstance(origin, KnowledgeOrigin):
        detail = origin_json(origin)["detail"]
        return f"knowledge {origin.source}" + (f": {detail}" if detail else "")
    return "from the previous answer" + ("" if origin.time is None else f", at {origin.time}")


def literal_node(part: Part, values: Mapping[str, Symbol]) -> Node:
    """A negative literal or a comparison that holds, with its values filled in."""
    literal = aggregates.filled(part.source, values)
    if part.kind == "opaque":
        return Node("opaque", f"{literal}  could not be taken apart", literal=literal)
    if part.kind == "comparison":
        return Node("comparison", literal, literal=literal)
    atom = ground_text(part, values)
    if part.source.sign == Sign.DoubleNegation:
        return Node("present", f"not not {atom}  it is in the answer", literal=literal, atom=atom)
    anonymous = any(getattr(node, "name", "") == "_" for node in walk(part.atom))
    words = "nothing like it is in the answer" if anonymous else "not in the answer"
    return Node("absent", f"not {atom}  {words}", literal=literal, atom=atom)


def ground_text(part: Part, values: Mapping[str, Symbol]) -> str:
    """The atom of a literal with values filled in and computed where they can be."""
    try:
        return str(aggregates.evaluate(part.atom, values))
    except RuntimeError:
        return aggregates.filled(part.atom, values)


def counted_text(
    part: Part, values: Mapping[str, Symbol], elements: list[Counted]
) -> tuple[str, str | None]:
    """What an aggregate came to and over what, in words, and its value."""
    told = listed([_element_text(element) for element in elements])
    if part.kind == "conditional":
        literal = aggregates.filled(part.source, values)
        return f"{literal}  holds for {told or 'lack of any case'}", None
    value = str(aggregates.value(part.source.atom, (e.key for e in elements)))
    return f"{aggregates.name(part.source.atom)} = {value}" + (f": {told}" if told else ""), value


def unique(elements: list[Counted]) -> list[Counted]:
    """One element for each tuple, in order: equal tuples count once."""
    found = {element.key: element for element in reversed(elements)}
    return [found[key] for key in sorted(found)]


def element_json(element: Counted) -> dict[str, str]:
    """An element as a tree's value: its tuple and its atoms."""
    found = {"tuple": ",".join(map(str, element.key.arguments))}
    if element.atoms:
        found["atoms"] = ", ".join(map(str, element.atoms))
    return found


def _element_text(element: Counted) -> str:
    if element.atoms:
        return " and ".join(map(str, element.atoms))
    return ",".join(map(str, element.key.arguments))


def listed(texts: list[str], most: int = _SHOWN) -> str:
    """The first of many, and how many there are."""
    told = ", ".join(texts[:most])
    return told + (f", … ({len(texts)} in all)" if len(texts) > most else "")
