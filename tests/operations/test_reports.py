"""What operators see of sensors, requests and processes, over HTTP and for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import update

from citywise.backend.ingest.log import LogWriter
from citywise.backend.ingest.records import encode_readings
from citywise.backend.kinds import Observation
from citywise.backend.operations import roster
from citywise.backend.operations.requests import GROWS_BYTES, GROWS_OVER_MS, GROWS_WITHIN_MS, Lags
from citywise.backend.settings import Settings, Source
from citywise.backend.sources.working import report
from citywise.backend.store.heartbeat import beat
from citywise.backend.store.models import CursorRow, DeadLetterRow, TraceRow
from citywise.backend.times import parse_ms, wall_ms
from tests.api.town import NOON, Town

SENSORS = "/api/v1/operator/sensors"
REQUESTS = "/api/v1/operator/requests"
AT_NOON = datetime(2014, 8, 5, 12, tzinfo=UTC)
COLLEAGUE = "u-aaaaaaaaaaaaaaaaaaaa"


@pytest.fixture
def writer(settings: Settings) -> Iterator[LogWriter]:
    found = LogWriter(settings.log_dir)
    yield found
    found.close()


def speaks(writer: LogWriter, sensor: str, readings: int, minutes_ago: int = 0) -> None:
    """A sensor has spoken every five minutes, last `minutes_ago`."""
    ends = AT_NOON - timedelta(minutes=minutes_ago)
    told = [
        Observation(
            sensor,
            ends - timedelta(minutes=5 * n),
            {"speed_kmh": 40.0 + n, "vehicle_count": 9},
            {},
        )
        for n in reversed(range(readings))
    ]
    writer.append([encode_readings("traffic", 0, list(told))])
    writer.sync()


def by_place(answer: Any) -> dict[str, Any]:
    return {sensor["place"]["id"]: sensor for sensor in answer["sensors"]}


# --- Sensors -----------------------------------------------------------------------------


def test_sensors_are_listed_the_worst_first_with_why(
    client: FlaskClient, town: Town, writer: LogWriter
) -> None:
    town.road("2", "Two")
    town.road("3", "Three")
    speaks(writer, "158324", 4)
    speaks(writer, "3", 4, minutes_ago=20)
    found = client.get(SENSORS).json
    assert found["now"] == NOON
    assert found["counts"]["traffic"] == {"silent": 2, "implausible": 0, "ok": 1}
    assert [(s["place"]["name"], s["state"]) for s in found["sensors"]] == [
        ("Two", "silent"),
        ("Three", "silent"),
        ("Bruuns Galleri", "ok"),  # not heard, but nobody has waited long enough
        ("Ringgaden", "ok"),
    ]
    (reason,) = by_place(found)["3"]["reasons"]
    assert (reason["check"], reason["text"]) == (
        "silent",
        "no reading for 20 min; usually every 5 min",
    )
    well = by_place(found)["158324"]
    values = {"speed_kmh": 40.0, "vehicle_count": 9}
    assert well["last"] == {"observed_at": NOON, "age_s": 0.0, "values": values, "extra": {}}
    assert (well["period_s"], well["reasons"]) == (300.0, [])
    trusted: dict[str, Any] = {"reliable": True, "percent": 100, "because": None, "accuracy": {}}
    assert well["reliability"] == trusted
    assert by_place(found)["3"]["reliability"] == {
        **trusted,
        "reliable": False,
        "because": "silent",
    }
    assert by_place(found)["2"]["reliability"] is None


def test_sensors_are_filtered_and_cut(client: FlaskClient, town: Town, writer: LogWriter) -> None:
    town.road("2", "Two")
    speaks(writer, "158324", 9)
    silent = client.get(f"{SENSORS}?state=silent&kind=traffic").json
    assert list(by_place(silent)) == ["2"]
    assert client.get(f"{SENSORS}?kind=air").json["sensors"] == []
    cut = client.get(f"{SENSORS}?limit=1").json
    assert (len(cut["sensors"]), cut["truncated"]) == (1, True)
    assert client.get(f"{SENSORS}?state=broken").status_code == 400


def test_a_reading_that_is_no_more_in_the_log_is_known_from_the_database(
    client: FlaskClient, town: Town, writer: LogWriter
) -> None:
    town.reading("traffic", "158324", "2014-08-05T11:30:00Z", speed_kmh=40.0, vehicle_count=9)
    (sensor, *_) = client.get(SENSORS).json["sensors"]
    assert (sensor["place"]["id"], sensor["last"]["age_s"]) == ("158324", 1800.0)
    assert sensor["reasons"][0]["text"] == "no reading for 30 min"


def test_sensors_are_looked_at_anew_after_a_few_seconds(
    client: FlaskClient, town: Town, writer: LogWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    speaks(writer, "158324", 4, minutes_ago=20)
    assert by_place(client.get(SENSORS).json)["158324"]["state"] == "silent"
    speaks(writer, "158324", 1)
    assert by_place(client.get(SENSORS).json)["158324"]["state"] == "silent"
    monkeypatch.setattr(roster, "FRESH_S", 0.0)
    assert by_place(client.get(SENSORS).json)["158324"]["state"] == "ok"


def test_without_a_readable_log_it_is_said_so(
    client: FlaskClient, town: Town, writer: LogWriter, settings: Settings
) -> None:
    speaks(writer, "158324", 4)
    for segment in settings.log_dir.glob("*.log"):
        segment.write_bytes(segment.read_bytes()[:-9] + b"damaged!!")
    answer = client.get(SENSORS)
    assert (answer.status_code, answer.json["type"]) == (503, "urn:citywise:problem:log-unreadable")
    assert client.get("/metrics").status_code == 200


# --- Requests ----------------------------------------------------------------------------


def evaluated(town: Town, request: str, seconds: list[float], error: str | None = None) -> None:
    town.save(
        *(
            TraceRow(
                request=request,
                t_ms=parse_ms(NOON),
                items=1,
                atoms=1,
                seconds=one,
                error=error,
                created_ms=wall_ms() - 1000,
            )
            for one in seconds
        )
    )


def stands(town: Town, request: str, position: int = 0, behind_s: int = 0) -> None:
    answered = parse_ms(NOON) - behind_s * 1000
    town.save(
        CursorRow(
            request=request,
            position=position,
            resume_from=0,
            answered_ms=answered,
            state={},
            updated_ms=wall_ms(),
        )
    )


def reports(client: FlaskClient) -> dict[str, Any]:
    return {report["request"]: report for report in client.get(REQUESTS).json["requests"]}


def test_a_request_says_how_far_behind_and_how_slow_it_is(
    client: FlaskClient, town: Town, writer: LogWriter
) -> None:
    speaks(writer, "158324", 4)
    stands(town, "traffic_jam", 10, behind_s=90)
    evaluated(town, "traffic_jam", [n / 100 for n in range(1, 101)])
    found = reports(client)["traffic_jam"]
    assert (found["lag_bytes"], found["lag_s"]) == (writer.end - 10, 90.0)
    assert found["hour"] == {
        "evaluations": 100,
        "sampled": 100,
        "failures": 0,
        "p50_s": 0.5,
        "p99_s": 0.99,
    }
    assert (found["slow_because"], found["last_failure"]) == ([], None)


@pytest.mark.parametrize(
    ("pipeline", "because"),
    [
        ({"ended": True}, ["the pipeline has ended and is started again"]),
        ({"stage": "starting Spark", "batches": 0}, ["the pipeline is starting Spark"]),
        ({"batches": 0}, ["the pipeline has not evaluated its first batch"]),
        ({"batches": 1}, []),
    ],
)
def test_a_request_that_lags_while_the_pipeline_starts_says_so(
    client: FlaskClient,
    town: Town,
    writer: LogWriter,
    pipeline: dict[str, Any],
    because: list[str],
) -> None:
    speaks(writer, "158324", 4)
    stands(town, "traffic_jam", 10)
    town.heartbeat("pipeline", **pipeline)
    assert reports(client)["traffic_jam"]["slow_because"] == because


def test_a_slow_request_stands_first_and_says_which_limit(client: FlaskClient, town: Town) -> None:
    stands(town, "a_quick")
    stands(town, "slow")
    evaluated(town, "a_quick", [5.0] * 99)
    evaluated(town, "slow", [0.1] * 50 + [5.1])
    found = client.get(REQUESTS).json
    assert [report["request"] for report in found["requests"]] == ["slow", "a_quick"]
    (reason,) = found["requests"][0]["slow_because"]
    assert "takes 5.1 s or more; pipeline.limits.seconds is 10" in reason
    assert found["limits"]["seconds"] == 10


def test_a_failure_is_told_without_saying_whose_instance_it_was(
    client: FlaskClient, town: Town
) -> None:
    request = "contextual_filtering/critical_events@3"
    stands(town, request)
    evaluated(town, request, [0.1])
    evaluated(town, request, [0.2, 0.3], f"more than 10 s: instance {COLLEAGUE}.critical_events")
    found = reports(client)[request]
    assert (found["hour"]["evaluations"], found["hour"]["failures"]) == (3, 2)
    assert found["hour"]["sampled"] == 1
    assert found["template"]
    assert found["last_failure"]["error"].startswith("more than 10 s: instance ")
    assert COLLEAGUE not in found["last_failure"]["error"]


def test_evaluations_of_an_hour_ago_do_not_count_but_the_last_failure_is_kept(
    client: FlaskClient, town: Town
) -> None:
    stands(town, "traffic_jam")
    old = wall_ms() - 3_700_000
    row = {"request": "traffic_jam", "t_ms": 0, "items": 0, "atoms": 0, "seconds": 9.0}
    town.save(TraceRow(**row, error="too many atoms", created_ms=old))
    found = reports(client)["traffic_jam"]
    assert found["hour"]["evaluations"] == 0
    assert found["hour"]["p99_s"] is None
    assert found["last_failure"]["error"] == "too many atoms"


@pytest.mark.parametrize(
    ("lags", "grows"),
    [
        ([0, GROWS_BYTES + 1], True),
        ([0, GROWS_BYTES], False),
        ([0, 5 * GROWS_BYTES, 2 * GROWS_BYTES], True),
        ([100, 0, 2 * GROWS_BYTES], False),  # it caught up in between
        ([5 * GROWS_BYTES, 4 * GROWS_BYTES], False),
        ([0], False),
        ([], False),
    ],
)
def test_a_lag_grows_if_it_is_larger_and_never_was_smaller(lags: list[int], grows: bool) -> None:
    found = Lags()
    for number, lag in enumerate(lags):
        found.note("r", number * GROWS_OVER_MS, lag)
    assert found.grows("r") == grows


def test_a_lag_is_compared_only_with_those_of_the_last_minutes() -> None:
    found = Lags()
    found.note("r", 0, 0)
    found.note("r", 1, 2 * GROWS_BYTES)
    assert not found.grows("r")  # too short a time to tell
    found.note("r", GROWS_WITHIN_MS + 2, 2 * GROWS_BYTES)
    assert not found.grows("r")
    found.keep(["other"])
    assert not found.grows("r")


def test_processes_say_whether_they_live_and_what_is_wrong(client: FlaskClient, town: Town) -> None:
    town.heartbeat("pipeline", age_s=60, error="too many atoms", lag_bytes=7, parts={"a": 2})
    town.alter("ingest", connected=False)
    town.dead_letter(1, "json")
    found = client.get(REQUESTS).json
    ingest, pipeline = found["processes"]
    assert (ingest["process"], ingest["alive"]) == ("ingest", True)
    assert ingest["problem"] == "no connection to the broker"
    assert (pipeline["alive"], pipeline["problem"]) == (False, "too many atoms")
    assert pipeline["detail"] == {"lag_bytes": 7}
    assert found["dead_letters"] == {"hour": 1, "kept": 1, "refused": 1}


# --- Prometheus --------------------------------------------------------------------------


def test_metrics_count_sensors_lags_and_events(
    client: FlaskClient, town: Town, writer: LogWriter
) -> None:
    town.road("2", "Two")
    speaks(writer, "158324", 9)
    stands(town, "traffic_jam", behind_s=90)
    body = {"type": "RoadWorks", "place_id": "2"}
    client.post("/api/v1/operator/events", json=body)
    text = client.get("/metrics").text
    assert 'citywise_sensors{kind="traffic",state="silent"} 1.0' in text
    assert 'citywise_sensors{kind="traffic",state="ok"} 1.0' in text
    assert 'citywise_request_lag_seconds{request="traffic_jam"} 90.0' in text
    assert 'citywise_operator_events{state="open"} 1.0' in text


# --- Sources -----------------------------------------------------------------------------


def test_operators_see_how_each_source_fares_those_that_fail_first(
    client: FlaskClient, town: Town
) -> None:
    assert client.get("/api/v1/operator/sources").json["sources"] == []
    told = {"name": "a", "connector": "cap", "urls": ("http://x.org/",)}
    sound = report(Source.model_validate(told), {"messages": 3}, lag_s=1.5)
    fails = report(Source.model_validate({**told, "name": "b"}), error="http://x.org/: status 503")
    with town.engine.begin() as connection:
        beat(connection, "connectors", {"sources": [sound, fails]})
    found = client.get("/api/v1/operator/sources").json["sources"]
    assert [(one["name"], one["error"]) for one in found] == [("b", fails["error"]), ("a", None)]
    text = client.get("/metrics").text
    assert 'citywise_source_ok{source="b"} 0.0' in text
    assert 'citywise_source{source="a",what="messages"} 3.0' in text
    assert 'citywise_source_lag_seconds{source="a"} 1.5' in text


def test_the_last_hour_is_told_minute_by_minute(client: FlaskClient, town: Town) -> None:
    now_ms = wall_ms()
    for minutes_ago, seconds in ((0, 0.5), (0, 2.0), (3, 0.25), (75, 9.0)):
        at = now_ms - minutes_ago * 60_000
        measured = {"items": 3, "atoms": 1, "seconds": seconds, "created_ms": at}
        town.save(TraceRow(request="jams", t_ms=0, **measured))
    town.dead_letter(1, "not-json")
    with town.engine.begin() as connection:
        connection.execute(update(DeadLetterRow).values(received_ms=now_ms - 2 * 60_000))
    found = client.get(REQUESTS).json["minutes"]
    assert all(len(found[name]) == 60 for name in found.keys() - {"from"})
    # A minute may begin between the rows and the answer.
    shown = [found["evaluations"], found["slowest_s"], found["refused"]]
    last = next(n for n in (59, 58) if shown[0][n])
    assert [values[last] for values in shown] == [2, 2.0, 0]
    assert [values[last - 3] for values in shown] == [1, 0.25, 0]
    assert [values[last - 2] for values in shown] == [0, None, 1]
    assert sum(shown[0]) == 3


def test_of_a_minute_the_worst_lag_is_kept_for_an_hour() -> None:
    lags = Lags()
    for minute, lag_s in ((100, 2.0), (100, 7.0), (100, 3.0), (101, 1.0)):
        lags.note_worst(minute * 60_000 + 500, lag_s)
    assert lags.worst_s == {100: 7.0, 101: 1.0}
    lags.note_worst(160 * 60_000, 0.0)
    assert lags.worst_s == {101: 1.0, 160: 0.0}
