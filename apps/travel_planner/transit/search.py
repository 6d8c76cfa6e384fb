"""The search: rounds over patterns, each one ride more (McRAPTOR: Delling, Pajor, Werneck 2015).

A label is kept unless another at its stop is no later, has walked no further, and rode no more
often. Backwards, everything is mirrored: patterns, changes and times.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from citywise.apps.travel_planner.transit.arrays import Bags, arrays_of, by_when
from citywise.apps.travel_planner.transit.days import Days, Pattern
from citywise.apps.travel_planner.transit.ground import MICRO, Change, Ground, Line

Ends = Mapping[int, tuple[int, int]]
"""Seconds and micrometres between a place and the stops around it."""
Key = tuple[int, tuple[str, ...]]
"""Legs, and ids of trips: what decides between equals. Empty while only values are sought."""
_NO_KEY: Key = (0, ())


@dataclass(frozen=True)
class Chain:
    """The places that a journey goes along: how each is reached from stops, and on foot from
    the one before (None: not)."""

    ends: tuple[Ends, ...]
    foot: tuple[tuple[int, int] | None, ...]

    @property
    def reverse(self) -> Chain:
        """The same the other way."""
        return Chain(self.ends[::-1], self.foot[::-1])


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """After a ride, at the stop where it ends."""

    time: int
    micro: int
    key: Key
    before: Label | None
    pattern: Pattern
    run: int
    on: int
    off: int
    layer: int


@dataclass(frozen=True, slots=True)
class Found:
    """At a place of the chain: time there, rides, micrometres walked, the last ride."""

    time: int
    rides: int
    micro: int
    key: Key
    label: Label | None


@dataclass(frozen=True)
class Reached:
    """What a search found on a stretch of the chain: where one got off, and was ready to get on."""

    off: Bags
    ready: Bags


@dataclass(frozen=True, slots=True)
class Span:
    """What a journey keeps to: times, micrometres, rides (None: any)."""

    start: int
    end: int
    micro: int
    rides: int | None = None


Aboard = tuple[int, int, Key, "Label | None", int]
"""Run, micrometres, key, label before, call where one got on."""
Ready = tuple[int, int, Key, "Label | None"]
Boards = dict[Pattern, dict[int, list[Ready]]]
"""When one is ready to get on, by pattern and call."""


def _is_beaten(time: int, micro: int, key: Key, others: Sequence[tuple[int, int, Key]]) -> bool:
    return any(
        other[0] <= time and other[1] <= micro and _is_first(other[2], key) for other in others
    )


def _is_first(one: Key, other: Key) -> bool:
    """Whether one decides as well as the other whatever trips follow."""
    if one == other:
        return True
    if one[0] != other[0]:
        return one[0] < other[0]
    shared = min(len(one[1]), len(other[1]))
    return one[1][:shared] < other[1][:shared]


class Search:
    """Searches on the same days in one direction."""

    def __init__(self, ground: Ground, days: Days, backwards: bool, compiled: bool = False) -> None:
        """`compiled`: the first search by `kernel`, where that can be."""
        self._ground, self._days, self._backwards = ground, days, backwards
        self._arrays = arrays_of(days, ground, backwards) if compiled else None

    def journeys(
        self,
        chain: Chain,
        span: Span,
        keyed: bool = False,
        against: Sequence[Reached] | None = None,
    ) -> tuple[list[Found], list[Reached]]:
        """Best ends of journeys with a ride, and what was reached on each stretch of the chain;
        `keyed`: of equals those that come first.

        With what a search `against` this direction has reached, only what meets it is followed.
        """
        if not keyed and self._arrays is not None and self.can_compile(chain):
            off, ready, rows = (
                self._arrays.searched(chain.ends, span)
                if against is None
                else self._arrays.tightened(chain.ends, span, against[0].off, against[0].ready)
            )
            ends = [Found(time, rides, micro, _NO_KEY, None) for time, micro, rides, _ in rows]
            return ends, [Reached(off, ready)]
        seeds = [Found(span.start, 0, 0, _NO_KEY, None)]
        reached: list[Reached] = []
        for layer, foot in enumerate(chain.foot):
            other = against[-1 - layer] if against is not None else None
            rounds = _Rounds(self, chain, layer, seeds, span, keyed, other)
            found = rounds.found()
            reached.append(rounds.reached)
            if foot is not None:
                found += _walked(seeds, foot, span, keyed)
            seeds = _best(found)
        return [each for each in seeds if each.label is not None], reached

    def can_compile(self, chain: Chain) -> bool:
        """Whether the arrays do for these places."""
        return self._arrays is not None and len(chain.foot) == 1

    def range(
        self, chain: Chain, span: Span, within: int
    ) -> tuple[list[tuple[int, Found]], list[Reached]]:
        """Ends of journeys that begin within so many seconds, each with a time at which one may
        begin at the soonest, and what was reached; for chains that `can_compile`."""
        assert self._arrays is not None
        (off, ready, rows), starts = self._arrays.ranged(chain.ends, span, within)
        ends = [
            (starts[n], Found(time, rides, micro, _NO_KEY, None)) for time, micro, rides, n in rows
        ]
        return ends, [Reached(off, ready)]

    def reach(self, access: Ends, span: Span) -> Bags:
        """Where one gets off, wherever one wants to go."""
        if self._arrays is not None:
            return self._arrays.reached(access, span)
        chain = Chain((access, {}), (None,))
        seeds = [Found(span.start, 0, 0, _NO_KEY, None)]
        rounds = _Rounds(self, chain, 0, seeds, span, False, None)
        rounds.found()
        return rounds.reached.off

    def boarding(self, stop: int) -> Iterator[tuple[Pattern, int]]:
        """Patterns and calls where one may get on."""
        return self._days.boarding(stop, self._backwards)

    def changes(self, stop: int) -> list[Change]:
        """From a stop in this direction."""
        return self._ground.changes(stop, self._backwards)

    def needs(self, change: Change, leaves: Line, pattern: Pattern) -> int | None:
        """Seconds of a change from a ride to one of a pattern; None: never."""
        if not change.rules:
            return change.seconds
        if self._backwards:
            return change.between(pattern.takes, leaves)
        return change.between(leaves, pattern.takes)

    def is_told_apart(self, stop: int) -> bool:
        """Whether how one came matters for where one can go on."""
        return any(change.rules for change in self._ground.changes(stop, self._backwards))


def _walked(
    seeds: Sequence[Found], foot: tuple[int, int], span: Span, keyed: bool
) -> Iterator[Found]:
    """On foot to the next place."""
    for seed in seeds:
        time, micro = seed.time + foot[0], seed.micro + foot[1]
        if time <= span.end and micro <= span.micro:
            legs, trips = seed.key
            yield Found(time, seed.rides, micro, (legs + int(keyed), trips), seed.label)


def _best(found: Sequence[Found]) -> list[Found]:
    """Those that no other beats, nor comes before."""
    kept: list[Found] = []
    for one in sorted(found, key=lambda each: (each.rides, each.time, each.micro, each.key)):
        if not any(
            other.time <= one.time and other.micro <= one.micro and _is_first(other.key, one.key)
            for other in kept
        ):
            kept.append(one)
    return kept


class _Rounds:
    """From one place of the chain to the next."""

    def __init__(
        self,
        search: Search,
        chain: Chain,
        layer: int,
        seeds: Sequence[Found],
        span: Span,
        keyed: bool,
        other: Reached | None,
    ) -> None:
        self._off: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        self._ready: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        self._plain: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        """When one is ready whatever line one takes."""
        self.reached = Reached(self._off, self._ready)
        self._other = other
        self._search, self._layer, self._seeds = search, layer, seeds
        self._origin, self._target = chain.ends[layer], chain.ends[layer + 1]
        self._is_last = layer == len(chain.foot) - 1
        """At a place on the way to be later need not be worse in the end."""
        self._span, self._keyed = span, keyed
        self._bags: dict[tuple[int, Line | None], list[tuple[int, int, Key]]] = defaultdict(list)
        self._ends: list[Found] = []
        self._apart: dict[int, bool] = {}
        self._useful: dict[Pattern, Mapping[int, int]] = {}
        self._by_when = None if other is None else by_when(other.ready)
        """By when one must get off at a stop for the search from the other end to go on."""

    def found(self) -> list[Found]:
        boards: Boards = {}
        last = max((seed.rides for seed in self._seeds), default=-1)
        rides = min((seed.rides for seed in self._seeds), default=0)
        while boards or rides <= last:
            if self._span.rides is not None and rides >= self._span.rides:
                break
            self._start([seed for seed in self._seeds if seed.rides == rides], boards)
            rides += 1
            labels = self._ride(boards, rides)
            boards = self._changed(labels, rides)
        return self._ends

    def _start(self, seeds: Sequence[Found], boards: Boards) -> None:
        for stop, (seconds, micro) in self._origin.items():
            ready = [
                seed
                for seed in seeds
                if seed.micro + micro <= self._span.micro
                and self._gets_on(stop, seed.time + seconds, seed.micro + micro, seed.rides)
            ]
            if not ready:
                continue
            self._ready[stop] += [
                (seed.time + seconds, seed.micro + micro, seed.rides) for seed in ready
            ]
            more = int(self._keyed and micro > 0)
            for pattern, call in self._search.boarding(stop):
                boards.setdefault(pattern, {}).setdefault(call, []).extend(
                    (
                        seed.time + seconds,
                        seed.micro + micro,
                        (seed.key[0] + more, seed.key[1]),
                        seed.label,
                    )
                    for seed in ready
                )

    def _gets_on(self, stop: int, time: int, micro: int, rides: int) -> bool:
        """Whether the search from the other end got off where one is ready to get on."""
        return self._other is None or self._meets(self._other.off, stop, time, micro, rides)

    def _gets_off(self, stop: int, time: int, micro: int, rides: int) -> bool:
        """Whether it was ready to get on where one gets off."""
        return self._other is None or self._meets(self._other.ready, stop, time, micro, rides)

    def _meets(self, bags: Bags, stop: int, time: int, micro: int, rides: int) -> bool:
        """Whether it was there by then, within what may be walked and ridden."""
        if stop not in bags:
            return False
        most = self._span.rides
        return any(
            there + time <= 0
            and walked + micro <= self._span.micro
            and (most is None or rode + rides <= most)
            for there, walked, rode in bags[stop]
        )

    def _changed(self, labels: list[tuple[int, Label]], rides: int) -> Boards:
        there: dict[int, list[tuple[int, int, Label, Change]]] = defaultdict(list)
        for stop, label in labels:
            for change in self._search.changes(stop):
                micro = label.micro + change.micro
                if micro > self._span.micro:
                    continue
                time = label.time + change.soonest
                if self._gets_on(change.to, time, micro, rides):
                    there[change.to].append((time, micro, label, change))
        boards: Boards = {}
        for stop, found in there.items():
            self._board_at(stop, found, rides, boards)
        return boards

    def _board_at(
        self,
        stop: int,
        found: list[tuple[int, int, Label, Change]],
        rides: int,
        boards: Boards,
    ) -> None:
        """Get on at a stop after changes to it."""
        if not self._keyed:
            found = self._least(stop, found)
        self._ready[stop] += [(time, micro, rides) for time, micro, _, _ in found]
        for pattern, call in self._search.boarding(stop):
            waiting = boards.setdefault(pattern, {}).setdefault(call, [])
            for _, micro, label, change in found:
                seconds = self._search.needs(change, label.pattern.leaves, pattern)
                if seconds is None:
                    continue
                legs, trips = label.key
                other = label.pattern.stops[label.off] != stop
                key = (legs + 1, trips) if self._keyed and other else label.key
                waiting.append((label.time + seconds, micro, key, label))

    def _least(
        self, stop: int, found: list[tuple[int, int, Label, Change]]
    ) -> list[tuple[int, int, Label, Change]]:
        """Those that no other there beats; where rules tell lines apart, all."""
        kept = []
        least: int | None = None
        for each in sorted(found, key=lambda one: (one[0], one[1])):
            time, micro, _, change = each
            if change.rules:
                kept.append(each)
                continue
            if least is not None and least <= micro:
                continue
            if any(was <= time and walked <= micro for was, walked, _ in self._plain[stop]):
                continue
            least = micro
            kept.append(each)
        self._plain[stop] += [(each[0], each[1], 0) for each in kept if not each[3].rules]
        return kept

    def _ride(self, boards: Boards, rides: int) -> list[tuple[int, Label]]:
        """All labels of one more ride that nothing beats."""
        fresh: dict[tuple[int, Line | None], list[Label]] = defaultdict(list)
        for pattern, calls in boards.items():
            self._scan(pattern, calls, fresh, rides)
        kept = []
        for (stop, line), labels in fresh.items():
            bag = self._bags[stop, line]
            bag += [(label.time, label.micro, _NO_KEY) for label in labels]
            self._off[stop] += [(label.time, label.micro, rides) for label in labels]
            kept += [(stop, label) for label in labels]
        return kept

    def _scan(
        self,
        pattern: Pattern,
        calls: dict[int, list[Ready]],
        fresh: dict[tuple[int, Line | None], list[Label]],
        rides: int,
    ) -> None:
        aboard: list[Aboard] = []
        offs = self._offs(pattern)
        for call in sorted({*calls, *offs}):
            if aboard and call in offs:
                for each in aboard:
                    self._alight(pattern, call, each, fresh, rides)
            for ready, micro, key, label in calls.get(call, ()):
                run = pattern.first(call, ready)
                while _leads_on(pattern, offs, call, run):
                    _board(aboard, (run, micro, self._with(key, pattern, run), label, call))
                    if not self._keyed:
                        break
                    run += 1  # a later one at the same time may have a smaller id

    def _offs(self, pattern: Pattern) -> Mapping[int, int]:
        """The calls of a pattern where getting off can lead on, each with by when."""
        found = self._useful.get(pattern)
        if found is None:
            ends = self._by_when
            found = self._useful[pattern] = {
                call: self._span.end if ends is None else min(self._span.end, ends[stop])
                for call, stop in enumerate(pattern.stops)
                if pattern.alights[call] and (ends is None or stop in ends)
            }
        return found

    def _with(self, key: Key, pattern: Pattern, run: int) -> Key:
        if not self._keyed:
            return key
        ids = pattern.runs[run][0].ids
        return key[0] + len(ids), key[1] + ids

    def _alight(
        self,
        pattern: Pattern,
        call: int,
        each: Aboard,
        fresh: dict[tuple[int, Line | None], list[Label]],
        rides: int,
    ) -> None:
        run, micro, key, before, on = each
        time, stop = pattern.arrives[call][run], pattern.stops[call]
        if time > self._span.end or not self._gets_off(stop, time, micro, rides):
            return
        if stop not in self._apart:
            self._apart[stop] = self._search.is_told_apart(stop)
        place = (stop, pattern.leaves if self._apart[stop] else None)
        if _is_beaten(time, micro, _NO_KEY, self._bags[place]):
            return  # by fewer rides
        if self._is_last and not self._keyed and self._is_outdone(time, micro, rides):
            return
        others = fresh[place]
        if any(
            other.time <= time and other.micro <= micro and _is_first(other.key, key)
            for other in others
        ):
            return
        label = Label(time, micro, key, before, pattern, run, on, call, self._layer)
        others[:] = [
            other
            for other in others
            if not (time <= other.time and micro <= other.micro and _is_first(key, other.key))
        ]
        others.append(label)
        self._arrive(label, stop, rides)

    def _is_outdone(self, time: int, micro: int, rides: int) -> bool:
        """Whether an end is better than whatever this may become: not only as good, for of equals
        the later searches choose, among all that meets what was reached here."""
        metres = -(-micro // MICRO)
        return any(
            end.time <= time
            and (walked := -(-end.micro // MICRO)) <= metres
            and (end.time < time or walked < metres or end.rides < rides)
            for end in self._ends
        )

    def _arrive(self, label: Label, stop: int, rides: int) -> None:
        if stop not in self._target:
            return
        seconds, micro = self._target[stop]
        time, whole = label.time + seconds, label.micro + micro
        if time <= self._span.end and whole <= self._span.micro:
            legs, trips = label.key
            key = (legs + int(self._keyed and micro > 0), trips)
            self._ends.append(Found(time, rides, whole, key, label))


def _leads_on(pattern: Pattern, offs: Mapping[int, int], call: int, run: int) -> bool:
    """Whether one who gets on a run at a call can get off in time; if not, nor from a later run."""
    return run < len(pattern.runs) and any(
        off > call and pattern.arrives[off][run] <= end for off, end in offs.items()
    )


def _board(aboard: list[Aboard], one: Aboard) -> None:
    if _is_beaten(one[0], one[1], one[2], [(each[0], each[1], each[2]) for each in aboard]):
        return
    aboard[:] = [
        each
        for each in aboard
        if not (one[0] <= each[0] and one[1] <= each[1] and _is_first(one[2], each[2]))
    ]
    aboard.append(one)
