"""How R4 joins: a left-deep tree of beta nodes over lists that are scanned from end to end.

"When a join node is left activated, it first adds the new token to its left window, then it
prunes its right window before iterating over the remaining quads to find any matches"
(Monks et al., section "Continuous Reasoning with Rete"). What the rule does with a token that
is complete is left out, so is what is static.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

Token: TypeAlias = tuple[str, ...]


class Pattern(NamedTuple):
    """`?x[property -> ?y]`: the values of both are in tokens, but for the first pattern's only
    that of `?y` is new."""

    property: str
    subject: int = 0
    """Where in the tokens of the patterns before it `?x` is."""
    constant: str | None = None
    """What there is in the place of `?y`."""


class Lists:
    """The joins of some patterns over a window of a stream."""

    def __init__(self, patterns: Sequence[Pattern], width: int) -> None:
        self._patterns = patterns
        self._width = width
        self._left: list[deque[tuple[int, Token]]] = [deque() for _ in patterns]
        """By pattern: when the tokens of those before it were asserted at the earliest."""
        self._right: list[deque[tuple[int, str, str]]] = [deque() for _ in patterns]
        self.complete = 0
        """How often all patterns have been met."""

    def push(self, now: int, subject: str, name: str, value: str) -> None:
        """A triple arrives."""
        for at, pattern in enumerate(self._patterns):
            if pattern.property == name and pattern.constant in (None, value):
                if at:
                    self._activate_right(at, now, subject, value)
                else:
                    self._activate_left(1, now, now, (subject, value))

    def _activate_left(self, at: int, now: int, asserted: int, token: Token) -> None:
        if at == len(self._patterns):
            self.complete += 1
            return
        self._left[at].append((asserted, token))
        right, since = self._right[at], now - self._width
        while right and right[0][0] <= since:
            right.popleft()
        key = token[self._patterns[at].subject]
        for time, value in [(time, o) for time, s, o in right if s == key]:
            self._activate_left(at + 1, now, min(asserted, time), (*token, value))

    def _activate_right(self, at: int, now: int, subject: str, value: str) -> None:
        self._right[at].append((now, subject, value))
        left, since = self._left[at], now - self._width
        while left and left[0][0] <= since:
            left.popleft()
        place = self._patterns[at].subject
        found = [each for each in left if each[1][place] == subject and each[0] > since]
        for asserted, token in found:
            self._activate_left(at + 1, now, min(asserted, now), (*token, value))
