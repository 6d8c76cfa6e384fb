"""Whether a change of a notice alerts its user: each rule, and what holds for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from citywise.backend.notices.attention import Attention, Change, Quiet, Standing, Wishes, decide
from citywise.backend.times import iso, parse_ms

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
NOON = parse_ms("2014-08-05T12:00:00+02:00")
"""A Tuesday."""
NIGHT = {"from": "22:00", "until": "07:00"}


def wishes(**values: Any) -> Wishes:
    return Wishes.model_validate(values)


def notice(criticality: int = 3, **values: Any) -> Standing:
    return Standing("jam_watch", "jam_ahead", criticality, **values)


def at(text: str) -> int:
    """A time of that week, in the city: `Tue 22:30`."""
    day, time = text.split()
    number = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"].index(day) + 4
    return parse_ms(f"2014-08-{number:02d}T{time}:00+02:00")


@pytest.mark.parametrize(
    ("said", "standing", "change", "last", "expected"),
    [
        ({}, notice(), "opened", None, Attention(True)),
        ({}, notice(), "closed", None, Attention(False)),
        ({}, notice(known=3), "updated", None, Attention(False)),
        ({}, notice(2, known=3), "updated", None, Attention(False)),
        ({}, notice(4, known=3), "updated", None, Attention(True)),
        (
            {"muted": [{"app": "jam_watch", "notice": "jam_ahead"}]},
            notice(5),
            "opened",
            None,
            Attention(False, "muted"),
        ),
        (
            {"muted": [{"app": "jam_watch", "notice": "other"}]},
            notice(),
            "opened",
            None,
            Attention(True),
        ),
        ({"threshold": 4}, notice(3), "opened", None, Attention(False, "below-threshold")),
        ({"threshold": 4}, notice(4), "updated", None, Attention(True)),
        (
            {},
            notice(3, known=3, acknowledged=True),
            "updated",
            None,
            Attention(False, "acknowledged"),
        ),
        ({}, notice(4, known=3, acknowledged=True), "updated", None, Attention(True)),
        (
            {},
            notice(5, snoozed_until_ms=NOON + HOUR),
            "updated",
            None,
            Attention(False, "snoozed", NOON + HOUR),
        ),
        ({}, notice(3, known=3, snoozed_until_ms=NOON), "reminded", None, Attention(True)),
        (
            {"cool_down_s": 600},
            notice(),
            "opened",
            NOON - MINUTE,
            Attention(False, "cool-down", NOON + 9 * MINUTE),
        ),
        ({"cool_down_s": 600}, notice(), "opened", NOON - 10 * MINUTE, Attention(True)),
        ({"cool_down_s": 600}, notice(4, known=3), "updated", NOON, Attention(True)),
        ({"cool_down_s": 600}, notice(), "reminded", NOON - 1, Attention(True)),
        (
            {"cool_down_s": 600},
            notice(held_because="cool-down", due_ms=NOON + 1),
            "updated",
            NOON - 1,
            Attention(False, "cool-down", NOON + 1),
        ),
    ],
)
def test_what_holds_back_is_decided_by_the_rules(
    said: dict[str, Any], standing: Standing, change: Change, last: int | None, expected: Attention
) -> None:
    assert decide(wishes(**said), standing, change, NOON, last) == expected


@pytest.mark.parametrize(
    ("span", "time", "until"),
    [
        (NIGHT, "Tue 21:59", None),
        (NIGHT, "Tue 22:00", "Wed 07:00"),
        (NIGHT, "Wed 06:59", "Wed 07:00"),
        (NIGHT, "Wed 07:00", None),
        ({**NIGHT, "days": [2]}, "Wed 06:59", "Wed 07:00"),
        ({**NIGHT, "days": [2]}, "Tue 06:59", None),
        ({**NIGHT, "days": [7]}, "Mon 03:00", "Mon 07:00"),
        ({"from": "12:00", "until": "13:00"}, "Tue 12:30", "Tue 13:00"),
        ({"from": "12:00", "until": "12:00", "days": [2]}, "Wed 11:59", "Wed 12:00"),
        ({**NIGHT, "except_from": 3}, "Tue 23:00", None),
        ({**NIGHT, "except_from": 4}, "Tue 23:00", "Wed 07:00"),
    ],
)
def test_quiet_hours_are_the_citys_and_may_go_over_midnight(
    span: dict[str, Any], time: str, until: str | None
) -> None:
    expected = Attention(True) if until is None else Attention(False, "quiet-hours", at(until))
    assert decide(wishes(quiet=[span]), notice(), "opened", at(time)) == expected


def test_spans_that_follow_each_other_are_one() -> None:
    spans = [NIGHT, {"from": "07:00", "until": "09:00", "days": [3]}]
    held = decide(wishes(quiet=spans), notice(), "opened", at("Tue 23:00"))
    assert held.due_ms == at("Wed 09:00")


def test_what_is_always_quiet_is_never_due() -> None:
    day = [{"from": "00:00", "until": "00:00"}]
    assert decide(wishes(quiet=day), notice(), "opened", NOON) == Attention(False, "quiet-hours")


def test_an_alert_is_not_due_in_quiet_hours() -> None:
    said = wishes(quiet=[NIGHT], cool_down_s=3600)
    late = at("Tue 21:30")
    assert decide(said, notice(), "opened", late, late).due_ms == at("Wed 07:00")
    put_off = notice(snoozed_until_ms=at("Tue 23:00"))
    assert decide(said, put_off, "updated", late).due_ms == at("Wed 07:00")


@pytest.mark.parametrize(
    ("now", "until"),
    [
        # Summer time ends on 26 October 2014: 02:00 to 03:00 comes twice.
        ("2014-10-26T02:10:00+02:00", "2014-10-26T02:30:00+02:00"),
        ("2014-10-26T02:10:00+01:00", "2014-10-26T02:30:00+01:00"),
        # It begins on 30 March 2014: there is no 02:30.
        ("2014-03-30T01:59:00+01:00", "2014-03-30T03:30:00+02:00"),
    ],
)
def test_quiet_hours_end_on_the_days_on_which_the_clock_is_changed(now: str, until: str) -> None:
    span = Quiet.model_validate({"from": "22:00", "until": "02:30"})
    assert iso(span.end(parse_ms(now))) == iso(parse_ms(until))


@pytest.mark.parametrize(
    "wrong",
    [
        {"threshold": 0},
        {"threshold": 6},
        {"cool_down_s": -1},
        {"quiet": [{"from": "24:00", "until": "07:00"}]},
        {"quiet": [{"from": "22:00\n", "until": "07:00"}]},
        {"quiet": [{"from": "22:00", "until": "07:00", "days": [0]}]},
        {"muted": [{"app": "a"}]},
        {"channels": {"pigeon": True}},
        {"loud": True},
    ],
)
def test_wishes_that_cannot_be_meant_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        wishes(**wrong)


# --- What holds for all -------------------------------------------------------------------

times = st.builds("{:02d}:{:02d}".format, st.integers(0, 23), st.integers(0, 59))
spans = st.fixed_dictionaries(
    {"from": times, "until": times},
    optional={
        "days": st.lists(st.integers(1, 7), min_size=1, max_size=3),
        "except_from": st.integers(1, 5),
    },
)
some_wishes = st.builds(
    wishes,
    threshold=st.integers(1, 5),
    quiet=st.lists(spans, max_size=2),
    cool_down_s=st.sampled_from([0, 60, 3600]),
    muted=st.sampled_from([(), ({"app": "a", "notice": "one"},)]),
)
acts = st.sampled_from(["open", "update", "close", "acknowledge", "snooze", "remind"])
steps = st.lists(
    st.tuples(
        st.integers(1, 3 * HOUR), acts, st.integers(0, 2), st.integers(1, 5), st.integers(1, DAY)
    ),
    max_size=40,
)


@dataclass
class Life:
    """Some notices of one user, to whom things happen; it notes what alerts."""

    wishes: Wishes
    now: int = NOON
    open: dict[int, Standing] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    alerts: list[tuple[int, int]] = field(default_factory=list)
    """Time and criticality."""

    def step(self, passes: int, act: str, which: int, level: int, later: int) -> None:
        self.pass_time(self.now + passes)
        here = self.open.get(which)
        if act == "open" and here is None:
            self.change(which, Standing("a", ["one", "two", "two"][which], level), "opened")
        elif here is not None and act == "update":
            self.change(which, replace(here, criticality=level), "updated")
        elif here is not None and act == "close":
            assert not decide(self.wishes, here, "closed", self.now).alert
            del self.open[which]
        elif here is not None and act == "acknowledge":
            known = max(here.known, here.criticality)
            self.open[which] = replace(here, acknowledged=True, known=known)
        elif here is not None and act == "snooze":
            put_off = replace(
                here, snoozed_until_ms=self.now + later, acknowledged=False, due_ms=None
            )
            self.change(which, put_off, "updated")

    def pass_time(self, until: int) -> None:
        """Remind at every instant at which something is due."""
        while True:
            due = {
                which: standing.due_ms
                for which, standing in self.open.items()
                if standing.due_ms is not None and not standing.acknowledged
            }
            which = min(due, key=due.__getitem__, default=None)
            if which is None or due[which] > until:
                break
            self.now = max(self.now, due[which])
            alerts = len(self.alerts)
            self.change(which, self.open[which], "reminded")
            assert len(self.alerts) == alerts + 1, "what is due alerts when it is due"
        self.now = until

    def change(self, which: int, standing: Standing, change: Change) -> None:
        said = decide(self.wishes, standing, change, self.now, self.last.get(standing.kind))
        self.check(standing, said, change)
        self.open[which] = after(standing, said)
        if said.alert:
            self.last[standing.kind] = self.now
            self.alerts.append((self.now, standing.criticality))

    def check(self, standing: Standing, said: Attention, change: Change) -> None:
        level, last = standing.criticality, self.last.get(standing.kind)
        if not said.alert:
            assert said.due_ms is None or said.due_ms > self.now
            assert said.held_because is not None or said.due_ms is None
            return
        assert said == Attention(True)
        assert not self.wishes.mutes(standing.app, standing.kind)
        assert level >= self.wishes.threshold
        assert not any(span.holds(self.now, level) for span in self.wishes.quiet)
        assert not (standing.acknowledged and level <= standing.known)
        assert standing.snoozed_until_ms is None or standing.snoozed_until_ms <= self.now
        put_off = standing.snoozed_until_ms is not None  # and since then below the threshold
        promised = change == "reminded" or standing.due_ms is not None or put_off
        assert promised or level > standing.known, "nobody is told twice of the same"
        if not promised and not 0 < standing.known < level and last is not None:
            assert self.now >= last + self.wishes.cool_down_s * 1000


def after(standing: Standing, said: Attention) -> Standing:
    """A notice as the book keeps it after a decision."""
    if not said.alert:
        return replace(standing, held_because=said.held_because, due_ms=said.due_ms)
    return replace(
        standing,
        known=max(standing.known, standing.criticality),
        acknowledged=False,
        snoozed_until_ms=None,
        held_because=None,
        due_ms=None,
    )


@settings(max_examples=150)
@given(some_wishes, steps)
def test_whatever_happens_alerts_come_as_wished_and_what_is_due_comes_once(
    said: Wishes, happens: list[tuple[int, str, int, int, int]]
) -> None:
    life = Life(said)
    for step in happens:
        life.step(*step)
    life.pass_time(life.now + 9 * DAY)
    assert not [s for s in life.open.values() if s.due_ms is not None and not s.acknowledged]


@given(some_wishes, st.integers(1, 5), st.integers(0, 14 * DAY))
def test_what_was_decided_once_is_decided_the_same_way_again(
    said: Wishes, level: int, later: int
) -> None:
    """A batch that is repeated, or a change that says nothing new, alerts nobody."""
    first = Standing("a", "one", level)
    decided = decide(said, first, "opened", NOON + later)
    again = decide(said, after(first, decided), "updated", NOON + later)
    assert again.alert is False
    assert (again.held_because, again.due_ms) == (decided.held_because, decided.due_ms)
