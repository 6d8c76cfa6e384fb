"""Requests ready to be evaluated: parsed, with knowledge and an engine, once per process."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path

from backend.pipeline.parts import WHOLE, Division, IndivisibleError, Part
from reasoning.engines.guard import GuardedEngine
from reasoning.engines.incremental.choosing import Choice, engine_for
from reasoning.engines.limits import Limits
from reasoning.engines.program import Knowledge
from reasoning.engines.solver import Engine
from reasoning.languages.casp import parse_file
from reasoning.program import KnowledgeSource, Request, Signature
from reasoning.rdf import knowledge
from reasoning.rdf.knowledge import Background, KnowledgeBase

_Stamp = tuple[int, int]
"""Time of the last change (ns) and size of a file."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """A part of a request and what evaluates it, kept from one stretch to the next."""

    request: Request
    knowledge: Knowledge
    limits: Limits
    choice: Choice = "auto"
    part: Part = WHOLE
    division: Division | None = None
    """How the request divides; not asked for the whole."""

    @functools.cached_property
    def solver(self) -> GuardedEngine:
        """It keeps nothing of a window: all runs share it."""
        return GuardedEngine(self.request, self.knowledge, self.limits)

    def engine(self) -> Engine:
        """An engine for one run, in which it may keep the window."""
        return engine_for(
            self.request, self.knowledge, self.limits, self.choice, lambda: self.solver
        )


@dataclass(frozen=True, eq=False)
class _Known:
    """A request and what its rules see of its knowledge bases."""

    request: Request
    background: Background

    @functools.cached_property
    def division(self) -> Division | str:
        """How the request divides, or why it does not."""
        try:
            division = Division(self.request, self.background.supplied)
            list(division.knowledge(self.background.facts, WHOLE))
        except IndivisibleError as reason:
            return str(reason)
        return division


@dataclass(frozen=True)
class _Own:
    """The knowledge of a part."""

    text: str
    supplied: frozenset[Signature] = field(default=frozenset())


def prepared(path: Path, limits: Limits, part: Part = WHOLE, engine: Choice = "auto") -> Prepared:
    """A part of the request in a file; it is read again when the file or its knowledge
    changes.

    Raises `RequestError` for either, `IndivisibleError` for a part of what does not divide.
    """
    return _prepared(path, _stamps(path), limits, part, engine)


def division(path: Path) -> Division | str:
    """How the request in a file divides, or why it does not; raises `RequestError`."""
    return _known(path, _stamps(path)).division


def _stamps(path: Path) -> tuple[_Stamp, ...]:
    own = _stamp(path)
    bases = (Path(source.path) for source in _parsed(path, own).knowledge)
    return (own, *map(_stamp, bases))


def _stamp(path: Path) -> _Stamp:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


@functools.lru_cache(maxsize=64)
def _parsed(path: Path, _own: _Stamp) -> Request:
    return parse_file(path)


@functools.lru_cache(maxsize=4)
def _base(source: KnowledgeSource, scope: str, _own: _Stamp) -> KnowledgeBase:
    return knowledge.read(source, scope)


def _read(source: KnowledgeSource, scope: str) -> KnowledgeBase:
    """A knowledge base; requests that name the same file share it."""
    if knowledge.missing(source):
        return knowledge.read(source, scope)  # it says what is wrong
    return _base(source, scope, _stamp(Path(source.path)))


@functools.lru_cache(maxsize=64)
def _known(path: Path, _when: tuple[_Stamp, ...]) -> _Known:
    request = parse_file(path)  # what its streams entail depends on the knowledge too
    return _Known(request, knowledge.background(request, read=_read))


@functools.lru_cache(maxsize=128)
def _prepared(
    path: Path, stamps: tuple[_Stamp, ...], limits: Limits, part: Part, engine: Choice
) -> Prepared:
    known = _known(path, stamps)
    if part.of == 1:
        return Prepared(known.request, known.background, limits, engine)
    if isinstance(known.division, str):
        raise IndivisibleError(
            f"request `{known.request.name}` runs in one piece: {known.division}"
        )
    facts = known.division.knowledge(known.background.facts, part)
    own = _Own("".join(f"{fact}.\n" for fact in facts), known.background.supplied)
    return Prepared(known.request, own, limits, engine, part, known.division)
