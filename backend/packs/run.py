"""A template over the log: what stands goes in, changes of notices come out.

Notices are a function of what stands at a clock and of the windows then, so a run that is
rebuilt from the log and the committed state goes on as if it had never stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
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
from citywise.backend.packs.notices import (
    Notice,
    changes,
    differing,
    have_other_details,
    refreshed,
    stated,
)
from citywise.backend.packs.prepared import engine_of, prepared
from citywise.backend.packs.stance import Stance
from citywise.backend.packs.supply import UNREADABLE, Supply
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.packs.windows import Windows
from citywise.backend.times import ZONE
from citywise.reasoning import Limits, budget
from citywise.reasoning.partition.routing import bucket
from citywise.reasoning.rdf.mapping import quote
from citywise.reasoning.run.keyed import Evaluated, KeyedAnswer, KeyedEvaluation

LATE_MS = 10 * 60_000
"""What lies further behind the present than this has come while the system was away."""
STALE_MS = 6 * 3_600_000
"""A latest reading that is older counts no longer."""
_MOST_TRACED = 50
_MOST_FAULTS = 5
_MOST_KEPT = 1_000
_MINUTE_MS = 60_000


def serves(number: int, of: int) -> Callable[[str], bool]:
    """Which users' instances are evaluated in part `number` of `of`: those whose hash it is."""
    return lambda user: of == 1 or bucket(quote(user), of) == number


EVERYBODY = serves(0, 1)


@dataclass(frozen=True)
class Step:
    """What one clock brought."""

    t_ms: int
    position: int
    """Where the clock stands in the log."""
    evaluated: Evaluated
    changes: tuple[dict[str, Any], ...]
    """Changes of notices, as rows carry them."""
    details: tuple[dict[str, Any], ...]
    """Notices as they are now, where their details have changed: no news to anybody."""
    items: int
    """Entities whose facts had changed."""
    faults: tuple[str, ...]
    """What could not be evaluated, and why."""

    @property
    def error(self) -> str | None:
        """The faults as a sentence; None if there are none."""
        more = len(self.faults) - _MOST_FAULTS
        said = self.faults[:_MOST_FAULTS] + ((f"and {more} more",) if more > 0 else ())
        return "; ".join(said) or None

    def trace(self) -> dict[str, Any]:
        """The evaluation as a row of kind `trace`."""
        names = [key[1:-1] for key in self.evaluated.keys[:_MOST_TRACED]]
        return {
            "items": self.items,
            "atoms": self.evaluated.facts,
            "seconds": self.evaluated.seconds,
            "error": self.error,
            "position": self.position,
            "keys": len(self.evaluated.keys),
            "notices": len(self.changes),
            "changed": {
                "instances": names,
                "notices": [
                    {k: c[k] for k in ("change", "instance", "notice", "about", "criticality")}
                    for c in self.changes[:_MOST_TRACED]
                ],
            },
        }


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
        zone: str = ZONE,
    ) -> None:
        found = prepared(template)
        self.template, self.found = template, found
        self._engine = engine_of(found, limits)
        self._memory = found.memory()
        self._evaluation = KeyedEvaluation(
            found.rules, self._engine, found.supplied, memory=self._memory
        )
        self._scale = 1000 // found.request.ticks_per_second
        self._supply = Supply(template, self._evaluation, users, zone)
        self._kinds = {kind for kind in template.streams if self._supply.sight.latest(kind)}
        self._windows = Windows(found.request, template.kinds) if found.request.streams else None
        self._scope = frozenset({"instance", "event", "place", *template.permissions})
        self._since: int | None = None
        """Where in the log begins all that stands, as an entry's position."""
        self._waiting: list[Reading | Withdrawal | Standing] = []
        """What has come since the last clock."""
        self._latest: dict[tuple[str, str], tuple[int, Reading]] = {}
        """The latest reading of each sensor and kind, and where it stands."""
        self._amended: dict[str, list[dict[str, Any]]] = {}
        """What was corrected or withdrawn since the last clock: by sensor, and by event (of which
        the readings are known to who keeps it)."""
        self._revisions: dict[str, int] = {}
        """How often readings of the past changed an event, where they did."""
        self._looked_for = 0
        """Readings from before this time (Unix ms) are not among them."""
        self._stale_details: set[str] = set()
        """Keys whose notices have other details than was told."""
        self.present_ms: int | None = None
        """What time it is (Unix ms) for whom the log is as it comes. None: nothing is late."""
        self.late_ms: float = LATE_MS
        self._untold: dict[str, tuple[str, ...]] = {}
        """What was told last of keys whose answers have changed while the system was away."""
        self._minute: int | None = None
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
                self._note(entry, known)

    def _arrive(self) -> None:
        """What waits stands from now on."""
        for entry in self._waiting:
            self._learn(entry)
        self._waiting.clear()

    def _note(self, entry: Reading | Withdrawal, known: Reading | None) -> None:
        """An entry changes what was known: notices that it ends are taken back, and of those
        that it changes is said what they were."""
        if known is not None and isinstance(entry, Reading) and known.values == entry.values:
            return
        what = "withdrawn" if isinstance(entry, Withdrawal) else "corrected" if known else "late"
        cause = {
            "kind": entry.kind,
            "sensor": entry.sensor,
            "observed_ms": entry.observed_ms,
            "what": what,
            "before": dict(known.values) if known else None,
            "after": dict(entry.values) if isinstance(entry, Reading) else None,
        }
        self._amended[entry.sensor] = [cause]

    def _learn(self, entry: Reading | Withdrawal | Standing) -> None:
        """Something stands from now on, or does no longer."""
        if isinstance(entry, Standing):
            self._since = item_position(entry.since)
            if entry.subject in self._scope:
                self._supply.take(entry)
            if entry.subject == "event":
                self._revise(entry)
            return
        self._supply.doubting.take(entry)
        if entry.kind in self._kinds:
            self._hear(entry)

    def _revise(self, entry: Standing) -> None:
        """An event stands otherwise; perhaps since readings of the past changed it."""
        number = (entry.body or {}).get("revision")
        if number is None:
            self._revisions.pop(entry.key, None)
        elif self._revisions.get(entry.key, 0) < number:
            self._revisions[entry.key] = number
            self._amended[entry.key] = []

    def _hear(self, entry: Reading | Withdrawal) -> None:
        """A sensor says something newer than before, or otherwise, or takes it back; then nothing
        is known of it until it is heard again."""
        name = entry.kind, entry.sensor
        _at, known = self._latest.get(name, (0, None))
        if known is not None and known.observed_ms > entry.observed_ms:
            return
        if known is not None and known.observed_ms == entry.observed_ms:
            self._note(entry, known)
        if isinstance(entry, Withdrawal):
            entry = Reading(*name, entry.observed_ms, entry.received_ms, {}, entry.position)
        self._latest[name] = entry.position, entry
        self._supply.reading(entry)

    def _forget_stale(self, t_ms: int) -> None:
        """Latest readings that are too old say nothing of the present any more."""
        oldest = t_ms // _MINUTE_MS * _MINUTE_MS - STALE_MS
        if self._latest and oldest > self._looked_for:
            self._looked_for = oldest
            stale = [r for _at, r in self._latest.values() if r.observed_ms < oldest]
            for reading in stale:
                del self._latest[reading.kind, reading.sensor]
                self._supply.reading(replace(reading, values={}))

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
        self._amended.clear()
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
        self._forget_stale(t_ms)
        self._supply.settle(t_ms)
        details = tuple(self._refreshed(t_ms))
        supplied = {f"{name}: {why}" for name, why in self._supply.faults.items()}
        at = t_ms // self._scale
        skips = self._skips(t_ms)
        catches_up = bool(self._untold) and not skips
        is_due = self._evaluation.is_due(at) or catches_up
        if not is_due and not details and supplied <= self._told:
            return
        items = len(self._evaluation.facts.changed)
        evaluated = self._evaluation.evaluate(at)
        faults = [f"instance {key}: {why}" for key, why in evaluated.errors.items()]
        faults += sorted(supplied)
        found: list[dict[str, Any]] = []
        for key, answer in self._to_tell(evaluated.answers, skips).items():
            try:
                found += list(self._changes(t_ms, key, answer, faults))
            except Exception as error:  # noqa: BLE001 - the fault of one is not the others'
                self._evaluation.adopt(key, answer.before)
                faults.append(f"instance {key}: {type(error).__name__}: {error}")
        self._supply.instances.forget_gone()
        self._supply.ended.clear()
        told, self._told = self._told, frozenset(faults)
        if evaluated.keys or evaluated.answers or found or details or not self._told <= told:
            yield Step(t_ms, position, evaluated, tuple(found), details, items, tuple(faults))

    def _lateness(self, t_ms: int) -> int:
        """By how much an instant has been missed, in milliseconds; 0: it has not."""
        late_ms = 0 if self.present_ms is None else self.present_ms - t_ms
        return late_ms if late_ms > self.late_ms else 0

    def _skips(self, t_ms: int) -> bool:
        return self.template.missed == "skip" and self._lateness(t_ms) > 0

    def _to_tell(
        self, answers: Mapping[str, KeyedAnswer], skips: bool
    ) -> Mapping[str, KeyedAnswer]:
        """The answers of which is told: all; or where what is missed is skipped none now, but
        later what has changed since, as a whole."""
        if skips:
            gone = {k: a for k, a in answers.items() if self._supply.instances.get(k[1:-1]) is None}
            for key, answer in answers.items():
                if key not in gone:
                    self._untold.setdefault(key, answer.before)
            answers = gone
        told = dict(answers)
        for key in [k for k in self._untold if not skips or k in told]:
            now = told[key].after if key in told else self._evaluation.answer(key)
            told[key] = KeyedAnswer(self._untold.pop(key), now)
        return told

    def _changes(
        self, t_ms: int, key: str, answer: KeyedAnswer, faults: list[str]
    ) -> Iterator[dict[str, Any]]:
        supply, kinds = self._supply, self.template.notices
        about = supply.sight.about
        old, new = differing(answer.before, answer.after)
        before, after = stated(old, about, kinds), stated(new, about, kinds)
        faults += [f"instance {key}: {fault}" for fault in after.faults]
        owner = supply.instances.owner(key)
        if have_other_details(before, after):
            self._stale_details.add(key)

        def because(notice: Notice) -> str:
            if supply.instances.get(owner.instance) is None:
                return supply.ended.get(owner.instance, "removed")
            if supply.is_over(notice.about_type, notice.about):
                return "ended"
            if notice.about in self._amended:
                return "corrected"
            is_far = supply.is_far(key, notice.about_type, notice.about)
            return "moved_away" if is_far else "no_longer"

        for change in changes(self.template, owner, t_ms, before, after, because):
            told = {**change, **supply.named(change["about_type"], change["about"])}
            late_ms = self._lateness(t_ms)
            if late_ms and change["change"] != "closed":
                told["late_ms"] = late_ms
            amended = self._amended.get(change["about"])
            if amended is not None and change["closed_because"] == "corrected":
                told["taken_back"] = amended
            elif amended is not None and change["change"] == "updated":
                told["amended"] = {"because": amended}
            yield told

    def _refreshed(self, t_ms: int) -> Iterator[dict[str, Any]]:
        """Once a minute, the notices whose details have changed: they do so all the time."""
        minute = t_ms // _MINUTE_MS
        if minute == self._minute:
            return
        self._minute = minute
        for key in sorted(self._stale_details):
            if self._supply.instances.get(key[1:-1]) is not None:
                atoms = self._evaluation.answer(key)
                now = stated(atoms, self._supply.sight.about, self.template.notices)
                owner = self._supply.instances.owner(key)
                yield from refreshed(self.template, owner, t_ms, now)
        self._stale_details.clear()

    # -- stopping and going on from there -------------------------------------------

    def resume_from(self, position: int) -> int:
        """The first entry still needed to continue at `position`."""
        needed = [position, *(at for at, _reading in self._latest.values())]
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
        if self._untold:
            found["untold"] = {key: list(answer) for key, answer in sorted(self._untold.items())}
        return found

    def adopt(self, state: Mapping[str, Any]) -> None:
        """Where evaluations failed, let the answers be those that were kept, and what is untold
        what was."""
        self._untold = {key: tuple(said) for key, said in state.get("untold", {}).items()}
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
            self._amended.clear()
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
