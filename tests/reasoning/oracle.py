"""Every engine against the reference: one line in `ENGINES` adds an engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from typing import Any, ClassVar

from hypothesis import currently_in_test_context, note, reject

from citywise.reasoning.engines.choosing import engine_for
from citywise.reasoning.engines.clingo import messages
from citywise.reasoning.engines.clingo.guard import Guard, GuardedEngine
from citywise.reasoning.engines.clingo.solver import SolverEngine
from citywise.reasoning.engines.worker import Worker
from citywise.reasoning.languages.casp.parsing import parse
from citywise.reasoning.model.engine import Engine
from citywise.reasoning.model.request import Request as ParsedRequest
from citywise.reasoning.model.request import Signature
from citywise.reasoning.partition.engine import ParallelEngine
from citywise.reasoning.rdf.knowledge import Background
from citywise.reasoning.run.reasoner import Reasoner
from citywise.reasoning.streams.results import Evaluation
from tests.reasoning.parallel.inline import Inline
from tests.reasoning.reference.answers import TooLargeError
from tests.reasoning.reference.requests import Answer, Element, Request, evaluations

Observed = tuple[int, tuple[Answer, ...], bool]
"""Time, answers, and whether there is an error instead."""


ENGINES: dict[str, Callable[[ParsedRequest, Background], Engine]] = {
    "fresh": SolverEngine,
    "ground once": lambda request, background: forked(
        GuardedEngine(request, background, once=True)
    ),
    "parallel": lambda request, background: ParallelEngine(
        request, background, executor=Inline(), partitions=3, adaptive=False
    ),
    "incremental": lambda request, background: engine_for(request, background),
}


def forked(engine: GuardedEngine) -> GuardedEngine:
    """The engine with workers that are forks of this process: they start in no time."""
    engine.guard = Guard(ForkedWorker)
    return engine


class ForkedWorker:
    """The worker process of a `Guard`."""

    _open: ClassVar[set[int]] = set()
    """This process' ends of all pipes; a fork that kept them would keep other workers."""

    def __init__(self) -> None:
        source, self.sink = os.pipe()
        self.source, sink = os.pipe()
        self._open.update((self.source, self.sink))
        self.pid = os.fork()
        if self.pid == 0:
            for end in self._open:
                os.close(end)
            messages.send(sink, {"ready": True})
            Worker(source, sink).serve()
            os._exit(0)
        os.close(source)
        os.close(sink)

    def end(self) -> None:
        """The worker ends when nobody is left to ask it."""
        self._open.difference_update((self.source, self.sink))
        os.close(self.sink)
        os.close(self.source)
        os.waitpid(self.pid, 0)


def expected(
    request: Request,
    elements: Sequence[Element],
    start: int | None = None,
    until: int | None = None,
) -> list[Observed]:
    """What the reference says; gives the example up where that takes too long to find."""
    if currently_in_test_context():
        _note(request, elements)
    try:
        found = list(evaluations(request, elements, start, until))
    except TooLargeError:
        reject()
    return [(e.time, e.answers, e.ambiguous) for e in found]


def _note(request: Request, elements: Sequence[Element]) -> None:
    note(f"{request}{background(request).text}")
    for e in elements:
        note(f"[{e.time}, {e.end}] <{e.stream}> {' '.join(map(str, e.atoms()))}")


def background(request: Request) -> Background:
    """The request's knowledge."""
    supplied = frozenset(Signature(*atom.signature) for atom in request.knowledge)
    return Background(tuple(dict.fromkeys(map(str, request.knowledge))), supplied=supplied)


@contextmanager
def reasoner(engine: str, request: Request, **options: Any) -> Iterator[Reasoner]:
    """A reasoner that evaluates the request's text with one of the engines."""
    parsed = _parsed(str(request))
    with closing(ENGINES[engine](parsed, background(request))) as evaluating:
        yield Reasoner(parsed, engine=evaluating, **options)


@lru_cache(maxsize=32)
def _parsed(text: str) -> ParsedRequest:
    return parse(text)


def observed(found: Iterable[Evaluation]) -> list[Observed]:
    """What a reasoner said, in the reference's words."""
    return [
        (e.time, tuple((a.atoms, a.cost) for a in e.answer_sets), e.error is not None)
        for e in found
    ]
