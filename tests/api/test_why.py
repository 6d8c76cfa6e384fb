"""Asking what would be told, and why something was told or not: answered from a log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from jsonschema import Draft202012Validator

from citywise.backend.notices import book
from citywise.backend.settings import People, Pipeline, RequestLimits, Settings
from citywise.backend.store.models import TraceRow
from citywise.backend.times import parse_ms, wall_ms
from tests.api.log import Log
from tests.api.templates import change, install, jam_ahead
from tests.api.town import NOON, Town

WISH = {"app": "jam_watch", "template": "jam_ahead", "user": "alice"}
CHECK = "/api/v1/instances/check"
JAM = {
    "type": "TrafficJam",
    "level": 3,
    "place_id": "100",
    "name": "Viborgvej",
    "geometry": {"type": "Point", "coordinates": [10.20, 56.15]},
    "start_ms": parse_ms("2014-08-05T11:30:00Z"),
    "source": "sensor",
}
ROUTE = {"coordinates": [[10.18, 56.15], [10.22, 56.15]]}
BEFORE = {"lat": 56.15, "lon": 10.19, "heading": None, "along_m": None}
BEHIND = {"lat": 56.15, "lon": 10.21, "heading": None, "along_m": None}
TITLE = {"type": "text", "title": "Name", "optional": True}
EARLIER = "2014-08-05T11:50:00Z"


@pytest.fixture
def log(settings: Settings, town: Town) -> Iterator[Log]:
    """A jam on alice's way, before her."""
    town.running()
    town.road("100", "Viborgvej")
    town.event("jam-1", "100", "2014-08-05T11:30:00Z")
    install(town, jam_ahead())
    log = Log(settings.log_dir)
    log.stands("event", "jam-1", JAM)
    log.stands("route", "alice", ROUTE)
    log.stands("position", "alice", BEFORE)
    yield log
    log.close()


@pytest.fixture
def instance(client: FlaskClient, log: Log) -> str:
    """An instance of alice's, which stands in the log too."""
    made: Any = client.post("/api/v1/instances", json=WISH).json
    body = {name: made[name] for name in ("app", "template", "version", "user", "values")}
    log.stands("instance", made["id"], body)
    return str(made["id"])


def why(client: FlaskClient, **wanted: Any) -> dict[str, Any]:
    answer = client.get("/api/v1/why", query_string=wanted)
    assert answer.status_code == 200, answer.json
    validate(client, "Why", answer.json)
    return dict(answer.json or {})


def validate(client: FlaskClient, schema: str, body: Any) -> None:
    document: Any = client.get("/api/v1/openapi.json").json
    components = {"components": document["components"]}
    Draft202012Validator({"$ref": f"#/components/schemas/{schema}", **components}).validate(body)


# --- Trying ------------------------------------------------------------------------------


def test_what_an_instance_would_tell_is_told_before_it_is_saved(
    client: FlaskClient, log: Log
) -> None:
    log.clock(NOON)
    found: Any = client.post(f"{CHECK}?lang=da", json=WISH).json
    assert found["values"] == {"radius": 300}
    validate(client, "Trial", found)
    (notice,) = found["notices"]
    assert (notice["title"], notice["criticality"]) == ("Kø forude", 3)
    assert notice["text"].startswith("Viborgvej om 6")
    assert client.get("/api/v1/instances").json == {"instances": [], "next": None}


def test_an_instance_that_is_there_is_tried_as_if_it_were_new(
    client: FlaskClient, log: Log, instance: str
) -> None:
    log.clock(NOON)
    found: Any = client.post(CHECK, json={**WISH, "id": instance}).json
    assert len(found["notices"]) == 1


def test_nothing_is_told_of_what_lies_behind(client: FlaskClient, log: Log) -> None:
    log.stands("position", "alice", BEHIND)
    log.clock(NOON)
    found: Any = client.post(CHECK, json=WISH).json
    assert (found["notices"], found["reason"]) == ([], None)


def test_values_are_checked_as_when_saving(client: FlaskClient, log: Log) -> None:
    log.clock(NOON)
    answer = client.post(CHECK, json={**WISH, "values": {"radius": 1}})
    assert answer.status_code == 422


def test_a_trial_says_what_is_not_known_of_the_user(client: FlaskClient, log: Log) -> None:
    log.clock(NOON)
    found: Any = client.post(CHECK, json={**WISH, "user": "nobody-knows"}).json
    assert found["notices"] == []
    assert found["missing"] == ["position", "route"]


@pytest.mark.usefixtures("log")
def test_before_the_first_time_nothing_can_be_tried_and_the_reason_is_given(
    client: FlaskClient,
) -> None:
    found: Any = client.post(CHECK, json=WISH).json
    assert found["notices"] is None
    assert "nothing has been evaluated yet" in found["reason"]


# --- Why ---------------------------------------------------------------------------------


def test_why_a_user_was_told_is_explained_by_the_rules(
    client: FlaskClient, log: Log, instance: str
) -> None:
    log.clock(NOON)
    found = why(client, instance=instance, about="jam-1")
    assert (found["told"], found["notice"], found["at"]) == (True, "jam_ahead", NOON)
    assert "near_route" in found["text"]
    assert any(fact.startswith('radius("alice.jam_ahead",300') for fact in found["inputs"])
    assert any(atom.startswith('notice("alice.jam_ahead"') for atom in found["answer"])


def test_why_a_user_was_not_told_names_what_was_missing(
    client: FlaskClient, log: Log, instance: str
) -> None:
    log.stands("position", "alice", BEHIND)
    log.clock(NOON)
    found = why(client, instance=instance, about="jam-1")
    assert found["told"] is False
    assert "near_route" in found["text"]
    assert not any(fact.startswith("near_route") for fact in found["inputs"])


def test_of_a_notice_that_was_taken_back_it_names_the_reading_and_from_what_to_what(
    client: FlaskClient, log: Log, town: Town, instance: str
) -> None:
    cause = {
        "kind": "traffic",
        "sensor": "100",
        "observed_ms": parse_ms("2014-08-05T11:25:00Z"),
        "what": "corrected",
        "before": {"speed_kmh": 12.0, "vehicle_count": 30},
        "after": {"speed_kmh": 42.0, "vehicle_count": 30},
    }
    opened = parse_ms(EARLIER)
    because = {"closed_because": "corrected", "taken_back": [cause]}
    with town.engine.begin() as connection:
        book.apply(connection, [change("opened", opened)])
        book.apply(connection, [change("closed", opened + 60_000, **because)])
    log.stands("position", "alice", BEHIND)
    log.clock(NOON)
    assert why(client, instance=instance, about="jam-1")["text"].endswith(
        "Note: the notice of 2014-08-05T11:50:00Z was taken back: the reading of traffic at `100` "
        "of 2014-08-05T11:25:00Z was corrected: speed_kmh from 12.0 to 42.0.\n"
    )


def test_a_place_of_the_city_is_asked_about_as_a_place(
    client: FlaskClient, log: Log, town: Town, instance: str
) -> None:
    town.garage("havnen", "Havnen")
    log.clock(NOON)
    for about, note in (
        ("havnen", 'Note: `havnen` is a place, and `streams` in app.toml lists no "places"'),
        ("havnn", "Note: there is no event or place `havnn`; did you mean `havnen`?"),
    ):
        assert note in why(client, instance=instance, about=about)["text"]
    assert "citywise/place/havnen" in why(client, instance=instance, about="havnen")["text"]


def test_the_past_is_asked_about_by_time_or_by_trace(
    client: FlaskClient, log: Log, town: Town, instance: str
) -> None:
    position = log.clock(EARLIER)
    log.stands("position", "alice", BEHIND)
    log.clock(NOON)
    measured = {"items": 3, "atoms": 1, "seconds": 0.1, "created_ms": wall_ms()}
    request = "jam_watch/jam_ahead@1"
    town.save(
        TraceRow(id=7, request=request, t_ms=parse_ms(EARLIER), position=position, **measured),
        TraceRow(id=8, request="traffic_jam", t_ms=parse_ms(EARLIER), **measured),
    )
    for then in ({"trace": 7}, {"at": "2014-08-05T11:55:00Z"}):
        found = why(client, instance=instance, about="jam-1", **then)
        assert (found["told"], found["at"]) == (True, EARLIER)
    assert why(client, instance=instance, about="jam-1")["told"] is False
    for then in ({"trace": 8}, {"trace": 9}, {"at": "2014-08-05T11:00:00Z"}):
        answer = client.get("/api/v1/why", query_string={"instance": instance, **then})
        assert answer.status_code == 404, then


def test_without_a_subject_it_says_what_was_known_and_concluded(
    client: FlaskClient, log: Log, instance: str
) -> None:
    log.clock(NOON)
    found = why(client, instance=instance)
    assert (found["told"], found["text"], found["about"]) == (None, None, None)
    assert any(fact.startswith("near_route") for fact in found["inputs"])
    assert any(atom.startswith("notice") for atom in found["answer"])


def test_an_instance_that_is_not_in_the_log_yet_cannot_be_asked_about(
    client: FlaskClient, log: Log
) -> None:
    log.clock(NOON)
    client.post("/api/v1/instances", json=WISH)
    for wanted in ({}, {"about": "jam-1"}):
        answer = client.get("/api/v1/why", query_string={"instance": "alice.jam_ahead", **wanted})
        assert answer.status_code == 404
        assert "there was no instance" in (answer.json or {})["detail"]


@pytest.mark.parametrize(
    ("query", "status", "parameter"),
    [
        ({}, 400, "instance"),
        ({"instance": "none"}, 404, None),
        ({"instance": "alice.jam_ahead", "notice": "jam"}, 400, "notice"),
        ({"instance": "alice.jam_ahead", "about": "x" * 301}, 400, "about"),
        ({"instance": "alice.jam_ahead", "at": "noon"}, 400, "at"),
        ({"instance": "alice.jam_ahead"}, 409, None),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused(
    client: FlaskClient, instance: str, query: dict[str, str], status: int, parameter: str | None
) -> None:
    answer = client.get("/api/v1/why", query_string=query)
    assert answer.status_code == status, instance
    assert (answer.json or {}).get("parameter") == parameter


# --- Limits ------------------------------------------------------------------------------

GREEDY = """\
#prefix ev : <https://w3id.org/citywise/event#>.
notice(Me,"jam_ahead",E,3) :- radius(Me,R), near_route(Me,E,R), ev_level(E,_), many(Me,R).
many(Me,1..R) :- radius(Me,R).
"""


class TestWithinLimits:
    """Rules that ground to more than is allowed are stopped, here as in the pipeline."""

    @pytest.fixture
    def settings(self, tmp_path: Path) -> Settings:
        limits = RequestLimits(atoms=600)
        return Settings(
            data_dir=tmp_path,
            pipeline=Pipeline(limits=limits),
            people=People(demo_user=True),
        )

    @pytest.fixture(autouse=True)
    def greedy(self, town: Town, log: Log) -> None:
        install(town, jam_ahead(9, rules=GREEDY, parameters={"alias": TITLE}))

    def made(self, client: FlaskClient, log: Log, radius: int) -> str:
        body = {**WISH, "version": 9, "values": {"radius": radius}}
        made: Any = client.post("/api/v1/instances", json=body).json
        body = {name: made[name] for name in ("app", "template", "version", "user", "values")}
        log.stands("instance", made["id"], body)
        return str(made["id"])

    def test_why_is_answered_where_the_rules_kept_within_them_and_refused_where_not(
        self, client: FlaskClient, log: Log
    ) -> None:
        modest, greedy = self.made(client, log, 100), self.made(client, log, 1000)
        log.clock(NOON)
        assert why(client, instance=modest, about="jam-1")["told"] is True
        for about in ({}, {"about": "jam-1"}):
            answer = client.get("/api/v1/why", query_string={"instance": greedy, **about})
            assert answer.status_code == 503
            said = (answer.json or {})["detail"]
            assert f"instance '{greedy}': request `jam_watch/jam_ahead@9` was stopped" in said
            assert "more than 600 ground atoms; what grew: many/2" in said

    def test_a_trial_gives_the_reason(self, client: FlaskClient, log: Log) -> None:
        log.clock(NOON)
        wish = {**WISH, "version": 9, "values": {"radius": 1000}}
        found: Any = client.post(CHECK, json=wish).json
        assert found["notices"] == []
        assert "more than 600 ground atoms" in found["reason"]
