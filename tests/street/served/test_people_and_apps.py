"""Apps in the whole running system: instances come, change and go, and nothing is started again
for it."""

from __future__ import annotations

from secrets import token_hex

import pytest

from tests.street.city import City

pytestmark = [pytest.mark.spark, pytest.mark.slow]

WISH = {"app": "contextual_filtering", "template": "critical_events"}
ROUTE = {"coordinates": [[10.19, 56.15], [10.22, 56.15]]}
HERE = {"lat": 56.15, "lon": 10.195}
JAM = {
    "type": "TrafficJam", "level": 3, "start_ms": 1_780_000_000_000, "source": "sensor",
    "geometry": {"type": "Point", "coordinates": [10.21, 56.1509]},  # 100 m beside the way
}  # fmt: skip


def notices(city: City, *users: str) -> set[tuple[str, str]]:
    """Instance and last change of the notices there have been to some users."""
    found = [n for user in users for n in city.ask("GET", f"notices?user={user}")["notices"]]
    return {(notice["instance"], notice["change"]) for notice in found}


def test_instances_come_change_and_go_while_the_system_runs(city: City) -> None:
    processes = {role: child.process.pid for role, child in city.system.children.items()}
    users = [f"{name}-{token_hex(3)}" for name in ("alice", "bob")]  # of their own at each try
    for user in users:
        city.publish(
            f"context/{user}", {"route": ROUTE, "position": HERE, "activity": "DrivingCar"}
        )
    city.publish("events/jam-1", JAM)
    alice = city.ask(
        "POST",
        "instances",
        {**WISH, "user": users[0], "values": {"interest": "my_route", "radius": 200}},
    )
    city.until(lambda: notices(city, *users) == {(alice["id"], "opened")})
    why = city.ask("GET", f"why?instance={alice['id']}&about=jam-1")
    assert why["told"] is True

    bob = city.ask(
        "POST",
        "instances",
        {**WISH, "user": users[1], "values": {"interest": "my_route", "radius": 50}},
    )
    city.ask("PUT", f"instances/{alice['id']}", {"values": {"radius": 60}})
    city.until(lambda: notices(city, *users) == {(alice["id"], "closed")})
    city.ask("PUT", f"instances/{bob['id']}", {"values": {"radius": 300}})
    opened = {(alice["id"], "closed"), (bob["id"], "opened")}
    city.until(lambda: notices(city, *users) == opened)

    city.ask("DELETE", f"instances/{bob['id']}")
    city.until(lambda: (bob["id"], "closed") in notices(city, *users))
    (gone,) = city.ask("GET", f"notices?user={users[1]}")["notices"]
    assert gone["closed_because"] == "removed"
    assert {r: c.process.pid for r, c in city.system.children.items()} == processes
    names = {trace["request"] for trace in city.ask("GET", "traces")["traces"]}
    assert "contextual_filtering/critical_events@3" in names
