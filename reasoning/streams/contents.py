"""What is in the windows of a request: its items, and the facts an engine gets of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, overload

from reasoning.errors import ItemError
from reasoning.model.engine import Atoms, WindowChange, WindowFacts
from reasoning.model.request import CountWindow, Request, previous
from reasoning.model.versions import Version
from reasoning.streams.encoding import Encoder
from reasoning.streams.items import Item
from reasoning.streams.windows import Held, Moved, Told, WindowBuffer

if TYPE_CHECKING:
    from reasoning.model.terms import Row
    from reasoning.rdf.mapping import Triple


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
            items = [held.item for held in self._version.members()]
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
        self._version: Version[Held] = Version(lambda: tuple(self._held()))
        self._items = 0
        self._atoms = 0
        self._base: int | None = None
        """What times in atoms are counted from; None: nothing has been told of."""
        self._moved: list[tuple[WindowBuffer, Moved]] = []
        self._fed: tuple[str, ...] = ()

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
        moved = buffer.tick(time)
        self._moved.append((buffer, moved))
        self._items += len(moved.entered) - len(moved.left)
        self._version = self._version.followed_by(moved.entered, moved.left)

    def restored(self) -> None:
        """What the windows hold is not what ticks said."""
        self._items = sum(1 for _ in self._held())
        self._version = Version(lambda: tuple(self._held()))
        self._base = None

    def change(self, now: int, base: int, fed: tuple[str, ...]) -> WindowChange:
        """What the ticks since the last change did; `fed` are atoms fed back."""
        entered: dict[int | None, Atoms] = {}
        left: list[str] = []
        # Times in atoms count from a base (`Reasoner.base`). Where that moves all atoms with a
        # time are others, and the engine must begin anew.
        anew = base != self._base
        if anew:
            self._begin(base)
        else:
            self._tell(entered, left, base)
            _fed(self._fed, fed, entered, left)
        self._moved, self._fed = [], fed
        supplied = self._encoder.supplied
        return WindowChange(
            now=now,
            entered=entered,
            left=left,
            supplied=supplied,
            size=self._atoms + len(fed),
            anew=anew,
            # Functions, since they are seldom asked for and cost what the window holds, not what
            # changed. The buffers they read have moved on at the next tick.
            whole=lambda: self._whole(fed),
            window=lambda: WindowFacts(self.text(base) + _text(map(previous, fed)), supplied),
        )

    def text(self, base: int) -> str:
        """The facts of the windows, one `atom.` a line."""
        return "".join([self._text_of(held, base) for held in self._held()])

    def encoded(self, item: Item, base: int) -> tuple[str, ...]:
        """The atoms of an item, its time counted from `base`."""
        try:
            return self._encoder.facts(item, base)
        except ItemError as error:
            self.refused[item.position] = (item, str(error))
            return ()

    def _held(self) -> Iterator[Held]:
        for buffer in self.buffers.values():
            yield from buffer.content()

    def _told(self, held: Held, base: int) -> Told:
        told = held.told
        # Kept with the item: the next windows that hold it, and the solver beside the incremental
        # engine, find the text made.
        if told is None or told.base != base:
            told = held.told = Told(self.encoded(held.item, base), base)
            held.size = len(told.atoms)
        return told

    def _text_of(self, held: Held, base: int) -> str:
        told = self._told(held, base)
        if told.text is None:
            told = held.told = told._replace(text=_text(told.atoms))
        return told.text or ""

    def _begin(self, base: int) -> None:
        self._base = base
        self._atoms = sum(len(self._told(held, base).atoms) for held in self._held())

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
                atoms.texts += self._told(held, base).atoms
            number += held.size
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

    def _whole(self, fed: tuple[str, ...]) -> dict[int | None, Atoms]:
        found: dict[int | None, Atoms] = {}
        for buffer in self.buffers.values():
            self._enter(found, buffer, buffer.content(), self._base or 0)
        found.setdefault(None, Atoms()).texts.extend(map(previous, fed))
        return found


def _fed(
    before: Collection[str],
    after: Collection[str],
    entered: dict[int | None, Atoms],
    left: list[str],
) -> None:
    if before != after:
        old, new = set(before), set(after)
        texts = entered.setdefault(None, Atoms()).texts
        texts += [previous(atom) for atom in after if atom not in old]
        left += [previous(atom) for atom in before if atom not in new]


def _text(atoms: Iterable[str]) -> str:
    return "".join([f"{atom}.\n" for atom in atoms])
