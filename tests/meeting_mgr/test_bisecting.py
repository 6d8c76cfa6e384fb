"""A host who moves a bound, again and again to the middle of what is left, to find a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from flask import Flask
from sqlalchemy import Engine

from citywise.apps.meeting_mgr import agenda
from citywise.apps.meeting_mgr.api import rights
from citywise.apps.meeting_mgr.process.reasoner import Reasoner
from citywise.backend.settings import Settings
from tests.api.browsers import Browser
from tests.meeting_mgr.hosted import Json, join, make, me, of, show
from tests.meeting_mgr.kept import heard
from tests.meeting_mgr.made import MINUTE_MS, NOW_MS

LOUD = 63.7
LEAST, MOST = 0.0, 128.0
HUNDREDTH = 0.01
"""Values are compared with bounds to this."""
SEEN_PER_CONSENT = 3
"""Places of a bound that somebody is judged by in the hour after they have said yes."""


@dataclass
class Play:
    """A meeting in which it is as loud around Bob all the time, at a time of our making."""

    alice: Browser
    bob: Browser
    meeting: Json
    reasoner: Reasoner
    now_ms: int = NOW_MS
    seen: set[float] = field(default_factory=set)
    """The places of the bound of which the host has seen whether it is louder."""

    def share(self) -> None:
        """Bob says yes, to whatever he is asked, a second later."""
        self.now_ms += 1000
        body = {"sensors": ["noise"], "noted": ["noise"]}
        answer = self.bob.put(f"{me(self.meeting)}/sharing", body)
        assert answer.json["me"]["sharing"] == ["noise"], answer.json

    def is_sharing(self) -> bool:
        return "noise" in self.bob.get(me(self.meeting)).json["me"]["sharing"]

    def put(self, bound: float) -> None:
        """The host puts the bound to another place."""
        version = show(self.alice, self.meeting)["version"]
        thresholds = {"noise": {"upper": bound, "hysteresis": 0}}
        body = {"version": version, "rules": {"thresholds": thresholds, "dwell_s": 0}}
        assert self.alice.patch(of(self.meeting), body).status_code == 200

    def is_louder(self, bound: float) -> bool | None:
        """Whether it is louder than the bound, which the host sees; None: it is not to be seen."""
        reading = heard(self.meeting["id"], str(self.bob.user), self.now_ms, noise_db=LOUD)
        self.reasoner.step([reading], self.now_ms)
        (person,) = show(self.alice, self.meeting)["people"]
        state = person["abilities"]["speak"]["state"]
        if state != "unknown":
            self.seen.add(bound)
        return None if state == "unknown" else state == "off"

    def bisect(self, times: int, minutes: float, ended: Callable[[], None]) -> float:
        """Look, and move the bound to the middle, so many times; what is left of where the value
        may be."""
        low, high = LEAST, MOST
        for _ in range(times):
            middle = (low + high) / 2
            is_louder = self.is_louder(middle)
            if is_louder is None:
                ended()
            elif is_louder:
                low = middle
            else:
                high = middle
            self.now_ms += round(minutes * MINUTE_MS)
            self.put((low + high) / 2)
        assert low - HUNDREDTH <= LOUD <= high + HUNDREDTH
        return high - low


@pytest.fixture
def play(
    app: Flask,
    alice: Browser,
    engine: Engine,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Play]:
    monkeypatch.setattr(agenda, "proposed", lambda *_given, **_more: None)
    meeting = make(alice)
    reasoner = Reasoner(settings, engine)
    found = Play(alice, join(app, meeting, attendee="a2"), meeting, reasoner)
    monkeypatch.setattr(rights, "times", SimpleNamespace(wall_ms=lambda: found.now_ms))
    alice.post(f"{of(meeting)}/actions", {"do": "start"})
    found.put((LEAST + MOST) / 2)
    found.share()
    yield found
    reasoner.close()


def test_a_host_who_halves_for_an_hour_sees_few_places_of_the_bound(play: Play) -> None:
    width = play.bisect(times=12, minutes=5, ended=lambda: None)
    assert not play.is_sharing()
    assert len(play.seen) == SEEN_PER_CONSENT
    assert width == (MOST - LEAST) / 2**SEEN_PER_CONSENT


def test_who_says_yes_again_is_asked_again_after_as_few(play: Play) -> None:
    agreed = 1

    def agree() -> None:
        nonlocal agreed
        agreed += 1
        play.share()

    play.bisect(times=12, minutes=5, ended=agree)
    assert agreed > 2
    assert len(play.seen) <= agreed * SEEN_PER_CONSENT


def test_who_is_patient_learns_two_places_an_hour(play: Play) -> None:
    width = play.bisect(times=5, minutes=31, ended=lambda: None)
    assert play.is_sharing()
    assert width == (MOST - LEAST) / 2**5


def test_what_is_told_after_the_end_is_judged_by_nothing(play: Play) -> None:
    """Also where the phone, which has not heard of it so far, tells more."""
    play.bisect(times=3, minutes=1, ended=lambda: None)
    before = show(play.alice, play.meeting)["people"]
    for second in range(5):
        now_ms = play.now_ms + second * 1000
        reading = heard(play.meeting["id"], str(play.bob.user), now_ms, noise_db=LOUD)
        play.reasoner.step([reading], now_ms)
    assert show(play.alice, play.meeting)["people"] == before
    assert {one["state"] for one in before[0]["abilities"].values()} == {"unknown"}
