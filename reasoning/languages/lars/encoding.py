"""Programs of plain LARS as programs of ASP, for one point of time (Laser, Definition 5).

An answer stream at t is a minimal model, above the data, of the rules whose bodies hold in
it. Over a fixed timeline ◇, □, @ and `at least` are monotone in the interpretation, so what
is behind `not` holds in every smaller one too: the reduct is that of ASP, and the answer
streams are the answer sets of these rules with a time argument where it matters. `at most`
and `count` are aggregates, which clingo reads as the definition does as long as they are
not behind `not`; there the opposite comparison says the same. Tuple windows hold data only
(docs/lars.md), which makes them facts.

Derived atoms that hold now keep their names; what a window sees has a relation of its own
(`Seen`), and so has what `since` says (`Encoding.since`). The point of time, the beginnings of
windows and what of the data is in them are facts (`reasoning.languages.lars.solver`), so the rules
are the same at every point of time. Rules say what a window sees beside those facts: what is
derived, now or placed at another point of time, and knowledge, at every point.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

from citywise.reasoning.languages.lars.bodies import KEPT, binding, bound_by, pattern
from citywise.reasoning.languages.lars.program import (
    At,
    Atom,
    Box,
    Counted,
    Diamond,
    Formula,
    LarsProgram,
    LarsRule,
    LarsWindow,
    LastTuples,
    Now,
    Since,
    TimeSpan,
    has_gap,
    term_text,
)
from citywise.reasoning.model import values
from citywise.reasoning.model.atoms import call
from citywise.reasoning.model.engine import OURS
from citywise.reasoning.model.request import Signature
from citywise.reasoning.model.rules import OPPOSITE, Compare
from citywise.reasoning.model.values import Constant, Term, Variable, with_terms

NOW = f"{OURS}now"
"""The point of time that is evaluated."""
FIRST = f"{OURS}first"
"""The first point of the timeline."""
POINT = "N"
"""The variable of the point of time that is evaluated, where `CLOCK` is in the body."""
CLOCK = f"{NOW}({POINT})"
"""That it is the point of time."""
View = Literal["timed", "some", "every", "lasting"]


@dataclass(frozen=True)
class Seen:
    """What a window shows of a predicate: at which points of time an atom holds (`timed`,
    the time is the last argument), that it holds at some, or at every one, or at every one from
    the time that is the last argument (`lasting`).

    `window` is None for the whole timeline.
    """

    signature: Signature
    window: LarsWindow | None
    view: View

    @property
    def has_time(self) -> bool:
        """Whether a point of time is the last argument."""
        return self.view in ("timed", "lasting")


def seen_by(formula: At | Diamond | Box | Counted) -> Seen:
    """What a formula needs to know of its predicate."""
    views: dict[type[Formula], View] = {Diamond: "some", Box: "every"}
    return Seen(formula.atom.signature, formula.window, views.get(type(formula), "timed"))


@dataclass(frozen=True)
class EncodedLine:
    """A statement of an encoding on its line, and what it is for: a rule of the program,
    what a window sees, what `since` says, or the predicate whose atoms heads place in time
    (`@T p`)."""

    text: str
    source: LarsRule | Seen | Since | Signature | None = None


class EncodedRelations:
    """The relations of a program's encoding; those of windows are named when they are met.

    Parameters
    ----------
    known:
        Predicates of the knowledge bases, whose facts hold at every point of time.
    """

    def __init__(self, program: LarsProgram, known: Collection[Signature]) -> None:
        self.program, self.known = program, frozenset(known)
        self.seen: dict[Seen, str] = {}
        """What windows show."""
        self.placed: dict[Signature, str] = {}
        """Atoms that heads place in time, the time being the last argument."""
        self.background: dict[Signature, str] = {}
        """Knowledge, of which windows see every fact at every point of time."""
        self.ranges: dict[LarsWindow | None, str] = {}
        """The points of time of a window."""
        for rule in program.rules:
            if rule.head is not None and rule.time is not None:
                self.placed.setdefault(rule.head.signature, f"{OURS}at{len(self.placed)}")

    def view(self, seen: Seen) -> str:
        """What a window shows."""
        return self.seen.setdefault(seen, f"{OURS}w{len(self.seen)}")

    def knowledge(self, signature: Signature) -> str:
        """The knowledge of a predicate."""
        return self.background.setdefault(signature, f"{OURS}b{len(self.background)}")

    def inside(self, window: LarsWindow | None) -> str:
        """That `T` is a point of time of a window."""
        relation = self.ranges.setdefault(window, f"{OURS}in{len(self.ranges)}")
        return call(relation, ["T"])

    def is_derived(self, seen: Seen) -> bool:
        """Whether rules add to what the data give a window to see."""
        return seen.signature in self.program.derived and not isinstance(seen.window, LastTuples)


def rule(head: str, body: Sequence[str]) -> str:
    """A rule, or a constraint where the head is empty, as text."""
    return f"{head} :- {'; '.join(body)}." if body else f"{head}."


def variables(signature: Signature) -> list[str]:
    """Variables for the arguments of a predicate."""
    return [f"X{number}" for number in range(1, signature.arity + 1)]


def viewing(relations: EncodedRelations) -> Iterator[EncodedLine]:
    """Rules for all that the program's windows show."""
    todo = list(relations.seen)
    for seen in todo:
        yield from (EncodedLine(text, seen) for text in _of_derived(relations, seen))
        if seen.signature in relations.known:
            yield EncodedLine(_of_knowledge(relations, seen), seen)
        todo += [new for new in relations.seen if new not in todo]


def placing(relations: EncodedRelations, signature: Signature) -> EncodedLine:
    """Atoms that heads place now hold now."""
    texts = variables(signature)
    now = call(relations.placed[signature], [*texts, POINT])
    head = call(signature.name, texts)
    return EncodedLine(rule(head, [now, CLOCK]), signature)


def _of_derived(relations: EncodedRelations, seen: Seen) -> Iterator[str]:
    if not relations.is_derived(seen):
        return
    texts = variables(seen.signature)
    now = call(seen.signature.name, texts)
    if seen.view == "every":
        yield _everywhere(relations, seen, now)
    elif seen.view == "lasting":
        yield from _lasting(relations, seen)
    elif has_gap(seen.window):  # what is derived now is not in it
        yield from _of_placed(relations, seen)
    elif seen.view == "timed":
        head = call(relations.seen[seen], [*texts, POINT])
        yield rule(head, [now, CLOCK])
        yield from _of_placed(relations, seen)
    else:
        yield rule(call(relations.seen[seen], texts), [now])
        yield from _of_placed(relations, seen)


def _of_placed(relations: EncodedRelations, seen: Seen) -> Iterator[str]:
    if seen.signature in relations.placed:
        texts = [*variables(seen.signature), "T"]
        placed = call(relations.placed[seen.signature], texts)
        yield rule(_seen_atom(relations, seen), [placed, *_within(relations, seen.window)])


def _everywhere(relations: EncodedRelations, seen: Seen, now: str) -> str:
    """Derived atoms and data together may fill all points of a window."""
    timed = relations.view(replace(seen, view="timed"))
    atom = call(timed, [*variables(seen.signature), "T"])
    each = f"{atom} : {relations.inside(seen.window)}"
    if isinstance(seen.window, TimeSpan) and seen.window.gap:
        last = f"{POINT}-{seen.window.gap}"
        at_last = call(timed, [*variables(seen.signature), last])
        return rule(_seen_atom(relations, seen), [each, at_last, CLOCK])
    return rule(_seen_atom(relations, seen), [each, now])


def _lasting(relations: EncodedRelations, seen: Seen) -> Iterator[str]:
    """What holds now, and so on back from point to point."""
    timed, texts = relations.view(replace(seen, view="timed")), variables(seen.signature)
    name = relations.seen[seen]
    yield rule(call(name, [*texts, POINT]), [call(timed, [*texts, POINT]), CLOCK])
    yield rule(call(name, [*texts, "T"]), [call(timed, [*texts, "T"]), call(name, [*texts, "T+1"])])


def _of_knowledge(relations: EncodedRelations, seen: Seen) -> str:
    fact = call(relations.knowledge(seen.signature), variables(seen.signature))
    if seen.view == "lasting":
        return rule(_seen_atom(relations, seen), [fact, call(FIRST, ["T"])])
    timed = seen.view == "timed" or has_gap(seen.window)  # which may have no point of time
    points = [relations.inside(seen.window)] if timed else []
    return rule(_seen_atom(relations, seen), [fact, *points])


def _seen_atom(relations: EncodedRelations, seen: Seen) -> str:
    """That a window shows an atom, at `T` if it shows points of time."""
    texts = variables(seen.signature)
    return call(relations.seen[seen], [*texts, "T"] if seen.has_time else texts)


def _within(relations: EncodedRelations, window: LarsWindow | None) -> list[str]:
    return [] if window is None else [relations.inside(window)]


COUNTED = f"{OURS.capitalize()}T"
"""The variable of the points of time that are counted."""
CAUGHT = f"{OURS.capitalize()}K"
"""How the variables begin that stand for what `since` is about."""
MOMENT = f"{OURS.capitalize()}U"
"""The variable of the point of time at which something begins."""
START, LAST = f"{OURS.capitalize()}F", f"{OURS.capitalize()}N"
"""The variables of the first and the last point of the timeline."""
ANY = f"{OURS.capitalize()}Any"
"""How the variables begin that stand for `_` of what is counted."""


class Encoding(EncodedRelations):
    """A program as rules of ASP.

    Parameters
    ----------
    program:
        What to encode.
    known:
        Predicates of the knowledge bases.
    shown:
        Predicates that are shown, of what holds now.
    """

    def __init__(
        self,
        program: LarsProgram,
        known: Collection[Signature] = (),
        shown: Collection[Signature] = (),
    ) -> None:
        super().__init__(program, known)
        self.shown = frozenset(shown)
        self.since: dict[str, Since] = {}
        """Relations of what `since` says, and that, with `CAUGHT` variables for what stands in
        rules; these are the arguments."""
        self._of_since: list[EncodedLine] = []
        lines = [EncodedLine(text, each) for each in program.rules for text in self._rules(each)]
        lines += [placing(self, signature) for signature in self.placed]
        self.now = self._read_now() | self.shown | program.derived
        """Predicates of which those atoms of the data are given that hold now."""
        self.now |= self._contradictory()
        lines += self._of_since
        lines += viewing(self)
        self.lines = (*lines, *map(EncodedLine, self._showing()))

    @property
    def rules(self) -> str:
        """The rules, and what is shown, as text; `lines` says what each is for."""
        return "".join(f"{line.text}\n" for line in self.lines)

    def _rules(self, each: LarsRule) -> Iterator[str]:
        """The rule: a literal for each element of the body, and after them what is needed
        besides; and that its head is on the timeline, where that can fail."""
        body = [self._element(each, number) for number in range(len(each.body))]
        body += self._binding(each)
        if each.head is None or each.time is None:
            yield rule(self._head(each), body)
            return
        time = term_text(each.time)
        first, last = f"{FIRST}({START})", f"{NOW}({LAST})"
        if _is_met(each):
            yield rule(self._head(each), body)
            return
        within = [first, last, f"{START} <= {time}", f"{time} <= {LAST}"]
        yield rule(self._head(each), [*body, *within])
        yield rule("", [*body, first, f"({time})+0 < {START}"])
        yield rule("", [*body, last, f"({time})+0 > {LAST}"])

    def _head(self, each: LarsRule) -> str:
        if each.head is None:
            return ""
        texts = _texts(each.head)
        if each.time is None:
            return call(each.head.name, texts)
        return call(self.placed[each.head.signature], [*texts, term_text(each.time)])

    def _element(self, each: LarsRule, number: int) -> str:
        element = each.body[number]
        if isinstance(element.formula, Counted):
            return self._counted(element.formula, element.negated, number)
        if isinstance(element.formula, Since):
            literal = self._since(each, element.formula)
        else:
            literal = self._literal(element.formula)
        return ("not " if element.negated else "") + literal

    def _literal(self, formula: Now | At | Diamond | Box | Compare) -> str:
        if isinstance(formula, Compare):
            left, right = term_text(formula.left), term_text(formula.right)
            return f"{left} {formula.comparator} {right}"
        texts = _texts(formula.atom)
        if isinstance(formula, Now):
            return call(formula.atom.name, texts)
        if isinstance(formula, At):
            texts.append(term_text(formula.time))
        return call(self.view(seen_by(formula)), texts)

    def _since(self, each: LarsRule, formula: Since) -> str:
        """What `since` says, as a relation of the terms in its two atoms."""
        kept: list[Term] = []
        begun, held = (
            replace(atom, terms=tuple(with_terms(pattern(t, kept), _caught) for t in atom.terms))
            for atom in (formula.atom, formula.held)
        )
        shape, texts = Since(held, begun, formula.window), list(map(term_text, kept))
        caught = [f"{CAUGHT}{number}" for number in range(len(kept))]
        if _is_closed(shape):
            known = (name for name, found in self.since.items() if found == shape)
            if name := next(known, ""):
                return call(name, texts)
        name = f"{OURS}s{len(self.since)}"
        self.since[name] = shape
        moments = Seen(begun.signature, formula.window, "timed")
        if formula.window.size:
            when = call(self.view(moments), [*_texts(begun), MOMENT])
            self._of_since += [
                EncodedLine(rule(call(name, caught), [when, *self._lasting(shape)]), shape)
            ]
        if not formula.window.gap:
            head, atom, context = caught, begun, list[str]()
            if not _is_closed(shape):
                head, atom, context = texts, formula.atom, self._context(each, formula)
            now = [call(self.view(moments), [*_texts(atom), LAST]), f"{NOW}({LAST})"]
            self._of_since += [EncodedLine(rule(call(name, head), [*now, *context]), shape)]
        return call(name, texts)

    def _lasting(self, shape: Since) -> list[str]:
        """That an atom has held at every point after `MOMENT`."""
        seen = Seen(shape.held.signature, TimeSpan(shape.window.size - 1), "lasting")
        name, texts = self.view(seen), _texts(shape.held)
        if self.is_derived(seen):
            return [call(name, [*texts, f"{MOMENT}+1"])]
        return [call(name, [*texts, START]), f"{START} <= {MOMENT}+1"]

    def _context(self, each: LarsRule, formula: Since) -> list[str]:
        """What gives values to variables of a rule that `since` does not: the other literals, and
        of what else says `since` that it began."""
        found: list[str] = []
        for number, element in enumerate(each.body):
            other = element.formula
            if element.negated or other == formula:
                continue
            if isinstance(other, Since):
                seen = Seen(other.atom.signature, other.window, "timed")
                found.append(call(self.view(seen), [*_texts(other.atom), "_"]))
            else:
                found.append(self._element(each, number))
        return [*found, *self._binding(each)]

    def _counted(self, formula: Counted, negated: bool, number: int) -> str:
        """At how many points of time it holds; what is behind `not` is opposed instead."""
        texts = _texts(_named(formula.atom, number))
        timed = call(self.view(seen_by(formula)), [*texts, COUNTED])
        comparator = OPPOSITE[formula.comparator] if negated else formula.comparator
        return f"#count {{ {COUNTED} : {timed} }} {comparator} {term_text(formula.number)}"

    def _binding(self, each: LarsRule) -> Iterator[str]:
        """That counted atoms hold at all, where it gives their variables values."""
        bound = bound_by(tuple(e for e in each.body if not isinstance(e.formula, Counted)))
        for number, element in enumerate(each.body):
            formula = element.formula
            if isinstance(formula, Counted) and not element.negated and _gives(formula, bound):
                texts = _texts(_named(formula.atom, number))
                yield call(self.view(seen_by(formula)), [*texts, "_"])

    def _read_now(self) -> frozenset[Signature]:
        formulas = (element.formula for each in self.program.rules for element in each.body)
        return frozenset(f.atom.signature for f in formulas if isinstance(f, Now))

    def _contradictory(self) -> frozenset[Signature]:
        """Predicates that are mentioned with and without a sign: what holds now of one must
        not hold of the other."""
        mentioned = self.now | {seen.signature for seen in self.seen}
        return frozenset(s for s in mentioned if s._replace(name=_opposite(s.name)) in mentioned)

    def _showing(self) -> Iterator[str]:
        yield from ("#show.", *(f"#show {signature}." for signature in sorted(self.shown)))


def _is_met(each: LarsRule) -> bool:
    """Whether some atom of the body must hold at the time of the head."""
    return any(
        isinstance(element.formula, At) and element.formula.time == each.time
        for element in each.body
        if not element.negated
    )


def _gives(formula: Counted, bound: frozenset[str]) -> bool:
    """Whether it holds of atoms only that hold at some point, and that must be said."""
    missing = any(not values.variables(term) <= bound for term in formula.atom.terms)
    return binding(formula) and (missing or not isinstance(formula.number, Constant))


def _named(atom: Atom, number: int) -> Atom:
    """The atom with a name for each `_`, for it to be the same at every point of time."""
    places = count(1)

    def named(found: Variable) -> Term:
        anonymous = term_text(found) == "_"
        return Variable(f"{ANY}{number}_{next(places)}") if anonymous else found

    return replace(atom, terms=tuple(with_terms(term, named) for term in atom.terms))


def _caught(found: Variable) -> Term:
    """A variable of `pattern` as clingo has it."""
    kept = found.name.startswith(KEPT)
    return Variable(f"{CAUGHT}{found.name.removeprefix(KEPT)}") if kept else found


def _is_closed(shape: Since) -> bool:
    """Whether all that the lasting atom is about is what the other is about, which gives it."""
    return shape.held.variables <= shape.atom.variables


def _opposite(name: str) -> str:
    return name[1:] if name.startswith("-") else f"-{name}"


def _texts(atom: Atom) -> list[str]:
    return [term_text(term) for term in atom.terms]
