"""Searching named points: as written, begun, misspelt, near; and what is nearest."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from citywise.apps.travel_planner.roads import Entry, Gazetteer, NetworkError, RoadNetwork, streets
from citywise.apps.travel_planner.roads.building import NetworkBuilder
from citywise.apps.travel_planner.roads.culture import repaired
from citywise.apps.travel_planner.roads.gazetteer import folded
from citywise.apps.travel_planner.roads.names import Names, stop_entries, stopped_at, street_of
from citywise.apps.travel_planner.roads.segments import Segment

ENTRIES = (
    Entry("1", "Vesterbro Torv", "street", 10.197, 56.158),
    Entry("2", "Vesterbrogade", "street", 10.199, 56.159),
    Entry("3", "Ørstedsvej", "street", 10.21, 56.16),
    Entry("4", "Magasin, Åboulevarden 70", "garage", 10.2049, 56.1568),
    Entry("5", "Silkeborgvej / Vestre Ringgade", "junction", 10.18, 56.157),
    Entry("6", "Lørdagskoncert", "event", 10.1989, 56.1519, "Musikhuset", 1_403_344_800_000),
    Entry("7", "Musikhuset", "venue", 10.1989, 56.1519),
    Entry("8", "Kirkegade", "street", 10.30, 56.20),
    Entry("9", "Kirkegade", "street", 10.20, 56.15),
    Entry("10", "Park Allé", "street", 10.2034, 56.1529),
)


@pytest.fixture(scope="module")
def gazetteer() -> Gazetteer:
    return Gazetteer(ENTRIES)


def first(gazetteer: Gazetteer, text: str) -> str | None:
    found = gazetteer.search(text)
    return found[0].name if found else None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vesterbro torv", "Vesterbro Torv"),
        ("VESTERBROTORV", "Vesterbro Torv"),
        ("vesterbrog", "Vesterbrogade"),
        ("orsted", "Ørstedsvej"),
        ("oersted", "Ørstedsvej"),
        ("aboulevarden", "Magasin, Åboulevarden 70"),
        ("Åboulevarden", "Magasin, Åboulevarden 70"),
        ("aaboulevarden 70", "Magasin, Åboulevarden 70"),
        ("park alle", "Park Allé"),
        ("ringgade silkeborgvej", "Silkeborgvej / Vestre Ringgade"),
        ("silkeborg", "Silkeborgvej / Vestre Ringgade"),
        ("silkebrogvej", "Silkeborgvej / Vestre Ringgade"),
        ("silkborg", "Silkeborgvej / Vestre Ringgade"),
        ("musikhust", "Musikhuset"),
        ("huset", "Musikhuset"),
        ("timbuktu", None),
        ("vesterbro timbuktu", None),
        ("", None),
        ("  ,;", None),
    ],
)
def test_names_are_found_begun_misspelt_and_in_old_spelling(
    gazetteer: Gazetteer, text: str, expected: str | None
) -> None:
    assert first(gazetteer, text) == expected


def test_what_is_written_comes_before_what_begins_so(gazetteer: Gazetteer) -> None:
    names = [found.name for found in gazetteer.search("vesterbro")]
    assert names == ["Vesterbro Torv", "Vesterbrogade"]
    scores = [found.score for found in gazetteer.search("vesterbro")]
    assert scores == sorted(scores, reverse=True)


def test_of_equal_names_the_nearer_comes_first(gazetteer: Gazetteer) -> None:
    assert [f.id for f in gazetteer.search("kirkegade", near=(10.2, 56.15))] == ["9", "8"]
    assert [f.id for f in gazetteer.search("kirkegade", near=(10.3, 56.2))] == ["8", "9"]


def test_an_event_is_found_by_its_venue_too_and_has_its_time(gazetteer: Gazetteer) -> None:
    found = gazetteer.search("musikhuset")
    assert [(f.kind, f.starts_ms) for f in found] == [("venue", None), ("event", 1_403_344_800_000)]
    assert found[1].detail == "Musikhuset"


def test_of_equal_names_what_lasts_comes_before_an_event() -> None:
    both = [
        Entry("1", "Festuge", "event", 10.2, 56.15, starts_ms=0),
        Entry("2", "Festuge", "place", 10.3, 56.2),
    ]
    assert [f.id for f in Gazetteer(both).search("festuge", near=(10.2, 56.15))] == ["2", "1"]


def test_a_near_miss_is_shown_only_where_nothing_fits_much_better() -> None:
    station = Entry("1", "Banegården", "place", 10.2, 56.15)
    street = Entry("2", "Bagergade", "street", 10.2, 56.15)
    assert [found.id for found in Gazetteer([station, street]).search("bane")] == ["1"]
    assert [found.id for found in Gazetteer([street]).search("bane")] == ["2"]


def test_no_more_is_found_than_asked_for(gazetteer: Gazetteer) -> None:
    assert len(gazetteer.search("ve", limit=1)) == 1


def test_the_nearest_named_point_is_told_but_no_event_and_nothing_far(
    gazetteer: Gazetteer,
) -> None:
    found = gazetteer.nearest(10.1989, 56.1519)
    assert found is not None
    assert (found.name, found.score) == ("Musikhuset", 1.0)
    assert gazetteer.nearest(11.0, 56.0) is None
    assert Gazetteer([]).nearest(10.2, 56.15) is None
    assert Gazetteer([]).search("a") == []


def test_what_is_written_is_read_again(gazetteer: Gazetteer, tmp_path: Path) -> None:
    gazetteer.save(tmp_path / "gazetteer.json")
    assert Gazetteer.load(tmp_path / "gazetteer.json").entries == ENTRIES


@pytest.mark.parametrize("content", [None, "", "{}", '[{"id": "1"}]', "[1]"])
def test_a_missing_or_broken_file_is_named_with_what_to_do(
    tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "gazetteer.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(NetworkError, match="citywise city import") as raised:
        Gazetteer.load(path)
    assert str(path) in str(raised.value)


def test_words_are_folded_alike_however_they_are_spelt() -> None:
    assert folded("Ørsteds Allé 3b") == folded("OERSTEDS alle 3B") == ["orsteds", "alle", "3b"]
    assert folded("Århus") == folded("Aarhus") == folded("A\u030arhus")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("L?rdagskoncert - gratis", "Lørdagskoncert - gratis"),
        ("Syng i Den Bl?", "Syng i Den Blå"),
        ("Impressions of P?rth & N?rg?rd", "Impressions of P?rth & Nørgård"),
        ("Hvem er bange?", "Hvem er bange?"),
        ("?MSK elevkoncert", "?MSK elevkoncert"),
    ],
)
def test_lost_letters_come_back_where_the_word_is_known(text: str, expected: str) -> None:
    assert repaired(text) == expected


def crossing() -> RoadNetwork:
    """Kirkegade three times, twice near one another, and Torvegade across the first."""
    builder = NetworkBuilder()
    for lon, name in ((10.0, "Kirkegade"), (10.002, "Kirkegade"), (10.2, "Kirkegade")):
        ends = builder.add_node(lon, 56.0), builder.add_node(lon + 0.001, 56.0)
        builder.add_street(*ends, name=name)
    builder.add_street(0, builder.add_node(10.0, 56.01), name="Torvegade")
    builder.add_street(0, builder.add_node(10.0, 55.99))
    return builder.build("test", "none")


def test_streets_of_one_name_are_one_unless_they_are_far_apart() -> None:
    named = [(e.kind, e.name, round(e.lon, 1)) for e in streets.entries(crossing())]
    assert named == [
        ("street", "Kirkegade", 10.0),
        ("street", "Kirkegade", 10.2),
        ("street", "Torvegade", 10.0),
        ("junction", "Kirkegade / Torvegade", 10.0),
    ]


def test_a_segment_names_each_half_of_its_path_after_that_end_and_a_stop_outvotes_it() -> None:
    builder = NetworkBuilder()
    nodes = [builder.add_node(10.0 + 0.01 * n, 56.0) for n in range(4)]
    path = [builder.add_street(a, b, back=0)[0] for a, b in pairwise(nodes)]
    edges = [edge for edge in path if edge is not None]
    names = Names(builder.build("test", "none"), {edge: edge for edge in edges})
    at = (10.0, 56.0), (10.03, 56.0)
    names.along(Segment("1", ("a", "b"), ("Nygade", "Park Alle"), ("", ""), at, 1_870, 40), edges)
    assert dict(names.decided()) == {0: "Nygade", 1: "Park Alle", 2: "Park Alle"}
    names.stops([("Skolevej/Torvet", (10.015, 56.0001))] * 4 + [("Park Allé/Havn", (10.025, 56.0))])
    assert dict(names.decided()) == {0: "Nygade", 1: "Skolevej", 2: "Park Allé"}


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        ("Park Allé/Rådhuset (Aarhus Kom)", "Park Allé"),
        ("Engvej/Langelinie", "Engvej"),
        ("Rådhuset/Park Allé", None),
        ("Nye (Letbane)", None),
    ],
)
def test_a_stop_tells_its_street_where_its_name_begins_with_one(
    stop: str, expected: str | None
) -> None:
    assert street_of(stop) == expected


def test_stops_of_one_name_are_one_and_tell_of_a_street_if_they_are_close() -> None:
    stops = [
        ("Engvej/Langelinie (Skanderborg Kom)", (10.0, 56.0)),
        ("Engvej/Langelinie (Skanderborg Kom)", (10.0002, 56.0)),
        ("Nygade/Torvet", (10.1, 56.1)),
        ("Nygade/Havnen", (10.3, 56.3)),
    ]
    named = [(entry.name, entry.detail) for entry in stop_entries(stops)]
    assert named == [
        ("Engvej/Langelinie", "Skanderborg"),
        ("Nygade/Torvet", ""),
        ("Nygade/Havnen", ""),
    ]
    assert [entry.name for entry in stopped_at(stops)] == ["Engvej"]
