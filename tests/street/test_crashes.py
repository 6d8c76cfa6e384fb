"""Nothing is lost, doubled or announced twice, whatever dies on the way."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from citywise.backend.city.simulation import START, Simulation
from citywise.backend.pipeline.recorded import changes
from citywise.backend.settings import Pipeline
from citywise.backend.supervisor import System
from tests.street import running as street

LEAD_IN = timedelta(hours=1)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("hours", "deaths"),
    [
        pytest.param(7, ["ingest", "broker", "pipeline"], marks=pytest.mark.thorough),
        pytest.param(
            14,
            ["pipeline", "ingest", "broker", "pipeline", "ingest", "pipeline"],
            marks=pytest.mark.long,
        ),
    ],
    ids=["each once", "many"],
)
def test_after_deaths_the_events_are_those_of_an_undisturbed_run(
    tmp_path: Path, hours: int, deaths: list[str]
) -> None:
    """Pipeline, ingest and broker are killed while a simulated day goes through, on the
    incremental engine; the events and announcements equal those that the solver computes
    without broker, log, Spark and database."""
    until = START + timedelta(hours=hours)
    play = {
        "data": None,
        "speed": 1200.0,
        "start": START.isoformat(),
        "until": until.isoformat(),
        "lead_in_s": LEAD_IN.total_seconds(),
        "seed": 7,
    }
    expected = list(changes(Simulation(7, START, until, LEAD_IN), "solver"))
    with street.system(tmp_path, play, Pipeline(engine="incremental")) as system:
        for number, role in enumerate(deaths, start=1):
            passed = START + number * timedelta(hours=hours) / (len(deaths) + 1)
            street.wait_until(system, lambda t=passed: _answered(system) > t)  # type: ignore[misc]
            if role == "broker":
                street.restart_broker(system)
            else:
                street.kill(system, role)
        street.wait_until(system, lambda: _answered(system) > until)
        events, announced = street.events(system), street.announced(system)
    assert announced == [(t, kind, e["id"], e["confirmed"]) for t, kind, e in expected]
    assert len(announced) > 20
    final = {e["id"]: (e["start"], e["confirmed"], e["end"], e["level"]) for _, _, e in expected}
    assert set(events) == set(final)
    opened = {key: _ms(value[0]) for key, value in final.items()}
    assert {key: value[0] for key, value in events.items()} == opened
    ended = {key: value[2] and _ms(value[2]) for key, value in final.items()}
    assert {key: value[2] for key, value in events.items()} == ended


def _answered(system: System) -> datetime:
    return datetime.fromtimestamp(street.answered(system) / 1000, START.tzinfo)


def _ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)
