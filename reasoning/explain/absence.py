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

from reasoning.explain import instances
from reasoning.explain.conflict import conflict
from reasoning.explain.instances import Counted, elements, evaluate, guards
from reasoning.explain.model import Model, Solver, model_of
from reasoning.explain.origins import Facts, Outside, Outsiders, spelled
from reasoning.explain.prefixes import Attempt, Prefixes, Step, matches
from reasoning.explain.rules import ExplainedRule, RulePart
from reasoning.explain.syntax import Substitution, signature
from reasoning.explain.tree import TreeNode
from reasoning.explain.why import counted_text, ground_text, listed, origin_text, unique
from reasoning.model.atoms import signature_of
from reasoning.model.request import Request, Signature, previous

Values = Mapping[str, Symbol]


def failure(attempt: Attempt, model: Model, rest: Callable[[AST], Iterable[TreeNode]]) -> TreeNode:
    """The broken literal of `attempt`; `rest` explains the first atom it is about, which
    may have variables left."""
    step = attempt.broken
    assert step is not None
    tried = [{**attempt.values, **binding} for binding in attempt.bindings]
    texts = _told(step, tried, model)
    more = attempt.count - len(texts)
    told = "; ".join(dict.fromkeys(texts)) + (f"; … ({attempt.count} tried)" if more > 0 else "")
    values = tuple(
        {**filled_values(binding), "literal": text}
        for binding, text in zip(attempt.bindings, texts, strict=True)
    )
    part = step.parts[0]
    single = len(step.parts) == 1 and part.kind in ("atom", "not")
    below = rest(Substitution(tried[0]).visit(part.atom)) if single else ()
    return TreeNode(
        "fails", f"{step.text}  fails: {told}", literal=step.text, count=attempt.count,
        values=values, children=tuple(below),
    )  # fmt: skip


def filled_values(values: Values) -> dict[str, str]:
    """An assignment as text; variables that `_` was given are left out of it."""
    return {name: str(value) for name, value in values.items() if not name.startswith("Any")}


def _told(step: Step, tried: list[dict[str, Symbol]], model: Model) -> list[str]:
    """For each assignment, what was found instead."""
    if len(step.parts) > 1:
        texts = [[instances.filled(p.source, values) for p in step.parts] for values in tried]
        return [f"{'; '.join(text)} do not hold together" for text in texts]
    part = step.parts[0]
    if part.kind == "aggregate":
        found = elements(part, tried, model)
        return [
            f"{counted_text(part, values, unique(counted))[0]}, {_unmet(part, values)}"
            for values, counted in zip(tried, found, strict=True)
        ]
    if part.kind == "conditional":
        return [_cases(part, values, e) for values, e in _exceptions(part, tried, model)]
    return [_simply(part, values) for values in tried]


def _unmet(part: RulePart, values: Values) -> str:
    """What an aggregate's value is not, or is behind `not`."""
    demanded = guards(part.source, values, signed=False)
    return f"{'so' if part.source.sign == Sign.Negation else 'not'} {demanded}"


def _simply(part: RulePart, values: Values) -> str:
    if part.kind == "atom":
        return f"there is no {ground_text(part, values)}"
    if part.kind == "not" and part.source.sign == Sign.Negation:
        return f"{ground_text(part, values)} is in the answer"
    if part.kind == "not":
        return f"{ground_text(part, values)} is not in the answer"
    return f"{instances.filled(part.source, values)} is false"


def _exceptions(
    part: RulePart, tried: list[dict[str, Symbol]], model: Model
) -> Iterator[tuple[Values, list[Counted]]]:
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


def _cases(part: RulePart, values: Values, cases: list[Counted]) -> str:
    names = [str(node) for node in part.elements[0].key]
    told = []
    for case in cases:
        local = dict(zip(names, case.key.arguments, strict=True))
        told.append(instances.filled(part.source.literal, {**values, **local}))
    return f"it does not hold for {listed(list(dict.fromkeys(told)))}"


_SIMILAR = 3
_LEVELS = 7
"""How many atoms deep an absence is followed."""


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
        *,
        most: int = 10,
        cost: tuple[int, ...] = (),
        meanings: Mapping[Signature, str] | None = None,
    ) -> None:
        self._rules, self._model, self._why = rules, model, why
        self._meanings = meanings or {}
        self._offers = offers
        self._solver, self._request = solver, request
        self._facts = facts
        self._outside = {spelled(fact): found for fact, found in outside.items()}
        self._most, self._cost = most, cost
        self._prefixes = Prefixes(rules, model, most)
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
        children = (
            *self._unknown(atom),
            *self._outsiders(atom),
            *self._hints(atom),
            *self._attempts(atom, levels, asked | {atom}),
        )
        return TreeNode(
            "missing", f"{atom}  is not in the answer", atom=str(atom), children=children
        )

    def _attempts(self, atom: Symbol, levels: int, asked: frozenset[Symbol]) -> Iterator[TreeNode]:
        attempts = list(self._prefixes.attempts(atom))
        for attempt in attempts:
            yield self._attempt(atom, attempt, levels, asked)
        yield from self._others(atom, {attempt.rule.index for attempt in attempts})

    def _others(self, atom: Symbol, tried: Set[int]) -> Iterator[TreeNode]:
        """The rules and facts of its predicate that can never be `atom`."""
        predicate = signature_of(atom)
        others = [r for r in self._rules if r.index not in tried and predicate in set(r.derives())]
        rules = [rule for rule in others if rule.body or rule.kind != "normal"]
        facts = len(others) - len(rules)
        if facts > _SIMILAR:
            text = f"none of the program's {facts} facts of `{predicate}` is {atom}"
            yield TreeNode("rule", text, count=facts)
        for rule in rules if facts > _SIMILAR else others:
            heads = ", ".join(head.text for head in rule.heads)
            text = f"{rule.text.name}  derives {heads}, which is never {atom}"
            yield TreeNode("rule", text, rule=rule.text)

    def _attempt(
        self, atom: Symbol, attempt: Attempt, levels: int, asked: frozenset[Symbol]
    ) -> TreeNode:
        rule = attempt.rule
        children = list(self._steps(atom, attempt))
        if attempt.broken is not None:
            children.append(failure(attempt, self._model, self._rest(levels, asked)))
        text = f"{rule.text.name}: {rule.text.text}"
        return TreeNode("rule", text, rule=rule.text, count=attempt.count, children=tuple(children))

    def _steps(self, atom: Symbol, attempt: Attempt) -> Iterator[TreeNode]:
        """What held, and what is to be said if nothing broke."""
        if attempt.held:
            held = "; ".join(step.text for step in attempt.held)
            times = "once" if attempt.count == 1 else f"{attempt.count} times"
            yield TreeNode(
                "holds", f"{held}  holds {times}", literal=held, count=attempt.count,
                values=tuple(filled_values(values) for values in attempt.bindings if values),
            )  # fmt: skip
        if attempt.failure:
            yield TreeNode("opaque", f"could not be taken apart further: {attempt.failure}")
        elif attempt.broken is None:
            yield self._not_chosen(atom, attempt)

    def _not_chosen(self, atom: Symbol, attempt: Attempt) -> TreeNode:
        """The body holds, but the head leaves a choice."""
        offers = [offer for offer in self._offers(attempt) if atom in offer]
        taken = [str(a) for offer in offers for a in offer if a in self._model]
        instead = f"; it took {listed(list(dict.fromkeys(taken)))}" if taken else ""
        what = "the choice did not take it" if attempt.rule.kind == "choice" else (
            "another alternative of the disjunction holds"
        )  # fmt: skip
        return TreeNode("not chosen", f"the body holds, but {what}{instead}", atom=str(atom))

    def _rest(self, levels: int, asked: frozenset[Symbol]) -> Callable[[AST], Iterator[TreeNode]]:
        """Explains the atom at which a rule broke, unless that has been asked before."""

        def explain(pattern: AST) -> Iterator[TreeNode]:
            try:
                atom = evaluate(pattern, {})
            except RuntimeError:
                yield from self._like(pattern, levels, asked)
                return
            if atom in self._model:
                yield self._why(atom, 2)
            elif levels > 1 and atom not in asked:
                yield self._missing(atom, levels - 1, asked)

        return explain

    def _like(self, pattern: AST, levels: int, asked: frozenset[Symbol]) -> Iterator[TreeNode]:
        """What a literal with variables matched against its `not`, or would have matched,
        had it been in the window or been written otherwise; and why no rule gives any such."""
        predicate = signature(pattern) or Signature("", 0)
        for atom in self._outside_atoms.by_predicate.get(predicate, ()):
            if matches(pattern, atom):
                yield from self._outsiders(atom)
        there = self._model.by_predicate.get(predicate, ())
        if found := [atom for atom in there if matches(pattern, atom)]:
            yield from (self._why(atom, 2) for atom in found[:_SIMILAR])
            return
        slips = (atom for atom in there if matches(pattern, atom, _alike))
        yield from map(slip, islice(slips, _SIMILAR))
        this = clingo.String(str(pattern))
        if levels > 1 and this not in asked:
            for attempt in self._prefixes.attempts_like(pattern):
                if attempt.broken is not None:
                    yield self._attempt(this, attempt, levels - 1, asked | {this})

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
        if signature in present:
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
        fact = str(atom)
        for outside in self._outside.get(fact, ())[: self._most]:
            text, origins = f"{fact}  {outside_text(outside)}", (outside.origin,)
            yield TreeNode("outside", text, atom=fact, value=outside.reason, origins=origins)

    def _hints(self, atom: Symbol) -> Iterator[TreeNode]:
        """Atoms that are there and differ only in how a value is written, or but a little."""
        same = list(self._model.named(("" if atom.positive else "-") + atom.name))
        slips = [a for a in same if a != atom and _loosely(a) == _loosely(atom)]
        for each in slips[:_SIMILAR]:
            yield slip(each)
        if slips or signature_of(atom) in self._derived or not atom.arguments:
            return
        scores = [(_shared(a, atom), a) for a in same if len(a.arguments) == len(atom.arguments)]
        best = max((score for score, _atom in scores), default=0)
        near = [str(a) for score, a in scores if best and score == best]
        if near:
            yield TreeNode("hint", f"nearest to it: {listed(near, _SIMILAR)}", count=len(near))

    def _elsewhere(self, atom: Symbol) -> Iterator[TreeNode]:
        """Other answer sets that have it, or the constraints that let none have it."""
        if not self._solver.knows(atom):
            return
        other = self._solver.with_atom(atom)
        if other is None:
            found = conflict(self._request, self._facts, {str(atom): f":- not {atom}."})
            if found is not None and found.constraints:
                text = f"no answer set has {atom}: it cannot hold together with"
                yield TreeNode("excluded", text, atom=str(atom), children=found.tree.children[1:])
        elif other.cost == self._cost:
            optimal = "optimal " if self._request.priorities else ""
            yield TreeNode("elsewhere", f"another {optimal}answer set has {atom}", atom=str(atom))
        else:
            text = (
                f"an answer set with {atom} costs {list(other.cost)}, this one {list(self._cost)}"
            )
            yield TreeNode("elsewhere", text, atom=str(atom), value=str(list(other.cost)))


def outside_text(outside: Outside) -> str:
    """Why an item is not in the window, with the times."""
    where = origin_text(outside.origin)
    window = outside.window and f"the window [{outside.window[0]}, {outside.window[1]}]"
    said = {
        "too old": f"is before {window or 'the window'}",
        "not yet": f"is after {window}" if window else "had not arrived yet",
        "waiting": "is in no window yet: its window was not evaluated since it came",
        "too late": "came too late: its time had been closed",
        "before the start": "is before the start of the run",
        "pushed out": "has been pushed out of the count window by later items",
        "refused": "was refused",
        "filtered": "is not among the request's inputs",
    }[outside.reason]
    detail = f": {outside.detail}" if outside.detail else ""
    return f"{where} {said}{detail}"


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


def slip(atom: Symbol | str) -> TreeNode:
    """An atom that is there, and differs in how a value is written."""
    text = f"{atom}  is there: it differs in how a value is written"
    return TreeNode("hint", text, atom=str(atom))


def _shared(one: Symbol, other: Symbol) -> int:
    """How many arguments are equal, in place."""
    pairs = zip(one.arguments, other.arguments, strict=True)
    return sum(_loosely(left) == _loosely(right) for left, right in pairs)
