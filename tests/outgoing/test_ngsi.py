"""Notifications of NGSI-LD: one for each change that a subscription is for, in order."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from citywise.backend.ngsi.subscribing import Notifications
from citywise.backend.outgoing import signing, subscriptions
from citywise.backend.outgoing.webhooks import Sender
from citywise.backend.settings import Webhooks
from citywise.backend.times import parse_ms
from tests.history.recorded import Told, append
from tests.outgoing.receiving import Receiver
from tests.outgoing.test_webhooks import OUTLAST_S, announce, person, until
from tests.outgoing.test_webhooks import engine as engine
from tests.outgoing.test_webhooks import receiver as receiver

AT = parse_ms("2026-05-04T09:00:00Z")
NAME = "urn:ngsi-ld:Subscription:one"


def body(uri: str, kind: str, **more: Any) -> dict[str, Any]:
    notification = {"endpoint": {"uri": uri}, **more.pop("notification", {})}
    wanted = {"type": "Subscription", "entities": [{"type": kind}], "notification": notification}
    return {**wanted, **more}


def subscribe(engine: Engine, receiver: Receiver, kind: str, **more: Any) -> None:
    extra = body(receiver.url, kind, **more)
    who = person(engine)
    with engine.begin() as connection:
        subscriptions.add(
            connection, who, "ngsi-ld", receiver.url, signing.new_secret(), extra=extra, name=NAME
        )


def sender(engine: Engine, receiver: Receiver, folder: Path) -> Sender:
    settings = Webhooks(allow=(receiver.address,), first_retry_s=0.001, longest_retry_s=0.002)
    return Sender(engine, settings, OUTLAST_S, folder)


def test_an_event_is_notified_as_the_specification_says(
    engine: Engine, receiver: Receiver, tmp_path: Path
) -> None:
    subscribe(engine, receiver, "TrafficJam", q="level>=3")
    announce(engine, 1)
    work = sender(engine, receiver, tmp_path / "log")
    until(work, lambda: receiver.taken)
    work.close()
    (told,), (headers,) = receiver.taken, receiver.headers
    (entity,) = told.pop("data")
    assert told.pop("notifiedAt").endswith("Z")
    assert told == {
        "id": "urn:ngsi-ld:Notification:one.1",
        "type": "Notification",
        "subscriptionId": NAME,
    }
    assert (entity["id"], entity["type"]) == ("urn:ngsi-ld:TrafficJam:e0", "TrafficJam")
    assert entity["level"] == {"type": "Property", "value": 3}
    assert 'rel="http://www.w3.org/ns/json-ld#context"' in headers["link"]


def test_each_reading_is_notified_once_where_a_third_fails(
    engine: Engine, receiver: Receiver, tmp_path: Path
) -> None:
    """Over restarts, while more come; those that the query leaves out do not."""
    receiver.answer = lambda number: 500 if number % 3 == 0 else 204
    subscribe(
        engine, receiver, "NoiseObserved", q="level>=40", notification={"format": "keyValues"}
    )
    folder = tmp_path / "log"
    for part in range(3):
        told: list[Told] = [
            ("noise", "n1", AT + (100 * part + n) * 1000, {"level": 30.0 + n}) for n in range(30)
        ]
        append(folder, [*told, ("climate", "n1", AT + part, {"temperature_c": 4.0})])
        work = sender(engine, receiver, folder)
        until(work, lambda part=part: len(receiver.taken) >= 20 * (part + 1))
        work.close()
    levels = [one["data"][0]["level"] for one in receiver.taken]
    assert levels == [30.0 + n for n in range(10, 30)] * 3
    assert len({one["id"] for one in receiver.taken}) == 60


@pytest.mark.long
def test_none_of_a_hundred_thousand_is_lost_doubled_or_out_of_order(
    engine: Engine, receiver: Receiver, tmp_path: Path
) -> None:
    """Half of them readings of a kind, half events; a third of the posts fails, in every way."""
    count, dice = 50_000, random.Random(1)
    receiver.answer = lambda _n: 204 if dice.random() < 2 / 3 else dice.choice((500, 429, 302))
    extra = {"entities": [{"type": "NoiseObserved"}, {"type": "TrafficJam"}]}
    subscribe(engine, receiver, "", **extra, notification={"format": "keyValues"})
    folder = tmp_path / "log"
    append(folder, [("noise", "n1", AT + n * 1000, {"level": n % 1400 / 10}) for n in range(count)])
    for _part in range(10):
        announce(engine, count // 10)
    work = sender(engine, receiver, folder)
    until(work, lambda: len(receiver.taken) >= 2 * count, 60 + count / 10)
    work.close()
    told = [one["data"][0] for one in receiver.taken]
    assert len({one["id"] for one in receiver.taken}) == len(receiver.taken) == 2 * count
    observed = [one["dateObserved"] for one in told if one["type"] == "NoiseObserved"]
    assert observed == sorted(set(observed))
    assert len(observed) == count
    events = [one["id"] for one in told if one["type"] == "TrafficJam"]
    assert events == [f"urn:ngsi-ld:TrafficJam:e{n}" for n in range(count // 10)] * 10


@pytest.mark.parametrize(
    ("more", "fits"),
    [
        ({}, True),
        ({"entities": [{"type": "Accident"}]}, False),
        ({"entities": [{"type": "https://w3id.org/citywise/event#TrafficJam"}]}, True),
        ({"entities": [{"type": "*", "idPattern": ":a$"}]}, True),
        ({"entities": [{"type": "TrafficJam", "id": "urn:ngsi-ld:TrafficJam:b"}]}, False),
        ({"watchedAttributes": ["speed"]}, False),
        ({"watchedAttributes": ["level"]}, True),
        ({"q": "level>3"}, False),
        ({"geoQ": {"georel": "near;maxDistance==10", "geometry": "Point",
                   "coordinates": [10.2, 56.15]}}, True),
        ({"geoQ": {"georel": "near;maxDistance==10", "geometry": "Point",
                   "coordinates": "[11,56]"}}, False),
    ],
)  # fmt: skip
def test_a_subscription_says_which_entities_it_is_for(more: dict[str, Any], fits: bool) -> None:
    point = {"type": "Point", "coordinates": [10.2, 56.15]}
    entity = {
        "id": "urn:ngsi-ld:TrafficJam:a",
        "type": "TrafficJam",
        "level": {"type": "Property", "value": 3},
        "location": {"type": "GeoProperty", "value": point},
    }
    told = Notifications(NAME, body("https://example.org/", "TrafficJam", **more)).of([entity], 7)
    assert (told is not None) is fits


def test_a_notification_has_the_attributes_and_the_format_that_are_asked_for() -> None:
    entity = {"id": "x", "type": "T", "level": {"type": "Property", "value": 3}, "b": {}}
    asked = {"attributes": ["level"], "format": "simplified"}
    endpoint = {"uri": "https://example.org/", "accept": "application/ld+json"}
    wanted = body("", "T", notification={**asked, "endpoint": endpoint})
    found = Notifications(NAME, {**wanted, "@base": "https://city.example"})
    told = found.of([entity], 1)
    assert told is not None
    (shown,) = told["data"]
    assert shown.pop("@context")[0] == "https://city.example/ngsi-ld/context.jsonld"
    assert shown == {"id": "x", "type": "T", "level": 3}
    assert found.headers() == {"Content-Type": "application/ld+json"}
