"""Whether a change of a notice alerts its user now, later or not: by the user's wishes alone.

No I/O here. All times are stream time; times of day are the city's (docs/notices.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from citywise.backend.times import local

MUTED = "muted"
BELOW_THRESHOLD = "below-threshold"
ACKNOWLEDGED = "acknowledged"
SAME_EVENT = "same-event"
SNOOZED = "snoozed"
QUIET_HOURS = "quiet-hours"
COOL_DOWN = "cool-down"
FOR_GOOD = (MUTED, BELOW_THRESHOLD)
"""What holds a notice back by the wishes alone, with no alert promised for later."""
FOR_NOW = (SNOOZED, QUIET_HOURS, COOL_DOWN)
"""What holds it back for a time: the alert is promised, even where no end is in sight."""
LONGEST_COOL_DOWN_S = 7 * 86_400
MOST_SPANS, MOST_MUTED = 20, 500
_TIME = r"^([01]\d|2[0-3]):[0-5]\d$"
_WEEK_DAYS = 8
"""Days to look ahead: a span that lasts longer never ends."""

Criticality = Annotated[int, Field(ge=1, le=5)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Quiet(_Part):
    """A span of the day in which nothing alerts, in the city's time.

    `until` at or before `from` is on the next day; the two alike are 24 hours. `days`
    (1 is Monday) are those on which it begins; null: all. What is at least as critical as
    `except_from` alerts all the same; null: nothing does.
    """

    begin: str = Field(alias="from", pattern=_TIME)
    until: str = Field(pattern=_TIME)
    days: tuple[Annotated[int, Field(ge=1, le=7)], ...] | None = Field(default=None, max_length=7)
    except_from: Criticality | None = None

    @cached_property
    def _minutes(self) -> tuple[int, int]:
        begin, until = (int(text[:2]) * 60 + int(text[3:]) for text in (self.begin, self.until))
        return begin, until

    def holds(self, t_ms: int, criticality: int) -> bool:
        """Whether something so critical is held back at Unix time `t_ms`, milliseconds."""
        if self.except_from is not None and criticality >= self.except_from:
            return False
        begin, until = self._minutes
        now = local(t_ms)
        minute, today = now.hour * 60 + now.minute, now.isoweekday()
        if begin < until:
            return begin <= minute < until and self._on(today)
        return (minute >= begin and self._on(today)) or (
            minute < until and self._on((today + 5) % 7 + 1)
        )

    def end(self, t_ms: int) -> int:
        """The first instant after `t_ms` (Unix ms) at which the clock says `until`."""
        hour, minute = divmod(self._minutes[1], 60)
        today = local(t_ms).replace(hour=hour, minute=minute, second=0, microsecond=0)
        # The clock may say so twice on the day that summer time ends.
        said = (today.replace(fold=0), today.replace(fold=1), today + timedelta(days=1))
        return next(ms for ms in (round(at.timestamp() * 1000) for at in said) if ms > t_ms)

    def _on(self, day: int) -> bool:
        return self.days is None or day in self.days


class Muted(_Part):
    """A kind of notice that never alerts."""

    app: str = Field(min_length=1, max_length=32)
    notice: str = Field(min_length=1, max_length=32)


class ByMail(_Part):
    """Which alerts come by e-mail: what is as critical as `from`, of some apps or (null) of all."""

    begin: Criticality = Field(default=3, alias="from")
    apps: tuple[Annotated[str, Field(min_length=1, max_length=32)], ...] | None = Field(
        default=None, max_length=100
    )

    def wants(self, app: str, criticality: int) -> bool:
        """Whether an alert of an app comes by e-mail."""
        return criticality >= self.begin and (self.apps is None or app in self.apps)


class Channels(_Part):
    """By which ways alerts may come, beside the open page."""

    browser: bool = True
    mqtt: bool = True
    email: ByMail | None = None
    """None: by e-mail comes nothing."""


class Wishes(_Part):
    """What may alert a user, and when. Without word of the user: everything, at once."""

    threshold: Criticality = 1
    """What is less critical does not alert."""
    quiet: tuple[Quiet, ...] = Field(default=(), max_length=MOST_SPANS)
    cool_down_s: int = Field(default=0, ge=0, le=LONGEST_COOL_DOWN_S)
    """Seconds between two alerts of one kind of notice."""
    muted: tuple[Muted, ...] = Field(default=(), max_length=MOST_MUTED)
    channels: Channels = Channels()

    @cached_property
    def _mutes(self) -> frozenset[tuple[str, str]]:
        return frozenset((kind.app, kind.notice) for kind in self.muted)

    def mutes(self, app: str, notice: str) -> bool:
        """Whether a kind of notice never alerts."""
        return (app, notice) in self._mutes

    def is_quiet(self, t_ms: int, criticality: int) -> bool:
        """Whether something so critical is held by quiet hours at `t_ms` (Unix ms)."""
        return any(span.holds(t_ms, criticality) for span in self.quiet)

    def awake_from(self, t_ms: int, criticality: int) -> int | None:
        """The first instant from `t_ms` on (Unix ms) that is not quiet for something so
        critical; None where there is none within a week."""
        latest = t_ms + _WEEK_DAYS * 86_400_000
        while t_ms <= latest:
            holding = [span.end(t_ms) for span in self.quiet if span.holds(t_ms, criticality)]
            if not holding:
                return t_ms
            t_ms = min(holding)
        return None


DEFAULT = Wishes()


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a notice and of its user's acts; times in Unix ms of stream time."""

    app: str
    kind: str
    criticality: int
    known: int = 0
    """The highest criticality its user was alerted to or has acknowledged; 0: none."""
    acknowledged: bool = False
    snoozed_until_ms: int | None = None
    """Until it has alerted after that, an alert is owed."""
    held_because: str | None = None
    due_ms: int | None = None
    """When an alert that was held back is to come."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Standing:
        """The standing of a row of `notices`."""
        return cls(
            row["app"],
            row["kind"],
            row["criticality"],
            row["alerted_criticality"] or 0,
            row["acknowledged_ms"] is not None,
            row["snoozed_until_ms"],
            row["held_because"],
            row["due_ms"],
        )

    @property
    def is_owed(self) -> bool:
        """Whether its user does not know how critical it is, or is to be told again."""
        promised = self.due_ms is not None or self.snoozed_until_ms is not None
        return promised or self.criticality > self.known

    @property
    def is_copy(self) -> bool:
        """Whether another notice may stand for it: it has told nothing, or one does already."""
        return self.known == 0 or self.held_because == SAME_EVENT


@dataclass(frozen=True, slots=True)
class Attention:
    """What comes of a change: an alert, or why none, and when one is due instead (Unix ms)."""

    alert: bool
    held_because: str | None = None
    due_ms: int | None = None


Change = Literal["opened", "updated", "closed", "reminded"]
_ALERT = Attention(alert=True)
_SILENT = Attention(alert=False)


def decide(
    wishes: Wishes,
    notice: Standing,
    change: Change,
    now_ms: int,
    last_alert_ms: int | None = None,
    told: int = 0,
) -> Attention:
    """Whether a change alerts at stream time `now_ms`.

    `notice` is as it stands after the change; `last_alert_ms` is when its user was last
    alerted to any notice of this app and kind; `told` is the highest criticality that another
    open notice told them of the same event (0: none). What holds first is the reason, in this
    order: muted, below the threshold, acknowledged, told by another notice of the same event,
    snoozed, quiet hours, cool-down.
    """
    if change == "closed":
        return _SILENT
    held = _held_for_good(wishes, notice)
    if held is not None:
        return Attention(alert=False, held_because=held)
    if notice.is_copy and notice.criticality <= told:
        return Attention(alert=False, held_because=SAME_EVENT)
    if not notice.is_owed:
        return _SILENT
    reminds = change == "reminded" or (notice.due_ms is not None and notice.due_ms <= now_ms)
    last = None if reminds or 0 < notice.known < notice.criticality else last_alert_ms
    return _held_for_now(wishes, notice, now_ms, last) or _ALERT


def _held_for_good(wishes: Wishes, notice: Standing) -> str | None:
    """Why something never alerts as long as it and the wishes stay as they are."""
    if wishes.mutes(notice.app, notice.kind):
        return MUTED
    if notice.criticality < wishes.threshold:
        return BELOW_THRESHOLD
    known = notice.acknowledged and notice.criticality <= notice.known
    return ACKNOWLEDGED if known else None


def _held_for_now(
    wishes: Wishes, notice: Standing, now_ms: int, last_alert_ms: int | None
) -> Attention | None:
    """Why something does not alert yet; it is due when nothing will hold it any more."""
    snoozed, level = notice.snoozed_until_ms, notice.criticality
    if snoozed is not None and now_ms < snoozed:
        return Attention(False, SNOOZED, wishes.awake_from(snoozed, level))
    if wishes.is_quiet(now_ms, level):
        return Attention(False, QUIET_HOURS, wishes.awake_from(now_ms, level))
    over = None if last_alert_ms is None else last_alert_ms + wishes.cool_down_s * 1000
    if over is None or over <= now_ms:
        return None
    if notice.held_because == COOL_DOWN and notice.due_ms is not None:
        over = notice.due_ms  # other alerts do not put it off again
    return Attention(False, COOL_DOWN, wishes.awake_from(over, level))
