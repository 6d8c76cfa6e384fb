"""Apps, their templates, and what people make of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, delete, select

from citywise.backend.api import instances
from citywise.backend.settings import Settings
from citywise.backend.store.models import InletRow, InstanceRow
from tests.api.log import Log
from tests.api.templates import install, jam_ahead
from tests.api.town import Town

ADDRESS = "/api/v1/instances"
WISH = {"app": "jam_watch", "template": "jam_ahead", "user": "alice"}


@pytest.fixture(autouse=True)
def city(town: Town) -> Town:
    town.garage("BRUUNS", "Bruuns")
    town.road("100", "Viborgvej")
    install(town, jam_ahead())
    return town


@pytest.fixture
def log(settings: Settings) -> Iterator[Log]:
    log = Log(settings.log_dir)
    yield log
    log.close()


def inlet(engine: Engine) -> list[tuple[str, str, Any]]:
    with engine.connect() as connection:
        query = select(InletRow.subject, InletRow.key, InletRow.body).order_by(InletRow.id)
        return [tuple(row) for row in connection.execute(query)]


def create(client: FlaskClient, **more: Any) -> dict[str, Any]:
    answer = client.post(ADDRESS, json={**WISH, **more})
    assert answer.status_code == 201, answer.json
    return dict(answer.json or {})


# --- Apps --------------------------------------------------------------------------------


def test_apps_are_listed_with_their_newest_templates(client: FlaskClient, town: Town) -> None:
    install(town, jam_ahead(2))
    create(client, version=1)
    assert client.get("/api/v1/apps").json == {
        "apps": [
            {
                "name": "jam_watch",
                "title": "Jam watch",
                "description": "",
                "templates": [
                    {
                        "name": "jam_ahead",
                        "version": 2,
                        "versions": [1, 2],
                        "title": "Jams on my way",
                        "help": "Tells of jams on what remains of the way.",
                        "instances": 1,
                    }
                ],
            }
        ]
    }


def test_an_app_is_described_in_the_language_asked_for(client: FlaskClient) -> None:
    found = client.get("/api/v1/apps/jam_watch?lang=da").json
    (template,) = found["templates"]
    assert (found["title"], template["title"]) == ("Køvagt", "Køer på min vej")
    radius, garage = template["parameters"]
    assert (radius["name"], radius["title"], radius["unit"]) == ("radius", "Hvor tæt på", "m")
    assert radius["help"] == "Of what remains of the way.", "what is not translated is English"
    assert (garage["type"], garage["kind"], garage["optional"]) == ("place", "garage", True)
    assert template["schema"]["properties"]["radius"]["title"] == "Hvor tæt på"
    assert template["schema"]["properties"]["radius"]["minimum"] == 50
    assert template["notices"] == [
        {"name": "jam_ahead", "title": "Kø forude", "text": "{about} om {metres} m"}
    ]
    accepted = client.get("/api/v1/apps/jam_watch", headers={"Accept-Language": "da"}).json
    assert accepted == found


def test_what_people_choose_from_is_named_in_their_language(
    client: FlaskClient, town: Town
) -> None:
    jam = "https://w3id.org/citywise/event#TrafficJam"
    more = {
        "mode": {"type": "choice", "choices": ["calm", "loud"], "title": "Mode"},
        "kind": {"type": "class", "of": jam, "choices": [jam], "title": "Kind"},
    }
    said = {"templates.jam_ahead.parameters.mode.choices.calm": "rolig"}
    install(town, jam_ahead(parameters=more, strings={"da": said}))
    found: Any = client.get("/api/v1/apps/jam_watch?lang=da").json
    labels = {p["name"]: p["labels"] for p in found["templates"][0]["parameters"]}
    assert labels["mode"] == {"calm": "rolig", "loud": "loud"}
    assert labels["kind"] == {jam: "trafikkø"}
    assert labels["radius"] == {}


def test_an_app_that_is_not_installed_is_not_found(client: FlaskClient) -> None:
    assert client.get("/api/v1/apps/none").status_code == 404
    assert client.get("/api/v1/apps?lang=xx").json["parameter"] == "lang"


# --- Making and changing -----------------------------------------------------------------


def test_a_new_instance_has_its_defaults_and_stands_in_the_inlet(
    client: FlaskClient, engine: Engine
) -> None:
    answer = client.post(ADDRESS, json={**WISH, "title": "To work"})
    assert answer.headers["Location"] == f"{ADDRESS}/alice.jam_ahead"
    made: Any = answer.json
    assert made["values"] == {"radius": 300}
    assert (made["version"], made["newest"], made["title"]) == (1, 1, "To work")
    assert made["asks"] == ["position", "route"]
    found = client.get(answer.headers["Location"]).json
    assert found == {**made, "missing": ["position", "route"]}
    standing = {**WISH, "version": 1, "values": {"radius": 300}}
    assert inlet(engine) == [("instance", "alice.jam_ahead", standing)]


def test_ids_are_given_so_that_none_is_given_twice(client: FlaskClient) -> None:
    ids = {create(client)["id"] for _ in range(3)} | {create(client, user="u" * 64)["id"]}
    assert len(ids) == 4
    assert "alice.jam_ahead" in ids
    assert all(len(found) <= 64 for found in ids)


def test_an_id_that_is_taken_is_refused(client: FlaskClient, engine: Engine) -> None:
    create(client, id="mine")
    answer = client.post(ADDRESS, json={**WISH, "id": "mine"})
    assert (answer.status_code, answer.json["type"][-15:]) == (409, "instance-exists")
    assert len(inlet(engine)) == 1


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            {**WISH, "values": {"radius": 333, "garage": "100", "radios": 1}},
            {"values.radius", "values.radios"},
        ),
        ({**WISH, "values": {"radius": "300"}}, {"values.radius"}),
        ({**WISH, "values": {"garage": "100"}}, {"values.garage"}),
        ({**WISH, "values": {"garage": "NOWHERE"}}, {"values.garage"}),
        ({**WISH, "app": "jam_wach"}, {"app"}),
        ({**WISH, "template": "jam"}, {"template"}),
        ({**WISH, "version": 2}, {"version"}),
        ({"app": "Jam", "user": 'a"b', "extra": 1}, {"app", "template", "user", "extra"}),
    ],
)
def test_everything_that_is_wrong_is_said_at_once(
    client: FlaskClient, engine: Engine, body: dict[str, Any], expected: set[str]
) -> None:
    answer = client.post(ADDRESS, json=body)
    assert answer.status_code == 422
    assert {error["path"] for error in answer.json["errors"]} == expected
    assert all(error["message"] for error in answer.json["errors"])
    assert inlet(engine) == []


def test_what_is_wrong_is_said_in_words_for_people(client: FlaskClient) -> None:
    body = {"app": "Jam", "user": 'a"b', "version": "1", "valeus": {}}
    errors = client.post(ADDRESS, json=body).json["errors"]
    assert {error["path"]: error["message"] for error in errors} == {
        "app": 'found "Jam", expected 1 to 32 of a-z 0-9 _, the first a letter',
        "template": "found nothing, but it is needed",
        "user": r'found "a\"b", expected 1 to 64 of A-Z a-z 0-9 _ . : -, '
        "the first a letter or digit",
        "version": 'found "1", expected a valid integer',
        "valeus": "there is no such field; did you mean `values`?",
    }
    wrong = {"position": {"lat": 91, "lon": 1, "alt": 3}, "preferences": {"a": 1.5}}
    errors = client.patch(CONTEXT, json=wrong).json["errors"]
    assert {error["path"]: error["message"] for error in errors} == {
        "position.lat": "found 91, expected less than or equal to 90",
        "position.alt": "there is no such field; leave it out",
        "preferences.a": "expected an integer of 32 bits or a text of at most 200 characters",
    }


def test_messages_say_what_there_is(client: FlaskClient, town: Town) -> None:
    install(town, jam_ahead(2))
    (error,) = client.post(ADDRESS, json={**WISH, "version": 3}).json["errors"]
    assert "no version 3; there are 1, 2" in error["message"]
    bad = {**WISH, "version": 1, "values": {"radius": 20}}
    (error,) = client.post(ADDRESS, json=bad).json["errors"]
    assert (error["found"], error["fix"]) == ("20", "the nearest is 50")


def test_a_change_keeps_what_is_not_given(client: FlaskClient, engine: Engine) -> None:
    made = create(client, title="To work", values={"radius": 500, "garage": "BRUUNS"})
    address = f"{ADDRESS}/{made['id']}"
    changed = client.put(address, json={"title": "Home"}).json
    assert (changed["title"], changed["values"]) == ("Home", made["values"])
    changed = client.put(address, json={"values": {"radius": 100}}).json
    assert (changed["title"], changed["values"]) == ("Home", {"radius": 100, "garage": "BRUUNS"})
    assert client.put(address, json=changed).json["values"] == changed["values"]
    changed = client.put(address, json={"values": {"garage": None, "radius": None}}).json
    assert changed["values"] == {"radius": 300}, "null takes a value away, or back to the default"
    assert inlet(engine)[-1][2]["values"] == {"radius": 300}
    wrong = client.put(address, json={"values": {"radios": 1}})
    assert [error["path"] for error in wrong.json["errors"]] == ["values.radios"]
    assert changed["created"] == made["created"]


@pytest.mark.parametrize("name", ["app", "template", "user"])
def test_whose_and_of_which_template_it_is_stays(client: FlaskClient, name: str) -> None:
    made = create(client)
    answer = client.put(f"{ADDRESS}/{made['id']}", json={name: "other"})
    assert (answer.status_code, answer.json["parameter"]) == (409, name)


def test_an_instance_keeps_its_version_until_it_is_migrated(
    client: FlaskClient, town: Town, engine: Engine
) -> None:
    made = create(client, values={"radius": 500})
    install(town, jam_ahead(2))
    address = f"{ADDRESS}/{made['id']}"
    kept = client.put(address, json={"title": "x"}).json
    assert (kept["version"], kept["newest"]) == (1, 2)
    lacking = client.put(address, json={"version": 2})
    assert lacking.status_code == 422
    (error,) = lacking.json["errors"]
    assert error["path"] == "values.alias"
    values = {"radius": 500, "alias": "A"}
    moved = client.put(address, json={"version": 2, "values": {"alias": "A"}}).json
    assert (moved["version"], moved["values"]) == (2, values)
    assert inlet(engine)[-1][2]["version"] == 2
    back = client.put(address, json={"version": 1}).json
    assert (back["version"], back["values"]) == (1, {"radius": 500})


def test_what_was_removed_comes_back_as_it_was(client: FlaskClient, engine: Engine) -> None:
    made = create(client, values={"radius": 100}, title="To work")
    address = f"{ADDRESS}/{made['id']}"
    removed = client.delete(address)
    assert removed.json == made
    assert client.get(address).status_code == client.delete(address).status_code == 404
    assert inlet(engine)[-1] == ("instance", made["id"], None)
    again = client.put(address, json=removed.json)
    assert again.status_code == 201
    times = {"created": 0, "updated": 0}
    assert {**(again.json or {}), **times} == {**made, **times}
    assert inlet(engine)[-1][2] == inlet(engine)[0][2]


def test_a_user_has_a_bounded_number_of_instances(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instances, "MAX_OF_USER", 2)
    create(client)
    create(client)
    create(client, user="bob")
    assert client.post(ADDRESS, json=WISH).json["title"] == "Too many instances"


def test_instances_are_listed_by_user_and_app_in_pages(client: FlaskClient) -> None:
    for name in ("a", "b", "c"):
        create(client, id=name)
    create(client, user="bob")

    def listed(query: str) -> list[str]:
        return [found["id"] for found in client.get(f"{ADDRESS}?{query}").json["instances"]]

    assert listed("user=alice") == ["a", "b", "c"]
    assert listed("app=jam_watch&user=bob") == ["bob.jam_ahead"]
    assert listed("app=other") == []
    first = client.get(f"{ADDRESS}?user=alice&limit=2").json
    assert listed(f"user=alice&limit=2&cursor={first['next']}") == ["c"]


def test_table_and_inlet_change_together_or_not_at_all(
    client: FlaskClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise RuntimeError("disk full")

    monkeypatch.setattr("citywise.backend.ingest.inlet.write", full)
    assert client.post(ADDRESS, json=WISH).status_code == 500
    with engine.connect() as connection:
        assert connection.execute(select(InstanceRow.id)).all() == []


# --- Context -----------------------------------------------------------------------------

CONTEXT = "/api/v1/users/alice/context"
POSITION = {"lat": 56.15, "lon": 10.2}


def test_context_that_is_told_stands_in_the_inlet(client: FlaskClient, engine: Engine) -> None:
    body = {"position": POSITION, "activity": "DrivingCar", "preferences": None}
    answer = client.patch(CONTEXT, json=body)
    assert answer.status_code == 202
    assert answer.json["forgotten"] == ["preferences"]
    position = {**POSITION, "heading": None, "along_m": None}
    assert inlet(engine) == [
        ("position", "alice", position),
        ("activity", "alice", {"activity": "DrivingCar"}),
        ("preferences", "alice", None),
    ]


def test_put_forgets_what_it_does_not_tell_and_delete_forgets_all(
    client: FlaskClient, engine: Engine
) -> None:
    client.put(CONTEXT, json={"activity": "DrivingCar"})
    client.delete(CONTEXT)
    told = [(subject, body is not None) for subject, _, body in inlet(engine)]
    everything = {"position", "route", "activity", "preferences"}
    assert set(told[:4]) == {(s, s == "activity") for s in everything}
    assert set(told[4:]) == {(s, False) for s in everything}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"position": {"lat": 91, "lon": 10}}, "position.lat"),
        ({"route": {"coordinates": [[10.1, 56.1]]}}, "route.coordinates"),
        ({"speed": 3}, "speed"),
        ({}, "body"),
    ],
)
def test_context_that_cannot_be_is_refused(
    client: FlaskClient, engine: Engine, body: dict[str, Any], path: str
) -> None:
    answer = client.patch(CONTEXT, json=body)
    assert answer.status_code == 422
    assert path in {error["path"] for error in answer.json["errors"]}
    assert inlet(engine) == []


@pytest.mark.parametrize(
    ("activity", "said"),
    [
        ("Cykling", "did you mean `Cycling`?"),
        ("xxxxx", "there are Cycling, DrivingCar, RidingBus, Staying, Walking"),
        ("https://w3id.org/citywise/context#Walkin", "did you mean `Walking`?"),
    ],
)
def test_an_activity_nobody_knows_is_refused_with_what_was_meant(
    client: FlaskClient, engine: Engine, activity: str, said: str
) -> None:
    (error,) = client.patch(CONTEXT, json={"activity": activity}).json["errors"]
    assert (error["path"], said in error["message"]) == ("activity", True)
    assert inlet(engine) == []
    for own in ("https://w3id.org/citywise/context#Walking", "https://example.org/a#Rowing"):
        assert client.patch(CONTEXT, json={"activity": own}).status_code == 202


def test_it_is_said_what_is_known_and_what_an_instance_misses(
    client: FlaskClient, engine: Engine, log: Log
) -> None:
    made = create(client)
    log.stands("route", "alice", {"coordinates": [[10.1, 56.1], [10.2, 56.1]]})
    log.stands("position", "bob", POSITION)
    log.stands("activity", "alice", {"activity": "Walking"})
    assert client.get(CONTEXT).json == {
        "user": "alice",
        "known": ["route", "activity"],
        "missing": ["position", "preferences"],
    }
    address = f"{ADDRESS}/{made['id']}"
    assert client.get(address).json["missing"] == ["position"]
    client.patch(CONTEXT, json={"position": POSITION, "route": None})
    assert client.get(address).json["missing"] == ["route"], "what waits for the log counts"
    log.stands("position", "alice", None)
    with engine.begin() as connection:
        connection.execute(delete(InletRow))
    assert client.get(address).json["missing"] == ["position"]


def test_an_instance_with_a_way_of_its_own_does_not_ask_for_the_users(
    client: FlaskClient, town: Town
) -> None:
    way = {"type": "route", "title": "Way", "default": "mine"}
    install(town, jam_ahead(3, parameters={"way": way}))
    own = {"alias": "A", "way": {"coordinates": [[10.1, 56.1], [10.2, 56.1]]}}
    assert create(client, values=own)["asks"] == ["position"]
    assert create(client, values={"alias": "A"})["asks"] == ["position", "route"]


def test_a_user_whose_name_cannot_be_is_refused(client: FlaskClient) -> None:
    assert client.patch("/api/v1/users/a%22b/context", json={}).json["parameter"] == "user"
