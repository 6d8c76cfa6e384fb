"""From what is heard to what is concluded, for all meetings at once.

Everything that others change is announced in the outbox, in transactions that follow one
another; so whoever holds the transaction and has read the outbox knows that nothing has changed
behind its back.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import Connection, Engine, select

from citywise.apps.meeting_mgr import store
from citywise.apps.meeting_mgr.capabilities import Capabilities, Concluded, Situation
from citywise.apps.meeting_mgr.model import OPEN
from citywise.apps.meeting_mgr.process import absence, arriving
from citywise.apps.meeting_mgr.process.aside import Aside
from citywise.apps.meeting_mgr.process.faults import PASSING, tell
from citywise.apps.meeting_mgr.process.following import Follower
from citywise.apps.meeting_mgr.process.inbox import MOST, Heard
from citywise.apps.meeting_mgr.process.latest import LATE_MS
from citywise.apps.meeting_mgr.process.live import Live
from citywise.apps.meeting_mgr.process.rooms import Rooms
from citywise.apps.meeting_mgr.process.suggesting import Suggested, Suggester, answers
from citywise.apps.meeting_mgr.readings import BadReadingError
from citywise.apps.meeting_mgr.record import Change, Step
from citywise.apps.meeting_mgr.steps import taking_part
from citywise.apps.meeting_mgr.steps.arriving import found as arrival_found
from citywise.apps.meeting_mgr.tables import MeetingRow
from citywise.backend.app import Settings, outbox, times

ARRIVALS_S = 2.0
"""So often it is asked when those arrive who are on the way."""
PAGES_S = 1.0
"""So often it is looked whose pages are open."""
AGAIN_S = 60.0
"""So often agendas of running meetings are thought about because time passes."""
TRIM_AFTER = 1000
"""After so many more entries of a meeting those that are too many are removed."""
_IRRELEVANT: frozenset[Change] = frozenset(
    (
        "hand",
        "muted",
        "presenting",
        "asked",
        "link",
        "decided",
        "proposed",
        "declined",
        "outdated",
        "talk_time",
    )
)
"""Changes that no agenda depends on."""
_T = TypeVar("_T")
_News = TypeVar("_News", absence.News, arriving.News)
_ByMeeting = Mapping[str, Sequence[Concluded]]


class Reasoner:
    """All meetings that are not over; one with which something fails is put aside until it
    changes or some time has passed, and stops no other. What has not been done where a step
    fails as a whole, the next does."""

    def __init__(self, settings: Settings, engine: Engine) -> None:
        self._engine = engine
        self._settings = settings
        self._boxes = store.boxes_of(settings)
        self._capabilities = Capabilities()
        self._suggester = Suggester()
        self._rooms = Rooms()
        self._lives: dict[str, Live] = {}
        self._aside = Aside()
        self._unheard: deque[Heard] = deque(maxlen=MOST)
        self._since_ms, self._now_ms = times.wall_ms(), 0
        self._again_at = self._arrivals_at = self._pages_at = time.monotonic()
        self._written: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        """Readings that were `heard`, those of nobody who is there (`unknown`), and those that
        are none (`refused`; `failed` where our check of them failed)."""
        with engine.connect() as connection:
            self._outbox = Follower(connection)
            wanted = select(MeetingRow.id).where(MeetingRow.state.in_(OPEN))
            self._changed: dict[str, set[str]] = {
                name: set() for name in connection.scalars(wanted)
            }

    @property
    def meetings(self) -> int:
        """How many meetings have people in them."""
        return sum(live.present > 0 for live in self._lives.values())

    @property
    def people(self) -> int:
        """How many people are in meetings."""
        return sum(live.present for live in self._lives.values())

    def step(self, heard: Iterable[Heard], now_ms: int) -> None:
        """Take up what others have changed and what was heard, and conclude from it."""
        self._unheard.extend(heard)
        if now_ms < self._now_ms - LATE_MS:
            self._set_back(now_ms)
        self._now_ms = now_ms
        self._follow()
        while self._unheard:
            self._hear(self._unheard.popleft(), now_ms)
        self._conclude(now_ms)
        self._expect(now_ms)
        self._miss(now_ms)
        self._suggest(now_ms)

    def close(self) -> None:
        """End what is under way."""
        self._suggester.close()

    def _set_back(self, now_ms: int) -> None:
        """The clock was set back; what is due must not wait until it is that late again."""
        self._since_ms = now_ms
        self._rooms.set_back(now_ms)
        for live in self._lives.values():
            live.set_back(now_ms)

    # -- what others change ---------------------------------------------------------------

    def _follow(self) -> None:
        with self._engine.connect() as connection:
            self._read(connection)
            for meeting in self._aside.due(time.monotonic()):
                self._changed.setdefault(meeting, set())
            changed = [*self._changed.items()]
            for meeting, words in changed:
                with self._guarded(meeting):
                    self._load(connection, meeting)
                    if words - _IRRELEVANT:
                        self._suggester.want([meeting])
                del self._changed[meeting]
        if changed:
            self._rooms.keep({live.room for live in self._lives.values() if live.room})

    def _read(self, connection: Connection) -> None:
        for meeting, words in self._outbox.changes(connection).items():
            self._changed.setdefault(meeting, set()).update(words)

    def _load(self, connection: Connection, meeting: str) -> None:
        record = store.find(connection, self._boxes, meeting)
        if record is None or record.state not in OPEN:
            self._lives.pop(meeting, None)
            self._written.pop(meeting, None)
            return
        people = store.people_of(connection, self._boxes, record)
        if meeting in self._lives:
            self._lives[meeting].refresh(record, people)
        else:
            self._lives[meeting] = Live(record, people, self._since_ms)

    # -- what is heard --------------------------------------------------------------------

    def _hear(self, one: Heard, now_ms: int) -> None:
        try:
            is_known = self._heard(one._replace(heard_ms=min(one.heard_ms, now_ms)))
        except BadReadingError:
            self.counts["refused"] += 1
        except Exception as error:  # noqa: BLE001 - one message holds up no other
            self.counts["failed"] += 1
            if self.counts["failed"] == 1:  # who sends one may send many
                tell("a reading", error)
        else:
            self.counts["heard" if is_known else "unknown"] += 1

    def _heard(self, one: Heard) -> bool:
        meeting, name = one.source
        if meeting is not None:
            live = self._lives.get(meeting)
            return live is not None and live.hear(name, one.payload, one.heard_ms)
        is_known = self._rooms.hear(name, one.payload, one.heard_ms)
        for live in self._lives.values():
            if is_known and live.room == name:
                live.hear_room()
        return is_known

    # -- what is concluded ----------------------------------------------------------------

    def _conclude(self, now_ms: int) -> None:
        asked: dict[str, Sequence[Situation]] = {}
        for name, live in [*self._lives.items()]:
            with self._guarded(name):
                if found := live.situations(now_ms, self._rooms.values(live.room)):
                    asked[name] = found
        if asked:
            concluded = self._evaluated(now_ms, asked)
            self._one_by_one(concluded, lambda some: self._keep(now_ms, some))

    def _evaluated(
        self, now_ms: int, asked: Mapping[str, Sequence[Situation]]
    ) -> dict[str, list[Concluded]]:
        found: dict[str, list[Concluded]] = {}

        def evaluate(some: Mapping[str, Sequence[Situation]]) -> None:
            situations = [one for each in some.values() for one in each]
            concluded = self._capabilities.evaluate(now_ms, situations)
            for one in situations:
                found.setdefault(one.meeting, []).append(concluded[one.person])

        self._one_by_one(asked, evaluate)
        return found

    def _keep(self, now_ms: int, concluded: _ByMeeting) -> None:
        """Write what is new, but for meetings that have changed meanwhile: their turn comes."""
        if any(one.is_news for some in concluded.values() for one in some):
            with self._engine.begin() as connection:
                outbox.begin(connection)
                self._read(connection)
                steps = [*self._steps(now_ms, concluded)]
                store.write_all(connection, self._boxes, steps)
                self._trim(connection, steps)
                written = outbox.newest(connection)
            self._outbox.skip(written)
        for meeting, some in concluded.items():
            if meeting not in self._changed:
                self._lives[meeting].took(some)
                if any(change.before != change.after for one in some for change in one.changes):
                    self._suggester.want([meeting])

    def _trim(self, connection: Connection, steps: Iterable[Step]) -> None:
        for step in steps:
            self._written[step.record.id] += len(step.entries)
            if self._written[step.record.id] >= TRIM_AFTER:
                store.trim_entries(connection, step.record.id)
                del self._written[step.record.id]

    def _steps(self, now_ms: int, concluded: _ByMeeting) -> Iterator[Step]:
        for meeting in concluded.keys() - self._changed.keys():
            live = self._lives[meeting]
            for one in concluded[meeting]:
                if one.is_news:
                    person = live.people[one.person]
                    step = taking_part.concluded(live.record, person, one.state, now_ms)
                    if step.people:
                        yield step

    # -- who is on the way ----------------------------------------------------------------

    def _expect(self, now_ms: int) -> None:
        """Note when those arrive who let their meeting know; where that fails, the others go on."""
        if time.monotonic() < self._arrivals_at:
            return
        self._arrivals_at = time.monotonic() + ARRIVALS_S
        try:
            with self._engine.connect() as connection:
                lives = self._lives.values()
                found = arriving.news(connection, self._settings, lives, now_ms)
            if found:
                self._note_arrivals(found, now_ms)
        except PASSING:
            raise
        except Exception as error:  # noqa: BLE001 - what is known of arrivals stays as it is
            tell("arrivals", error)

    def _note_arrivals(self, found: Iterable[arriving.News], now_ms: int) -> None:
        """Write when people arrive."""

        def step(one: arriving.News, live: Live) -> Step:
            return arrival_found(live.record, live.people[one.person], one.arrives_ms, now_ms)

        self._note(found, step)

    # -- who is away ----------------------------------------------------------------------

    def _miss(self, now_ms: int) -> None:
        """Note who has closed the page, or is back."""
        if time.monotonic() < self._pages_at:
            return
        self._pages_at = time.monotonic() + PAGES_S
        with self._engine.connect() as connection:
            pages = store.pages(connection)
        found = absence.news(pages, self._lives.values(), now_ms)

        def step(one: absence.News, live: Live) -> Step:
            turn = taking_part.go_away if one.is_away else taking_part.come_back
            return turn(live.record, live.people[one.person], now_ms)

        if found:
            self._note(found, step)

    def _note(self, found: Iterable[_News], step: Callable[[_News, Live], Step]) -> None:
        """Write what was found of people, but for meetings that have changed meanwhile: soon
        again."""
        noted: dict[str, set[str]] = {}
        with self._engine.begin() as connection:
            outbox.begin(connection)
            self._read(connection)
            for one in found:
                if one.meeting not in self._changed:
                    made = step(one, self._lives[one.meeting])
                    store.write(connection, self._boxes, made)
                    noted.setdefault(one.meeting, set()).add(made.change)
            written = outbox.newest(connection)
        self._outbox.skip(written)
        for meeting, words in noted.items():
            self._changed.setdefault(meeting, set()).update(words)

    # -- what is suggested ----------------------------------------------------------------

    def _suggest(self, now_ms: int) -> None:
        now_s = time.monotonic()
        if now_s >= self._again_at:
            self._again_at = now_s + AGAIN_S
            running = (n for n, live in self._lives.items() if live.record.state == "running")
            self._suggester.want([*running])
        found = self._suggester.step(self._lives, now_s, now_ms)
        if found is not None:
            try:
                with self._guarded(found.meeting):
                    self._propose(found, now_ms)
            except PASSING:
                self._suggester.want([found.meeting])
                raise

    def _propose(self, found: Suggested, now_ms: int) -> None:
        """Before the host; or aside, where the meeting is another now."""
        with self._engine.begin() as connection:
            outbox.begin(connection)
            self._read(connection)
            live = self._lives.get(found.meeting)
            if live is None or found.meeting in self._changed:
                return
            if live.record.version != found.version:
                self._suggester.want([found.meeting])
                return
            steps = [*answers(live.record, found.proposal, now_ms)]
            for step in steps:
                store.write(connection, self._boxes, step)
            written = outbox.newest(connection)
        self._outbox.skip(written)
        if steps:
            self._changed.setdefault(found.meeting, set()).add(steps[-1].change)

    # -- what fails -----------------------------------------------------------------------

    @contextmanager
    def _guarded(self, meeting: str) -> Iterator[None]:
        try:
            yield
        except PASSING:
            raise
        except Exception as error:  # noqa: BLE001 - one bad meeting stops no other
            tell(f"meeting {meeting}", error)
            self._lives.pop(meeting, None)
            self._aside.put(meeting, time.monotonic())

    def _one_by_one(
        self, of_meetings: Mapping[str, _T], work: Callable[[Mapping[str, _T]], None]
    ) -> None:
        """Do something for all meetings together, and where that fails for each alone."""
        try:
            work(of_meetings)
        except PASSING:
            raise
        except Exception as error:  # noqa: BLE001 - which of them it was is found out
            tell("all meetings together", error)
            for meeting, given in of_meetings.items():
                with self._guarded(meeting):
                    work({meeting: given})
