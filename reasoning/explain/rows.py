"""Rows explained as trees: what they rest on and the rules in between, or where each rule for them
breaks and what no longer counts."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Protocol

from citywise.reasoning.engines.incremental.relation import BEGINNING
from citywise.reasoning.explain.absence import alike
from citywise.reasoning.explain.entailed import Bound, Clause, EntailedModel, unified, valued_all
from citywise.reasoning.explain.justifications import GivenFact, Justifications, RuleEdge
from citywise.reasoning.explain.tree import (
    DEPTH,
    SIMILAR,
    TOLD,
    Outside,
    RuleText,
    Time,
    TreeNode,
    cut,
    given,
    holds,
    missing,
    nearest,
    outside,
    seen,
    slip,
)
from citywise.reasoning.model.rules import Fact, Literal, Scan
from citywise.reasoning.model.values import variables

_LEVELS = 5
"""How many facts deep an absence is followed."""
_MOST = 10_000
"""Assignments that are tried for a literal."""


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
            return self._given_fact(fact, mask)
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

    def _body(self, edge: RuleEdge, by: tuple[int, ...], depth: int) -> Iterator[TreeNode]:
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

    def _given_fact(self, fact: Fact, mask: int) -> TreeNode:
        text = self._notation.atom(fact)
        if not mask:
            return TreeNode("given", f"{text}  {self._notation.self_evident}", atom=text)
        return self._given_by(self._found.of(mask)[0], text)

    def _given_by(self, instance: GivenFact, text: str) -> TreeNode:
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


@dataclass(frozen=True)
class PastFacts:
    """What does not count at an instant."""

    items: Mapping[Fact, Sequence[Outside]]
    """Facts of items that do not, and why."""
    entailed: Mapping[Fact, int]
    """Facts that were entailed before, and the last instant at which they were."""
    why: Callable[[Fact, int], TreeNode] | None = None
    """Tells why a fact was entailed at an instant."""


@dataclass(frozen=True)
class _Attempt:
    """How far a body holds for the values of its head."""

    bound: Bound
    held: list[Literal]
    """What holds together, for `bindings`."""
    broken: Literal | None
    """What holds for none of them; None: all does."""
    bindings: list[Bound]


class Unentailed:
    """Explains facts that a model does not have."""

    def __init__(self, model: EntailedModel, past: PastFacts, notation: RowNotation) -> None:
        self._model, self._past, self._notation = model, past, notation
        self._said: set[RuleText] = set()
        self._seen: set[Fact] = set()

    def tree(self, fact: Fact) -> TreeNode:
        """Why a fact does not hold; if it was entailed before, why it was then."""
        node, why = self._missing(fact, _LEVELS, frozenset()), tuple(self._why(fact))
        told = (replace(n, children=why) if n.kind == "past" else n for n in node.children)
        return replace(node, children=(*told, *self._hints(fact)))

    def _why(self, fact: Fact) -> Iterator[TreeNode]:
        """Why it was entailed when it last was."""
        last = self._past.entailed.get(fact)
        if last is not None and self._past.why is not None:
            yield self._past.why(fact, last)

    def _missing(self, fact: Fact, levels: int, asked: frozenset[Fact]) -> TreeNode:
        text = self._notation.atom(fact)
        if fact in self._seen:
            return TreeNode("seen", f"{text}  is not in the answer (see above)", atom=text)
        self._seen.add(fact)
        attempts = list(self._attempts(fact, levels, asked | {fact}))
        known = attempts or self._model.rows(fact[0]) or fact in self._past.items
        words = "no rule derives its predicate, and no fact of it counts"
        unknown = () if known else (TreeNode("unknown", words),)
        children = (*self._before(fact), *unknown, *attempts)
        return missing(text, children)

    # -- rules ----------------------------------------------------------------------------

    def _attempts(self, fact: Fact, levels: int, asked: frozenset[Fact]) -> Iterator[TreeNode]:
        """The rules that could derive a fact; of the regime's those that nearly do."""
        for clause in self._model.clauses:
            bound = self._model.headed(clause, fact)
            if bound is None:
                continue
            attempt = self._attempt(clause, bound)
            if not clause.inferred or self._is_near(clause, attempt, asked):
                said = "" if clause.text in self._said else f": {clause.text.text}"
                self._said.add(clause.text)
                children = tuple(self._describe_attempt(attempt, levels, asked))
                yield TreeNode(
                    "rule", clause.name + said, rule=clause.text, count=len(attempt.bindings),
                    children=children,
                )  # fmt: skip

    def _is_near(self, clause: Clause, attempt: _Attempt, asked: frozenset[Fact]) -> bool:
        """Whether the first condition of a rule that nobody wrote holds, which says what it is
        about, and what it asks for besides is not what is asked."""
        broken = attempt.broken
        if clause.rule.body[0] not in attempt.held:
            return False
        if not isinstance(broken, Scan) or not _is_bound(broken, attempt.bindings[0]):
            return True
        return any(self._model.premise(broken, one) not in asked for one in attempt.bindings)

    def _attempt(self, clause: Clause, bound: Bound) -> _Attempt:
        """How far the body of a clause holds."""
        held: list[Literal] = []
        bindings = [bound]
        rest = clause.rule.body
        while rest:
            literal = self._model.first(rest, bindings[0], hopeful=True)
            if clause.inferred and not held:
                literal = rest[0]  # what it says of classes or properties
            rest = tuple(each for each in rest if each != literal)
            found = (more for one in bindings for more in self._model.extended(literal, one))
            new = list(islice(found, _MOST))
            if not new:
                return _Attempt(bound, held, literal, bindings)
            held.append(literal)
            bindings = new
        return _Attempt(bound, held, None, bindings)

    def _describe_attempt(
        self, attempt: _Attempt, levels: int, asked: frozenset[Fact]
    ) -> Iterator[TreeNode]:
        """What of a body holds, and what breaks."""
        if attempt.held:
            held = (self._notation.literal(each, attempt.bound) for each in attempt.held)
            yield holds(held, len(attempt.bindings))
        if attempt.broken is not None:
            yield self._fails(attempt.broken, attempt.bindings, levels, asked)

    def _fails(
        self, literal: Literal, tried: list[Bound], levels: int, asked: frozenset[Fact]
    ) -> TreeNode:
        """The literal at which a body breaks, with the values tried."""
        if isinstance(literal, Scan) and self._notation.is_part(literal.relation):
            return self._no_alternative(literal, tried, levels, asked)
        is_scan = isinstance(literal, Scan)
        texts = list(dict.fromkeys(self._notation.literal(literal, one) for one in tried))
        said = "there is no {}" if is_scan else "{} is not so"
        told = "; ".join(said.format(text) for text in texts[:SIMILAR])
        more = f"; … ({len(texts)} tried)" if len(texts) > SIMILAR else ""
        text = self._notation.literal(literal, {})
        below = self._below(literal, tried, levels, asked) if isinstance(literal, Scan) else ()
        values = tuple({"literal": each} for each in texts[:SIMILAR])
        return TreeNode(
            "fails", f"{text}  fails: {told}{more}", literal=text, count=len(texts),
            values=values, children=tuple(below),
        )  # fmt: skip

    def _no_alternative(
        self, part: Scan, tried: list[Bound], levels: int, asked: frozenset[Fact]
    ) -> TreeNode:
        """None of the alternatives of a disjunction holds."""
        clauses = [each for each in self._model.clauses if each.rule.head == part.relation]
        children: list[TreeNode] = []
        for clause in clauses:
            names = zip(part.terms, clause.rule.terms, strict=True)
            known = frozenset(tried[0])
            row = [(own, one) for one, own in names if variables(one) <= known]
            given = valued_all((one for _own, one in row), tried[0])
            bound = unified(tuple(own for own, _one in row), given, {})
            if bound is not None:
                children += self._describe_attempt(self._attempt(clause, bound), levels, asked)
        text = "none of the alternatives holds"
        return TreeNode("fails", text, literal=text, count=len(tried), children=tuple(children))

    def _below(
        self, scan: Scan, tried: list[Bound], levels: int, asked: frozenset[Fact]
    ) -> Iterator[TreeNode]:
        """What is to be said of facts that a literal looks for in vain."""
        if _is_bound(scan, tried[0]):
            facts = dict.fromkeys(self._model.premise(scan, one) for one in tried[:SIMILAR])
            if levels > 1:
                new = (fact for fact in facts if fact not in asked)
                yield from (self._missing(fact, levels - 1, asked) for fact in new)
            return
        looks, others = self._model.looks_for, {**self._past.items, **self._past.entailed}
        matching = (fact for fact in others if any(looks(scan, fact, one) for one in tried))
        for fact in islice(matching, SIMILAR):
            yield from self._before(fact)

    # -- what is not about rules ------------------------------------------------------------

    def _before(self, fact: Fact) -> Iterator[TreeNode]:
        """Items that would give a fact and do not count, and when it was entailed."""
        text = self._notation.atom(fact)
        yield from (outside(text, item) for item in self._past.items.get(fact, ())[-SIMILAR:])
        if (last := self._past.entailed.get(fact)) is not None:
            time = self._notation.time(last)
            yield TreeNode(
                "past", f"{text}  was entailed until {time}", atom=text, valid=(None, time)
            )

    def _hints(self, fact: Fact) -> Iterator[TreeNode]:
        """Facts that are there and are written differently, or, where no rule derives any, are
        much like it."""
        relation, _row = fact
        text = self._notation.atom(fact)
        rows = islice(self._model.rows(relation), _MOST)
        there = [self._notation.atom((relation, row)) for row in rows]
        slips = [each for each in there if each != text and alike(each, text)]
        yield from map(slip, slips[:SIMILAR])
        if slips or any(each.rule.head == relation for each in self._model.clauses):
            return
        if near := difflib.get_close_matches(text, there, SIMILAR):
            yield nearest(near)


def _is_bound(scan: Scan, bound: Bound) -> bool:
    return all(variables(term) <= bound.keys() for term in scan.terms)
