"""Telling people of their repeating trips when something is to be told.

All it knows is in the database: when a trip is looked at next, what was told last. What it tells
and that it was told are one transaction, so that a restart doubles and loses nothing. What was
missed is told late while the trip is still to come or under way, and left out afterwards.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import date
from typing import Any, Protocol

from sqlalchemy import Connection, Engine

from citywise.apps.travel_planner import repeat_news, repeats
from citywise.apps.travel_planner.repeat_looks import Look
from citywise.apps.travel_planner.repeat_times import LOOK_MS, STAGES, Run, Stage, next_look, run
from citywise.apps.travel_planner.repeats import Content, Course, Repeat
from citywise.apps.travel_planner.roads.conditions import Conditions
from citywise.apps.travel_planner.trips import APP, Body
from citywise.backend.app import boxes as sealing
from citywise.backend.app import notices, outbox, times

LOG = logging.getLogger("citywise.travel_planner")
AT_ONCE = 5
"""Trips looked at in a step: others wait meanwhile."""
AHEAD, CHANGED, NONE = "repeat_ahead", "repeat_changed", "repeat_none"
KINDS = (AHEAD, CHANGED, NONE)
TEMPLATE = "ahead"
"""Whose notices these stand beside, for a person's wishes."""
INSTANCE = "repeats"
_FIRST = 4
"""Details that say no more than the way: its day, its times and its lines."""
News = tuple[str, dict[str, Any]]
"""The kind of a notice, and its details."""


class Looker(Protocol):
    """How a trip stands: `Looks`."""

    def look(
        self, asked: Body, at: Run, by: str, plan: dict[str, Any] | None, conditions: Conditions
    ) -> Look | None: ...


class Repeater:
    """Tells of the repeating trips of one city; for one thread."""

    def __init__(self, engine: Engine, boxes: sealing.Boxes, looks: Looker) -> None:
        self._engine, self._boxes, self._looks = engine, boxes, looks
        self.told = 0
        """Notices since the start."""

    def step(self, conditions: Conditions) -> bool:
        """Look at the trips that are due, some at most; returns whether there may be more."""
        with self._engine.connect() as connection:
            due = repeats.due(connection, self._boxes, conditions.now_ms, AT_ONCE)
        for one in due:
            try:
                self._look(one, conditions)
            except Exception:  # one that cannot be looked at is no reason to leave the others
                LOG.exception("cannot look at repeating trip %s; trying again", one.id)
                later = replace(one, due_ms=conditions.now_ms + LOOK_MS)
                self._keep(one, later, conditions.now_ms)
        return len(due) == AT_ONCE

    def _look(self, one: Repeat, conditions: Conditions) -> None:
        now_ms, content = conditions.now_ms, one.content
        pattern, course = content.pattern, content.course
        at = None if course.day is None else _run(content, course.departs_ms, course.arrives_ms)
        # Nobody looked at it before it was to begin: nothing was told, and they have left.
        is_missed = (
            at is not None
            and course.looked == "waiting"
            and pattern.by == "depart"
            and now_ms >= at.anchor_ms
        )
        if at is None or is_missed or at.stage(now_ms) == "over":
            done = content.done if at is None else at.day.isoformat()
            over = replace(content, done=done, course=Course())
            self._keep(one, repeats.begun(one, over, now_ms), now_ms, is_over=True)
            return
        plan = None if course.plan is None else dict(course.plan)
        seen = self._looks.look(content.request, at, pattern.by, plan, conditions)
        if seen is None:
            self._keep(one, replace(one, due_ms=now_ms + LOOK_MS), now_ms)
            return
        self._tell(one, at, seen, now_ms)

    def _tell(self, one: Repeat, at: Run, seen: Look, now_ms: int) -> None:
        """Keep what was seen, and tell of it if it is time to and something has changed."""
        content = one.content
        departs, arrives = _ends(seen.plan)
        if content.course.departs_ms is None:
            at = _run(content, departs, arrives)  # What was found, no guess.
        if at.stage(now_ms) == "underway":
            departs = at.departs_ms  # One is on it, however late it runs.
            arrives = arrives or at.arrives_ms
        found = _run(content, departs, arrives)
        stage = found.stage(now_ms)
        looked = max(content.course.looked, stage, key=STAGES.index)
        course = Course(content.course.day, looked, departs, arrives, content.course.plan)
        after, news = replace(content, course=course), None
        if stage in ("evening", "before", "underway"):
            after, news = _told(after, seen, stage)
        due_ms = next_look(content.pattern, found, looked, now_ms)
        self._keep(one, replace(one, content=after, due_ms=due_ms), now_ms, news)

    def _keep(
        self,
        seen: Repeat,
        after: Repeat,
        now_ms: int,
        news: News | None = None,
        *,
        is_over: bool = False,
    ) -> None:
        """Write what a look has found, unless the trip has changed meanwhile: then it is due
        still."""
        with self._engine.begin() as connection:
            outbox.begin(connection)
            if repeats.find(connection, self._boxes, seen.id) != seen:
                return
            repeats.save(connection, self._boxes, after)
            if news is not None or is_over:
                close(connection, seen, now_ms)
            if news is not None:
                notices.tell(connection, _notice(after, *news), now_ms)
                self.told += 1


def close(connection: Connection, one: Repeat, now_ms: int) -> None:
    """Close the notice that is open of a trip, in a transaction that has called
    `outbox.begin`."""
    for kind in KINDS if one.content.number else ():
        notices.tell(connection, _notice(one, kind, {}), now_ms, "closed")


def _told(content: Content, seen: Look, stage: Stage) -> tuple[Content, News | None]:
    """A trip of which it is time to tell, and what is to be told."""
    before = repeat_news.from_body(content.told)
    is_quiet = stage == "underway" and not content.pattern.underway
    details = {} if is_quiet else repeat_news.news(before, seen.state)
    # What was seen in silence was not told.
    told = None if is_quiet else repeat_news.settled(before, seen.state, is_told=bool(details))
    after = replace(
        content,
        told=content.told if told is None else asdict(told),
        number=content.number + bool(details),
        course=replace(content.course, plan=seen.plan),
    )
    if not details:
        return after, None
    way = CHANGED if stage == "underway" else AHEAD
    return after, (way if "departs" in details else NONE, details)


def _notice(one: Repeat, kind: str, details: Mapping[str, Any]) -> notices.Own:
    is_bad = kind == NONE or details.keys() & {"cancelled", "broken"}
    level = 4 if is_bad else 3 if kind == CHANGED or len(details) > _FIRST else 2
    instance = f"{one.user}.{INSTANCE}"
    name = one.content.name
    return notices.Own(APP, TEMPLATE, instance, one.user, kind, one.id, name, level, details)


def _run(content: Content, departs_ms: int | None, arrives_ms: int | None) -> Run:
    assert content.course.day is not None
    return run(content.pattern, date.fromisoformat(content.course.day), departs_ms, arrives_ms)


def _ends(plan: Body | None) -> tuple[int | None, int | None]:
    """When one departs and arrives."""
    if plan is None:
        return None, None
    return times.parse_ms(plan["departs"]), times.parse_ms(plan["arrives"])
