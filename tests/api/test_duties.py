"""Duties give people instances for each place, and take them away again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, select

from citywise.backend.kinds import builtin, installed
from citywise.backend.layers import taking
from citywise.backend.layers.reading import read
from citywise.backend.machine import REPOSITORY
from citywise.backend.packs.installed import install
from citywise.backend.packs.manifest import load
from citywise.backend.people import accounts
from citywise.backend.privacy import export, forgetting
from citywise.backend.settings import Settings
from citywise.backend.store.models import DutyRow, InletRow, InstanceRow
from tests.layers.files import collection, feature
from tests.packs.folders import AppFolder

DUTIES = "/api/v1/operator/duties"


@pytest.fixture
def schools(engine: Engine) -> Engine:
    """A city with two schools and the app of their janitors."""
    pack = load(REPOSITORY / "examples" / "school_speed")
    install(engine, [pack])
    kinds = builtin().with_kinds(*pack.own_kinds.places.values())
    installed.install(engine, kinds)
    take(engine, "north", "south")
    return engine


def take(engine: Engine, *ids: str) -> None:
    features = [{**feature(key), "id": key} for key in ids]
    content = collection(*features)
    with engine.begin() as connection:
        kind = installed.read(connection).layers["school"]
        taking.take(connection, read(kind, content, "s"), content, "s")


def person(engine: Engine, name: str = "Jo") -> str:
    with engine.begin() as connection:
        return accounts.create(connection, name, "a long password 17", ()).id


def given(engine: Engine) -> dict[str, Any]:
    with engine.connect() as connection:
        rows = connection.execute(select(InstanceRow.user, InstanceRow.values, InstanceRow.id))
        return {row.id: (row.user, row.values["school"]) for row in rows}


def test_a_duty_at_a_place_gives_one_instance_and_its_end_takes_it_away(
    client: FlaskClient, schools: Engine
) -> None:
    jo = person(schools)
    body = {"role": "janitor", "user": "Jo", "place": "school.north"}
    assert client.put(DUTIES, json=body).get_json() == {**body, "user": jo}
    assert list(given(schools).values()) == [(jo, "school.north")]
    with schools.connect() as connection:
        subjects = connection.scalars(select(InletRow.subject)).all()
    assert subjects[-1] == "instance"
    told = client.get(DUTIES).get_json()
    known = {"person": "Jo", "place_name": "North School"}
    assert told["duties"] == [{**body, "user": jo, **known}]
    assert told["roles"] == [{"role": "janitor", "kind": "school"}]
    ended = client.delete(f"{DUTIES}?role=janitor&place=school.north&user={jo}")
    assert ended.status_code == 204
    assert given(schools) == {}
    assert client.delete(f"{DUTIES}?role=janitor&user={jo}").status_code == 404


def test_a_duty_at_all_places_follows_the_layer(client: FlaskClient, schools: Engine) -> None:
    person(schools)
    client.put(DUTIES, json={"role": "janitor", "user": "Jo"})
    assert sorted(place for _user, place in given(schools).values()) == [
        "school.north", "school.south",
    ]  # fmt: skip
    take(schools, "south", "east", "west")
    assert sorted(place for _user, place in given(schools).values()) == [
        "school.east", "school.south", "school.west",
    ]  # fmt: skip


def test_an_instance_of_a_duty_stays_until_its_person_leaves_that(
    client: FlaskClient, schools: Engine
) -> None:
    client.put(DUTIES, json={"role": "janitor", "user": "demo", "place": "school.north"})
    (name,) = given(schools)
    shown = client.get(f"/api/v1/instances/{name}").get_json()
    assert shown["duty"] == "janitor"
    for answer in (
        client.delete(f"/api/v1/instances/{name}"),
        client.put(f"/api/v1/instances/{name}", json={"title": "x"}),
    ):
        assert answer.status_code == 409
        assert "leave that" in answer.get_json()["detail"]
    assert client.get("/api/v1/me/duties").get_json()["duties"][0]["place"] == "school.north"
    left = client.delete("/api/v1/me/duties?role=janitor&place=school.north")
    assert left.status_code == 204
    assert given(schools) == {}


def test_a_duty_of_nobody_is_refused(client: FlaskClient) -> None:
    answer = client.put(DUTIES, json={"role": "janitor", "user": "nobody"})
    assert answer.status_code == 422
    assert answer.get_json()["errors"][0]["path"] == "user"


def test_duties_are_exported_and_forgotten(
    client: FlaskClient, schools: Engine, settings: Settings
) -> None:
    jo = person(schools)
    client.put(DUTIES, json={"role": "janitor", "user": "Jo"})
    with schools.connect() as connection:
        told = export.everything(connection, settings, jo)
    assert [duty["role"] for duty in told["duties"]] == ["janitor"]
    forgetting.forget(schools, settings, jo)
    assert given(schools) == {}
    with schools.connect() as connection:
        assert connection.scalars(select(DutyRow.user)).all() == []


@pytest.mark.parametrize(
    ("recipient", "said"),
    [
        ("janitor of {radius}", "`radius` is no parameter of type place with a kind"),
        ("janitor of {rad}", "`rad` is no parameter of type place with a kind"),
        ("Janitor", "recipient"),
    ],
)
def test_a_recipient_that_cannot_be_is_found(tmp_path: Path, recipient: str, said: str) -> None:
    app = AppFolder(tmp_path)
    app.manifest('title = "Jams on my way"', f'title = "Jams"\nrecipient = "{recipient}"')
    assert any(said in finding for finding in app.findings())
