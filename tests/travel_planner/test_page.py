"""The planners' page: where it stands in the shell, and the streets below its map."""

from __future__ import annotations

import gzip
import json

import numpy as np
from flask.testing import FlaskClient

from citywise.apps.travel_planner import streets
from citywise.apps.travel_planner.roads.building import NetworkBuilder
from citywise.apps.travel_planner.roads.cityfiles import network_file
from citywise.apps.travel_planner.roads.network import RoadNetwork
from citywise.backend.settings import Settings


def crossing() -> RoadNetwork:
    """A main road of two directions with a bend, a footway, and a oneway lane."""
    builder = NetworkBuilder()
    a, b, c = (builder.add_node(*at) for at in ((10.2, 56.15), (10.21, 56.15), (10.21, 56.16)))
    builder.add_street(a, b, via=[(10.205, 56.151)], highway="primary", name="Main")
    builder.add_street(b, c, highway="footway")
    builder.add_street(a, c, highway="residential", back=0)
    return builder.build("a test", "nobody's")


def test_each_street_is_drawn_once_with_its_bends_and_its_rank() -> None:
    found = streets.lines(crossing())
    points = {rank: np.cumsum(np.reshape(steps, (-1, 2)), axis=0) for rank, *steps in found}
    assert sorted(rank for rank, *_ in found) == [0, 3, streets.SMALLEST]
    bent = [[1020000, 5615000], [1020500, 5615100], [1021000, 5615000]]
    assert points[0].tolist() in (bent, bent[::-1])


def test_a_browser_that_has_the_streets_is_not_sent_them_again(
    client: FlaskClient, settings: Settings
) -> None:
    crossing().save(network_file(settings))
    answer = client.get("/plan/streets.json")
    assert answer.headers["Content-Encoding"] == "gzip"
    packed = json.loads(gzip.decompress(answer.data))
    assert len(packed["lines"]) == 3
    assert packed["licence"] == "nobody's"
    again = client.get("/plan/streets.json", headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")


def test_without_a_road_network_it_is_said_what_to_do(client: FlaskClient) -> None:
    answer = client.get("/plan/streets.json")
    assert answer.status_code == 404
    assert "citywise city import" in answer.json["detail"]


def test_the_shell_leads_to_the_page_and_the_installed_app_offers_both_planners(
    client: FlaskClient,
) -> None:
    assert '<a href="/plan">' in client.get("/list").text
    assert 'href="/plan" aria-current="page"' in client.get("/plan").text
    manifest = client.get("/manifest.webmanifest", headers={"Accept-Language": "da"}).json
    shortcuts = {each["url"]: each["name"] for each in manifest["shortcuts"]}
    planners = {"/plan": "Planlæg en rute", "/plan?for=parking": "Find parkering"}
    assert shortcuts.items() >= planners.items()
    assert '"/plan"' in client.get("/service-worker.js").text
