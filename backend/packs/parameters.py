"""The types of template parameters: what their values may be, and which facts these give."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import Field, JsonValue, field_validator, model_validator

from citywise.backend.city.observations import PLACE
from citywise.backend.kinds import IDENTIFIER, Kinds, builtin
from citywise.backend.kinds.kind import NAME
from citywise.backend.packs import patterns, shapes, spans
from citywise.backend.packs.numbers import NumberParameter
from citywise.backend.packs.ontology import local_name, reads_as
from citywise.backend.packs.parameter import Argument, Parameter
from citywise.backend.packs.values import BadValueError, one_of, show
from citywise.reasoning import Iri, ItemError
from citywise.reasoning.model import atoms

KindName = Annotated[str, Field(pattern=NAME)]


class ChoiceParameter(Parameter):
    """One of some words; the fact holds it as a string."""

    type: Literal["choice"]
    choices: tuple[str, ...] = Field(min_length=1, strict=False)

    def one(self, value: JsonValue, path: str) -> JsonValue:
        if value not in self.choices:
            raise BadValueError(path, show(value), one_of(self.choices), "choose one of them")
        return value

    def arguments(self, value: Any) -> tuple[Argument, ...]:
        return (value,)

    def item_schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.choices)}


class PlaceParameter(Parameter):
    """A place of the city by its id; the fact holds its IRI.

    It is of one `kind` if that is given, or of any kind that carries readings with one of some
    `roles` (docs/kinds.md#roles), whatever it is called.
    """

    type: Literal["place"]
    kind: KindName | None = None
    roles: tuple[KindName, ...] = Field(default=(), strict=False)

    @model_validator(mode="after")
    def _says_one(self) -> Self:
        if self.kind is not None and self.roles:
            raise ValueError("`kind` and `roles` both say which places are meant; remove one")
        return self

    @property
    def wanted(self) -> str:
        """Which places are meant, in words."""
        if self.roles:
            return f"place with readings of {' or '.join(self.roles)}"
        return (self.kind or "place").replace("_", " ")

    def takes(self, kind: str, kinds: Kinds) -> bool:
        """Whether a place of a kind is meant."""
        if self.roles:
            return any(kind in kinds[name].places for name in kinds.filling(self.roles))
        return self.kind in (None, kind)

    def one(self, value: JsonValue, path: str) -> JsonValue:
        return _identifier(value, path, f"the id of a {self.wanted}")

    def arguments(self, value: Any) -> tuple[Argument, ...]:
        return (Iri(PLACE + value),)

    def item_schema(self) -> dict[str, Any]:
        meant = {"x-place-kind": self.kind, "x-place-roles": list(self.roles)}
        told = {name: value for name, value in meant.items() if value}
        return {"type": "string", "pattern": IDENTIFIER, **told}


ANY_PLACE = PlaceParameter(type="place", title="Place")
"""For where a place is named without saying which are meant."""


class SensorParameter(Parameter):
    """A sensor: the place it watches and the kind of its observations.

    The value is `{"place": id, "observes": kind}`, or the place's id alone where the
    manifest fixes `observes`. The fact has two arguments: the place's IRI, the kind.
    Loading a pack fills `kinds` with all that there are.
    """

    type: Literal["sensor"]
    observes: KindName | None = None
    kinds: tuple[str, ...] = Field(default=(), strict=False)
    arity: ClassVar[int] = 2

    def one(self, value: JsonValue, path: str) -> JsonValue:
        if isinstance(value, str) and self.observes:
            value = {"place": value, "observes": self.observes}
        if not isinstance(value, dict) or set(value) != {"place", "observes"}:
            kind = self.observes or next(iter(self._kinds), "noise")
            expected = f'an object like {{"place": "158324", "observes": "{kind}"}}'
            raise BadValueError(path, show(value), expected, "give both keys and no others")
        kinds = self._kinds
        if value["observes"] not in kinds:
            raise BadValueError(
                f"{path}.observes", show(value["observes"]), one_of(kinds), "choose one of them"
            )
        _identifier(value["place"], f"{path}.place", "the id of a place")
        return {"place": value["place"], "observes": value["observes"]}

    @property
    def _kinds(self) -> tuple[str, ...]:
        """What a value may name; of versions from before kinds were files all that come along."""
        return (self.observes,) if self.observes else self.kinds or tuple(builtin())

    def arguments(self, value: Any) -> tuple[Argument, ...]:
        return Iri(PLACE + value["place"]), value["observes"]

    def item_schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {
                "place": {"type": "string", "pattern": IDENTIFIER},
                "observes": {"type": "string", "enum": list(self._kinds)},
            },
            "required": ["place", "observes"],
            "additionalProperties": False,
        }


class RouteParameter(Parameter):
    """A way through the city: `"mine"`, the route the user is on, or `{"coordinates": […]}`.

    Coordinates are longitude and latitude, as in GeoJSON, in the direction of travel; they
    then are the instance's route for the facts of space. The fact holds "mine" or "own".
    """

    type: Literal["route"]

    def one(self, value: JsonValue, path: str) -> JsonValue:
        return value if value == "mine" else shapes.line(value, path)

    def arguments(self, value: Any) -> tuple[Argument, ...]:
        return ("mine" if value == "mine" else "own",)

    def item_schema(self) -> dict[str, Any]:
        return {"anyOf": [{"const": "mine"}, shapes.LINE_SCHEMA]}


class AreaParameter(Parameter):
    """A circle `{"center": {"lat", "lon"}, "radius_m"}` or a GeoJSON Polygon.

    It gives no fact of its own, but `inside(Me,X,"name")` and `i_am_inside(Me,"name")`.
    """

    type: Literal["area"]
    arity: ClassVar[int] = 0

    def one(self, value: JsonValue, path: str) -> JsonValue:
        return shapes.area(value, path)

    def arguments(self, _value: Any) -> tuple[Argument, ...]:
        return ()

    def item_schema(self) -> dict[str, Any]:
        return shapes.AREA_SCHEMA


class DurationParameter(Parameter):
    """A length of time, `"15m"`, `"1h30m"` or ISO 8601 `"PT15M"`; the fact holds seconds."""

    type: Literal["duration"]
    max: str | None = None
    """The longest it may be."""

    @field_validator("max")
    @classmethod
    def _is_duration(cls, value: str | None) -> str | None:
        try:
            return value and spans.duration(value, "max")
        except BadValueError as fault:
            raise ValueError(f"found {fault.found}, expected {fault.expected}") from None

    def one(self, value: JsonValue, path: str) -> JsonValue:
        found = spans.duration(value, path)
        if self.max and spans.seconds(found) > spans.seconds(self.max):
            raise BadValueError(path, show(value), f"at most {self.max}", "shorten it")
        return found

    def arguments(self, value: Any) -> tuple[Argument, ...]:
        return (spans.seconds(value),)

    def item_schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": spans.DURATION_PATTERN}


class TimeOfDayParameter(Parameter):
    """A local time of day, `"07:30"`; the fact holds minutes since midnight."""

    type: Literal["time_of_day"]

    def one(self, value: JsonValue, path: str) -> JsonValue:
        return spans.time_of_day(value, path)

    def arguments(self, value: Any) -> tuple[Argument, ...]:
        return (spans.minutes(value),)

    def item_schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^{spans.TIME_PATTERN}$"}


class TimeSpanParameter(Parameter):
    """Local times from … to, `"07:00-09:30"`, also over midnight.

    The fact holds both as minutes since midnight; `during(Me,"name")` says that it is now.
    """

    type: Literal["time_span"]
    arity: ClassVar[int] = 2

    def one(self, value: JsonValue, path: str) -> JsonValue:
        return spans.time_span(value, path)

    def arguments(self, value: Any) -> tuple[Argument, ...]:
        return spans.span_minutes(value)

    def item_schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^{spans.TIME_PATTERN}-{spans.TIME_PATTERN}$"}


class UserParameter(Parameter):
    """Another user, by id; the fact holds the id as a string."""

    type: Literal["user"]

    def one(self, value: JsonValue, path: str) -> JsonValue:
        return _identifier(value, path, "the id of a user")

    def arguments(self, value: Any) -> tuple[Argument, ...]:
        return (value,)

    def item_schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": IDENTIFIER}


class ClassParameter(Parameter):
    """A class of the ontologies: `of` or one below it; the fact holds its IRI.

    A value is an IRI or a name such as `ev:TrafficJam` or `TrafficJam`. `choices` restricts
    the classes; loading a pack replaces `of`, `choices` and `default` by IRIs and fills
    `choices` with all classes there are.
    """

    type: Literal["class"]
    of: str
    choices: tuple[str, ...] = Field(default=(), strict=False)

    def one(self, value: JsonValue, path: str) -> JsonValue:
        fitting = [iri for iri in self.choices if isinstance(value, str) and reads_as(value, iri)]
        if len(fitting) != 1:
            known = [local_name(iri) for iri in self.choices]
            raise BadValueError(
                path, show(value), f"a class: {one_of(known)}", "choose one, or give its IRI"
            )
        return fitting[0]

    def arguments(self, value: Any) -> tuple[Argument, ...]:
        return (Iri(value),)

    def item_schema(self) -> dict[str, Any]:
        return {"oneOf": [{"const": iri, "title": local_name(iri)} for iri in self.choices]}


class TextParameter(Parameter):
    """Text of at most `max_length` characters that fits `pattern` as a whole, if given."""

    type: Literal["text"]
    pattern: str | None = None
    max_length: int = Field(default=200, ge=1, le=10_000)

    @model_validator(mode="after")
    def _is_pattern(self) -> Self:
        if self.pattern is not None:
            patterns.matcher(self.pattern, self.max_length)
        return self

    def one(self, value: JsonValue, path: str) -> JsonValue:
        expected = f"text of at most {self.max_length} characters"
        if not isinstance(value, str):
            raise BadValueError(path, show(value), expected, "write it in quotes")
        if len(value) > self.max_length:
            raise BadValueError(path, f"{len(value)} characters", expected, "shorten it")
        if self.pattern is not None and not patterns.fits(self.pattern, self.max_length, value):
            expected = f"text that fits `{self.pattern}`"
            raise BadValueError(path, show(value), expected, "write it so")
        try:
            atoms.refuse_characters(value)
        except ItemError:
            raise BadValueError(path, show(value), expected, "remove what is no text") from None
        return value

    def arguments(self, value: Any) -> tuple[Argument, ...]:
        return (value,)

    def item_schema(self) -> dict[str, Any]:
        pattern = {"pattern": f"^(?:{self.pattern})$"} if self.pattern is not None else {}
        return {"type": "string", "maxLength": self.max_length, **pattern}


AnyParameter = Annotated[
    NumberParameter
    | ChoiceParameter
    | PlaceParameter
    | SensorParameter
    | RouteParameter
    | AreaParameter
    | DurationParameter
    | TimeOfDayParameter
    | TimeSpanParameter
    | UserParameter
    | ClassParameter
    | TextParameter,
    Field(discriminator="type"),
]

TYPES: dict[str, type[Parameter]] = {
    get_args(kind.model_fields["type"].annotation)[0]: kind
    for kind in get_args(get_args(AnyParameter)[0])
}
"""The types by the names that manifests give them."""


def _identifier(value: JsonValue, path: str, expected: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(IDENTIFIER, value):
        fix = "ids hold letters, digits and . : _ -, at most 64 of them"
        raise BadValueError(path, show(value), expected, fix)
    return value
