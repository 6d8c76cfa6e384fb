"""Notices: how changes are booked and announced, and how the API shows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, select, update

from citywise.backend.api.entitled import Reader
from citywise.backend.api.event_stream import follow
from citywise.backend.api.hub import Hub
from citywise.backend.notices import book
from citywise.backend.notices.objects import filled
from citywise.backend.store.models import NoticeRow, OutboxRow
from tests.api.templates import NOON_MS, Change, change, install, jam_ahead
from tests.api.town import Town, soon

MINUTE = 60_000


@pytest.fixture(autouse=True)
def city(town: Town) -> Town:
    town.running()
    install(town, jam_ahead())
    town.road("100", "Viborgvej")
    town.event("jam-1", "100", "2014-08-05T11:30:00Z")
    return town


def apply(engine: Engine, *changes: Change) -> int:
    with engine.begin() as connection:
        return book.apply(connection, changes)


def announced(engine: Engine) -> list[dict[str, Any]]:
    with engine.connect() as connection:
        query = select(OutboxRow.body).where(OutboxRow.kind == "notice").order_by(OutboxRow.id)
        return list(connection.scalars(query))


# --- The book ----------------------------------------------------------------------------


def test_a_notice_opens_changes_and_closes_and_each_is_announced(engine: Engine) -> None:
    apply(engine, change("opened"))
    apply(engine, change("updated", NOON_MS + MINUTE, criticality=5, details={"metres": 90}))
    apply(engine, change("closed", NOON_MS + 2 * MINUTE, closed_because="passed", details={}))
    bodies = announced(engine)
    assert [body["change"] for body in bodies] == ["opened", "updated", "closed"]
    assert [body["criticality"] for body in bodies] == [3, 5, 3]
    assert [body["text"] for body in bodies] == [
        "Viborgvej in 420 m",
        "Viborgvej in 90 m",
        "Viborgvej in 90 m",
    ]
    assert bodies[-1]["closed"] == "2014-08-05T12:02:00Z"
    assert bodies[-1]["closed_because"] == "passed"
    assert bodies[0]["closed"] is None
    assert bodies[0]["translations"]["da"] == {"title": "Kø forude", "text": "Viborgvej om 420 m"}


def test_changes_of_one_batch_are_applied_in_the_order_of_their_times(engine: Engine) -> None:
    again = NOON_MS + 2 * MINUTE
    assert apply(engine, change("closed", again), change("opened", again), change("opened")) == 3
    with engine.connect() as connection:
        rows = connection.execute(select(NoticeRow.opened_ms, NoticeRow.closed_ms)).all()
    assert sorted(tuple(row) for row in rows) == [(NOON_MS, again), (again, None)]


def test_at_one_time_changes_are_applied_as_they_came(engine: Engine) -> None:
    assert apply(engine, change("opened"), change("closed")) == 2
    assert [body["change"] for body in announced(engine)] == ["opened", "closed"]


def test_a_batch_that_is_repeated_announces_nothing_twice(engine: Engine) -> None:
    opening = [change("opened"), change("updated", NOON_MS + 1, criticality=4)]
    closing = [*opening, change("closed", NOON_MS + 2)]
    again = [change("opened", NOON_MS + 3), change("closed", NOON_MS + 3)]
    assert [apply(engine, *opening) for _ in range(2)] == [2, 0]
    assert [apply(engine, *closing) for _ in range(2)] == [1, 0]
    assert [apply(engine, *closing, *again) for _ in range(2)] == [2, 0]
    assert len(announced(engine)) == 5


def test_what_one_version_says_does_not_close_what_another_opened(engine: Engine) -> None:
    """An instance that is migrated: the new version may be heard before the old one."""
    later = NOON_MS + MINUTE
    apply(engine, change("opened"))
    apply(engine, change("opened", later, version=2))
    apply(engine, change("closed", later, closed_because="removed"))
    with engine.connect() as connection:
        rows = connection.execute(select(NoticeRow.version, NoticeRow.closed_ms)).all()
    assert sorted(tuple(row) for row in rows) == [(1, later), (2, None)]


def test_what_is_opened_again_while_it_is_open_is_an_update_of_it(engine: Engine) -> None:
    """A pipeline that was built anew may not know what is open."""
    apply(engine, change("opened"))
    apply(engine, change("opened", NOON_MS + 1, criticality=4))
    assert [body["change"] for body in announced(engine)] == ["opened", "updated"]
    assert len({body["id"] for body in announced(engine)}) == 1


def test_an_event_and_a_place_of_one_id_have_notices_of_their_own(engine: Engine) -> None:
    opened = [change("opened", about_type=kind) for kind in ("event", "place", "term")]
    assert apply(engine, *opened) == 3
    apply(engine, change("closed", NOON_MS + MINUTE))
    with engine.connect() as connection:
        still = select(NoticeRow.about_type).where(NoticeRow.closed_ms.is_(None))
        assert sorted(connection.scalars(still)) == ["place", "term"]


def test_the_end_of_a_notice_nobody_knows_is_no_news(engine: Engine) -> None:
    assert apply(engine, change("closed")) == 0
    assert apply(engine, change("updated")) == 1, "but what is said to go on is opened"


def test_a_notice_about_something_unknown_or_of_an_unknown_app_is_still_readable(
    engine: Engine,
) -> None:
    apply(
        engine,
        change("opened", about='"somewhere"', about_type="term", details={}),
        change("opened", about="jam-9", version=7),
        change("opened", about="jam-8", about_name="Ringvej", lat=56.1, lon=10.2),
    )
    texts = {body["about"]["id"]: body["text"] for body in announced(engine)}
    assert texts == {
        '"somewhere"': "somewhere in … m",
        "jam-9": "jam-9",
        "jam-8": "Ringvej in 420 m",
    }
    (named,) = [body for body in announced(engine) if body["about"]["id"] == "jam-8"]
    assert (named["about"]["lat"], named["about"]["lon"]) == (56.1, 10.2)


def test_terms_longer_than_their_columns_are_cut_and_kept_apart(engine: Engine) -> None:
    terms = [f'"{"x" * 400}{end}"' for end in "ab"]
    assert apply(engine, *(change("opened", about=t, about_type="term") for t in terms)) == 2
    with engine.connect() as connection:
        rows = connection.execute(select(NoticeRow.id, NoticeRow.about)).all()
    assert len({row.id for row in rows}) == 2
    assert all(len(row.id) <= 300 and len(row.about) <= 200 for row in rows)


def test_a_kind_longer_than_its_column_is_cut_and_found_again(engine: Engine) -> None:
    kind: dict[str, Any] = {"notice": "k" * 40}
    assert apply(engine, change("opened", **kind)) == 1
    assert apply(engine, change("closed", NOON_MS + MINUTE, **kind)) == 1
    with engine.connect() as connection:
        row = connection.execute(select(NoticeRow.kind, NoticeRow.closed_ms)).one()
    assert (len(row.kind), row.closed_ms) == (32, NOON_MS + MINUTE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{a} and {b}", "1 and …"),
        ("{a.__class__} {} {0} }{ {a!r}", "… … … }{ …"),
        ("no holes", "no holes"),
        ("at {b}[, {a} m away]", "at …, 1 m away"),
        ("here[, {a} of {b}][, {a} m away]", "here, 1 m away"),
        ("[{c}]{d}", "{a}[{a}]"),
        ("[no holes] [", "[no holes] ["),
    ],
)
def test_a_text_is_filled_whatever_stands_in_its_braces(text: str, expected: str) -> None:
    assert filled(text, {"a": 1, "c": "{a}", "d": "[{a}]"}) == expected


def test_closed_notices_are_forgotten_after_a_while_and_open_ones_are_not(engine: Engine) -> None:
    apply(engine, change("opened"), change("closed"), change("opened", about="jam-2"))
    with engine.begin() as connection:
        book.trim(connection, NOON_MS + 1)
        assert list(connection.scalars(select(NoticeRow.about))) == ["jam-2"]


# --- The stream --------------------------------------------------------------------------


@pytest.fixture
def hub(engine: Engine) -> Iterator[Hub]:
    hub = Hub(engine)
    yield hub
    hub.close()


def test_a_stream_has_the_notices_of_its_user_and_of_nobody_else(
    hub: Hub, engine: Engine, town: Town
) -> None:
    listening = {
        user: hub.subscribe(lambda: None, reader=Reader(user)) for user in ("alice", "bob", None)
    }
    apply(engine, change("opened"))
    number = town.event("e", "100", "2014-08-05T06:00:00Z", announce="event.opened")
    soon(lambda: hub._position == number)
    heard = {
        user: [m.event for m in queue.take(1) if m.id is not None]
        for user, queue in listening.items()
    }
    assert heard == {
        "alice": ["notice", "event.opened"],
        "bob": ["event.opened"],
        None: ["event.opened"],
    }


@pytest.mark.parametrize(
    ("user", "names"), [("alice", ["notice", "event.opened"]), (None, ["event.opened"])]
)
def test_a_stream_that_is_resumed_has_them_too(
    hub: Hub, engine: Engine, town: Town, user: str | None, names: list[str]
) -> None:
    apply(engine, change("opened"))
    town.event("e", "100", "2014-08-05T06:00:00Z", announce="event.opened")
    stream = follow(hub, hub.subscribe(lambda: None, reader=Reader(user)), last_id=0)
    next(stream)
    lines = next(stream).decode().splitlines()
    assert [line[7:] for line in lines if line.startswith("event: ")] == names


def test_a_stream_that_is_resumed_pages_through_what_is_its_users_alone(
    hub: Hub, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citywise.backend.api.hub.PAGE", 2)
    monkeypatch.setattr("citywise.backend.api.event_stream.PAGE", 2)
    users = ["bob", "alice", "alice", "bob", "bob", "bob", "alice", "bob"]
    for number, user in enumerate(users):
        apply(engine, change("opened", about=f"jam-{number}", user=user, instance=f"{user}.x"))
    stream = follow(hub, hub.subscribe(lambda: None, reader=Reader("alice")), last_id=0)
    next(stream)
    told = (next(stream) + next(stream)).decode()
    assert [line for line in told.splitlines() if line.startswith("id: ")] == [
        "id: 2",
        "id: 3",
        "id: 7",
    ]


def test_a_notice_without_a_user_in_the_outbox_is_shown_to_nobody_else(
    hub: Hub, engine: Engine
) -> None:
    """Announcements made before the outbox knew users."""
    apply(engine, change("opened"))
    with engine.begin() as connection:
        connection.execute(update(OutboxRow).values(user=None))
    assert hub.after(0, None) == []
    assert hub.after(0, "bob") == []
    assert [message.user for message in hub._announced()] == ["alice"]


# --- The API -----------------------------------------------------------------------------


def listed(client: FlaskClient, query: str) -> list[str]:
    answer = client.get(f"/api/v1/notices?{query}")
    assert answer.status_code == 200, answer.json
    return [notice["about"]["id"] for notice in answer.json["notices"]]


@pytest.fixture
def three(engine: Engine) -> None:
    apply(
        engine,
        change("opened"),
        change("opened", NOON_MS + MINUTE, about="jam-2", instance="alice.other"),
        change("opened", about="jam-3", user="bob", instance="bob.jam_ahead"),
        change("closed", NOON_MS + 2 * MINUTE, closed_because="passed"),
    )


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("user=alice", ["jam-2", "jam-1"]),
        ("user=bob", ["jam-3"]),
        ("user=carol", []),
        ("user=alice&open=true", ["jam-2"]),
        ("user=alice&open=false", ["jam-1"]),
        ("user=alice&instance=alice.other", ["jam-2"]),
        ("user=alice&from=2014-08-05T12:02:00.001Z", ["jam-2"]),
        ("user=alice&from=2014-08-05T12:02:00Z", ["jam-2", "jam-1"]),
        ("user=alice&until=2014-08-05T12:00:59Z", ["jam-1"]),
    ],
)
def test_notices_are_those_of_the_user_that_fit_the_filters_newest_first(
    client: FlaskClient, query: str, expected: list[str]
) -> None:
    assert listed(client, query) == expected


@pytest.mark.usefixtures("three")
def test_pages_of_notices_follow_each_other(client: FlaskClient) -> None:
    first = client.get("/api/v1/notices?user=alice&limit=1").json
    assert listed(client, f"user=alice&limit=1&cursor={quote(first['next'])}") == ["jam-1"]


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("user=a%22b", "user"),
        ("user=a&cursor=x", "cursor"),
        ("user=a&kind=x", "kind"),
    ],
)
def test_a_query_for_notices_that_cannot_be_meant_is_refused(
    client: FlaskClient, query: str, parameter: str
) -> None:
    answer = client.get(f"/api/v1/notices?{query}")
    assert (answer.status_code, answer.json["parameter"]) == (400, parameter)


@pytest.mark.usefixtures("three")
def test_one_notice_says_why_in_the_language_asked_for(client: FlaskClient) -> None:
    (found,) = client.get("/api/v1/notices?user=alice&open=false&lang=da").json["notices"]
    assert found["title"] == "Kø forude"
    assert found["about"]["name"] == "Viborgvej"
    one = client.get(f"/api/v1/notices/{quote(found['id'])}?lang=da").json
    assert one == {**found, "why": ['near_route("alice.jam_ahead","jam-1",300)']}
    assert client.get("/api/v1/notices/none").status_code == 404
