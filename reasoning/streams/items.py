"""Items of streams, those that wait in order of time, what rules see of them (docs/casp.md), and
what JSON can hold of them: exactly what they were."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from citywise.reasoning.errors import ItemError
from citywise.reasoning.model import atoms
from citywise.reasoning.model.carried import makers
from citywise.reasoning.model.request import Request, Signature
from citywise.reasoning.rdf.mapping import Blank, Iri, Literal, Mapper, Term, Triple

if TYPE_CHECKING:
    from citywise.reasoning.model.engine import Shape
    from citywise.reasoning.model.values import Row, Value


@dataclass(frozen=True, slots=True)
class Item:
    """One element of a stream, in the request's unit of time.

    `content` is a ground atom as text or a graph, all of whose triples hold at `time`
    (and until `until`, for an item with an interval; docs/reason.md). `position` orders items
    by arrival and names them in the log they come from. An item without a `stream` is of the
    only stream of its request.
    """

    time: int
    content: str | tuple[Triple, ...]
    position: int = 0
    until: int | None = None
    stream: str = ""

    @property
    def end(self) -> int:
        """The last time at which the item holds."""
        return self.time if self.until is None else self.until

    @property
    def count(self) -> int:
        """How many items it stands for; several hold at the same time."""
        return 1

    def apart(self) -> Sequence[Item]:
        """Those for which it stands, each by itself."""
        return (self,)


def with_stream(items: Iterable[Item], streams: Collection[str]) -> list[Item]:
    """The items, those without a stream as items of the only one of `streams`, if it is that."""
    if len(streams) != 1:
        return list(items)
    (only,) = streams
    if not only:
        return list(items)
    return [item if item.stream else replace(item, stream=only) for item in items]


class Arrivals:
    """Items in the order of their turn; those that come in order cost nothing to sort."""

    def __init__(self) -> None:
        self._ordered: deque[Item] = deque()
        self._stragglers: list[tuple[int, int, Item]] = []

    def add(self, item: Item) -> None:
        """Take an item in."""
        ordered = self._ordered
        last = ordered[-1] if ordered else item
        # Position decides between equal times: files that are merged, and a log that is read
        # again, keep the order of arrival.
        if last.time < item.time or (last.time == item.time and last.position <= item.position):
            ordered.append(item)
        else:
            heapq.heappush(self._stragglers, (item.time, item.position, item))

    def add_all(self, items: Sequence[Item]) -> None:
        """Take items in that are in order."""
        self.add(items[0])
        if self._ordered and self._ordered[-1] is items[0]:
            self._ordered += items[1:]
        else:
            for item in items[1:]:
                self.add(item)

    @property
    def first(self) -> Item | None:
        """The item whose turn is next."""
        if not self._stragglers:
            return self._ordered[0] if self._ordered else None
        time, position, straggler = self._stragglers[0]
        if self._ordered and (self._ordered[0].time, self._ordered[0].position) < (time, position):
            return self._ordered[0]
        return straggler

    def pop(self) -> None:
        """The first item has had its turn."""
        if self._stragglers and self.first is self._stragglers[0][2]:
            heapq.heappop(self._stragglers)
        else:
            self._ordered.popleft()

    def take(self, until: int) -> list[Item]:
        """The items up to a time have their turn, in order."""
        ordered, taken = self._ordered, []
        while self._stragglers and (item := self.first) is not None and item.time <= until:
            self.pop()
            taken.append(item)
        # Mostly everything that waits is due, and is taken as one.
        if ordered and ordered[-1].time <= until:
            taken += ordered
            ordered.clear()
        while ordered and ordered[0].time <= until:
            taken.append(ordered.popleft())
        return taken

    def positions(self) -> Iterator[int]:
        """Log positions of the items."""
        yield from (item.position for item in self._ordered)
        yield from (position for _time, position, _item in self._stragglers)


class Shaped(NamedTuple):
    """Items as rows, several atoms each."""

    rows: Mapping[Shape, list[Row]]
    others: Sequence[Item] = ()
    """Those that are none of the rows."""


class Encoder:
    """Turns the items of a request's streams into facts, and notes which predicates its
    streams supply."""

    def __init__(self, request: Request) -> None:
        self.mapper = Mapper(request)
        self.supplied = frozenset()
        self._request = request
        self._time = 0
        """A time that fits."""
        self._made = makers(request)
        """Predicates that no stream may supply, whether or not a rule reads them."""
        self._known = request.used | request.derived | request.shows | self._made.keys()
        self._names = {signature.name.removeprefix("-") for signature in self._known}
        self._triples: dict[str, frozenset[Signature]] = {}
        self._visible: dict[str, bool] = {}

    def facts(self, item: Item, base: int = 0) -> tuple[str, ...]:
        """The atoms of an item as text, its time counted from `base`; those that the
        request does not read are left out.

        Raises `ItemError` when a literal has no value in ASP.
        """
        if isinstance(item.content, str):
            return self._atom(item.content)
        time = _fitting(item.time - base)
        self.supply(item.content)
        if len(item.content) == 1:
            return self.mapper.facts(item.content[0], time)
        return tuple([fact for triple in item.content for fact in self.mapper.facts(triple, time)])

    def is_relevant(self, item: Item) -> bool:
        """Whether rules may see the item: of an atom, whether it is an input; of triples, whether
        one has a predicate that is, or without `#input` one under a declared prefix.

        Count windows count no other items (thesis, Section 4.2: irrelevant triples are filtered
        before windows are built).
        """
        inputs = self._request.inputs
        if isinstance(item.content, str):
            return not inputs or atoms.signature(item.content) in inputs
        return any(self._is_visible(triple.predicate.value) for triple in item.content)

    def _is_visible(self, iri: str) -> bool:
        found = self._visible.get(iri)
        if found is None:
            try:
                name = self.mapper.predicate(iri)
            except ItemError:
                return True  # it is refused where its facts are asked for
            inputs = {signature.name for signature in self._request.inputs}
            found = self._visible[iri] = name is not None and (not inputs or name in inputs)
        return found

    def shaped(self, items: Sequence[Item], base: int) -> Shaped | None:
        """The atoms of what items of a stream stand for as rows, their times counted from `base`,
        where each is known to say several things of one subject; see `Shape`.

        Several items only where all are rows of one shape; else they are asked for one by one.
        """
        del items, base
        return None

    def rows(self, triples: Iterable[Triple], time: int) -> list[tuple[str, Row]]:
        """The atoms of an item's triples as rows of values, each with its relation: `p/2`;
        `time` counts as it does in them.

        Raises `ItemError` as `facts` does.
        """
        if time != self._time:
            self._time = _fitting(time)
        found: list[tuple[str, Row]] = []
        relations, resource, term = self._relations, self.mapper.resource, self.mapper.term
        for given, predicate, other in triples:
            # One look-up says all of a predicate: this loop sees each triple of each item, and
            # most have a predicate that has been met.
            name, pair, timed = relations.get(predicate.value) or self._related(predicate.value)
            if not name:
                continue
            subject = resource(given.value) if type(given) is Iri else term(given, name)
            value = resource(other.value) if type(other) is Iri else value_of(term(other, name))
            if pair:
                found.append((pair, (subject, value)))
            if timed:
                found.append((timed, (subject, value, time)))
        return found

    def _related(self, iri: str) -> tuple[str, str, str]:
        """The predicate symbol of an IRI and the relations of its atoms, noted as supplied;
        empty: not wanted."""
        self._supplied |= self.signatures(iri)
        name, binary, ternary = self.mapper.form(iri)
        wanted = name if binary or ternary else ""
        self._relations[iri] = wanted, binary * f"{name}/2", ternary * f"{name}/3"
        return self._relations[iri]

    @property
    def supplied(self) -> frozenset[Signature]:
        """Predicates of which the streams have supplied atoms so far."""
        return self._supplied

    @supplied.setter
    def supplied(self, signatures: frozenset[Signature]) -> None:
        self._supplied = signatures
        # Emptied, for what is in here counts as noted, and the new set may not have it.
        self._relations: dict[str, tuple[str, str, str]] = {}
        """What `rows` needs to know of predicates, of which it has noted that they are supplied."""

    def supply(self, triples: Iterable[Triple]) -> None:
        """Note which predicates triples of a stream supply."""
        known, supplied = self._triples, self._supplied
        for triple in triples:
            found = known.get(triple.predicate.value)
            if found is None:
                found = self.signatures(triple.predicate.value)
            if not found <= supplied:
                self._supplied = supplied = supplied | found

    def signatures(self, iri: str) -> frozenset[Signature]:
        """The predicates of which triples with a predicate give atoms, if anything reads or
        derives those."""
        if iri not in self._triples:
            name = self.mapper.predicate(iri)
            inputs = {signature.name for signature in self._request.inputs}
            both = {Signature(name, 2), Signature(name, 3)} if name else set()
            seen = not inputs or name in inputs
            found = frozenset(both & self._known if seen else ())
            self._refuse_made(found)
            self._triples[iri] = found
        return self._triples[iri]

    def _atom(self, atom: str) -> tuple[str, ...]:
        found = atoms.signature(atom)
        if self._request.inputs and found not in self._request.inputs:
            return ()
        if found.name.removeprefix("-") not in self._names:
            return ()
        if found not in self.supplied:
            self._refuse_made((found,))
            self.supplied |= {found}
        return (atom,)

    def _refuse_made(self, signatures: Iterable[Signature]) -> None:
        for signature in signatures:
            if signature in self._made:
                raise ItemError(
                    f"`{self._made[signature]}` makes `{signature}`, and a stream supplies it too; "
                    "give that one another name"
                )


def _fitting(time: int) -> int:
    """A time of an atom, if it fits ASP's numbers."""
    if not atoms.SMALLEST <= time <= atoms.LARGEST:
        raise ItemError("its time is too far from the window's to fit the 32 bits of ASP")
    return time


def value_of(text: str) -> Value:
    """What the text of a term, a string, number or boolean, stands for."""
    return int(text) if text[0] != '"' and text[-1].isdigit() else text


_SORTS: dict[str, type[Iri | Blank | Literal]] = {"i": Iri, "b": Blank, "l": Literal}
_SORT_OF = {kind: sort for sort, kind in _SORTS.items()}


def item_to_json(item: Item) -> list[Any]:
    """An item as a list that `item_from_json` reads."""
    content: Any = item.content
    if not isinstance(content, str):
        content = [[_term_to_json(term) for term in triple] for triple in content]
    return [item.time, content, item.position, item.until, item.stream]


def item_from_json(values: Sequence[Any]) -> Item:
    """The item that `item_to_json` wrote."""
    time, content, position, until, stream = values
    if not isinstance(content, str):
        content = tuple(Triple(*map(_term_from_json, triple)) for triple in content)
    return Item(time, content, position, until, stream)


def _term_to_json(term: Term) -> list[Any]:
    return [_SORT_OF[type(term)], *term]


def _term_from_json(values: Sequence[Any]) -> Any:
    # The labels of blank nodes as well: a text of RDF would give them scopes of their own.
    sort, *parts = values
    return _SORTS[sort](*parts)


def listed(value: Any) -> Any:
    """Tuples within tuples as lists."""
    return [listed(each) for each in value] if isinstance(value, tuple | list) else value


def tupled(value: Any) -> Any:
    """Lists within lists as tuples."""
    return tuple(tupled(each) for each in value) if isinstance(value, tuple | list) else value
