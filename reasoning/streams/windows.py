"""Windows over streams: when they tick, their items, and the facts an engine gets of them
(docs/casp.md)."""

from __future__ import annotations

import heapq
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING, NamedTuple, overload

from citywise.reasoning.errors import ItemError
from citywise.reasoning.model.engine import Atoms, Version, WindowChange, WindowFacts
from citywise.reasoning.model.request import CountWindow, Request, TimeWindow, Window
from citywise.reasoning.streams.items import Encoder, Item, Shaped

if TYPE_CHECKING:
    from citywise.reasoning.model.values import Row
    from citywise.reasoning.rdf.mapping import Triple


class Told(NamedTuple):
    """The facts of an item."""

    atoms: tuple[str, ...]
    base: int
    """What the times in the atoms are counted from."""
    text: str | None = None
    """The atoms as facts, one `atom.` a line."""


class Given(NamedTuple):
    """Facts of an evaluation that come from no item: what those before left, and the time."""

    came: Collection[str]
    gone: Collection[str]
    """Facts of the evaluation before that are none any more."""
    size: int
    facts: Callable[[], Sequence[str]]
    """All of them; to be asked before the next evaluation."""


NOTHING_GIVEN = Given((), (), 0, tuple)


@dataclass(slots=True, eq=False)
class Held:
    """An item a window can still need."""

    item: Item
    inside: bool = False
    """Whether it is in the window, as of its last tick."""
    over: bool = False
    """Whether no later window can hold it."""
    told: Told | None = None
    """Its facts, once they have been text."""
    size: int = 0
    """The number of its facts, once they are known."""


class Moved(NamedTuple):
    """What a tick changed in a window."""

    entered: list[Held]
    left: list[Held]


class WindowBuffer:
    """The items one window can still need, in order of time and arrival.

    `last_tick` is the time of the window's last evaluation; its content is that of then.
    A tick costs what it changes.
    """

    def __init__(self, window: Window) -> None:
        self.window = window
        self.last_tick: int | None = None
        self.arrived = 0
        self._items: deque[Held] = deque()
        """Those up to the last tick."""
        self._waiting: list[Held] = []
        """Those that came since."""
        self._over = 0
        """How many of the items are over."""
        self._ends: list[tuple[int, int, Held]] | None = None
        """Items inside by when they end, once some end later than they begin."""
        self._numbers = count()

    def __len__(self) -> int:
        """How many items it can still need; one that stands for several is one."""
        return len(self._items) - self._over + len(self._waiting)

    @property
    def held(self) -> int:
        """How many items it can still need, each by itself."""
        return _counted(self._needed())

    def next_tick(self, first: int) -> int | None:
        """Time of the next tick of a time window; `first` is the request's first time."""
        if isinstance(self.window, CountWindow):
            return None
        if self.last_tick is not None:
            return self.last_tick + self.window.slide
        return self.window.first_tick(first)

    def last_before(self, time: int, first: int) -> int | None:
        """The last tick of a time window before a time; None: there is none."""
        assert isinstance(self.window, TimeWindow)
        begin, slide = self.window.first_tick(first), self.window.slide
        return None if time <= begin else begin + (time - 1 - begin) // slide * slide

    def add(self, item: Item) -> bool:
        """Take an item in; True if a count window ticks with it."""
        self.keep(item)
        if isinstance(self.window, TimeWindow):
            return False
        self.arrived += 1
        over = self.arrived - self.window.width
        return over >= 0 and over % self.window.slide == 0

    def keep(self, item: Item) -> None:
        """Take an item in that came before (`resume`)."""
        self.keep_all((item,))

    def keep_late(self, item: Item) -> Held | None:
        """Take an item in whose time has passed; it is given if it is in the window as of its
        last tick."""
        assert isinstance(self.window, TimeWindow)
        # Order of time is not the order of arrival any more.
        if self._ends is None:
            self._begin_ends()
        if self.last_tick is None or item.time > self.last_tick:
            self.keep(item)
            return None
        if item.end < self.last_tick - self.window.width:
            return None
        held = Held(item, inside=True)
        self._items.append(held)
        assert self._ends is not None
        heapq.heappush(self._ends, (item.end, next(self._numbers), held))
        return held

    def drop(self, item: Item) -> Held | None:
        """Take an item out that was withdrawn; it is given if it was in the window as of its last
        tick."""
        waiting = len(self._waiting)
        self._waiting = [held for held in self._waiting if held.item.position != item.position]
        if len(self._waiting) < waiting:
            return None
        if self._ends is None:
            self._begin_ends()
        for held in reversed(self._items):
            if held.item.position == item.position:
                if not held.inside:
                    return None
                # It is forgotten when it would have ended.
                held.inside, held.over = False, True
                return held
        return None

    def keep_all(self, items: Iterable[Item]) -> None:
        """Take items in that came before."""
        held = list(map(Held, items))
        self._waiting += held
        # Only once an item with an interval has come: until then order of time is order of
        # leaving, and a queue is enough.
        if self._ends is None and any(h.item.until is not None for h in held):
            self._begin_ends()

    def tick(self, time: int) -> Moved:
        """Evaluate at `time`: items that no later window can hold are forgotten."""
        self.last_tick = time
        arrived = self._arrived(time)
        self._items.extend(arrived)
        if isinstance(self.window, CountWindow):
            out = [self._items.popleft() for _ in range(len(self._items) - self.window.width)]
        elif self._ends is not None:
            out = self._ended(self._ends, time - self.window.width)
        else:
            out = self._oldest(time - self.window.width)
        # An item may be over without ever having been inside: where the slide is longer than the
        # width, it fell between two windows. Then it neither enters nor leaves.
        left = []
        for held in out:
            held.over = True
            if held.inside:
                held.inside = False
                left.append(held)
        entered = arrived if len(left) == len(out) else [h for h in arrived if not h.over]
        for held in entered:
            held.inside = True
        return Moved(entered, left)

    def _begin_ends(self) -> None:
        if isinstance(self.window, TimeWindow):
            self._ends = [(h.item.end, next(self._numbers), h) for h in self.content()]
            heapq.heapify(self._ends)

    def content(self) -> Iterator[Held]:
        """The items of the window as of its last tick (nothing before the first)."""
        return (held for held in self._items if held.inside)

    def out_at(self, end: int) -> int:
        """The time of the first tick of a time window at which an item that holds until `end`,
        and is in the window, is out of it."""
        assert isinstance(self.window, TimeWindow)
        assert self.last_tick is not None
        slide = self.window.slide
        return self.last_tick + ((end + self.window.width - self.last_tick) // slide + 1) * slide

    def skip_to(self, time: int, first: int) -> None:
        """Leave out the ticks before `time` (their windows are known to be empty)."""
        due = self.next_tick(first)
        if due is None or due >= time:
            return
        assert isinstance(self.window, TimeWindow)
        # Rounded up: the tick at or after `time` is the next one.
        slides = -(-(time - due) // self.window.slide)
        self.last_tick = due + (slides - 1) * self.window.slide

    def resume(self, last_tick: int | None, arrived: int, held: int) -> None:
        """Continue with the items given so far, of which the newest `held` were held."""
        self.arrived = arrived
        # A time window follows from the items and the time. What a count window held at its last
        # tick does not: of the newest items some may have come after it.
        if isinstance(self.window, TimeWindow):
            if last_tick is not None:
                self.tick(last_tick)
            return
        self.last_tick = last_tick
        del self._waiting[: max(0, len(self._waiting) - held)]
        if last_tick is not None:
            self._items.extend(self._waiting[: self.window.width])
            del self._waiting[: self.window.width]
            for inside in self._items:
                inside.inside = True

    def positions(self) -> Iterator[int]:
        """Log positions of the items it can still need."""
        return (held.item.position for held in self._needed())

    def _needed(self) -> Iterator[Held]:
        return chain((held for held in self._items if not held.over), self._waiting)

    def _arrived(self, time: int) -> list[Held]:
        """What came since the last tick, up to `time`."""
        waiting, self._waiting = self._waiting, []
        if waiting and isinstance(self.window, TimeWindow) and waiting[-1].item.time > time:
            self._waiting = [held for held in waiting if held.item.time > time]
            waiting = [held for held in waiting if held.item.time <= time]
        if self._ends is not None:
            for held in waiting:
                heapq.heappush(self._ends, (held.item.end, next(self._numbers), held))
        return waiting

    def _oldest(self, begin: int) -> list[Held]:
        """Take the items out that are before `begin`; none has an interval."""
        left = []
        while self._items and self._items[0].item.time < begin:
            left.append(self._items.popleft())
        return left

    def _ended(self, ends: list[tuple[int, int, Held]], begin: int) -> list[Held]:
        """The items that end before `begin`; they are taken out when they are many."""
        left = []
        while ends and ends[0][0] < begin:
            left.append(heapq.heappop(ends)[2])
        self._over += len(left)
        # Items with intervals end in any order; taking each out of the queue at once would cost
        # its length. So once half of it is over.
        if 2 * self._over > len(self._items):
            gone = {id(held) for held in left}
            kept = (h for h in self._items if not h.over and id(h) not in gone)
            self._items, self._over = deque(kept), 0
        return left


class Items(Sequence[Item]):
    """The items of windows at one evaluation, by stream, time and arrival; put together
    when they are asked for."""

    def __init__(self, size: int, version: Version[Held], streams: Mapping[str, int]) -> None:
        self._size = size
        self._version: Version[Held] | None = version
        self._streams = streams
        self._items: tuple[Item, ...] = ()

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, index: int | slice) -> Item | tuple[Item, ...]:
        return self._all()[index]

    def __iter__(self) -> Iterator[Item]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Items | tuple):
            return NotImplemented
        return self._all() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def _all(self) -> tuple[Item, ...]:
        if self._version is not None:
            items = [item for held in self._version.members() for item in held.item.apart()]
            items.sort(key=lambda i: (self._streams[i.stream], i.time, i.position))
            self._items, self._version = tuple(items), None
        return self._items


class Contents:
    """The windows of a request.

    Items become facts once, when they enter their window; a tick costs what it changes.
    """

    def __init__(self, request: Request, encoder: Encoder, *, as_rows: bool = False) -> None:
        self.buffers = {s.iri: WindowBuffer(s.window) for s in request.streams}
        self.refused: dict[int, tuple[Item, str]] = {}
        """Items without a value in ASP, by position, and why; the caller may clear it."""
        self._encoder = encoder
        self._as_rows = as_rows
        """Whether who is told of changes would rather have rows than texts."""
        self._streams = {iri: index for index, iri in enumerate(self.buffers)}
        self._version: Version[Held] = Version(lambda: tuple(self._held_items()))
        self._items = 0
        self._atoms = 0
        self._base: int | None = None
        """What times in atoms are counted from; None: nothing has been told of."""
        self._moved: list[tuple[WindowBuffer, Moved]] = []

    @property
    def empty(self) -> bool:
        """Whether no window has anything in it now."""
        return not self._items

    @property
    def items(self) -> Items:
        """What is in the windows, whatever becomes of them."""
        return Items(self._items, self._version, self._streams)

    @property
    def atoms(self) -> int:
        """The number of facts in the windows."""
        return self._atoms

    def tick(self, buffer: WindowBuffer, time: int) -> None:
        """Bring one window up to its tick."""
        self._move(buffer, buffer.tick(time))

    def keep_late(self, item: Item) -> None:
        """Take an item in whose evaluations have been made, for those to come."""
        buffer = self.buffers[item.stream]
        if (held := buffer.keep_late(item)) is not None:
            self._move(buffer, Moved([held], []))

    def drop(self, item: Item) -> None:
        """Take an item out that was withdrawn."""
        buffer = self.buffers[item.stream]
        held = buffer.drop(item)
        if held is None:
            return
        for _buffer, moved in self._moved:
            if held in moved.entered:  # nobody has been told of it yet
                moved.entered.remove(held)
                self._items -= held.item.count
                self._version = self._version.followed_by((), [held])
                return
        self._move(buffer, Moved([], [held]))

    def _move(self, buffer: WindowBuffer, moved: Moved) -> None:
        self._moved.append((buffer, moved))
        self._items += _counted(moved.entered) - _counted(moved.left)
        self._version = self._version.followed_by(moved.entered, moved.left)

    def restored(self) -> None:
        """What the windows hold is not what ticks said."""
        self._items = _counted(self._held_items())
        self._version = Version(lambda: tuple(self._held_items()))
        self._base = None

    def change(self, now: int, base: int, given: Given) -> WindowChange:
        """What the ticks since the last change did, and what is given besides."""
        entered: dict[int | None, Atoms] = {}
        left: list[str] = []
        # Times in atoms count from a base (`Reasoner.base`). Where that moves all atoms with a
        # time are others, and the engine must begin anew.
        anew = base != self._base
        if anew:
            self._begin(base)
        else:
            self._tell(entered, left, base)
            if given.came:
                entered.setdefault(None, Atoms()).texts.extend(given.came)
            left += given.gone
        self._moved = []
        supplied = self._encoder.supplied
        return WindowChange(
            now=now,
            entered=entered,
            left=left,
            supplied=supplied,
            size=self._atoms + given.size,
            anew=anew,
            # Functions, since they are seldom asked for and cost what the window holds, not what
            # changed. The buffers they read have moved on at the next tick.
            whole=lambda: self._whole(given),
            window=lambda: WindowFacts(self.text(base) + _text(given.facts()), supplied),
        )

    def text(self, base: int) -> str:
        """The facts of the windows, one `atom.` a line."""
        return "".join([self._text_of(held, base) for held in self._held_items()])

    def encoded(self, item: Item, base: int) -> tuple[str, ...]:
        """The atoms of an item, its time counted from `base`."""
        found: tuple[str, ...] = ()
        for each in item.apart():
            try:
                found += self._encoder.facts(each, base)
            except ItemError as error:
                self.refused[each.position] = (each, str(error))
        return found

    def _held_items(self) -> Iterator[Held]:
        for buffer in self.buffers.values():
            yield from buffer.content()

    def _encoded(self, held: Held, base: int) -> Told:
        told = held.told
        # Kept with the item: the next windows that hold it, and the solver beside the incremental
        # engine, find the text made.
        if told is None or told.base != base:
            told = held.told = Told(self.encoded(held.item, base), base)
            held.size = len(told.atoms)
        return told

    def _text_of(self, held: Held, base: int) -> str:
        told = self._encoded(held, base)
        if told.text is None:
            told = held.told = told._replace(text=_text(told.atoms))
        return told.text or ""

    def _begin(self, base: int) -> None:
        self._base = base
        self._atoms = sum(len(self._encoded(held, base).atoms) for held in self._held_items())

    def _tell(self, entered: dict[int | None, Atoms], left: list[str], base: int) -> None:
        """Add what ticks did to what entered and left; a time window says when it leaves."""
        for buffer, moved in self._moved:
            self._atoms -= sum([held.size for held in moved.left])
            # Atoms of time windows entered with their last instant and end by it: nothing need be
            # said when they leave. How long an item stays in a count window depends on what will
            # come.
            if isinstance(buffer.window, CountWindow):
                left += [atom for h in moved.left if h.told is not None for atom in h.told.atoms]
            self._atoms += self._enter(entered, buffer, moved.entered, base)

    def _enter(
        self,
        entered: dict[int | None, Atoms],
        buffer: WindowBuffer,
        items: Iterable[Held],
        base: int,
    ) -> int:
        """Add the atoms of items to those that entered, by the last instant at which they are
        in their window, if that is known: before the time tick 2t + 1 without them come the
        count ticks 2t. Returns how many they are."""
        counts = isinstance(buffer.window, CountWindow)
        atoms = entered.setdefault(None, Atoms()) if counts else Atoms()
        before, number, as_rows = None, 0, self._as_rows and not counts
        if as_rows:
            items, number = self._enter_shaped(entered, buffer, items, base)
        for held in items:
            item = held.item
            end = item.time if item.until is None else item.until
            # Items come in order of time, so those of one end mostly follow each other: one
            # look-up for all.
            if end != before and not counts:
                before = end
                # Out of the window at the time tick 2t + 1, so up to 2t, the count ticks of the
                # same time, it is in.
                atoms = entered.setdefault(2 * buffer.out_at(end), Atoms())
            if as_rows and type(item) is Item and type(item.content) is tuple:
                rows = atoms.rows
                found = self._rows(item, item.content, base)
                for relation, row in found:
                    rows[relation].append(row)
                held.size = len(found)
            else:
                atoms.texts += self._encoded(held, base).atoms
            number += held.size
        return number

    def _enter_shaped(
        self,
        entered: dict[int | None, Atoms],
        buffer: WindowBuffer,
        items: Iterable[Held],
        base: int,
    ) -> tuple[list[Held], int]:
        """Add the items that are rows of several atoms; gives the others, and how many atoms the
        rows are."""
        others: list[Held] = []
        together: defaultdict[int, list[Held]] = defaultdict(list)
        for held in items:
            if type(held.item) is Item:
                others.append(held)
            else:
                together[buffer.out_at(held.item.end)].append(held)
        number = 0
        for out, some in together.items():
            whole = self._encoder.shaped([held.item for held in some], base)
            for each in [some] if whole is not None else [[held] for held in some]:
                found = whole or self._encoder.shaped([each[0].item], base)
                if found is None:
                    others += each
                else:
                    atoms = entered.setdefault(2 * out, Atoms())
                    number += self._enter_rows(atoms, found, each, base)
        return others, number

    def _enter_rows(self, atoms: Atoms, shaped: Shaped, items: list[Held], base: int) -> int:
        """Add items as rows; gives how many atoms they are."""
        texts = [text for other in shaped.others for text in self.encoded(other, base)]
        atoms.texts += texts
        number = len(texts)
        for shape, rows in shaped.rows.items():
            atoms.shaped[shape] += rows
            number += len(shape.relations) * len(rows)
        # Several items are rows of one shape, so each has its share.
        count = _counted(items)
        for held in items:
            held.size = number * held.item.count // count
        return number

    def _rows(
        self, item: Item, triples: tuple[Triple, ...], base: int
    ) -> Sequence[tuple[str, Row]]:
        """The atoms of an item as rows, its time counted from `base`."""
        try:
            return self._encoder.rows(triples, item.time - base)
        except ItemError as error:
            self.refused[item.position] = (item, str(error))
            return ()

    def _whole(self, given: Given) -> dict[int | None, Atoms]:
        found: dict[int | None, Atoms] = {}
        for buffer in self.buffers.values():
            self._enter(found, buffer, buffer.content(), self._base or 0)
        found.setdefault(None, Atoms()).texts.extend(given.facts())
        return found


def _counted(held: Iterable[Held]) -> int:
    return sum([each.item.count for each in held])


def _text(atoms: Iterable[str]) -> str:
    return "".join([f"{atom}.\n" for atom in atoms])
