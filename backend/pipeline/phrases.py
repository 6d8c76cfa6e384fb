"""The facts of readings of one kind, put together from texts that repeat.

A reading's triples say what its kind says of all readings, with a sensor, a time and some
numbers in it. A request's facts of it are the same texts around the same few values: each
is made once, by the mapper, as for the triples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any

from citywise.backend.city import observations
from citywise.backend.city.observations import DATETIME, FEATURE, PLACE, TIME, TYPE
from citywise.backend.ingest.blocks import Block
from citywise.backend.ingest.records import Reading
from citywise.backend.kinds import Kind
from citywise.backend.times import iso
from citywise.reasoning import Iri, ItemError, Literal
from citywise.reasoning.model.engine import Shape
from citywise.reasoning.model.values import Row, Value
from citywise.reasoning.rdf.mapping import Mapper, Term
from citywise.reasoning.streams.items import value_of

_MOST = 20_000
"""Remembered of each kind and field."""

_Put = Callable[[str], str]
"""The term of ASP that stands for a sensor, a time or a number."""
_Form = tuple[str, bool, bool]
"""A predicate, and whether its atoms of two and of three arguments are wanted."""


class Phrases:
    """What a request sees of readings of a kind.

    Parameters
    ----------
    predicates:
        Those of which it sees the triples.
    """

    def __init__(self, mapper: Mapper, kind: Kind, predicates: Iterable[Iri]) -> None:
        self._mapper, self._kind = mapper, kind.kind
        self._stems = _Remembered(self._new_stem)
        seen = set(predicates)
        forms = {iri: mapper.form(iri.value) for iri in seen}
        self._of_sensor = [
            (forms[iri], self._term_cache(forms[iri], make))
            for iri, make in ((FEATURE, _feature), (TYPE, _type))
            if iri in seen
        ]
        self._of_time = [
            (forms[iri], self._term_cache(forms[iri], _time)) for iri in (TIME,) if iri in seen
        ]
        self._of_value = [
            (forms[iri], self._term_cache(forms[iri], _number(datatype)), field)
            for field, iri, datatype in kind.properties
            if iri in seen
        ]

        self._sensor_columns = list(_columns(self._of_sensor))
        self._time_columns = list(_columns(self._of_time))
        values = [
            (name, 1 << place, field, column)
            for place, (form, put, field) in enumerate(self._of_value)
            for name, column in _columns([(form, _lexical(put))])
        ]
        self._value_names = [(name, bit) for name, bit, _field, _column in values]
        self._value_columns = [(bit, field, column) for _name, bit, field, column in values]
        self._shaped = lru_cache(maxsize=None)(self._new_shape)

    def facts(self, reading: Reading, time: int) -> tuple[str, ...] | None:
        """The atoms of a reading, in the order of its triples; None where they are not
        known without the triples. Raises `ItemError` as `Mapper.facts` does."""
        sensor, values = reading.sensor, reading.values
        stem, moment = self._stems[sensor], iso(reading.observed_ms)
        if stem is None:
            return None
        subject = f'{stem}{moment}"'
        said = [(form, put(sensor)) for form, put in self._of_sensor]
        said += [(form, put(moment)) for form, put in self._of_time]
        said += [
            (form, put(observations.lexical(value)))
            for form, put, field in self._of_value
            if (value := values.get(field)) is not None
        ]
        found = []
        for (name, binary, timed), value in said:
            if binary:
                found.append(f"{name}({subject},{value})")
            if timed:
                found.append(f"{name}({subject},{value},{time})")
        return tuple(found)

    def rows(self, block: Block, times: Iterable[int]) -> tuple[Shape, list[Row]] | None:
        """The atoms of readings, a row of its subject for each, with the times of all.

        None where they have no one shape, where there is none, or where something has no term.
        """
        with suppress(ItemError):
            return self._rows(block, times)
        return None

    def _rows(self, block: Block, times: Iterable[int]) -> tuple[Shape, list[Row]] | None:
        """Column by column: most of it is done in C."""
        sensors, moments = block.sensors, block.observed_ms
        stems = list(map(self._stems.__getitem__, sensors))
        if None in stems:
            return None
        ends = {ms: iso(ms) for ms in set(moments)}
        told = [ends[ms] for ms in moments]
        columns: list[Iterable[Value]] = [
            [f'{stem}{end}"' for stem, end in zip(stems, told, strict=True)],
            times,
        ]
        columns += [column(sensors) for _name, column in self._sensor_columns]
        columns += [column(told) for _name, column in self._time_columns]
        missing = 0
        for bit, field, column in self._value_columns:
            given = block.column(field)
            if None not in given:
                columns.append(column(given))
            elif given.count(None) == len(given):
                missing |= bit
            else:
                return None
        shape = self._shaped(missing)
        return (shape, list(zip(*columns, strict=True))) if shape.relations else None

    def _new_shape(self, missing: int) -> Shape:
        """The shape of rows without some values."""
        fixed = [name for name, _column in (*self._sensor_columns, *self._time_columns)]
        return Shape((*fixed, *(n for n, bit in self._value_names if not bit & missing)))

    def _new_stem(self, sensor: str) -> str | None:
        return self._mapper.stem(observations.observations_iri(self._kind, sensor))

    def _term_cache(self, form: _Form, make: Callable[[str], Term]) -> _Put:
        name = form[0]
        return lru_cache(maxsize=_MOST)(lambda text: self._mapper.term(make(text), name))


class _Remembered(dict[Any, Any]):
    """What was made of each value; when it is full it is emptied at once."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, given: Any) -> Any:
        made = self._make(given)
        if len(self) >= _MOST:
            self.clear()
        self[given] = made
        return made


class _Terms:
    """Gives the terms of a column of values."""

    def __init__(self, make: Callable[[Any], Value]) -> None:
        # Equal values of two types are two texts: 1 and 1.0.
        self._known: defaultdict[type, _Remembered] = defaultdict(lambda: _Remembered(make))

    def __call__(self, given: Iterable[Any]) -> Iterable[Value]:
        types = set(map(type, given))
        if len(types) == 1:
            return map(self._known[types.pop()].__getitem__, given)
        return [self._known[type(value)][value] for value in given]


def _columns(parts: Iterable[tuple[_Form, _Put]]) -> Iterator[tuple[str, _Terms]]:
    """The relations of predicates, and what makes the columns of values that stand there."""
    for (name, binary, timed), put in parts:
        terms = _Terms(_valued(put))
        if binary:
            yield f"{name}/2", terms
        if timed:
            yield f"{name}/3", terms


def _valued(put: Callable[[Any], str]) -> Callable[[Any], Value]:
    return lambda given: value_of(put(given))


def _lexical(put: _Put) -> Callable[[Any], str]:
    return lambda given: put(observations.lexical(given))


def _feature(sensor: str) -> Term:
    return Iri(PLACE + sensor)


def _type(_sensor: str) -> Term:
    return observations.OBSERVATION


def _time(text: str) -> Term:
    return Literal(text, DATETIME)


def _number(datatype: str) -> Callable[[str], Term]:
    return lambda text: Literal(text, datatype)
