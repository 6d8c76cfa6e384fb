"""The evaluation of a request over standing facts, key by key (docs/keyed.md).

Keys are the entities whose answers are wanted; `StandingFacts` has the facts by the entities they
name. When facts change, only keys that can reach a changed entity are evaluated again, together
with what they reach. For a local program (see `locality`) that gives each key what an evaluation
over all facts would. A program that is not local is evaluated over all facts whenever any change.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from clingo.ast import ASTType

from citywise.reasoning.asp.dependencies import Dependencies
from citywise.reasoning.asp.syntax import Node
from citywise.reasoning.errors import SolvingError
from citywise.reasoning.model.engine import Engine, WindowFacts
from citywise.reasoning.model.request import Signature
from citywise.reasoning.run.keyed.locality import Locality
from citywise.reasoning.run.keyed.memory import KeyedMemory


@dataclass(frozen=True, slots=True)
class Group:
    """Facts that come and go together: one `atom.` a line, and the entities they name."""

    text: str
    names: tuple[str, ...] = ()


_NOTHING = Group("")


class StandingFacts:
    """Facts by entity, and which entities name which.

    Entities are terms of ASP as text. `changed` are those whose facts changed since it was
    emptied; the caller empties it.
    """

    def __init__(self) -> None:
        self._facts: dict[str, dict[Hashable, Group]] = {}
        self._named_by: dict[str, dict[str, int]] = defaultdict(dict)
        self.changed: set[str] = set()

    def put(
        self, entity: str, group: Hashable, facts: Iterable[str], names: Iterable[str] = ()
    ) -> None:
        """Let a group of an entity's facts be these atoms from now on; none removes it.

        `names` are the other entities the atoms name.
        """
        text = "".join(f"{fact}.\n" for fact in facts)
        new = Group(text, tuple(names)) if text else _NOTHING
        groups = self._facts.setdefault(entity, {})
        old = groups.get(group, _NOTHING)
        # What stood already concerns nobody.
        if new == old:
            return
        self.changed.add(entity)
        if new.text:
            groups[group] = new
        else:
            del groups[group]
            if not groups:
                del self._facts[entity]
        self._rename(entity, old.names, new.names)

    def _rename(self, entity: str, before: Sequence[str], after: Sequence[str]) -> None:
        for name in before:
            # Counted, for several groups of an entity may name the same other one.
            known = self._named_by[name]
            known[entity] -= 1
            if not known[entity]:
                del known[entity]
                if not known:
                    del self._named_by[name]
        for name in after:
            known = self._named_by[name]
            known[entity] = known.get(entity, 0) + 1

    def groups(self, entity: str) -> list[Hashable]:
        """The groups of facts there are about an entity."""
        return list(self._facts.get(entity, ()))

    def names(self, entity: str) -> set[str]:
        """The entities that the facts about an entity name."""
        return {name for group in self._facts.get(entity, {}).values() for name in group.names}

    def forget(self, entity: str) -> None:
        """Remove all facts about an entity."""
        for group in self.groups(entity):
            self.put(entity, group, ())

    def reaching(self, entities: Iterable[str]) -> set[str]:
        """The entities from which any of some can be reached, themselves included."""
        # Backwards along the names: a change of an event concerns whoever's facts name it, at any
        # distance.
        found = set(entities)
        queue = list(found)
        for entity in queue:
            new = [name for name in self._named_by.get(entity, ()) if name not in found]
            found.update(new)
            queue += new
        return found

    def reached(self, entities: Iterable[str]) -> set[str]:
        """The entities with facts that can be reached from some, themselves included."""
        found = {entity for entity in entities if entity in self._facts}
        queue = list(found)
        for entity in queue:
            for group in self._facts[entity].values():
                new = [n for n in group.names if n in self._facts and n not in found]
                found.update(new)
                queue += new
        return found

    def text(self, entities: Iterable[str]) -> Iterator[str]:
        """The facts about entities, as text."""
        for entity in entities:
            for group in self._facts.get(entity, {}).values():
                yield group.text

    @property
    def entities(self) -> Iterable[str]:
        """All entities that facts are about."""
        return self._facts.keys()


_TOGETHER = 4_000
"""Keys in one call of the solver: enough that its fixed cost (about 1 ms) does not count."""
_MOST_FAILURES = 30
"""Of one evaluation: enough to find two keys at fault among thousands."""
_EVERYWHERE = ""


@dataclass(frozen=True)
class KeyedRules:
    """What is known of a request's rules before there are facts."""

    local: bool
    certain: bool
    """Whether there is exactly one answer set, whatever the facts."""
    leaps: tuple[str, ...] = ()
    """Why it is not local."""

    @classmethod
    def of(
        cls,
        statements: Sequence[Node],
        everywhere: Collection[Signature],
        supplied: Collection[Signature],
        naming: Mapping[Signature, Collection[int]] | None = None,
    ) -> KeyedRules:
        """Look at a program; for the predicates see `Locality`."""
        found = Locality(statements, everywhere, supplied, naming)
        leaps = tuple(str(leap) for leap in found.leaps)
        return cls(not leaps, _is_certain(statements), leaps)


@dataclass(frozen=True)
class KeyedAnswer:
    """What a key's answer was and is: its atoms, sorted."""

    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass
class Evaluated:
    """One evaluation."""

    answers: dict[str, KeyedAnswer] = field(default_factory=dict)
    """By key, where the answer changed."""
    keys: tuple[str, ...] = ()
    """The keys that were evaluated."""
    facts: int = 0
    """Facts given to the solver."""
    seconds: float = 0.0
    errors: dict[str, str] = field(default_factory=dict)
    """By key, why there is no answer; the one before stays."""


class KeyedEvaluation:
    """Evaluates keys over facts that stand.

    Parameters
    ----------
    rules:
        What is known of the program.
    engine:
        Gives the answers of the program to facts; its shown atoms have the key they belong
        to as first argument.
    supplied:
        Predicates of the facts.
    together:
        Keys in one call of the engine, at most.
    memory:
        What evaluations leave to each other, if rules remember or look at the time.
    """

    def __init__(
        self,
        rules: KeyedRules,
        engine: Engine,
        supplied: frozenset[Signature],
        together: int = _TOGETHER,
        memory: KeyedMemory | None = None,
    ) -> None:
        self.facts = StandingFacts()
        self.memory = memory
        self._together = together
        self._rules = rules
        self._engine = engine
        self._supplied = supplied
        self._keys: set[str] = set()
        self._gone: set[str] = set()
        self._answers: dict[str, tuple[str, ...]] = {}
        self._tries = _MOST_FAILURES
        self._at = 0
        self.failed: set[str] = set()
        """Keys whose last evaluation failed: their answers are from before."""

    def add(self, key: str) -> None:
        """Answers are wanted for `key`."""
        if key not in self._keys:
            self._keys.add(key)
            self._gone.discard(key)
            self.facts.changed.add(key)

    def remove(self, key: str) -> None:
        """Answers are no longer wanted for `key`: its last is empty."""
        if key in self._keys:
            self._keys.remove(key)
            self._gone.add(key)
            self.facts.changed.add(key)

    def everywhere(self, group: Hashable, facts: Iterable[str]) -> None:
        """Facts that go into every evaluation; when they change, all keys are concerned."""
        self.facts.put(_EVERYWHERE, group, facts)

    @property
    def keys(self) -> Collection[str]:
        """Those for which answers are wanted."""
        return self._keys

    def answer(self, key: str) -> tuple[str, ...]:
        """The last answer of a key."""
        return self._answers.get(key, ())

    def adopt(self, key: str, answer: Sequence[str]) -> None:
        """Let a key's answer be one that was given elsewhere, where an evaluation failed."""
        if key in self._keys:
            self._answers[key] = tuple(answer)
            self.failed.add(key)

    def fail(self) -> None:
        """What was due could not be evaluated: the answers are those before, and all are due."""
        self.failed.update(self._keys)
        self.facts.changed.update(self._keys)

    def slice(self, key: str) -> str:
        """The facts that decide a key's answer, one `atom.` a line."""
        given = self.memory.given_last(key) if self.memory is not None else ""
        return self._text([key]) + given

    def is_due(self, at: int = 0) -> bool:
        """Whether anything changed since the last evaluation, or does by `at` by itself."""
        due = self.memory.next_due() if self.memory else None
        return bool(self.facts.changed) or (due is not None and due <= at)

    def evaluate(self, at: int = 0) -> Evaluated:
        """Evaluate the keys that what changed concerns, and those for which it is time; `at` is
        the time in the request's unit, for rules that look at it.

        Of several answer sets the first counts, in the order of their atoms as text; where
        rules remember there must be one.
        """
        began = time.perf_counter()
        self._at = at
        concerned = self._concerned()
        if self.memory is not None and (due := self.memory.due(at)):
            # Rules that are not local may read of everybody what one remembers.
            concerned |= due & self._keys if self._rules.local else self._keys
        found = Evaluated(keys=tuple(sorted(concerned)))
        for key in sorted(self._gone):
            self._answered(found, key, ())
            del self._answers[key]
            if self.memory is not None:
                self.memory.forget(key)
        self._gone.clear()
        self.facts.changed.clear()
        self._tries = _MOST_FAILURES
        for keys in self._batches(found.keys):
            self._evaluate(keys, found)
        if self.memory is not None:
            answered = [key for key in found.keys if key not in found.errors]
            self.facts.changed |= self.memory.unsettled(answered)
        found.seconds = time.perf_counter() - began
        return found

    def _concerned(self) -> set[str]:
        changed = self.facts.changed
        # Knowledge and the time go into every slice; and rules that are not local may read
        # anything.
        if _EVERYWHERE in changed or (changed and not self._rules.local):
            return set(self._keys)
        return self.facts.reaching(changed) & self._keys

    def _batches(self, keys: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Keys to evaluate together: all if they may read of each other, one by one if one
        may have several answers or none."""
        size = len(keys) or 1
        # Keys of local rules do not see each other, so their slices can be evaluated as one text.
        # But answers of several keys multiply, and one without an answer would leave all without:
        # such rules go key by key.
        if self._rules.local:
            size = self._together if self._rules.certain else 1
        left = iter(keys)
        while batch := tuple(islice(left, size)):
            yield batch

    def _evaluate(self, keys: Sequence[str], found: Evaluated) -> None:
        """Evaluate some keys together; if that fails, find the ones at fault, unless it are
        so many that looking for them would take longer than anybody can wait."""
        text = self._text(keys)
        if self.memory is not None:
            text += self.memory.text(keys, self._at)
        found.facts += text.count("\n")
        try:
            atoms = self._solved(text)
            by_key: Mapping[str, Sequence[str]] = _by_key(atoms)
            if self.memory is not None:
                by_key = self.memory.take(atoms, by_key, keys)
        # No process, no memory: trying with half of the keys would only hide it.
        except (OSError, MemoryError):
            raise  # not the keys' fault
        except Exception as failure:  # noqa: BLE001 - whichever of them are at fault
            self._tries -= 1
            if len(keys) == 1 or not self._rules.local or self._tries <= 0:
                found.errors.update(dict.fromkeys(keys, _words(failure)))
                self.failed.update(keys)
                return
            # By halves, the key at fault among thousands is found in a dozen calls; the others
            # get their answers.
            half = len(keys) // 2
            self._evaluate(keys[:half], found)
            self._evaluate(keys[half:], found)
            return
        for key in keys:
            self._answered(found, key, tuple(by_key.get(key, ())))

    def _solved(self, text: str) -> tuple[str, ...]:
        answers = self._engine.answer_sets(WindowFacts(text, self._supplied))
        if not answers:
            raise SolvingError("its constraints leave no answer")
        if self.memory is not None and len(answers) > 1:
            raise SolvingError(
                f"it remembers, and has {len(answers)} answers; add constraints or preferences "
                "that leave one"
            )
        return answers[0].atoms

    def _text(self, keys: Sequence[str]) -> str:
        if self._rules.local:
            entities = self.facts.reached([_EVERYWHERE, *keys])
        else:
            entities = set(self.facts.entities)
        return "".join(self.facts.text(entities))

    def _answered(self, found: Evaluated, key: str, after: tuple[str, ...]) -> None:
        before = self._answers.get(key, ())
        self._answers[key] = after
        self.failed.discard(key)
        if before != after:
            found.answers[key] = KeyedAnswer(before, after)


def _words(failure: Exception) -> str:
    """What failed; of what nobody foresaw also its kind."""
    known = isinstance(failure, SolvingError)
    return str(failure) if known else f"{type(failure).__name__}: {failure}"


def _by_key(atoms: Iterable[str]) -> dict[str, list[str]]:
    """Atoms by their first argument, which is a string or a name."""
    found: dict[str, list[str]] = defaultdict(list)
    for atom in atoms:
        found[_first_argument(atom)].append(atom)
    return found


def _first_argument(atom: str) -> str:
    start = atom.find("(") + 1
    if atom[start : start + 1] != '"':
        ends = [e for e in (atom.find(",", start), atom.find(")", start)) if e >= 0]
        return atom[start : min(ends, default=start)]
    end = start + 1
    while atom[end] != '"':
        end += 2 if atom[end] == "\\" else 1
    return atom[start : end + 1]


def _is_certain(statements: Sequence[Node]) -> bool:
    """Only rules that derive one atom each, and no recursion through negation."""
    rules = [s for s in statements if s.kind == ASTType.Rule]
    if any(s.kind == ASTType.Minimize for s in statements):
        return False
    plain = all(_derives_one(rule) for rule in rules)
    return plain and Dependencies(rules).negative_cycle() is None


def _derives_one(rule: Node) -> bool:
    head = rule.one("head")
    return head.kind == ASTType.Literal and head.one("atom").kind == ASTType.SymbolicAtom
