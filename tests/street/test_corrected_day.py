"""A day of Aarhus in disorder through a whole system that is killed on the way."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson
import paho.mqtt.client as paho
import pytest
from sqlalchemy import Engine, select

from citywise.backend import mqtt
from citywise.backend.city.replay import LASTING, Replay
from citywise.backend.ingest.payloads import Clock
from citywise.backend.notices.announcing import NOTICE
from citywise.backend.packs.check import checked
from citywise.backend.packs.installed import install
from citywise.backend.settings import Pipeline
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.models import EventRow, NoticeRow, OutboxRow
from citywise.backend.supervisor import System as Running
from citywise.backend.times import from_ms, iso, to_ms
from tests.packs.folders import AppFolder
from tests.pipeline.revising import Arrival, System, Told, disordered, standing_events
from tests.street import running as street
from tests.street.soaking import Person, Stream, Wish
from tests.street.test_soak import MANIFEST, RULES

DAY = datetime(2014, 8, 5, tzinfo=UTC)
REQUESTS = ("traffic_jam", "garage_nearly_full")
STEP_MS = 60_000
AHEAD_MS = 1_800_000
"""How far readings are sent ahead of what is answered: a batch has half an hour at most."""
BATCH = 500
EVERYWHERE = Wish(9.5, 10.7, 1)
TAKEN_BACK = ("withdrawn", "corrected")


class Page(Stream):
    """A page that is open all day: the events and notices as it knows them."""

    def __init__(self, system: Running, person: Person) -> None:
        self.events: dict[str, dict[str, Any]] = {}
        self.notices: dict[str, list[dict[str, Any]]] = {}
        super().__init__(system, person)

    def _take(self, event: str, number: int, data: bytes) -> None:
        told = event == NOTICE or event.startswith("event.")
        if not told or self.told.last is None or number <= self.told.last:
            super()._take(event, number, data)
            return
        self.told.last = number
        body = orjson.loads(data)
        if event == NOTICE:
            self.notices.setdefault(body["id"], []).append(body)
        elif event == "event.withdrawn":
            del self.events[body["id"]]
        else:
            assert event == "event.opened" or body["id"] in self.events, (event, body)
            self.events[body["id"]] = body

    def known(self) -> list[Told]:
        """The events as `standing_events` has them."""
        names = ("type", "level", "start", "end")
        found = self.events.values()
        return sorted((e["place"]["id"], *(str(e[n]) for n in names)) for e in found)


class Feed:
    """Sends what arrives, minute by minute, no further ahead of the answers than `AHEAD_MS`."""

    def __init__(self, system: Running) -> None:
        self._system = system
        self._client: paho.Client = mqtt.connect(system.settings.broker, "feed")

    def places(self, source: Replay) -> None:
        for place in source.places():
            body = place.model_dump(mode="json", exclude_none=True)
            self._say(f"places/{place.kind}/{place.id}", body, retain=True)

    def minute(self, ms: int, arrivals: list[Arrival]) -> None:
        """What has come up to a time, and that it is this time."""
        for kind, some in groupby((said for _at, _n, said in arrivals), key=lambda o: o["kind"]):
            bodies = [{k: v for k, v in one.items() if k != "kind"} for one in some]
            for first in range(0, len(bodies), BATCH):
                self._say(f"observations/{kind}", bodies[first : first + BATCH])
        clock = Clock(now=from_ms(ms), complete=from_ms(ms))
        self._say("clock", clock.model_dump(mode="json"), retain=True)

    def answered(self, ms: int) -> None:
        """Wait until all up to a time is answered."""
        street.wait_until(self._system, lambda: street.answered(self._system) >= ms)

    def end(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def _say(self, topic: str, body: Any, retain: bool = False) -> None:
        """Publish until the ingest has it, whatever is being restarted."""
        told = self._client.publish(f"citywise/{topic}", orjson.dumps(body), 1, retain)
        while not told.is_published():
            self._system.tend()
            time.sleep(0.001)


def _listener(system: Running, engine: Engine, folder: Path) -> Person:
    """Somebody who wants to be told of all that happens in Aarhus."""
    app = AppFolder(folder, "soak")
    (app.path / "templates" / "jam_ahead.casp").unlink()
    app.write("app.toml", MANIFEST)
    app.write("templates/happens.casp", RULES)
    install(engine, [checked(app.path)])
    person = Person.sign_up(engine, "Everything", EVERYWHERE)
    asked = {"app": "soak", "template": "happens", "values": EVERYWHERE.values}
    person.ask(system, "POST", "instances", asked)
    return person


def _minutes(arrivals: list[Arrival], begin_ms: int) -> Iterator[tuple[int, list[Arrival]]]:
    """The arrivals by the minute up to which they have come."""
    waiting = list(arrivals)
    for ms in range(begin_ms, arrivals[-1][0] + 2 * STEP_MS, STEP_MS):
        come = [one for one in waiting[:5000] if one[0] <= ms]
        del waiting[: len(come)]
        yield ms, come


def _through(
    data_pack: Path, folder: Path, hours: float, kills: tuple[str, ...]
) -> dict[str, object]:
    """Send so many hours through a system, kill some of its processes on the way, and compare."""
    source = Replay(data_pack, DAY, DAY + timedelta(hours=hours), timedelta(0), kinds=LASTING)
    arrivals = disordered(source, random.Random(1))
    sensors = [(kind, place.id) for place in source.places() for kind in place.sensors]
    known = [one for one in sensors if one[0] in LASTING]
    said = {(o["kind"], o["sensor"], o["observed_at"]): o for _at, _n, o in arrivals}
    standing = [one for one in said.values() if "withdraw" not in one]
    expected = System.of_order(folder / "order", known, standing, REQUESTS)
    end_ms = arrivals[-1][0]
    whole = end_ms - to_ms(DAY)
    deaths = {to_ms(DAY) + whole * n // (len(kills) + 1): role for n, role in enumerate(kills, 1)}
    began = time.monotonic()
    with street.system(folder / "city", None, Pipeline(engine="incremental"), True) as system:
        engine = create_engine_for(system.settings.database_url)
        feed = Feed(system)
        feed.places(source)
        page = Page(system, _listener(system, engine, folder))
        street.wait_until(system, lambda: page.told.last is not None)
        for ms, come in _minutes(arrivals, to_ms(DAY)):
            feed.minute(ms, come)
            if any(ms - STEP_MS < at <= ms for at in deaths):
                street.kill(system, next(r for at, r in deaths.items() if ms - STEP_MS < at <= ms))
            if ms % (AHEAD_MS // 3) == 0:
                feed.answered(ms - AHEAD_MS)
        # What has become of the last events, templates hear of with a later clock.
        for later in range(1, 4):
            feed.answered(ms)
            ms += later * STEP_MS
            feed.minute(ms, [])
        feed.answered(ms)
        with engine.connect() as connection:
            stored = standing_events(connection)
            withdrawn = set(
                connection.scalars(select(EventRow.id).where(EventRow.withdrawn_ms.is_not(None)))
            )
            notices = {row.id: row for row in connection.execute(select(NoticeRow.__table__))}
            kinds = Counter(connection.scalars(select(OutboxRow.kind)))
            last = connection.scalar(select(OutboxRow.id).order_by(OutboxRow.id.desc()).limit(1))
        street.wait_until(system, lambda: page.told.last == last)
        page.end()
        feed.end()
        engine.dispose()
    assert stored == expected
    assert page.known() == expected
    assert page.resets == 0
    backs = _taken_back_once(page, notices, withdrawn)
    return {
        "readings": sum(len(b.readings) for step in source.steps() for b in step.batches),
        "messages": len(arrivals),
        "events": len(expected),
        "announcements": dict(kinds),
        "notices": len(notices),
        "taken back": backs,
        "seconds": round(time.monotonic() - began),
    }


def _taken_back_once(page: Page, notices: dict[str, Any], withdrawn: set[str]) -> int:
    """Each notice ends with the page as in the database, and is taken back once at most: if its
    event never was, it is."""
    assert set(page.notices) == set(notices)
    found = 0
    for name, told in page.notices.items():
        row = notices[name]
        last = told[-1]
        ended = last["closed_because"], last["closed"]
        assert ended == (row.closed_because, row.closed_ms and iso(row.closed_ms)), name
        backs = [one for one in told if one["closed_because"] in TAKEN_BACK]
        assert len(backs) <= 1, told
        assert [one["change"] for one in told].count("opened") == 1, told
        assert all(one["taken_back"] for one in backs), told
        if row.about in withdrawn:
            assert backs, told
        found += len(backs)
    return found


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.timeout(7200)
def test_a_day_of_aarhus_in_disorder_with_three_kills_ends_in_the_corrected_day(
    data_pack: Path, tmp_path: Path
) -> None:
    """One reading in ten is up to half an hour late, one in fifty corrected and one in a hundred
    withdrawn; pipeline, ingest and pipeline are killed. The events, and what a page saw of them,
    are those of the corrected day; a notice that is taken back is so once."""
    print(_through(data_pack, tmp_path, 24, ("pipeline", "ingest", "pipeline")))
