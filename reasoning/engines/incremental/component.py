"""Relations that depend on one another, brought up to a point of time; limits are looked at."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import psutil

from citywise.reasoning.engines.incremental import generated, operators
from citywise.reasoning.engines.incremental.generated import Change
from citywise.reasoning.engines.incremental.relation import FOREVER, Horizons, Improved, Relation
from citywise.reasoning.limits import LimitError, Limits, exceeded, too_large, too_long
from citywise.reasoning.model.joins import normal, pair_join
from citywise.reasoning.model.rules import Absent, Holds, Program, Rule, Scan
from citywise.reasoning.model.values import Row

CHUNK = 1_000
"""Changed rows that are joined at a time; limits are looked at in between."""
_LOOK_S = 0.1
"""How often CPU time, memory and the number of rows are looked at, in wall time, which is
cheaper to ask for."""


class Watch:
    """Sees to the limits while rules are joined."""

    def __init__(
        self, name: str, limits: Limits | None, sizes: Callable[[], Iterable[tuple[str, int]]]
    ) -> None:
        self._name = name
        self._limits = limits
        self._sizes = sizes
        self._began_s: float | None = None
        """CPU time of this thread when a step was first looked at."""
        self._next_look = 0.0
        self._had_mb: float | None = None

    def begin(self) -> None:
        """A step begins: its time counts from now."""
        if self._limits is not None:
            self._next_look = time.monotonic() + _LOOK_S
            self._began_s = self._had_mb = None

    def chunks(self, rows: Horizons, found: list[Row]) -> Iterator[Horizons]:
        """The rows in pieces; looks at the limits in between."""
        if self._limits is None or len(rows) <= CHUNK:
            self.look(len(found))
            yield rows
            return
        items = iter(rows.items())
        while chunk := dict(islice(items, CHUNK)):
            self.look(len(found))
            yield chunk

    def look(self, more: int = 0) -> None:
        """Raise `LimitError` if a limit is reached, with `more` rows than the relations have."""
        if self._limits is None or (now := time.monotonic()) < self._next_look:
            return
        self._next_look = now + _LOOK_S
        if limit := self._reached(more):
            raise self._exceeded(limit)

    def exhausted(self) -> LimitError:
        """The error where there is no memory left."""
        return self._exceeded("the machine has no more memory for it")

    def end(self) -> None:
        """The step is over: raise `LimitError` if there are too many rows."""
        if self._limits is not None and (limit := self._too_many(0)):
            raise self._exceeded(limit)

    def _reached(self, more: int) -> str | None:
        assert self._limits is not None
        used_s = time.thread_time()
        # Counted from the first look, 0.1 s into the step: short steps never ask for CPU time,
        # which costs a system call.
        if self._began_s is None:
            self._began_s = used_s
        if used_s - self._began_s > self._limits.seconds:
            return too_long(self._limits.seconds)
        if limit := self._too_many(more):
            return limit
        resident_mb = psutil.Process().memory_info().rss / 1e6
        if self._had_mb is None:
            self._had_mb = resident_mb  # what was there before may be other requests'
        if resident_mb - self._had_mb > self._limits.megabytes:
            return too_large(self._limits.megabytes)
        return None

    def _too_many(self, more: int) -> str | None:
        assert self._limits is not None
        if sum(size for _name, size in self._sizes()) + more > self._limits.atoms:
            return f"it has more than {self._limits.atoms:,} ground atoms"
        return None

    def _exceeded(self, limit: str) -> LimitError:
        sizes = sorted(self._sizes(), key=lambda found: (-found[1], found[0]))
        # Relations that a translation made say nothing to the author of the rules.
        grown = {name: size for name, size in sizes if size and not name.startswith("#")}
        grown = dict(islice(grown.items(), 3))
        return exceeded(self._name, limit, "evaluation", grown)


@dataclass
class _Met:
    """A rule and a literal of its body, and what to do when rows of that change."""

    compiled: _Compiled
    literal: int
    relation: Relation
    absent: bool
    inner: bool
    """Whether the relation is one of the component's own."""


class _Compiled:
    """A rule and its functions, made when they are first needed."""

    def __init__(self, rule: Rule, relations: Mapping[str, Relation], watch: Watch) -> None:
        self.rule = rule
        self._look = watch.look
        self.head = relations[rule.head]
        self.looked = [relations[literal.relation] for literal in rule.looks.values()]
        self._relations = relations
        # Of each literal there may be two functions, most of which are never called: without
        # negation, aggregates and retractions nothing is withdrawn.
        self._functions: dict[tuple[int | None, str], Change] = {}
        self._copy: generated.Copy | None = None
        self._pair = pair_join(rule)
        scans = [literal for literal in rule.body if isinstance(literal, Scan)]
        others = any(isinstance(literal, Holds) for literal in rule.body)
        self.simple = len(scans) == 1 and not others and rule.until is None
        """Whether the head's rows hold as long as those of the only scan."""
        if not any(isinstance(literal, Scan) for literal in rule.body):
            self.function(None, "derive")  # raises what is wrong with the rule at once
        else:
            at = next(i for i, literal in enumerate(rule.body) if isinstance(literal, Scan))
            self.function(at, "derive")

    def function(self, literal: int | None, mode: generated.Mode) -> Change:
        key = literal, mode
        if key not in self._functions:
            made = generated.function(self.rule, literal, mode, self._relations, self._look)
            self._functions[key] = made
        return self._functions[key]

    def in_columns(self) -> bool:
        """Whether all that is joined has columns, or has no rows; if not, all of it is listed."""
        if self._pair is None:
            return False
        if all(looked.in_columns for looked in self.looked):
            return True
        self.leave_columns()
        return False

    def leave_columns(self) -> None:
        """Have the rows of all that is joined listed, for good."""
        self._pair = None
        for looked in self.looked:
            if looked.in_columns:
                looked.list_rows()

    def join_columns(self, literal: int) -> Iterator[tuple[list[Row], int]]:
        """What new rows give, by their horizons; nothing if they must be listed for it."""
        assert self._pair is not None
        left, right = (looked.columns for looked in self.looked)
        if left is None or right is None:
            return  # of one no row has come yet
        from citywise.reasoning.engines.incremental import columns

        try:
            yield from columns.joined(self._pair, literal, (left, right))
        except columns.LongKeyError:
            self.leave_columns()

    def rederive(self) -> Change:
        self.leave_columns()
        key = None, "again"
        if key not in self._functions:
            self._functions[key] = generated.rederiving(self.rule, self._relations, self._look)
        return self._functions[key]

    def copy(self, rows: Horizons, horizon: int) -> Horizons:
        if self._copy is None:
            self._copy = generated.copying(self.rule, self._relations, self._look)
        return self._copy(rows, horizon)


class Component:
    """Relations that depend on one another, with what derives them."""

    def __init__(
        self,
        names: frozenset[str],
        program: Program,
        relations: Mapping[str, Relation],
        watch: Watch,
    ) -> None:
        self._watch = watch
        self._own = [relations[name] for name in sorted(names)]
        self._states = [
            operators.state(operator, relations)
            for operator in program.operators
            if operator.result in names
        ]
        self._rules = [
            _Compiled(normal(rule), relations, watch)
            for rule in program.rules
            if rule.head in names
        ]
        met = [
            _Met(rule, index, relations[literal.relation], isinstance(literal, Absent),
                 literal.relation in names)
            for rule in self._rules
            for index, literal in rule.rule.looks.items()
        ]  # fmt: skip
        self._outer = [each for each in met if not each.inner]
        self._inner: defaultdict[str, list[_Met]] = defaultdict(list)
        """By the name of the relation."""
        for each in met:
            if each.inner:
                self._inner[each.relation.name].append(each)
        self._start = [rule for rule in self._rules if not _reads(rule.rule)]

    def step(self, now: int, *, first: bool) -> None:
        # Operators first: what they read is in components before this one, and rules here read
        # their results.
        for operator in self._states:
            operator.update(now)
        changed = [met for met in self._outer if met.relation.changed]
        if changed:
            for met in changed:
                met.compiled.in_columns()
            # The order of delete and rederive. What may be wrong must be out before anything is
            # joined with it, and what still follows must be back before new rows are met, or it
            # would count as new.
            self._withdraw(changed)
            self._rederive(now)
            for met in changed:
                self._derive(met, now)
        if first:
            # Rules without a scan wait for nothing to come: they are tried once. A literal of
            # theirs that is negated is met when its relation changes.
            for rule in self._start:
                self._join(rule, rule.function(None, "derive"), {(): FOREVER}, now)
        if self._inner:
            self._fix(now)

    # -- what is withdrawn --------------------------------------------------------------

    def _withdraw(self, changed: Iterable[_Met]) -> None:
        """Take out what may rest on rows that were withdrawn, or on the absence of rows that
        came."""
        todo: list[tuple[Relation, Horizons]] = []
        for met in changed:
            if met.absent:
                # An absence has no horizon: whatever the head's row has, it may rest on it.
                rows = dict.fromkeys(met.relation.came(), FOREVER)
            elif met.relation.withdrawn:
                # Not those that have come back in this step, to hold as long.
                rows = dict(met.relation.shortened())
            else:
                continue
            if rows:
                todo += self._take_out(met, rows)
        # Recursion: what was taken out of the component takes out what rests on it there. Only
        # scans can be met; a negated literal's relation lies in an earlier component.
        while todo:
            relation, rows = todo.pop()
            for met in self._inner.get(relation.name, ()):
                todo += self._take_out(met, rows)

    def _take_out(self, met: _Met, rows: Horizons) -> list[tuple[Relation, Horizons]]:
        head = met.compiled.head
        found: list[Row] = []
        ends: list[int] = []
        run = met.compiled.function(met.literal, "withdraw")
        head.list_rows()
        for chunk in self._watch.chunks(rows, found):
            run(chunk, found, ends, 0)
        if not found:
            return []
        # The function has taken them out of `horizons` itself, so that it finds none twice.
        withdrawn = dict(zip(found, ends, strict=True))
        head.withdraw(withdrawn)
        return [(head, withdrawn)]

    def _rederive(self, now: int) -> None:
        """Derive what was taken out and still follows."""
        # From the head backwards: the lost rows are given to a function that looks for a body of
        # each, so the cost is that of what was lost, not of the rule. What rests on a row that
        # came back is found by `_fix`.
        lost = [(own, dict.fromkeys(own.withdrawn, FOREVER)) for own in self._own if own.withdrawn]
        for own, rows in lost:
            for rule in self._rules:
                if rule.head is own:
                    self._join(rule, rule.rederive(), rows, now)

    # -- what comes ---------------------------------------------------------------------

    def _derive(self, met: _Met, now: int) -> None:
        """Meet a relation's new rows; for a negated literal those that are gone."""
        rule = met.compiled
        if met.absent:
            if gone := dict.fromkeys(met.relation.gone(), FOREVER):
                self._join(rule, rule.function(met.literal, "derive"), gone, now)
            return
        if rule.in_columns():
            for found, end in rule.join_columns(met.literal):
                self._watch.look(len(found))
                rule.head.give_found(found, end)
        # Not where it has just been joined.
        improved = met.relation.improved
        if rule.head.once and improved and self._all_new(met):
            together = {row: end for rows, _horizon in improved for row, end in rows.items()}
            self._join_new(rule, rule.function(met.literal, "derive"), together, now)
            return
        for rows, horizon in improved:
            self._meet(met, rows, horizon, now)

    def _meet(self, met: _Met, rows: Horizons, horizon: int | None, now: int) -> None:
        rule = met.compiled
        # One scan, one horizon for all rows: the head's rows have that horizon as well, and
        # nothing is computed row by row.
        if rule.simple and horizon is not None:
            if found := rule.copy(rows, horizon):
                rule.head.give(found, horizon)
            return
        self._join(rule, rule.function(met.literal, "derive"), rows, now)

    def _join(self, rule: _Compiled, run: Change, rows: Horizons, now: int) -> None:
        found: list[Row] = []
        ends: list[int] = []
        for chunk in self._watch.chunks(rows, found):
            run(chunk, found, ends, now - 1)
        if found:
            rule.head.absorb(found, ends)

    @staticmethod
    def _all_new(met: _Met) -> bool:
        """Whether a relation's changed rows are new, and all that is new to the rule."""
        others = (looked for looked in met.compiled.looked if looked is not met.relation)
        return met.relation.is_new() and not any(other.improved for other in others)

    def _join_new(self, rule: _Compiled, run: Change, rows: Horizons, now: int) -> None:
        """Join all new rows of a relation at once: of what they give together, which is
        found once then, nothing was known. Limits are looked at within the joins."""
        found: list[Row] = []
        ends: list[int] = []
        run(rows, found, ends, now - 1)
        self._watch.look(len(found))
        rule.head.give_once(found, ends)

    def _fix(self, now: int) -> None:
        """Meet the component's own new rows until there are none."""
        seen = dict.fromkeys(self._inner, 0)
        while True:
            # `improved` only grows within a step, so a mark for each relation says what was met.
            # All marks are set before anything is joined: what this round adds is for the next.
            news: list[tuple[_Met, list[Improved]]] = []
            for name, met in self._inner.items():
                improved = met[0].relation.improved
                news += [(each, improved[seen[name] :]) for each in met]
                seen[name] = len(improved)
            if not any(new for _met, new in news):
                return
            self._watch.look()
            for each, new in news:
                for rows, horizon in new:
                    self._meet(each, rows, horizon, now)


def _reads(rule: Rule) -> bool:
    return any(isinstance(literal, Scan) for literal in rule.body)
