"""Programs of plain LARS (Laser, section 2.1), as the parser makes them, and their text again, and
what evaluates them, one point of time after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from citywise.reasoning.errors import SolvingError
from citywise.reasoning.model import values
from citywise.reasoning.model.atoms import call
from citywise.reasoning.model.engine import AnswerSet
from citywise.reasoning.model.request import Request, Signature
from citywise.reasoning.model.rules import Comparator, Compare
from citywise.reasoning.model.values import Compound, Computed, Constant, Term, Variable


@dataclass(frozen=True)
class TimeSpan:
    """⊞ⁿ: the points of time [max(t1, t - size), t] (Definition 3); with a `gap` only those up
    to t - gap, of which there may be none: then neither ◇ nor □ nor @ holds."""

    size: int
    gap: int = 0


@dataclass(frozen=True)
class LastTuples:
    """⊞^#ⁿ: the last `size` input atoms by arrival (Laser, Definition 4; docs/lars.md)."""

    size: int


LarsWindow: TypeAlias = TimeSpan | LastTuples


@dataclass(frozen=True)
class Atom:
    """A predicate of terms; the name begins with `-` where it is classically negated."""

    name: str
    terms: tuple[Term, ...] = ()

    @property
    def signature(self) -> Signature:
        """Name and number of arguments."""
        return Signature(self.name, len(self.terms))

    @property
    def variables(self) -> frozenset[str]:
        """The names of its variables."""
        return frozenset().union(*map(values.variables, self.terms))


@dataclass(frozen=True)
class Now:
    """`a`: the atom holds now."""

    atom: Atom


@dataclass(frozen=True)
class At:
    """`@T a [w]`: it holds at a point of time of the window (None: of the whole timeline)."""

    time: Term
    atom: Atom
    window: LarsWindow | None


@dataclass(frozen=True)
class Diamond:
    """`<> a [w]`: it holds at some point of time of the window."""

    atom: Atom
    window: LarsWindow


@dataclass(frozen=True)
class Box:
    """`[] a [w]`, or `a always [w]`: it holds at every point of time of the window."""

    atom: Atom
    window: LarsWindow


@dataclass(frozen=True)
class Counted:
    """`a at least N [w]`, `a at most N [w]`, `a count N [w]`: at how many points of time of
    the window it holds (`>=`, `<=`, `=`)."""

    atom: Atom
    comparator: Comparator
    number: Term
    window: LarsWindow


@dataclass(frozen=True)
class Since:
    """`held since a [w]`: `a` holds at some point of time of the window, and `held` at every
    point after that one, up to now."""

    held: Atom
    atom: Atom
    window: TimeSpan


Formula: TypeAlias = Now | At | Diamond | Box | Counted | Since | Compare


def atoms_of(formula: Formula) -> tuple[Atom, ...]:
    """The atoms of a formula; a comparison has none."""
    match formula:
        case Compare():
            return ()
        case Since(held, atom, _):
            return held, atom
    return (formula.atom,)


@dataclass(frozen=True)
class BodyElement:
    """A formula of a body, perhaps behind `not`."""

    formula: Formula
    negated: bool = False


@dataclass(frozen=True)
class LarsRule:
    """`a :- body.`, or `@T a :- body.` (`time` is None where the head holds now); a
    constraint where the head is None."""

    head: Atom | None
    time: Term | None
    body: tuple[BodyElement, ...]
    line: int
    label: str = ""

    @property
    def name(self) -> str:
        """How messages call it: its label, or its line."""
        return self.label or str(self.line)


@dataclass(frozen=True)
class LarsProgram:
    """A program with its constants resolved and its sugar read.

    `request` is what reading streams and knowledge bases asks of a program (prefixes,
    scales, `#from`, the only stream; no rules): `Encoder`, `Recording` and `background`
    take it.
    """

    rules: tuple[LarsRule, ...]
    request: Request
    shows: frozenset[Signature] | None = None
    """Predicates that are shown; None: those that rules derive (docs/reason.md)."""
    streamed: frozenset[Signature] = frozenset()
    """Derived predicates that later points of time see in the stream (`#stream p/1.`)."""
    constants: Mapping[str, str] = field(default_factory=dict)

    @property
    def derived(self) -> frozenset[Signature]:
        """Predicates of heads: the intensional ones."""
        return frozenset(rule.head.signature for rule in self.rules if rule.head is not None)


_BINDS = {"^": 1, "?": 2, "&": 3, "+": 4, "-": 4, "*": 5, "/": 5, "\\": 5, "**": 6}
"""How tightly clingo's operators bind their sides; all but `**` group to the left."""
_UNARY, _TIGHTEST = 7, 8
_SIGNS = {"neg": "-", "~": "~"}
_COUNTING = {">=": "at least", "<=": "at most", "=": "count"}


def unparse(rule: LarsRule) -> str:
    """A rule as text, its label included."""
    label = f"({rule.label}) " if rule.label else ""
    head = "" if rule.head is None else atom_text(rule.head)
    if rule.time is not None:
        head = f"@{time_text(rule.time)} {head}"
    body = ", ".join(element_text(element) for element in rule.body)
    implied = f":- {body}" if body or not head else ""
    return f"{label}{' '.join(filter(None, (head, implied)))}."


def element_text(element: BodyElement) -> str:
    """An element of a body."""
    return ("not " if element.negated else "") + formula_text(element.formula)


def formula_text(formula: Formula) -> str:
    """A formula of a body."""
    match formula:
        case Now(atom):
            return atom_text(atom)
        case Compare(comparator, left, right):
            return f"{term_text(left)} {comparator} {term_text(right)}"
        case At(time, atom, window):
            return _windowed(f"@{time_text(time)}", atom_text(atom), window)
        case Diamond(atom, window):
            return _windowed("<>", atom_text(atom), window)
        case Box(atom, window):
            return _windowed("[]", atom_text(atom), window)
        case Counted(atom, comparator, number, window):
            counted = f"{atom_text(atom)} {_COUNTING[comparator]} {term_text(number)}"
            return _windowed("", counted, window)
        case Since(held, atom, window):
            return _windowed("", f"{atom_text(held)} since {atom_text(atom)}", window)


def _windowed(operator: str, text: str, window: LarsWindow | None) -> str:
    return f"{operator} {text}".strip() + window_text(window)


def window_text(window: LarsWindow | None) -> str:
    """What stands behind a formula that looks at a window; nothing for the whole timeline."""
    return f" {in_brackets(window)}" if window else ""


def in_brackets(window: LarsWindow | None) -> str:
    """A window as it is written; nothing for the whole timeline."""
    match window:
        case TimeSpan(size, gap):
            return f"[{gap}..{size}]" if gap else f"[{size}]"
        case LastTuples(size):
            return f"[#{size}]"
    return ""


def has_gap(window: LarsWindow | None) -> bool:
    """Whether it is a window of time that ends before now."""
    return isinstance(window, TimeSpan) and window.gap > 0


def atom_text(atom: Atom) -> str:
    """An atom."""
    return call(atom.name, list(map(term_text, atom.terms)))


def time_text(time: Term) -> str:
    """A term as it stands behind `@`: in brackets, unless it is a variable or a number."""
    text = term_text(time)
    return text if text.isalnum() or isinstance(time, Variable) else f"({text})"


def term_text(term: Term) -> str:
    """A term, with no more brackets than it needs to read back."""
    return _term(term)[0]


def _term(term: Term) -> tuple[str, int]:
    """A term's text, and how tightly it holds together."""
    match term:
        case Variable(name):
            return ("_" if name[1:].isdigit() and name[0] == "_" else name), _TIGHTEST
        case Constant(value):
            text = values.text(value)
            return text, _UNARY if text.startswith("-") else _TIGHTEST
        case Compound("", (only,)):
            return f"({term_text(only)},)", _TIGHTEST
        case Compound(name, arguments):
            return f"{name}({_listed(arguments)})", _TIGHTEST
        case Computed("|", (argument,)):
            text = term_text(argument)
            return (f"|({text})|" if "|" in text else f"|{text}|"), _UNARY
        case Computed(operation, (argument,)):
            return f"{_SIGNS[operation]}{_bracketed(argument, _TIGHTEST)}", _UNARY
        case Computed(operation, (left, right)):
            binds = _BINDS[operation]
            to_right = operation == "**"
            first = _bracketed(left, binds + to_right)
            return f"{first}{operation}{_bracketed(right, binds + (not to_right))}", binds
    raise AssertionError(f"no term: {term}")


def _bracketed(term: Term, least: int) -> str:
    """A term's text, in brackets if it holds together less tightly than needed."""
    text, binds = _term(term)
    tight = binds >= least and not text.startswith("-")
    return text if tight else f"({text})"


def _listed(terms: tuple[Term, ...]) -> str:
    return ",".join(map(term_text, terms))


@dataclass(frozen=True, slots=True)
class Point:
    """A point of time and what arrives there.

    Points come one by one: the first is t1, where the timeline begins, each other is one
    later than the one before, whether or not anything arrives.
    """

    time: int
    arrivals: Sequence[str] = ()
    """Ground atoms in clingo's spelling, in order of arrival (first those of items with an
    interval that still hold); repeated ones may occur."""
    supplied: frozenset[Signature] = frozenset()
    """Predicates that the stream has supplied so far, this point included."""
    readings: Mapping[str, str] = field(default_factory=dict)
    """Arrivals that are one tuple with another: second readings of a triple."""


class Evaluator(Protocol):
    """Evaluates a program at each point of the timeline (Laser, Definitions 5 and 6).

    What `#stream` feeds back is the evaluator's own business: it remembers the atoms of the
    answer, shown or not, as part of the data stream.
    """

    def step(self, point: Point, models: int = 0) -> tuple[AnswerSet, ...]:
        """The answer streams at the next point: the shown atoms that hold there, sorted,
        each once (at most `models`, 0: all).

        Raises `SolvingError`, `LimitError` at a limit; the point has then passed all the
        same, and the data stream holds what arrived.
        """

    @property
    def back(self) -> tuple[object, ...]:
        """What the answer of the last step added to the data stream."""

    def remember(self, point: Point, back: tuple[object, ...]) -> None:
        """Take in the next point, of which the answer is known: `back` is what it added to the
        data stream."""

    def changes(self) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """Atoms that the only answer of the last step has and the one before had not, and
        the other way round, sorted; None where that is not known without comparing."""

    def close(self) -> None:
        """Release processes and memory."""


def shown(program: LarsProgram, supplied: frozenset[Signature]) -> frozenset[Signature]:
    """Predicates whose atoms are printed, where the stream and the knowledge bases supply
    `supplied` (docs/reason.md)."""
    if program.shows is not None:
        return program.shows
    return program.derived - program.request.inputs - supplied


def reach(program: LarsProgram) -> int | None:
    """How far back windows look, in points of time; None: there is no bound."""
    found = 0
    for rule in program.rules:
        for element in rule.body:
            formula = element.formula
            if isinstance(formula, Now | Compare):
                continue
            window = formula.window
            if not isinstance(window, TimeSpan):
                return None
            found = max(found, window.size)
    return found


def require_one(program: LarsProgram, answers: Sequence[AnswerSet]) -> None:
    """Raise `SolvingError` where a program that feeds back has not one answer stream."""
    if len(answers) != 1:
        names = ", ".join(f"`#stream {signature}.`" for signature in sorted(program.streamed))
        found = f"{len(answers)} answer streams" if answers else "no answer stream"
        raise SolvingError(
            f"program `{program.request.name}` feeds back ({names}) but has {found}; write rules "
            "that leave one"
        )
