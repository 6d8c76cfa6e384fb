"""The search of a large timetable, compiled: the same rounds as `search`, over arrays.

Values only: when and how far walked, by rides. Measured beside the same in Python, and vectorised
numpy (docs/decisions/transit-search.md).
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

Ints = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
FAR = 1 << 60
"""Micrometres and rides to where nobody gets."""
_STOP, _TIME, _MICRO, _RIDES, _NEXT = range(5)


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """An entry, compiled or read from numba's cache by one process at a time.

    That cache has no lock: its index is written before the code it names, under the first free
    name, so that of processes that begin together one may read another's code for its own.
    """
    entry = njit(cache=True)(function)
    known: set[tuple[Any, ...]] = set()

    @wraps(function)
    def call(*given: Any) -> Any:
        types = tuple(map(_type, given))
        if types in known:
            return entry(*given)
        with Path(__file__).open("rb") as lock:
            with suppress(OSError):  # no locks on this file system
                fcntl.flock(lock, fcntl.LOCK_EX)
            found = entry(*given)
        known.add(types)
        return found

    return call


def _type(given: Any) -> tuple[Any, ...]:
    """What tells arguments apart that code is compiled for."""
    if isinstance(given, np.ndarray):
        return given.dtype, given.ndim, given.flags.c_contiguous, given.flags.writeable
    return (type(given),)


@njit(cache=True)
def _roomy(rows: Any, count: int) -> Any:
    """The rows, or a copy with more room, where there is none for one more."""
    if count < rows.shape[0]:
        return rows
    more = np.empty((count * 2, rows.shape[1]), np.int64)
    more[:count] = rows
    return more


@njit(cache=True)
def _put(rows: Any, count: int, a: int, b: int, c: int, d: int, e: int) -> Any:
    """The rows, or a copy with more room, with one more."""
    rows = _roomy(rows, count)
    rows[count, 0], rows[count, 1], rows[count, 2] = a, b, c
    rows[count, 3], rows[count, 4] = d, e
    return rows


@njit(cache=True)
def _is_beaten(at: int, rows: Any, t: int, m: int, rides: int) -> bool:
    """Whether a row is no later, no further walked and no more often ridden."""
    while at >= 0:
        if rows[at, _TIME] <= t and rows[at, _MICRO] <= m and rows[at, _RIDES] <= rides:
            return True
        at = rows[at, _NEXT]
    return False


@njit(cache=True)
def _linked(head: Any, rows: Any, count: int) -> None:
    """Take a row into those of its stop, and out of them what it beats: that leads nowhere."""
    stop, t, m, rides = rows[count, 0], rows[count, 1], rows[count, 2], rows[count, 3]
    before, at = -1, head[stop]
    while at >= 0:
        after = rows[at, _NEXT]
        if t <= rows[at, _TIME] and m <= rows[at, _MICRO] and rides <= rows[at, _RIDES]:
            rows[at, _STOP] = -1
            if before < 0:
                head[stop] = after
            else:
                rows[before, _NEXT] = after
        else:
            before = at
        at = after
    rows[count, _NEXT], head[stop] = head[stop], count


@njit(cache=True)
def _without(ends: Any, found: int, t: int, m: int, rides: int) -> int:
    """Take out those that an end that is not outdone by them beats; how many are left."""
    kept = 0
    for row in range(found):
        if ends[row, 0] < t or ends[row, 1] < m or ends[row, 2] < rides:
            if kept < row:
                ends[kept] = ends[row]
            kept += 1
    return kept


@njit(cache=True)
def _is_outdone(ends: Any, found: int, t: int, m: int, rides: int, group: int) -> bool:
    """Whether an end is better than what can become of times, micrometres and rides. Only as
    good is not enough, unless it departs later: of equals the later searches choose, among all
    that meets what was reached here.

    `ends` are (time, micrometres below its metres, rides, group, micrometres of its metres).
    """
    for row in range(found):
        is_as_good = ends[row, 0] <= t and ends[row, 2] <= rides and ends[row, 1] < m
        if is_as_good and (
            ends[row, 0] < t or ends[row, 2] < rides or ends[row, 4] < m or ends[row, 3] < group
        ):
            return True
    return False


@njit(cache=True)
def _meets(
    at: Any, rows: Any, stop: int, t: int, m: int, rides: int, limit: int, most: int
) -> bool:
    """Whether the search from the other end was there by then, within what may be walked and
    ridden."""
    for row in range(at[stop], at[stop + 1]):
        if rows[row, 0] + t > 0:
            return False
        if rows[row, 1] + m <= limit and rows[row, 2] + rides <= most:
            return True
    return False


@_compiled
def by_stop(rows: Any, count: int, stops: int) -> tuple[Any, Any]:
    """Where the rows of each stop begin, and all (time, micrometres, rides) in order of stops, then
    of times."""
    at = np.zeros(stops + 1, np.int64)
    for row in range(count):
        if rows[row, _STOP] >= 0:
            at[rows[row, _STOP] + 1] += 1
    for stop in range(stops):
        at[stop + 1] += at[stop]
    free = at.copy()
    found = np.empty((at[stops], 3), np.int64)
    for row in range(count):
        if rows[row, _STOP] < 0:
            continue
        stop, t = rows[row, _STOP], rows[row, _TIME]
        place = free[stop]
        free[stop] += 1
        while place > at[stop] and found[place - 1, 0] > t:
            found[place] = found[place - 1]
            place -= 1
        found[place, 0], found[place, 1], found[place, 2] = t, rows[row, _MICRO], rows[row, _RIDES]
    return at, found


@_compiled
def bounds(target: Any, patterns: Any, calls: Any, change_at: Any, changes: Any) -> tuple[Any, Any]:
    """By stop the least micrometres and rides from getting off there to the target, and from
    getting on, whatever the time; `changes` by the stop that they lead to.

    That nobody is faster than who never waits was tried too: it took longer than it saved.
    """
    stops = target.shape[0]
    off, ready = np.full((stops, 2), FAR, np.int64), np.full((stops, 2), FAR, np.int64)
    is_new, is_on = target[:, 0] >= 0, np.zeros(stops, np.bool_)
    for stop in range(stops):
        if is_new[stop]:
            off[stop, 0], off[stop, 1] = target[stop, 1], 0
    while is_new.any():
        is_on[:] = False
        for pattern in range(patterns.shape[0]):
            first, last = patterns[pattern, 0], patterns[pattern, 1] - 1
            while last > 0 and not is_new[calls[first + last, 0]]:
                last -= 1
            m, rides = FAR, FAR
            for call in range(last, -1, -1):
                stop = calls[first + call, 0]
                if calls[first + call, 2] == 1 and (m < ready[stop, 0] or rides < ready[stop, 1]):
                    ready[stop, 0], ready[stop, 1] = (
                        min(m, ready[stop, 0]),
                        min(rides, ready[stop, 1]),
                    )
                    is_on[stop] = True
                if calls[first + call, 1] == 1 and off[stop, 1] < FAR:
                    m, rides = min(m, off[stop, 0]), min(rides, off[stop, 1] + 1)
        is_new[:] = False
        for to in range(stops):
            if not is_on[to]:
                continue
            for row in range(change_at[to], change_at[to + 1]):
                stop, m = changes[row, 0], ready[to, 0] + changes[row, 2]
                if m < off[stop, 0] or ready[to, 1] < off[stop, 1]:
                    off[stop, 0] = min(m, off[stop, 0])
                    off[stop, 1] = min(ready[to, 1], off[stop, 1])
                    is_new[stop] = True
    return off, ready


@_compiled
def rounds(
    seeds: Any,
    target: Any,
    stop_at: Any,
    stop_calls: Any,
    patterns: Any,
    calls: Any,
    base: int,
    arrives: Any,
    departs: Any,
    change_at: Any,
    changes: Any,
    off_bound: Any,
    ready_bound: Any,
    against: Any,
    other_off_at: Any,
    other_off: Any,
    other_ready_at: Any,
    other_ready: Any,
    end: int,
    limit: int,
    most: int,
    metre: int,
) -> tuple[Any, int, Any, int, Any]:
    """Rows of (stop, time, micrometres, rides): got off, and how many; ready to get on, and how
    many; rows of (time, -, rides, group, micrometres rounded up to metres) at the target.

    `seeds` are rows of (stop, time, micrometres, group), groups in order: a later one departs
    earlier; `target` has seconds (-1: none) and micrometres by stop; `stop_calls` are (pattern,
    call) by stop; `patterns` have first call, calls, first time, runs; `calls` are (stop,
    alights, boards); times are seconds from `base`, departures by call, then by run, arrivals by
    run, then by call, as who rides asks for them; `changes` are (to, seconds, micrometres) by stop,
    the shortest first; `most` is of rides. `against`: only what meets the rows of the other search
    is followed, and for the least time alone: whatever is later is left out.
    """
    stops = stop_at.size - 1
    off_head, ready_head = np.full(stops, -1, np.int64), np.full(stops, -1, np.int64)
    off, ready = np.empty((1024, 5), np.int64), np.empty((1024, 5), np.int64)
    ends, best = np.empty((64, 5), np.int64), np.empty((64, 5), np.int64)
    offs = readies = found = bests = 0
    waiting = np.full(calls.shape[0], -1, np.int32)  # who gets on there, linked
    begins = np.full(patterns.shape[0], -1, np.int64)
    ridden = np.full((0 if against else calls.shape[0], 3), FAR, np.int64)
    touched = np.empty(patterns.shape[0], np.int64)
    boards = np.empty((1024, 2), np.int64)
    aboard = np.empty((64, 2), np.int64)
    row = 0
    while row < seeds.shape[0]:
        group, rides = seeds[row, 3], 0
        first_ready = readies
        while row < seeds.shape[0] and seeds[row, 3] == group:
            stop, t, m = seeds[row, 0], seeds[row, 1], seeds[row, 2]
            row += 1
            if t > end or m + ready_bound[stop, 0] > limit:
                continue
            if _is_beaten(ready_head[stop], ready, t, m, 0):
                continue
            if against and not _meets(other_off_at, other_off, stop, t, m, 0, limit, most):
                continue
            ready = _put(ready, readies, stop, t, m, 0, -1)
            _linked(ready_head, ready, readies)
            readies += 1
        while first_ready < readies and rides < most:
            rides += 1
            count = marked = 0
            for at in range(first_ready, readies):
                stop = ready[at, _STOP]
                if stop < 0:
                    continue
                for each in range(stop_at[stop], stop_at[stop + 1]):
                    pattern, call = stop_calls[each, 0], stop_calls[each, 1]
                    if begins[pattern] < 0:
                        touched[marked] = pattern
                        marked += 1
                    if begins[pattern] < 0 or call < begins[pattern]:
                        begins[pattern] = call
                    boards = _roomy(boards, count)
                    place = patterns[pattern, 0] + call
                    boards[count, 0], boards[count, 1] = at, waiting[place]
                    waiting[place] = count
                    count += 1
            first_off = offs
            for mark in range(marked):
                pattern = touched[mark]
                first_call, length = patterns[pattern, 0], patterns[pattern, 1]
                first_time, runs = patterns[pattern, 2], patterns[pattern, 3]
                riding, begin = 0, begins[pattern]
                begins[pattern] = -1
                for call in range(begin, length):
                    row_of = first_time + call * runs
                    stop = calls[first_call + call, 0]
                    if riding > 0 and calls[first_call + call, 1] == 1:
                        for each in range(riding):
                            t = base + arrives[first_time + aboard[each, 0] * length + call]
                            m = aboard[each, 1]
                            if t > end or m + off_bound[stop, 0] > limit:
                                continue
                            if rides + off_bound[stop, 1] > most:
                                continue
                            if _is_beaten(off_head[stop], off, t, m, rides):
                                continue
                            if _is_outdone(
                                best,
                                bests,
                                t,
                                m + off_bound[stop, 0],
                                rides + off_bound[stop, 1],
                                group,
                            ):
                                continue
                            if against and not _meets(
                                other_ready_at, other_ready, stop, t, m, rides, limit, most
                            ):
                                continue
                            off = _put(off, offs, stop, t, m, rides, -1)
                            _linked(off_head, off, offs)
                            offs += 1
                            if target[stop, 0] >= 0:
                                t, m = t + target[stop, 0], m + target[stop, 1]
                                if t > end or m > limit:
                                    continue
                                if not _is_outdone(best, bests, t, m, rides, FAR):
                                    metres = -(-m // metre) * metre
                                    least = metres - metre
                                    ends = _put(ends, found, t, least, rides, group, metres)
                                    found += 1
                                    bests = _without(best, bests, t, least, rides)
                                    best = _put(best, bests, t, least, rides, group, metres)
                                    bests += 1
                                if against:
                                    end = t
                    board = waiting[first_call + call]
                    waiting[first_call + call] = -1
                    while board >= 0:
                        at, board = boards[board, 0], boards[board, 1]
                        t, m = ready[at, _TIME], ready[at, _MICRO]
                        low, high = 0, runs
                        while low < high:
                            middle = (low + high) // 2
                            if departs[row_of + middle] < t - base:
                                low = middle + 1
                            else:
                                high = middle
                        if low == runs:
                            continue
                        if not against:  # there few ride, and this is not worth its memory
                            last = ridden[first_call + call]
                            if last[0] <= low and last[1] <= m and last[2] <= rides:
                                continue
                            last[0], last[1], last[2] = low, m, rides
                        beaten = False
                        for each in range(riding):
                            if aboard[each, 0] <= low and aboard[each, 1] <= m:
                                beaten = True
                                break
                        if beaten:
                            continue
                        kept = 0
                        for each in range(riding):
                            if not (low <= aboard[each, 0] and m <= aboard[each, 1]):
                                aboard[kept] = aboard[each]
                                kept += 1
                        aboard = _roomy(aboard, kept)
                        aboard[kept, 0], aboard[kept, 1] = low, m
                        riding = kept + 1
            first_ready = readies
            for one in range(first_off, offs):
                stop = off[one, _STOP]
                if stop < 0:
                    continue
                for each in range(change_at[stop], change_at[stop + 1]):
                    to, m = changes[each, 0], off[one, _MICRO] + changes[each, 2]
                    if m > limit:
                        break
                    t = off[one, _TIME] + changes[each, 1]
                    if t > end or m + ready_bound[to, 0] > limit:
                        continue
                    if _is_beaten(ready_head[to], ready, t, m, rides):
                        continue
                    if _is_outdone(
                        best,
                        bests,
                        t,
                        m + ready_bound[to, 0],
                        rides + ready_bound[to, 1],
                        group,
                    ):
                        continue
                    if against and not _meets(
                        other_off_at, other_off, to, t, m, rides, limit, most
                    ):
                        continue
                    ready = _put(ready, readies, to, t, m, rides, -1)
                    _linked(ready_head, ready, readies)
                    readies += 1
    return off, offs, ready, readies, ends[:found]
