"""Channels of an app: who reads there without an account, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import Engine, delete, insert

from citywise.backend.api import hub as hubs
from citywise.backend.api.app import create_hub
from citywise.backend.api.entitled import Reader, unentitled
from citywise.backend.api.hub import Hub, Message, Subscription
from citywise.backend.people import accounts, ids
from citywise.backend.people.principal import Principal
from citywise.backend.settings import Settings
from citywise.backend.store.models import HeartbeatRow, OutboxRow
from tests.api.browsers import PASSWORD, quick_passwords
from tests.api.town import soon
from tests.packs.folders import with_python

APP = "bell_ringers"
PARTS = """
from sqlalchemy import select
from citywise.backend.packs.parts import Parts
from citywise.backend.store.models import HeartbeatRow

def channels(connection, names):
    if "tower-5" in names:
        raise ValueError("there is no tower 5")
    return set(names) & set(connection.scalars(select(HeartbeatRow.process)))

PARTS = Parts(channels=channels)
"""
"""Of an app that keeps its towers among the heartbeats."""


TOWER = "tower-1"


@pytest.fixture
def hub(
    tmp_path: Path, settings: Settings, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Hub]:
    monkeypatch.setattr(hubs, "RIGHTS_EVERY_S", 0.0)
    with engine.begin() as connection:
        tower = {"process": TOWER, "at_ms": 0, "detail": {}}
        connection.execute(insert(HeartbeatRow), [tower])
    with with_python(tmp_path, APP, PARTS):
        found = create_hub(settings, engine)
        yield found
        found.close()


def read(hub: Hub, name: str, app: str = APP, account: str | None = None) -> Subscription:
    """A stream of somebody who reads a channel."""
    return hub.subscribe(lambda: None, reader=Reader(ids.channel(app, name), account))


def test_a_channel_is_read_without_an_account_as_long_as_its_app_leaves_it_open(
    hub: Hub, engine: Engine
) -> None:
    stream, of_other_tower = read(hub, TOWER), read(hub, "tower-2")
    soon(of_other_tower.is_closed)
    with engine.begin() as connection:
        row = {"kind": "bell", "body": {"rings": 3}, "user": ids.channel(APP, TOWER)}
        connection.execute(insert(OutboxRow), [{**row, "t_ms": 0, "created_ms": 0}])
    told: list[Message] = []

    def is_told() -> bool:
        told.extend(one for one in stream.take(0.05) if one.event == "bell")
        return bool(told)

    soon(is_told)
    assert [one.data for one in told] == [b'{"rings":3}']
    with engine.begin() as connection:
        connection.execute(delete(HeartbeatRow))
    soon(stream.is_closed)


def test_a_channel_of_an_app_that_has_none_is_nobodys(hub: Hub) -> None:
    stream = read(hub, TOWER, app="knitters")
    soon(stream.is_closed)


def test_who_has_an_account_reads_a_channel_as_long_as_they_have_it(
    hub: Hub, engine: Engine
) -> None:
    """Whether they may is for the app's view to say."""
    with quick_passwords(), engine.begin() as connection:
        anna = accounts.create(connection, "Anna", PASSWORD).id
    with engine.connect() as connection:
        mine = Reader(ids.channel(APP, "tower-2"), anna)
        assert unentitled(connection, {mine}, {APP: lambda *_: ()}) == set()


def test_an_app_that_fails_ends_its_own_streams_and_no_others(
    hub: Hub, caplog: pytest.LogCaptureFixture
) -> None:
    anybody = hub.subscribe(lambda: None)
    assert not read(hub, TOWER).is_closed()
    stream = read(hub, "tower-5")
    soon(stream.is_closed)
    assert not anybody.is_closed()
    assert f"app `{APP}` cannot say which of its channels are open" in caplog.text


def test_a_channel_can_be_asked_for_by_nobody(client: FlaskClient) -> None:
    channel = ids.channel(APP, TOWER)
    asked = client.get("/api/v1/events/stream", query_string={"user": channel})
    assert asked.status_code == 404
    assert not Principal("u-dora", roles=frozenset({"developer"})).may_act_for(channel)
