"""Running a source: clock, pace, commands and flow, without a broker and without time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Literal

import orjson
import pytest

from citywise.backend.city.pacing import Command
from citywise.backend.city.replay import Replay
from citywise.backend.city.simulation import Simulation
from citywise.backend.city.source import PATIENCE_S, SETTLE_MS, IngestStatus, Runner, run_source
from citywise.backend.city.steps import Batch, Source, Step
from citywise.backend.ingest.payloads import Clock, Place, Point
from citywise.backend.times import from_ms, to_ms

START = datetime(2014, 8, 5, tzinfo=UTC)
T0 = to_ms(START)
MINUTE = 60_000
ONLINE = IngestStatus(state="online")


def step(minutes: float, *kinds: Literal["traffic", "parking"], size: int = 1) -> Step:
    ms = T0 + round(minutes * MINUTE)
    return Step(ms, tuple(Batch(kind, [{"sensor": "x"}] * size) for kind in kinds or ("traffic",)))


@dataclass
class Town:
    """A source of given steps."""

    given: Sequence[Step]
    until: datetime | None = None
    start: datetime = START
    name: Literal["replay"] = "replay"

    def places(self) -> list[Place]:
        point = Point(coordinates=(10.2, 56.1))
        return [Place(id="x", kind="garage", name="X", geometry=point, sensors=("parking",))]

    def steps(self, since: datetime | None = None) -> Iterator[Step]:
        return (step for step in self.given if since is None or step.time >= since)


@dataclass
class Sent:
    wall: float
    topic: str
    payload: Any
    retain: bool


@dataclass
class World:
    """A wall clock that moves only when the source waits, and what was published."""

    wall: float = 0.0
    sent: list[Sent] = field(default_factory=list)
    script: list[tuple[float, Command]] = field(default_factory=list)
    on_wait: Callable[[], None] = lambda: None

    def publish(self, topic: str, payload: bytes, *, retain: bool = False, **_: Any) -> None:
        self.sent.append(Sent(self.wall, topic, orjson.loads(payload), retain))

    def orders(self, seconds: float) -> Command | None:
        if self.script and self.script[0][0] <= self.wall + seconds:
            self.wall = max(self.wall, self.script[0][0])
            return self.script.pop(0)[1]
        self.wall += seconds
        if seconds:
            self.on_wait()
        return None

    def runner(self, town: Town, speed: float | None = None, **more: Any) -> Runner:
        runner = Runner(
            town, self, "city", speed, wall=lambda: self.wall, orders=self.orders, **more
        )
        runner.flow.heard(ONLINE.model_copy(update={"complete": None}))
        return runner

    def clocks(self) -> list[tuple[float, Clock]]:
        return [
            (sent.wall, Clock.model_validate_json(orjson.dumps(sent.payload)))
            for sent in self.sent
            if sent.topic == "city/clock"
        ]

    def observed_times(self) -> list[int]:
        """The steps whose readings were sent, by their time."""
        times, now = [], 0
        for sent in self.sent:
            if sent.topic == "city/clock":
                now = to_ms(Clock.model_validate_json(orjson.dumps(sent.payload)).now)
            elif "observations" in sent.topic:
                times.append(now)
        return times

    def observed_at(self) -> list[float]:
        return [sent.wall for sent in self.sent if "observations" in sent.topic]


@pytest.fixture
def world() -> World:
    return World()


def test_places_come_first_and_are_retained(world: World) -> None:
    world.runner(Town([step(0)])).run()
    assert world.sent[0].topic == "city/places/garage/x"
    assert world.sent[0].retain
    assert world.sent[0].payload["name"] == "X"


def test_the_clock_frames_every_step(world: World) -> None:
    """`now` is told before the messages of a step, `complete` after them."""
    world.runner(Town([step(0, "traffic", "parking"), step(5)])).run()
    topics = [sent.topic.removeprefix("city/") for sent in world.sent[1:]]
    assert topics == [
        "clock", "observations/traffic", "observations/parking", "clock",
        "clock", "observations/traffic", "clock",
    ]  # fmt: skip
    clocks = [(to_ms(c.now) - T0, to_ms(c.complete) - T0) for _, c in world.clocks()]
    assert clocks == [(0, -1), (0, 0), (5 * MINUTE, 0), (5 * MINUTE, 5 * MINUTE)]
    assert all(sent.retain for sent in world.sent if sent.topic == "city/clock")


def test_messages_hold_at_most_500_readings(world: World) -> None:
    world.runner(Town([step(0, size=1201)])).run()
    sizes = [len(s.payload) for s in world.sent if s.topic == "city/observations/traffic"]
    assert sizes == [500, 500, 201]


def test_steps_are_sent_when_they_are_due(world: World) -> None:
    world.runner(Town([step(0), step(5), step(15)]), speed=60).run()
    assert world.observed_at() == pytest.approx([0, 5, 15], abs=0.01)


def test_between_steps_the_clock_ticks_and_never_passes_the_next_step(world: World) -> None:
    """At least every 250 ms, complete as far as it is told, and never backwards."""
    world.runner(Town([step(0), step(5)]), speed=60).run()
    clocks = world.clocks()
    gaps = [b - a for (a, _), (b, _) in pairwise(clocks)]
    assert max(gaps) <= 0.2501
    assert all(a[1].now <= b[1].now for a, b in pairwise(clocks))
    assert all(a[1].complete <= b[1].complete for a, b in pairwise(clocks))
    between = [clock for wall, clock in clocks if 0 < wall < 4.99]
    assert between
    assert all(clock.now == clock.complete < step(5).time for clock in between)


def test_the_lead_in_has_no_speed_and_takes_no_time(world: World) -> None:
    world.runner(Town([step(-10), step(-5), step(0), step(5)]), speed=60).run()
    assert world.observed_at() == pytest.approx([0, 0, 0, 5], abs=0.01)
    speeds = {to_ms(clock.now) - T0: clock.speed for _, clock in world.clocks()}
    assert speeds[-10 * MINUTE] is None
    assert speeds[5 * MINUTE] == 60


def test_at_the_end_everything_is_complete_and_time_stands(world: World) -> None:
    """A little past the end, so that the last window is evaluated too."""
    until = START + timedelta(minutes=7)
    assert world.runner(Town([step(0), step(5)], until), speed=60).run()
    wall, last = world.clocks()[-1]
    settled = until + timedelta(milliseconds=SETTLE_MS)
    assert (last.now, last.complete, last.speed) == (settled, settled, 0)
    assert wall == pytest.approx(7, abs=0.01)


def test_a_pause_holds_the_stream_until_it_goes_on(world: World) -> None:
    world.script = [(2.0, Command(speed=0)), (50.0, Command(speed=60))]
    world.runner(Town([step(0), step(5)]), speed=60).run()
    assert world.observed_at() == pytest.approx([0, 53], abs=0.01)
    paused = [clock for wall, clock in world.clocks() if 2.1 < wall < 49.9]
    assert paused == []
    assert any(clock.speed == 0 for _, clock in world.clocks())


def test_skipping_ahead_sends_what_lies_between_at_once(world: World) -> None:
    world.script = [(1.0, Command(skip_s=3600))]
    steps = [step(0), step(5), step(60), step(65)]
    world.runner(Town(steps), speed=60).run()
    assert world.observed_at() == pytest.approx([0, 1, 1, 5], abs=0.01)


def test_a_source_can_be_stopped_while_it_waits(world: World) -> None:
    stop = threading.Event()
    world.script = [(2.0, Command(speed=0))]
    world.on_wait = lambda: stop.set() if world.wall > 10 else None
    assert not world.runner(Town([step(0), step(5)]), speed=60, stop=stop).run()
    assert len(world.observed_at()) == 1


def test_a_fast_source_waits_for_answers(world: World) -> None:
    """It is never further ahead of `answered` than allowed, and goes on when that moves."""
    steps = [step(5 * n) for n in range(25)]
    runner = world.runner(Town(steps), ahead=timedelta(minutes=30))
    answered = {"at": T0, "most": 0}

    def answer() -> None:
        ahead = to_ms(world.clocks()[-1][1].now) - answered["at"]
        answered["most"] = max(answered["most"], ahead)
        answered["at"] += 10 * MINUTE
        runner.flow.heard(IngestStatus(state="online", answered=from_ms(answered["at"])))

    runner.flow.heard(IngestStatus(state="online", answered=None))
    world.on_wait = answer
    assert runner.run()
    assert len(world.observed_at()) == 25
    assert answered["most"] == 35 * MINUTE


def test_a_long_gap_in_the_data_does_not_stop_a_fast_source(world: World) -> None:
    runner = world.runner(Town([step(0), step(600)]), ahead=timedelta(minutes=30))
    runner.flow.heard(IngestStatus(state="online", answered=START))
    assert runner.run()


def test_without_an_ingest_a_source_starts_after_a_while(world: World) -> None:
    town = Town([step(0), step(5)])
    runner = Runner(town, world, "city", None, wall=lambda: world.wall, orders=world.orders)
    assert runner.run()
    assert PATIENCE_S < world.observed_at()[0] < PATIENCE_S + 1


def test_where_nobody_answers_what_is_durable_counts(world: World) -> None:
    runner = world.runner(Town([step(0), step(60), step(61)]), ahead=timedelta(minutes=30))
    waits: list[float] = []

    def wait() -> None:
        waits.append(world.wall)
        if len(waits) > 20:
            done = START + timedelta(hours=1)
            runner.flow.heard(IngestStatus(state="online", complete=done))

    runner.flow.heard(IngestStatus(state="online", complete=START))
    world.on_wait = wait
    assert runner.run()
    assert len(waits) > 20


def test_a_source_obeys_commands_that_come_over_mqtt(
    broker: Any, reader: Any, eventually: Any
) -> None:
    """Pause, full speed and the end of the data, over a real broker."""
    settings = broker.settings(prefix="t1")
    listener = reader(settings, "t1/clock", "t1/observations/#", announce="t1/status/ingest")
    stop = threading.Event()
    town = Town([step(0), step(5), step(600)], START + timedelta(hours=11))
    source = threading.Thread(
        target=run_source, args=(town, settings), kwargs={"speed": 1, "stop": stop}
    )
    source.start()
    try:
        eventually(lambda: len(listener.payloads("t1/observations/traffic")) == 1)
        listener.send("t1/control/source", b"what?")
        listener.send("t1/control/source", b'{"speed": 0}')
        eventually(lambda: b'"speed":0.0' in listener.payloads("t1/clock")[-1])
        listener.send("t1/control/source", b'{"speed": null}')
        eventually(lambda: len(listener.payloads("t1/observations/traffic")) == 3)
        end = START + timedelta(hours=11, milliseconds=SETTLE_MS)
        eventually(lambda: _clock(listener.payloads("t1/clock")[-1]).complete == end)
    finally:
        stop.set()
        source.join(60)


def _clock(payload: bytes) -> Clock:
    return Clock.model_validate_json(payload)


# --- A source that dies and is started again --------------------------------------------

DAY = Town([step(minutes) for minutes in (-10, -5, 0, 5, 10)], START + timedelta(minutes=12))
"""Ten minutes of lead-in, and a recording that ends after its last readings."""
END = to_ms(START) + 12 * MINUTE + SETTLE_MS


def lives(deaths: Sequence[int], speed: float | None) -> list[World]:
    """What each life of a source published that is killed after so many messages, and then
    goes on where what it sent was complete, as the supervisor has it do."""
    found: list[World] = []
    since: datetime | None = None
    for left in (*deaths, 10_000):
        world = Dying(left=left)
        found.append(world)
        with suppress(KilledError):
            assert world.runner(DAY, speed, since=since).run()
        if told := world.clocks():
            since = told[-1][1].complete
    return found


class KilledError(Exception):
    """The process is gone."""


@dataclass
class Dying(World):
    """A world in which the source's process is killed after so many messages."""

    left: int = 0

    def publish(self, topic: str, payload: bytes, *, retain: bool = False, **_: Any) -> None:
        if not self.left:
            raise KilledError
        self.left -= 1
        super().publish(topic, payload, retain=retain)


@pytest.mark.parametrize("speed", [None, 3600.0])
def test_a_source_killed_at_any_message_goes_on_to_the_same_end(speed: float | None) -> None:
    """Before its start, in the lead-in, amid its readings, after the last of them and after
    the end was told: every reading is sent, and time ends where it would have ended."""
    whole = lives([], speed)[0]
    for death in range(len(whole.sent) + 1):
        first, second = lives([death], speed)
        sent = [*first.observed_times(), *second.observed_times()]
        assert sorted(set(sent)) == whole.observed_times(), death
        clock = second.clocks()[-1][1]
        assert (to_ms(clock.now), to_ms(clock.complete), clock.speed) == (END, END, 0), death
        assert {each.start for _, each in second.clocks()} == {START}


@pytest.mark.parametrize("speed", [None, 3600.0])
def test_a_source_killed_when_all_is_sent_says_so_again_and_nothing_else(
    speed: float | None,
) -> None:
    """However often: time does not creep on with each start."""
    whole = lives([], speed)[0]
    everything = len(whole.sent)
    *_, last = lives([everything, 2, 2, 2], speed)
    assert last.observed_times() == []
    assert [clock.complete for _, clock in last.clocks()] == [from_ms(END)]
    assert last.wall == 0


def test_what_is_left_of_the_lead_in_goes_as_fast_as_it_can(world: World) -> None:
    """A source that died in its lead-in does not go through the rest at the pace of the day."""
    since = START - timedelta(minutes=7)
    world.runner(DAY, 60, since=since).run()
    assert world.observed_at() == pytest.approx([0, 0, 5, 10], abs=0.01)


def test_a_replay_that_goes_on_sends_what_is_left(small_pack: Any) -> None:
    """Also from a time at which, or after which, there is nothing."""
    small_pack.traffic([(11, f"2014-08-05T00:{minute:02}:00", 50, 3) for minute in (0, 5, 10)])
    small_pack.parking([("BRUUNS", "2014-08-05 02:07:00", 5, 953, 1)])
    goes_on_with_the_rest(Replay(small_pack.root, START, lead_in=timedelta(0)))


def test_a_simulation_that_goes_on_sends_what_is_left() -> None:
    goes_on_with_the_rest(Simulation(7, START, START + timedelta(hours=30), timedelta(hours=2)))


def goes_on_with_the_rest(source: Source) -> None:
    whole = list(source.steps())
    assert len(whole) > 3
    for last in (whole[0], whole[1], whole[len(whole) // 2], whole[-1]):
        for since in (last.time, last.time + timedelta(seconds=1)):
            assert list(source.steps(since)) == [s for s in whole if s.time >= since]
