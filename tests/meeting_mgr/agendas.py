"""Random agendas, and the best way to go on with one by trying all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from random import Random

from apps.meeting_mgr.model import (
    CAPABILITIES,
    AbilityState,
    Attendee,
    Busy,
    Capability,
    Item,
    Meeting,
    Person,
    PersonState,
    Proposed,
    Room,
    Rules,
)

MINUTE = 60_000
STARTS = 1_783_756_800_000
"""Saturday 2026-07-11, 10:00 in Copenhagen."""
Cost = tuple[int, int, int, int, int]


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
    return meeting, joined, now_ms


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
        elif random.random() < 0.05:
            yield item.model_copy(update={"state": "put_off"})
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


# --- What a way to go on costs, said once more ---------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A meeting that is to go on."""

    meeting: Meeting
    people: Sequence[Person]
    now_ms: int

    @property
    def open(self) -> list[Item]:
        """The items that are left."""
        return [item for item in self.meeting.agenda if item.state == "open"]

    @property
    def first_ms(self) -> int:
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

    def could_attend(self, who: Attendee, item: Item, from_ms: int, until_ms: int) -> bool:
        """Whether somebody can take part in an item at a time."""
        if item.type == "break":
            return True
        here = [p for p in self.people if p.attendee == who.id and p.left_ms is None]
        soon_ms = self.now_ms + self.meeting.rules.absence_minutes * MINUTE
        if from_ms < soon_ms:
            if not here and self.now_ms >= self.awaited_ms(who):
                return False
            asked = item.needs if item.speaker == who.id else item.listeners
            if here and not all(any(can(p, c, item) for p in here) for c in asked):
                return False
        return all(b.until_ms <= from_ms or b.from_ms >= until_ms for b in who.busy
                   if b.from_ms < b.until_ms)  # fmt: skip

    def cost(self, item: Item, from_ms: int, minutes: int) -> tuple[int, int, int] | None:
        """Required and other people who miss an item at a time, and minutes cut; None: its
        speaker misses it, or it ends too late."""
        until_ms = from_ms + minutes * MINUTE
        missing = [
            who
            for who in self.meeting.attendees
            if not self.could_attend(who, item, from_ms, until_ms)
        ]
        if until_ms > self.meeting.ends_ms or item.speaker in {who.id for who in missing}:
            return None
        required = sum(who.required for who in missing)
        return required, len(missing) - required, item.minutes - minutes

    def of(self, option: Proposed) -> Cost | None:
        """What an option costs as it is written down; None if it is not allowed."""
        items = {item.id: item for item in self.open}
        placed = [each for each in option.agenda if each.item in items]
        if sorted([*(each.item for each in placed), *option.put_off]) != sorted(items):
            return None
        required = others = cut = 0
        happened = {item.id for item in self.meeting.agenda if item.state in ("done", "current")}
        for each in placed:
            found = self.cost(items[each.item], each.starts_ms, each.minutes)
            if found is None or not happened.issuperset(items[each.item].after):
                return None
            happened.add(each.item)
            required, others, cut = required + found[0], others + found[1], cut + found[2]
        order = [list(items).index(each.item) for each in placed]
        swapped = sum(a > b for a, b in combinations(order, 2))
        return sum(items[i].minutes for i in option.put_off), required, cut, others, swapped


def can(person: Person, capability: Capability, item: Item) -> bool:
    """Whether one device lets somebody do what an item asks of them."""
    ability = person.state.abilities.get(capability)
    if ability is not None and ability.state == "off" and ability.because != ("sensitive",):
        return False
    in_public = item.sensitive and person.state.surroundings == "public"
    is_hushed = in_public and capability in ("speak", "share")
    return not is_hushed or capability in person.overrides


def least_cost(asked: Asked) -> Cost:
    """The least cost over all orders, shortenings and items put off.

    All are tried, but that of two beginnings with the same items in the same time only the
    cheaper is gone on with: what comes costs the same after either.
    """
    items = asked.open
    ids = [item.id for item in items]
    happens = {item.id: item.state for item in asked.meeting.agenda}
    best: Cost | None = None
    for put_off in _subsets(items):
        minutes = sum(items[i].minutes for i in put_off)
        if best is not None and minutes > best[0]:
            break
        rest = _least(asked, items, ids, happens, frozenset(range(len(items))) - put_off)
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


def _least(
    asked: Asked,
    items: Sequence[Item],
    ids: Sequence[str],
    happens: Mapping[str, str],
    chosen: frozenset[int],
) -> tuple[int, int, int, int] | None:
    """The least cost with which these items take place, in any order; None: it is impossible."""

    def is_ready(i: int, placed: frozenset[int]) -> bool:
        done = {ids[j] for j in placed}
        return all(a in done or happens[a] in ("done", "current") for a in items[i].after)

    @cache
    def rest(placed: frozenset[int], minutes: int) -> tuple[int, int, int, int] | None:
        if placed == chosen:
            return 0, 0, 0, 0
        found = []
        for i in chosen - placed:
            if not is_ready(i, placed):
                continue
            swapped = sum(j > i for j in placed)
            for takes in {items[i].minutes, min(items[i].minutes, items[i].least_minutes or 480)}:
                cost = asked.cost(items[i], asked.first_ms + minutes * MINUTE, takes)
                after = None if cost is None else rest(placed | {i}, minutes + takes)
                if cost is not None and after is not None:
                    required, others, cut = cost
                    found.append((
                        required + after[0], cut + after[1], others + after[2], swapped + after[3]
                    ))  # fmt: skip
        return min(found, default=None)

    return rest(frozenset(), 0)
