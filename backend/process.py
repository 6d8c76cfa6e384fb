"""One process of a running system: `python -m citywise.backend.process ROLE FILE`.

FILE is JSON: the settings, and for the source what to play. The process ends orderly on
SIGTERM, and at once when its standard input closes, so that none outlives the supervisor.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from citywise.backend import logs, own_files, telemetry, times
from citywise.backend.errors import CitywiseError
from citywise.backend.kinds import Kinds
from citywise.backend.settings import Settings


def main() -> None:
    """Read the arguments and play the role."""
    own_files.keep_from_others()
    role, file = sys.argv[1:3]
    values = _orders(file)
    settings = _settings(role, values)
    logs.begin(role)
    if role != "web":  # its worker begins, after it has forked
        telemetry.begin(role)
    if role == "web":
        _web(settings, lambda: _settings(role, _orders(file)))
        return
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: stop.set())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        ROLES.get(role, _of_app(role))(settings, values, stop)
    except CitywiseError as error:
        _tell(settings, role, error)
        sys.exit(error.exit_code)
    finally:
        telemetry.end()


def _tell(settings: Settings, role: str, error: CitywiseError) -> None:
    """Say what the user can mend: in the process' log, and at /readyz."""
    from citywise.backend.store.heartbeat import fail

    logging.getLogger("citywise").error("%s", error)
    with (
        contextlib.suppress(SQLAlchemyError),
        settings.open_database().begin() as connection,
    ):
        fail(connection, role, str(error))


def _end_with_parent() -> None:
    """Wait for the end of standard input: then the supervisor is gone."""
    while os.read(0, 4096):
        pass
    os._exit(1)


def _orders(file: str) -> dict[str, Any]:
    """What the supervisor has written for its processes, as it is now."""
    found: dict[str, Any] = json.loads(Path(file).read_text(encoding="utf-8"))
    return found


def _settings(role: str, values: dict[str, Any]) -> Settings:
    """The settings of a process, which goes by the city's clock, as the supervisor wrote them."""
    settings = Settings.model_validate(values["settings"])
    times.use_zone(settings.city.zone)
    return settings.model_copy(update={"broker": settings.broker.of_process(role)})


def _web(settings: Settings, again: Callable[[], Settings]) -> None:
    from citywise.backend.api.serve import main as serve

    serve(settings, again)


def _ingest(settings: Settings, _values: dict[str, Any], stop: threading.Event) -> None:
    from citywise.backend.ingest.intake import IntakeStore
    from citywise.backend.ingest.service import IngestService
    from citywise.backend.store.letters import Bounds

    store = IntakeStore(settings.open_database(), Bounds.of(settings.ingest))
    IngestService(settings, store, stop).run()


def _pipeline(settings: Settings, _values: dict[str, Any], stop: threading.Event) -> None:
    from citywise.backend.pipeline.service import PipelineService

    PipelineService(settings, settings.open_database(), stop).run()


def _notifier(settings: Settings, _values: dict[str, Any], stop: threading.Event) -> None:
    from citywise.backend.notices.notifier import NotifierService

    NotifierService(settings, settings.open_database(), stop).run()


def _connectors(settings: Settings, _values: dict[str, Any], stop: threading.Event) -> None:
    from citywise.backend.sources.service import SourcesService

    SourcesService(settings, settings.open_database(), stop).run()


def _of_app(name: str) -> Callable[[Settings, dict[str, Any], threading.Event], None]:
    """The process that an app brings, which is called as the app."""

    def serve(settings: Settings, _values: dict[str, Any], stop: threading.Event) -> None:
        from citywise.backend.packs.parts import brought_to

        engine = settings.open_database()
        service = brought_to(settings).usable(engine)[name].service
        assert service is not None, f"the app {name} brings no process"
        service(settings, engine, stop)

    return serve


def _source(settings: Settings, values: dict[str, Any], stop: threading.Event) -> None:
    from citywise.backend.city.source import AHEAD, run_source
    from citywise.backend.kinds.sources import of_files

    play = values["source"]
    since = _time(play.get("since"))
    ahead = AHEAD if play.get("ahead_s") is None else timedelta(seconds=play["ahead_s"])
    run_source(
        city(play, of_files(settings)),
        settings.broker,
        speed=play["speed"],
        stop=stop,
        ahead=ahead,
        since=since,
    )


def city(play: dict[str, Any], kinds: Kinds | None = None) -> Any:
    """The source that the demo asked for: a replay of recorded data, or the simulation, which
    has sensors of some of `kinds` if it is asked to."""
    from citywise.backend.city.replay import Replay
    from citywise.backend.city.simulation import Simulation

    start, until = _time(play["start"]), _time(play["until"])
    lead_in = None if play["lead_in_s"] is None else timedelta(seconds=play["lead_in_s"])
    if play["data"]:
        return Replay(Path(play["data"]), start, until, lead_in)
    others = kinds and kinds.of(play.get("kinds") or ())
    return Simulation(
        seed=play["seed"], start=start, until=until, lead_in=lead_in, others=others or None
    )


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


ROLES = {
    "ingest": _ingest,
    "pipeline": _pipeline,
    "notifier": _notifier,
    "connectors": _connectors,
    "source": _source,
}

if __name__ == "__main__":
    main()
