"""A system that lives in threads, without Spark and MQTT: people make and remove what is to stand,
an ingest takes it and readings into the log, and a pipeline answers what is in the log.

They keep the order of writes that the real ones keep; what each of them promises can be counted.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
from sqlalchemy import Engine, delete, func, insert, select
from sqlalchemy.exc import OperationalError

from citywise.backend.ingest import inlet, log
from citywise.backend.ingest.journal import Journal
from citywise.backend.ingest.standing import Entry
from citywise.backend.people import accounts
from citywise.backend.settings import Settings
from citywise.backend.store.database import create_engine_for
from citywise.backend.store.models import CursorRow, InletRow, InstanceRow, OutboxRow
from citywise.backend.store.upsert import upsert
from citywise.backend.times import wall_ms

REQUEST = "city"
SEGMENT_BYTES = 2_000


class Life:
    """What lives in a state folder."""

    def __init__(self, settings: Settings, seed: int) -> None:
        self.settings = settings
        self.engine: Engine = create_engine_for(settings.database_url)
        self.journal = Journal(settings.log_dir, SEGMENT_BYTES)
        self.random = random.Random(seed)
        self.acknowledged = max(numbers(settings.log_dir), default=0)
        """The last reading that is durable."""
        self._stop = threading.Event()
        self.errors: list[BaseException] = []

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Live until the block ends."""
        loops = (self.ingest, self.pipeline, self.people)
        threads = [threading.Thread(target=self._loop, args=[loop]) for loop in loops]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()
            assert self.errors == []

    def _loop(self, step: object) -> None:
        assert callable(step)
        while not self._stop.is_set():
            try:
                step()
            except OperationalError as error:
                if "locked" not in str(error):
                    self.errors.append(error)
                    return
            except BaseException as error:  # noqa: BLE001 - told of at the end
                self.errors.append(error)
                return
            time.sleep(0.001)

    def ingest(self) -> None:
        """Append readings and what is in the inlet; remove from it what is durable."""
        taken = self._taken()
        self.journal.expect(taken.entries)
        self.journal.stand(taken.entries, wall_ms(), taken.entry_ids)
        for number in range(self.acknowledged + 1, self.acknowledged + 4):
            self.journal.add(orjson.dumps({"k": "traffic", "r": number, "v": []}))
        self.journal.write()
        self.acknowledged += 3
        inlet.Inlet(self.engine).remove(taken.ids)

    def _taken(self) -> inlet.Taken:
        taken = inlet.Taken()
        with self.engine.connect() as connection:
            for row in connection.execute(select(InletRow.__table__).order_by(InletRow.id)):
                taken.ids.append(row.id)
                taken.entries.append(Entry(row.subject, row.key, row.body))
                taken.entry_ids.append(row.id)
        return taken

    def pipeline(self) -> None:
        """Answer what is new: an announcement for each reading, with the cursor."""
        end = log.durable_end(self.settings.log_dir)
        with self.engine.begin() as connection:
            start = connection.scalar(select(func.max(CursorRow.position))) or 0
            found = list(numbers(self.settings.log_dir, start, end))
            rows = [{"t_ms": n, "kind": "event", "body": {}, "created_ms": 0} for n in found]
            if rows:
                connection.execute(insert(OutboxRow), rows)
            cursor: dict[str, object] = {
                "request": REQUEST,
                "position": end,
                "resume_from": start,
                "answered_ms": None,
                "state": {},
                "updated_ms": 0,
            }
            upsert(connection, CursorRow, [cursor])
            needed = start
        log.trim(self.settings.log_dir, min(needed, self.journal.needed_from), 0)

    def people(self) -> None:
        """Somebody makes something that is to stand, or removes it."""
        with self.engine.begin() as connection:
            found = list(connection.scalars(select(InstanceRow.id)))
            if len(found) > 20 and self.random.random() < 0.6:
                gone = self.random.choice(found)
                connection.execute(delete(InstanceRow).where(InstanceRow.id == gone))
                inlet.write(connection, [("instance", gone, None)])
            else:
                name = f"u-{self.random.randrange(5)}.i{self.random.randrange(10**9)}"
                connection.execute(insert(InstanceRow), [_instance(name)])
                inlet.write(connection, [("instance", name, {"user": name.partition(".")[0]})])

    def standing(self) -> set[str]:
        """What stands by the log, once all of the inlet has been taken."""
        self.journal.register.sort()
        return {key for subject, key in _keys(self.settings.log_dir) if subject == "instance"}

    def close(self) -> None:
        self.journal.close()
        self.engine.dispose()


def _keys(folder: Path) -> set[tuple[str, str]]:
    from citywise.backend.ingest import records

    end = log.durable_end(folder)
    found: set[tuple[str, str]] = set()
    for entry in records.read_standing(folder, records.standing_since(folder, end), end):
        pair = (entry.subject, entry.key)
        found = found - {pair} if entry.body is None else found | {pair}
    return found


def _instance(name: str) -> dict[str, object]:
    return {
        "id": name,
        "app": "a",
        "template": "t",
        "version": 1,
        "user": name.partition(".")[0],
        "values": {},
        "title": None,
        "created_ms": 0,
        "updated_ms": 0,
    }


def numbers(folder: Path, start: int | None = None, end: int | None = None) -> Iterator[int]:
    """The readings of a log, by their numbers."""
    bases = log.segments(folder)
    if not bases:
        return
    begin = bases[0] if start is None else max(start, bases[0])
    for record in log.read(folder, begin, log.durable_end(folder) if end is None else end):
        said = orjson.loads(record.payload)
        if said.get("k") == "traffic":
            yield said["r"]


def announced(engine: Engine) -> list[int]:
    """What the pipeline has answered."""
    with engine.connect() as connection:
        return list(connection.scalars(select(OutboxRow.t_ms).order_by(OutboxRow.id)))


def sign_up(engine: Engine, *names: str) -> list[str]:
    """Accounts of these names; returns their ids."""
    with engine.begin() as connection:
        return [accounts.create(connection, n, f"pass {n} word", ()).id for n in names]
