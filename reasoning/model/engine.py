"""What an engine is given and what it gives: programs, windows and their changes, answers.

A `Version` is a set that changes, as it was: it costs what changed, not what there is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeAlias, TypeVar, runtime_checkable

from citywise.reasoning.model.carried import watch
from citywise.reasoning.model.request import OURS as OURS
from citywise.reasoning.model.request import Request, Signature
from citywise.reasoning.model.values import Row


class Knowledge(Protocol):
    """Facts that hold in every window."""

    @property
    def text(self) -> str:
        """One `atom.` a line."""

    @property
    def supplied(self) -> frozenset[Signature]:
        """Predicates of the facts."""


@dataclass(frozen=True)
class WindowFacts:
    """The facts of a window, one `atom.` a line, and the predicates that the request's
    streams have supplied so far."""

    text: str
    supplied: frozenset[Signature] = frozenset()


@dataclass(frozen=True)
class AspProgram:
    """A request's name, its rules with `#show` statements, and its costs' priorities."""

    name: str
    rules: str
    priorities: tuple[int, ...] = ()


def program(request: Request, supplied: frozenset[Signature]) -> AspProgram:
    """The program of a request whose streams and knowledge bases supply `supplied`.

    Where nothing is declared shown, every atom of a predicate is that some rule derives
    and nothing supplies (docs/reason.md), and what is fed back.
    """
    rules = request.rules + "\n"
    if not (request.shows or request.shows_terms):
        # What is fed back is shown in any case, for only shown atoms reach the next evaluation.
        derived = sorted(request.derived - request.inputs - supplied | request.feedback)
        # clingo shows everything until a first `#show`; `#show.` makes it nothing.
        rules += "#show.\n" + "".join(f"#show {signature}.\n" for signature in derived)
    rules += "".join(f"#show {signature}.\n" for signature in watch(request).values())
    return AspProgram(request.name, rules, request.priorities)


@dataclass(frozen=True, order=True)
class AnswerSet:
    """The shown atoms of one answer set, sorted as text, and its cost (highest priority
    first; empty without optimisation)."""

    atoms: tuple[str, ...]
    cost: tuple[int, ...] = ()


def difference(
    before: AnswerSet | None, after: AnswerSet | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What came and what is gone between two answers, sorted; None has no atoms."""
    old = frozenset(before.atoms if before else ())
    new = frozenset(after.atoms if after else ())
    return tuple(sorted(new - old)), tuple(sorted(old - new))


class Engine(Protocol):
    """What evaluates a request's rules over the facts of a window."""

    def answer_sets(self, window: WindowFacts, models: int = 0) -> tuple[AnswerSet, ...]:
        """All answer sets that differ in their shown atoms (at most `models`, 0: all),
        sorted; with optimisation only optimal ones.

        Raises `SolvingError` with the solver's words, `LimitError` at a limit.
        """

    def close(self) -> None:
        """Release processes and memory."""


class Shape(NamedTuple):
    """What some items say: of one subject, at one time, a value for each of some predicates.

    No two items in a window say different things of one subject, or the shape's rows are taken
    apart.
    """

    relations: tuple[str, ...]
    """`p/2`, or `p/3` with the time as third argument."""

    @property
    def relation(self) -> str:
        """The relation of its rows: subject, time, and the values in the order of `relations`."""
        return "#row " + " ".join(self.relations)


@dataclass(slots=True)
class Atoms:
    """Ground atoms, some as text, some as rows."""

    texts: list[str] = field(default_factory=list)
    rows: defaultdict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    """By relation: `p/2`."""
    shaped: defaultdict[Shape, list[Row]] = field(default_factory=lambda: defaultdict(list))
    """Rows of several atoms each; their values are numbers, strings and booleans."""

    def __bool__(self) -> bool:
        return bool(self.texts or self.rows or self.shaped)


Entered: TypeAlias = Mapping[int | None, Atoms]
"""Atoms by the last instant at which they are in their window; None: until they leave it.
An atom is listed once for each item that supplies it."""


@dataclass(frozen=True)
class WindowChange:
    """What entered and left the windows of a request since the evaluation before.

    Instants are integers that never decrease; count ticks at time t are at 2t, the time
    tick, which comes after them, at 2t + 1.
    """

    now: int
    """The instant of the evaluation."""
    entered: Entered
    left: Sequence[str]
    """Atoms that entered without a last instant and have left."""
    supplied: frozenset[Signature]
    """Predicates that the request's streams have supplied so far."""
    size: int
    """Atoms in the windows."""
    anew: bool
    """Whether what was told before counts no more: only `whole` says what there is."""
    whole: Callable[[], Entered]
    """Everything in the windows, as if it had entered now; to be asked before the next."""
    window: Callable[[], WindowFacts]
    """The same as text for a solver."""


class Answered(NamedTuple):
    """The answer to a change: what is shown, and what came to be shown and is no more.

    `added` and `removed` are sorted, against the last answer (no atoms where there was no
    answer set); None where the engine does not know. Errors are no answers.
    """

    answer_sets: tuple[AnswerSet, ...]
    added: tuple[str, ...] | None = None
    removed: tuple[str, ...] | None = None

    def as_first(self) -> Answered:
        """The same, where there was no answer before."""
        return Answered(self.answer_sets, self.answer_sets[0].atoms if self.answer_sets else (), ())


@runtime_checkable
class ChangingEngine(Protocol):
    """An engine that can be told what changed, and answers with what changed.

    It is told of every evaluation of one reasoner, in order; after an error, too.
    """

    def answer_sets(self, window: WindowFacts, models: int = 0) -> tuple[AnswerSet, ...]:
        """See `Engine`."""

    def changed(self, change: WindowChange, models: int = 0) -> Answered:
        """The answer after a change; raises as `Engine.answer_sets` does."""

    def close(self) -> None:
        """See `Engine`."""


Member = TypeVar("Member")


class Version(Generic[Member]):
    """The members of a changing set at one moment, put together when they are asked for.

    The newest version asks the set itself: for a list or tuple, which stays as it is, or for
    another collection, which is copied. One before it undoes what came after. Whoever changes the
    set says so with `followed_by`; versions nobody holds cost nothing.
    """

    __slots__ = ("_after", "_members", "_source")

    def __init__(self, source: Callable[[], Collection[Member]]) -> None:
        self._source = source
        self._members: Collection[Member] | None = None
        self._after: tuple[Version[Member], Collection[Member], Collection[Member]] | None = None

    def followed_by(self, came: Collection[Member], gone: Collection[Member]) -> Version[Member]:
        """The version after it, of which `came` are new and `gone` are members no more."""
        # Versions point forward only: the set holds the newest, so one nobody asks for is freed,
        # with all that led up to it.
        newer = Version(self._source)
        self._after = newer, came, gone
        return newer

    def members(self) -> Collection[Member]:
        """The members; of the newest version in the order in which the set gives them."""
        if self._members is None:
            self._members = self._restored()
        return self._members

    def _restored(self) -> Collection[Member]:
        # Forward to the first version that is known, or to the newest, which asks the set; then
        # back. A loop, for an answer may be asked for thousands of steps later.
        undone: list[tuple[Collection[Member], Collection[Member]]] = []
        version: Version[Member] = self
        while version._members is None and version._after is not None:
            version, came, gone = version._after
            undone.append((came, gone))
        known = version._source() if version._members is None else version._members
        if not undone:
            return known if isinstance(known, list | tuple) else tuple(known)
        found = set(known)
        for came, gone in reversed(undone):
            found.difference_update(came)
            found.update(gone)
        return found
