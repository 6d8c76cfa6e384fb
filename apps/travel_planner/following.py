"""How far somebody is on their way: progress, arrival, what remains. Pure.

Geometry is that of `backend.space`, so that a page and the rules of the app's templates see
the same: where on the way somebody is, and from where on they are off it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from citywise.apps.travel_planner.roads.paths import Path
from citywise.apps.travel_planner.trips import Body, Content, Position
from citywise.backend.app import geometry
from citywise.backend.space.space import OFF_ROUTE_M, Space

Coordinates = Sequence[Sequence[float]]
"""(lon, lat) pairs in order of travel."""

ARRIVED_M = 40.0
"""Straight line from the end of the way within which one has arrived."""
ARRIVED_SLOWLY_M = 60.0
"""The same for who hardly moves any more."""
SLOW_KMH = 5.0
_LAST_STRETCH_M = 200.0
"""Whoever has more than this before them only passes by the end."""
_ME = "me"


class Progress(NamedTuple):
    """Where on a way somebody is, metres."""

    along_m: float
    length_m: float
    off_m: float
    """From the way, straight line."""
    to_end_m: float
    """To the end of the way, straight line."""
    accuracy_m: float = 0.0

    @property
    def remaining_m(self) -> float:
        """Metres of the way that are left."""
        return max(0.0, self.length_m - self.along_m)

    @property
    def done_share(self) -> float:
        """Part of the way that is behind, 0 to 1."""
        return min(1.0, self.along_m / self.length_m) if self.length_m > 0 else 1.0

    @property
    def is_off(self) -> bool:
        """Whether the way was left: by more than 60 m, and more than the device may err."""
        return self.off_m > max(OFF_ROUTE_M, self.accuracy_m)


def progress(line: Coordinates, position: Position) -> Progress:
    """Where on a way a position is."""
    space = Space(OFF_ROUTE_M, around=False)
    space.put_route(_ME, line)
    heading = {} if position.heading is None else {"heading": position.heading}
    space.put_position(_ME, {"lat": position.lat, "lon": position.lon, **heading})
    space.settle()
    along, off = space.progress_m(_ME), space.off_route_m(_ME)
    assert along is not None
    assert off is not None
    to_end = float(geometry.apart_m(position.lon, position.lat, line[-1][0], line[-1][1]))
    return Progress(along, length_m(line), off, to_end, position.accuracy_m or 0.0)


def length_m(line: Coordinates) -> float:
    """Metres of a line."""
    return float(geometry.Path.of(line).along[-1])


def has_arrived(found: Progress, speed_kmh: float | None) -> bool:
    """Whether somebody is where they wanted to go."""
    if found.remaining_m > _LAST_STRETCH_M:
        return False
    slow = speed_kmh is not None and speed_kmh <= SLOW_KMH
    return found.to_end_m <= (ARRIVED_SLOWLY_M if slow else ARRIVED_M)


def rest(path: Path, done_share: float) -> Path:
    """What remains of a path when a share of its length (0 to 1) is behind."""
    metres = path.shares() * path.network.length_m[path.edges]
    ends = np.cumsum(metres)
    behind = min(max(done_share, 0.0), 1.0) * float(ends[-1])
    at = min(int(np.searchsorted(ends, behind, side="right")), len(metres) - 1)
    part = (behind - float(ends[at] - metres[at])) / float(metres[at]) if metres[at] > 0 else 1.0
    begin = 1.0 - path.first_share if at == 0 else 0.0
    end = path.last_share if at == len(metres) - 1 else 1.0
    begin += min(max(part, 0.0), 1.0) * (end - begin)
    return Path(path.edges[at:], 1.0 - begin, path.last_share, path.network)


# --- Of trips -----------------------------------------------------------------------------------


def done_share(content: Content) -> float:
    """Part of a plan's line that is behind, 0 to 1."""
    drive = driven(content.plan)
    if content.along_m is None or drive is None:
        return 0.0
    length = length_m(drive["geometry"]["coordinates"])
    return min(1.0, content.along_m / length) if length > 0 else 1.0


def line_of(plan: Body) -> list[Any] | None:
    """The line that somebody follows: a route, or the drive to a garage."""
    drive = driven(plan)
    return None if drive is None else list(drive["geometry"]["coordinates"])


def driven(plan: Body) -> Body | None:
    """What is travelled of a plan: a route itself, or the drive to a garage."""
    found = plan.get("drive") if "lat" in plan else plan
    return found if isinstance(found, Mapping) and found.get("geometry") else None


def is_off_route(content: Content) -> bool:
    """Whether the position that is known is off the way."""
    line = line_of(content.plan)
    if content.position is None or line is None:
        return False
    return progress(line, content.position).is_off


def is_there(content: Content) -> bool:
    """Whether the position that is known is at the end of the way, or at the garage: the drive
    leads to the corner next to it."""
    position, plan, line = content.position, content.plan, line_of(content.plan)
    if position is None:
        return False
    garage = [(plan["lon"], plan["lat"])] if "lat" in plan else []
    found = progress(line or garage * 2, position)
    to_garage = [float(geometry.apart_m(position.lon, position.lat, *at)) for at in garage]
    nearest = min([found.to_end_m, *to_garage])
    return has_arrived(found._replace(to_end_m=nearest), position.speed_kmh)
