"""Traces over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from citywise.backend.store.models import TraceRow
from citywise.backend.times import parse_ms, wall_ms
from tests.api.town import Town


def trace(town: Town, number: int, at: str, **more: Any) -> None:
    values = {"request": "jam_watch/jam_ahead@1", "items": 40, "atoms": 3, "seconds": 0.01, **more}
    town.save(TraceRow(id=number, t_ms=parse_ms(at), created_ms=wall_ms(), **values))


@pytest.fixture(autouse=True)
def some(town: Town) -> None:
    trace(town, 1, "2014-08-05T12:00:00Z", request="traffic_jam", items=0)
    notice = {"change": "opened", "instance": "alice.jam_ahead", "notice": "jam_ahead"}
    others = {**notice, "instance": f"u-{'a' * 20}.jam_ahead"}
    changed = {
        "instances": ["alice.jam_ahead", others["instance"]],
        "notices": [notice, others],
    }
    trace(town, 2, "2014-08-05T12:01:00Z", keys=1, notices=1, position=99, changed=changed)
    trace(town, 3, "2014-08-05T12:02:00Z", error="too slow")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [3, 2, 1]),
        ("request=traffic_jam", [1]),
        ("request=jam_watch/jam_ahead@1", [3, 2]),
        ("templates=true", [3, 2]),
        ("templates=false", [1]),
        ("from=2014-08-05T12:01:00Z", [3, 2]),
        ("until=2014-08-05T12:01:00Z", [2, 1]),
        ("failed=true", [3]),
        ("failed=false", [2, 1]),
        ("changed=true", [2]),
        ("changed=false", [3, 1]),
        ("idle=false", [3, 2]),
        ("idle=true", [1]),
        ("before=3", [2, 1]),
    ],
)
def test_traces_are_those_that_fit_the_filters_newest_first(
    client: FlaskClient, query: str, expected: list[int]
) -> None:
    found = client.get(f"/api/v1/traces?{query}").json
    assert [one["id"] for one in found["traces"]] == expected
    assert found["next"] is None


def test_pages_of_traces_follow_each_other(client: FlaskClient) -> None:
    first = client.get("/api/v1/traces?limit=2").json
    rest = client.get(f"/api/v1/traces?limit=2&before={first['next']}").json
    assert [one["id"] for one in rest["traces"]] == [1]


def test_a_trace_says_what_was_evaluated_and_what_came_of_it(client: FlaskClient) -> None:
    """But not of people, whose business it is."""
    found = client.get("/api/v1/traces/2").json
    assert found["t"] == "2014-08-05T12:01:00Z"
    assert (found["keys"], found["notices"], found["position"]) == (1, 1, 99)
    assert found["changed"]["instances"] == ["alice.jam_ahead"]
    assert [each["instance"] for each in found["changed"]["notices"]] == ["alice.jam_ahead"]
    empty = client.get("/api/v1/traces/1").json
    assert empty["changed"] == {"instances": [], "notices": []}
    for unknown in ("4", 2**63 - 1, 2**63, "9" * 30):
        assert client.get(f"/api/v1/traces/{unknown}").status_code == 404
