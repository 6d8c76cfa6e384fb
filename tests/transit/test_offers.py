"""All of a set is given, however large it is."""

from __future__ import annotations

from typing import Any

from citywise.apps.travel_planner.transit.offers import MOST_WEIGHED, Offer, chosen
from citywise.apps.travel_planner.transit.request import read
from citywise.apps.travel_planner.wording import Words

BODY = {"from": {"stop": "a"}, "to": {"stop": "b"}, "mode": "transit", "alternatives": 1000}


def offers(count: int) -> list[Offer]:
    """Each later than the one before, with less to walk."""

    def offer(number: int) -> Offer:
        values = {"arrival": float(number), "changes": 0.0, "walk": float(count - number)}
        told: dict[str, Any] = {"number": number}
        return Offer("transit", values, lambda: told)

    return [offer(number) for number in range(count)]


def test_more_than_the_rules_weigh_follow_in_their_order() -> None:
    answer = chosen(offers(MOST_WEIGHED + 5), read(BODY), Words())
    assert [route["number"] for route in answer["routes"]] == list(range(MOST_WEIGHED + 5))
    assert len({route["id"] for route in answer["routes"]}) == MOST_WEIGHED + 5
    assert answer["rejected"] == []


def test_no_more_are_given_than_are_asked_for() -> None:
    answer = chosen(offers(30), read({**BODY, "alternatives": 4}), Words())
    assert [route["number"] for route in answer["routes"]] == [0, 1, 2, 3]
    assert len(answer["rejected"]) == 10
