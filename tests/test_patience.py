"""A start lasts as long as what it waits for gets on, and says who is stuck when nothing does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from citywise.backend.patience import Mark, Patience, Reason, Stuck
from citywise.backend.settings import Start

LIMITS = Start(patience_s=100, limit_s=5000)
SPARK = Reason("pipeline", "stage starting Spark", "pipeline is starting Spark")
WEB = Reason("web", "web", "web has not started")
FEEDING = Reason("pipeline", "feeding", "feeding the hours: 10 %", others=("source",))


def watch(
    marks: dict[str, list[Mark]], *reasons: Reason, every: float = 10, limits: Start = LIMITS
) -> tuple[float, Stuck] | None:
    """When a start is given up, and why; `marks` says how far each part is every ten seconds."""
    patience = Patience(limits, 0)
    for number in range(max(map(len, marks.values()))):
        now = number * every
        patience.note({part: seen[min(number, len(seen) - 1)] for part, seen in marks.items()}, now)
        if found := patience.stuck(reasons, now):
            return now, found
    return None


def working(cpu_s: float, steps: int = 100) -> list[Mark]:
    """A part that uses so much CPU time in ten seconds and shows nothing else."""
    return [Mark(1, cpu_s=n * cpu_s) for n in range(steps)]


IDLE = [Mark(1)] * 100


@pytest.mark.parametrize("cpu_s", [10, 2, 0.3])
def test_who_works_is_waited_for_however_slow_the_machine(cpu_s: float) -> None:
    """A fifth of a core, or three hundredths: it gets there."""
    assert watch({"pipeline": working(cpu_s)}, SPARK) is None


def test_who_only_waits_uses_a_little_cpu_and_does_not_get_on() -> None:
    found = watch({"pipeline": working(0.1)}, SPARK)
    assert found is not None
    assert found == (110, Stuck(SPARK, 110, 110, too_long=False))


@pytest.mark.parametrize(
    "sign", [{"log_bytes": 50}, {"done": ("stage", 2)}, {"process": 7}, {"cpu_s": 5.0}]
)
def test_any_sign_of_progress_gives_more_time(sign: dict[str, object]) -> None:
    """A line in its log, bytes or a stage it tells of, a new process, or CPU time."""
    moved = replace(Mark(1), **sign)  # type: ignore[arg-type]
    found = watch({"pipeline": [Mark(1)] * 9 + [moved] * 50}, SPARK)
    assert found is not None
    assert found[0] == 200
    assert found[1].quiet_s == 110


def test_while_another_part_gets_on_nobody_is_given_up() -> None:
    assert watch({"pipeline": IDLE, "web": working(3)}, SPARK, WEB) is None
    assert watch({"pipeline": IDLE, "source": working(3)}, FEEDING) is None


def test_a_part_that_nobody_waits_for_gives_no_time() -> None:
    """What is up uses CPU time for ever."""
    assert watch({"pipeline": IDLE, "web": working(9)}, SPARK) is not None


def test_the_first_of_the_reasons_is_said_to_be_stuck() -> None:
    found = watch({"pipeline": IDLE, "web": IDLE}, SPARK, WEB)
    assert found is not None
    assert found[1].reason == SPARK


def test_the_whole_may_not_take_for_ever() -> None:
    found = watch({"pipeline": working(5)}, SPARK, limits=Start(patience_s=100, limit_s=300))
    assert found is not None
    assert (found[0], found[1].too_long, found[1].quiet_s) == (310, True, 0)


def test_reasons_are_told_by_their_kind_and_told_once() -> None:
    """An age in the words makes no new reason, and gives no more time."""
    patience = Patience(LIMITS, 0)
    old = Reason("pipeline", "window", "the last window is 601 s old")
    older = replace(old, text="the last window is 602 s old")
    assert patience.news([old, WEB]) == [old, WEB]
    assert patience.news([older, WEB]) == []
    assert patience.news([SPARK, older]) == [SPARK]


def test_without_a_reason_to_wait_nobody_is_stuck() -> None:
    assert watch({"pipeline": IDLE}) is None
