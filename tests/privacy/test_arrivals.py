"""When people arrive: asked of apps, by the wall's clock, of those who let positions be used."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, Engine

from citywise.backend.packs import broken
from citywise.backend.packs.parts import Parts
from citywise.backend.people import accounts, arrivals, consents
from citywise.backend.settings import Settings
from citywise.backend.times import parse_ms, wall_ms
from tests.api.town import Town

NOON = "2014-08-05T12:00:00Z"
IN_MS = 600_000


@pytest.fixture(autouse=True)
def apps(monkeypatch: pytest.MonkeyPatch) -> None:
    """One app fails, the other says that everybody is at one place ten minutes after noon."""

    def fail(*_given: object) -> Iterator[arrivals.Arrival]:
        raise RuntimeError("nothing is known")

    def know(*_given: object) -> Iterator[arrivals.Arrival]:
        yield arrivals.Arrival(56.1, 10.2, parse_ms(NOON) + IN_MS)

    found = {"fails": Parts(arrivals=fail), "knows": Parts(arrivals=know), "other": Parts()}
    monkeypatch.setattr(arrivals, "of_settings", lambda _settings: found)


def account(connection: Connection, name: str, *, positions: bool) -> str:
    found = accounts.create(connection, name, "three words suffice").id
    consents.write(connection, found, "position", given=positions)
    return found


@pytest.mark.parametrize(("speed", "in_ms"), [(1.0, IN_MS), (10.0, IN_MS // 10), (0.0, IN_MS)])
def test_it_is_known_by_the_walls_clock_of_who_consents(
    engine: Engine, settings: Settings, speed: float, in_ms: int
) -> None:
    """A replay may run faster; where it rests, as if it went on."""
    Town(engine).running(NOON, speed=speed)
    with engine.begin() as connection:
        yes = account(connection, "Yes", positions=True)
        no = account(connection, "No", positions=False)
    before_ms = wall_ms()
    with engine.connect() as connection:
        found = arrivals.expected(connection, settings, [yes, no, "u-nobody"])
    assert found.keys() == {yes}
    ((lat, lon, at_ms),) = found[yes]
    assert (lat, lon) == (56.1, 10.2)
    assert before_ms + in_ms <= at_ms <= wall_ms() + in_ms
    assert ("fails", "arrivals") in {(fault.app, fault.part) for fault in broken.known()}


def test_nobody_arrives_before_now(engine: Engine, settings: Settings) -> None:
    Town(engine).running("2014-08-05T13:00:00Z", speed=1.0)
    with engine.begin() as connection:
        yes = account(connection, "Yes", positions=True)
    before_ms = wall_ms()
    with engine.connect() as connection:
        ((_lat, _lon, at_ms),) = arrivals.expected(connection, settings, [yes])[yes]
    assert before_ms <= at_ms <= wall_ms()
