"""Other conference systems are told of meetings: only those that the operator allows."""

from __future__ import annotations

import hashlib
import hmac
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import Connection, Engine, insert
from sqlalchemy.exc import OperationalError

from citywise.apps.meeting_mgr import store
from citywise.apps.meeting_mgr.conferences import hooks
from citywise.apps.meeting_mgr.conferences.hooks import HookError, Message, Outcome
from citywise.apps.meeting_mgr.model import AbilityState, Hook, PersonState
from citywise.apps.meeting_mgr.process import deliveries
from citywise.apps.meeting_mgr.process.deliveries import BACKOFF_MS, Deliveries
from citywise.apps.meeting_mgr.record import MeetingRecord
from citywise.apps.meeting_mgr.settings import Meetings
from citywise.apps.meeting_mgr.steps import editing, running, taking_part
from citywise.apps.meeting_mgr.steps.drafts import Changes
from citywise.backend.privacy.boxes import Boxes
from citywise.backend.settings import Settings
from citywise.backend.store.models import OutboxRow
from citywise.backend.store.outbox import newest
from tests.meeting_mgr.kept import NOW_MS, Kept
from tests.meeting_mgr.other_system import receiving
from tests.ports import nobody_at

SECRET = "a secret of sixteen and more"
FOLDER = "https://conference.example/hooks/"


# --- Where messages may go -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        FOLDER,
        "https://conference.example/hooks/a/b?room=1",
        "https://CONFERENCE.example:443/hooks/x",
    ],
)
def test_addresses_below_the_operators_are_allowed(url: str) -> None:
    hooks.check(url, [FOLDER])


@pytest.mark.parametrize(
    "url",
    [
        "https://conference.example/hooks",
        "https://conference.example/other/",
        "http://conference.example/hooks/x",
        "https://conference.example:8443/hooks/x",
        "https://conference.example.evil.example/hooks/x",
        "https://conference.example@evil.example/hooks/x",
        "https://evil.example/https://conference.example/hooks/",
        "https://conference.example/hooks/../admin",
        "https://conference.example/hooks/..;/admin",
        "https://conference.example/hooks/..;x=1/admin",
        "https://conference.example/hooks/%2e%2e/admin",
        "https://conference.example/hooks/..\\admin",
        "https://conference.example/hooks/x#y",
        "https://conference.example:no/hooks/x",
        "https://127.0.0.1/hooks/x",
        "https://[::1/hooks/",
        "https://conference.examplé/hooks/",
        "file:///etc/hosts",
    ],
)
def test_all_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(HookError, match=r"not below one of .*meetings\.webhooks"):
        hooks.check(url, [FOLDER])


def test_without_the_operators_word_nothing_is_told() -> None:
    with pytest.raises(HookError, match=r"meetings\.webhooks is empty"):
        hooks.check(FOLDER, ())


# --- How they are sent ---------------------------------------------------------------------------


def message(url: str) -> Message:
    return Message(Hook(url=url, secret=SECRET), "17", b'{"event":"ended"}')


def test_a_message_is_signed_so_that_the_other_side_can_check_it() -> None:
    with receiving() as other:
        assert hooks.post(message(other.folder + "meet?x=1"), 1_800_000_000) == "taken"
    ((path, heads, body),) = other.taken
    assert path == "/hooks/meet?x=1"
    assert heads["Citywise-Delivery"] == "17"
    digest = hmac.new(SECRET.encode(), b"1800000000." + body, hashlib.sha256).hexdigest()
    assert heads["Citywise-Signature"] == f"t=1800000000,v1={digest}"


def test_a_redirection_leads_nowhere() -> None:
    with receiving() as elsewhere, receiving(302, Location=elsewhere.folder) as other:
        assert hooks.post(message(other.folder), 0) == "refused"
    assert elsewhere.taken == []


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(200, "taken"), (400, "refused"), (410, "refused"), (429, "failed"), (503, "failed")],
)
def test_what_the_other_side_says_decides_about_another_try(status: int, outcome: str) -> None:
    with receiving(status) as other:
        assert hooks.post(message(other.folder), 0) == outcome


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_nothing_is_told_on_the_machines_own_link(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []

    def create(address: object, *_more: object) -> None:
        tried.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", create)
    url = f"{scheme}://169.254.169.254:81/hooks/"
    assert hooks.post(message(url), 0) == "failed"
    assert tried == []
    assert hooks.post(message(url), 0, exempt=["169.254.169.254:81"]) == "failed"
    assert tried == [("169.254.169.254", 81)]


def test_a_server_that_is_not_there_is_tried_again() -> None:
    with nobody_at() as port:
        assert hooks.post(message(f"http://127.0.0.1:{port}/hooks/"), 0) == "failed"


# --- What is told --------------------------------------------------------------------------------


class Post:
    """Takes messages, and fails as often as it is told to."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.outcomes: list[Outcome] = []

    def __call__(self, message: Message, at_s: int) -> Outcome:
        self.sent.append(message)
        return self.outcomes.pop(0) if self.outcomes else "taken"

    @property
    def bodies(self) -> list[Any]:
        return [orjson.loads(one.body) for one in self.sent]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, meetings=Meetings(webhooks=(FOLDER,)))


@pytest.fixture
def kept(engine: Engine, settings: Settings) -> Kept:
    return Kept(engine, settings)


@pytest.fixture
def post() -> Post:
    return Post()


@pytest.fixture
def telling(engine: Engine, settings: Settings, post: Post) -> Iterator[Deliveries]:
    found = Deliveries(settings, engine, post)
    yield found
    found.close()


def hooked(kept: Kept, url: str = FOLDER) -> str:
    """A meeting that runs, with another system to be told."""
    meeting = kept.make()
    hook = Hook(url=url, secret=SECRET)
    kept.change(meeting, lambda record: editing.edit(record, Changes(hook=hook), NOW_MS))
    return meeting


def told(telling: Deliveries, now_ms: int = NOW_MS) -> None:
    """Work until nothing more happens at this time."""
    for _ in range(20):
        telling.step(now_ms)
        telling.settle(5)


def noisy(kept: Kept, meeting: str, person: str) -> None:
    off = AbilityState(state="off", since_ms=NOW_MS, because=("noise",))
    state = PersonState(abilities={"speak": off})
    kept.change_person(
        meeting, person, lambda record, one: taking_part.concluded(record, one, state, NOW_MS)
    )


def test_another_system_is_told_what_somebody_can_do_and_what_is_wanted(
    kept: Kept, telling: Deliveries, post: Post
) -> None:
    meeting = hooked(kept)
    bob = kept.join(meeting, "noise")
    noisy(kept, meeting, bob)
    told(telling)
    found = post.bodies[-1]
    assert (found["event"], found["meeting"]["id"]) == ("abilities", meeting)
    assert found["meeting"]["item"]["title"] == "Figures"
    assert (found["person"]["id"], found["person"]["name"]) == (bob, "Bob")
    assert found["person"]["abilities"]["speak"]["state"] == "off"
    assert found["person"]["abilities"]["speak"]["because"] == ["noise"]
    assert found["person"]["wanted"]["audio"] == "muted"


def test_messages_come_in_order_and_each_once(kept: Kept, telling: Deliveries, post: Post) -> None:
    meeting = hooked(kept)
    bob = kept.join(meeting)
    kept.leave(meeting, bob)
    kept.change(meeting, lambda record: running.end(record, NOW_MS))
    told(telling)
    assert [one["event"] for one in post.bodies] == ["started", "joined", "left", "ended"]
    numbers = [int(one.number) for one in post.sent]
    assert numbers == sorted(set(numbers))


def test_what_others_are_told_is_read_over_once(
    kept: Kept, telling: Deliveries, post: Post, engine: Engine
) -> None:
    """However much it is: the process that does it answers readings, too."""
    meeting = hooked(kept)
    told(telling)
    with engine.begin() as connection:
        row = {"kind": "notice", "user": "u-else", "body": {}, "created_ms": NOW_MS, "t_ms": 0}
        connection.execute(insert(OutboxRow), [row] * 3)
    told(telling)
    with engine.connect() as connection:
        assert telling._cursor == newest(connection)
    kept.change(meeting, lambda record: running.end(record, NOW_MS))
    told(telling)
    assert [one["event"] for one in post.bodies] == ["started", "ended"]


def test_a_meeting_without_a_hook_tells_nobody(kept: Kept, telling: Deliveries, post: Post) -> None:
    kept.join(kept.make())
    told(telling)
    assert post.sent == []


def test_what_the_operator_allows_no_longer_is_not_told(
    kept: Kept, telling: Deliveries, post: Post
) -> None:
    kept.join(hooked(kept, "https://elsewhere.example/x"))
    told(telling)
    assert post.sent == []


def test_what_failed_is_tried_again_later_and_what_follows_waits(
    kept: Kept, telling: Deliveries, post: Post
) -> None:
    meeting = hooked(kept)
    post.outcomes = ["failed"]
    kept.change(meeting, lambda record: running.end(record, NOW_MS))
    told(telling)
    assert [one["event"] for one in post.bodies] == ["started"]
    told(telling, NOW_MS + BACKOFF_MS[0])
    assert [one["event"] for one in post.bodies] == ["started", "started", "ended"]
    assert post.sent[0].number == post.sent[1].number


def test_after_enough_tries_or_a_refusal_the_next_message_has_its_turn(
    kept: Kept, telling: Deliveries, post: Post
) -> None:
    meeting = hooked(kept)
    kept.change(meeting, lambda record: running.end(record, NOW_MS))
    post.outcomes = ["failed" for _ in range(len(BACKOFF_MS) + 1)]
    post.outcomes.append("refused")
    for n in range(len(BACKOFF_MS) + 2):
        told(telling, NOW_MS + n * BACKOFF_MS[-1])
    events = [one["event"] for one in post.bodies]
    assert events == ["started"] * (len(BACKOFF_MS) + 1) + ["ended"]
    assert telling.step(NOW_MS) == 0


def test_what_is_taken_back_before_a_message_is_through_is_told_no_more(
    kept: Kept, telling: Deliveries, post: Post
) -> None:
    meeting = hooked(kept)
    bob = kept.join(meeting, "noise")
    told(telling)
    noisy(kept, meeting, bob)
    post.outcomes = ["failed"]
    told(telling)
    assert post.bodies[-1]["person"]["abilities"]["speak"]["state"] == "off"
    kept.share(meeting, bob)
    told(telling, NOW_MS + BACKOFF_MS[0])
    assert post.bodies[-1]["person"]["abilities"].get("speak", {}).get("state") != "off"


def test_nothing_waits_for_a_system_that_the_host_has_taken_off(
    kept: Kept, telling: Deliveries, post: Post
) -> None:
    meeting = hooked(kept)
    post.outcomes = ["failed"]
    told(telling)
    kept.change(meeting, lambda record: editing.edit(record, Changes(hook=None), NOW_MS))
    told(telling, NOW_MS + BACKOFF_MS[0])
    assert (len(post.sent), telling.step(NOW_MS)) == (1, 0)


def test_one_system_that_is_away_does_not_hold_up_another(
    kept: Kept, engine: Engine, settings: Settings
) -> None:
    slow, away, reached = f"{FOLDER}slow", threading.Event(), threading.Event()

    def post(message: Message, at_s: int) -> Outcome:
        if message.hook.url == slow:
            assert away.wait(120)
        else:
            reached.set()
        return "taken"

    telling = Deliveries(settings, engine, post)
    hooked(kept, slow)
    telling.step(NOW_MS)
    hooked(kept)
    telling.step(NOW_MS)
    assert reached.wait(120)
    away.set()
    telling.settle(5)
    telling.close()


def test_only_so_many_messages_wait(
    kept: Kept, telling: Deliveries, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "MOST_WAITING", 10)
    meeting = hooked(kept)
    post.outcomes = ["failed"] * 10
    told(telling)
    for _ in range(8):
        kept.leave(meeting, kept.join(meeting))
    assert telling.step(NOW_MS) == 10


def test_one_meeting_that_cannot_be_read_holds_up_no_other(
    kept: Kept,
    telling: Deliveries,
    post: Post,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    bad, find, said = hooked(kept), store.find, "Bob said something"

    def unreadable(connection: Connection, boxes: Boxes, meeting: str) -> MeetingRecord | None:
        if meeting == bad:
            raise ValueError(said)
        return find(connection, boxes, meeting)

    post.outcomes = ["failed"]
    told(telling)  # its message waits for another attempt
    kept.change(bad, lambda record: running.end(record, NOW_MS))
    good = hooked(kept)
    monkeypatch.setattr(store, "find", unreadable)
    told(telling, NOW_MS + BACKOFF_MS[0])
    assert [one["meeting"]["id"] for one in post.bodies] == [bad, good]
    assert telling.step(NOW_MS) == 0
    assert bad in caplog.text
    assert said not in caplog.text


def test_while_the_database_is_locked_no_message_is_given_up(
    kept: Kept, telling: Deliveries, post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooked(kept)

    def locked(*_given: object) -> None:
        raise OperationalError("SELECT", {}, Exception("database is locked"))

    with monkeypatch.context() as patch:
        patch.setattr(store, "find", locked)
        with pytest.raises(OperationalError):
            telling.step(NOW_MS)
    told(telling)
    assert [one["event"] for one in post.bodies] == ["started"]


def test_a_clock_that_is_set_back_delays_no_attempt(
    kept: Kept, telling: Deliveries, post: Post
) -> None:
    hooked(kept)
    post.outcomes = ["failed"]
    told(telling)
    back_ms = NOW_MS - 3_600_000
    told(telling, back_ms)
    told(telling, back_ms + BACKOFF_MS[-1])
    assert [one["event"] for one in post.bodies] == ["started", "started"]
