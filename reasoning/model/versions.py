"""A set that changes, and what it was: versions cost what changed, not what there is."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Generic, TypeVar

Member = TypeVar("Member")


class Version(Generic[Member]):
    """The members of a changing set at one moment, put together when they are asked for.

    The newest version asks the set itself: for a list or tuple, which stays as it is, or for
    another collection, which is copied. One before it undoes what came after. Whoever changes the
    set says so with `followed_by`; versions nobody holds cost nothing.
    """

    __slots__ = ("_after", "_members", "_source")

    def __init__(self, source: Callable[[], Collection[Member]]) -> None:
        self._source = source
        self._members: Collection[Member] | None = None
        self._after: tuple[Version[Member], Collection[Member], Collection[Member]] | None = None

    def followed_by(self, came: Collection[Member], gone: Collection[Member]) -> Version[Member]:
        """The version after it, of which `came` are new and `gone` are members no more."""
        # Versions point forward only: the set holds the newest, so one nobody asks for is freed,
        # with all that led up to it.
        newer = Version(self._source)
        self._after = newer, came, gone
        return newer

    def members(self) -> Collection[Member]:
        """The members; of the newest version in the order in which the set gives them."""
        if self._members is None:
            self._members = self._restored()
        return self._members

    def _restored(self) -> Collection[Member]:
        # Forward to the first version that is known, or to the newest, which asks the set; then
        # back. A loop, for an answer may be asked for thousands of steps later.
        undone: list[tuple[Collection[Member], Collection[Member]]] = []
        version: Version[Member] = self
        while version._members is None and version._after is not None:
            version, came, gone = version._after
            undone.append((came, gone))
        known = version._source() if version._members is None else version._members
        if not undone:
            return known if isinstance(known, list | tuple) else tuple(known)
        found = set(known)
        for came, gone in reversed(undone):
            found.difference_update(came)
            found.update(gone)
        return found
