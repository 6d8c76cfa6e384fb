"""A city that runs is backed up, its machine is lost, and it goes on elsewhere."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from citywise.backend import cli
from citywise.backend.backup.drill import drill
from citywise.backend.backup.restoring import restore
from citywise.backend.backup.taking import back_up
from citywise.backend.city.simulation import START, Simulation
from citywise.backend.pipeline.recorded import changes
from citywise.backend.times import to_ms
from tests.street import running as street

UNTIL = START + timedelta(hours=4)
LEAD_IN = timedelta(hours=1)
HALF = to_ms(START) + 2 * 3_600_000
PLAY: dict[str, Any] = {
    "data": None,
    "speed": 600.0,
    "start": START.isoformat(),
    "until": UNTIL.isoformat(),
    "lead_in_s": LEAD_IN.total_seconds(),
    "seed": 7,
}


@pytest.mark.long
@pytest.mark.spark
def test_what_is_restored_announces_what_the_city_would_have(tmp_path: Path) -> None:
    """Everything once and in order, as if nothing had happened; what came after the backup is
    announced again."""
    with street.system(tmp_path / "first", PLAY) as system:
        street.wait_until(system, lambda: street.answered(system) >= HALF)
        before = street.announced(system)
        back_up(system.settings, tmp_path / "backup", passphrase="correct horse")
        assert drill(system.settings, None).records > 0
    shutil.rmtree(tmp_path / "first")
    restore(tmp_path / "backup", tmp_path / "second", passphrase="correct horse")
    again = PLAY | {"start": None, "lead_in_s": None}
    cli._go_on(again, tmp_path / "second")
    with street.system(tmp_path / "second", again) as system:
        street.wait_until(system, lambda: street.answered(system) >= to_ms(UNTIL))
        announced = street.announced(system)
    expected = changes(Simulation(7, START, UNTIL, LEAD_IN), "solver")
    assert announced[: len(before)] == before
    assert announced == [(t, kind, e["id"], e["confirmed"]) for t, kind, e in expected]
