"""Dead letters are sent again once, as they came, or it is said why not."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

from citywise.backend.ingest.acceptance import Verdict
from citywise.backend.ingest.faults import DeadLetter
from citywise.backend.ingest.intake import KEPT_BYTES, Entry, IntakeStore
from citywise.backend.operations import letters, sending
from citywise.backend.operations.errors import NotReplayableError
from citywise.backend.operations.sending import Message, NotSentError
from citywise.backend.settings import Broker
from citywise.backend.store.models import AuditRow, DeadLetterRow
from tests.api.town import Town

LETTERS = "/api/v1/dead-letters"
TRAFFIC = "citywise/observations/traffic"
READING = b'{"sensor":"1","observed_at":"2014-08-05T12:00:00Z","speed_kmh":30,"vehicle_count":4}'


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Message]:
    """What went to the broker."""
    found: list[Message] = []

    def take(_broker: Broker, messages: Iterable[Message]) -> None:
        found.extend(messages)

    monkeypatch.setattr(letters, "send", take)
    return found


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no broker."""

    def fail(_broker: Broker, messages: Iterable[Message]) -> None:
        list(messages)
        raise NotSentError("not handed to the broker at 127.0.0.1:1: refused; try again")

    monkeypatch.setattr(letters, "send", fail)


def refused(
    town: Town, payload: bytes = READING, topic: str = TRAFFIC, reason: str = "unknown-sensor"
) -> int:
    """The ingest refuses a message; the letter's id."""
    verdict = Verdict(dead=[DeadLetter.of(reason, "why", payload)])
    digest = f"{topic}-{len(payload)}-{payload[:40]!r}"[:100]
    IntakeStore(town.engine).write([Entry(topic, 1_700_000_000_000, digest, verdict)])
    with town.engine.connect() as connection:
        key = f"{digest}-0-1"
        return connection.scalars(select(DeadLetterRow.id).where(DeadLetterRow.key == key)).one()


def replayed(town: Town) -> dict[int, bool]:
    with town.engine.connect() as connection:
        rows = connection.execute(select(DeadLetterRow.id, DeadLetterRow.replayed_ms))
        return {row.id: row.replayed_ms is not None for row in rows}


def actions(town: Town) -> list[tuple[str, str]]:
    with town.engine.connect() as connection:
        rows = connection.execute(select(AuditRow.action, AuditRow.target).order_by(AuditRow.id))
        return [(action, target) for action, target in rows]


def test_a_letter_is_sent_as_it_came_and_only_once(
    client: FlaskClient, town: Town, sent: list[Message]
) -> None:
    number = refused(town)
    answer = client.post(f"{LETTERS}/{number}/replay")
    assert (answer.status_code, answer.json["topic"]) == (200, TRAFFIC)
    assert sent == [Message(TRAFFIC, READING, False)]
    again = client.post(f"{LETTERS}/{number}/replay")
    assert (again.status_code, again.json["type"]) == (409, "urn:citywise:problem:not-replayable")
    assert "sent again already" in again.json["detail"]
    assert len(sent) == 1
    assert actions(town) == [("dead-letter.replayed", str(number))]


def test_a_letter_that_fails_again_is_back_and_may_be_sent_again(
    client: FlaskClient, town: Town, sent: list[Message]
) -> None:
    number = refused(town)
    client.post(f"{LETTERS}/{number}/replay")
    assert refused(town) == number  # the same message, refused for the same reason
    assert replayed(town) == {number: False}
    assert client.post(f"{LETTERS}/{number}/replay").status_code == 200
    assert len(sent) == 2


def test_a_place_is_published_to_be_kept_by_the_broker(
    client: FlaskClient, town: Town, sent: list[Message]
) -> None:
    number = refused(town, b'{"id": "1"}', "citywise/places/road/1", "schema")
    client.post(f"{LETTERS}/{number}/replay")
    assert [message.retain for message in sent] == [True]


LOST = [
    (b"x" * (KEPT_BYTES + 1), TRAFFIC, f"only the first {KEPT_BYTES}"),
    (b"\xff\xfe{}", TRAFFIC, "not text"),
    (b"a\0b", TRAFFIC, "not text"),
    (b"x" * (KEPT_BYTES + 3) + b"\xff", TRAFFIC, f"only the first {KEPT_BYTES}"),
    (b"{}", "citywise/context/u-aaaaaaaaaaaaaaaaaaaa", "person's context"),
    (b"{}", "citywise/clock", "only what came over MQTT"),
    (b"{}", "inlet/position/alice", "only what came over MQTT"),
    (b"{}", "log:123", "only what came over MQTT"),
    (b"{}", "elsewhere/observations/traffic", "only what came over MQTT"),
    (b"{}", f"citywise/observations/{'x' * 1100}", "topic was not kept"),
]
"""Payload and topic of letters that cannot be sent as they came, and why."""


def test_what_cannot_be_sent_as_it_came_is_not_sent(
    client: FlaskClient, town: Town, sent: list[Message]
) -> None:
    for payload, topic, because in LOST:
        answer = client.post(f"{LETTERS}/{refused(town, payload, topic)}/replay")
        assert answer.status_code == 409, topic
        assert answer.json is not None
        assert because in answer.json["detail"]
    assert sent == []
    assert actions(town) == []


def test_whatever_was_kept_whole_is_sent_byte_for_byte(
    client: FlaskClient, town: Town, sent: list[Message]
) -> None:
    payloads = [b"x" * KEPT_BYTES, "Århus ✓".encode(), b"", b'{"a": "\\u0000"}']
    for payload in payloads:
        client.post(f"{LETTERS}/{refused(town, payload)}/replay")
    assert [message.payload for message in sent] == payloads


@pytest.mark.usefixtures("closed")
def test_what_the_broker_does_not_take_is_not_marked(client: FlaskClient, town: Town) -> None:
    number = refused(town)
    answer = client.post(f"{LETTERS}/{number}/replay")
    assert (answer.status_code, answer.json["type"]) == (
        503,
        "urn:citywise:problem:broker-unreachable",
    )
    assert replayed(town) == {number: False}
    failed = ("dead-letter.not-replayed", str(number))
    assert actions(town) == [("dead-letter.replayed", str(number)), failed]


def test_an_unknown_letter_is_not_found(client: FlaskClient, sent: list[Message]) -> None:
    for number in (1, 2**62, 2**70):
        assert client.post(f"{LETTERS}/{number}/replay").status_code == 404
    assert sent == []


def test_all_of_a_reason_are_sent_the_oldest_first(
    client: FlaskClient, town: Town, sent: list[Message]
) -> None:
    refused(town, b"{}", "citywise/clock")  # stands first, and can never be sent
    odd = refused(town, b"\xff")
    numbers = [refused(town, f'{{"n": {n}}}'.encode()) for n in range(5)]
    refused(town, b"other", reason="json")
    first = client.post(f"{LETTERS}/replay", json={"reason": "unknown-sensor", "limit": 3}).json
    assert (first["replayed"], first["left"]) == (2, 3)
    assert [skipped["id"] for skipped in first["skipped"]] == [odd]
    rest = client.post(f"{LETTERS}/replay", json={"reason": "unknown-sensor"}).json
    assert (rest["replayed"], rest["left"]) == (3, 0)
    assert [message.payload for message in sent] == [f'{{"n": {n}}}'.encode() for n in range(5)]
    assert [number for number, done in replayed(town).items() if done] == numbers


@pytest.mark.usefixtures("closed")
def test_where_the_broker_is_away_none_of_several_counts_as_sent(
    client: FlaskClient, town: Town
) -> None:
    refused(town, b"1")
    refused(town, b"2")
    assert client.post(f"{LETTERS}/replay", json={"reason": "unknown-sensor"}).status_code == 503
    assert set(replayed(town).values()) == {False}


def test_it_must_be_said_which(client: FlaskClient) -> None:
    wrong: list[dict[str, Any]] = [{}, {"reason": ""}, {"reason": "x", "limit": 0}, {"limit": 5}]
    answers = [client.post(f"{LETTERS}/replay", json=body).status_code for body in wrong]
    assert answers == [422] * 4


def test_of_two_who_click_at_once_one_sends(town: Town, sent: list[Message]) -> None:
    number = refused(town)
    gate = threading.Barrier(4)
    refusals: list[str] = []

    def click() -> None:
        gate.wait()
        try:
            letters.replay(town.engine, number, Broker(), "demo")
        except NotReplayableError as error:
            refusals.append(str(error))

    threads = [threading.Thread(target=click) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(sent), len(refusals)) == (1, 3)


def test_without_a_broker_the_address_is_named() -> None:
    with pytest.raises(NotSentError, match=r"127\.0\.0\.1:1: .*; try again"):
        sending.send(Broker(embedded=False, port=1), [Message("citywise/places/road/1", b"")])
