"""What is told of a template's answers: changes of notices, late or skipped where the system was
away, and with the readings that were corrected where these are why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from citywise.backend.packs.notices import (
    Notice,
    changes,
    differing,
    have_other_details,
    refreshed,
    stated,
)
from citywise.backend.packs.supply import Supply
from citywise.backend.packs.template import TemplateVersion
from citywise.reasoning.run.keyed import KeyedAnswer, KeyedEvaluation

LATE_MS = 10 * 60_000
"""What lies further behind the present than this has come while the system was away."""
_MINUTE_MS = 60_000


class Telling:
    """Tells of a template's answers. `amended` is what was corrected since the last clock."""

    def __init__(
        self,
        template: TemplateVersion,
        evaluation: KeyedEvaluation,
        supply: Supply,
        amended: Mapping[str, list[dict[str, Any]]],
    ) -> None:
        self._template, self._evaluation = template, evaluation
        self._supply, self._amended = supply, amended
        self.present_ms: int | None = None
        """What time it is (Unix ms) for whom the log is as it comes. None: nothing is late."""
        self.late_ms: float = LATE_MS
        self._untold: dict[str, tuple[str, ...]] = {}
        """What was told last of keys whose answers have changed while the system was away."""
        self._stale_details: set[str] = set()
        """Keys whose notices have other details than was told."""
        self._minute: int | None = None

    def skips(self, t_ms: int) -> bool:
        """Whether an instant is missed and what it brings is not to be told."""
        return self._template.missed == "skip" and self._lateness(t_ms) > 0

    def catches_up(self, t_ms: int) -> bool:
        """Whether something is to be told that was not at its time."""
        return bool(self._untold) and not self.skips(t_ms)

    def _lateness(self, t_ms: int) -> int:
        """By how much an instant has been missed, in milliseconds; 0: it has not."""
        late_ms = 0 if self.present_ms is None else self.present_ms - t_ms
        return late_ms if late_ms > self.late_ms else 0

    def of(self, answers: Mapping[str, KeyedAnswer], t_ms: int) -> Mapping[str, KeyedAnswer]:
        """The answers of which is told: all; or where what is missed is skipped none now, but
        later what has changed since, as a whole."""
        skips = self.skips(t_ms)
        if skips:
            gone = {k: a for k, a in answers.items() if self._supply.instances.get(k[1:-1]) is None}
            for key, answer in answers.items():
                if key not in gone:
                    self._untold.setdefault(key, answer.before)
            answers = gone
        told = dict(answers)
        for key in [k for k in self._untold if not skips or k in told]:
            now = told[key].after if key in told else self._evaluation.answer(key)
            told[key] = KeyedAnswer(self._untold.pop(key), now)
        return told

    def changes(
        self, t_ms: int, key: str, answer: KeyedAnswer, faults: list[str]
    ) -> Iterator[dict[str, Any]]:
        """The changes of a key's notices, as rows carry them; what is wrong goes to `faults`."""
        supply, kinds = self._supply, self._template.notices
        about = supply.sight.about
        old, new = differing(answer.before, answer.after)
        before, after = stated(old, about, kinds), stated(new, about, kinds)
        faults += [f"instance {key}: {fault}" for fault in after.faults]
        owner = supply.instances.owner(key)
        if have_other_details(before, after):
            self._stale_details.add(key)

        def because(notice: Notice) -> str:
            if supply.instances.get(owner.instance) is None:
                return supply.ended.get(owner.instance, "removed")
            if supply.is_over(notice.about_type, notice.about):
                return "ended"
            if notice.about in self._amended:
                return "corrected"
            is_far = supply.is_far(key, notice.about_type, notice.about)
            return "moved_away" if is_far else "no_longer"

        for change in changes(self._template, owner, t_ms, before, after, because):
            told = {**change, **supply.named(change["about_type"], change["about"])}
            late_ms = self._lateness(t_ms)
            if late_ms and change["change"] != "closed":
                told["late_ms"] = late_ms
            amended = self._amended.get(change["about"])
            if amended is not None and change["closed_because"] == "corrected":
                told["taken_back"] = amended
            elif amended is not None and change["change"] == "updated":
                told["amended"] = {"because": amended}
            yield told

    def refreshed(self, t_ms: int) -> Iterator[dict[str, Any]]:
        """Once a minute, the notices whose details have changed: they do so all the time."""
        minute = t_ms // _MINUTE_MS
        if minute == self._minute:
            return
        self._minute = minute
        for key in sorted(self._stale_details):
            if self._supply.instances.get(key[1:-1]) is not None:
                atoms = self._evaluation.answer(key)
                now = stated(atoms, self._supply.sight.about, self._template.notices)
                owner = self._supply.instances.owner(key)
                yield from refreshed(self._template, owner, t_ms, now)
        self._stale_details.clear()

    def state(self) -> dict[str, Any]:
        """What is still to be told, for a run that goes on."""
        untold = {key: list(answer) for key, answer in sorted(self._untold.items())}
        return {"untold": untold} if untold else {}

    def adopt(self, state: Mapping[str, Any]) -> None:
        """What `state` gave is still to be told."""
        self._untold = {key: tuple(said) for key, said in state.get("untold", {}).items()}
