"""From readings to what hosts see: what is concluded, kept, told and forgotten."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import OperationalError

from citywise.apps.meeting_mgr import agenda, readings, store
from citywise.apps.meeting_mgr.capabilities import Capabilities
from citywise.apps.meeting_mgr.model import Cause, Placed, Proposal, Proposed, Room, Rules
from citywise.apps.meeting_mgr.process import aside, suggesting
from citywise.apps.meeting_mgr.process.reasoner import Reasoner
from citywise.apps.meeting_mgr.steps import answering, running, taking_part
from citywise.apps.meeting_mgr.steps.drafts import Changes
from citywise.apps.meeting_mgr.steps.editing import edit
from citywise.apps.meeting_mgr.telling import host_channel
from citywise.backend.ingest.keyring import Keyring
from citywise.backend.privacy.boxes import KeysAwayError
from citywise.backend.settings import Settings
from tests.api.town import soon
from tests.meeting_mgr.kept import NOW_MS, QUICK, Kept, heard

LOUD, QUIET = 92.0, 50.0


@pytest.fixture(autouse=True)
def no_proposals(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is proposed has tests of its own."""
    monkeypatch.setattr(agenda, "proposed", lambda *_given, **_more: None)


@pytest.fixture
def kept(engine: Engine, settings: Settings) -> Kept:
    return Kept(engine, settings)


@pytest.fixture
def reasoner(engine: Engine, settings: Settings, kept: Kept) -> Iterator[Reasoner]:
    found = Reasoner(settings, engine)
    yield found
    found.close()


def test_a_reading_turns_an_ability_off_and_another_on_again(
    kept: Kept, reasoner: Reasoner
) -> None:
    meeting = kept.make()
    bob = kept.join(meeting, "noise")
    reasoner.step([heard(meeting, bob, noise_db=QUIET)], NOW_MS)
    assert kept.able(meeting, bob) == "on"
    reasoner.step([heard(meeting, bob, NOW_MS + 1000, noise_db=LOUD)], NOW_MS + 1000)
    speaking = kept.abilities(meeting, bob)["speak"]
    assert (speaking.state, speaking.because) == ("off", ("noise",))
    assert speaking.since_ms == NOW_MS + 1000
    reasoner.step([heard(meeting, bob, NOW_MS + 2000, noise_db=QUIET)], NOW_MS + 2000)
    assert kept.able(meeting, bob) == "on"


def test_the_minutes_say_nothing_of_what_is_shared_no_longer(
    kept: Kept, reasoner: Reasoner
) -> None:
    """Neither that somebody could not speak, nor, instead, that they could."""
    meeting = kept.make()
    bob = kept.join(meeting, "noise", "light")
    told = ((0, QUIET), (60, LOUD))
    for second, level in told:
        at_ms = NOW_MS + second * 1000
        reasoner.step([heard(meeting, bob, at_ms, noise_db=level, light_lux=400)], at_ms)
    kept.share(meeting, bob, "light", now_ms=NOW_MS + 61_000)
    reasoner.step([], NOW_MS + 62_000)
    assert spans(kept, meeting, "speak") == [("unknown", ("not_shared",))]
    assert [state for state, _because in spans(kept, meeting, "read")][-1] == "on"


def test_the_minutes_go_on_with_what_is_still_shared(kept: Kept, reasoner: Reasoner) -> None:
    meeting = kept.make()
    bob = kept.join(meeting, "noise", "network")
    reasoner.step([heard(meeting, bob, noise_db=QUIET, network_mbps=9)], NOW_MS)
    kept.share(meeting, bob, "network", now_ms=NOW_MS + 1000)
    reasoner.step([], NOW_MS + 2000)
    assert spans(kept, meeting, "speak") == [("unknown", ("not_shared",)), ("on", ())]


def spans(kept: Kept, meeting: str, capability: str) -> list[tuple[str, tuple[str, ...]]]:
    """What the entries of a meeting say of a capability, one after the other."""
    told = [one for one in kept.entries(meeting) if one.get("capability") == capability]
    return [(one["state"], tuple(one["because"])) for one in told]


def test_host_and_person_are_told_and_nobody_else(kept: Kept, reasoner: Reasoner) -> None:
    meeting = kept.make()
    bob, charlie = kept.join(meeting, "noise"), kept.join(meeting, name="Charlie")
    reasoner.step([heard(meeting, bob, noise_db=QUIET)], NOW_MS)
    before = kept.told_to(charlie)
    reasoner.step([heard(meeting, bob, NOW_MS + 1, noise_db=LOUD)], NOW_MS + 1)
    assert kept.told(host_channel(meeting))[-1] == "abilities"
    assert kept.told_to(bob)[-1] == "abilities"
    assert kept.told_to(charlie) == before


def test_a_reading_that_changes_nothing_writes_nothing(
    kept: Kept, reasoner: Reasoner, engine: Engine
) -> None:
    meeting = kept.make()
    bob = kept.join(meeting, "noise")
    reasoner.step([heard(meeting, bob, noise_db=QUIET)], NOW_MS)
    boxes = _boxes(engine)
    for second in range(1, 5):
        at_ms = NOW_MS + 1000 * second
        reasoner.step([heard(meeting, bob, at_ms, noise_db=QUIET + second)], at_ms)
    assert _boxes(engine) == boxes


def test_no_value_of_a_sensor_is_kept_anywhere(
    kept: Kept, reasoner: Reasoner, engine: Engine
) -> None:
    meeting = kept.make()
    bob = kept.join(meeting, "noise")
    reasoner.step([heard(meeting, bob, noise_db=91.73519)], NOW_MS)
    assert "91.7" not in kept.person(meeting, bob).model_dump_json()
    assert "91.7" not in str(kept.entries(meeting))
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT body FROM outbox")).all()
    assert "91.7" not in str(rows)


def test_a_silent_sensor_is_noticed_though_nothing_comes(kept: Kept, reasoner: Reasoner) -> None:
    meeting = kept.make(Rules(dwell_s=0, silent_s=5))
    bob = kept.join(meeting, "noise")
    reasoner.step([heard(meeting, bob, noise_db=QUIET)], NOW_MS)
    reasoner.step([], NOW_MS + 4000)
    assert kept.able(meeting, bob) == "on"
    reasoner.step([], NOW_MS + 5001)
    assert kept.person(meeting, bob).state.sensors["noise"].state == "silent"
    assert kept.able(meeting, bob) == "unknown"


def test_the_host_s_word_counts_at_once(kept: Kept, reasoner: Reasoner) -> None:
    meeting = kept.make()
    bob = kept.join(meeting, "noise")
    reasoner.step([heard(meeting, bob, noise_db=QUIET)], NOW_MS)
    kept.change_person(
        meeting, bob, lambda r, p: taking_part.override(r, p, {"speak": "off"}, NOW_MS)
    )
    reasoner.step([], NOW_MS + 10)
    speaking = kept.abilities(meeting, bob)["speak"]
    assert (speaking.state, speaking.because) == ("off", ("override",))
    assert kept.person(meeting, bob).overrides == {"speak": "off"}


# --- What is not heard ---------------------------------------------------------------------------


def test_sensors_that_are_not_shared_are_not_looked_at(kept: Kept, reasoner: Reasoner) -> None:
    meeting = kept.make()
    bob = kept.join(meeting, "light")
    told = heard(meeting, bob, noise_db=LOUD, speed_kmh=90, light_lux=400)
    reasoner.step([told], NOW_MS)
    assert set(_observed(reasoner, meeting, bob)) == {"light"}
    assert kept.able(meeting, bob, "listen") != "off"


def test_consent_that_is_withdrawn_forgets_what_was_heard(kept: Kept, reasoner: Reasoner) -> None:
    meeting = kept.make()
    bob = kept.join(meeting, "noise", "light")
    reasoner.step([heard(meeting, bob, noise_db=LOUD, light_lux=400)], NOW_MS)
    assert kept.able(meeting, bob) == "off"
    kept.share(meeting, bob, "light", now_ms=NOW_MS + 10)
    reasoner.step([heard(meeting, bob, NOW_MS + 20, noise_db=LOUD)], NOW_MS + 20)
    assert set(_observed(reasoner, meeting, bob)) == {"light"}
    assert kept.abilities(meeting, bob)["speak"].because == ("not_shared",)
    assert not [e for e in kept.entries(meeting) if "noise" in e.get("because", ())]


def test_who_has_left_is_not_heard_any_more(kept: Kept, reasoner: Reasoner) -> None:
    meeting = kept.make()
    bob = kept.join(meeting, "noise")
    reasoner.step([heard(meeting, bob, noise_db=QUIET)], NOW_MS)
    kept.leave(meeting, bob)
    reasoner.step([heard(meeting, bob, NOW_MS + 1, noise_db=LOUD)], NOW_MS + 1)
    assert kept.abilities(meeting, bob)["speak"].because == ("left",)
    assert reasoner.counts["unknown"] == 1
    assert bob not in reasoner._lives[meeting]._latest


def test_a_shared_screen_changes_no_agenda(
    kept: Kept, reasoner: Reasoner, monkeypatch: pytest.MonkeyPatch
) -> None:
    meeting, wanted = kept.make(), list[str]()
    bob = kept.join(meeting)
    reasoner.step([], NOW_MS)
    monkeypatch.setattr(reasoner._suggester, "want", wanted.extend)
    kept.change_person(
        meeting, bob, lambda record, one: taking_part.say(record, one, NOW_MS, presents=True)
    )
    reasoner.step([], NOW_MS + 1)
    assert wanted == []
    kept.leave(meeting, bob)
    reasoner.step([], NOW_MS + 2)
    assert wanted == [meeting]


def test_of_a_meeting_that_is_over_nothing_is_known(kept: Kept, reasoner: Reasoner) -> None:
    meeting = kept.make()
    bob = kept.join(meeting, "noise")
    reasoner.step([heard(meeting, bob, noise_db=QUIET)], NOW_MS)
    kept.change(meeting, lambda record: running.end(record, NOW_MS))
    reasoner.step([heard(meeting, bob, NOW_MS + 1, noise_db=LOUD)], NOW_MS + 1)
    assert reasoner._lives == {}
    assert reasoner.people == 0


def test_readings_of_strangers_and_nonsense_are_counted_and_change_nothing(
    kept: Kept, reasoner: Reasoner
) -> None:
    meeting = kept.make()
    bob = kept.join(meeting, "noise")
    good = heard(meeting, bob, noise_db=QUIET)
    reasoner.step(
        [
            heard(meeting, "p-" + "z" * 20, noise_db=LOUD),
            heard("m-" + "z" * 20, bob, noise_db=LOUD),
            heard(None, "nowhere", noise_db=LOUD),
            good._replace(payload=b"not JSON"),
            good._replace(payload=b'{"at": "2027-01-15T08:00:00Z", "values": {"noise_db": "91"}}'),
            good,
        ],
        NOW_MS,
    )
    assert reasoner.counts == {"unknown": 3, "refused": 2, "heard": 1}
    assert kept.able(meeting, bob) == "on"


def test_a_reading_that_comes_late_changes_nothing(kept: Kept, reasoner: Reasoner) -> None:
    meeting = kept.make()
    bob = kept.join(meeting, "noise")
    late = heard(meeting, bob, NOW_MS - 500, noise_db=LOUD)._replace(heard_ms=NOW_MS)
    reasoner.step([heard(meeting, bob, noise_db=QUIET), late], NOW_MS)
    assert kept.able(meeting, bob) == "on"


# --- Rooms ---------------------------------------------------------------------------------------


def test_a_room_s_sensors_count_for_those_who_are_in_it(kept: Kept, engine: Engine) -> None:
    meeting = kept.make(room="office-1")
    _move(kept, meeting, 56.17, 10.19)
    bob = kept.join(meeting, "distance")
    charlie = kept.join(meeting, "distance", name="Charlie")
    reasoner = Reasoner(kept.settings, engine)
    near = heard(meeting, bob, lat=56.17, lon=10.19, accuracy_m=5.0)
    far = heard(meeting, charlie, lat=56.27, lon=10.19, accuracy_m=5.0)
    reasoner.step([near, far], NOW_MS)
    assert kept.person(meeting, bob).state.presence == "room"
    reasoner.step([heard(None, "office-1", NOW_MS + 1, noise_db=LOUD)], NOW_MS + 1)
    reasoner.close()
    assert kept.abilities(meeting, bob)["speak"].because == ("noise",)
    assert kept.able(meeting, charlie) != "off"


def test_who_is_judged_by_the_room_stays_so_when_the_process_is_started_again(
    kept: Kept, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "citywise.apps.meeting_mgr.process.reasoner.times", SimpleNamespace(wall_ms=lambda: NOW_MS)
    )
    meeting = kept.make(room="office-1")
    _move(kept, meeting, 56.17, 10.19)
    bob = kept.join(meeting, "distance")
    first = Reasoner(kept.settings, engine)
    first.step([heard(meeting, bob, lat=56.17, lon=10.19, accuracy_m=5.0)], NOW_MS)
    first.step([heard(None, "office-1", NOW_MS + 1, noise_db=LOUD)], NOW_MS + 1)
    first.close()
    before = kept.abilities(meeting, bob)
    again = Reasoner(kept.settings, engine)
    again.step([], NOW_MS + 2)
    again.close()
    assert before["speak"].because == ("noise",)
    assert kept.abilities(meeting, bob) == before


# --- Others who write ----------------------------------------------------------------------------


def test_what_somebody_else_wrote_meanwhile_is_not_overwritten(
    kept: Kept, reasoner: Reasoner, monkeypatch: pytest.MonkeyPatch
) -> None:
    meeting = kept.make()
    bob = kept.join(meeting, "noise")
    reasoner.step([heard(meeting, bob, noise_db=QUIET)], NOW_MS)
    evaluate = Capabilities.evaluate

    def evaluate_slowly(self: Capabilities, *given: Any) -> Any:
        monkeypatch.setattr(Capabilities, "evaluate", evaluate)
        kept.share(meeting, bob, "light")  # while it is thought about noise
        return evaluate(self, *given)

    monkeypatch.setattr(Capabilities, "evaluate", evaluate_slowly)
    reasoner.step([heard(meeting, bob, NOW_MS + 1, noise_db=LOUD)], NOW_MS + 1)
    assert kept.person(meeting, bob).sharing == ("light",)
    assert "noise" not in kept.abilities(meeting, bob)["speak"].because
    reasoner.step([], NOW_MS + 2)
    assert kept.person(meeting, bob).state.sensors["noise"].state == "not_shared"
    assert set(_observed(reasoner, meeting, bob)) == set()


def test_a_process_that_is_started_again_goes_on_from_what_was_concluded(
    kept: Kept, reasoner: Reasoner, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "citywise.apps.meeting_mgr.process.reasoner.times",
        SimpleNamespace(wall_ms=lambda: NOW_MS + 60_000),
    )
    meeting = kept.make()
    bob = kept.join(meeting, "noise")
    reasoner.step([heard(meeting, bob, noise_db=LOUD)], NOW_MS)
    before, told = kept.person(meeting, bob), kept.told_to(bob)
    again = Reasoner(kept.settings, engine)
    again.step([], NOW_MS + 60_050)
    again.step([heard(meeting, bob, NOW_MS + 61_000, noise_db=LOUD)], NOW_MS + 61_000)
    again.close()
    assert (kept.person(meeting, bob), kept.told_to(bob)) == (before, told)


def test_one_bad_meeting_stops_no_other(
    kept: Kept, reasoner: Reasoner, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    good, bad = kept.make(), kept.make()
    bob, eve = kept.join(good, "noise"), kept.join(bad, "noise", name="Eve")
    evaluate = Capabilities.evaluate

    def evaluate_some(self: Capabilities, now_ms: int, situations: Any) -> Any:
        if any(one.meeting == bad for one in situations):
            raise RuntimeError(situations[0].person)
        return evaluate(self, now_ms, situations)

    monkeypatch.setattr(Capabilities, "evaluate", evaluate_some)
    with caplog.at_level(logging.ERROR):
        reasoner.step([heard(good, bob, noise_db=LOUD), heard(bad, eve, noise_db=LOUD)], NOW_MS)
    assert kept.able(good, bob) == "off"
    assert bad in caplog.text
    assert "RuntimeError" in caplog.text
    assert eve not in caplog.text


def test_of_what_people_could_do_only_the_last_is_kept(
    kept: Kept, reasoner: Reasoner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MOST_ENTRIES", 5)
    monkeypatch.setattr("citywise.apps.meeting_mgr.process.reasoner.TRIM_AFTER", 3)
    meeting = kept.make()
    before, bob = kept.entries(meeting), kept.join(meeting, "noise")
    for n in range(8):
        now_ms = NOW_MS + n * 60_000
        reasoner.step([heard(meeting, bob, now_ms, noise_db=(LOUD, QUIET)[n % 2])], now_ms)
    after, his = kept.entries(meeting), kept.entries(meeting, bob)
    assert 0 < len(his) < 5 + 3
    assert kept.able(meeting, bob) == "on"
    assert his[-1]["state"] == "on"
    assert after[: len(before)] == before != []


# --- What fails ----------------------------------------------------------------------------------


def locked(*_given: object, **_more: object) -> Any:
    raise OperationalError("SELECT", {}, Exception("database is locked"))


@pytest.mark.parametrize("where", ["find", "people_of", "write_all"])
def test_while_the_database_is_locked_nothing_is_lost(
    kept: Kept, reasoner: Reasoner, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Neither a meeting, nor a change of it, nor what was heard meanwhile."""
    meeting = kept.make()
    bob = kept.join(meeting, "noise")
    with monkeypatch.context() as patch:
        patch.setattr(store, where, locked)
        for _ in range(2):
            with pytest.raises(OperationalError):
                reasoner.step([heard(meeting, bob, noise_db=LOUD)], NOW_MS)
    assert kept.able(meeting, bob) is None
    reasoner.step([], NOW_MS)
    assert kept.able(meeting, bob) == "off"


def test_an_error_of_the_system_with_one_meeting_is_that_meetings(
    kept: Kept, reasoner: Reasoner, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = kept.make(), kept.make()
    bob, eve = kept.join(good, "noise"), kept.join(bad, "noise", name="Eve")
    evaluate = Capabilities.evaluate

    def evaluate_some(self: Capabilities, now_ms: int, situations: Any) -> Any:
        if any(one.meeting == bad for one in situations):
            raise TimeoutError
        return evaluate(self, now_ms, situations)

    monkeypatch.setattr(Capabilities, "evaluate", evaluate_some)
    reasoner.step([heard(good, bob, noise_db=LOUD), heard(bad, eve, noise_db=LOUD)], NOW_MS)
    assert kept.able(good, bob) == "off"


def test_keys_that_cannot_be_read_are_no_fault_of_a_meeting(
    kept: Kept, reasoner: Reasoner, monkeypatch: pytest.MonkeyPatch
) -> None:
    meeting = kept.make()
    bob = kept.join(meeting, "noise")

    def denied(*_given: object) -> None:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(Keyring, "keys_of", denied)
        with pytest.raises(KeysAwayError):
            reasoner.step([heard(meeting, bob, noise_db=LOUD)], NOW_MS)
    reasoner.step([], NOW_MS)
    assert kept.able(meeting, bob) == "off"


def test_a_locked_database_is_waited_for_once_and_not_for_each_meeting(
    kept: Kept, reasoner: Reasoner, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[int] = []

    def wait(*_given: object) -> None:
        waited.append(1)
        locked()

    said = [
        heard(one, kept.join(one, "noise"), noise_db=LOUD) for one in (kept.make(), kept.make())
    ]
    monkeypatch.setattr(store, "write_all", wait)
    with pytest.raises(OperationalError):
        reasoner.step(said, NOW_MS)
    assert len(waited) == 1


def test_a_proposal_that_could_not_be_written_is_thought_of_again(
    kept: Kept,
    reasoner: Reasoner,
    thinking: Callable[[Proposal | None], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    meeting = kept.make()
    thinking(_swap(kept, meeting))
    failed: list[bool] = []

    def step() -> bool:
        try:
            reasoner.step([], NOW_MS + 10)
        except OperationalError:
            failed.append(True)
        return bool(failed)

    with monkeypatch.context() as patch:
        patch.setattr(store, "write", locked)
        soon(step)
    _until(reasoner, lambda: bool(kept.record(meeting).proposals))


def test_a_meeting_with_which_something_failed_is_looked_at_again_by_itself(
    kept: Kept, reasoner: Reasoner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aside, "FIRST_S", 0.0)
    meeting = kept.make()
    bob = kept.join(meeting, "noise")

    def fail(*_given: object) -> Any:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(Capabilities, "evaluate", fail)
        reasoner.step([heard(meeting, bob, noise_db=LOUD)], NOW_MS)
    assert reasoner.meetings == 0
    reasoner.step([heard(meeting, bob, NOW_MS + 1, noise_db=LOUD)], NOW_MS + 1)
    assert kept.able(meeting, bob) == "off"


def test_a_message_that_breaks_our_check_holds_up_no_other(
    kept: Kept,
    reasoner: Reasoner,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    meeting = kept.make()
    bob, eve = kept.join(meeting, "noise"), kept.join(meeting, "noise", name="Eve")
    check = readings.reading

    def breaks(payload: bytes) -> Any:
        if b"88" in payload:
            raise RuntimeError(payload)
        return check(payload)

    monkeypatch.setattr(readings, "reading", breaks)
    evil = [heard(meeting, eve, noise_db=88.0)] * 3
    with caplog.at_level(logging.ERROR):
        reasoner.step([*evil, heard(meeting, bob, noise_db=LOUD)], NOW_MS)
    assert kept.able(meeting, bob) == "off"
    assert reasoner.counts == {"failed": 3, "heard": 1}
    assert len(caplog.records) == 1
    assert "88" not in caplog.text


# --- A clock that is set back --------------------------------------------------------------------

HOUR_MS = 3_600_000
STEADY = Rules(dwell_s=10)


def test_when_the_clock_is_set_back_no_icon_stands_still_until_it_is_that_late_again(
    kept: Kept, reasoner: Reasoner
) -> None:
    meeting = kept.make(STEADY)
    bob = kept.join(meeting, "noise")
    reasoner.step([heard(meeting, bob, noise_db=QUIET)], NOW_MS)
    loud_ms = NOW_MS + 20_000
    reasoner.step([heard(meeting, bob, loud_ms, noise_db=LOUD)], loud_ms)
    assert kept.able(meeting, bob) == "off"
    back_ms = loud_ms - HOUR_MS
    reasoner.step([heard(meeting, bob, back_ms, noise_db=QUIET)], back_ms)
    kept.change_person(
        meeting, bob, lambda record, one: taking_part.say(record, one, back_ms, hand=True)
    )
    for late_s in range(1, 11):
        at_ms = back_ms + late_s * 1000
        reasoner.step([heard(meeting, bob, at_ms, noise_db=QUIET)], at_ms)
    assert kept.able(meeting, bob) == "on"


def test_when_the_clock_is_set_back_silence_still_falls(kept: Kept, reasoner: Reasoner) -> None:
    meeting = kept.make()
    bob, charlie = kept.join(meeting, "noise"), kept.join(meeting, "noise", name="Charlie")
    reasoner.step([heard(meeting, bob, noise_db=QUIET)], NOW_MS)
    back_ms = NOW_MS - HOUR_MS
    reasoner.step([], back_ms)
    assert kept.able(meeting, bob) == "on"
    late_ms = back_ms + round(QUICK.silent_s * 1000)
    reasoner.step([], late_ms)
    stands = [kept.person(meeting, one).state.sensors["noise"].state for one in (bob, charlie)]
    assert stands == ["silent", "silent"]


def test_a_process_that_begins_after_the_clock_was_set_back_does_not_wait_either(
    kept: Kept, reasoner: Reasoner, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    meeting = kept.make(STEADY)
    bob = kept.join(meeting, "noise")
    reasoner.step([heard(meeting, bob, noise_db=QUIET)], NOW_MS)
    reasoner.step([heard(meeting, bob, NOW_MS + 20_000, noise_db=LOUD)], NOW_MS + 20_000)
    back_ms = NOW_MS - HOUR_MS
    monkeypatch.setattr(
        "citywise.apps.meeting_mgr.process.reasoner.times", SimpleNamespace(wall_ms=lambda: back_ms)
    )
    again = Reasoner(kept.settings, engine)
    for late_s in range(11):
        at_ms = back_ms + late_s * 1000
        again.step([heard(meeting, bob, at_ms, noise_db=QUIET)], at_ms)
    again.close()
    assert kept.able(meeting, bob) == "on"


# --- Proposals -----------------------------------------------------------------------------------


@pytest.fixture
def thinking(monkeypatch: pytest.MonkeyPatch) -> Callable[[Proposal | None], None]:
    """Say what is proposed from now on, and let no meeting rest."""
    monkeypatch.setattr(suggesting, "REST_S", 0.0)

    def proposes(proposal: Proposal | None) -> None:
        monkeypatch.setattr(agenda, "proposed", lambda *_given, **_more: proposal)

    return proposes


def _swap(kept: Kept, meeting: str) -> Proposal:
    first, second = kept.record(meeting).meeting.agenda
    order = (
        Placed(item=first.id, starts_ms=NOW_MS, minutes=25),
        Placed(item=second.id, starts_ms=NOW_MS, minutes=30),
    )
    return Proposal(
        number=1, at_ms=NOW_MS, kind="reorder",
        causes=(Cause(item=second.id, person="a1", lacks=("speak",), because=("noise",)),),
        options=(Proposed(agenda=order, moved=(second.id,), cost=(0,)),),
    )  # fmt: skip


def _until(reasoner: Reasoner, holds: Callable[[], bool]) -> None:
    """Step until something holds; another thread thinks."""
    pause = threading.Event()
    for _ in range(12_000):
        reasoner.step([], NOW_MS + 10)
        if holds():
            return
        pause.wait(0.005)
    raise AssertionError("it does not come")


def test_another_agenda_is_put_to_the_host_once(
    kept: Kept, reasoner: Reasoner, thinking: Callable[[Proposal | None], None]
) -> None:
    meeting = kept.make()
    thinking(_swap(kept, meeting))
    _until(reasoner, lambda: bool(kept.record(meeting).proposals))
    kept.join(meeting, name="Charlie")
    _until(reasoner, lambda: not reasoner._suggester._wanted)
    _until(reasoner, lambda: reasoner._suggester._thinking is None)
    [proposal] = kept.record(meeting).proposals
    assert (proposal.number, proposal.answer) == (1, "open")
    assert kept.told(host_channel(meeting)).count("proposed") == 1


def test_a_proposal_that_no_longer_holds_is_taken_back(
    kept: Kept, reasoner: Reasoner, thinking: Callable[[Proposal | None], None]
) -> None:
    meeting = kept.make()
    thinking(_swap(kept, meeting))
    _until(reasoner, lambda: bool(kept.record(meeting).proposals))
    thinking(None)
    kept.join(meeting, name="Charlie")
    _until(reasoner, lambda: kept.record(meeting).proposals[0].answer == "outdated")


def test_what_the_host_has_declined_is_not_put_to_them_again(
    kept: Kept, reasoner: Reasoner, thinking: Callable[[Proposal | None], None]
) -> None:
    meeting = kept.make()
    thinking(_swap(kept, meeting))
    _until(reasoner, lambda: bool(kept.record(meeting).proposals))
    kept.change(meeting, lambda record: answering.decline(record, 1, NOW_MS))
    kept.join(meeting, name="Charlie")
    _until(reasoner, lambda: not reasoner._suggester._wanted)
    _until(reasoner, lambda: reasoner._suggester._thinking is None)
    [proposal] = kept.record(meeting).proposals
    assert proposal.answer == "declined"


def test_where_the_host_has_said_so_it_is_applied_without_asking(
    kept: Kept, reasoner: Reasoner, thinking: Callable[[Proposal | None], None]
) -> None:
    meeting = kept.make(Rules(apply_automatically=("reorder",)))
    thinking(_swap(kept, meeting))
    _until(reasoner, lambda: bool(kept.record(meeting).proposals))
    [proposal] = kept.record(meeting).proposals
    assert (proposal.answer, proposal.automatic) == ("accepted", True)


def test_thinking_that_fails_is_said_and_stops_nothing(
    kept: Kept, reasoner: Reasoner, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    said = "Bob said something"

    def fail(*_given: object, **_more: object) -> None:
        raise RuntimeError(said)

    monkeypatch.setattr(agenda, "proposed", fail)
    meeting = kept.make()
    _until(reasoner, lambda: meeting in caplog.text)
    assert said not in caplog.text


def _observed(reasoner: Reasoner, meeting: str, person: str) -> Any:
    return reasoner._lives[meeting]._latest[person].values


def _boxes(engine: Engine) -> list[Any]:
    with engine.connect() as connection:
        people = connection.execute(text("SELECT box FROM meeting_mgr_people")).all()
        told = connection.execute(text("SELECT max(id) FROM outbox")).all()
    return [*people, *told]


def _move(kept: Kept, meeting: str, lat: float, lon: float) -> None:
    room = Room(name="Room B", lat=lat, lon=lon, sensors="office-1")
    kept.change(meeting, lambda record: edit(record, Changes(room=room), NOW_MS))


def test_what_would_leave_nothing_to_be_done_is_never_applied_without_asking(
    kept: Kept, reasoner: Reasoner, thinking: Callable[[Proposal | None], None]
) -> None:
    meeting = kept.make(Rules(apply_automatically=("put_off",)))
    swap = _swap(kept, meeting)
    first, second = swap.options[0].agenda
    current = first if first.item == "i1" else second
    empty = swap.options[0].model_copy(update={"agenda": (current,), "put_off": ("i2",)})
    thinking(swap.model_copy(update={"kind": "put_off", "options": (empty,)}))
    _until(reasoner, lambda: bool(kept.record(meeting).proposals))
    [proposal] = kept.record(meeting).proposals
    assert (proposal.answer, proposal.automatic) == ("open", False)
