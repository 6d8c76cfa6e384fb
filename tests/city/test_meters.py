"""The simulated city has sensors of any kind that one asks for."""

from __future__ import annotations

from datetime import timedelta
from itertools import islice

import pytest
from click.testing import CliRunner

from citywise.backend.city.simulation import START, Simulation
from citywise.backend.cli import cli
from citywise.backend.ingest.places import fitting
from citywise.backend.kinds import Field, Kind, Kinds, PlaceKind, builtin

OWN = Kind(
    kind="pitch",
    places=("ground",),
    fields={
        "wet": Field(type="boolean"),
        "state": Field(type="category", values=("open", "closed", "lent")),
        "note": Field(type="text"),
        "depth": Field(type="integer", range=(-5, 5), step=5),
        "warm": Field(type="decimal", range=(30, 31), step=0.25, required=True),
    },
)
KINDS = builtin().with_kinds(OWN, PlaceKind(place="ground", geometry="line"))
NEW = ["noise", "bikes", "climate", "air_quality", "pitch"]
DAY = timedelta(days=1)


def simulation(names: list[str]) -> Simulation:
    return Simulation(1, START, START + DAY, timedelta(0), KINDS.of(names))


def test_every_reading_fits_its_kind_and_every_place_is_known() -> None:
    source = simulation(NEW)
    known = {place.id: fitting(place, KINDS) for place in source.places()}
    heard = set()
    for step in source.steps():
        for batch in step.batches:
            if batch.kind in NEW:
                for observation in batch.observations(KINDS[batch.kind]):
                    assert batch.kind in known[observation.sensor].sensors
                    assert observation.observed_at == step.time
                    heard.add((batch.kind, observation.sensor))
    assert len(heard) == 3 * len(NEW)


def test_a_day_of_noise_passes_all_steps_of_the_map() -> None:
    levels = [
        reading["level"]
        for step in simulation(["noise"]).steps()
        for batch in step.batches
        if batch.kind == "noise"
        for reading in batch.readings
    ]
    assert all(isinstance(level, float) for level in levels)
    assert min(levels) < 55  # type: ignore[type-var, operator]
    assert max(levels) > 65  # type: ignore[type-var, operator]


def test_the_same_seed_tells_the_same_whatever_else_is_simulated() -> None:
    def noise(names: list[str]) -> list[object]:
        steps = islice(simulation(names).steps(), 50)
        return [b.readings for step in steps for b in step.batches if b.kind == "noise"]

    assert noise(["noise"]) == noise(["bikes", "noise"])
    plain = Simulation(1, START, START + DAY, timedelta(0))
    first = next(plain.steps()).batches
    assert first == next(simulation(["noise"]).steps()).batches[: len(first)]
    assert len(plain.places()) + 3 == len(simulation(["noise"]).places())


def test_a_kind_that_there_is_not_is_named_with_those_there_are() -> None:
    done = CliRunner().invoke(cli, ["demo", "--simulate", "smell"])
    assert done.exit_code == 2
    assert "there is no such kind" in done.output
    with pytest.raises(KeyError):
        Kinds().of(["smell"])
