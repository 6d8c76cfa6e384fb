"""The combining handler: answer sets of the whole from those of the parts (thesis, Figure
6.3, for programs with any number of answer sets).

Parts are independent: every choice of one answer set of each is an answer set, and its cost
is the sum of theirs. Choices may unite to the same atoms, where parts show the same.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain, compress, islice, product
from math import inf
from operator import ne

from citywise.reasoning.limits import Limits, exceeded, too_long, too_many
from citywise.reasoning.model.engine import AnswerSet

Answers = Sequence[AnswerSet]


def combined(
    parts: Sequence[Answers],
    name: str,
    models: int = 0,
    limits: Limits | None = None,
    deadline: float = inf,
) -> tuple[AnswerSet, ...]:
    """The answer sets of request `name`: sorted, each once, and at most `models` (0: all).

    Raises `LimitError` where there are more than the limits allow and fewer were not asked
    for, or when it is not done at the deadline (`time.thread_time()`). Not more products are
    made than that takes.
    """
    # By far the commonest case: one answer set in each part needs no choices.
    if all(len(part) == 1 for part in parts):
        return (united([answer for (answer,) in parts]),)
    most = limits.models if limits else 0
    watch = _Watch(name, limits, deadline)
    found = list(islice(_products(parts, watch), models or (most + 1 if most else None)))
    if most and not models and len(found) > most:
        raise too_many(name, most)
    return tuple(sorted(found))


class _Watch:
    """Ends what takes too long."""

    def __init__(self, name: str, limits: Limits | None, deadline: float) -> None:
        self._name = name
        self._seconds = limits.seconds if limits else inf
        self._deadline = deadline

    def united(self, answers: Answers) -> AnswerSet:
        """The union of answer sets, if there is time for it."""
        if time.thread_time() > self._deadline:
            raise exceeded(self._name, too_long(self._seconds), "combining", {})
        return united(answers)


def _products(parts: Sequence[Answers], watch: _Watch) -> Iterator[AnswerSet]:
    """The unions of all choices, each once."""
    if not all(parts):
        return
    # What is the same in every choice is united once, and taken out of the others: what then
    # remains is small, and equal remains are found before they multiply.
    fixed = united([part[0] for part in parts if len(part) == 1])
    choices = [_without(fixed.atoms, part) for part in parts if len(part) > 1]
    folded = [_folded(group, watch) for group in _groups(choices)]
    # Groups have no atom in common, so different choices unite to different sets; a choice must
    # not be compared with all before it.
    for chosen in product(*folded):
        yield watch.united([fixed, *chosen])


def _without(atoms: tuple[str, ...], part: Answers) -> Answers:
    """A part's answer sets without the (sorted) atoms that are there anyway, each once."""
    mentioned = set(chain.from_iterable(answer.atoms for answer in part))
    known = {atom for atom in mentioned if _is_in(atom, atoms)}
    if not known:
        return part
    left = (tuple(atom for atom in a.atoms if atom not in known) for a in part)
    return list(dict.fromkeys(map(AnswerSet, left, (a.cost for a in part))))


def _is_in(atom: str, atoms: tuple[str, ...]) -> bool:
    place = bisect_left(atoms, atom)
    return place < len(atoms) and atoms[place] == atom


def _groups(parts: Sequence[Answers]) -> list[list[Answers]]:
    """The parts, those together that mention the same atoms: only their choices may unite to
    the same."""
    groups: list[tuple[set[str], list[Answers]]] = []
    for part in parts:
        atoms = set(chain.from_iterable(answer.atoms for answer in part))
        same = [group for group in groups if not group[0].isdisjoint(atoms)]
        groups = [group for group in groups if group not in same]
        joined = [other for _atoms, others in same for other in others]
        groups.append((atoms.union(*(found for found, _ in same)), [*joined, part]))
    return [members for _atoms, members in groups]


def _folded(group: Sequence[Answers], watch: _Watch) -> Answers:
    """The unions of all choices, one part after the other, so that equal ones are one."""
    found = group[0]
    for part in group[1:]:
        pairs = (watch.united(pair) for pair in product(found, part))
        found = list(dict.fromkeys(pairs))
    return found


def united(answers: Answers) -> AnswerSet:
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
    new = chain((True,), map(ne, islice(texts, 1, None), texts))
    return tuple(compress(texts, new))
