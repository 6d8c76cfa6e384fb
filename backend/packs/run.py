"""A template over the log: what stands goes in, changes of notices come out.

Notices are a function of what stands at a clock and of the windows then, so a run that is
rebuilt from the log and the committed state goes on as if it had never stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from citywise.backend.ingest.records import (
    ClockReading,
    LogEntry,
    Reading,
    Standing,
    Withdrawal,
    item_position,
)
from citywise.backend.ingest.standing import CONTEXT
from citywise.backend.packs.latest import Latest
from citywise.backend.packs.prepared import engine_of, prepared
from citywise.backend.packs.stance import Stance
from citywise.backend.packs.steps import Step
from citywise.backend.packs.supply import UNREADABLE, Supply
from citywise.backend.packs.telling import Telling
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.packs.windows import Windows
from citywise.backend.times import zone_name
from citywise.reasoning import Limits, budget
from citywise.reasoning.partition.routing import bucket
from citywise.reasoning.rdf.mapping import quote
from citywise.reasoning.run.keyed import Evaluated, KeyedEvaluation

_MOST_KEPT = 1_000


def serves(number: int, of: int) -> Callable[[str], bool]:
    """Which users' instances are evaluated in part `number` of `of`: those whose hash it is."""
    return lambda user: of == 1 or bucket(quote(user), of) == number


EVERYBODY = serves(0, 1)


class TemplateRun:
    """One template between a state and the next.

    What comes between two clocks has not come before the second: it waits, while time passes up to
    there. So answers do not depend on who reads the log, and in how large pieces.

    Parameters
    ----------
    template:
        The template at one version.
    limits:
        Of one evaluation, which then runs in a process of its own.
    users:
        Whose instances it evaluates.
    state, past:
        What `state` gave, and the entries of the log from `resume_from` up to there.
    """

    def __init__(
        self,
        template: TemplateVersion,
        limits: Limits | None = None,
        *,
        users: Callable[[str], bool] = EVERYBODY,
        state: Mapping[str, Any] | None = None,
        past: Iterable[LogEntry] = (),
        zone: str | None = None,
    ) -> None:
        found = prepared(template)
        self.template, self.found = template, found
        self._engine = engine_of(found, limits)
        self._memory = found.memory()
        self._evaluation = KeyedEvaluation(
            found.rules, self._engine, found.supplied, memory=self._memory
        )
        self._scale = 1000 // found.request.ticks_per_second
        self._supply = Supply(template, self._evaluation, users, zone or zone_name())
        kinds = {kind for kind in template.kinds if self._supply.sight.latest(kind)}
        self._latest = Latest(kinds, self._supply.reading)
        self.telling = Telling(template, self._evaluation, self._supply, self._latest.amended)
        self._windows = Windows(found.request, template.kinds) if found.request.streams else None
        self._scope = frozenset({"instance", "event", "place", *template.permissions})
        self._since: int | None = None
        """Where in the log begins all that stands, as an entry's position."""
        self._waiting: list[Reading | Withdrawal | Standing] = []
        """What has come since the last clock."""
        self._told: frozenset[str] = frozenset()
        """The faults that the last trace told."""
        self.clock: tuple[int, int] | None = None
        """Time (Unix ms) and position of the last clock."""
        self._rebuild(state or {}, past)

    def close(self) -> None:
        """End the process that evaluates."""
        self._engine.close()

    # -- going on -------------------------------------------------------------------

    def take(self, entry: LogEntry) -> Iterator[Step]:
        """The next entry of the log; yields the evaluations it brings."""
        budget.progressed()
        if isinstance(entry, ClockReading):
            yield from self._tick(entry)
        else:
            self._waiting.append(entry)

    def skip(self, entries: Sequence[LogEntry]) -> None:
        """Take entries of which others have given the evaluations: all that matters is what
        is answered at the last clock."""
        clocks = [e.position for e in entries if isinstance(e, ClockReading)]
        for entry in entries:
            if self._memory is not None:
                # What is remembered has gone through every clock, and the instants between.
                list(self.take(entry))
            elif not isinstance(entry, ClockReading) or entry.position == clocks[-1]:
                list(self.take(entry))
            else:
                self._fill()
                self._arrive()
                if self._windows is not None:
                    list(self._windows.ticks(entry.complete_ms))

    def before(self, t_ms: int | None) -> Iterator[Step]:
        """Time passes up to just before an instant (Unix ms; None: it does not), and nothing
        comes; yields the evaluations that this brings."""
        if t_ms is None or self.clock is None or self._memory is None or t_ms <= self.clock[0]:
            return
        yield from self._timed(t_ms, self.clock[1])
        self.clock = t_ms - 1, self.clock[1]
        self._memory.moved((t_ms - 1) // self._scale)

    def _fill(self) -> None:
        """What waits may be in the windows, or change what they held."""
        windows = self._windows
        for entry in self._waiting:
            if windows is None or isinstance(entry, Standing):
                continue
            known = windows.known(entry)
            if windows.take(entry):
                self._evaluation.everywhere("windows", windows.facts)
                self._latest.note(entry, known)

    def _arrive(self) -> None:
        """What waits stands from now on."""
        for entry in self._waiting:
            self._learn(entry)
        self._waiting.clear()

    def _learn(self, entry: Reading | Withdrawal | Standing) -> None:
        """Something stands from now on, or does no longer."""
        if isinstance(entry, Standing):
            self._since = item_position(entry.since)
            if entry.subject in self._scope:
                self._supply.take(entry)
            if entry.subject == "event":
                self._latest.event(entry)
            return
        self._supply.doubting.take(entry)
        self._latest.hear(entry)

    def _tick(self, clock: ClockReading) -> Iterator[Step]:
        if self.clock is not None and clock.complete_ms < self.clock[0]:
            return
        self._fill()
        if self._windows is not None:
            for t_ms in self._windows.ticks(clock.complete_ms):
                yield from self._timed(t_ms, clock.position)
                self._evaluation.everywhere("windows", self._windows.facts)
                yield from self._evaluate(t_ms, clock.position)
            for refused in self._windows.refused[:1]:
                self._supply.faults[f"{UNREADABLE} windows"] = refused
        yield from self._timed(clock.complete_ms, clock.position)
        if self._memory is not None and self.clock is not None:
            # What held went on holding up to here, before anything came.
            self._memory.moved(max(clock.complete_ms - 1, self.clock[0]) // self._scale)
        self._arrive()
        self.clock = clock.complete_ms, clock.position
        yield from self._evaluate(*self.clock)
        self._latest.amended.clear()
        if self._memory is not None:
            self._memory.moved(clock.complete_ms // self._scale)

    def _timed(self, before_ms: int, position: int) -> Iterator[Step]:
        """The evaluations at the instants before a time at which answers change by
        themselves, since a duration is over."""
        due = self._memory.next_due() if self._memory is not None else None
        while self._memory is not None and due is not None and due * self._scale < before_ms:
            yield from self._evaluate(due * self._scale, position)
            self._memory.moved(due)
            self._memory.due(due)  # had it failed, it is not tried again at the same instant
            due = self._memory.next_due()

    def _evaluate(self, t_ms: int, position: int) -> Iterator[Step]:
        """What an instant brings. What cannot be evaluated is told of, and the next instant
        tries again; what is wrong with this machine is raised, and the same instant is."""
        try:
            steps = list(self._steps(t_ms, position))
        except (OSError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told
            steps = list(self._unevaluated(t_ms, position, f"{type(error).__name__}: {error}"))
        yield from steps

    def _unevaluated(self, t_ms: int, position: int, fault: str) -> Iterator[Step]:
        """An instant without an evaluation; the answers stay those before."""
        self._evaluation.fail()
        told, self._told = self._told, frozenset([fault])
        if fault not in told:
            yield Step(t_ms, position, Evaluated(), (), (), 0, (fault,))

    def _steps(self, t_ms: int, position: int) -> Iterator[Step]:
        self._latest.forget_stale(t_ms)
        self._supply.settle(t_ms)
        details = tuple(self.telling.refreshed(t_ms))
        supplied = {f"{name}: {why}" for name, why in self._supply.faults.items()}
        at = t_ms // self._scale
        is_due = self._evaluation.is_due(at) or self.telling.catches_up(t_ms)
        if not is_due and not details and supplied <= self._told:
            return
        items = len(self._evaluation.facts.changed)
        evaluated = self._evaluation.evaluate(at)
        faults = [f"instance {key}: {why}" for key, why in evaluated.errors.items()]
        faults += sorted(supplied)
        found: list[dict[str, Any]] = []
        for key, answer in self.telling.of(evaluated.answers, t_ms).items():
            try:
                found += list(self.telling.changes(t_ms, key, answer, faults))
            except Exception as error:  # noqa: BLE001 - the fault of one is not the others'
                self._evaluation.adopt(key, answer.before)
                faults.append(f"instance {key}: {type(error).__name__}: {error}")
        self._supply.instances.forget_gone()
        self._supply.ended.clear()
        told, self._told = self._told, frozenset(faults)
        if evaluated.keys or evaluated.answers or found or details or not self._told <= told:
            yield Step(t_ms, position, evaluated, tuple(found), details, items, tuple(faults))

    # -- stopping and going on from there -------------------------------------------

    def resume_from(self, position: int) -> int:
        """The first entry still needed to continue at `position`."""
        needed = [position, *self._latest.needed()]
        needed += [entry.position for entry in self._waiting[:1]]
        needed += self._supply.doubting.needed()
        if self._since is not None:
            needed.append(self._since)
        if self._windows is not None:
            needed.append(self._windows.resume_from(position))
        return min(needed)

    def state(self, position: int) -> dict[str, Any]:
        """What to commit so that a run continues at `position`; goes through JSON."""
        found: dict[str, Any] = {}
        if self.clock is not None:
            found["clock"] = list(self.clock)
        if self._windows is not None:
            found["windows"] = self._windows.reasoner.snapshot(position).to_json()
        if self._memory is not None:
            found["memory"] = self._memory.state()
        if self._evaluation.failed:
            kept = sorted(self._evaluation.failed)[:_MOST_KEPT]
            found["kept"] = {key: list(self._evaluation.answer(key)) for key in kept}
        return found | self.telling.state()

    def adopt(self, state: Mapping[str, Any]) -> None:
        """Where evaluations failed, let the answers be those that were kept, and what is untold
        what was."""
        self.telling.adopt(state)
        for key, answer in state.get("kept", {}).items():
            self._evaluation.adopt(key, answer)

    @property
    def answered_ms(self) -> int | None:
        """The time up to which it has answered, Unix ms."""
        return self.clock[0] if self.clock else None

    def _rebuild(self, state: Mapping[str, Any], past: Iterable[LogEntry]) -> None:
        """Stand where the run stood that gave `state`: what was answered at its last clock
        follows from what stood there."""
        entries = [entry for entry in past if not isinstance(entry, ClockReading)]
        t_ms, position = state.get("clock", (0, -1))
        for entry in entries:
            if entry.position < position:
                self._learn(entry)
        if self._windows is not None and "windows" in state:
            heard = (e for e in entries if isinstance(e, Reading | Withdrawal))
            self._windows.restore(state["windows"], (e for e in heard if e.position < position))
            self._evaluation.everywhere("windows", self._windows.facts)
        if position >= 0:
            if self._memory is not None:
                self._memory.restore(state.get("memory", {}), self._evaluation.keys)
            self.clock = t_ms, position
            list(self._evaluate(t_ms, position))
            self._latest.amended.clear()
            self.adopt(state)
            if self._memory is not None:
                self._memory.moved(t_ms // self._scale)
        self._waiting = [entry for entry in entries if entry.position > position]
        if not state:
            self._arrive()

    # -- looking at it --------------------------------------------------------------

    @property
    def reads_readings(self) -> bool:
        """Whether its notices depend on sensors' readings themselves."""
        return self._supply.sight.reads_readings

    @property
    def remembers(self) -> bool:
        """Whether its notices depend on those before, or on how long something has held."""
        return self._memory is not None

    def has(self, instance: str) -> bool:
        """Whether there is an instance."""
        return self._supply.instances.get(instance) is not None

    def left_out(self, instance: str, about: str) -> Iterator[str]:
        """What of an instance, its user or an event or place could not be understood, and why."""
        known, faults = self._supply.instances.get(instance), self._supply.faults
        names = [instance, f"instance {instance}", f"event {about}", f"place {about}"]
        names += [f"{subject} {known.user}" for subject in CONTEXT] if known else []
        yield from (f"{name}: {faults[name]}" for name in names if name in faults)

    def doubted(self, instance: str) -> Iterator[str]:
        """Why the sensors are doubtful whose places an instance's facts name, if rules ask."""
        facts = self.slice(instance)
        yield from (why for place, why in self._supply.doubting.words() if place in facts)

    def stance(self, instance: str, about: str) -> Stance:
        """How an instance's user stood to an event or a place at the last evaluation."""
        return self._supply.stance(instance, about)

    def slice(self, instance: str) -> str:
        """The facts that decide an instance's notices, one `atom.` a line."""
        return self._evaluation.slice(quote(instance))

    def answer(self, instance: str) -> tuple[str, ...]:
        """What the rules concluded for an instance at the last evaluation."""
        return self._evaluation.answer(quote(instance))
