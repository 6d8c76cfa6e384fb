"""Places as others describe them: what of one cannot be read is left out, and said."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from citywise.backend.ingest.payloads import Place
from citywise.backend.opening import BadHoursError, check_hours

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
