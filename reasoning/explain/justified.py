"""Justifications as trees: what a fact rests on, and the rules in between."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from reasoning.engines.incremental.relation import BEGINNING
from reasoning.explain.entailed import Bound
from reasoning.explain.justifications import Edge, Given, Justifications
from reasoning.explain.origins import Time
from reasoning.explain.tree import DEPTH, TOLD, RuleText, TreeNode, cut, given, seen
from reasoning.model.rules import Fact, Literal, Scan


class RowNotation(Protocol):
    """How facts, literals and times are written."""

    @property
    def self_evident(self) -> str:
        """Words for a fact that rests on nothing but what its terms are."""

    def atom(self, fact: Fact) -> str:
        """A fact as answers have it."""

    def literal(self, literal: Literal, bound: Bound) -> str:
        """A literal of a body, with values in the place of variables."""

    def time(self, instant: int) -> Time:
        """An instant."""

    def is_part(self, relation: str) -> bool:
        """Whether a relation stands for a part of a body, which is told in its place."""


class Trees:
    """Tells the justifications of a fact; a rule is written out once."""

    def __init__(self, found: Justifications, notation: RowNotation) -> None:
        self._found = found
        self._notation = notation
        self._said: set[RuleText] = set()
        self._seen: set[tuple[Fact, int]] = set()

    def tree(self) -> TreeNode:
        """All justifications, the first of many; each is a tree of its own."""
        found, more = self._found.found, self._found.is_cut
        text = self._notation.atom(self._found.fact)
        if len(found) == 1 and not more:
            node = self._justification(found[0])
            return replace(node, text=f"{text}  {node.text}")
        least = "at least " if more else ""
        count = f"{least}{len(found)} justification{'' if len(found) == 1 else 's'}"
        told = tuple(self._justification(each) for each in found[:TOLD])
        if more or len(found) > TOLD:
            left = "there may be more" if more else f"there are {len(found) - TOLD} more"
            rough = "; this one may say more than is needed" if self._found.is_rough else ""
            told += (TreeNode("cut", f"… {left}, which count no longer{rough}"),)
        spans = [self._found.span(each) for each in found]
        last = None if any(end is None for _since, end in spans) else max(e or 0 for _, e in spans)
        valid = self._valid(min(since for since, _end in spans), last)
        return TreeNode(
            "justified", f"{text}  {_lasting(valid)}, by {count}", atom=text,
            count=len(found), children=told, valid=valid,
        )  # fmt: skip

    def _justification(self, justification: int) -> TreeNode:
        self._seen.clear()
        node = self._fact(self._found.fact, justification, DEPTH)
        valid = self._valid(*self._found.span(justification))
        origins = tuple(o for each in self._found.of(justification) for o in each.origins)
        rest = node.text.removeprefix(self._notation.atom(self._found.fact)).lstrip()
        return replace(node, text=f"{_lasting(valid)}, {rest}", valid=valid, origins=origins)

    def _fact(self, fact: Fact, mask: int, depth: int) -> TreeNode:
        because = self._found.because(fact, mask)
        if because is None:
            return self._given(fact, mask)
        edge, by = because
        text = self._notation.atom(fact)
        if (fact, mask) in self._seen:
            return seen(text)
        if depth <= 0:
            return cut(text)
        self._seen.add((fact, mask))
        rule, name = edge.clause.text, edge.clause.name
        line = f"{text}  by {name}" + ("" if rule in self._said else f": {rule.text}")
        self._said.add(rule)
        children = tuple(self._body(edge, by, depth - 1))
        valid = self._valid(*self._found.span(mask))
        return TreeNode("derived", line, atom=text, rule=rule, children=children, valid=valid)

    def _body(self, edge: Edge, by: tuple[int, ...], depth: int) -> Iterator[TreeNode]:
        """What the literals of a body rest on; a part of the body on what its own do."""
        premises = iter(zip(edge.premises, by, strict=True))
        for literal in edge.clause.rule.body:
            if not isinstance(literal, Scan):
                text = self._notation.literal(literal, edge.bound)
                yield TreeNode("comparison", text, literal=text)
                continue
            fact, mask = next(premises)
            because = self._found.because(fact, mask)
            if self._notation.is_part(fact[0]) and because is not None:
                yield from self._body(*because, depth)
            else:
                yield self._fact(fact, mask, depth)

    def _given(self, fact: Fact, mask: int) -> TreeNode:
        text = self._notation.atom(fact)
        if not mask:
            return TreeNode("given", f"{text}  {self._notation.self_evident}", atom=text)
        return self._told(self._found.of(mask)[0], text)

    def _told(self, instance: Given, text: str) -> TreeNode:
        """A fact that is given, and by what."""
        valid = self._valid(instance.since, instance.last)
        if instance.stated:
            stated = instance.stated[0]
            places = "; ".join(each.place for each in instance.stated)
            node = TreeNode("fact", f"{text}  fact, {places}", atom=text, rule=stated.text)
            return replace(node, origins=instance.origins, valid=valid)
        return replace(given(text, instance.origins), valid=valid)

    def _valid(self, since: int, last: int | None) -> tuple[Time | None, Time | None]:
        """The first and the last time; None: without one."""
        time = self._notation.time
        return None if since == BEGINNING else time(since), None if last is None else time(last)


def _lasting(valid: tuple[Time | None, Time | None]) -> str:
    """From when to when something holds, in words."""
    since, last = valid
    if since is None and last is None:
        return "holds always"
    begin = "" if since is None else f" from {since}"
    return f"holds{begin}" + (" on" if last is None else f" until {last}")
