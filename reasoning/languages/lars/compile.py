"""Stratified programs of plain LARS as programs of the incremental engine, by how their rules look
at each predicate."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from citywise.reasoning.languages.lars.bodies import (
    KEPT,
    bodies,
    simplified,
    timeline_variables,
)
from citywise.reasoning.languages.lars.feeds import Feed, FeedKind
from citywise.reasoning.languages.lars.program import (
    At,
    Box,
    Counted,
    LarsProgram,
    LarsRule,
    LarsWindow,
    LastTuples,
    Now,
    Since,
    TimeSpan,
    atoms_of,
    has_gap,
    in_brackets,
)
from citywise.reasoning.model.request import Signature
from citywise.reasoning.model.rules import (
    CLOCK,
    FALSE,
    Aggregate,
    Always,
    Compare,
    Lasting,
    Literal,
    NestingError,
    Operator,
    Program,
    Scan,
    StratificationError,
    components,
    reached,
)
from citywise.reasoning.model.rules import Rule as Derivation
from citywise.reasoning.model.values import Compound, Term, Variable

Over = TypeVar("Over", bound=LarsWindow | None)


@dataclass
class Use:
    """The time windows through which a program looks at a predicate."""

    size: int = 0
    """Of the largest."""
    unbounded: bool = False
    """Whether it asks for points of time of the whole timeline."""
    timed: bool = False
    """Whether it asks for the points of time at which atoms hold, now among them."""
    past: bool = False
    """Whether it asks for points of time before now only."""

    @property
    def window(self) -> TimeSpan | None:
        """The window that has all the others in it."""
        return None if self.unbounded else TimeSpan(self.size)


def uses(rules: Iterable[LarsRule]) -> dict[Signature, Use]:
    found: dict[Signature, Use] = defaultdict(Use)
    for rule in rules:
        for element in rule.body:
            formula = element.formula
            if isinstance(formula, Compare | Now):
                continue
            if isinstance(formula, Since) and formula.window.size:
                lasting = found[formula.held.signature]
                lasting.size, lasting.timed = max(lasting.size, formula.window.size - 1), True
            atom = formula.atom
            use, window = found[atom.signature], getattr(formula, "window", None)
            if isinstance(window, LastTuples):
                continue
            use.unbounded |= window is None
            use.size = max(use.size, window.size if window else 0)
            if has_gap(window):
                use.past = True
                continue
            use.timed |= isinstance(formula, At | Counted)
            use.timed |= isinstance(formula, Box) and formula.window != TimeSpan(0)
    return found


def recursive(rules: Iterable[LarsRule]) -> frozenset[Signature]:
    """Predicates that depend on themselves."""
    below: dict[Signature, set[Signature]] = {}
    for rule in rules:
        if rule.head is not None:
            reads = {a.signature for element in rule.body for a in atoms_of(element.formula)}
            below.setdefault(rule.head.signature, set()).update(reads)
    return frozenset(each for each, reads in below.items() if each in reached(reads, below))


FIRST = "#first"
"""The input of one row `(t1,)`, the point of time where the timeline begins."""
_TIME, _START = Variable("#time"), Variable("#start")


@dataclass(frozen=True)
class CompiledProgram:
    """A program of the incremental engine and what fills its inputs.

    Relations are named by what they hold: `p/2` what holds now, `<>p/2[5]`, `[]p/2[5]`,
    `@p/2[5]` (with the point of time as last column), `#p/2[5]` (with a number).
    """

    program: Program
    feeds: tuple[Feed, ...]
    outputs: dict[Signature, str]
    """The relations of what holds now, for predicates that may be shown or fed back."""


def compiled(program: LarsProgram, supplied: Collection[str] = ()) -> CompiledProgram:
    """The relations, rules and operators that evaluate a program; of derived predicates only
    those `supplied` (`p/2`) come from outside too.

    Rules that no answer needs are left out, which is right of a stratified program only
    (`loop_of`).
    """
    compiler = _Compiler(tuple(map(simplified, program.rules)), supplied)
    outputs = {signature: compiler.now(signature) for signature in _outputs(program)}
    for rule in compiler.rules:
        compiler.constrain(rule)
    for signature in _contradicted(program):
        compiler.contradict(signature)
    return compiler.compiled(program.request.name, outputs)


def stratify(program: LarsProgram) -> None:
    """Raise `StratificationError` where any of the rules are in a loop through negation, also
    if what they derive is not shown: there may be no answer for it."""
    components(compiled(replace(program, shows=None)).program)


def obstacle(program: LarsProgram) -> str | None:
    """Why a program cannot be evaluated incrementally; None if it can."""
    try:
        loop = loop_of(program)
    except NestingError as error:
        return str(error)
    return None if loop is None else loop_text(loop)


def loop_of(program: LarsProgram) -> tuple[str, ...] | None:
    """Window atoms that depend on one another through `not`, □ or counting, as the
    incremental engine names them; None for a stratified program. Raises `NestingError`."""
    try:
        stratify(program)
    except StratificationError as error:
        return error.loop
    return None


def loop_text(loop: Sequence[str]) -> str:
    """The loop in words."""
    shown = list(dict.fromkeys(map(written, loop)))
    return "a loop through negation, [], since or counting: " + " -> ".join((*shown, shown[0]))


def _outputs(program: LarsProgram) -> list[Signature]:
    shown = program.derived if program.shows is None else program.shows
    return sorted(shown | program.streamed)


def _contradicted(program: LarsProgram) -> list[Signature]:
    """Predicates that the program mentions, and their classical negations as well."""
    mentioned = set(program.derived) | (program.shows or frozenset())
    for rule in program.rules:
        mentioned |= {a.signature for element in rule.body for a in atoms_of(element.formula)}
    return sorted(s for s in mentioned if Signature(f"-{s.name}", s.arity) in mentioned)


class _Compiler:
    """Makes relations as they are asked for, and what fills them after that."""

    def __init__(self, rules: tuple[LarsRule, ...], supplied: Collection[str]) -> None:
        self.rules = rules
        self._supplied = supplied
        self._feeds: list[Feed] = []
        self._made: list[Derivation] = []
        self._operators: list[Operator] = []
        self._known: set[str] = set()
        self._todo: list[Callable[[], None]] = []
        self._bare: dict[Signature, list[LarsRule]] = defaultdict(list)
        self._placed: dict[Signature, list[LarsRule]] = defaultdict(list)
        self._uses = uses(rules)
        self._recursive = recursive(rules)
        for rule in rules:
            if rule.head is not None:
                heads = self._bare if rule.time is None else self._placed
                heads[rule.head.signature].append(rule)

    def compiled(self, name: str, outputs: dict[Signature, str]) -> CompiledProgram:
        """All of it."""
        while self._todo:
            self._todo.pop()()
        inputs = frozenset(feed.relation for feed in self._feeds) | {FIRST}
        program = Program(
            tuple(dict.fromkeys(self._made)),
            tuple(self._operators),
            inputs,
            name,
            frozenset(outputs.values()) | {FALSE},
        )
        return CompiledProgram(program, tuple(self._feeds), outputs)

    # -- relations ------------------------------------------------------------------

    def now(self, signature: Signature) -> str:
        """See `Relations`."""
        return self._named(str(signature), lambda name: self._fill_now(signature, name))

    def diamond(self, signature: Signature, window: LarsWindow) -> str:
        """See `Relations`."""
        if window == TimeSpan(0):
            return self.now(signature)
        return self._over("<>", signature, window, self._fill_diamond)

    def box(self, signature: Signature, window: LarsWindow) -> str:
        """See `Relations`."""
        if window == TimeSpan(0):
            return self.now(signature)
        return self._over("[]", signature, window, self._fill_box)

    def timed(self, signature: Signature, window: LarsWindow | None) -> str:
        """See `Relations`."""
        return self._over("@", signature, window, self._fill_timed)

    def count(self, signature: Signature, window: LarsWindow) -> str:
        """See `Relations`."""
        return self._over("#", signature, window, self._fill_count)

    def newest(self, signature: Signature, window: TimeSpan) -> str:
        """See `Relations`."""
        if window.gap and self._placed[signature]:
            return self.timed(signature, window)
        # What holds now is no matter: where `since` asks for that, it asks for nothing else.
        return self._over("<", signature, window, partial(self._fill_past, kind="newest"))

    def lasting(self, signature: Signature) -> str:
        """See `Relations`."""
        return self._named(f">{signature}", lambda name: self._fill_lasting(signature, name))

    def projected(self, body: Sequence[Literal], width: int) -> str:
        """See `Relations`."""
        scans = [literal for literal in body if isinstance(literal, Scan)]
        shapes = (f"{s.relation}{_CUT}{','.join(map(_shape, s.terms))}{_CUT}" for s in scans)
        row = tuple(Variable(f"{KEPT}{number}") for number in range(width))
        return self._named("".join(shapes), lambda name: self._derive(name, row, body))

    def _over(
        self,
        sign: str,
        signature: Signature,
        window: Over,
        fill: Callable[[Signature, Over, str], None],
    ) -> str:
        """A relation over a window, named by its sign."""
        name = f"{sign}{signature}{in_brackets(window)}"
        return self._named(name, partial(fill, signature, window))

    def _named(self, name: str, fill: Callable[[str], None]) -> str:
        if name not in self._known:
            self._known.add(name)
            self._todo.append(lambda: fill(name))
        return name

    # -- what fills them ------------------------------------------------------------

    def _fill_now(self, signature: Signature, name: str) -> None:
        if self._placed[signature]:
            row = variables_of(signature)
            self._derive(name, row, [Scan(self._base(signature), (*row, _TIME))], (_TIME, 0))
            if self._varies(signature):
                self._derive(name, row, [Scan(self._bare_now(signature), row)])
                return
        else:
            self._feed("now", signature, None, name)
        self._derive_bare(signature, name)

    def _bare_now(self, signature: Signature) -> str:
        """What rules say that holds now, and no `@` places there: a relation of its own where
        the relation with points of time reads it, which would else be a circle."""
        if not self._placed[signature]:
            return self.now(signature)
        return self._named(f"={signature}", lambda name: self._derive_bare(signature, name))

    def _derive_bare(self, signature: Signature, name: str) -> None:
        for rule in self._bare[signature]:
            assert rule.head is not None
            for body in bodies(rule, self):
                self._made.append(Derivation(name, rule.head.terms, body, rule.name))

    def _fill_diamond(self, signature: Signature, window: LarsWindow, name: str) -> None:
        row = variables_of(signature)
        if has_gap(window):
            self._derive(name, row, [Scan(self.timed(signature, window), (*row, _TIME))])
            return
        if isinstance(window, LastTuples) or not self._placed[signature]:
            self._feed("diamond", signature, window, name)
        else:
            self._derive(
                name,
                row,
                [Scan(self._base(signature), (*row, _TIME))],
                self._cut(signature, window),
            )
        if (
            isinstance(window, TimeSpan)
            and self._bare[signature]
            and not (self._placed[signature] and self._varies(signature))
        ):
            self._derive(name, row, [Scan(self.now(signature), row)])

    def _fill_box(self, signature: Signature, window: LarsWindow, name: str) -> None:
        if isinstance(window, TimeSpan) and window.gap:
            operator = Always(name, self._past(signature), window.size, window.gap)
            self._operators.append(operator)
        elif isinstance(window, LastTuples) or not self._is_derived(signature):
            self._feed("box", signature, window, name)
        else:
            self._operators.append(Always(name, self._base(signature), window.size))

    def _fill_timed(self, signature: Signature, window: LarsWindow | None, name: str) -> None:
        if isinstance(window, TimeSpan) and window.gap:
            # The points of time of the window come and end by themselves, and each brings what
            # holds at it: no more is joined than enters.
            row = (*variables_of(signature), _TIME)
            points = Scan(self._points(window), (_TIME,))
            self._derive(name, row, [Scan(self._past(signature), row), points])
        elif isinstance(window, LastTuples) or not self._is_derived(signature):
            self._feed("at", signature, window, name)
        elif window == self._uses[signature].window:
            self._fill_base(signature, window, name)
        else:
            assert window is not None
            row = (*variables_of(signature), _TIME)
            body = [Scan(self._base(signature), row)]
            self._derive(name, row, body, (_TIME, window.size))

    def _fill_lasting(self, signature: Signature, name: str) -> None:
        if self._is_derived(signature):
            window = self._uses[signature].window
            width = _FAR if window is None else window.size
            self._operators.append(Lasting(name, self._base(signature), width))
        else:
            self._feed("lasting", signature, None, name)

    def _base(self, signature: Signature) -> str:
        """The points of time at which a derived predicate holds, in its largest window."""
        return self.timed(signature, self._uses[signature].window)

    def _past(self, signature: Signature) -> str:
        """The same without what rules say that holds now, and no `@` places there: a relation
        of its own where it would else be a circle."""
        base = self._base(signature)
        if not self._varies(signature):
            return base
        window = self._uses[signature].window
        return self._named(f"{base}@", lambda name: self._fill_past(signature, window, name))

    def _fill_past(
        self, signature: Signature, window: TimeSpan | None, name: str, kind: FeedKind = "at"
    ) -> None:
        self._feed(kind, signature, window, name)
        for rule in self._placed[signature]:
            self._place(rule, window, name)

    def _points(self, window: TimeSpan) -> str:
        """The points of time of a window."""
        name = f"#points{in_brackets(window)}"
        if name not in self._known:
            self._known.add(name)
            self._feeds.append(Feed("points", "", window, name))
        return name

    def _fill_base(self, signature: Signature, window: TimeSpan | None, name: str) -> None:
        row = variables_of(signature)
        if self._varies(signature) and self._uses[signature].past:
            self._derive(name, (*row, _TIME), [Scan(self._past(signature), (*row, _TIME))])
        else:
            self._fill_past(signature, window, name)
        if self._varies(signature):
            body = (Scan(self._bare_now(signature), row), Scan(CLOCK, (_TIME,)))
            self._derive(name, (*row, _TIME), body)

    def _place(self, rule: LarsRule, window: TimeSpan | None, name: str) -> None:
        """Put a head at its point of time: not before the timeline, and not after it, where
        there might be no end of that."""
        assert rule.head is not None
        assert rule.time is not None
        guards: tuple[Literal, ...] = ()
        if not _is_sure(rule):
            guards = (Scan(FIRST, (_START,)), Compare(">=", rule.time, _START))
            if rule.head.signature in self._recursive:
                guards += (Scan(CLOCK, (_TIME,)), Compare("<=", rule.time, _TIME))
        until = (rule.time, window.size if window else _FAR)
        row = (*rule.head.terms, rule.time)
        for body in bodies(rule, self):
            self._made.append(Derivation(name, row, body + guards, rule.name, until))

    def _fill_count(self, signature: Signature, window: LarsWindow, name: str) -> None:
        if isinstance(window, LastTuples) or not (self._is_derived(signature) or window.gap):
            elements = f"{name}@"
            self._feed("element", signature, window, elements)
        else:  # what counts are the elements, not what they are
            elements = self.timed(signature, window)
        self._operators.append(Aggregate(name, self.diamond(signature, window), elements, "count"))

    def _is_derived(self, signature: Signature) -> bool:
        return bool(self._bare[signature] or self._placed[signature])

    def _varies(self, signature: Signature) -> bool:
        """Whether what rules derive now is asked for with its point of time."""
        return self._uses[signature].timed and bool(self._bare[signature])

    def _cut(self, signature: Signature, window: TimeSpan) -> tuple[Term, int] | None:
        """The end of what is placed at a point of time, for a window over it."""
        return None if window == self._uses[signature].window else (_TIME, window.size)

    def _feed(
        self, kind: FeedKind, signature: Signature, window: LarsWindow | None, name: str
    ) -> None:
        last = isinstance(window, LastTuples)
        if last or str(signature) in self._supplied or not self._is_derived(signature):
            self._feeds.append(Feed(kind, str(signature), window, name))

    def _derive(
        self,
        name: str,
        row: tuple[Term, ...],
        body: Iterable[Literal],
        until: tuple[Term, int] | None = None,
    ) -> None:
        self._made.append(Derivation(name, row, tuple(body), name, until))

    # -- constraints ----------------------------------------------------------------

    def constrain(self, rule: LarsRule) -> None:
        """There is no answer while a constraint's body holds, or that of a rule whose head
        is at a point of time outside the timeline."""
        if rule.head is None:
            for body in bodies(rule, self):
                self._made.append(Derivation(FALSE, (), body, rule.name))
        elif rule.time is not None and not _is_sure(rule):
            for body in bodies(rule, self):
                early = (Scan(FIRST, (_START,)), Compare("<", rule.time, _START))
                self._made += [
                    Derivation(FALSE, (), body, rule.name, (rule.time, -1)),
                    Derivation(FALSE, (), (*body, *early), rule.name, (rule.time, _FAR)),
                ]

    def contradict(self, signature: Signature) -> None:
        """There is no answer while an atom and its classical negation hold now."""
        row = variables_of(signature)
        negation = Signature(f"-{signature.name}", signature.arity)
        body = [Scan(self.now(signature), row), Scan(self.now(negation), row)]
        self._derive(FALSE, (), body)


_CUT = "\x1f"
"""Around what a projection keeps, in the name of its relation."""
_PROJECTED = re.compile(f"{_CUT}[^{_CUT}]*{_CUT}")
_SINCE = re.compile(r"[<@](-?[\w']+/\d+)(\[[\d.]+\])>(-?[\w']+/\d+)")
_RELATION = re.compile(r"(<>|\[\]|@|#|=|<|>)(-?[\w']+/\d+)(\[#?\d+(?:\.\.\d+)?\])?@?")


def written(text: str) -> str:
    """A text with relations as their window atoms are written: `<> p/1 [3]` for `<>p/1[3]`."""
    text = _SINCE.sub(r"\3 since \1 \2", _PROJECTED.sub("", text))
    return _RELATION.sub(_as_written, text)


def _as_written(found: re.Match[str]) -> str:
    sign, predicate, window = found.groups()
    signs = {"=": "", "@": "@T ", "#": "", "<": "since ", ">": ""}
    before = signs.get(sign, f"{sign} ") + predicate
    return " ".join(filter(None, (before, {"#": "count", ">": "since"}.get(sign), window)))


_FAR = 2**40
"""Later than any time: what ends there ends with its body, and is an integer."""


def variables_of(signature: Signature) -> tuple[Variable, ...]:
    """As many variables as a predicate has arguments."""
    return tuple(Variable(f"#{number}") for number in range(signature.arity))


def _is_sure(rule: LarsRule) -> bool:
    """Whether the head's point of time is one of the timeline in each instance."""
    return isinstance(rule.time, Variable) and rule.time.name in timeline_variables(rule)


def _shape(term: Term) -> str:
    """A pattern as text, in which each `_` is the same."""
    if isinstance(term, Variable):
        return term.name if term.name.startswith(KEPT) else "_"
    if isinstance(term, Compound):
        return f"{term.name}({','.join(map(_shape, term.arguments))})"
    return str(term)
