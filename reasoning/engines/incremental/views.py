"""Answers as views: rendered once, put together when they are asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain
from typing import Any

from citywise.reasoning.engines.incremental.evaluation import RuleEvaluation
from citywise.reasoning.engines.incremental.relation import Rows
from citywise.reasoning.model.engine import AnswerSet, Version
from citywise.reasoning.model.request import Signature
from citywise.reasoning.model.values import Row, atom_text

_MANY = 1000
"""Rows from which on it pays to see first whether their values are plain."""
_LOOK = 4
"""So many of them are written while one that was inserted is looked at."""
_FEW = 4
"""Where no more than one text of so many changed, those that are sorted already are kept."""


class Sorted(list[str]):
    """Texts that are sorted: the newest version of an answer."""


class AnswerView(AnswerSet):
    """An answer set whose atoms are sorted when they are asked for; equals one that holds
    the same."""

    def __init__(self, version: Version[str]) -> None:
        object.__setattr__(self, "_version", version)
        object.__setattr__(self, "_atoms", None)

    @property
    def atoms(self) -> tuple[str, ...]:
        """The shown atoms, sorted as text."""
        known: tuple[str, ...] | None = self.__dict__["_atoms"]
        if known is None:
            members = self.__dict__["_version"].members()
            known = tuple(members if isinstance(members, Sorted) else sorted(members))
            object.__setattr__(self, "_atoms", known)
            # A version holds on to all changes after it: one that was read shall not.
            object.__setattr__(self, "_version", None)
        return known

    def _key(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        return self.atoms, self.cost

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AnswerSet):
            return NotImplemented
        return self is other or self._key() == (other.atoms, other.cost)

    def __lt__(self, other: AnswerSet) -> bool:
        return self._key() < (other.atoms, other.cost)

    def __le__(self, other: AnswerSet) -> bool:
        return self._key() <= (other.atoms, other.cost)

    def __gt__(self, other: AnswerSet) -> bool:
        return self._key() > (other.atoms, other.cost)

    def __ge__(self, other: AnswerSet) -> bool:
        return self._key() >= (other.atoms, other.cost)

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"AnswerSet(atoms={self.atoms!r}, cost={self.cost!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return AnswerSet, self._key()


class Amended:
    """An answer that is amended again and again; each version stays what it was."""

    def __init__(self, base: AnswerSet) -> None:
        self.base = base
        self._came: set[str] = set()
        self._gone: set[str] = set()
        """Against the base."""
        self._version: Version[str] = Version(self._members)

    def by(self, came: Collection[str], gone: Collection[str]) -> AnswerSet:
        """The answer with some atoms more, and some less."""
        self._gone.update([text for text in gone if text not in self._came])
        self._came.difference_update(gone)
        self._came.update([text for text in came if text not in self._gone])
        self._gone.difference_update(came)
        self._version = self._version.followed_by(came, gone)
        return AnswerView(self._version)

    def next(self, added: Collection[str], removed: Collection[str]) -> tuple[list[str], list[str]]:
        """What comes and goes with an answer that comes after this one, if `added` and `removed`
        are against the base."""
        came, gone = self._came, self._gone
        new, old = set(added), set(removed)
        first = [atom for atom in added if atom not in came]
        last = [atom for atom in removed if atom not in gone]
        return sorted([*first, *(gone - old)]), sorted([*last, *(came - new)])

    def _members(self) -> Collection[str]:
        atoms = self.base.atoms
        kept = [atom for atom in atoms if atom not in self._gone] if self._gone else [*atoms]
        return Sorted(_with(kept, sorted(self._came)))


class Kept:
    """The rows of an output as of the step last followed, whatever becomes of the evaluation:
    a copy, and what changed since. It is made anew once twice as much has changed."""

    def __init__(self, relation: str, name: str) -> None:
        self.name = name
        """That of its atoms."""
        self._relation = relation
        self._rows: Rows | set[Row] = ()
        self._changes: list[tuple[Rows, Rows]] = []
        self._changed = 0

    def follow(self, evaluation: RuleEvaluation) -> tuple[Rows, Rows]:
        """The rows that came with the evaluation's last step, and those that are gone."""
        came, gone = evaluation.came(self._relation), evaluation.gone(self._relation)
        if came or gone:
            self._changes.append((came, gone))
            self._changed += len(came) + len(gone)
            # The changes since cost more memory than a new copy: taking one now costs no more
            # than following them did.
            if self._changed > 2 * len(self._rows):
                self._keep(evaluation.rows(self._relation))
        return came, gone

    def rows(self) -> Collection[Row]:
        """The rows, in no order."""
        if self._changes:
            # A set is ours from the last time; what a relation gave is not, and is copied.
            rows = self._rows if isinstance(self._rows, set) else set(self._rows)
            for came, gone in self._changes:
                rows.difference_update(gone)
                rows.update(came)
            self._keep(rows)
        return self._rows

    def _keep(self, rows: Rows | set[Row]) -> None:
        self._rows, self._changes, self._changed = rows, [], 0


class Texts(ABC):
    """Texts that are sorted when they are asked for, kept from step to step."""

    def __init__(self) -> None:
        self._sorted: list[str] | None = None
        """All texts of before what follows; None where sorting anew is cheaper."""
        self._came: set[str] = set()
        """Texts that are not among the sorted ones."""
        self._gone: set[str] = set()
        """Sorted texts that hold no more."""
        self.version: Version[str] = Version(self._members)

    def noted(
        self, added: list[str], removed: list[str]
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Take over what came and what is gone; both sorted."""
        added.sort()
        removed.sort()
        if self._sorted is not None:
            self._put_off(self._sorted, added, removed)
        if added or removed:
            self.version = self.version.followed_by(added, removed)
        return tuple(added), tuple(removed)

    def _put_off(self, before: list[str], added: list[str], removed: list[str]) -> None:
        """Note what is to be put in and taken out of sorted texts, unless it is too much."""
        came, gone = self._came, self._gone
        # The two must stay disjoint from each other and right about the sorted texts: what was
        # put off and goes again is forgotten, what was to go and comes again stays.
        gone.update([text for text in removed if text not in came])
        came.difference_update(removed)
        came.update([text for text in added if text not in gone])
        gone.difference_update(added)
        # Putting in one by one costs a search each; beyond a quarter Python's sort is faster.
        if _FEW * (len(came) + len(gone)) > len(before):
            self._sorted = None
            self._came, self._gone = set(), set()

    def _members(self) -> Collection[str]:
        """All texts, sorted: those of before are in order."""
        if self._sorted is None:
            every = sorted(self._every())
        else:
            # By slices between the places of the few texts that changed: copying is done in C.
            every = _with(_without(self._sorted, sorted(self._gone)), sorted(self._came))
        self._sorted = Sorted(every)
        self._came, self._gone = set(), set()
        return self._sorted

    @abstractmethod
    def _every(self) -> Iterable[str]:
        """All texts, in any order."""


class Shown(Texts):
    """The rows of some relations as text, kept from step to step.

    Parameters
    ----------
    relations:
        The relations, outputs of the evaluation, and the names of their atoms.
    """

    def __init__(self, relations: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._kept = [Kept(relation, name) for relation, name in relations]

    @classmethod
    def of(cls, predicates: Iterable[Signature]) -> Shown:
        """The rows of predicates whose relations are named as they are."""
        return cls([(str(signature), signature.name) for signature in predicates])

    def follow(self, evaluation: RuleEvaluation) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Take over what the evaluation's last step changed, of which it sees every one; the
        texts, sorted, of what came and what is gone."""
        added: list[str] = []
        removed: list[str] = []
        for kept in self._kept:
            came, gone = kept.follow(evaluation)
            changed = len(came) + len(gone)
            # Knowing that no value is a function allows a faster way to write, but costs a look
            # at the values that were inserted; fewer rows than these do not earn it back.
            plain = changed > _MANY and evaluation.is_plain(changed // _LOOK)
            texts = plain_texts if plain else atom_texts
            if gone:
                removed += texts(kept.name, gone)
            if came:
                added += texts(kept.name, came)
        return self.noted(added, removed)

    def _every(self) -> Iterable[str]:
        return [text for kept in self._kept for text in atom_texts(kept.name, kept.rows())]


def _without(texts: list[str], gone: list[str]) -> list[str]:
    """Sorted texts but for some of them, sorted as well; others are ignored."""
    found: list[str] = []
    start = 0
    for text in gone:
        place = bisect_left(texts, text, start)
        if place < len(texts) and texts[place] == text:
            found += texts[start:place]
            start = place + 1
    return found + texts[start:]


def _with(texts: list[str], came: list[str]) -> list[str]:
    """Sorted texts and others, sorted as well."""
    found: list[str] = []
    start = 0
    for text in came:
        place = bisect_left(texts, text, start)
        found += texts[start:place]
        found.append(text)
        start = place
    return found + texts[start:]


def plain_texts(name: str, rows: Collection[Row]) -> list[str]:
    """The texts of ground atoms of one relation, in their order, no argument of which is a
    function of others."""
    arity = len(next(iter(rows), ()))
    return _written(arity)(f"{name}(", rows) if arity else [name] * len(rows)


@cache
def _written(arity: int) -> Callable[[str, Collection[Row]], list[str]]:
    """A function that writes rows: each text is put together at once, in half the time."""
    names = [f"v{place}" for place in range(arity)]
    text = "{head}" + ",".join(f"{{{name}}}" for name in names) + ")"
    source = f"lambda head, rows: [f'{text}' for {','.join(names)}, in rows]"
    return eval(source)  # type: ignore[no-any-return]  # noqa: S307 - ours


def atom_texts(name: str, rows: Collection[Row]) -> list[str]:
    """The texts of ground atoms of one relation, in their order; fast where no argument is a
    function of others, faster where none is a number."""
    first = next(iter(rows), ())
    if not first:
        return [name] * len(rows)
    # Joining fails at the first number, so trying is the test.
    with suppress(TypeError):
        return [f"{name}({arguments})" for arguments in map(",".join, rows)]  # type: ignore[arg-type]
    if tuple in set(map(type, chain.from_iterable(rows))):
        return [atom_text(name, row) for row in rows]
    form = f"{name}({','.join(['%s'] * len(first))})"
    return [form % row for row in rows]
