"""Justifications as trees: what a fact rests on, and the rules in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from reasoning.explain.origins import Time
from reasoning.explain.tree import RuleText, TreeNode
from reasoning.explain.why import given as given_node
from reasoning.languages.rif.compile import BEGINNING
from reasoning.languages.rif.explaining.justifications import Edge, Given, Justifications
from reasoning.languages.rif.explaining.model import Bound
from reasoning.languages.rif.explaining.rules import is_part
from reasoning.languages.rif.names import FactNames
from reasoning.languages.rif.showing import Fact
from reasoning.languages.rif.wording import Wording
from reasoning.model.rules import Call, Compare, Literal, Scan
from reasoning.model.terms import Compound, Constant, Term, Variable

_TOLD = 10
"""Justifications that are told."""
_DEPTH = 24


@dataclass(frozen=True)
class Writing:
    """How facts, literals and times are written."""

    names: FactNames
    wording: Wording
    time: Callable[[int], Time]

    def atom(self, fact: Fact) -> str:
        """A fact as answers have it; a row of a relation of the regime's own likewise."""
        relation, row = fact
        if relation[0] == "#":
            relation = f"_{relation[1:].partition('/')[0]}/{len(row)}"
        return self.names.atom((relation, row))

    def literal(self, literal: Literal, bound: Bound) -> str:
        """A literal of a body, with values in the place of variables."""
        return self.wording.literal(filled(literal, bound))

    def valid(self, since: int, last: int | None) -> tuple[Time | None, Time | None]:
        """The first and the last time; None: without one."""
        return (
            None if since == BEGINNING else self.time(since),
            None if last is None else self.time(last),
        )


def filled(literal: Literal, bound: Bound) -> Literal:
    """A literal with values in the place of variables."""
    match literal:
        case Scan(relation, terms):
            return Scan(relation, tuple(_filled(term, bound) for term in terms))
        case Compare(comparator, left, right):
            return Compare(comparator, _filled(left, bound), _filled(right, bound))
        case Call(function, arguments, result, name):
            found = tuple(_filled(term, bound) for term in arguments)
            return Call(function, found, result and _filled(result, bound), name)
    return literal


def _filled(term: Term, bound: Bound) -> Term:
    match term:
        case Variable(name) if name in bound:
            return Constant(bound[name])
        case Compound(name, arguments):
            return Compound(name, tuple(_filled(each, bound) for each in arguments))
    return term


class Trees:
    """Tells the justifications of a fact; a rule is written out once."""

    def __init__(self, found: Justifications, writing: Writing) -> None:
        self._found = found
        self._writing = writing
        self._said: set[RuleText] = set()
        self._seen: set[tuple[Fact, int]] = set()

    def tree(self) -> TreeNode:
        """All justifications, the first of many; each is a tree of its own."""
        found, more = self._found.found, self._found.is_cut
        text = self._writing.atom(self._found.fact)
        if len(found) == 1 and not more:
            node = self._justification(found[0])
            return replace(node, text=f"{text}  {node.text}")
        least = "at least " if more else ""
        count = f"{least}{len(found)} justification{'' if len(found) == 1 else 's'}"
        told = tuple(self._justification(each) for each in found[:_TOLD])
        if more or len(found) > _TOLD:
            left = "there may be more" if more else f"there are {len(found) - _TOLD} more"
            rough = "; this one may say more than is needed" if self._found.is_rough else ""
            told += (TreeNode("cut", f"… {left}, which count no longer{rough}"),)
        spans = [self._found.span(each) for each in found]
        last = None if any(end is None for _since, end in spans) else max(e or 0 for _, e in spans)
        valid = self._writing.valid(min(since for since, _end in spans), last)
        return TreeNode(
            "justified", f"{text}  {lasting(valid)}, by {count}", atom=text,
            count=len(found), children=told, valid=valid,
        )  # fmt: skip

    def _justification(self, justification: int) -> TreeNode:
        self._seen.clear()
        node = self._fact(self._found.fact, justification, _DEPTH)
        valid = self._writing.valid(*self._found.span(justification))
        origins = tuple(o for each in self._found.of(justification) for o in each.origins)
        rest = node.text.removeprefix(self._writing.atom(self._found.fact)).lstrip()
        return replace(node, text=f"{lasting(valid)}, {rest}", valid=valid, origins=origins)

    def _fact(self, fact: Fact, mask: int, depth: int) -> TreeNode:
        because = self._found.because(fact, mask)
        if because is None:
            return self._given(fact, mask)
        edge, by = because
        text = self._writing.atom(fact)
        if (fact, mask) in self._seen:
            return TreeNode("seen", f"{text}  (see above)", atom=text)
        if depth <= 0:
            return TreeNode("cut", f"{text}  …", atom=text)
        self._seen.add((fact, mask))
        rule, name = edge.clause.text, edge.clause.name
        line = f"{text}  by {name}" + ("" if rule in self._said else f": {rule.text}")
        self._said.add(rule)
        children = tuple(self._body(edge, by, depth - 1))
        valid = self._writing.valid(*self._found.span(mask))
        return TreeNode("derived", line, atom=text, rule=rule, children=children, valid=valid)

    def _body(self, edge: Edge, by: tuple[int, ...], depth: int) -> Iterator[TreeNode]:
        """What the literals of a body rest on; a part of the body on what its own do."""
        premises = iter(zip(edge.premises, by, strict=True))
        for literal in edge.clause.rule.body:
            if not isinstance(literal, Scan):
                text = self._writing.literal(literal, edge.bound)
                yield TreeNode("comparison", text, literal=text)
                continue
            fact, mask = next(premises)
            because = self._found.because(fact, mask)
            if is_part(fact[0]) and because is not None:
                yield from self._body(*because, depth)
            else:
                yield self._fact(fact, mask, depth)

    def _given(self, fact: Fact, mask: int) -> TreeNode:
        text = self._writing.atom(fact)
        if not mask:
            return TreeNode("given", f"{text}  by what RDF says of its terms", atom=text)
        return told(self._found.of(mask)[0], text, self._writing)


def told(instance: Given, text: str, writing: Writing) -> TreeNode:
    """A fact that is given, and by what."""
    valid = writing.valid(instance.since, instance.last)
    if instance.stated:
        stated = instance.stated[0]
        places = "; ".join(each.place for each in instance.stated)
        node = TreeNode("fact", f"{text}  fact, {places}", atom=text, rule=stated.text)
        return replace(node, origins=instance.origins, valid=valid)
    return replace(given_node(text, instance.origins), valid=valid)


def lasting(valid: tuple[Time | None, Time | None]) -> str:
    """From when to when something holds, in words."""
    since, last = valid
    if since is None and last is None:
        return "holds always"
    begin = "" if since is None else f" from {since}"
    return f"holds{begin}" + (" on" if last is None else f" until {last}")
