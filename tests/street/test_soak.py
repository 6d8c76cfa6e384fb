"""Every notice comes once and in order, whatever dies on the way: counted."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import paho.mqtt.client as paho
import pytest
from sqlalchemy import Engine, select

from citywise.backend import mqtt
from citywise.backend.network import broker_rights
from citywise.backend.notices.announcing import NOTICE
from citywise.backend.packs.check import checked
from citywise.backend.packs.installed import install
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.models import HeartbeatRow, OutboxRow
from citywise.backend.supervisor import System
from tests.packs.folders import AppFolder
from tests.street import running as street
from tests.street.soaking import EAST, PLACE_LAT, WEST, Person, Phone, Stream, Wish, level, lon

MANIFEST = """\
name = "soak"
version = "1.0.0"
title = "Soak"
streams = ["events"]

[templates.happens]
version = 1
title = "What happens"

[templates.happens.parameters.area]
type = "area"
title = "Where"

[templates.happens.parameters.least]
type = "number"
min = 1
max = 5
default = 1
title = "How bad at least"

[notices.happens]
title = "Something happens"
text = "{about}"
"""
RULES = """\
#prefix ev : <https://w3id.org/citywise/event#>.
notice(Me,"happens",E,L) :- inside(Me,E,"area"), ev_level(E,L), least(Me,Least), L >= Least.
"""
PEOPLE = {
    "Everything": Wish(WEST, EAST, 1),
    "West": Wish(WEST, WEST + 0.04, 1),
    "Bad": Wish(WEST, EAST, 5),
    "Muted": Wish(EAST - 0.02, EAST, 1, muted=True),
}


@dataclass
class Ledger:
    """What has been announced, as the outbox says: only to know when to go on."""

    engine: Engine
    position: int = 0
    seen: dict[str, set[tuple[str, str]]] = field(
        default_factory=lambda: {"opened": set(), "closed": set()}
    )

    def read(self) -> None:
        query = select(OutboxRow.id, OutboxRow.user, OutboxRow.body).where(
            OutboxRow.id > self.position, OutboxRow.kind == NOTICE
        )
        with self.engine.connect() as connection:
            for number, user, body in connection.execute(query.order_by(OutboxRow.id)):
                self.position = number
                if body["change"] in self.seen:
                    self.seen[body["change"]].add((user, body["about"]["id"]))


class Soak:
    """A system, people in it, and a detector that opens and closes events in waves."""

    def __init__(
        self, system: System, engine: Engine, people: dict[str, Person], again_s: float
    ) -> None:
        self.system, self.people = system, people
        self._again_s = again_s
        self.ledger = Ledger(engine)
        self.published = 0
        self._detector: paho.Client = mqtt.connect(system.settings.broker, "detector")

    def wave(self, opens: range, closes: range) -> None:
        """Open some events, close others, and wait until everybody concerned was told."""
        opened, closed = self.concerned(opens), self.concerned(closes)
        deadline, again = time.monotonic() + 300, 0.0
        while not (opened <= self.ledger.seen["opened"] and closed <= self.ledger.seen["closed"]):
            assert time.monotonic() < deadline, "what was published had no effect"
            if time.monotonic() >= again:
                again = time.monotonic() + self._again_s
                self._publish(opens, closes)
            self.system.tend()
            time.sleep(0.05)
            self.ledger.read()

    def concerned(self, numbers: range) -> set[tuple[str, str]]:
        """Whom some events concern: users and ids, by what they wish."""
        people = self.people.values()
        return {(p.user, f"e-{n}") for n in numbers for p in people if p.wish.has(n)}

    def until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait until something is so; whether it came to be."""
        deadline = time.monotonic() + seconds
        while not holds() and time.monotonic() < deadline:
            self.system.tend()
            time.sleep(0.1)
        return holds()

    def behind(self) -> int:
        """To how many devices the notifier sends nothing until they answer."""
        query = select(HeartbeatRow.detail).where(HeartbeatRow.process == "notifier")
        with self.ledger.engine.connect() as connection:
            return int(connection.execute(query).scalar_one()["devices_behind"])

    def end(self) -> None:
        self._detector.disconnect()
        self._detector.loop_stop()

    def _publish(self, opens: range, closes: range) -> None:
        """An event that is published again is no news, nor is its end."""
        for number in opens:
            self._say(number, orjson.dumps(_state(number)))
        for number in closes:
            self._say(number, b"")

    def _say(self, number: int, payload: bytes) -> None:
        self.published += 1
        self._detector.publish(f"citywise/events/e-{number}", payload, qos=1)


def _state(number: int) -> dict[str, object]:
    return {
        "type": "Obstruction",
        "level": level(number),
        "start_ms": 1_780_000_000_000 + number,
        "source": "sensor",
        "geometry": {"type": "Point", "coordinates": [round(lon(number), 6), PLACE_LAT]},
    }


@contextmanager
def soak(folder: Path, again_s: float) -> Iterator[Soak]:
    """A running system with the app, and people who have asked it to tell them; what has no
    effect for so many seconds is published again."""
    app = AppFolder(folder, "soak")
    (app.path / "templates" / "jam_ahead.casp").unlink()
    app.write("app.toml", MANIFEST)
    app.write("templates/happens.casp", RULES)
    with street.system(folder / "city", None) as system:
        engine = create_engine_for(system.settings.database_url)
        install(engine, [checked(app.path)])
        people = {name: Person.sign_up(engine, name, wish) for name, wish in PEOPLE.items()}
        broker_rights.write(engine, system.settings)
        for person in people.values():
            asked = {"app": "soak", "template": "happens", "values": person.wish.values}
            person.ask(system, "POST", "instances", asked)
            if person.wish.muted:
                muted = [{"app": "soak", "notice": "happens"}]
                person.ask(system, "PUT", "me/wishes", {"muted": muted})
        soaking = Soak(system, engine, people, again_s)
        yield soaking
        soaking.end()
        engine.dispose()


def shocks(soaking: Soak, stream: Stream, waves: int) -> dict[int, Callable[[], None]]:
    """What happens before which wave."""
    system = soaking.system
    happens = [
        stream.drop,
        lambda: street.restart_broker(system),
        stream.drop,
        lambda: street.kill(system, "pipeline"),
        stream.drop,
        lambda: street.kill(system, "notifier"),
    ]
    return {(place + 1) * waves // 7: what for place, what in enumerate(happens)}


def run(folder: Path, events: int, size: int, again_s: float) -> dict[str, object]:
    """Let `events` events happen, in waves of `size`, and count what people were told."""
    with soak(folder, again_s) as soaking:
        people = soaking.people
        streams = {name: Stream(soaking.system, person) for name, person in people.items()}
        assert soaking.until(lambda: all(s.opened for s in streams.values()), 20)
        phones = {n: Phone(soaking.system, people[n]).live() for n in ("Everything", "Muted")}
        dead = Phone(soaking.system, people["Bad"]).die()
        waves = [range(n, min(n + size, events)) for n in range(0, events, size)]
        shock = shocks(soaking, streams["Everything"], len(waves))
        begun, before = time.monotonic(), range(0)
        for number, wave in enumerate([*waves, range(0)]):
            shock.get(number, lambda: None)()
            soaking.wave(wave, before)
            before = wave
        seconds = time.monotonic() - begun
        told = {name: stream.told for name, stream in streams.items()}
        told["phone"] = phones["Everything"].screen.told
        wanted = {name: soaking.concerned(range(events)) for name in people}
        counts = {
            name: sum(user == people[name].user for user, _ in wanted[name]) for name in people
        }
        counts["phone"] = counts["Everything"]
        caught_up = time.monotonic()
        soaking.until(lambda: all(told[n].closed >= counts[n] for n in told), 300)
        caught_up = time.monotonic() - caught_up
        # The phone that does not read, and those of whom no device was ever connected.
        assert soaking.until(lambda: soaking.behind() == 2, 60), f"behind: {soaking.behind()}"
        for stream in streams.values():
            stream.end()
        for phone in (*phones.values(), dead):
            phone.end()
    for name, heard in told.items():
        wish = PEOPLE["Everything" if name == "phone" else name]
        expected = Counter(f"e-{n}" for n in range(events) if wish.has(n))
        assert Counter(heard.of("opened")) == expected, f"{name}: lost or doubled"
        assert Counter(heard.of("closed")) == expected, f"{name}: lost or doubled"
        assert _is_ordered(heard.changes), name
        assert all(alert is not wish.muted for kind, _, alert in heard.changes if kind == "opened")
    assert phones["Muted"].messages == 0
    assert sum(stream.resets for stream in streams.values()) == 0
    assert streams["Everything"].opened >= 4
    screen = phones["Everything"].screen
    assert screen.resets == 0
    return {
        "events": events,
        "seconds": round(seconds),
        "seconds until the last had all": round(caught_up, 1),
        "published": soaking.published,
        "notices": sum(counts[name] for name in people),
        "announced": soaking.ledger.position,
        "by stream": sum(len(told[name].changes) for name in people),
        "by phone": len(told["phone"].changes),
        "again on the wire to pages": sum(told[name].repeated for name in people),
        "again on the wire to the phone": screen.repeated,
        "gaps the phone noticed": screen.gaps,
    }


def _is_ordered(changes: list[tuple[str, str, bool]]) -> bool:
    """Whether each event was opened before it was closed."""
    opened: set[str] = set()
    for change, event, _ in changes:
        if change == "opened":
            opened.add(event)
        elif event not in opened:
            return False
    return True


@pytest.mark.long
@pytest.mark.spark
def test_six_hundred_events_are_told_once_through_all_kinds_of_deaths(tmp_path: Path) -> None:
    print(run(tmp_path, 600, 86, 3.0))


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(3000)
def test_a_hundred_thousand_events_are_told_once_through_all_kinds_of_deaths(
    tmp_path: Path,
) -> None:
    print(run(tmp_path, 100_000, 1_000, 5.0))
