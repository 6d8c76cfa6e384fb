"""Why a fact is not entailed: where each rule for it breaks, and what no longer counts."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from reasoning.explain.absence import alike
from reasoning.explain.entailed import Bound, Clause, EntailedModel, unified, valued_all
from reasoning.explain.justified import RowNotation
from reasoning.explain.origins import Outside
from reasoning.explain.tree import (
    SIMILAR,
    RuleText,
    TreeNode,
    holds,
    missing,
    nearest,
    outside,
    slip,
)
from reasoning.model.rules import Fact, Literal, Scan
from reasoning.model.terms import variables

_LEVELS = 5
"""How many facts deep an absence is followed."""
_MOST = 10_000
"""Assignments that are tried for a literal."""


@dataclass(frozen=True)
class Past:
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

    def __init__(self, model: EntailedModel, past: Past, notation: RowNotation) -> None:
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
            attempt = self._tried(clause, bound)
            if not clause.inferred or self._is_near(clause, attempt, asked):
                said = "" if clause.text in self._said else f": {clause.text.text}"
                self._said.add(clause.text)
                children = tuple(self._told(attempt, levels, asked))
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

    def _tried(self, clause: Clause, bound: Bound) -> _Attempt:
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

    def _told(self, attempt: _Attempt, levels: int, asked: frozenset[Fact]) -> Iterator[TreeNode]:
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
                children += self._told(self._tried(clause, bound), levels, asked)
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
