"""A context broker is subscribed to, caught up with, and left."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from citywise.backend.kinds import builtin
from citywise.backend.settings import Source
from citywise.backend.sources.relay import Sent
from citywise.backend.sources.working import Working
from tests.sources.context_broker import context_broker

SECRET = "three-small-boats-at-sea"
NAME = "urn:ngsi-ld:Subscription:citywise-noise"


def source(broker: str, **more: Any) -> Source:
    own = {"broker": broker, "types": ["NoiseLevelObserved"], "notify": "http://city.example/"}
    told = {"name": "noise", "connector": "ngsi-ld", "secret": SECRET, "subscribe": own}
    return Source.model_validate({**told, **more})


def noise(number: int, level: float) -> dict[str, Any]:
    return {
        "id": f"urn:ngsi-ld:NoiseLevelObserved:n{number}",
        "type": "NoiseLevelObserved",
        "LAeq": {"type": "Property", "value": level, "observedAt": "2026-05-04T09:00:00Z"},
    }


def working(broker: str, folder: Path, sent: list[Sent], **more: Any) -> Working:
    return Working(source(broker, **more), builtin(), sent.append, folder)


def test_it_subscribes_with_its_own_address_and_secret_and_renews_that(tmp_path: Path) -> None:
    with context_broker() as broker:
        one = working(broker.url, tmp_path, [], headers={"NGSILD-Tenant": "aarhus"})
        assert one.catch_up() > 500
        made = dict(broker.subscriptions[NAME])
        endpoint = made["notification"]["endpoint"]
        assert endpoint["uri"] == "http://city.example/api/v1/sources/noise"
        assert endpoint["receiverInfo"] == [{"key": "X-Citywise-Secret", "value": SECRET}]
        assert made["entities"] == [{"type": "NoiseLevelObserved"}]
        one.catch_up()
        assert broker.subscriptions[NAME]["expiresAt"] >= made["expiresAt"]
        one.leave()
    assert broker.subscriptions == {}
    methods = [asked.partition(" ")[0] for asked in broker.asked]
    assert methods == ["PATCH", "POST", "GET", "PATCH", "GET", "DELETE"]


def test_what_it_missed_is_caught_up_with_page_by_page_and_told_once(tmp_path: Path) -> None:
    sent: list[Sent] = []
    with context_broker() as broker:
        broker.entities = [noise(number, 60) for number in range(250)]
        one = working(broker.url, tmp_path, sent)
        one.catch_up()
        one.catch_up()
        notified = {"type": "Notification", "data": [noise(0, 60), noise(250, 61.5)]}
        one.read_posted([(json.dumps(notified).encode(), 1)])
    told = [each for one_ in sent for each in json.loads(one_.payload)]
    assert len(told) == 251
    assert told[-1] == {
        "sensor": "urn:ngsi-ld:NoiseLevelObserved:n250",
        "observed_at": "2026-05-04T09:00:00Z",
        "level": 61.5,
    }
    assert sum(asked.startswith("GET") for asked in broker.asked) == 6


def test_a_broker_that_is_away_is_told_and_tried_again(tmp_path: Path) -> None:
    with socket.socket() as bound:  # nobody else can listen there meanwhile
        bound.bind(("127.0.0.1", 0))
        one = working(f"http://127.0.0.1:{bound.getsockname()[1]}", tmp_path, [])
        assert one.catch_up() <= 600
    assert "no answer" in one.report()["error"]
    assert one.report()["failures"] == 1
