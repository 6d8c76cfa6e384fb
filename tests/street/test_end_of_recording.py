"""A recording that was sent to its end is answered to its end, whatever dies there."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from citywise.backend import cli
from citywise.backend.city.simulation import START, Simulation
from citywise.backend.city.source import SETTLE_MS
from citywise.backend.operations import readiness
from citywise.backend.pipeline.recorded import changes
from citywise.backend.settings import Ingest, People, Settings
from citywise.backend.supervisor import System
from citywise.backend.times import to_ms
from tests.api.town import soon
from tests.street import running as street

UNTIL = START + timedelta(hours=4)
LEAD_IN = timedelta(hours=1)
ENDED = to_ms(UNTIL) + SETTLE_MS
PLAY: dict[str, Any] = {
    "data": None,
    "speed": None,
    "start": START.isoformat(),
    "until": UNTIL.isoformat(),
    "lead_in_s": LEAD_IN.total_seconds(),
    "seed": 7,
}


@pytest.mark.long
@pytest.mark.spark
def test_what_is_not_yet_answered_is_answered_when_the_folder_goes_on(tmp_path: Path) -> None:
    """Everything is sent while there is no pipeline, then the system ends; it is resumed, and
    its source dies four times. The announcements are those of an undisturbed run."""
    sent_but_not_answered(tmp_path)
    again = PLAY | {"start": None, "lead_in_s": None}
    cli._go_on(again, tmp_path)
    with street.system(tmp_path, again) as system:
        for _ in range(4):
            dies_and_is_started_again(system)
        street.wait_until(system, lambda: street.answered(system) >= ENDED - SETTLE_MS)
        announced = street.announced(system)
        street.wait_until(system, lambda: not reasons(system))
    expected = changes(Simulation(7, START, UNTIL, LEAD_IN), "solver")
    assert announced == [(t, kind, e["id"], e["confirmed"]) for t, kind, e in expected]
    assert len(announced) > 10


def dies_and_is_started_again(system: System) -> None:
    """Kill the source, and wait for the next."""
    killed = system.children["source"].process
    street.kill(system, "source")
    street.wait_until(system, lambda: system.children["source"].process is not killed)


def sent_but_not_answered(folder: Path) -> None:
    """A system without a pipeline takes the whole recording, and then ends."""
    settings = Settings(
        data_dir=folder, ingest=Ingest(clock="topic"), people=People(demo_user=True)
    )
    system = System(settings, PLAY)
    try:
        system.start()
        street.kill(system, "pipeline")
        soon(lambda: "ingest" in system._heartbeats(), 200)
        system.spawn("source")
        soon(lambda: system._ingest_says("complete_ms") == ENDED, 200)
    finally:
        system.stop()


def reasons(system: System) -> list[str]:
    """Why the system is not ready."""
    found: list[str] = readiness.as_json(readiness.check_all(system._database, system.settings))[
        "reasons"
    ]
    return found
