"""The data stream up to now, as far back as a program's windows look (Laser, Definitions 3
and 4)."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from reasoning import atoms
from reasoning.lars.program import LastTuples, TimeSpan, Window
from reasoning.program import Signature


class Atom(NamedTuple):
    """A ground atom as text, in two parts: the arguments are without brackets."""

    signature: Signature
    arguments: str

    @property
    def text(self) -> str:
        """The whole atom."""
        return f"{self.signature.name}({self.arguments})" if self.arguments else self.signature.name


class Tuple(NamedTuple):
    """An atom and the point of time at which it arrived."""

    time: int
    atom: Atom


def split(text: str) -> Atom:
    """The parts of a ground atom's text in clingo's spelling."""
    signature = atoms.signature(text)
    return Atom(signature, text[len(signature.name) + 1 : -1] if signature.arity else "")


class History:
    """What has arrived, point by point: each atom once at a point of time.

    Parameters
    ----------
    windows:
        The windows that will be looked through; what none of them can show is forgotten.
    read:
        Predicates that windows of time look at; the last tuples are of any predicate.
    """

    def __init__(self, windows: Collection[Window | None], read: Collection[Signature]) -> None:
        self._read = frozenset(read)
        spans = [w.size for w in windows if isinstance(w, TimeSpan)]
        self._span: float = float("inf") if None in windows else max(spans, default=0)
        counts = [w.size for w in windows if isinstance(w, LastTuples)]
        self._last: deque[list[Tuple]] = deque(maxlen=max(counts, default=0))
        """Tuples: an atom, or a triple in both its readings."""
        self._points: deque[tuple[int, list[Atom]]] = deque()
        self._here: set[Atom] = set()
        self.first: int | None = None
        """t1, the first point of the timeline."""
        self.now = 0
        """The last point so far."""

    def begin(self, time: int) -> None:
        """Go on to a point of time, later than the one before."""
        self.first = time if self.first is None else self.first
        self.now = time
        self._here = set()
        while self._points and self._points[0][0] < time - self._span:
            self._points.popleft()

    def arrive(
        self, arrivals: Iterable[Atom], readings: Mapping[str, str] | None = None
    ) -> list[Atom]:
        """Take atoms that arrive at the point of time, in order, where `readings` says which
        are one tuple with another; those that are new there."""
        new = []
        for atom in arrivals:
            if atom not in self._here:
                self._here.add(atom)
                new.append(atom)
        self._last.extend(self._tuples(new, readings or {}))
        if read := [atom for atom in new if atom.signature in self._read]:
            self._points.append((self.now, read))
        return new

    def _tuples(self, new: Iterable[Atom], readings: Mapping[str, str]) -> Iterable[list[Tuple]]:
        found: dict[str, list[Tuple]] = {}
        for atom in new:
            first = readings.get(atom.text, atom.text) if readings else atom.text
            found.setdefault(first, []).append(Tuple(self.now, atom))
        return found.values()

    def here(self) -> Collection[Atom]:
        """The atoms that hold now."""
        return self._here

    def timeline(self, window: Window | None) -> range:
        """The points of time of a window."""
        assert self.first is not None
        low = self.first
        if isinstance(window, TimeSpan):
            low = max(low, self.now - window.size)
        elif isinstance(window, LastTuples) and len(self._last) >= window.size:
            low = self._last[-window.size][0].time
        return range(low, self.now + 1)

    def within(self, window: Window | None) -> Iterator[Tuple]:
        """The atoms of a window with their points of time, oldest first; of a window of time
        those of the predicates that are read."""
        if isinstance(window, LastTuples):
            yield from chain.from_iterable(list(self._last)[-window.size :])
            return
        low = self.timeline(window).start
        for time, here in self._points:
            if time >= low:
                yield from (Tuple(time, atom) for atom in here)

    def all(self) -> Iterator[Tuple]:
        """Everything that is remembered for windows of time, oldest first."""
        for time, here in self._points:
            yield from (Tuple(time, atom) for atom in here)

    @property
    def longest(self) -> int:
        """Points of time that are remembered."""
        return len(self._points)
