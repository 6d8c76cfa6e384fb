"""An observation of any kind: from JSON to values of the types that its kind names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, NotRequired

import orjson
from pydantic import (
    AfterValidator,
    AwareDatetime,
    ConfigDict,
    FailFast,
    StringConstraints,
    TypeAdapter,
    with_config,
)
from pydantic import Field as Key
from typing_extensions import TypedDict

from citywise.backend.kinds.kind import Field, Kind, PlaceKind, Value
from citywise.backend.times import iso, to_ms

IDENTITY = ("sensor", "observed_at")
"""The fields of an observation that say which it is."""
WITHDRAW = "withdraw"
"""The field by which a message takes a reading back; no kind has it."""
IDENTIFIER = r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$"
Identifier = Annotated[str, Key(pattern=IDENTIFIER)]
_TEXT = StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f\x7f]*$")


_STRICT = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)
COMMON = frozenset(("length_m", "free_flow_kmh", "capacity", "opening_hours", "price"))
"""Fields that every place may have (`backend.ingest.payloads.Place`)."""


def _in_utc(time: datetime) -> datetime:
    """The time in UTC; only years in which a city can have been measured."""
    if 1970 <= time.year < 2100 and 1970 <= (found := time.astimezone(UTC)).year < 2100:
        return found
    raise ValueError("the year must be between 1970 and 2099")


UtcTime = Annotated[AwareDatetime, AfterValidator(_in_utc)]


@dataclass(slots=True)
class Observation:
    """One reading of one sensor; a sensor and an instant identify it within its kind."""

    sensor: str
    observed_at: datetime
    values: dict[str, Value]
    """Every field of its kind, None where it is unknown."""
    extra: dict[str, Any]
    """What the message had besides: raw, for the operator, not for rules."""
    withdrawn: bool = False
    """Whether the sensor takes the reading back; then there are no values."""

    @property
    def observed_ms(self) -> int:
        """Time of the reading in Unix milliseconds."""
        return to_ms(self.observed_at)

    def to_json(self) -> dict[str, Any]:
        """As it travels (docs/mqtt.md)."""
        observed_at = iso(self.observed_ms)
        if self.withdrawn:
            return {"sensor": self.sensor, "observed_at": observed_at, WITHDRAW: True}
        return {"sensor": self.sensor, "observed_at": observed_at, **self.values, **self.extra}


class Reader:
    """Reads observations of one kind; raises pydantic's `ValidationError`.

    Numbers, texts and booleans are never taken for each other. Decimals and integers are
    rounded to the field's step.
    """

    def __init__(self, kind: Kind) -> None:
        self._kind, self._names = kind, tuple(kind.fields)
        self._former = tuple(f'"{name}"'.encode() for name in kind.former)
        form = _form(kind)
        self._one: TypeAdapter[dict[str, Any]] = TypeAdapter(form)
        # Stops at the first fault: of a batch with one, each observation is read by itself.
        some: Any = Annotated[list[form], FailFast()]  # type: ignore[valid-type]
        self._some: TypeAdapter[list[dict[str, Any]]] = TypeAdapter(some)

    def one(self, payload: bytes) -> Observation:
        """The observation in a JSON object."""
        if _WITHDRAW in payload and _withdraws(payload):
            found = _WITHDRAWAL.validate_json(payload)
            return Observation(found["sensor"], found["observed_at"], {}, {}, withdrawn=True)
        if self._is_former(payload) and isinstance(told := _decoded(payload), dict):
            payload = orjson.dumps(self._kind.renamed(told))
        return self._observation(self._one.validate_json(payload))

    def several(self, payload: bytes) -> list[Observation]:
        """The observations in a JSON array."""
        is_unusual = _WITHDRAW in payload or self._is_former(payload)
        if is_unusual and isinstance(found := _decoded(payload), list):
            return [self.of(one) for one in found]
        return [self._observation(found) for found in self._some.validate_json(payload)]

    def of(self, value: Mapping[str, Any]) -> Observation:
        """The observation that a JSON object is, already decoded."""
        return self.one(orjson.dumps(value))

    def _is_former(self, payload: bytes) -> bool:
        """Whether a message may call a field as it was called before."""
        return any(name in payload for name in self._former)

    def _observation(self, found: dict[str, Any]) -> Observation:
        sensor, observed_at = found.pop("sensor"), found.pop("observed_at")
        values = {name: found.pop(name, None) for name in self._names}
        return Observation(sensor, observed_at, values, found)


def of_field(field: Field) -> Any:
    """The type of a field's values, as pydantic understands it, with its bounds."""
    match field.type:
        case "boolean":
            return bool
        case "text":
            return Annotated[str, _TEXT]
        case "category":
            return Literal[field.values]
    low, high = field.bounds
    within = Key(ge=low, le=high)
    bounded = Annotated[int, within] if field.type == "integer" else Annotated[float, within]
    return bounded if field.step is None else Annotated[bounded, AfterValidator(field.rounded)]


def place_fields(kind: PlaceKind, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a place has because of its kind; raises pydantic's `ValidationError`.

    Those of `given` are all that its message has beside what every place has.
    """
    own = {name: value for name, value in given.items() if name in kind.fields}
    needed = {n for n, field in kind.fields.items() if field.required and n not in COMMON}
    if not own and not needed:
        return {}
    fields = {n: field for n, field in kind.fields.items() if n in own or n in needed}
    form = TypedDict(kind.place, _types(fields))  # type: ignore[misc]
    read: Any = with_config(_STRICT)(form)
    found: dict[str, Any] = TypeAdapter(read).validate_json(orjson.dumps(own))
    return found


def _types(fields: Mapping[str, Field]) -> dict[str, Any]:
    types: dict[str, Any] = {}
    for name, field in fields.items():
        known = of_field(field)
        types[name] = known if field.required else NotRequired[known | None]
    return types


_WITHDRAW = f'"{WITHDRAW}"'.encode()


@with_config(ConfigDict(extra="forbid", strict=True))
class _Withdrawal(TypedDict):
    sensor: Identifier
    observed_at: UtcTime
    withdraw: Literal[True]


_WITHDRAWAL = TypeAdapter(_Withdrawal)


def _withdraws(payload: bytes) -> bool:
    found = _decoded(payload)
    return isinstance(found, dict) and WITHDRAW in found


def _decoded(payload: bytes) -> object:
    """What JSON says; None where it is none, which whoever reads it says."""
    try:
        return orjson.loads(payload)
    except orjson.JSONDecodeError:
        return None


def _form(kind: Kind) -> Any:
    types = {"sensor": Identifier, "observed_at": UtcTime, **_types(kind.fields)}
    form = TypedDict(kind.kind, types)  # type: ignore[misc]
    read = with_config(_STRICT)(form)
    return Annotated[read, AfterValidator(_telling(kind))] if kind.needed else read


def _telling(kind: Kind) -> Callable[[dict[str, Any]], dict[str, Any]]:
    names = tuple(kind.fields)

    def tells(found: dict[str, Any]) -> dict[str, Any]:
        known = sum(found.get(name) is not None for name in names)
        if known < kind.needed:
            which = ", ".join(f"`{name}`" for name in names)
            few = "none" if known == 0 else f"only {known}"
            raise ValueError(f"{few} of {which} is given")
        return found

    return tells
