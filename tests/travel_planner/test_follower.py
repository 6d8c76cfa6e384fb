"""The follower proposes once what a notice, the traffic or a position calls for, takes it back
when nothing does, and goes on after a restart as if nothing had been."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import Any

import pytest
from sqlalchemy import Engine, delete, select, update

from citywise.apps.travel_planner import answering, beginning, ending, follower, service, trips
from citywise.apps.travel_planner.follower import LOOKS, Follower
from citywise.apps.travel_planner.tables import TripRow
from citywise.apps.travel_planner.trips import Trip
from citywise.backend.ingest.keyring import Keyring
from citywise.backend.machine import REPOSITORY
from citywise.backend.notices import book
from citywise.backend.privacy.boxes import Boxes
from citywise.backend.settings import Settings
from citywise.backend.store.models import HeartbeatRow, InstanceRow, NoticeRow, OutboxRow
from citywise.backend.store.outbox import begin
from tests.api.templates import Change, install, pack_of
from tests.api.town import Town
from tests.travel_planner import followed
from tests.travel_planner.followed import ALICE, EAST, NOON_MS, Live

TRAVEL, PARKING = f"{ALICE}.trip", f"{ALICE}.parking"


@dataclass
class Scene:
    """A follower over a real database, a city as the test says it is, and Alice's trip."""

    engine: Engine
    boxes: Boxes
    live: Live
    follower: Follower

    def put(self, trip: Trip, change: trips.Change = "started") -> Trip:
        """Write a trip as the API does."""
        with self.engine.begin() as connection:
            begin(connection)
            trips.save(connection, self.boxes, trip)
            if trip.state == "following":
                beginning.watch(connection, trip)
            trips.tell(connection, trip, change, self.live.now_ms)
        return trip

    def trip(self, trip: Trip) -> Trip:
        with self.engine.connect() as connection:
            found = trips.find(connection, self.boxes, trip.id)
        assert found is not None
        return found

    def told(self) -> list[str]:
        """What the trips' users were told."""
        query = select(OutboxRow.body).where(OutboxRow.kind == "trip").order_by(OutboxRow.id)
        with self.engine.connect() as connection:
            return [body["change"] for body in connection.scalars(query)]

    def notice(self, change: str = "opened", **more: Any) -> str:
        """Open, update or close the notice of an accident, as the pipeline does."""
        body: dict[str, Any] = {
            "change": change,
            "app": "travel_planner",
            "template": "ahead",
            "version": 1,
            "instance": TRAVEL,
            "user": ALICE,
            "notice": "accident",
            "about": "crash",
            "about_type": "event",
            "about_name": "Main Street",
            "criticality": 4,
            "details": {"level": 4, "metres": 900},
            **more,
        }
        with self.engine.begin() as connection:
            begin(connection)
            book.apply(connection, [Change(self.live.now_ms, body)])
            found = connection.scalars(select(NoticeRow.id).order_by(NoticeRow.opened_ms.desc()))
            return str(found.first())

    def advice(self, notice: str) -> Any:
        with self.engine.connect() as connection:
            return connection.scalar(select(NoticeRow.advice).where(NoticeRow.id == notice))

    def step(self) -> None:
        """Until nothing more is due."""
        self.follower.step()
        while any(at <= time.monotonic() for at in self.follower._due.values()):
            self.follower.step()

    def restarted(self) -> None:
        """Another process takes over."""
        self.follower = Follower(self.engine, self.boxes, followed.planner(), self.live)


@pytest.fixture
def scene(engine: Engine, town: Town, settings: Settings) -> Scene:
    town.running()
    install(town, *pack_of(REPOSITORY / "apps" / "travel_planner").templates)
    for name in ("MAIN", "EAST"):
        town.garage(name, name.title())
    boxes, live = trips.boxes_of(settings), Live()
    found = Scene(engine, boxes, live, Follower(engine, boxes, followed.planner(), live))
    found.step()
    return found


def driving(scene: Scene, lat: float = 56.152) -> Trip:
    """Alice on her way."""
    return scene.put(followed.moved(followed.trip(scene.live), lat))


def test_a_notice_leads_to_a_proposal_and_to_advice(scene: Scene) -> None:
    trip = driving(scene)
    scene.step()
    scene.live.change(events=(followed.event(),))
    notice = scene.notice()
    scene.step()
    proposal = scene.trip(trip).content.proposal
    assert proposal is not None
    assert (proposal["reason"], proposal["notice"], proposal["number"]) == ("event", notice, 1)
    assert scene.advice(notice)["trip"] == trip.id
    assert "2 min" in scene.advice(notice)["texts"]["en"]
    assert scene.told() == ["started", "outlook", "proposed"]
    assert scene.follower.proposed == 1


def test_what_is_proposed_is_proposed_once(scene: Scene) -> None:
    driving(scene)
    scene.live.change(events=(followed.event(),))
    notice = scene.notice()
    scene.step()
    scene.notice("updated", criticality=5)
    scene.step()
    scene.restarted()
    scene.step()
    assert scene.told().count("proposed") == 1
    assert scene.advice(notice)["number"] == 1


def test_a_proposal_missed_while_nobody_followed_is_made_at_the_start(scene: Scene) -> None:
    trip = driving(scene)
    scene.live.change(events=(followed.event(),))
    scene.notice()
    scene.restarted()
    scene.step()
    assert scene.trip(trip).content.proposal is not None


def test_when_the_event_is_over_the_proposal_and_its_advice_go(scene: Scene) -> None:
    trip = driving(scene)
    scene.live.change(events=(followed.event(),))
    notice = scene.notice()
    scene.step()
    scene.live.change(events=(), now_ms=NOON_MS + 60_000)
    scene.notice("updated", criticality=3)
    scene.step()
    assert scene.trip(trip).content.proposal is None
    assert scene.advice(notice) is None
    assert scene.told()[-1] == "released"


def test_who_declined_is_left_in_peace_until_it_becomes_worse(scene: Scene) -> None:
    trip = driving(scene)
    scene.live.change(events=(followed.event(),))
    scene.notice()
    scene.step()
    scene.put(answering.decline(scene.trip(trip), NOON_MS).trip, "declined")
    scene.step()
    assert scene.trip(trip).content.proposal is None
    scene.notice("updated", criticality=5, details={"level": 5, "metres": 900})
    scene.step()
    found = scene.trip(trip).content.proposal
    assert found is not None
    assert found["number"] == 2


def test_who_put_it_off_is_asked_again_later(scene: Scene) -> None:
    trip = driving(scene)
    scene.live.change(events=(followed.event(),))
    scene.notice()
    scene.step()
    scene.put(answering.snooze(scene.trip(trip), 5, NOON_MS).trip, "snoozed")
    scene.step()
    assert scene.told().count("proposed") == 1
    scene.live.change(now_ms=NOON_MS + 5 * 60_000)
    scene.notice("updated", criticality=5)
    scene.step()
    assert scene.told().count("proposed") == 2
    assert scene.trip(trip).content.snoozed_until_ms is None


def test_who_accepted_is_not_asked_for_the_same_event_again(scene: Scene) -> None:
    trip = driving(scene)
    scene.live.change(events=(followed.event(),))
    scene.notice()
    scene.step()
    scene.put(answering.accept(scene.trip(trip), NOON_MS).trip, "accepted")
    scene.step()
    found = scene.trip(trip).content
    assert found.proposal is None
    assert found.outlook is not None
    assert found.outlook["ahead"] == []


def test_an_event_on_the_way_is_enough_and_its_notice_is_advised_when_it_comes(
    scene: Scene,
) -> None:
    trip = driving(scene)
    scene.step()
    scene.live.change(events=(followed.event(),))
    scene.step()
    found = scene.trip(trip).content.proposal
    assert found is not None
    assert (found["reason"], found["notice"], found["about"]["id"]) == ("event", None, "crash")
    notice = scene.notice()
    scene.step()
    found = scene.trip(trip).content.proposal
    assert found is not None
    assert (found["number"], found["notice"]) == (1, notice)
    assert scene.advice(notice)["number"] == 1
    assert scene.told().count("proposed") == 1
    scene.live.change(events=())
    scene.step()
    assert scene.told()[-1] == "released"


def test_a_proposal_in_other_figures_is_brought_up_to_date_quietly(scene: Scene) -> None:
    trip = driving(scene)
    scene.live.change(events=(followed.event(level=5),))
    notice = scene.notice(details={"level": 5})
    scene.step()
    before = scene.advice(notice)
    scene.live.change(events=(followed.event(level=3),), now_ms=NOON_MS + 60_000)
    scene.notice("updated", details={"level": 3})
    scene.step()
    found = scene.trip(trip).content.proposal
    assert found is not None
    assert (found["number"], found["cause_level"]) == (1, 3)
    assert scene.advice(notice)["text"] != before["text"]
    assert scene.told().count("proposed") == 1
    with scene.engine.connect() as connection:
        query = select(OutboxRow.body).where(OutboxRow.kind == "notice").order_by(OutboxRow.id)
        last = connection.scalars(query).all()[-1]
    assert last["advice"] == scene.advice(notice)
    assert not last["alert"]


def test_a_garage_that_fills_up_is_seen_though_the_streets_are_the_same(scene: Scene) -> None:
    trip = scene.put(followed.trip(scene.live, "parking"))
    scene.step()
    costing = scene.live.refresh().costing
    scene.live._kept = replace(
        scene.live.refresh(),
        garages=(followed.garage("MAIN", 100), followed.garage("EAST")),
        costing=costing,
    )
    scene.follower._looked.clear()
    scene.step()
    assert scene.trip(trip).content.proposal is not None


def test_a_trip_heard_of_again_before_it_is_ended_goes_on(scene: Scene) -> None:
    seen = driving(scene)
    scene.step()
    seen = scene.trip(seen)
    scene.put(followed.moved(seen, 56.155), "moved")
    scene.follower._end(seen, NOON_MS)
    found = scene.trip(seen)
    assert found.state == "following"
    assert found.content.position is not None
    assert found.content.position.lat == 56.155


def test_ending_a_trip_leaves_what_watches_for_another_of_its_kind(scene: Scene) -> None:
    old = driving(scene)
    scene.put(replace(old, id=trips.new_id()))
    with scene.engine.begin() as connection:
        begin(connection)
        ending.end(connection, scene.boxes, old, "ended", NOON_MS)
        assert connection.scalars(select(InstanceRow.id)).all() == [TRAVEL]


def test_a_trip_ends_whose_user_removes_what_watches_for_it(scene: Scene) -> None:
    trip = driving(scene)
    scene.step()
    with scene.engine.begin() as connection:
        connection.execute(delete(InstanceRow))
    scene.follower._due[trip.id] = 0.0
    scene.step()
    assert scene.trip(trip).state == "ended"


def test_an_event_elsewhere_wakes_nobody(scene: Scene) -> None:
    driving(scene)
    scene.step()
    scene.live.change(events=(replace(followed.event(), geometry=FAR),))
    before = LOOKS._value.get()
    scene.step()
    assert LOOKS._value.get() == before


FAR = {"type": "Point", "coordinates": [EAST, 56.1665]}


def test_who_leaves_the_way_is_offered_one_from_there_without_any_notice(scene: Scene) -> None:
    trip = driving(scene)
    scene.step()
    scene.put(followed.moved(scene.trip(trip), 56.155, EAST), "moved")
    scene.step()
    found = scene.trip(trip).content.proposal
    assert found is not None
    assert found["reason"] == "off_route"
    scene.put(followed.moved(scene.trip(trip), 56.155), "moved")
    scene.step()
    assert scene.trip(trip).content.proposal is None


def test_a_garage_that_is_full_is_replaced_and_the_notice_says_by_what(scene: Scene) -> None:
    trip = scene.put(followed.trip(scene.live, "parking"))
    scene.step()
    full = followed.garage("MAIN", 100)
    scene.live.change(garages=(full, followed.garage("EAST")))
    about: dict[str, Any] = {
        "about": "MAIN",
        "about_type": "place",
        "about_name": "Main",
        "details": {},
    }
    notice = scene.notice(
        instance=PARKING,
        template="garage",
        notice="garage_full",
        criticality=5,
        **about,
    )
    scene.step()
    found = scene.trip(trip).content
    assert found.proposal is not None
    assert (found.proposal["id"], found.proposal["reason"]) == ("EAST", "garage_full")
    assert scene.advice(notice)["text"].startswith("Park at East instead: ")


def test_a_trip_that_cannot_be_followed_stops_no_other(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, sound = driving(scene), driving(scene)
    sound = scene.put(replace(sound, id=trips.new_id(), user="bob"))
    look = scene.follower._watch.look

    def breaks(trip: Trip, *rest: Any) -> Any:
        if trip.id == broken.id:
            raise ValueError("broken")
        return look(trip, *rest)

    monkeypatch.setattr(scene.follower._watch, "look", breaks)
    scene.live.change(events=(followed.event(),))
    scene.follower._looked.clear()
    scene.step()
    assert scene.trip(sound).content.proposal is not None
    assert scene.trip(broken).content.proposal is None


def test_of_a_trip_that_changed_while_it_was_looked_at_nothing_is_lost(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    trip = driving(scene)
    scene.live.change(events=(followed.event(),))
    look, moved = scene.follower._watch.look, list[Trip]()

    def meanwhile(found: Trip, *rest: Any) -> Any:
        outcome = look(found, *rest)
        if not moved:
            moved.append(scene.put(followed.moved(found, 56.153), "moved"))
        return outcome

    monkeypatch.setattr(scene.follower._watch, "look", meanwhile)
    scene.step()
    found = scene.trip(trip).content
    assert found.position is not None
    assert found.position.lat == 56.153
    assert found.proposal is not None


def test_to_a_trip_that_ended_while_it_was_looked_at_nothing_is_proposed(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    trip = driving(scene)
    scene.live.change(events=(followed.event(),))
    look = scene.follower._watch.look

    def meanwhile(found: Trip, *rest: Any) -> Any:
        outcome = look(found, *rest)
        scene.put(trips.ended(found, "ended", NOON_MS), "ended")
        return outcome

    monkeypatch.setattr(scene.follower._watch, "look", meanwhile)
    scene.step()
    assert scene.trip(trip).content.proposal is None
    assert "proposed" not in scene.told()


def test_a_trip_of_which_nothing_is_heard_is_over(scene: Scene) -> None:
    trip = driving(scene)
    scene.step()
    scene.live.change(now_ms=NOON_MS + follower.SILENT_MS + 60_000)
    scene.follower._looked.clear()
    scene.step()
    assert scene.trip(trip).state == "ended"
    assert scene.follower.following == 0


def test_of_who_is_forgotten_no_trip_can_be_followed(scene: Scene, settings: Settings) -> None:
    driving(scene)
    assert Keyring(settings.keys_dir).forget(ALICE)
    scene.boxes = Boxes(settings.keys_dir, trips.TRIP)
    scene.restarted()
    scene.step()
    assert scene.told() == ["started"]


def test_an_ended_trip_takes_its_advice_with_it(scene: Scene) -> None:
    trip = driving(scene)
    scene.live.change(events=(followed.event(),))
    notice = scene.notice()
    scene.step()
    with scene.engine.begin() as connection:
        begin(connection)
        ending.end(connection, scene.boxes, scene.trip(trip), "ended", NOON_MS)
    assert scene.advice(notice) is None
    scene.step()
    with scene.engine.connect() as connection:
        assert connection.scalars(select(TripRow.state)).all() == ["ended"]


def test_what_cannot_be_followed_leaves_the_heartbeat_and_all_else(
    scene: Scene, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_process: service.Service) -> bool:
        raise ValueError("cannot be")

    monkeypatch.setattr(service, "_RETRY_S", 0)
    monkeypatch.setattr(service.Service, "_follow", broken)
    process = service.Service(settings, scene.engine, threading.Event())
    assert not process._step()
    with scene.engine.connect() as connection:
        beats = select(HeartbeatRow.process).where(HeartbeatRow.process == "travel_planner")
        assert connection.scalar(beats)


def test_without_a_city_the_process_waits_and_says_what_it_lacks(
    scene: Scene, settings: Settings
) -> None:
    process = service.Service(settings, scene.engine, threading.Event())
    process._step()
    assert process._lacks is None
    driving(scene)  # What there is to follow, or half a minute, brings it to read the city.
    process._beat_at = 0.0
    process._step()
    with scene.engine.begin() as connection:
        detail = connection.scalar(
            select(HeartbeatRow.detail).where(HeartbeatRow.process == "travel_planner")
        )
        assert detail is not None
        assert "citywise city import" in detail["lacks"]
        connection.execute(update(TripRow).values(state="ended"))
