"""The first search of a large timetable, compiled: the same rounds as `search`, over arrays.

Values only: when and how far walked, by rides. Measured beside the same in Python, and vectorised
numpy (docs/decisions/transit-search.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

Ints = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


@njit(cache=True)
def _grown(values: Any) -> Any:
    more = np.empty(values.size * 2, values.dtype)
    more[: values.size] = values
    return more


@njit(cache=True)
def _is_beaten(head: Any, after: Any, times: Any, micros: Any, stop: int, t: int, m: int) -> bool:
    at = head[stop]
    while at >= 0:
        if times[at] <= t and micros[at] <= m:
            return True
        at = after[at]
    return False


@njit(cache=True)
def rounds(
    seeds: Any,
    target: Any,
    stop_at: Any,
    stop_calls: Any,
    patterns: Any,
    calls: Any,
    arrives: Any,
    departs: Any,
    change_at: Any,
    changes: Any,
    end: int,
    limit: int,
    metre: int,
) -> tuple[Any, Any, Any]:
    """Rows of (stop, time, micrometres, rides): got off, ready to get on; and of (time,
    micrometres, rides) at the target.

    `seeds` are rows of (stop, time, micrometres); `target` has seconds (-1: none) and micrometres
    by stop; `stop_calls` are (pattern, call) by stop; `patterns` have first call, calls, first
    time, runs; `calls` are (stop, alights); times lie by call, then by run; `changes` are (to,
    seconds, micrometres) by stop.
    """
    stops = stop_at.size - 1
    size = 4096
    off_head, ready_head = np.full(stops, -1, np.int64), np.full(stops, -1, np.int64)
    off_stop, off_time = np.empty(size, np.int64), np.empty(size, np.int64)
    off_micro, off_rides = np.empty(size, np.int64), np.empty(size, np.int64)
    off_next, off_dead = np.empty(size, np.int64), np.zeros(size, np.int64)
    ready_stop, ready_time = np.empty(size, np.int64), np.empty(size, np.int64)
    ready_micro, ready_rides = np.empty(size, np.int64), np.empty(size, np.int64)
    ready_next = np.empty(size, np.int64)
    ends = np.empty((1024, 3), np.int64)
    offs = readies = found = 0
    for row in range(seeds.shape[0]):
        stop, t, m = seeds[row, 0], seeds[row, 1], seeds[row, 2]
        if m > limit or _is_beaten(ready_head, ready_next, ready_time, ready_micro, stop, t, m):
            continue
        if readies == ready_stop.size:
            ready_stop, ready_time = _grown(ready_stop), _grown(ready_time)
            ready_micro, ready_rides = _grown(ready_micro), _grown(ready_rides)
            ready_next = _grown(ready_next)
        ready_stop[readies], ready_time[readies], ready_micro[readies] = stop, t, m
        ready_rides[readies], ready_next[readies] = 0, ready_head[stop]
        ready_head[stop] = readies
        readies += 1
    waiting = np.full(patterns.shape[0], -1, np.int64)
    touched = np.empty(patterns.shape[0], np.int64)
    board_next, board_call = np.empty(size, np.int64), np.empty(size, np.int64)
    board_ready = np.empty(size, np.int64)
    aboard_run, aboard_micro = np.empty(64, np.int64), np.empty(64, np.int64)
    first_ready, rides = 0, 0
    while first_ready < readies:
        rides += 1
        boards = marked = 0
        for at in range(first_ready, readies):
            stop = ready_stop[at]
            for row in range(stop_at[stop], stop_at[stop + 1]):
                pattern = stop_calls[row, 0]
                if boards == board_next.size:
                    board_next, board_call = _grown(board_next), _grown(board_call)
                    board_ready = _grown(board_ready)
                if waiting[pattern] < 0:
                    touched[marked] = pattern
                    marked += 1
                board_next[boards], board_call[boards] = waiting[pattern], stop_calls[row, 1]
                board_ready[boards] = at
                waiting[pattern] = boards
                boards += 1
        first_off = offs
        for mark in range(marked):
            pattern = touched[mark]
            count, at = 0, waiting[pattern]
            while at >= 0:
                count += 1
                at = board_next[at]
            mine = np.empty(count, np.int64)
            order = np.empty(count, np.int64)
            at = waiting[pattern]
            for place in range(count):
                mine[place] = at
                order[place] = board_call[at]
                at = board_next[at]
            mine = mine[np.argsort(order)]
            waiting[pattern] = -1
            if aboard_run.size < count + 1:
                aboard_run, aboard_micro = (
                    np.empty(count * 2, np.int64),
                    np.empty(count * 2, np.int64),
                )
            first_call, length = patterns[pattern, 0], patterns[pattern, 1]
            first_time, runs = patterns[pattern, 2], patterns[pattern, 3]
            aboard = place = 0
            for call in range(board_call[mine[0]], length):
                base = first_time + call * runs
                stop = calls[first_call + call, 0]
                if aboard > 0 and calls[first_call + call, 1] == 1:
                    for each in range(aboard):
                        t, m = arrives[base + aboard_run[each]], aboard_micro[each]
                        if t > end or _is_beaten(
                            off_head, off_next, off_time, off_micro, stop, t, m
                        ):
                            continue
                        metres = -(-m // metre)
                        outdone = False
                        for row in range(found):
                            walked = -(-ends[row, 1] // metre)
                            if (
                                ends[row, 0] <= t
                                and walked <= metres
                                and (ends[row, 0] < t or walked < metres or ends[row, 2] < rides)
                            ):
                                outdone = True
                                break
                        if outdone:
                            continue
                        at = off_head[stop]
                        while at >= 0:  # of this round, those that it beats lead nowhere
                            if off_rides[at] == rides and t <= off_time[at] and m <= off_micro[at]:
                                off_dead[at] = 1
                            at = off_next[at]
                        if offs == off_stop.size:
                            off_stop, off_time = _grown(off_stop), _grown(off_time)
                            off_micro, off_rides = _grown(off_micro), _grown(off_rides)
                            off_next, off_dead = _grown(off_next), _grown(off_dead)
                        off_stop[offs], off_time[offs], off_micro[offs] = stop, t, m
                        off_rides[offs], off_next[offs], off_dead[offs] = rides, off_head[stop], 0
                        off_head[stop] = offs
                        offs += 1
                        if target[stop, 0] >= 0:
                            t, m = t + target[stop, 0], m + target[stop, 1]
                            if t <= end and m <= limit:
                                if found == ends.shape[0]:
                                    more = np.empty((found * 2, 3), np.int64)
                                    more[:found] = ends
                                    ends = more
                                ends[found, 0], ends[found, 1], ends[found, 2] = t, m, rides
                                found += 1
                while place < count and board_call[mine[place]] == call:
                    at = board_ready[mine[place]]
                    place += 1
                    t, m = ready_time[at], ready_micro[at]
                    low, high = 0, runs
                    while low < high:
                        middle = (low + high) // 2
                        if departs[base + middle] < t:
                            low = middle + 1
                        else:
                            high = middle
                    if low == runs:
                        continue
                    beaten = False
                    for each in range(aboard):
                        if aboard_run[each] <= low and aboard_micro[each] <= m:
                            beaten = True
                            break
                    if beaten:
                        continue
                    kept = 0
                    for each in range(aboard):
                        if not (low <= aboard_run[each] and m <= aboard_micro[each]):
                            aboard_run[kept], aboard_micro[kept] = (
                                aboard_run[each],
                                aboard_micro[each],
                            )
                            kept += 1
                    aboard_run[kept], aboard_micro[kept] = low, m
                    aboard = kept + 1
        first_ready = readies
        for one in range(first_off, offs):
            if off_dead[one] == 1:
                continue
            stop = off_stop[one]
            for row in range(change_at[stop], change_at[stop + 1]):
                to, m = changes[row, 0], off_micro[one] + changes[row, 2]
                t = off_time[one] + changes[row, 1]
                if m > limit or t > end:
                    continue
                if _is_beaten(ready_head, ready_next, ready_time, ready_micro, to, t, m):
                    continue
                if readies == ready_stop.size:
                    ready_stop, ready_time = _grown(ready_stop), _grown(ready_time)
                    ready_micro, ready_rides = _grown(ready_micro), _grown(ready_rides)
                    ready_next = _grown(ready_next)
                ready_stop[readies], ready_time[readies], ready_micro[readies] = to, t, m
                ready_rides[readies], ready_next[readies] = rides, ready_head[to]
                ready_head[to] = readies
                readies += 1
    off = np.empty((offs, 4), np.int64)
    off[:, 0], off[:, 1], off[:, 2] = off_stop[:offs], off_time[:offs], off_micro[:offs]
    off[:, 3] = off_rides[:offs]
    ready = np.empty((readies, 4), np.int64)
    ready[:, 0], ready[:, 1] = ready_stop[:readies], ready_time[:readies]
    ready[:, 2], ready[:, 3] = ready_micro[:readies], ready_rides[:readies]
    return off, ready, ends[:found]
