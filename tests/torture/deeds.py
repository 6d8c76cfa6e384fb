"""What is done to a system that runs, as a seed says."""

from __future__ import annotations

import os
import random
import resource
import signal
import sqlite3
import time

import orjson
import psutil

from citywise.backend import mqtt
from citywise.backend.ingest.log import path_of, segments
from citywise.backend.ingest.payloads import Clock
from citywise.backend.supervisor import System
from citywise.backend.times import from_ms
from tests.street import running as street
from tests.torture.city import City

_STOPPED = ("ingest", "pipeline", "notifier", "web", "travel_planner", "meeting_mgr")
_KILLED = (*_STOPPED, "source")
_SHORT_S = (0.5, 6.0)
_AGAIN_MS = 50 * 60_000
"""What is sent again is not older: within an hour a reading is known."""


class Tormentor:
    """Does to a running system what a seed says."""

    def __init__(self, system: System, city: City, chance: random.Random) -> None:
        self._system, self._city, self._chance = system, city, chance
        self._deeds = (
            *(self._kill, self._kill, self._stop, self._stop, self._repeat),
            *(self._end_broker, self._lock, self._fill_disk, self._begin_anew),
        )

    def torment(self) -> str:
        """Do the next thing; returns its name when it is over."""
        return self._chance.choice(self._deeds)()

    def _kill(self) -> str:
        role = self._chance.choice([r for r in _KILLED if r in self._system.children])
        try:
            street.kill(self._system, role)
        except ProcessLookupError:
            return f"kill {role} (it was dead)"
        return f"kill {role}"

    def _stop(self) -> str:
        role, seconds = self._chance.choice(_STOPPED), self._chance.uniform(*_SHORT_S)
        group = self._system.children[role].process.pid
        try:
            os.killpg(group, signal.SIGSTOP)
            tend(self._system, seconds)
            os.killpg(group, signal.SIGCONT)
        except ProcessLookupError:
            return f"stop {role} (it was dead)"
        return f"stop {role} for {seconds:.1f} s"

    def _fill_disk(self) -> str:
        """The ingest cannot make its files any longer."""
        seconds = self._chance.uniform(*_SHORT_S)
        try:
            ingest = psutil.Process(self._system.children["ingest"].process.pid)
            usual = ingest.rlimit(resource.RLIMIT_FSIZE)
            assert usual is not None
            ingest.rlimit(resource.RLIMIT_FSIZE, (1, usual[1]))
            tend(self._system, seconds)
            ingest.rlimit(resource.RLIMIT_FSIZE, usual)
        except psutil.NoSuchProcess:
            return "fill the ingest's disk (it was dead)"
        return f"fill the ingest's disk for {seconds:.1f} s"

    def _begin_anew(self) -> str:
        """Everything is stopped, and started as the same system; or its log ends in half a
        record, as after a power cut."""
        self._system.stop()
        is_torn = self._chance.random() < 0.5
        if is_torn:
            folder = self._system.settings.log_dir
            with path_of(folder, segments(folder)[-1]).open("ab") as file:
                file.write(self._chance.randbytes(self._chance.randint(1, 5_000)))
        self._system.start()
        self._system.wait_ready()
        return f"stop and start everything{', with a torn log' if is_torn else ''}"

    def _end_broker(self) -> str:
        street.restart_broker(self._system)
        return "kill broker"

    def _lock(self) -> str:
        """Nobody can write into the database, as where a disk does not answer."""
        seconds = self._chance.uniform(*_SHORT_S)
        path = self._system.settings.data_dir / "citywise.db"
        with sqlite3.connect(path, timeout=60, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            time.sleep(seconds)  # the supervisor, too, waits for what it wants to write
            other.execute("ROLLBACK")
        other.close()
        return f"lock the database for {seconds:.1f} s"

    def _repeat(self) -> str:
        """Messages come again, twice and in any order, and a clock that is set back."""
        now = street.answered(self._system)
        again = [
            (batch.kind, payload)
            for step in self._city.source.steps(from_ms(max(0, now - _AGAIN_MS)))
            if step.ms <= now
            for batch in step.batches
            for payload in batch.payloads(50)
        ] * 2
        again = self._chance.sample(again, min(len(again), 60))
        back = from_ms(now - self._chance.randint(1, _AGAIN_MS))
        client = mqtt.connect(self._system.settings.broker, "repeater")
        prefix = self._system.settings.broker.prefix
        clock = Clock(now=back, complete=back).model_dump(mode="json")
        client.publish(f"{prefix}/clock", orjson.dumps(clock), 1)
        for kind, payload in again:
            client.publish(f"{prefix}/observations/{kind}", payload, 1)
        tend(self._system, 2.0)
        client.disconnect()
        client.loop_stop()
        return f"repeat {len(again)} messages, and set the clock back"


def tend(system: System, seconds: float) -> None:
    """Care for a system for a while."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        system.tend()
        time.sleep(0.1)
