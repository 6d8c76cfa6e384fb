"""Which changes a subscription is for."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from citywise.backend.outgoing.changes import Change
from citywise.backend.space.sphere import distance_m

_MOST = 200
Text = Annotated[str, Field(min_length=1, max_length=200)]
Degrees = Annotated[float, Field(ge=-180, le=180)]


class Near(BaseModel):
    """Within so many metres of a point."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    lat: float = Field(ge=-90, le=90)
    lon: float = Field(ge=-180, le=180)
    radius_m: float = Field(gt=0, le=1_000_000)


class Filter(BaseModel):
    """Each part that is given must fit; an empty filter takes every event and no notice."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    kinds: tuple[Text, ...] = Field(default=(), max_length=20)
    """Of announcements: `event.opened`, `event.cleared`, …"""
    types: tuple[Text, ...] = Field(default=(), max_length=_MOST)
    """Of events: `TrafficJam`, …"""
    places: tuple[Text, ...] = Field(default=(), max_length=_MOST)
    """Ids of places."""
    bbox: tuple[Degrees, Degrees, Degrees, Degrees] | None = None
    """West, south, east, north."""
    near: Near | None = None
    least_level: int = Field(default=1, ge=1, le=5)
    notices: bool = False
    """Also the notices to who owns the subscription; the other parts are about events."""

    def fits(self, change: Change, owner: str) -> bool:
        """Whether a change is for who has this filter."""
        if self.kinds and change.kind not in self.kinds:
            return False
        if change.user is not None:
            return self.notices and change.user == owner
        body = change.body
        place: dict[str, Any] = body.get("place") or {}
        return (
            (not self.types or body.get("type") in self.types)
            and (not self.places or place.get("id") in self.places)
            and (body.get("level") or 1) >= self.least_level
            and self._is_there(place.get("lat"), place.get("lon"))
        )

    def _is_there(self, lat: float | None, lon: float | None) -> bool:
        if self.bbox is None and self.near is None:
            return True
        if lat is None or lon is None:
            return False
        if self.bbox is not None:
            west, south, east, north = self.bbox
            if not (west <= lon <= east and south <= lat <= north):
                return False
        near = self.near
        return near is None or distance_m(near.lat, near.lon, lat, lon) <= near.radius_m
