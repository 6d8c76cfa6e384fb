"""Layers that come from an address: asked again and again, each in a thread of its own."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Engine

from citywise.backend.kinds import Kinds, PlaceKind
from citywise.backend.layers import taking
from citywise.backend.layers.reading import LayerError, read
from citywise.backend.sources.fetch import FetchError, Tag, fetch
from citywise.backend.sources.schedule import Schedule
from citywise.backend.times import wall_ms

LOG = logging.getLogger("citywise.connectors")


@dataclass
class _Asking:
    kind: PlaceKind
    stop: threading.Event


class LayerAddresses:
    """Asks the addresses of the layers that there are; `know` says which."""

    def __init__(self, engine: Engine, allowed: Collection[str] = ()) -> None:
        self._engine, self._allowed = engine, allowed
        self._asking: dict[str, _Asking] = {}
        self._kinds = Kinds()

    def know(self, kinds: Kinds) -> None:
        """Ask for these layers from now on, and for no others."""
        self._kinds = kinds
        wanted = {n: k for n, k in kinds.layers.items() if k.layer and k.layer.address}
        for name, known in list(self._asking.items()):
            if wanted.get(name) != known.kind:
                known.stop.set()
                del self._asking[name]
        for name, kind in wanted.items():
            if name not in self._asking:
                self._asking[name] = one = _Asking(kind, threading.Event())
                work = threading.Thread(target=self._ask, args=(one,), name=name, daemon=True)
                work.start()

    def close(self) -> None:
        """Ask for nothing more."""
        self.know(Kinds())

    def _ask(self, one: _Asking) -> None:
        assert one.kind.layer is not None
        schedule = Schedule(float(one.kind.layer.interval_s))
        wait_s = max(schedule.first_s(), self._rest_s(one.kind))
        while not one.stop.wait(wait_s):
            try:
                wait_s = self.ask(one.kind, schedule)
            except Exception:
                LOG.exception("layer `%s`: trying again", one.kind.place)
                wait_s = schedule.failed()

    def _rest_s(self, kind: PlaceKind) -> float:
        """How long after a restart the answer before is new enough."""
        assert kind.layer is not None
        with self._engine.connect() as connection:
            row = taking.known(connection).get(kind.place)
        if row is None or row["error"] is not None or row["origin"] != kind.layer.address:
            return 0.0
        since_s = float(wall_ms() - row["asked_ms"]) / 1000
        return float(kind.layer.interval_s) - since_s

    def ask(self, kind: PlaceKind, schedule: Schedule) -> float:
        """Ask an address once, and take what is new; how many seconds to wait then."""
        about = kind.layer
        assert about is not None
        assert about.address is not None
        with self._engine.connect() as connection:
            row = taking.known(connection).get(kind.place) or {}
        is_ours = row.get("origin") == about.address
        tag = Tag(**row["tag"]) if is_ours and row["error"] is None else Tag()
        begin = time.monotonic()
        try:
            answer = fetch(
                about.address, headers={}, tag=tag,
                timeout_s=float(about.timeout_s), max_bytes=about.max_bytes,
                allowed=self._allowed,
            )  # fmt: skip
            self._take(kind, about.address, answer.body, answer.tag, row.get("digest"))
        except (FetchError, LayerError) as error:
            said = f"{about.address}: {error}" if isinstance(error, FetchError) else str(error)
            with self._engine.begin() as connection:
                taking.refuse(connection, kind.place, said)
            if schedule.failures == 0:
                LOG.warning("layer `%s` stays as it is: %s", kind.place, said)
            return schedule.failed(error.wait_s if isinstance(error, FetchError) else None)
        LOG.info("layer `%s`: asked in %.1f s", kind.place, time.monotonic() - begin)
        return schedule.succeeded()

    def _take(
        self, kind: PlaceKind, address: str, body: bytes | None, tag: Tag, known: str | None
    ) -> None:
        with self._engine.begin() as connection:
            if body is None or taking.digest(body) == known:
                taking.unchanged(connection, kind.place)
                return
            city = taking.bounds(connection, self._kinds.layers)
        layer = read(kind, body, address, city)
        told = {"etag": tag.etag, "modified": tag.modified}
        with self._engine.begin() as connection:
            taking.take(connection, layer, body, address, told)
