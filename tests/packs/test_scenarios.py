"""Scenarios: lines become entries of the log, their notices are compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from citywise.backend.ingest.records import ClockReading, Reading, Standing
from citywise.backend.kinds import builtin
from citywise.backend.packs import scenarios
from citywise.backend.packs.scenario_run import compare, read_expected, run, update
from citywise.backend.packs.scenarios import ALONE, ScenarioError, entries
from citywise.backend.pipeline.recorded import concluded
from citywise.reasoning import Finding
from tests.packs.folders import AppFolder

START = "2026-05-04T06:00:00Z"
LATER = "2026-05-04T06:01:00Z"
MS = 1777874400000
ROAD = {
    "id": "bridge",
    "kind": "road",
    "name": "Bridge Street",
    "geometry": {"type": "LineString", "coordinates": [[10.2, 56.15], [10.204, 56.15]]},
}
JAM = {"id": "jam1", "type": "TrafficJam", "level": 4, "place_id": "bridge"}
MINE = {"id": "alice.jams", "template": "jam_ahead", "user": "alice", "values": {"radius": 100}}
WAY = {"coordinates": [[10.19, 56.15], [10.22, 56.15]]}
THERE = {"lat": 56.15, "lon": 10.19}
STORY: list[dict[str, Any]] = [
    {"t": START, "place": ROAD},
    {"t": START, "instance": MINE},
    {
        "t": START,
        "context": {"user": "alice", "route": WAY, "position": {"lat": 56.15, "lon": 10.19}},
    },
    {"t": LATER, "event": JAM},
    {"t": "2026-05-04T06:05:00Z", "event": {"id": "jam1", "end": True}},
]
OPENED = {
    "t": LATER,
    "change": "opened",
    "notice": "jam_ahead",
    "instance": "alice.jams",
    "about": "jam1",
    "criticality": 4,
}
CLOSED = {**OPENED, "t": "2026-05-04T06:05:00Z", "change": "closed"}


def story(app: AppFolder, *lines: dict[str, Any], name: str = "first.jsonl") -> Path:
    """Write a scenario, or the notices expected of it."""
    return app.write(f"scenarios/{name}", "".join(f"{json.dumps(line)}\n" for line in lines))


def test_lines_become_entries_with_a_clock_after_each_time(app: AppFolder) -> None:
    reading = {"kind": "traffic", "sensor": "bridge", "speed_kmh": 7, "vehicle_count": 30}
    path = story(app, {"t": START, "place": ROAD}, {"t": START, "reading": reading}, {"t": LATER})
    place, observed, first, second = entries(path, [app.template()])
    assert isinstance(place, Standing)
    assert (place.subject, place.key, place.body["name"]) == ("place", "bridge", "Bridge Street")
    assert isinstance(observed, Reading)
    assert (observed.kind, observed.observed_ms) == ("traffic", MS)
    assert observed.values == {"speed_kmh": 7, "vehicle_count": 30}
    assert isinstance(first, ClockReading)
    assert isinstance(second, ClockReading)
    assert (first.now_ms, second.complete_ms) == (MS, MS + 60_000)
    positions = [entry.position for entry in (place, observed, first, second)]
    assert positions == sorted(set(positions))


def test_an_event_takes_name_and_geometry_from_its_place(app: AppFolder) -> None:
    path = story(app, STORY[0], {"t": LATER, "event": JAM})
    jam = entries(path, [app.template()])[2]
    assert isinstance(jam, Standing)
    assert jam.body is not None
    assert jam.body["name"] == "Bridge Street"
    assert jam.body["geometry"]["type"] == "LineString"
    assert (jam.body["start_ms"], jam.body["source"]) == (MS + 60_000, "sensor")


def test_values_of_an_instance_are_bound(app: AppFolder) -> None:
    path = story(app, {"t": START, "instance": {**MINE, "values": {}}})
    instance = entries(path, [app.template()])[0]
    assert isinstance(instance, Standing)
    assert instance.body == {
        "app": "jam_watch",
        "template": "jam_ahead",
        "version": 1,
        "user": "alice",
        "values": {"radius": 300},
    }


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"t": "06:00"}, "`t` is '06:00', expected a time with zone such as"),
        ({}, "`t` is None, expected a time with zone"),
        ({"t": "2026-05-04T05:00:00Z"}, "`t` goes back, from 2026-05-04T06:00:00Z to"),
        ({"t": START, "events": {}}, 'found the keys events, expected "t" and one of place,'),
        ({"t": START, "event": 5}, "`event` must be an object"),
        (
            {"t": START, "event": {**JAM, "place_id": None}},
            "event `jam1`: geometry: Field",
        ),
        (
            {"t": START, "event": {**JAM, "type": "TraficJam"}},
            "`TraficJam` is no type of event; did you mean `TrafficJam`?",
        ),
        ({"t": START, "event": {"type": "Fog", "end": True}}, "event ``:"),
        (
            {"t": START, "context": {"user": "alice", "activity": "Cykling"}},
            "context: `Cykling` is no activity; did you mean `Cycling`?",
        ),
        ({"t": START, "context": {"user": "alice", "mood": 5}}, "context: mood: Extra inputs"),
        ({"t": START, "context": {"user": 'a"', "activity": "Walking"}}, 'activity `a"`:'),
        (
            {"t": START, "instance": {**MINE, "template": "jam"}},
            "the app has no template `jam`; there are: jam_ahead",
        ),
        (
            {"t": START, "instance": {**MINE, "version": 7}},
            "instance `alice.jams`: version is 7, but here is 1; leave `version` out",
        ),
        (
            {"t": START, "instance": {**MINE, "values": {"radius": "near"}}},
            'radius: found "near", expected a whole number from 50 to 1000',
        ),
        ({"t": START, "reading": {"kind": "smell"}}, "`kind` is 'smell', expected one of air,"),
        ({"t": START, "reading": {"kind": "air", "sensor": "x"}}, "reading: none of `ozone`"),
    ],
)
def test_a_line_at_fault_is_named_with_what_to_write(
    app: AppFolder, line: dict[str, Any], said: str
) -> None:
    path = story(app, STORY[0], line)
    with pytest.raises(ScenarioError) as caught:
        entries(path, [app.template()])
    assert str(caught.value).startswith(f"{path}:2: ")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            {"event": {**JAM, "place_id": "brigde", "geometry": ROAD["geometry"]}},
            "event `jam1`: place_id: there is no place `brigde`; did you mean `bridge`?",
        ),
        (
            {"reading": {"kind": "parking", "sensor": "P1", "occupied": 1, "capacity": 2}},
            "reading of parking: sensor: there is no place `P1`; the scenario's places are: bridge",
        ),
        (
            {"instance": {**MINE, "values": {"garage": "bridge"}}},
            "instance `alice.jams`: garage: `bridge` is a road, expected a garage",
        ),
    ],
)
def test_a_place_that_is_named_must_be_there(
    app: AppFolder, line: dict[str, Any], said: str
) -> None:
    garage = "\n".join(
        ("[templates.jam_ahead.parameters.garage]", 'type = "place"', 'kind = "garage"')
    )
    app.manifest("[notices.", f'{garage}\ntitle = "G"\noptional = true\n[notices.')
    path = story(app, {"t": START, **line}, STORY[0])
    with pytest.raises(ScenarioError) as caught:
        entries(path, [app.template()], ALONE)
    assert str(caught.value) == f"{path}:1: {said}"
    assert entries(path, [app.template()]), "elsewhere the city has places too"


def test_a_place_may_be_meant_by_what_its_readings_tell(app: AppFolder) -> None:
    """Whatever the kind is called: apps know roles."""
    app.manifest('streams = ["events"]', 'streams = ["events"]\nroles = ["free_places"]')
    garage = "\n".join(
        ("[templates.jam_ahead.parameters.garage]", 'type = "place"', 'roles = ["free_places"]')
    )
    app.manifest("[notices.", f'{garage}\ntitle = "G"\noptional = true\n[notices.')
    racks = """kind = "racks"
places = ["rack"]
[fields.left]
type = "integer"
role = "free_places"
"""
    findings: list[Finding] = []
    (app.path / "more").mkdir()
    (app.path / "more" / "racks.toml").write_text(racks, encoding="utf-8")
    (app.path / "more" / "rack.toml").write_text('place = "rack"\ngeometry = "point"\n')
    kinds = builtin().and_folder(app.path / "more", findings)
    assert findings == []
    point = {"type": "Point", "coordinates": [10.2, 56.15]}
    rack = {"id": "r1", "kind": "rack", "name": "Rack", "geometry": point}
    mine = {"t": START, "instance": {**MINE, "values": {"garage": "r1"}}}
    path = story(app, {"t": START, "place": rack}, mine)
    assert entries(path, [app.template()], ALONE, kinds)
    path = story(app, STORY[0], {**mine, "instance": {**MINE, "values": {"garage": "bridge"}}})
    with pytest.raises(ScenarioError, match="is a road, expected a place with readings of free_"):
        entries(path, [app.template()], ALONE)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"event": {"id": "jam2", "end": True}}, "there is no event `jam2` that could end; did"),
        (
            {"instance": {"id": "bob.jams", "remove": True}},
            "there is no instance `bob.jams` that could end; there are: none",
        ),
    ],
)
def test_only_what_stands_can_end(app: AppFolder, line: dict[str, Any], said: str) -> None:
    path = story(app, STORY[0], {"t": START, "event": JAM}, {"t": LATER, **line})
    with pytest.raises(ScenarioError) as caught:
        entries(path, [app.template()], ALONE)
    assert f"{path}:3: {said}" in str(caught.value)


def test_a_scenario_in_which_nothing_happens_is_a_fault(app: AppFolder) -> None:
    with pytest.raises(ScenarioError, match=r"first\.jsonl: empty; write what happens"):
        entries(story(app), [app.template()])


def test_all_lines_at_fault_are_named(app: AppFolder) -> None:
    path = story(app, {"t": 5}, STORY[0], {"t": START, "place": {}})
    with pytest.raises(ScenarioError) as caught:
        entries(path, [app.template()])
    assert [line.split(":")[1] for line in str(caught.value).splitlines()] == ["1", "3"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", ":1: this line is no JSON"),
        ("[]", ":1: expected an object"),
        ('{"t": "x", "t": "y"}', ":1: this line is no JSON: the key `t` comes twice; remove one"),
    ],
)
def test_a_line_that_is_no_object_is_named(app: AppFolder, text: str, said: str) -> None:
    path = app.write("scenarios/first.jsonl", text)
    with pytest.raises(ScenarioError, match=said):
        entries(path, [app.template()])


def test_a_scenario_brings_its_notices(app: AppFolder) -> None:
    outcome = run(app.load(), story(app, *STORY), concluded)
    assert list(outcome.got) == [
        {**OPENED, "details": {"metres": 745}, "text": "Bridge Street in 745 m"},
        {
            **CLOSED,
            "details": {"metres": 745},
            "text": "Bridge Street in 745 m",
            "closed_because": "ended",
        },
    ]


def test_notices_as_expected_are_no_differences(app: AppFolder) -> None:
    path = story(app, *STORY)
    story(app, OPENED, {**CLOSED, "closed_because": "ended"}, name="first.expected.jsonl")
    assert run(app.load(), path, concluded).differences == ()


def test_what_came_can_be_written_as_what_is_expected(app: AppFolder) -> None:
    path = story(app, *STORY)
    outcome = run(app.load(), path, concluded)
    assert (len(outcome.differences), outcome.has_expected) == (2, False)
    update(outcome)
    assert run(app.load(), path, concluded).differences == ()
    assert "text" not in next(read_expected(scenarios.expected_path(path)))


@pytest.mark.parametrize(
    ("expected", "got", "lines"),
    [
        ([], [], []),
        ([OPENED], [], [f"- {json.dumps(OPENED)}"]),
        ([], [OPENED], [f"+ {json.dumps(OPENED)}"]),
        (
            [{**OPENED, "criticality": 2}],
            [{**OPENED, "details": {"metres": 745}}],
            [f"- {json.dumps({**OPENED, 'criticality': 2})}", f"+ {json.dumps(OPENED)}"],
        ),
        (
            [OPENED, CLOSED],
            [CLOSED, OPENED],
            [],
        ),
        (
            [OPENED, OPENED],
            [OPENED],
            [f"- {json.dumps(OPENED)}"],
        ),
        (
            [CLOSED],
            [OPENED],
            [f"+ {json.dumps(OPENED)}", f"- {json.dumps(CLOSED)}"],
        ),
    ],
)
def test_differences_read_as_a_diff_in_order_of_time(
    expected: list[dict[str, Any]], got: list[dict[str, Any]], lines: list[str]
) -> None:
    assert [line for found in compare(expected, got) for line in found.lines()] == lines


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"t": START}, "missing change, notice, instance, about; a notice has t, change"),
        ({**OPENED, "level": 4}, "unknown level; a notice has"),
        ({**OPENED, "t": "noon"}, "`t` is 'noon', expected a time with zone"),
    ],
)
def test_an_expected_line_at_fault_is_named(
    app: AppFolder, line: dict[str, Any], said: str
) -> None:
    path = story(app, line, name="first.expected.jsonl")
    with pytest.raises(ScenarioError) as caught:
        list(read_expected(path))
    assert f"{path}:1: {said}" in str(caught.value)
