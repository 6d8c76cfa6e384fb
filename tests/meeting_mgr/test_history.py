"""What happened in a meeting is told to its host, as far as it was news, and to nobody else."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import Engine

from citywise.apps.meeting_mgr import store, views
from citywise.apps.meeting_mgr.entries import (
    AbilityChanged,
    Acted,
    Body,
    Entry,
    HandRaised,
    ItemChanged,
    Joined,
    PresenceChanged,
)
from citywise.apps.meeting_mgr.model import Ability, Capability, Reason
from citywise.apps.meeting_mgr.record import Step
from citywise.backend.settings import Settings
from citywise.backend.store.outbox import begin
from citywise.backend.times import wall_ms
from tests.api.browsers import Browser
from tests.api.test_openapi import assert_described, document_of
from tests.meeting_mgr.hosted import Json, conclude, host, me, of, stored
from tests.meeting_mgr.made import NOW_MS, person

BOB = person("b", "a2")
BEFORE = 1000
"""The id of the entry before all others."""


def entries(*steps: tuple[Body, ...]) -> list[Entry]:
    """Steps about Bob, a second apart, as they are read: the newest first."""
    found, number = [], BEFORE
    for n, step in enumerate(steps):
        for body in step:
            number += 1
            found.append(Entry(NOW_MS + 1000 * n, body, BOB.id, number))
    return found[::-1]


def able(state: Ability, *which: Capability, because: tuple[Reason, ...] = ()) -> tuple[Body, ...]:
    return tuple(AbilityChanged(capability=one, state=state, because=because) for one in which)


def told(*steps: tuple[Body, ...], limit: int = 30) -> views.Page:
    return views.happened(entries(*steps), limit)


JOINED: tuple[Body, ...] = (Joined(name="Bob", attendee="a2"),)


def test_abilities_that_change_for_the_same_reasons_are_one_sentence() -> None:
    page = told(JOINED, able("off", "speak", "share", because=("noise",)) + able("on", "read"))
    on, off, joined = page.told
    assert (off["capabilities"], off["state"], off["because"]) == (
        ["speak", "share"],
        "off",
        ["noise"],
    )
    assert (on["capabilities"], on["person"], joined["kind"]) == (["read"], BOB.id, "joined")
    assert page.following is None


def test_what_somebody_can_do_again_is_what_they_could_before() -> None:
    page = told(JOINED, able("on", "speak"), able("off", "speak"), able("on", "speak", "read"))
    first, again = page.told[:2]
    assert (again["capabilities"], again["again"]) == (["speak"], True)
    assert (first["capabilities"], first["again"]) == (["read"], False)


def test_what_was_so_before_is_no_news() -> None:
    unknown = able("unknown", "speak", "listen", because=("not_shared",))
    silent = able("unknown", "speak", because=("silent",))
    there = (PresenceChanged(presence="unknown"),)
    page = told(JOINED, unknown, silent, there, able("on", "speak"), able("on", "speak"))
    assert [one["kind"] for one in page.told] == ["abilities", "joined"]
    again = told(JOINED, able("on", "speak"), JOINED, able("on", "speak"))
    assert [one["kind"] for one in again.told] == ["abilities", "joined"] * 2


def test_what_the_host_did_and_what_is_through_is_not_told() -> None:
    asked = (Acted(do="ask_to_speak"),)
    done = (
        ItemChanged(item="i1", title="One", state="done"),
        ItemChanged(item="i2", title="Two", state="current"),
    )
    (item,) = told(asked, done).told
    assert (item["kind"], item["title"]) == ("item", "Two")


def test_pages_follow_each_other_without_splitting_a_step() -> None:
    turns = [able("off" if n % 2 else "on", "speak", "read") for n in range(5)]
    steps = [JOINED, *turns]
    whole = told(*steps).told
    found: list[views.View] = []
    some = entries(*steps)
    following: int | None = some[0].id + 1
    while following is not None:
        page = views.happened([one for one in some if one.id < following], 2)
        found += page.told
        following = page.following
    assert [one["id"] for one in found] == [one["id"] for one in whole]


def test_of_very_many_entries_the_last_are_told_and_where_to_go_on() -> None:
    turns = [able("off" if n % 2 else "on", "speak") for n in range(views.CONTEXT + 5)]
    newest = entries(*turns)[: views.CONTEXT]
    page = views.happened(newest, views.CONTEXT)
    assert len(page.told) == views.CONTEXT - 1  # The oldest may be a part of a step.
    assert page.following == newest[-2].id


# --- Over HTTP -----------------------------------------------------------------------------------


def happened(browser: Browser, meeting: Json, more: str = "") -> Any:
    answer = browser.get(f"{of(meeting)}/entries{more}")
    assert answer.status_code == 200, answer.json
    return answer.json


def test_a_host_reads_what_happened_page_by_page(
    alice: Browser, bob: Browser, meeting: Json, engine: Engine, settings: Settings, app: Flask
) -> None:
    assert bob.user is not None
    bob.put(me(meeting), {"hand": True})
    conclude(engine, settings, meeting, bob.user)
    answer = alice.get(f"{of(meeting)}/entries")
    assert_described(document_of(app), "/api/v1/meetings/{meeting_id}/entries", "get", answer)
    kinds = [one["kind"] for one in answer.json["entries"]]
    assert kinds == ["abilities", "hand", "joined"]
    first = happened(alice, meeting, "?limit=1")
    assert [one["kind"] for one in first["entries"]] == ["abilities"]
    second = happened(alice, meeting, f"?limit=2&before={first['next']}")
    assert ([one["kind"] for one in second["entries"]], second["next"]) == (kinds[1:], None)


def test_what_somebody_withdraws_is_no_longer_told(
    alice: Browser, bob: Browser, meeting: Json, engine: Engine, settings: Settings
) -> None:
    assert bob.user is not None
    bob.put(f"{me(meeting)}/sharing", {"sensors": ["noise"]})
    conclude(engine, settings, meeting, bob.user)
    assert "noise" in str(happened(alice, meeting))
    bob.put(f"{me(meeting)}/sharing", {"sensors": []})
    assert "noise" not in str(happened(alice, meeting))


def test_of_what_is_much_only_as_much_is_opened_as_is_told(
    alice: Browser,
    meeting: Json,
    bob: Browser,
    engine: Engine,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = entries_read(monkeypatch)
    write(engine, settings, meeting, bob, *able("off", "speak"), *able("on", "speak") * 200)
    assert [one["kind"] for one in happened(alice, meeting, "?limit=1")["entries"]] == ["abilities"]
    few, all_ = read
    assert few < 150 < all_ == views.CONTEXT
    read.clear()
    write(engine, settings, meeting, bob, HandRaised())
    assert [one["kind"] for one in happened(alice, meeting, "?limit=1")["entries"]] == ["hand"]
    assert read == [few]


def entries_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many entries are asked for, from now on."""
    read: list[int] = []
    usual = store.newest_entries

    def noted(*asked: Any) -> list[Entry]:
        read.append(asked[-1])
        return usual(*asked)

    monkeypatch.setattr(store, "newest_entries", noted)
    return read


def write(
    engine: Engine, settings: Settings, meeting: Json, person: Browser, *bodies: Body
) -> None:
    """Let all this happen to somebody."""
    assert person.user is not None
    with engine.begin() as connection:
        begin(connection)
        record, found = stored(connection, settings, meeting, person.user)
        now_ms = wall_ms()
        happens = [Entry(now_ms + n, body, found.id) for n, body in enumerate(bodies)]
        step = Step(record, "abilities", entries=tuple(happens), is_record_new=False)
        store.write(connection, store.boxes_of(settings), step)


def test_nobody_else_reads_it(bob: Browser, meeting: Json, app: Flask) -> None:
    address = f"{of(meeting)}/entries"
    assert bob.get(address).status_code == 401
    assert host(app, "Mallory").get(address).status_code == 404
