"""What the requests of a process share: the items of readings, and the facts they give.

Requests over the same streams differ in their rules, and mostly not in how they see a
reading; the second to meet one finds its item, with its facts, where the first left it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain, islice, repeat
from typing import Generic, TypeVar

from citywise.backend.city.observations import (
    ALWAYS_SAID,
    predicates,
    stream_iri,
    triples,
    values,
)
from citywise.backend.ingest.blocks import Block
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
    """Readings of one kind and time as one item; the triples of each, which hardly anybody asks
    for, are put together when they are."""

    __slots__ = ("block", "sight", "told")
    # An item is frozen; who makes one fills it in, which so takes a third of the time. (Python
    # takes the fast way only where neither is a function.)
    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__

    block: Block
    sight: Sight
    told: tuple[int, tuple[str, ...]] | None
    """The facts of a reading, and what times in them are counted from; of all requests that see
    it."""

    def __init__(self, block: Block, sight: Sight) -> None:
        self.time = block.observed_ms[0] // sight.scale  # type: ignore[misc]
        self.position = block.position  # type: ignore[misc]
        self.until = None  # type: ignore[misc]
        self.stream = sight.streams[block.kind]  # type: ignore[misc]
        self.block, self.sight = block, sight
        self.told = None

    @property
    def count(self) -> int:
        """How many readings they are."""
        return len(self.block)

    def apart(self) -> Sequence[Item]:
        """Each reading by itself."""
        return (self,) if len(self.block) == 1 else [*map(self.sight.item, self.block.readings())]

    def part(self, place: int) -> Observed:
        """One reading, by its place in the block."""
        return self if len(self.block) == 1 else self.sight.item(self.block.reading(place))

    @property
    def content(self) -> tuple[Triple, ...]:
        """The readings' triples."""
        kind, wanted = self.sight.kinds[self.block.kind], self.sight.wanted
        return tuple([t for each in self.block.readings() for t in triples(each, kind, wanted)])

    def tell(self, base: int, facts: tuple[str, ...]) -> tuple[str, ...]:
        """Keep its facts."""
        self.told = base, facts
        return facts


class Unseen(Item):
    """A reading that another part sees, as an item without content: it takes its place in windows
    that count as it does in that part."""

    __slots__ = ("reading",)
    __setattr__ = object.__setattr__
    __delattr__ = object.__delattr__

    reading: Reading

    def __init__(self, reading: Reading, scale: int, stream: str) -> None:
        super().__init__(reading.observed_ms // scale, (), reading.position, stream=stream)
        self.reading = reading


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
        self.wanted = self.encoder.wanted
        """Predicates of the triples that are the items' content, with the feature of interest."""
        self.scale = 1000 // request.ticks_per_second
        self.kinds = kinds
        self.streams = {kind: stream_iri(kind) for kind in kinds}
        self._known = _items((self.encoder.view, kinds), self.wanted, self.scale)
        self._known.users += 1

    def items(self, given: Iterable[Block | Reading]) -> list[Observed]:
        """Readings on their streams, those of one kind and time as one item."""
        found: list[Observed] = []
        together: defaultdict[tuple[str, int], list[Reading]] = defaultdict(list)
        for each in given:
            if isinstance(each, Reading):
                together[each.kind, each.observed_ms // self.scale].append(each)
            elif len({ms // self.scale for ms in set(each.observed_ms)}) == 1:
                found.append(Observed(each, self))
            else:
                found += self.items(each.readings())
        found += [Observed(Block.of(readings), self) for readings in together.values()]
        return found

    def item(self, reading: Reading) -> Observed:
        """A reading with its triples, on its stream."""
        if self._known.users < 2:
            return Observed(Block.of((reading,)), self)
        known = self._known.get(reading)
        if known is None:
            known = self._known.put(reading, Observed(Block.of((reading,)), self))
        return known

    def blank(self, reading: Reading) -> Item:
        """A reading of which the request sees only that and when it came."""
        return Unseen(reading, self.scale, self.streams[reading.kind])


class ReadingEncoder(Encoder):
    """An encoder that gives the facts of readings without their triples, and asks first
    whether another, which sees them as it does, has given them."""

    def __init__(self, request: Request, kinds: Kinds) -> None:
        super().__init__(request)
        self._kinds = kinds
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

    def is_relevant(self, item: Item) -> bool:
        """See `Encoder.is_relevant`; a reading is judged by all that it says, whoever sees it."""
        if isinstance(item, Unseen):
            readings = [item.reading]
        elif isinstance(item, Observed):
            readings = list(item.block.readings())
        else:
            return super().is_relevant(item)
        if any(self._is_visible(predicate.value) for predicate in ALWAYS_SAID):
            return True
        said = (p for r in readings for p, _value in values(r.values, self._kinds[r.kind]))
        return any(self._is_visible(predicate.value) for predicate in said)

    def facts(self, item: Item, base: int = 0) -> tuple[str, ...]:
        """See `Encoder.facts`."""
        if not isinstance(item, Observed):
            return super().facts(item, base)
        if item.told is None or item.told[0] != base:
            return item.tell(base, self._facts(item, base))
        self._supply(item)
        return item.told[1]

    def shaped(self, items: Sequence[Item], base: int) -> Shaped | None:
        """See `Encoder.shaped`: an observation's time is in its name."""
        seen = [item for item in items if isinstance(item, Observed)]
        if len(seen) < len(items):
            return None
        whole = self._whole(seen, base)
        if whole is not None:
            return Shaped(dict([whole]))
        if len(seen) > 1 or seen[0].count == 1:
            return None
        rows: defaultdict[Shape, list[Row]] = defaultdict(list)
        others: list[Item] = []
        for part in seen[0].apart():
            found = self._whole([part], base) if isinstance(part, Observed) else None
            if found is None:
                others.append(part)
            else:
                rows[found[0]] += found[1]
        return Shaped(rows, others) if rows else None

    def _whole(self, items: Sequence[Observed], base: int) -> tuple[Shape, list[Row]] | None:
        """The rows of readings that say equally much; None where they do not."""
        first, times = items[0], [item.time - base for item in items]
        if min(times) < atoms.SMALLEST or max(times) > atoms.LARGEST:
            return None
        block = Block.joined([item.block for item in items])
        of_each = chain.from_iterable(map(repeat, times, [item.count for item in items]))
        found = self._phrases[block.kind].rows(block, of_each)
        # Where there are none, whoever asks for the facts is told where a value is that is none.
        if found is not None:
            self._supply(first)
        return found

    def _facts(self, item: Observed, base: int) -> tuple[str, ...]:
        time = item.time - base
        (reading,) = item.block.readings()
        if atoms.SMALLEST <= time <= atoms.LARGEST:
            self._supply(item)
            with suppress(ItemError):  # the triples' says where it is
                found = self._phrases[reading.kind].facts(reading, time)
                if found is not None:
                    return found
        return super().facts(item, base)

    def _supply(self, item: Observed) -> None:
        """Note what the item supplies; mostly all that its kind can is known."""
        if not self._supplies[item.stream] <= self.supplied:
            self.supply(item.content)

    def _phrased(self, kind: Kind) -> Phrases:
        return Phrases(self.mapper, kind, self.wanted.intersection(predicates(kind)))
