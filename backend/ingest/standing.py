"""What stands in a city until it is replaced or removed: open events, what users do and
prefer, and their template instances (see docs/mqtt.md and `backend.ingest.records.Standing`).

Places stand too; their payload is `backend.ingest.payloads.Place`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import orjson
from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, TypeAdapter, model_validator

from citywise.backend.ingest.payloads import Geometry, Line, Name, Payload, Place
from citywise.backend.kinds import IDENTIFIER, Identifier
from citywise.backend.people import consents

Context = consents.Subject
CONTEXT = consents.SUBJECTS
"""Subjects that a user's phone tells, with the user as key."""

PERSONAL = frozenset((*CONTEXT, "instance"))
"""Subjects whose bodies are about one user: in the log they are sealed with the user's key."""

MOST_BYTES = 1_000_000
"""Of one body, as JSON."""

Body = Mapping[str, Any]
_EVENT_KEY = r'^[^\x00-\x20\x7f"\\/+#]{1,160}$'
_TERM = r'^([A-Za-z][A-Za-z0-9_-]{0,63}|https?://[^\x00-\x20\x7f<>"{}|^`\\]{1,200})$'
_LARGEST = 2**31 - 1


def _term(given: str) -> str:
    if not re.fullmatch(_TERM, given):
        raise ValueError("expected a local name like `TrafficJam` or a full IRI")
    return given


def _preference(given: object) -> object:
    whole = isinstance(given, int) and not isinstance(given, bool) and abs(given) <= _LARGEST
    text = isinstance(given, str) and len(given) <= 200 and (given.isprintable() or not given)
    if not whole and not text:
        raise ValueError("expected an integer of 32 bits or a text of at most 200 characters")
    return given


Term = Annotated[str, AfterValidator(_term)]
"""A local name of one of our ontologies (`TrafficJam`), or a full IRI."""
PACK_NAME = r"^[a-z][a-z0-9_]{0,31}$"
PackName = Annotated[str, Field(pattern=PACK_NAME)]


class Entry(NamedTuple):
    """What is to stand from now on: a subject, which of them, and its body (None: removed)."""

    subject: str
    key: str
    body: Body | None


def owner(subject: str, key: str, body: Body | None) -> str | None:
    """The user whom a body is about; None where there is none, or it is about nobody."""
    if body is None or subject not in PERSONAL:
        return None
    return str(body["user"]) if subject == "instance" else key


class EventState(Payload):
    """An open event: what it is, how bad (1 to 5), where, and since when (Unix ms)."""

    type: Term
    level: int = Field(ge=1, le=5)
    geometry: Geometry
    start_ms: int = Field(ge=0, lt=1000 * (_LARGEST + 1))
    """Rules see it in seconds, which are 32 bits."""
    source: Identifier
    place_id: Identifier | None = None
    name: Name | None = None
    revision: int | None = Field(default=None, ge=1, le=_LARGEST)
    """How often readings of the past changed it; no fact for rules."""


class UserPosition(Payload):
    """Where a user is: WGS84, `heading` in degrees from north clockwise, `along_m` the
    metres along the route, where the phone knows them."""

    lat: float = Field(ge=-90, le=90)
    lon: float = Field(ge=-180, le=180)
    heading: float | None = Field(default=None, ge=0, le=360)
    along_m: float | None = Field(default=None, ge=0, le=50_000_000)


class UserRoute(Payload):
    """The way a user means to go: longitude and latitude of its points."""

    coordinates: Line


class UserActivity(Payload):
    """What a user does, e.g. `DrivingCar`."""

    activity: Term


Preferences = Annotated[
    dict[Identifier, Annotated[int | str, BeforeValidator(_preference)]], Field(max_length=100)
]
"""What a user wishes, by name: an integer or a short text."""


class ContextUpdate(Payload):
    """What is new about one user; what is null is removed, what is absent stays."""

    position: UserPosition | None = None
    route: UserRoute | None = None
    activity: Term | None = None
    preferences: Preferences | None = None

    @model_validator(mode="after")
    def _says_something(self) -> ContextUpdate:
        if not self.model_fields_set:
            raise ValueError(f"expected at least one of {', '.join(CONTEXT)}")
        return self

    def entries(self, user: str) -> list[Entry]:
        """What of this user is to stand from now on."""
        values = self.model_dump(mode="json", include=self.model_fields_set)
        if (activity := values.get("activity")) is not None:
            values["activity"] = {"activity": activity}
        return [Entry(subject, user, values[subject]) for subject in CONTEXT if subject in values]


def _bounded(values: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if not _finite(values):
        raise ValueError("a number is infinite or NaN")
    return values


def _finite(value: JsonValue) -> bool:
    match value:
        case dict():
            return all(map(_finite, value.values()))
        case list():
            return all(map(_finite, value))
        case float():
            return math.isfinite(value)
    return True


class InstanceState(Payload):
    """A template instance: of which version of which app's template, whose, and its values."""

    app: PackName
    template: PackName
    version: int = Field(ge=1, lt=2**31)
    user: Identifier
    values: Annotated[dict[PackName, JsonValue], Field(max_length=100), AfterValidator(_bounded)]


_BODIES: dict[str, TypeAdapter[Any]] = {
    "place": TypeAdapter(Place),
    "event": TypeAdapter(EventState),
    "position": TypeAdapter(UserPosition),
    "route": TypeAdapter(UserRoute),
    "activity": TypeAdapter(UserActivity),
    "preferences": TypeAdapter(Preferences),
    "instance": TypeAdapter(InstanceState),
}
SUBJECTS = tuple(_BODIES)
FIELDS = frozenset(
    name
    for model in (ContextUpdate, UserPosition, UserRoute, UserActivity, InstanceState)
    for name in model.model_fields
)
"""Names that a message about a person has of us; all others are what somebody wrote."""


def checked(subject: str, key: str, body: Body | None) -> Entry:
    """The entry with its body as it stands in the log, defaults filled in.

    Raises `ValueError` (pydantic's `ValidationError` too) that says what is wrong: an
    unknown subject, a key that cannot be, a body that does not fit or is larger than
    `MOST_BYTES`.
    """
    if subject not in _BODIES:
        raise ValueError(f"subject `{subject}`: expected one of {', '.join(_BODIES)}")
    if body is None:
        return Entry(subject, _key(subject, key), None)
    try:
        text = orjson.dumps(body)
    except orjson.JSONEncodeError as error:
        raise ValueError(f"{subject} `{key}`: no JSON: {error}") from error
    return _read(subject, key, text)


def event_entries(event: str, payload: bytes) -> list[Entry]:
    """What an MQTT message at `events/<id>` says: an open event, or if empty its end.

    Raises `ValueError` as `checked` does.
    """
    if not payload:
        return [Entry("event", _key("event", event), None)]
    return [_read("event", event, payload)]


def context_entries(user: str, payload: bytes) -> list[Entry]:
    """What an MQTT message at `context/<user>` says; an empty one forgets the user.

    Raises `ValueError` as `checked` does.
    """
    _key("user", user)
    if not payload:
        return [Entry(subject, user, None) for subject in CONTEXT]
    return ContextUpdate.model_validate_json(payload).entries(user)


def of_place(place: Place) -> Entry:
    """A place as it stands in the log."""
    return Entry("place", place.id, place.model_dump(mode="json"))


def _read(subject: str, key: str, text: bytes) -> Entry:
    if len(text) > MOST_BYTES:
        raise ValueError(f"{subject} `{key}`: {len(text)} bytes, at most {MOST_BYTES} are accepted")
    model = _BODIES[subject]
    return Entry(
        subject, _key(subject, key), model.dump_python(model.validate_json(text), mode="json")
    )


def _key(subject: str, key: str) -> str:
    if subject == "event":
        if not re.fullmatch(_EVENT_KEY, key):
            raise ValueError(
                f"event `{key}`: expected an id of 1 to 160 characters without blanks, quotes, "
                "slashes, + and #"
            )
    elif not re.fullmatch(IDENTIFIER, key):
        raise ValueError(
            f"{subject} `{key}`: expected 1 to 64 letters, digits and _ . : -, beginning with a "
            "letter or digit"
        )
    return key
