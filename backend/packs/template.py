"""One version of a template: its rules, its parameters, and what it takes to evaluate them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from citywise.backend.city.observations import scaled
from citywise.backend.kinds import Kind, Kinds, PlaceKind, builtin
from citywise.backend.packs.guesses import did_you_mean
from citywise.backend.packs.numbers import NumberParameter
from citywise.backend.packs.ontology import city
from citywise.backend.packs.parameter import Term
from citywise.backend.packs.parameters import (
    ANY_PLACE,
    AnyParameter,
    AreaParameter,
    ClassParameter,
    DurationParameter,
    PlaceParameter,
    RouteParameter,
    SensorParameter,
    TimeSpanParameter,
)
from citywise.backend.packs.spans import span_minutes
from citywise.backend.packs.values import BadValueError, BadValuesError, show
from citywise.backend.packs.vocabulary import PREDICATES, Supplied, supplied_properties
from citywise.reasoning import Request, Signature
from citywise.reasoning.asp import Constants, body_atoms
from citywise.reasoning.languages.casp import Reading, read
from citywise.reasoning.rdf.mapping import Mapper, quote

RADIUS = frozenset(name for name, supplied in PREDICATES.items() if supplied.radius)
"""Predicates whose third argument is a radius in metres."""
Values = Mapping[str, JsonValue]
"""Values of an instance by the names of the parameters."""


class NoticeText(BaseModel):
    """What people read of a kind of notice; `{name}` stands for a detail, `{about}` for the
    name of what it is about; `[…]` is left out where a detail in it is not known."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    title: str = Field(min_length=1)
    text: str = ""
    by: Literal["rules", "code"] = Field(default="rules", exclude=True)
    """Who tells it: the rules of the app's templates, or its own Python."""


RECIPIENT = r"^([a-z][a-z0-9_]{0,31})(?: of \{([a-z][a-z0-9_]*)\})?$"
"""`janitor`, or `janitor of {school}`."""


Missed = Literal["late", "skip"]


def recipient_of(told: str) -> tuple[str, str | None]:
    """The role of a recipient, and the parameter of the place at which somebody has it."""
    found = re.fullmatch(RECIPIENT, told)
    assert found is not None, told
    return found[1], found[2]


class Switch(BaseModel):
    """An alert that people turn on with one switch: the template with these values, defaults
    for the rest, and at most one value that they are asked for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = Field(min_length=1)
    help: str = ""
    values: dict[str, JsonValue] = {}
    asks: str | None = None
    """The parameter whose value people give; an area is asked for as a place they live near."""


class TemplateVersion(BaseModel):
    """A template of an app at one version, complete in itself.

    It is stored as JSON with the instances that use it and sent to workers, so that an
    instance keeps its rules until it is migrated, whatever becomes of the app's folder.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    app: str
    name: str
    version: int
    title: str
    help: str = ""
    rules: str
    """The text of the `.casp` file."""
    file: str = "<template>"
    """Where the rules stood, for messages: `jam_watch/templates/jam_ahead.casp`."""
    knowledge: tuple[str, ...] = ()
    """Facts of the knowledge bases that the rules name, as ASP terms by their prefixes."""
    supplied: tuple[Signature, ...] = ()
    """Predicates of these facts."""
    parameters: dict[str, AnyParameter] = {}
    switch: Switch | None = None
    recipient: str | None = None
    """Who gets an instance by a duty (`backend.packs.duties`)."""
    missed: Missed = "late"
    """Whether it tells late of what came while the system was away, or skips what is over."""
    notices: dict[str, NoticeText] = {}
    """The kinds of notices of the app."""
    permissions: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    observes: tuple[Kind, ...] | None = None
    """The kinds of observations among its streams, or that fill its roles; of versions from before
    they were files None: then those that come along."""
    place_kinds: tuple[PlaceKind, ...] = ()
    """The kinds of place of its parameters: rules may read their fields."""
    superclasses: dict[str, tuple[str, ...]] = {}
    """Of each class of the app's own ontology: itself and all classes above it, as IRIs."""
    strings: dict[str, dict[str, str]] = {}
    """Translations by language and dotted path, as in `strings/da.json`."""

    # -- identity -------------------------------------------------------------------

    @property
    def request_name(self) -> str:
        """`app/template@version`, under which its rows and traces stand."""
        return f"{self.app}/{self.name}@{self.version}"

    @cached_property
    def kinds(self) -> Kinds:
        """The kinds of observations on its streams, and of places of its parameters."""
        if self.observes is None:
            return builtin().only(self.streams)
        return Kinds(self.observes, self.place_kinds)

    @property
    def told(self) -> Mapping[str, Supplied]:
        """The properties that its rules are told, by IRI."""
        return supplied_properties(self.kinds, self.roles)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what decides its answers: rules, knowledge, parameters, what it sees.

        Titles, help, texts and translations are left out: they may change any time.
        """
        parameters = {name: _decisive(parameter) for name, parameter in self.parameters.items()}
        decides = (
            self.rules,
            self.knowledge,
            self.superclasses,
            parameters,
            sorted(self.permissions),
            sorted(self.streams),
            *([sorted(self.roles)] if self.roles else ()),
            *([scales] if (scales := self._scales()) else ()),
            *([self.missed] if self.missed != "late" else ()),
        )
        return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()

    def _scales(self) -> dict[str, int]:
        """What rules see of decimals that have a step: properties and scales. Kinds that are asked
        for by role come and go, and the rules stay what they are."""
        named: tuple[Kind | PlaceKind, ...] = (
            *self.kinds.only(self.streams).values(),
            *self.kinds.places.values(),
        )
        return {
            iri.value: kind.fields[name].scale
            for kind in named
            for name, iri, _datatype in kind.properties
            if kind.fields[name].scale > 1
        }

    def to_json(self) -> dict[str, Any]:
        """The whole version as JSON."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Self:
        """A version from what `to_json` gave."""
        return cls.model_validate_json(json.dumps(body))

    # -- rules ----------------------------------------------------------------------

    @cached_property
    def reading(self) -> Reading:
        """The rules, read; their knowledge bases are in `knowledge`, not to be read again."""
        found = read(self.rules, name=self.name, file=self.file, folder=Path(), clocked=True)
        return replace(found, request=scaled(found.request, self.kinds))

    @property
    def request(self) -> Request:
        """The request that the rules are."""
        return self.reading.request

    @cached_property
    def constants(self) -> Constants:
        """What the constant terms of the rules come to."""
        return Constants(self.reading.rules)

    @cached_property
    def radii(self) -> frozenset[int]:
        """The radii in metres that stand in the rules: for which near things are wanted."""
        found = {
            self.constants.number(symbol.many("arguments")[2])
            for rule in self.reading.rules
            for atom in body_atoms(rule)
            if (symbol := atom.one("symbol")).name in RADIUS and len(symbol.many("arguments")) > 2
        }
        return frozenset(number for number in found if number is not None)

    def above(self, iri: str) -> frozenset[str]:
        """A class and all classes above it, by our ontologies and the app's own."""
        own = self.superclasses.get(iri)
        return frozenset(own) if own else city().superclasses(iri)

    @cached_property
    def term(self) -> Term:
        """From an IRI to its ASP term by the prefixes of these rules."""
        mapper = Mapper(self.request)
        return lambda iri: quote(mapper.name(iri))

    # -- values ---------------------------------------------------------------------

    def bind(self, values: Values) -> dict[str, JsonValue]:
        """The values in canonical form with defaults filled in.

        Raises `BadValuesError` with all that is wrong. Null counts as not given.
        """
        faults = [self._unknown(name) for name in values if name not in self.parameters]
        bound: dict[str, JsonValue] = {}
        for name, parameter in self.parameters.items():
            value = values.get(name)
            value = parameter.default if value is None else value
            try:
                if value is not None:
                    bound[name] = parameter.check(value, name)
                elif not parameter.optional:
                    expected = f"a {parameter.type.replace('_', ' ')} ({parameter.title})"
                    raise BadValueError(name, "nothing", expected, f"give `{name}` a value")
            except BadValueError as fault:
                faults.append(fault)
        faults += self._missing(values, bound)
        if faults:
            raise BadValuesError(f"values for {self.request_name}", faults)
        return bound

    def _missing(self, values: Values, bound: Values) -> Iterator[BadValueError]:
        """Optional values that others make necessary."""
        for name, parameter in self.parameters.items():
            wanted = parameter.needed_when
            if values.get(name) is not None or not wanted:
                continue
            if all(bound.get(k) == v for k, v in wanted.items()):
                because = " and ".join(f"`{k}` is {show(v)}" for k, v in wanted.items())
                expected = f"a {parameter.type.replace('_', ' ')} ({parameter.title}), as {because}"
                yield BadValueError(name, "nothing", expected, f"give `{name}` a value")

    def _unknown(self, name: str) -> BadValueError:
        fix = did_you_mean(name, self.parameters, "remove it")
        known = ", ".join(self.parameters) or "none at all"
        return BadValueError(name, f"a value for `{name}`", f"only the parameters: {known}", fix)

    def fitting(self, values: Values) -> dict[str, JsonValue]:
        """Of another version's values those that this one has parameters for; whether they
        still fit, `bind` says."""
        return {name: value for name, value in values.items() if name in self.parameters}

    # -- facts ----------------------------------------------------------------------

    def facts(self, me: str, values: Values, term: Term) -> list[str]:
        """The atoms of the parameters of the instance `me`, from bound values.

        `term` maps an IRI to its ASP term (normally `self.term`).
        """
        quoted = quote(me)
        return [
            f"{name}({','.join((quoted, *arguments))})"
            for name, value in values.items()
            for arguments in self.parameters[name].terms(value, term)
        ]

    def thresholds(self, values: Values) -> set[int]:
        """The values in metres (unit `m`): radii for which the framework supplies facts."""
        return {
            item
            for name, value in values.items()
            if isinstance(p := self.parameters[name], NumberParameter) and p.unit == "m"
            for item in (value if isinstance(value, list) else [value])
            if isinstance(item, int)
        }

    def areas(self, values: Values) -> dict[str, list[Any]]:
        """The areas, canonical, by their parameters."""
        return self._of_type(values, AreaParameter)

    @cached_property
    def names_places(self) -> bool:
        """Whether values may name places."""
        return any(isinstance(p, PlaceParameter) for p in self.parameters.values())

    def spans(self, values: Values) -> dict[str, list[tuple[int, int]]]:
        """The spans of local time by their parameters, minutes since midnight from and to."""
        found = self._of_type(values, TimeSpanParameter)
        return {name: [span_minutes(item) for item in items] for name, items in found.items()}

    def route(self, values: Values) -> list[list[float]] | None:
        """The instance's own route, longitude and latitude; None where it is the user's."""
        for items in self._of_type(values, RouteParameter).values():
            for item in items:
                if isinstance(item, dict):
                    return list(item["coordinates"])
        return None

    def places(self, values: Values) -> list[tuple[str, str, PlaceParameter]]:
        """Parameter, place id and what says which places are meant, for those who know them."""
        wanted, sensors = self.named_places(values), self._of_type(values, SensorParameter)
        return wanted + [
            (n, item["place"], ANY_PLACE) for n, items in sensors.items() for item in items
        ]

    def named_places(self, values: Values) -> list[tuple[str, str, PlaceParameter]]:
        """The same, without the places of sensors."""
        return [
            (name, item, parameter)
            for name, items in self._of_type(values, PlaceParameter).items()
            if isinstance(parameter := self.parameters[name], PlaceParameter)
            for item in items
        ]

    def _of_type(self, values: Values, kind: type[Any]) -> dict[str, list[Any]]:
        return {
            name: value if self.parameters[name].repeated and isinstance(value, list) else [value]
            for name, value in values.items()
            if isinstance(self.parameters[name], kind)
        }

    def schema(self) -> dict[str, Any]:  # type: ignore[override]
        """JSON Schema of the values (2020-12), for forms and clients of the API."""
        required = [name for name, p in self.parameters.items() if p.is_needed]
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": self.title,
            "type": "object",
            "properties": {name: p.schema() for name, p in self.parameters.items()},
            "required": required,
            "additionalProperties": False,
        }


def _decisive(parameter: AnyParameter) -> dict[str, Any]:
    """What of a parameter decides which values it takes and which facts they give.

    Where a class parameter takes all classes below one, new classes of our ontologies do not
    make it another.
    """
    left_out = {"title", "help"}
    if isinstance(parameter, ClassParameter) and parameter.of in parameter.choices:
        left_out.add("choices")
    if isinstance(parameter, SensorParameter):
        left_out.add("kinds")
    if isinstance(parameter, DurationParameter) and parameter.max is None:
        left_out.add("max")  # of versions that were installed before there was one
    return parameter.model_dump(mode="json", exclude=left_out)
