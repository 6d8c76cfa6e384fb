"""The facts of readings of one kind, put together from texts that repeat.

A reading's triples say what its kind says of all readings, with a sensor, a time and some
numbers in it. A request's facts of it are the same texts around the same few values: each
is made once, by the mapper, as for the triples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from citywise.backend.city import observations
from citywise.backend.city.observations import DATETIME, FEATURE, PLACE, TIME, TYPE
from citywise.backend.ingest.records import Reading
from citywise.backend.kinds import Kind
from citywise.backend.times import iso
from citywise.reasoning import Iri, Literal
from citywise.reasoning.rdf.mapping import Mapper, Term

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
        self._stem = lru_cache(maxsize=_MOST)(self._new_stem)
        seen = set(predicates)
        forms = {iri: mapper.form(iri.value) for iri in seen}
        self._of_sensor = [
            (forms[iri], self._put(forms[iri], make))
            for iri, make in ((FEATURE, _feature), (TYPE, _type))
            if iri in seen
        ]
        self._of_time = [
            (forms[iri], self._put(forms[iri], _time)) for iri in (TIME,) if iri in seen
        ]
        self._of_value = [
            (forms[iri], self._put(forms[iri], _number(datatype)), field)
            for field, iri, datatype in kind.properties
            if iri in seen
        ]

    def facts(self, reading: Reading, time: int) -> tuple[str, ...] | None:
        """The atoms of a reading, in the order of its triples; None where they are not
        known without the triples. Raises `ItemError` as `Mapper.facts` does."""
        sensor, values = reading.sensor, reading.values
        stem, moment = self._stem(sensor), iso(reading.observed_ms)
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

    def _new_stem(self, sensor: str) -> str | None:
        return self._mapper.stem(observations.observations_iri(self._kind, sensor))

    def _put(self, form: _Form, make: Callable[[str], Term]) -> _Put:
        name = form[0]
        return lru_cache(maxsize=_MOST)(lambda text: self._mapper.term(make(text), name))


def _feature(sensor: str) -> Term:
    return Iri(PLACE + sensor)


def _type(_sensor: str) -> Term:
    return observations.OBSERVATION


def _time(text: str) -> Term:
    return Literal(text, DATETIME)


def _number(datatype: str) -> Callable[[str], Term]:
    return lambda text: Literal(text, datatype)
