"""Requests ready to be evaluated: parsed, with knowledge and an engine, once per process."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from citywise.backend.city.observations import scaled, streamed
from citywise.backend.kinds import Kinds
from citywise.backend.pipeline.parts import WHOLE, Division, Part
from citywise.reasoning import (
    Background,
    Choice,
    Engine,
    Knowledge,
    KnowledgeSource,
    LimitError,
    Limits,
    Request,
    RequestError,
    Signature,
    engine_for,
    limited,
)
from citywise.reasoning.engines.clingo.guard import GuardedEngine
from citywise.reasoning.languages.casp import inferring, read_file
from citywise.reasoning.partition.routing import IndivisibleError
from citywise.reasoning.rdf import knowledge
from citywise.reasoning.rdf.knowledge import KnowledgeBase

LIMITS = "pipeline.limits.seconds", "pipeline.limits.megabytes"
"""The settings of the limits."""
_Stamp = tuple[int, int]
"""Time of the last change (ns) and size of a file."""
_GONE = 0, 0
_Result = TypeVar("_Result")


def _remembered(
    most: int,
) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    """As `lru_cache`, but what was refused or stopped at a limit is not tried again either: that
    would cost everybody as much with every batch."""

    def remembering(read: Callable[..., _Result]) -> Callable[..., _Result]:
        @functools.lru_cache(maxsize=most)
        def outcome(*given: Hashable) -> tuple[_Result] | RequestError | LimitError:
            try:
                return (read(*given),)
            except (RequestError, LimitError) as error:
                return error

        @functools.wraps(read)
        def remembered(*given: Hashable) -> _Result:
            found = outcome(*given)
            if isinstance(found, tuple):
                return found[0]
            raise found.with_traceback(None)

        return remembered

    return remembering


@dataclass(frozen=True, eq=False)
class Prepared:
    """A part of a request and what evaluates it, kept from one stretch to the next."""

    request: Request
    kinds: Kinds
    """Those on its streams."""
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
    kinds: Kinds
    background: Background
    limits: Limits

    @functools.cached_property
    def division(self) -> Division | str:
        """How the request divides, or why it does not."""
        what = f"dividing request `{self.request.name}`"
        try:
            why = limited(self._indivisible, self.limits, what, LIMITS)
        except LimitError as error:
            why = str(error)
        return why or Division(self.request, self.kinds, self.background.supplied)

    def _indivisible(self) -> str | None:
        """Why the request does not divide; None if it does."""
        try:
            Division(self.request, self.kinds, self.background.supplied)
        except IndivisibleError as reason:
            return str(reason)
        return None


@dataclass(frozen=True)
class _Own:
    """The knowledge of a part."""

    text: str
    supplied: frozenset[Signature] = field(default=frozenset())


def prepared(
    path: Path, kinds: Kinds, limits: Limits, part: Part = WHOLE, engine: Choice = "auto"
) -> Prepared:
    """A part of the request in a file; it is read again when the file or its knowledge
    changes. To read it, and what follows from its knowledge, has the limits of an evaluation.

    Of `kinds` those on its streams are of use.

    Raises `RequestError` for either, `LimitError` for what takes too much to read, and
    `IndivisibleError` for a part of what does not divide.
    """
    return _prepared(path, kinds, _stamps(path), limits, part, engine)


def division(path: Path, kinds: Kinds, limits: Limits) -> Division | str:
    """How the request in a file divides, or why it does not; raises as `prepared`."""
    return _prepared_file(path, kinds, _stamps(path), limits).division


def observed(path: Path, kinds: Kinds) -> Kinds:
    """The kinds on the streams of the request in a file; raises `RequestError`."""
    return streamed(_written(path, _stamp(path)), kinds)


def _stamps(path: Path) -> tuple[_Stamp, ...]:
    own = _stamp(path)
    bases = (Path(source.path) for source in _written(path, own).knowledge)
    return (own, *map(_stamp, bases))


def _stamp(path: Path) -> _Stamp:
    try:
        status = path.stat()
    except OSError:
        return _GONE  # whoever reads it says so
    return status.st_mtime_ns, status.st_size


@_remembered(64)
def _written(path: Path, _own: _Stamp) -> Request:
    """The request as its text has it; what its streams entail depends on the knowledge too."""
    return read_file(path).sound().request


@_remembered(4)
def _base(source: KnowledgeSource, scope: str, _own: _Stamp, limits: Limits) -> KnowledgeBase:
    """A knowledge base; requests that name the same file share it."""
    what = f"reading {source.path}"
    return limited(lambda: knowledge.read(source, scope), limits, what, LIMITS)


@_remembered(64)
def _prepared_file(path: Path, kinds: Kinds, when: tuple[_Stamp, ...], limits: Limits) -> _Known:
    written = _written(path, when[0])
    kinds = streamed(written, kinds)
    written = scaled(written, kinds)
    if not written.knowledge and not any(stream.entailment for stream in written.streams):
        return _Known(written, kinds, Background(), limits)
    sources = dict.fromkeys(written.knowledge)
    named = [(source, f"k{number}") for number, source in enumerate(sources)]
    bases = {one: _base(*one, _stamp(Path(one[0].path)), limits) for one in named}

    def work() -> tuple[Request, Background]:
        request = inferring(written, lambda *asked: bases[asked])
        found = knowledge.background(request, read=lambda *asked: bases[asked])
        return request, replace(found, origins={})

    files = " + ".join(source.path for source in sources)
    what = f"request `{written.name}` with what follows{f' from {files}' if files else ''}"
    request, found = limited(work, limits, what, LIMITS)
    return _Known(request, kinds, found, limits)


@functools.lru_cache(maxsize=128)
def _prepared(
    path: Path,
    kinds: Kinds,
    stamps: tuple[_Stamp, ...],
    limits: Limits,
    part: Part,
    engine: Choice,
) -> Prepared:
    known = _prepared_file(path, kinds, stamps, limits)
    if part.of == 1:
        return Prepared(known.request, known.kinds, known.background, limits, engine)
    if isinstance(known.division, str):
        raise IndivisibleError(
            f"request `{known.request.name}` runs in one piece: {known.division}"
        )
    facts = known.division.knowledge(known.background.facts, part)
    own = _Own("".join(f"{fact}.\n" for fact in facts), known.background.supplied)
    return Prepared(known.request, known.kinds, own, limits, engine, part, known.division)
