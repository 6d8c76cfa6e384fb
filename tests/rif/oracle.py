"""What the definitions say of a program at every instant of a long stream."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

from citywise.reasoning.languages.rif.evaluation import Instance as Told
from tests.rif.reference import Appearance, Fact, Instance, WindowedProgram, cons_t, follows, strip


class Oracle:
    """The reference of `tests/rif/reference.py` over a whole stream.

    What is concluded depends on the order of instants only, not on how far they are apart. So
    states that differ in that alone are worked out once.
    """

    def __init__(self, program: WindowedProgram) -> None:
        self.program = program
        self._worked_out: dict[frozenset[Instance], frozenset[Instance]] = {}
        ends = [self._end(each) for each in program.stream]
        last = max((each.until or each.instant for each in program.stream), default=0)
        self.instants = range(1, 2 + max([last, *(end for end in ends if end is not None)]))
        self._counting: defaultdict[int, set[Instance]] = defaultdict(set)
        for each, end in zip(program.stream, ends, strict=True):
            for now in range(each.instant, 1 + (self.instants[-1] if end is None else end)):
                self._counting[now].add(Instance(each.fact, each.instant))
        self._concluded = {now: self._conclude(now) for now in self.instants}

    @property
    def due(self) -> list[int]:
        """The instants at which an item arrives or ceases to count."""
        arrivals = {each.instant for each in self.program.stream}
        ends = {end + 1 for each in self.program.stream if (end := self._end(each)) is not None}
        return sorted(arrivals | ends)

    def facts(self, now: int) -> set[Fact]:
        """What is shown at an instant."""
        return strip(self._concluded.get(now, self._always))

    def entailed(self, now: int) -> set[Told]:
        """The stream P at an instant: what begins to be entailed, and up to when."""
        begun = {each for each in self._concluded.get(now, ()) if each.instant == now}
        return {Told(each.fact, now, self._last[each]) for each in begun}

    def negated(self, now: int) -> set[Told]:
        """The stream N at an instant: what was entailed up to the one before."""
        gone = self._concluded.get(now - 1, self._always) - self._concluded.get(now, self._always)
        return {Told(each.fact, each.instant, now - 1) for each in gone if each.instant}

    def known(self, now: int) -> set[Instance]:
        """All that is entailed at an instant, concluded or given."""
        state = {Instance(fact, 0) for fact in self.program.static} | self._counting[now]
        return cons_t(self.program.rules, state)

    def counting(self, now: int) -> set[Instance]:
        """The window at an instant."""
        return self._counting[now]

    def _end(self, each: Appearance) -> int | None:
        """The last instant at which an appearance counts."""
        size = self.program.range
        return None if size is None else (each.until or each.instant) + size - 1

    @cached_property
    def _always(self) -> frozenset[Instance]:
        return self._conclude(0)

    @cached_property
    def _last(self) -> dict[Instance, int | None]:
        """The last instant at which each instance is concluded."""
        if self.program.range is None:
            return dict.fromkeys(set().union(*self._concluded.values()))
        return {each: now for now, found in self._concluded.items() for each in found}

    def _conclude(self, now: int) -> frozenset[Instance]:
        state = {Instance(fact, 0) for fact in self.program.static} | self._counting[now]
        times = [0, *sorted({each.instant for each in state} - {0})]
        ranks = {time: rank for rank, time in enumerate(times)}
        ranked = frozenset(Instance(each.fact, ranks[each.instant]) for each in state)
        if ranked not in self._worked_out:
            rules = self.program.rules
            known = cons_t(rules, ranked)
            self._worked_out[ranked] = frozenset(i for rule in rules for i in follows(rule, known))
        return frozenset(Instance(fact, times[rank]) for fact, rank in self._worked_out[ranked])
