"""Places as others describe them: what of one cannot be read is left out, and said."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from citywise.backend.ingest.payloads import Place
from citywise.backend.ingest.records import bounded
from citywise.backend.kinds import Kinds, place_fields
from citywise.backend.opening import BadHoursError, check_hours
from citywise.backend.packs.guesses import did_you_mean

LOG = logging.getLogger("citywise.ingest")
HOURS = "hours"
"""Reason of the dead letter of a place that was taken without its opening hours."""


def readable(place: Place) -> tuple[Place, str | None]:
    """The place without opening hours that cannot be read, and what is wrong with them.

    Published data of cities have such hours; all else that they say of the place holds.
    """
    try:
        if place.opening_hours is not None:
            check_hours(place.opening_hours)
    except BadHoursError as error:
        detail = f"`opening_hours`: {error}; the place was taken without them"
        return place.model_copy(update={"opening_hours": None}), detail
    return place, None


def fitting(place: Place, kinds: Kinds) -> Place:
    """The place, of which its kind knows; what nobody knows of it is bounded.

    Raises `ValueError` where there is no such kind, or a field of its own does not fit.
    """
    own = kinds.places.get(place.kind)
    if own is None:
        known = ", ".join(kinds.places) or "none"
        raise ValueError(f"`kind`: there is no kind of place `{place.kind}`; there are {known}")
    for kind in place.sensors:
        if kind not in kinds:
            raise ValueError(f"`sensors`: {unknown_kind(kind, kinds)}")
    if not place.model_extra:
        return place
    known_fields = place_fields(own, place.model_extra)
    extra = bounded({k: v for k, v in place.model_extra.items() if k not in own.fields})
    body = place.model_dump(exclude=set(place.model_extra))
    return Place.model_validate({**body, **known_fields, **extra}, strict=False)


def unknown_kind(kind: str, kinds: Kinds) -> str:
    """What to say of a kind of observations that there is not."""
    cure = did_you_mean(kind, kinds, f"there are {', '.join(kinds) or 'none'}")
    return f"there is no kind of observations `{kind}`; {cure} (docs/kinds.md)"


def stored(bodies: Iterable[Mapping[str, Any]]) -> Iterator[Place]:
    """Places as the database keeps them, without those of an older version that do not fit
    any more: one of them must not take the others along."""
    for body in bodies:
        try:
            yield Place.model_validate(body, strict=False)
        except ValidationError as error:
            LOG.warning(
                "place `%s` does not fit and is left out; publish it again: %s",
                body.get("id"),
                error.errors()[0]["msg"],
            )
