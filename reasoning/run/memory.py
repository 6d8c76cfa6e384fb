"""What a reasoner remembers from one evaluation to the next: `#feedback`, `#held`, `#last`."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from citywise.reasoning.engines.incremental.views import AnswerView, Sorted
from citywise.reasoning.model.atoms import LARGEST, SMALLEST, signature
from citywise.reasoning.model.carried import HELD, Carried, began, clock, last, watch, with_time
from citywise.reasoning.model.engine import Answered, AnswerSet, Version
from citywise.reasoning.model.request import Request, Signature, previous
from citywise.reasoning.streams.windows import NOTHING_GIVEN, Given

_AFTER_HELD = HELD[:-1] + chr(ord(HELD[-1]) + 1)
"""The first text after all that begin with `HELD`."""
_PREVIOUS = "prev"
ToldTime = Literal["since", "last", "now"]
"""What a time is: when an atom began to hold, or held last, or that of the evaluation."""
_Key = tuple[str, str]
"""What a fact says: its predicate's name (or `_PREVIOUS`), and the atom it speaks of."""


@dataclass
class _Watched:
    """A predicate under `#held`, `#last` or both: its atoms with times."""

    signature: Signature
    since_name: str = ""
    """The name of the facts that tell since when; empty: there are none."""
    last_name: str = ""
    age: int | None = None
    """How old a time of `last` may be."""
    since: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    """The oldest first."""


class Memory:
    """What the evaluations of one reasoner leave to each other.

    An evaluation asks what it is `given`, and `take`s its answer. Without an answer set, or
    with an error, all stays as it was. Both cost what changes.
    """

    def __init__(self, request: Request) -> None:
        self._fed_back = request.feedback
        self._names = frozenset(s.name for s in request.feedback)
        others = (request.used | request.derived | request.shows) - request.feedback
        namesakes = self._names if request.shows_terms else {s.name for s in others}
        self._alone = self._names - namesakes
        """Names of predicates of feedback that have no namesake among all that may be shown."""
        self._watched = dict(_watched(request))
        self._times: dict[str, dict[str, int]] = {}
        for each in self._watched.values():
            self._times |= {each.since_name: each.since, each.last_name: each.last}
        self._clock = sorted(s.name for s in clock(request))
        self._idle = not (self._clock or self._names or self._watched)
        self._feedback: frozenset[str] = frozenset()
        self.feedback: tuple[str, ...] = ()
        """Atoms that the next evaluation sees as `prev_…`, sorted."""
        self._told: dict[_Key, str] = {}
        """The facts of the evaluation before."""
        self._base: int | None = None
        self._changed: set[_Key] = set()
        """What the next evaluation must be told anew."""
        self._continues = False
        """Whether the evaluation before had an answer set, from which changes count."""

    # -- what an evaluation is given ------------------------------------------------

    def given(self, time: int, base: int, supplied: frozenset[Signature] = frozenset()) -> Given:
        """The facts for the evaluation at `time`; times in them count from `base`. A predicate
        that is `supplied` is nobody's clock."""
        if self._idle:
            return NOTHING_GIVEN
        self._forget(time)
        if base != self._base:
            self._changed.update(key for key in self._told if key[0] != _PREVIOUS)
            self._base = base
        self._changed.update((name, "") for name in self._clock)
        came: list[str] = []
        gone: list[str] = []
        # In an order that does not depend on hashes, for it is that of the solver's facts.
        for key in sorted(self._changed):
            old, new = self._told.pop(key, None), self._fact(key, time, supplied)
            if new is not None:
                self._told[key] = new
            if old == new:
                continue
            came += [new] if new is not None else []
            gone += [old] if old is not None else []
        self._changed.clear()
        told = self._told
        # The time is in every part of a request, and none of what it reads.
        size = len(told) - sum((name, "") in told for name in self._clock)
        return Given(came, gone, size, lambda: list(told.values()))

    @property
    def told(self) -> list[str]:
        """The facts of the last evaluation."""
        return list(self._told.values())

    def times_told(self) -> Iterator[tuple[str, ToldTime]]:
        """The facts of the last evaluation that say times, and what they say."""
        since = {each.since_name for each in self._watched.values()}
        for (name, atom), fact in self._told.items():
            if name != _PREVIOUS:
                yield fact, "now" if not atom else "since" if name in since else "last"

    def fits(self, time: int, base: int) -> bool:
        """Whether the rules, which may look at it, can be told a time."""
        return not self._clock or SMALLEST <= time - base <= LARGEST

    @property
    def forgets_at(self) -> int | None:
        """The time from which on something of `#last` is too old, if it does not hold again."""
        times = [
            at + each.age + 1
            for each in self._watched.values()
            if each.age is not None
            # The oldest first, but those that hold now: they will have held later.
            for at in (next((t for a, t in each.last.items() if a not in each.since), None),)
            if at is not None
        ]
        return min(times, default=None)

    def rests(self) -> bool:
        """Whether the next evaluation is given what the one before was, whenever it comes."""
        ages = any(each.last and each.age is not None for each in self._watched.values())
        return not (self._changed or ages or "now" in self._clock)

    def _fact(self, key: _Key, time: int, supplied: frozenset[Signature]) -> str | None:
        """The fact that says it; None if that is not so."""
        name, atom = key
        if name == _PREVIOUS:
            return previous(atom) if atom in self._feedback else None
        if not atom:
            return None if Signature(name, 1) in supplied else f"{name}({time - (self._base or 0)})"
        at = self._times[name].get(atom)
        # What lies further back than 32 bits of milliseconds reach is as old as can be.
        return at if at is None else with_time(name, atom, max(at - (self._base or 0), SMALLEST))

    def _forget(self, time: int) -> None:
        for each in self._watched.values():
            if each.age is None:
                continue
            while each.last:
                atom, at = next(iter(each.last.items()))
                if time - at <= each.age:
                    break
                del each.last[atom]
                self._changed.add((each.last_name, atom))

    # -- what it leaves -------------------------------------------------------------

    def take(self, answered: Answered, time: int) -> Answered:
        """The answer at `time` without what only we are told; it is kept for the next."""
        if not (self._names or self._watched):
            return answered
        answers, added, removed = answered
        if answers:
            if not self._continues or added is None or removed is None:
                self._take_all(answers[0].atoms, time)
            # By what changed, which costs less than going through all that is shown.
            elif added or removed:
                self._take_changes(added, removed, time)
            self._hold(time)
        self._continues = bool(answers)
        return self._visible(answered) if self._watched else answered

    def _take_all(self, atoms: tuple[str, ...], time: int) -> None:
        self._feed_back(atom for atom in atoms if self._is_fed_back(atom))
        holding: dict[str, dict[str, int]] = {name: {} for name in self._watched}
        for told in atoms[_from(atoms, HELD) : _from(atoms, _AFTER_HELD)]:
            each, atom = self._read(told)
            holding[told.partition("(")[0]][atom] = each.since.get(atom, time)
        for name, each in self._watched.items():
            for atom in each.since.keys() ^ holding[name].keys():
                self._note(each.since_name, atom)
            each.since.clear()
            each.since.update(holding[name])

    def _take_changes(self, added: tuple[str, ...], removed: tuple[str, ...], time: int) -> None:
        fed = {atom for atom in (*added, *removed) if self._is_fed_back(atom)}
        if fed:
            self._feed_back(self._feedback ^ fed)
        for told in removed[_from(removed, HELD) : _from(removed, _AFTER_HELD)]:
            each, atom = self._read(told)
            del each.since[atom]
            self._note(each.since_name, atom)
        for told in added[_from(added, HELD) : _from(added, _AFTER_HELD)]:
            each, atom = self._read(told)
            each.since[atom] = time
            self._note(each.since_name, atom)

    def _hold(self, time: int) -> None:
        """What holds now held last now, as the next evaluation sees it."""
        for each in self._watched.values():
            for atom in each.since if each.last_name else ():
                each.last.pop(atom, None)  # it is the newest from now on
                each.last[atom] = time
                self._note(each.last_name, atom)

    def still(self, time: int) -> None:
        """What held in the last answer also held at `time`: nothing has changed since."""
        self._hold(time)

    def _note(self, name: str, atom: str) -> None:
        """The next evaluation must be told of an atom's time anew, if it is told at all."""
        if name:
            self._changed.add((name, atom))

    def _feed_back(self, atoms: Iterable[str]) -> None:
        found = frozenset(atoms)
        self._changed.update((_PREVIOUS, atom) for atom in found ^ self._feedback)
        if found != self._feedback:
            self._feedback, self.feedback = found, tuple(sorted(found))

    def _is_fed_back(self, atom: str) -> bool:
        name = atom.partition("(")[0]
        return name in self._alone or (name in self._names and signature(atom) in self._fed_back)

    def _read(self, told: str) -> tuple[_Watched, str]:
        """The atom of which an answer tells that it holds, and its predicate."""
        name, bracket, arguments = told.partition("(")
        each = self._watched[name]
        return each, f"{each.signature.name}{bracket}{arguments}"

    def _visible(self, answered: Answered) -> Answered:
        answers, added, removed = answered
        return Answered(
            tuple(map(_shown_answer, answers)),
            added if added is None else _without(added),
            removed if removed is None else _without(removed),
        )

    # -- recovery -------------------------------------------------------------------

    @property
    def carried(self) -> Carried:
        """All that the next evaluation will be given of this one and those before."""
        since = (
            i for each in self._watched.values() if each.since_name for i in each.since.items()
        )
        held = (item for each in self._watched.values() for item in each.last.items())
        return Carried(self.feedback, tuple(sorted(since)), tuple(sorted(held)))

    @carried.setter
    def carried(self, value: Carried) -> None:
        """Go on as if the evaluation before had left this."""
        self._feed_back(value.feedback)
        self._continues = False
        for each in self._watched.values():
            for name, times in ((each.since_name, each.since), (each.last_name, each.last)):
                for atom in times:
                    self._note(name, atom)
                times.clear()
        found = {each.signature: each for each in self._watched.values()}
        # A program that is another by now may ask for less.
        for atom, at in value.since:
            if (kept := found.get(signature(atom))) and kept.since_name:
                kept.since[atom] = at
                self._note(kept.since_name, atom)
        for atom, at in sorted(value.last, key=lambda item: item[1]):
            if (kept := found.get(signature(atom))) and kept.last_name:
                kept.last[atom] = at
                self._note(kept.last_name, atom)


def _watched(request: Request) -> Iterator[tuple[str, _Watched]]:
    for each, watcher in watch(request).items():
        since_name = began(watcher).name if each in request.held else ""
        last_name = last(each).name if each in request.last else ""
        yield watcher.name, _Watched(each, since_name, last_name, request.last.get(each))


def _shown_answer(answer: AnswerSet) -> AnswerSet:
    if isinstance(answer, AnswerView):
        # Put together when it is asked for, as before.
        return AnswerView(Version(lambda: Sorted(_without(answer.atoms))))
    return AnswerSet(_without(answer.atoms), answer.cost)


def _without(atoms: tuple[str, ...]) -> tuple[str, ...]:
    """Sorted atoms without those that tell which atoms hold."""
    return atoms[: _from(atoms, HELD)] + atoms[_from(atoms, _AFTER_HELD) :]


def _from(atoms: tuple[str, ...], text: str) -> int:
    return bisect_left(atoms, text)
