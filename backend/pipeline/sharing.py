"""What the requests of a process share: the triples of a reading, and the facts they give.

Requests over the same streams differ in their rules, and mostly not in how they see a
reading; the second to meet one finds its triples, and its facts, where the first left them.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from itertools import islice
from typing import Generic, TypeVar

from backend.city.observations import predicates, stream_iri, triples
from backend.ingest.records import Reading
from reasoning.encoding import Encoder
from reasoning.program import Request
from reasoning.rdf.mapping import Iri
from reasoning.streams import Item

_REMEMBERED = 50_000
"""Readings; each takes about 1.5 kB with its triples and facts."""

Source = TypeVar("Source", Reading, Item)
Value = TypeVar("Value")


class Memory(Generic[Source, Value]):
    """Values made from sources, by position in a log; a source is known by identity, so
    that readings of different logs are never taken for each other."""

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most = most
        self._values: dict[int, tuple[Source, Value]] = {}

    def get(self, source: Source) -> Value | None:
        """What was made from `source`, if that is still known."""
        known = self._values.get(source.position)
        return known[1] if known is not None and known[0] is source else None

    def put(self, source: Source, value: Value) -> Value:
        """Keep what was made from `source`, and perhaps forget what was made longest ago."""
        self._values[source.position] = source, value
        if len(self._values) > self._most:
            for position in list(islice(self._values, self._most // 2)):
                del self._values[position]
        return value


@lru_cache(maxsize=64)
def _items(_wanted: frozenset[Iri], _scale: int) -> Memory[Reading, Item]:
    return Memory()


@lru_cache(maxsize=64)
def _facts(_view: Hashable) -> Memory[Item, tuple[int, tuple[str, ...]]]:
    return Memory()


class Sight:
    """How a request sees readings of some kinds: as items with the triples it reads.

    Parameters
    ----------
    kinds:
        Kinds of observations on the request's streams.
    """

    def __init__(self, request: Request, kinds: frozenset[str]) -> None:
        seen = frozenset(iri for kind in kinds for iri in predicates(kind))
        self.encoder = SharedEncoder(request, seen)
        """Gives the facts of the items."""
        self._wanted = frozenset(iri for iri in seen if self.encoder.signatures(iri.value))
        self._scale = 1000 // request.ticks_per_second
        self._known = _items(self._wanted, self._scale)

    def item(self, reading: Reading) -> Item:
        """A reading with its triples, on its stream."""
        known = self._known.get(reading)
        return known or self._known.put(reading, self._item(reading, self._wanted))

    def blank(self, reading: Reading) -> Item:
        """A reading of which the request sees only that and when it came."""
        return self._item(reading, None)

    def _item(self, reading: Reading, wanted: frozenset[Iri] | None) -> Item:
        return Item(
            reading.observed_ms // self._scale,
            () if wanted is None else triples(reading, wanted),
            reading.position,
            stream=stream_iri(reading.kind),
        )


class SharedEncoder(Encoder):
    """An encoder that asks first whether another, which sees triples with these predicates
    as it does, has encoded the item."""

    def __init__(self, request: Request, predicates: frozenset[Iri]) -> None:
        super().__init__(request)
        self._shared = _facts(self.mapper.view(iri.value for iri in predicates))

    def facts(self, item: Item, base: int = 0) -> tuple[str, ...]:
        """See `Encoder.facts`."""
        known = self._shared.get(item)
        if known is None or known[0] != base:
            known = self._shared.put(item, (base, super().facts(item, base)))
        elif not isinstance(item.content, str):
            self.supply(item.content)
        return known[1]
