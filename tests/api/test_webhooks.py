"""Webhooks over HTTP: each person's own, with a secret that is shown once."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from citywise.backend.outgoing import subscriptions
from tests.api.town import Town

HOOK = {"url": "https://8.8.8.8/hook", "label": "Desk", "filter": {"types": ["TrafficJam"]}}
BASE = "/api/v1/webhooks"


def made(client: FlaskClient, **more: Any) -> dict[str, Any]:
    answer = client.post(BASE, json={**HOOK, **more})
    assert answer.status_code == 201, answer.text
    return dict(answer.get_json())


@pytest.mark.usefixtures("town")
def test_a_webhook_is_made_shown_changed_and_removed(client: FlaskClient) -> None:
    hook = made(client)
    assert hook["secret"].startswith("whsec_")
    address = f"{BASE}/{hook['id']}"
    shown = client.get(address).get_json()
    assert "secret" not in shown
    assert (shown["filter"], shown["active"]) == (HOOK["filter"], True)
    changed = client.patch(address, json={"active": False, "filter": {"least_level": 3}})
    assert changed.get_json()["active"] is False
    assert changed.get_json()["filter"] == {"least_level": 3}
    assert [one["id"] for one in client.get(BASE).get_json()["webhooks"]] == [hook["id"]]
    assert client.delete(address).status_code == 204
    assert client.get(address).status_code == 404


def test_what_was_not_delivered_is_listed_and_sent_again(client: FlaskClient, town: Town) -> None:
    hook = made(client)
    with town.engine.begin() as connection:
        about = subscriptions.active(connection)[0]
        body = {"kind": "event.opened", "t": "2026-05-04T09:00:00Z", "event": {}}
        subscriptions.bury(connection, about, [(7, body)], "status 500")
    address = f"{BASE}/{hook['id']}/undelivered"
    told = client.get(address).get_json()
    assert told["total"] == 1
    assert (told["undelivered"][0]["id"], told["undelivered"][0]["error"]) == (
        f"{hook['id']}.7",
        "status 500",
    )
    assert client.post(f"{address}/send", json={}).get_json() == {"again": 1}
    assert client.get(address).get_json()["undelivered"][0]["again"] is True


@pytest.mark.parametrize(
    ("told", "path"),
    [
        ({"url": "https://127.0.0.1/"}, "url"),
        ({"url": "http://example.org/"}, "url"),
        ({"secret": "hush"}, "secret"),
        ({"filter": {"least_level": 9}}, "filter.least_level"),
        ({"filter": {"type": ["x"]}}, "filter.type"),
        ({"filter": {"bbox": [1, 2, 3]}}, "filter.bbox"),
        ({"filter": {"near": {"lat": 100, "lon": 0, "radius_m": 1}}}, "filter.near.lat"),
    ],
)
@pytest.mark.usefixtures("town")
def test_what_is_wrong_is_named(client: FlaskClient, told: dict[str, Any], path: str) -> None:
    answer = client.post(BASE, json={**HOOK, **told})
    assert answer.status_code == 422
    assert answer.get_json()["errors"][0]["path"].startswith(path)


@pytest.mark.usefixtures("town")
def test_an_account_has_so_many_and_no_more(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "MOST", 1)
    made(client)
    assert client.post(BASE, json=HOOK).status_code == 409


def test_export_has_webhooks_without_their_secrets(client: FlaskClient, town: Town) -> None:
    hook = made(client)
    told = client.get("/api/v1/me/export")
    assert hook["id"] in told.text
    assert hook["secret"] not in told.text
