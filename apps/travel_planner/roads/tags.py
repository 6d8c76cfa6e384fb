"""What OpenStreetMap's tags of a street say: who may use it, which way, and how fast it is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from citywise.apps.travel_planner.roads.building import SPEEDS_KMH
from citywise.apps.travel_planner.roads.network import Mode

FAST = frozenset(("motorway", "motorway_link", "trunk", "trunk_link"))
STREETS = frozenset(SPEEDS_KMH) - {"pedestrian", "track"} | {"road"}
"""Classes that cars may use, if nothing is said."""
FEET = frozenset(("footway", "pedestrian", "steps", "bridleway"))
"""Classes that bicycles may not use, if nothing is said."""
KNOWN = STREETS | FEET | {"cycleway", "path", "track"}

BANNED = frozenset(
    (
        "no",
        "private",
        "agricultural",
        "forestry",
        "delivery",
        "use_sidepath",
        "dismount",
        "military",
    )
)
ALLOWED = frozenset(("yes", "designated", "permissive", "official", "destination", "customers"))
KEYS = {
    Mode.CAR: ("motorcar", "motor_vehicle", "vehicle", "access"),
    Mode.BICYCLE: ("bicycle", "vehicle", "access"),
    Mode.WALK: ("foot", "access"),
}
"""The tags that may say it, the most particular one first."""

DRIVEN = 0.8
"""Of a speed limit in town, what is driven between crossings and lights: an assumption."""
IMPLIED_KMH = {"urban": 50.0, "rural": 80.0, "motorway": 130.0, "walk": 5.0, "zone30": 30.0}
KMH_OF_MPH = 1.609344
_FASTEST_KMH = 300.0
"""A faster limit is a slip of who drew the map, and no limit."""
_SPEED = re.compile(r"(\d+(?:\.\d+)?)\s*(mph)?")


class Rules:
    """Who may use a street, as bits of `Mode`: in its direction, and back."""

    def __init__(self, tags: Mapping[str, str]) -> None:
        self._tags = tags
        self._highway = tags.get("highway", "")
        self.there, self.back = self._directed()

    @property
    def anybody(self) -> bool:
        """Whether it is a street at all, which somebody may use."""
        return bool(self.there | self.back)

    def _directed(self) -> tuple[int, int]:
        if self._highway not in KNOWN:
            return 0, 0
        there = back = 0
        for mode in Mode:
            if self._may(mode):
                way = self._oneway(mode)
                there |= mode.bit if way >= 0 else 0
                back |= mode.bit if way <= 0 else 0
        return there, back

    def _may(self, mode: Mode) -> bool:
        for key in KEYS[mode]:
            if self._tags.get(key) in BANNED:
                return False
            if self._tags.get(key) in ALLOWED and key != "access":
                return True
        match mode:
            case Mode.CAR:
                return self._highway in STREETS
            case Mode.BICYCLE:
                return self._highway not in FEET | FAST
            case Mode.WALK:
                return self._highway not in FAST

    def _oneway(self, mode: Mode) -> int:
        """1: only in its direction; -1: only back; 0: both."""
        if mode is Mode.WALK:
            return 0
        given = self._tags.get("oneway")
        if mode is Mode.BICYCLE:
            given = self._tags.get("oneway:bicycle", given)
            if self._tags.get("cycleway", "").startswith("opposite"):
                return 0
        if given in ("-1", "reverse"):
            return -1
        if given in ("yes", "true", "1"):
            return 1
        implied = self._tags.get("junction") in ("roundabout", "circular")
        return 0 if given else int(implied or self._highway.startswith("motorway"))


def speed(tags: Mapping[str, str]) -> float | None:
    """The free flow in km/h that a speed limit lets us expect; None where there is none."""
    limit = _limit(tags.get("maxspeed", ""))
    if limit is None or tags.get("highway", "").startswith("motorway"):
        return limit
    return limit * DRIVEN


def _limit(text: str) -> float | None:
    """A speed limit in km/h: `50`, `30 mph`, `DK:urban`; of several the least."""
    found = []
    for each in text.split(";"):
        if number := _SPEED.fullmatch(each.strip()):
            found.append(float(number[1]) * (KMH_OF_MPH if number[2] else 1))
        elif (place := each.rpartition(":")[2].strip()) in IMPLIED_KMH:
            found.append(IMPLIED_KMH[place])
    return min((limit for limit in found if 0 < limit <= _FASTEST_KMH), default=None)
