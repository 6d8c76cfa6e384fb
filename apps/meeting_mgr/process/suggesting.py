"""When another agenda is thought about: in a thread of its own, one meeting at a time, so that
what people can do is never late because of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from citywise.apps.meeting_mgr import agenda
from citywise.apps.meeting_mgr.model import Proposal
from citywise.apps.meeting_mgr.process.faults import tell
from citywise.apps.meeting_mgr.process.live import Live
from citywise.apps.meeting_mgr.record import MeetingRecord, Step
from citywise.apps.meeting_mgr.steps import answering

REST_S = 0.5
"""So long after one answer nothing is thought about the same meeting."""


class Suggested(NamedTuple):
    """What came of it: a proposal, or None where the agenda is as good as any; for the meeting
    as it was in this version."""

    meeting: str
    version: int
    proposal: Proposal | None


class Suggester:
    """Thinks about meetings that it was asked to think about, the longest waiting first, and
    half of the time at most: others need the processor, too."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="suggesting")
        self._wanted: dict[str, None] = {}
        self._rests_until: dict[str, float] = {}
        self._thinking: tuple[MeetingRecord, Future[Proposal | None]] | None = None
        self._began_at = self._free_at = 0.0

    def want(self, meetings: Collection[str]) -> None:
        """Something that decides an agenda has changed in these meetings."""
        self._wanted |= dict.fromkeys(meetings)

    def step(self, lives: Mapping[str, Live], now_s: float, now_ms: int) -> Suggested | None:
        """What has been found, if anything, and on with the next; `now_s` by a monotonic clock."""
        found = self._suggestion(now_s)
        if self._thinking is None and now_s >= self._free_at:
            self._began_at = now_s
            self._think(lives, now_s, now_ms)
        return found

    def close(self) -> None:
        """End the thread, without waiting for what it thinks of."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _suggestion(self, now_s: float) -> Suggested | None:
        if self._thinking is None or not self._thinking[1].done():
            return None
        (record, future), self._thinking = self._thinking, None
        self._rests_until[record.id] = now_s + REST_S
        self._free_at = now_s + (now_s - self._began_at)
        if error := future.exception():
            tell(f"thinking about the agenda of {record.id}", error)
            return None
        return Suggested(record.id, record.version, future.result())

    def _think(self, lives: Mapping[str, Live], now_s: float, now_ms: int) -> None:
        self._wanted = {name: None for name in self._wanted if name in lives}
        self._rests_until = {n: until for n, until in self._rests_until.items() if until > now_s}
        waiting = (name for name in self._wanted if name not in self._rests_until)
        chosen = next(waiting, None)
        if chosen is None:
            return
        del self._wanted[chosen]
        record, people = lives[chosen].record, list(lives[chosen].people.values())
        future = self._pool.submit(
            agenda.proposed,
            record.meeting,
            people,
            now_ms,
            refused=_refused(record),
            room_until_ms=room_until_ms(record, (live.record for live in lives.values())),
        )
        self._thinking = record, future


def room_until_ms(record: MeetingRecord, others: Iterable[MeetingRecord]) -> int | None:
    """When the host's next meeting in the same room begins; None: none is planned. What others
    call their rooms, and when they meet, is theirs."""
    after = (
        one.meeting.starts_ms
        for one in others
        if (one.user, one.meeting.room.name) == (record.user, record.meeting.room.name)
        and one.id != record.id
        and one.state == "planned"
        and one.meeting.ends_ms > record.meeting.ends_ms
    )
    return min(after, default=None)


def answers(record: MeetingRecord, proposal: Proposal | None, now_ms: int) -> Iterator[Step]:
    """What is made of a meeting for which this was found: what the host has before them is not
    put to them again, and neither is what they did not want."""
    before = [one for one in record.proposals if one.answer == "open"]
    if proposal is None or _is_any(proposal, _refused(record)):
        if before:
            yield answering.propose(record, None, now_ms)
    elif not _is_any(proposal, before):
        proposed = answering.propose(record, proposal, now_ms)
        yield proposed
        if _is_applied(record, proposal):
            number = proposed.record.proposals[-1].number
            yield answering.accept(proposed.record, number, 0, now_ms, automatic=True)


def _is_applied(record: MeetingRecord, proposal: Proposal) -> bool:
    """Whether the host wants it applied without asking; never what leaves nothing to be done."""
    ahead = {item.id for item in record.meeting.agenda if item.state == "open"}
    is_wanted = proposal.kind in record.meeting.rules.apply_automatically
    best = proposal.options[0]
    return is_wanted and (bool(best.taken_up) or not ahead <= set(best.put_off))


def _refused(record: MeetingRecord) -> list[Proposal]:
    return [one for one in record.proposals if one.answer in ("declined", "undone")]


def _is_any(proposal: Proposal, others: Iterable[Proposal]) -> bool:
    return any(agenda.same_as(proposal, one) for one in others)
