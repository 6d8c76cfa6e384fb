"""Whatever a host does in whatever order, a meeting stays one that makes sense."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.apps.meeting_mgr import views
from citywise.apps.meeting_mgr.model import Meeting, Placed, Proposal, Proposed
from citywise.apps.meeting_mgr.planned import planned
from citywise.apps.meeting_mgr.record import MeetingError, MeetingRecord, Step
from citywise.apps.meeting_mgr.steps import answering, running
from tests.meeting_mgr.made import MINUTE_MS, NOW_MS, item, noisy, record, swapped

ITEMS = ("i1", "i2", "i3", "i4")
Move = Callable[[MeetingRecord, int], Step]


def proposing(order: list[str], off: int, short: bool, moves: bool, longer: bool) -> Move:
    """Propose what is to come in an order, the last so many put off; perhaps at another time, or
    past the end with what had been put off."""

    def propose(found: MeetingRecord, now_ms: int) -> Step:
        again = [i.id for i in found.meeting.agenda if i.returns and longer]
        ahead = [i.id for i in found.meeting.agenda if i.state in ("open", "current")]
        ahead += [name for name in again if name not in ahead]
        named = sorted(ahead, key=order.index)
        kept = named[: len(named) - off]
        placed = tuple(Placed(item=one, starts_ms=now_ms, minutes=7) for one in kept)
        option = Proposed(
            agenda=placed,
            put_off=tuple(named[len(kept) :]),
            shortened=tuple(kept[:1]) if short else (),
            taken_up=tuple(name for name in again if name in kept),
            starts_ms=NOW_MS + 86_400_000 if moves else None,
            ends_ms=found.meeting.ends_ms + 60_000 if longer else None,
            cost=(0,),
        )
        proposal = Proposal.model_validate(dict(swapped()) | {"options": (option,)})
        return answering.propose(found, proposal, now_ms)

    return propose


def answered(answer: Callable[[MeetingRecord, int, int], Step]) -> Move:
    """Answer the last proposal."""
    return lambda found, now_ms: answer(
        found, max((one.number for one in found.proposals), default=0), now_ms
    )


def accepted(found: MeetingRecord, number: int, now_ms: int) -> Step:
    return answering.accept(found, number, 0, now_ms)


MOVES: st.SearchStrategy[Move] = st.one_of(
    st.sampled_from([running.start, running.next_item, running.end]),
    st.sampled_from([running.cancel, running.restore]),
    st.sampled_from(ITEMS).map(lambda name: lambda r, now_ms: running.go_to(r, name, now_ms)),
    st.builds(
        proposing,
        st.permutations(ITEMS),
        st.integers(0, 2),
        st.booleans(),
        st.booleans(),
        st.booleans(),
    ),
    st.sampled_from([accepted, accepted, answering.undo, answering.decline]).map(answered),
)


def check(found: MeetingRecord, now_ms: int) -> None:
    agenda = found.meeting.agenda
    assert sorted(one.id for one in agenda) == list(ITEMS)
    assert all(one.state == "put_off" for one in agenda if one.returns)
    current = [one for one in agenda if one.state == "current"]
    assert len(current) <= (found.state == "running")
    assert all((one.began_ms is not None) == (one.state in ("current", "done")) for one in agenda)
    assert all((one.ended_ms is not None) == (one.state == "done") for one in agenda)
    assert sum(one.answer == "open" for one in found.proposals) <= 1
    assert Meeting.model_validate_json(found.meeting.model_dump_json()) == found.meeting
    spans = planned(found.meeting, found.state, now_ms)
    assert spans.keys() == {one.id for one in agenda if one.state != "put_off"}
    assert all(span.starts_ms <= span.ends_ms for span in spans.values())


@settings(max_examples=25, deadline=None)
@given(st.lists(MOVES, max_size=12))
def test_no_item_is_lost_and_one_is_current_at_most(moves: list[Move]) -> None:
    found = record(agenda=tuple(item(name) for name in ITEMS))
    for n, move in enumerate(moves):
        now_ms = NOW_MS + n * MINUTE_MS
        before = found
        with suppress(MeetingError):
            step = move(found, now_ms)
            found = step.record
            assert found.version >= before.version
            if step.change == "accepted":
                undone = answering.undo(found, found.proposals[-1].number, now_ms).record
                assert (undone.meeting, undone.state) == (before.meeting, before.state)
        check(found, now_ms)
    orjson.dumps(views.host(found, [noisy()], NOW_MS, join_url=""))
    orjson.dumps(views.participant(found, [noisy()], noisy(), NOW_MS))
