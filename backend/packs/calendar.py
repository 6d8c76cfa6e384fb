"""The city's local time as facts; they change with the minute."""

from __future__ import annotations

from citywise.backend.opening import is_open
from citywise.backend.packs.instances import Instance, Instances
from citywise.backend.packs.sight import Sight
from citywise.backend.space import LocalTime, in_span
from citywise.reasoning.rdf.mapping import quote
from citywise.reasoning.run.keyed import KeyedEvaluation


class Calendar:
    """Keeps the facts about the time of day, spans of it, and opening hours in step."""

    def __init__(
        self, sight: Sight, instances: Instances, evaluation: KeyedEvaluation, zone: str
    ) -> None:
        self._sight, self._instances, self._evaluation = sight, instances, evaluation
        self._zone, self._time = zone, LocalTime(zone)
        self._wanted = sight.reads("time_of_day", "weekday", "date", "during", "open")
        self._hours: dict[str, str] = {}
        self._minute: int | None = None

    def begin(self, instance: Instance) -> None:
        """There is an instance from now on."""
        if instance.spans:
            self._minute = None

    def put_hours(self, entity: str, hours: str | None) -> None:
        """A place has opening hours that can be read, or none."""
        if hours:
            self._hours[entity] = hours
        elif self._hours.pop(entity, None):
            self._evaluation.facts.put(entity, "open", ())
        self._minute = None

    def settle(self, t_ms: int) -> None:
        """Tell the time (Unix ms), if it is another minute or there is something new."""
        minute = t_ms // 60_000
        if not self._wanted or self._minute == minute:
            return
        self._minute = minute
        now = self._time.facts(t_ms)
        year, month, day = now.date
        told = {
            "time_of_day": f"time_of_day({now.minute})",
            "weekday": f"weekday({now.weekday})",
            "date": f"date({year},{month},{day})",
        }
        facts = [fact for name, fact in told.items() if name in self._sight.names]
        self._evaluation.everywhere("time", facts)
        for instance in self._instances.with_spans:
            self._tell_spans(instance, now.minute)
        for entity, hours in self._hours.items() if self._sight.reads("open") else ():
            fact = [f"open({entity})"] if is_open(hours, t_ms, self._zone) else []
            self._evaluation.facts.put(entity, "open", fact)

    def _tell_spans(self, instance: Instance, minute: int) -> None:
        facts = [
            f"during({instance.key},{quote(name)})"
            for name, spans in instance.spans.items()
            if any(in_span(minute, span) for span in spans)
        ]
        self._evaluation.facts.put(instance.key, "during", facts)
