"""Answers as streams: R-, I- and D-stream, as atoms or as triples (thesis, Definition 4.7)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

import clingo

from reasoning.errors import ReasoningError
from reasoning.program import Request
from reasoning.rdf.inverse import Inverse
from reasoning.rdf.mapping import Mapper, Triple
from reasoning.reasoner import Evaluation
from reasoning.streams import Item


class AmbiguousError(ReasoningError):
    """A stream can carry one answer set at a time, and an evaluation has several."""


class OutputStream:
    """A request's answers as the items of a stream, which another request can read.

    An atom of arity 2 whose predicate carries a declared prefix leaves as the triple it
    came from, every other shown atom as an atom.

    Parameters
    ----------
    request:
        The request whose answers they are.
    stream:
        IRI of the stream the items belong to.
    mapper:
        The reasoner's, if predicates have characters that an identifier cannot hold: it
        knows their IRIs.
    """

    def __init__(self, request: Request, stream: str = "", mapper: Mapper | None = None) -> None:
        self._name = request.name
        self._stream = stream
        self._inverse = Inverse(request, mapper)
        self._contents: dict[str, str | tuple[Triple, ...]] = {}

    def rstream(self, evaluations: Iterable[Evaluation]) -> Iterator[Item]:
        """Every shown atom, at the time of each evaluation.

        Raises `AmbiguousError` for an evaluation with several answer sets. One without any
        gives nothing; one that failed is left out, as if it had not been due.
        """
        yield from self._items((t, new) for t, _old, new in self._steps(evaluations))

    def istream(self, evaluations: Iterable[Evaluation]) -> Iterator[Item]:
        """The atoms that the evaluation before did not show. Raises as `rstream`."""
        yield from self._items((t, new - old) for t, old, new in self._steps(evaluations))

    def dstream(self, evaluations: Iterable[Evaluation]) -> Iterator[Item]:
        """The atoms of the evaluation before that are shown no more. Raises as `rstream`."""
        yield from self._items((t, old - new) for t, old, new in self._steps(evaluations))

    def _steps(
        self, evaluations: Iterable[Evaluation]
    ) -> Iterator[tuple[int, frozenset[str], frozenset[str]]]:
        before: frozenset[str] = frozenset()
        for evaluation in evaluations:
            if evaluation.error is not None:
                continue
            shown = self._shown(evaluation)
            yield evaluation.time, before, shown
            before = shown

    def _shown(self, evaluation: Evaluation) -> frozenset[str]:
        answers = evaluation.answer_sets
        if len(answers) > 1:
            raise AmbiguousError(
                f"request `{self._name}` has {len(answers)} answer sets at {evaluation.time}, and "
                "its stream can carry one: add constraints or preferences that leave one, or "
                "take any with `--models 1`"
            )
        return frozenset(answers[0].atoms) if answers else frozenset()

    def _items(self, contents: Iterable[tuple[int, frozenset[str]]]) -> Iterator[Item]:
        positions = count()
        for time, shown in contents:
            for atom in sorted(shown):
                yield Item(time, self._content(atom), next(positions), stream=self._stream)

    def _content(self, atom: str) -> str | tuple[Triple, ...]:
        if atom not in self._contents:
            symbol = clingo.parse_term(atom)
            if symbol.type != clingo.SymbolType.Function or not symbol.name:
                raise ReasoningError(
                    f"request `{self._name}` shows the term `{atom}`, which is no atom and cannot "
                    "be the item of a stream; show atoms"
                )
            triple = self._inverse.triple(symbol)
            self._contents[atom] = atom if triple is None else (triple,)
        return self._contents[atom]
