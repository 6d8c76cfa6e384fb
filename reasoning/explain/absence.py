"""Why an atom is absent: the literal at which each rule for it breaks, with the values tried."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from itertools import islice

import clingo
from clingo import Symbol, SymbolType
from clingo.ast import AST, Sign

from citywise.reasoning.explain.conflict import conflict
from citywise.reasoning.explain.instances import CountedElement, elements, evaluate, guards
from citywise.reasoning.explain.model import Model, Solver, model_of
from citywise.reasoning.explain.notation import Bindings, Notation, Substitution, signature
from citywise.reasoning.explain.prefixes import Attempt, Prefixes, Step, matches
from citywise.reasoning.explain.rules import AggregateElement, ExplainedRule, RulePart
from citywise.reasoning.explain.tree import (
    SIMILAR,
    TOLD,
    Facts,
    Outsiders,
    TreeNode,
    holds,
    listed,
    missing,
    nearest,
    outside,
    slip,
    spelled,
)
from citywise.reasoning.explain.why import counted_text, ground_text, unique
from citywise.reasoning.model.atoms import signature_of
from citywise.reasoning.model.engine import OURS
from citywise.reasoning.model.request import Request, Signature, previous

_LEVELS = 7
"""How many atoms deep an absence is followed."""
_NOT_WRITTEN = ("Any", OURS.capitalize())
"""How variables begin that were given to `_`, and those of encodings."""


class Absence:
    """Explains atoms that are not in one answer set.

    `why` gives the derivation of an atom that is there, for `not` that fails; `offers`
    among what a choice or disjunction had to choose; `cost` is the answer set's; `meanings`
    say of predicates that come from outside when their atoms hold.
    """

    def __init__(
        self,
        rules: Sequence[ExplainedRule],
        model: Model,
        why: Callable[[Symbol, int], TreeNode],
        offers: Callable[[Attempt], Iterable[Sequence[Symbol]]],
        solver: Solver,
        request: Request,
        facts: Facts,
        outside: Outsiders,
        notation: Notation,
        *,
        most: int = TOLD,
        cost: tuple[int, ...] = (),
        meanings: Mapping[Signature, str] | None = None,
    ) -> None:
        self._notation = notation
        self._rules, self._model, self._why = rules, model, why
        self._meanings = meanings or {}
        self._offers = offers
        self._solver, self._request = solver, request
        self._facts = facts
        self._outside = {spelled(fact): found for fact, found in outside.items()}
        self._most, self._cost = most, cost
        self._prefixes = Prefixes(rules, model, most, notation)
        self._derived = {s for rule in rules for s in rule.derives()}
        self._used = {s for rule in rules for s in rule.uses()}
        self._fed_back = {Signature(previous(s.name), s.arity) for s in request.feedback}

    @cached_property
    def _outside_atoms(self) -> Model:
        return model_of(clingo.parse_term(fact) for fact in self._outside)

    def tree(self, atom: Symbol) -> TreeNode:
        """Why `atom` is absent, with the answer sets that have it, if any do."""
        node = self._missing(atom, _LEVELS, frozenset())
        more = tuple(self._elsewhere(atom))
        return TreeNode("missing", node.text, atom=node.atom, children=node.children + more)

    def _missing(self, atom: Symbol, levels: int, asked: frozenset[Symbol]) -> TreeNode:
        text = self._notation.atom(atom)
        children = tuple(self._notation.hints(atom, self._model))
        if not children or children[0].count != 0:
            children = (
                *self._unknown(atom),
                *self._outsiders(atom),
                *self._hints(atom),
                *self._attempts(atom, levels, asked | {atom}),
                *children,
            )
        return missing(text, children)

    def _attempts(self, atom: Symbol, levels: int, asked: frozenset[Symbol]) -> Iterator[TreeNode]:
        attempts = list(self._prefixes.attempts(atom))
        said: list[TreeNode] = []
        for attempt in attempts:
            # Rules of an encoding may rest on the same, which is said once.
            said += [n for n in self._attempt(atom, attempt, levels, asked) if n not in said]
        yield from said
        yield from self._others(atom, {attempt.rule.index for attempt in attempts})

    def _others(self, atom: Symbol, tried: Set[int]) -> Iterator[TreeNode]:
        """The rules and facts of its predicate that can never be `atom`."""
        predicate = signature_of(atom)
        others = [
            rule for rule in self._rules
            if rule.index not in tried and predicate in set(rule.derives())
            if self._notation.role(rule.statement) == "told"
        ]  # fmt: skip
        rules = [rule for rule in others if rule.body or rule.kind != "normal"]
        facts = len(others) - len(rules)
        told = self._notation.atom(atom)
        if facts > SIMILAR:
            text = f"none of the program's {facts} facts of `{predicate}` is {told}"
            yield TreeNode("rule", text, count=facts)
        for rule in rules if facts > SIMILAR else others:
            heads = ", ".join(map(self._head, rule.heads))
            text = f"{rule.text.name}  derives {heads}, which is never {told}"
            yield TreeNode("rule", text, rule=rule.text)

    def _head(self, head: AggregateElement) -> str:
        """What a head derives, and on what condition."""
        atom, *conditions = (self._notation.literal(node, {}) for node in head.written)
        return atom + (f" : {', '.join(conditions)}" if conditions else "")

    def _attempt(
        self, atom: Symbol, attempt: Attempt, levels: int, asked: frozenset[Symbol]
    ) -> Iterator[TreeNode]:
        """The rule and how far it holds; in the place of one of an encoding what it rests on."""
        rule = attempt.rule
        role = self._notation.role(rule.statement)
        below = tuple(self._below(attempt, levels, asked))
        if role == "told":
            children = list(self._steps(atom, attempt))
            if attempt.broken is not None:
                children.append(self._failure(attempt, attempt.broken, below))
            text = f"{rule.text.name}: {rule.text.text}"
            yield TreeNode(
                "rule", text, rule=rule.text, count=attempt.count, children=tuple(children)
            )
            return
        for node in below:
            yield from node.children if role == "same" and node.kind == "missing" else [node]

    def _steps(self, atom: Symbol, attempt: Attempt) -> Iterator[TreeNode]:
        """What held, and what is to be said if nothing broke."""
        if attempt.held:
            held = (step.text for step in attempt.held if step.text)
            values = (_filled(values) for values in attempt.bindings if values)
            yield holds(held, attempt.count, values)
        if attempt.failure:
            yield TreeNode("opaque", f"could not be taken apart further: {attempt.failure}")
        elif attempt.broken is None:
            yield self._not_chosen(atom, attempt)

    def _not_chosen(self, atom: Symbol, attempt: Attempt) -> TreeNode:
        """The body holds, but the head leaves a choice."""
        offers = [offer for offer in self._offers(attempt) if atom in offer]
        write = self._notation.atom
        taken = [write(a) for offer in offers for a in offer if a in self._model]
        instead = f"; it took {listed(list(dict.fromkeys(taken)))}" if taken else ""
        what = "the choice did not take it" if attempt.rule.kind == "choice" else (
            "another alternative of the disjunction holds"
        )  # fmt: skip
        return TreeNode("not chosen", f"the body holds, but {what}{instead}", atom=write(atom))

    # -- the literal at which a rule breaks -----------------------------------------------

    def _failure(self, attempt: Attempt, step: Step, below: tuple[TreeNode, ...]) -> TreeNode:
        """The broken literal with the values tried, and what it rests on."""
        tried = [{**attempt.values, **binding} for binding in attempt.bindings]
        texts = self._describe_attempts(step, tried)
        more = attempt.count - len(texts)
        told = "; ".join(dict.fromkeys(texts))
        told += f"; … ({attempt.count} tried)" if more > 0 else ""
        values = tuple(
            {**_filled(binding), "literal": text}
            for binding, text in zip(attempt.bindings, texts, strict=True)
        )
        return TreeNode(
            "fails", f"{step.text}  fails: {told}", literal=step.text, count=attempt.count,
            values=values, children=below,
        )  # fmt: skip

    def _describe_attempts(self, step: Step, tried: list[dict[str, Symbol]]) -> list[str]:
        """For each assignment, what was found instead."""
        write = self._notation
        if len(step.parts) > 1:
            texts = [[write.literal(p.source, values) for p in step.parts] for values in tried]
            return [f"{'; '.join(text)} do not hold together" for text in texts]
        part = step.parts[0]
        if part.kind == "aggregate":
            found = elements(part, tried, self._model)
            return [
                f"{counted_text(part, values, unique(counted), write)[0]}, {_unmet(part, values)}"
                for values, counted in zip(tried, found, strict=True)
            ]
        if part.kind == "conditional":
            found_cases = _exceptions(part, tried, self._model)
            return [self._cases(part, values, cases) for values, cases in found_cases]
        return [self._simply(part, values) for values in tried]

    def _simply(self, part: RulePart, values: Bindings) -> str:
        if part.kind not in ("atom", "not"):
            more = self._notation.compares(part.source, values, holds=False)
            false = f"{self._notation.literal(part.source, values)} is false"
            return f"{false}: {more}" if more else false
        atom = ground_text(part, values, self._notation)
        if part.kind == "atom":
            return f"there is no {atom}"
        isnt = "" if part.source.sign == Sign.Negation else "not "
        return f"{atom} is {isnt}in the answer"

    def _cases(self, part: RulePart, values: Bindings, cases: list[CountedElement]) -> str:
        names = [str(node) for node in part.elements[0].key]
        told = []
        for case in cases:
            local = dict(zip(names, case.key.arguments, strict=True))
            told.append(self._notation.literal(part.source.literal, {**values, **local}))
        return f"it does not hold for {listed(list(dict.fromkeys(told)))}"

    def _below(self, attempt: Attempt, levels: int, asked: frozenset[Symbol]) -> Iterator[TreeNode]:
        """Why the first atom is absent, or there, at which a rule broke."""
        step = attempt.broken
        if step is None or len(step.parts) > 1 or step.parts[0].kind not in ("atom", "not"):
            return
        tried = {**attempt.values, **attempt.bindings[0]}
        pattern = Substitution(tried).visit(step.parts[0].atom)
        try:
            atom = evaluate(pattern, {})
        except RuntimeError:
            yield from self._like(pattern, levels, asked)
            return
        if not self._notation.atom(atom):
            return
        if atom in self._model:
            yield self._why(atom, 2)
        elif levels > 1 and atom not in asked:
            yield self._missing(atom, levels - 1, asked)

    def _like(self, pattern: AST, levels: int, asked: frozenset[Symbol]) -> Iterator[TreeNode]:
        """What a literal with variables matched against its `not`, or would have matched,
        had it been in the window or been written otherwise; and why no rule gives any such."""
        predicate = signature(pattern) or Signature("", 0)
        for atom in self._outside_atoms.by_predicate.get(predicate, ()):
            if matches(pattern, atom):
                yield from self._outsiders(atom)
        there = self._model.by_predicate.get(predicate, ())
        if found := [atom for atom in there if matches(pattern, atom)]:
            yield from (self._why(atom, 2) for atom in found[:SIMILAR])
            return
        slips = (atom for atom in there if matches(pattern, atom, _alike))
        yield from (self._slip(atom) for atom in islice(slips, SIMILAR))
        this = clingo.String(str(pattern))
        if levels > 1 and this not in asked:
            for attempt in self._prefixes.attempts_like(pattern):
                if attempt.broken is not None:
                    yield from self._attempt(this, attempt, levels - 1, asked | {this})

    # -- what is not about rules --------------------------------------------------------

    def _unknown(self, atom: Symbol) -> Iterator[TreeNode]:
        """No rule or fact gives the predicate at all."""
        signature = signature_of(atom)
        present = set(self._model.by_predicate)
        if signature in self._fed_back:
            atom_before = str(atom).replace("prev_", "", 1)
            yield TreeNode("unknown", f"the answer before, if there is one, has no {atom_before}")
            return
        if signature in self._derived:
            return
        if signature is not None and signature in self._meanings:
            yield TreeNode("unknown", f"it would say: {self._meanings[signature]}")
            return
        if signature is None or signature in present:
            return
        if words := self._notation.unknown(signature):
            yield TreeNode("unknown", words)
            return
        text = (
            f"no rule derives `{signature}`, and no fact of it is in the window or a knowledge base"
        )
        known = {str(s) for s in self._derived | self._used | present}
        close = difflib.get_close_matches(str(signature), sorted(known), 3, 0.7)
        if close and signature not in self._used:
            text += f"; did you mean {' or '.join(f'`{name}`' for name in close)}?"
        yield TreeNode("unknown", text)

    def _outsiders(self, atom: Symbol) -> Iterator[TreeNode]:
        """Items that would have given it, but are not in the window."""
        written = self._notation.atom(atom)
        yield from (outside(written, o) for o in self._outside.get(str(atom), ())[: self._most])

    def _hints(self, atom: Symbol) -> Iterator[TreeNode]:
        """Atoms that are there and differ only in how a value is written, or but a little."""
        same = list(self._model.named(("" if atom.positive else "-") + atom.name))
        slips = [a for a in same if a != atom and _loosely(a) == _loosely(atom)]
        for each in slips[:SIMILAR]:
            yield self._slip(each)
        if slips or signature_of(atom) in self._derived or not atom.arguments:
            return
        scores = [(_shared(a, atom), a) for a in same if len(a.arguments) == len(atom.arguments)]
        best = max((score for score, _atom in scores), default=0)
        near = [self._notation.atom(a) for score, a in scores if best and score == best]
        if near:
            yield nearest(near)

    def _slip(self, atom: Symbol) -> TreeNode:
        return slip(self._notation.atom(atom))

    def _elsewhere(self, atom: Symbol) -> Iterator[TreeNode]:
        """Other answer sets that have it, or the constraints that let none have it."""
        if not self._solver.knows(atom):
            return
        other = self._solver.with_atom(atom)
        told = self._notation.atom(atom)
        if other is None:
            wish = {str(atom): f":- not {atom}."}
            found = conflict(self._request, self._facts, wish, notation=self._notation)
            if found is not None and found.constraints:
                text = f"no answer set has {told}: it cannot hold together with"
                yield TreeNode("excluded", text, atom=told, children=found.tree.children[1:])
        elif other.cost == self._cost:
            optimal = "optimal " if self._request.priorities else ""
            yield TreeNode("elsewhere", f"another {optimal}answer set has {told}", atom=told)
        else:
            text = (
                f"an answer set with {told} costs {list(other.cost)}, this one {list(self._cost)}"
            )
            yield TreeNode("elsewhere", text, atom=told, value=str(list(other.cost)))


def _filled(values: Bindings) -> dict[str, str]:
    """An assignment as text; variables that nobody wrote are left out of it."""
    return {name: str(value) for name, value in values.items() if not name.startswith(_NOT_WRITTEN)}


def _unmet(part: RulePart, values: Bindings) -> str:
    """What an aggregate's value is not, or is behind `not`."""
    demanded = guards(part.source, values, signed=False)
    return f"{'so' if part.source.sign == Sign.Negation else 'not'} {demanded}"


def _exceptions(
    part: RulePart, tried: list[dict[str, Symbol]], model: Model
) -> Iterator[tuple[Bindings, list[CountedElement]]]:
    """For each assignment the cases of a conditional literal in which it does not hold."""
    element = part.elements[0]
    condition = replace(
        element, condition=element.premises, positive=element.positive[: element.conditions]
    )
    every = elements(replace(part, elements=(condition,)), tried, model)
    held = elements(part, tried, model)
    for values, cases, good in zip(tried, every, held, strict=True):
        keys = {case.key for case in good}
        yield values, [case for case in cases if case.key not in keys]


def _loosely(symbol: Symbol) -> object:
    """What is left of a term when its quotes, escapes, case and decimals do not matter."""
    if symbol.type == SymbolType.Function and symbol.arguments:
        return symbol.name, symbol.positive, tuple(_loosely(part) for part in symbol.arguments)
    text = symbol.string if symbol.type == SymbolType.String else str(symbol)
    plain = text.lstrip("'").casefold()
    try:
        number = Decimal(plain)
    except InvalidOperation:
        return plain
    return number if number.is_finite() else plain


def _alike(one: Symbol, other: Symbol) -> bool:
    return bool(_loosely(one) == _loosely(other))


def alike(one: str, other: str) -> bool:
    """Whether two ground atoms differ only in quotes, escapes, case or how a number is
    written."""
    return _alike(clingo.parse_term(one), clingo.parse_term(other))


def _shared(one: Symbol, other: Symbol) -> int:
    """How many arguments are equal, in place."""
    pairs = zip(one.arguments, other.arguments, strict=True)
    return sum(_loosely(left) == _loosely(right) for left, right in pairs)
