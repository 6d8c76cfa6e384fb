"""What the requests of a process share: the items of readings, and the facts they give.

Requests over the same streams differ in their rules, and mostly not in how they see a
reading; the second to meet one finds its item, with its facts, where the first left it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import groupby, islice
from operator import attrgetter
from typing import Generic, TypeVar

from citywise.backend.city.observations import predicates, stream_iri, triples
from citywise.backend.ingest.records import Reading
from citywise.backend.kinds import Kind, Kinds
from citywise.backend.pipeline.phrases import Phrases
from citywise.reasoning import Encoder, Iri, Item, ItemError, Request, Triple
from citywise.reasoning.model import atoms
from citywise.reasoning.model.engine import Shape
from citywise.reasoning.model.values import Row
from citywise.reasoning.streams.items import Shaped

_REMEMBERED = 50_000
"""Readings; each takes about 1 kB with its facts."""

Source = TypeVar("Source", Reading, Item)
Value = TypeVar("Value")


class Memory(Generic[Source, Value]):
    """Values made from sources, by position in a log; a source is known by identity, so
    that readings of different logs are never taken for each other."""

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most = most
        self.users = 0
        """How many look here: one alone has nothing to share."""
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


class Observed(Item):
    """A reading as an item; its triples, which hardly anybody asks for, are put together
    when they are."""

    __slots__ = ("kind", "reading", "told", "wanted")
    # An item is frozen; who makes one fills it in, which so takes a third of the time. (Python
    # takes the fast way only where neither is a function.)
    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__

    reading: Reading
    kind: Kind
    wanted: frozenset[Iri]
    """Predicates of the triples that are its content, with the feature of interest."""
    told: tuple[int, tuple[str, ...]] | None
    """Its facts, and what times in them are counted from; of all requests that see it."""

    def __init__(
        self, reading: Reading, scale: int, stream: str, wanted: frozenset[Iri], kind: Kind
    ) -> None:
        self.time = reading.observed_ms // scale  # type: ignore[misc]
        self.position = reading.position  # type: ignore[misc]
        self.until = None  # type: ignore[misc]
        self.stream = stream  # type: ignore[misc]
        self.reading, self.kind, self.wanted = reading, kind, wanted
        self.told = None

    @property
    def content(self) -> tuple[Triple, ...]:
        """The reading's triples."""
        return triples(self.reading, self.kind, self.wanted)

    def tell(self, base: int, facts: tuple[str, ...]) -> tuple[str, ...]:
        """Keep its facts."""
        self.told = base, facts
        return facts


@lru_cache(maxsize=64)
def _items(_view: Hashable, _wanted: frozenset[Iri], _scale: int) -> Memory[Reading, Observed]:
    return Memory()


class Sight:
    """How a request sees readings of some kinds: as items with the triples it reads.

    Parameters
    ----------
    kinds:
        Those on the request's streams.
    """

    def __init__(self, request: Request, kinds: Kinds) -> None:
        self.encoder = ReadingEncoder(request, kinds)
        """Gives the facts of the items."""
        self._wanted = self.encoder.wanted
        self._scale = 1000 // request.ticks_per_second
        self._kinds = kinds
        self._streams = {kind: stream_iri(kind) for kind in kinds}
        self._known = _items((self.encoder.view, kinds), self._wanted, self._scale)
        self._known.users += 1

    def items(self, readings: Sequence[Reading]) -> list[Observed]:
        """Readings with their triples, on their streams."""
        if self._known.users > 1:
            return list(map(self.item, readings))
        made: list[Observed] = []
        for name, some in groupby(readings, attrgetter("kind")):
            kind, stream = self._kinds[name], self._streams[name]
            scale, wanted = self._scale, self._wanted
            made += [Observed(reading, scale, stream, wanted, kind) for reading in some]
        return made

    def item(self, reading: Reading) -> Observed:
        """A reading with its triples, on its stream."""
        if self._known.users < 2:
            return self._made(reading)
        known = self._known.get(reading)
        return self._known.put(reading, self._made(reading)) if known is None else known

    def _made(self, reading: Reading) -> Observed:
        name = reading.kind
        kind, stream = self._kinds[name], self._streams[name]
        return Observed(reading, self._scale, stream, self._wanted, kind)

    def blank(self, reading: Reading) -> Item:
        """A reading of which the request sees only that and when it came."""
        time, stream = reading.observed_ms // self._scale, self._streams[reading.kind]
        return Item(time, (), reading.position, stream=stream)


class ReadingEncoder(Encoder):
    """An encoder that gives the facts of readings without their triples, and asks first
    whether another, which sees them as it does, has given them."""

    def __init__(self, request: Request, kinds: Kinds) -> None:
        super().__init__(request)
        seen = {name: predicates(kind) for name, kind in kinds.items()}
        every = frozenset(iri for iris in seen.values() for iri in iris)
        self.view = self.mapper.view(iri.value for iri in every)
        """What decides the facts of readings: encoders with equal views give the same."""
        self.wanted = frozenset(iri for iri in every if self.signatures(iri.value))
        """Predicates that the request can see."""
        self._phrases = {name: self._phrased(kind) for name, kind in kinds.items()}
        self._supplies = {
            stream_iri(kind): frozenset(s for iri in iris for s in self.signatures(iri.value))
            for kind, iris in seen.items()
        }

    def facts(self, item: Item, base: int = 0) -> tuple[str, ...]:
        """See `Encoder.facts`."""
        if not isinstance(item, Observed):
            return super().facts(item, base)
        if item.told is None or item.told[0] != base:
            return item.tell(base, self._facts(item, base))
        self._supply(item)
        return item.told[1]

    def shaped(self, items: Sequence[Item], base: int) -> Shaped:
        """See `Encoder.shaped`: an observation's time is in its name."""
        seen = [item for item in items if type(item) is Observed]
        whole = self._whole(seen, base) if len(seen) == len(items) else None
        if whole is not None:
            return whole
        rows: dict[Shape, list[Row]] = {}
        sizes: list[int] = []
        for item in items:
            found = self._whole([item], base) if type(item) is Observed else None
            for shape, said in found.rows.items() if found else ():
                rows.setdefault(shape, []).extend(said)
            sizes += found.sizes if found else [0]
        return Shaped(rows, sizes)

    def _whole(self, items: Sequence[Observed], base: int) -> Shaped | None:
        """Readings of one kind and time that say equally much; None where they are not."""
        if len({(item.stream, item.time) for item in items}) != 1:
            return None
        first = items[0]
        time = first.time - base
        if not atoms.SMALLEST <= time <= atoms.LARGEST:
            return None
        phrases = self._phrases[first.reading.kind]
        found = phrases.rows([item.reading for item in items], time)
        if found is None:
            return None  # whoever asks for the facts is told where a value is that is none
        self._supply(first)
        shape, rows = found
        return Shaped({shape: rows}, [len(shape.relations)] * len(rows))

    def _facts(self, item: Observed, base: int) -> tuple[str, ...]:
        time = item.time - base
        if atoms.SMALLEST <= time <= atoms.LARGEST:
            self._supply(item)
            with suppress(ItemError):  # the triples' says where it is
                found = self._phrases[item.reading.kind].facts(item.reading, time)
                if found is not None:
                    return found
        return super().facts(item, base)

    def _supply(self, item: Observed) -> None:
        """Note what the item supplies; mostly all that its kind can is known."""
        if not self._supplies[item.stream] <= self.supplied:
            self.supply(item.content)

    def _phrased(self, kind: Kind) -> Phrases:
        return Phrases(self.mapper, kind, self.wanted.intersection(predicates(kind)))
