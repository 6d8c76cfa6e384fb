"""Changes are posted in order, each once, whatever the receiver answers."""

from __future__ import annotations

import base64
import hashlib
import hmac
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, insert, update

from citywise.backend import telemetry
from citywise.backend.outgoing import signing, subscriptions
from citywise.backend.outgoing.filters import Filter
from citywise.backend.outgoing.subscriptions import Subscription
from citywise.backend.outgoing.webhooks import Sender
from citywise.backend.people import accounts
from citywise.backend.settings import Webhooks
from citywise.backend.store.models import OutboxRow
from citywise.backend.times import wall_ms
from tests.collector import collecting
from tests.databases import begun
from tests.outgoing.receiving import Receiver, receiving

OUTLAST_S = 86_400.0
NOON = "2026-05-04T12:00:00Z"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = begun(f"sqlite:///{tmp_path / 'citywise.db'}")
    yield engine
    engine.dispose()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def person(engine: Engine) -> str:
    with engine.begin() as connection:
        return accounts.create(connection, "Anna", "three small boats at sea").id


def subscribe(
    engine: Engine, url: str, wanted: Filter | None = None, who: str = ""
) -> Subscription:
    who = who or person(engine)
    with engine.begin() as connection:
        return subscriptions.add(
            connection, who, "webhook", url, signing.new_secret(), wanted=wanted
        )


def announce(engine: Engine, count: int, user: str | None = None, age_s: float = 0) -> None:
    place = {"id": "p", "name": "P", "kind": "road", "lat": 56.15, "lon": 10.2}
    times = {"start": NOON, "confirmed": NOON, "end": None}
    created = wall_ms() - round(age_s * 1000)
    rows = [
        {
            "t_ms": n, "kind": "notice" if user else "event.opened", "created_ms": created,
            "body": {"id": f"e{n}", "type": "TrafficJam", "level": 3, "place": place, **times},
            "user": user,
        }
        for n in range(count)
    ]  # fmt: skip
    with engine.begin() as connection:
        connection.execute(insert(OutboxRow), rows)


def test_a_post_is_a_stage_of_its_changes_trace_and_the_receiver_is_told_of_it(
    engine: Engine, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opentelemetry.sdk")
    trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    receiver.answer = lambda number: 503 if number == 0 else 204
    about = subscribe(engine, receiver.url)
    announce(engine, 2)
    with engine.begin() as connection:
        of_first = update(OutboxRow).where(OutboxRow.id == 1)
        connection.execute(of_first.values(traceparent=f"00-{trace}-{parent}-01"))
    with collecting() as collector:
        monkeypatch.setenv(telemetry.ENDPOINTS[0], collector.url)
        telemetry.begin("notifier")
        try:
            work = sender(engine, receiver)
            until(work, lambda: len(receiver.taken) == 2)
            work.close()
        finally:
            telemetry.end()
    failed, taken = collector.spans
    for span in (failed, taken):
        assert (span.name, span.trace, span.parent) == ("tell a webhook", trace, parent)
        assert span.attributes == {"citywise.announcement": 1, "citywise.subscription": about.id}
    assert (failed.error, taken.error) == ("status 503", "")
    told = [headers.get("traceparent") for headers in receiver.headers]
    assert told == [f"00-{trace}-{taken.id}-01", None]


def sender(engine: Engine, receiver: Receiver, **limits: float) -> Sender:
    quick = {"first_retry_s": 0.001, "longest_retry_s": 0.002, **limits}
    return Sender(engine, Webhooks(allow=(receiver.address,), **quick), OUTLAST_S)


def until(work: Sender, done: object, most_s: float = 60) -> None:
    """Step until something is so."""
    assert callable(done)
    deadline = time.monotonic() + most_s
    while not done():
        assert time.monotonic() < deadline
        work.step()
        time.sleep(0.002)


def delivered(engine: Engine, receiver: Receiver, count: int, seed: int = 1) -> None:
    """Deliver changes to a receiver that fails a third of the time."""
    dice = random.Random(seed)
    receiver.answer = lambda _n: 204 if dice.random() < 2 / 3 else dice.choice((500, 429, 302))
    subscribe(engine, receiver.url)
    for start in range(0, count, 5_000):
        announce(engine, min(5_000, count - start))
    work = sender(engine, receiver)
    until(work, lambda: len(receiver.taken) >= count, 60 + count / 20)
    work.close()
    numbers = [int(one["id"].rpartition(".")[2]) for one in receiver.taken]
    assert numbers == list(range(1, count + 1))


def test_none_is_lost_doubled_or_out_of_order_where_a_third_fails(
    engine: Engine, receiver: Receiver
) -> None:
    delivered(engine, receiver, 1_000)


@pytest.mark.long
def test_none_of_a_hundred_thousand_is_lost_doubled_or_out_of_order(
    engine: Engine, receiver: Receiver
) -> None:
    delivered(engine, receiver, 100_000)


def test_what_is_posted_is_signed_as_standard_webhooks_says(
    engine: Engine, receiver: Receiver
) -> None:
    about = subscribe(engine, receiver.url)
    announce(engine, 1)
    work = sender(engine, receiver)
    until(work, lambda: receiver.taken)
    work.close()
    (headers,), (body,), (told,) = receiver.headers, receiver.bodies, receiver.taken
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(about.secret.removeprefix("whsec_"))
    mark = base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
    assert headers["webhook-signature"] == f"v1,{mark}"
    assert (told["id"], told["kind"]) == (f"{about.id}.1", "event.opened")
    assert told["event"]["type"] == "TrafficJam"


def test_what_cannot_be_delivered_is_kept_and_can_be_sent_again(
    engine: Engine, receiver: Receiver
) -> None:
    receiver.answer = lambda _number: 500
    about = subscribe(engine, receiver.url)
    announce(engine, 5, age_s=3600)
    work = sender(engine, receiver, give_up_hours=0.5)

    def kept() -> int:
        with engine.connect() as connection:
            return subscriptions.undelivered_count(connection, about.id)

    until(work, lambda: kept() == 5)
    assert receiver.posts == 1  # the others are as old, and were not tried
    receiver.answer = lambda _number: 204
    announce(engine, 1)
    until(work, lambda: len(receiver.taken) == 1)
    with engine.begin() as connection:
        assert subscriptions.send_again(connection, about.id) == 5
    until(work, lambda: kept() == 0)
    work.close()
    assert [one["id"].rpartition(".")[2] for one in receiver.taken] == list("612345")


def test_one_that_fails_again_holds_up_nothing(engine: Engine, receiver: Receiver) -> None:
    about = subscribe(engine, receiver.url)
    with engine.begin() as connection:
        subscriptions.bury(connection, about, [(1, {"kind": "x"})], "no")
        subscriptions.send_again(connection, about.id)
    announce(engine, 1)
    receiver.answer = lambda number: 400 if number == 0 else 200
    work = sender(engine, receiver)
    until(work, lambda: len(receiver.taken) == 1)
    work.close()
    with engine.connect() as connection:
        (row,) = subscriptions.undelivered(connection, about.id, 10)
    assert (row.is_due, row.error) == (False, "status 400")


def test_a_sender_that_starts_again_goes_on_where_it_was(
    engine: Engine, receiver: Receiver
) -> None:
    subscribe(engine, receiver.url)
    announce(engine, 3)
    for count in (3, 4):
        work = sender(engine, receiver)
        until(work, lambda count=count: len(receiver.taken) == count)
        work.close()
        announce(engine, 1)
    assert [one["id"].rpartition(".")[2] for one in receiver.taken] == list("1234")


def test_a_receiver_that_is_gone_is_sent_nothing_more(engine: Engine, receiver: Receiver) -> None:
    receiver.answer = lambda _number: 410
    about = subscribe(engine, receiver.url)
    announce(engine, 2)
    work = sender(engine, receiver)

    def is_active() -> bool:
        with engine.connect() as connection:
            found = subscriptions.find(connection, about.account, about.id)
        return found is not None and found.is_active

    until(work, lambda: not is_active())
    work.close()


def test_a_slow_receiver_is_broken_off_and_holds_up_nobody(
    engine: Engine, receiver: Receiver
) -> None:
    """A server that takes the connection and never answers."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        who = person(engine)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        slow = subscribe(engine, url, who=who)
        subscribe(engine, receiver.url, who=who)
        announce(engine, 3)
        settings = Webhooks(allow=("127.0.0.1",), timeout_s=0.05, first_retry_s=60)
        work = Sender(engine, settings, OUTLAST_S)

        def error() -> str | None:
            with engine.connect() as connection:
                found = subscriptions.find(connection, who, slow.id)
            return found.error if found is not None else None

        until(work, lambda: len(receiver.taken) == 3 and error())
        work.close()
        assert error() == "no answer: timed out"


def test_a_disabled_account_is_sent_nothing(engine: Engine, receiver: Receiver) -> None:
    about = subscribe(engine, receiver.url)
    with engine.begin() as connection:
        connection.exec_driver_sql("UPDATE accounts SET disabled_ms = 1")
    work = sender(engine, receiver)
    work.step()
    assert work.count == 0
    work.close()
    assert about.is_active


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ({}, True),
        ({"kinds": ["event.opened"]}, True),
        ({"kinds": ["event.cleared"]}, False),
        ({"types": ["Accident"]}, False),
        ({"types": ["Accident", "TrafficJam"]}, True),
        ({"places": ["p"]}, True),
        ({"places": ["q"]}, False),
        ({"bbox": [10, 56, 11, 57]}, True),
        ({"bbox": [11, 56, 12, 57]}, False),
        ({"near": {"lat": 56.15, "lon": 10.21, "radius_m": 700}}, True),
        ({"near": {"lat": 56.15, "lon": 10.21, "radius_m": 600}}, False),
        ({"least_level": 4}, False),
    ],
)
def test_each_part_of_a_filter_must_fit(engine: Engine, wanted: object, fits: bool) -> None:
    from citywise.backend.outgoing.changes import since

    announce(engine, 1)
    announce(engine, 1, user="anna")
    with engine.connect() as connection:
        event, notice = since(connection, 0, 10, "anna")
        assert len(since(connection, 0, 10, "bert")) == 1
    found = Filter.model_validate(wanted)
    assert found.fits(event, "anna") is fits
    assert not found.fits(notice, "anna")
    with_notices = Filter(notices=True)
    assert with_notices.fits(notice, "anna")
    assert not with_notices.fits(notice, "bert")


def test_only_the_newest_undelivered_are_kept(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscriptions, "MOST_UNDELIVERED", 3)
    about = subscribe(engine, "https://example.org/")
    with engine.begin() as connection:
        for number in range(5):
            subscriptions.bury(connection, about, [(number, {})], "no")
        rows = subscriptions.undelivered(connection, about.id, 10)
    assert [row.number for row in rows] == [2, 3, 4]


def test_a_webhook_that_is_changed_goes_on_where_it_is(
    engine: Engine, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citywise.backend.outgoing.webhooks.REFRESH_S", 0.0)
    about = subscribe(engine, receiver.url)
    announce(engine, 3)
    work = sender(engine, receiver)
    until(work, lambda: len(receiver.taken) == 3)
    with engine.begin() as connection:
        subscriptions.change(connection, about.id, url=f"{receiver.url}/other", position=0)
    announce(engine, 1)
    until(work, lambda: len(receiver.taken) == 4)
    work.close()
    assert [one["id"].rpartition(".")[2] for one in receiver.taken] == list("1234")


def test_how_far_it_is_is_noted_beside_what_its_owner_changes(engine: Engine) -> None:
    about = subscribe(engine, "https://example.org/")
    with engine.begin() as connection:
        subscriptions.change(connection, about.id, extra={"q": "level>3"})
        subscriptions.keep(connection, about.id, 70, position=5)
        found = subscriptions.find(connection, about.account, about.id)
    assert found is not None
    assert (found.position, found.extra) == (5, {"q": "level>3", subscriptions.LOG_POSITION: 70})
