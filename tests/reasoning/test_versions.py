"""Versions of a set that changes: each has the members of its moment."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from citywise.reasoning.model.engine import Version

changes = st.lists(st.sets(st.integers(0, 9)), max_size=8)


@given(changes, st.data())
def test_a_version_has_the_members_of_its_moment_whenever_it_is_asked(
    contents: list[set[int]], data: st.DataObject
) -> None:
    """The set hands out a view of itself, which changes with it."""
    live: dict[int, None] = {}
    versions: list[tuple[Version[int], set[int]]] = [(Version(live.keys), set())]
    for content in contents:
        came, gone = content - live.keys(), live.keys() - content
        live.update(dict.fromkeys(came))
        for member in gone:
            del live[member]
        newest = versions[-1][0].followed_by(sorted(came), sorted(gone))
        versions.append((newest, content))
        if data.draw(st.booleans()):
            version, expected = data.draw(st.sampled_from(versions))
            assert set(version.members()) == expected
    assert [set(version.members()) for version, _ in versions] == [e for _, e in versions]
