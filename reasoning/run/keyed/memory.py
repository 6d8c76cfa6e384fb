"""What evaluations of a key leave to each other, and when time alone changes its answer.

Where rules remember (`#feedback`, `#held`, `#last`) or look at `now/1`, an evaluation of a key
is a function of its facts, of what was remembered before, and of the time. A key that nothing
concerns is as if it had been evaluated at every clock with the same answer; it must be evaluated
again at the next clock if what it remembers has become other, and at the instants at which a
comparison with `now` can change, which rules of ours derive: `citywise_due(Entity,Time)`.

A rule that reads `now(N)` and compares it, `N-T >= D`, changes its mind when N reaches T+D. So for
each such comparison there is a rule with the positive body, whose head is the time for which the
comparison is solved, and the one after. What else the body asks is left out: an evaluation too
many changes nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clingo.ast import ASTType, BinaryOperator, Sign, UnaryOperator

from citywise.reasoning.asp.rules import atom_signatures, head_atoms
from citywise.reasoning.asp.syntax import Node, variables
from citywise.reasoning.errors import SolvingError, StateError
from citywise.reasoning.model.carried import NOW, Carried, clock
from citywise.reasoning.model.engine import Answered, AnswerSet
from citywise.reasoning.model.request import OURS, Request, Signature
from citywise.reasoning.run.memory import Memory

DUE = Signature(f"{OURS}due", 2)
"""`citywise_due(Entity,Time)`: at this time an answer about the entity may change by itself."""


@dataclass
class _Remembered:
    """What is remembered of a key."""

    memory: Memory
    before: Carried
    """What the last evaluation was given."""
    time: int
    """When that was."""


class KeyedMemory:
    """What the evaluations of keys leave to each other.

    `concluded` are the predicates that answers are made of; what else is shown is only to be fed
    back. Times are in the request's unit. `state` is enough to go on from: with it, and with the
    facts that stood, evaluations come out as they did.
    """

    def __init__(self, request: Request, concluded: Collection[Signature] = ()) -> None:
        self._request = request
        self._hidden = {s.name for s in request.feedback - frozenset(concluded)}
        self._keys: dict[str, _Remembered] = {}
        self._clock: int | None = None
        """The last clock, at which everybody's answer was what it was after the last
        evaluation."""
        self._due: dict[str, int] = {}
        self._queue: list[tuple[int, str]] = []
        self._again: dict[str, int] = {}
        """Keys that were restored: the times of their evaluations, which come again."""
        self._due_again: dict[str, int | None] = {}
        """When their answers may change by themselves. What began with an evaluation begins with
        the one that comes again, and may be later: so it would be due later."""

    # -- what an evaluation is given ------------------------------------------------

    def text(self, keys: Iterable[str], time: int) -> str:
        """The facts that evaluations of keys at a time are given besides those that stand, one
        `atom.` a line."""
        return "".join(f"{fact}.\n" for fact in dict.fromkeys(self._facts(keys, time)))

    def _facts(self, keys: Iterable[str], time: int) -> Iterator[str]:
        for key in keys:
            found = self._keys.get(key)
            if found is None:
                nothing = Carried()
                found = self._keys[key] = _Remembered(Memory(self._request), nothing, time)
            if key not in self._again:
                if self._clock is not None and found.time < self._clock < time:
                    found.memory.still(self._clock)
                found.before, found.time = found.memory.carried, time
            yield from found.memory.given(time, 0).facts()

    def given_last(self, key: str) -> str:
        """What the last evaluation of a key was given, at the last clock: until then time alone
        has changed nothing."""
        found = self._keys.get(key)
        if found is None:
            return ""
        now = found.time if self._clock is None else max(found.time, self._clock)
        clocks = {signature.name for signature in clock(self._request)}
        told = (fact for fact in found.memory.told if fact.split("(", 1)[0] not in clocks)
        facts = [*told, *(f"{name}({now})" for name in sorted(clocks))]
        return "".join(f"{fact}.\n" for fact in facts)

    # -- what it leaves -------------------------------------------------------------

    def take(
        self, atoms: Sequence[str], by_key: Mapping[str, Sequence[str]], keys: Sequence[str]
    ) -> dict[str, tuple[str, ...]]:
        """The answers of some keys, by their atoms, without what only we are told. Raises
        `SolvingError` if what is remembered is about no key."""
        self._refuse_others(by_key)
        found = {}
        for key in keys:
            one = self._keys[key]
            time = self._again.pop(key, one.time)
            answer = AnswerSet(tuple(a for a in by_key.get(key, ()) if not a.startswith(DUE.name)))
            (visible,) = one.memory.take(Answered((answer,)), time).answer_sets
            found[key] = tuple(a for a in visible.atoms if a.split("(", 1)[0] not in self._hidden)
        self._schedule(atoms, keys)
        return found

    def _refuse_others(self, by_key: Mapping[str, Sequence[str]]) -> None:
        for key, atoms in by_key.items():
            told = next((a for a in atoms if a.startswith(OURS) and DUE.name not in a), None)
            if told is not None and key not in self._keys:
                raise SolvingError(
                    f"what is remembered of {key} belongs to no instance: the first argument of a "
                    "predicate under `#held`, `#last` or `#feedback` must be the instance"
                )

    # -- time -----------------------------------------------------------------------

    def moved(self, time: int) -> None:
        """A clock has passed, at which all that was concerned was evaluated."""
        self._clock = time

    def _schedule(self, atoms: Sequence[str], keys: Sequence[str]) -> None:
        """Note when the answers of keys may change by themselves: the first time of each."""
        for key in keys:
            self._due.pop(key, None)
        found: dict[str, int] = {}
        for atom in atoms:
            if atom.startswith(DUE.name):
                entity, _, written = atom[len(DUE.name) + 1 : -1].rpartition(",")
                # A rule about what a key reaches is due for all keys evaluated with it.
                for key in [entity] if entity in self._keys else keys:
                    time = int(written)
                    if time > self._keys[key].time:
                        found[key] = min(time, found.get(key, time))
        for key in keys:
            at = self._keys[key].memory.forgets_at
            if at is not None:
                found[key] = min(at, found.get(key, at))
        for key in keys:
            if key in self._due_again:
                at = self._due_again.pop(key)
                found.pop(key, None)
                found |= {} if at is None else {key: at}
        for key, time in found.items():
            self._due[key] = time
            heapq.heappush(self._queue, (time, key))

    def next_due(self) -> int | None:
        """When the next answer may change by itself; None: nobody's does."""
        while self._queue and self._due.get(self._queue[0][1]) != self._queue[0][0]:
            heapq.heappop(self._queue)
        return self._queue[0][0] if self._queue else None

    def due(self, time: int) -> set[str]:
        """The keys whose answers may have changed by themselves up to a time."""
        found = set()
        while (at := self.next_due()) is not None and at <= time:
            found.add(heapq.heappop(self._queue)[1])
        return found

    def unsettled(self, keys: Iterable[str]) -> set[str]:
        """The keys that remember otherwise than their evaluations were given: with the same
        facts the next may come out differently."""
        return {key for key in keys if self._is_unsettled(self._keys[key])}

    @staticmethod
    def _is_unsettled(found: _Remembered) -> bool:
        before, after = found.before, found.memory.carried
        # Times alone move on with what goes on holding; timers see to what becomes of that.
        last = [atom for atom, _time in before.last] != [atom for atom, _time in after.last]
        return last or before.feedback != after.feedback

    # -- going on -------------------------------------------------------------------

    def forget(self, key: str) -> None:
        """A key is no more."""
        self._keys.pop(key, None)
        self._due.pop(key, None)
        self._again.pop(key, None)
        self._due_again.pop(key, None)

    def state(self) -> dict[str, Any]:
        """What to keep so that another goes on from here; goes through JSON."""
        keys = {
            key: [found.time, *map(list, _parts(found.before)), self._due.get(key)]
            for key, found in sorted(self._keys.items())
            if any(_parts(found.before)) or any(_parts(found.memory.carried))
        }
        return {"clock": self._clock, "keys": keys}

    def restore(self, state: Mapping[str, Any], keys: Collection[str]) -> None:
        """Stand where another stood that gave `state`, before the last evaluations of `keys`,
        which are to come again. Raises `StateError`."""
        try:
            self._restore(state, keys)
        except (AttributeError, TypeError, ValueError) as error:
            raise StateError(f"what instances remember cannot be read: {error}") from error

    def _restore(self, state: Mapping[str, Any], keys: Collection[str]) -> None:
        self._clock = state.get("clock")
        for key, (time, feedback, since, last, *due) in state.get("keys", {}).items():
            if key in keys:
                # States of former versions have none; one that is past has been tried.
                if due and (due[0] is None or due[0] > (self._clock or 0)):
                    self._due_again[key] = due[0]
                before = Carried(tuple(feedback), _timed(since), _timed(last))
                memory = Memory(self._request)
                memory.carried = before
                self._keys[key] = _Remembered(memory, before, time)
                self._again[key] = time


def _parts(carried: Carried) -> tuple[Sequence[Any], ...]:
    return carried.feedback, carried.since, carried.last


def _timed(items: Iterable[Sequence[Any]]) -> tuple[tuple[str, int], ...]:
    return tuple((str(atom), int(time)) for atom, time in items)


_TIME = "CitywiseDue"


@dataclass(frozen=True)
class Unforeseeable:
    """A use of the time of which nobody can say when it changes."""

    node: Node
    why: str


def due_rules(rules: Sequence[Node]) -> tuple[list[str], list[Unforeseeable]]:
    """The rules that say when the time changes what rules derive, and where that cannot be
    said."""
    found: list[str] = []
    faults: list[Unforeseeable] = []
    for rule in rules:
        clocks = {v for atom in _positive(rule) if _is_now(atom) for v in variables(atom)}
        for each in _of_rule(rule, clocks - {"_"}) if any(map(_is_now, _atoms(rule))) else ():
            if isinstance(each, Unforeseeable):
                faults.append(each)
            else:
                found.append(each)
    return list(dict.fromkeys(found)), faults


def _of_rule(rule: Node, clocks: set[str]) -> Iterator[str | Unforeseeable]:
    heads = list(head_atoms(rule))
    root = _first(heads[0]) if len(heads) == 1 and rule.kind == ASTType.Rule else None
    if root is None:
        yield Unforeseeable(rule, "a rule that reads `now` derives one atom of an instance")
        return
    if variables(rule.one("head")) & clocks:
        yield Unforeseeable(heads[0].one("symbol"), "it would change with every second")
    body = rule.many("body")
    comparisons = [p for p in body if _is_comparison(p) and variables(p) & clocks]
    others = [p for p in body if p not in comparisons and not _is_clock(p)]
    for part in others:
        if variables(part) & clocks or (any(map(_is_now, _in(part)))):
            yield Unforeseeable(part, "`now(N)` gives a time to comparisons such as `N-T >= D`")
            return
    kept = [str(p.origin) for p in others if _is_positive(p) or _is_comparison(p)]
    bound = {v for p in others if _is_positive(p) for v in variables(p)}
    for part in comparisons:
        yield from _of_comparison(part, clocks, bound, root, kept)


def _of_comparison(
    part: Node, clocks: set[str], bound: set[str], root: str, kept: Sequence[str]
) -> Iterator[str | Unforeseeable]:
    comparison = part.one("atom")
    left = comparison.one("term")
    for guard in comparison.many("guards"):
        right = guard.one("term")
        sides = [(left, right), (right, left)]
        mine = [(one, other) for one, other in sides if variables(one) & clocks]
        if len(mine) == 1:
            solved = _solved(mine[0][0], str(mine[0][1].origin), clocks)
            free = (variables(left) | variables(right)) - clocks - bound
            if solved is None or free:
                yield Unforeseeable(part, "write it as `N-T >= D`, with T and D from the body")
                return
            head = f"{DUE.name}({root},{_TIME}..{_TIME}+1)"
            yield f"{head} :- {'; '.join([*kept, f'{_TIME} = {solved}'])}."
        elif mine:
            yield Unforeseeable(part, "`now` stands on both sides")
            return
        left = right


def _solved(term: Node, other: str, clocks: set[str]) -> str | None:
    """What the one clock in a term is where the term equals another; None: it cannot be said."""
    while term.kind != ASTType.Variable:
        if term.kind == ASTType.UnaryOperation:
            if term.origin.operator_type != UnaryOperator.Minus:
                return None
            term, other = term.one("argument"), f"-({other})"
            continue
        if term.kind != ASTType.BinaryOperation:
            return None
        left, right = term.one("left"), term.one("right")
        in_left, in_right = (bool(variables(side) & clocks) for side in (left, right))
        operator = term.origin.operator_type
        if in_left == in_right or operator not in (BinaryOperator.Plus, BinaryOperator.Minus):
            return None
        minus = operator == BinaryOperator.Minus
        if in_left:
            term, other = left, f"({other}){'+' if minus else '-'}({right.origin})"
        elif minus:
            term, other = right, f"({left.origin})-({other})"
        else:
            term, other = right, f"({other})-({left.origin})"
    return other


def _positive(rule: Node) -> Iterator[Node]:
    return (p.one("atom") for p in rule.many("body") if _is_positive(p))


def _is_positive(part: Node) -> bool:
    """Whether a part of a body is an atom that holds itself."""
    plain = part.kind == ASTType.Literal and part.origin.sign == Sign.NoSign
    return plain and part.one("atom").kind == ASTType.SymbolicAtom


def _is_comparison(part: Node) -> bool:
    return part.kind == ASTType.Literal and part.one("atom").kind == ASTType.Comparison


def _is_clock(part: Node) -> bool:
    return _is_positive(part) and _is_now(part.one("atom"))


def _is_now(atom: Node) -> bool:
    return NOW in set(atom_signatures(atom))


def _in(part: Node) -> Iterator[Node]:
    return (node for node in part.walk() if node.kind == ASTType.SymbolicAtom)


def _atoms(rule: Node) -> Iterator[Node]:
    return (atom for part in rule.many("body") for atom in _in(part))


def _first(atom: Node) -> str | None:
    arguments = atom.one("symbol").many("arguments")
    if not arguments or arguments[0].kind != ASTType.Variable:
        return None
    return arguments[0].name
