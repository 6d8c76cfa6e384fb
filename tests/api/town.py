"""A small city written straight into the database, as ingest and pipeline would."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, update
from sqlalchemy.orm import Session

from citywise.backend.api.objects import event_from
from citywise.backend.store.models import (
    DeadLetterRow,
    EventRow,
    HeartbeatRow,
    OutboxRow,
    PlaceRow,
    ReadingRow,
)
from citywise.backend.times import parse_ms, wall_ms

NOON = "2014-08-05T12:00:00Z"


@dataclass
class Town:
    """Writes rows; times are ISO texts."""

    engine: Engine
    change: int = 0

    def save(self, *rows: Any) -> None:
        with Session(self.engine) as session:
            for row in rows:
                session.merge(row)
            session.commit()

    def road(self, place_id: str, name: str = "", line: Any = None, **more: Any) -> None:
        line = line or [[10.19, 56.15], [10.21, 56.16]]
        body = {
            "id": place_id,
            "kind": "road",
            "name": name or f"Road {place_id}, Aarhus: 1 → 2",
            "geometry": {"type": "LineString", "coordinates": line},
            "sensors": ["traffic"],
            "free_flow_kmh": 60.0,
            **more,
        }
        self._place(body, sum(p[1] for p in line) / len(line), sum(p[0] for p in line) / len(line))

    def garage(self, place_id: str, name: str, lon: float = 10.2, lat: float = 56.155) -> None:
        geometry = {"type": "Point", "coordinates": [lon, lat]}
        body = {"id": place_id, "kind": "garage", "name": name, "geometry": geometry}
        self._place({**body, "sensors": ["parking"], "capacity": 100}, lat, lon)

    def _place(self, body: dict[str, Any], lat: float, lon: float) -> None:
        self.save(
            PlaceRow(
                id=body["id"],
                kind=body["kind"],
                name=body["name"],
                lat=lat,
                lon=lon,
                body=body,
                updated_ms=wall_ms(),
            )
        )

    def reading(self, kind: str, place_id: str, at: str, **values: Any) -> None:
        self.change += 1
        self.save(
            ReadingRow(
                kind=kind,
                place_id=place_id,
                observed_ms=parse_ms(at),
                body=values,
                change=self.change,
            )
        )

    def event(
        self,
        event_id: str,
        place_id: str,
        start: str,
        end: str | None = None,
        *,
        confirmed: str | None = None,
        kind: str = "TrafficJam",
        level: int = 2,
        announce: str | None = None,
        revised: dict[str, Any] | None = None,
    ) -> int | None:
        """Write an event and, with `announce`, its announcement, whose id is returned."""
        row = EventRow(
            id=event_id,
            type=kind,
            level=level,
            place_id=place_id,
            start_ms=parse_ms(start),
            confirmed_ms=parse_ms(confirmed or start),
            end_ms=parse_ms(end) if end else None,
            request="traffic_jam" if kind == "TrafficJam" else "garage_nearly_full",
            causes={"opened": ['reading("road",1,"obs",3000,12)'], "confirmed": [], "ended": []},
            revised=revised,
        )
        with Session(self.engine) as session:
            session.merge(row)
            announced = None
            if announce:
                announced = OutboxRow(
                    t_ms=row.confirmed_ms,
                    kind=announce,
                    body=event_from(row, session.get(PlaceRow, place_id)),
                    created_ms=wall_ms(),
                )
                session.add(announced)
            session.commit()
            return announced.id if announced else None

    def announce_many(self, names: list[str], place_id: str = "100") -> None:
        """Announce events in one transaction, as a batch of the pipeline does."""
        place = {"id": place_id, "name": place_id, "lat": None, "lon": None}
        with Session(self.engine) as session:
            session.add_all(
                OutboxRow(
                    t_ms=0,
                    kind="event.opened",
                    body={"id": name, "type": "TrafficJam", "place": place},
                    created_ms=wall_ms(),
                )
                for name in names
            )
            session.commit()

    def heartbeat(self, process: str, age_s: float = 0, **detail: Any) -> None:
        at_ms = wall_ms() - int(age_s * 1000)
        self.save(HeartbeatRow(process=process, at_ms=at_ms, detail=detail))

    def beat(self) -> None:
        """Say that all processes are alive."""
        with Session(self.engine) as session:
            session.execute(update(HeartbeatRow).values(at_ms=wall_ms()))
            session.commit()

    def running(self, now: str = NOON, speed: float | None = 1.0, source: str = "replay") -> None:
        """Heartbeats of a system in which all is well at stream time `now`."""
        now_ms = parse_ms(now)
        self.heartbeat(
            "ingest",
            connected=True,
            blocked=None,
            now_ms=now_ms,
            complete_ms=now_ms,
            speed=speed,
            source=source,
            start_ms=parse_ms("2014-08-05T00:00:00Z"),
            until_ms=parse_ms("2014-08-06T00:00:00Z"),
            lag_bytes=0,
        )
        self.heartbeat(
            "pipeline", batches=1, last_t_ms={"traffic_jam": now_ms}, lag_bytes=0, error=None
        )

    def dead_letter(self, number: int, reason: str, payload: str = "{") -> None:
        self.save(
            DeadLetterRow(
                id=number,
                key=f"log:{number}",
                received_ms=wall_ms(),
                topic="citywise/observations/traffic",
                reason=reason,
                detail="line 1: not JSON",
                size=len(payload),
                payload=payload,
            )
        )

    def forget_announcements(self, up_to: int) -> None:
        """Remove old announcements, as retention does."""
        with Session(self.engine) as session:
            session.query(OutboxRow).filter(OutboxRow.id <= up_to).delete()
            session.commit()

    def alter(self, process: str, **detail: Any) -> None:
        """Change some details of a heartbeat."""
        with Session(self.engine) as session:
            row = session.get_one(HeartbeatRow, process)
            session.execute(
                update(HeartbeatRow)
                .where(HeartbeatRow.process == process)
                .values(detail={**row.detail, **detail})
            )
            session.commit()


def soon(holds: Callable[[], object], seconds: float = 120) -> None:
    """Wait until `holds()` is true; fail after `seconds`: many, for a busy machine."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.02)
