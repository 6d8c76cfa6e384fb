"""Random agendas, and the best way to go on with one by trying all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import combinations
from random import Random

import numpy as np
import numpy.typing as npt

from citywise.apps.meeting_mgr.model import (
    CAPABILITIES,
    AbilityState,
    Attendee,
    Busy,
    Capability,
    Item,
    Meeting,
    Person,
    PersonState,
    Placed,
    Proposed,
    Room,
    Rules,
)

MINUTE = 60_000
STARTS = 1_783_756_800_000
"""Saturday 2026-07-11, 10:00 in Copenhagen."""
Cost = tuple[int, int, int, int, int, int]
Counts = npt.NDArray[np.int64]


def person_id(number: int) -> str:
    """An id of somebody who has joined."""
    return "p-" + "".join("abcdefghij"[int(digit)] for digit in f"{number:020d}")


def person(number: int, attendee: str | None, **told: object) -> Person:
    """Somebody who has joined as one of the invited."""
    values = {"id": person_id(number), "meeting": "m-x", "name": f"P{number}", "joined_ms": STARTS}
    return Person.model_validate({**values, "attendee": attendee, **told})


def off(*capabilities: Capability, because: str = "noise") -> dict[Capability, AbilityState]:
    """Abilities that somebody does not have."""
    lost = AbilityState.model_validate({"state": "off", "since_ms": STARTS, "because": (because,)})
    return dict.fromkeys(capabilities, lost)


# --- Random agendas ------------------------------------------------------------------------------


def random_meeting(seed: int, items: int, invited: int) -> tuple[Meeting, list[Person], int]:
    """A meeting, who has joined, and the time; any seed is a case of its own."""
    random = Random(seed)
    minutes = random.choice([(5, 10, 15, 20, 30), tuple(range(1, 31))])
    agenda = [_item(random, n, minutes, invited) for n in range(items)]
    total = sum(item.minutes for item in agenda)
    ends_ms = STARTS + round(total * random.choice([0.6, 0.8, 1, 1, 1.2])) * MINUTE
    now_ms = STARTS + random.choice([-60, 0, 3, 11]) * MINUTE + random.randrange(MINUTE)
    meeting = Meeting(
        title="Any",
        room=Room(name="B"),
        starts_ms=STARTS,
        ends_ms=max(ends_ms, STARTS + MINUTE),
        attendees=tuple(_attendee(random, n, total) for n in range(invited)),
        agenda=tuple(_begun(random, agenda, now_ms)),
        rules=Rules(absence_minutes=random.choice([5, 15, 40])),
    )
    joined = [p for n in range(invited) for p in _joined(random, n)]
    return meeting, [_on_the_way(random, one, total) for one in joined], now_ms


def _item(random: Random, number: int, minutes: Sequence[int], invited: int) -> Item:
    takes = random.choice(minutes)
    return Item(
        id=f"i{number}",
        title=f"Item {number}",
        type=random.choice(["talk", "talk", "talk", "discussion", "decision", "break"]),
        speaker=f"a{random.randrange(invited)}" if random.random() < 0.7 else None,
        minutes=takes,
        least_minutes=random.choice([None, random.randint(1, takes), takes + 5]),
        sensitive=random.random() < 0.5,
        needs=tuple(random.sample(CAPABILITIES, random.choice([0, 1, 1, 2]))),
        listeners=tuple(random.sample(CAPABILITIES, random.choice([0, 1, 1, 2]))),
        after=(f"i{random.randrange(number)}",) if number and random.random() < 0.2 else (),
    )


def _begun(random: Random, agenda: Sequence[Item], now_ms: int) -> Iterator[Item]:
    """Perhaps the first items are done, or one runs, or one was put off."""
    so_far = random.choice(["planned", "planned", "running", "between"]) if now_ms > STARTS else ""
    for place, item in enumerate(agenda):
        if so_far == "between" and place == 0:
            yield item.model_copy(update={"state": "done"})
        elif so_far == "running" and place == 0:
            began_ms = STARTS + random.randrange(now_ms - STARTS)
            yield item.model_copy(update={"state": "current", "began_ms": began_ms})
        elif random.random() < 0.1:
            yield item.model_copy(update={"state": "put_off", "returns": random.random() < 0.7})
        else:
            yield item


def _attendee(random: Random, number: int, total: int) -> Attendee:
    busy = []
    for _ in range(random.choice([0, 0, 0, 1, 2])):
        from_ms = STARTS + random.randrange(-10 * MINUTE, (total + 10) * MINUTE)
        until_ms = from_ms + random.randrange(60 * MINUTE)
        busy.append(Busy(from_ms=from_ms, until_ms=until_ms))
    required = random.random() < 0.6
    return Attendee(id=f"a{number}", name=f"A{number}", required=required, busy=tuple(busy))


def _joined(random: Random, number: int) -> Iterator[Person]:
    for device in range(random.choice([0, 1, 1, 1, 1, 1, 1, 2])):
        lost = off(*random.sample(CAPABILITIES, random.choice([0, 0, 0, 1, 2])))
        silenced = off("speak", because="sensitive") if random.random() < 0.3 else {}
        state = PersonState(
            abilities={**silenced, **lost},
            surroundings=random.choice(["public", "public", "private", "unknown"]),
        )
        yield person(
            2 * number + device,
            f"a{number}",
            state=state,
            left_ms=STARTS if random.random() < 0.1 else None,
            overrides={"speak": "on"} if random.random() < 0.1 else {},
        )


def _on_the_way(random: Random, one: Person, total: int) -> Person:
    """Perhaps they told when they arrive, or should have; some are in the room though."""
    if random.random() < 0.75:
        return one
    arrives_ms = STARTS + random.randrange(-5 * MINUTE, (total + 5) * MINUTE)
    presence = random.choice(["remote", "remote", "unknown", "room"])
    state = one.state.model_copy(update={"presence": presence})
    return one.model_copy(update={"arrives_ms": arrives_ms, "state": state})


# --- What a way to go on costs, said once more ---------------------------------------------------


class Asked:
    """A meeting that is to go on: what any way costs, all beginnings of an item at once."""

    def __init__(
        self, meeting: Meeting, people: Sequence[Person], now_ms: int, first_ms: int = 0
    ) -> None:
        """Nothing of it begins before `first_ms`."""
        self.meeting, self.people, self.now_ms = meeting, people, now_ms
        self.items = [i for i in meeting.agenda if i.state == "open" or _returns(i)]
        self.first_ms = max(first_ms, self._first_ms())
        self.soon_ms = now_ms + meeting.rules.absence_minutes * MINUTE
        self.minutes = max(0, -((self.first_ms - meeting.ends_ms) // MINUTE))
        self.begins = self.first_ms + MINUTE * np.arange(self.minutes + 1)

    def _first_ms(self) -> int:
        """When the next item can begin."""
        states = {item.state: item for item in self.meeting.agenda}
        if (item := states.get("current")) and item.began_ms is not None:
            return max(self.now_ms, item.began_ms + item.minutes * MINUTE)
        return self.now_ms if "done" in states else max(self.now_ms, self.meeting.starts_ms)

    def awaited_ms(self, who: Attendee) -> int:
        """From when on somebody who is not there counts as away: at once who has left, others
        three minutes after the start."""
        if any(p.attendee == who.id for p in self.people):
            return self.meeting.starts_ms
        begun = [i.began_ms for i in self.meeting.agenda if i.began_ms is not None]
        return max([self.meeting.starts_ms, *begun[:1]]) + 3 * MINUTE

    def arrives_ms(self, who: Attendee) -> int:
        """From when on somebody is there who is on the way, with all their devices; 0: at once."""
        here = [p for p in self.people if p.attendee == who.id and p.left_ms is None]
        is_there = any(p.state.presence == "room" for p in here)
        at = [p.arrives_ms or 0 for p in here]
        return 0 if is_there or not at or min(at) <= self.now_ms else min(at)

    def waits(self) -> Asked | None:
        """The same, where the meeting waits for the first who arrives and has an open item."""
        speakers = [self.meeting.attendee(i.speaker) for i in self.items if i.state == "open"]
        at = [self.arrives_ms(who) for who in speakers if who is not None]
        later = [at_ms for at_ms in at if at_ms > self.first_ms]
        return Asked(self.meeting, self.people, self.now_ms, min(later)) if later else None

    def is_hindered(self, who: Attendee, item: Item) -> bool:
        """Whether somebody could not take part in an item that took place now."""
        here = [p for p in self.people if p.attendee == who.id and p.left_ms is None]
        if self.arrives_ms(who):
            return False
        if item.type == "break" or not here:
            return item.type != "break" and self.now_ms >= self.awaited_ms(who)
        asked = item.needs if item.speaker == who.id else item.listeners
        return not all(any(can(p, c, item) for p in here) for c in asked)

    def misses(self, who: Attendee, item: Item, begins: Counts, minutes: int) -> Counts:
        """1 for each beginning of an item with which somebody cannot take part in it."""
        missed = (begins < self.soon_ms) & self.is_hindered(who, item)
        if item.type != "break":
            missed |= begins < self.arrives_ms(who)
        for busy in who.busy if item.type != "break" else ():
            ends = begins + minutes * MINUTE
            overlaps = (busy.from_ms <= ends - MINUTE) & (begins < busy.until_ms)
            missed |= overlaps & (busy.from_ms < busy.until_ms)
        return missed.astype(np.int64)

    def cost(self, item: Item, begins: Counts, minutes: int) -> tuple[Counts, Counts, Counts]:
        """Required and other people who miss an item for each of its beginnings, and whether it
        cannot be then: its speaker misses it, or it ends too late."""
        required, others = np.zeros_like(begins), np.zeros_like(begins)
        too_late = begins + minutes * MINUTE >= self.meeting.ends_ms + MINUTE
        impossible = too_late.astype(np.int64)
        for who in self.meeting.attendees:
            missed = self.misses(who, item, begins, minutes)
            required += who.required * missed
            others += (not who.required) * missed
            impossible |= missed if who.id == item.speaker else 0
        return required, others, impossible

    def is_free_again(self, item: Item) -> bool:
        """Whether the speaker of something that was put off could take part in it now."""
        speaker = self.meeting.attendee(item.speaker)
        return speaker is None or not self.is_hindered(speaker, item)

    def until(self, option: Proposed) -> Asked:
        """The same with the end that an option has: of what was put off nothing comes then."""
        if option.ends_ms is None:
            return self
        stays = [item.model_copy(update={"returns": False}) for item in self.meeting.agenda]
        longer = {"ends_ms": option.ends_ms, "agenda": tuple(stays)}
        return Asked(self.meeting.model_copy(update=longer), self.people, self.now_ms)

    def of(self, option: Proposed) -> Cost | None:
        """What an option costs as it is written down; None if it is not allowed. Not looked at
        is for whose sake something is put off or shortened where something else is taken up."""
        items = {item.id: item for item in self.items}
        placed = [each for each in option.agenda if each.item in items]
        stay_off = [i for i in items if _returns(items[i]) and i not in option.taken_up]
        named = [*(each.item for each in placed), *option.put_off, *stay_off]
        if sorted(named) != sorted(items):
            return None
        if not all(self.is_free_again(items[name]) for name in option.taken_up):
            return None
        spent = [self._of(items, each) for each in placed]
        happened = {item.id for item in self.meeting.agenda if item.state in ("done", "current")}
        for each in placed:
            if not happened.issuperset(items[each.item].after):
                return None
            happened.add(each.item)
        order = [list(items).index(each.item) for each in placed]
        swapped = sum(a > b for a, b in combinations(order, 2))
        if any(one is None for one in spent):
            return None
        required, shortened, cut, others = (sum(one[n] for one in spent if one) for n in range(4))
        off = sum(items[i].minutes for i in (*option.put_off, *stay_off))
        return off, required, shortened, cut, others, swapped

    def _of(self, items: dict[str, Item], each: Placed) -> tuple[int, int, int, int] | None:
        item, begins = items[each.item], np.array([each.starts_ms])
        required, others, impossible = self.cost(item, begins, each.minutes)
        if impossible[0] or not least(item) <= each.minutes <= item.minutes:
            return None
        cut = item.minutes - each.minutes
        return int(required[0]), int(cut > 0), cut, int(others[0])


def _returns(item: Item) -> bool:
    return item.state == "put_off" and item.returns


def least(item: Item) -> int:
    """Minutes that an item takes at least."""
    return min(item.minutes, item.least_minutes or item.minutes)


def can(person: Person, capability: Capability, item: Item) -> bool:
    """Whether one device lets somebody do what an item asks of them."""
    ability = person.state.abilities.get(capability)
    if ability is not None and ability.state == "off" and ability.because != ("sensitive",):
        return False
    in_public = item.sensitive and person.state.surroundings == "public"
    is_hushed = in_public and capability in ("speak", "share")
    return not is_hushed or capability in person.overrides


# --- The least of all, by trying -----------------------------------------------------------------

_WIDTHS = (10, 6, 12, 10, 8)
"""Bits of required people who miss something, items shortened, minutes cut, others, and swaps:
as one number each such cost is added and compared like all five."""
_NEVER = np.int64(1) << 60


def least_cost(asked: Asked) -> Cost:
    """The least cost over all orders, all minutes of each item and all items put off.

    All are tried, but that of two beginnings with the same items in the same time only the
    cheaper is gone on with: what comes costs the same after either.
    """
    best: Cost | None = None
    prices = _Prices(asked)
    for put_off in _subsets(asked.items):
        minutes = sum(asked.items[i].minutes for i in put_off)
        if best is not None and minutes > best[0]:
            break
        rest = _least(asked, prices, frozenset(range(len(asked.items))) - put_off)
        if rest is not None and (best is None or (minutes, *rest) < best):
            best = (minutes, *rest)
    assert best is not None  # everything can be put off
    return best


def _subsets(items: Sequence[Item]) -> list[frozenset[int]]:
    every = (
        frozenset(chosen)
        for many in range(len(items) + 1)
        for chosen in combinations(range(len(items)), many)
    )
    return sorted(every, key=lambda chosen: sum(items[i].minutes for i in chosen))


class _Prices:
    """What each item costs for each minute in which it may begin, by how long it takes."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._known: dict[tuple[int, int], Counts] = {}

    def of(self, i: int, minutes: int) -> Counts:
        """The costs of an item, `_NEVER` where it cannot begin."""
        if (i, minutes) not in self._known:
            item, begins = self._asked.items[i], self._asked.begins
            required, others, impossible = self._asked.cost(item, begins, minutes)
            cut = item.minutes - minutes
            price = _one_number(required, int(cut > 0), cut, others, 0)
            self._known[i, minutes] = np.where(impossible, _NEVER, price)
        return self._known[i, minutes]


def _one_number(*costs: Counts | int) -> Counts:
    total: Counts = np.zeros(1, np.int64)
    for cost, width in zip(costs, _WIDTHS, strict=True):
        total = (total << width) + cost
    return total


def _five_numbers(total: int) -> tuple[int, int, int, int, int]:
    found = []
    for width in reversed(_WIDTHS):
        found.append(total & ((1 << width) - 1))
        total >>= width
    swapped, others, cut, shortened, required = found
    return required, shortened, cut, others, swapped


def _least(
    asked: Asked, prices: _Prices, chosen: frozenset[int]
) -> tuple[int, int, int, int, int] | None:
    """The least cost with which these items take place, in any order; None: it is impossible."""
    items = asked.items
    again = [items[i] for i in chosen if _returns(items[i])]
    open_items = {i for i, item in enumerate(items) if not _returns(item)}
    if again and not (open_items <= chosen and all(map(asked.is_free_again, again))):
        return None
    happens = {item.id for item in asked.meeting.agenda if item.state in ("done", "current")}
    ids = {items[i].id: i for i in chosen}
    if any(name not in happens and name not in ids for i in chosen for name in items[i].after):
        return None
    first = {i: {ids[a] for a in items[i].after if a not in happens} for i in chosen}
    shortest = {i: items[i].minutes if again else least(items[i]) for i in chosen}

    @cache
    def rest(placed: frozenset[int]) -> Counts:
        """The least cost of what is not placed yet, for each minute in which it may begin."""
        best: Counts = np.full(asked.minutes + 1, 0 if placed == chosen else _NEVER)
        for i in chosen - placed:
            if not first[i] <= placed:
                continue
            after, swapped = rest(placed | {i}), sum(j > i for j in placed)
            for minutes in range(shortest[i], min(items[i].minutes, asked.minutes) + 1):
                end = len(best) - minutes
                cost = prices.of(i, minutes)[:end] + after[minutes:] + swapped
                np.minimum(best[:end], cost, out=best[:end])
        return best.clip(max=_NEVER)

    if sum(shortest.values()) > asked.minutes:
        return None
    least_of_all = int(rest(frozenset())[0])
    return None if least_of_all >= _NEVER else _five_numbers(least_of_all)
