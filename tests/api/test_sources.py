"""Sources over HTTP: tried, made, changed, stopped and removed, and posted to."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from citywise.backend.sources import made, posted
from tests.api.test_openapi import assert_described, document_of
from tests.api.town import Town
from tests.sources.servers import body, serving, status

OPERATOR = "/api/v1/operator/sources"
UPLINK = """{"end_device_ids": {"device_id": "n1"}, "received_at": "2026-05-04T09:00:00Z",
 "uplink_message": {"decoded_payload": {"noise": 61.26, "battery": 3.1, "temperature": "hot"}}}"""
TTN = {"name": "lora", "connector": "ttn", "topics": ["v3/+/devices/+/up"]}
MAPPING = """
connector = "meters"
format = "json"
[[observation]]
kind = "noise"
sensor = "$.id"
fields.level = "$.db"
"""

pytestmark = pytest.mark.usefixtures("town")


def tried(client: FlaskClient, source: Any, **more: Any) -> Any:
    answer = client.post(f"{OPERATOR}/try", json={"source": source, **more})
    assert_described(document_of(client.application), f"{OPERATOR}/try", "post", answer)
    return answer.get_json()


def put(client: FlaskClient, **source: Any) -> Any:
    answer = client.put(OPERATOR, json=source)
    assert_described(document_of(client.application), OPERATOR, "put", answer)
    return answer


def listed(client: FlaskClient) -> dict[str, Any]:
    answer = client.get(OPERATOR)
    assert_described(document_of(client.application), OPERATOR, "get", answer)
    return {one["name"]: one for one in answer.get_json()["sources"]}


def test_a_sample_is_shown_as_what_it_becomes_and_nothing_is_kept(client: FlaskClient) -> None:
    told = tried(client, {"connector": "ttn"}, sample=UPLINK, topic="v3/app/devices/n1/up")
    assert told["counts"] == {"refused": 1, "observation": 1}
    refused, observation = told["found"]
    assert refused["at"] == "/uplink_message/decoded_payload/temperature"
    assert "expected a number" in refused["said"]
    assert observation["observation"]["level"] == 61.3
    assert observation["observation"]["extra"] == {"battery": 3.1}
    assert listed(client) == {}


def test_the_command_says_the_same(client: FlaskClient, tmp_path: Any) -> None:
    from tests.connectors.telling import printed

    file = tmp_path / "up.json"
    file.write_text(UPLINK, encoding="utf-8")
    lines, code = printed("ttn", f"v3/app/devices/n1/up={file}")
    told = tried(client, {"connector": "ttn"}, sample=UPLINK, topic="v3/app/devices/n1/up")
    for one in told["found"]:
        one.pop("said", None)
    assert (told["found"], code) == (lines, 1)


def test_a_sample_is_fetched_where_none_is_pasted(client: FlaskClient) -> None:
    source = {"name": "m", "mapping": MAPPING}
    sample = b'{"id": "n1", "db": 60}'
    with serving(lambda h: body(h, sample)) as url:
        told = tried(client, {**source, "urls": [url]})
    assert told["sample"] == sample.decode()
    assert told["counts"] == {"observation": 1}
    with serving(lambda h: status(h, 404)) as url:
        told = tried(client, {**source, "urls": [url]})
    assert told["errors"][0] == {"path": "urls", "message": "status 404"}


@pytest.mark.parametrize(
    ("source", "path", "says"),
    [
        ({"connector": "ttm"}, "connector", "there is no `ttm`; there are ngsi-ld"),
        ({"connector": "/etc/passwd"}, "connector", "there is no"),
        ({"mapping": "x"}, "mapping", "is no TOML"),
        ({"mapping": MAPPING.replace("noise", "nois")}, "mapping", "there is no kind `nois`"),
        ({"connector": "ttn", "urls": ["file:///etc/passwd"]}, "urls", "is no http"),
        ({"connector": "ttn", "mapping": MAPPING}, "urls", "give a `connector` or a `mapping`"),
        ({"connector": "ttn", "brooker": 1}, "brooker", "did you mean `broker`?"),
        ({"connector": "ttn", "broker": {"ca": "/etc/passwd"}}, "broker", "configuration"),
    ],
)
def test_what_is_wrong_with_a_source_is_said_at_its_field(
    client: FlaskClient, source: Any, path: str, says: str
) -> None:
    told = tried(client, source, sample="{}")
    assert (told["status"], told["errors"][0]["path"]) == (422, path)
    assert says in told["errors"][0]["message"]


def test_one_is_made_changed_stopped_and_removed_and_each_is_noted(
    client: FlaskClient, town: Town
) -> None:
    assert put(client, **TTN).status_code == 201
    assert put(client, **TTN, prefix="x-").status_code == 200
    found = listed(client)["lora"]
    assert (found["origin"], found["active"], found["settings"]["prefix"]) == (
        "operator", True, "x-",
    )  # fmt: skip
    answer = client.patch(f"{OPERATOR}/lora", json={"active": False})
    assert_described(document_of(client.application), f"{OPERATOR}/{{name}}", "patch", answer)
    assert listed(client)["lora"]["active"] is False
    with town.engine.connect() as connection:
        assert not made.is_any_active(connection)
        assert made.listed(connection)["lora"].version == 3
    assert client.delete(f"{OPERATOR}/lora").status_code == 204
    assert client.delete(f"{OPERATOR}/lora").status_code == 404
    actions = [one["action"] for one in client.get("/api/v1/audit").get_json()["actions"]]
    assert actions == ["source.removed", "source.stopped", "source.changed", "source.made"]


def test_keys_are_shown_to_nobody_and_go_to_no_other_server(
    client: FlaskClient, town: Town
) -> None:
    one = {"name": "a", "connector": "cap", "urls": ["https://a.org/x"], "headers": {"Key": "k1"}}
    put(client, **one)
    shown = listed(client)["a"]["settings"]
    assert shown["headers"] == {"Key": ""}
    assert "k1" not in client.get("/api/v1/audit").get_data(as_text=True)

    def kept() -> dict[str, str]:
        with town.engine.connect() as connection:
            return made.listed(connection)["a"].source.headers

    again = {name: value for name, value in shown.items() if name != "has_secret"}
    put(client, **{**again, "urls": ["https://a.org/y"]})
    assert kept() == {"Key": "k1"}
    elsewhere = {**again, "urls": ["https://a.org/y", "https://b.org/"]}
    refused = put(client, **elsewhere)
    assert refused.status_code == 422
    assert [one["path"] for one in refused.get_json()["errors"]] == ["headers.Key"]
    assert "another server" in refused.get_json()["errors"][0]["message"]
    assert kept() == {"Key": "k1"}
    put(client, **{**elsewhere, "headers": {"Key": "k2"}})
    assert kept() == {"Key": "k2"}
    put(client, **{**again, "urls": ["https://c.org/"], "headers": {}})
    assert kept() == {}


def test_the_password_of_a_broker_goes_to_no_other(client: FlaskClient, town: Town) -> None:
    broker = {"host": "a.org", "port": 1883, "username": "u", "password": "p1"}
    put(client, **TTN, broker=broker)
    shown = listed(client)["lora"]["settings"]["broker"]
    assert "password" not in shown
    for host, password in (("a.org", "p1"), ("b.org", None)):
        put(client, **TTN, broker={**shown, "host": host})
        with town.engine.connect() as connection:
            kept = made.listed(connection)["lora"].source.broker
        assert kept is not None
        assert kept.password == password


def test_what_is_posted_with_the_secret_is_kept_until_it_is_read(
    client: FlaskClient, town: Town
) -> None:
    answer = put(client, name="hook", connector="ttn", takes_posts=True).get_json()
    assert "secret" not in put(client, name="hook", connector="ttn", takes_posts=True).get_json()

    def post(secret: str) -> int:
        own = {"X-Citywise-Secret": secret}
        return client.post("/api/v1/sources/hook", data=UPLINK, headers=own).status_code

    assert [post(secret) for secret in (answer["secret"], "guess", "")] == [204, 404, 404]
    assert client.post("/api/v1/sources/none", data=UPLINK).status_code == 404
    with town.engine.connect() as connection:
        (row,) = posted.waiting(connection, "hook")
    assert row.body == UPLINK.encode()
    client.patch(f"{OPERATOR}/hook", json={"active": False})
    assert post(answer["secret"]) == 404


def test_who_posts_faster_than_is_read_is_told_to_come_again(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posted, "MOST_WAITING", 2)
    secret = put(client, name="hook", connector="ttn", takes_posts=True).get_json()["secret"]
    own = {"X-Citywise-Secret": secret}
    answers = [client.post("/api/v1/sources/hook", data=b"{}", headers=own) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [204, 204, 503]
    assert answers[2].headers["Retry-After"] == "10"
