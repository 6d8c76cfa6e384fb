"""Real time: what updates of trips change of a timetable, applied without making it again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta

from citywise.apps.travel_planner.transit.calls import Call, clock_s, day_of
from citywise.apps.travel_planner.transit.days import Pattern, pattern_of
from citywise.apps.travel_planner.transit.feed import Feed, Trip
from citywise.apps.travel_planner.transit.realtime import (
    Alert,
    Message,
    Moment,
    StopUpdate,
    TripUpdate,
)
from citywise.apps.travel_planner.transit.timetable import (
    Calls,
    Entry,
    Part,
    Timed,
    Timetable,
    continued,
    grouped,
    index_of,
    planned,
)

MOST_FAULTS = 100
"""That are kept in words; the others are counted."""
_NEAR_DAYS = 3
"""How far from the feed's time the day of a trip is looked for that names none."""
Key = tuple[int, str, int, int]
"""A run as planned: feed, trip, midnight of its service day, offset of its frequency."""


class UpdateError(Exception):
    """An update that cannot be applied; the message says why."""


class Live:
    """What messages change; a later update of a run counts instead of an earlier one."""

    def __init__(self, timetable: Timetable, messages: Sequence[Message]) -> None:
        self._timetable = timetable
        self.faults: list[str] = []
        self.fault_count = self.applied = 0
        self.time = max((each.time for each in messages if each.time), default=None)
        """When the newest message was made, Unix seconds."""
        self.alerts: tuple[Alert, ...] = tuple(a for each in messages for a in each.alerts)
        self._runs: dict[Key, Timed | None] = {}
        self._added: dict[tuple[int, str], Timed] = {}
        self._dates: dict[tuple[int, int], date] = {}
        for message in messages:
            for update in message.updates:
                self._take(update, message.time)
        self._gone: dict[int, set[tuple[int, int]]] = defaultdict(set)
        for key in self._runs:
            self._leave_out(key)
        self.extra, self.extra_calls = self._extra()

    def gone(self, template: int) -> frozenset[tuple[int, int]]:
        """Entries of a template that do not run as planned: place, and midnight of the day."""
        return frozenset(self._gone.get(template, ()))

    def is_told_of(self, feed: int, trip: str, midnight: int, offset: int) -> bool:
        """Whether an update counts for a run of the timetable."""
        return (feed, trip, midnight, offset) in self._runs

    def times_of(
        self, feed: int, trip: str, midnight: int, offset: int
    ) -> dict[int, tuple[int, int]]:
        """Arrivals and departures (Unix seconds) of such a run, by `stop_sequence` of the calls
        that are served; none if it is cancelled."""
        run = self._runs[feed, trip, midnight, offset]
        if run is None:
            return {}
        calls = run.entry.parts[0].calls
        pairs = zip(run.arrives, run.departs, strict=True)
        return {call.sequence: pair for call, pair in zip(calls, pairs, strict=True)}

    def left_out(self) -> Iterator[tuple[int, Trip, int, int, set[int]]]:
        """Runs that are cancelled, or leave stops out: feed, trip, midnight of the day, offset
        of the frequency, and the `stop_sequence` of the calls that are served."""
        for (feed, name, midnight, offset), run in self._runs.items():
            trip = self._timetable.trips[feed, name]
            served = set() if run is None else {call.sequence for call in run.entry.parts[0].calls}
            if len(served) < len(trip.calls):
                yield feed, trip, midnight, offset, served

    def _take(self, update: TripUpdate, time: int | None) -> None:
        try:
            self._apply(update, time)
            self.applied += 1
        except UpdateError as fault:
            self._fault(update, str(fault))

    def _fault(self, update: TripUpdate, message: str) -> None:
        self.fault_count += 1
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(f"entity {update.entity!r}: trip {update.trip.trip!r} {message}")

    def _apply(self, update: TripUpdate, time: int | None) -> None:
        kind = update.trip.relationship
        if kind in ("ADDED", "NEW"):
            self._add(update)
            return
        feed, trip = self._found(update)
        if kind == "DUPLICATED":
            self._duplicate(feed, trip, update)
            return
        key = self._key(feed, trip, update, time)
        if kind in ("CANCELED", "DELETED"):
            self._runs[key] = None
        elif kind == "REPLACEMENT":
            self._add(update)
            self._runs[key] = None
        else:
            self._runs[key] = self._updated(key, trip, update)

    # --- Which run is meant -------------------------------------------------------------------

    def _found(self, update: TripUpdate) -> tuple[int, Trip]:
        for feed in range(len(self._timetable.feeds)):
            trip = self._timetable.trips.get((feed, update.trip.trip))
            if trip is not None:
                return feed, trip
        raise UpdateError("is not in the timetable")

    def _key(self, at: int, trip: Trip, update: TripUpdate, time: int | None) -> Key:
        feed, offset = self._timetable.feeds[at], 0
        if trip.is_frequency:
            start = _clock(update.trip.start_time)
            offset = start - trip.calls[0].departs
            if offset not in trip.runs:
                raise UpdateError(f"has no departure at {update.trip.start_time}")
        running = feed.days.get(trip.service, set())
        if update.trip.start_date:
            day = _day(update.trip.start_date)
            if day not in running:
                raise UpdateError(f"does not run on {day}")
        else:
            day = self._guessed(feed, trip, offset, update, time)
        midnight = feed.midnight(day)
        self._dates[at, midnight] = day
        return at, trip.id, midnight, offset

    def _guessed(
        self, feed: Feed, trip: Trip, offset: int, update: TripUpdate, time: int | None
    ) -> date:
        """The day on which the trip runs nearest to the times of the update, else that on which
        it is under way when the feed was made, else the feed's day, else the nearest."""
        first = next(_absolute(trip, update), None)
        about = time if first is None else first[1]
        if about is None:
            raise UpdateError("has no `start_date`, and the feed no time")
        today = datetime.fromtimestamp(about, feed.zone).date()
        near = [today + timedelta(n) for n in range(-_NEAR_DAYS, _NEAR_DAYS + 1)]
        running = [day for day in near if day in feed.days.get(trip.service, ())]
        if not running:
            raise UpdateError(f"does not run about {today}")
        if first is not None:
            due = about - trip.calls[first[0]].departs - offset
            return min(running, key=lambda day: abs(feed.midnight(day) - due))

        def distance(day: date) -> tuple[bool, bool, int]:
            start = feed.midnight(day) + offset + trip.calls[0].departs
            end = start + trip.calls[-1].arrives - trip.calls[0].departs
            return not start <= about <= end, day != today, abs(start - about)

        return min(running, key=distance)

    # --- How it runs --------------------------------------------------------------------------

    def _updated(self, key: Key, trip: Trip, update: TripUpdate) -> Timed | None:
        at, _, midnight, offset = key
        calls = self._assigned(at, trip.calls, update)
        return self._timed(at, trip, calls, midnight, offset, update)

    def _timed(
        self,
        at: int,
        trip: Trip,
        matched: dict[int, StopUpdate],
        midnight: int,
        offset: int,
        update: TripUpdate,
        state: str = "updated",
    ) -> Timed | None:
        """The calls that are served, at their times; None if they are fewer than two."""
        shift, delay, before = midnight + offset, update.delay or 0, 0
        others: dict[int, Call | None] = {}  # calls at another stop, or at none
        arrives: list[int] = []
        departs: list[int] = []
        for number, call in enumerate(trip.calls):
            arrival, departure = call.arrives + shift, call.departs + shift
            told = matched.get(number)
            if told is None:
                arrival, departure = arrival + delay, departure + delay
            elif told.relationship in ("NO_DATA", "SKIPPED"):
                delay = 0 if told.relationship == "NO_DATA" else delay
                arrival, departure = arrival + delay, departure + delay
            else:
                arrival, delay = _moved(arrival, told.arrival, delay)
                departure, delay = _moved(departure, told.departure, delay)
            if arrival < before:  # no vehicle goes back in time
                arrival = before
            if departure < arrival:
                departure = arrival
            before = departure
            if told is not None and told.relationship == "SKIPPED":
                others[number] = None
                continue
            if told is not None and told.assigned_stop:
                others[number] = replace(call, stop=told.assigned_stop)
            arrives.append(arrival)
            departs.append(departure)
        if len(arrives) < 2:
            return None
        calls = trip.calls
        if others:
            changed = (others.get(number, call) for number, call in enumerate(trip.calls))
            calls = tuple(call for call in changed if call is not None)
        part = Part(trip, calls, offset, state)
        return Timed(Entry(at, (part,)), tuple(arrives), tuple(departs))

    def _assigned(
        self, at: int, calls: Sequence[Call], update: TripUpdate
    ) -> dict[int, StopUpdate]:
        """Stop updates by the calls that they are about: by sequence, else the next at the
        stop. What fits nowhere is told of."""
        found: dict[int, StopUpdate] = {}
        after = 0
        places = {call.sequence: number for number, call in enumerate(calls)}
        for told in update.stops:
            number = None if told.sequence is None else places.get(told.sequence)
            if number is None or (told.stop and calls[number].stop != told.stop):
                later = range(after, len(calls))
                number = next((n for n in later if calls[n].stop == told.stop), None)
            if number is None:
                self._fault(update, f"has no call at stop {told.stop!r} ({told.sequence})")
                continue
            if told.assigned_stop and (at, told.assigned_stop) not in self._timetable.stops.index:
                self._fault(update, f"is to call at {told.assigned_stop!r}, which no feed has")
                told = replace(told, assigned_stop="")
            found[number] = told
            after = number + 1
        return found

    # --- What no timetable has ----------------------------------------------------------------

    def _add(self, update: TripUpdate) -> None:
        stops = [told for told in update.stops if told.relationship != "SKIPPED"]
        index = self._timetable.stops.index
        feeds = range(len(self._timetable.feeds))
        at = next((f for f in feeds if all((f, t.stop) in index for t in stops)), None)
        if at is None:
            unknown = [t.stop for t in stops if not any((f, t.stop) in index for f in feeds)]
            raise UpdateError(f"is added, but no feed has its stops {unknown[:3]}")
        if len(stops) < 2:
            raise UpdateError("is added, but has fewer than two stops")
        calls, before = [], 0
        for number, told in enumerate(stops):
            times = [m.time for m in (told.arrival, told.departure) if m and m.time is not None]
            if not times:
                raise UpdateError(f"is added, but has no time at stop {told.stop!r}")
            if times[0] < before or times[-1] < times[0]:
                raise UpdateError(f"is added, but goes back in time at stop {told.stop!r}")
            before = times[-1]
            calls.append(Call(told.stop, times[0], times[-1], 0, 0, number))
        self._put(at, update.trip.trip or update.entity, update, tuple(calls))

    def _duplicate(self, at: int, trip: Trip, update: TripUpdate) -> None:
        if update.copy is None:
            raise UpdateError("is duplicated, but the copy has no `trip_id`")
        start = self._timetable.feeds[at].midnight(_day(update.copy.start_date))
        shift = start + _clock(update.copy.start_time) - trip.calls[0].departs
        matched = self._assigned(at, trip.calls, update)
        timed = self._timed(at, trip, matched, shift, 0, update)
        if timed is not None:
            pairs = zip(timed.entry.parts[0].calls, timed.arrives, timed.departs, strict=True)
            calls = tuple(replace(c, arrives=a, departs=d) for c, a, d in pairs)
            self._put(at, update.copy.trip, update, calls, trip)

    def _put(
        self,
        at: int,
        name: str,
        update: TripUpdate,
        calls: tuple[Call, ...],
        like: Trip | None = None,
    ) -> None:
        route, head = update.trip.route or (like.route if like else ""), update.headsign
        head = head or (like.headsign if like else "")
        trip = Trip(name, route, "", "", head, calls, (0,), is_frequency=False)
        self._added[at, name] = Timed(
            Entry(at, (Part(trip, calls, state="added"),)),
            tuple(call.arrives for call in calls),
            tuple(call.departs for call in calls),
        )

    # --- For the search -----------------------------------------------------------------------

    def _leave_out(self, key: Key) -> None:
        feed, trip, midnight, offset = key
        for number, place in self._timetable.found.get((feed, trip), ()):
            entry = self._timetable.templates[number].entries[place]
            if any(part.trip.id == trip and part.offset == offset for part in entry.parts):
                self._gone[number].add((place, midnight))

    def _extra(self) -> tuple[list[Pattern], tuple[Calls, Calls]]:
        """Patterns of what runs otherwise than planned, and where one gets on and off there."""
        since = {timed.entry: 0 for timed in self._added.values()}
        timed = list(self._added.values())
        blocks: set[tuple[int, str, int]] = set()
        for (feed, name, midnight, _), run in self._runs.items():
            trip = self._timetable.trips[feed, name]
            if trip.block and not trip.is_frequency:
                blocks.add((feed, trip.block, midnight))
            if run is not None:
                timed.append(run)
                since[run.entry] = midnight
        for block in blocks:
            for joined in self._joined(*block):
                timed.append(joined)
                since[joined.entry] = block[2]
        templates = grouped(timed, self._timetable.stops, self._timetable.shapes)
        patterns = [
            pattern_of(
                template,
                [(entry, since[entry]) for entry in template.entries],
                template.arrives.tolist(),
                template.departs.tolist(),
            )
            for template in templates
        ]
        return patterns, index_of(templates)

    def _joined(self, feed: int, block: str, midnight: int) -> Iterator[Timed]:
        """The continuations of a vehicle's day of which one trip is otherwise than planned."""
        days, runs = self._timetable.feeds[feed].days, []
        for trip in self._timetable.blocks[feed, block]:
            if (feed, trip.id, midnight, 0) in self._runs:
                found = self._runs[feed, trip.id, midnight, 0]
                runs += [] if found is None else [found]
            elif self._dates[feed, midnight] in days.get(trip.service, ()):
                plan = planned(feed, trip)
                arrives, departs = (
                    tuple(time + midnight for time in times)
                    for times in (plan.arrives, plan.departs)
                )
                runs.append(Timed(plan.entry, arrives, departs))
        for joined in continued(runs, self._timetable.stops):
            ids = joined.entry.ids
            if any((feed, trip, midnight, 0) in self._runs for trip in ids):
                yield joined


def _moved(due: int, told: Moment | None, delay: int) -> tuple[int, int]:
    """When, and how late: a time beats a delay, without both it is as late as before."""
    if told is not None and told.time is not None:
        return told.time, told.time - due
    if told is not None and told.delay is not None:
        return due + told.delay, told.delay
    return due + delay, delay


def _absolute(trip: Trip, update: TripUpdate) -> Iterator[tuple[int, int]]:
    """Calls of which an update has a time: their number, and the time."""
    for told in update.stops:
        for number, call in enumerate(trip.calls):
            fits = call.sequence == told.sequence if told.sequence is not None else True
            if fits and told.stop in ("", call.stop):
                for moment in (told.departure, told.arrival):
                    if moment is not None and moment.time is not None:
                        yield number, moment.time


def _clock(text: str) -> int:
    try:
        seconds = clock_s(text)
    except ValueError as error:
        raise UpdateError(str(error)) from None
    if seconds is None:
        raise UpdateError("runs by frequency, or twice, and has no `start_time`")
    return seconds


def _day(text: str) -> date:
    try:
        return day_of(text)
    except ValueError as error:
        raise UpdateError(str(error)) from None
