"""The places that somebody saved: home, work, and others. Sealed, as where people live is.

Forgetting somebody's key forgets them in every copy of the database.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from sqlalchemy import Connection, select

from citywise.backend.privacy.boxes import Boxes, boxes_for
from citywise.backend.settings import Settings
from citywise.backend.store.models import SavedPlacesRow
from citywise.backend.store.upsert import upsert
from citywise.backend.times import wall_ms

MOST = 50
_SUBJECT = "places"


class SavedPlace(BaseModel):
    """A place of somebody's: `home` and `work` there is one of each."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["home", "work", "other"] = "other"
    name: str = Field(min_length=1, max_length=200)
    lat: float = Field(ge=-90, le=90)
    lon: float = Field(ge=-180, le=180)


class SavedPlaces(BaseModel):
    """All places that somebody saved, in their order."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    places: Annotated[tuple[SavedPlace, ...], Field(max_length=MOST)] = ()

    @model_validator(mode="after")
    def _one_home(self) -> SavedPlaces:
        kinds = [place.kind for place in self.places if place.kind != "other"]
        if len(kinds) > len(set(kinds)):
            raise ValueError("found two places of one kind; save `home` and `work` once each")
        return self


def of(connection: Connection, settings: Settings, user: str) -> SavedPlaces:
    """The places of a user; none where nothing was saved, or its key is gone. Raises `BoxError`."""
    query = select(SavedPlacesRow.box).where(SavedPlacesRow.user == user)
    box = connection.scalar(query)
    opened = None if box is None else _boxes(settings).open([box])[0]
    return SavedPlaces() if opened is None else SavedPlaces.model_validate_json(opened)


def save(connection: Connection, settings: Settings, user: str, saved: SavedPlaces) -> None:
    """Replace the places of a user. Raises `BoxError`."""
    (box,) = _boxes(settings).close([(user, saved.model_dump_json().encode())])
    upsert(connection, SavedPlacesRow, [{"user": user, "box": box, "updated_ms": wall_ms()}])


def _boxes(settings: Settings) -> Boxes:
    return boxes_for(settings, _SUBJECT)
