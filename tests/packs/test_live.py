"""Templates as they stood at a moment of the log are as the straight run was then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.backend.ingest import records
from citywise.backend.ingest.log import durable_end
from citywise.backend.ingest.records import ClockReading
from citywise.backend.packs import live
from citywise.backend.packs.live import NoClockError
from citywise.backend.packs.run import TemplateRun
from tests.packs.journaled import Journaled
from tests.packs.test_run import (
    DAYS,
    JAM,
    RICH,
    USERS,
    Happening,
    event,
    instance,
    position,
    reading,
    route,
    template,
)

INSTANCES = [f"{user}.jam" for user in USERS]
BEGIN: list[Happening] = [instance("a"), route("a"), event("e", 10.2)]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Journaled]:
    """A log in which a jam lies on a's way, before the first clock."""
    found = Journaled(tmp_path, BEGIN)
    yield found
    found.close()


def straight(log: Journaled, clock: int, of: Any = RICH) -> TemplateRun:
    """A run that took everything from the log's begin to a clock."""
    run = TemplateRun(of)
    for entry in records.read(log.folder, 0, log.end):
        list(run.take(entry))
        if entry.position == clock:
            break
    return run


def said(run: TemplateRun) -> dict[str, tuple[list[str], tuple[str, ...]]]:
    """What is known and concluded of each instance that there is."""
    return {
        name: (sorted(run.slice(name).splitlines()), run.answer(name))
        for name in INSTANCES
        if run.has(name)
    }


@settings(max_examples=25)
@given(DAYS, st.data())
def test_at_any_clock_all_is_as_it_was_then(
    tmp_path_factory: pytest.TempPathFactory, happenings: list[Happening], data: st.DataObject
) -> None:
    log = Journaled(tmp_path_factory.mktemp("live"), happenings)
    log.close()
    clock = data.draw(st.sampled_from(log.clocks))
    then = live.at(log.folder, RICH, clock)
    assert said(then) == said(straight(log, clock))
    assert then.clock is not None
    assert then.clock[1] == clock


def test_without_a_position_it_is_the_last_clock_and_what_came_since_does_not_count(
    log: Journaled,
) -> None:
    log.write(1, ("event", "e", None))
    run = live.at(log.folder, JAM)
    assert run.clock == (log.now, log.clocks[-1])
    assert len(run.answer("a.jam")) == 1
    log.write(1)
    assert live.at(log.folder, JAM).answer("a.jam") == ()


def test_a_position_between_clocks_is_that_of_the_clock_before(log: Journaled) -> None:
    log.write(1, ("event", "e", None))
    gone = max(e.position for e in records.read(log.folder, 0, log.end))
    log.write(1)
    assert live.at(log.folder, JAM, gone).clock == (log.now - 60_000, log.clocks[0])


def test_only_the_instances_asked_for_are_evaluated(log: Journaled) -> None:
    log.write(instance("b"), route("b"), 1)
    run = live.at(log.folder, JAM, users=lambda user: user == "b")
    assert (run.has("a.jam"), run.has("b.jam")) == (False, True)
    assert len(run.answer("b.jam")) == 1


def test_what_stands_counts_though_it_was_written_again_long_after(log: Journaled) -> None:
    log.write(*[position("z", 10.19 + 0.0001 * n) for n in range(60)], 1)
    log.refresh()
    log.write(1)
    assert records.standing_since(log.folder, log.end) > 0
    assert len(live.at(log.folder, JAM).answer("a.jam")) == 1
    entries = list(records.read_standing(log.folder, 0, log.end))
    assert len([e for e in entries if e.key == "e"]) == 2


def test_before_the_first_clock_nothing_can_be_said(log: Journaled) -> None:
    with pytest.raises(NoClockError, match="nothing has been evaluated yet"):
        live.at(log.folder, JAM)
    log.write(1)
    assert live.at(log.folder, JAM).clock is not None


def test_the_last_clock_is_found_however_much_came_since(log: Journaled) -> None:
    log.write(1, *[reading("traffic", f"s{n}", speed_kmh=50) for n in range(1200)])
    assert log.end > 1 << 16
    assert live.last_clock(log.folder, log.end) == ClockReading(log.now, log.now, log.clocks[0])


# --- What an instance would tell -----------------------------------------------------------


def body(**values: Any) -> dict[str, Any]:
    return dict(instance("a", **values)[2])


def test_a_new_instance_is_told_what_would_be_open_now(log: Journaled) -> None:
    log.write(("instance", "a.jam", None), event("far", 10.21, lat=56.154), 1, 1)
    found, error = live.preview(live.at(log.folder, JAM), "try", body())
    assert [(c["change"], c["instance"], c["about"]) for c in found] == [("opened", "try", "e")]
    assert (found[0]["opened_ms"], error) == (log.now, None)
    wider, _ = live.preview(live.at(log.folder, JAM), "try", body(radius=500))
    assert sorted(c["about"] for c in wider) == ["e", "far"]


def test_trying_changes_neither_the_log_nor_others(log: Journaled) -> None:
    log.write(1)
    end = log.end
    before = said(live.at(log.folder, JAM))
    found, _ = live.preview(live.at(log.folder, JAM), "try", body())
    assert {c["instance"] for c in found} == {"try"}
    assert log.end == end == durable_end(log.folder)
    assert said(live.at(log.folder, JAM)) == before


def test_what_would_be_wrong_is_said(log: Journaled) -> None:
    log.write(1)
    rules = 'notice(Me,"jam",E,9) :- radius(Me,R), near_route(Me,E,R), user(Me,"a").'
    found, error = live.preview(live.at(log.folder, template(rules)), "try", body())
    assert found == []
    assert error is not None
    assert "the criticality 9 is no integer from 1 to 5" in error
