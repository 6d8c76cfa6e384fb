"""Templates over the log: what stands goes in, changes of notices come out."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.backend.ingest.records import ClockReading, LogEntry, Reading, Standing, Withdrawal
from citywise.backend.packs.prepared import prepared
from citywise.backend.packs.run import TemplateRun, serves
from citywise.backend.packs.template import NoticeText, TemplateVersion
from citywise.reasoning.errors import SolvingError
from tests.packs.concluding import notices

START = 1_780_000_000_000 // 60_000 * 60_000
RDF = "#prefix rdf : <http://www.w3.org/1999/02/22-rdf-syntax-ns#>.\n"
PREFIXES = (
    RDF
    + """#prefix ev : <https://w3id.org/citywise/event#>.
#prefix ctx : <https://w3id.org/citywise/context#>.
#prefix city : <https://w3id.org/citywise/city#>.
#prefix place : <https://w3id.org/citywise/place/>.
"""
)
NEAR = 'notice(Me,"jam",E,L) :- radius(Me,R), near_route(Me,E,R), ev_level(E,L).'
RADIUS = {"type": "number", "unit": "m", "min": 10, "max": 1000, "title": "R", "default": 100}
EVERYTHING = ("position", "route", "activity", "preferences")
STREAMS = ("events", "places", "traffic", "parking", "weather", "air")


def template(rules: str, version: int = 1, **more: Any) -> TemplateVersion:
    """A template that may see everything, with a radius."""
    given: dict[str, Any] = {
        "app": "test",
        "name": "jam",
        "version": version,
        "title": "Jams",
        "rules": PREFIXES + rules,
        "parameters": {"radius": RADIUS},
        "notices": {"jam": NoticeText(title="Jam")},
        "permissions": EVERYTHING,
        "streams": STREAMS,
        **more,
    }
    return TemplateVersion.model_validate(given)


def event(key: str, lon: float, level: int = 3, lat: float = 56.15) -> tuple[str, str, Any]:
    geometry = {"type": "Point", "coordinates": [lon, lat]}
    body = {"type": "TrafficJam", "level": level, "geometry": geometry, "start_ms": START}
    return "event", key, {**body, "source": "sensor", "place_id": None, "name": None}


def instance(user: str, version: int = 1, name: str = "jam", **values: Any) -> tuple[str, str, Any]:
    body = {"app": "test", "template": name, "version": version, "user": user, "values": values}
    return "instance", f"{user}.{name}", body


def route(user: str) -> tuple[str, str, Any]:
    return "route", user, {"coordinates": [[10.19, 56.15], [10.22, 56.15]]}


def position(user: str, lon: float) -> tuple[str, str, Any]:
    return "position", user, {"lat": 56.15, "lon": lon, "heading": None, "along_m": None}


Happening = tuple[str, str, Any] | int | Reading | Withdrawal
"""What stands from now on, minutes that pass until a clock, or a reading of now, or of so many
milliseconds before (`observed_ms`), or that such a one is withdrawn."""


def log(happenings: Iterable[Happening]) -> list[LogEntry]:
    """The entries of a log in which all this happens."""
    found: list[LogEntry] = []
    stands: dict[tuple[str, str], int] = {}
    now = START
    for number, happening in enumerate(happenings):
        place = number << 16
        if isinstance(happening, int):
            now += happening * 60_000
            found.append(ClockReading(now, now, place))
        elif isinstance(happening, Reading | Withdrawal):
            at = now - happening.observed_ms
            found.append(replace(happening, observed_ms=at, received_ms=now, position=place))
        else:
            subject, key, body = happening
            stands[subject, key] = number
            if body is None:
                del stands[subject, key]
            since = min(stands.values(), default=number)
            found.append(Standing(subject, key, body, place, since))
    return found


def told(
    happenings: Iterable[Happening], *templates: TemplateVersion
) -> list[tuple[int, str, str, str, int]]:
    """Minute, change, instance, about and criticality of the notices."""
    return [
        ((t - START) // 60_000, c["change"], c["instance"], c["about"], c["criticality"])
        for t, c in notices(log(happenings), templates)
    ]


def reading(kind: str, sensor: str, ago_ms: int = 0, **values: int) -> Reading:
    return Reading(kind, sensor, ago_ms, 0, values, 0)


def withdrawal(kind: str, sensor: str, ago_ms: int = 0) -> Withdrawal:
    return Withdrawal(kind, sensor, ago_ms, 0, 0)


JAM = template(NEAR)


def test_a_notice_opens_changes_and_closes_with_what_stands() -> None:
    found = told(
        [
            instance("alice"), route("alice"), event("e1", 10.2), 1,
            event("e1", 10.2, level=5), 1, 1,
            event("e2", 10.21), ("event", "e1", None), 1,
            ("instance", "alice.jam", None), 1,
        ],
        JAM,
    )  # fmt: skip
    assert found == [
        (1, "opened", "alice.jam", "e1", 3),
        (2, "updated", "alice.jam", "e1", 5),
        (4, "closed", "alice.jam", "e1", 5),
        (4, "opened", "alice.jam", "e2", 3),
        (5, "closed", "alice.jam", "e2", 3),
    ]


def test_reasons_of_an_end_are_the_rules_or_that_the_event_ended_or_who_moved() -> None:
    rules = NEAR + ' closed(Me,"jam",E,passed) :- passed(Me,E).'
    happenings: list[Happening] = [
        instance("a"), route("a"), event("e1", 10.2), event("e2", 10.205), event("e3", 10.21), 1,
        position("a", 10.204), 1,
        ("event", "e2", None), 1,
        ("route", "a", None), 1,
    ]  # fmt: skip
    closed = [c for _t, c in notices(log(happenings), [template(rules)]) if c["change"] == "closed"]
    assert [(c["about"], c["closed_because"]) for c in closed] == [
        ("e1", "passed"),
        ("e2", "ended"),
        ("e3", "moved_away"),
    ]


def test_the_id_of_a_notice_names_instance_kind_event_and_opening() -> None:
    happenings: list[Happening] = [
        instance("a"),
        route("a"),
        event("e1", 10.2),
        1,
        ("event", "e1", None),
        1,
    ]
    ids = {c["id"] for _t, c in notices(log(happenings), [JAM])}
    (only,) = ids
    assert only.startswith("a.jam~jam~e1~2026")


def test_an_instance_keeps_to_its_version() -> None:
    newer = template(NEAR.replace("ev_level(E,L)", "ev_level(E,_), L=1"), version=2)
    found = told(
        [
            route("a"), event("e1", 10.2), instance("a", version=1), 1,
            instance("a", version=2), 1,
        ],
        JAM,
        newer,
    )  # fmt: skip
    assert found == [
        (1, "opened", "a.jam", "e1", 3),
        (2, "closed", "a.jam", "e1", 3),
        (2, "opened", "a.jam", "e1", 1),
    ]
    entries = log([route("a"), event("e1", 10.2), instance("a"), 1, instance("a", version=2), 1])
    reasons = [c["closed_because"] for _t, c in notices(entries, [JAM]) if c["change"] == "closed"]
    assert reasons == ["migrated"]


def test_what_an_app_has_no_permission_for_is_not_told_to_its_rules() -> None:
    happenings: list[Happening] = [instance("a"), route("a"), event("e1", 10.2), 1]
    assert told(happenings, template(NEAR, permissions=("position",))) == []
    assert told(happenings, template(NEAR, streams=("places",))) == []
    assert len(told(happenings, JAM)) == 1


@pytest.mark.parametrize(
    ("rules", "before", "after"),
    [
        ('notice(Me,"jam",A,1) :- ctx_activity(Me,A).', ("activity", "a", {"activity": "Cycling"}),
         ("activity", "a", None)),
        ('notice(Me,"jam",V,1) :- preference(Me,"quiet",V).', ("preferences", "a", {"quiet": 7}),
         ("preferences", "a", {"loud": 7})),
        ('notice(Me,"jam",x,1) :- user(Me,"a"), has_position(Me).', position("a", 10.2),
         ("position", "a", None)),
        ('notice(Me,"jam",x,1) :- user(Me,_), off_route(Me).',
         ("position", "a", {"lat": 56.2, "lon": 10.2}), position("a", 10.2)),
        ('notice(Me,"jam",E,1) :- near_me(Me,E,200), distance(Me,E,M), M < 100.',
         position("a", 10.2), position("a", 10.3)),
        ('notice(Me,"jam",E,1) :- radius(Me,R), near_route(Me,E,R), ahead(Me,E,M), M > 600.',
         position("a", 10.19), position("a", 10.195)),
        ('notice(Me,"jam",P,1) :- near_me(Me,P,200), place(P,_), city_occupiedPlaces(P,N), N > 5.',
         reading("parking", "g", occupied=6, capacity=9),
         reading("parking", "g", occupied=5, capacity=9)),
    ],
)  # fmt: skip
def test_what_the_rules_may_read_comes_and_goes(
    rules: str, before: Happening, after: Happening
) -> None:
    garage = {
        "id": "g", "kind": "garage", "name": "G", "sensors": ["parking"],
        "geometry": {"type": "Point", "coordinates": [10.2, 56.15]},
    }  # fmt: skip
    happenings: list[Happening] = [
        ("place", "g", garage), instance("a"), route("a"), event("e1", 10.2),
        position("a", 10.2) if "place(P" in rules else ("position", "a", None),
        before, 1, after, 1,
    ]  # fmt: skip
    streams = STREAMS if "place(P" in rules else ("events",)
    found = told(happenings, template(rules, streams=streams))
    assert [change[:3] for change in found] == [(1, "opened", "a.jam"), (2, "closed", "a.jam")]


def test_local_time_and_spans_of_it_are_facts() -> None:
    span = {"type": "time_span", "title": "When"}
    rules = 'notice(Me,"jam",x,1) :- during(Me,"hours"), weekday(D), D <= 7, time_of_day(M), M > 0.'
    minute = (START // 60_000 + 120) % 1440  # Copenhagen in summer
    clock = [f"{m // 60 % 24:02}:{m % 60:02}" for m in (minute + 2, minute + 4)]
    found = told(
        [instance("a", hours="-".join(clock)), *[1] * 6],
        template(rules, parameters={"hours": span}),
    )
    assert [change[:2] for change in found] == [(2, "opened"), (4, "closed")]


def test_windows_over_observations_work_beside_what_stands() -> None:
    rules = """#prefix sosa : <http://www.w3.org/ns/sosa/>.
    #from stream <https://w3id.org/citywise/stream/parking> [time 3m step 1m].
    #scale city_occupiedPlaces 1.
    seen(P,O,N) :- sosa_hasFeatureOfInterest(O,P), city_occupiedPlaces(O,N).
    notice(Me,"jam",P,1) :- radius(Me,_), seen(P,_,_), 2 <= #count{ O : seen(P,O,N), N > 5 }.
    """
    full = reading("parking", "g", occupied=6, capacity=9)
    found = told([instance("a"), full, 1, full, 1, full, 1, 1, 1, 1, 1, 1], template(rules))
    assert [(change[0], change[1], change[3]) for change in found] == [
        (3, "opened", "g"),
        (5, "closed", "g"),
    ]


SEEN = """#prefix sosa : <http://www.w3.org/ns/sosa/>.
    #from stream <https://w3id.org/citywise/stream/parking> [time 3m step 1m].
    #scale city_occupiedPlaces 1.
    seen(P,O,N) :- sosa_hasFeatureOfInterest(O,P), city_occupiedPlaces(O,N).
    notice(Me,"jam",P,1) :- radius(Me,_), seen(P,_,_), 2 <= #count{ O : seen(P,O,N), N > 5 }.
    """


@pytest.mark.parametrize(
    ("amended", "closes"),
    [
        (reading("parking", "g", 180_000, occupied=2, capacity=9), ["corrected"]),
        (withdrawal("parking", "g", 180_000), ["corrected"]),
        (reading("parking", "g", 180_000, occupied=7, capacity=9), []),
    ],
)
def test_windows_hold_readings_as_they_are_corrected(amended: Happening, closes: list[str]) -> None:
    full = reading("parking", "g", occupied=6, capacity=9)
    happenings: list[Happening] = [instance("a"), full, 1, full, 1, 1, 1, amended, 0]
    found = [c for _t, c in notices(log(happenings), [template(SEEN)])]
    assert found[0]["change"] == "opened"
    assert [c["closed_because"] for c in found[1:]] == closes


def test_a_late_reading_counts_in_windows_that_hold_its_time() -> None:
    full, late = (reading("parking", "g", ago, occupied=6, capacity=9) for ago in (0, 60_000))
    happenings: list[Happening] = [instance("a"), full, 2, late, 1, 1]
    assert [c["change"] for _t, c in notices(log(happenings), [template(SEEN)])] == ["opened"]


def test_a_reading_that_no_window_holds_takes_nothing_back() -> None:
    full, old = (reading("parking", "g", ago, occupied=6, capacity=9) for ago in (0, 3_600_000))
    before: list[Happening] = [instance("a"), full, 1, full, 1, full, 1, 1, 1]
    told, usual = (
        [(c["change"], c.get("closed_because")) for _t, c in notices(log(all_), [template(SEEN)])]
        for all_ in ([*before, old, 1, 1], [*before, 1, 1])
    )
    assert [change for change, _because in told] == ["opened", "closed"]
    assert told == usual


@pytest.mark.parametrize("withdrawn", [False, True])
def test_a_notice_on_a_corrected_reading_is_taken_back_with_it(withdrawn: bool) -> None:
    full = reading("parking", "g", occupied=8, capacity=9)
    wrong = reading("parking", "g", 60_000, occupied=2, capacity=9)
    amended = withdrawal("parking", "g", 60_000) if withdrawn else wrong
    beginning: list[Happening] = [GARAGE, instance("a", radius=500), position("a", 10.198), full, 1]
    found = [c for _t, c in notices(log([*beginning, amended, 1]), [LATEST])]
    assert [c["change"] for c in found] == ["opened", "closed"]
    assert found[1]["closed_because"] == "corrected"
    (cause,) = found[1]["taken_back"]
    assert (cause["observed_ms"], cause["before"]) == (START, {"occupied": 8, "capacity": 9})
    assert cause["after"] == (None if withdrawn else {"occupied": 2, "capacity": 9})


@pytest.mark.parametrize(
    "rules",
    [
        SEEN.replace('P,1) :- radius(Me,_), seen(P,_,_), 2 <= #count{ O : seen(P,O,N), N > 5 }',
                     'P,4-N/8) :- radius(Me,_), seen(P,_,N)'),
        'notice(Me,"jam",P,4-N/8) :- radius(Me,R), near_me(Me,P,R), city_occupiedPlaces(P,N).',
    ],
    ids=["in windows", "the latest"],
)  # fmt: skip
def test_a_notice_that_a_corrected_reading_changes_says_from_what_to_what(rules: str) -> None:
    low, full = (reading("parking", "g", 0, occupied=n, capacity=9) for n in (2, 8))
    amended = reading("parking", "g", 180_000, occupied=8, capacity=9)
    near: list[Happening] = [GARAGE, instance("a", radius=500), position("a", 10.198)]
    beginning = [*near, low, 1, low, 3]
    found = [c for _t, c in notices(log([*beginning, amended, 1]), [template(rules)])]
    assert [(c["change"], c["criticality"]) for c in found[:2]] == [("opened", 4), ("updated", 3)]
    (cause,) = found[1]["amended"]["because"]
    assert (cause["before"]["occupied"], cause["after"]["occupied"]) == (2, 8)
    later = [c for _t, c in notices(log([*beginning, full, 1]), [template(rules)])]
    assert not any("amended" in c for c in later)


@pytest.mark.parametrize("level", [4, 1])
def test_a_notice_about_an_event_that_is_corrected_says_so(level: int) -> None:
    rules = NEAR.replace("ev_level(E,L)", "ev_level(E,L), L > 1")
    about, key, body = event("e", 10.2, level)
    corrected: Happening = (about, key, {**body, "revision": 1})
    begin: list[Happening] = [event("e", 10.2), instance("a"), route("a"), 1]
    for first, second in ((begin, [corrected, 1]), ([*begin, corrected, 1, event("e", 10.2), 1],
                          [(about, key, {**body, "revision": 2}), 1])):  # fmt: skip
        found = [c for _t, c in notices(log([*first, *second]), [template(rules)])]
        assert found[-1]["change"] == ("updated" if level > 1 else "closed")
        assert ("amended" in found[-1], "taken_back" in found[-1]) == (level > 1, level == 1)


def test_what_was_corrected_before_a_restart_ends_no_notice_after_it() -> None:
    about, key, body = event("e", 10.2, 4)
    entries = log([
        event("e", 10.2), instance("a"), route("a"), 1, (about, key, {**body, "revision": 1}), 1,
    ])  # fmt: skip
    run = TemplateRun(template(NEAR))
    steps_of(run, entries)
    end = entries[-1].position + 1
    again = TemplateRun(template(NEAR), state=run.state(end), past=entries)
    (closed,) = [
        change
        for entry in log([3, *[0] * len(entries), ("route", "a", None), 1])[len(entries) + 1 :]
        for step in again.take(entry)
        for change in step.changes
    ]
    assert closed["closed_because"] == "moved_away"


def test_an_instance_whose_values_do_not_fit_is_left_out_and_said() -> None:
    run = TemplateRun(JAM)
    happenings: list[Happening] = [
        instance("a", radius="wide"),
        instance("b"),
        route("b"),
        event("e", 10.2),
        1,
    ]
    steps = [step for entry in log(happenings) for step in run.take(entry)]
    assert [c["instance"] for step in steps for c in step.changes] == ["b.jam"]
    assert "radius" in (steps[-1].error or "")


def test_a_criticality_that_is_none_is_said_and_the_other_notices_stand() -> None:
    rules = 'notice(Me,"jam",E,L*2) :- radius(Me,R), near_route(Me,E,R), ev_level(E,L).'
    rules += ' notice(Me,"jazz",E,1) :- radius(Me,R), near_route(Me,E,R).'
    run = TemplateRun(template(rules))
    happenings: list[Happening] = [
        instance("a"), route("a"), instance("b"), route("b"), event("e", 10.2, level=4),
        event("f", 10.21, level=1), ("route", "b", None), 1,
    ]  # fmt: skip
    steps = [step for entry in log(happenings) for step in run.take(entry)]
    assert [c["about"] for step in steps for c in step.changes] == ["f"]
    assert "the criticality 8 is no integer from 1 to 5" in (steps[-1].error or "")
    assert "declares no notice `jazz`" in (steps[-1].error or "")


def test_a_notice_whose_criticality_was_none_for_a_while_is_closed_all_the_same() -> None:
    rules = 'notice(Me,"jam",E,L*2) :- radius(Me,R), near_route(Me,E,R), ev_level(E,L).'
    found = told(
        [
            instance("a"), route("a"), event("e", 10.2, level=1), 1,
            event("e", 10.2, level=5), 1, event("e", 10.2, level=2), 1, ("event", "e", None), 1,
        ],
        template(rules),
    )  # fmt: skip
    assert [change[:2] for change in found] == [
        (1, "opened"),
        (2, "closed"),
        (3, "opened"),
        (4, "closed"),
    ]


def test_an_event_that_has_no_value_in_asp_is_said_and_the_others_stand() -> None:
    late = ("event", "late", {**event("late", 10.2)[2], "start_ms": 4_000_000_000_000})
    rules = 'notice(Me,"jam",E,1) :- radius(Me,R), near_route(Me,E,R), ev_start(E,_).'
    run = TemplateRun(template(rules))
    happenings: list[Happening] = [instance("a"), route("a"), late, event("e", 10.2), 1]
    (step,) = [step for entry in log(happenings) for step in run.take(entry)]
    assert [c["about"] for c in step.changes] == ["e"]
    assert "event late: " in (step.error or "")


def test_an_older_reading_does_not_take_the_place_of_a_newer_one() -> None:
    entries = log(
        [GARAGE, instance("a", radius=500), position("a", 10.198),
         reading("parking", "g", occupied=7, capacity=9), 1]
    )  # fmt: skip
    late = Reading("parking", "g", START - 1000, START, {"occupied": 1, "capacity": 9}, 9 << 16)
    run = TemplateRun(LATEST)
    assert len(steps_of(run, entries)) == 1
    assert steps_of(run, [late, ClockReading(START + 120_000, START, 10 << 16)]) == []


def test_details_that_change_are_told_once_a_minute_and_are_no_news() -> None:
    rules = NEAR + ' detail(Me,"jam",E,"metres",M) :- ahead(Me,E,M).'
    run = TemplateRun(template(rules))
    happenings: list[Happening] = [
        instance("a"), route("a"), event("e", 10.2), position("a", 10.19), 1,
        position("a", 10.195), 1, 1, 1,
    ]  # fmt: skip
    steps = [step for entry in log(happenings) for step in run.take(entry)]
    assert [len(step.changes) for step in steps] == [1, 0, 0]
    assert [[d["details"] for d in step.details] for step in steps] == [[], [], [{"metres": 310}]]


def test_a_run_that_is_built_anew_keeps_an_answer_that_could_not_be_had() -> None:
    rules = NEAR + " :- ev_level(E,5), near_route(_,E,_)."
    happenings: list[Happening] = [
        instance("a"), route("a"), event("e", 10.2), 1, event("f", 10.21, level=5), 1,
        ("event", "e", None), ("event", "f", None), 1,
    ]  # fmt: skip
    entries = log(happenings)
    straight = steps_of(TemplateRun(template(rules)), entries)
    assert [change["change"] for _t, change in straight] == ["opened", "closed"]
    first = TemplateRun(template(rules))
    found = steps_of(first, entries[:6])
    again = TemplateRun(template(rules), state=first.state(6 << 16), past=entries[:6])
    assert found + steps_of(again, entries[6:]) == straight


@pytest.mark.parametrize(
    "rules",
    [
        'notice(Me,"jam",E,3) :- preference(Me,"watch",E), ev_level(E,5).',
        'notice(Me,"jam",E,3) :- user(Me,E), ev_level(E,5).',
    ],
)
def test_what_names_nothing_is_found_in_evaluations_over_all_facts(rules: str) -> None:
    found = prepared(template(rules)).rules
    assert not found.local


def test_a_trace_says_what_was_evaluated_and_what_came_of_it() -> None:
    run = TemplateRun(JAM)
    happenings: list[Happening] = [instance("a"), instance("b"), route("a"), event("e", 10.2), 1]
    (step,) = [step for entry in log(happenings) for step in run.take(entry)]
    trace = step.trace()
    assert (trace["keys"], trace["notices"], trace["error"]) == (2, 1, None)
    assert trace["changed"]["instances"] == ["a.jam", "b.jam"]
    assert trace["atoms"] > 3


USERS = ("a", "b", "c")
HAPPENINGS = st.one_of(
    st.integers(0, 2),
    st.builds(event, st.sampled_from(["e", "f"]), st.sampled_from([10.195, 10.2, 10.23])),
    st.builds(lambda key: ("event", key, None), st.sampled_from(["e", "f"])),
    st.builds(instance, st.sampled_from(USERS), radius=st.sampled_from([50, 500])),
    st.builds(lambda user: ("instance", f"{user}.jam", None), st.sampled_from(USERS)),
    st.builds(route, st.sampled_from(USERS)),
    st.builds(position, st.sampled_from(USERS), st.sampled_from([10.19, 10.198, 10.21])),
    st.builds(lambda user: ("position", user, None), st.sampled_from(USERS)),
    st.builds(
        lambda n: reading("parking", "g", occupied=n, capacity=9), st.sampled_from([3, 6, 7])
    ),
)
AMENDED = st.one_of(
    HAPPENINGS,
    st.builds(
        lambda n, ago_ms: reading("parking", "g", ago_ms, occupied=n, capacity=9),
        st.sampled_from([3, 6, 7]),
        st.sampled_from([0, 60_000, 120_000]),
    ),
    st.builds(
        lambda ago_ms: withdrawal("parking", "g", ago_ms), st.sampled_from([0, 60_000, 120_000])
    ),
)
BEGINNING: list[Happening] = [
    instance("a", radius=500), route("a"), event("e", 10.2), 1, instance("b"), route("b"),
    position("a", 10.198), position("b", 10.19),
]  # fmt: skip
DAYS = st.lists(HAPPENINGS, min_size=4, max_size=20).map(
    lambda more: [GARAGE, *BEGINNING, *more, 1]
)
AMENDED_DAYS = st.lists(AMENDED, min_size=4, max_size=20).map(
    lambda more: [GARAGE, *BEGINNING, *more, 1]
)
GARAGE: Happening = (
    "place",
    "g",
    {
        "id": "g", "kind": "garage", "name": "G", "sensors": ["parking"],
        "geometry": {"type": "Point", "coordinates": [10.198, 56.15]},
    },
)  # fmt: skip
LATEST = template(
    'notice(Me,"jam",P,1) :- radius(Me,R), near_me(Me,P,R), city_occupiedPlaces(P,N), N > 5.'
)
LASTING = template(
    """
    #held full/2. #last full/2 5m. #feedback open/2. #last open/2 10m.
    full(Me,P) :- radius(Me,R), near_me(Me,P,R), city_occupiedPlaces(P,N), N > 5.
    open(Me,P) :- since_full(Me,P,T), now(N), N-T >= 90, not last_open(Me,P,_).
    open(Me,P) :- full(Me,P), prev_open(Me,P).
    notice(Me,"jam",P,1) :- open(Me,P).
    notice(Me,"jam",clearing,2) :- last_full(Me,P,T), not full(Me,P), now(N), N < T+150.
    """
)
"""For a minute and a half, once in ten minutes; and clearing for two and a half."""
RICH = template(
    NEAR
    + """
    #from stream <https://w3id.org/citywise/stream/parking> [time 2m step 1m].
    busy(O) :- city_occupiedPlaces(O,N), N > 5.
    notice(Me,"jam",busy,1) :- user(Me,U), has_position(Me), 2 <= #count{ O : busy(O) }.
    closed(Me,"jam",E,passed) :- passed(Me,E).
    detail(Me,"jam",E,"metres",M) :- ahead(Me,E,M).
    """
)


def steps_of(run: TemplateRun, entries: Sequence[LogEntry]) -> list[tuple[int, Mapping[str, Any]]]:
    return [
        (step.t_ms, change)
        for entry in entries
        for step in run.take(entry)
        for change in step.changes
    ]


@settings(max_examples=40)
@given(AMENDED_DAYS, st.integers(0, 28), st.sampled_from([JAM, RICH, LATEST, LASTING]))
def test_a_run_that_is_built_anew_goes_on_as_if_it_had_never_stopped(
    happenings: list[Happening], cut: int, rules: TemplateVersion
) -> None:
    entries = log(happenings)
    straight = steps_of(TemplateRun(rules), entries)
    first = TemplateRun(rules)
    found = steps_of(first, entries[:cut])
    place = cut << 16
    past = [e for e in entries[:cut] if e.position >= first.resume_from(place)]
    state = first.state(place)
    again = TemplateRun(rules, state=state, past=[e for e in entries[:cut] if e in past])
    assert found + steps_of(again, entries[cut:]) == straight


FULL_DAYS = st.lists(
    st.one_of(
        st.integers(1, 4),
        st.builds(
            lambda n: reading("parking", "g", occupied=n, capacity=9), st.sampled_from([3, 8])
        ),
        st.builds(instance, st.sampled_from(USERS), radius=st.sampled_from([50, 500])),
        st.builds(lambda user: ("instance", f"{user}.jam", None), st.sampled_from(USERS)),
        st.builds(position, st.sampled_from(USERS), st.sampled_from([10.19, 10.198])),
    ),
    min_size=8,
    max_size=30,
).map(lambda more: [GARAGE, *BEGINNING, 1, *more, 1])


def each_second(entries: Sequence[LogEntry]) -> Iterator[LogEntry]:
    """The entries, with a clock at every second between theirs, before what comes with them."""
    clock: int | None = None
    waiting: list[LogEntry] = []
    for entry in entries:
        if isinstance(entry, ClockReading):
            begin = entry.complete_ms if clock is None else clock + 1000
            for ms in range(begin, entry.complete_ms, 1000):
                yield ClockReading(ms, ms, (waiting or [entry])[0].position)
            yield from waiting
            waiting.clear()
            clock = entry.complete_ms
            yield entry
        else:
            waiting.append(entry)
    yield from waiting


@settings(max_examples=20)
@given(FULL_DAYS)
def test_durations_are_over_at_the_second_without_a_clock_or_a_reading(
    happenings: list[Happening],
) -> None:
    entries = log(happenings)
    dense = steps_of(TemplateRun(LASTING), list(each_second(entries)))
    assert steps_of(TemplateRun(LASTING), entries) == dense


def restarted(entries: Sequence[LogEntry], cuts: Collection[int]) -> list[Any]:
    """What runs bring that are built anew at some places of a log."""
    run = TemplateRun(LASTING)
    found: list[tuple[int, Mapping[str, Any]]] = []
    for number, entry in enumerate(entries):
        if number in cuts:
            place = number << 16
            state = json.loads(json.dumps(run.state(place)))
            past = [e for e in entries[:number] if e.position >= run.resume_from(place)]
            run.close()
            run = TemplateRun(LASTING, state=state, past=past)
        found += steps_of(run, [entry])
    return found


@settings(max_examples=30)
@given(FULL_DAYS, st.sets(st.integers(1, 45)))
def test_restarts_neither_forget_nor_double_nor_delay_what_time_brings(
    happenings: list[Happening], cuts: set[int]
) -> None:
    entries = log(happenings)
    assert restarted(entries, cuts) == steps_of(TemplateRun(LASTING), entries)


@pytest.mark.long
@settings(max_examples=1_000)
@given(FULL_DAYS, st.sets(st.integers(1, 45)))
def test_1_000_random_restarts_change_nothing(happenings: list[Happening], cuts: set[int]) -> None:
    entries = log(happenings)
    assert restarted(entries, cuts) == steps_of(TemplateRun(LASTING), entries)


def test_what_is_due_while_nothing_runs_is_told_with_its_own_time() -> None:
    full = reading("parking", "g", occupied=8, capacity=9)
    entries = log([GARAGE, instance("a", radius=500), position("a", 10.198), full, 1, 20])
    found = steps_of(TemplateRun(LASTING), entries)
    assert [(t - START, c["change"]) for t, c in found] == [(150_000, "opened")]


@settings(max_examples=25)
@given(DAYS | FULL_DAYS, st.integers(0, 40), st.integers(0, 30), st.sampled_from([RICH, LASTING]))
def test_a_run_that_was_overtaken_catches_up(
    happenings: list[Happening], cut: int, more: int, rules: TemplateVersion
) -> None:
    entries = log(happenings)
    straight, overtaken = TemplateRun(rules), TemplateRun(rules)
    steps_of(straight, entries[: cut + more])
    steps_of(overtaken, entries[:cut])
    overtaken.skip(entries[cut : cut + more])
    rest = entries[cut + more :]
    assert steps_of(overtaken, rest) == steps_of(straight, rest)
    assert overtaken.state(1 << 30) == straight.state(1 << 30)


@settings(max_examples=25)
@given(DAYS)
def test_parts_by_user_tell_together_what_one_run_tells(happenings: list[Happening]) -> None:
    entries = log(happenings)
    whole = steps_of(TemplateRun(JAM), entries)
    parts = [steps_of(TemplateRun(JAM, users=serves(n, 2)), entries) for n in range(2)]

    def key(found: tuple[int, Mapping[str, Any]]) -> str:
        return f"{found[0]} {sorted(found[1].items(), key=str)}"

    assert sorted(map(key, [*parts[0], *parts[1]])) == sorted(map(key, whole))


def test_an_evaluation_that_fails_keeps_what_was_told_before() -> None:
    run = TemplateRun(JAM)
    found = steps_of(run, log([instance("a"), route("a"), event("e", 10.2), 1]))
    assert len(found) == 1

    class Broken:
        def answer_sets(self, *_given: object) -> tuple[()]:
            raise SolvingError("out of order")

        def close(self) -> None:
            """Nothing is held."""

    run._evaluation._engine = Broken()
    late: list[LogEntry] = [
        Standing(*event("f", 10.2), 9 << 16),
        ClockReading(START * 2, START * 2, 10 << 16),
    ]
    (step,) = [step for entry in late for step in run.take(entry)]
    assert "out of order" in (step.error or "")
    assert step.changes == ()
    assert run.answer("a.jam")[0].startswith("notice(")


def test_nothing_is_kept_of_users_of_whom_nothing_is_known() -> None:
    run = TemplateRun(JAM)
    steps_of(run, log([("position", "a", None), position("b", 10.2), ("position", "b", None), 1]))
    assert dict(run._supply._known) == {}
