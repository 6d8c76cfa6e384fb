"""Subscriptions of NGSI-LD: made, shown, changed and removed, each by its owner."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.api.town import Town

BASE = "/ngsi-ld/v1/subscriptions"
WANTED: dict[str, Any] = {
    "type": "Subscription",
    "entities": [{"type": "NoiseObserved", "idPattern": "^urn:ngsi-ld:NoiseObserved:n"}],
    "q": "level>65",
    "notification": {"format": "keyValues", "endpoint": {"uri": "https://8.8.8.8/notify"}},
}


@pytest.fixture(autouse=True)
def running(town: Town) -> None:
    town.running()


def made(client: FlaskClient, **more: Any) -> str:
    answer = client.post(BASE, json={**WANTED, **more})
    assert answer.status_code == 201, answer.text
    return answer.headers["Location"]


def test_a_subscription_is_made_shown_changed_and_removed(client: FlaskClient) -> None:
    address = made(client)
    shown = client.get(address).get_json()
    assert shown["id"] == address.rpartition("/")[2]
    assert shown["entities"] == WANTED["entities"]
    assert shown["notification"] == {**WANTED["notification"], "status": "ok", "timesSent": 0}
    assert (shown["isActive"], shown["status"]) == (True, "active")
    assert not [name for name in shown if name.startswith("@")]
    assert client.patch(address, json={"isActive": False, "q": None}).status_code == 204
    shown = client.get(address).get_json()
    assert (shown["status"], "q" in shown) == ("paused", False)
    listed = client.get(f"{BASE}?count=true")
    assert ([one["id"] for one in listed.get_json()], listed.headers["NGSILD-Results-Count"]) == (
        [shown["id"]],
        "1",
    )
    assert client.delete(address).status_code == 204
    assert client.get(address).status_code == 404


def test_an_id_of_ones_own_is_taken_once(client: FlaskClient) -> None:
    name = "urn:ngsi-ld:Subscription:mine"
    assert made(client, id=name).endswith(name)
    assert client.post(BASE, json={**WANTED, "id": name}).status_code == 409


@pytest.mark.parametrize(
    "more",
    [
        {"type": "Other"},
        {"entities": []},
        {"entities": None},
        {"q": "level>"},
        {"timeInterval": 5},
        {"throttling": 5},
        {"geoQ": {"georel": "near", "geometry": "Point", "coordinates": [1, 2]}},
        {"entities": [{"type": "A", "idPattern": "("}]},
        {"notification": {"endpoint": {"uri": "https://127.0.0.1/"}}},
        {"notification": {"endpoint": {"uri": "mqtt://example.org/"}}},
        {"notification": {"endpoint": {"uri": "https://8.8.8.8/", "accept": "text/csv"}}},
        {"id": "mine"},
    ],
)
def test_what_we_do_not_do_is_refused_by_its_name(
    client: FlaskClient, more: dict[str, Any]
) -> None:
    answer = client.post(BASE, json={**WANTED, **more})
    assert answer.status_code == 400, answer.text
    assert answer.get_json()["type"] == "https://uri.etsi.org/ngsi-ld/errors/BadRequestData"
    assert answer.get_json()["detail"]
