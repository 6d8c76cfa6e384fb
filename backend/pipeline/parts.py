"""Parts of a request: its readings, knowledge and what it feeds back, dealt out by place.

Each part takes every reading in order, so that windows, ticks and lateness are the same in
all, but sees the content of its own only: to encode a reading costs more than to reason about
it, so readings are dealt out before they are facts. All else goes by the request's plan
(`reasoning.partition.routing.joint`). A request divides if the plan has a key that is the place a
reading is about; its parts together then answer what one would have answered
(docs/parallel.md). There is one cursor, with the state of the whole, so that the number of
parts may change from batch to batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from citywise.backend.city.observations import FEATURE, PLACE, predicates
from citywise.backend.kinds import Kinds
from citywise.reasoning import Encoder, Iri, Request, Signature, State
from citywise.reasoning.model.carried import clock, fed
from citywise.reasoning.model.engine import program
from citywise.reasoning.partition.routing import (
    IndivisibleError,
    Records,
    Router,
    bucket,
    grouped,
    joint,
)
from citywise.reasoning.partition.sound import plan

_OBJECT = 2
_EVENT = Signature("event", 5)


@dataclass(frozen=True)
class Part:
    """Part `number` (from 0) of `of`."""

    number: int = 0
    of: int = 1


WHOLE = Part()


class Division:
    """Which part of a request a reading, a fact of its knowledge bases, and an atom that is
    fed back belong to.

    `kinds` are those on its streams, `knowledge` the predicates of the knowledge bases. Raises
    `IndivisibleError` if there is no key that is the place of a reading.
    """

    def __init__(
        self, request: Request, kinds: Kinds, knowledge: frozenset[Signature] = frozenset()
    ) -> None:
        if not request.shows or request.shows_terms:
            raise IndivisibleError("it does not say with `#show p/n.` which atoms it shows")
        encoder = Encoder(request)
        self._feature = encoder.mapper.predicate(FEATURE.value) or ""
        self._term = encoder.mapper.term
        iris = {iri for kind in kinds.values() for iri in predicates(kind)}
        streamed = frozenset(s for iri in iris for s in encoder.signatures(iri.value))
        left, now = fed(request), clock(request)
        supplied = frozenset({*streamed, *left, *now, *knowledge})
        found = plan(program(request, supplied), present=supplied, feedback=left, clock=now)
        read = {s for part in found.partitions for rule in part.rules for s in rule.body}
        # An event is a part's own, too: all of them together tell it once.
        own = {*(read & left.keys()), *left.values(), *(request.shows & {_EVENT})}
        dealt = joint(found, Records(streamed, self._feature, _OBJECT), knowledge, own)
        self._router = cache(lambda parts: Router(dealt, parts))
        self.of_sensor = cache(self._of_sensor)

    def _of_sensor(self, sensor: str, parts: int) -> int:
        """The part that sees the readings of a sensor."""
        return bucket(self._term(Iri(PLACE + sensor), self._feature), parts)

    def own(self, state: State, part: Part) -> State:
        """What a part knows when the whole is in `state`."""
        since, last = dict(state.since), dict(state.last)
        return replace(
            state,
            feedback=sorted(self._dealt(state.feedback, part)),
            since=[(atom, since[atom]) for atom in sorted(self._dealt(since, part))],
            last=[(atom, last[atom]) for atom in sorted(self._dealt(last, part))],
        )

    def knowledge(self, facts: Iterable[str], part: Part) -> Iterator[str]:
        """The facts of the knowledge bases that a part needs."""
        return self._dealt(facts, part)

    def _dealt(self, atoms: Iterable[str], part: Part) -> Iterator[str]:
        groups = grouped("".join(f"{atom}.\n" for atom in atoms))
        (texts,) = self._router(part.of).route(groups)
        return (line[:-1] for line in texts[part.number].split("\n")[:-1])
