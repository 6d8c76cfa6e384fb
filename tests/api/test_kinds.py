"""Kinds over HTTP: what there are, and those that an operator makes while the system runs."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient
from rdflib import Graph

from citywise.backend.kinds import builtin, installed
from tests.api.town import Town

DUST = """\
kind = "dust"
places = ["dust_meter"]
label = { en = "Dust", da = "Støv" }

[fields.level]
type = "decimal"
unit = "ug/m3"
step = 0.1

[map]
show = "level"
steps = [[0, "good"], [50, "poor"]]
"""
METER = 'place = "dust_meter"\ngeometry = "point"\n'


def put(client: FlaskClient, text: str) -> Any:
    return client.put("/api/v1/operator/kinds", json={"toml": text})


@pytest.mark.usefixtures("town")
def test_kinds_are_listed_with_labels_units_roles_and_steps(client: FlaskClient) -> None:
    body = client.get("/api/v1/kinds").get_json()
    kinds = {kind["kind"]: kind for kind in body["kinds"]}
    assert set(kinds) == set(builtin())
    assert kinds["noise"]["map"]["steps"] == [[0, "good"], [55, "fair"], [65, "poor"]]
    assert kinds["traffic"]["fields"]["speed_kmh"]["role"] == "road_speed"
    assert kinds["noise"]["fields"]["level"]["rdf"].endswith("city#noise_level")
    assert "noise_meter" in {kind["place"] for kind in body["places"]}
    turtle = client.get("/api/v1/kinds.ttl").get_data(as_text=True)
    assert len(Graph().parse(data=turtle, format="turtle")) > 100


@pytest.mark.usefixtures("town")
def test_the_text_of_a_kind_is_checked_line_by_line_and_not_kept(client: FlaskClient) -> None:
    asked = {"toml": DUST.replace('"decimal"', '"number"')}
    body = client.post("/api/v1/operator/kinds/check", json=asked).get_json()
    assert body["kind"] is None
    assert [(f["line"], f["code"]) for f in body["findings"]] == [(6, "value")]
    body = client.post("/api/v1/operator/kinds/check", json={"toml": DUST}).get_json()
    assert [(f["severity"], f["code"]) for f in body["findings"]] == [("warning", "unknown-place")]
    assert body["kind"]["kind"] == "dust"
    assert "dust" not in {kind["kind"] for kind in client.get("/api/v1/kinds").get_json()["kinds"]}


def test_a_kind_is_made_changed_and_removed_while_the_system_runs(
    client: FlaskClient, town: Town
) -> None:
    installed.install(town.engine, builtin())
    assert put(client, METER).status_code == 201
    made = put(client, DUST)
    assert (made.status_code, made.get_json()["origin"]) == (201, "operator")
    assert client.get("/api/v1/readings?kind=dust").get_json()["readings"] == []
    changed = put(client, DUST.replace("[50,", "[40,"))
    assert (changed.status_code, changed.get_json()["version"]) == (200, 2)
    installed.install(town.engine, builtin())  # as the next start does
    with town.engine.connect() as connection:
        assert installed.read(connection)["dust"].version == 2
    assert client.delete("/api/v1/operator/kinds/kind/dust").status_code == 204
    assert client.delete("/api/v1/operator/kinds/kind/dust").status_code == 404
    actions = [a["action"] for a in client.get("/api/v1/audit").get_json()["actions"]]
    assert actions == ["kind.removed", "kind.changed", "kind.made", "kind.made"]


def test_what_would_break_something_is_refused(client: FlaskClient, town: Town) -> None:
    installed.install(town.engine, builtin())
    put(client, METER)
    put(client, DUST)
    faulty = put(client, DUST.replace("step = 0.1", "step = 0.3"))
    assert faulty.status_code == 422
    assert "line 8" in faulty.get_json()["errors"][0]["message"]
    other = put(client, DUST.replace("step = 0.1", "step = 0.01"))
    assert other.get_json()["errors"][0]["code"] == "kind-changed"
    of_file = put(client, DUST.replace('"dust"', '"noise"'))
    assert (of_file.status_code, "stands in a file" in of_file.get_json()["detail"]) == (409, True)
    town.road("r1", sensors=["dust"])
    used = client.delete("/api/v1/operator/kinds/kind/dust")
    assert (used.status_code, "`r1`" in used.get_json()["detail"]) == (409, True)
    assert client.delete("/api/v1/operator/kinds/kind/noise").status_code == 409
    assert client.delete("/api/v1/operator/kinds/smell/dust").status_code == 404


def test_a_field_may_have_been_another_of_its_unit_and_type(
    client: FlaskClient, town: Town
) -> None:
    installed.install(town.engine, builtin())
    assert put(client, METER).status_code == 201
    assert put(client, DUST).status_code == 201
    named = DUST.replace("[fields.level]", "[fields.pm10]").replace('"level"', '"pm10"')
    was = named.replace("step = 0.1", 'step = 0.1\nwas = "level"')
    for wrong, said in (
        (was.replace("ug/m3", "mg/m3"), "`level` is in ug/m3; write `was_unit"),
        ('kind = "dust"\n[fields.pm10]\ntype = "text"\nwas = "level"\n', "make both numbers"),
    ):
        answer = put(client, wrong)
        assert (answer.status_code, said in answer.get_data(as_text=True)) == (422, True)
    done = put(client, was)
    assert (done.status_code, done.get_json()["fields"]["pm10"]["was"]) == (200, "level")
