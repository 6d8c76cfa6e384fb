"""Parts of a request: its readings, knowledge and what it feeds back, dealt out by place.

Each part takes every reading in order, so that windows, ticks and lateness are the same in
all, but sees the content of its own only. A request divides if its plan has a key that is
the place a reading is about; its parts together then answer what one would have answered
(docs/parallel.md). There is one cursor, with the state of the whole, so that the number of
parts may change from batch to batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import clingo

from backend.city.observations import FEATURE, PLACE, kind_of, predicates
from backend.errors import CitywiseError
from reasoning.analysis.dependencies import Dependencies
from reasoning.encoding import Encoder
from reasoning.engines.program import program
from reasoning.parallel.plan import Follow, Key, Partition
from reasoning.parallel.routing import bucket
from reasoning.parallel.sound import plan
from reasoning.program import Request, Signature, previous
from reasoning.rdf.mapping import Iri
from reasoning.reasoner import State

_OBJECT = 2
_EVENT = Signature("event", 5)
_UNKNOWN = 0
"""In place of an argument: the key does not know the predicate."""


@dataclass(frozen=True)
class Part:
    """Part `number` (from 0) of `of`."""

    number: int = 0
    of: int = 1


WHOLE = Part()


class IndivisibleError(CitywiseError):
    """A request runs in one piece; the message says why."""


class Division:
    """Which part of a request a reading, a fact of its knowledge bases, and an atom that is
    fed back belong to.

    `knowledge` are the predicates of the knowledge bases. Raises `IndivisibleError` if
    there is no key that is the place of a reading.
    """

    def __init__(self, request: Request, knowledge: frozenset[Signature] = frozenset()) -> None:
        encoder = Encoder(request)
        self._feature = encoder.mapper.predicate(FEATURE.value) or ""
        self._term = encoder.mapper.term
        iris = {iri for s in request.streams for iri in predicates(kind_of(s.iri))}
        streamed = {s for iri in iris for s in encoder.signatures(iri.value)}
        self._keys = list(self._all_keys(request, streamed, knowledge))
        self._known = {s: self._position(s, needed=False) for s in knowledge}
        self._fed = {s: self._position(s) for s in request.feedback | request.shows & {_EVENT}}
        for signature, source in _fed_back(request).items():
            if self._position(signature) != self._fed[source]:
                raise IndivisibleError(f"{source} and {signature} are split differently")
        self.of_sensor = cache(self._of_sensor)

    def _all_keys(
        self, request: Request, streamed: Iterable[Signature], knowledge: Iterable[Signature]
    ) -> Iterator[Key]:
        """The keys of the request's plan."""
        if not request.shows or request.shows_terms:
            raise IndivisibleError("it does not say with `#show p/n.` which atoms it shows")
        fed = _fed_back(request)
        supplied = frozenset({*streamed, *fed, *knowledge})
        found = plan(program(request, supplied), present=supplied, feedback=fed)
        if found.facts:
            raise IndivisibleError("its rules hold facts; put them into a file that it reads")
        for partition in found.partitions:
            yield self._key(partition, found.reasons, streamed)

    def _of_sensor(self, sensor: str, parts: int) -> int:
        """The part that sees the readings of a sensor."""
        return _bucket(self._term(Iri(PLACE + sensor), self._feature), parts)

    def own(self, state: State, part: Part) -> State:
        """What a part knows when the whole is in `state`."""
        return replace(state, feedback=list(_of_part(state.feedback, self._fed, part)))

    def knowledge(self, facts: Iterable[str], part: Part) -> Iterator[str]:
        """The facts of the knowledge bases that a part needs."""
        return _of_part(facts, self._known, part)

    def _key(
        self, partition: Partition, reasons: Iterable[str], streamed: Iterable[Signature]
    ) -> Key:
        """The key of a partition, by which all that streams supply goes with its place."""
        _require_certain(partition)
        key = partition.key
        if key is None:
            raise IndivisibleError("; ".join(r for r in reasons if r.startswith("partition")))
        if key.once:
            raise IndivisibleError(
                f"rule {min(key.once)} reads nothing that is split, and would run in each part"
            )
        for signature in streamed:
            if signature in partition.inputs and not self._by_place(signature, key):
                raise IndivisibleError(
                    f"{signature} is not split by the place of its reading, but "
                    f"{_described(signature, key)}"
                )
        return key

    def _position(self, signature: Signature, needed: bool = True) -> int | None:
        """The argument by which a predicate is split, in all partitions; None where all of it
        goes to all parts, which is no answer if one is `needed`."""
        found = {_position(signature, key) for key in self._keys} - {_UNKNOWN}
        position = found.pop() if len(found) == 1 else None
        if found or (needed and position is None):
            raise IndivisibleError(f"{signature} is not split by the same argument everywhere")
        return position

    def _by_place(self, signature: Signature, key: Key) -> bool:
        """Whether its atoms go where the reading's place goes."""
        if signature.name == self._feature:
            return key.positions.get(signature) == _OBJECT
        seen: set[Signature] = set()
        while (follow := key.following.get(signature)) and signature not in seen:
            seen.add(signature)
            if (follow.argument, follow.there) != (1, 1):  # the reading itself
                return False
            signature = follow.of
        return signature.name == self._feature and key.positions.get(signature) == _OBJECT


def _fed_back(request: Request) -> dict[Signature, Signature]:
    """What atoms are called when they are fed back, and what they were."""
    return {Signature(previous(s.name), s.arity): s for s in request.feedback}


def _require_certain(partition: Partition) -> None:
    """There is one answer set, whatever the facts: parts of one that has none would go on."""
    kinds = {rule.kind for rule in partition.rules}
    if kinds - {"normal"}:
        raise IndivisibleError(f"it has a {min(kinds - {'normal'})}: parts must have one answer")
    cycle = Dependencies([rule.tree for rule in partition.rules]).negative_cycle()
    if cycle:
        raise IndivisibleError(
            f"{cycle[0].head} depends on its own absence (line {cycle[0].line}): "
            "parts must have one answer"
        )


def _position(signature: Signature, key: Key) -> int | None:
    """The argument by which a key splits a predicate; None: not at all."""
    if signature in key.positions:
        return key.positions[signature]
    if follow := key.following.get(signature):
        raise IndivisibleError(f"{signature} goes where {follow.of} goes")
    return None if signature in key.whole | key.spread else _UNKNOWN


def _of_part(
    atoms: Iterable[str], positions: Mapping[Signature, int | None], part: Part
) -> Iterator[str]:
    """The atoms that belong to a part, by the argument at the position of their predicate."""
    for atom in atoms:
        name, arguments = _taken_apart(atom)
        position = positions.get(Signature(name, len(arguments)))
        if position is None or _bucket(arguments[position - 1], part.of) == part.number:
            yield atom


def _described(signature: Signature, key: Key) -> str:
    if signature in key.positions:
        return f"by its argument {key.positions[signature]}"
    match key.following.get(signature):
        case Follow(argument, of, there):
            return f"goes where {of} goes (argument {argument} is its {there})"
    return "wanted whole in each part" if signature in key.whole else "goes anywhere"


@lru_cache(maxsize=20_000)
def _taken_apart(atom: str) -> tuple[str, tuple[str, ...]]:
    symbol = clingo.parse_term(atom)
    name = symbol.name if symbol.positive else f"-{symbol.name}"
    return name, tuple(map(str, symbol.arguments))


def _bucket(value: str, parts: int) -> int:
    """The part of a key's value: the same on every machine and in every run, unlike `hash`."""
    if value[:1].isalpha():  # a name may be a constant of the program, and mean another value
        raise IndivisibleError(f"`{value}` is a name; keys are strings and numbers")
    return bucket(value, parts)
