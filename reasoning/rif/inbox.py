"""Facts of the stream on their way into the engine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from reasoning.engines.incremental.evaluation import Evaluation
from reasoning.engines.incremental.terms import Row, Value
from reasoning.rdf.mapping import Iri, Triple
from reasoning.rif.compile import Compiled
from reasoning.rif.values import value

Fact: TypeAlias = tuple[str, Row]
"""A relation's name and a row: `("<p>", (s, o))` of `s[p -> o]`, `("<p>/2", (a, b))` of
`p(a b)`; see `values` for what stands in rows."""
_REMEMBERED = 1 << 16
_Route = tuple[str | None, Value | None, frozenset[Value] | None]
"""Where facts of a relation go in, what goes between subject and object there, and the objects
that are looked for if not all are."""


class _Texts(dict[str, str]):
    """IRIs and the values that stand for them, the same object for the same IRI."""

    def __missing__(self, iri: str) -> str:
        if len(self) >= _REMEMBERED:
            self.clear()
        text = self[iri] = f"<{iri}>"
        return text


class Inbox:
    """Collects the rows of facts from one step to the next; drops what no rule looks at."""

    def __init__(self, compiled: Compiled) -> None:
        self._texts = _Texts()
        self._rows: dict[tuple[str, int | None], list[Row]] = {}
        """By relation and the last instant at which they count."""
        self.follow(compiled)

    def follow(self, compiled: Compiled) -> None:
        """Take over what another program looks at."""
        self._compiled = compiled
        self._routes: dict[str, _Route] = {}
        """By the IRIs of properties."""

    def insert(self, triples: Iterable[Triple], until: int | None) -> None:
        """Triples that count up to `until`; raises `ItemError`, and then takes none."""
        new: dict[str, list[Row]] = {}
        routes, texts = self._routes, self._texts
        for subject, predicate, found in triples:
            route = routes.get(predicate[0])
            if route is None:
                route = self._route(predicate)
            entrance, between, only = route
            if entrance is None:
                continue
            last = texts[found[0]] if found.__class__ is Iri else value(found)
            if only is not None and last not in only:
                entrance, between, _only = self._elsewhere(predicate)
                if entrance is None:
                    continue
            first = texts[subject[0]] if subject.__class__ is Iri else value(subject)
            row = (first, last) if between is None else (first, between, last)
            if entrance in new:
                new[entrance].append(row)
            else:
                new[entrance] = [row]
        self._add(new, until)

    def insert_facts(self, facts: Iterable[Fact], until: int | None) -> None:
        """Facts that count up to `until`."""
        new: dict[str, list[Row]] = {}
        for relation, row in facts:
            place = self._compiled.placed(relation, row)
            if place is not None:
                new.setdefault(place[0], []).append(place[1])
        self._add(new, until)

    def deliver(self, evaluation: Evaluation, now: int) -> None:
        """Insert what has been collected; it has the instant `now`."""
        rows, self._rows = self._rows, {}
        for (relation, until), found in rows.items():
            if self._compiled.instances:
                found = [(*row, now) for row in found]
            evaluation.insert(relation, found, until)

    def _add(self, new: dict[str, list[Row]], until: int | None) -> None:
        for relation, rows in new.items():
            known = self._rows.get((relation, until))
            if known is None:
                self._rows[relation, until] = rows
            else:
                known += rows

    def _route(self, predicate: Iri) -> _Route:
        relation = f"<{predicate.value}>"
        if len(self._routes) >= _REMEMBERED:
            self._routes.clear()
        entrance = self._compiled.entrance(relation)
        if entrance == relation:
            route: _Route = entrance, None, self._compiled.only.get(relation)
        else:
            route = self._elsewhere(predicate)
        self._routes[predicate.value] = route
        return route

    def _elsewhere(self, predicate: Iri) -> _Route:
        relation = f"<{predicate.value}>"
        return self._compiled.elsewhere(relation), relation, None
