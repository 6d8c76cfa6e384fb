"""What explains a run, by the language of its program."""

from __future__ import annotations

from reasoning.explain.recorded import RecordedExplainer
from reasoning.lars.explaining import LarsExplainer
from reasoning.recorded import Recorded
from reasoning.rif.explaining import RifExplainer


def recorded_explainer(
    run: Recorded, at: int | str | None, number: int = 1, evaluation: int | None = None
) -> RecordedExplainer:
    """What explains an evaluation of a run, whatever the language of its program."""
    kind = RecordedExplainer
    if run.lars is not None:
        kind = LarsExplainer
    elif run.rif is not None:
        kind = RifExplainer
    return kind(run, at, number, evaluation)
