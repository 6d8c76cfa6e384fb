"""What is found for a name, a kind, and an address."""

from __future__ import annotations

from pathlib import Path

from citywise.apps.travel_planner.roads.gazetteer import Entry, Gazetteer
from citywise.apps.travel_planner.searching import Answer, search

PLACES = Gazetteer(
    [
        Entry("s1", "Ringgade", "street", 10.20, 56.15),
        Entry("s2", "Vej 12", "street", 10.21, 56.15),
        Entry("g1", "Torvet", "garage", 10.20, 56.16),
        Entry("g2", "Havnen", "garage", 10.22, 56.15),
        Entry("p1", "Parken", "place", 10.10, 56.10),
        Entry("h1", "Ringgade 7B", "address", 10.203, 56.151),
        Entry("h2", "Ringgade 7B", "address", 10.10, 56.10, "8200 Aarhus N"),
    ]
)


def names(text: str, near: tuple[float, float] | None = None) -> list[str]:
    return [each.name for each in search(PLACES, text, near, 5).found]


def test_a_house_number_that_is_not_known_leads_to_its_street_and_is_said() -> None:
    answer = search(PLACES, "Ringgade 12", None, 5)
    assert [each.id for each in answer.found] == ["s1"]
    assert answer.left_out == "12"
    assert search(PLACES, "ringgade, 3B", None, 5).left_out == "3B"


def test_a_number_that_is_in_a_name_is_no_house_number() -> None:
    answer = search(PLACES, "Vej 12", None, 5)
    assert answer.found[0].id == "s2"
    assert answer.left_out is None


def test_the_word_for_a_kind_finds_the_nearest_of_it_first() -> None:
    assert names("parking", (10.22, 56.15)) == ["Havnen", "Torvet"]
    assert names("Parkering", (10.20, 56.16)) == ["Torvet", "Havnen"]


def test_what_bears_the_word_as_its_name_is_found_too() -> None:
    assert names("parken", (10.22, 56.15)) == ["Havnen", "Torvet", "Parken"]


def test_nothing_is_found_for_a_number_alone_or_a_street_that_is_not_there() -> None:
    assert search(PLACES, "12345", None, 5) == Answer([])
    assert search(PLACES, "Nowhere 12", None, 5) == Answer([])


def test_a_house_is_found_by_its_address_the_nearest_of_that_name_first() -> None:
    for text in ("Ringgade 7B", "ringgade, 7 b", "Ringgad 7B"):
        answer = search(PLACES, text, (10.20, 56.15), 5)
        assert [each.id for each in answer.found][:2] == ["h1", "h2"], text
        assert answer.left_out is None
    assert search(PLACES, "Ringgade 7B", (10.10, 56.10), 1).found[0].id == "h2"


def test_the_street_that_was_written_comes_before_others_that_are_nearer() -> None:
    other = Entry("h3", "Vestre Ringgade 7B", "address", 10.20, 56.15)
    street = Entry("s3", "Vestre Ringgade", "street", 10.20, 56.15)
    answer = search(PLACES.with_entries([other, street]), "Ringgade 7B", (10.20, 56.15), 5)
    assert [each.id for each in answer.found][:3] == ["h1", "h2", "h3"]


def test_a_range_of_houses_is_no_other_number() -> None:
    several = PLACES.with_entries([Entry("h4", "Ringgade 1-3", "address", 10.20, 56.15)])
    assert search(several, "Ringgade 13", None, 5).left_out == "13"
    assert search(several, "Ringgade 1-3", None, 5).found[0].id == "h4"


def test_the_town_after_an_address_may_be_written() -> None:
    for text in ("Ringgade 7B, 8200 Aarhus N", "Ringgade 7B, Aarhus"):
        assert names(text)[:1] == ["Ringgade 7B"], text


def test_houses_stand_in_no_list_of_places_and_are_kept_with_the_others(tmp_path: Path) -> None:
    assert names("Ringgade") == ["Ringgade"]
    PLACES.save(tmp_path / "places.json")
    assert Gazetteer.load(tmp_path / "places.json").houses("Ringgade 7b")
    nearest = PLACES.nearest(10.203, 56.151)
    assert nearest is not None
    assert nearest.name == "Ringgade"
