"""What a token of sensors is for: kinds, sensors and places by patterns."""

from __future__ import annotations

import pytest

from citywise.backend.people.errors import PeopleError
from citywise.backend.people.scopes import Known, Scope, matches

PLACES = [
    Known("n1", "noise_meter", ("noise",)),
    Known("n12", "noise_meter", ("noise", "climate")),
    Known("x1", "air_station", ("air_quality",)),
]


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("n1*", "n1", True),
        ("n1*", "n12", True),
        ("n1*", "xn1", False),
        ("n1", "n12", False),
        ("*", "anything", True),
        ("a.b", "aXb", False),
        ("*-7", "north-7", True),
    ],
)
def test_a_star_is_any_text_and_all_else_is_itself(pattern: str, name: str, fits: bool) -> None:
    assert matches([pattern], name) == fits


def test_the_own_topics_of_the_sensors_that_there_are() -> None:
    scope = Scope(kinds=("noise",), sensors=("n1*",))
    assert list(scope.observation_topics(PLACES)) == [
        "observations/noise/n1",
        "observations/noise/n12",
    ]
    assert list(Scope(sensors=("n12",)).observation_topics(PLACES)) == [
        "observations/noise/n12",
        "observations/climate/n12",
    ]


def test_the_topics_of_places_that_there_are_and_of_those_named_whole() -> None:
    assert list(Scope(places=("n*", "new")).place_topics(PLACES)) == [
        "places/+/new",
        "places/noise_meter/n1",
        "places/noise_meter/n12",
    ]


@pytest.mark.parametrize(
    "given", [{"kinds": ["a b"]}, {"sensors": "n1"}, {"place": []}, {"kinds": ["?"]}]
)
def test_what_is_no_scope_is_refused_with_what_to_write(given: dict[str, object]) -> None:
    with pytest.raises(PeopleError, match="expected patterns"):
        Scope.of(given)
