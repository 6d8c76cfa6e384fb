"""A template's rules ready to be evaluated: what they conclude, and whether they are local."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from citywise.backend.city.observations import predicates, streamed
from citywise.backend.kinds import Kinds
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.packs.vocabulary import CONCLUSIONS, PREDICATES
from citywise.reasoning import Encoder, Engine, Limits, Request, Signature
from citywise.reasoning.asp import Statements
from citywise.reasoning.asp.rules import read
from citywise.reasoning.engines.clingo.guard import GuardedEngine
from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.model.carried import clock, fed, since
from citywise.reasoning.rdf.mapping import Mapper
from citywise.reasoning.run.keyed import DUE, KeyedMemory, KeyedRules, due_rules


@dataclass(frozen=True)
class Prepared:
    """A template's rules as they are evaluated."""

    template: TemplateVersion
    request: Request
    statements: Statements
    rules: KeyedRules
    supplied: frozenset[Signature]
    remembers: bool
    """Whether evaluations leave anything to each other, or rules look at the time."""

    def memory(self) -> KeyedMemory | None:
        """What evaluations of one run leave to each other."""
        return KeyedMemory(self.request, CONCLUSIONS.values()) if self.remembers else None


@dataclass(frozen=True)
class Knowledge:
    """The facts of a template's knowledge bases."""

    text: str
    supplied: frozenset[Signature]


_KNOWN: dict[tuple[str, str], Prepared] = {}
"""By name and digest of the template; there are few, and they are asked for all the time."""


def prepared(template: TemplateVersion) -> Prepared:
    """A template's rules, read once in this process."""
    key = template.request_name, template.digest
    if key not in _KNOWN:
        _KNOWN[key] = _prepare(template)
    return _KNOWN[key]


def _prepare(template: TemplateVersion) -> Prepared:
    request = template.request
    due, _faults = due_rules(template.reading.rules) if request.sees_now else ([], [])
    shows = [*CONCLUSIONS.values(), *sorted(request.feedback), *([DUE] if due else [])]
    shown = "".join(f"#show {signature}.\n" for signature in dict.fromkeys(shows))
    request = replace(
        request,
        name=template.request_name,
        rules="\n".join([request.rules, *due, shown]),
        shows=request.shows | set(shows),
    )
    statements = read(request.rules, request.labels)
    known = frozenset(map(_signature, template.supplied))
    everywhere = known | statements.known | _of_windows(request, template.kinds)
    everywhere |= clock(request)
    everywhere |= {told.signature for told in PREDICATES.values() if told.everywhere}
    made = frozenset(map(since, request.held))
    supplied = (request.used - request.derived - made - everywhere) | fed(request).keys()
    naming = _naming(template, request)
    rules = KeyedRules.of([rule.tree for rule in statements.rules], everywhere, supplied, naming)
    remembers = bool(fed(request) or clock(request))
    return Prepared(template, request, statements, rules, supplied, remembers)


def _naming(template: TemplateVersion, request: Request) -> dict[Signature, tuple[int, ...]]:
    """The arguments at which facts name what their subjects reach, as `Supply` has it."""
    mapper = Mapper(request)
    naming = {name for name, supplied in PREDICATES.items() if supplied.names}
    naming |= {mapper.predicate(i) or "" for i, told in template.told.items() if told.names}
    naming |= {name for name, p in template.parameters.items() if p.type in ("place", "sensor")}
    return {signature: (1,) for signature in request.used if signature.name in naming}


def _of_windows(request: Request, kinds: Kinds) -> frozenset[Signature]:
    """Predicates that the windows of a request supply."""
    encoder = Encoder(request)
    iris = (iri for kind in streamed(request, kinds).values() for iri in predicates(kind))
    return frozenset(signature for iri in iris for signature in encoder.signatures(iri.value))


def _signature(given: Sequence[Any]) -> Signature:
    return Signature(given[0], given[1])


def engine_of(found: Prepared, limits: Limits | None) -> Engine:
    """An engine for a template: in a process of its own if there are limits."""
    facts = "".join(f"{fact}.\n" for fact in found.template.knowledge)
    supplied = frozenset(map(_signature, found.template.supplied))
    knowledge = Knowledge(facts, supplied)
    if limits is None:
        return SolverEngine(found.request, knowledge)
    return GuardedEngine(found.request, knowledge, limits)
