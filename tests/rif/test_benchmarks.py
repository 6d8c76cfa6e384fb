"""The benchmark of RIF measures runs whose every change is what follows without rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks import rif
from benchmarks.r4 import conclusions
from benchmarks.r4.evaluated import evaluated, reading
from benchmarks.r4.experiment import SUBCLASS, Experiment, superclasses
from benchmarks.r4.offers import PARTS, Offers
from benchmarks.r4.scans import Lists, Pattern
from benchmarks.r4.weather import BEGINNING, Weather

NOWHERE = Path("there is no data pack here")


def small() -> Sequence[Experiment]:
    """Experiments of a few hundred triples, in which windows cut what belongs together."""
    return Offers(60, NOWHERE, rate=15), Weather(days=0.1, stations=3)


@pytest.mark.parametrize("experiment", small(), ids=lambda each: each.name)
@pytest.mark.parametrize(("width", "what"), [(1, "facts"), (2, "instances"), (900, "facts")])
def test_what_comes_and_goes_is_what_follows(
    experiment: Experiment, what: str, width: int, tmp_path: Path
) -> None:
    stream, triples = experiment.write(tmp_path)
    program = experiment.program(tmp_path, width)
    found = evaluated(program, stream, instances=what == "instances")
    changes = conclusions.facts if what == "facts" else conclusions.instances
    assert found["digests"] == conclusions.digests(changes(experiment.conclusions(width)))
    assert len(found["digests"]) > 5
    assert reading(program, stream)["items"] == triples


def test_an_offer_follows_if_the_window_holds_all_its_triples() -> None:
    experiment = Offers(60, NOWHERE, rate=15)
    complete = [experiment.joined(width, until=100) for width in (1, 2, 3)]
    assert 0 < complete[0] < complete[1] == complete[2] == 60


def test_an_offer_has_a_price_for_each_type_of_its_product() -> None:
    first, *others = Offers(1, NOWHERE).conclusions(5)
    assert "offerPrice" in first[0]
    assert len(others) == 4, "a type on each level of the hierarchy"
    assert {each[1:] for each in others} == {first[1:]}


def test_offers_are_those_of_the_data_pack(data_pack: Path) -> None:
    there, generated = Offers(20, data_pack), Offers(20, NOWHERE)
    assert (there.data, generated.data) == ("BSBM", "generated like BSBM's: no data pack")
    names = [[each.statement[1] for each in found.arrivals()] for found in (there, generated)]
    assert sorted(names[0]) == sorted(names[1]) == sorted(PARTS * 20)
    assert len({text for text, _, _ in there.conclusions(1)}) > 60


def test_hurricanes_are_found_by_the_classes_above_theirs() -> None:
    found = {text.split(" ")[2] for text, _, _ in Weather(days=1).conclusions(60)}
    assert any("Hurricane1>" in name for name in found), "of a class below the one asked for"
    assert not any("#Storm" in name for name in found)


@pytest.mark.parametrize("experiment", small(), ids=lambda each: each.name)
@pytest.mark.parametrize("width", [1, 2, 7])
def test_lists_that_are_scanned_find_the_same(experiment: Experiment, width: int) -> None:
    joins, now = Lists(experiment.patterns, width), 0
    for now, statement in experiment.arrivals():
        joins.push(now, *statement)
    assert joins.complete == experiment.joined(width, now) > 0


def test_a_token_counts_as_long_as_the_first_of_its_triples() -> None:
    joins = Lists((Pattern("p"), Pattern("q"), Pattern("r", subject=2)), 3)
    for now, triple in enumerate([("a", "p", "1"), ("a", "q", "b"), ("b", "r", "2")]):
        joins.push(now, *triple)
    assert joins.complete == 1
    joins.push(3, "b", "r", "3")
    assert joins.complete == 1, "the first triple was asserted at 0"


def test_intervals_that_meet_are_one_and_instances_are_not() -> None:
    found = [("p", 1, 3), ("p", 4, 5), ("p", 2, 2), ("p", 8, 8), ("p", 8, 9)]
    assert conclusions.facts(found) == {
        1: (["p"], []),
        6: ([], ["p"]),
        8: (["p"], []),
        10: ([], ["p"]),
    }
    begun = {now: came for now, (came, _) in conclusions.instances(found).items() if came}
    assert begun == {1: ["p 1 3"], 2: ["p 2 2"], 4: ["p 4 5"], 8: ["p 8 9"]}


def test_a_class_that_is_below_itself_has_those_above_it() -> None:
    found = superclasses((one, SUBCLASS, other) for one, other in ("ab", "ba", "bc"))
    assert found == {"a": {"a", "b", "c"}, "b": {"a", "b", "c"}, "c": {"c"}}


def test_bounds_are_met_or_not_by_what_was_measured() -> None:
    row = {"window": 5, "what": "facts", "triples": 1_000_000, "start_s": 1.5, "us a triple": 24.0}
    results: dict[str, list[dict[str, Any]]]
    results = {"bsbm": [row], "bsbm, memory in MB": [{"50 %": 200.0, "100 %": 210.0}]}
    found = [(each["what"], each["measured"], each["met"]) for each in rif.bounds(results)]
    assert found == [
        ("bsbm, window 5 s, facts: a million triples, s", 25.5, "NOT MET"),
        ("bsbm, window 5 s, facts: memory", 1.05, "yes"),
    ]


@pytest.mark.parametrize("arguments", [("sparql",), ("bsbm", "long")])
def test_what_there_is_not_to_be_measured_is_told(arguments: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit, match=r"there are (both, bsbm, srbench|default, quick)"):
        rif.run(*arguments)


@pytest.mark.slow
def test_the_whole_benchmark_runs_in_small(capfd: pytest.CaptureFixture[str]) -> None:
    experiment = Weather(days=0.05, stations=2)
    experiment.windows = (1200,)
    results = rif.measured([experiment])
    assert [row["what"] for row in results["srbench"]] == ["facts", "instances"]
    assert all(row["cpu_s"] > row["start_s"] > 0 for row in results["srbench"])
    assert [row["peak"] > 20 for row in results["srbench, memory in MB"]] == [True, True]
    assert "x scans" in rif.report(results)
    assert "srbench, window 1200 s, facts" in capfd.readouterr().err


@pytest.mark.slow
def test_it_is_told_when_something_else_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = Offers(20, NOWHERE, rate=15)
    experiment.windows = (2,)
    monkeypatch.setattr(Offers, "conclusions", lambda *_: iter([("p", 1, 2)]))
    with pytest.raises(SystemExit, match=r"bsbm, window 2 s, facts: .* first at "):
        rif.measured([experiment])


def test_the_storm_passes_the_stations_one_after_the_other() -> None:
    winds = [each for each in Weather(days=2).observations() if each.property == "wind_speed"]
    strongest = {}
    for each in sorted(winds, key=lambda found: float(found.value)):
        strongest[each.station] = each.time - BEGINNING
    assert strongest[0] < strongest[8] < strongest[16] < strongest[23]
