"""Programs of plain LARS as programs of ASP, for one point of time (Laser, Definition 5).

An answer stream at t is a minimal model, above the data, of the rules whose bodies hold in
it. Over a fixed timeline ◇, □, @ and `at least` are monotone in the interpretation, so what
is behind `not` holds in every smaller one too: the reduct is that of ASP, and the answer
streams are the answer sets of these rules with a time argument where it matters. `at most`
and `count` are aggregates, which clingo reads as the definition does as long as they are
not behind `not`; there the opposite comparison says the same. Tuple windows hold data only
(docs/lars.md), which makes them facts.

Derived atoms that hold now keep their names; what a window sees has a relation of its own
(`Seen`). The point of time, the beginnings of windows and what of the data is in them are
facts (`reasoning.languages.lars.history`), so the rules are the same at every point of time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from reasoning.languages.lars.bodies import binds
from reasoning.languages.lars.program import (
    At,
    Atom,
    Box,
    Comparison,
    Counted,
    Diamond,
    LarsProgram,
    LarsRule,
    Now,
)
from reasoning.languages.lars.relations import (
    FIRST,
    NOW,
    Line,
    Relations,
    call,
    placing,
    rule,
    seen_by,
    viewing,
)
from reasoning.languages.lars.safety import bound_by
from reasoning.languages.lars.unparse import term_text
from reasoning.model import terms
from reasoning.model.engine import OURS
from reasoning.model.request import Signature
from reasoning.model.rules import Comparator
from reasoning.model.terms import Compound, Computed, Constant, Term, Variable

COUNTED = f"{OURS.capitalize()}T"
"""The variable of the points of time that are counted."""
START, LAST = f"{OURS.capitalize()}F", f"{OURS.capitalize()}N"
"""The variables of the first and the last point of the timeline."""
ANY = f"{OURS.capitalize()}Any"
"""How the variables begin that stand for `_` of what is counted."""
_OPPOSITE: dict[Comparator, Comparator] = {
    "=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
}  # fmt: skip


class Encoding(Relations):
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
        lines = [Line(text, each) for each in program.rules for text in self._rules(each)]
        lines += [placing(self, signature) for signature in self.placed]
        self.now = self._read_now() | self.shown | program.derived
        """Predicates of which those atoms of the data are given that hold now."""
        self.now |= self._contradictory()
        lines += viewing(self)
        self.lines = (*lines, *map(Line, self._showing()))

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
        return ("not " if element.negated else "") + self._literal(element.formula)

    def _literal(self, formula: Now | At | Diamond | Box | Comparison) -> str:
        if isinstance(formula, Comparison):
            left, right = term_text(formula.left), term_text(formula.right)
            return f"{left} {formula.comparator} {right}"
        texts = _texts(formula.atom)
        if isinstance(formula, Now):
            return call(formula.atom.name, texts)
        if isinstance(formula, At):
            texts.append(term_text(formula.time))
        return call(self.view(seen_by(formula)), texts)

    def _counted(self, formula: Counted, negated: bool, number: int) -> str:
        """At how many points of time it holds; what is behind `not` is opposed instead."""
        texts = _texts(_named(formula.atom, number))
        timed = call(self.view(seen_by(formula)), [*texts, COUNTED])
        comparator = _OPPOSITE[formula.comparator] if negated else formula.comparator
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
    missing = any(not terms.variables(term) <= bound for term in formula.atom.terms)
    return binds(formula) and (missing or not isinstance(formula.number, Constant))


def _named(atom: Atom, number: int) -> Atom:
    """The atom with a name for each `_`, for it to be the same at every point of time."""
    count = 0

    def named(term: Term) -> Term:
        nonlocal count
        if isinstance(term, Variable) and term_text(term) == "_":
            count += 1
            return Variable(f"{ANY}{number}_{count}")
        if isinstance(term, Compound | Computed):
            return replace(term, arguments=tuple(map(named, term.arguments)))
        return term

    return replace(atom, terms=tuple(map(named, atom.terms)))


def _opposite(name: str) -> str:
    return name[1:] if name.startswith("-") else f"-{name}"


def _texts(atom: Atom) -> list[str]:
    return [term_text(term) for term in atom.terms]
