"""Places and the latest reading of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from flask import Blueprint, Response, request
from sqlalchemy import select
from sqlalchemy.orm import Session

from citywise.backend.api import access, parameters
from citywise.backend.api.answers import as_json
from citywise.backend.api.objects import place_feature, reading_object
from citywise.backend.api.shown import shown_kinds
from citywise.backend.api.state import state
from citywise.backend.kinds import Kinds
from citywise.backend.store import clocks
from citywise.backend.store.models import PlaceRow, ReadingRow
from citywise.backend.times import iso

blueprint = Blueprint("places", __name__)


@blueprint.get("/places")
@access.city
def list_places() -> Response:
    """Places as a GeoJSON FeatureCollection; those of layers only where they are asked for."""
    parameters.only("kind")
    kinds = _choices(lambda known: known.places)
    return as_json(as_collection(kinds), content_type="application/geo+json")


def as_collection(kinds: Sequence[str] = ()) -> dict[str, Any]:
    """The places of some kinds; without any, all but those of layers."""
    query = select(PlaceRow).order_by(PlaceRow.id)
    if kinds:
        query = query.where(PlaceRow.kind.in_(kinds))
    else:
        query = query.where(PlaceRow.kind.not_in(list(state().kinds().layers)))
    with Session(state().engine) as session:
        features = [place_feature(row) for row in session.scalars(query)]
    return {"type": "FeatureCollection", "features": features}


@blueprint.get("/readings")
@access.city
def list_readings() -> Response:
    """The latest reading of each sensor, with its age in stream seconds."""
    parameters.only("kind")
    return as_json(latest(_choices(lambda known: known)))


def latest(kinds: Sequence[str] = ()) -> dict[str, Any]:
    """The latest readings of some kinds; without any, of all that are shown."""
    shown = shown_kinds()
    wanted = [name for name in kinds or shown if name in shown]
    query = select(ReadingRow).order_by(ReadingRow.kind, ReadingRow.place_id)
    query = query.where(ReadingRow.kind.in_(wanted))
    with Session(state().engine) as session:
        now = clocks.read(session).now_ms
        readings = [
            {**reading_object(row), "age_s": max(0.0, (now - row.observed_ms) / 1000)}
            for row in session.scalars(query)
        ]
    return {"now": iso(now), "readings": readings}


def _choices(of: Callable[[Kinds], Iterable[str]]) -> list[str]:
    """The kinds that are asked for, of those there are; none where all are."""
    if "kind" not in request.args:
        return []
    return list(parameters.choices("kind", tuple(of(state().kinds()))))
