"""The combining handler: answer sets of the whole from those of the parts (thesis, Figure
6.3, for programs with any number of answer sets).

Parts are independent: every choice of one answer set of each is an answer set, and its cost
is the sum of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice, product
from operator import eq

from reasoning.engines.limits import too_many
from reasoning.engines.solver import AnswerSet


def combined(
    parts: Sequence[Sequence[AnswerSet]], name: str, models: int = 0, most: int = 0
) -> tuple[AnswerSet, ...]:
    """The answer sets of request `name`: sorted, each once, and at most `models` (0: all).

    Raises `LimitError` where there are more than `most` (0: any number), and fewer were not
    asked for. Not more products are made than that takes.
    """
    if all(len(part) == 1 for part in parts):
        return (united([answer for (answer,) in parts]),)  # a large one is not hashed
    found: set[AnswerSet] = set()
    wanted = models or (most + 1 if most else 0)
    for answer in _products(parts):
        found.add(answer)
        if len(found) == wanted:
            break
    if most and not models and len(found) > most:
        raise too_many(name, most)
    return tuple(sorted(found))


def _products(parts: Sequence[Sequence[AnswerSet]]) -> Iterator[AnswerSet]:
    """The union of every choice; parts with one answer set are united once."""
    if not all(parts):
        return
    fixed = united([part[0] for part in parts if len(part) == 1])
    open_parts = [part for part in parts if len(part) > 1]
    for chosen in product(*open_parts):
        yield united([fixed, *chosen]) if chosen else fixed


def united(answers: Sequence[AnswerSet]) -> AnswerSet:
    """The atoms of several answer sets, and the sum of their costs by priority.

    Those that have no cost have no preferences; of the others all have the program's
    priorities.
    """
    costs = [answer.cost for answer in answers if answer.cost]
    return AnswerSet(
        _merged([a.atoms for a in answers if a.atoms]),
        tuple(map(sum, zip(*costs, strict=True))),
    )


def _merged(runs: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Sorted texts out of sorted runs, each once."""
    if len(runs) < 2:
        return runs[0] if runs else ()
    texts = list(chain.from_iterable(runs))
    texts.sort()  # it finds the runs, and merges them
    if any(map(eq, texts, islice(texts, 1, None))):
        texts = list(dict.fromkeys(texts))
    return tuple(texts)
