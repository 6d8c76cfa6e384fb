"""How often one may ask: in a moving window, by person or by address."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from flask import Flask, current_app, request
from limits import (
    RateLimitItem,
    RateLimitItemPerHour,
    RateLimitItemPerMinute,
    RateLimitItemPerSecond,
)
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from citywise.backend.api import forgery, identity
from citywise.backend.api.connections import home
from citywise.backend.api.problems import ProblemError
from citywise.backend.api.state import state
from citywise.backend.packs.parts import Limit
from citywise.backend.people import names

View = TypeVar("View", bound=Callable[..., Any])
LIMITS: dict[str, RateLimitItem] = {
    "log-in": RateLimitItemPerMinute(10),
    "guesses-here": RateLimitItemPerMinute(30),
    "guesses-at": RateLimitItemPerMinute(100),
    "codes": RateLimitItemPerHour(20),
    "sign-up": RateLimitItemPerHour(5),
    "letters": RateLimitItemPerHour(5),
    "sign-in": RateLimitItemPerMinute(30),
    "context": RateLimitItemPerSecond(60, 3),
    "context-size": RateLimitItemPerHour(640),
    "expensive": RateLimitItemPerMinute(30),
    "observations": RateLimitItemPerMinute(600),
    "posted": RateLimitItemPerMinute(6000),
    "writes": RateLimitItemPerMinute(120),
}
"""How often in which time; what is no other kind and changes anything is of `writes`."""
_COUNTED = "citywise_limit"
_EXTENSION = "citywise-limits"
_OF_APPS = "citywise-limits-of-apps"
_PART_BYTES = 16_384
"""`context-size` counts these, of bodies of at least one: 10 MB an hour."""


def said(kind: str) -> str:
    """A limit in words, such as `10 in 60 s`."""
    limit = _item(kind)
    return f"{limit.amount} in {limit.get_expiry()} s"


def counted(kind: str) -> Callable[[View], View]:
    """Declare that calls of a view count as of a kind, instead of `writes` or nothing."""

    def mark(view: View) -> View:
        setattr(view, _COUNTED, kind)
        return view

    return mark


def counted_itself(view: View) -> View:
    """Declare that a view counts its calls (`spend`): it alone knows whose they are."""
    setattr(view, _COUNTED, None)
    return view


def undeclared(views: Iterable[View], of_app: Mapping[str, Limit]) -> set[str]:
    """As which kinds some views of an app count that neither it nor we declare."""
    counted = {getattr(view, _COUNTED, None) for view in views}
    return {kind for kind in counted if kind is not None} - LIMITS.keys() - of_app.keys()


def install(app: Flask, of_apps: Iterable[Mapping[str, Limit]] = ()) -> None:
    """Count the calls of the views of `app`; call it after `access.install`."""
    app.extensions[_EXTENSION] = MovingWindowRateLimiter(MemoryStorage())
    app.extensions[_OF_APPS] = {
        kind: RateLimitItemPerSecond(limit.times, limit.seconds)
        for declared in of_apps
        for kind, limit in declared.items()
    }

    @app.before_request
    def _count() -> None:
        if request.endpoint is None:
            return
        usual: str | None = None if request.method in forgery.SAFE else "writes"
        kind: str | None = getattr(app.view_functions[request.endpoint], _COUNTED, usual)
        if kind is not None and not _is_at_home():
            spend(kind, _who())


def weigh() -> None:
    """Count what is told of a user by its size: it goes into the log."""
    parts = len(request.get_data()) // _PART_BYTES
    if parts and not _is_at_home():
        spend("context-size", _who(), parts)


def spend(kind: str, who: str, cost: int = 1) -> None:
    """Count one more call; raises a 429 that says when to come again, where they are too many."""
    if not state().settings.people.rate_limits:
        return
    if not _limiter().hit(_item(kind), kind, who, cost=cost):
        raise _too_many(kind, who)


def refuse_spent(kind: str, who: str) -> None:
    """Raise a 429 where no more of a kind is left, of what is counted afterwards (`note`)."""
    if state().settings.people.rate_limits and not _limiter().test(_item(kind), kind, who):
        raise _too_many(kind, who)


def note(kind: str, who: str, cost: int = 1) -> None:
    """Count what has been used of a kind: as much of it as was left."""
    for _ in range(cost):
        _limiter().hit(_item(kind), kind, who)


def refuse_guesser(name: str) -> None:
    """Raise a 429 for who tries to log in too often under a name, or after too many failures
    of this address, or of all addresses at this name.

    Only failures count for the name, and many: nobody shuts its owner out by a few wrong words.
    """
    spend("log-in", f"{names.key(name)} from {address()}")
    for kind, who in _guesses(name):
        refuse_spent(kind, who)


def note_guess(name: str) -> None:
    """Count a failure to log in."""
    for kind, who in _guesses(name):
        note(kind, who)


def _guesses(name: str) -> list[tuple[str, str]]:
    return [("guesses-here", address()), ("guesses-at", names.key(name))]


def address() -> str:
    """Where a call comes from: an IPv4 address, or a home's network of IPv6."""
    return home(request.remote_addr or "")


def _is_at_home() -> bool:
    """Whether it is the demo's user, who would wait for nobody but themselves."""
    return "Authorization" not in request.headers and identity.principal().means == "demo"


def _who() -> str:
    user = identity.principal().user
    return f"user {user}" if user is not None else f"address {address()}"


def _item(kind: str) -> RateLimitItem:
    return LIMITS.get(kind) or current_app.extensions[_OF_APPS][kind]


def _limiter() -> MovingWindowRateLimiter:
    found = current_app.extensions[_EXTENSION]
    assert isinstance(found, MovingWindowRateLimiter)
    return found


def _too_many(kind: str, who: str) -> ProblemError:
    again_at = _limiter().get_window_stats(_item(kind), kind, who).reset_time
    wait = max(1, math.ceil(again_at - time.time()))
    problem = ProblemError(
        429,
        "too-many-requests",
        "Too many requests",
        f"at most {said(kind)} of this kind ({kind}); try again in {wait} s",
    )
    problem.headers["Retry-After"] = str(wait)
    return problem


class Turns:
    """Turns at one kind of work.

    Parameters
    ----------
    places:
        How much of it is done at once.
    busy:
        What is said to who has to come again.
    """

    def __init__(self, places: int, busy: str) -> None:
        self._free = threading.BoundedSemaphore(places)
        self._there: Counter[str] = Counter()
        self._busy = busy

    @contextmanager
    def turn(self, who: str, of_one: int, patience_s: float) -> Iterator[None]:
        """Wait for a turn and have it; take it before a connection to the database, so that
        nobody who waits keeps one from others.

        Raises a 503 where that takes more than `patience_s`, or where `who`, a person or an
        address, has or waits for `of_one` of them: others come in between.
        """
        if self._there[who] >= of_one:
            raise self._refused()
        self._there[who] += 1
        try:
            if not self._free.acquire(timeout=patience_s):
                raise self._refused()
            try:
                yield
            finally:
                self._free.release()
        finally:
            self._there[who] -= 1
            if not self._there[who]:
                del self._there[who]

    def _refused(self) -> ProblemError:
        problem = ProblemError(503, "busy", "Busy", self._busy)
        problem.headers["Retry-After"] = "60"
        return problem
