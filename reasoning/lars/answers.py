"""What an evaluation shows, as text when somebody asks for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import cast
from weakref import WeakSet

from reasoning.engines.incremental.evaluation import Evaluation
from reasoning.engines.incremental.terms import Row
from reasoning.engines.incremental.values import atom_text
from reasoning.engines.incremental.views import AnswerView, Shown
from reasoning.engines.solver import AnswerSet
from reasoning.program import Signature
from reasoning.versions import Version

Delta = tuple[Collection[Row], Collection[Row]]
"""Rows that came and rows that are gone."""


class Answers:
    """The answers of an evaluation, step by step; nothing is made text before it is asked
    for, and an answer is what it was also when steps have followed.

    Parameters
    ----------
    evaluation:
        Whose rows are shown.
    outputs:
        The relations of the predicates that may be shown.
    """

    def __init__(self, evaluation: Evaluation, outputs: Mapping[Signature, str]) -> None:
        self._evaluation = evaluation
        self._outputs = outputs
        self._versions = self._begun()
        self._deltas: dict[Signature, Delta] | None = None
        self._moments: WeakSet[_Moment] = WeakSet()
        """Answers that somebody has and did not look at."""
        self._step = 0
        self._texts = Shown(())
        self.show(outputs)

    def show(self, signatures: Iterable[Signature]) -> None:
        """Show these predicates from the next step on."""
        self._shown = {s: self._outputs[s] for s in sorted(signatures)}
        self._written: int | None = None
        """The step as of which `_texts` are; None: there are none."""

    def move(self) -> None:
        """The evaluation has made a step."""
        self._step += 1
        self._deltas = None
        if not self._moments:  # nobody will ask what was
            self._versions = self._begun()
            return
        for signature, (came, gone) in self._changed().items():
            if came or gone:
                # Empty ones may be filled by later steps.
                newer = self._versions[signature].followed_by(came or (), gone or ())
                self._versions[signature] = newer

    def deltas(self) -> dict[Signature, Delta]:
        """The rows that the last step brought and ended, of what is shown."""
        changed = self._changed()
        return {signature: changed[signature] for signature in self._shown}

    def _changed(self) -> dict[Signature, Delta]:
        if self._deltas is None:
            evaluation = self._evaluation
            self._deltas = {
                signature: (evaluation.came(relation), evaluation.gone(relation))
                for signature, relation in self._outputs.items()
            }
        return self._deltas

    def _begun(self) -> dict[Signature, Version[Row]]:
        return {
            signature: Version(partial(self._evaluation.rows, relation))
            for signature, relation in self._outputs.items()
        }

    def changes(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The same as sorted texts."""
        deltas = self.deltas().items()
        came = _written((signature.name, rows) for signature, (rows, _gone) in deltas)
        gone = _written((signature.name, rows) for signature, (_came, rows) in deltas)
        return tuple(sorted(came)), tuple(sorted(gone))

    def answer(self) -> AnswerSet:
        """The answer as of the last step."""
        versions = {signature: self._versions[signature] for signature in self._shown}
        moment = _Moment(self, self._step, versions)
        self._moments.add(moment)
        return AnswerView(moment)

    def texts(self, step: int, versions: Mapping[Signature, Version[Row]]) -> Collection[str]:
        """What a step showed, sorted: the last one, or one before it."""
        if step != self._step or versions.keys() != self._shown.keys():
            rows = ((s.name, version.members()) for s, version in versions.items())
            return sorted(_written(rows))
        if self._written == step - 1:
            self._texts.follow(self._evaluation)
        elif self._written != step:
            self._texts = Shown([(relation, s.name) for s, relation in self._shown.items()])
            self._texts.follow(cast("Evaluation", _Begun(self._evaluation)))
        self._written = step
        return self._texts.version.members()


class _Begun:
    """An evaluation as if its first step had brought all there is."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.came = self.rows = evaluation.rows
        self.is_plain = evaluation.is_plain

    def gone(self, _relation: str) -> Collection[Row]:
        """Nothing."""
        return ()


class _Moment(Version[str]):
    """The texts of one step."""

    __slots__ = ("__weakref__", "_answers", "_step", "_versions")

    def __init__(
        self, answers: Answers, step: int, versions: Mapping[Signature, Version[Row]]
    ) -> None:
        self._answers, self._step, self._versions = answers, step, versions

    def members(self) -> Collection[str]:
        """See `Version`."""
        return self._answers.texts(self._step, self._versions)


def _written(rows: Iterable[tuple[str, Collection[Row]]]) -> list[str]:
    return [atom_text(name, row) for name, found in rows for row in found]
