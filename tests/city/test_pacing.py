"""How stream time follows the wall's clock."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from citywise.backend.city.pacing import Command, Pace

MINUTE = 60_000


def test_a_step_is_due_when_stream_time_reaches_it() -> None:
    """At ×60 a step five minutes ahead is due after five seconds."""
    pace = Pace(60, 0, -1)
    pace.arrive(0, 100.0)
    assert pace.wait(5 * MINUTE, 100.0) == pytest.approx(5)
    assert pace.wait(5 * MINUTE, 103.0) == pytest.approx(2)
    assert pace.wait(5 * MINUTE, 106.0) == 0


def test_stream_time_flows_between_steps() -> None:
    pace = Pace(60, 0, -1)
    pace.arrive(0, 100.0)
    assert pace.now(101.5) == 90_000


def test_at_full_speed_every_step_is_due() -> None:
    pace = Pace(None, 0, -1)
    assert pace.rushes(10**12)
    assert pace.wait(10**12, 0.0) == 0


def test_a_paused_stream_waits_for_a_command() -> None:
    pace = Pace(0, 0, -1)
    pace.arrive(0, 5.0)
    assert pace.wait(1, 1000.0) is None
    assert pace.now(1000.0) == 0


def test_the_lead_in_is_passed_as_fast_as_it_goes_and_then_the_speed_holds() -> None:
    pace = Pace(1, 0, 10 * MINUTE - 1)
    for step in (0, 5 * MINUTE):
        assert pace.rushes(step)
        assert pace.wait(step, 7.0) == 0
        pace.arrive(step, 7.0)
    assert not pace.rushes(10 * MINUTE)
    assert pace.wait(10 * MINUTE, 7.0) == pytest.approx(0.001)
    pace.arrive(10 * MINUTE, 7.0)
    assert pace.wait(15 * MINUTE, 7.0) == pytest.approx(300, abs=0.01)


def test_a_change_of_speed_counts_from_the_moment_it_is_made() -> None:
    pace = Pace(60, 0, -1)
    pace.arrive(0, 0.0)
    pace.order(Command(speed=600), 2.0, 5 * MINUTE - 1)
    assert pace.now(2.0) == 2 * MINUTE
    assert pace.wait(5 * MINUTE, 2.0) == pytest.approx(0.3)


def test_a_pause_keeps_the_stream_time_it_was_made_at() -> None:
    pace = Pace(60, 0, -1)
    pace.arrive(0, 0.0)
    pace.order(Command(speed=0), 2.0, 5 * MINUTE - 1)
    assert pace.now(500.0) == 2 * MINUTE
    pace.order(Command(speed=60), 500.0, 5 * MINUTE - 1)
    assert pace.wait(5 * MINUTE, 500.0) == pytest.approx(3)


def test_skipping_rushes_so_far_and_then_goes_on_at_the_speed() -> None:
    pace = Pace(60, 0, -1)
    pace.arrive(0, 0.0)
    pace.order(Command(skip_s=3600), 1.0, 5 * MINUTE - 1)
    assert pace.rushes(60 * MINUTE)
    assert pace.wait(60 * MINUTE, 1.0) == 0
    pace.arrive(60 * MINUTE, 1.0)
    assert pace.wait(65 * MINUTE, 1.0) == pytest.approx(4)


def test_skipping_while_paused_ends_paused() -> None:
    pace = Pace(0, 0, -1)
    pace.arrive(0, 0.0)
    pace.order(Command(skip_s=300), 1.0, 10 * MINUTE)
    assert pace.wait(5 * MINUTE, 1.0) == 0
    pace.arrive(5 * MINUTE, 1.0)
    assert pace.wait(10 * MINUTE, 99.0) is None
    assert pace.now(99.0) == 5 * MINUTE


def test_time_lost_in_a_stall_is_not_made_up_for() -> None:
    pace = Pace(60, 0, -1)
    pace.arrive(0, 0.0)
    pace.arrive(5 * MINUTE, 65.0)
    assert pace.wait(10 * MINUTE, 65.0) == pytest.approx(5)


def test_a_small_delay_is_made_up_for() -> None:
    pace = Pace(60, 0, -1)
    pace.arrive(0, 0.0)
    pace.arrive(5 * MINUTE, 5.4)
    assert pace.wait(10 * MINUTE, 5.4) == pytest.approx(4.6)


@pytest.mark.parametrize(
    "text",
    [
        b"{}",
        b"[]",
        b'{"speed": -1}',
        b'{"skip_s": 0}',
        b'{"speed": "fast"}',
        b'{"faster": 1}',
        b'{"speed": NaN}',
        b"\xff",
    ],
)
def test_a_senseless_command_is_refused(text: bytes) -> None:
    with pytest.raises(ValidationError):
        Command.model_validate_json(text)


def test_a_null_speed_is_a_command_and_a_missing_one_is_none() -> None:
    pace = Pace(60, 0, -1)
    pace.order(Command.model_validate_json(b'{"skip_s": 5}'), 0.0, 10)
    assert pace.speed == 60
    pace.order(Command.model_validate_json(b'{"speed": null}'), 0.0, 10)
    assert pace.speed is None
