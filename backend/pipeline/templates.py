"""Runs of templates that stay in a worker's memory between batches.

They hold what stands for all users, so building one anew from the log is expensive: a run
that another worker has overtaken catches up over what lies between, instead.
"""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from citywise.backend.packs.run import TemplateRun, serves
from citywise.backend.packs.template import TemplateVersion
from citywise.backend.pipeline.parts import Part
from citywise.backend.pipeline.slices import Slices, Stretch
from citywise.reasoning import Limits


class TemplateRuns:
    """The runs that answered last, `most` of them, and where in the log each stands."""

    def __init__(self, slices: Slices, most: int = 64) -> None:
        self._slices = slices
        self._most = most
        self._runs: OrderedDict[Hashable, tuple[TemplateRun, int]] = OrderedDict()

    def take(
        self, template: TemplateVersion, limits: Limits, stretch: Stretch, part: Part
    ) -> tuple[TemplateRun, bool]:
        """A run that stands where the stretch begins, and whether it was at hand.

        Whoever takes it keeps it again when done: a run that fails on the way is gone.
        """
        run, position = self._runs.pop(_key(template, stretch, part), (None, -1))
        if run is not None and stretch.resume_from <= position <= stretch.start:
            between = self._slices.read(stretch.location, position, stretch.start)
            run.skip(between)
            run.adopt(stretch.state)
            return run, True
        if run is not None:
            run.close()
        past = self._slices.read(stretch.location, stretch.resume_from, stretch.start)
        users = serves(part.number, part.of)
        with _uncollected():
            run = TemplateRun(template, limits, users=users, state=stretch.state, past=past)
        return run, False

    def keep(self, template: TemplateVersion, run: TemplateRun, at: Stretch, part: Part) -> None:
        """Keep a run that has taken a stretch; the one longest unused may have to go."""
        self._runs[_key(template, at, part)] = run, at.end
        while len(self._runs) > self._most:
            _key_of_oldest, (oldest, _position) = self._runs.popitem(last=False)
            oldest.close()


@contextmanager
def _uncollected() -> Iterator[None]:
    """What is built here stays: looking through it for garbage, again and again while it
    grows, would take longer than building it."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _key(template: TemplateVersion, stretch: Stretch, part: Part) -> Hashable:
    return template.request_name, template.digest, stretch.location, part
