"""What an evaluation gives, its lines of JSON (docs/reason.md), and what changes to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

import clingo

from citywise.reasoning.errors import ReasoningError, SolvingError
from citywise.reasoning.model.engine import AnswerSet, difference
from citywise.reasoning.model.request import Request
from citywise.reasoning.rdf.mapping import Inverse, Mapper, Triple
from citywise.reasoning.streams.items import Item


@dataclass(frozen=True)
class Evaluation:
    """The answer at one tick."""

    time: int
    """Tick, in the request's unit."""
    answer_sets: tuple[AnswerSet, ...]
    items: Sequence[Item]
    """The content of the windows, put together when it is asked for."""
    atoms: int
    """Facts given to the engine."""
    seconds: float
    """Wall time of the engine, 0 when an equal window was answered before."""
    error: str | None = None
    """Why there is no answer; the evaluations after it go on from the answer before."""
    fed_back: tuple[str, ...] = ()
    """Atoms of the evaluation before that this one saw, as `prev_…`."""
    added: tuple[str, ...] | None = None
    """Shown atoms, sorted, that the last answer before had not (one without an answer set has
    none); None where the engine does not know, or there is an error."""
    removed: tuple[str, ...] | None = None
    """Those of the last answer that are shown no more."""


def result(evaluation: Evaluation, time: int | str | None) -> dict[str, Any]:
    """The result object of an evaluation: `t`, `answer_sets`, and `cost` if there is one;
    `t` and `error` if it failed. `time` is written as given, None without streams."""
    if evaluation.error is not None:
        return {"t": time, "error": evaluation.error}
    values: dict[str, Any] = {"t": time}
    values["answer_sets"] = [list(answer.atoms) for answer in evaluation.answer_sets]
    if evaluation.answer_sets and evaluation.answer_sets[0].cost:
        values["cost"] = list(evaluation.answer_sets[0].cost)
    return values


class Deltas:
    """What came to be shown and is shown no more, from evaluation to evaluation.

    Parameters
    ----------
    ambiguous:
        The error for an evaluation with several answer sets.
    """

    def __init__(self, ambiguous: Callable[[Evaluation], ReasoningError]) -> None:
        self._ambiguous = ambiguous
        self._before: AnswerSet | None = None

    def of(self, evaluation: Evaluation) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Atoms that came and went, sorted, against the evaluation before.

        One without an answer set has no atoms; one that failed is to be left out. Raises
        what `ambiguous` gives.
        """
        answers = evaluation.answer_sets
        if len(answers) > 1:
            raise self._ambiguous(evaluation)
        before, self._before = self._before, answers[0] if answers else None
        # The engine knows in most cases; comparing answers costs what they hold, not what
        # changed.
        if evaluation.added is None or evaluation.removed is None:
            return difference(before, self._before)
        return evaluation.added, evaluation.removed


def several(evaluation: Evaluation, time: int | str | None) -> SolvingError:
    """The error for deltas of an evaluation with several answer sets."""
    at = "" if time is None else f"at {time} "
    return SolvingError(
        f"{at}there are {len(evaluation.answer_sets)} answer sets: deltas are for programs "
        "with one; ask for one (`--models 1`), or add constraints or preferences"
    )


Operator = Literal["rstream", "istream", "dstream"]
"""How answers become a stream: all that is shown, what came, what is gone."""


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

    def items(self, operator: Operator, evaluations: Iterable[Evaluation]) -> Iterator[Item]:
        """The items of one of the three streams below."""
        streams = {"rstream": self.rstream, "istream": self.istream, "dstream": self.dstream}
        return streams[operator](evaluations)

    def rstream(self, evaluations: Iterable[Evaluation]) -> Iterator[Item]:
        """Every shown atom, at the time of each evaluation.

        Raises `AmbiguousError` for an evaluation with several answer sets. One without any
        gives nothing; one that failed is left out, as if it had not been due.
        """
        yield from self._items((e.time, self._shown_atoms(e)) for e in _answered(evaluations))

    def istream(self, evaluations: Iterable[Evaluation]) -> Iterator[Item]:
        """The atoms that the evaluation before did not show. Raises as `rstream`."""
        deltas = Deltas(self._ambiguous)
        yield from self._items((e.time, deltas.of(e)[0]) for e in _answered(evaluations))

    def dstream(self, evaluations: Iterable[Evaluation]) -> Iterator[Item]:
        """The atoms of the evaluation before that are shown no more. Raises as `rstream`."""
        deltas = Deltas(self._ambiguous)
        yield from self._items((e.time, deltas.of(e)[1]) for e in _answered(evaluations))

    def _shown_atoms(self, evaluation: Evaluation) -> tuple[str, ...]:
        answers = evaluation.answer_sets
        if len(answers) > 1:
            raise self._ambiguous(evaluation)
        return answers[0].atoms if answers else ()

    def _ambiguous(self, evaluation: Evaluation) -> AmbiguousError:
        return AmbiguousError(
            f"request `{self._name}` has {len(evaluation.answer_sets)} answer sets at "
            f"{evaluation.time}, and its stream can carry one: add constraints or preferences "
            "that leave one, or take any with `--models 1`"
        )

    def _items(self, contents: Iterable[tuple[int, tuple[str, ...]]]) -> Iterator[Item]:
        positions = count()
        for time, shown in contents:
            for atom in sorted(shown):
                yield Item(time, self._content(atom), next(positions), stream=self._stream)

    def _content(self, atom: str) -> str | tuple[Triple, ...]:
        # Atoms come again and again while they are shown; reading one back costs clingo's parser.
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


def _answered(evaluations: Iterable[Evaluation]) -> Iterator[Evaluation]:
    return (evaluation for evaluation in evaluations if evaluation.error is None)
