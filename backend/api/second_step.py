"""The second step of a log-in, and of what changes how one logs in: a code, or a passkey."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from pydantic import Field, JsonValue
from sqlalchemy import Connection

from citywise.backend.api import identity, limits, me
from citywise.backend.api.instance_bodies import StrictBody
from citywise.backend.api.problems import ProblemError, fault, invalid
from citywise.backend.api.state import state
from citywise.backend.people import accounts, passkeys, two_factor
from citywise.backend.people.errors import PeopleError
from citywise.backend.people.passkeys import Challenges, Party

Found = TypeVar("Found")
CHALLENGES = Challenges()
_JUDGING: WeakValueDictionary[str, Lock] = WeakValueDictionary()


class Proof(StrictBody):
    """A second step: a code of the authenticator app, a recovery code, or what a passkey
    signed."""

    code: str | None = Field(default=None, max_length=100)
    passkey: dict[str, JsonValue] | None = None

    @property
    def is_given(self) -> bool:
        """Whether there is one at all."""
        return self.code is not None or self.passkey is not None


class Sure(Proof):
    """That it is the account's person: the password, and the second step of who has one."""

    password: str = Field(max_length=1000)


def party() -> Party:
    """For whom passkeys sign here; raises a 409 `no-passkeys`."""
    found = _party()
    if found is None:
        detail = (
            "browsers have passkeys only for a name with HTTPS, or localhost; open the pages by "
            "such a name, or set web.public_url"
        )
        raise ProblemError(409, "no-passkeys", "No passkeys", detail)
    return found


def _party() -> Party | None:
    return Party.of(state().origin())


def question(connection: Connection, user: str) -> dict[str, Any] | None:
    """What a browser is asked for an account's second step; None where it has no passkey, or
    none can be used here."""
    at = _party()
    if at is None or not passkeys.of(connection, user):
        return None
    return passkeys.question_to(connection, user, at, CHALLENGES.new(_second(user)))


@contextmanager
def judging(user: str, given: Proof) -> Iterator[None]:
    """A block in which a second step of an account is judged, and counted if it is wrong. Raises
    a 429 after too many wrong ones, wherever they come from.

    One block of an account follows the other: else many codes at once would all be tried before
    the first is counted. It is no transaction's lock, as nothing is counted within one.
    """
    with _JUDGING.setdefault(user, Lock()):
        if given.is_given:
            limits.refuse_spent("codes", user)
        yield


def is_right(connection: Connection, user: str, given: Proof) -> bool:
    """Whether a second step is right, which uses it up; in a block of `judging`."""
    if given.passkey is None:
        return given.code is not None and two_factor.is_right(connection, user, given.code)
    try:
        challenge = passkeys.challenge_of(given.passkey)
    except PeopleError:
        return False
    if not CHALLENGES.take(challenge, _second(user)):
        return False
    return passkeys.is_right(connection, user, given.passkey, party(), challenge)


def refused(user: str, given: Proof, asked: dict[str, Any] | None) -> ProblemError:
    """The problem for who knows the password but has not taken the second step; a wrong one
    counts. Call it after the transaction, in the block of `judging`; `asked` is what their
    passkeys may answer."""
    if not given.is_given:
        detail = "send `code` too: of the authenticator app, or a recovery code"
        if asked is None:
            return ProblemError(401, "second-step", "Second step", detail)
        detail = f"{detail}; or, as `passkey`, the answer to what is asked here"
        return ProblemError(401, "second-step", "Second step", detail, passkey=asked)
    limits.note("codes", user)
    if given.passkey is not None:
        detail = "no passkey of this account has signed what was asked last; ask anew"
        return ProblemError(401, "wrong-passkey", "Wrong passkey", detail)
    detail = "the code is wrong, over or used; wait for the next one"
    return ProblemError(401, "wrong-code", "Wrong code", detail)


def shown(given: Proof, act: Callable[[Connection], Found]) -> Found:
    """What `act` does in a transaction in which the asker's second step is right; a problem
    where it is not, or the account has none."""
    user = identity.own_id()
    with judging(user, given):
        with state().engine.begin() as connection:
            proven = is_right(connection, user, given)
            found = act(connection) if proven else None
        if not proven:
            raise wrong(user, given)
    return found  # type: ignore[return-value]


def wrong(user: str, given: Proof) -> ProblemError:
    """The problem for a second step of who is logged in that is not right; a wrong one counts."""
    if given.is_given:
        limits.note("codes", user)
    if given.passkey is not None:
        message = "no passkey of yours has signed what was asked last; try again"
        return invalid([fault("passkey", message, "wrong-passkey")])
    return invalid([fault("code", "the code is wrong, over or used; try the next", "wrong-code")])


def prove(given: Sure) -> None:
    """A problem unless it is the account's person who asks."""
    user = identity.own_id()
    me.prove(given.password, "password")
    with state().engine.connect() as connection:
        has_two = accounts.known(connection, user).has_two_factor
    if has_two:
        shown(given, lambda _connection: None)


def _second(user: str) -> str:
    """The purpose of challenges for an account's second step."""
    return f"second/{user}"
