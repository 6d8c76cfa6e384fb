"""A request in parts: what they answer together is what one answers, also when their number
changes from batch to batch."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest

from citywise.backend.kinds import builtin
from citywise.backend.pipeline.evaluation import Row
from citywise.backend.pipeline.merging import PartsError, merged
from citywise.backend.pipeline.parts import Division, Part
from citywise.backend.pipeline.prepared import division, prepared
from citywise.backend.pipeline.requests import find
from citywise.backend.pipeline.worker import Worker
from citywise.reasoning.limits import Limits
from tests.pipeline.stretches import LIMITS, Stretches, Values, traffic

pytestmark = pytest.mark.slow

HEAD = """
#prefix sosa : <http://www.w3.org/ns/sosa/>.
#prefix city : <https://w3id.org/citywise/city#>.
#prefix place : <https://w3id.org/citywise/place/>.
#prefix ev : <https://w3id.org/citywise/event#>.
#from stream <https://w3id.org/citywise/stream/traffic> [time 499ms step 500ms].
#scale city_averageSpeed 10.
#feedback event/5.
#show event/5.
"""
SLOW = """
event("ev_TrafficJam",Road,1,Obs,Obs) :- sosa_hasFeatureOfInterest(Obs,Road),
    city_averageSpeed(Obs,Speed), Speed < 300, not quiet(Road).
quiet(Road) :- prev_event(_,Road,_,_,_).
"""
COUNTED = HEAD.replace("[time 499ms step 500ms]", "[count 5 step 2]") + SLOW
KNOWN = (
    HEAD.replace("#feedback", "#from <roads.ttl>.\n#feedback")
    + SLOW
    + """
event("ev_Silent",Road,1,O,O) :- city_main(Road,true), not seen(Road),
    O = "https://w3id.org/citywise/observation/traffic/0/2014-08-05T00:00:00Z".
seen(Road) :- sosa_hasFeatureOfInterest(Obs,Road).
"""
)
TIMED = (
    HEAD
    + """
#held slow/1.
#last told/1 2s.
slow(Road) :- sosa_hasFeatureOfInterest(Obs,Road), city_averageSpeed(Obs,Speed), Speed < 300.
told(Road) :- since_slow(Road,Since), now(Now), Now-Since >= 500, not last_told(Road,_).
event("ev_TrafficJam",Road,1,Obs,Obs) :- told(Road), sosa_hasFeatureOfInterest(Obs,Road).
event("ev_Calm",Road,1,O,O) :- last_told(Road,T), not slow(Road), now(N), N-T < 1500,
    O = "https://w3id.org/citywise/observation/traffic/0/2014-08-05T00:00:00Z".
"""
)
LEAST = """
event("ev_TrafficJam","place_all",1,O,O) :- least(S), city_averageSpeed(O,S).
least(S) :- S = #min { X : city_averageSpeed(_,X) }.
"""
ROADS = """
@prefix city: <https://w3id.org/citywise/city#> .
@prefix place: <https://w3id.org/citywise/place/> .
""" + "".join(f"place:{road} city:main {str(road % 2 == 0).lower()} .\n" for road in range(7))


def jams(folder: Path) -> Path:
    return find("traffic_jam")


def written(text: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / "roads.ttl").write_text(ROADS)
        path = folder / "request.casp"
        path.write_text(text)
        return path

    return write


SHARED = (
    KNOWN + 'event("ev_Odd",Road,1,O,O) :- sosa_hasFeatureOfInterest(O,Road), city_main(_,Road).'
)
"""A rule reads a road's own fact, another one all facts."""
REQUESTS = {
    "jams": jams,
    "every reading": written(HEAD + SLOW),
    "counted": written(COUNTED),
    "knowledge": written(KNOWN),
    "time in rules": written(TIMED),
}


def batches(seed: int, slower: int = 1) -> Iterator[tuple[int, list[Values]]]:
    """Seven roads; silence in between, so that windows rest; late readings; no numbers.

    Everything happens `slower` times slower than every 400 ms."""
    chance = random.Random(seed)
    for number in range(14):
        begin = number * 400
        roads = chance.sample(range(7), chance.randrange(7)) if number not in (6, 7) else []
        values = [
            traffic(
                str(road), begin + 30 * road + 1, chance.choice([20, 50]), chance.choice([2, 20])
            )
            for road in roads
        ]
        if number % 4 == 3:
            values += [traffic(str(road), 5, 20, 20) for road in range(3)]
        if number == 9:
            values += [traffic(str(road), begin + 390 + road, 1e12, 20) for road in range(4)]
        yield (begin + 400) * slower, [(s, ms * slower, body) for s, ms, body in values]


def through(
    stretches: Stretches, request: Path, counts: Callable[[int], int]
) -> tuple[list[Any], dict[str, Any]]:
    """All batches, number n in `counts(n)` parts on workers of their own, merged as the
    driver does; the rows that are committed and the last cursor."""
    workers = [Worker() for _ in range(4)]
    rows: list[Any] = []
    cursor: dict[str, Any] = {}
    for number, (start, end) in enumerate(pairwise(range(len(stretches.ends)))):
        whole, of = stretches.task(request, start, end, cursor), counts(number)
        found: list[Row] = []
        for part in range(of):
            worker = workers[(part + number // 3) % 4]
            found += worker.run(replace(whole, part=part, parts=of))
        *rest, last = merged(found)
        cursor = orjson.loads(orjson.dumps(last.body))
        rows += [_committed(row) for row in rest]
    return sorted(rows, key=str), cursor


def _committed(row: Row) -> Any:
    """What of a row does not depend on who answered, and how fast."""
    apart = ("seconds", "part")
    return row.t_ms, row.kind, {k: v for k, v in row.body.items() if k not in apart}


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("request_name", REQUESTS)
def test_parts_answer_together_what_one_answers(
    tmp_path: Path, request_name: str, seed: int
) -> None:
    """Changes, traces, dead letters and the cursor are the same with any number of parts."""
    stretches = Stretches(tmp_path / "log")
    stretches.write(batches(seed, slower=10 if request_name == "counted" else 1))
    request = REQUESTS[request_name](tmp_path)
    expected, last = through(stretches, request, lambda _: 1)
    kinds = {kind for _, kind, _ in expected}
    assert {"change", "trace", "refused"} <= kinds
    for counts in (lambda _: 2, lambda n: 1 + n % 3, lambda n: 3 if n < 5 else 1):
        rows, cursor = through(stretches, request, counts)
        assert once(rows) == once(expected)
        apart = ("warm", "part", "parts", "seconds")
        assert {k: v for k, v in cursor.items() if k not in apart} == {
            k: v for k, v in last.items() if k not in apart
        }


def once(rows: list[Any]) -> list[Any]:
    """The dead letters of an item that is met again are one (`backend.pipeline.results`)."""
    return [row for number, row in enumerate(rows) if row not in rows[:number]]


@pytest.mark.parametrize(
    ("rules", "because"),
    [
        (
            LEAST,
            "city_averageSpeed/2",
        ),
        (SLOW + "{ lucky(Road) } :- sosa_hasFeatureOfInterest(_,Road).", "choice"),
        (SLOW + ":- event(_,Road,_,_,_), bad(Road).", "constraint"),
        (
            SLOW + 'event("ev_TrafficJam","place_1",1,1,1) :- not quiet("place_9").',
            "reads nothing that is split",
        ),
        (SLOW + 'quiet("place_4").', "its rules hold facts"),
        (SLOW + "odd(R) :- sosa_hasFeatureOfInterest(_,R), not odd(R).", "its own absence"),
    ],
)
def test_what_would_not_answer_the_same_runs_in_one_piece(
    tmp_path: Path, rules: str, because: str
) -> None:
    request = written(HEAD + rules)(tmp_path)
    found = division(request, builtin(), Limits(**LIMITS))
    assert isinstance(found, str)
    assert because in found


def test_a_rule_that_would_read_its_share_runs_in_one_piece(tmp_path: Path) -> None:
    """In each part it would conclude from the absence of readings that others have."""
    found = division(written(SHARED)(tmp_path), builtin(), Limits(**LIMITS))
    assert isinstance(found, str)
    assert "its share of city_main/2" in found


def test_a_request_that_shows_everything_runs_in_one_piece(tmp_path: Path) -> None:
    request = written(HEAD.replace("#show event/5.", "") + SLOW)(tmp_path)
    assert "#show" in str(division(request, builtin(), Limits(**LIMITS)))


def test_the_requests_of_the_city_divide_by_place() -> None:
    for name in ("traffic_jam", "garage_nearly_full"):
        found = division(find(name), builtin(), Limits(**LIMITS))
        assert isinstance(found, Division)
        sensors = [str(sensor) for sensor in range(1000)]
        parts = [found.of_sensor(sensor, 4) for sensor in sensors]
        assert {parts.count(part) // 50 for part in range(4)} <= {4, 5}


def test_a_part_gets_the_knowledge_of_its_places_only(tmp_path: Path) -> None:
    """Else it would conclude from the absence of readings that others have."""
    request = written(KNOWN)(tmp_path)
    found = division(request, builtin(), Limits(**LIMITS))
    assert isinstance(found, Division)
    facts = [f'city_main("place_{road}",true)' for road in range(7)]
    dealt = [list(found.knowledge(facts, Part(part, 3))) for part in range(3)]
    assert sorted(fact for each in dealt for fact in each) == facts
    assert prepared(request, builtin(), Limits(**LIMITS), Part(1, 3)).part == Part(1, 3)


def test_a_fact_that_names_a_constant_is_in_the_part_of_its_value(tmp_path: Path) -> None:
    request = written(KNOWN + '#const home = "place_3".')(tmp_path)
    found = division(request, builtin(), Limits(**LIMITS))
    assert isinstance(found, Division)
    for part in map(Part, range(3), [3, 3, 3]):
        expected = ["city_main(home,true)"] if found.of_sensor("3", 3) == part.number else []
        assert list(found.knowledge(["city_main(home,true)"], part)) == expected


def cursor(part: int, parts: int = 2, **more: Any) -> Row:
    state = {"feedback": [], "supplied": [], "resting": True, "first": 1}
    body: dict[str, Any] = {"start": 0, "position": 9, "resume_from": 5, "answered_ms": 7}
    body |= {"warm": True, "seconds": {}}
    return Row("jams", 7, "cursor", {**body, "state": state, "part": part, "parts": parts, **more})


def test_the_whole_rests_only_where_every_part_does() -> None:
    """Empty windows may be skipped if none of the parts would change what it feeds back."""
    states = [
        {"feedback": ["b", "d"], "supplied": [["p", 2]], "resting": True},
        {"feedback": ["a"], "supplied": [["p", 2], ["o", 3]], "resting": False},
    ]
    found = merged(cursor(part, state=state) for part, state in enumerate(states))
    assert [row.body["state"] for row in found] == [
        {"feedback": ["a", "b", "d"], "supplied": [["o", 3], ["p", 2]], "resting": False}
    ]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([cursor(0)], "of 2 parts there are 1"),
        ([cursor(0), cursor(0)], "of 2 parts there are 1, 1"),
        ([cursor(0), cursor(1, position=8)], "different places: .*position 9.*; .*position 8"),
        (
            [cursor(0), cursor(1, state={"feedback": [], "supplied": [], "resting": True})],
            "first 1",
        ),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(rows: list[Row], message: str) -> None:
    with pytest.raises(PartsError, match=message):
        merged(rows)
