"""What `Space` reports, whatever came before, is what a slow computation of each pair gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.backend.space import Relation, Space
from tests.space import reference

USERS = ["alice", "bob", "carl"]
THINGS = ["e1", "e2", "e3", "e4"]
Pair = tuple[str, str]
Step = tuple[Any, ...]

lattice = st.integers(0, 10)
points = st.builds(lambda i, j: [10.2 + i * 0.0005, 56.15 + j * 0.0003], lattice, lattice)
between = st.sampled_from([0.0, 0.00007, 0.00023])
routes = st.none() | st.lists(points, min_size=1, max_size=12)
positions = st.none() | st.builds(
    lambda at, east, north, heading, along: {
        "lon": at[0] + east,
        "lat": at[1] + north,
        "heading": heading,
        "along_m": along,
    },
    points,
    between,
    between,
    st.none() | st.sampled_from([0.0, 10.0, 90.0, 180.0, 200.0, 270.0, 360.0]),
    st.none() | st.sampled_from([0.0, 57.0, 1e6]),
)
geometries = (
    st.none()
    | st.builds(lambda at: {"type": "Point", "coordinates": at}, points)
    | st.builds(
        lambda at: {"type": "LineString", "coordinates": at},
        st.lists(points, min_size=2, max_size=4),
    )
)
reaches = st.sampled_from([20.7, 61.3, 120.9, 400.1])
steps = st.lists(
    st.tuples(st.just("route"), st.sampled_from(USERS), routes)
    | st.tuples(st.just("position"), st.sampled_from(USERS), positions)
    | st.tuples(st.just("thing"), st.sampled_from(THINGS), geometries, st.booleans())
    | st.tuples(st.just("reach"), st.sampled_from(USERS), st.none() | reaches)
    | st.tuples(st.just("widen"), reaches)
    | st.tuples(st.just("settle")),
    max_size=25,
)


class City:
    """What was put into a space, and what it has told since."""

    def __init__(self, reach: float, space: Space) -> None:
        self.space, self.common = space, reach
        self.route: dict[str, Any] = {}
        self.position: dict[str, Any] = {}
        self.thing: dict[str, Any] = {}
        self.reach: dict[str, Any] = {}
        self.told: dict[Pair, Relation] = {}

    def do(self, step: Step) -> None:
        match step:
            case ("settle",):
                self.settle()
            case ("widen", reach):
                self.common = reach
                self.space.widen(reach)
            case ("thing", key, geometry, directed):
                self.thing[key] = (geometry, directed)
                self.space.put_thing(key, geometry, directed)
            case (what, user, value):
                getattr(self, what)[user] = value
                getattr(self.space, f"put_{what}")(user, value)

    def settle(self) -> None:
        """Take in what is told, each of which must be news, and told once."""
        seen = set()
        for user, thing, relation in self.space.settle():
            pair = (user, thing)
            assert pair not in seen
            seen.add(pair)
            assert self.told.get(pair) != relation
            if relation is None:
                del self.told[pair]
            else:
                self.told[pair] = relation

    def again(self) -> City:
        """The same state put into a new space at once, in another order."""
        city = City(self.common, Space(self.common))
        for what in ("reach", "position", "route"):
            for user, value in reversed(getattr(self, what).items()):
                city.do((what, user, value))
        for key, (geometry, directed) in reversed(self.thing.items()):
            city.do(("thing", key, geometry, directed))
        city.settle()
        return city

    def stands(self, slack: float) -> Iterator[tuple[Pair, reference.Stand | None]]:
        """What the slow way says, with `slack` metres more reach."""
        for user in USERS:
            reach = self.reach.get(user) or self.common
            at = self.route.get(user), self.position.get(user)
            for key, (geometry, directed) in self.thing.items():
                if geometry is not None:
                    stand = reference.stand(geometry, directed, *at, reach + slack)
                    yield (user, key), stand


def agree(stand: reference.Stand | None, relation: Relation | None) -> bool:
    if stand is None or relation is None:
        return stand is None and relation is None
    told = relation._asdict()
    unclear = {"opposite", "ahead_m"} if stand.opposite is None else set()
    close = {name: pytest.approx(value, abs=0.05) for name, value in vars(stand).items()}
    return all(told[name] == value for name, value in close.items() if name not in unclear)


@settings(max_examples=40)
@given(reaches, steps)
def test_what_is_told_is_what_a_slow_computation_of_every_pair_gives(
    reach: float, steps: list[Step]
) -> None:
    check(reach, steps)


@pytest.mark.slow
@settings(max_examples=400)
@given(reaches, steps)
def test_that_holds_in_many_cities(reach: float, steps: list[Step]) -> None:
    check(reach, steps)


def check(reach: float, steps: list[Step]) -> None:
    """What a space tells after some steps is what the slow computation gives."""
    city = City(reach, Space(reach))
    for step in steps:
        city.do(step)
    city.settle()
    assert city.told == city.again().told
    less, more = dict(city.stands(-0.05)), dict(city.stands(0.05))
    assert city.told.keys() <= more.keys()
    for pair, stand in less.items():
        told = city.told.get(pair)
        assert agree(stand, told) or agree(more[pair], told), pair
