"""Work on pairs of paths and things in parts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citywise.backend.space import Relation, Space, relating

Told = dict[tuple[str, str], Relation | None]

offsets = st.integers(0, 6)


def told(routes: list[list[int]], things: list[int]) -> Told:
    """How users on routes stand to points, all at steps of about 12 m along one line."""
    space = Space(30.7)
    for user, route in enumerate(routes):
        space.put_route(f"u{user}", [[10.2 + at * 0.0002, 56.15] for at in route])
    for thing, at in enumerate(things):
        point = {"type": "Point", "coordinates": [10.2 + at * 0.0002, 56.1501]}
        space.put_thing(f"e{thing}", point)
    return {(user, thing): relation for user, thing, relation in space.settle()}


@settings(max_examples=25)
@given(
    st.lists(st.lists(offsets, min_size=2, max_size=20), min_size=1, max_size=4),
    st.lists(offsets, min_size=1, max_size=3),
)
def test_how_many_pairs_are_worked_on_at_once_changes_nothing(
    routes: list[list[int]], things: list[int]
) -> None:
    whole = told(routes, things)
    for size in (1, 2, 3):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(relating, "_CHUNK", size)
            assert told(routes, things) == whole
