"""□ over the input by its texts: an atom that goes on arriving costs next to nothing, and one
that never lasts is never read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable

from reasoning.engines.incremental.terms import Row
from reasoning.engines.incremental.values import parsed_many
from reasoning.lars.feeds import Feed, Rows, Sink
from reasoning.lars.program import LastTuples, TimeSpan


def lingers(feeds: Collection[Feed]) -> bool:
    """Whether a program asks only for the □ of points of time, and what holds now beside it,
    which is its □ at one point."""
    kinds = {feed.kind for feed in feeds}
    spans = all(not isinstance(feed.window, LastTuples) for feed in feeds)
    return spans and "box" in kinds and kinds <= {"box", "now"}


class Lingering:
    """Fills the relations of □ from point to point; see `windows.Inflow`.

    `since` has the atoms that arrived at the last point, as text, and since when they have
    at every one.
    """

    def __init__(self, feeds: Iterable[Feed], knowledge: Rows, sink: Sink) -> None:
        self.since: dict[str, int] = {}
        self._sink = sink
        self._static = {predicate: frozenset(rows) for predicate, rows in knowledge.items()}
        self._first: int | None = None
        self._texts: set[str] = set()
        self._begun: dict[int, set[str]] = {}
        self._relations: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        """By size of the window and predicate."""
        for feed in feeds:
            size = feed.window.size if isinstance(feed.window, TimeSpan) else 0
            self._relations[size][feed.predicate].append(feed.relation)
            if rows := knowledge.get(feed.predicate):
                sink.insert(feed.relation, rows)

    def look(self, arrivals: Iterable[str]) -> set[str]:
        """What arrives at the next point and did not at the last."""
        self._texts = set(arrivals)
        return self._texts.difference(self.since)

    def point(self, time: int, came: set[str]) -> None:
        """Go on to the point that `look` has seen; `came` is what it found."""
        if self._first is None:
            self._first = time
        broke = self._break()
        self.since.update(dict.fromkeys(came, time))
        self._begun[time] = came
        for size, relations in self._relations.items():
            held = [t for t, start in broke.items() if start == self._first or start + size < time]
            self._change(self._sink.retract, relations, held)
            if time == self._first or time - size != self._first:
                due = came if time == self._first else self._begun.get(time - size, ())
                self._change(self._sink.insert, relations, due)
        self._begun.pop(time - max(self._relations), None)

    def runs(self) -> dict[str, dict[Row, int]]:
        """The same as `since`, as rows by predicate."""
        found: dict[str, dict[Row, int]] = defaultdict(dict)
        begun: dict[int, list[str]] = defaultdict(list)
        for text, start in self.since.items():
            begun[start].append(text)
        for start, texts in begun.items():
            for predicate, rows in parsed_many(texts).items():
                found[predicate].update(dict.fromkeys(rows, start))
        return found

    def _break(self) -> dict[str, int]:
        """What arrives no more, and since when it had."""
        since, begun = self.since, self._begun
        broke = {text: since.pop(text) for text in since.keys() - self._texts}
        for text, start in broke.items():
            if start in begun:
                begun[start].discard(text)
        return broke

    def _change(
        self,
        change: Callable[[str, Iterable[Row]], None],
        relations: dict[str, list[str]],
        texts: Collection[str],
    ) -> None:
        for predicate, rows in parsed_many(texts).items() if texts else ():
            static = self._static.get(predicate)
            found = [row for row in rows if row not in static] if static else rows
            for relation in relations.get(predicate, ()):
                change(relation, found)
