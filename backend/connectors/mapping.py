"""The format of mapping files, by which a city connects formats of its own."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from citywise.backend.errors import CitywiseError

MOST_BYTES = 1_000_000
Form = Literal["json", "csv", "xml"]
Scalar = str | int | float | bool
Several = Annotated[tuple[str, ...], Field(min_length=1, max_length=10, strict=False)]


class MappingError(CitywiseError):
    """A mapping file is at fault; says where, what was found, and what was expected."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Source(_Entry):
    """Where a value comes from, and what it means. As a text alone: the path."""

    path: str | Several | None = Field(default=None, alias="from")
    """JSONPath, XPath or a column; of several the values are joined by a blank."""
    value: Scalar | None = None
    """Fixed, instead of a path."""
    topic: str | None = None
    """A named part of the topic, instead of a path."""
    whole: bool = False
    """Look in the whole message, not in the thing."""
    unit: str | None = None
    """UCUM, a code of UN/CEFACT, or what people write; if left out the kind's own."""
    absent: tuple[Scalar, ...] = Field(default=(), strict=False)
    """Values that stand for none, e.g. -200."""
    values: dict[str, Scalar] = {}
    """Other values for some: `{ free = 0, taken = 1 }`."""
    comma: bool = False
    """Whether numbers have a decimal comma."""
    minus: str | None = None
    """A path to what is subtracted: occupied is all places minus the free ones."""

    @model_validator(mode="after")
    def _has_one_origin(self) -> Self:
        if sum(one is not None for one in (self.path, self.value, self.topic)) != 1:
            raise ValueError("give one of `from`, `value` and `topic`")
        return self


def _source(told: Any) -> Any:
    return {"from": told} if isinstance(told, str) else told


Origin = Annotated[Source, BeforeValidator(_source)]


class Time(Source):
    """Where a time comes from, and its form."""

    form: str = "iso"
    """`iso`, `epoch` (seconds or milliseconds), or as `strptime` has it: `%d/%m/%Y %H.%M`."""
    zone: str | None = None
    """Of times without one, e.g. `Europe/Copenhagen`."""

    @model_validator(mode="after")
    def _is_known(self) -> Self:
        if self.form not in ("iso", "epoch") and "%" not in self.form:
            raise ValueError(f"form: found {self.form!r}, expected iso, epoch or a form with %")
        if self.zone is not None:
            zone(self.zone)
        return self


When = Annotated[Time, BeforeValidator(_source)]


class Where(_Entry):
    """Where a thing is: two numbers, a geometry of GeoJSON, or `POINT (10 56)`."""

    lon: Origin | None = None
    lat: Origin | None = None
    geometry: Origin | None = None
    crs: str | None = None
    """Of coordinates that are not longitude and latitude, e.g. `EPSG:25832`."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.geometry is None) == (self.lon is None or self.lat is None):
            raise ValueError("give `lon` and `lat`, or `geometry`")
        return self


class Things(_Entry):
    each: str | None = None
    """Path to the things; if left out the message is one, a row of CSV is one."""


class ObservationMapping(Things):
    """Observations of one kind."""

    kind: str
    sensor: Origin
    time: When | None = None
    fields: dict[str, Origin] = Field(min_length=1)
    extra: dict[str, Origin] = {}


class PlaceMapping(Things):
    """Places that carry kinds."""

    id: Origin
    name: Origin | None = None
    sensors: tuple[str, ...] = Field(min_length=1, strict=False)
    """The kinds of observation that carry the place's id."""
    where: Where
    fields: dict[str, Origin] = {}


class EventMapping(Things):
    """Events."""

    id: Origin
    type: Origin
    level: Origin
    where: Where
    name: Origin | None = None
    start: When | None = None
    end: When | None = None


class Mapping(_Entry):
    """A mapping file."""

    connector: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,31}$")]
    """What the source is called."""
    title: str = ""
    format: Form
    topic: str | None = None
    """Of MQTT; `{name}` names a part: `sensors/{device}/up`."""
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    encoding: str = "utf-8"
    namespaces: dict[str, str] = {}
    """Prefixes that the XPaths use."""
    observation: tuple[ObservationMapping, ...] = Field(default=(), strict=False)
    place: tuple[PlaceMapping, ...] = Field(default=(), strict=False)
    event: tuple[EventMapping, ...] = Field(default=(), strict=False)

    @model_validator(mode="after")
    def _maps_something(self) -> Self:
        if not (self.observation or self.place or self.event):
            raise ValueError("write [[observation]], [[place]] or [[event]]")
        try:
            "".encode(self.encoding)
        except LookupError:
            raise ValueError(f"encoding: {self.encoding!r} is none that is known") from None
        return self


def zone(name: str) -> ZoneInfo:
    """A time zone by its name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"zone: found {name!r}, expected one like Europe/Copenhagen") from None


def load(path: Path) -> Mapping:
    """The mapping in a file; raises `MappingError`."""
    with path.open("rb") as file:
        return parse(file.read(MOST_BYTES + 1), str(path))


def parse(raw: bytes | str, where: str = "mapping") -> Mapping:
    """The mapping in a text; `where` is what messages say of it. Raises `MappingError`."""
    try:
        if len(raw) > MOST_BYTES:
            raise MappingError(f"{where}: has {len(raw)} bytes, expected a mapping file")
        told = tomllib.loads(raw if isinstance(raw, str) else raw.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MappingError(f"{where}: is no TOML: {error}") from error
    try:
        return Mapping.model_validate(told)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        raise MappingError(
            "\n".join(f"{where}: {_described_fault(fault)}" for fault in faults)
        ) from error


def _described_fault(fault: Any) -> str:
    where = ".".join(str(part) for part in fault["loc"]) or "the file"
    if fault["type"] == "missing":
        return f"`{where}` is missing"
    if fault["type"] == "extra_forbidden":
        return f"`{where}`: there is no such key; see docs/connectors.md"
    message = fault["msg"].removeprefix("Value error, ")
    return f"`{where}`: {message[:1].lower()}{message[1:]}"
