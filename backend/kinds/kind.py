"""What a kind is: fields with types, units and bounds, who carries it, how it is shown.

These classes are also the format of the files: pydantic reads them (`files.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic import Field as Key

from citywise.backend.kinds.data_model import DataModel
from citywise.backend.kinds.units import UnitError, convert
from citywise.reasoning import Iri
from citywise.reasoning.model.atoms import LARGEST, SMALLEST
from citywise.reasoning.rdf.mapping import XSD

CITY = "https://w3id.org/citywise/city#"
ROLE = "https://w3id.org/citywise/role#"
"""Of the properties by which rules read fields of any kind that fill a role."""
NAME = r"^[a-z][a-z0-9_]{0,31}$"
RESERVED = frozenset(("clock", "events", "lost", "places", "standing"))
"""Names of other things on topics, streams and in the log."""
RESERVED_FIELDS = frozenset(("kind", "observed_at", "sensor", "withdraw"))
RESERVED_OF_PLACES = frozenset(("geometry", "id", "kind", "name", "properties", "sensors"))
USUAL_STALE_S = 3600.0
PERIODS = 3
"""After so many usual periods without a reading a sensor is silent."""

Value = str | int | float | bool | None
"""Of a field; None: unknown."""
Type = Literal["integer", "decimal", "boolean", "text", "category"]
Name = Annotated[str, Key(pattern=NAME)]
Number = Annotated[int | float, Key(allow_inf_nan=False)]
LANGUAGE = r"^[a-z]{2,3}$"
Label = dict[Annotated[str, Key(pattern=LANGUAGE)], Annotated[str, Key(min_length=1)]]
"""By language (`en`, `da`)."""
Property = Annotated[str, Key(min_length=1, max_length=200)]
"""Of a feature of GeoJSON."""
MOST_LAYER_BYTES = 50_000_000
_OF_NUMBERS = ["unit", "range", "step", "jump", "apart", "accuracy", "accuracy_from", "was_unit"]
"""Keys of a field that only one of numbers has."""
StepName = Annotated[str, Key(min_length=1, max_length=40)]
_DATATYPES: Mapping[Type, str] = {
    "integer": "integer",
    "decimal": "decimal",
    "boolean": "boolean",
    "text": "string",
    "category": "string",
}


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Field(_Entry):
    """One field of an observation or of a place."""

    type: Type
    unit: str | None = Key(default=None, pattern=r"^[!-~]{1,32}$")
    """UCUM (`dB`, `ug/m3`)."""
    range: tuple[Number, Number] | None = Key(default=None, strict=False)
    """Least and greatest value, both included."""
    step: Number | None = Key(default=None, gt=0)
    """Resolution: values are rounded to it (half to even), rules see them times 1/step."""
    values: tuple[Annotated[str, Key(min_length=1, max_length=200)], ...] = Key(
        default=(), strict=False
    )
    """Of a category: all there are."""
    required: bool = False
    """Else an observation without it is taken, and the value is unknown."""
    role: Name | None = None
    """What apps ask for, whatever the kind is called (`road_speed`)."""
    rdf: str | None = Key(default=None, pattern=r"^https?://[^\s<>\"{}|\\^`]+$")
    label: Label = {}
    jump: Number | None = Key(default=None, gt=0)
    """More than this between two readings is implausible."""
    apart: Number | None = Key(default=None, gt=0)
    """More than this from the middle of the neighbours' readings is implausible."""
    accuracy: Number | None = Key(default=None, gt=0)
    """By how much a value may be off, either way."""
    accuracy_from: Name | None = None
    """The field that says it of each reading; where it is unknown `accuracy` counts."""
    was: Name | None = None
    """What it was called before: messages may still call it so, and what is kept goes with it."""
    was_unit: str | None = Key(default=None, pattern=r"^[!-~]{1,32}$")
    """The unit of then, if it was another."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        for key in _OF_NUMBERS:
            if not self.is_number and getattr(self, key) is not None:
                raise ValueError(f"{key}: a field of type {self.type} has none; remove it")
        if self.type == "category" and not self.values:
            raise ValueError('values: a category needs them; write `values = ["open", "closed"]`')
        if self.type != "category" and self.values:
            raise ValueError(
                f'values: a field of type {self.type} has none; write `type = "category"`'
            )
        if len(set(self.values)) < len(self.values):
            raise ValueError("values: one stands twice; remove it")
        low, high = self.bounds
        if low > high:
            raise ValueError(f"range: {low:g} is above {high:g}; exchange them")
        if self.type == "integer" and any(not isinstance(v, int) for v in self.range or ()):
            raise ValueError("range: of integers it is two whole numbers")
        self._fits()
        self._was_measured()
        return self

    def _was_measured(self) -> None:
        """See that what it was can become what it is."""
        if self.was_unit is None:
            return
        if self.was is None:
            raise ValueError('was_unit: of which field? Write `was = "its former name"` too')
        try:
            convert(Fraction(1), self.was_unit, self.unit or "1")
        except UnitError:
            unit = self.unit or "a mere number"
            raise ValueError(f"was_unit: {self.was_unit} cannot be converted to {unit}") from None

    @property
    def former_unit(self) -> str | None:
        """The unit under its former name."""
        return self.was_unit or self.unit

    def from_former(self, value: object) -> object:
        """A value that was told under its former name."""
        if self.former_unit == self.unit or isinstance(value, bool):
            return value
        if not isinstance(value, int | float) or not math.isfinite(value):
            return value
        found = convert(Fraction(value), self.former_unit or "1", self.unit or "1")
        return round(found) if self.type == "integer" else float(found)

    def _fits(self) -> None:
        """See that rules can hold the values: as integers of 32 bits."""
        step = self.step
        if self.type == "integer" and step is not None and step != int(step):
            raise ValueError(f'step: {step:g} is no whole number; write `type = "decimal"`')
        if step is not None and step < 1 and (1 / _exact(step)) % 1:
            raise ValueError(
                f"step: 1/{step:g} is no whole number; write 0.1, 0.01, 0.5 or another that is"
            )
        low, high = self.range or (0, 0)
        if low * self.scale < SMALLEST or high * self.scale > LARGEST:
            raise ValueError(
                f"range: rules see the values times {self.scale}, which must fit 32 bits "
                f"({SMALLEST} to {LARGEST}); narrow the range or widen the step"
            )

    @property
    def is_number(self) -> bool:
        """Whether values can be compared and computed with."""
        return self.type in ("integer", "decimal")

    @property
    def bounds(self) -> tuple[int | float, int | float]:
        """Least and greatest value: those of `range`, else what rules can hold."""
        return self.range or (-(LARGEST // self.scale), LARGEST // self.scale)

    @cached_property
    def scale(self) -> int:
        """What a value is multiplied with for rules: 1/step, if the step is below 1."""
        if self.step is None or self.step >= 1 or self.type != "decimal":
            return 1
        return int(1 / _exact(self.step))

    @property
    def datatype(self) -> str:
        """The IRI of the datatype of values in RDF."""
        return XSD + _DATATYPES[self.type]

    def rounded(self, value: float) -> float:
        """A value to the field's step, half to even; the same where there is no step."""
        if self.step is None:
            return value
        step = _exact(self.step)
        steps = (_exact(value) / step).quantize(Decimal(1), ROUND_HALF_EVEN)
        found = steps * step
        return int(found) if self.type == "integer" else float(found)


class MapLayer(_Entry):
    """How a kind is coloured on the map: by the highest step that the value reaches."""

    show: str
    steps: tuple[Annotated[tuple[Number, StepName], Key(strict=False)], ...] = Key(
        default=(), strict=False
    )

    @model_validator(mode="after")
    def _ascends(self) -> Self:
        values = [value for value, _name in self.steps]
        if values != sorted(set(values)):
            raise ValueError("steps: their values must ascend; sort them")
        return self


class Health(_Entry):
    """When a sensor that always says the same is called stuck, and how many are to be trusted."""

    stuck_readings: int = Key(default=12, ge=2)
    stuck_s: Number = Key(default=3600, gt=0)
    idle: str | None = None
    """A field that is 0 where there is nothing to measure: then the same is usual."""
    near_m: Number = Key(default=500, gt=0, le=50_000)
    """Up to so many metres away are the neighbours that `apart` compares with."""
    reliable_pct: int = Key(default=75, ge=0, le=100)
    """With fewer right readings of a hundred a sensor is often wrong."""


class Kept(_Entry):
    """For how many days readings are kept; None: as the settings say (`history`)."""

    readings: Number | None = Key(default=None, ge=0)
    """As they were measured; 0: not at all."""
    minutes: Number | None = Key(default=None, ge=0)
    """Roll-ups of five minutes."""
    hours: Number | None = Key(default=None, ge=0)
    days: Number | None = Key(default=None, ge=0)


class Kind(_Entry):
    """A kind of observation."""

    kind: Name
    places: tuple[Name, ...] = Key(default=(), strict=False)
    """Kinds of place that carry it."""
    label: Label = {}
    version: int = Key(default=1, ge=1)
    period_s: Number | None = Key(default=None, gt=0)
    """The usual seconds between two readings of a sensor."""
    stale_s: Number | None = Key(default=None, gt=0)
    """After so many seconds a reading says nothing of the present."""
    least: int | None = Key(default=None, ge=0)
    """How many fields must be known; if left out 1 where none is required."""
    fields: Annotated[dict[Name, Field], Key(min_length=1, max_length=100)]
    map: MapLayer | None = None
    health: Health = Health()
    history: Kept = Kept()
    public: bool = True
    """Whether its readings are shown to who is not logged in."""
    ngsi: DataModel | None = None
    """As what its readings are offered to context brokers besides."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.kind in RESERVED:
            raise ValueError(f"kind: `{self.kind}` means something else in Citywise; rename it")
        for name in sorted(RESERVED_FIELDS.intersection(self.fields)):
            raise ValueError(f"fields.{name}: observations have `{name}` already; rename the field")
        if self.least is not None and self.least > len(self.fields):
            raise ValueError(f"least: there are only {len(self.fields)} fields")
        named = {"map.show": self.map.show if self.map else None, "health.idle": self.health.idle}
        for key, field in named.items():
            if field is not None and field not in self.fields:
                known = ", ".join(self.fields)
                raise ValueError(f"{key}: there is no field `{field}`; there are {known}")
        for name, about in self.fields.items():
            if about.accuracy_from is not None:
                self._tells_accuracy(name, about.accuracy_from)
        for former, name in self.former.items():
            if former in (*self.fields, *RESERVED_FIELDS):
                raise ValueError(
                    f"fields.{name}.was: there is a field `{former}` now; remove `was`"
                )
        if len(self.former) < sum(field.was is not None for field in self.fields.values()):
            raise ValueError("fields: two were called the same before; remove one `was`")
        if self.map and self.map.steps and not self.fields[self.map.show].is_number:
            raise ValueError(f"map.steps: `{self.map.show}` is no number; remove the steps")
        if self.ngsi is not None:
            self._is_told_as(self.ngsi)
        iris = [self.rdf(f) for f in self.fields]
        if twice := [f for f in self.fields if iris.count(self.rdf(f)) > 1]:
            raise ValueError(f"fields.{twice[1]}.rdf: `{twice[0]}` has the same; change one")
        return self

    def _is_told_as(self, model: DataModel) -> None:
        """See that the attributes of a data model can be made of the fields."""
        if model.since is not None and self.period_s is None:
            raise ValueError("ngsi.since: how long is measured is unknown; add `period_s`")
        for name, source in model.sources.items():
            key = f"ngsi.attributes.{name}"
            for field in filter(None, (source.field, source.minus)):
                if field not in self.fields:
                    known = ", ".join(self.fields)
                    raise ValueError(f"{key}: there is no field `{field}`; there are {known}")
                is_plain = source.minus is None and source.unit is None
                if not is_plain and not self.fields[field].is_number:
                    raise ValueError(f'{key}: `{field}` is no number; write `{name} = "{field}"`')
            if source.unit is not None:
                unit = self.fields[source.field].unit
                try:
                    convert(Fraction(1), unit or "1", source.unit)
                except UnitError:
                    raise ValueError(
                        f"{key}.unit: {source.unit} is no unit that {unit or 'a mere number'}, "
                        f"that of `{source.field}`, can be converted to; write another"
                    ) from None

    def _tells_accuracy(self, name: str, other: str) -> None:
        """See that a field can say by how much another is off."""
        key = f"fields.{name}.accuracy_from"
        if other == name or other not in self.fields:
            known = ", ".join(field for field in self.fields if field != name) or "none"
            raise ValueError(f"{key}: there is no other field `{other}`; there are {known}")
        if not self.fields[other].is_number or self.fields[other].unit != self.fields[name].unit:
            unit = self.fields[name].unit or "without a unit"
            raise ValueError(f"{key}: `{other}` must be a number in the same unit ({unit})")

    @cached_property
    def apart(self) -> Mapping[str, float]:
        """The fields that neighbours are compared by, and how far they may differ."""
        return {n: field.apart for n, field in self.fields.items() if field.apart is not None}

    @cached_property
    def former(self) -> Mapping[str, str]:
        """What fields are called now, by their former names."""
        return {field.was: n for n, field in self.fields.items() if field.was is not None}

    def renamed(self, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """What is told by former names of fields, by their names, where these are not told."""
        found = told
        for former, name in self.former.items():
            if former in told and name not in told:
                found = {key: value for key, value in found.items() if key != former}
                found[name] = self.fields[name].from_former(told[former])
        return found

    @property
    def silent_s(self) -> float:
        """After how many seconds without a reading a sensor may be called silent."""
        return self.stale_s or PERIODS * (self.period_s or 0) or USUAL_STALE_S

    @property
    def needed(self) -> int:
        """How many fields must be known beside those that are required."""
        if self.least is not None:
            return self.least
        return 0 if any(field.required for field in self.fields.values()) else 1

    def rdf(self, field: str) -> str:
        """The IRI of a field's property."""
        return self.fields[field].rdf or f"{CITY}{self.kind}_{field}"

    @cached_property
    def properties(self) -> tuple[tuple[str, Iri, str], ...]:
        """Each field with its property and datatype in RDF."""
        return tuple((n, Iri(self.rdf(n)), field.datatype) for n, field in self.fields.items())

    @cached_property
    def by_role(self) -> tuple[tuple[str, Iri, str], ...]:
        """The first field of each role with the role's property and the field's datatype."""
        first = {role: names[0] for role, names in self.roles.items()}
        return tuple((n, Iri(ROLE + role), self.fields[n].datatype) for role, n in first.items())

    @property
    def read(self) -> tuple[tuple[str, Iri, str], ...]:
        """What rules of templates may read of the latest values: by property, and by role."""
        return (*self.properties, *self.by_role)

    def having(self, role: str) -> Iterator[str]:
        """The fields of a role."""
        return iter(self.roles.get(role, ()))

    @cached_property
    def roles(self) -> Mapping[str, tuple[str, ...]]:
        """The fields by the role that they fill."""
        roles = {field.role for field in self.fields.values() if field.role is not None}
        return {r: tuple(n for n, f in self.fields.items() if f.role == r) for r in roles}

    def called(self, language: str) -> str:
        """What people call it: its label in a language, in English, or its name."""
        return self.label.get(language) or self.label.get("en") or self.kind.replace("_", " ")


class LayerSource(_Entry):
    """How a file of GeoJSON becomes all places of a kind: from the city's folder `layers`, an
    address, or the operator's page."""

    address: str | None = Key(default=None, pattern=r"^https?://[^\s/?#]+\S*$")
    interval_s: Number = Key(default=86_400, ge=10, le=31_536_000)
    """How often the address is asked."""
    timeout_s: Number = Key(default=60, gt=0, le=600)
    max_bytes: int = Key(default=MOST_LAYER_BYTES, ge=1_000, le=MOST_LAYER_BYTES)
    id: str | None = Key(default=None, min_length=1, max_length=200)
    """The property with a feature's id; else its `id`."""
    name: str | dict[Annotated[str, Key(pattern=LANGUAGE)], Property] = "name"
    """The property with its name; or one for each language."""
    opening_hours: Property | None = None
    properties: dict[Name, Property] = {}
    """Of fields whose property is called otherwise."""
    color: str | None = Key(default=None, pattern=r"^#[0-9a-f]{6}$")
    """On the map."""


class PlaceKind(_Entry):
    """A kind of place."""

    place: Name
    geometry: Literal["point", "line", "area"]
    label: Label = {}
    version: int = Key(default=1, ge=1)
    fields: dict[Name, Field] = Key(default={}, max_length=100)
    """What such a place has beside what every place has."""
    layer: LayerSource | None = None
    """All such places come together, as one layer."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        for name in sorted(RESERVED_OF_PLACES.intersection(self.fields)):
            raise ValueError(f"fields.{name}: every place has `{name}`; rename the field")
        if named := [name for name, field in self.fields.items() if field.was is not None]:
            raise ValueError(f"fields.{named[0]}.was: places are told anew; remove it")
        for name in sorted((self.layer.properties if self.layer else {}).keys() - self.fields):
            raise ValueError(f"layer.properties.{name}: there is no field `{name}`; add it")
        return self

    @property
    def read(self) -> tuple[tuple[str, Iri, str], ...]:
        """What rules of templates may read of such a place."""
        return self.properties

    def rdf(self, field: str) -> str:
        """The IRI of a field's property."""
        return self.fields[field].rdf or f"{CITY}{self.place}_{field}"

    @cached_property
    def properties(self) -> tuple[tuple[str, Iri, str], ...]:
        """Each field with its property and datatype in RDF."""
        return tuple((n, Iri(self.rdf(n)), field.datatype) for n, field in self.fields.items())

    def called(self, language: str) -> str:
        """What people call it: its label in a language, in English, or its name."""
        return self.label.get(language) or self.label.get("en") or self.place.replace("_", " ")


def _exact(value: float) -> Decimal:
    """The decimal that was written, not the binary fraction next to it."""
    return Decimal(str(value))
